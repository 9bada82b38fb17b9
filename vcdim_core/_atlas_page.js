
"use strict";
// The page of an atlas: opens a cell, and follows the slider over the labellings of its witness.
// A labelling is a number: bit i is the label of point i. Text goes on the page through textContent only.
(() => {
  const { atlas, csv } = JSON.parse(document.getElementById("data").textContent);
  const $ = (id) => document.getElementById(id);
  const SVG = "http://www.w3.org/2000/svg";
  const keys = new Map(atlas.features.map((f) => [f.name, f]));
  const shapes = new Map(atlas.structures.map((s) => [s.structure, s]));
  let open = null; // the cell on show: {cell, columns, trees, opener, labelling}

  function make(name, attributes = {}, ...children) {
    const isSvg = ["svg", "g", "line", "path", "rect", "circle", "text", "title"].includes(name);
    const node = isSvg ? document.createElementNS(SVG, name) : document.createElement(name);
    for (const [key, value] of Object.entries(attributes)) node.setAttribute(key, value);
    node.append(...children.map((child) => (child instanceof Node ? child : String(child))));
    return node;
  }

  const letter = (i) => (i < 26 ? String.fromCharCode(97 + i) : String(i + 1));
  const short = (x) => String(Number(Number(x).toPrecision(6)));
  const plural = (n, word) => `${n.toLocaleString("en")} ${word}${n === 1 ? "" : "s"}`;

  // Trees: nodes and leaves in preorder, null for a leaf, [test, feature, argument] for a node.

  function parse(flat) {
    let at = 0;
    const read = () => {
      const question = flat[at++];
      if (question === null) return { children: [], points: 0 };
      const [test, feature, argument] = question;
      const arity = test === "each" ? argument.length : 2;
      return { test, feature, argument, points: 0, children: Array.from({ length: arity }, read) };
    };
    return read();
  }

  function branch(node, point) {
    const value = point[node.feature];
    if (node.test === "<=") return value <= node.argument ? 0 : 1;
    if (node.test === "=") return value === node.argument ? 0 : 1;
    if (node.test === "in") return node.argument.includes(value) ? 0 : 1;
    return node.argument.indexOf(value);
  }

  // The tree with the points that pass each node, as a set of bits, and the list of its leaves.
  function send(root, points) {
    points.forEach((point, i) => {
      let node = root;
      while (true) {
        node.points |= 1 << i;
        if (!node.children.length) break;
        node = node.children[branch(node, point)];
      }
    });
    const leaves = [];
    const walk = (node) => (node.children.length ? node.children.forEach(walk) : leaves.push(node));
    walk(root);
    return { root, leaves };
  }

  const fits = (tree, labelling) =>
    tree.leaves.every((leaf) => (leaf.points & labelling) === 0 || (leaf.points & labelling) === leaf.points);

  // How many labellings are constant on the leaves of one of the trees.
  function countRealised(trees, m) {
    const seen = new Uint8Array(2 ** m);
    for (const tree of trees) {
      let unions = [0];
      for (const leaf of tree.leaves) if (leaf.points) unions = unions.concat(unions.map((u) => u | leaf.points));
      for (const union of unions) seen[union] = 1;
    }
    return seen.reduce((sum, one) => sum + one, 0);
  }

  function question(node) {
    const name = `x${node.feature}`;
    if (node.test === "<=") return `${name} ≤ ${short(node.argument)}`;
    if (node.test === "=") return `${name} = ${short(node.argument)}`;
    if (node.test === "in") return `${name} in ${node.argument.map(short).join(", ")}`;
    return name;
  }

  const answer = (node, place) => (node.test === "each" ? short(node.argument[place]) : place === 0 ? "yes" : "no");
  const members = (bits) => Array.from({ length: 32 }, (_, i) => i).filter((i) => bits >>> i & 1).map(letter);
  const kindOf = (leaf, labelling) => (leaf.points === 0 ? "empty" : leaf.points & labelling ? "one" : "zero");

  // Drawing of a tree: leaves side by side, parents over their children.

  function drawTree({ root, leaves }, labelling) {
    const row = 66, top = 6;
    const textOf = (node) => (node.children.length ? question(node) : members(node.points).join(" ") || "no point");
    const widthOf = (node) => Math.max(node.children.length ? 40 : 34, 7.3 * textOf(node).length + 14);
    let right = 4, deepest = 0;
    const place = (node, depth) => {
      deepest = Math.max(deepest, depth);
      node.y = top + depth * row;
      if (!node.children.length) {
        node.x = right + widthOf(node) / 2;
        right += widthOf(node) + 10;
        return;
      }
      const start = right;
      node.children.forEach((child) => place(child, depth + 1));
      node.x = (node.children[0].x + node.children.at(-1).x) / 2;
      const overhang = start - (node.x - widthOf(node) / 2);
      if (overhang > 0) shift(node, overhang);
      right = Math.max(right + Math.max(overhang, 0), node.x + widthOf(node) / 2 + 10);
    };
    const shift = (node, by) => { node.x += by; node.children.forEach((child) => shift(child, by)); };
    place(root, 0);
    const width = right + 4, height = top + deepest * row + 50;
    const svg = make("svg", { viewBox: `0 0 ${width} ${height}`, width, height, role: "img", "font-size": 13 });
    const said = leaves.map((leaf) => `${textOf(leaf)}: ${leaf.points & labelling ? 1 : 0}`).join("; ");
    svg.append(make("title", {}, `Tree; points and labels of its leaves: ${said}`));
    const draw = (node) => {
      node.children.forEach((child, i) => {
        svg.append(make("line", { class: "edge", x1: node.x, y1: node.y + 26, x2: child.x, y2: child.y }));
        const x = node.x * 0.45 + child.x * 0.55, side = child.x < node.x ? -5 : 5;
        const anchor = child.x < node.x ? "end" : "start";
        svg.append(make("text", { class: "answer", x: x + side, y: (node.y + 26 + child.y) / 2, "text-anchor": anchor }, answer(node, i)));
        draw(child);
      });
      const width = widthOf(node), x = node.x - width / 2;
      if (node.children.length) {
        svg.append(make("rect", { class: "ask", x, y: node.y, width, height: 26, rx: 5 }));
        svg.append(make("text", { x: node.x, y: node.y + 18, "text-anchor": "middle" }, textOf(node)));
      } else {
        const kind = kindOf(node, labelling);
        const text = { zero: "0", one: "1", empty: "–" }[kind];
        svg.append(make("rect", { class: `leaf ${kind}`, x, y: node.y, width, height: 42, rx: 9, "stroke-width": 1.8 }));
        svg.append(make("text", { class: "leaf-label", x: node.x, y: node.y + 18, "text-anchor": "middle", "font-weight": 700 }, text));
        svg.append(make("text", { class: "members", x: node.x, y: node.y + 34, "text-anchor": "middle" }, textOf(node)));
      }
    };
    draw(root);
    if (width > 760) svg.classList.add("wide");
    return svg;
  }

  // Drawing of the sample on one or two features that are tested by thresholds, with the regions of the leaves.

  const canDraw = (columns) =>
    columns.length >= 1 && columns.length <= 2 && columns.every(([kind]) => ["real", "binary", "ordinal"].includes(kind));

  function drawPlane({ root }, points, labelling, columns) {
    const flat = columns.length === 1, width = 380, height = flat ? 110 : 380, margin = 26;
    const range = columns.map((_, f) => {
      const values = points.map((point) => point[f]);
      const low = Math.min(...values), high = Math.max(...values), room = Math.max((high - low) * 0.12, 0.5);
      return [low - room, high + room];
    });
    const side = (f) => (f === 0 ? width : height) - margin - 6;
    const scale = (f, value) => ((value - range[f][0]) / (range[f][1] - range[f][0])) * side(f);
    const X = (value) => margin + scale(0, value);
    const Y = (value) => (flat ? 6 + side(1) / 2 : 6 + side(1) - scale(1, value));
    const svg = make("svg", { viewBox: `0 0 ${width} ${height}`, width, height, role: "img" });
    svg.append(make("title", {}, "Points by their features, coloured by label, with the cuts of the tree"));
    const box = { left: range[0][0], right: range[0][1], low: flat ? 0 : range[1][0], high: flat ? 1 : range[1][1] };
    const yOf = (value) => (flat ? (value ? 6 : 6 + side(1)) : Y(value));
    const cuts = [];
    const paint = (node, box) => {
      if (!node.children.length) {
        const x = X(box.left), y = yOf(box.high);
        const size = { x, y, width: Math.max(X(box.right) - x, 0), height: Math.max(yOf(box.low) - y, 0) };
        if (node.points) svg.append(make("rect", { class: `region ${kindOf(node, labelling)}`, ...size }));
        return;
      }
      const [from, to] = node.feature === 0 ? ["left", "right"] : ["low", "high"];
      const at = Math.min(Math.max(node.argument, box[from]), box[to]);
      if (at > box[from] && at < box[to]) {
        cuts.push(node.feature === 0
          ? { x1: X(at), x2: X(at), y1: yOf(box.low), y2: yOf(box.high) }
          : { x1: X(box.left), x2: X(box.right), y1: yOf(at), y2: yOf(at) });
      }
      paint(node.children[0], { ...box, [to]: at });
      paint(node.children[1], { ...box, [from]: at });
    };
    paint(root, box);
    svg.append(make("rect", { class: "frame", x: margin, y: 6, width: side(0), height: side(1) }));
    cuts.forEach((cut) => svg.append(make("line", { class: "cut", ...cut })));
    points.forEach((point, i) => {
      const one = labelling >> i & 1, x = X(point[0]), y = flat ? Y(0) : Y(point[1]);
      svg.append(make("circle", { class: `dot ${one ? "one" : "zero"}`, cx: x, cy: y, r: 10 }));
      svg.append(make("text", { class: `inside ${one ? "dark" : ""}`, x, y: y + 4, "text-anchor": "middle" }, letter(i)));
    });
    svg.append(make("text", { class: "axis", x: margin + side(0) / 2, y: height - 6, "text-anchor": "middle" }, "x0"));
    if (!flat) svg.append(make("text", { class: "axis", x: 10, y: 6 + side(1) / 2, "text-anchor": "middle" }, "x1"));
    return svg;
  }

  // A cell

  function fillFacts(cell, features) {
    const shape = shapes.get(cell.structure);
    const value = cell.lower === cell.upper ? cell.lower : `between ${cell.lower} and ${cell.upper}`;
    $("detail-title").textContent = `${cell.structure} on ${features.name} feature${features.columns.length === 1 ? "" : "s"}`;
    $("value").textContent = `VC dimension ${value}`;
    $("value").className = cell.status;
    const row = [...document.querySelectorAll("main tbody tr")][atlas.structures.indexOf(shape)];
    $("drawing").replaceChildren(row.querySelector("svg").cloneNode(true));
    const facts = [
      ["structure", `${plural(shape.nodes, "node")}, ${shape.leaves} leaves, height ${shape.height}`],
      ["features", features.name],
      ["at least", `${cell.lower}: ${cell.lower_source}`],
      ["at most", `${cell.upper}: ${cell.upper_source}`],
      ["certificate", cell.grade || "none"],
      ["time", `${cell.seconds.toPrecision(2)} s`],
    ];
    if (cell.note) facts.push(["note", cell.note]);
    $("facts").replaceChildren(...facts.flatMap(([name, text]) => [make("dt", {}, name), make("dd", {}, text)]));
    $("bounds").tBodies[0].replaceChildren(...cell.bounds.map((bound) => {
      const best = bound.value === (bound.side === "lower" ? cell.lower : cell.upper);
      const what = [make("span", { class: "method" }, bound.method), make("span", { class: "source" }, bound.source)];
      const columns = [[bound.side], [bound.value], what].map((parts) => make("td", {}, ...parts));
      return make("tr", best ? { class: "best" } : {}, ...columns);
    }));
  }

  function fillWitness(cell, columns, trees) {
    const points = cell.witness ? cell.witness.points : [];
    const m = points.length, all = 2 ** m;
    $("labelling").hidden = trees.length === 0;
    $("plane-figure").hidden = trees.length === 0 || !canDraw(columns);
    $("points").hidden = m === 0;
    document.querySelector(".sheet-body").classList.toggle("bare", m === 0);
    if (!cell.witness) {
      $("witness-text").textContent = "There is no sample to show.";
    } else if (!trees.length) {
      $("witness-text").textContent = `${plural(m, "point")}, shattered; too many labellings to list their trees.`;
    } else {
      const found = countRealised(trees, m);
      const said = found === all ? `all ${plural(all, "labelling")}` : `ONLY ${found} of ${all} labellings`;
      const source = keys.get(cell.witness.source);
      const rest = source && source.columns.length < columns.length ? "; the other features are 0" : "";
      const from = source ? ` Found on ${source.name}${rest}.` : "";
      const few = m < cell.lower ? ` A bound says that ${cell.lower} are possible; these are the most at hand.` : "";
      $("witness-text").textContent =
        `${plural(m, "point")}. ${plural(trees.length, "tree")} of this structure, with labels on their leaves, ` +
        `realise ${said}: counted by this page.${from}${few}`;
    }
    const heads = ["point", ...columns.map((_, i) => `x${i}`), ...(trees.length ? ["label"] : [])];
    const head = make("thead", {}, make("tr", {}, ...heads.map((text) => make("th", { scope: "col" }, text))));
    const rows = points.map((point, i) => {
      const row = make("tr", {}, make("th", { scope: "row" }, letter(i)), ...point.map((x) => make("td", {}, short(x))));
      if (trees.length) {
        const button = make("button", { type: "button", class: "label", "aria-label": `label of point ${letter(i)}` });
        button.addEventListener("click", () => { show(open.labelling ^ (1 << i)); keepAddress(); });
        row.append(make("td", {}, button));
      }
      return row;
    });
    $("points").replaceChildren(head, make("tbody", {}, ...rows));
    $("slider").max = all - 1;
  }

  function show(labelling) {
    const { cell, columns, trees } = open;
    const points = cell.witness.points, m = points.length;
    open.labelling = labelling;
    const bits = points.map((_, i) => labelling >> i & 1);
    const tree = trees.find((candidate) => fits(candidate, labelling));
    $("slider").value = labelling;
    $("slider").setAttribute("aria-valuetext", `labels ${bits.join(" ")}`);
    $("number").textContent = `${labelling + 1} of ${2 ** m}: ${bits.join(" ")}`;
    [...$("points").querySelectorAll(".label")].forEach((button, i) => {
      button.textContent = bits[i];
      button.setAttribute("aria-pressed", String(bits[i] === 1));
    });
    $("check").className = tree ? "" : "wrong";
    if (!tree) {
      $("check").textContent = "No tree of the list gives these labels.";
      $("tree").replaceChildren();
      $("plane").replaceChildren();
      return;
    }
    const labelOf = (point) => {
      let node = tree.root;
      while (node.children.length) node = node.children[branch(node, point)];
      return node.points & labelling ? 1 : 0;
    };
    const right = points.filter((point, i) => labelOf(point) === bits[i]).length;
    $("check").textContent = `✓ ${right} of ${m} points reach a leaf of their label.`;
    $("tree").replaceChildren(drawTree(tree, labelling));
    if (canDraw(columns)) $("plane").replaceChildren(drawPlane(tree, points, labelling, columns));
  }

  function openCell(index, labelling = null) {
    const cell = atlas.cells[index], features = keys.get(cell.features);
    const points = cell.witness ? cell.witness.points : [];
    const trees = cell.witness ? cell.witness.trees.map((flat) => send(parse(flat), points)) : [];
    const opener = document.querySelector(`[data-cell="${index}"]`);
    open = { cell, columns: features.columns, trees, opener, labelling: 0 };
    fillFacts(cell, features);
    fillWitness(cell, features.columns, trees);
    const first = points.reduce((sum, _, i) => (i % 2 ? sum + 2 ** i : sum), 0); // 0 1 0 1 ...
    if (trees.length) show(labelling === null ? first : labelling);
    if (!$("detail").open) $("detail").showModal();
    $("detail").scrollTop = 0;
  }

  // The address of a cell: #structure/features/labels

  function address() {
    const { cell, trees, labelling } = open;
    const bits = trees.length ? "/" + cell.witness.points.map((_, i) => labelling >> i & 1).join("") : "";
    return `#${cell.structure}/${keys.get(cell.features).key}${bits}`;
  }

  const keepAddress = () => location.replace(address());

  function follow() {
    const hash = decodeURIComponent(location.hash.slice(1));
    if (open && `#${hash}` === address()) return;
    const [structure, key, labels = ""] = hash.split("/");
    const index = atlas.cells.findIndex((c) => c.structure === structure && keys.get(c.features).key === key);
    if (index < 0) {
      if ($("detail").open) $("detail").close();
      return;
    }
    const points = atlas.cells[index].witness ? atlas.cells[index].witness.points : [];
    const isLabelling = /^[01]+$/.test(labels) && labels.length === points.length;
    openCell(index, isLabelling ? [...labels].reduce((sum, bit, i) => sum + Number(bit) * 2 ** i, 0) : null);
  }

  function save(name, type, text) {
    const url = URL.createObjectURL(new Blob([text], { type }));
    const link = make("a", { href: url, download: name });
    document.body.append(link);
    link.click();
    link.remove();
    setTimeout(() => URL.revokeObjectURL(url), 10000);
  }

  // Arrow keys move between cells.
  function moveFocus(event) {
    const step = { ArrowLeft: [0, -1], ArrowRight: [0, 1], ArrowUp: [-1, 0], ArrowDown: [1, 0] }[event.key];
    const cell = event.target.closest("td");
    if (!step || !cell) return;
    const rows = [...document.querySelectorAll("main tbody tr")];
    const row = rows[rows.indexOf(cell.parentNode) + step[0]];
    const next = row && row.cells[cell.cellIndex + step[1]];
    const button = next && next.querySelector("button");
    if (!button) return;
    event.preventDefault();
    button.focus();
  }

  const themes = ["auto", "light", "dark"];
  function nextTheme() {
    const theme = themes[(themes.indexOf(document.documentElement.dataset.theme || "auto") + 1) % themes.length];
    document.documentElement.dataset.theme = theme;
    $("theme").textContent = `Theme: ${theme}`;
    $("theme").setAttribute("aria-label", `Colour theme: ${theme === "auto" ? "automatic" : theme}`);
  }

  document.querySelector("main table").addEventListener("click", (event) => {
    const button = event.target.closest("[data-cell]");
    if (!button) return;
    openCell(Number(button.dataset.cell));
    location.hash = address();
  });
  document.querySelector("main table").addEventListener("keydown", moveFocus);
  $("slider").addEventListener("input", () => show(Number($("slider").value)));
  $("slider").addEventListener("change", keepAddress);
  for (const [id, step] of [["previous", -1], ["next", 1]]) {
    $(id).addEventListener("click", () => {
      const all = 2 ** open.cell.witness.points.length;
      show((open.labelling + step + all) % all);
      keepAddress();
    });
  }
  $("close").addEventListener("click", () => $("detail").close());
  $("detail").addEventListener("click", (event) => { if (event.target === $("detail")) $("detail").close(); });
  $("detail").addEventListener("close", () => {
    const opener = open && open.opener;
    open = null;
    if (location.hash.length > 1) history.replaceState(null, "", "#");
    if (opener) opener.focus();
  });
  $("theme").addEventListener("click", nextTheme);
  $("get-csv").addEventListener("click", () => save("atlas.csv", "text/csv", csv));
  $("get-json").addEventListener("click", () => save("atlas.json", "application/json", JSON.stringify(atlas) + "\n"));
  window.addEventListener("hashchange", follow);
  follow();
})();

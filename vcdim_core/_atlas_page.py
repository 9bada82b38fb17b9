"""The page of an atlas: one HTML file with its style, its script and its data inside.

Three rules keep it safe whatever the labels say. Text that Python writes is escaped. Data goes in as JSON inside a
block that browsers do not run, with ``<``, ``>`` and ``&`` spelled as escapes of JSON, so that nothing in it can end
the block; the script puts it on the page as text only. And a policy in the head lets the browser run one script, the
one with the hash that is given there, and load nothing from anywhere.

The table is plain HTML: it can be read where scripts are switched off.
"""

from __future__ import annotations

import base64
import hashlib
import json
from html import escape
from importlib.resources import files
from itertools import groupby
from typing import TYPE_CHECKING

from .features import Features

if TYPE_CHECKING:
    from .atlas import Atlas, Cell
    from .structures import Structure

_LINE_ENDS = {ord("<"): "\\u003c", ord(">"): "\\u003e", ord("&"): "\\u0026", 0x2028: "\\u2028", 0x2029: "\\u2029"}


def page(atlas: Atlas) -> str:
    """Return the page.

    Examples
    --------
    >>> from vcdim_core.atlas import build
    >>> text = page(build(max_nodes=1, binary=1, title="<b>"))
    >>> text.count("<script"), "<h1>&lt;b&gt;</h1>" in text, "<b>" in text.split("<h1>")[0]
    (2, True, False)
    """
    style, script = _part("css"), _part("js")
    policy = (
        f"default-src 'none'; script-src '{_hash(script)}'; style-src '{_hash(style)}'; img-src data:; "
        "base-uri 'none'; form-action 'none'"
    )
    return f"""<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="{escape(policy)}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="generator" content="vcdim_core">
<link rel="icon" href="data:,">
<title>{escape(atlas.title)}</title>
<style>{style}</style>
</head>
<body>
{_header(atlas)}
<main>
<div class="scroll" tabindex="0" role="region" aria-label="The atlas">
{_table(atlas)}
</div>
</main>
{_DIALOG}
<script type="application/json" id="data">{embedded({"atlas": atlas.as_dict(), "csv": atlas.csv()})}</script>
<script>{script}</script>
</body>
</html>
"""


def embedded(value: object) -> str:
    r"""Return JSON that can stand inside a script block of HTML.

    Examples
    --------
    >>> embedded("</script>")
    '"\\u003c/script\\u003e"'
    """
    return json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":")).translate(_LINE_ENDS)


def _part(suffix: str) -> str:
    return files(__package__).joinpath(f"_atlas_page.{suffix}").read_text(encoding="utf-8")


def _hash(text: str) -> str:
    """The name of an inline script or style in a content security policy."""
    return f"sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}"


# Above the table


def _header(atlas: Atlas) -> str:
    exact, brackets = atlas.n_exact, len(atlas.cells) - atlas.n_exact
    missing = len(atlas.structures) * len(atlas.columns) - len(atlas.cells)
    keys = [("exact", exact, "exact"), ("bracket", brackets, "bracket: lower–upper"), ("none", missing, "not computed")]
    legend = "".join(
        f'<li><span class="key {name}" aria-hidden="true"></span>{label} <b>{count}</b></li>'
        for name, count, label in keys
        if count or name != "none"
    )
    return f"""<header>
<h1>{escape(atlas.title)}</h1>
<p class="lead">{escape(_summary(atlas))}</p>
<div class="bar">
<ul class="legend" aria-label="Colours">{legend}</ul>
<div class="tools">
<button type="button" id="get-csv">CSV</button>
<button type="button" id="get-json">JSON</button>
<button type="button" id="theme" aria-label="Colour theme: automatic">Theme: auto</button>
</div>
</div>
<noscript><p>Drawings, witnesses and downloads need the script of this page; the table does not.</p></noscript>
</header>"""


def _summary(atlas: Atlas) -> str:
    """One sentence on what is shown."""
    most = max((structure.n_nodes for structure in atlas.structures), default=0)
    limit = "without a time limit" if atlas.time_limit is None else f"in at most {atlas.time_limit:g} s each"
    return (
        f"The largest number of points that trees of each shape can label in every way: {len(atlas.structures)} "
        f"structures of up to {most} node{'s' * (most != 1)}, searched {limit}. Choose a cell to see why."
    )


# The table


def _table(atlas: Atlas) -> str:
    cells = atlas.by_place()
    places = {place: index for index, place in enumerate(cells)}
    rows = "\n".join(_row(structure, atlas.columns, cells, places) for structure in atlas.structures)
    return f"<table>\n<thead>\n{_column_heads(atlas.columns)}\n</thead>\n<tbody>\n{rows}\n</tbody>\n</table>"


def _kind(features: Features) -> str:
    """The kind that a run of columns shares, or the whole description."""
    return "binary" if features.is_binary_only else "real" if features.is_real_only else str(features)


def _column_heads(columns: tuple[Features, ...]) -> str:
    """Two lines: the kinds, and the numbers of features."""
    groups, numbers = [], []
    for kind, run in groupby(columns, key=_kind):
        members = list(run)
        plain = kind in ("binary", "real")
        wide = f' colspan="{len(members)}"' if len(members) > 1 else ""
        groups.append(f'<th scope="colgroup" class="first"{wide}>{escape(kind)}{" features" * plain}</th>')
        for place, features in enumerate(members):
            first = ' class="first"' if place == 0 else ""
            numbers.append(f'<th scope="col"{first}>{features.n_features}</th>')
    return (
        f'<tr><th scope="col" rowspan="2" class="corner">structure</th>{"".join(groups)}</tr>\n'
        f"<tr>{''.join(numbers)}</tr>"
    )


def _row(
    structure: Structure,
    columns: tuple[Features, ...],
    cells: dict[tuple[Structure, Features], Cell],
    places: dict[tuple[Structure, Features], int],
) -> str:
    name = escape(str(structure))
    out = [f'<tr><th scope="row"><span class="shape">{structure._repr_svg_()}</span><code>{name}</code></th>']
    before = None
    for features in columns:
        first = "first" if _kind(features) != before else ""
        before = _kind(features)
        cell, place = cells.get((structure, features)), places.get((structure, features))
        if cell is None:
            out.append(f'<td class="none {first}"><span title="not computed">·</span></td>')
        else:
            out.append(f'<td class="{first}">{_button(cell, place)}</td>')
    return "".join([*out, "</tr>"])


def _button(cell: Cell, place: int | None) -> str:
    value = f"{cell.lower}" if cell.is_exact else f"between {cell.lower} and {cell.upper}"
    label = escape(f"{cell.structure} on {cell.features}: {value}, {cell.status}")
    return (
        f'<button type="button" class="cell {cell.status}" data-cell="{place}" aria-label="{label}">'
        f"{escape(cell.text)}</button>"
    )


# What a cell opens; the script fills it

_DIALOG = """<dialog id="detail" aria-labelledby="detail-title">
<div class="sheet">
<div class="sheet-head">
<h2 id="detail-title"></h2>
<button type="button" id="close" aria-label="Close">✕</button>
</div>
<div class="sheet-body">
<section class="facts" aria-label="What is known">
<div id="value"></div>
<div id="drawing"></div>
<dl id="facts"></dl>
</section>
<section class="witness" aria-label="The witness">
<h3>Witness</h3>
<p id="witness-text"></p>
<div id="labelling">
<label for="slider">Labelling <output id="number" for="slider"></output></label>
<div class="slide">
<button type="button" id="previous" aria-label="Previous labelling">‹</button>
<input type="range" id="slider" min="0" value="0" step="1">
<button type="button" id="next" aria-label="Next labelling">›</button>
</div>
<p id="check" role="status"></p>
<figure><div id="tree" class="scroll"></div><figcaption>A tree that gives these labels. Letters are points.</figcaption>
</figure>
</div>
<div class="sample">
<figure id="plane-figure"><div id="plane"></div><figcaption>The points, and where the tree cuts.</figcaption></figure>
<div class="scroll"><table id="points"></table></div>
</div>
</section>
<section class="bounds" aria-label="Bounds">
<h3>Bounds</h3>
<table id="bounds"><thead><tr><th scope="col">side</th><th scope="col">value</th><th scope="col">method and source</th>
</tr></thead><tbody></tbody></table>
</section>
</div>
</div>
</dialog>"""

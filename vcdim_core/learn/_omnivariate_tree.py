"""Trees whose nodes hold different models: stored flat, walked without recursion, drawn as text, SVG and dot."""

from __future__ import annotations

from dataclasses import dataclass
from html import escape
from typing import Any

import numpy as np
import numpy.typing as npt

from ..structures import Structure
from ._node_models import KINDS, Floats, NodeModel
from ._selection import LEAF_PARAMETERS

Ints = npt.NDArray[np.intp]

_FILL = {"univariate": "#eeeeff", "linear": "#ffee99", "quadratic": "#ffcccc", "leaf": "#eeffee"}
"""Colours of boxes in drawings."""

_LETTER, _ROW, _GAP = 7, 64, 12  # width of a letter, height of a level, space between leaves, in pixels


@dataclass(frozen=True, slots=True, eq=False)
class OmnivariateTree:
    """A tree with univariate, linear and quadratic nodes. Node 0 is the root; nodes are in preorder."""

    models: tuple[NodeModel | None, ...]
    """What each node asks, None for a leaf."""
    left: Ints
    """Child that takes scores up to the threshold, -1 for a leaf."""
    right: Ints
    """Child that takes scores above it, -1 for a leaf."""
    value: Floats
    """Rows of each class in each node."""
    fill: Floats
    """What replaces missing values in each node: the means of its training rows, in standard units."""
    classes: npt.NDArray[Any]
    """Class labels."""
    centre: Floats
    """Means of the features: standard units are (x - centre) / scale."""
    scale: Floats
    """Standard deviations of the features."""
    names: tuple[str, ...]
    """Names of the features."""

    # ---- what it is

    @property
    def n_all(self) -> int:
        """Number of nodes and leaves."""
        return len(self.models)

    @property
    def n_nodes(self) -> int:
        """Number of nodes that ask."""
        return int(np.count_nonzero(self.left >= 0))

    @property
    def n_leaves(self) -> int:
        """Number of leaves."""
        return self.n_all - self.n_nodes

    @property
    def height(self) -> int:
        """Questions on the longest path."""
        return int(self.depths().max())

    @property
    def n_parameters(self) -> int:
        """Complexity: free parameters of all nodes, and one for each leaf."""
        own = sum(model.n_parameters for model in self.models if model is not None)
        return own + LEAF_PARAMETERS * self.n_leaves

    @property
    def structure(self) -> Structure:
        """The shape of the tree."""
        out: list[str] = []
        pending = [0]
        while pending:
            node = pending.pop()
            if node < 0:
                out.append(")")
            elif self.left[node] < 0:
                out.append(".")
            else:
                out.append("(")
                pending += [-1, int(self.right[node]), int(self.left[node])]
        return Structure("".join(out))

    def children(self, node: int) -> tuple[int, ...]:
        """Children of a node, () for a leaf."""
        return (int(self.left[node]), int(self.right[node])) if self.left[node] >= 0 else ()

    def depths(self) -> Ints:
        """Level of each node; the root has 0."""
        out = np.zeros(self.n_all, dtype=np.intp)
        for node in range(self.n_all):
            for child in self.children(node):
                out[child] = out[node] + 1
        return out

    def kind(self, node: int) -> str:
        """Type of a node: ``"univariate"``, ``"linear"``, ``"quadratic"`` or ``"leaf"``."""
        model = self.models[node]
        return "leaf" if model is None else model.kind

    def node_types(self) -> dict[str, int]:
        """How many nodes of each type there are."""
        found = [self.kind(node) for node in range(self.n_all)]
        return {kind: found.count(kind) for kind in KINDS}

    def node_types_per_level(self) -> npt.NDArray[np.int64]:
        """Univariate, linear and quadratic nodes on each level, levels x 3."""
        depths = self.depths()
        out = np.zeros((max(1, self.height), len(KINDS)), dtype=np.int64)
        for node in range(self.n_all):
            model = self.models[node]
            if model is not None:
                out[depths[node], KINDS.index(model.kind)] += 1
        return out

    # ---- rows

    def standard(self, X: Floats) -> Floats:
        """Rows in standard units."""
        return (X - self.centre) / self.scale

    def apply(self, X: Floats) -> Ints:
        """Return the leaf of each row; missing values are filled in at every node anew."""
        Z = self.standard(X)
        missing = np.isnan(Z)
        is_missing = missing.any()
        out = np.zeros(len(Z), dtype=np.intp)
        pending: list[tuple[int, Ints]] = [(0, np.arange(len(Z)))]
        while pending:
            node, rows = pending.pop()
            model = self.models[node]
            if model is None or rows.size == 0:
                out[rows] = node
                continue
            here = Z if rows.size == len(Z) else Z[rows]
            if is_missing:
                here = np.where(missing[rows], self.fill[node], here)
            right = model.goes_right(here)
            pending += [(int(self.right[node]), rows[right]), (int(self.left[node]), rows[~right])]
        return out

    def shares(self) -> Floats:
        """Shares of the classes in each node."""
        out: Floats = self.value / self.value.sum(axis=1, keepdims=True)
        return out

    # ---- text

    def question(self, node: int, n_terms: int = 3) -> str:
        """What a node asks; of a sum the terms with the largest weights."""
        model = self.models[node]
        if model is None:
            raise ValueError(f"expected a node that asks, got the leaf {node}")
        if model.linear is None:
            at = model.feature
            return f"{self.names[at]} <= {self.centre[at] + self.scale[at] * model.threshold:.6g}"
        size, shown, n_more = _terms(model, self.names, n_terms)
        more = f" ... {n_more} more" if n_more > 0 else ""
        return f"{model.kind}: {' '.join(shown)}{more} <= {model.threshold / size:.3g}"

    def label(self, node: int) -> str:
        """The class of a leaf and how many of its rows have it."""
        value = self.value[node]
        best = int(value.argmax())
        total = value.sum()
        counts = f"{value[best]:g}" if total == value[best] else f"{value[best]:g} of {total:g}"
        return f"{self.classes[best]} ({counts})"

    def to_text(self, max_depth: int | None = None) -> str:
        """One line per node, children indented under their question.

        Weights of sums are of features in standard units and scaled so that the largest is 1.
        """
        lines: list[str] = []
        pending = [(0, "", "", 0)]  # node, what stands before it, indent of what is below, depth
        while pending:
            node, lead, indent, depth = pending.pop()
            if self.left[node] < 0:
                lines.append(f"{lead}{self.label(node)}")
                continue
            if max_depth is not None and depth >= max_depth:
                lines.append(f"{lead}{self.label(node)} ...")
                continue
            lines.append(f"{lead}{self.question(node)}?")
            pending.append((int(self.right[node]), f"{indent}`- no: ", f"{indent}   ", depth + 1))
            pending.append((int(self.left[node]), f"{indent}|- yes: ", f"{indent}|  ", depth + 1))
        return "\n".join(lines)

    def __str__(self) -> str:
        return self.to_text()

    # ---- drawings

    def _boxes(self) -> list[str]:
        return [
            f"{self.question(node)}?" if self.left[node] >= 0 else self.label(node) for node in range(self.n_all)
        ]

    def to_svg(self) -> str:
        """The tree from the root down; the colour of a box is the type of its node."""
        labels = self._boxes()
        middle, width = self._layout(labels)
        levels = self.depths().tolist()
        height = (max(levels) + 1) * _ROW
        out = [
            f'<svg xmlns="http://www.w3.org/2000/svg" width="{width:.0f}" height="{height}" '
            f'viewBox="0 0 {width:.0f} {height}" font-family="monospace" font-size="12" text-anchor="middle">'
        ]
        for node in range(self.n_all):
            for answer, child in zip(("yes", "no"), self.children(node), strict=False):
                x0, y0, x1, y1 = middle[node], levels[node] * _ROW + 32, middle[child], levels[child] * _ROW + 8
                out.append(f'<line x1="{x0:.1f}" y1="{y0}" x2="{x1:.1f}" y2="{y1}" stroke="#777"/>')
                out.append(f'<text x="{(x0 + x1) / 2:.1f}" y="{(y0 + y1) / 2:.1f}" fill="#555">{answer}</text>')
        for node, label in enumerate(labels):
            size, x, y = _LETTER * len(label) + 12, middle[node], levels[node] * _ROW + 8
            kind = self.kind(node)
            where = f'x="{x - size / 2:.1f}" y="{y}" width="{size}" height="24" rx="{10 if kind == "leaf" else 3}"'
            out.append(f'<rect {where} fill="{_FILL[kind]}" stroke="#777"/>')
            out.append(f'<text x="{x:.1f}" y="{y + 16}">{escape(label)}</text>')
        out.append("</svg>")
        return "\n".join(out)

    def _layout(self, labels: list[str]) -> tuple[list[float], float]:
        """The middle of each box and the whole width: leaves side by side, parents over their children."""
        middle, width = [0.0] * self.n_all, 0.0
        for node in range(self.n_all):
            if self.left[node] < 0:
                size = _LETTER * len(labels[node]) + 16
                middle[node] = width + size / 2
                width += size + _GAP
        for node in range(self.n_all - 1, -1, -1):
            if children := self.children(node):
                middle[node] = (middle[children[0]] + middle[children[1]]) / 2
        halves = [_LETTER * len(label) / 2 + 8 for label in labels]
        lowest = min(0.0, min(at - half for at, half in zip(middle, halves, strict=True)))
        highest = max(width, max(at + half for at, half in zip(middle, halves, strict=True)))
        return [at - lowest + 4 for at in middle], highest - lowest + 8

    def to_dot(self) -> str:
        """The tree for Graphviz."""
        out = ["digraph tree {", '  node [shape=box, style=filled, fontname="monospace"];']
        for node, label in enumerate(self._boxes()):
            text = label.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
            out.append(f'  n{node} [label="{text}", fillcolor="{_FILL[self.kind(node)]}"];')
            for answer, child in zip(("yes", "no"), self.children(node), strict=False):
                out.append(f'  n{node} -> n{child} [label="{answer}"];')
        out.append("}")
        return "\n".join(out)


def _terms(model: NodeModel, names: tuple[str, ...], n_terms: int) -> tuple[float, list[str], int]:
    """The largest weight of a sum, its largest terms divided by that, and how many more there are."""
    assert model.linear is not None
    p = model.linear.size
    weights = model.linear if model.quadratic is None else np.concatenate([model.linear, model.quadratic.ravel()])
    size = float(np.abs(weights).max()) or 1.0
    order = np.argsort(-np.abs(weights), kind="stable")[:n_terms]
    shown = []
    for place in order[weights[order] != 0].tolist():
        i, j = divmod(place - p, p)
        name = names[place] if place < p else f"{names[i]}*{names[j]}"
        shown.append(f"{weights[place] / size:+.3g} {name}")
    return size, shown, int(np.count_nonzero(weights)) - len(shown)

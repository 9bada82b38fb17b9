"""Trees as pictures: SVG without any library, and Graphviz dot.  Every label is escaped."""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING

from ._tree_text import branch_of, label_of, test_of

if TYPE_CHECKING:
    from .trees import Tree

_LETTER, _ROW, _GAP = 7, 64, 12  # width of a letter, height of a level, space between leaves, in pixels


def _layout(tree: Tree, labels: list[str]) -> tuple[list[float], list[int], float]:
    """The middle of each node, its level, and the whole width: leaves side by side, parents over their children."""
    middle, width = [0.0] * tree.n_all, 0.0
    levels = tree.depths().tolist()
    for node in range(tree.n_all):  # preorder: leaves from left to right
        if not tree.children(node):
            size = _LETTER * len(labels[node]) + 16
            middle[node] = width + size / 2
            width += size + _GAP
    for node in range(tree.n_all - 1, -1, -1):
        children = tree.children(node)
        if children:
            middle[node] = (middle[children[0]] + middle[children[-1]]) / 2
    # A question may be wider than what is below it: shift the drawing so that nothing is cut off.
    reach = [(middle[node], _LETTER * len(labels[node]) / 2 + 8) for node in range(tree.n_all)]
    lowest = min(0.0, min(at - half for at, half in reach))
    highest = max(width, max(at + half for at, half in reach))
    return [at - lowest + 4 for at in middle], levels, highest - lowest + 8


def _labels(tree: Tree) -> list[str]:
    """What is written in each box."""
    return [
        f"{test_of(tree, node)}?" if tree.children(node) else label_of(tree, node) for node in range(tree.n_all)
    ]


def draw_svg(tree: Tree) -> str:
    """The tree from the root down, one box per node, answers on the edges."""
    labels = _labels(tree)
    middle, levels, width = _layout(tree, labels)
    height = (max(levels) + 1) * _ROW
    out = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width:.0f}" height="{height}" '
        f'viewBox="0 0 {width:.0f} {height}" font-family="monospace" font-size="12" text-anchor="middle">'
    ]
    for node in range(tree.n_all):
        for place, child in enumerate(tree.children(node)):
            x0, y0, x1, y1 = middle[node], levels[node] * _ROW + 32, middle[child], levels[child] * _ROW + 8
            out.append(f'<line x1="{x0:.1f}" y1="{y0}" x2="{x1:.1f}" y2="{y1}" stroke="#777"/>')
            answer = escape(branch_of(tree, node, place))
            out.append(f'<text x="{(x0 + x1) / 2:.1f}" y="{(y0 + y1) / 2:.1f}" fill="#555">{answer}</text>')
    for node in range(tree.n_all):
        size = _LETTER * len(labels[node]) + 12
        x, y = middle[node], levels[node] * _ROW + 8
        fill, round_ = ("#eef", 3) if tree.children(node) else ("#efe", 10)
        where = f'x="{x - size / 2:.1f}" y="{y}" width="{size}" height="24"'
        out.append(f'<rect {where} rx="{round_}" fill="{fill}" stroke="#777"/>')
        out.append(f'<text x="{x:.1f}" y="{y + 16}">{escape(labels[node])}</text>')
    out.append("</svg>")
    return "\n".join(out)


def _quoted(text: str) -> str:
    """A dot string."""
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n") + '"'


def draw_dot(tree: Tree) -> str:
    """The tree for Graphviz."""
    out = ["digraph tree {", '  node [shape=box, fontname="monospace"];', '  edge [fontname="monospace"];']
    for node, label in enumerate(_labels(tree)):
        shape = "" if tree.children(node) else ", style=rounded"
        out.append(f"  n{node} [label={_quoted(label)}{shape}];")
        for place, child in enumerate(tree.children(node)):
            out.append(f"  n{node} -> n{child} [label={_quoted(branch_of(tree, node, place))}];")
    out.append("}")
    return "\n".join(out)

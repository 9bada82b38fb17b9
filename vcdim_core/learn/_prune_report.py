"""A pruning as one HTML page: trees before and after, path and curve. No scripts, no links, all labels escaped."""

from __future__ import annotations

import math
from html import escape
from typing import TYPE_CHECKING

from ._prune_result import COLUMNS, cells_of

if TYPE_CHECKING:
    from ..trees import Tree
    from ._prune_result import PruneResult

_WIDTH, _HEIGHT, _MARGIN = 720, 320, 56
_MOST_DRAWN = 400
"""Leaves up to which a tree is drawn; larger ones are too wide for any screen."""
_MOST_ROWS = 1000
"""Rows of the path that are listed."""

_STYLE = """\
body { font-family: sans-serif; margin: 2em; color: #222; }
table { border-collapse: collapse; }
td, th { padding: 2px 10px; text-align: right; font-variant-numeric: tabular-nums; }
td:last-child, th:last-child { text-align: left; }
tr.chosen { background: #efe; }
div.tree { overflow-x: auto; border: 1px solid #ccc; padding: 8px; }
"""


def report_html(result: PruneResult) -> str:
    """The page."""
    sections = []
    for number, member in enumerate(result.members or (result,)):
        head = f"<h2>tree {number}</h2>" if result.members else ""
        sections.append(f"{head}\n{_section(member)}")
    title = escape(f"pruning by {result.method}")
    return (
        f'<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n<title>{title}</title>\n'
        f"<style>\n{_STYLE}</style>\n</head>\n<body>\n<h1>{title}</h1>\n" + "\n".join(sections) + "\n</body>\n</html>\n"
    )


def _section(result: PruneResult) -> str:
    """One tree."""
    settings = result.settings
    facts = [
        ("leaves", f"{result.before.n_leaves} before, {result.tree.n_leaves} after"),
        ("height", f"{result.before.height} before, {result.tree.height} after"),
        ("training error", f"{settings['error_before']:.4f} before, {settings['error_after']:.4f} after"),
        ("features", str(settings["features"])),
    ]
    if not math.isnan(result.bound):
        facts.append(("value of the returned tree", f"{result.bound:.6g}"))
    shown = ("bound", "form", "r", "delta", "raising", "alpha", "risk", "folds", "confidence", "surgery", "criterion",
             "vc", "a1", "a2", "nu", "validation_rows")  # fmt: skip
    facts += [(name, str(settings[name])) for name in shown if name in settings]
    rows = "\n".join(f"<tr><th>{escape(name)}</th><td>{escape(text)}</td></tr>" for name, text in facts)
    return "\n".join([
        f"<table>\n{rows}\n</table>", "<h3>curve</h3>", curve_svg(result), "<h3>before</h3>", _drawing(result.before),
        "<h3>after</h3>", _drawing(result.tree), "<h3>path</h3>", _path_table(result),
    ])  # fmt: skip


def _drawing(tree: Tree) -> str:
    if tree.n_leaves > _MOST_DRAWN:
        return f"<p>{tree.n_leaves} leaves, height {tree.height}: too many to draw.</p>"
    return f'<div class="tree">{tree.to_svg()}</div>'


def _path_table(result: PruneResult) -> str:
    """The steps; of a very long path the first ones."""
    out = ["<table>", "<tr>" + "".join(f"<th>{escape(name)}</th>" for name in COLUMNS) + "</tr>"]
    for at in range(min(len(result.path), _MOST_ROWS)):
        step = result.path[at]
        mark = ' class="chosen"' if step.chosen else ""
        out.append(f"<tr{mark}>" + "".join(f"<td>{escape(cell)}</td>" for cell in cells_of(step)) + "</tr>")
    out.append("</table>")
    if len(result.path) > _MOST_ROWS:
        out.append(f"<p>and {len(result.path) - _MOST_ROWS} more steps.</p>")
    return "\n".join(out)


def curve_svg(result: PruneResult) -> str:
    """Bound and error against leaves, or, without bounds of whole trees, leaves against steps."""
    leaves, errors, bounds, at = result.curve()
    whole = not all(math.isnan(value) for value in bounds)
    across = [float(value) for value in (leaves if whole else range(len(leaves)))]
    lines = [("#36c", "bound", bounds), ("#c63", "training error", errors)] if whole else [
        ("#36c", "leaves", [float(value) for value in leaves])
    ]  # fmt: skip
    heights = [value for _, _, values in lines for value in values if math.isfinite(value)]
    top = max([*heights, 0.0]) or 1.0
    low, high = min(across), max(across)

    def place(x: float, y: float) -> str:
        share = (x - low) / (high - low) if high > low else 0.5
        left = _MARGIN + share * (_WIDTH - 2 * _MARGIN)
        return f"{left:.1f},{_HEIGHT - _MARGIN - y / top * (_HEIGHT - 2 * _MARGIN):.1f}"

    out = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{_WIDTH}" height="{_HEIGHT}" font-family="sans-serif" '
        f'font-size="12">',
        f'<path d="M{_MARGIN},{_MARGIN} V{_HEIGHT - _MARGIN} H{_WIDTH - _MARGIN}" fill="none" stroke="#777"/>',
        f'<text x="{_MARGIN - 6}" y="{_MARGIN + 4}" text-anchor="end">{top:.4g}</text>',
        f'<text x="{_MARGIN - 6}" y="{_HEIGHT - _MARGIN + 4}" text-anchor="end">0</text>',
        f'<text x="{_MARGIN}" y="{_HEIGHT - _MARGIN + 18}">{low:g}</text>',
        f'<text x="{_WIDTH - _MARGIN}" y="{_HEIGHT - _MARGIN + 18}" text-anchor="end">{high:g}</text>',
        f'<text x="{_WIDTH / 2}" y="{_HEIGHT - 8}" text-anchor="middle">{"leaves" if whole else "steps"}</text>',
    ]
    for number, (colour, name, values) in enumerate(lines):
        points = [place(x, y) for x, y in zip(across, values, strict=True) if math.isfinite(y)]
        out.append(f'<polyline points="{" ".join(points)}" fill="none" stroke="{colour}" stroke-width="1.5"/>')
        out.append(f'<text x="{_MARGIN + 12}" y="{_MARGIN - 24 + 16 * number}" fill="{colour}">{name}</text>')
    chosen = lines[0][2][at]
    if math.isfinite(chosen):
        x, y = place(across[at], chosen).split(",")
        out.append(f'<circle cx="{x}" cy="{y}" r="6" fill="none" stroke="#36c"/>')
    out.append("</svg>")
    return "\n".join(out)

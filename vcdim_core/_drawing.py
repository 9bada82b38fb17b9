"""Drawings of a structure from its spelling, as text and as SVG."""

from __future__ import annotations

from ._spelling import depths, ends

# node, leaf, branch to a child, branch to the last child, line past a child, something left out
_BOX = ("●", "○", "├─ ", "└─ ", "│  ", "…")
_ASCII = ("*", "o", "|- ", "`- ", "|  ", "...")


def draw_text(spelling: str, ascii: bool, max_depth: int | None) -> str:
    """Return one line for each node and leaf, parents before their children; see ``Structure.draw``."""
    node, leaf, tee, corner, bar, dots = _ASCII if ascii else _BOX
    close = ends(spelling)
    lines: list[str] = []
    indents = [""]  # what comes before the children of each open node; the last one is that of the next line
    at = 0
    while at < len(spelling):
        if spelling[at] == ")":
            indents.pop()
            at += 1
            continue
        end = close[at]
        is_last = spelling[end + 1 : end + 2] == ")"
        branch = "" if at == 0 else corner if is_last else tee
        below = "" if at == 0 else "   " if is_last else bar
        if spelling[at] == ".":
            lines.append(f"{indents[-1]}{branch}{leaf}")
        elif max_depth is not None and len(indents) > max_depth and (more := spelling.count("(", at + 1, end)):
            lines.append(f"{indents[-1]}{branch}{node} {dots} {more} more node{'s' * (more > 1)} below")
            at = end
        else:
            lines.append(f"{indents[-1]}{branch}{node}")
            indents.append(indents[-1] + below)
        at += 1
    return "\n".join(lines)


def draw_svg(spelling: str) -> str:
    """Return a self-contained SVG: leaves evenly spaced, parents centred over their children, one layer per depth.

    It takes the colour of the text around it, and is scaled down to fit 960 by 720.
    """
    across, down, margin = 22, 34, 12
    nodes: list[str] = []
    leaves: list[str] = []
    edges: list[str] = []
    open_nodes: list[list[tuple[float, int]]] = [[]]  # children placed so far of each open node
    for character in spelling:
        if character == "(":
            open_nodes.append([])
            continue
        if character == ".":
            x, y = float(margin + across * len(leaves)), margin + down * (len(open_nodes) - 1)
            leaves.append(f'<rect x="{x - 4:.0f}" y="{y - 4}" width="8" height="8"/>')
        else:
            placed = open_nodes.pop()
            x, y = (placed[0][0] + placed[-1][0]) / 2, margin + down * (len(open_nodes) - 1)
            nodes.append(f'<circle cx="{x:.1f}" cy="{y}" r="5"/>')
            edges.extend(f"M{x:.1f} {y}L{below_x:.1f} {below_y - 4}" for below_x, below_y in placed)
        open_nodes[-1].append((x, y))
    deepest = int(depths(spelling).max())
    width, height = 2 * margin + across * (len(leaves) - 1), 2 * margin + down * deepest
    shrink = min(1.0, 960 / width, 720 / height)
    title = f"structure with {len(nodes)} nodes, {len(leaves)} leaves, height {deepest}"
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" '
        f'width="{width * shrink:.0f}" height="{height * shrink:.0f}" role="img">'
        f"<title>{title}</title>"
        f'<path d="{"".join(edges)}" fill="none" stroke="currentColor" stroke-width="1.2"/>'
        f'<g fill="currentColor">{"".join(nodes)}</g>'
        f'<g fill="none" stroke="currentColor" stroke-width="1.2">{"".join(leaves)}</g>'
        "</svg>"
    )

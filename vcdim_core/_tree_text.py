"""Trees as text and as rules.  Labels go in as they are: text has nothing to escape."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from ._table import MULTIWAY, ONE, THRESHOLD

if TYPE_CHECKING:
    from .trees import Tree


def test_of(tree: Tree, node: int) -> str:
    """The question that a node asks."""
    feature = int(tree.feature[node])
    name, test = tree.feature_name(feature), int(tree.test[node])
    if test == THRESHOLD:
        threshold = float(tree.threshold[node])
        return f"{name} is present" if math.isinf(threshold) and threshold > 0 else f"{name} <= {threshold:.6g}"
    if test == ONE:
        return f"{name} = {tree.category_name(feature, float(tree.threshold[node]))}"
    if test == MULTIWAY:
        return name
    listed = ", ".join(tree.category_name(feature, value) for value in tree.set_of(node))
    return f"{name} in {{{listed}}}"


def branch_of(tree: Tree, node: int, place: int) -> str:
    """The answer that leads to a child."""
    if int(tree.test[node]) == MULTIWAY:
        return tree.category_name(int(tree.feature[node]), tree.set_of(node)[place])
    return ("yes", "no")[place]


def label_of(tree: Tree, node: int) -> str:
    """The class of a leaf and the weight of its classes."""
    value = tree.value[node]
    best = int(value.argmax())
    rest = value.sum() - value[best]
    counts = f"{value[best]:g}" if rest <= 0 else f"{value[best]:g} of {value.sum():g}"
    return f"{tree.classes[best]} ({counts})"


def text_of(tree: Tree, max_depth: int | None, unicode: bool) -> str:
    """One line per node, children indented under their question."""
    fork, last, bar = ("├─ ", "└─ ", "│  ") if unicode else ("|- ", "`- ", "|  ")
    lines: list[str] = []
    pending: list[tuple[int, str, str, str, int]] = [(0, "", "", "", 0)]  # node, lead, indent below, answer, depth
    while pending:
        node, lead, indent, answer, depth = pending.pop()
        children = tree.children(node)
        if not children:
            lines.append(f"{lead}{answer}{label_of(tree, node)}")
            continue
        if max_depth is not None and depth >= max_depth:
            lines.append(f"{lead}{answer}{label_of(tree, node)} ...")
            continue
        lines.append(f"{lead}{answer}{test_of(tree, node)}?")
        for place in range(len(children) - 1, -1, -1):
            is_last = place == len(children) - 1
            below = indent + ("   " if is_last else bar)
            text = f"{branch_of(tree, node, place)}: "
            pending.append((children[place], indent + (last if is_last else fork), below, text, depth + 1))
    return "\n".join(lines)


def _conditions(tree: Tree, path: list[tuple[int, int]]) -> list[str]:
    """The conditions along a path of (node, child place); bounds on one feature are merged."""
    low: dict[int, float] = {}
    high: dict[int, float] = {}
    order: list[tuple[str, int]] = []
    for node, place in path:
        feature = int(tree.feature[node])
        if int(tree.test[node]) == THRESHOLD and not math.isinf(float(tree.threshold[node])):
            bounds, threshold = (high, low)[place], float(tree.threshold[node])
            if feature not in low and feature not in high:
                order.append(("", feature))
            old = bounds.get(feature, threshold)
            bounds[feature] = min(old, threshold) if place == 0 else max(old, threshold)
        elif int(tree.test[node]) == MULTIWAY:
            order.append((f"{tree.feature_name(feature)} = {branch_of(tree, node, place)}", -1))
        else:
            text = test_of(tree, node)
            order.append((text if place == 0 else f"not ({text})", -1))
    out = []
    for text, feature in order:
        if feature < 0:
            out.append(text)
            continue
        name = tree.feature_name(feature)
        if feature in low and feature in high:
            out.append(f"{low[feature]:.6g} < {name} <= {high[feature]:.6g}")
        elif feature in low:
            out.append(f"{name} > {low[feature]:.6g}")
        else:
            out.append(f"{name} <= {high[feature]:.6g}")
    return out


def rules_of(tree: Tree) -> list[str]:
    """One rule per leaf, left to right."""
    out: list[str] = []
    path: list[tuple[int, int]] = []
    pending: list[tuple[int, int]] = [(0, 0)]  # node, length of the path down to it
    steps: list[tuple[int, int]] = [(-1, 0)]  # the last step of that path
    while pending:
        node, depth = pending.pop()
        step = steps.pop()
        del path[max(depth - 1, 0) :]
        if depth:
            path.append(step)
        children = tree.children(node)
        if not children:
            conditions = " and ".join(_conditions(tree, path))
            label = label_of(tree, node)
            out.append(f"if {conditions} then {label}" if conditions else f"always {label}")
        for place in range(len(children) - 1, -1, -1):
            pending.append((children[place], depth + 1))
            steps.append((node, place))
    return out

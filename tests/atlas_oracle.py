"""A plain search on real features, every split of every subset by recursion, and a plain reader of an atlas's trees.

Shares no code with the package; only `as_tree` makes one of its trees.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from typing import Any

Point = Sequence[float]


def parse(spelling: str) -> Any:
    """Nested tuples: () is a leaf."""
    open_nodes: list[list[Any]] = [[]]
    for character in spelling:
        if character == "(":
            open_nodes.append([])
        else:
            open_nodes[-2 if character == ")" else -1].append(tuple(open_nodes.pop()) if character == ")" else ())
    return open_nodes[0][0]


def splits(points: Sequence[Point], subset: tuple[int, ...]) -> Iterator[tuple[int, float, tuple[int, ...], Any]]:
    """Feature, threshold, indices below, indices above; the first side may be empty."""
    for f in range(len(points[0])):
        values = sorted({points[i][f] for i in subset}) or [0.0]
        for cut in [values[0] - 1, *((a + b) / 2 for a, b in itertools.pairwise(values))]:
            low = tuple(i for i in subset if points[i][f] <= cut)
            yield f, cut, low, tuple(i for i in subset if i not in low)


def realise(shape: Any, points: Sequence[Point], subset: tuple[int, ...], labels: Sequence[int]) -> Any:
    """A tree as nested tuples (feature, threshold, low, high) with its leaves' labels, or None."""
    if not shape:
        found = {labels[i] for i in subset}
        return None if len(found) > 1 else ("leaf", next(iter(found), 0))
    for first, second in ((shape[0], shape[1]), (shape[1], shape[0])):
        for f, cut, low, high in splits(points, subset):
            one = realise(first, points, low, labels)
            two = one and realise(second, points, high, labels)
            if two:
                return f, cut, one, two
    return None


def is_shattered(spelling: str, points: Sequence[Point]) -> bool:
    """Whether every labelling is realised."""
    everything = tuple(range(len(points)))
    return all(
        realise(parse(spelling), points, everything, labels)
        for labels in itertools.product((0, 1), repeat=len(points))
    )


def as_tree(nested: Any, n_features: int) -> Any:
    """One of the package's trees."""
    from vcdim_core.trees import Tree

    feature: list[int] = []
    threshold: list[float] = []
    children: list[tuple[int, ...]] = []
    value: list[list[int]] = []

    def add(node: Any) -> int:
        at = len(feature)
        is_leaf = node[0] == "leaf"
        feature.append(-1 if is_leaf else node[0])
        threshold.append(0.0 if is_leaf else node[1])
        value.append([1 - node[1], node[1]] if is_leaf else [1, 1])
        children.append(())
        if not is_leaf:
            children[at] = (add(node[2]), add(node[3]))
        return at

    add(nested)
    return Tree(feature, [0] * len(feature), threshold, children, value, [0, 1], n_features)


# Trees as an atlas writes them: preorder, None for a leaf, (test, feature, argument) for a node


def read(flat: Sequence[Any]) -> tuple[str, Any]:
    """The spelling of a tree, and a function that takes a point to the number of its leaf."""
    rest = iter(flat)
    n_leaves = itertools.count()

    def node() -> tuple[str, Any]:
        question = next(rest)
        if question is None:
            leaf = next(n_leaves)
            return ".", lambda point: leaf
        test, f, argument = question
        below = [node() for _ in (argument if test == "each" else "ab")]

        def walk(point: Point) -> int:
            x = point[f]
            yes = {"<=": lambda: x <= argument, "=": lambda: x == argument, "in": lambda: x in argument}
            place = list(argument).index(x) if test == "each" else 0 if yes[test]() else 1
            return int(below[place][1](point))

        return f"({''.join(spelling for spelling, _ in below)})", walk

    found = node()
    assert next(rest, "end") == "end"
    return found


def sorted_shape(spelling: str) -> Any:
    """The same for structures that are equal up to swapping children."""

    def sort(shape: Any) -> Any:
        return tuple(sorted((sort(child) for child in shape), key=repr))

    return sort(parse(spelling))


def realised(flat_trees: Sequence[Any], points: Sequence[Point]) -> set[tuple[int, ...]]:
    """The labellings that are constant on the leaves of one of the trees."""
    out: set[tuple[int, ...]] = set()
    for flat in flat_trees:
        leaves = [read(flat)[1](point) for point in points]
        names = sorted(set(leaves))
        for labels in itertools.product((0, 1), repeat=len(names)):
            of = dict(zip(names, labels, strict=True))
            out.add(tuple(of[leaf] for leaf in leaves))
    return out

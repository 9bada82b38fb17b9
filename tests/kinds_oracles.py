"""A slow, plain oracle for features of every kind: all samples, all labellings, all trees.

It shares no code with the engine. Structures are nested tuples, a leaf is (); a feature is (kind, categories) with the
kinds real, binary, ordinal, one, subset and multiway. A labelling with k classes is a number whose digit i in base k is
the label of point i, so that labellings of disjoint sets of points are put together by adding.

What a node may do:

    real       everything at most a threshold goes to the first child, what is above to the second; the threshold is any
    binary,    the same with a threshold between two categories, so that everything goes one way only if all
    ordinal    categories beyond are empty
    one        one category goes to the first child, the others to the second
    subset     a set of categories, not empty and not all, goes to the first child, the others to the second
    multiway   each category goes to a child of its own

and with orientation free the parts may be given to the children in any order.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Sequence
from typing import Any

Shape = tuple[Any, ...]
Column = tuple[str, int]
Point = tuple[float, ...]
Set = frozenset[int]


def parse(text: str) -> Shape:
    """'((..).)' as nested tuples."""
    stack: list[list[Any]] = [[]]
    for character in text.replace(" ", ""):
        if character == "(":
            stack.append([])
        elif character == ")":
            closed = tuple(stack.pop())
            stack[-1].append(closed)
        else:
            stack[-1].append(())
    (shape,) = stack[0]
    return shape


def columns_of(features: Any, nominal: str = "one") -> list[Column]:
    """The columns of a `Features` in its documented order."""
    return (
        [("real", 0)] * features.real
        + [("binary", 2)] * features.binary
        + [("ordinal", c) for c in features.ordinal]
        + [(nominal, c) for c in features.nominal]
        + [("multiway", c) for c in features.multiway]
    )


def tests_of(column: Column, values: Sequence[float]) -> Iterator[list[set[float]]]:
    """The tests on one feature: the values that each part takes."""
    kind, categories = column
    if kind == "real":
        for value in [-math.inf, *values]:
            yield [{v for v in values if v <= value}, {v for v in values if v > value}]
        return
    everything = set(range(categories))
    if kind in ("binary", "ordinal"):
        for threshold in range(1, categories):
            yield [set(range(threshold)), set(range(threshold, categories))]
    elif kind == "one":
        for category in everything:
            yield [{category}, everything - {category}]
    elif kind == "subset":
        for size in range(1, categories):
            for chosen in itertools.combinations(range(categories), size):
                yield [set(chosen), everything - set(chosen)]
    else:
        yield [{category} for category in range(categories)]


class Oracle:
    """One class of trees: a structure, its features, its orientation."""

    def __init__(self, structure: str, columns: Sequence[Column], fixed: bool = False) -> None:
        self.shape = parse(structure) if columns else ()
        self.columns = list(columns)
        self.fixed = fixed

    def splits(self, sample: Sequence[Point], among: Set, arity: int) -> set[tuple[Set, ...]]:
        """All ways to give the points of a set to so many children."""
        ways: set[tuple[Set, ...]] = set()
        for f, column in enumerate(self.columns):
            for test in tests_of(column, [point[f] for point in sample]):
                if len(test) == arity:
                    parts = tuple(frozenset(i for i in among if sample[i][f] in part) for part in test)
                    ways.update([parts] if self.fixed else itertools.permutations(parts))
        return ways

    def labellings(self, sample: Sequence[Point], classes: int = 2) -> set[int]:
        """All labellings of a sample that trees of the class realise."""
        known: dict[tuple[Shape, Set], set[int]] = {}

        def of(shape: Shape, among: Set) -> set[int]:
            key = shape, among
            if key not in known:
                if not shape or not among:
                    known[key] = {sum(label * classes**i for i in among) for label in range(classes)}
                else:
                    known[key] = set()
                    for parts in self.splits(sample, among, len(shape)):
                        choices = [of(child, part) for child, part in zip(shape, parts, strict=True)]
                        known[key].update(map(sum, itertools.product(*choices)))
            return known[key]

        return of(self.shape, frozenset(range(len(sample))))

    def count(self, sample: Sequence[Point]) -> int:
        return len(self.labellings(sample))

    def shatters(self, sample: Sequence[Point]) -> bool:
        return self.count(sample) == 2 ** len(sample)

    def realises(self, sample: Sequence[Point], labels: Sequence[int]) -> bool:
        classes = max(2, max(labels, default=0) + 1)
        code = sum(label * classes**i for i, label in enumerate(labels))
        return code in self.labellings(sample, classes)

    def partitions(self, sample: Sequence[Point], parts: int) -> int:
        """How many partitions of a sample into so many parts that are not empty are realised."""
        found = 0
        for code in self.labellings(sample, parts):
            digits = {code // parts**i % parts for i in range(len(sample))}
            found += len(digits) == parts
        return found // math.factorial(parts)

    def samples(self, m: int, ties: bool = False) -> Iterator[list[Point]]:
        """All samples of m different points; real values are ranks, all different unless ties are asked for."""
        finite = [range(c) for kind, c in self.columns if kind != "real"]
        n_real = len(self.columns) - len(finite)
        if ties or not n_real:
            cells = itertools.product(*([range(m)] * n_real), *finite)
            yield from map(list, itertools.combinations(cells, m))
            return
        # The points are numbered along the first real feature.
        others = itertools.product(itertools.permutations(range(m)), repeat=n_real - 1)
        for orders in others:
            for cells in itertools.product(itertools.product(*finite), repeat=m):
                ranks = zip(range(m), *orders, strict=True)
                yield [(*rank, *cell) for rank, cell in zip(ranks, cells, strict=True)]

    def largest(self, m: int) -> int:
        """How many points samples have that stand for all of m points: repeating a point adds nothing."""
        if any(kind == "real" for kind, _ in self.columns):
            return m
        return min(m, math.prod(c for _, c in self.columns))

    def growth(self, m: int, ties: bool = False) -> int:
        return max(self.count(sample) for sample in self.samples(self.largest(m), ties))

    def partitioning(self, m: int, parts: int) -> int:
        if parts > self.largest(m):
            return 0
        return max(self.partitions(sample, parts) for sample in self.samples(self.largest(m)))

    def vc(self) -> int:
        """The size of the largest shattered sample; subsets of shattered samples are shattered."""
        m = 0
        while self.largest(m + 1) == m + 1 and any(map(self.shatters, self.samples(m + 1))):
            m += 1
        return m

    def check_tree(self, tree: Any, sample: Sequence[Point], labels: Sequence[Any]) -> None:
        """Assert that a `Tree` has the structure, makes only tests that the features allow, and gives the labels."""
        shape = self._check_node(tree, 0)
        if self.fixed:
            assert shape == self.shape
        else:
            assert sort(shape) == sort(self.shape)
        for point, label in zip(sample, labels, strict=True):
            assert tree.classes[tree.value[self._send(tree, point)].argmax()] == label

    def _check_node(self, tree: Any, i: int) -> Shape:
        children = tree.child[tree.child_start[i] : tree.child_start[i + 1]].tolist()
        if not children:
            return ()
        kind, categories = self.columns[tree.feature[i]]
        held = tree.set_values[tree.set_start[i] : tree.set_start[i + 1]].tolist()
        test, threshold = int(tree.test[i]), float(tree.threshold[i])
        if kind in ("binary", "ordinal"):
            assert test == 0 and 0 <= threshold < categories - 1
        elif kind == "real":
            assert test == 0
        elif kind == "one":
            assert test == 1 and threshold in range(categories)
        elif kind == "subset":
            assert test == 2 and 0 < len(held) < categories and set(held) <= set(range(categories))
        elif test == 0:
            assert categories == 2 and 0 <= threshold < 1
        else:
            assert test == 3 and held == list(range(categories)) and len(children) == categories
        return tuple(self._check_node(tree, child) for child in children)

    def _send(self, tree: Any, point: Point) -> int:
        i = 0
        while tree.feature[i] >= 0:
            value, threshold = point[tree.feature[i]], tree.threshold[i]
            held = tree.set_values[tree.set_start[i] : tree.set_start[i + 1]].tolist()
            goes = [not value <= threshold, value != threshold, value not in held]
            branch = held.index(value) if tree.test[i] == 3 else int(goes[tree.test[i]])
            i = int(tree.child[tree.child_start[i] + branch])
        return i


def sort(shape: Shape) -> Shape:
    """The same shape whatever the order of children."""
    return tuple(sorted(map(sort, shape), key=repr))


# --- symmetries, by brute force


def images(sample: Sequence[Point], columns: Sequence[Column], fixed: bool) -> set[frozenset[Point]]:
    """The orbit of a sample, as sets of points."""
    m = len(sample)
    maps = [list(value_maps(column, m, fixed)) for column in columns]
    orbit = set()
    for order in itertools.permutations(range(len(columns))):
        if any(columns[f] != columns[g] for f, g in enumerate(order)):
            continue
        for chosen in itertools.product(*maps):
            orbit.add(frozenset(tuple(chosen[f][point[g]] for f, g in enumerate(order)) for point in sample))
    return orbit


def value_maps(column: Column, m: int, fixed: bool) -> Iterator[tuple[int, ...]]:
    kind, categories = column
    n = m if kind == "real" else categories
    yield from {
        "one": itertools.permutations(range(n)),
        "subset": itertools.permutations(range(n)),
        "multiway": iter([tuple(range(n))]) if fixed else itertools.permutations(range(n)),
    }.get(kind, iter({tuple(range(n))} | (set() if fixed else {tuple(range(n))[::-1]})))

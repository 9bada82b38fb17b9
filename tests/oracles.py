"""Slow, plain answers to the questions the engine answers fast.

Everything here is read straight off the definitions, with tuples, sets and itertools, and shares no code with the
package.  The words are those of the package:

* a *structure* is spelled ``'.'`` for a leaf and ``'(' children ')'`` for a node, and parsed into nested tuples, a leaf
  being ``()``;
* a *tree* is a structure with its tests and labels: ``("leaf", label)`` or ``("node", test, child_0, child_1)``, where
  ``child_0`` takes the points whose test comes out 0;
* a *sample* is a sequence of points, a point a tuple of feature values; a *labelling* a tuple with one label per point;
* *orientation* ``"fixed"`` sends outcome 0 to the left child of the structure, ``"free"`` lets every node choose which
  of its children takes outcome 0.

A kind of feature comes in at three places only, so a new one is added there: `splits_on` (what a node may ask),
`outcome` (the answer of one point) and `samples` (the samples over which a maximum is taken).  Known kinds are
``"binary"`` and ``"real"``.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Sequence
from typing import Any

Structure = tuple[Any, ...]
"""A leaf is (), a node the tuple of its children."""
Point = tuple[float, ...]
Sample = Sequence[Point]
Split = int | tuple[int, float]
"""A binary feature i is the int i; the threshold test x_i > theta is (i, theta)."""
Tree = tuple[Any, ...]
Labelling = tuple[int, ...]
Partition = frozenset[frozenset[int]]


# Structures


def parse(spelling: str) -> Structure:
    """Return the structure with this spelling as nested tuples: '.' is a leaf, '(' children ')' a node."""
    text = "".join(spelling.split())
    structure, end = _parse_from(text, 0)
    if end != len(text):
        raise ValueError(f"expected the spelling of one structure, got {spelling!r}")
    return structure


def _parse_from(text: str, start: int) -> tuple[Structure, int]:
    """Return the structure that begins at `start` and the position after it."""
    if text[start : start + 1] == ".":
        return (), start + 1
    if text[start : start + 1] != "(":
        raise ValueError(f"expected '.' or '(' at position {start} of {text!r}")
    children, position = [], start + 1
    while text[position : position + 1] != ")":
        child, position = _parse_from(text, position)
        children.append(child)
    if len(children) < 2:
        raise ValueError(f"expected at least two children in {text!r}")
    return tuple(children), position + 1


def spell(structure: Structure) -> str:
    """Return the spelling of a structure, the inverse of `parse`."""
    return "(" + "".join(spell(child) for child in structure) + ")" if structure else "."


def sort_children(structure: Structure) -> Structure:
    """Return the one arrangement of a structure that is the same however children are swapped."""
    return tuple(sorted((sort_children(child) for child in structure), key=spell))


# Trees


def outcome(test: Split, point: Point) -> int:
    """Return which side of a test a point is on: the value of a binary feature, or 1 where x_i > theta and else 0."""
    if isinstance(test, int):
        return int(point[test])
    feature, theta = test
    return 1 if point[feature] > theta else 0


def evaluate(tree: Tree, point: Point) -> int:
    """Return the label a tree gives to a point: follow the outcomes from the root to a leaf."""
    while tree[0] == "node":
        tree = tree[2 + outcome(tree[1], point)]
    return int(tree[1])


def shape(tree: Tree) -> str:
    """Return the spelling of the structure of a tree, the child for outcome 0 written first."""
    return "." if tree[0] == "leaf" else "(" + "".join(shape(child) for child in tree[2:]) + ")"


def check_tree(tree: Tree, structure: str, sample: Sample, labelling: Sequence[int], orientation: str = "free") -> None:
    """Assert that a tree belongs to the class of a structure and gives a sample these labels.

    With orientation fixed the shape of the tree is the structure itself, the child for outcome 0 on the left; with
    orientation free it is so after swapping children of any nodes.
    """
    _check_orientation(orientation)
    found, wanted = parse(shape(tree)), parse(structure)
    if orientation == "free":
        found, wanted = sort_children(found), sort_children(wanted)
    assert found == wanted, f"expected a tree of structure {structure}, got {shape(tree)} ({orientation})"
    assert len(labelling) == len(sample), f"expected {len(sample)} labels, got {len(labelling)}"
    for point, label in zip(sample, labelling, strict=True):
        given = evaluate(tree, point)
        assert given == label, f"expected label {label} at {point}, got {given}"


def splits_on(kind: str, sample: Sample) -> list[Split]:
    """Return the tests a node may make, one for each way in which they can divide this sample.

    binary: one per feature.  real: x_i > theta divides the sample as it does with theta lowered to the nearest value
    of feature i in the sample, or with theta = -inf if there is none.
    """
    n_features = len(sample[0]) if sample else 0
    if kind == "binary":
        return list(range(n_features))
    if kind == "real":
        thresholds = [{-math.inf, *(point[i] for point in sample)} for i in range(n_features)]
        return [(i, theta) for i in range(n_features) for theta in sorted(thresholds[i])]
    raise ValueError(f"expected kind 'binary' or 'real', got {kind!r}")


def arrangements(children: Structure, orientation: str) -> list[Structure]:
    """Return the orders in which the children of a node may take the outcomes 0, 1, ... of its test."""
    _check_orientation(orientation)
    if len(children) != 2:
        raise ValueError(f"expected nodes with two children, got one with {len(children)}")
    return [children] if orientation == "fixed" else list(itertools.permutations(children))


def trees(structure: Structure, tests: Sequence[Split], orientation: str, n_classes: int) -> Iterator[Tree]:
    """Yield the class of a structure: every test at every node, every orientation, every label at every leaf.

    With no test to make a structure is a leaf.
    """
    if not structure or not tests:
        yield from (("leaf", label) for label in range(n_classes))
        return
    for arranged in arrangements(structure, orientation):
        for test in tests:
            for subtrees in itertools.product(*(list(trees(c, tests, orientation, n_classes)) for c in arranged)):
                yield ("node", test, *subtrees)


# What a structure realises on one sample


def oracle_labellings(
    structure: str, sample: Sample, orientation: str = "free", n_classes: int = 2, kind: str = "binary"
) -> set[Labelling]:
    """Return every labelling realised on a sample: build each tree of the class and evaluate it on each point."""
    tests = splits_on(kind, sample)
    every_tree = trees(parse(structure), tests, orientation, n_classes)
    return {tuple(evaluate(tree, point) for point in sample) for tree in every_tree}


def oracle_labellings_recursive(
    structure: str, sample: Sample, orientation: str = "free", n_classes: int = 2, kind: str = "binary"
) -> set[Labelling]:
    """Return the same set as `oracle_labellings`, by recursion over the structure.

    On a part A of the sample a leaf realises the constant labellings.  A node realises what some test of it does: the
    test divides A by its outcomes, the children label their parts independently of each other.  A labelling of A is
    kept as the set of pairs (index of the point, label).
    """
    tests = splits_on(kind, sample)
    known: dict[tuple[Structure, frozenset[int]], set[frozenset[tuple[int, int]]]] = {}

    def realise(t: Structure, part: frozenset[int]) -> set[frozenset[tuple[int, int]]]:
        if not t or not tests:
            return {frozenset((i, label) for i in part) for label in range(n_classes)}
        if (t, part) not in known:
            divisions = {
                tuple(frozenset(i for i in part if outcome(test, sample[i]) == side) for side in range(len(t)))
                for test in tests
            }
            known[t, part] = {
                frozenset().union(*pieces)
                for division in divisions
                for arranged in set(arrangements(t, orientation))
                for pieces in itertools.product(*(realise(c, a) for c, a in zip(arranged, division, strict=True)))
            }
        return known[t, part]

    labellings = realise(parse(structure), frozenset(range(len(sample))))
    return {tuple(label for _, label in sorted(pairs)) for pairs in labellings}


def oracle_dichotomies(structure: str, sample: Sample, orientation: str = "free", kind: str = "binary") -> int:
    """Return how many labellings with two labels are realised on a sample."""
    return len(oracle_labellings_recursive(structure, sample, orientation, kind=kind))


def oracle_is_shattered(structure: str, sample: Sample, orientation: str = "free", kind: str = "binary") -> bool:
    """Say whether every labelling of a sample with two labels is realised."""
    realised = oracle_labellings_recursive(structure, sample, orientation, kind=kind)
    return all(labelling in realised for labelling in itertools.product(range(2), repeat=len(sample)))


def oracle_partitions(
    structure: str, sample: Sample, c: int, orientation: str = "free", kind: str = "binary"
) -> set[Partition]:
    """Return every set partition of the sample into exactly c non-empty parts that a tree realises.

    The leaves are grouped into c classes, that is labelled with c labels; a part holds the points of one class, by
    their indices; labellings that leave a class empty are no c-partitions.
    """
    partitions = set()
    for labelling in oracle_labellings_recursive(structure, sample, orientation, n_classes=c, kind=kind):
        parts = frozenset(
            frozenset(i for i, given in enumerate(labelling) if given == label) for label in set(labelling)
        )
        if len(parts) == c:
            partitions.add(parts)
    return partitions


# Maxima over samples


def samples(kind: str, m: int, d: int, repeats: bool = False) -> Iterator[Sample]:
    """Yield the samples of m points on d features over which a maximum is to be taken.

    binary: every m-subset of {0,1}^d, or with `repeats` every multiset of m points of it.
    Distinct points suffice for a maximum if m <= 2^d.  A repeated point always has the label of its twin, so a
    multiset realises as many labellings (or c-partitions) as its set of k < m different points; and adding points to a
    set loses none, as a tree that realises a labelling (c-partition) of the smaller set gives one on the larger set
    (whose new points go to the c parts that are there) from which the first is got back by restriction.  For the
    same reason m > 2^d points realise as many as all 2^d of them, so then each point comes at least once.

    real: only the order of the values of each feature matters, so the values are the ranks 0..m-1; no ties, because
    the divisions of a tied order are among those of an order that breaks the tie; feature 0 in order, because the
    points have no names.
    """
    if kind == "binary":
        cube = list(itertools.product((0, 1), repeat=d))
        if repeats:
            yield from itertools.combinations_with_replacement(cube, m)
        elif m <= len(cube):
            yield from itertools.combinations(cube, m)
        else:
            yield cube + [cube[0]] * (m - len(cube))
    elif kind == "real":
        orders = itertools.product(itertools.permutations(range(m)), repeat=d - 1)
        for others in orders:
            yield list(zip(range(m), *others, strict=True))
    else:
        raise ValueError(f"expected kind 'binary' or 'real', got {kind!r}")


def oracle_vc(structure: str, d: int, orientation: str = "free", kind: str = "binary", upwards: bool = False) -> int:
    """Return the VC dimension, the size of the largest shattered sample.

    Binary: looks at every subset of {0,1}^d, the largest first, and stops at the first that is shattered (a sample
    with a repeated point is never shattered).  With `upwards`, and always for real features, the sizes go up from 1
    and stop at the first without a shattered sample: a subset of a shattered sample is shattered.
    """

    def some_sample_is_shattered(m: int) -> bool:
        return any(oracle_is_shattered(structure, sample, orientation, kind) for sample in samples(kind, m, d))

    if kind == "binary" and not upwards:
        return next(m for m in range(2**d, 0, -1) if some_sample_is_shattered(m))
    return next(m for m in itertools.count() if not some_sample_is_shattered(m + 1))


def oracle_growth(
    structure: str, m: int, d: int, orientation: str = "free", kind: str = "binary", repeats: bool = False
) -> int:
    """Return the growth function: the most dichotomies on a sample of m points (see `samples` for `repeats`)."""
    return max(oracle_dichotomies(structure, sample, orientation, kind) for sample in samples(kind, m, d, repeats))


def oracle_partitioning(
    structure: str, m: int, c: int, d: int, orientation: str = "free", kind: str = "binary", repeats: bool = False
) -> int:
    """Return the c-partitioning function: the most c-partitions on a sample of m points (`repeats` as in `samples`)."""
    return max(len(oracle_partitions(structure, s, c, orientation, kind)) for s in samples(kind, m, d, repeats))


def _check_orientation(orientation: str) -> None:
    if orientation not in ("free", "fixed"):
        raise ValueError(f"expected orientation 'free' or 'fixed', got {orientation!r}")

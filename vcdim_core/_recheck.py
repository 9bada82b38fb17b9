"""The checker's own exhaustion: grow all shattered samples of a small problem, one for each orbit.

Slow and plain: a sample is a sorted tuple of points, real values being ranks; its canonical form is the smallest of its
images under the whole group of symmetries, listed one by one. A sample of m + 1 points is tested only if all its
m-subsets are shattered, since subsets of shattered samples are.

The symmetries G: permutations of features of the same kind and number of categories; with orientation free also the
reversal of each real, binary and ordinal feature; all permutations of the categories of a nominal feature and, with
orientation free, of a multiway one. (With orientation fixed a multiway feature sends value v to child v.) None of them
changes whether a sample is shattered: they permute the tests and, with orientation free, the answers.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Sequence

from ._check_problem import Parts, Problem, Shape, Values, all_divisions, arrangements

Sample = tuple[Values, ...]


class Effort:
    """How much work may be done: one unit is one image of a sample or one division of a subset."""

    def __init__(self, units: int) -> None:
        self.left = units

    def spend(self, units: int) -> None:
        """Use some of it, or raise `OutOfEffort`."""
        self.left -= units
        if self.left < 0:
            raise OutOfEffort


class OutOfEffort(Exception):
    """The problem is too large for the effort allowed; ``counts`` are those of the sizes that were finished."""

    counts: Sequence[tuple[int, int]] = ()


# Dichotomies


def constant_on(n_points: int) -> list[int]:
    """Return for each point the set of labellings (first point 0) that label it 1, as bits."""
    size = 1 << max(n_points - 1, 0)
    rows = [0]
    for i in range(1, n_points):
        block = ((1 << (1 << i - 1)) - 1) << (1 << i - 1)
        rows.append(sum(block << start for start in range(0, size, 1 << i)))
    return rows


def realised(problem: Problem, sample: Sequence[Values], effort: Effort | None = None) -> int:
    """Return the labellings realised on a sample as bits: bit b stands for the labels 0, b & 1, b >> 1 & 1, ...

    Examples
    --------
    >>> stump = Problem(((), ()), (("real", 0),), True, False)
    >>> bin(realised(stump, [(0,), (1,), (2,)]))
    '0b1101'
    """
    m = len(sample)
    divisions = {arity: list(found) for arity, found in all_divisions(problem, sample).items()}
    ones, full = constant_on(m), (1 << (1 << max(m - 1, 0))) - 1
    memo: dict[tuple[Shape, int], int] = {}

    def constant(part: int) -> int:
        same, other = full, full
        for i in range(m):
            if part >> i & 1:
                same, other = same & ones[i], other & ~ones[i]
        return same | other

    def visit(shape: Shape, part: int) -> int:
        if not shape or part & (part - 1) == 0:
            shape = ()
        key = shape, part
        if key not in memo:
            memo[key] = through(shape, part) if shape else constant(part)
        return memo[key]

    def through(shape: Shape, part: int) -> int:
        found = 0
        seen: set[Parts] = set()
        for parts in divisions[len(shape)]:
            inside = tuple(side & part for side in parts)
            if inside in seen:
                continue
            seen.add(inside)
            for order in arrangements(problem, shape):
                both = full
                for child, side in zip(order, inside, strict=True):
                    both &= visit(shape[child], side)
                    if not both & ~found:
                        break
                found |= both
            if found == full:
                break
        if effort is not None:
            effort.spend(len(seen))
        return found

    return visit(problem.shape, (1 << m) - 1)


def is_shattered(problem: Problem, sample: Sequence[Values], effort: Effort | None = None) -> bool:
    """Whether every labelling of a sample is realised; a sample that repeats a point is not shattered."""
    if len(set(sample)) < len(sample):
        return False
    return realised(problem, sample, effort) == (1 << (1 << max(len(sample) - 1, 0))) - 1


# Symmetry


def group_order(problem: Problem) -> int:
    """Return the number of symmetries of the features."""
    order = 1
    for (kind, categories), like in itertools.groupby(sorted(problem.columns)):
        count = len(list(like))
        order *= math.factorial(count) * _n_renamings(problem, kind, categories) ** count
    return order


def _n_renamings(problem: Problem, kind: str, categories: int) -> int:
    """Return how many permutations of the values of a feature keep what can be tested."""
    if kind == "nominal" or (kind == "multiway" and problem.free):
        return math.factorial(categories)
    return 2 if problem.free and kind != "multiway" else 1


def _renamings(problem: Problem, kind: str, categories: int) -> list[tuple[int, ...]]:
    """Return these permutations; for a real feature () keeps and (0,) reverses the order."""
    if kind == "real":
        return [(), (0,)] if problem.free else [()]
    same = tuple(range(categories))
    if kind == "nominal" or (kind == "multiway" and problem.free):
        return list(itertools.permutations(same))
    return [same, same[::-1]] if problem.free and kind != "multiway" else [same]


Symmetry = tuple[tuple[int, tuple[int, ...]], ...]
"""For each column, from which column it comes and how its values are renamed."""


def symmetries(problem: Problem) -> list[Symmetry]:
    """Return all symmetries of the features."""
    blocks: dict[tuple[str, int], list[int]] = {}
    for i, column in enumerate(problem.columns):
        blocks.setdefault(column, []).append(i)
    choices: list[list[dict[int, tuple[int, tuple[int, ...]]]]] = []
    for (kind, categories), places in blocks.items():
        renamings = _renamings(problem, kind, categories)
        choices.append([
            dict(zip(places, zip(sources, names, strict=True), strict=True))
            for sources in itertools.permutations(places)
            for names in itertools.product(renamings, repeat=len(places))
        ])  # fmt: skip
    found = []
    for chosen in itertools.product(*choices):
        merged = {place: source for block in chosen for place, source in block.items()}
        found.append(tuple(merged[i] for i in range(len(problem.columns))))
    return found


def image(problem: Problem, sample: Sample, symmetry: Symmetry) -> Sample:
    """Return the image of a sample, sorted."""
    top = len(sample) - 1
    n_real = problem.n_real
    columns = list(zip(*sample, strict=True)) if sample else [()] * len(symmetry)
    moved: list[Sequence[float]] = []
    for place, (source, names) in enumerate(symmetry):
        column = columns[source]
        if place < n_real:
            moved.append([top - value for value in column] if names else column)
        else:
            moved.append([names[int(value)] for value in column])
    return tuple(sorted(zip(*moved, strict=True))) if moved else sample


def orbit_form(problem: Problem, sample: Sample, group: Sequence[Symmetry], effort: Effort) -> tuple[Sample, int]:
    """Return the smallest image of a sample, and how many symmetries give it: the order of its stabiliser."""
    effort.spend(len(group))
    images = [image(problem, sample, symmetry) for symmetry in group]
    best = min(images)
    return best, images.count(best)


# Exhaustion


def without(problem: Problem, sample: Sample, i: int) -> Sample:
    """Return a sample less one point; ranks close up."""
    gone, n_real = sample[i], problem.n_real
    if not n_real:
        return sample[:i] + sample[i + 1 :]
    return tuple(
        tuple(v - (v > g) if f < n_real else v for f, (v, g) in enumerate(zip(point, gone, strict=True)))
        for point in sample[:i] + sample[i + 1 :]
    )


def extensions(problem: Problem, sample: Sample) -> Iterator[Sample]:
    """Yield the samples with one point more: every rank in each real feature, every value of the others."""
    n_real = problem.n_real
    ranks = [range(len(sample) + 1)] * n_real
    there = set(sample)
    for point in itertools.product(*ranks, *(range(categories) for _, categories in problem.finite)):
        if n_real:
            yield tuple(sorted([*(_make_room(old, point, n_real) for old in sample), point]))
        elif point not in there:
            yield tuple(sorted([*sample, point]))


def _make_room(old: Values, new: Values, n_real: int) -> Values:
    return tuple(v + (v >= w) if f < n_real else v for f, (v, w) in enumerate(zip(old, new, strict=True)))


Level = dict[Sample, int]
"""Canonical forms of shattered samples of one size, with the orders of their stabilisers."""


def next_level(problem: Problem, level: Level, group: Sequence[Symmetry], effort: Effort) -> Level:
    """Return the shattered samples with one point more."""
    found: Level = {}
    seen: set[Sample] = set()
    for sample in level:
        for longer in extensions(problem, sample):
            if longer in seen:
                continue
            seen.add(longer)
            form, stabiliser = orbit_form(problem, longer, group, effort)
            if form in found or (form in seen and form != longer):
                continue
            seen.add(form)
            subsets = (without(problem, form, i) for i in range(len(form)))
            if all(orbit_form(problem, part, group, effort)[0] in level for part in subsets) and is_shattered(
                problem, form, effort
            ):
                found[form] = stabiliser
    return found


def exhaust(problem: Problem, most: int, units: int) -> list[tuple[int, int]]:
    """Return orbits and samples, by number of points, of the shattered samples of up to ``most`` points.

    Ends at the first size without any. Raises `OutOfEffort` beyond so many units of work.

    Examples
    --------
    >>> stump = Problem(((), ()), (("binary", 2),) * 2, True, False)
    >>> exhaust(stump, 4, 10_000)
    [(1, 1), (1, 4), (2, 6), (0, 0)]
    """
    effort = Effort(units)
    if group_order(problem) > units:
        raise OutOfEffort
    group = symmetries(problem)
    level: Level = {(): len(group)}
    counts = [(1, 1)]
    while level and len(counts) <= most:
        try:
            level = next_level(problem, level, group, effort)
        except OutOfEffort as stopped:
            stopped.counts = counts
            raise
        counts.append((len(level), sum(len(group) // stabiliser for stabiliser in level.values())))
    return counts


def n_samples(problem: Problem, m: int) -> int:
    """Return the number of samples of m distinct points, as sets, up to the order of their real values."""
    if problem.n_real:
        return int(math.factorial(m) ** (problem.n_real - 1) * problem.n_values**m)
    return math.comb(problem.n_values, m)

"""One sample per orbit: against brute force over the group, Burnside's lemma and the sizes of the orbits."""

from __future__ import annotations

import itertools
import math
from collections import Counter
from collections.abc import Iterator
from fractions import Fraction
from functools import cache

import numpy as np
import oracles
import pytest

import vcdim_core as vc
from vcdim_core import _levels
from vcdim_core._problem import no_limits, substructures

ORIENTATIONS = ("free", "fixed")

# Orbits of all subsets of the d-cube under the hyperoctahedral group (OEIS A000616), d = 0, 1, 2, ...
ALL_SUBSETS = {0: 2, 1: 3, 2: 6, 3: 22, 4: 402, 5: 1228158}

# Largest subset of the d-cube that is generated, by d and orientation fixed or not: all of them for d <= 4.
LARGEST = {(d, fixed): 2**d for d in range(5) for fixed in (False, True)} | {(5, False): 8, (5, True): 5}

Map = tuple[tuple[int, ...], int]


def group(d: int, fixed: bool) -> Iterator[Map]:
    """Permutations of the features, with complements if these are symmetries."""
    for order in itertools.permutations(range(d)):
        for flip in [0] if fixed else range(2**d):
            yield order, flip


def image(element: Map, point: int) -> int:
    order, flip = element
    return sum((point ^ flip) >> f & 1 and 1 << place for f, place in enumerate(order))


@cache
def cycle_types(d: int, fixed: bool) -> Counter[tuple[int, ...]]:
    """How many elements of the group move the points of the cube in cycles of these lengths."""
    types: Counter[tuple[int, ...]] = Counter()
    for element in group(d, fixed):
        seen: set[int] = set()
        lengths = []
        for start in range(2**d):
            length, point = 0, start
            while point not in seen:
                seen.add(point)
                point = image(element, point)
                length += 1
            if length:
                lengths.append(length)
        types[tuple(sorted(lengths))] += 1
    return types


@cache
def orbit_counts(d: int, fixed: bool) -> list[int]:
    """Orbits of m-subsets, m = 0, 1, ..., 2^d: the average of the coefficients of prod(1 + x^length)."""
    totals = [Fraction(0)] * (2**d + 1)
    types = cycle_types(d, fixed)
    for lengths, n in types.items():
        coefficients = [1] + [0] * 2**d
        for length in lengths:
            for m in range(2**d, length - 1, -1):
                coefficients[m] += coefficients[m - length]
        for m, value in enumerate(coefficients):
            totals[m] += Fraction(value * n)
    return [int(total / types.total()) for total in totals]


def few_levels(d: int, fixed: bool, most: int) -> list[_levels.Level]:
    """All orbits of samples of 0, 1, ..., most points."""
    worker = _levels.Worker(np.maximum(substructures(vc.STUMP, fixed), 0), d, fixed, no_limits())
    found = [_levels.first_level(d, fixed)]
    for _ in range(most):
        part = worker.generate(found[-1], 0, found[-1].n_orbits, False)
        assert part is not None
        found.append(_levels.join_levels([part]))
        _levels.open_candidates(found[-1])
    return found


@cache
def levels(d: int, fixed: bool) -> list[_levels.Level]:
    return few_levels(d, fixed, LARGEST[d, fixed])


def order_of_group(d: int, fixed: bool) -> int:
    return math.factorial(d) * (1 if fixed else 2**d)


# Counts


@pytest.mark.parametrize("d", ALL_SUBSETS)
def test_burnside_counts_are_the_known_ones(d: int) -> None:
    assert sum(orbit_counts(d, False)) == ALL_SUBSETS[d]


@pytest.mark.parametrize(("d", "fixed"), LARGEST)
def test_number_of_orbits(d: int, fixed: bool) -> None:
    assert [level.n_orbits for level in levels(d, fixed)] == orbit_counts(d, fixed)[: LARGEST[d, fixed] + 1]


@pytest.mark.parametrize(
    ("d", "fixed", "most"), [(6, False, 5), (6, True, 3), (7, False, 4), (8, False, 4), (9, True, 2)]
)
def test_orbit_sizes_sum_to_all_samples_on_more_features(d: int, fixed: bool, most: int) -> None:
    order = order_of_group(d, fixed)
    for m, level in enumerate(few_levels(d, fixed, most)):
        assert all(order % stabiliser == 0 for stabiliser in level.stabilisers())
        assert sum(order // stabiliser for stabiliser in level.stabilisers()) == math.comb(2**d, m)


@pytest.mark.parametrize(("d", "fixed"), LARGEST)
def test_orbit_sizes_sum_to_all_samples(d: int, fixed: bool) -> None:
    order = order_of_group(d, fixed)
    for m, level in enumerate(levels(d, fixed)):
        stabilisers = level.stabilisers()
        assert all(order % stabiliser == 0 for stabiliser in stabilisers)
        assert sum(order // stabiliser for stabiliser in stabilisers) == math.comb(2**d, m)


def test_slices_of_a_level_join_to_the_same_level() -> None:
    worker = _levels.Worker(np.maximum(substructures(vc.STUMP, False), 0), 4, False, no_limits())
    parents, whole = levels(4, False)[4:6]
    parts = [worker.generate(parents, i, i + 1, False) for i in range(parents.n_orbits)]
    joined = _levels.join_levels([part for part in parts if part is not None])
    assert [joined.sample(i) for i in range(joined.n_orbits)] == [whole.sample(i) for i in range(whole.n_orbits)]
    assert joined.stabilisers() == whole.stabilisers()


# Representatives


@pytest.mark.parametrize(("d", "fixed"), [(d, fixed) for d in range(4) for fixed in (False, True)])
def test_representatives_are_not_images_of_each_other(d: int, fixed: bool) -> None:
    elements = list(group(d, fixed))
    for level in levels(d, fixed):
        orbits = []
        for i, stabiliser in enumerate(level.stabilisers()):
            sample = level.sample(i)
            assert len(set(sample)) == level.n_points
            images = [frozenset(image(element, point) for point in sample) for element in elements]
            assert images.count(frozenset(sample)) == stabiliser
            orbits.append(set(images))
        assert len(set().union(*orbits)) == sum(map(len, orbits))


@pytest.mark.parametrize("fixed", [False, True])
def test_stabilisers_on_four_features(fixed: bool) -> None:
    elements = [{p: image(element, p) for p in range(16)} for element in group(4, fixed)]
    for level in levels(4, fixed)[:5]:
        for i in range(0, level.n_orbits, 3):
            sample = frozenset(level.sample(i))
            assert level.stabilisers()[i] == sum({move[p] for p in sample} == sample for move in elements)


# The search with and without symmetry


@pytest.mark.parametrize("orientation", ORIENTATIONS)
@pytest.mark.parametrize("d", [1, 2, 3])
def test_search_equals_the_search_of_all_subsets(d: int, orientation: str) -> None:
    """Every subset of the cube is asked for by itself; the largest shattered one is what the search finds."""
    cube = list(itertools.product((0, 1), repeat=d))
    for structure in [s for n in range(1, 6) for s in vc.structures(n)]:
        sizes = (m for m in range(2**d, 0, -1) for sample in itertools.combinations(cube, m)
                 if vc.is_shattered(structure, sample, orientation=orientation))
        assert vc.exact_vc(structure, d=d, orientation=orientation) == next(sizes)


@pytest.mark.parametrize("orientation", ORIENTATIONS)
@pytest.mark.parametrize("structure", ["(..)", "((..).)", "(.(..))", "((..)(..))"])
def test_orbits_of_shattered_samples_are_counted_right(structure: str, orientation: str) -> None:
    """All shattered samples, by the oracle, are the orbits of the shattered children of shattered samples."""
    d, fixed = 3, orientation == "fixed"
    order = order_of_group(d, fixed)
    cube = list(itertools.product((0, 1), repeat=d))
    worker = _levels.Worker(np.maximum(substructures(vc.Structure.parse(structure), fixed), 0), d, fixed, no_limits())
    level = _levels.first_level(d, fixed)
    m = 0
    while level.n_orbits:
        samples = itertools.combinations(cube, m)
        n_shattered = sum(oracles.oracle_is_shattered(structure, sample, orientation) for sample in samples)
        assert sum(order // stabiliser for stabiliser in level.stabilisers()) == n_shattered
        part = worker.generate(level, 0, level.n_orbits)
        assert part is not None
        level, m = _levels.join_levels([part]), m + 1
        _levels.open_candidates(level)
    assert m - 1 == vc.exact_vc(structure, d=d, orientation=orientation)


@pytest.mark.parametrize("orientation", ORIENTATIONS)
def test_growth_function_over_orbits_equals_that_over_all_samples(orientation: str) -> None:
    cube = list(itertools.product((0, 1), repeat=4))
    for m in (2, 3, 4):
        for structure in ("(..)", "((..).)", "(.(..))"):
            most = max(vc.dichotomies(structure, s, orientation=orientation) for s in itertools.combinations(cube, m))
            assert vc.growth_function(structure, m, d=4, orientation=orientation) == most


# Errors


def test_sample_out_of_range() -> None:
    level = levels(2, False)[2]
    for i in (-1, level.n_orbits):
        with pytest.raises(IndexError):
            level.sample(i)


def test_tables_of_the_wrong_type_are_refused() -> None:
    with pytest.raises(ValueError, match="Buffer dtype mismatch"):
        _levels.Worker(np.zeros((2, 2)), 2, False, no_limits())  # type: ignore[arg-type]

"""The exact engine against the oracle, the golden tables, known facts and itself."""

from __future__ import annotations

import itertools
import json
import math
import os
import pickle
import random
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import oracles
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from interrupts import latency_of

import vcdim_core as vc
from vcdim_core import _realise, exact, samples
from vcdim_core._quick_bounds import counting_bound, lower_sample

settings.register_profile("exact", deadline=None, derandomize=True, max_examples=60)
settings.load_profile("exact")

GOLDEN = Path(__file__).parent / "golden"
ORIENTATIONS = ("free", "fixed")
SLOW = "(((..)(..))((..).))"        # on 6 features: minutes
BRACKET = dict(structure=SLOW, d=5)
BRACKET_VALUE = 11                  # after 10,527 tests


def golden(orientation: str) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = json.loads((GOLDEN / f"exact_binary_{orientation}.json").read_text())["rows"]
    return rows


def ordered_structures(n_nodes: int) -> list[str]:
    """Every ordered binary structure, left and right told apart."""
    if n_nodes == 0:
        return ["."]
    pairs = ((k, n_nodes - 1 - k) for k in range(n_nodes))
    return [f"({a}{b})" for i, j in pairs for a in ordered_structures(i) for b in ordered_structures(j)]


def all_structures(orientation: str, most: int) -> list[str]:
    """Every structure of up to so many nodes that the orientation tells apart."""
    if orientation == "fixed":
        return [s for n in range(most + 1) for s in ordered_structures(n)]
    return [str(s) for n in range(most + 1) for s in vc.structures(n)]


CASES = [(s, orientation) for orientation in ORIENTATIONS for s in all_structures(orientation, 3)]

# Samples that are hard on bookkeeping: repeated rows, constant and repeated columns, one point, few features.
ODD_SAMPLES: dict[str, list[list[int]]] = {
    "one point": [[0, 1, 1]],
    "the same point twice": [[0, 1], [0, 1]],
    "the same point four times": [[1]] * 4,
    "repeated rows": [[0, 0], [1, 0], [0, 0], [1, 1], [1, 0]],
    "constant columns": [[0, 1, 0], [0, 1, 1], [0, 1, 0], [0, 1, 1]],
    "constant and useful columns": [[1, 0, 0, 0], [1, 0, 1, 0], [1, 1, 0, 0], [1, 1, 1, 0]],
    "repeated columns": [[0, 0, 1], [1, 1, 0], [0, 0, 0], [1, 1, 1]],
    "no feature": [[], [], []],
    "a square": [[0, 0], [0, 1], [1, 0], [1, 1]],
    "a cube": [list(p) for p in itertools.product((0, 1), repeat=3)],
    "unit vectors": [[int(i == j) for j in range(4)] for i in range(4)],
}


def tree_of_nodes(nodes: list[tuple[int, int, int]], labels: Sequence[int]) -> oracles.Tree:
    """The preorder of ``_realise.realise`` as a tree of the oracle; empty leaves get label 0."""
    rest = iter(nodes)

    def build() -> oracles.Tree:
        _, feature, mask = next(rest)
        if feature < 0:
            inside = {labels[i] for i in range(len(labels)) if mask >> i & 1}
            assert len(inside) <= 1
            return ("leaf", inside.pop() if inside else 0)
        return ("node", feature, build(), build())

    tree = build()
    assert next(rest, None) is None
    return tree


def realise(structure: str, sample: Any, labels: Sequence[int], orientation: str = "free") -> oracles.Tree | None:
    """The kernel's tree for a sample of distinct points."""
    problem = samples.Sample(structure, sample, None, orientation, "one")
    splits = problem.splits()
    codes = np.array(labels, dtype=np.int32)
    fixed = orientation == "fixed"
    arrays = splits.cuts, splits.parts, splits.part_sizes
    nodes = _realise.realise(problem.problem.table, *arrays, codes, fixed, exact.no_limits())
    return None if nodes is None else tree_of_nodes(nodes, labels)


def check_witness(structure: str, orientation: str, witness: Sequence[Sequence[int]]) -> None:
    """Every labelling of a witness is given by a tree, which is checked in plain Python."""
    assert len(set(map(tuple, witness))) == len(witness)
    for labelling in itertools.product((0, 1), repeat=len(witness)):
        tree = realise(structure, witness, labelling, orientation)
        assert tree is not None, labelling
        oracles.check_tree(tree, structure, witness, labelling, orientation)


@st.composite
def structures_up_to(draw: st.DrawFn, most: int, least: int = 1) -> str:
    spelling = "."
    for _ in range(draw(st.integers(least, most))):
        places = [i for i, c in enumerate(spelling) if c == "."]
        at = draw(st.sampled_from(places))
        spelling = f"{spelling[:at]}(..){spelling[at + 1:]}"
    return spelling


@st.composite
def samples_up_to(draw: st.DrawFn, points: int, features: int) -> list[list[int]]:
    d = draw(st.integers(1, features))
    return draw(st.lists(st.lists(st.integers(0, 1), min_size=d, max_size=d), min_size=1, max_size=points))


orientations = st.sampled_from(ORIENTATIONS)


# Degenerate inputs


@pytest.mark.parametrize("orientation", ORIENTATIONS)
def test_a_leaf_and_no_feature_have_vc_dimension_one(orientation: str) -> None:
    assert vc.exact_vc(".", d=5, orientation=orientation) == 1
    assert vc.exact_vc("((..)(..))", d=0, orientation=orientation) == 1
    assert vc.search_vc("((..)(..))", d=0).witness == ((),)


@pytest.mark.parametrize("empty", [[], np.zeros((0, 3)), np.zeros((0, 0)), ()])
def test_no_point(empty: Any) -> None:
    for structure in (".", "(..)", "((..).)"):
        assert vc.dichotomies(structure, empty) == 1
        assert vc.is_shattered(structure, empty)
        assert vc.unrealised(structure, empty) is None
        assert vc.is_shattered(structure, empty, features=vc.Features(binary=3))


def test_a_leaf_realises_the_constants() -> None:
    assert vc.dichotomies(".", [[0], [1]]) == 2
    assert vc.unrealised(".", [[0], [1]]) == (0, 1)
    assert vc.unrealised("(..)", [[], []]) == (0, 1)


@pytest.mark.parametrize("kind", [bool, np.uint8, np.int64, float, np.float32])
def test_any_kind_of_number_will_do(kind: type) -> None:
    assert vc.dichotomies("(..)", np.array(ODD_SAMPLES["a square"], dtype=kind)) == 6


def test_functions_of_no_point_and_of_one() -> None:
    for structure in (".", "(..)", "((..).)"):
        assert [vc.growth_function(structure, m, d=2) for m in (0, 1)] == [1, 2]
        assert [vc.partitioning_function(structure, 1, c, d=2) for c in (1, 2, 3)] == [1, 0, 0]
        assert vc.partitioning_function(structure, 0, 1, d=2) == 0
    assert vc.growth_function("((..).)", 9, d=0) == 2
    assert vc.partitioning_function("((..).)", 9, 2, d=0) == 0


# Hand-worked cases


def test_stump_on_the_square() -> None:
    r"""Only the two axes cut it: the four rows, the constants among them twice.

        01 -- 11        x0: left | right,  x1: bottom | top
        |      |        not realised: the diagonals, and single corners
        00 -- 10
    """
    square = ODD_SAMPLES["a square"]
    assert vc.dichotomies("(..)", square) == 6
    realised = {y for y in itertools.product((0, 1), repeat=4) if realise("(..)", square, y)}
    assert realised == {(0,) * 4, (1,) * 4, (0, 0, 1, 1), (1, 1, 0, 0), (0, 1, 0, 1), (1, 0, 1, 0)}


def test_orientation_matters_from_two_nodes_on() -> None:
    """A single corner: the second test must stand on the side of x0 where the corner is."""
    square = ODD_SAMPLES["a square"]
    corner = [1, 0, 0, 0]
    assert realise("((..).)", square, corner, "fixed") is not None
    assert realise("(.(..))", square, corner, "fixed") is None
    assert realise("(.(..))", square, corner, "free") is not None


def test_first_structures_for_which_fixed_is_smaller_have_five_nodes() -> None:
    smaller = []
    for row in golden("fixed"):
        free = vc.exact_vc(row["s"], d=row["d"])
        assert row["vc"] <= free
        if row["vc"] < free:
            smaller.append(row["nodes"])
    assert smaller and min(smaller) == 5


# Agreement with the oracle


@pytest.mark.parametrize(("structure", "orientation"), CASES)
def test_exact_vc_agrees_with_the_oracle(structure: str, orientation: str) -> None:
    for d in (1, 2, 3):
        result = vc.search_vc(structure, d=d, orientation=orientation)
        assert result.value == oracles.oracle_vc(structure, d, orientation, upwards=True)
        assert len(result.witness) == result.value
        assert oracles.oracle_is_shattered(structure, result.witness, orientation)


@pytest.mark.parametrize("name", ODD_SAMPLES)
@pytest.mark.parametrize("orientation", ORIENTATIONS)
def test_odd_samples_agree_with_the_oracle(name: str, orientation: str) -> None:
    sample = ODD_SAMPLES[name]
    points = [tuple(p) for p in sample]
    for structure in all_structures(orientation, 3):
        realised = oracles.oracle_labellings_recursive(structure, points, orientation)
        assert vc.dichotomies(structure, sample, orientation=orientation) == len(realised)
        shattered = len(realised) == 2 ** len(points)
        assert vc.is_shattered(structure, sample, orientation=orientation) == shattered
        missing = vc.unrealised(structure, sample, orientation=orientation)
        assert (missing is None) == shattered
        assert missing not in realised
        if len(set(points)) == len(points):
            for labelling in itertools.product((0, 1), repeat=len(points)):
                tree = realise(structure, sample, labelling, orientation)
                assert (tree is not None) == (labelling in realised)
                if tree is not None and points[0]:
                    oracles.check_tree(tree, structure, points, labelling, orientation)


@pytest.mark.parametrize("orientation", ORIENTATIONS)
def test_every_subset_of_the_square_and_the_cube(orientation: str) -> None:
    for d, structures in ((2, all_structures(orientation, 3)), (3, all_structures(orientation, 2))):
        for m in range(1, 2**d + 1):
            for sample in oracles.samples("binary", m, d):
                for structure in structures:
                    expected = oracles.oracle_dichotomies(structure, sample, orientation)
                    assert vc.dichotomies(structure, sample, orientation=orientation) == expected
                    assert vc.is_shattered(structure, sample, orientation=orientation) == (expected == 2**m)


@given(structures_up_to(5), samples_up_to(7, 5), orientations)
def test_random_samples_agree_with_the_oracle(structure: str, sample: list[list[int]], orientation: str) -> None:
    points = [tuple(p) for p in sample]
    realised = oracles.oracle_labellings_recursive(structure, points, orientation)
    assert vc.dichotomies(structure, sample, orientation=orientation) == len(realised)
    missing = vc.unrealised(structure, sample, orientation=orientation)
    assert missing not in realised
    assert (missing is None) == (len(realised) == 2 ** len(points))


def test_samples_of_more_points_than_a_lane_holds() -> None:
    """10 to 12 points: labels of the last ones are outside the lane."""
    generator = random.Random(7)
    cube = list(itertools.product((0, 1), repeat=4))
    structures = ("(..)", "((..).)", "((..)(..))")
    for structure, m, orientation in itertools.product(structures, (9, 10, 11, 12), ORIENTATIONS):
        sample = generator.sample(cube, m)
        expected = oracles.oracle_labellings_recursive(structure, sample, orientation)
        assert vc.dichotomies(structure, sample, orientation=orientation) == len(expected)
        assert vc.unrealised(structure, sample, orientation=orientation) not in expected


@given(structures_up_to(4), samples_up_to(6, 4), orientations, st.integers(2, 4), st.randoms(use_true_random=False))
def test_trees_with_several_classes_agree_with_the_oracle(
    structure: str, sample: list[list[int]], orientation: str, n_classes: int, generator: random.Random
) -> None:
    points = sorted({tuple(p) for p in sample})
    labels = tuple(generator.randrange(n_classes) for _ in points)
    realised = oracles.oracle_labellings_recursive(structure, points, orientation, n_classes)
    tree = realise(structure, points, labels, orientation)
    assert (tree is not None) == (labels in realised)
    if tree is not None:
        oracles.check_tree(tree, structure, points, labels, orientation)


@pytest.mark.parametrize(("structure", "orientation"), CASES)
def test_growth_function_agrees_with_the_oracle(structure: str, orientation: str) -> None:
    for d, sizes in ((1, range(1, 4)), (2, range(1, 6)), (3, (1, 2, 3, 4, 8, 9))):
        for m in sizes:
            expected = oracles.oracle_growth(structure, m, d, orientation)
            assert vc.growth_function(structure, m, d=d, orientation=orientation) == expected


@pytest.mark.parametrize(("structure", "orientation"), CASES)
def test_partitioning_function_agrees_with_the_oracle(structure: str, orientation: str) -> None:
    for d, m, c in [(1, 3, 2), (2, 3, 2), (2, 3, 3), (2, 4, 3), (2, 4, 4), (2, 5, 3), (3, 4, 3), (3, 4, 4), (3, 3, 4)]:
        expected = oracles.oracle_partitioning(structure, m, c, d, orientation)
        assert vc.partitioning_function(structure, m, c, d=d, orientation=orientation) == expected


@given(structures_up_to(5), samples_up_to(7, 4), orientations, st.integers(1, 5))
@settings(max_examples=40)
def test_partitions_of_one_sample_agree_with_the_oracle(
    structure: str, sample: list[list[int]], orientation: str, c: int
) -> None:
    points = sorted({tuple(p) for p in sample})[:6]
    problem = samples.Sample(structure, points, None, orientation, "one")
    splits = problem.splits()
    arrays = splits.cuts, splits.parts, splits.part_sizes
    fixed = orientation == "fixed"
    found = _realise.count_partitions(problem.problem.table, *arrays, len(points), c, fixed, exact.no_limits())
    assert found == len(oracles.oracle_partitions(structure, points, c, orientation))


# Golden tables


@pytest.mark.parametrize("orientation", ORIENTATIONS)
def test_golden_values_and_their_witnesses(orientation: str) -> None:
    for row in golden(orientation):
        assert vc.is_shattered(row["s"], row["witness"], orientation=orientation)
        result = vc.search_vc(row["s"], d=row["d"], orientation=orientation)
        assert (result.value, result.stats.limit) == (row["vc"], None), row
        check_witness(row["s"], orientation, result.witness)


@pytest.mark.parametrize("orientation", ORIENTATIONS)
def test_witnesses_are_shattered_by_the_definition(orientation: str) -> None:
    for row in golden(orientation):
        if row["nodes"] <= 4:
            witness = vc.search_vc(row["s"], d=row["d"], orientation=orientation).witness
            assert oracles.oracle_is_shattered(row["s"], witness, orientation)


def test_golden_partitioning_functions() -> None:
    rows = json.loads((GOLDEN / "partitioning_exact.json").read_text())["rows"]
    budget = 6_000                                      # samples of the cube up to symmetry, about
    for row in rows:
        if row["variant"] == "B":
            for m, expected in row["pi2"].items():
                d, k = row["d"], int(m)
                if math.comb(2**d, k) / (math.factorial(d) * 2**d) < budget:
                    assert vc.partitioning_function(row["s"], k, 2, d=d) == expected, (row["s"], d, k)


# Known facts


@pytest.mark.parametrize("d", range(17))
def test_stump_formula(d: int) -> None:
    expected = int(math.log2(d + 1)) + 1
    for orientation in ORIENTATIONS:
        result = vc.search_vc("(..)", d=d, orientation=orientation, node_limit=0)
        assert result.value == expected
        assert vc.is_shattered("(..)", result.witness, orientation=orientation)


@pytest.mark.parametrize("d", range(1, 6))
def test_combs_never_exceed_one_more_than_the_features(d: int) -> None:
    values = [vc.exact_vc(vc.comb(n), d=d) for n in range(1, 9)]
    assert values == sorted(values)
    assert max(values) <= d + 1
    assert vc.exact_vc(vc.comb(500), d=d) == d + 1


@pytest.mark.parametrize("d", range(1, 5))
def test_full_structure_of_the_height_of_the_cube_shatters_it(d: int) -> None:
    assert vc.exact_vc(vc.full(d), d=d) == 2**d


def test_fixed_equals_free_up_to_four_nodes() -> None:
    for structure in all_structures("fixed", 4):
        for d in (1, 2, 3, 4):
            assert vc.exact_vc(structure, d=d, orientation="fixed") == vc.exact_vc(structure, d=d), (structure, d)


# Properties


def moved(sample: list[list[int]], generator: random.Random, complement: bool) -> list[list[int]]:
    """The sample with points and features permuted and, if asked for, some columns complemented."""
    d = len(sample[0])
    order = generator.sample(range(d), d)
    flip = [generator.randrange(2) if complement else 0 for _ in range(d)]
    rows = [[row[f] ^ flip[f] for f in order] for row in sample]
    return generator.sample(rows, len(rows))


@given(structures_up_to(6), samples_up_to(11, 6), orientations, st.randoms(use_true_random=False))
def test_permuting_points_or_features_and_complementing_columns_change_nothing(
    structure: str, sample: list[list[int]], orientation: str, generator: random.Random
) -> None:
    image = moved(sample, generator, complement=orientation == "free")
    options = dict(orientation=orientation)
    assert vc.dichotomies(structure, sample, **options) == vc.dichotomies(structure, image, **options)
    assert vc.is_shattered(structure, sample, **options) == vc.is_shattered(structure, image, **options)


@given(structures_up_to(6), samples_up_to(9, 5), st.randoms(use_true_random=False))
def test_swapping_children_changes_nothing_when_free(
    structure: str, sample: list[list[int]], generator: random.Random
) -> None:
    def swap(s: oracles.Structure) -> oracles.Structure:
        return tuple(generator.sample([swap(c) for c in s], len(s)))

    other = oracles.spell(swap(oracles.parse(structure)))
    assert vc.dichotomies(structure, sample) == vc.dichotomies(other, sample)


@given(structures_up_to(6), samples_up_to(9, 4))
def test_mirrored_structure_on_the_complemented_sample_is_the_same_when_fixed(
    structure: str, sample: list[list[int]]
) -> None:
    def mirror(s: oracles.Structure) -> oracles.Structure:
        return tuple(mirror(c) for c in reversed(s))

    other = oracles.spell(mirror(oracles.parse(structure)))
    image = [[1 - value for value in row] for row in sample]
    fixed = dict(orientation="fixed")
    assert vc.dichotomies(structure, sample, **fixed) == vc.dichotomies(other, image, **fixed)


@given(structures_up_to(5), st.integers(1, 3), orientations)
@settings(max_examples=40)
def test_monotone_in_features(structure: str, d: int, orientation: str) -> None:
    smaller = vc.exact_vc(structure, d=d, orientation=orientation)
    assert smaller <= vc.exact_vc(structure, d=d + 1, orientation=orientation)


@given(structures_up_to(5), st.integers(1, 4), orientations, st.data())
@settings(max_examples=40)
def test_monotone_in_growing_a_leaf(structure: str, d: int, orientation: str, data: st.DataObject) -> None:
    parsed = vc.Structure.parse(structure)
    grown = parsed.grow_leaf(data.draw(st.integers(0, parsed.n_leaves - 1)))
    options = dict(d=d, orientation=orientation)
    assert vc.exact_vc(structure, **options) <= vc.exact_vc(grown, **options)


@given(structures_up_to(6), st.integers(1, 4), orientations)
@settings(max_examples=40)
def test_bounds_hold(structure: str, d: int, orientation: str) -> None:
    parsed = vc.Structure.parse(structure)
    codes = lower_sample(parsed, d)
    sample = [[code >> f & 1 for f in range(d)] for code in codes]
    assert vc.is_shattered(structure, sample, orientation=orientation)
    value = vc.exact_vc(structure, d=d, orientation=orientation)
    assert len(codes) <= value <= counting_bound(parsed, d, orientation == "fixed")


@pytest.mark.parametrize("d", range(1, 4))
@pytest.mark.parametrize("orientation", ORIENTATIONS)
def test_counting_bound_counts_functions(d: int, orientation: str) -> None:
    """The number of functions on the whole cube bounds what the bound is read off."""
    cube = list(itertools.product((0, 1), repeat=d))
    for structure in all_structures(orientation, 3)[1:]:
        functions = oracles.oracle_dichotomies(structure, cube, orientation)
        bound = counting_bound(vc.Structure.parse(structure), d, orientation == "fixed")
        # The bound is the smallest of several; it is never below the VC dimension, nor above the size of the cube.
        assert oracles.oracle_vc(structure, d, orientation, upwards=True) <= min(bound, functions.bit_length() - 1)
        assert bound <= 2**d


def answer(result: vc.VCResult) -> tuple[Any, ...]:
    stats = result.stats
    return result.lower, result.upper, result.witness, stats.orbits, stats.tested, stats.samples, stats.limit


@pytest.mark.parametrize("orientation", ORIENTATIONS)
@pytest.mark.parametrize("structure", ["(((..).)((..).))", "((((..).)(..)).)", "((..)(..))"])
def test_threads_change_nothing(structure: str, orientation: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("vcdim_core._levels_search.SLICE", 7)
    monkeypatch.setattr(exact, "DIVE_TESTS", 0)
    one, two, three = (vc.search_vc(structure, d=4, orientation=orientation, n_jobs=n) for n in (1, 2, 3))
    assert one.exact
    assert answer(one) == answer(two) == answer(three)


@pytest.mark.parametrize("node_limit", [0, 1, 50, 300, 2000])
def test_threads_change_no_bracket_of_a_node_limit(node_limit: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("vcdim_core._levels_search.SLICE", 7)
    monkeypatch.setattr(exact, "DIVE_TESTS", 0)
    one, two, three = (vc.search_vc(SLOW, d=5, node_limit=node_limit, n_jobs=n) for n in (1, 2, 3))
    for other in (two, three):
        assert (other.lower, other.upper, other.witness) == (one.lower, one.upper, one.witness)
        assert (other.stats.tested, other.stats.orbits, other.stats.limit) == (node_limit, one.stats.orbits, "nodes")


def test_threads_change_no_growth_or_partitioning_function(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("vcdim_core._levels_search.SLICE", 5)
    assert len({vc.growth_function("((..).)", 5, d=4, n_jobs=n) for n in (1, 2, 3)}) == 1
    assert len({vc.partitioning_function("((..).)", 5, 3, d=4, n_jobs=n) for n in (1, 2, 3)}) == 1


@pytest.mark.parametrize("orientation", ORIENTATIONS)
def test_depth_first_and_level_search_agree(orientation: str, monkeypatch: pytest.MonkeyPatch) -> None:
    rows = [row for row in golden(orientation) if row["d"] <= 4]
    for budget in (0, 1, 10**9):
        monkeypatch.setattr(exact, "DIVE_TESTS", budget)
        for row in rows:
            result = vc.search_vc(row["s"], d=row["d"], orientation=orientation)
            assert result.value == row["vc"], (budget, row)
            assert vc.is_shattered(row["s"], result.witness, orientation=orientation)


# Trees


def as_oracle_tree(tree: Any, i: int = 0) -> oracles.Tree:
    """A tree of the package as nested tuples."""
    left, right = int(tree.children_left[i]), int(tree.children_right[i])
    if left < 0:
        return ("leaf", int(tree.classes[tree.value[i].argmax()]))
    return ("node", int(tree.feature[i]), as_oracle_tree(tree, left), as_oracle_tree(tree, right))


@pytest.mark.parametrize("name", [name for name in ODD_SAMPLES if name != "no feature"])
@pytest.mark.parametrize("orientation", ORIENTATIONS)
def test_realize_gives_a_tree_or_none_as_the_oracle_says(name: str, orientation: str) -> None:
    sample = [tuple(p) for p in ODD_SAMPLES[name]]
    for structure in all_structures(orientation, 3):
        realised = oracles.oracle_labellings_recursive(structure, sample, orientation)
        for labelling in itertools.islice(itertools.product((0, 1), repeat=len(sample)), 64):
            tree = vc.realize(structure, sample, labelling, orientation=orientation)
            assert (tree is not None) == (labelling in realised)
            if tree is not None:
                assert tuple(tree.predict(sample).tolist()) == labelling
                oracles.check_tree(as_oracle_tree(tree), structure, sample, labelling, orientation)


@pytest.mark.parametrize("orientation", ORIENTATIONS)
def test_realize_with_several_classes_and_repeated_rows(orientation: str) -> None:
    sample = [(0, 0), (0, 1), (1, 0), (1, 1), (0, 1)]
    labels = ["b", "c", "a", "d", "c"]
    tree = vc.realize("((..)(..))", sample, labels, orientation=orientation)
    assert tree is not None
    assert tree.predict(sample).tolist() == labels
    assert vc.realize("((..).)", sample, labels, orientation=orientation) is None
    assert vc.realize("((..)(..))", sample, ["b", "c", "a", "d", "a"], orientation=orientation) is None


def test_realize_without_a_feature_gives_a_leaf() -> None:
    tree = vc.realize("((..).)", [[], []], [3, 3])
    assert tree is not None
    assert tree.structure == vc.LEAF
    assert vc.realize("((..).)", [[], []], [3, 4]) is None


def test_realize_on_witnesses() -> None:
    for structure, d in (("((..)(..))", 4), ("(((..).).)", 5), ("(((..)(..)).)", 4)):
        witness = vc.search_vc(structure, d=d).witness
        for labelling in itertools.product((0, 1), repeat=len(witness)):
            tree = vc.realize(structure, witness, labelling)
            oracles.check_tree(as_oracle_tree(tree), structure, witness, labelling)


# Limits


def check_bracket(result: vc.VCResult, value: int, limit: str) -> None:
    assert result.lower <= value <= result.upper
    assert not result.exact
    assert result.stats.limit == limit
    assert len(result.witness) == result.lower
    assert vc.is_shattered(result.structure, result.witness, orientation=result.orientation)
    with pytest.raises(vc.SearchLimit, match=f"got one stopped by its {limit} limit: .* is between") as caught:
        _ = result.value
    assert caught.value.result is result


@pytest.mark.parametrize("dive", [0, 3000])
@pytest.mark.parametrize("n_jobs", [1, 2])
def test_limits_give_a_bracket_and_their_name(dive: int, n_jobs: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(exact, "DIVE_TESTS", dive)
    for limits, name in (({"time_limit": 0}, "time"), ({"node_limit": 0}, "nodes"), ({"node_limit": 37}, "nodes")):
        check_bracket(vc.search_vc(**BRACKET, n_jobs=n_jobs, **limits), BRACKET_VALUE, name)
    check_bracket(vc.search_vc(**BRACKET, n_jobs=n_jobs, memory_limit=1), BRACKET_VALUE, "memory")


@pytest.mark.parametrize("node_limit", [0, 1, 10, 200, 3500])
def test_no_more_samples_are_tested_than_the_limit_allows(node_limit: int) -> None:
    assert vc.search_vc(**BRACKET, node_limit=node_limit).stats.tested == node_limit


def test_limits_that_are_not_reached_change_nothing() -> None:
    loose = vc.search_vc("((..)(..))", d=4, time_limit=1e9, node_limit=10**9, memory_limit=2**40)
    assert answer(loose) == answer(vc.search_vc("((..)(..))", d=4))
    assert vc.search_vc("(..)", d=7, time_limit=np.float32(0), node_limit=np.int64(0)).value == 4


def test_value_beyond_the_largest_sample_is_a_limit() -> None:
    result = vc.search_vc(vc.full(6), d=16)
    assert not result.exact and result.stats.limit == "points" and result.lower > exact.MAX_POINTS
    with pytest.raises(vc.SearchLimit, match="stopped by its points limit"):
        vc.exact_vc(vc.full(6), d=16)


def test_search_limit_pickles_with_its_result() -> None:
    with pytest.raises(vc.SearchLimit) as caught:
        _ = vc.search_vc(**BRACKET, node_limit=5).value
    copy = pickle.loads(pickle.dumps(caught.value))
    assert isinstance(copy, ValueError)
    assert (str(copy), copy.result) == (str(caught.value), caught.value.result)


def test_progress_is_told_and_may_raise() -> None:
    seen: list[vc.Progress] = []
    result = vc.search_vc(SLOW, d=6, node_limit=30_000, progress=seen.append)
    assert seen
    for state in seen:
        assert state.size >= 1 and state.lower <= result.lower < result.upper == state.upper
        assert state.samples <= 30_000

    class Enough(Exception):
        pass

    def refuse(state: vc.Progress) -> None:
        raise Enough

    for n_jobs in (1, 2):
        with pytest.raises(Enough):
            vc.search_vc(SLOW, d=6, progress=refuse, n_jobs=n_jobs)


# Ctrl-C

UNIT = (                            # 16 unit vectors and 8 sums of two: most subsets of them can be cut out
    "[[int(i == j) for j in range(16)] for i in range(16)] + "
    "[[int(i <= j < i + 2) for j in range(16)] for i in range(8)]"
)
LONG_CALLS = {
    "search": f"search_vc({SLOW!r}, d=6)",
    "search with threads": f"search_vc({SLOW!r}, d=6, n_jobs=2)",
    "dichotomies of 24 points": f"dichotomies(comb(30), {UNIT})",
    "growth function": "growth_function('((..)(..))', 8, d=8)",
    "growth function with threads": "growth_function('((..)(..))', 8, d=8, n_jobs=2)",
    "growth function of many features": "growth_function('((..)(..))', 5, d=16)",
    "partitioning function": "partitioning_function('((..)(..))', 8, 4, d=7)",
}
INTERRUPTED = """
import time
from vcdim_core import *
print("ready", flush=True)
try:
    {call}
except KeyboardInterrupt:
    print(repr(time.time()), flush=True)
"""


@pytest.mark.skipif(os.name == "nt", reason="signals are sent the POSIX way")
@pytest.mark.parametrize("name", LONG_CALLS)
def test_interrupt(name: str) -> None:
    code = INTERRUPTED.format(call=LONG_CALLS[name])
    latency = latency_of(code)
    print(f"{name}: answered after {1000 * latency:.0f} ms")
    assert latency < 2


# Regressions


def test_node_with_equal_children_sends_all_ones_to_its_right_child_when_fixed() -> None:
    """The side of ones took the whole sample, and was forgotten where left and right are the same structure."""
    assert vc.dichotomies("(..)", [[1]], orientation="fixed") == 2
    assert vc.dichotomies("((..)(..))", [[1, 0], [1, 1]], orientation="fixed") == 4
    assert vc.is_shattered("((..)(..))", [[1, 1, 0], [1, 1, 1]], orientation="fixed")


# Errors


SQUARE = [[0, 0], [0, 1]]
ERRORS: list[tuple[Any, type[Exception], str]] = [
    (lambda: vc.exact_vc("(..)", d=-1), ValueError, "expected d >= 0, got -1"),
    (lambda: vc.exact_vc("(..)", d=17), ValueError, "expected at most 16 binary features, got 17"),
    (lambda: vc.exact_vc("(..)", d=True), TypeError, "expected d to be an integer, got True"),
    (lambda: vc.exact_vc("(..)", d=2.5), TypeError, "expected d to be an integer, got 2.5"),  # type: ignore[arg-type]
    (lambda: vc.exact_vc("(..)"), TypeError, "expected exactly one of d=, real= and features=, got none"),
    (
        lambda: vc.exact_vc("(..)", 2, features=vc.Features(binary=2)),
        TypeError,
        "expected exactly one of d=, real= and features=, got d=2 and features=Features(binary=2)",
    ),
    (
        lambda: vc.exact_vc("(..)", features=2),  # type: ignore[arg-type]
        TypeError,
        "expected features to be a Features, got 2",
    ),
    (
        lambda: vc.exact_vc("(...)", d=2),
        ValueError,
        "expected a structure whose nodes have two children, as binary features do, got (...) with a node of 3",
    ),
    (lambda: vc.exact_vc(vc.comb(1001), d=2), ValueError, "expected a structure of height at most 1000, got 1001"),
    (
        lambda: vc.exact_vc("(..)", d=2, orientation="left"),
        ValueError,
        "expected orientation to be one of 'free', 'fixed', got 'left'",
    ),
    (lambda: vc.exact_vc("(..)", d=2, n_jobs=0), ValueError, "expected n_jobs >= 1, got 0"),
    (lambda: vc.search_vc("(..)", d=2, time_limit=-1), ValueError, "expected time_limit >= 0, got -1"),
    (lambda: vc.search_vc("(..)", d=2, time_limit=math.nan), ValueError, "expected time_limit to be a number, got nan"),
    (
        lambda: vc.search_vc("(..)", d=2, time_limit="1"),  # type: ignore[arg-type]
        TypeError,
        "expected time_limit to be a number, got '1'",
    ),
    (lambda: vc.search_vc("(..)", d=2, node_limit=-1), ValueError, "expected node_limit >= 0, got -1"),
    (lambda: vc.search_vc("(..)", d=2, memory_limit=-1), ValueError, "expected memory_limit >= 0, got -1"),
    (
        lambda: vc.search_vc("(..)", d=2, progress=1),  # type: ignore[arg-type]
        TypeError,
        "expected progress to be a bool or a callable, got 1",
    ),
    (
        lambda: vc.dichotomies("(..)", [[i >> f & 1 for f in range(5)] for i in range(25)]),
        ValueError,
        "expected at most 24 distinct points, got 25",
    ),
    (lambda: vc.dichotomies("(..)", [[0] * 17]), ValueError, "expected at most 16 features, got 17"),
    (
        lambda: vc.dichotomies("(..)", [[0, 1], [2, 0]]),
        ValueError,
        "expected every value to be 0 or 1, got 2 in row 1, column 0",
    ),
    (
        lambda: vc.dichotomies("(..)", [[0, math.nan]]),
        ValueError,
        "expected every value to be 0 or 1, got nan in row 0, column 1",
    ),
    (lambda: vc.dichotomies("(..)", [["0"]]), TypeError, "expected numbers 0 and 1, got an array of <U1"),
    (lambda: vc.dichotomies("(..)", [[None]]), TypeError, "expected numbers 0 and 1, got an array of object"),
    (
        lambda: vc.dichotomies("(..)", [0, 1]),
        ValueError,
        "expected a sample of shape (points, features), got an array of 1 dimensions",
    ),
    (
        lambda: vc.dichotomies("(..)", [[0, 1], [0]]),
        ValueError,
        "expected a sample of shape (points, features), got rows of different lengths",
    ),
    (
        lambda: vc.is_shattered("(..)", SQUARE, features=vc.Features(binary=3)),
        ValueError,
        "expected 3 columns, one per feature, got 2",
    ),
    (
        lambda: vc.is_shattered("(..)", [], features=5),  # type: ignore[arg-type]
        TypeError,
        "expected features to be a Features, got 5",
    ),
    (
        lambda: vc.realize("(..)", SQUARE, [0]),
        ValueError,
        "expected one label per point, 2, got labels of shape (1,)",
    ),
    (lambda: vc.realize("(..)", [], []), ValueError, "expected at least one point to realise, got 0"),
    (lambda: vc.growth_function("(..)", 25, d=2), ValueError, "expected m <= 24, got 25"),
    (lambda: vc.growth_function("(..)", -1, d=2), ValueError, "expected m >= 0, got -1"),
    (lambda: vc.partitioning_function("(..)", 3, 0, d=2), ValueError, "expected c >= 1, got 0"),
]


@pytest.mark.parametrize(("call", "kind", "message"), ERRORS, ids=[message[:50] for _, _, message in ERRORS])
def test_errors_and_their_messages(call: Any, kind: type[Exception], message: str) -> None:
    with pytest.raises(kind) as caught:
        call()
    assert type(caught.value) is kind
    assert str(caught.value) == message



@pytest.mark.parametrize("m", [9, 10, 19, 20, 21, 24])
def test_many_points_are_counted_as_by_listing_all_trees(m):
    """Two nodes on samples around the sizes where the memo changes its ways: every tree is listed."""
    points = [[(37 * i + 11) >> f & 1 for f in range(6)] for i in range(m)]
    realised = set()
    for f, g, side in itertools.product(range(6), range(6), (0, 1)):
        for outer, low, high in itertools.product((0, 1), repeat=3):
            realised.add(tuple(outer if p[f] == side else (high if p[g] else low) for p in points))
    assert vc.dichotomies("((..).)", points) == len(realised)

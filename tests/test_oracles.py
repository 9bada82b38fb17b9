"""The oracle itself, against facts worked by hand and against tables from an independent program."""

from __future__ import annotations

import itertools
import json
import math
import random
from pathlib import Path
from typing import Any

import pytest
from oracles import (
    check_tree,
    evaluate,
    oracle_dichotomies,
    oracle_growth,
    oracle_is_shattered,
    oracle_labellings,
    oracle_labellings_recursive,
    oracle_partitioning,
    oracle_partitions,
    oracle_vc,
    parse,
    samples,
    shape,
    sort_children,
    spell,
    splits_on,
    trees,
)

STUMP = "(..)"
COMB_2 = "((..).)"
COMB_3 = "(((..).).)"
FULL_2 = "((..)(..))"
SQUARE = [(0, 0), (1, 0), (0, 1), (1, 1)]


def read_rows(name: str) -> list[dict[str, Any]]:
    """Return the rows of a table in golden/."""
    return json.loads((Path(__file__).parent / "golden" / f"{name}.json").read_text(encoding="utf-8"))["rows"]


def ordered_structures(n_nodes: int) -> list[str]:
    """Return the spelling of every ordered binary structure (Catalan many)."""
    if n_nodes == 0:
        return ["."]
    return [
        f"({left}{right})"
        for k in range(n_nodes)
        for left in ordered_structures(k)
        for right in ordered_structures(n_nodes - 1 - k)
    ]


# Spellings


def test_parse_and_spell_are_inverse():
    for spelling in [".", STUMP, COMB_2, FULL_2, "(..(...))"]:
        assert spell(parse(spelling)) == spelling
    assert parse(" ( . ( . . ) ) ") == ((), ((), ()))


@pytest.mark.parametrize("spelling", ["", "..", "(", "(.)", "(..", "(..))", "()", "x"])
def test_parse_refuses_what_is_not_one_structure(spelling):
    with pytest.raises(ValueError, match="expected"):
        parse(spelling)


def test_sort_children_forgets_the_order_of_children_only():
    assert sort_children(parse("(.(..))")) == sort_children(parse(COMB_2))
    assert sort_children(parse(FULL_2)) != sort_children(parse(COMB_3))
    # Wedderburn-Etherington numbers (OEIS A001190)
    counts = [len({sort_children(parse(s)) for s in ordered_structures(n)}) for n in range(7)]
    assert counts == [1, 1, 1, 2, 3, 6, 11]


# Trees


def test_evaluate_follows_the_outcomes():
    tree = ("node", 1, ("leaf", 7), ("node", 0, ("leaf", 8), ("leaf", 9)))
    assert [evaluate(tree, p) for p in SQUARE] == [7, 7, 8, 9]
    assert shape(tree) == "(.(..))"
    real = ("node", (0, 0.5), ("leaf", 0), ("leaf", 1))
    assert [evaluate(real, (x,)) for x in (0.0, 0.5, 0.6)] == [0, 0, 1]


def test_check_tree_sees_wrong_labels_and_wrong_structures():
    tree = ("node", 1, ("leaf", 0), ("node", 0, ("leaf", 0), ("leaf", 1)))
    check_tree(tree, "(.(..))", SQUARE, (0, 0, 0, 1), "fixed")
    check_tree(tree, "((..).)", SQUARE, (0, 0, 0, 1), "free")
    with pytest.raises(AssertionError, match="structure"):
        check_tree(tree, "((..).)", SQUARE, (0, 0, 0, 1), "fixed")
    with pytest.raises(AssertionError, match="structure"):
        check_tree(tree, FULL_2, SQUARE, (0, 0, 0, 1), "free")
    with pytest.raises(AssertionError, match="label 1 at"):
        check_tree(tree, "((..).)", SQUARE, (0, 1, 0, 1), "free")
    with pytest.raises(AssertionError, match="4 labels"):
        check_tree(tree, "((..).)", SQUARE, (0, 0, 0), "free")


@pytest.mark.parametrize(("orientation", "factor"), [("fixed", 1), ("free", 2)])
@pytest.mark.parametrize("structure", [".", STUMP, COMB_2, FULL_2])
def test_class_has_as_many_trees_as_choices_and_all_of_the_structure(structure, orientation, factor):
    found = list(trees(parse(structure), [0, 1, 2], orientation, 2))
    n_nodes = structure.count("(")
    assert len(found) == (3 * factor) ** n_nodes * 2 ** (n_nodes + 1)
    for tree in found:
        check_tree(tree, structure, [], [], orientation)


def test_unknown_words_are_refused():
    with pytest.raises(ValueError, match="orientation 'free' or 'fixed', got 'left'"):
        oracle_labellings(STUMP, SQUARE, "left")
    with pytest.raises(ValueError, match="kind 'binary' or 'real', got 'nominal'"):
        splits_on("nominal", SQUARE)
    with pytest.raises(ValueError, match="kind 'binary' or 'real', got 'nominal'"):
        next(samples("nominal", 1, 1))
    with pytest.raises(ValueError, match="two children, got one with 3"):
        oracle_labellings("(...)", SQUARE)


# Degenerate inputs


def test_a_leaf_is_constant():
    assert oracle_labellings(".", SQUARE) == {(0, 0, 0, 0), (1, 1, 1, 1)}
    assert oracle_vc(".", 3) == 1


def test_with_no_feature_every_structure_is_a_leaf():
    assert oracle_labellings(FULL_2, [(), ()]) == {(0, 0), (1, 1)}
    assert [oracle_vc(s, 0) for s in (".", STUMP, FULL_2)] == [1, 1, 1]


def test_the_empty_sample_has_one_labelling():
    for labellings in (oracle_labellings, oracle_labellings_recursive):
        assert labellings(STUMP, []) == {()}
    assert oracle_is_shattered(STUMP, [])


def test_twins_share_their_label():
    assert oracle_labellings(FULL_2, [(0, 1), (0, 1)]) == {(0, 0), (1, 1)}


# Worked by hand


def test_a_stump_on_three_corners_of_the_square():
    # Constant, equal to x_0, equal to x_1, and their complements: all but 100 and 011, that is x_0 = x_1.
    corners = [(0, 0), (1, 0), (0, 1)]
    assert oracle_labellings(STUMP, corners) == {(0, 0, 0), (1, 1, 1), (0, 1, 0), (1, 0, 1), (0, 0, 1), (1, 1, 0)}
    assert oracle_partitions(STUMP, corners, 2) == {
        frozenset({frozenset({1}), frozenset({0, 2})}),
        frozenset({frozenset({2}), frozenset({0, 1})}),
    }


def test_exclusive_or_needs_a_test_on_both_sides():
    assert (0, 1, 1, 0) in oracle_labellings(FULL_2, SQUARE)
    # A comb cuts off one side at a time, here a side of the square on which exclusive or takes both values.
    assert oracle_labellings(COMB_2, SQUARE) == set(itertools.product((0, 1), repeat=4)) - {(0, 1, 1, 0), (1, 0, 0, 1)}
    assert oracle_labellings(COMB_3, SQUARE) == oracle_labellings(COMB_2, SQUARE)


def test_orientation_decides_which_side_is_cut_again():
    # x_0 and x_1 is 1 only where the side x_0 = 1 is cut: the right child when value 0 goes left.
    conjunction = (0, 0, 0, 1)
    assert conjunction in oracle_labellings("(.(..))", SQUARE, "fixed")
    assert conjunction not in oracle_labellings("((..).)", SQUARE, "fixed")
    assert conjunction in oracle_labellings("((..).)", SQUARE, "free")


def test_three_parts_of_the_square():
    # One side whole, the other in two: four sides.
    assert len(oracle_partitions(COMB_2, SQUARE, 3)) == 4
    assert oracle_partitions(COMB_2, SQUARE, 4) == set()
    assert oracle_partitions(FULL_2, SQUARE, 4) == {frozenset(frozenset({i}) for i in range(4))}
    # Merging two of the four corners: any of the six pairs.
    assert len(oracle_partitions(FULL_2, SQUARE, 3)) == 6


@pytest.mark.parametrize("d", range(5))
def test_vc_of_a_stump(d):
    assert oracle_vc(STUMP, d, upwards=True) == math.floor(math.log2(d + 1)) + 1


@pytest.mark.parametrize("n_nodes", range(1, 5))
def test_combs_never_exceed_features_plus_one(n_nodes):
    comb = "(" * n_nodes + "." + ".)" * n_nodes
    for d in range(4):
        assert oracle_vc(comb, d) <= d + 1
        assert oracle_vc(comb, d) == d + 1 or n_nodes < d


def test_a_child_may_have_the_larger_vc_dimension():
    """VC(T, d) >= VC(child of T, d) is false in general.

    `((..)(..))` shatters the four corners of the square.  The root of `(((..)(..)).)` must test one of the two
    features, each of which cuts the square in two sides of two points; one side goes to the leaf, and exclusive or is
    constant on no side.  A root that passes everything on to one child needs a feature that is constant on the sample,
    and that takes one more feature: VC(T, d) >= VC(child, d - 1) always holds.
    """
    assert oracle_vc("((..)(..))", 2) == 4
    for orientation in ("free", "fixed"):
        assert oracle_vc("(((..)(..)).)", 2, orientation) == 3
        assert oracle_vc("(.((..)(..)))", 2, orientation) == 3
    assert not oracle_is_shattered("(((..)(..)).)", SQUARE)
    assert (0, 1, 1, 0) not in oracle_labellings("(((..)(..)).)", SQUARE)
    assert oracle_vc("(((..)(..)).)", 3) >= 4


@pytest.mark.parametrize("n_nodes", range(4))
def test_one_real_feature_gives_one_more_than_the_nodes(n_nodes):
    for structure in ordered_structures(n_nodes):
        assert oracle_vc(structure, 1, kind="real") == n_nodes + 1


@pytest.mark.parametrize("d", [1, 2])
def test_vc_of_a_stump_on_real_features(d):
    largest = max(m for m in range(1, 10) if 2 * d >= math.comb(m, m // 2))
    assert oracle_vc(STUMP, d, kind="real") == largest


# The oracles against each other


@pytest.mark.parametrize("orientation", ["free", "fixed"])
def test_recursion_realises_what_the_trees_do(orientation):
    for n_nodes, d in [(0, 2), (1, 3), (2, 2), (3, 2)]:
        for structure in ordered_structures(n_nodes):
            for m in range(2**d + 1):
                for sample in samples("binary", m, d):
                    expected = oracle_labellings(structure, sample, orientation)
                    assert oracle_labellings_recursive(structure, sample, orientation) == expected


@pytest.mark.parametrize("orientation", ["free", "fixed"])
def test_recursion_realises_what_the_trees_do_on_random_samples(orientation):
    generator = random.Random(0)
    for structure, d, n_classes in [(COMB_2, 3, 3), (FULL_2, 3, 2), ("(.(..))", 4, 2), (FULL_2, 2, 3)]:
        for _ in range(3):
            sample = [tuple(generator.randrange(2) for _ in range(d)) for _ in range(6)]
            expected = oracle_labellings(structure, sample, orientation, n_classes)
            assert oracle_labellings_recursive(structure, sample, orientation, n_classes) == expected


@pytest.mark.parametrize("orientation", ["free", "fixed"])
def test_recursion_realises_what_the_trees_do_on_real_features(orientation):
    generator = random.Random(1)
    for structure in (STUMP, COMB_2, "(.(..))"):
        for _ in range(5):
            sample = [tuple(generator.randrange(4) for _ in range(2)) for _ in range(5)]  # with ties
            expected = oracle_labellings(structure, sample, orientation, kind="real")
            assert oracle_labellings_recursive(structure, sample, orientation, kind="real") == expected


@pytest.mark.parametrize("structure", [STUMP, COMB_2, FULL_2])
def test_sizes_upwards_and_downwards_give_one_vc_dimension(structure):
    for d in range(4):
        assert oracle_vc(structure, d) == oracle_vc(structure, d, upwards=True)


@pytest.mark.parametrize("structure", [STUMP, COMB_2, FULL_2, "(((..)(..)).)"])
def test_repeated_points_realise_no_more(structure):
    for d in (1, 2):
        for m in range(1, 7):
            assert oracle_growth(structure, m, d) == oracle_growth(structure, m, d, repeats=True)
            for c in (2, 3):
                expected = oracle_partitioning(structure, m, c, d, repeats=True)
                assert oracle_partitioning(structure, m, c, d) == expected


def test_ties_of_a_real_feature_realise_no_more():
    for structure in (STUMP, COMB_2):
        for m in (2, 3):
            points = itertools.product(range(m), repeat=2)
            tied = itertools.combinations_with_replacement(points, m)
            most = max(oracle_dichotomies(structure, sample, kind="real") for sample in tied)
            assert oracle_growth(structure, m, 2, kind="real") == most


@pytest.mark.parametrize("structure", [STUMP, COMB_2, FULL_2])
def test_growth_counts_both_namings_of_each_two_partition_and_the_constants(structure):
    for m in range(1, 9):
        assert oracle_growth(structure, m, 3) == 2 + 2 * oracle_partitioning(structure, m, 2, 3)


def test_growing_a_leaf_and_adding_a_feature_lose_nothing():
    for d in (1, 2, 3):
        for smaller, larger in [(STUMP, COMB_2), (COMB_2, COMB_3), (COMB_2, FULL_2), (FULL_2, "(((..).)(..))")]:
            assert oracle_vc(smaller, d) <= oracle_vc(larger, d)
            assert oracle_vc(smaller, d - 1) <= oracle_vc(smaller, d)


# The tables


@pytest.mark.parametrize(
    ("table", "orientation", "kind"),
    [
        ("exact_binary_free", "free", "binary"),
        ("exact_binary_fixed", "fixed", "binary"),
        ("exact_real", "free", "real"),
    ],
)
def test_every_witness_of_the_tables_is_shattered(table, orientation, kind):
    rows = read_rows(table)
    assert rows
    for row in rows:
        sample = [tuple(point) for point in row["witness"]]
        assert len(sample) == row["vc"]
        assert {len(point) for point in sample} == {row["d"]}
        assert oracle_is_shattered(row["s"], sample, orientation, kind), row


@pytest.mark.parametrize(
    ("table", "orientation", "max_nodes"), [("exact_binary_free", "free", 6), ("exact_binary_fixed", "fixed", 5)]
)
def test_vc_dimension_is_that_of_the_tables(table, orientation, max_nodes):
    rows = [row for row in read_rows(table) if row["d"] <= 3 and row["nodes"] <= max_nodes]
    assert rows
    for row in rows:
        assert oracle_vc(row["s"], row["d"], orientation) == row["vc"], row


def test_vc_dimension_of_real_features_is_that_of_the_table():
    rows = [row for row in read_rows("exact_real") if row["d"] == 1 or row["vc"] <= 4]
    assert rows
    for row in rows:
        assert oracle_vc(row["s"], row["d"], kind="real") == row["vc"], row


def test_orientation_matters_from_five_nodes_on():
    free = {(sort_children(parse(row["s"])), row["d"]): row["vc"] for row in read_rows("exact_binary_free")}
    smaller = []
    for row in read_rows("exact_binary_fixed"):
        vc = free[sort_children(parse(row["s"])), row["d"]]
        assert row["vc"] <= vc
        if row["vc"] < vc:
            smaller.append(row)
    assert min(row["nodes"] for row in smaller) == 5


def test_partitioning_function_is_that_of_the_table():
    checked = 0
    for row in read_rows("partitioning_exact"):
        kind = {"B": "binary", "C": "real"}[row["variant"]]
        for m, expected in row["pi2"].items():
            n_samples = sum(1 for _ in itertools.islice(samples(kind, int(m), row["d"]), 601))
            if n_samples <= 600:
                assert oracle_partitioning(row["s"], int(m), 2, row["d"], kind=kind) == expected, (row, m)
                checked += 1
    assert checked >= 50

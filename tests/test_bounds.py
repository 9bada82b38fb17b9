"""Bounds on the VC dimension, on partitioning and on growth functions.

Order: tables, degenerate inputs, golden values, oracles, brute force on all small samples, properties, errors.
"""

from __future__ import annotations

import json
import math
import random
from collections import Counter
from fractions import Fraction
from itertools import product
from pathlib import Path

import oracles_bounds as oracle
import pytest

from vcdim_core import _chain, _counts, _covers
from vcdim_core.bounds import (
    Bracket,
    cache_clear,
    cache_info,
    degenerate_lower_bound,
    estimate_vc_aslan,
    forget_exact,
    full_lower_bound,
    growth_bound,
    log_growth_bound,
    partitioning_bound,
    remember_exact,
    theorem5_counting_bound,
    vc_bracket,
    vc_lower_bound,
    vc_upper_bound,
)  # fmt: skip
from vcdim_core.features import Features
from vcdim_core.structures import Structure, comb, full, structures

GOLDEN = Path(__file__).parent / "golden"
SMALL = [str(s) for n in range(1, 5) for s in structures(n)]


def golden(name):
    return json.loads((GOLDEN / f"{name}.json").read_text())["rows"]


@pytest.fixture(autouse=True)
def _fresh():
    forget_exact()
    yield
    forget_exact()


# Degenerate inputs


def test_leaf_has_vc_dimension_one_whatever_the_features():
    for features in (Features(), Features(real=3), Features(binary=4), Features(nominal=[3], multiway=[4])):
        assert vc_bracket(".", features=features) == vc_bracket("(..)", features=Features())
        assert vc_lower_bound(".", features=features) == vc_upper_bound(".", features=features) == 1


@pytest.mark.parametrize("text", ["(..)", "((..)(..))", str(comb(30))])
def test_no_features_make_a_structure_a_leaf(text):
    for features in (Features(), Features(multiway=[3, 3])):
        bracket = vc_bracket(text, features=features)
        assert (bracket.lower, bracket.upper) == (1, 1)
        assert partitioning_bound(text, 7, 1, features=features) == 1
        assert partitioning_bound(text, 7, 2, features=features) == 0
        assert growth_bound(text, 7, 3, features=features) == 3


@pytest.mark.parametrize("given", [{"real": 2}, {"d": 2}, {"features": Features(nominal=[3, 3])}])
@pytest.mark.parametrize("form", ["tight", "loose"])
def test_no_points_and_more_parts_than_points(given, form):
    assert growth_bound("((..).)", 0, **given, form=form) == 1
    assert log_growth_bound("((..).)", 0, **given, form=form) == 0.0
    assert partitioning_bound("((..).)", 0, 1, **given, form=form) == 0
    assert partitioning_bound("((..).)", 2, 3, **given, form=form) == 0
    assert partitioning_bound("((..).)", 9, 4, **given, form=form) == 0
    assert growth_bound("((..).)", 1, 5, **given, form=form) == 5


def test_one_class_has_one_labelling():
    assert growth_bound("((..)(..))", 9, 1, real=3) == 1
    assert log_growth_bound("((..)(..))", 9, 1, real=3) < 1e-12
    assert log_growth_bound("((..)(..))", 9, 1, real=3, method="best") < 1e-12


# Golden values


def test_golden_partitioning_bounds():
    for row in golden("bounds_partitioning"):
        value = partitioning_bound(row["s"], row["m"], row["c"], real=row["real"], form=row["form"])
        assert value == int(row["value"]), row


def test_golden_vc_bounds_on_real_features():
    for row in golden("bounds_vc_real"):
        assert vc_lower_bound(row["s"], real=row["real"], method="stumps") == row["lower"], row
        if row["s"] != ".":
            assert vc_upper_bound(row["s"], real=row["real"], method="theorem9") == row["upper"], row


def test_golden_chain_bounds():
    for row in golden("bounds_vc_chain"):
        assert vc_upper_bound(row["s"], real=row["real"], method="chain") == row["upper"], row


def test_large_structures_of_the_issue():
    for structure, expected in ((full(5), 239), (comb(19), 182), (comb(39), 380)):
        assert vc_upper_bound(structure, real=10, method="theorem9") == expected
        assert vc_upper_bound(structure, real=10) < expected


@pytest.mark.parametrize("name", ["exact_binary_free", "exact_binary_fixed"])
def test_exact_values_on_binary_features_are_bracketed(name):
    for row in golden(name):
        bracket = vc_bracket(row["s"], d=row["d"])
        lowers = [b.value for b in bracket.bounds if b.side == "lower"]
        uppers = [b.value for b in bracket.bounds if b.side == "upper"]
        assert max(lowers) == bracket.lower <= row["vc"] <= bracket.upper == min(uppers), row


def test_exact_values_on_real_features_are_bracketed():
    for row in golden("exact_real"):
        bracket = vc_bracket(row["s"], real=row["d"])
        assert all(b.value <= row["vc"] for b in bracket.bounds if b.side == "lower"), row
        assert all(b.value >= row["vc"] for b in bracket.bounds if b.side == "upper"), row
        assert bracket.is_exact


def test_exact_values_on_multiway_features_are_bracketed():
    for row in golden("exact_multiway"):
        features = Features(multiway=[row["arity"]] * row["d"])
        assert vc_lower_bound(row["s"], features=features) == row["vc"], row
        assert vc_upper_bound(row["s"], features=features) >= row["vc"], row


def test_exact_partitioning_functions_are_below_the_bounds():
    for row in golden("partitioning_exact"):
        given = {"d": row["d"]} if row["variant"] == "B" else {"real": row["d"]}
        for m, exact in row["pi2"].items():
            tight = partitioning_bound(row["s"], int(m), 2, **given)
            loose = partitioning_bound(row["s"], int(m), 2, **given, form="loose")
            assert exact <= tight <= loose, (row["s"], m)
            best = log_growth_bound(row["s"], int(m), **given, method="best")
            assert math.log(2 + 2 * exact) <= best, (row["s"], m)


def test_gap_table():
    """How much of the gap closes: exact, seeded, chain bound, Theorem 9."""
    one = [[vc_upper_bound(s, real=1, method=name) for name in ("seeded", "chain", "theorem9")] for s in SMALL[:4]]
    assert one == [[2, 2, 2], [3, 5, 7], [4, 4, 8], [4, 9, 12]]
    two = [[vc_upper_bound(s, real=2, method=name) for name in ("seeded", "chain", "theorem9")] for s in SMALL[:4]]
    assert two == [[3, 3, 3], [5, 8, 10], [8, 11, 13], [8, 14, 17]]


# Oracles: the papers' recursions in plain Python


@pytest.mark.parametrize("text", SMALL)
@pytest.mark.parametrize("real", [1, 2, 5])
def test_theorem_9_agrees_with_the_recursion_of_the_paper(text, real):
    t = oracle.nested(text)
    for m, c in product((1, 2, 5, 9, 14), (1, 2, 3, 5)):
        assert partitioning_bound(text, m, c, real=real) == oracle.theorem9(t, m, c, real)
        assert partitioning_bound(text, m, c, real=real, form="loose") == oracle.theorem9(t, m, c, real, loose=True)
    assert vc_upper_bound(text, real=real, method="theorem9") == oracle.theorem9_vc(t, real)


@pytest.mark.parametrize("text", SMALL)
@pytest.mark.parametrize("n_classes", [2, 3])
def test_chain_rows_are_never_below_the_recursion_and_close_to_it(text, n_classes):
    t = oracle.nested(text)
    for real in (1, 3):
        row = _chain.chain_row(Structure(text).table(), real, n_classes, 25, closed_forms=False)
        for m in range(1, 26):
            value = n_classes * Fraction(row.mantissa[0, m]) * 2 ** int(row.exponent[0, m])
            theorem9 = sum(math.perm(n_classes, a) * oracle.theorem9(t, m, a, real) for a in range(1, n_classes + 1))
            exact = min(oracle.chain_growth(t, m, real, n_classes), theorem9, n_classes**m)
            # The kernel's values below may use Theorem 9 inside the recursion, so it may be smaller than this oracle.
            assert value <= exact, (m, real)
            if n_classes == 2 and real == 3:
                assert 2 * value >= exact


@pytest.mark.parametrize("text", SMALL)
def test_yildiz_agrees_with_the_printed_recursion_where_that_has_a_value(text):
    for d in range(8):
        assert vc_lower_bound(text, d=d, method="stumps") >= oracle.yildiz(oracle.nested(text), d)
        if d:
            assert vc_lower_bound(text, d=d, method="yildiz") >= oracle.yildiz(oracle.nested(text), d)
    for real in range(1, 5):
        assert vc_lower_bound(text, real=real, method="stumps") == oracle.stump_sum(oracle.nested(text), real)


def test_closed_forms_are_the_recursion():
    for n, d in product(range(7), range(10)):
        assert degenerate_lower_bound(n, d) == oracle.yildiz(oracle.nested(str(comb(n))), d)
        assert full_lower_bound(min(n, 5), d) == oracle.yildiz(oracle.nested(str(full(min(n, 5)))), d)


def test_passing_a_node_by_is_not_free():
    """max(LB(left, d), LB(right, d)) would give 4 here; exact is 3."""
    assert vc_lower_bound("((..)(..))", d=2) == 4
    assert vc_lower_bound("(((..)(..)).)", d=2) == 3
    points = [(0, 0), (0, 1), (1, 0), (1, 1)]
    sample = [oracle.nominal_feature([p[i] for p in points], 2) for i in range(2)]
    assert len(oracle.labellings(oracle.nested("(((..)(..)).)"), frozenset(range(4)), sample)) < 16
    assert len(oracle.labellings(oracle.nested("((..)(..))"), frozenset(range(4)), sample)) == 16


# Multiway nodes


def test_stored_covers_cover():
    for m, cover in _covers.TERNARY_COVERS.items():
        missing = set(range(2, 1 << m, 2))
        for digits in cover.split():
            parts = [sum(1 << i for i in range(m) if digits[i] == part) for part in "012"]
            assert sum(parts) == (1 << m) - 1
            first = next(part for part in parts if part & 1)
            missing -= {part for part in parts if part != first}
            missing -= {(1 << m) - 1 - first}
        assert not missing, m


@pytest.mark.parametrize(("m", "c"), [(2, 2), (3, 2), (4, 2), (3, 3), (4, 3), (5, 3), (4, 4), (5, 4)])
def test_small_covering_numbers_are_exact(m, c):
    assert _covers.covering_number(m, c) == oracle.covering_number(m, c)


def test_theorem_5_is_an_upper_bound_and_not_attained_by_eleven_ternary_features():
    for d in range(1, 60):
        features = Features(multiway=[3] * d)
        assert vc_lower_bound("(...)", features=features) <= theorem5_counting_bound([3] * d)
        assert vc_upper_bound("(...)", features=features, method="counting") == theorem5_counting_bound([3] * d)
    assert [theorem5_counting_bound([3] * d) for d in (10, 11, 12)] == [5, 6, 6]
    assert [vc_lower_bound("(...)", features=Features(multiway=[3] * d)) for d in (10, 11, 12)] == [5, 5, 6]


def test_a_node_tests_only_multiway_features_with_as_many_values_as_it_has_children():
    features = Features(multiway=[3, 4, 4])
    assert vc_bracket("(...)", features=features).lower == 3
    assert vc_bracket("(....)", features=features).lower == 4
    assert vc_bracket("(..)", features=features).upper == 1
    assert vc_bracket("(.....)", features=features).upper == 1
    assert vc_lower_bound("((....)(....)(....))", features=features) == 12


# Brute force on all small samples

FINITE = [
    (("binary", 2), ("binary", 2)),
    (("binary", 2), ("binary", 2), ("binary", 2)),
    (("ordinal", 3),),
    (("ordinal", 5),),
    (("nominal", 4),),
    (("nominal", 5),),
    (("ordinal", 3), ("binary", 2)),
    (("nominal", 3), ("binary", 2)),
    (("nominal", 3), ("ordinal", 3)),
]


def features_of(columns):
    kinds = {kind: [c for k, c in columns if k == kind] for kind, _ in columns}
    return Features(
        binary=len(kinds.get("binary", [])), ordinal=kinds.get("ordinal", []), nominal=kinds.get("nominal", [])
    )


@pytest.mark.parametrize("columns", FINITE)
@pytest.mark.parametrize("text", SMALL[:4])
def test_finite_features_by_brute_force(columns, text):
    t, features = oracle.nested(text), features_of(columns)
    n_points = math.prod(c for _, c in columns)
    exact_vc = 1
    for m in range(1, min(n_points, 6) + 1):
        if math.comb(n_points, m) > 130:
            break
        best = Counter()
        for sample in oracle.finite_samples(m, columns):
            found = oracle.labellings(t, frozenset(range(m)), sample, 3)
            two = {labelling for labelling in found if all(label < 2 for _, label in labelling)}
            best[2] = max(best[2], oracle.n_partitions(found, 2))
            best[3] = max(best[3], oracle.n_partitions(found, 3))
            best["two"] = max(best["two"], len(two))
            best["three"] = max(best["three"], len(found))
        exact_vc = m if best["two"] == 2**m else exact_vc
        for c in (2, 3):
            tight = partitioning_bound(text, m, c, features=features)
            assert best[c] <= tight <= partitioning_bound(text, m, c, features=features, form="loose"), (m, c)
        assert best["two"] <= growth_bound(text, m, features=features)
        assert best["three"] <= growth_bound(text, m, 3, features=features)
        assert math.log(best["two"]) <= log_growth_bound(text, m, features=features, method="best")
    bracket = vc_bracket(text, features=features)
    assert bracket.lower <= max(exact_vc, bracket.lower if m < min(n_points, 6) else 0)
    assert all(bound.value >= exact_vc for bound in bracket.bounds if bound.side == "upper")
    if m == n_points:
        assert all(bound.value <= exact_vc for bound in bracket.bounds if bound.side == "lower")


@pytest.mark.parametrize("text", SMALL[:4])
def test_real_features_by_brute_force(text):
    t = oracle.nested(text)
    for real, m in [(1, 4), (1, 6), (2, 3), (2, 4), (2, 5)]:
        exact = oracle.growth(t, m, oracle.real_samples(m, real))
        assert exact <= growth_bound(text, m, real=real)
        assert math.log(exact) <= log_growth_bound(text, m, real=real, method="best") + 1e-15
        if real == 1:
            assert exact == 2 * sum(math.comb(m - 1, i) for i in range(Structure(text).n_nodes + 1))
            assert math.exp(log_growth_bound(text, m, real=1, method="best")) == pytest.approx(exact)


@pytest.mark.parametrize("text", SMALL[:4])
@pytest.mark.parametrize("n_classes", [2, 3])
def test_random_samples_of_several_kinds_never_exceed_the_bounds(text, n_classes):
    rng = random.Random(20)
    t = oracle.nested(text)
    cases = [(6, 2, 0, 0), (7, 2, 0, 0), (6, 3, 0, 0), (5, 1, 1, 0), (5, 1, 1, 1), (6, 1, 2, 0)]
    for m, real, binary, nominal in cases:
        features = Features(real=real, binary=binary, nominal=[3] * nominal)
        bound = growth_bound(text, m, n_classes, features=features)
        log_bound = log_growth_bound(text, m, n_classes, features=features, method="best")
        for _ in range(8 if n_classes == 2 else 3):
            sample = [oracle.real_feature(rng.sample(range(m), m)) for _ in range(real)]
            sample += [oracle.nominal_feature([rng.randrange(2) for _ in range(m)], 2) for _ in range(binary)]
            sample += [oracle.nominal_feature([rng.randrange(3) for _ in range(m)], 3) for _ in range(nominal)]
            exact = len(oracle.labellings(t, frozenset(range(m)), sample, n_classes))
            assert exact <= bound
            assert math.log(exact) <= log_bound + 1e-15


def test_two_nodes_by_brute_force():
    t = oracle.nested("((..).)")
    for m in (3, 4, 5, 6):
        assert oracle.growth(t, m, oracle.real_samples(m, 2)) // 2 - 1 <= _chain.two_nodes(m, 2)
    rng = random.Random(3)
    for m, real in [(7, 2), (8, 2), (5, 3), (7, 3), (8, 3)]:
        for _ in range(25):
            # Few distinct blocks: features that share cuts are the critical case of the proof.
            base = list(range(m))
            sample = []
            for _ in range(real):
                order = base[:]
                cut = rng.randrange(m + 1)
                order[:cut] = rng.sample(order[:cut], cut)
                sample.append(oracle.real_feature(order))
            assert len(oracle.labellings(t, frozenset(base), sample)) // 2 - 1 <= _chain.two_nodes(m, real)


@pytest.mark.parametrize("kind", [("binary", 2), ("ordinal", 3), ("ordinal", 4), ("nominal", 3), ("nominal", 4)])
def test_splits_of_one_feature_by_brute_force(kind):
    name, categories = kind
    make = oracle.ordinal_feature if name == "ordinal" else oracle.nominal_feature
    for m in range(2, 8):
        most_at, most = Counter(), 0
        for column in product(range(categories), repeat=m):
            splits = {frozenset((side, frozenset(range(m)) - side)) for side in make(column, categories)}
            sizes = Counter(min(len(side) for side in split) for split in splits)
            del sizes[0]
            most = max(most, sum(sizes.values()))
            for j, count in sizes.items():
                most_at[j] = max(most_at[j], count)
        assert most <= _counts.splits_total(kind)
        for j, count in most_at.items():
            assert count <= _counts.splits_at(kind, m, j), (m, j)
            if name != "nominal":
                assert count == _counts.splits_at(kind, m, j)


# Properties


@pytest.mark.parametrize("given", [{"real": 3}, {"d": 4}, {"features": Features(ordinal=[4], nominal=[3, 5])}])
def test_bounds_are_ordered(given):
    for text in SMALL:
        bracket = vc_bracket(text, **given)
        values = {bound.method: bound.value for bound in bracket.bounds if bound.side == "upper"}
        assert bracket.lower <= bracket.upper
        assert values["seeded"] <= values["theorem9"]
        assert bracket.upper == vc_upper_bound(text, **given)
        assert bracket.lower == vc_lower_bound(text, **given)
        if "real" in given:
            assert values["seeded"] <= values["chain"] <= values["theorem9"] <= values["loose"]


def test_swapping_children_changes_nothing():
    for a, b in [("((..).)", "(.(..))"), ("(((..).)(..))", "((..)(.(..)))")]:
        for given in ({"real": 2}, {"d": 3}, {"features": Features(nominal=[3, 4])}):
            assert vc_bracket(a, **given) == vc_bracket(b, **given)
            assert growth_bound(a, 8, 3, **given) == growth_bound(b, 8, 3, **given)


def test_bounds_grow_with_features_points_and_leaves():
    for text in SMALL[:6]:
        uppers = [vc_upper_bound(text, real=real, method="theorem9") for real in range(1, 6)]
        assert uppers == sorted(uppers)
        growths = [log_growth_bound(text, m, real=2) for m in range(1, 40)]
        assert growths == sorted(growths)
        lowers = [vc_lower_bound(text, d=d, method="stumps") for d in range(8)]
        assert lowers == sorted(lowers)


def test_remembered_values_sharpen_the_bounds():
    before = vc_bracket("(((..).)((..).))", real=3)
    remember_exact("(.(..))", Features(real=3), vc_dimension=7)
    after = vc_bracket("(((..).)((..).))", real=3)
    assert (before.lower, after.lower) == (10, 14)
    assert after.upper <= before.upper
    assert vc_bracket("((..).)", real=3) == Bracket(7, 7, "exact value remembered", "chain bound with exact values")
    remember_exact("((..).)", Features(real=3), growth={8: 202})
    assert vc_upper_bound("((..).)", real=3) == 7


def test_exact_values_of_small_substructures_sharpen_the_lower_bound():
    pytest.importorskip("vcdim_core.exact")
    assert vc_lower_bound("(((..).)(..))", d=5, method="stumps") == 7
    assert vc_lower_bound("(((..).)(..))", d=5) == 8  # exact: comb of two nodes on 4 features 5, stump 3


def test_points_repeat_where_finite_features_cannot_tell_more_apart():
    assert growth_bound("((..)(..))", 50, d=2) == growth_bound("((..)(..))", 4, d=2) == 16
    assert vc_upper_bound(full(6), d=3) == 8


def test_cache_is_used_across_calls_and_structures():
    cache_clear()
    first = vc_upper_bound(full(5), real=7, method="theorem9")
    rows = cache_info().rows
    assert rows == 5
    hits = cache_info().hits
    assert vc_upper_bound(full(5), real=7, method="theorem9") == first
    assert cache_info().hits > hits
    vc_upper_bound(Structure(f"({full(5)}.)"), real=7, method="theorem9")
    assert cache_info().rows == rows + 1
    cache_clear()
    assert cache_info()[:4] == (0, 0, 0, 0)


def test_aslan_is_an_estimate():
    assert estimate_vc_aslan(".", 5) == 1.0
    expected = 0.6076 + 1.0077 * 2 + 0.3657 * math.log2(5)
    assert estimate_vc_aslan("(..)", 5) == pytest.approx(expected)
    inner = 0.6076 + 1.0077 * 2 + 0.3657 * math.log2(4)
    expected = 0.6076 + 1.0077 * (inner + 1) + 0.3657 * math.log2(5) - 0.8058
    assert estimate_vc_aslan("((..).)", 5) == pytest.approx(expected)
    rest = math.log2(5 - math.log2(3))
    expected = 0.6734 + 1.0117 * 3 + 0.1939 * 3 * rest + 0.7147 * rest
    assert estimate_vc_aslan("((..)(..))", 5, recursive=False) == pytest.approx(expected)
    assert math.isfinite(estimate_vc_aslan(comb(50), 2))
    assert math.isfinite(estimate_vc_aslan(comb(50), 2, recursive=False))


def test_a_fitted_scikit_learn_tree_is_a_structure():
    sklearn_tree = pytest.importorskip("sklearn.tree")
    x = [[0.0, 1.0], [1.0, 0.0], [2.0, 3.0], [3.0, 2.0]]
    tree = sklearn_tree.DecisionTreeClassifier(random_state=0).fit(x, [0, 1, 0, 1])
    assert vc_bracket(tree, real=2) == vc_bracket(tree.tree_, real=2)


def test_large_sizes_are_accepted():
    assert log_growth_bound(comb(999), 100_000, real=10, form="loose") > 1000
    assert growth_bound(comb(999), 100_000, real=10, form="loose").bit_length() > 1000
    assert partitioning_bound(full(9), 100_000, 3, real=10, form="loose") > 0
    tight = log_growth_bound(comb(40), 100_000, real=10)
    assert tight < log_growth_bound(comb(40), 100_000, real=10, form="loose")


def test_very_many_features_and_categories():
    for features in (
        Features(binary=10**9), Features(real=10**9), Features(ordinal=[10**6, 50], nominal=[10**5]),
        Features(binary=10**9, ordinal=[5]), Features(nominal=[10**6] * 3), Features(real=3, nominal=[10**4], binary=7),
    ):  # fmt: skip
        for text in ("(..)", "((..).)", "(((..).)(..))"):
            bracket = vc_bracket(text, features=features)
            assert 2 <= bracket.lower <= bracket.upper < 500


# Errors


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: partitioning_bound("(..)", -1, 2, real=1), r"expected m >= 0, got -1"),
        (lambda: partitioning_bound("(..)", 3, 0, real=1), r"expected c >= 1, got 0"),
        (lambda: growth_bound("(..)", 3, 0, real=1), r"expected n_classes >= 1, got 0"),
        (lambda: growth_bound("(...)", 3, real=1), r"expected a binary structure, got a node with 3 children"),
        (lambda: partitioning_bound("(..)", 3, 2, real=1, form="x"), r"expected form to be one of .*, got 'x'"),
        (lambda: log_growth_bound("(..)", 3, real=1, method="x"), r"expected method to be one of .*, got 'x'"),
        (lambda: vc_upper_bound("(..)", real=1, method="x"), r"expected method to be one of .*, got 'x'"),
        (lambda: vc_lower_bound("(..)", real=1, method="yildiz"), r"expected a binary structure on binary features"),
        (lambda: vc_upper_bound("((..).)", real=1, method="theorem7"), r"expected a stump on real features for method"),
        (lambda: vc_upper_bound("(..)", real=2, method="rank"), r"expected a binary structure on binary features"),
        (lambda: vc_upper_bound("((..).)", real=10**15), r"expected at most 274877906944 real features, got 1000000"),
        (lambda: theorem5_counting_bound([1]), r"expected number of values >= 2, got 1"),
        (lambda: estimate_vc_aslan("(..)", 0), r"expected d >= 1, got 0"),
    ],
)
def test_errors_say_what_was_expected(call, message):
    with pytest.raises(ValueError, match=message):
        call()

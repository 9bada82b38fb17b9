"""best_split: every criterion and feature kind against an exhaustive search, and the hard inputs."""

import math

import numpy as np
import pytest
import tree_oracles
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from vcdim_core import _table as module
from vcdim_core.split import Split, best_split, significance, table_gain

CRITERIA = ("error", "gini", "entropy", "gain_ratio", "chi2", "orthogonality", "hypergeometric")
KINDS = ("real", "binary", "ordinal", "nominal", "multiway")


def column(rng, kind, m):
    if kind == "real":
        return rng.normal(size=m).round(1)
    return rng.integers(0, 2 if kind == "binary" else 6, size=m)


def agree(X, y, criterion, kinds, weights=None, nominal="one-vs-rest", missing="raise", least=1):
    found = best_split(
        X, y, criterion, feature_kinds=kinds, sample_weight=weights, missing=missing, nominal=nominal,
        min_samples_leaf=least,
    )  # fmt: skip
    wanted = tree_oracles.best_gain(X, y, criterion, kinds, weights, nominal, least)
    assert (found is None) == (wanted is None)
    if found is None:
        return
    assert found.gain == pytest.approx(wanted[0], rel=1e-8, abs=1e-8)
    branch = found.branch(X)
    codes = np.unique(y, return_inverse=True)[1]
    table = tree_oracles._table(branch, codes, np.ones(len(y)) if weights is None else weights, codes.max() + 1)
    assert tree_oracles.gain(table, criterion) == pytest.approx(found.gain, rel=1e-8, abs=1e-8)
    assert (found.n_left, found.n_right) == ((branch == 0).sum(), (branch != 0).sum())
    assert np.allclose(found.counts, table)
    assert found.p_value == pytest.approx(significance(table, criterion))


# Degenerate inputs


def test_nothing_to_separate_gives_none():
    assert best_split([[1.0]], [0]) is None
    assert best_split([[1.0], [2.0]], [0, 0]) is None
    assert best_split([[1.0, 3.0], [1.0, 3.0]], [0, 1]) is None
    assert best_split([[1.0], [2.0], [3.0]], [0, 1, 1], min_samples_leaf=2) is None


def test_equal_rows_with_different_classes_stay_together():
    found = best_split([[0.0], [0.0], [1.0]], [0, 1, 1])
    assert (found.threshold, found.n_left) == (0.5, 2)


def test_ties_go_to_the_lowest_feature_then_the_lowest_threshold():
    found = best_split([[0, 0], [1, 1], [2, 2]], [0, 1, 0])
    assert (found.feature, found.threshold) == (0, 0.5)
    assert best_split([[5, 0], [5, 1]], [0, 1]).feature == 1


def test_values_one_ulp_apart_are_different():
    for dtype in (np.float32, np.float64):
        low = dtype(1.0)
        X = np.array([[low], [np.nextafter(low, dtype(2))]])
        found = best_split(X, [0, 1])
        assert found.branch(X).tolist() == [0, 1]
        assert float(X[0, 0]) <= found.threshold < float(X[1, 0])


def test_float64_is_not_narrowed():
    X = np.array([[1.0], [1.0 + 1e-12], [1.0 + 2e-12]])
    assert best_split(X, [0, 0, 1]).branch(X).tolist() == [0, 0, 1]


@pytest.mark.parametrize(
    "values",
    [
        [-np.inf, np.inf], [-np.inf, 0.0], [0.0, np.inf], [-1.7e308, 1.7e308], [5e-324, 1e-323], [-5e-324, 0.0],
        [0.0, 5e-324], [-0.0, 1.0], [1e308, np.inf], [3.0, 4.0],
    ],
)  # fmt: skip
def test_huge_tiny_and_infinite_values_get_a_threshold_between_them(values):
    X = np.array(values)[:, None]
    found = best_split(X, [0, 1])
    assert found.branch(X).tolist() == [0, 1]
    assert not math.isnan(found.threshold)


def test_zeros_of_both_signs_are_one_value():
    assert best_split([[-0.0], [0.0]], [0, 1]) is None


# Hand-worked cases


def test_gain_of_a_perfect_table():
    table = [[2, 0], [0, 2]]
    wanted = {
        "error": 0.5, "gini": 0.5, "entropy": 1.0, "gain_ratio": 1.0, "chi2": 4.0, "orthogonality": 1.0,
        "hypergeometric": math.log(6),
    }  # fmt: skip
    for criterion, gain in wanted.items():
        assert table_gain(table, criterion) == pytest.approx(gain)


def test_p0_sums_to_one_over_tables_with_the_same_margins():
    total = sum(significance([[a, 5 - a], [4 - a, 3 + a]]) for a in range(5))
    assert total == pytest.approx(1.0)


def test_significance_matches_known_tails():
    # chi-squared of [[10, 20], [30, 40]] is 50/63, one degree of freedom
    assert table_gain([[10, 20], [30, 40]], "chi2") == pytest.approx(50 / 63)
    assert significance([[10, 20], [30, 40]], "chi2") == pytest.approx(math.erfc(math.sqrt(50 / 126)))
    # sign test: 3 rows become right, 1 becomes wrong: (4 + 1) / 16
    assert significance([[1, 3], [6, 0]], "error") == pytest.approx(5 / 16)


@pytest.mark.parametrize("criterion", CRITERIA)
def test_significance_is_uniform_enough_without_association(criterion):
    rng = np.random.default_rng(5)
    # P[p <= 0.1] must not exceed 0.1 by much: the tests keep their level.
    hits = 0
    for _ in range(400):
        side, label = rng.integers(0, 2, 200), rng.integers(0, 3, 200)
        table = np.zeros((2, 3))
        np.add.at(table, (side, label), 1)
        hits += significance(table, criterion) <= 0.1
    # P0 of one table is far below a tail, and the sign test judges the majorities it has chosen itself.
    assert hits <= {"hypergeometric": 400, "error": 200}.get(criterion, 70)


# Agreement with the exhaustive search


@pytest.mark.parametrize("criterion", CRITERIA)
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_agrees_with_exhaustive_search(criterion, kind, dtype):
    rng = np.random.default_rng(len(criterion) * 31 + len(kind))
    for _ in range(12):
        m, d, n_classes = rng.integers(2, 25), rng.integers(1, 4), rng.integers(2, 5)
        X = np.stack([column(rng, kind, m) for _ in range(d)], axis=1).astype(dtype)
        y = rng.integers(0, n_classes, m)
        for order in ("C", "F"):
            agree(np.array(X, order=order), y, criterion, [kind] * d)
        agree(X, y, criterion, [kind] * d, weights=rng.random(m) + 0.1)
        agree(X, y, criterion, [kind] * d, weights=rng.integers(1, 4, m).astype(float), least=2)
        holes = X.copy()
        holes[rng.random(X.shape) < 0.2] = np.nan
        agree(holes, y, criterion, [kind] * d, missing="best")


@pytest.mark.parametrize("criterion", CRITERIA)
def test_agrees_with_every_subset_of_categories(criterion):
    rng = np.random.default_rng(11)
    for _ in range(60):
        m = int(rng.integers(2, 30))
        X, y = rng.integers(0, 6, (m, 2)).astype(float), rng.integers(0, 2, m)
        agree(X, y, criterion, ["nominal", "nominal"], nominal="subset")
        X[rng.random(X.shape) < 0.15] = np.nan
        agree(X, y, criterion, ["nominal", "nominal"], nominal="subset", missing="best")


def test_agrees_on_mixed_kinds():
    rng = np.random.default_rng(12)
    for _ in range(150):
        kinds = [str(kind) for kind in rng.choice(KINDS, size=3)]
        m = int(rng.integers(2, 25))
        X = np.stack([column(rng, kind, m) for kind in kinds], axis=1).astype(float)
        nominal = str(rng.choice(["one-vs-rest", "multiway"]))
        agree(X, rng.integers(0, 3, m), str(rng.choice(CRITERIA)), kinds, nominal=nominal)


def hard_columns(rng, m, dtype):
    """Columns that break histograms: skewed, sparse, rounded, huge, tiny, infinite."""
    with np.errstate(all="ignore"):
        normal = rng.normal(size=(m, 9))
        normal[:, 1] = np.exp(normal[:, 1]) ** 9
        normal[:, 2] **= 9
        normal[:, 3][rng.random(m) < 0.9] = 0
        normal[:, 4] = normal[:, 4].round(1)
        normal[:, 5] *= 1e300
        normal[:, 6] *= 5e-321
        normal[:, 7][rng.random(m) < 0.01] = np.inf
        normal[:, 8][rng.random(m) < 0.01] = -np.inf
        return normal.astype(dtype)


@pytest.mark.parametrize("criterion", CRITERIA)
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_histograms_find_what_sorting_finds(criterion, dtype, monkeypatch):
    rng = np.random.default_rng(13)
    for trial in range(12):
        m = int(rng.integers(2, 2500))
        X = hard_columns(rng, m, dtype)[:, rng.permutation(9)[: rng.integers(1, 10)]]
        X = np.asfortranarray(X) if trial % 2 else X
        signal = np.argsort(np.argsort(X[:, 0] + (0 if trial % 3 else rng.normal(size=m)), kind="stable"))
        for n_classes in (2, 5) if criterion == "gini" else (2,):
            y = signal * n_classes // m
            monkeypatch.setattr(module, "MANY", 0)
            binned = best_split(X, y, criterion)
            monkeypatch.setattr(module, "MANY", 10**9)
            assert binned == best_split(X, y, criterion)


def test_threads_change_nothing():
    rng = np.random.default_rng(14)
    X, y = rng.normal(size=(5000, 7)).round(2), rng.integers(0, 2, 5000)
    for kinds in (None, ["multiway"] + ["real"] * 6):
        X[:, 0] = rng.integers(0, 5, 5000)
        alone = best_split(X, y, feature_kinds=kinds)
        assert all(best_split(X, y, feature_kinds=kinds, n_jobs=jobs) == alone for jobs in (2, 3, 20))


# Properties


tables = hnp.arrays(np.float64, st.tuples(st.integers(2, 12), st.integers(1, 3)), elements=st.integers(0, 5).map(float))


@settings(max_examples=150, deadline=None)
@given(tables, st.data())
def test_any_small_sample_agrees_with_exhaustive_search(X, data):
    y = np.array(data.draw(st.lists(st.integers(0, 2), min_size=len(X), max_size=len(X))))
    agree(X, y, data.draw(st.sampled_from(CRITERIA)), ["real"] * X.shape[1])


@settings(max_examples=100, deadline=None)
@given(hnp.arrays(np.float64, (9, 2), elements=st.floats(allow_nan=False, width=64)), st.sampled_from(CRITERIA))
def test_any_float_is_separated_as_it_compares(X, criterion):
    y = np.array([0, 1, 1, 0, 1, 0, 0, 1, 1])
    found = best_split(X, y, criterion)
    if found is not None:
        left = X[:, found.feature] <= found.threshold
        assert (found.n_left, found.n_right) == (left.sum(), (~left).sum())
        assert 0 < left.sum() < 9


def test_permuting_rows_changes_nothing():
    rng = np.random.default_rng(15)
    X, y = rng.normal(size=(200, 4)).round(1), rng.integers(0, 3, 200)
    order = rng.permutation(200)
    for criterion in CRITERIA:
        a, b = best_split(X, y, criterion), best_split(X[order], y[order], criterion)
        assert (a.feature, a.threshold, a.gain) == (b.feature, b.threshold, b.gain)


def test_labels_of_any_kind():
    X = [[0.0], [1.0], [2.0], [3.0]]
    for labels in (["a", "a", "b", "b"], [False, False, True, True], [-5, -5, 900, 900], [0.5, 0.5, 1.5, 1.5],
                   np.array([0, 0, 300, 300], dtype=np.uint16), np.array([7, 7, 9, 9], dtype=">i4")):  # fmt: skip
        assert best_split(X, labels).threshold == 1.5


# Results and errors


def test_a_split_is_a_value_with_a_readable_face():
    found = best_split([[1.0], [2.0], [4.0]], [0, 0, 1])
    assert eval(repr(found), {"Split": Split}) == found
    assert str(found) == "x0 <= 3 (gini 0.444444, 2 | 1 rows)"
    assert str(best_split([[0], [1], [2]], [0, 1, 0], feature_kinds="multiway")).startswith("x0 by 0, 1, 2 (")
    with pytest.raises(AttributeError):
        found.gain = 0


@pytest.mark.parametrize(
    ("X", "y", "options", "message"),
    [
        ([["a"]], [0], {}, "expected X to hold numbers, got dtype"),
        (np.array([["a"]], dtype=object), [0], {}, "expected X to hold numbers, got an entry that is none"),
        ([1.0, 2.0], [0, 1], {}, "expected X to have 2 dimensions"),
        (np.empty((0, 2)), [], {}, "expected at least 1 row, got 0"),
        (np.empty((2, 0)), [0, 1], {}, "expected at least 1 feature, got 0"),
        ([[1.0]], [0, 1], {}, "expected y to have one label for each of 1 rows, got 2"),
        ([[1.0]], [[0]], {}, "expected y to have 1 dimension, got 2"),
        ([[1.0]], [math.nan], {}, "expected y without missing values, got nan"),
        ([[math.nan], [1.0]], [0, 1], {}, "expected X without missing values, got nan"),
        ([[1.0], [2.0]], [0, 1], {"criterion": "giny"}, "expected criterion to be one of 'error', 'gini'"),
        ([[1.0], [2.0]], [0, 1], {"feature_kinds": "colour"}, "expected feature_kinds to be one of"),
        ([[1.0], [2.0]], [0, 1], {"feature_kinds": ["real"] * 2}, "expected one kind for each of 1 features, got 2"),
        ([[1.0], [2.0]], [0, 1], {"feature_kinds": "binary"}, "expected binary feature 0 to hold 0 and 1, got 2.0"),
        ([[1.5], [2.0]], [0, 1], {"feature_kinds": "nominal"}, "expected nominal feature 0 to hold category codes"),
        ([[-1], [2]], [0, 1], {"feature_kinds": "ordinal"}, "expected ordinal feature 0 to hold category codes"),
        ([[0], [1], [2]], [0, 1, 2], {"feature_kinds": "nominal", "nominal": "subset"}, "expected two classes for"),
        ([[1.0], [2.0]], [0, 1], {"sample_weight": [1, -1]}, "expected sample_weight >= 0, got -1.0"),
        ([[1.0], [2.0]], [0, 1], {"sample_weight": [1]}, r"expected sample_weight to have shape \(2,\), got \(1,\)"),
        ([[1.0], [2.0]], [0, 1], {"sample_weight": [0, 0]}, "expected some sample_weight > 0, got none"),
        ([[1.0], [2.0]], [0, 1], {"sample_weight": [1, math.inf]}, "expected sample_weight to be finite"),
        ([[1.0], [2.0]], [0, 1], {"min_samples_leaf": 0}, "expected min_samples_leaf >= 1, got 0"),
        ([[2**53 + 1], [2]], [0, 1], {}, r"expected integers of X within 2\*\*53"),
        ([[1.0], [2.0]], np.array([0, "a"], dtype=object), {}, "expected y to hold labels of one kind"),
    ],
)  # fmt: skip
def test_bad_input_is_refused_in_one_sentence(X, y, options, message):
    with pytest.raises((ValueError, TypeError), match=message):
        best_split(X, y, **options)


def test_row_limit_is_refused_clearly():
    from vcdim_core._table import check_rows

    check_rows(2**31 - 1, 31)
    with pytest.raises(ValueError, match=r"expected fewer than 2\*\*31 rows with .* classes, got 2147483648"):
        check_rows(2**31, 31)


def test_tables_are_checked():
    with pytest.raises(ValueError, match="expected table to have 2 dimensions"):
        table_gain([1, 2])
    with pytest.raises(ValueError, match="expected table to hold counts >= 0"):
        significance([[1, -1], [0, 2]])

"""Omnivariate trees: formulas by hand, discriminants against scikit-learn, selections against plain versions."""

import itertools
import math
import pickle

import numpy as np
import pytest

pytest.importorskip("sklearn")

from sklearn.decomposition import PCA
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.preprocessing import PolynomialFeatures
from sklearn.utils.estimator_checks import parametrize_with_checks

import vcdim_core as vc
from vcdim_core.learn import NodeClassifier, OmnivariateTreeClassifier
from vcdim_core.learn import _grouping as grouping
from vcdim_core.learn import _selection as selection
from vcdim_core.learn import omnivariate as module
from vcdim_core.learn._node_models import KINDS, fit_model, make_rows, vc_dimension
from vcdim_core.learn.datasets import make_ringnorm, make_twonorm

SELECTIONS = ("srm", "aic", "bic", "cv")


@parametrize_with_checks(
    [
        *(OmnivariateTreeClassifier(selection) for selection in ("srm", "aic", "cv")),
        NodeClassifier("quadratic", trim=0.05),
    ]
)
def test_follows_the_rules_of_scikit_learn(estimator, check):
    check(estimator)


def clouds(n, p, n_classes, seed, spread=1.0):
    """Normal clouds with unequal counts and covariances."""
    rng = np.random.default_rng(seed)
    codes = np.minimum(rng.geometric(0.4, n) - 1, n_classes - 1)
    codes[:n_classes] = np.arange(n_classes)
    mix = rng.normal(size=(p, p))
    return rng.normal(size=(n, p)) @ mix + spread * rng.normal(size=(n_classes, p))[codes], codes.astype(np.intp)


def options(name="srm", kinds=KINDS, critical=2.015):
    return selection.Options(name, kinds, 0.99, 0.2, 0.8, critical, None)


# Degenerate nodes


@pytest.mark.parametrize("name", SELECTIONS)
@pytest.mark.parametrize(
    ("X", "y"),
    [
        ([[1.0, 2.0]], [0]),
        ([[1.0], [2.0]], [0, 1]),
        ([[1.0, 5.0], [2.0, 6.0], [3.0, 1.0]], [0, 1, 2]),
        ([[3.0, 7.0]] * 6, [0, 1, 0, 1, 0, 0]),
        ([[3.0, 7.0]] * 6, [0] * 6),
        (np.eye(5, 40).tolist(), [0, 1, 0, 1, 1]),
        ([[0.0, 1.0], [0.0, 2.0]] * 8, [0, 1] * 8),
        ([[np.nan, 1.0], [np.nan, 2.0]] * 8, [0, 1] * 8),
        ([[1e9 + 1, 1e-9], [1e9 + 2, 2e-9]] * 8, [0, 1] * 8),
    ],
    ids=["a row", "a row per class", "a row for each of three", "duplicates", "one class", "more features than rows",
         "a constant feature", "a feature that is never present", "large and small units"],
)  # fmt: skip
def test_degenerate_nodes(name, X, y):
    model = OmnivariateTreeClassifier(name, prune=False, random_state=0).fit(X, y)
    tree = model.tree_
    assert np.isfinite(tree.fill).all()
    assert (tree.value.sum(axis=1) > 0).all()
    assert tree.value[0].sum() == len(y)
    inner = np.flatnonzero(tree.left >= 0)
    assert np.array_equal(tree.value[tree.left[inner]] + tree.value[tree.right[inner]], tree.value[inner])
    assert set(model.predict(X)) <= set(y)


def test_rows_that_can_be_told_apart_are():
    for name in ("aic", "bic", "cv"):
        for X in (np.eye(5, 40), [[0.0, 1.0], [0.0, 2.0], [0.0, 3.0], [0.0, 4.0], [0.0, 5.0]]):
            model = OmnivariateTreeClassifier(name, prune=False, random_state=0).fit(X, [0, 1, 0, 1, 2])
            assert model.score(X, [0, 1, 0, 1, 2]) == 1.0


def test_an_outlier_hides_nothing_below_it():
    rng = np.random.default_rng(0)
    X = np.vstack([rng.normal(size=(100, 2)), [[1e10, 0.0]]])
    y = (X[:, 0] > 0).astype(int)
    tree = OmnivariateTreeClassifier("aic", ("univariate",), prune=False).fit(X, y).tree_
    assert tree.value[0].sum() == 101
    assert tree.n_nodes <= 12  # one for the outlier, and the first feature after that


def test_duplicates_of_all_classes_are_a_leaf():
    for kind in KINDS:
        assert fit_model(kind, make_rows(np.ones((4, 3)), np.array([0, 1, 0, 1]), 2)) is None
    X = [[0.0], [0.0], [1.0], [1.0]]
    model = OmnivariateTreeClassifier("aic", prune=False).fit(X, [0, 1, 0, 1])
    assert str(model.structure) == "."


# Formulas, by hand


def test_error_and_log_likelihood_of_a_split():
    #   x <= 2: classes 0 0 1     x > 2: classes 1 1 0 1
    Z = np.array([[0.0], [0.0], [2.0], [5.0], [5.0], [4.0], [5.0]])
    split = fit_model("univariate", make_rows(Z, np.array([0, 0, 1, 1, 1, 0, 1]), 2))
    assert (split.left_counts.tolist(), split.right_counts.tolist()) == ([2.0, 1.0], [1.0, 3.0])
    assert split.error == pytest.approx((7 - 2 - 3) / 7)
    by_hand = 2 * math.log(2 / 3) + math.log(1 / 3) + math.log(1 / 4) + 3 * math.log(3 / 4)
    assert split.log_likelihood == pytest.approx(by_hand)
    assert selection.aic(by_hand, 2) == pytest.approx(2 * (-by_hand + 2))
    assert selection.bic(by_hand, 2, 7) == pytest.approx(-by_hand + math.log(7))


def test_vc_dimensions_of_the_models():
    assert [vc_dimension(kind, 1) for kind in ("leaf", *KINDS)] == [1, 1, 2, 3]
    assert [vc_dimension(kind, 20) for kind in KINDS] == [pytest.approx(5.3219, abs=1e-4), 21, 231]


def test_statistic_of_the_five_by_two_test():
    differences = [0.1, 0.2, 0.0, 0.2, 0.1, 0.1, 0.3, 0.1, 0.2, 0.0]
    test = selection.Comparison(2.015)
    for difference in differences:
        test.add(difference)
    # s_i^2 = (p_i1 - p_i2)^2 / 2: 0.005, 0.02, 0, 0.02, 0.02
    assert test.t == pytest.approx(0.1 / math.sqrt(0.065 / 5))
    assert not test.is_significant
    assert selection.critical_value(0.05) == pytest.approx(2.015048, abs=1e-6)


def test_pruning_by_a_criterion():
    # root (3 parameters) over a leaf and a stump (2 parameters) that tells nothing apart
    left, right = [1, -1, 3, -1, -1], [2, -1, 4, -1, -1]
    values = np.array([[20.0, 20.0], [20.0, 0.0], [0.0, 20.0], [0.0, 10.0], [0.0, 10.0]])
    cut = selection.prune_by_criterion("aic", left, right, values, [3, 0, 2, 0, 0])
    assert cut.tolist() == [False, False, True, False, False]
    # 40 log 2 = 27.7 is worth 3 + 2 - 1 = 4 parameters by AIC, and by BIC up to 27.7 / (log(40) / 2) = 15.03
    assert not selection.prune_by_criterion("bic", left, right, values, [14, 0, 2, 0, 0])[0]
    assert selection.prune_by_criterion("bic", left, right, values, [15, 0, 2, 0, 0])[0]


def test_pruning_by_rows_kept_aside():
    left, right = [1, -1, 3, -1, -1], [2, -1, 4, -1, -1]
    values = np.array([[9.0, 6.0], [8.0, 0.0], [1.0, 6.0], [1.0, 0.0], [0.0, 6.0]])
    aside = np.array([[4.0, 5.0], [3.0, 1.0], [1.0, 4.0], [0.0, 1.0], [1.0, 3.0]])
    # the stump has 1 + 1 errors, a leaf in its place 1: pruned; the root then 1 + 1 against 5
    assert selection.prune_by_error(left, right, values, aside).tolist() == [False, False, True, False, False]


# Discriminants against scikit-learn


@pytest.mark.parametrize("seed", range(4))
def test_linear_node_is_linear_discriminant_analysis(seed):
    X, y = clouds(200, 5, 2, seed, spread=0.6)
    rival = LinearDiscriminantAnalysis(solver="lsqr").fit(X, y)
    split = fit_model("linear", make_rows(X, y, 2), 1.0)
    model = split.model
    assert np.allclose(model.linear / np.linalg.norm(model.linear), rival.coef_[0] / np.linalg.norm(rival.coef_[0]))
    assert np.array_equal(split.right, rival.predict(X) == 1)
    scale = rival.coef_[0][0] / model.linear[0]
    assert model.threshold * scale == pytest.approx(-rival.intercept_[0])


@pytest.mark.parametrize("seed", range(3))
def test_quadratic_node_is_linear_discriminant_analysis_of_products(seed):
    X, y = clouds(300, 3, 2, seed, spread=0.8)
    products = PolynomialFeatures(2, include_bias=False).fit_transform(X)
    split = fit_model("quadratic", make_rows(X, y, 2), 1.0)
    rival = LinearDiscriminantAnalysis(solver="lsqr").fit(products, y)
    assert np.array_equal(split.right, rival.predict(products) == 1)
    assert split.model.n_parameters == 10


def test_univariate_node_is_the_best_discriminant_of_a_single_feature():
    for seed in range(5):
        X, y = clouds(60, 4, 2, seed, spread=0.7)
        errors = []
        for j in range(4):
            right = LinearDiscriminantAnalysis(solver="lsqr").fit(X[:, j : j + 1], y).predict(X[:, j : j + 1]) == 1
            sides = [np.bincount(y[side], minlength=2) for side in (right, ~right)]
            errors.append(sum(side.sum() - side.max() for side in sides if side.sum()))
        split = fit_model("univariate", make_rows(X, y, 2))
        assert split.error == pytest.approx(min(errors) / 60)
        assert errors[split.model.feature] == min(errors)


@pytest.mark.parametrize(("n", "p", "kind"), [(12, 30, "linear"), (9, 4, "quadratic"), (14, 4, "quadratic")])
def test_more_functions_than_rows(n, p, kind):
    """The small eigenproblem gives what a pseudoinverse of the large scatter gives."""
    X, y = clouds(n, p, 2, 1)
    functions = X if kind == "linear" else PolynomialFeatures(2, include_bias=False).fit_transform(X)
    centred = functions - functions.mean(axis=0)
    difference = functions[y == 1].mean(axis=0) - functions[y == 0].mean(axis=0)
    weights = np.linalg.pinv(centred.T @ centred, rcond=1e-10, hermitian=True) @ difference
    model = fit_model(kind, make_rows(X, y, 2), 1.0).model
    assert np.allclose(model.scores(X), functions @ weights, rtol=1e-4, atol=1e-6)


def test_both_eigenproblems_agree():
    X, y = clouds(40, 4, 3, 2)
    few, many = make_rows(X[:14], y[:14], 3), make_rows(np.repeat(X[:14], 2, axis=0), np.repeat(y[:14], 2), 3)
    for kind in ("linear", "quadratic"):
        small, large = (fit_model(kind, rows, 0.9).model for rows in (few, many))
        assert small.n_parameters == large.n_parameters
        assert np.array_equal(small.group, large.group)
        direction = [m.scores(X) - m.scores(X).mean() for m in (small, large)]
        assert np.allclose(direction[0] / np.abs(direction[0]).max(), direction[1] / np.abs(direction[1]).max())


def test_components_hold_the_share_of_variance():
    X, y = clouds(200, 12, 2, 0)
    for share in (0.5, 0.9, 0.99):
        k = PCA(share).fit(X).n_components_
        assert fit_model("linear", make_rows(X, y, 2), share).model.n_parameters == k + 1


def test_an_unequal_node_is_divided_all_the_same():
    rng = np.random.default_rng(0)
    Z, y = rng.normal(size=(500, 3)), np.zeros(500, dtype=np.intp)
    y[:5] = 1  # the discriminant with priors says 0 everywhere
    assert (LinearDiscriminantAnalysis().fit(Z, y).predict(Z) == 0).all()
    for kind in KINDS:
        split = fit_model(kind, make_rows(Z, y, 2))
        assert 0 < split.right.sum() < 500


def test_trimming_never_adds_errors():
    improved = 0
    for seed in range(20):
        rng = np.random.default_rng(seed)
        rows = make_rows(rng.normal(size=(60, 4)), rng.integers(0, 2, 60), 2)
        plain, trimmed = fit_model("linear", rows), fit_model("linear", rows, 0.99, 0.05)
        assert trimmed.error <= plain.error
        improved += trimmed.error < plain.error
    assert improved > 5


# Groups of classes


def white_means(seed, n_classes, n=80, p=3):
    """Class means and counts in coordinates where the total scatter is the identity."""
    X, y = clouds(n, p, n_classes, seed)
    X = X - X.mean(axis=0)
    white = X @ np.linalg.inv(np.linalg.cholesky(X.T @ X)).T
    counts = np.bincount(y, minlength=n_classes).astype(float)
    return white, y, np.array([white[y == k].mean(axis=0) for k in range(n_classes)]), counts


def all_groups(n_classes):
    return [np.array((False, *rest)) for rest in itertools.product((False, True), repeat=n_classes - 1) if any(rest)]


def test_explained_share_is_that_of_least_squares():
    white, y, means, counts = white_means(3, 4)
    for group in all_groups(4):
        target = group[y] - group[y].mean()
        fitted = white @ np.linalg.lstsq(white, target, rcond=None)[0]
        assert grouping.explained(means, counts, group) == pytest.approx(fitted @ fitted / (target @ target))


@pytest.mark.parametrize("n_classes", [3, 4, 5, 6])
def test_exchange_search(n_classes):
    n_best = 0
    for seed in range(12):
        _, _, means, counts = white_means(seed, n_classes)
        value = {tuple(group): grouping.explained(means, counts, group) for group in all_groups(n_classes)}
        start = grouping.two_means(means, counts)
        found = grouping.find_groups(means, counts)
        assert not start[0] and not found[0]
        assert value[tuple(found)] >= value[tuple(start)] - 1e-12
        for k in range(n_classes):  # no single exchange is better
            other = found.copy()
            other[k] = not other[k]
            assert value.get(tuple(other ^ other[0]), 0.0) <= value[tuple(found)] * (1 + 1e-8)
        n_best += value[tuple(found)] >= max(value.values()) - 1e-9
    assert n_best == 12 if n_classes == 3 else n_best >= 9


def test_one_feature_has_the_best_of_all_groupings():
    for seed in range(6):
        X, y = clouds(60, 1, 5, seed)
        means = np.array([X[y == k].mean(axis=0) - X.mean(axis=0) for k in range(5)])
        counts = np.bincount(y, minlength=5).astype(float)
        best = max(grouping.explained(means, counts, group) for group in all_groups(5))
        group = fit_model("univariate", make_rows(X, y, 5)).model.group
        assert grouping.explained(means, counts, group) == pytest.approx(best)


# Selections against plain versions


def plain_risk_choice(rows):
    """Fit everything, then compare."""
    n, d = rows.n, rows.Z.shape[1]
    leaf = vc.srm_bound((n - rows.counts.max()) / n, 1, n, 0.2, 0.8)
    candidates = [(leaf, 0, "leaf")]
    for place, kind in enumerate(KINDS):
        split = fit_model(kind, rows)
        if split is not None:
            candidates.append((vc.srm_bound(split.error, vc_dimension(kind, d), n, 0.2, 0.8), place + 1, kind))
    return min(candidates)[2]


def test_structural_risk_spares_fits_but_not_choices():
    seen = set()
    for seed in range(40):
        n = 10 + 13 * (seed % 10)
        X, y = clouds(n, 1 + seed % 6, 2, seed, spread=[0.0, 0.5, 2.0, 5.0][seed % 4])
        rows = make_rows(X**2 if seed % 3 == 0 else X, y, 2)
        split = selection.choose(rows, options(), np.random.RandomState(0))
        chosen = "leaf" if split is None else split.model.kind
        assert chosen == plain_risk_choice(rows)
        seen.add(chosen)
    assert {"leaf", "univariate", "linear"} <= seen


def plain_test_choice(rows, seed):
    """All ten fits of all models, then the tests of the paper."""
    folds = list(selection.halves(rows, np.random.RandomState(seed)))
    errors = {k: [selection.validation_error(k, a, b, 0.99) for a, b in folds] for k in KINDS}

    def better(simple, complex_):
        p = np.array(errors[simple]) - np.array(errors[complex_])
        pairs = p.reshape(5, 2)
        s2 = ((pairs - pairs.mean(axis=1, keepdims=True)) ** 2).sum(axis=1)
        if p[0] <= 0:
            return False
        return s2.sum() == 0 or p[0] / math.sqrt(s2.sum() / 5) > 2.015

    if better("linear", "quadratic") and better("univariate", "quadratic"):
        return "quadratic"
    return "linear" if better("univariate", "linear") else "univariate"


def test_cross_validation_stops_early_with_the_same_choice():
    seen = set()
    for seed in range(12):
        maker = (make_ringnorm, make_twonorm)[seed % 2]
        X, y = maker(60 + 40 * seed, d=1 + seed % 5, random_state=seed)
        rows = make_rows(X, y.astype(np.intp), 2)
        kind = selection._tested_kind(rows, options("cv"), np.random.RandomState(seed))
        assert kind == plain_test_choice(rows, seed)
        seen.add(kind)
    assert seen == set(KINDS)


def test_halves_are_halves():
    rows = make_rows(np.arange(21.0)[:, None], np.repeat([0, 1, 2], 7), 3)
    folds = list(selection.halves(rows, np.random.RandomState(0)))
    assert len(folds) == 10
    for fitted, judged in folds:
        together = np.sort(np.concatenate([fitted.Z, judged.Z]).ravel())
        assert np.array_equal(together, np.arange(21.0))
        assert np.abs(fitted.counts - judged.counts).max() <= 1


@pytest.mark.parametrize("name", ["aic", "bic"])
def test_what_pruning_removes_for_certain_is_not_grown(name, monkeypatch):
    X, y = make_twonorm(400, d=4, random_state=0)
    quick = OmnivariateTreeClassifier(name).fit(X, y)
    monkeypatch.setattr(module, "is_sure_leaf", lambda *args: False)
    slow = OmnivariateTreeClassifier(name).fit(X, y)
    assert str(quick.tree_) == str(slow.tree_)
    assert quick.n_parameters_ == slow.n_parameters_


@pytest.mark.parametrize("name", ["aic", "bic", "cv"])
def test_pruned_trees_are_smaller(name):
    X, y = make_twonorm(300, d=3, random_state=1)
    pruned, whole = (OmnivariateTreeClassifier(name, prune=p, random_state=0).fit(X, y) for p in (True, False))
    assert pruned.tree_.n_nodes < whole.tree_.n_nodes
    assert whole.score(X, y) == 1.0
    assert pruned.tree_.value[0].sum() == 300  # rows kept aside are counted in the end


# What the paper finds


@pytest.mark.parametrize(("maker", "kind"), [(make_ringnorm, "quadratic"), (make_twonorm, "linear")])
def test_trees_by_structural_risk_are_smaller_and_not_less_accurate(maker, kind):
    X, y = maker(7400, random_state=0)
    X_new, y_new = maker(10_000, random_state=1)
    srm, aic = (OmnivariateTreeClassifier(name).fit(X, y) for name in ("srm", "aic"))
    assert srm.tree_.kind(0) == kind
    assert srm.n_parameters_ < aic.n_parameters_
    assert srm.tree_.n_nodes < aic.tree_.n_nodes
    assert srm.score(X_new, y_new) >= aic.score(X_new, y_new) - 0.0015  # a standard error of either
    assert srm.score(X_new, y_new) > 0.97


# The estimator


@pytest.mark.parametrize("name", SELECTIONS)
def test_same_seed_same_tree(name):
    X, y = clouds(120, 4, 3, 0)
    a, b = (OmnivariateTreeClassifier(name, random_state=3).fit(X, y) for _ in range(2))
    assert str(a.tree_) == str(b.tree_)
    assert np.array_equal(a.predict_proba(X), b.predict_proba(X))
    again = pickle.loads(pickle.dumps(a))
    assert np.array_equal(again.predict(X), a.predict(X))


def test_units_do_not_matter():
    X, y = clouds(150, 4, 2, 5)
    a = OmnivariateTreeClassifier("aic").fit(X, y)
    b = OmnivariateTreeClassifier("aic").fit(X * [1e-3, 1.0, 1e3, 7.0] + [5.0, 0.0, -1e3, 1.0], y)
    assert a.structure == b.structure
    assert a.n_parameters_ == b.n_parameters_


def test_models_can_be_restricted():
    X, y = make_ringnorm(600, d=4, random_state=0)
    for kinds in (("univariate",), ("linear", "univariate"), ("quadratic",)):
        types = OmnivariateTreeClassifier("aic", kinds).fit(X, y).tree_.node_types()
        assert all(types[kind] == 0 for kind in KINDS if kind not in kinds)


def test_all_rows_in_the_bound_grow_larger_trees():
    X, y = make_ringnorm(2000, random_state=0)
    node, all_ = (OmnivariateTreeClassifier(bound_rows=which).fit(X, y) for which in ("node", "all"))
    assert all_.tree_.n_nodes >= node.tree_.n_nodes


def test_complexity_types_and_levels():
    X, y = make_ringnorm(1500, d=6, random_state=3)
    model = OmnivariateTreeClassifier("aic").fit(X, y)
    tree = model.tree_
    assert model.n_parameters_ == sum(m.n_parameters for m in tree.models if m) + tree.n_leaves
    levels = tree.node_types_per_level()
    assert levels.sum(axis=0).tolist() == list(tree.node_types().values())
    assert levels.sum() == tree.n_nodes == tree.n_leaves - 1
    assert len(levels) == tree.height == model.get_depth() == model.structure.height
    assert vc.as_structure(model) == model.structure
    assert model.get_n_leaves() == model.structure.n_leaves
    leaves = model.apply(X)
    assert np.array_equal(np.bincount(leaves, minlength=tree.n_all)[leaves], tree.value[leaves].sum(axis=1))


def test_drawings():
    X, y = make_ringnorm(1500, d=3, random_state=3)
    tree = OmnivariateTreeClassifier("aic").fit(X, np.array(["<a>", "b"])[y]).tree_
    text, svg, dot = str(tree), tree.to_svg(), tree.to_dot()
    assert len(text.splitlines()) == tree.n_all
    assert "quadratic: " in text and "more <= " in text
    assert svg.count("<rect") == tree.n_all and svg.count("<line") == tree.n_all - 1
    assert "&lt;a&gt;" in svg and "<a>" not in svg
    assert dot.count("->") == tree.n_all - 1
    assert tree.to_text(max_depth=1).count("...") >= 1
    with pytest.raises(ValueError, match="expected a node that asks, got the leaf"):
        tree.question(int(np.flatnonzero(tree.left < 0)[0]))


def test_discrete_features_are_encoded_one_of_l():
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame({"colour": ["red", "blue", "green", "red"] * 6, "size": [1.0, 2.0, 3.0, 4.0] * 6})
    model = OmnivariateTreeClassifier("aic").fit(frame, [1, 0, 0, 1] * 6)
    assert model.encoder_.names == ("colour=blue", "colour=green", "colour=red", "size")
    assert str(model.tree_) == "colour=red <= 0.5?\n|- yes: 0 (12)\n`- no: 1 (12)"
    unseen = pandas.DataFrame({"colour": ["violet", "red"], "size": [1.0, 2.0]})
    assert model.predict(unseen).tolist() == [0, 1]
    X, y = [[7.0], [3.0], [5.0]] * 6, [1, 0, 1] * 6
    codes = OmnivariateTreeClassifier("aic", categorical_features=[0]).fit(X, y)
    assert codes.encoder_.names == ("x0=3", "x0=5", "x0=7")
    by_mask = OmnivariateTreeClassifier("aic", categorical_features=[True]).fit(X, y)
    assert str(by_mask.tree_) == str(codes.tree_)


def test_text_columns_of_a_polars_frame_are_discrete():
    polars = pytest.importorskip("polars")
    frame = polars.DataFrame({"colour": ["red", None, "green", "red"] * 6, "size": [1.0, 2.0, 3.0, None] * 6})
    model = OmnivariateTreeClassifier("bic").fit(frame, [1, 0, 0, 1] * 6)
    assert model.encoder_.names == ("colour=green", "colour=red", "size")
    assert model.predict(frame).tolist() == [1, 0, 0, 1] * 6


def test_missing_values_take_the_mean_of_their_node():
    X = np.array([[0.0, 0.0], [0.0, 2.0], [0.0, np.nan], [9.0, 10.0], [9.0, np.nan], [9.0, 30.0]] * 4)
    y = [0, 0, 0, 1, 1, 2] * 4
    tree = OmnivariateTreeClassifier("aic", ("univariate",), prune=False).fit(X, y).tree_
    raw = tree.fill * tree.scale + tree.centre
    assert str(tree.question(0)).startswith("x0 <= ")
    assert raw[0] == pytest.approx([4.5, 10.5])
    assert raw[int(tree.left[0])] == pytest.approx([0.0, 1.0])
    assert raw[int(tree.right[0])] == pytest.approx([9.0, 20.0])
    model = OmnivariateTreeClassifier("aic", ("univariate",), prune=False).fit(X, y)
    here = tree.models[int(tree.right[0])]
    goes_right = (20.0 - tree.centre[1]) / tree.scale[1] > here.threshold
    child = int((tree.right if goes_right else tree.left)[int(tree.right[0])])
    assert model.apply([[9.0, np.nan]])[0] == child


def test_one_node_names_two_classes():
    X, y = clouds(90, 3, 3, 4, spread=4.0)
    for kind in KINDS:
        model = NodeClassifier(kind).fit(X, y)
        assert len(set(model.predict(X))) == 2
        assert str(model.structure) == "(..)"


def test_bad_arguments_are_named():
    X, y = [[0.0], [1.0]], [0, 1]
    for wrong, message in [
        ({"selection": "sri"}, "expected selection to be one of 'srm', 'aic', 'bic', 'cv', got 'sri'"),
        ({"nodes": ()}, r"expected nodes to be a sequence of models, got \(\)"),
        ({"nodes": ["cubic"]}, "expected every entry of nodes to be one of"),
        ({"variance": 0.0}, "expected variance > 0, got 0"),
        ({"variance": 1.5}, "expected variance <= 1, got 1.5"),
        ({"alpha": 0.7}, "expected 0 < alpha < 0.5, got 0.7"),
        ({"prune_fraction": 1.0}, "expected prune_fraction < 1, got 1.0"),
        ({"bound_rows": "some"}, "expected bound_rows to be one of 'node', 'all', got 'some'"),
        ({"min_samples_split": 1}, "expected min_samples_split >= 2, got 1"),
        ({"max_depth": -1}, "expected max_depth >= 0, got -1"),
        ({"categorical_features": [3]}, r"expected categorical_features\[0\] <= 0, got 3"),
        ({"categorical_features": [True, False]}, "to have one entry for each of 1, got 2"),
    ]:
        with pytest.raises(ValueError, match=message):
            OmnivariateTreeClassifier(**wrong).fit(X, y)
    with pytest.raises(ValueError, match="expected kind to be one of"):
        NodeClassifier("cubic").fit(X, y)
    with pytest.raises(ValueError, match="expected n >= 1, got 0"):
        make_ringnorm(0)

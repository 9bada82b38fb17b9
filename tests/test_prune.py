"""Pruning: every method against a plain version, hand-worked trees, degenerate data, estimators."""

from __future__ import annotations

import os
import pickle
import signal
import threading

import numpy as np
import prune_oracles as plain
import pytest
from sklearn.base import clone
from sklearn.datasets import load_breast_cancer, load_iris, load_wine
from sklearn.ensemble import ExtraTreesClassifier, RandomForestClassifier
from sklearn.tree import DecisionTreeClassifier

import vcdim_core as vc
from vcdim_core import Features, Tree, grow_tree
from vcdim_core import _prune as kernel
from vcdim_core.learn import TreeClassifier, prune
from vcdim_core.learn._prune_bound import log_priors
from vcdim_core.learn._prune_tight import TightPruner
from vcdim_core.learn._tight_growth import TightGrowth
from vcdim_core.learn.pruning import METHODS
from vcdim_core.risk import wedderburn_etherington

NAN = float("nan")
NEED_NOTHING = [name for name in METHODS if name != "generic"]


def noisy(seed, m=24, d=2, k=2, levels=6, noise=0.25):
    """A few rows on a small grid, with noise: trees of 5 to 12 leaves."""
    rng = np.random.default_rng(seed)
    X = rng.integers(0, levels, size=(m, d)).astype(float)
    y = (X.sum(axis=1) * k // (d * levels)).astype(int) % k
    flip = rng.random(m) < noise
    y[flip] = rng.integers(0, k, size=int(flip.sum()))
    return X, y


def rows_of(X, y):
    return list(zip(X.tolist(), y.tolist(), strict=True))


def small_tree(seed, leaves=10, **options):
    X, y = noisy(seed, **options)
    return grow_tree(X, y, max_leaf_nodes=leaves), X, y


# Hand-worked


def hand_tree():
    """x <= 2? : (x <= 1? : a (8), b (1)) , b (9): a stump over a leaf that one row needs."""
    X = np.array([[1.0]] * 8 + [[2.0]] + [[3.0]] * 9)
    y = np.array(["a"] * 8 + ["b"] * 10)
    tree = Tree(
        [0, 0, -1, -1, -1], [0] * 5, [2.5, 1.5, 0, 0, 0], [(1, 4), (2, 3), (), (), ()],
        [[8, 10], [8, 1], [8, 0], [0, 1], [0, 9]], ["a", "b"], 1,
    )  # fmt: skip
    return tree, X, y


def test_hand_worked_pessimistic():
    # f(0, 8) = 1 - 0.25^(1/8) = 0.159, f(0, 1) = 0.75: 8 * 0.159 + 0.75 = 2.02 against 9 f(1, 9) = 2.45.
    tree, X, y = hand_tree()
    result = prune(tree, X, y, "pessimistic")
    assert result.tree == tree
    step = result.path[0]
    assert step.node == 1 and not step.chosen
    assert step.bound * 9 == pytest.approx(8 * (1 - 0.25 ** (1 / 8)) + 0.75)
    strict = prune(tree, X, y, "pessimistic", confidence=0.9)
    assert strict.path[0].alternative * 9 == pytest.approx(9 * plain.upper_limit(1, 9, 0.9))


def test_hand_worked_cost_complexity():
    # Node 1 as a leaf: 1 error more for 1 leaf less, g = 1/18. The root: 8 errors for 2 leaves, 4/18; then 7/18.
    tree, X, y = hand_tree()
    result = prune(tree, X, y, "cost_complexity", alpha=0.1)
    assert [(step.node, step.n_leaves, step.bound) for step in result.path] == [
        (-1, 3, 0.0), (1, 2, pytest.approx(1 / 18)), (0, 1, pytest.approx(7 / 18))
    ]  # fmt: skip
    assert [step.chosen for step in result.path] == [False, True, False]
    assert result.tree.n_leaves == 2 and result.bound == pytest.approx(1 / 18 + 0.2)


def test_hand_worked_merge():
    tree = Tree(
        [0, 0, -1, -1, -1], [0] * 5, [2.5, 1.5, 0, 0, 0], [(1, 4), (2, 3), (), (), ()],
        [[4, 1], [4, 1], [3, 1], [1, 0], [0, 0]], ["a", "b"], 1,
    )  # fmt: skip
    X, y = np.array([[1.0], [1.0], [2.0], [1.0], [1.0]]), np.array(["a", "a", "a", "a", "b"])
    result = prune(tree, X, y, "merge")
    assert result.tree.n_leaves == 1 and result.tree.value.tolist() == [[4, 1]]
    assert [step.chosen for step in result.path] == [True, True]


def test_hand_worked_holdout():
    tree, X, y = hand_tree()
    aside = np.array([[1.0], [2.0], [2.0], [3.0]]), np.array(["a", "a", "b", "b"])
    result = prune(tree, X, y, "holdout", validation=aside)
    # Below node 1 the subtree gets (2, a) wrong, the leaf a gets (2, b) wrong: no more errors. The root stays.
    assert [(step.node, step.bound, step.alternative, step.chosen) for step in result.path] == [
        (1, 1.0, 1.0, True), (0, 1.0, 2.0, False)
    ]  # fmt: skip
    assert result.tree.n_leaves == 2 and result.bound == 1.0


# Against plain versions


@pytest.mark.parametrize("seed", range(25))
def test_srm_with_real_features(seed):
    tree, X, y = small_tree(seed, m=30, d=3)
    a1 = (0.1, 0.5, 1.0)[seed % 3]
    result = prune(tree, X, y, "srm", a1=a1, features=Features(real=3))
    expected = plain.srm(plain.nested(tree), rows_of(X, y), lambda t, depth: plain.vc_real(t, 3), a1=a1)
    assert plain.shape(plain.nested(result.tree)) == plain.shape(expected)


@pytest.mark.parametrize("seed", range(12))
def test_srm_with_binary_features(seed):
    tree, X, y = small_tree(seed, m=40, d=4, levels=2)
    a1 = (0.1, 0.4)[seed % 2]
    result = prune(tree, X, y, "srm", a1=a1, nu=0.1, feature_kinds="binary")
    d = int((X.max(axis=0) > X.min(axis=0)).sum())
    expected = plain.srm(
        plain.nested(tree), rows_of(X, y), lambda t, depth: plain.vc_binary(t, d - depth), a1=a1, nu=0.1
    )
    assert plain.shape(plain.nested(result.tree)) == plain.shape(expected)


def test_srm_options():
    X, y = noisy(3, m=40, d=3, levels=2, noise=0)
    tree = grow_tree(X, y)
    values = {}
    for name in ("lower", "exact", "upper", "aslan", 2.5):
        result = prune(tree, X, y, "srm", vc=name, feature_kinds="binary", a1=0.001)
        assert result.tree == tree
        values[name] = {step.node: step.vc for step in result.path}
    root = tree.structure.canonical()
    assert values["lower"][0] <= values["exact"][0] == vc.exact_vc(root, 3) <= values["upper"][0]
    assert values["aslan"][0] == pytest.approx(vc.estimate_vc_aslan(root, 3))
    assert set(values[2.5].values()) == {2.5}


def test_srm_by_structure_agrees_with_the_kernel():
    X, y = noisy(7, m=60, d=3)
    tree = grow_tree(X, y)
    from vcdim_core.learn import _prune_rules as rules

    quick = prune(tree, X, y, "srm", a1=0.3)
    slow = rules._vc_values
    try:
        rules._vc_values = lambda view, name: (0, None)
        other = prune(tree, X, y, "srm", a1=0.3)
    finally:
        rules._vc_values = slow
    assert quick.path.n_leaves.tolist() == other.path.n_leaves.tolist()
    # The kernel sums over single nodes; seeds make the other one at least as large.
    assert (quick.path.vc <= other.path.vc + 1e-9).all()


def test_srm_of_multiway_trees():
    rng = np.random.default_rng(1)
    X = np.column_stack([rng.integers(0, 3, 60), rng.integers(0, 4, 60), rng.integers(0, 2, 60)]).astype(float)
    y = ((X[:, 0] > 0) ^ (rng.random(60) < 0.3)).astype(int)
    tree = grow_tree(X, y, tree="multiway", feature_kinds="multiway")
    result = prune(tree, X, y, "srm", a1=0.5)
    assert 1 <= result.tree.n_leaves <= tree.n_leaves and result.settings["features"] == Features(multiway=(3, 4, 2))
    lows = {step.node: step.vc for step in result.path}
    whole = vc.vc_lower_bound(tree.structure, features=Features(multiway=(3, 4, 2)))
    if result.tree.n_leaves == tree.n_leaves:
        assert lows[0] <= whole
    for name in ("holdout", "pessimistic", "hypergeometric", "merge", "mdl", "cost_complexity", "m_cost_complexity"):
        other = prune(tree, X, y, name)
        assert other.tree.n_leaves <= tree.n_leaves
        other.tree.check()
    surgery = prune(tree, X, y, "pessimistic", surgery=True).tree
    surgery.check()


@pytest.mark.parametrize("seed", range(15))
def test_holdout(seed):
    tree, X, y = small_tree(seed)
    X_aside, y_aside = noisy(seed + 1000, m=12)
    result = prune(tree, X, y, "holdout", validation=(X_aside, y_aside))
    expected = plain.holdout(plain.nested(tree), rows_of(X_aside, y_aside))
    assert plain.shape(plain.nested(result.tree)) == plain.shape(expected)
    assert result.bound == plain.wrong(expected, rows_of(X_aside, y_aside))


@pytest.mark.parametrize("seed", range(20))
def test_pessimistic(seed):
    tree, X, y = small_tree(seed, m=40, k=2 + seed % 2)
    cf = (0.25, 0.1, 0.6)[seed % 3]
    result = prune(tree, X, y, "pessimistic", confidence=cf)
    expected = plain.pessimistic(plain.nested(tree), rows_of(X, y), cf)
    assert plain.shape(plain.nested(result.tree)) == plain.shape(expected)
    value = plain.estimate(plain.nested(tree), rows_of(X, y), cf, False)[0]
    assert result.bound * len(y) == pytest.approx(value, rel=1e-9)


@pytest.mark.parametrize("seed", range(20))
def test_pessimistic_with_surgery(seed):
    tree, X, y = small_tree(seed, m=30, d=3)
    cf = (0.25, 0.5)[seed % 2]
    result = prune(tree, X, y, "pessimistic", confidence=cf, surgery=True)
    expected = plain.pessimistic(plain.nested(tree), rows_of(X, y), cf, True)
    assert plain.shape(plain.nested(result.tree)) == plain.shape(expected)


def test_surgery_happens():
    taken = 0
    for seed in range(40):
        tree, X, y = small_tree(seed, m=30, d=3)
        result = prune(tree, X, y, "pessimistic", surgery=True)
        taken += any(step.reason.startswith("its larger child") for step in result.path)
        assert np.array_equal(result.tree.value.sum(axis=1)[0], len(y))
    assert taken >= 3


@pytest.mark.parametrize("errors, rows", [(0, 1), (0, 40), (1, 2), (1, 9), (5, 100), (50, 100), (99, 100), (100, 100)])
@pytest.mark.parametrize("cf", [0.01, 0.25, 0.9])
def test_upper_limits(errors, rows, cf):
    out = np.empty(1)
    kernel.upper_limits(np.array([float(errors)]), np.array([float(rows)]), cf, out)
    assert out[0] == pytest.approx(plain.upper_limit(errors, rows, cf), rel=1e-9)


def test_upper_limits_of_large_samples_agree_with_scipy():
    from scipy.special import betaincinv

    errors, rows = np.array([3.0, 400.0, 2.5, 70000.0]), np.array([1e5, 1e4, 10.0, 1e5])
    out = np.empty(4)
    kernel.upper_limits(errors, rows, 0.25, out)
    assert out == pytest.approx(betaincinv(errors + 1, rows - errors, 0.75), rel=1e-9)


@pytest.mark.parametrize("seed", range(15))
def test_mdl_is_the_best_of_all_pruned_trees(seed):
    tree, X, y = small_tree(seed, m=120, d=2, leaves=9, noise=0.1)
    result = prune(tree, X, y, "mdl", delta=0.5)
    best, bound = plain.mdl(plain.nested(tree), rows_of(X, y), 2, 2, delta=0.5)
    assert result.bound == pytest.approx(bound, rel=1e-12)
    error = plain.wrong(plain.nested(result.tree), rows_of(X, y)) / len(y)
    assert result.bound == pytest.approx(vc.mdl_bound(error, result.tree.n_all, 2, len(y), delta=0.5), rel=1e-12)
    assert plain.n_leaves(best) == result.tree.n_leaves


@pytest.mark.parametrize("seed", range(15))
def test_cost_complexity_is_the_smallest_minimiser(seed):
    tree, X, y = small_tree(seed, leaves=8)
    alphas = prune(tree, X, y, "cost_complexity", alpha=0.0).path.bound
    middles = (alphas[1:] + alphas[:-1]) / 2
    for alpha in {0.0, *middles.tolist(), float(alphas[-1]) + 1}:
        if np.abs(alphas - alpha).min() < 1e-9 and alpha > 0:
            continue  # at a step itself rounding decides
        result = prune(tree, X, y, "cost_complexity", alpha=alpha)
        expected = plain.cost_complexity(plain.nested(tree), rows_of(X, y), alpha)
        assert plain.shape(plain.nested(result.tree)) == plain.shape(expected)


@pytest.mark.parametrize("seed", range(10))
def test_m_cost_complexity(seed):
    tree, X, y = small_tree(seed, m=60, d=3)
    full = prune(tree, X, y, "m_cost_complexity", alpha=0.0)
    for alpha in {0.0, 0.03, 0.1, 0.4, float(full.path.bound[-1]) * 1.01 + 1}:
        result = prune(tree, X, y, "m_cost_complexity", alpha=alpha)
        expected = plain.m_cost_complexity(plain.nested(tree), rows_of(X, y), 3, alpha)
        assert plain.shape(plain.nested(result.tree)) == plain.shape(expected)


@pytest.mark.parametrize("form", ["loose", "tight"])
@pytest.mark.parametrize("kind", ["shawe_taylor", "vapnik"])
@pytest.mark.parametrize("seed", range(6))
def test_bound(seed, form, kind):
    k = 2 + seed % 3
    tree, X, y = small_tree(seed, leaves=8, m=18 + 5 * seed, d=2, k=k)
    r = (2**-13.7, 0.1, 0.6)[seed % 3]
    result = prune(tree, X, y, "bound", form=form, bound=kind, r=r, features=Features(real=2))
    expected, value = plain.algorithm3(plain.nested(tree), rows_of(X, y), k, 2, form=form, r=r, kind=kind)
    assert result.bound == pytest.approx(value, rel=1e-9)
    assert plain.shape(plain.nested(result.tree)) == plain.shape(expected)
    function = vc.shawe_taylor_bound if kind == "shawe_taylor" else vc.vapnik_bound
    more = {"r": r} if kind == "shawe_taylor" else {}
    error = 1 - result.tree.score(X, y)
    own = function(error, result.tree.structure, len(y), k, real=2, form=form, **more)
    assert result.bound == pytest.approx(own, rel=1e-9)


@pytest.mark.parametrize("form", ["loose", "tight"])
@pytest.mark.parametrize("seed", range(6))
def test_bound_with_raising(seed, form):
    tree, X, y = small_tree(seed, leaves=7, m=24, d=2)
    result = prune(tree, X, y, "bound", form=form, raising=True, r=0.3, features=Features(real=2))
    start = plain.relabelled(plain.nested(tree), rows_of(X, y))
    expected, value = plain.algorithm3(start, rows_of(X, y), 2, 2, raising=True, form=form, r=0.3)
    assert result.bound == pytest.approx(value, rel=1e-9)
    assert plain.shape(plain.nested(result.tree)) == plain.shape(expected)
    error = 1 - result.tree.score(X, y)
    own = vc.shawe_taylor_bound(error, result.tree.structure, len(y), real=2, form=form, r=0.3)
    assert result.bound == pytest.approx(own, rel=1e-9)


def test_raising_happens():
    assert any(
        prune(*small_tree(seed, m=30, d=3), "bound", raising=True, r=1e-6).settings["raised"] for seed in range(30)
    )


@pytest.mark.parametrize("m, leaves, k", [(40, 20, 2), (40, 20, 5), (25, 18, 10), (400, 60, 4)])
def test_bound_where_stirling_numbers_cap_the_parts(m, leaves, k):
    rng = np.random.default_rng(m)
    X, y = rng.random((m, 8)), rng.integers(0, k, m)
    tree = grow_tree(X, y, max_leaf_nodes=leaves)
    result = prune(tree, X, y, "bound", r=0.5)
    last = int(np.flatnonzero(result.path.chosen)[-1])
    for step, shape in ((result.path[0], tree), (result.path[last], result.tree)):
        error = 1 - shape.score(X, y)
        expected = vc.shawe_taylor_bound(error, shape.structure, m, int(tree.classes.size), real=8, r=0.5)
        assert step.bound == pytest.approx(expected, rel=1e-9)


def test_all_candidates_of_one_step_have_the_bound_of_their_structure():
    from vcdim_core.learn._prune_bound import make_pruner
    from vcdim_core.learn._prune_rebuild import plan_of, tree_by
    from vcdim_core.learn._prune_view import look_at

    for k, m in ((2, 30), (3, 60), (7, 150)):
        rng = np.random.default_rng(k)
        X, y = rng.random((m, 3)), rng.integers(0, k, m)
        tree = grow_tree(X, y, max_leaf_nodes=16)
        view = look_at(tree, X, y, features=Features(real=3))
        pruner = make_pruner(view, view.leaf_errors, "loose", "shawe_taylor", 0.4, 0.05, False)
        assert pruner.best() is not None
        found = pruner.bounds()
        assert found
        for (node, action), value in found.items():
            leaf = view.is_leaf.copy()
            leaf[node] = 1
            cut = tree_by(tree, plan_of(tree, leaf))
            error = 1 - cut.score(X, y)
            assert action == -1
            assert value == pytest.approx(vc.shawe_taylor_bound(error, cut.structure, m, k, real=3, r=0.4), rel=1e-9)


def name_of(rows, shape):
    return 0 if shape.is_leaf else rows.join(*(name_of(rows, child) for child in shape.children))


def random_shape(rng, nodes):
    if nodes == 0:
        return vc.LEAF
    left = int(rng.integers(0, nodes))
    return vc.join(random_shape(rng, left), random_shape(rng, nodes - 1 - left))


@pytest.mark.parametrize("real", [1, 3, 64])
def test_tight_growth_by_fast_convolution(real):
    rng = np.random.default_rng(real)
    for n_classes in (2, 3, 7):
        for points in (3, 8, 30, 300):
            for nodes in (1, 2, 5, 40):
                shape = random_shape(rng, nodes)
                rows = TightGrowth(points, n_classes, real, nodes)
                name = name_of(rows, shape)
                rows.settle(name)
                expected = vc.log_growth_bound(shape.canonical(), points, n_classes, real=real)
                assert rows.growth(name) == pytest.approx(expected, rel=1e-10)


def test_tight_growth_after_the_tree_has_shrunk():
    rng = np.random.default_rng(3)
    rows = TightGrowth(500, 3, 10, 80)
    for nodes in (80, 40, 10, 2, 1):
        shape = random_shape(rng, nodes)
        name = name_of(rows, shape)
        rows.settle(name)
        assert rows.growth(name) == pytest.approx(vc.log_growth_bound(shape.canonical(), 500, 3, real=10), rel=1e-10)
    assert rows.nbytes == sum(row.nbytes for row in rows.rows.values())


def test_tight_candidates_that_are_only_foretold_would_not_win(monkeypatch):
    steps = 0
    for seed, r in ((0, 0.01), (1, 0.001), (2, 0.0004), (3, 0.003)):
        X, y = noisy(seed, m=150, d=5, k=4, levels=9)
        tree = grow_tree(X, y, max_leaf_nodes=35)
        quick = prune(tree, X, y, form="tight", r=r)
        with monkeypatch.context() as patch:  # without forecasts every candidate of every step is computed
            patch.setattr(TightPruner, "foretell", lambda self, candidate, by_formula: None)
            every = prune(tree, X, y, form="tight", r=r)
        assert quick.path.node.tolist() == every.path.node.tolist()
        assert quick.path.bound == pytest.approx(every.path.bound, rel=1e-10)
        steps += len(quick.path)
    assert steps >= 16


def test_bound_with_features_of_several_kinds():
    rng = np.random.default_rng(0)
    X = np.column_stack([rng.random(50), rng.integers(0, 3, 50), rng.integers(0, 4, 50), rng.integers(0, 2, 50)])
    y = (X[:, 0] + (X[:, 1] == 1) + rng.normal(0, 0.3, 50) > 1).astype(int)
    kinds = ["real", "nominal", "ordinal", "binary"]
    tree = grow_tree(X, y, feature_kinds=kinds, max_leaf_nodes=7)
    for form in ("loose", "tight"):
        result = prune(tree, X, y, form=form, feature_kinds=kinds)
        features = Features(real=1, binary=1, ordinal=(4,), nominal=(3,))
        assert result.settings["features"] == features
        error = 1 - result.tree.score(X, y)
        own = vc.shawe_taylor_bound(error, result.tree.structure, 50, features=features, form=form)
        assert result.bound == pytest.approx(own, rel=1e-9)


def test_bound_without_real_features_counts_the_points_there_are():
    X, y = noisy(5, m=80, d=3, levels=2)
    tree = grow_tree(X, y)
    result = prune(tree, X, y, feature_kinds="binary")
    error = 1 - result.tree.score(X, y)
    assert result.bound == pytest.approx(
        vc.shawe_taylor_bound(error, result.tree.structure, 80, features=Features(binary=3)), rel=1e-9
    )


def test_bound_with_more_leaves_than_points_there_are():
    from vcdim_core.learn._prune_rebuild import plan_of, tree_by

    X, y = noisy(9, m=40, d=3, levels=2, noise=0.5)
    tree = grow_tree(X, y)
    features = Features(binary=2)  # four points, and seven or eight leaves
    assert tree.n_leaves > 4

    def own(t):
        return vc.shawe_taylor_bound(1 - t.score(X, y), t.structure, 40, features=features, r=0.5)

    result = prune(tree, X, y, features=features, r=0.5)
    assert result.path[0].bound == pytest.approx(own(tree), rel=1e-9)
    assert result.bound == pytest.approx(own(result.tree), rel=1e-9)
    first = []
    for node in np.flatnonzero(tree.feature >= 0).tolist():
        leaf = (tree.feature < 0).astype(np.uint8)
        leaf[node] = 1
        first.append(own(tree_by(tree, plan_of(tree, leaf))))
    assert result.path[1].bound == pytest.approx(min(first), rel=1e-9)


def test_log_priors():
    values = log_priors(60)
    for leaves in (1, 2, 3, 7, 25, 60):
        exact = np.log(np.pi**2 / 6) + 2 * np.log(leaves) + float(np.log(float(wedderburn_etherington(leaves))))
        assert values[leaves] == pytest.approx(exact, rel=1e-12)


def test_more_classes_than_are_capped():
    rng = np.random.default_rng(0)
    X, y = rng.random((600, 2)), np.arange(600) % 150
    tree = grow_tree(X, y, max_leaf_nodes=30)
    result = prune(tree, X, y, r=0.5)
    assert tree.classes.size == 150 and 1 <= result.tree.n_leaves <= 30
    exact = vc.shawe_taylor_bound(1 - tree.score(X, y), tree.structure, 600, 150, real=2, r=0.5)
    assert result.path[0].bound >= exact * (1 - 1e-12)


def test_r_by_cross_validation():
    X, y = load_wine(return_X_y=True)
    tree = grow_tree(X, y)
    result = prune(tree, X, y, r="cv", folds=3)
    tried = result.settings["r_errors"]
    assert len(tried) == 30 and 2**-30 <= result.settings["r"] <= 0.5
    best = [np.log2(r) for r, error in tried.items() if error == min(tried.values())]
    assert np.log2(result.settings["r"]) == pytest.approx(np.mean(best))


@pytest.mark.parametrize("seed", range(12))
def test_generic(seed):
    tree, X, y = small_tree(seed, leaves=7)
    rows = rows_of(X, y)
    result = prune(
        tree, X, y, "generic", objective=lambda t, m: round((1 - t.score(X, y)) * m) + 0.7 * t.n_leaves + t.height / 16
    )

    def height(t):
        return 1 + max(map(height, t["kids"])) if "kids" in t else 0

    def objective(t):
        return plain.wrong(plain.relabelled_below(t, rows), rows) + 0.7 * plain.n_leaves(t) + height(t) / 16

    expected, value = plain.algorithm2(plain.nested(tree), rows, [0, 1], objective)
    assert result.bound == pytest.approx(value)
    assert result.tree.n_leaves == plain.n_leaves(expected)


@pytest.mark.parametrize("seed", range(15))
def test_hypergeometric(seed):
    tree, X, y = small_tree(seed, m=30, k=2 + seed % 2)
    alpha = (0.05, 0.01, 0.2)[seed % 3]
    result = prune(tree, X, y, "hypergeometric", alpha=alpha)
    expected = plain.hypergeometric(plain.nested(tree), rows_of(X, y), sorted(set(y.tolist())), alpha)
    assert plain.shape(plain.nested(result.tree)) == plain.shape(expected)


@pytest.mark.parametrize("seed", range(10))
def test_merge(seed):
    tree, X, y = small_tree(seed, m=40, k=3)
    result = prune(tree, X, y, "merge")
    assert plain.shape(plain.nested(result.tree)) == plain.shape(plain.merge(plain.nested(tree)))
    everywhere = np.random.default_rng(0).uniform(-1, 7, (500, 2))
    assert np.array_equal(result.tree.predict(everywhere), tree.predict(everywhere))


# Never worse


@pytest.mark.parametrize("seed", range(5))
def test_the_objective_never_rises(seed):
    X, y = noisy(seed, m=120, d=4, k=3)
    tree = grow_tree(X, y)
    for options in ({}, {"form": "tight"}, {"raising": True}, {"bound": "vapnik"}):
        result = prune(tree, X, y, "bound", **options)
        accepted = result.path.bound[result.path.chosen]
        assert (np.diff(accepted) <= 1e-12).all() and result.bound == accepted[-1]
    mdl = prune(tree, X, y, "mdl")
    assert mdl.bound <= vc.mdl_bound(0.0 + 1 - tree.score(X, y), tree.n_all, 4, 120, n_classes=3) + 1e-12
    pessimistic = prune(tree, X, y, "pessimistic", surgery=True)
    assert pessimistic.bound <= pessimistic.path[0].bound + 1e-12
    aside = noisy(seed + 50, m=60, d=4, k=3)
    before = (tree.predict(aside[0]) != aside[1]).sum()
    assert prune(tree, X, y, "holdout", validation=aside).bound <= before
    for alpha in (0.0, 0.01, 0.1):
        result = prune(tree, X, y, "cost_complexity", alpha=alpha)
        assert result.bound <= 1 - tree.score(X, y) + alpha * tree.n_leaves + 1e-12


# scikit-learn


@pytest.mark.parametrize("load", [load_iris, load_wine, load_breast_cancer])
@pytest.mark.parametrize("criterion", ["gini", "entropy"])
def test_cost_complexity_agrees_with_scikit_learn(load, criterion):
    X, y = load(return_X_y=True)
    model = DecisionTreeClassifier(criterion=criterion, random_state=0).fit(X, y)
    path = model.cost_complexity_pruning_path(X, y)
    ours = prune(model, X, y, "cost_complexity", alpha=0.0, risk="impurity").path.bound
    assert np.unique(ours.round(12)) == pytest.approx(np.unique(path.ccp_alphas.round(12)), abs=1e-10)
    distinct = np.unique(path.ccp_alphas)
    for alpha in (distinct[1:] + distinct[:-1]) / 2:
        theirs = DecisionTreeClassifier(criterion=criterion, random_state=0, ccp_alpha=alpha).fit(X, y)
        mine = prune(model, X, y, "cost_complexity", alpha=alpha, risk="impurity").estimator
        assert mine.get_n_leaves() == theirs.get_n_leaves() and np.array_equal(mine.predict(X), theirs.predict(X))
        assert np.array_equal(mine.tree_.threshold, theirs.tree_.threshold)
        assert np.allclose(mine.tree_.value, theirs.tree_.value)


def test_cross_validation_by_hand():
    X, y = load_wine(return_X_y=True)
    tree = grow_tree(X, y)
    result = prune(tree, X, y, "cost_complexity", folds=5)
    alphas, rates = result.settings["alphas"], result.settings["cv_errors"]
    assert alphas[0] == 0.0 and (np.diff(alphas) > 0).all()
    assert set(alphas.tolist()) == {0.0, *result.path.bound.tolist()}
    from vcdim_core.learn._prune_cart import fold_rows

    wrong = np.zeros(alphas.size)
    for rows in fold_rows(y, 5, 0):
        keep = np.setdiff1d(np.arange(y.size), rows)
        grown = grow_tree(X[keep], y[keep])
        for i, alpha in enumerate(alphas):
            beta = np.sqrt(alpha * alphas[i + 1]) if i + 1 < alphas.size else 1e9
            pruned = prune(grown, X[keep], y[keep], "cost_complexity", alpha=beta)
            wrong[i] += (pruned.tree.predict(X[rows]) != y[rows]).sum()
    assert rates * y.size == pytest.approx(wrong)
    assert result.settings["alpha"] == alphas[np.flatnonzero(rates == rates.min())[-1]]
    strict = prune(tree, X, y, "cost_complexity", folds=5, one_standard_error=True)
    error = rates.min()
    allowed = alphas[rates <= error + np.sqrt(error * (1 - error) / y.size) + 1e-12]
    assert strict.settings["alpha"] == allowed[-1] >= result.settings["alpha"]


def test_m_cost_complexity_by_cross_validation():
    X, y = load_iris(return_X_y=True)
    result = prune(grow_tree(X, y), X, y, "m_cost_complexity", folds=4)
    assert result.settings["alpha"] in result.settings["alphas"] and 2 <= result.tree.n_leaves <= 9


@pytest.mark.parametrize("method", NEED_NOTHING)
def test_estimators_are_usable_and_untouched(method):
    X, y = load_iris(return_X_y=True)
    names = np.array(["setosa", "versicolor", "virginica"])[y]
    model = DecisionTreeClassifier(random_state=0, max_leaf_nodes=8).fit(X, names)
    before = pickle.dumps(model)
    result = prune(model, X, names, method)
    assert pickle.dumps(model) == before
    pruned = result.estimator
    assert type(pruned) is DecisionTreeClassifier and pruned is not model and pruned.tree_ is not model.tree_
    assert pruned.get_n_leaves() == result.tree.n_leaves and pruned.get_depth() == result.tree.height
    assert np.array_equal(pruned.predict(X), result.tree.predict(X))
    assert np.allclose(pruned.predict_proba(X), result.tree.predict_proba(X))
    again = pickle.loads(pickle.dumps(pruned))
    assert np.array_equal(again.predict(X), pruned.predict(X))
    assert again.decision_path(X).shape == (150, result.tree.n_all)
    assert clone(pruned).get_params() == model.get_params() and pruned.feature_importances_.shape == (4,)
    assert pruned.fit(X, names).get_n_leaves() == model.get_n_leaves()
    twice = prune(prune(model, X, names, method).estimator, X, names, method)
    assert twice.tree.n_leaves <= result.tree.n_leaves


def test_moved_nodes_of_an_estimator():
    X, y = load_breast_cancer(return_X_y=True)
    model = DecisionTreeClassifier(random_state=1).fit(X, y)
    result = prune(model, X, y, "pessimistic", surgery=True)
    assert any(step.reason.startswith("its larger child") for step in result.path)
    assert np.array_equal(result.estimator.predict(X), result.tree.predict(X))
    counts = result.estimator.tree_.n_node_samples
    assert counts[0] == 569 and np.array_equal(counts, result.tree.n_samples)
    shares = result.estimator.tree_.value[:, 0, :]
    assert np.allclose(result.estimator.tree_.impurity, 1 - (shares**2).sum(axis=1))


@pytest.mark.parametrize("kind", [RandomForestClassifier, ExtraTreesClassifier])
def test_forests(kind):
    X, y = load_wine(return_X_y=True)
    names = np.array(["a", "b", "c"])[y]
    forest = kind(4, random_state=0).fit(X, names)
    before = [tree.get_n_leaves() for tree in forest.estimators_]
    result = prune(forest, X, names, "bound")
    assert [tree.get_n_leaves() for tree in forest.estimators_] == before
    assert len(result.members) == 4 and type(result.estimator) is kind
    assert [tree.n_leaves for tree in result.trees] == [t.get_n_leaves() for t in result.estimator.estimators_]
    assert sum(tree.n_leaves for tree in result.trees) < sum(before)
    assert result.estimator.score(X, names) > 0.9
    assert set(result.to_frame()["tree"]) == {0, 1, 2, 3} and "tree 3" in str(result)
    assert pickle.loads(pickle.dumps(result.estimator)).score(X, names) == result.estimator.score(X, names)


# TreeClassifier


@pytest.mark.parametrize("method", NEED_NOTHING)
def test_classifier_prunes_what_it_grows(method):
    X, y = load_wine(return_X_y=True)
    model = TreeClassifier(prune=method).fit(X, y)
    assert model.prune_result_.method == method and model.tree_ is model.prune_result_.tree
    assert model.tree_.n_leaves <= model.prune_result_.before.n_leaves
    assert clone(model).get_params()["prune"] == method
    again = pickle.loads(pickle.dumps(model))
    assert np.array_equal(again.predict(X), model.predict(X))
    if method != "holdout":
        grown = TreeClassifier().fit(X, y)
        direct = prune(grown, X, y, method)
        assert direct.tree == model.tree_
        assert np.array_equal(direct.estimator.predict(X), model.predict(X))
        assert grown.tree_.n_leaves == direct.before.n_leaves


def test_classifier_takes_options():
    X, y = load_wine(return_X_y=True)
    strict = TreeClassifier(prune={"method": "cost_complexity", "alpha": 0.3}).fit(X, y)
    whole = TreeClassifier(prune={"method": "cost_complexity", "alpha": 0.0}).fit(X, y)
    assert strict.tree_.n_leaves < whole.get_n_leaves()
    with pytest.raises(TypeError, match="expected an option of method 'merge'"):
        TreeClassifier(prune={"method": "merge", "alpha": 0.3}).fit(X, y)
    with pytest.raises(ValueError, match="expected the entry 'method' in prune, got none"):
        TreeClassifier(prune={"alpha": 0.3}).fit(X, y)
    with pytest.raises(TypeError, match="expected prune to be a method"):
        TreeClassifier(prune=3).fit(X, y)


def test_classifier_grows_without_the_rows_put_aside():
    X, y = load_wine(return_X_y=True)
    model = TreeClassifier(prune={"method": "holdout", "fraction": 0.25, "random_state": 3}).fit(X, y)
    assert model.prune_result_.settings["validation_rows"] == 45
    assert model.prune_result_.before.n_samples[0] == 178 - 45


def test_classifier_prunes_frames_and_multiway_trees():
    pandas = pytest.importorskip("pandas")
    rng = np.random.default_rng(0)
    frame = pandas.DataFrame({"x": rng.random(80), "colour": rng.choice(["red", "green", "blue"], 80)})
    y = ((frame["colour"] == "red") ^ (rng.random(80) < 0.2)).to_numpy()
    for options in ({}, {"tree": "multiway", "discretise": "quartiles"}):
        model = TreeClassifier(prune="srm", **options).fit(frame, y)
        assert model.predict(frame).shape == (80,) and model.get_n_leaves() <= model.prune_result_.before.n_leaves
        grown = TreeClassifier(**options).fit(frame, y)
        assert prune(grown, frame, y, "srm").tree == model.tree_


# Degenerate data


@pytest.mark.parametrize("method", NEED_NOTHING)
def test_a_leaf_stays_a_leaf(method):
    X, y = np.zeros((12, 2)), np.array([0, 1] * 6)
    tree = grow_tree(X, y)
    result = prune(tree, X, y, method, **({"folds": 3} if "cost" in method else {}))
    assert result.tree.n_leaves == 1 and isinstance(str(result), str) and result.tree.predict(X).shape == (12,)


@pytest.mark.parametrize("method", NEED_NOTHING)
def test_a_stump_on_pure_data_stays(method):
    X, y = np.arange(40.0)[:, None], np.repeat(["a", "b"], 20)
    tree = grow_tree(X, y)
    assert tree.n_leaves == 2
    result = prune(tree, X, y, method)
    assert result.tree.n_leaves == 2 and result.tree.score(X, y) == 1.0


@pytest.mark.parametrize("method", NEED_NOTHING)
def test_one_class(method):
    X, y = np.arange(20.0)[:, None], np.zeros(20, dtype=int)
    model = DecisionTreeClassifier().fit(X, y)
    result = prune(model, X, y, method)
    assert result.tree.n_leaves == 1 and (result.estimator.predict(X) == 0).all()


@pytest.mark.parametrize("method", NEED_NOTHING)
def test_contradictory_rows(method):
    rng = np.random.default_rng(2)
    X = np.repeat(rng.integers(0, 3, (15, 2)).astype(float), 4, axis=0)
    y = rng.integers(0, 2, 60)
    tree = grow_tree(X, y)
    result = prune(tree, X, y, method)
    assert 1 <= result.tree.n_leaves <= tree.n_leaves
    result.tree.check()


@pytest.mark.parametrize("method", ["bound", "srm", "pessimistic", "mdl", "hypergeometric", "merge", "generic"])
def test_two_rows(method):
    X, y = np.array([[0.0], [1.0]]), np.array([0, 1])
    options = {"objective": lambda t, m: t.n_leaves} if method == "generic" else {}
    assert prune(grow_tree(X, y), X, y, method, **options).tree.n_leaves in (1, 2)


def test_validation_set_with_unseen_classes():
    X, y = load_iris(return_X_y=True)
    tree = grow_tree(X[:100], y[:100])
    result = prune(tree, X[:100], y[:100], "holdout", validation=(X, y))
    assert result.bound == 50 and result.tree.n_leaves == 2
    assert prune(tree, X, y, "bound").settings["error_before"] == pytest.approx(1 / 3)


def test_weights_count_rows():
    X, y = noisy(4, m=40)
    tree = grow_tree(X, y)
    weights = np.random.default_rng(0).integers(0, 3, 40)
    twice = np.repeat(np.arange(40), weights)
    for method in ("srm", "pessimistic", "mdl", "hypergeometric", "bound"):
        features = {"features": Features(real=2)}
        a = prune(tree, X, y, method, sample_weight=weights, **features)
        b = prune(tree, X[twice], y[twice], method, **features)
        assert plain.shape(plain.nested(a.tree)) == plain.shape(plain.nested(b.tree))


def test_rows_put_aside_keep_their_weights():
    X, y = noisy(6, m=60)
    tree = grow_tree(X, y)
    weights = np.random.default_rng(1).integers(1, 4, 60).astype(float)
    aside = noisy(7, m=30)
    heavy = np.repeat(np.arange(30), 2)
    once = prune(tree, X, y, "holdout", validation=(aside[0][heavy], aside[1][heavy]))
    twice = prune(tree, X, y, "holdout", validation=(*aside, np.full(30, 2.0)))
    assert once.tree == twice.tree and once.bound == twice.bound
    assert prune(tree, X, y, "holdout", sample_weight=weights).tree.n_leaves <= tree.n_leaves


@pytest.mark.skipif(os.name == "nt", reason="sends a POSIX signal")
def test_surgery_can_be_interrupted():
    X, y = noisy(0, m=4000, d=4, levels=50, noise=0.5)
    tree = grow_tree(X, y, max_depth=16)  # half a minute of surgery
    timer = threading.Timer(0.3, lambda: os.kill(os.getpid(), signal.SIGINT))
    timer.start()
    try:
        with pytest.raises(KeyboardInterrupt):
            prune(tree, X, y, "pessimistic", surgery=True)
    finally:
        timer.cancel()


# What is returned


def test_results_print_and_plot_and_pickle():
    pytest.importorskip("pandas")
    X, y = load_iris(return_X_y=True)
    result = prune(grow_tree(X, y), X, y)
    frame = result.to_frame()
    assert list(frame.columns)[:4] == ["step", "node", "n_leaves", "error"] and len(frame) == len(result.path)
    assert frame["chosen"].sum() == len(result.path) - 1
    text = str(result)
    assert "the tree as it came" in text and text.count("\n") == len(result.path) + 1
    again = pickle.loads(pickle.dumps(result))
    assert again.tree == result.tree and again.bound == result.bound
    assert repr(result).startswith("<PruneResult: bound, ")
    assert [step.step for step in result.path] == list(range(len(result.path)))
    with pytest.raises(AttributeError):
        result.tree = None


@pytest.mark.parametrize("method", ["bound", "srm", "merge"])
def test_plot(method):
    matplotlib = pytest.importorskip("matplotlib")
    matplotlib.use("Agg")
    X, y = load_iris(return_X_y=True)
    axes = prune(grow_tree(X, y), X, y, method).plot()
    assert axes.get_title().startswith(f"{method}: 9 to ")
    import matplotlib.pyplot as plt

    plt.close("all")


@pytest.mark.parametrize("method", ["bound", "srm", "cost_complexity", "merge"])
def test_report_is_well_formed_and_escapes_labels(method):
    from xml.etree import ElementTree

    X, y = load_iris(return_X_y=True)
    labels = np.array(["<b>&\"", "</svg>", "plain"])[y]
    tree = grow_tree(X, labels, feature_names=["<script>alert(1)</script>", "a&b", "c", "d"])
    page = prune(tree, X, labels, method).report()
    assert "<script" not in page and "&lt;script&gt;" in page and "<b>" not in page
    body = page.split("\n", 1)[1].replace('<meta charset="utf-8">', "")
    found = ElementTree.fromstring(body)
    assert len(list(found.iter("{http://www.w3.org/2000/svg}svg"))) == 3
    assert "http" not in page.replace("http://www.w3.org/2000/svg", "")


# Errors


def test_bad_input():
    X, y = noisy(0)
    tree = grow_tree(X, y)
    with pytest.raises(ValueError, match=r"expected method to be one of 'srm', .*, got 'best'"):
        prune(tree, X, y, "best")
    with pytest.raises(TypeError, match=r"expected an option of method 'srm' .*, got 'alpha'"):
        prune(tree, X, y, "srm", alpha=0.1)
    with pytest.raises(TypeError, match="expected the option objective for method 'generic', got none"):
        prune(tree, X, y, "generic")
    with pytest.raises(ValueError, match="expected X to have 2 features, got 1"):
        prune(tree, X[:, :1], y)
    with pytest.raises(ValueError, match="expected y to have one label for each of 24 rows"):
        prune(tree, X, y[:5])
    with pytest.raises(ValueError, match=r"expected 0 < r < 1 or 'cv', got 1\.5"):
        prune(tree, X, y, r=1.5)
    with pytest.raises(ValueError, match="expected confidence > 0, got 0"):
        prune(tree, X, y, "pessimistic", confidence=0)
    with pytest.raises(ValueError, match="expected delta > 0"):
        prune(tree, X, y, delta=0)
    with pytest.raises(TypeError, match="expected validation or fraction"):
        prune(tree, X, y, "holdout", validation=(X, y), fraction=0.1)
    with pytest.raises(ValueError, match="expected at most as many folds as rows, got 99 folds and 24 rows"):
        prune(tree, X, y, "cost_complexity", folds=99)
    with pytest.raises(TypeError, match="expected a fitted scikit-learn tree classifier, got DecisionTreeClassifier"):
        prune(DecisionTreeClassifier(), X, y)
    with pytest.raises(ValueError, match="expected at least 1 row, got 0"):
        prune(tree, X[:0], y[:0])
    wide = np.random.default_rng(0).integers(0, 3, (20, 2)).astype(float)
    many = grow_tree(wide, y[:20], tree="multiway", feature_kinds="multiway")
    with pytest.raises(ValueError, match="expected a binary tree for method 'bound'"):
        prune(many, wide, y[:20])
    with pytest.raises(ValueError, match="expected bound='shawe_taylor' for r='cv'"):
        prune(tree, X, y, r="cv", bound="vapnik")
    with pytest.raises(TypeError, match="expected features to be a Features, got 3"):
        prune(tree, X, y, features=3)

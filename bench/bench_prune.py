"""Pruning: bound-based against the paper's way in plain Python, the linear methods, and cross-validated CART."""

from __future__ import annotations

import time

import numpy as np
import pytest
import rival_prune
from common import best_of, seconds_of
from sklearn.datasets import load_breast_cancer, load_digits
from sklearn.model_selection import train_test_split
from sklearn.tree import DecisionTreeClassifier

import vcdim_core as vc
from vcdim_core import Features, grow_tree
from vcdim_core.learn import prune
from vcdim_core.learn._prune_rules import surgeon_of
from vcdim_core.learn._prune_view import look_at


def digits():
    """Three quarters of the digits, as the paper splits its data sets, and a tree without limits."""
    X, y = load_digits(return_X_y=True)
    X, _, y, _ = train_test_split(X, y, test_size=0.25, random_state=0)
    return X, y, DecisionTreeClassifier(random_state=0).fit(X, y)


def noisy(m, d, noise, seed=0):
    """A staircase in two features, with labels turned at random: as many leaves as noise asks for."""
    rng = np.random.default_rng(seed)
    X = rng.random((m, d))
    y = ((np.floor(4 * X[:, 0]) + np.floor(4 * X[:, 1])) % 2).astype(int)
    flip = rng.random(m) < noise
    y[flip] = 1 - y[flip]
    return X, y


def test_loose_against_the_papers_way(benchmark):
    """Goal: 300 times as fast, at 40 leaves in full; without a limit under 0.3 s, the rival's first bound beside it."""
    X, y, whole = digits()
    small = DecisionTreeClassifier(random_state=0, max_leaf_nodes=40).fit(X, y)
    l_features = int((X.max(axis=0) > X.min(axis=0)).sum())
    tree = vc.Tree.from_sklearn(small)
    root = rival_prune.build(tree, look_at(tree, X, y).leaf_errors)
    ours = prune(small, X, y)
    fast = best_of(5, lambda: prune(small, X, y))
    started = time.perf_counter()
    left, value, steps = rival_prune.prune(root, len(y), 10, l_features)
    slow = time.perf_counter() - started
    assert value == pytest.approx(ours.bound, rel=1e-9) and rival_prune.leaves(left) == ours.tree.n_leaves
    large = best_of(5, lambda: prune(whole, X, y))
    result = prune(whole, X, y)
    big = vc.Tree.from_sklearn(whole)
    big_root = rival_prune.build(big, look_at(big, X, y).leaf_errors)
    one = seconds_of(lambda: rival_prune.bound(big_root, len(y), 10, l_features))
    benchmark.extra_info.update(ratio=slow / fast, goal=300, unlimited_seconds=large)
    print(f"\ndigits, 40 leaves, {steps} steps: plain Python {slow:.2f} s, ours {fast * 1e3:.2f} ms")
    print(f"ratio {slow / fast:.0f} (goal 300)")
    print(f"{big.n_leaves} to {result.tree.n_leaves} leaves: {large * 1e3:.1f} ms (goal 300)")
    print(f"plain Python: {one:.2f} s for one bound, {one * big.n_nodes:.0f} s for the first step at that rate")
    benchmark.pedantic(lambda: prune(whole, X, y), rounds=5)


def test_tight(benchmark):
    """Goal: the same tree under 10 s."""
    X, y, whole = digits()
    result = benchmark.pedantic(lambda: prune(whole, X, y, form="tight"), rounds=1)
    seconds = benchmark.stats.stats.min
    real = result.settings["features"].real
    error = 1 - result.tree.score(X, y)
    own = vc.shawe_taylor_bound(error, result.tree.structure, len(y), 10, real=real, form="tight")
    assert result.bound == pytest.approx(own, rel=1e-9)
    benchmark.extra_info.update(goal=10)
    print(f"\ntight, {result.before.n_leaves} to {result.tree.n_leaves} leaves: {seconds:.2f} s (goal 10 s)")


@pytest.mark.parametrize("k", [2, 10])
def test_a_thousand_leaves(benchmark, k):
    """Goal: under 2 s."""
    X, y = noisy(20_000, 10, 0.05)
    if k > 2:
        y = (y + 2 * (X[:, 2] * 5).astype(int)) % k
    tree = grow_tree(X, y, max_leaf_nodes=1000)
    result = benchmark.pedantic(lambda: prune(tree, X, y), rounds=3)
    assert tree.n_leaves == 1000 and result.tree.n_leaves < 1000
    seconds = benchmark.stats.stats.min
    benchmark.extra_info.update(goal=2, steps=len(result.path) - 2)
    print(f"\n1000 leaves, {k} classes, to {result.tree.n_leaves}: {seconds:.3f} s (goal 2 s)")


@pytest.mark.parametrize("method", ["srm", "pessimistic", "mdl", "merge", "holdout", "hypergeometric"])
def test_linear_methods(benchmark, method):
    """Goal: 100,000 rows and 10,000 leaves under 0.2 s; and how the time grows from a tenth of both."""
    X, y = noisy(100_000, 10, 0.2)
    tree = grow_tree(X, y, max_leaf_nodes=10_000)
    small = grow_tree(X[:10_000], y[:10_000], max_leaf_nodes=1000)
    options = {"validation": (X, y)} if method == "holdout" else {}
    fewer = {"validation": (X[:10_000], y[:10_000])} if method == "holdout" else {}
    result = benchmark.pedantic(lambda: prune(tree, X, y, method, **options), rounds=5)
    assert tree.n_leaves == 10_000 and result.tree.n_leaves <= 10_000
    large = benchmark.stats.stats.min
    tenth = best_of(5, lambda: prune(small, X[:10_000], y[:10_000], method, **fewer))
    benchmark.extra_info.update(goal=0.2, growth=large / tenth)
    print(f"\n{method}: {large * 1e3:.0f} ms (goal 200 ms), {large / tenth:.1f} times a tenth of rows and leaves")


def test_surgery_grows_with_the_height(benchmark):
    """Rows moved by Eval of Figure 2, per row, against the height; the paper expects (1 + xi)^h."""
    X, y = noisy(5000, 6, 0.25, seed=1)
    heights, moved = [], []
    for depth in range(2, 11, 2):
        tree = grow_tree(X, y, max_depth=depth)
        surgeon = surgeon_of(look_at(tree, X, y), 0.25, True)
        seconds = seconds_of(surgeon.evaluate)
        heights.append(tree.height)
        moved.append(surgeon.steps / len(y))
        print(f"\nheight {tree.height}: {surgeon.steps / len(y):.1f} moves per row, {seconds * 1e3:.1f} ms", end="")
    slope = float(np.polyfit(heights, np.log(moved), 1)[0])
    benchmark.extra_info.update(base=float(np.exp(slope)))
    print(f"\nmoves per row grow like {np.exp(slope):.3f}^height (worst case 2^height)")
    tree = grow_tree(X, y, max_depth=8)
    benchmark.pedantic(lambda: prune(tree, X, y, "pessimistic", surgery=True), rounds=2)
    assert moved[-1] > moved[0]


@pytest.mark.parametrize("data", ["breast_cancer", "digits"])
def test_against_cost_complexity(benchmark, data):
    """Goal: 15 times as fast as cost-complexity pruning with 10-fold cross-validation; scikit-learn grows all trees."""
    X, y = (load_breast_cancer if data == "breast_cancer" else load_digits)(return_X_y=True)
    ratios, ours_all, theirs_all = [], [], []
    for seed in range(5):
        Xa, Xb, ya, yb = train_test_split(X, y, test_size=0.25, random_state=seed)
        model = DecisionTreeClassifier(random_state=0, max_leaf_nodes=40).fit(Xa, ya)
        fast = best_of(3, lambda: prune(model, Xa, ya))  # noqa: B023
        slow = seconds_of(lambda: prune(model, Xa, ya, "cost_complexity"))  # noqa: B023
        ratios.append(slow / fast)
        ours_all.append(prune(model, Xa, ya).estimator.score(Xb, yb))
        theirs_all.append(prune(model, Xa, ya, "cost_complexity").estimator.score(Xb, yb))
    ratio = float(np.exp(np.mean(np.log(ratios))))
    benchmark.extra_info.update(ratio=ratio, goal=15)
    print(f"\n{data}: bound {ratio:.0f} times as fast as CART with 10 folds (goal 15, the paper 19.5); "
          f"test accuracy {np.mean(ours_all):.3f} against {np.mean(theirs_all):.3f}")  # fmt: skip
    benchmark.pedantic(lambda: prune(model, Xa, ya), rounds=3)
    assert ratio > 1


def test_cost_complexity_with_our_trees(benchmark):
    """The same where our own growing makes the folds cheap."""
    X, y = load_digits(return_X_y=True)
    tree = grow_tree(X, y, max_leaf_nodes=40)

    def grow(X, y, weights):
        return grow_tree(X, y, max_leaf_nodes=40)

    features = {"features": Features(real=61)}
    fast = best_of(5, lambda: prune(tree, X, y, **features))
    slow = seconds_of(lambda: prune(tree, X, y, "cost_complexity", grow=grow, **features))
    benchmark.extra_info.update(ratio=slow / fast)
    print(f"\nour trees: bound {fast * 1e3:.2f} ms, cost_complexity {slow * 1e3:.1f} ms, ratio {slow / fast:.1f}")
    result = benchmark.pedantic(lambda: prune(tree, X, y, "cost_complexity", grow=grow), rounds=1)
    assert result.tree.n_leaves <= 40

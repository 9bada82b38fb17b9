"""Growing: node by node against a plain grower and against scikit-learn; rules, multiway trees, threads."""

import os

import numpy as np
import pytest
import tree_oracles
import tree_rivals
from interrupts import latency_of

from vcdim_core import growing
from vcdim_core.growing import grow_tree
from vcdim_core.split import best_split, significance

CRITERIA = ("error", "gini", "entropy", "gain_ratio", "chi2", "orthogonality", "hypergeometric")


def sample(rng, mode, m, d):
    """Rows of one mode and the kinds of their features."""
    kinds = {"real": ["real"] * d, "int": [str(k) for k in rng.choice(["binary", "ordinal", "nominal"], d)]}.get(
        mode, [str(k) for k in rng.choice(["real", "binary", "ordinal", "nominal"], d)]
    )
    columns = [
        rng.normal(size=m).round(int(rng.integers(1, 4))) if kind == "real"
        else rng.integers(0, 2 if kind == "binary" else int(rng.integers(2, 12)), m)
        for kind in kinds
    ]  # fmt: skip
    X = np.stack(columns, axis=1).astype(rng.choice([np.float32, np.float64]))
    return (np.asfortranarray(X) if rng.random() < 0.5 else X), kinds


# Degenerate inputs


def test_a_pure_or_constant_sample_is_a_leaf():
    assert grow_tree([[1.0]], [3]).predict([[7.0]]).tolist() == [3]
    assert grow_tree([[1.0], [2.0]], ["a", "a"]).n_nodes == 0
    mixed = grow_tree([[1.0], [1.0], [1.0]], [0, 1, 1])
    assert (mixed.n_nodes, mixed.predict([[0.0]]).tolist()) == (0, [1])


def test_a_deep_tree_needs_no_recursion():
    m = 3000
    tree = grow_tree(np.arange(m, dtype=float)[:, None], np.arange(m) % 2, "error", max_leaf_nodes=None)
    assert tree.n_leaves == m
    assert tree.score(np.arange(m, dtype=float)[:, None], np.arange(m) % 2) == 1.0
    text, rules = tree.to_text(), tree.rules()
    assert text.count("\n") == 2 * m - 2 and len(rules) == m
    assert type(tree).from_json(tree.to_json()) == tree
    assert tree.structure.n_leaves == m
    assert tree.to_svg().startswith("<svg") and tree.to_dot().startswith("digraph")


# Against the plain grower


@pytest.mark.parametrize("criterion", CRITERIA)
@pytest.mark.parametrize("mode", ["real", "int", "mixed"])
def test_every_node_is_the_best_split_of_its_rows(criterion, mode):
    rng = np.random.default_rng(len(criterion) + 100 * len(mode))
    for trial in range(12):
        X, kinds = sample(rng, mode, int(rng.integers(2, 150)), int(rng.integers(1, 5)))
        y = rng.integers(0, 2, len(X))
        options = {"criterion": criterion, "feature_kinds": kinds, "min_samples_leaf": int(rng.integers(1, 4))}
        if trial % 3 == 1:
            options["nominal"] = "subset"
        if trial % 3 == 2 and mode != "int":
            X[rng.random(X.shape) < 0.1] = np.nan
            options["missing"] = "best"
        rules = [{}, {"max_depth": 3}, {"min_samples_split": 9}, {"alpha": 0.3}, {"min_gain": 0.05}][trial % 5]
        tree = grow_tree(X, y, **options, **rules)
        tree.check()
        assert tree_rivals.nested(tree) == tree_rivals.grow(X, y, **options, **rules)
        leaves = tree.apply(X)
        assert (np.bincount(leaves, minlength=tree.n_all) == np.where(tree.feature < 0, tree.n_samples, 0)).all()


@pytest.mark.parametrize("mode", ["real", "int"])
def test_best_first_growth_splits_the_largest_weighted_gain_next(mode):
    rng = np.random.default_rng(21)
    for _ in range(25):
        X, kinds = sample(rng, mode, 120, 3)
        y = rng.integers(0, 2, 120)
        options = {"criterion": "entropy", "feature_kinds": kinds, "max_leaf_nodes": int(rng.integers(2, 25))}
        assert tree_rivals.nested(grow_tree(X, y, **options)) == tree_rivals.grow(X, y, **options)


@pytest.mark.parametrize("criterion", CRITERIA)
def test_many_classes_reach_the_exhaustive_gain_in_every_node(criterion):
    rng = np.random.default_rng(22)
    for mode in ("real", "int"):
        X, kinds = sample(rng, mode, 90, 3)
        y = rng.integers(0, 5, 90)
        tree = grow_tree(X, y, criterion, feature_kinds=kinds)
        starts, passed = tree.decision_path(X)
        rows_of = [[] for _ in range(tree.n_all)]
        for row in range(len(X)):
            for node in passed[starts[row] : starts[row + 1]].tolist():
                rows_of[node].append(row)
        for node in np.flatnonzero(tree.feature >= 0).tolist():
            rows = rows_of[node]
            wanted = tree_oracles.best_gain(X[rows], y[rows], criterion, kinds)[0]
            assert tree.gain[node] == pytest.approx(wanted, rel=1e-8, abs=1e-8)


def test_bits_and_lists_grow_the_same_tree(monkeypatch):
    rng = np.random.default_rng(23)
    for n_classes in (2, 3, 6):
        for criterion in CRITERIA:
            X = rng.integers(-3, 9, (700, 4)).astype(float)
            y = rng.integers(0, n_classes, 700)
            bits = grow_tree(X, y, criterion, min_samples_leaf=2)
            with monkeypatch.context() as patch:
                patch.setattr(growing, "_plant_bits", lambda *arguments: None)
                assert grow_tree(X, y, criterion, min_samples_leaf=2) == bits


def test_portable_and_wide_code_grow_the_same_tree():
    rng = np.random.default_rng(24)
    from vcdim_core import _lanes

    before = _lanes.switch(True)
    try:
        for X in (rng.normal(size=(3000, 4)), rng.integers(0, 9, (3000, 4)).astype(np.float32)):
            y = rng.integers(0, 3, 3000)
            for labels in (y, y % 2):
                _lanes.switch(True)
                wide, split = grow_tree(X, labels), best_split(np.tile(X, (2, 1)), np.tile(labels, 2))
                _lanes.switch(False)
                assert grow_tree(X, labels) == wide
                assert best_split(np.tile(X, (2, 1)), np.tile(labels, 2)) == split
    finally:
        _lanes.switch(before)


# Against scikit-learn


def same_as_sklearn(tree, other, X, y, criterion):
    """Walk both trees; where they part, the gains must tie, and the walk goes on only where they agree."""
    starts, passed = tree.decision_path(X)
    rows_of = [[] for _ in range(tree.n_all)]
    for row in range(len(X)):
        for node in passed[starts[row] : starts[row + 1]].tolist():
            rows_of[node].append(row)
    left, right = tree.children_left, tree.children_right
    pending, agreed, ties = [(0, 0)], 0, 0
    while pending:
        ours, theirs = pending.pop()
        inner = other.tree_
        assert (left[ours] < 0) == (inner.children_left[theirs] < 0)
        assert tree.n_samples[ours] == inner.n_node_samples[theirs]
        if left[ours] < 0:
            continue
        rows = rows_of[ours]
        side = X[rows][:, inner.feature[theirs]] <= inner.threshold[theirs]
        table = np.zeros((2, y.max() + 1))
        np.add.at(table, (np.where(side, 0, 1), y[rows]), 1)
        assert tree_oracles.gain(table, criterion) == pytest.approx(tree.gain[ours], rel=1e-9, abs=1e-12)
        if (tree.feature[ours], tree.threshold[ours]) == (inner.feature[theirs], inner.threshold[theirs]):
            agreed += 1
            pending += [(left[ours], inner.children_left[theirs]), (right[ours], inner.children_right[theirs])]
        else:
            ties += 1
    return agreed, ties


@pytest.mark.parametrize("criterion", ["gini", "entropy"])
@pytest.mark.parametrize("n_classes", [2, 5])
def test_one_feature_gives_the_tree_of_scikit_learn_node_for_node(criterion, n_classes):
    rng = np.random.default_rng(31)
    sklearn_tree = pytest.importorskip("sklearn.tree")
    X = rng.normal(size=(4000, 1)).astype(np.float32)
    X = X[np.unique(X.round(4), return_index=True)[1]]  # no two values within scikit-learn's 1e-7
    y = np.argsort(np.argsort(X[:, 0] + 0.5 * rng.normal(size=len(X)))) * n_classes // len(X)
    other = sklearn_tree.DecisionTreeClassifier(criterion=criterion, random_state=0).fit(X, y)
    tree = grow_tree(X, y, criterion)
    agreed, ties = same_as_sklearn(tree, other, X, y, criterion)
    assert agreed > 50
    if ties == 0:
        assert tree.n_all == other.tree_.node_count
        assert np.array_equal(tree.threshold[tree.feature >= 0], other.tree_.threshold[other.tree_.feature >= 0])
        assert np.array_equal(tree.apply(X), other.apply(X))
    # Ties made the same: follow scikit-learn's own choices, and find in each of its nodes a split of the same gain.
    inner, path = other.tree_, other.decision_path(X).tocsc()
    for node in np.flatnonzero(inner.feature >= 0):
        rows = path.indices[path.indptr[node] : path.indptr[node + 1]]
        table = np.zeros((2, y.max() + 1))
        np.add.at(table, (np.where(X[rows, inner.feature[node]] <= inner.threshold[node], 0, 1), y[rows]), 1)
        wanted = tree_oracles.gain(table, criterion)
        found = best_split(X[rows], y[rows], criterion)
        assert found.gain == pytest.approx(wanted, rel=1e-9, abs=1e-12)


@pytest.mark.parametrize("criterion", ["gini", "entropy"])
@pytest.mark.parametrize("options", [{}, {"max_depth": 6}, {"max_leaf_nodes": 20}, {"min_samples_leaf": 15}])
def test_trees_part_from_scikit_learn_only_at_ties(criterion, options):
    rng = np.random.default_rng(32)
    sklearn_tree = pytest.importorskip("sklearn.tree")
    for n_classes in (2, 6):
        X = rng.normal(size=(1500, 6)).astype(np.float32)
        y = np.argsort(np.argsort(X[:, :3].sum(axis=1) + rng.normal(size=1500))) * n_classes // 1500
        other = sklearn_tree.DecisionTreeClassifier(criterion=criterion, random_state=0, **options).fit(X, y)
        tree = grow_tree(X, y, criterion, **options)
        if "max_leaf_nodes" in options:
            assert tree.n_leaves == other.get_n_leaves()
        agreed, ties = same_as_sklearn(tree, other, X, y, criterion)
        assert agreed >= 15
        if options:
            assert ties <= agreed // 4


# Rules


def test_alpha_stops_by_the_function_that_selects():
    rng = np.random.default_rng(41)
    X, y = rng.integers(0, 3, (300, 5)).astype(float), rng.integers(0, 2, 300)
    for criterion in CRITERIA:
        tree = grow_tree(X, y, criterion, alpha=0.05)
        left, right = tree.children_left, tree.children_right
        for node in np.flatnonzero(tree.feature >= 0):
            assert significance(tree.value[[left[node], right[node]]], criterion) <= 0.05
        assert grow_tree(X, y, criterion, alpha=0.0).n_nodes <= tree.n_nodes <= grow_tree(X, y, criterion).n_nodes


def test_weights_can_be_required_in_every_leaf():
    rng = np.random.default_rng(42)
    X, y, weights = rng.normal(size=(200, 3)), rng.integers(0, 2, 200), rng.random(200)
    tree = grow_tree(X, y, sample_weight=weights, min_weight_fraction_leaf=0.05)
    assert tree.value.sum(axis=1).min() >= 0.05 * weights.sum()
    assert grow_tree(X, y, min_weight_fraction_leaf=0.05).n_samples.min() >= 10


@pytest.mark.parametrize("jobs", [2, 3])
def test_threads_change_nothing(jobs, monkeypatch):
    rng = np.random.default_rng(43)
    monkeypatch.setattr(growing, "_SHARED", 10)
    X = rng.normal(size=(2000, 5))
    for n_classes in (1, 2, 4):
        y = rng.integers(0, n_classes, 2000)
        assert grow_tree(X, y, n_jobs=jobs) == grow_tree(X, y)
        assert grow_tree(X.round(0), y, n_jobs=jobs) == grow_tree(X.round(0), y)
        assert grow_tree(X, y, n_jobs=jobs, max_leaf_nodes=9) == grow_tree(X, y, max_leaf_nodes=9)
        assert grow_tree(X.round(0), y, n_jobs=jobs, max_leaf_nodes=9) == grow_tree(X.round(0), y, max_leaf_nodes=9)
        stopped = {"max_depth": 3, "criterion": "hypergeometric", "alpha": 0.3}
        assert grow_tree(X.round(0), y, n_jobs=jobs, **stopped) == grow_tree(X.round(0), y, **stopped)


LONG_CALLS = {
    "sorted lists": "grow_tree(rng.normal(size=(400_000, 30)), rng.integers(0, 5, 400_000))",
    "sorted lists, two threads": "grow_tree(rng.normal(size=(400_000, 30)), rng.integers(0, 5, 400_000), n_jobs=2)",
    "columns of bits": "grow_tree(rng.integers(0, 16, (300_000, 30)).astype('f4'), rng.integers(0, 9, 300_000))",
    "columns of bits, two threads": (
        "grow_tree(rng.integers(0, 16, (300_000, 30)).astype('f4'), rng.integers(0, 9, 300_000), n_jobs=2)"
    ),
}
INTERRUPTED = """
import time
import numpy as np
from vcdim_core.growing import grow_tree
rng = np.random.default_rng(0)
def started(X, y, **options):
    print("ready", flush=True)
    try:
        grow_tree(X, y, **options)
    except KeyboardInterrupt:
        print(repr(time.time()), flush=True)
{call}
"""


@pytest.mark.skipif(os.name == "nt", reason="signals are sent the POSIX way")
@pytest.mark.parametrize("name", LONG_CALLS)
def test_interrupt(name):
    code = INTERRUPTED.format(call=LONG_CALLS[name].replace("grow_tree", "started", 1))
    latency = latency_of(code, wait=0.2)
    print(f"{name}: answered after {1000 * latency:.0f} ms")
    assert latency < 2


# Multiway trees


def build_tree(X, y, criterion, free, weights_of):
    """BuildTree of Martin & Hirschberg, Figure 1, as plainly as it is printed."""
    if len(set(y)) == 1 or not free:
        return weights_of(y)
    gains = {}
    for f in sorted(free):
        branch = np.unique(X[:, f], return_inverse=True)[1]
        if branch.max() > 0:
            table = np.zeros((branch.max() + 1, 3))
            np.add.at(table, (branch, y), 1)
            gains[f] = tree_oracles.gain(table, criterion)
    if not gains:
        return weights_of(y)
    best = max(gains.values())
    f = min(f for f, gain in gains.items() if gain >= best - 1e-12)
    return f, {
        value: build_tree(X[X[:, f] == value], y[X[:, f] == value], criterion, free - {f}, weights_of)
        for value in np.unique(X[:, f]).tolist()
    }


def as_nested(tree, node=0):
    children = tree.children(node)
    if not children:
        return tuple(tree.value[node].astype(int).tolist())
    pairs = zip(tree.set_of(node), children, strict=True)
    return int(tree.feature[node]), {v: as_nested(tree, c) for v, c in pairs if tree.n_samples[c]}


@pytest.mark.parametrize("criterion", CRITERIA)
def test_multiway_trees_follow_build_tree(criterion):
    rng = np.random.default_rng(51)
    for _ in range(8):
        X, y = rng.integers(0, 4, (60, 4)).astype(float), rng.integers(0, 3, 60)
        tree = grow_tree(X, y, criterion, tree="multiway")
        tree.check()
        wanted = build_tree(X, y, criterion, {0, 1, 2, 3}, lambda y: tuple(np.bincount(y, minlength=3).tolist()))
        assert as_nested(tree) == wanted
        parents = tree.parents()
        for node in range(tree.n_all):  # each attribute once per path
            used, at = [], node
            while at >= 0:
                used.append(int(tree.feature[at]))
                at = int(parents[at])
            used = [f for f in used if f >= 0]
            assert len(used) == len(set(used))


def test_an_empty_branch_predicts_the_class_of_its_parent():
    X, y = [[0, 0], [0, 1], [1, 0], [1, 2]], [0, 0, 1, 0]
    tree = grow_tree(X, y, "gini", tree="multiway")
    assert tree.predict([[1, 1], [0, 2]]).tolist() == [0, 0]
    empty = tree.n_samples == 0
    assert empty.any() and (tree.value[empty].sum(axis=1) > 0).all()


def test_multiway_trees_stop_and_take_missing_values():
    rng = np.random.default_rng(52)
    X, y = rng.integers(0, 3, (200, 3)).astype(float), rng.integers(0, 2, 200)
    assert grow_tree(X, y, "hypergeometric", tree="multiway", alpha=1e-6).n_nodes == 0
    assert grow_tree(X, y, tree="multiway", max_depth=1).height <= 1
    assert grow_tree(X, y, tree="multiway", min_samples_leaf=20).n_samples.min() >= 20
    X[rng.random(X.shape) < 0.2] = np.nan
    tree = grow_tree(X, y, tree="multiway", missing="best")
    leaf = tree.feature < 0
    assert (np.bincount(tree.apply(X), minlength=tree.n_all)[leaf] == tree.n_samples[leaf]).all()
    with pytest.raises(ValueError, match="expected multiway feature 0 to hold category codes"):
        grow_tree([[0.5], [1.0]], [0, 1], tree="multiway")
    with pytest.raises(ValueError, match="expected no max_leaf_nodes for a multiway tree, got 3"):
        grow_tree([[0], [1]], [0, 1], tree="multiway", max_leaf_nodes=3)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"max_depth": 0}, "expected max_depth >= 1, got 0"),
        ({"max_leaf_nodes": 1}, "expected max_leaf_nodes >= 2, got 1"),
        ({"min_samples_split": 1}, "expected min_samples_split >= 2, got 1"),
        ({"min_gain": -1}, "expected min_gain >= 0, got -1"),
        ({"min_gain": "a"}, "expected min_gain to be a number, got 'a'"),
        ({"alpha": 1.5}, "expected alpha <= 1, got 1.5"),
        ({"min_weight_fraction_leaf": 0.6}, "expected min_weight_fraction_leaf <= 0.5, got 0.6"),
        ({"tree": "ternary"}, "expected tree to be one of 'binary', 'multiway', got 'ternary'"),
        ({"feature_names": ["a", "b"]}, "expected 1 feature names, got 2"),
        ({"n_jobs": 0}, "expected n_jobs >= 1, got 0"),
    ],
)
def test_bad_rules_are_named(options, message):
    with pytest.raises((ValueError, TypeError), match=message):
        grow_tree([[0.0], [1.0]], [0, 1], **options)

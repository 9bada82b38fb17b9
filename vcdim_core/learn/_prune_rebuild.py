"""New trees from old ones: nodes left out, or put in the place of others; estimators without refitting."""

from __future__ import annotations

import copy
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from .. import _prune
from ..trees import Tree, _rebuild

Ints = npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Plan:
    """A tree made of nodes of another one."""

    source: Ints
    """The old node that each new one is."""
    child_start: Ints
    """Where the children of each new node start in ``child``."""
    child: Ints
    """Children, by new numbers."""
    moved: bool = False
    """Whether nodes stand in the place of others, so that other rows reach them."""


def plan_of(tree: Tree, leaf: npt.NDArray[np.uint8]) -> Plan:
    """The plan of a tree in which these nodes are leaves."""
    source = _prune.kept_nodes(tree.child_start, tree.child, leaf)
    widths = np.where(leaf[source] != 0, 0, np.diff(tree.child_start)[source])
    starts = np.concatenate(([0], np.cumsum(widths)))
    place = np.empty(tree.n_all, dtype=np.int64)
    place[source] = np.arange(source.size)
    inner = np.flatnonzero(widths)
    firsts = np.repeat(tree.child_start[source[inner]], widths[inner])
    offsets = np.arange(int(starts[-1])) - np.repeat(starts[inner], widths[inner])
    return Plan(source, starts, place[tree.child[firsts + offsets]])


def plan_moved(tree: Tree, leaf: npt.NDArray[np.uint8], redirect: Ints) -> Plan:
    """The same where ``redirect`` names the node that stands in the place of each."""

    def resolve(node: int) -> int:
        while not leaf[node] and int(redirect[node]) != node:
            node = int(redirect[node])
        return node

    source: list[int] = []
    children: dict[int, list[int]] = {}
    pending = [(resolve(0), -1)]
    while pending:
        node, above = pending.pop()
        at = len(source)
        source.append(node)
        children[at] = []
        if above >= 0:
            children[above].append(at)
        if not leaf[node]:
            pending.extend((resolve(child), at) for child in reversed(tree.children(node)))
    rows = [children[at] for at in range(len(source))]
    starts = np.concatenate(([0], np.cumsum([len(row) for row in rows]))).astype(np.int64)
    flat = np.array([child for row in rows for child in row], dtype=np.int64)
    return Plan(np.array(source, dtype=np.int64), starts, flat, True)


def tree_by(tree: Tree, plan: Plan, value: Any = None, n_samples: Any = None) -> Tree:
    """The tree of a plan; class weights and row counts are the old ones unless given."""
    source, inner = plan.source, np.diff(plan.child_start) > 0
    sizes = np.where(inner, np.diff(tree.set_start)[source], 0)
    set_starts = np.concatenate(([0], np.cumsum(sizes)))
    kept = np.flatnonzero(sizes)
    firsts = np.repeat(tree.set_start[source[kept]], sizes[kept])
    offsets = np.arange(int(set_starts[-1])) - np.repeat(set_starts[kept], sizes[kept])
    return _rebuild(
        np.where(inner, tree.feature[source], -1), np.where(inner, tree.test[source], 0),
        np.where(inner, tree.threshold[source], 0.0), plan.child_start, plan.child, set_starts,
        tree.set_values[firsts + offsets], np.where(inner, tree.missing[source], -1),
        tree.value[source] if value is None else value, tree.n_samples[source] if n_samples is None else n_samples,
        np.where(inner, tree.gain[source], 0.0), tree.classes, tree.n_features, tree.takes_missing, tree.as_single,
        tree.feature_names, tree.categories, tree.criterion,
    )  # fmt: skip


def refilled(tree: Tree, X: npt.NDArray[Any], codes: npt.NDArray[np.int32], weights: Any) -> Tree:
    """The tree with the class weights of these rows in its nodes; a node without rows keeps what it had."""
    k = int(tree.classes.size)
    known = codes < k
    one = np.ones(codes.size) if weights is None else weights
    leaves, parents = tree.apply(X), tree.parents()
    counts = np.zeros((tree.n_all, k))
    _prune.count_rows(leaves[known], codes[known], one[known], parents, counts)
    rows = np.zeros((tree.n_all, 1))
    _prune.count_rows(leaves, np.zeros(codes.size, dtype=np.int32), np.empty(0), parents, rows)
    empty = counts.sum(axis=1) <= 0
    counts[empty] = tree.value[empty]
    plan = Plan(np.arange(tree.n_all), tree.child_start, tree.child)
    return tree_by(tree, plan, counts, np.rint(rows[:, 0]).astype(np.int64))


def sklearn_by(estimator: Any, plan: Plan, tree: Tree) -> Any:
    """A copy of a fitted scikit-learn tree classifier with the tree of a plan; nothing is fitted again.

    Parameters
    ----------
    estimator : DecisionTreeClassifier or ExtraTreeClassifier
        Fitted, with one output.
    plan : Plan
        From the nodes of its ``tree_``.
    tree : Tree
        What the plan made, for the class weights where nodes have moved.
    """
    inner = estimator.tree_
    state = inner.__getstate__()
    nodes = state["nodes"][plan.source].copy()
    is_leaf = np.diff(plan.child_start) == 0
    at = plan.child_start[:-1][~is_leaf]
    nodes["left_child"], nodes["right_child"] = -1, -1
    nodes["left_child"][~is_leaf], nodes["right_child"][~is_leaf] = plan.child[at], plan.child[at + 1]
    nodes["feature"][is_leaf], nodes["threshold"][is_leaf] = -2, -2.0
    if "missing_go_to_left" in (nodes.dtype.names or ()):
        nodes["missing_go_to_left"][is_leaf] = 0
    values = state["values"][plan.source].copy()
    if plan.moved:
        total = tree.value.sum(axis=1)
        values[:, 0, :] = tree.value / np.where(total > 0, total, 1.0)[:, None]
        nodes["n_node_samples"], nodes["weighted_n_node_samples"] = tree.n_samples, total
        nodes["impurity"] = impurities(values[:, 0, :], str(estimator.criterion))
    pruned = copy.copy(estimator)  # shares what is never changed; tree_ is replaced at once
    pruned.__dict__ = {key: entry if key == "tree_" else copy.deepcopy(entry) for key, entry in vars(estimator).items()}
    fresh = type(inner)(inner.n_features, np.atleast_1d(inner.n_classes), inner.n_outputs)
    depth = int(tree.depths().max())
    fresh.__setstate__({**state, "max_depth": depth, "node_count": nodes.size, "nodes": nodes, "values": values})
    pruned.tree_ = fresh
    return pruned


def impurities(shares: npt.NDArray[np.float64], criterion: str) -> npt.NDArray[np.float64]:
    """Gini or entropy (in bits, for every other criterion) of rows of class shares."""
    if criterion == "gini":
        return np.asarray(1.0 - (shares * shares).sum(axis=1))
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.asarray(-np.where(shares > 0, shares * np.log2(shares), 0.0).sum(axis=1))

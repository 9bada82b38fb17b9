"""Cost-complexity pruning as CART does it, its variant with the complexity of Leboeuf et al., and minimum description
length.

**The variant.** The penalty is phi(L) = (d / m) log(m / d), d = L log(L l), for L leaves, l features and m rows
(Leboeuf et al. 2020, section 6.2). As printed it falls again beyond d = m / e and is negative beyond d = m, where
larger trees would be cheaper: with m = 20 rows and l = 10 features phi(2) = 0.361, phi(3) = 0.343, phi(6) = -0.253.
From its maximum on it is continued by that value.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from .. import _weakest
from .._validation import check_choice, check_int, check_number
from ..risk import mdl_bound
from ..trees import Tree
from ._prune_rebuild import impurities, plan_of
from ._prune_result import path_of
from ._prune_rules import NAN, Outcome
from ._prune_view import View, look_at

Doubles = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]
Grow = Callable[[Any, Any, Any], Tree]
"""Grows a tree from rows, labels and weights, as the tree that is pruned was grown."""


@dataclass(frozen=True, slots=True)
class Sequence:
    """The nodes that become leaves one after the other, and the alpha from which on each is one."""

    order: Ints
    alphas: Doubles


def risks(view: View, risk: str) -> Doubles:
    """R(v) of each node as a leaf: its share of the errors, or of the impurity of the grown tree."""
    if check_choice("risk", risk, ("error", "impurity")) == "error":
        return np.asarray(view.leaf_errors / view.total)
    weight = view.tree.value.sum(axis=1)
    shares = view.tree.value / np.where(weight > 0, weight, 1.0)[:, None]
    return np.asarray(weight / weight[0]) * impurities(shares, view.tree.criterion)


def weakest_sequence(view: View, risk: Doubles, nodes_too: bool = False) -> Sequence:
    """The sequence of CART."""
    tree, inner = view.tree, int((view.is_leaf == 0).sum())
    order, alphas = np.empty(inner, dtype=np.int64), np.empty(inner)
    found = _weakest.weakest_links(view.parent, tree.child_start, tree.child, risk, nodes_too, order, alphas)
    return Sequence(order[:found], alphas[:found])


def penalty(leaves: Any, n_features: int, m: float) -> Doubles:
    """phi(L), continued by its maximum."""
    count = np.asarray(leaves, dtype=np.float64)
    d = np.minimum(count * np.log(count * max(n_features, 1)), m / math.e)
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(d > 0, d / m * np.log(m / np.where(d > 0, d, 1.0)), 0.0)


def penalised_sequence(view: View, risk: Doubles, n_features: int) -> Sequence:
    """The weakest links of R(T) + alpha phi(L): all of them change with every step."""
    tree, m = view.tree, view.total
    inner = np.flatnonzero(view.is_leaf == 0)
    below, leaves = risk.copy(), np.ones(tree.n_all)
    for node in inner[::-1].tolist():
        children = list(tree.children(node))
        below[node], leaves[node] = below[children].sum(), leaves[children].sum()
    alive = np.zeros(tree.n_all, dtype=bool)
    alive[inner] = True
    order, alphas, alpha = [], [], 0.0
    scale = 1e-12 * float(np.abs(risk).max(initial=0.0))
    while alive[0]:
        at = np.flatnonzero(alive)
        gain = penalty(leaves[0], n_features, m) - penalty(leaves[0] - leaves[at] + 1, n_features, m)
        rise = risk[at] - below[at]
        rise[np.abs(rise) < scale] = 0.0
        with np.errstate(divide="ignore", invalid="ignore"):
            link = np.where(rise <= 0, 0.0, np.where(gain > 0, rise / gain, np.inf))
        node = int(at[int(link.argmin())])
        alpha = max(alpha, float(link.min()))
        order.append(node)
        alphas.append(alpha)
        drop, cut = float(risk[node] - below[node]), float(leaves[node] - 1)
        _collapse(tree, alive, node)
        while node >= 0:
            below[node] += drop
            leaves[node] -= cut
            node = int(view.parent[node])
    return Sequence(np.array(order, dtype=np.int64), np.array(alphas))


def _collapse(tree: Tree, alive: npt.NDArray[np.bool_], node: int) -> None:
    """Take a node and all below it out."""
    pending = [node]
    while pending:
        at = pending.pop()
        if alive[at]:
            alive[at] = False
            pending.extend(tree.children(at))


# Cross-validation


def candidates(alphas: Doubles) -> tuple[Doubles, Doubles]:
    """Every alpha at which the tree changes, 0 first, and its geometric mean with the next one (the last: infinite)."""
    distinct = np.unique(np.concatenate(([0.0], alphas[np.isfinite(alphas)])))
    following = np.append(distinct[1:], np.inf)
    with np.errstate(invalid="ignore"):
        middles = np.sqrt(distinct * following)
    middles[-1] = np.inf
    middles[0] = 0.0
    return distinct, middles


def errors_at(tree: Tree, sequence: Sequence, X: Any, codes: npt.NDArray[np.int32], betas: Doubles) -> Doubles:
    """How many rows the pruned tree of each beta gets wrong; betas ascend.

    A row stops at the first node on its way that has become a leaf. Going down, a node is where it stops for the
    betas from its own alpha up to the smallest one above it.
    """
    time = np.full(tree.n_all, np.inf)
    time[sequence.order] = sequence.alphas
    time[tree.feature < 0] = -np.inf
    label = tree.value.argmax(axis=1)
    starts, nodes = tree.decision_path(X)
    length, first = np.diff(starts), np.full(codes.size, np.inf)
    change = np.zeros(betas.size + 1)
    for level in range(int(length.max(initial=0))):
        rows = np.flatnonzero(length > level)
        node = nodes[starts[rows] + level]
        wrong = label[node] != codes[rows]
        low, high = np.searchsorted(betas, time[node]), np.searchsorted(betas, first[rows])
        if level == 0:
            high = np.full(rows.size, betas.size)
        here = wrong & (low < high)
        np.add.at(change, low[here], 1.0)
        np.add.at(change, high[here], -1.0)
        first[rows] = np.minimum(first[rows], time[node])
    return np.cumsum(change)[:-1]


def check_folds(folds: int, m: int) -> int:
    """Return the number of folds, from 2 to the number of rows."""
    count = check_int("folds", folds, 2)
    if m < 2:
        raise ValueError(f"expected at least 2 rows for cross-validation, got {m} sample")
    if count > m:
        raise ValueError(f"expected at most as many folds as rows, got {count} folds and {m} rows")
    return count


def fold_rows(y: npt.NDArray[Any], folds: int, random_state: Any) -> list[npt.NDArray[np.intp]]:
    """Rows of each fold: classes spread evenly, in random order."""
    from sklearn.utils import check_random_state

    order = check_random_state(random_state).permutation(y.size)
    places = np.unique(y, return_inverse=True)[1].reshape(-1)[order]
    order = order[np.argsort(places, kind="stable")]
    return [np.sort(order[fold::folds]) for fold in range(folds)]


def choose_alpha(
    view: View, labels: npt.NDArray[Any], sequence_of: Callable[[View], Sequence], alphas: Doubles, grow: Grow,
    folds: int, random_state: Any, one_standard_error: bool,
) -> tuple[float, Doubles, Doubles]:  # fmt: skip
    """The alpha of fewest errors in cross-validation, the largest of equals; all alphas and their error rates.

    With ``one_standard_error`` the largest alpha whose error rate is at most the smallest one plus its standard error
    sqrt(p (1 - p) / m) (Breiman et al. 1984, 3.4.3).
    """
    m = int(view.codes.size)
    folds = check_folds(folds, m)
    distinct, middles = candidates(alphas)
    wrong = np.zeros(distinct.size)
    for rows in fold_rows(labels, folds, random_state):
        keep = np.ones(m, dtype=bool)
        keep[rows] = False
        weights = None if view.weights is None else view.weights[keep]
        grown = grow(view.X[keep], labels[keep], weights)
        inside = look_at(grown, view.X[keep], labels[keep], weights, view.features)
        aside = look_at(grown, view.X[rows], labels[rows])
        wrong += errors_at(grown, sequence_of(inside), view.X[rows], aside.codes, middles)
    rate = wrong / m
    least = float(rate.min())
    room = math.sqrt(least * (1.0 - least) / m) if one_standard_error else 0.0
    at = int(np.flatnonzero(rate <= least + room + 1e-12)[-1])
    return float(distinct[at]), distinct, rate


def _prune_by_sequence(
    view: View, sequence: Sequence, alpha: float, objective: Callable[[Ints, Any], Doubles],
    settings: dict[str, Any], rates: tuple[Doubles, Doubles] | None,
) -> Outcome:  # fmt: skip
    """Cut all nodes up to an alpha, and tell the whole sequence."""
    tree = view.tree
    steps = sequence.order.size + 1
    leaves, total = np.empty(steps, dtype=np.int64), np.empty(steps, dtype=np.int64)
    errors, vc = np.empty(steps), np.empty(steps)
    _weakest.after_each(
        view.parent, tree.child_start, tree.child, view.leaf_errors, view.single, sequence.order, leaves, total,
        errors, vc,
    )  # fmt: skip
    cut = int(np.searchsorted(sequence.alphas, alpha, side="right"))
    leaf = view.is_leaf.copy()
    leaf[sequence.order[:cut]] = 1
    at_alpha = np.concatenate(([0.0], sequence.alphas))
    held = np.full(steps, NAN)
    if rates is not None:  # the error in cross-validation of the last tree with each alpha
        last = np.flatnonzero(np.append(at_alpha[1:] > at_alpha[:-1], True))
        found = np.searchsorted(rates[0], at_alpha[last])
        ok = found < rates[0].size
        held[last[ok]] = rates[1][found[ok]]
    chosen = np.arange(steps) == cut
    code = np.where(chosen, 1, np.where(np.arange(steps) < cut, 0, 2))
    path = path_of(
        np.concatenate(([-1], sequence.order)), leaves, errors / view.total, vc, at_alpha, held, chosen, code,
        ("its alpha is below the one chosen", "the last tree up to the alpha chosen",
         "its alpha is above the one chosen"),
    )  # fmt: skip
    bound = float(objective(leaves[cut : cut + 1], np.array([cut]))[0])
    return Outcome(plan_of(tree, leaf), path, bound, settings)


def _risk_after(view: View, risk: Doubles, sequence: Sequence) -> Doubles:
    """R of the tree before and after each collapse."""
    tree, steps = view.tree, sequence.order.size + 1
    whole, vc, unused = np.empty(steps), np.empty(steps), np.empty((2, steps), dtype=np.int64)
    _weakest.after_each(
        view.parent, tree.child_start, tree.child, risk, view.single, sequence.order, unused[0], unused[1], whole, vc
    )
    return whole


def prune_cost_complexity(
    view: View, labels: npt.NDArray[Any], grow: Grow, *, alpha: float | None = None, risk: str = "error",
    folds: int = 10, one_standard_error: bool = False, random_state: Any = 0, modified: bool = False,
) -> Outcome:  # fmt: skip
    """CART (modified=False), or the variant with phi."""
    l_features = view.features.n_features

    def sequence_of(other: View) -> Sequence:
        own = risks(other, risk)
        return penalised_sequence(other, own, l_features) if modified else weakest_sequence(other, own)

    own = risks(view, risk)
    sequence = sequence_of(view)
    settings: dict[str, Any] = {"risk": risk, "one_standard_error": bool(one_standard_error)}
    rates = None
    if alpha is None:
        level, distinct, rate = choose_alpha(
            view, labels, sequence_of, sequence.alphas, grow, folds, random_state, one_standard_error
        )
        rates = (distinct, rate)
        settings |= {"folds": folds, "alphas": distinct, "cv_errors": rate}
    else:
        level = check_number("alpha", alpha, 0.0)
    settings["alpha"] = level
    whole = _risk_after(view, own, sequence)

    def objective(leaves: Ints, at: Any) -> Doubles:
        cost = penalty(leaves, l_features, view.total) if modified else leaves.astype(np.float64)
        return np.asarray(whole[at] + (level * cost if level else 0.0 * cost))

    return _prune_by_sequence(view, sequence, level, objective, settings, rates)


# Minimum description length


def prune_mdl(view: View, *, delta: float = 0.05) -> Outcome:
    """The pruned tree of smallest bound (Peng 2019, 18.1) among all there are."""
    tree = view.tree
    risk = view.leaf_errors / view.total
    sequence = weakest_sequence(view, risk, nodes_too=True)
    steps = sequence.order.size + 1
    leaves, total = np.empty(steps, dtype=np.int64), np.empty(steps, dtype=np.int64)
    errors, vc = np.empty(steps), np.empty(steps)
    _weakest.after_each(
        view.parent, tree.child_start, tree.child, view.leaf_errors, view.single, sequence.order, leaves, total,
        errors, vc,
    )  # fmt: skip
    m, k = max(1, round(view.total)), max(2, int(tree.classes.size))
    d = max(1, tree.n_features)
    mdl_bound(0.0, 1, d, m, delta=delta)  # checks delta
    bits = (total + 1) * math.log2(d + k + 1)
    bound = errors / view.total + np.sqrt((bits + math.log(2.0 / delta)) / (2.0 * m))
    best = float(bound.min())
    at = int(np.flatnonzero(bound <= best * (1.0 + 1e-12))[-1])
    leaf = view.is_leaf.copy()
    leaf[sequence.order[:at]] = 1
    chosen = np.arange(steps) == at
    path = path_of(
        np.concatenate(([-1], sequence.order)), leaves, errors / view.total, vc, bound, best, chosen,
        chosen.astype(np.int8), ("not the smallest bound", "the smallest bound of all pruned trees"),
    )  # fmt: skip
    return Outcome(plan_of(tree, leaf), path, float(bound[at]), {"delta": delta})

"""Bound-based pruning (Leboeuf et al. 2020, Algorithm 3), and the generic procedure of Peng (2019, Algorithm 2)."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from .. import _prune, _weakest
from .._boundprune import LoosePruner
from .._counts import finite_state, n_distinct
from .._rows import glue, stirling
from .._validation import check_choice, check_number
from ..bounds_growth import as_real
from ..risk import PAPER_R
from ..trees import Tree
from ._prune_cart import Grow, check_folds, fold_rows
from ._prune_rebuild import Plan, plan_moved, plan_of, tree_by
from ._prune_result import path_of
from ._prune_rules import NAN, Outcome
from ._prune_tight import StructurePruner, TightPruner
from ._prune_view import View, look_at

Doubles = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]

MAX_CAPPED = 128
"""Classes up to which parts are capped by Stirling numbers; the bound is valid without, and n^M caps it as a whole."""

MAX_TIGHT = 64
"""Classes up to which rows are kept for every number of classes; beyond it structures are asked for one by one."""

_NONE = np.empty(0, dtype=np.int64)


class Pruner(Protocol):
    """A tree that shrinks, with the bound of every tree one replacement away."""

    def now(self) -> tuple[int, float, float, float]:
        """Leaves, errors, log growth and bound of the tree as it is."""

    def best(self) -> tuple[int, int, int, float, float, float] | None:
        """Node, action, leaves, errors, log growth and bound of the best replacement."""

    def replace(self, v: int, action: int, nodes: Ints, own: Doubles, wrong: Doubles) -> None:
        """Make it."""

    def set_raised(self, v: int, left: float, right: float) -> None:
        """Errors of the rows of a node in each of its children."""


def log_priors(most: int) -> Doubles:
    """-ln p of a structure with L = 0 .. most leaves, p = 6 / (pi^2 L^2 WE(L)); entry 0 is unused.

    Wedderburn-Etherington numbers grow like 2.483^L / L^1.5; scaled by that they are doubles for every L, and the
    recursion of `vcdim_core.risk.wedderburn_etherington` has positive terms only, so each is right to about 1e-13.
    """
    rate = 2.4832535361726
    scaled = np.zeros(most + 1)
    if most >= 1:
        scaled[1] = 1.0 / rate
    for n in range(2, most + 1):
        half = (n + 1) // 2
        scaled[n] = scaled[1:half] @ scaled[n - 1 : n - half : -1]
        if n % 2 == 0:
            middle = scaled[n // 2]
            scaled[n] += 0.5 * middle * (middle + rate ** -(n // 2))
    out = np.zeros(most + 1)
    counts = np.arange(1, most + 1, dtype=np.float64)
    out[1:] = math.log(math.pi**2 / 6.0) + 2.0 * np.log(counts) + np.log(scaled[1:]) + counts * math.log(rate)
    return out


def caps_for(points: int) -> Callable[[int], tuple[Doubles, Doubles, npt.NDArray[np.int32]]]:
    """Gluing coefficients and Stirling numbers, made when they are asked for."""

    def make(parts: int) -> tuple[Doubles, Doubles, npt.NDArray[np.int32]]:
        table = np.zeros((parts, parts, parts))
        for c in range(1, parts + 1):
            for a in range(1, c + 1):
                for b in range(max(1, c - a), c + 1):
                    table[a - 1, b - 1, c - 1] = glue(a, b, c)
        return table, *stirling(parts, points)

    return make


def make_pruner(
    view: View, errors: Doubles, form: str, bound: str, r: float, delta: float, raising: bool
) -> Pruner:
    """The kernel that fits the form and the features."""
    tree, m = view.tree, max(1, round(view.total))
    k = int(tree.classes.size)
    fixed = math.log(4.0) - math.log(delta)
    if bound == "shawe_taylor":
        fixed -= math.log1p(-r)
    points = 2 * m
    if not view.features.real:
        points = min(points, max(1, n_distinct(finite_state(view.features))))
    kind, priors = int(bound == "vapnik"), log_priors(tree.n_leaves)
    shape = (view.parent, tree.children_left, tree.children_right, errors, priors)
    rest = (kind, float(view.total), fixed, math.log(r), raising)
    if form == "tight" and view.features.is_real_only and 2 <= k <= MAX_TIGHT:
        return TightPruner(*shape, points, view.features.real, k, *rest)
    if form == "tight":
        return StructurePruner(*shape, 2 * m, view.features, k, *rest)
    real = max(1, as_real(view.features))
    return LoosePruner(*shape, points, float(real), k, *rest, caps_for(points) if k <= MAX_CAPPED else None)


def prune_bound(
    view: View, labels: npt.NDArray[Any], grow: Grow, *, bound: str = "shawe_taylor", form: str = "loose",
    r: float | str = PAPER_R, delta: float = 0.05, raising: bool = False, folds: int = 5, random_state: Any = 0,
) -> Outcome:  # fmt: skip
    """Algorithm 3."""
    check_choice("bound", bound, ("shawe_taylor", "vapnik"))
    check_choice("form", form, ("loose", "tight"))
    if not 0.0 < check_number("delta", delta) <= 1.0:
        raise ValueError(f"expected delta > 0 and <= 1, got {delta!r}")
    if not view.tree.is_binary:
        raise ValueError("expected a binary tree for method 'bound', got a node with more than two children")
    settings: dict[str, Any] = {"bound": bound, "form": form, "delta": delta, "raising": bool(raising)}
    if r == "cv":
        if bound == "vapnik":
            raise ValueError("expected bound='shawe_taylor' for r='cv', got 'vapnik', which has no r")
        r, tried = choose_r(view, labels, grow, form, delta, raising, folds, random_state)
        settings["r_errors"] = tried
    elif isinstance(r, str) or not 0.0 < float(r) < 1.0:
        raise ValueError(f"expected 0 < r < 1 or 'cv', got {r!r}")
    settings["r"] = r = float(r)
    return _run(view, form, bound, r, delta, raising, settings)


def _run(
    view: View, form: str, bound: str, r: float, delta: float, raising: bool, settings: dict[str, Any]
) -> Outcome:
    """Replace as long as the bound does not rise, and tell every step."""
    raiser = Raiser(view) if raising else None
    errors = view.leaf_errors if raiser is None else raiser.own
    pruner = make_pruner(view, errors, form, bound, r, delta, raising)
    if raiser is not None:
        raiser.tell(pruner, range(view.tree.n_all))
    leaves, wrong, _, value = pruner.now()
    steps = [(-1, leaves, wrong, value, NAN, True, 0)]
    order: list[tuple[int, int]] = []
    while (found := pruner.best()) is not None:
        node, action, leaves, wrong, _, candidate = found
        better = candidate <= value + 1e-12 * abs(value)
        steps.append((node, leaves, wrong, candidate, value, better, (1 if action < 0 else 2) if better else 3))
        if not better:
            break
        order.append((node, action))
        value = candidate
        if raiser is None:
            pruner.replace(node, action, _NONE, np.empty(0), np.empty(0))
        else:
            raiser.replace(pruner, node, action)
    leaf = view.is_leaf.copy()
    leaf[[node for node, action in order if action < 0]] = 1
    plan = plan_of(view.tree, leaf) if raiser is None else raiser.plan()
    vc = _vc_along(view, order, len(steps), raiser is not None and raiser.moved)
    columns = list(zip(*steps, strict=True))
    path = path_of(
        columns[0], columns[1], np.array(columns[2]) / view.total, vc, columns[3], columns[4], columns[5], columns[6],
        ("the tree as it came", "a leaf here has the smallest bound, not above the tree's",
         "its child in its place has the smallest bound, not above the tree's",
         "the best replacement raises the bound"),
    )  # fmt: skip
    return Outcome(plan, path, float(value), settings | {"raised": any(action >= 0 for _, action in order)})


def _vc_along(view: View, order: list[tuple[int, int]], steps: int, moved: bool) -> Doubles:
    """VC bound of every tree that was accepted; unknown for a candidate that was not, or once nodes have moved."""
    vc = np.full(steps, NAN)
    if moved:
        return vc
    tree, nodes = view.tree, np.array([node for node, _ in order], dtype=np.int64)
    size = nodes.size + 1
    values, errors, counts = np.empty(size), np.empty(size), np.empty((2, size), dtype=np.int64)
    _weakest.after_each(
        view.parent, tree.child_start, tree.child, view.leaf_errors, view.single, nodes, counts[0], counts[1], errors,
        values,
    )  # fmt: skip
    vc[:size] = values
    return vc


def choose_r(
    view: View, labels: npt.NDArray[Any], grow: Grow, form: str, delta: float, raising: bool, folds: int,
    random_state: Any,
) -> tuple[float, dict[float, float]]:  # fmt: skip
    """r by cross-validation among inverse powers of 2, 2^-1 to 2^-30: the geometric mean of the best ones."""
    m = int(view.codes.size)
    folds = check_folds(folds, m)
    powers = range(1, 31)
    wrong = dict.fromkeys(powers, 0.0)
    for rows in fold_rows(labels, folds, random_state):
        keep = np.ones(m, dtype=bool)
        keep[rows] = False
        weights = None if view.weights is None else view.weights[keep]
        grown = grow(view.X[keep], labels[keep], weights)
        inside = look_at(grown, view.X[keep], labels[keep], weights, view.features)
        for power in powers:
            outcome = _run(inside, form, "shawe_taylor", 2.0**-power, delta, raising, {})
            pruned = tree_by(grown, outcome.plan)
            wrong[power] += float((pruned.predict(view.X[rows]) != labels[rows]).sum())
    least = min(wrong.values())
    best = [power for power in powers if wrong[power] == least]
    return 2.0 ** -(sum(best) / len(best)), {2.0**-power: count / m for power, count in wrong.items()}


class Raiser:
    """The errors of rows that a raised child gets, kept up to date while a tree shrinks.

    Positions are the nodes of the tree as it came; ``holder`` says which node's test stands at each. Every leaf
    predicts the largest class of its rows.
    """

    def __init__(self, view: View) -> None:
        self.view = view
        self.holder = np.arange(view.tree.n_all)
        self.children = {node: view.tree.children(node) for node in range(view.tree.n_all)}
        self.parent = view.parent.copy()
        self.moved = False
        self.own = self._errors(view.counts)

    @staticmethod
    def _errors(counts: Doubles) -> Doubles:
        """Weight of all rows but those of the largest class."""
        return np.asarray(counts.sum(axis=1) - counts.max(axis=1))

    def _below(self, position: int) -> list[int]:
        """Positions of a subtree in preorder."""
        out, pending = [], [position]
        while pending:
            at = pending.pop()
            out.append(at)
            pending.extend(reversed(self.children[at]))
        return out

    def _subtree(self, positions: list[int]) -> Tree:
        """The subtree as a tree of its own, its nodes in the order of the positions."""
        place = {position: at for at, position in enumerate(positions)}
        rows = [[place[child] for child in self.children[position]] for position in positions]
        starts = np.concatenate(([0], np.cumsum([len(row) for row in rows]))).astype(np.int64)
        flat = np.array([child for row in rows for child in row], dtype=np.int64)
        return tree_by(self.view.tree, Plan(self.holder[positions], starts, flat))

    def _counts(self, tree: Tree, rows: npt.NDArray[np.intp]) -> Doubles:
        """Class weights of some rows in the nodes of a tree."""
        view = self.view
        counts = np.zeros((tree.n_all, view.counts.shape[1]))
        weights = np.empty(0) if view.weights is None else view.weights[rows]
        _prune.count_rows(tree.apply(view.X[rows]), view.codes[rows], weights, tree.parents(), counts)
        return counts

    def _spans(self) -> tuple[npt.NDArray[np.intp], dict[int, tuple[int, int]]]:
        """Rows in order of their leaves, and the span of each position in it."""
        positions = self._below(0)
        tree = self._subtree(positions)
        leaf = tree.apply(self.view.X)
        order = np.argsort(leaf, kind="stable")
        sizes = np.ones(len(positions), dtype=np.int64)
        parents = tree.parents()
        for at in range(len(positions) - 1, 0, -1):
            sizes[parents[at]] += sizes[at]
        first = np.searchsorted(leaf[order], np.arange(len(positions)))
        last = np.searchsorted(leaf[order], np.arange(len(positions)) + sizes)
        return order, {p: (int(first[at]), int(last[at])) for at, p in enumerate(positions)}

    def tell(self, pruner: Pruner, positions: Any) -> None:
        """Give the pruner the errors of raising at these positions."""
        order, spans = self._spans()
        for position in positions:
            if position not in spans or not self.children[position]:
                continue
            rows = order[slice(*spans[position])]
            found = [math.inf, math.inf]
            for side, child in enumerate(self.children[position]):
                if self.children[child]:
                    tree = self._subtree(self._below(child))
                    found[side] = float(self._errors(self._counts(tree, rows))[tree.feature < 0].sum())
            pruner.set_raised(position, *found)

    def replace(self, pruner: Pruner, position: int, action: int) -> None:
        """Carry out a replacement here and in the pruner, then look again at all that it changes."""
        changed = []
        if action < 0:
            self.children[position] = ()
            pruner.replace(position, action, _NONE, np.empty(0), np.empty(0))
        else:
            child = self.children[position][action]
            order, spans = self._spans()
            below = self._below(child)
            tree = self._subtree(below)
            own = self._errors(self._counts(tree, order[slice(*spans[position])]))
            wrong = own.copy()
            _prune.subtree_sums(tree.parents(), (tree.feature < 0).astype(np.uint8), wrong)
            pruner.replace(position, action, np.array(below, dtype=np.int64), own, wrong)
            self.holder[position], self.children[position] = self.holder[child], self.children[child]
            for grandchild in self.children[position]:
                self.parent[grandchild] = position
            self.moved = True
            changed = self._below(position)
        at = int(self.parent[position])
        while at >= 0:
            changed.append(at)
            at = int(self.parent[at])
        self.tell(pruner, changed)

    def plan(self) -> Plan:
        """What is left."""
        positions = self._below(0)
        place = {position: at for at, position in enumerate(positions)}
        rows = [[place[child] for child in self.children[position]] for position in positions]
        starts = np.concatenate(([0], np.cumsum([len(row) for row in rows]))).astype(np.int64)
        flat = np.array([child for row in rows for child in row], dtype=np.int64)
        return Plan(self.holder[positions], starts, flat, True)


# Algorithm 2


def prune_generic(view: View, *, objective: Callable[[Tree, int], float]) -> Outcome:
    """Try at each node, from the bottom up, a leaf of every class, each of its children, and the node itself."""
    if not callable(objective):
        raise TypeError(f"expected objective to be a function of a tree and a number of rows, got {objective!r}")
    state = _Draft(view)
    m, best = int(view.codes.size), float(objective(view.tree, int(view.codes.size)))
    steps = [(-1, view.tree.n_leaves, state.error(view.tree), best, NAN, True, 0)]
    for node in np.flatnonzero(view.is_leaf == 0)[::-1].tolist():
        tried = [(float(objective(cut, m)), at, cut, change) for at, (cut, change) in enumerate(state.tries(node))]
        value, _, tree, change = min(tried, key=lambda entry: (entry[0], entry[1]))
        chosen = value < best
        steps.append((node, tree.n_leaves, state.error(tree), value, best, chosen, change[0] if chosen else 3))
        if chosen:
            best = value
            state.take(node, change)
    columns = list(zip(*steps, strict=True))
    path = path_of(
        columns[0], columns[1], columns[2], NAN, columns[3], columns[4], columns[5], columns[6],
        ("the tree as it came", "a leaf here is best", "its child in its place is best", "the tree as it is is best"),
    )  # fmt: skip
    final = state.tree()
    return Outcome(state.plan(), path, best, {}, np.array(final.value))


class _Draft:
    """A tree under change: leaves with given labels, children in the place of their parents."""

    def __init__(self, view: View) -> None:
        self.view = view
        self.leaf, self.redirect = view.is_leaf.copy(), np.arange(view.tree.n_all)
        self.given: dict[int, int] = {}  # labels of nodes that were made leaves

    def plan(self) -> Plan:
        return plan_moved(self.view.tree, self.leaf, self.redirect)

    def tree(self) -> Tree:
        """The tree with class weights by its own rows; a leaf with a given label has all its weight there."""
        view, plan = self.view, self.plan()
        tree = tree_by(view.tree, plan)
        counts = np.zeros((tree.n_all, view.counts.shape[1]))
        weights = np.empty(0) if view.weights is None else view.weights
        leaves = tree.apply(view.X)
        _prune.count_rows(leaves, view.codes, weights, tree.parents(), counts)
        value = counts[:, : view.tree.classes.size].copy()
        empty = value.sum(axis=1) <= 0
        value[empty] = view.tree.value[plan.source[empty]]
        for at, node in enumerate(plan.source.tolist()):
            if node in self.given:
                weight = max(float(value[at].sum()), 1.0)
                value[at] = 0.0
                value[at, self.given[node]] = weight
        samples = np.bincount(leaves, minlength=tree.n_all).astype(np.float64)
        _prune.subtree_sums(tree.parents(), (tree.feature < 0).astype(np.uint8), samples)
        return tree_by(view.tree, plan, value, np.rint(samples).astype(np.int64))

    def error(self, tree: Tree) -> float:
        """Share of the rows that a tree gets wrong."""
        view = self.view
        wrong = tree.value.argmax(axis=1)[tree.apply(view.X)] != view.codes
        return float(np.average(wrong, weights=view.weights))

    def tries(self, node: int) -> list[tuple[Tree, tuple[int, int]]]:
        """All replacements of a node as trees, each with what it changes."""
        out = []
        changes = [(1, label) for label in range(self.view.tree.classes.size)]
        changes += [(2, child) for child in self.view.tree.children(node)]
        for change in changes:
            saved = self.leaf[node], self.redirect[node], dict(self.given)
            self.take(node, change)
            out.append((self.tree(), change))
            self.leaf[node], self.redirect[node], self.given = saved
        return out

    def take(self, node: int, change: tuple[int, int]) -> None:
        kind, what = change
        if kind == 1:
            self.leaf[node], self.given[node] = 1, what
        else:
            self.redirect[node] = what

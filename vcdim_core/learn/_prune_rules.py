"""Rules that one walk from the leaves to the root decides: srm, holdout, pessimistic, hypergeometric, merge."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from .. import _prune, _surgery
from .._table import CRITERIA
from .._validation import check_choice, check_number
from ..bounds import vc_bracket, vc_lower_bound, vc_upper_bound
from ..exact import exact_vc
from ..features import Features
from ..risk import srm_bound
from ..structures import LEAF, Structure, join
from ._prune_rebuild import Plan, plan_moved, plan_of
from ._prune_result import Path, path_of
from ._prune_view import View, look_at

NAN = float("nan")
MAX_SURGERY_HEIGHT = 1000
"""Surgery recurses once for each level; trees beyond this are refused before the stack is."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """What a method decided."""

    plan: Plan
    path: Path
    bound: float = NAN
    settings: dict[str, Any] = field(default_factory=dict)
    value: npt.NDArray[np.float64] | None = None
    """Class weights of the nodes of the plan, where they are not those of the old tree."""


def _visited(view: View) -> npt.NDArray[np.int64]:
    """Nodes that are not leaves, children before parents."""
    return np.flatnonzero(view.is_leaf == 0)[::-1].astype(np.int64)


def _share(errors: npt.NDArray[np.float64], rows: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    """Errors over rows, 0 without rows."""
    return np.divide(errors, rows, out=np.zeros_like(errors), where=rows > 0)


# Structural risk minimisation


def prune_srm(view: View, *, vc: Any = "lower", a1: float = 0.1, a2: float = 2.0, nu: float | None = None) -> Outcome:
    """Yildiz 2012, 4.2."""
    srm_bound(0.0, 1, 1, a1, a2, nu)  # checks the constants
    n = view.tree.n_all
    leaf, size = view.is_leaf.copy(), np.empty(n, dtype=np.int64)
    errors, value, bound, as_leaf = (np.empty(n) for _ in range(4))
    kind, single = _vc_values(view, vc)
    if single is None:
        _srm_by_structure(view, vc, (a1, a2, nu), leaf, size, errors, value, bound, as_leaf)
    else:
        _prune.prune_srm(
            view.tree.child_start, view.tree.child, view.rows, view.leaf_errors, single, kind, a1, a2,
            -1.0 if nu is None else nu, leaf, size, errors, value, bound, as_leaf,
        )  # fmt: skip
    at = _visited(view)
    cut = leaf[at] == 1
    reasons = ("the subtree is not larger", "the leaf is smaller", "no row reaches it")
    code = np.where(cut, np.where(view.rows[at] > 0, 1, 2), 0)
    path = path_of(
        at, size[at], _share(errors[at], view.rows[at]), value[at], bound[at], as_leaf[at], cut, code, reasons
    )
    final = as_leaf[0] if leaf[0] else bound[0]
    return Outcome(plan_of(view.tree, leaf), path, float(final), {"vc": vc, "a1": a1, "a2": a2, "nu": nu})


def _vc_values(view: View, vc: Any) -> tuple[int, npt.NDArray[np.float64] | None]:
    """How the kernel finds V (its kind, and one number for each node), or None where structures have to be asked."""
    features = view.features
    if not isinstance(vc, str):
        number = check_number("vc", vc, 0.0)
        return 2, np.full(view.tree.n_all, number)
    check_choice("vc", vc, ("lower", "exact", "upper", "aslan"))
    if vc == "aslan":
        if not view.tree.is_binary:
            raise ValueError("expected a binary tree for vc='aslan', got a node with more than two children")
        return 1, np.maximum(features.n_features - view.depth, 0).astype(np.float64)
    finite = not features.real and not features.is_binary_only
    mixed = finite and any(c > 2 for c in features.ordinal + features.nominal)
    return 0, view.single if vc == "lower" and not mixed else None


def _srm_by_structure(
    view: View, vc: str, constants: tuple[float, float, float | None], leaf: Any, size: Any, errors: Any, value: Any,
    bound: Any, as_leaf: Any,
) -> None:  # fmt: skip
    """The same walk with V from the structure of every subtree."""
    ask = _asker(vc, view)
    shapes: list[Structure] = [LEAF] * view.tree.n_all
    for node in range(view.tree.n_all - 1, -1, -1):
        rows = view.rows[node]
        size[node], errors[node], value[node] = 1, view.leaf_errors[node], 1.0
        as_leaf[node] = srm_bound(min(1.0, view.leaf_errors[node] / rows), 1, _whole(rows), *constants) if rows else 0.0
        bound[node] = as_leaf[node]
        if leaf[node]:
            continue
        children = view.tree.children(node)
        shapes[node] = join(*(shapes[child] for child in children)).canonical()
        size[node] = shapes[node].n_leaves
        errors[node] = sum(view.leaf_errors[c] if leaf[c] else errors[c] for c in children)
        value[node] = ask(shapes[node], int(view.depth[node]))
        if rows:
            bound[node] = srm_bound(min(1.0, errors[node] / rows), value[node], _whole(rows), *constants)
        leaf[node] = not rows or as_leaf[node] < bound[node]
        if leaf[node]:
            shapes[node] = LEAF


def _whole(rows: float) -> int:
    """Rows as the sample size of a bound: weights that are not whole are rounded."""
    return max(1, round(rows))


def _asker(vc: str, view: View) -> Callable[[Structure, int], float]:
    """A function from a structure and its depth to V; every question is asked once."""
    features, known = view.features, {}

    def ask(shape: Structure, depth: int) -> float:
        left = features
        if features.is_binary_only:
            left = Features(binary=max(0, features.binary - depth))
        key = (shape, left)
        if key not in known:
            known[key] = _vc_of(vc, shape, left)
        return known[key]

    return ask


def _vc_of(vc: str, shape: Structure, features: Features) -> float:
    if vc == "lower":
        return vc_lower_bound(shape, features=features)
    if vc == "upper":
        return vc_upper_bound(shape, features=features)
    if features.is_binary_only:
        return exact_vc(shape, features.binary)
    bracket = vc_bracket(shape, features=features)
    if not bracket.is_exact:
        raise ValueError(
            f"expected a structure whose exact VC dimension is known for vc='exact', got {bracket.lower} to "
            f"{bracket.upper} for {shape.n_leaves} leaves on {features}"
        )
    return bracket.lower


# Rows put aside


def prune_holdout(view: View, *, validation: tuple[Any, ...]) -> Outcome:
    """Reduced-error pruning (CVprune of Yildiz 2012) on these rows."""
    X, y, *weights = validation
    aside = look_at(view.tree, X, y, weights[0] if weights else None)
    leaf = view.is_leaf.copy()
    size, bound = np.empty(view.tree.n_all, dtype=np.int64), np.empty(view.tree.n_all)
    _prune.prune_holdout(view.tree.child_start, view.tree.child, aside.leaf_errors, leaf, size, bound)
    at = _visited(view)
    cut = leaf[at] == 1
    reasons = ("the subtree makes fewer errors", "the leaf makes no more errors", "no row put aside reaches it")
    code = np.where(cut, np.where(aside.rows[at] > 0, 1, 2), 0)
    rows = aside.rows[at]
    path = path_of(at, size[at], _share(bound[at], rows), NAN, bound[at], aside.leaf_errors[at], cut, code, reasons)
    final = aside.leaf_errors[0] if leaf[0] else bound[0]
    return Outcome(plan_of(view.tree, leaf), path, float(final), {"validation_rows": int(aside.codes.size)})


# Pessimistic pruning


def prune_pessimistic(view: View, *, confidence: float = 0.25, surgery: bool = False) -> Outcome:
    """C4.5's rule, with or without surgery."""
    cf = check_number("confidence", confidence, 0.0, 1.0)
    if cf <= 0.0:
        raise ValueError(f"expected confidence > 0, got {confidence!r}")
    settings = {"confidence": cf, "surgery": bool(surgery)}
    if surgery:
        return _prune_with_surgery(view, cf, settings)
    n = view.tree.n_all
    leaf, size = view.is_leaf.copy(), np.empty(n, dtype=np.int64)
    errors, bound, as_leaf = np.empty(n), np.empty(n), np.empty(n)
    _prune.prune_pessimistic(
        view.tree.child_start, view.tree.child, view.rows, view.leaf_errors, cf, leaf, size, errors, bound, as_leaf
    )
    at = _visited(view)
    rows, cut = view.rows[at], leaf[at] == 1
    reasons = ("the subtree is not larger", "the leaf is smaller")
    path = path_of(
        at, size[at], _share(errors[at], rows), NAN, _share(bound[at], rows), _share(as_leaf[at], rows), cut,
        cut.astype(np.int8), reasons,
    )  # fmt: skip
    final = (as_leaf[0] if leaf[0] else bound[0]) / view.total
    return Outcome(plan_of(view.tree, leaf), path, float(final), settings)


def _prune_with_surgery(view: View, cf: float, settings: dict[str, Any]) -> Outcome:
    tree = view.tree
    if tree.height > MAX_SURGERY_HEIGHT:
        raise ValueError(f"expected a tree of height <= {MAX_SURGERY_HEIGHT} for surgery, got {tree.height}")
    surgeon = surgeon_of(view, cf, True)
    leaf, redirect, log = surgeon.run()
    sizes = _leaves_below(view)
    nodes = [entry[0] for entry in log]
    as_is, pruned, raised = (np.array([entry[i] for entry in log]) / view.total for i in (1, 2, 3))
    kinds = np.array([entry[4] for entry in log], dtype=np.int8)
    reasons = ("the subtree is not larger", "the leaf is smallest", "its larger child in its place is smallest")
    below = view.below(view.is_leaf)
    path = path_of(
        nodes, sizes[nodes], _share(below[nodes], view.rows[nodes]), NAN, as_is, np.minimum(pruned, raised), kinds > 0,
        kinds, reasons,
    )  # fmt: skip
    # What is left has this estimate: that of the root's best alternative.
    final = float(min(as_is[0], pruned[0], raised[0])) if nodes else NAN
    moved = bool((redirect != np.arange(tree.n_all)).any())
    plan = plan_moved(tree, leaf, redirect) if moved else plan_of(tree, leaf)
    return Outcome(plan, path, final, settings | {"rows_moved": int(surgeon.steps)})


def surgeon_of(view: View, cf: float, surgery: bool) -> _surgery.Surgeon:
    """The kernel for a view."""
    tree = view.tree
    return _surgery.Surgeon(
        np.asarray(view.X, dtype=np.float64), view.codes, np.empty(0) if view.weights is None else view.weights,
        view.counts.shape[1], tree.feature, tree.test, tree.threshold, tree.child_start, tree.child, tree.set_start,
        tree.set_values, tree.missing, view.label, tree.as_single, cf, surgery,
    )  # fmt: skip


def _leaves_below(view: View) -> npt.NDArray[np.int64]:
    """Leaves of every subtree."""
    ones = np.ones(view.tree.n_all)
    _prune.subtree_sums(view.parent, view.is_leaf, ones)
    return np.rint(ones).astype(np.int64)


# Significance, and labels


def prune_hypergeometric(view: View, *, alpha: float = 0.05, criterion: str = "hypergeometric") -> Outcome:
    """Splits into leaves that chance makes as well."""
    level = check_number("alpha", alpha, 0.0, 1.0)
    check_choice("criterion", criterion, CRITERIA)
    n = view.tree.n_all
    leaf, size, chance = view.is_leaf.copy(), np.empty(n, dtype=np.int64), np.empty(n)
    _prune.prune_insignificant(
        view.tree.child_start, view.tree.child, view.counts, CRITERIA.index(criterion), level, leaf, size, chance
    )
    at = _visited(view)
    cut = leaf[at] == 1
    reasons = ("the split is significant", "the split is not significant", "a split below it is significant")
    code = np.where(cut, 1, np.where(np.isnan(chance[at]), 2, 0))
    below = view.below(leaf)
    errors = np.where(cut, view.leaf_errors[at], below[at])
    path = path_of(at, size[at], _share(errors, view.rows[at]), NAN, chance[at], level, cut, code, reasons)
    return Outcome(plan_of(view.tree, leaf), path, NAN, {"alpha": level, "criterion": criterion})


def prune_merge(view: View) -> Outcome:
    """Sibling leaves with one label become one; no prediction changes."""
    tree, n = view.tree, view.tree.n_all
    leaf, merged, size = view.is_leaf.copy(), np.zeros(n, dtype=np.uint8), np.empty(n, dtype=np.int64)
    _prune.merge_leaves(tree.child_start, tree.child, view.label, leaf, size, merged)
    at = _visited(view)
    cut = leaf[at] == 1
    # The sum of rows whose first largest entry is in one column has it there as well.
    value = np.array(tree.value)
    for node in np.flatnonzero(merged)[::-1].tolist():
        value[node] = value[list(tree.children(node))].sum(axis=0)
    plan = plan_of(tree, leaf)
    below = view.below(view.is_leaf)[at]
    path = path_of(
        at, size[at], _share(below, view.rows[at]), NAN, NAN, NAN, cut, cut.astype(np.int8),
        ("its leaves have different labels", "its leaves have one label"),
    )  # fmt: skip
    return Outcome(plan, path, NAN, {}, value[plan.source])


def hold_out(
    X: npt.NDArray[Any], y: npt.NDArray[Any], fraction: float, random_state: Any
) -> tuple[npt.NDArray[np.intp], npt.NDArray[np.intp]]:
    """Rows to grow on and rows to put aside: the given share of each class, in random order."""
    from sklearn.utils import check_random_state

    share = check_number("fraction", fraction, 0.0, 1.0)
    m = X.shape[0]
    aside = min(m - 1, max(1, math.floor(share * m + 0.5)))
    if not 0.0 < share < 1.0:
        raise ValueError(f"expected 0 < fraction < 1, got {fraction!r}")
    if m < 2:
        raise ValueError(f"expected at least 2 rows to put some aside, got {m} sample")
    order = check_random_state(random_state).permutation(m)
    # Spread the classes evenly over the order, then take every so many: each class gives its share.
    places = np.unique(y, return_inverse=True)[1].reshape(-1)[order]
    order = order[np.argsort(places, kind="stable")]
    taken = np.zeros(m, dtype=bool)
    taken[np.floor((np.arange(aside) + 0.5) * m / aside).astype(np.intp)] = True
    return np.sort(order[~taken]), np.sort(order[taken])

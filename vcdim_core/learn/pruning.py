"""Pruning: every method on trees, on fitted estimators and on forests."""

from __future__ import annotations

import copy
import inspect
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.base import clone

from .._table import CRITERIA, as_matrix, as_weights
from .._validation import check_choice
from ..growing import grow_tree
from ..trees import Tree
from ._prune_bound import prune_bound, prune_generic
from ._prune_cart import Grow, prune_cost_complexity, prune_mdl
from ._prune_rebuild import refilled, sklearn_by, tree_by
from ._prune_result import PruneResult
from ._prune_rules import (
    Outcome,
    hold_out,
    prune_holdout,
    prune_hypergeometric,
    prune_merge,
    prune_pessimistic,
    prune_srm,
)
from ._prune_view import View, features_of, look_at, tree_kinds

METHODS = (
    "srm", "holdout", "bound", "cost_complexity", "m_cost_complexity", "pessimistic", "mdl", "generic",
    "hypergeometric", "merge",
)  # fmt: skip
"""Names of the methods."""


def prune(tree: Any, X: Any, y: Any, method: str = "bound", **options: Any) -> PruneResult:
    r"""Prune a decision tree; what comes in is never changed.

    Parameters
    ----------
    tree : Tree, TreeClassifier, DecisionTreeClassifier, ExtraTreeClassifier or a forest of these
        A tree, or a fitted estimator with one output.
    X : array or data frame of shape (m, d)
        The rows that the tree was grown on.
    y : array of shape (m,)
        Their classes. A class that the tree does not know is always an error.
    method : str, default="bound"
        One of

        * "srm": a leaf where its generalisation error by structural risk minimisation is smaller than the subtree's
          (Yildiz 2012, 4.2). Options ``vc`` ("lower", "exact", "upper", "aslan" or a number), ``a1=0.1``, ``a2=2.0``,
          ``nu=None`` (1 / sqrt of the rows);
        * "holdout": a leaf where it makes no more errors on other rows (reduced-error pruning). Options
          ``validation=(X, y)`` or ``(X, y, weights)``; or ``fraction=0.2`` and ``random_state=0`` to put rows of X
          aside;
        * "bound": the replacement of smallest risk bound, one at a time, as long as the bound does not rise (Leboeuf
          et al. 2020, Algorithm 3). Options ``bound`` ("shawe_taylor" or "vapnik"), ``form`` ("loose" or "tight"
          growth function), ``r=2**-13.7`` or "cv" (``folds=5``), ``delta=0.05``, ``raising=False`` (a child may take
          the place of its parent);
        * "cost_complexity": CART's weakest links. Options ``alpha`` (chosen by cross-validation unless given),
          ``risk`` ("error", or "impurity" as scikit-learn's ``ccp_alpha``), ``folds=10``, ``one_standard_error=False``;
        * "m_cost_complexity": the same with the complexity (d/m) log(m/d), d = L log(L l), of Leboeuf et al.;
        * "pessimistic": a leaf where the binomial upper limit of its errors is smaller (C4.5). Options
          ``confidence=0.25``, ``surgery=False`` (the larger child may take the place of its parent: Martin and
          Hirschberg 1996, Figure 2);
        * "mdl": the pruned tree of smallest description-length bound (Peng 2019, 18.1), among all. Option
          ``delta=0.05``;
        * "generic": at each node from the bottom up the best of its replacements (Peng 2019, Algorithm 2): a leaf of
          each class, each of its children, or the node as it is. Option ``objective``, a function of a `Tree` and m;
        * "hypergeometric": a leaf where a split into leaves is not significant, by the function that growing uses.
          Options ``alpha=0.05``, ``criterion="hypergeometric"``;
        * "merge": sibling leaves with one label; no prediction changes.

    **options
        Those of the method, and of all: ``sample_weight``; ``features`` (a `Features`) or ``feature_kinds`` (as for
        `vcdim_core.best_split`) for the VC dimension and the growth function, by default every feature with two
        values is real unless the tree tests it otherwise; ``random_state`` for folds; ``grow``, a function of X, y
        and weights that grows a tree for cross-validation (by default the estimator is fitted again on each fold, and
        a bare `Tree` is grown without limits by its own criterion).

    Returns
    -------
    PruneResult
        The new tree, the path, and for an estimator a fitted one of the same class, made without fitting.

    Raises
    ------
    ValueError, TypeError
        If the method or an option is not one of these, or the data do not fit the tree.

    Notes
    -----
    A node that becomes a leaf predicts what the tree stores for it, so a leaf that is kept predicts as before. Where
    a child takes the place of its parent other rows reach it, and its class counts are those of X and y.

    Ties of "bound": the replacement that cuts most leaves, then the first node. Equality of bounds is up to a factor
    1e-12. Cost: srm (but for ``vc`` "exact" and "upper"), holdout, pessimistic without surgery, merge and
    hypergeometric are linear in the nodes plus one pass over the rows; cost_complexity (at a given alpha) and mdl
    have a logarithm more; bound costs the sum of the depths for each replacement in the loose form.

    The structural risk of a subtree is that of the rows that reach it, with the features that its path has left: on d
    binary features a subtree at depth t has d - t.

    The growth functions are those of thresholds and single categories: with missing values, or tests by subsets of
    categories, the value of "bound" ranks trees, but bounds no risk. Surgery costs up to 2^height passes over the rows.

    With ``fraction`` the tree has seen the rows that are put aside; `TreeClassifier` with ``prune="holdout"`` grows
    without them.

    References
    ----------
    O. T. Yildiz, On the VC-dimension of univariate decision trees, ICPRAM 2012. J.-S. Leboeuf, F. LeBlanc and M.
    Marchand, Decision trees as partitioning machines to characterize their generalization properties, NeurIPS 2020.
    J. K. Martin and D. S. Hirschberg, On the complexity of learning decision trees, AI & Mathematics 1996. L.
    Breiman, J. Friedman, R. Olshen and C. Stone, Classification and Regression Trees, Wadsworth 1984. J. R. Quinlan,
    C4.5, Morgan Kaufmann 1993.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from sklearn.tree import DecisionTreeClassifier
    >>> X, y = load_iris(return_X_y=True)
    >>> model = DecisionTreeClassifier(random_state=0).fit(X, y)
    >>> result = prune(model, X, y)
    >>> result.before.n_leaves, result.tree.n_leaves, result.estimator.predict(X[:1]).item()
    (9, 6, 0)
    >>> [prune(model, X, y, name).tree.n_leaves for name in ("srm", "pessimistic", "mdl", "merge")]
    [9, 7, 3, 9]
    """
    name = check_choice("method", method, METHODS)
    if isinstance(tree, Tree):
        return _prune_tree(tree, X, y, name, _grower(tree), options)
    if hasattr(tree, "estimators_"):
        return _prune_forest(tree, X, y, name, options)
    return _prune_estimator(tree, X, y, name, options)


# What came in


def _prune_estimator(estimator: Any, X: Any, y: Any, method: str, options: Mapping[str, Any]) -> PruneResult:
    """A fitted tree of ours or of scikit-learn."""
    from .classifier import TreeClassifier

    if isinstance(estimator, TreeClassifier):
        matrix, kinds = estimator._read(X), estimator._tree_kinds()
        seen = ["multiway"] * len(kinds) if estimator.tree == "multiway" else kinds
        given = {"feature_kinds": seen} if "features" not in options and "feature_kinds" not in options else {}
        own = clone(estimator).set_params(prune=None, discretise=None, feature_kinds=kinds)
        grow = _refit(own)
        result = _prune_tree(estimator.tree_, matrix, y, method, grow, {**given, **options})
        pruned = copy.deepcopy(estimator)
        pruned.tree_ = result.tree
        return _with(result, estimator=pruned)
    before = Tree.from_sklearn(estimator)
    result, plan = _prune_planned(before, _plain(X), y, method, _refit(clone(estimator)), options)
    return _with(result, estimator=sklearn_by(estimator, plan, result.tree))


def _prune_forest(forest: Any, X: Any, y: Any, method: str, options: Mapping[str, Any]) -> PruneResult:
    """Every tree of a random forest; the trees know classes by number."""
    members = list(np.ravel(np.asarray(forest.estimators_, dtype=object)))
    classes = getattr(forest, "classes_", None)
    if classes is None or not all(hasattr(member, "tree_") and hasattr(member, "classes_") for member in members):
        raise TypeError(f"expected a fitted forest of classification trees, got {type(forest).__name__}")
    matrix = _plain(X)
    labels = np.asarray(y).reshape(-1)
    known = {label: float(code) for code, label in enumerate(np.asarray(classes).tolist())}
    codes = np.array([known.get(label, float(len(known))) for label in labels.tolist()])
    results = []
    for member in members:
        own = codes.astype(np.asarray(member.classes_).dtype)
        results.append(_prune_estimator(member, matrix, own, method, options))
    pruned = copy.copy(forest)
    pruned.__dict__ = {
        key: entry if key == "estimators_" else copy.deepcopy(entry) for key, entry in vars(forest).items()
    }
    pruned.estimators_ = [result.estimator for result in results]
    first = results[0]
    return PruneResult(
        first.tree, first.before, method, first.path, first.settings, first.bound, pruned, tuple(results)
    )


def _plain(X: Any) -> npt.NDArray[Any]:
    """Numbers of an array or a frame, as scikit-learn's trees see them."""
    if hasattr(X, "toarray"):
        raise TypeError("expected a dense X, got a sparse matrix")
    return as_matrix(X)


def _refit(estimator: Any) -> Grow:
    """Fit a clone on the rows of a fold."""

    def grow(X: Any, y: Any, weights: Any) -> Tree:
        return Tree.from_sklearn(clone(estimator).fit(X, y, sample_weight=weights))

    return grow


def _grower(tree: Tree) -> Grow:
    """Grow without limits, by the criterion and the tests of a tree."""
    kinds = tree_kinds(tree)
    shape = "binary" if tree.is_binary and "multiway" not in kinds else "multiway"
    nominal = "subset" if (tree.test == 2).any() else "one-vs-rest"

    def grow(X: Any, y: Any, weights: Any) -> Tree:
        return grow_tree(
            X, y, tree.criterion if tree.criterion in CRITERIA else "gini", tree=shape, feature_kinds=kinds,
            nominal=nominal, sample_weight=weights, missing="best" if tree.takes_missing else "raise",
        )  # fmt: skip

    return grow


def _with(result: PruneResult, estimator: Any) -> PruneResult:
    return PruneResult(
        result.tree, result.before, result.method, result.path, result.settings, result.bound, estimator, result.members
    )


# Methods


_SIMPLE: dict[str, Callable[..., Outcome]] = {
    "srm": prune_srm, "pessimistic": prune_pessimistic, "mdl": prune_mdl, "generic": prune_generic,
    "hypergeometric": prune_hypergeometric, "merge": prune_merge,
}  # fmt: skip
_WITH_FOLDS: dict[str, Callable[..., Outcome]] = {
    "bound": prune_bound, "cost_complexity": prune_cost_complexity, "m_cost_complexity": prune_cost_complexity,
}  # fmt: skip
_COMMON = ("sample_weight", "features", "feature_kinds", "grow", "random_state")


def _allowed(method: str) -> set[str]:
    """The options of a method."""
    if method == "holdout":
        return {"validation", "fraction"}
    function = _SIMPLE.get(method) or _WITH_FOLDS[method]
    names = {
        name for name, parameter in inspect.signature(function).parameters.items()
        if parameter.kind is inspect.Parameter.KEYWORD_ONLY
    }  # fmt: skip
    return names - {"modified"}


def check_options(method: str, options: Mapping[str, Any]) -> None:
    """Raise TypeError for an option that the method does not take, or lacks."""
    allowed = _allowed(check_choice("method", method, METHODS))
    for name in options:
        if name not in allowed and name not in _COMMON:
            listed = ", ".join(sorted(allowed | set(_COMMON)))
            raise TypeError(f"expected an option of method {method!r} ({listed}), got {name!r}")
    if method == "generic" and "objective" not in options:
        raise TypeError("expected the option objective for method 'generic', got none")


def _prune_tree(
    tree: Tree, X: Any, y: Any, method: str, grow: Grow, options: Mapping[str, Any]
) -> PruneResult:
    return _prune_planned(tree, X, y, method, grow, options)[0]


def _prune_planned(
    tree: Tree, X: Any, y: Any, method: str, grow: Grow, options: Mapping[str, Any]
) -> tuple[PruneResult, Any]:
    """Prune, and return the plan as well."""
    check_options(method, options)
    own = {name: value for name, value in options.items() if name not in _COMMON}
    matrix, labels = tree._checked(X), np.asarray(y).reshape(-1)
    features = features_of(tree, matrix, options.get("feature_kinds"), options.get("features"))
    if method == "holdout" and own.get("validation") is None:
        aside = hold_out(matrix, labels, own.get("fraction", 0.2), options.get("random_state", 0))[1]
        weights = as_weights(options.get("sample_weight"), matrix.shape[0])
        own = {"validation": (matrix[aside], labels[aside], None if weights is None else weights[aside])}
    elif method == "holdout" and "fraction" in own:
        raise TypeError("expected validation or fraction for method 'holdout', got both")
    view = look_at(tree, matrix, labels, options.get("sample_weight"), features)
    if method in _WITH_FOLDS:
        if method == "m_cost_complexity":
            own["modified"] = True
        own.setdefault("random_state", options.get("random_state", 0))
        outcome = _WITH_FOLDS[method](view, labels, options.get("grow") or grow, **own)
    else:
        outcome = {**_SIMPLE, "holdout": prune_holdout}[method](view, **own)
    return _result(view, method, outcome), outcome.plan


def _result(view: View, method: str, outcome: Outcome) -> PruneResult:
    """The tree of a plan, and all that is known about it."""
    tree = finished(view, outcome)
    settings = dict(outcome.settings)
    settings["features"] = view.features
    settings["error_before"] = float(view.below(view.is_leaf)[0] / view.total)
    settings["error_after"] = _error_of(tree, view, outcome)
    return PruneResult(tree, view.tree, method, outcome.path, settings, outcome.bound)


def _error_of(tree: Tree, view: View, outcome: Outcome) -> float:
    """Training error of the new tree; without moved nodes and new labels the sum over its leaves."""
    plan = outcome.plan
    label = tree.value.argmax(axis=1)
    if not plan.moved and np.array_equal(label, view.label[plan.source]):
        return float(view.leaf_errors[plan.source[np.diff(plan.child_start) == 0]].sum() / view.total)
    return float(np.average(label[tree.apply(view.X)] != view.codes, weights=view.weights))


def finished(view: View, outcome: Outcome) -> Tree:
    """The tree of an outcome, with the class weights of the rows where nodes have moved."""
    tree = tree_by(view.tree, outcome.plan, outcome.value)
    if outcome.plan.moved and outcome.value is None:
        return refilled(tree, view.X, view.codes, view.weights)
    return tree



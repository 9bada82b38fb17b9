"""Pruning as part of fitting: which rows a classifier grows on, and how its tree is pruned."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from ._prune_result import PruneResult

if TYPE_CHECKING:
    from .classifier import TreeClassifier


@dataclass(frozen=True, slots=True)
class Rest:
    """Rows to grow on, and what is left to do."""

    grow_on: tuple[npt.NDArray[Any], npt.NDArray[Any], Any]
    """X, y and weights."""
    method: str | None
    options: dict[str, Any]


def split_rows(prune: Any, X: npt.NDArray[Any], y: npt.NDArray[Any], weights: Any) -> Rest:
    """Read ``prune``, and put rows aside where it asks for that."""
    from ._prune_rules import hold_out
    from .pruning import check_options

    if prune is None:
        return Rest((X, y, weights), None, {})
    if not isinstance(prune, (str, Mapping)):
        raise TypeError(f"expected prune to be a method, a dict with one, or None, got {prune!r}")
    options = {} if isinstance(prune, str) else dict(prune)
    method = prune if isinstance(prune, str) else options.pop("method", None)
    if method is None:
        raise ValueError("expected the entry 'method' in prune, got none")
    check_options(method, options)
    if method != "holdout" or options.get("validation") is not None:
        return Rest((X, y, weights), method, options)
    kept, aside = hold_out(X, y, options.pop("fraction", 0.2), options.pop("random_state", 0))
    # Every class has to be known to the tree: the first row of a class that would be put aside as a whole is grown on.
    missing = np.setdiff1d(np.unique(y), np.unique(y[kept]))
    first = np.array([int(np.flatnonzero(y == label)[0]) for label in missing], dtype=np.intp)
    kept, aside = np.sort(np.append(kept, first)), np.setdiff1d(aside, first)
    used = aside if aside.size else kept
    options["validation"] = (X[used], y[used], None if weights is None else weights[used])
    return Rest((X[kept], y[kept], None if weights is None else weights[kept]), method, options)


def prune_grown(model: TreeClassifier, rest: Rest, kinds: list[str]) -> PruneResult:
    """Prune the tree that a classifier has just grown."""
    from .pruning import _prune_tree

    X, y, weights = rest.grow_on

    def grow(X: Any, y: Any, weights: Any) -> Any:
        return model._grown(X, y, weights, kinds)

    options = {"feature_kinds": _kinds_of(model, kinds), "sample_weight": weights, **rest.options}
    if "features" in rest.options:
        options.pop("feature_kinds")
    return _prune_tree(model.tree_, X, y, str(rest.method), grow, options)


def _kinds_of(model: TreeClassifier, kinds: list[str]) -> list[str]:
    """Kinds for the VC dimension: in a multiway tree every feature is one."""
    return ["multiway"] * len(kinds) if model.tree == "multiway" else kinds

"""What pruning looks at: a tree, and how many rows of each class reach each of its nodes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from .. import _prune
from .._counts import finite_state
from .._covers import multiway_stump_lower
from .._table import MULTIWAY, ONE, SUBSET, as_kinds, as_weights
from ..bounds_lower import stump_lower, stump_vc_binary
from ..features import Features
from ..trees import Tree

Doubles = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]


def class_codes(y: Any, classes: npt.NDArray[Any], m: int) -> npt.NDArray[np.int32]:
    """Codes of labels among the classes of a tree; one past the last for a class that the tree does not know."""
    labels = np.asarray(y)
    if labels.ndim == 2 and labels.shape[1] == 1:
        labels = labels.reshape(-1)
    if labels.shape != (m,):
        raise ValueError(f"expected y to have one label for each of {m} rows, got shape {labels.shape}")
    if labels.dtype.kind == "f" and np.isnan(labels).any():
        raise ValueError("expected y without missing values, got nan")
    found, places = np.unique(labels, return_inverse=True)
    known = {label: code for code, label in enumerate(classes.tolist())}
    of_found = np.array([known.get(label, classes.size) for label in found.tolist()], dtype=np.int32)
    return of_found[places.reshape(-1)]


@dataclass(frozen=True)
class View:
    """A tree with the rows that reach each node; every array has one entry (or row) per node."""

    tree: Tree
    X: npt.NDArray[Any]
    codes: npt.NDArray[np.int32]
    weights: Doubles | None
    features: Features
    parent: Ints
    is_leaf: npt.NDArray[np.uint8]
    counts: Doubles
    """Weight of each class; one more column than classes if there are rows of a class that the tree does not know."""
    rows: Doubles
    label: Ints
    """Class that the node predicts as a leaf."""
    leaf_errors: Doubles
    """Weight of the rows that the node gets wrong as a leaf."""

    @cached_property
    def total(self) -> float:
        """Weight of all rows."""
        return float(self.rows[0])

    @cached_property
    def depth(self) -> Ints:
        """Tests above each node."""
        return self.tree.depths()

    @cached_property
    def single(self) -> Doubles:
        """Lower bound on the VC dimension of each node as if its children were leaves."""
        return _single_nodes(self.tree, self.features, self.depth if self.features.is_binary_only else None)

    def below(self, leaf: npt.NDArray[np.uint8]) -> Doubles:
        """Errors of each subtree when these nodes are leaves."""
        values = self.leaf_errors.copy()
        _prune.subtree_sums(self.parent, leaf, values)
        return values


def look_at(tree: Tree, X: Any, y: Any, sample_weight: Any = None, features: Features | None = None) -> View:
    """Send the rows down the tree, once."""
    matrix = tree._checked(X)
    m = matrix.shape[0]
    if m < 1:
        raise ValueError("expected at least 1 row, got 0")
    codes = class_codes(y, tree.classes, m)
    weights = as_weights(sample_weight, m)
    if weights is not None and not weights.any():
        raise ValueError("expected some sample_weight > 0, got none")
    parent = tree.parents()
    k = int(tree.classes.size)
    counts = np.zeros((tree.n_all, max(k, int(codes.max()) + 1)))
    _prune.count_rows(tree.apply(matrix), codes, np.empty(0) if weights is None else weights, parent, counts)
    label = tree.value.argmax(axis=1)
    rows = counts.sum(axis=1)
    errors = rows - counts[np.arange(tree.n_all), label]
    is_leaf = (tree.feature < 0).astype(np.uint8)
    kinds = Features(real=tree.n_features) if features is None else features
    return View(tree, matrix, codes, weights, kinds, parent, is_leaf, counts, rows, label, np.maximum(errors, 0.0))


def tree_kinds(tree: Tree) -> tuple[str, ...]:
    """The kind of each feature as far as the tests of the tree tell: nominal, multiway, else real."""
    kinds = ["multiway" if not tree.is_binary or (tree.test == MULTIWAY).any() else "real"] * tree.n_features
    inner = tree.feature >= 0
    for code, kind in ((ONE, "nominal"), (SUBSET, "nominal"), (MULTIWAY, "multiway")):
        for feature in np.unique(tree.feature[inner & (tree.test == code)]).tolist():
            kinds[feature] = kind
    return tuple(kinds)


def features_in(X: npt.NDArray[Any], kinds: Sequence[str]) -> Features:
    """Features as the VC dimension sees them; columns with one value can split nothing."""
    counts = Counter(kinds)
    if set(counts) <= {"real"}:
        spread = np.nanmax(X, axis=0) > np.nanmin(X, axis=0) if X.size else np.zeros(0, bool)
        return Features(real=int(spread.sum()))
    sizes = [np.unique(column[~np.isnan(column)]).size for column in np.asarray(X, dtype=np.float64).T]
    usable = [(kind, size) for kind, size in zip(kinds, sizes, strict=True) if size >= 2]
    return Features(
        real=sum(kind == "real" for kind, _ in usable),
        binary=sum(kind == "binary" for kind, _ in usable),
        ordinal=[size for kind, size in usable if kind == "ordinal"],
        nominal=[size for kind, size in usable if kind == "nominal"],
        multiway=[size for kind, size in usable if kind == "multiway"],
    )


def features_of(tree: Tree, X: npt.NDArray[Any], feature_kinds: Any, features: Features | None) -> Features:
    """The features of a call: given, or of given kinds, or of the kinds that the tree tests."""
    if features is not None:
        if not isinstance(features, Features):
            raise TypeError(f"expected features to be a Features, got {features!r}")
        return features
    kinds = tree_kinds(tree) if feature_kinds is None else as_kinds(feature_kinds, tree.n_features)
    return features_in(X, kinds)


def _single_nodes(tree: Tree, features: Features, depth: Ints | None) -> Doubles:
    """One bound per node: with the features that are left below the tests above it."""
    out = np.ones(tree.n_all)
    arity = np.diff(tree.child_start)
    if depth is not None:  # every test above uses up a binary feature
        of_depth = np.array([stump_vc_binary(max(0, features.binary - at)) for at in range(int(depth.max()) + 1)])
        out[arity == 2] = of_depth[depth[arity == 2]]
        return out
    out[arity == 2] = stump_lower(features.real, finite_state(features)) if arity.any() else 1
    wide = np.flatnonzero(arity > 2).tolist()
    if wide:
        there_are = Counter(features.multiway)
        used = _used_above(tree, arity)
        for node in wide:
            left = there_are[int(arity[node])] - used[node]
            out[node] = multiway_stump_lower(int(arity[node]), left) if left > 0 else 1
    return out


def _used_above(tree: Tree, arity: Ints) -> list[int]:
    """How many nodes above each node have as many children as it has."""
    seen: list[dict[int, int]] = [{} for _ in range(tree.n_all)]
    out = [0] * tree.n_all
    parents, sizes = tree.parents().tolist(), arity.tolist()
    for node, parent in enumerate(parents):
        if parent >= 0:
            above = seen[parent]
            seen[node] = above if not sizes[node] else dict(above)
        out[node] = seen[node].get(sizes[node], 0)
        if sizes[node]:
            seen[node] = seen[node] | {sizes[node]: out[node] + 1}
    return out

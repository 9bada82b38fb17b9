"""Decision trees as flat arrays: immutable, without recursion, ready for drawing, saving and sending rows down."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from typing import Any, NoReturn

import numpy as np
import numpy.typing as npt

from . import _walk
from ._table import MULTIWAY, as_matrix
from ._tree_draw import draw_dot, draw_svg
from ._tree_text import rules_of, text_of
from .structures import Structure

TESTS = ("threshold", "one", "subset", "multiway")
"""Names of the tests; the position is the code in `Tree.test`."""


class Tree:
    """A decision tree: a structure with its tests and the classes of its leaves.

    Parameters
    ----------
    feature : array of int
        Feature that each node tests, -1 for a leaf.  Node 0 is the root; nodes are in preorder.
    test : array of int
        How: 0 threshold (x <= t is child 0), 1 one category against the rest, 2 subset of categories (child 0) against
        the rest, 3 multiway (one child per category).
    threshold : array of float
        Threshold, or the category of a test of kind 1.
    children : sequence of sequences of int
        Children of each node, () for a leaf.
    value : array of shape (nodes, classes)
        Weight of each class in each node.
    classes : array
        Class labels.
    n_features : int
        Features of the data.
    sets : sequence of sequences of float, optional
        Ascending categories of each node: those of child 0 in a subset test, one per child in a multiway test.
    missing : array of int, optional
        Which child (0, 1, ...) takes missing values and categories that a multiway node has not seen; the child of
        largest weight unless given.
    n_samples : array of int, optional
        Rows in each node; the rounded weight unless given.
    gain : array of float, optional
        Gain of each split.
    takes_missing : bool
        Whether NaN may be sent down.
    as_single : bool
        Whether values are rounded to float32 before a test, as scikit-learn does.
    feature_names : sequence of str, optional
        Names for exports.
    categories : mapping of int to sequence of str, optional
        Names of the categories of nominal features, for exports.
    criterion : str
        What the gains measure.

    Notes
    -----
    All arrays are read-only.  Sending m rows down costs O(m height).

    Examples
    --------
    >>> t = Tree([0, -1, -1], [0, 0, 0], [2.5, 0, 0], [(1, 2), (), ()], [[2, 1], [2, 0], [0, 1]], ["a", "b"], 1)
    >>> t.predict([[1.0], [3.0]]).tolist()
    ['a', 'b']
    >>> t.structure
    Structure('(..)')
    >>> print(t.to_text())
    x0 <= 2.5?
    |- yes: a (2)
    `- no: b (1)
    """

    __slots__ = (
        "_structure", "as_single", "categories", "child", "child_start", "classes", "criterion", "feature",
        "feature_names", "gain", "missing", "n_features", "n_samples", "set_start", "set_values", "takes_missing",
        "test", "threshold", "value",
    )  # fmt: skip

    feature: npt.NDArray[np.int32]
    test: npt.NDArray[np.int8]
    threshold: npt.NDArray[np.float64]
    child_start: npt.NDArray[np.int64]
    child: npt.NDArray[np.int64]
    set_start: npt.NDArray[np.int64]
    set_values: npt.NDArray[np.float64]
    missing: npt.NDArray[np.int32]
    value: npt.NDArray[np.float64]
    n_samples: npt.NDArray[np.int64]
    gain: npt.NDArray[np.float64]
    classes: npt.NDArray[Any]
    n_features: int
    takes_missing: bool
    as_single: bool
    feature_names: tuple[str, ...] | None
    categories: dict[int, tuple[str, ...]]
    criterion: str
    _structure: Structure | None

    def __init__(
        self,
        feature: Any,
        test: Any,
        threshold: Any,
        children: Sequence[Sequence[int]],
        value: Any,
        classes: Any,
        n_features: int,
        *,
        sets: Sequence[Sequence[float]] | None = None,
        missing: Any = None,
        n_samples: Any = None,
        gain: Any = None,
        takes_missing: bool = False,
        as_single: bool = False,
        feature_names: Sequence[str] | None = None,
        categories: Mapping[int, Sequence[str]] | None = None,
        criterion: str = "gini",
    ) -> None:
        n = len(children)
        starts, flat = _as_rows(children, np.int64)
        set_starts, set_flat = _as_rows(sets if sets is not None else [()] * n, np.float64)
        self._fill(
            feature, test, threshold, starts, flat, set_starts, set_flat, missing, value, n_samples, gain, classes,
            n_features, takes_missing, as_single, feature_names, categories, criterion,
        )  # fmt: skip
        self.check()

    def _fill(
        self, feature: Any, test: Any, threshold: Any, child_start: Any, child: Any, set_start: Any, set_values: Any,
        missing: Any, value: Any, n_samples: Any, gain: Any, classes: Any, n_features: int, takes_missing: bool,
        as_single: bool, feature_names: Sequence[str] | None, categories: Mapping[int, Sequence[str]] | None,
        criterion: str,
    ) -> None:  # fmt: skip
        """Store read-only arrays; nothing is checked here."""
        n = len(child_start) - 1
        weights = np.asarray(value, dtype=np.float64)
        arrays = {
            "feature": (feature, np.int32), "test": (test, np.int8), "threshold": (threshold, np.float64),
            "child_start": (child_start, np.int64), "child": (child, np.int64), "set_start": (set_start, np.int64),
            "set_values": (set_values, np.float64), "value": (weights, np.float64),
            "n_samples": (np.rint(weights.sum(axis=1)) if n_samples is None else n_samples, np.int64),
            "gain": (np.zeros(n) if gain is None else gain, np.float64),
        }  # fmt: skip
        for name, (array, dtype) in arrays.items():
            object.__setattr__(self, name, _frozen(array, dtype))
        object.__setattr__(self, "classes", _frozen(classes, None))
        object.__setattr__(self, "missing", _frozen(self._largest() if missing is None else missing, np.int32))
        object.__setattr__(self, "n_features", int(n_features))
        object.__setattr__(self, "takes_missing", bool(takes_missing))
        object.__setattr__(self, "as_single", bool(as_single))
        names = None if feature_names is None else tuple(str(name) for name in feature_names)
        object.__setattr__(self, "feature_names", names)
        kept = {int(key): tuple(str(name) for name in names) for key, names in (categories or {}).items()}
        object.__setattr__(self, "categories", kept)
        object.__setattr__(self, "criterion", str(criterion))
        object.__setattr__(self, "_structure", None)

    def __setattr__(self, name: str, value: object) -> NoReturn:
        raise AttributeError(f"expected no change to a tree, which is immutable, got {name} = {value!r}")

    def __delattr__(self, name: str) -> NoReturn:
        raise AttributeError(f"expected no change to a tree, which is immutable, got del {name}")

    def __reduce__(self) -> tuple[Any, tuple[Any, ...]]:
        return _rebuild, tuple(getattr(self, name) for name in _STATE)

    # ---- what it is

    def check(self) -> None:
        """Raise ValueError unless every invariant of the arrays holds."""
        n = self.n_all
        inner = self.feature >= 0
        counts = np.diff(self.child_start)
        if n < 1:
            raise ValueError("expected at least 1 node, got 0")
        for name in ("feature", "test", "threshold", "missing", "n_samples", "gain"):
            if getattr(self, name).shape != (n,):
                raise ValueError(f"expected {name} to have one entry for each of {n} nodes")
        if self.value.shape != (n, self.classes.size):
            raise ValueError(f"expected value to have shape {(n, self.classes.size)}, got {self.value.shape}")
        if (self.feature >= self.n_features).any():
            raise ValueError(f"expected features below {self.n_features}, got {int(self.feature.max())}")
        if ((counts >= 2) != inner).any() or ((counts == 0) == inner).any():
            raise ValueError("expected no child for a leaf and two or more for every other node")
        if not np.array_equal(np.sort(self.child), np.arange(1, n)):
            raise ValueError("expected every node but the root to be a child exactly once")
        if (self.child <= np.repeat(np.arange(n), counts)).any():
            raise ValueError("expected children to come after their parent")
        if inner.any() and not ((self.test >= 0) & (self.test <= MULTIWAY))[inner].all():
            raise ValueError("expected every test to be one of 0, 1, 2, 3")
        sizes = np.diff(self.set_start)
        if ((self.test == MULTIWAY) & inner & (sizes != counts)).any():
            raise ValueError("expected one category for each child of a multiway node")
        if ((self.test != MULTIWAY) & inner & (counts != 2)).any():
            raise ValueError("expected two children for a node that is not multiway")
        if (inner & ((self.missing < 0) | (self.missing >= counts))).any():
            raise ValueError("expected missing to name a child of its node")

    @property
    def n_all(self) -> int:
        """Nodes and leaves together."""
        return int(self.child_start.size) - 1

    @property
    def n_nodes(self) -> int:
        """Nodes that test something."""
        return int((self.feature >= 0).sum())

    @property
    def n_leaves(self) -> int:
        """Leaves."""
        return self.n_all - self.n_nodes

    @property
    def height(self) -> int:
        """Tests on the longest path."""
        return int(self.depths().max())

    @property
    def is_binary(self) -> bool:
        """Whether every node has two children."""
        return int(self.child.size) == 2 * self.n_nodes

    def parents(self) -> npt.NDArray[np.int64]:
        """Return the parent of each node, -1 for the root."""
        out = np.full(self.n_all, -1, dtype=np.int64)
        out[self.child] = np.repeat(np.arange(self.n_all), np.diff(self.child_start))
        return out

    def depths(self) -> npt.NDArray[np.int64]:
        """Return how many tests lie above each node.  Cost O(nodes)."""
        depth = [0] * self.n_all
        for node, parent in enumerate(self.parents().tolist()):
            if parent >= 0:
                depth[node] = depth[parent] + 1
        return np.array(depth, dtype=np.int64)

    def children(self, node: int) -> tuple[int, ...]:
        """Return the children of a node, () for a leaf."""
        return tuple(self.child[self.child_start[node] : self.child_start[node + 1]].tolist())

    def set_of(self, node: int) -> tuple[float, ...]:
        """Return the categories stored with a node."""
        return tuple(self.set_values[self.set_start[node] : self.set_start[node + 1]].tolist())

    def _child_at(self, place: int) -> npt.NDArray[np.int64]:
        """Child number ``place`` of every node, -1 for a leaf."""
        if not self.is_binary:
            raise AttributeError("expected a binary tree for children_left and children_right, got a multiway tree")
        out = np.full(self.n_all, -1, dtype=np.int64)
        inner = self.feature >= 0
        out[inner] = self.child[self.child_start[:-1][inner] + place]
        return out

    @property
    def children_left(self) -> npt.NDArray[np.int64]:
        """Left child of each node of a binary tree, -1 for a leaf."""
        return self._child_at(0)

    @property
    def children_right(self) -> npt.NDArray[np.int64]:
        """Right child of each node of a binary tree, -1 for a leaf."""
        return self._child_at(1)

    @property
    def structure(self) -> Structure:
        """The shape of the tree."""
        kept = self._structure
        if kept is None:
            kept = Structure.parse(_spelling(self))
            object.__setattr__(self, "_structure", kept)
        return kept

    def _largest(self) -> npt.NDArray[np.int64]:
        """The place of the child of largest weight, the first of equals, -1 for a leaf."""
        weight = self.value.sum(axis=1).tolist()
        out = np.full(self.n_all, -1, dtype=np.int64)
        for node in np.flatnonzero(np.diff(self.child_start)).tolist():
            below = [weight[child] for child in self.children(node)]
            out[node] = below.index(max(below))
        return out

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Tree):
            return NotImplemented
        return all(_same(getattr(self, name), getattr(other, name)) for name in _STATE)

    def __hash__(self) -> int:
        return hash((self.feature.tobytes(), self.threshold.tobytes(), self.child.tobytes()))

    def __repr__(self) -> str:
        size = f"{self.n_nodes} nodes, {self.n_leaves} leaves, height {self.height}"
        return f"<Tree: {size}, {self.classes.size} classes>"

    def __str__(self) -> str:
        return self.to_text()

    # ---- sending rows down

    def _checked(self, X: Any) -> npt.NDArray[Any]:
        """Rows as a matrix with the right number of columns."""
        matrix = as_matrix(X)
        if matrix.shape[1] != self.n_features:
            raise ValueError(f"expected X to have {self.n_features} features, got {matrix.shape[1]}")
        if not self.takes_missing and matrix.size and bool(np.isnan(np.min(matrix))):
            raise ValueError("expected X without missing values, got nan")
        return matrix

    def _walk(self, X: Any) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
        return _walk.apply(
            self._checked(X), self.feature, self.test, self.threshold, self.child_start, self.child, self.set_start,
            self.set_values, self.missing, self.as_single,
        )  # fmt: skip

    def apply(self, X: Any) -> npt.NDArray[np.int64]:
        """Return the leaf that each row of ``X`` reaches."""
        return self._walk(X)[0]

    def predict(self, X: Any) -> npt.NDArray[Any]:
        """Return the class of each row of ``X``: the heaviest of its leaf, the first of equals."""
        labels: npt.NDArray[Any] = self.classes[self.value.argmax(axis=1)[self.apply(X)]]
        return labels

    def predict_proba(self, X: Any) -> npt.NDArray[np.float64]:
        """Return the class shares of the leaf of each row of ``X``; equal shares where a leaf is empty."""
        total = self.value.sum(axis=1, keepdims=True)
        shares = np.where(total > 0, self.value / np.where(total > 0, total, 1.0), 1.0 / self.classes.size)
        out: npt.NDArray[np.float64] = shares[self.apply(X)]
        return out

    def decision_path(self, X: Any) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
        """Return the nodes that each row of ``X`` passes, root first.

        Returns
        -------
        (starts, nodes) : arrays of int
            Row i passes ``nodes[starts[i]:starts[i + 1]]``.
        """
        return _walk.path(*self._walk(X), self.parents())

    def score(self, X: Any, y: Any) -> float:
        """Return the share of rows whose class is predicted."""
        return float(np.mean(self.predict(X) == np.asarray(y)))

    # ---- exports

    def feature_name(self, feature: int) -> str:
        """Return the name of a feature, ``x3`` without names."""
        return f"x{feature}" if self.feature_names is None else self.feature_names[feature]

    def category_name(self, feature: int, category: float) -> str:
        """Return the name of a category of a feature, its code without names."""
        names = self.categories.get(feature, ())
        if not math.isnan(category) and 0 <= category < len(names):
            return names[int(category)]
        return f"{category:g}"

    def to_text(self, max_depth: int | None = None, *, unicode: bool = False) -> str:
        """Return the tree as indented text, one line per node, nodes below ``max_depth`` left out."""
        return text_of(self, max_depth, unicode)

    def rules(self) -> list[str]:
        """Return one if/then rule per leaf, left to right, each feature's bounds merged."""
        return rules_of(self)

    def to_svg(self) -> str:
        """Return a drawing as SVG."""
        return draw_svg(self)

    def _repr_svg_(self) -> str:
        return draw_svg(self)

    def to_dot(self) -> str:
        """Return the tree in Graphviz dot."""
        return draw_dot(self)

    def to_dict(self) -> dict[str, Any]:
        """Return the tree as plain lists, numbers and strings; `from_dict` reads it."""
        classes = self.classes
        return {
            "format": "vcdim_core tree", "version": 1, "criterion": self.criterion, "n_features": self.n_features,
            "classes": classes.tolist(), "class_dtype": classes.dtype.str if classes.dtype != object else "object",
            "feature_names": None if self.feature_names is None else list(self.feature_names),
            "categories": {str(key): list(names) for key, names in self.categories.items()},
            "takes_missing": self.takes_missing, "as_single": self.as_single,
            "feature": self.feature.tolist(), "test": self.test.tolist(),
            "threshold": _plain(self.threshold), "gain": _plain(self.gain), "missing": self.missing.tolist(),
            "children": [list(self.children(node)) for node in range(self.n_all)],
            "sets": [_plain(np.array(self.set_of(node))) for node in range(self.n_all)],
            "value": self.value.tolist(), "n_samples": self.n_samples.tolist(),
        }  # fmt: skip

    def to_json(self, indent: int | None = None) -> str:
        """Return `to_dict` as JSON."""
        return json.dumps(self.to_dict(), indent=indent, allow_nan=False)

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Tree:
        """Return the tree that `to_dict` wrote."""
        if data.get("format") != "vcdim_core tree" or data.get("version") != 1:
            raise ValueError(f"expected a tree of format version 1, got {data.get('format')!r} {data.get('version')!r}")
        try:
            return cls(
                data["feature"], data["test"], _floats(data["threshold"]), data["children"], data["value"],
                np.array(data["classes"], dtype=np.dtype(data["class_dtype"])), data["n_features"],
                sets=[_floats(row) for row in data["sets"]], missing=data["missing"], n_samples=data["n_samples"],
                gain=_floats(data["gain"]), takes_missing=data["takes_missing"], as_single=data["as_single"],
                feature_names=data["feature_names"],
                categories={int(key): names for key, names in data["categories"].items()},
                criterion=data["criterion"],
            )  # fmt: skip
        except KeyError as error:
            raise ValueError(f"expected the entry {error.args[0]!r} of a tree, got none") from None

    @classmethod
    def from_json(cls, text: str) -> Tree:
        """Return the tree that `to_json` wrote."""
        data = json.loads(text)
        if not isinstance(data, dict):
            raise ValueError(f"expected a JSON object, got {type(data).__name__}")
        return cls.from_dict(data)

    @classmethod
    def from_sklearn(cls, estimator: Any, feature_names: Sequence[str] | None = None) -> Tree:
        """Return a fitted scikit-learn decision tree classifier as a Tree that predicts the same.

        Parameters
        ----------
        estimator : DecisionTreeClassifier or ExtraTreeClassifier
            Fitted, with one output.
        feature_names : sequence of str, optional
            Names; those of the estimator unless given.

        Returns
        -------
        Tree
        """
        inner, classes = getattr(estimator, "tree_", None), getattr(estimator, "classes_", None)
        if inner is None or classes is None:
            raise TypeError(f"expected a fitted scikit-learn tree classifier, got {type(estimator).__name__}")
        if isinstance(inner, Tree):
            return inner
        if inner.n_outputs != 1:
            raise ValueError(f"expected one output, got {inner.n_outputs}")
        left, right = inner.children_left.tolist(), inner.children_right.tolist()
        leaf = inner.children_left < 0
        total = inner.weighted_n_node_samples[:, None]
        value = inner.value[:, 0, :]
        shares = value / value.sum(axis=1, keepdims=True)
        go_left = getattr(inner, "missing_go_to_left", np.zeros(leaf.size, dtype=np.uint8))
        names = feature_names if feature_names is not None else getattr(estimator, "feature_names_in_", None)
        return cls(
            np.where(leaf, -1, inner.feature), np.zeros(leaf.size), np.where(leaf, 0.0, inner.threshold),
            [() if a < 0 else (a, b) for a, b in zip(left, right, strict=True)], shares * total, classes,
            inner.n_features, missing=np.where(leaf, -1, np.where(go_left, 0, 1)), n_samples=inner.n_node_samples,
            gain=_sklearn_gains(inner), takes_missing=True, as_single=True, feature_names=names,
            criterion=str(getattr(estimator, "criterion", "gini")),
        )  # fmt: skip


_STATE = (
    "feature", "test", "threshold", "child_start", "child", "set_start", "set_values", "missing", "value", "n_samples",
    "gain", "classes", "n_features", "takes_missing", "as_single", "feature_names", "categories", "criterion",
)  # fmt: skip


def _rebuild(*state: Any) -> Tree:
    """Return a tree from its stored fields (pickling, kernels)."""
    tree = Tree.__new__(Tree)
    tree._fill(*state)
    return tree


def tree_from_arrays(arrays: Mapping[str, npt.NDArray[Any]], **rest: Any) -> Tree:
    """Return the binary tree that a growing kernel described.

    ``rest`` gives classes, n_features, takes_missing, feature_names, categories, criterion and weighted.
    """
    left, right = arrays["left"], arrays["right"]
    inner = left >= 0
    starts = np.zeros(left.size + 1, dtype=np.int64)
    np.cumsum(2 * inner, out=starts[1:])
    child = np.empty(int(starts[-1]), dtype=np.int64)
    places = np.flatnonzero(inner)  # four times as fast as a mask of booleans
    child[0::2], child[1::2] = left[places], right[places]
    sizes = arrays["set_end"] - arrays["set_start"]
    set_starts = np.zeros(left.size + 1, dtype=np.int64)
    if sizes.size:
        np.cumsum(sizes, out=set_starts[1:])
    # Sets were stored in order of creation; gather them node by node, ascending.
    sets = np.empty(int(set_starts[-1]))
    for node in np.flatnonzero(sizes).tolist():
        stored = arrays["sets"][arrays["set_start"][node] : arrays["set_end"][node]]
        sets[set_starts[node] : set_starts[node + 1]] = np.sort(stored)
    # Rows that all count once are their own weight.
    weight = _row_sums(arrays["value"]) if rest["weighted"] else arrays["n_samples"]
    heavier = np.where(weight[left] >= weight[right], 0, 1)
    missing = np.where(inner, np.where(arrays["missing_left"] < 0, heavier, 1 - arrays["missing_left"]), -1)
    for array in (*arrays.values(), starts, child, set_starts, sets):
        array.flags.writeable = False  # nobody else holds them, so that the tree need not copy them
    return _rebuild(
        arrays["feature"], arrays["test"], arrays["threshold"], starts, child, set_starts, sets, missing,
        arrays["value"], arrays["n_samples"], arrays["gain"], rest["classes"], rest["n_features"],
        rest["takes_missing"], False, rest["feature_names"], rest["categories"], rest["criterion"],
    )  # fmt: skip


def multiway_tree(
    grown: list[npt.NDArray[Any]], values: Sequence[npt.NDArray[np.float64]], **rest: Any
) -> Tree:
    """Return the multiway tree that ``_multiway.grow`` described; ``values`` lists those of each feature.

    ``rest`` as for `tree_from_arrays`.  Empties ``grown``, so that no array is held twice.
    """
    place = grown.pop()
    first, gain, value, rows, feature = (_in_order(grown.pop(), place) for _ in range(5))
    inner = np.flatnonzero(feature >= 0)
    counts = np.array([found.size for found in values], dtype=np.int64)[feature[inner]]
    starts = np.zeros(feature.size + 1, dtype=np.int64)
    starts[inner + 1] = counts
    np.cumsum(starts, out=starts)
    before = starts[inner]
    # The children of a node were made together: first, first + 1, ...
    child = np.repeat(first[inner] - before, counts)
    child += np.arange(starts[-1])
    np.take(place, child, out=child)
    del place, first
    sets = np.concatenate([values[f] for f in feature[inner].tolist()]) if inner.size else np.empty(0)
    missing = np.full(feature.size, -1, dtype=np.int32)
    if inner.size:
        below = rows[child]
        largest = np.flatnonzero(below == np.repeat(np.maximum.reduceat(below, before), counts))
        absent = np.isnan(sets[before + counts - 1])
        missing[inner] = np.where(absent, counts - 1, largest[np.searchsorted(largest, before)] - before)
    for array in (starts, child, sets, missing):
        array.flags.writeable = False
    test = np.where(feature >= 0, MULTIWAY, 0).astype(np.int8)
    made = _rebuild(
        feature, test, np.zeros(feature.size), starts, child, starts, sets, missing, value, rows, gain,
        rest["classes"], rest["n_features"], rest["takes_missing"], False, rest["feature_names"], rest["categories"],
        rest["criterion"],
    )  # fmt: skip
    made.check()
    return made


def _in_order(array: npt.NDArray[Any], place: npt.NDArray[np.int64]) -> npt.NDArray[Any]:
    """The entries of an array of nodes in the order of their places, read-only."""
    out = np.empty_like(array)
    out[place] = array
    out.flags.writeable = False
    return out


def _row_sums(value: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    """``value.sum(axis=1)``, to the last bit; below 8 columns NumPy adds in order, which is faster done by columns."""
    if not 0 < value.shape[1] < 8:
        return np.asarray(value.sum(axis=1))
    out = value[:, 0].copy()
    for column in range(1, value.shape[1]):
        out += value[:, column]
    return out


def _as_rows(rows: Sequence[Sequence[Any]], dtype: Any) -> tuple[npt.NDArray[np.int64], npt.NDArray[Any]]:
    """Rows of different length as starts and one flat array."""
    starts = np.zeros(len(rows) + 1, dtype=np.int64)
    np.cumsum([len(row) for row in rows], out=starts[1:])
    return starts, np.array([entry for row in rows for entry in row], dtype=dtype)


def _frozen(array: Any, dtype: Any) -> npt.NDArray[Any]:
    """A read-only contiguous copy; an array that is so already serves as it is."""
    if isinstance(array, np.ndarray) and dtype is not None and array.dtype == dtype:
        flags = array.flags
        if flags.owndata and flags.c_contiguous and not flags.writeable:
            return array
    out = np.array(array, dtype=dtype, order="C")
    out.flags.writeable = False
    return out


def _same(a: Any, b: Any) -> bool:
    """Equality of two fields; NaN equals NaN."""
    if isinstance(a, np.ndarray):
        return a.shape == b.shape and bool(np.array_equal(a, b, equal_nan=a.dtype.kind == "f"))
    return bool(a == b)


def _plain(array: npt.NDArray[np.float64]) -> list[float | str]:
    """Numbers for JSON; inf and nan, which it has not, as words."""
    return [number if math.isfinite(number) else str(number) for number in array.tolist()]


def _floats(row: Sequence[float | str]) -> list[float]:
    """Numbers from ``_plain``."""
    return [float(entry) for entry in row]


def _spelling(tree: Tree) -> str:
    """The spelling of the tree's structure, without recursion."""
    out: list[str] = []
    pending: list[int] = [0]  # -1 closes a node
    starts, child = tree.child_start.tolist(), tree.child.tolist()
    while pending:
        node = pending.pop()
        if node < 0:
            out.append(")")
        elif starts[node] == starts[node + 1]:
            out.append(".")
        else:
            out.append("(")
            pending.append(-1)
            pending.extend(reversed(child[starts[node] : starts[node + 1]]))
    return "".join(out)


def _sklearn_gains(inner: Any) -> npt.NDArray[np.float64]:
    """Impurity decrease of each split of a scikit-learn tree."""
    left, right, weight = inner.children_left, inner.children_right, inner.weighted_n_node_samples
    drop = inner.impurity - (weight[left] * inner.impurity[left] + weight[right] * inner.impurity[right]) / weight
    return np.where(left < 0, 0.0, np.maximum(drop, 0.0))

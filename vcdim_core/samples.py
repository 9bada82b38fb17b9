"""One sample: which labellings a structure realises on it, and by which trees."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from . import _orbits, _realise
from ._problem import MAX_FEATURES, MAX_POINTS, MULTIWAY, NOMINAL, ORDERED, SUBSETS, Problem, no_limits
from .features import Features, as_features

if TYPE_CHECKING:
    import numpy.typing as npt

    from .trees import Tree

__all__ = ["dichotomies", "is_shattered", "realize", "unrealised"]


def is_shattered(
    structure: object, X: object, *, features: Features | None = None, orientation: str = "free",
    nominal_splits: str = "one",
) -> bool:  # fmt: skip
    """Say whether every labelling of a sample is realised by some tree of the structure.

    Parameters
    ----------
    structure : Structure, str, nested tuples or fitted scikit-learn tree
        The structure.
    X : array-like of shape (m, n_features)
        The sample: at most 24 distinct points on at most 16 features.
    features : Features, optional
        What the columns are; binary (entries 0 or 1) unless given. Categories are numbered from 0.
    orientation : {"free", "fixed"}
        Whether a node may send either side of its test to either child.
    nominal_splits : {"one", "subset"}
        How a nominal feature is tested: one category against the others, or any set of categories.

    Returns
    -------
    bool
        False whenever two points are equal: they cannot be labelled differently.

    Examples
    --------
    >>> is_shattered("(..)", [[0, 0, 0], [0, 1, 1], [1, 0, 1]])
    True
    >>> is_shattered("(..)", [[0, 0], [0, 1], [1, 0]])
    False
    >>> is_shattered("(..)", [[0.3, 0.1], [0.1, 0.9], [0.7, 0.5]], features=Features(real=2))
    True
    """
    missing = unrealised(structure, X, features=features, orientation=orientation, nominal_splits=nominal_splits)
    return missing is None


def unrealised(
    structure: object, X: object, *, features: Features | None = None, orientation: str = "free",
    nominal_splits: str = "one",
) -> tuple[int, ...] | None:  # fmt: skip
    """Find a labelling of a sample that no tree of the structure realises.

    Parameters
    ----------
    structure, X, features, orientation, nominal_splits
        As in `is_shattered`.

    Returns
    -------
    tuple of int or None
        Labels 0 and 1, one per point; None if the sample is shattered.

    Examples
    --------
    >>> unrealised("(..)", [[0, 0], [0, 1], [1, 0], [1, 1]])
    (0, 1, 0, 0)
    >>> unrealised("((..)(..))", [[0, 0], [0, 1], [1, 0], [1, 1]]) is None
    True
    """
    sample = Sample(structure, X, features, orientation, nominal_splits)
    n = len(sample.rows)
    for i, row in enumerate(sample.rows):
        if row in sample.rows[:i]:
            return tuple(int(j == i) for j in range(n))
    labels = sample.worker().unrealised(sample.values) if n else -1
    return None if labels < 0 else tuple(labels >> i & 1 for i in range(n))


def dichotomies(
    structure: object, X: object, *, features: Features | None = None, orientation: str = "free",
    nominal_splits: str = "one",
) -> int:  # fmt: skip
    """Count the labellings of a sample that trees of the structure realise.

    Parameters
    ----------
    structure, X, features, orientation, nominal_splits
        As in `is_shattered`.

    Returns
    -------
    int
        Between 2 (the constant labellings; 1 for an empty sample) and 2^m.

    Notes
    -----
    Cost: 2^(m-1) / 256 steps for each split of each pair of a substructure and a subset that its path can cut out.

    Examples
    --------
    >>> dichotomies("(..)", [[0, 0], [0, 1], [1, 0], [1, 1]])
    6
    >>> dichotomies("(...)", [[0], [1], [2]], features=Features(multiway=[3]))
    8
    """
    sample = Sample(structure, X, features, orientation, nominal_splits)
    return int(sample.worker().dichotomies(sample.values)) if len(sample.values) else 1


def realize(
    structure: object, X: object, y: Sequence[object] | npt.NDArray[Any], *, features: Features | None = None,
    orientation: str = "free", nominal_splits: str = "one",
) -> Tree | None:  # fmt: skip
    """Find a tree with this structure and these labels.

    Parameters
    ----------
    structure, X, features, orientation, nominal_splits
        As in `is_shattered`.
    y : array-like of m labels
        Any number of classes.

    Returns
    -------
    Tree or None
        A tree with ``tree.predict(X)`` equal to y, or None if there is none. Its first child takes what is at most
        the threshold, or has the category; with orientation free its structure is the given one up to the order of
        children.

    Examples
    --------
    >>> X = [[0, 0], [0, 1], [1, 0], [1, 1]]
    >>> tree = realize("((..)(..))", X, [0, 1, 1, 0])
    >>> tree.predict(X).tolist()
    [0, 1, 1, 0]
    >>> realize("((..).)", X, [0, 1, 1, 0]) is None
    True
    >>> print(realize("(..)", [[0.5], [1.5]], ["a", "b"], features=Features(real=1)).to_text())
    x0 <= 1?
    |- yes: a (1)
    `- no: b (1)
    """
    sample = Sample(structure, X, features, orientation, nominal_splits)
    labels = np.asarray(y)
    if labels.shape != (len(sample.rows),):
        raise ValueError(f"expected one label per point, {len(sample.rows)}, got labels of shape {labels.shape}")
    if len(labels) == 0:
        raise ValueError("expected at least one point to realise, got 0")
    classes, codes = np.unique(labels, return_inverse=True)
    if not sample.consistent(codes):
        return None
    splits = sample.splits()
    nodes = _realise.realise(
        sample.problem.table, splits.cuts, splits.parts, splits.part_sizes,
        codes[sample.firsts].astype(np.int32), sample.problem.fixed, no_limits(),
    )  # fmt: skip
    return None if nodes is None else _build_tree(nodes, sample, splits, codes, classes)


class Sample:
    """A sample as given and as the kernels take it: distinct points, their values as categories.

    A real feature is an ordered one whose categories are the values that occur and one beyond at either end, so that
    ties are ties and everything can be sent to one side.
    """

    def __init__(
        self, structure: object, X: object, features: Features | None, orientation: str, nominal_splits: str
    ) -> None:
        array = _as_array(X, "numbers 0 and 1" if features is None else "numbers")
        features = Features(binary=array.shape[1]) if features is None else as_features(features=features)
        if len(array) and array.shape[1] != features.n_features:
            raise ValueError(f"expected {features.n_features} columns, one per feature, got {array.shape[1]}")
        self.problem = Problem.checked(structure, features, orientation, nominal_splits)
        if len(array):
            _check_values(array, features)
        self.rows = [tuple(row) for row in array.tolist()]
        self.distinct = list(dict.fromkeys(self.rows))
        if len(self.distinct) > MAX_POINTS:
            raise ValueError(f"expected at most {MAX_POINTS} distinct points, got {len(self.distinct)}")
        self.firsts = [self.rows.index(row) for row in self.distinct]
        self._read_columns()

    def _read_columns(self) -> None:
        """``values``, ``columns``: points and kinds in the order of the kernels; ``levels``: the reals that occur."""
        order = self.problem.order
        self.columns = self.problem.columns.copy()
        self.values = np.zeros((len(self.distinct), len(order)), dtype=np.uint8)
        self.levels: dict[int, list[float]] = {}
        for place, f in enumerate(order):
            column = [row[f] for row in self.distinct]
            if self.columns[place, 0] == 0:
                levels = sorted(set(column))
                self.levels[place] = levels
                self.columns[place] = ORDERED, len(levels) + 2
                column = [1 + levels.index(value) for value in column]
            self.values[:, place] = column

    def consistent(self, labels: npt.NDArray[Any]) -> bool:
        """Whether equal points have equal labels."""
        return all(labels[i] == labels[self.rows.index(row)] for i, row in enumerate(self.rows))

    def worker(self) -> _orbits.Worker:
        """A worker for this sample."""
        columns = self.columns if len(self.columns) else np.array([[ORDERED, 2]], dtype=np.int32)
        return _orbits.Worker(_orbits.Problem(columns, self.problem.fixed), self.problem.table, no_limits())

    def splits(self) -> Splits:
        """The splits of the sample, as masks of points."""
        return Splits(self.values, self.columns, self.problem.fixed)


class Splits:
    """The splits that a sample's features make: cuts into two, parts of multiway features."""

    def __init__(self, values: npt.NDArray[np.uint8], columns: npt.NDArray[np.int32], fixed: bool) -> None:
        cuts: list[int] = []
        self.names: list[tuple[int, int]] = []  # place of the feature; category, threshold or set of categories
        self.part_names: list[int] = []
        parts: list[list[int]] = []
        for place, (kind, size) in enumerate(columns.tolist()):
            groups = [_mask(values[:, place] == category) for category in range(size)]
            if kind == MULTIWAY:
                parts.append(groups)
                self.part_names.append(place)
            for name, right in _cuts(kind, groups, fixed):
                cuts.append(right)
                self.names.append((place, name))
        width = max(map(len, parts), default=1)
        self.cuts = np.array(cuts, dtype=np.uint32)
        self.parts = np.array([row + [0] * (width - len(row)) for row in parts], dtype=np.uint32).reshape(-1, width)
        self.part_sizes = np.array([len(row) for row in parts], dtype=np.int32)


def _mask(chosen: npt.NDArray[np.bool_]) -> int:
    return sum(1 << int(i) for i in np.flatnonzero(chosen))


def _cuts(kind: int, groups: list[int], fixed: bool) -> list[tuple[int, int]]:
    """The cuts of a feature: a name and the points on the right."""
    everything = sum(groups)
    if kind == ORDERED or (kind == MULTIWAY and len(groups) == 2):
        return [(c, sum(groups[c + 1 :])) for c in range(len(groups) - 1)]
    if kind == NOMINAL:
        return [(c, everything ^ group) for c, group in enumerate(groups)]
    if kind == SUBSETS:  # named by the categories on the left
        sets = range(1, 2 ** len(groups) - 1) if fixed else range(1, 2 ** (len(groups) - 1))
        return [(s, everything ^ sum(g for c, g in enumerate(groups) if s >> c & 1)) for s in sets]
    return []


def _build_tree(nodes: Any, sample: Sample, splits: Splits, codes: Any, classes: Any) -> Tree:
    """The nodes of ``_realise.realise`` as a `Tree` whose node values are class counts."""
    from .trees import Tree

    arity = [int((sample.problem.table[t] >= 0).sum()) if t else 0 for t, _, _ in nodes]
    place = {row: j for j, row in enumerate(sample.distinct)}
    value = np.zeros((len(nodes), len(classes)))
    for row, label in zip(sample.rows, codes, strict=True):
        value[[i for i, (_, _, mask) in enumerate(nodes) if mask >> place[row] & 1], label] += 1
    tests = [_describe(sample, splits, split, n) for (_, split, _), n in zip(nodes, arity, strict=True)]
    feature, test, threshold, sets = zip(*tests, strict=True)
    n_features = max(sample.problem.features.n_features, 1)
    return Tree(feature, test, threshold, _children(arity), value, classes, n_features, sets=sets)


def _children(arity: list[int]) -> list[tuple[int, ...]]:
    """The children of each node of a preorder."""
    children: list[list[int]] = [[] for _ in arity]
    pending: list[int] = []
    for i, n in enumerate(arity):
        if pending:
            children[pending[-1]].append(i)
        if n:
            pending.append(i)
        while pending and len(children[pending[-1]]) == arity[pending[-1]]:
            pending.pop()
    return [tuple(row) for row in children]


def _describe(sample: Sample, splits: Splits, split: int, arity: int) -> tuple[int, int, float, tuple[float, ...]]:
    """Feature, test, threshold and categories of a node, as `Tree` takes them."""
    from ._table import MULTIWAY as MULTIWAY_TEST
    from ._table import ONE, SUBSET, THRESHOLD

    if arity == 0:
        return -1, THRESHOLD, 0.0, ()
    order, columns = sample.problem.order, sample.columns
    if arity > 2:
        place = splits.part_names[split]
        return order[place], MULTIWAY_TEST, 0.0, tuple(float(c) for c in range(columns[place, 1]))
    place, name = splits.names[split]
    f, kind = order[place], columns[place, 0]
    if place in sample.levels:
        return f, THRESHOLD, _threshold(sample.levels[place], name), ()
    if kind == NOMINAL:
        return f, ONE, float(name), ()
    if kind == SUBSETS:
        return f, SUBSET, 0.0, tuple(float(c) for c in range(columns[place, 1]) if name >> c & 1)
    return f, THRESHOLD, name + 0.5, ()


def _threshold(levels: list[float], below: int) -> float:
    """A threshold with so many of the levels at or below it."""
    if below == 0:
        return float(np.nextafter(levels[0], -np.inf))
    if below == len(levels):
        return float(levels[-1])
    low, high = levels[below - 1], levels[below]
    middle = low / 2 + high / 2
    return float(middle if low <= middle < high else low)


def _as_array(X: object, wanted: str) -> npt.NDArray[Any]:
    """The rows of a sample."""
    try:
        array = np.asarray(X)
    except ValueError:
        raise ValueError("expected a sample of shape (points, features), got rows of different lengths") from None
    if array.size == 0 and array.ndim < 2:
        return np.zeros((0, 0))
    if array.ndim != 2:
        raise ValueError(f"expected a sample of shape (points, features), got an array of {array.ndim} dimensions")
    if array.shape[1] > MAX_FEATURES:
        raise ValueError(f"expected at most {MAX_FEATURES} features, got {array.shape[1]}")
    if array.dtype.kind not in "biuf":
        raise TypeError(f"expected {wanted}, got an array of {array.dtype}")
    if array.dtype.kind in "iu" and array.dtype.itemsize == 8 and array.size:
        far = max(int(array.max()), int(array.min()), key=abs)
        if abs(far) > 2**53:
            raise ValueError(f"expected integers within 2**53, where float64 is exact, got {far}")
    return array.astype(np.int64) if array.dtype.kind in "bu" else array


def _check_values(array: npt.NDArray[Any], features: Features) -> None:
    """Each column must hold what its feature says."""
    for j, (kind, categories) in enumerate(features.columns):
        column = array[:, j]
        if kind == "real":
            wrong = ~np.isfinite(column)
            wanted = "a finite number"
        else:
            wrong = ~np.isin(column, np.arange(categories or 0))
            wanted = "0 or 1" if categories == 2 else f"a category 0 to {(categories or 0) - 1}"
        if wrong.any():
            i = int(np.flatnonzero(wrong)[0])
            raise ValueError(f"expected every value to be {wanted}, got {array[i, j]} in row {i}, column {j}")

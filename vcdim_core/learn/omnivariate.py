"""Omnivariate decision trees: each node is univariate, linear or quadratic, as the data that reach it ask for."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils import check_random_state
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted, validate_data

from .._validation import check_choice, check_int, check_number
from ..structures import Structure
from ._blas import one_thread
from ._encoding import Encoder, make_encoder
from ._frames import column_kind, has_categories, is_frame, read_categories, read_matrix
from ._node_models import KINDS, Floats, NodeModel, make_rows
from ._omnivariate_tree import OmnivariateTree
from ._selection import (
    SELECTIONS,
    Options,
    choose,
    critical_value,
    is_sure_leaf,
    ordered_kinds,
    prune_by_criterion,
    prune_by_error,
)

__all__ = ["NodeClassifier", "OmnivariateTreeClassifier"]

Codes = npt.NDArray[np.intp]


class _Encoded(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """What the estimators share: reading arrays and frames, and predicting from a tree."""

    tree_: OmnivariateTree
    categorical_features: Any

    def __sklearn_tags__(self) -> Any:
        """Return the tags: missing values are allowed."""
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        return tags

    def _read_fit(self, X: Any, y: Any) -> tuple[Floats, Codes]:
        """Encoded features and class codes; remembers names, categories and classes."""
        self._categories: dict[int, list[Any]] = {}
        if is_frame(X) and has_categories(X):
            _, y = validate_data(self, X, y, skip_check_array=True)
            self._categories = read_categories(X)
            matrix = _finite(read_matrix(X, self._categories))
            y = np.asarray(y)
            y = y.reshape(-1) if y.ndim == 2 and y.shape[1] == 1 else y
        else:
            matrix, y = validate_data(self, X, y, dtype=np.float64, ensure_all_finite="allow-nan")
        check_classification_targets(y)
        self.classes_, codes = np.unique(y, return_inverse=True)
        self.n_classes_ = int(self.classes_.size)
        names = getattr(self, "feature_names_in_", None)
        shown = [f"x{place}" for place in range(matrix.shape[1])] if names is None else [str(name) for name in names]
        self.encoder_: Encoder = make_encoder(matrix, self._discrete(X, matrix.shape[1]), shown, self._categories)
        return self.encoder_.transform(matrix), codes.astype(np.intp)

    def _discrete(self, X: Any, d: int) -> npt.NDArray[np.bool_]:
        """Which columns are discrete: those named, or the categorical and text columns of a frame."""
        out = np.zeros(d, dtype=np.bool_)
        given = self.categorical_features
        if given is None:
            if is_frame(X):
                out[:] = [column_kind(X[name]) == "nominal" for name in X.columns]
            return out
        places = np.asarray(given)
        if places.dtype == np.bool_ and places.shape != (d,):
            raise ValueError(f"expected categorical_features to have one entry for each of {d}, got {places.size}")
        if places.dtype != np.bool_:
            chosen = [check_int(f"categorical_features[{i}]", v, 0, d - 1) for i, v in enumerate(places.tolist())]
            places = np.array(chosen, dtype=np.intp)
        out[places] = True
        out[list(self._categories)] = True
        return out

    def _read(self, X: Any) -> Floats:
        """Encoded features of data like those in ``fit``."""
        check_is_fitted(self, "tree_")
        if self._categories and is_frame(X):
            validate_data(self, X, reset=False, skip_check_array=True)
            matrix = _finite(read_matrix(X, self._categories))
        else:
            matrix = validate_data(self, X, reset=False, dtype=np.float64, ensure_all_finite="allow-nan")
        return self.encoder_.transform(matrix)

    def apply(self, X: Any) -> npt.NDArray[np.intp]:
        """Return the leaf of each row."""
        matrix = self._read(X)
        return self.tree_.apply(matrix)

    def predict_proba(self, X: Any) -> Floats:
        """Return the class shares of the leaf of each row."""
        leaves = self.apply(X)
        return self.tree_.shares()[leaves]

    def predict_log_proba(self, X: Any) -> Floats:
        """Return the logarithms of `predict_proba`."""
        with np.errstate(divide="ignore"):
            return np.log(self.predict_proba(X))

    def predict(self, X: Any) -> npt.NDArray[Any]:
        """Return the class of each row."""
        leaves = self.apply(X)
        answer: npt.NDArray[Any] = self.classes_[self.tree_.value.argmax(axis=1)[leaves]]
        return answer

    @property
    def structure(self) -> Structure:
        """The shape of the tree."""
        check_is_fitted(self, "tree_")
        return self.tree_.structure

    @property
    def n_parameters_(self) -> int:
        """Complexity: free parameters of the nodes (2, k + 1 or m + 1 each), and one for each leaf."""
        check_is_fitted(self, "tree_")
        return self.tree_.n_parameters


class OmnivariateTreeClassifier(_Encoded):
    """A decision tree that chooses the type of every node: univariate, linear or quadratic.

    Parameters
    ----------
    selection : {"srm", "aic", "bic", "cv"}, default="srm"
        How a node's model is chosen: structural risk minimisation, Akaike's or the Bayesian information criterion, or
        the 5 x 2 cross-validated t test.
    nodes : sequence of {"univariate", "linear", "quadratic"}, default=("univariate", "linear", "quadratic")
        Models to choose from.
    variance : float, default=0.99
        Share of the variance that the principal components of linear and quadratic models keep, in (0, 1].
    a1, a2 : float, default=0.2, 0.8
        Constants of the risk bound.
    bound_rows : {"node", "all"}, default="node"
        Which rows N counts in the risk bound: those of the node, or all training rows.
    alpha : float, default=0.05
        Level of the t test, in (0, 0.5).
    prune_fraction : float, default=0.2
        Share of each class that is kept aside for pruning with ``selection="cv"``, in [0, 1); 0 for no pruning.
    prune : bool, default=True
        Whether trees by AIC, BIC and cross-validation are pruned when grown.
    max_depth : int, optional
        Most questions on a path.
    min_samples_split : int, default=2
        Fewest rows of a node that is divided.
    categorical_features : sequence of int or bool, optional
        Discrete columns; the categorical and text columns of a frame unless given.
    random_state : int, RandomState or None
        Seed of cross-validation; the other selections involve no chance.

    Attributes
    ----------
    tree_ : OmnivariateTree
        The tree: nodes, types, drawings.
    classes_ : ndarray
        Class labels.
    n_parameters_ : int
        Complexity in free parameters.
    n_features_in_ : int
        Columns seen in ``fit``.
    encoder_ : Encoder
        How the columns become features.

    Notes
    -----
    At each node the models separate two groups of the classes. Linear and quadratic models are linear discriminants
    after principal components, the quadratic one on all products of two features; the univariate model is the linear
    discriminant of the single feature with the fewest errors. With more than two classes each model finds its groups
    by itself: along one feature the best of all groupings, in several dimensions an exchange search that starts from
    two-means on the class means.

    Selection by ``srm`` compares bounds on the error to come with VC dimensions log2(d) + 1, d + 1, (d^2 + 3 d + 2) /
    2 and 1 for a leaf, d the number of features after encoding: the tree stops growing where a leaf has the least
    bound. The bounds are for two classes: with more, the two groups of a model are the classes, and the model is
    chosen whose bound lies farthest below that of the leaf. N is the number of rows of the node, as Eq. 10 reads; the
    numbers of nodes that the paper reports for ringnorm are those of N = all training rows (``bound_rows="all"``),
    which grows larger trees. With ``aic`` and ``bic`` the tree grows until its leaves are pure, and a subtree is
    replaced by a leaf where that does not raise the criterion; with ``cv`` where that does not raise the error on
    rows kept aside, and then all rows are counted in its leaves.

    Discrete columns become L indicators for L values. Features are taken in standard units (mean 0 and standard
    deviation 1 over all rows), so that principal components do not depend on units. A missing value is replaced at
    each node by the mean of the feature over the training rows of that node, where it is present (by the parent's if
    it never is); a missing discrete value so counts as the shares of its values.

    Cost: a node with n rows and p features costs O(n p^2 + min(n, p)^3) for the linear and O(n P^2 + min(n, P)^3)
    with P = (p^2 + 3 p) / 2 for the quadratic model, all in matrix products and symmetric eigenproblems. A quadratic
    node keeps p^2 numbers.

    References
    ----------
    O. T. Yildiz, Model selection in omnivariate decision trees using structural risk minimization, Information
    Sciences 181 (2011), 5214-5226. O. T. Yildiz and E. Alpaydin, Omnivariate decision trees, IEEE Transactions on
    Neural Networks 12 (2001), 1539-1546.

    Examples
    --------
    >>> from vcdim_core.learn.datasets import make_ringnorm
    >>> X, y = make_ringnorm(1000, d=5, random_state=0)
    >>> model = OmnivariateTreeClassifier().fit(X, y)
    >>> model.tree_.kind(0), model.score(X, y) > 0.8
    ('quadratic', True)
    >>> X, y = [[1.0, 5.0], [2.0, 4.0], [8.0, 5.0], [9.0, 4.0]] * 5, [0, 0, 1, 1] * 5
    >>> print(OmnivariateTreeClassifier().fit(X, y).tree_)
    x0 <= 5?
    |- yes: 0 (10)
    `- no: 1 (10)
    """

    def __init__(
        self,
        selection: str = "srm",
        nodes: Sequence[str] = KINDS,
        *,
        variance: float = 0.99,
        a1: float = 0.2,
        a2: float = 0.8,
        bound_rows: str = "node",
        alpha: float = 0.05,
        prune_fraction: float = 0.2,
        prune: bool = True,
        max_depth: int | None = None,
        min_samples_split: int = 2,
        categorical_features: Any = None,
        random_state: Any = None,
    ) -> None:
        self.selection = selection
        self.nodes = nodes
        self.variance = variance
        self.a1 = a1
        self.a2 = a2
        self.bound_rows = bound_rows
        self.alpha = alpha
        self.prune_fraction = prune_fraction
        self.prune = prune
        self.max_depth = max_depth
        self.min_samples_split = min_samples_split
        self.categorical_features = categorical_features
        self.random_state = random_state

    def fit(self, X: Any, y: Any) -> OmnivariateTreeClassifier:
        """Grow the tree, and prune it.

        Parameters
        ----------
        X : array or data frame of shape (m, d)
            Rows; NaN is missing.
        y : array of shape (m,)
            Class labels.

        Returns
        -------
        OmnivariateTreeClassifier
            Itself.
        """
        options = self._options()
        bound_rows = check_choice("bound_rows", self.bound_rows, ("node", "all"))
        max_depth = np.inf if self.max_depth is None else check_int("max_depth", self.max_depth, 0)
        limits = _Limits(max_depth, check_int("min_samples_split", self.min_samples_split, 2), bool(self.prune))
        matrix, codes = self._read_fit(X, y)
        options = replace(options, n_bound=codes.size if bound_rows == "all" else None)
        rng = check_random_state(self.random_state)
        centre, scale = _standard_units(matrix)
        Z = (matrix - centre) / scale
        is_aside = np.zeros(codes.size, dtype=np.bool_)
        if self.prune and self.selection == "cv":
            is_aside = _keep_aside(codes, self.prune_fraction, rng)
        with one_thread():
            grown = _grow(Z, codes, is_aside, self.n_classes_, options, limits, rng)
        if self.prune:
            grown = _pruned(grown, self.selection)
        self.tree_ = grown.as_tree(self.classes_, centre, scale, self.encoder_.names)
        return self

    def _options(self) -> Options:
        """The parameters, checked."""
        check_choice("selection", self.selection, SELECTIONS)
        if isinstance(self.nodes, str) or len(self.nodes) == 0:
            raise ValueError(f"expected nodes to be a sequence of models, got {self.nodes!r}")
        for kind in self.nodes:
            check_choice("every entry of nodes", kind, KINDS)
        variance = check_number("variance", self.variance, 0.0, 1.0)
        if variance == 0.0:
            raise ValueError("expected variance > 0, got 0")
        a1, a2 = (check_number(name, getattr(self, name), 1e-300) for name in ("a1", "a2"))
        alpha = check_number("alpha", self.alpha)
        if not 0.0 < alpha < 0.5:
            raise ValueError(f"expected 0 < alpha < 0.5, got {self.alpha!r}")
        fraction = check_number("prune_fraction", self.prune_fraction, 0.0)
        if fraction >= 1.0:
            raise ValueError(f"expected prune_fraction < 1, got {self.prune_fraction!r}")
        critical = critical_value(alpha) if self.selection == "cv" else 0.0
        return Options(self.selection, ordered_kinds(self.nodes), variance, a1, a2, critical, None)

    # ---- what was grown

    def get_depth(self) -> int:
        """Return the questions on the longest path."""
        check_is_fitted(self, "tree_")
        return self.tree_.height

    def get_n_leaves(self) -> int:
        """Return how many leaves the tree has."""
        check_is_fitted(self, "tree_")
        return self.tree_.n_leaves


class NodeClassifier(_Encoded):
    """One node of an omnivariate tree as a classifier of its own: a discriminant and a class for each side.

    Parameters
    ----------
    kind : {"univariate", "linear", "quadratic"}, default="linear"
        Which model.
    variance : float, default=0.99
        Share of the variance that the principal components of linear and quadratic models keep.
    trim : float, default=0.0
        Fit linear and quadratic models once more without this share of the rows, those farthest on the wrong side, and
        keep the fit with fewer errors.
    categorical_features : sequence of int or bool, optional
        As in `OmnivariateTreeClassifier`.

    Attributes
    ----------
    tree_ : OmnivariateTree
        A tree with one node, or a leaf where no model divides the rows.
    classes_ : ndarray
        Class labels.

    Examples
    --------
    >>> model = NodeClassifier("univariate").fit([[1.0], [2.0], [5.0]], ["a", "a", "b"])
    >>> model.predict([[0.0], [9.0]]).tolist()
    ['a', 'b']
    """

    def __init__(
        self, kind: str = "linear", *, variance: float = 0.99, trim: float = 0.0, categorical_features: Any = None
    ) -> None:
        self.kind = kind
        self.variance = variance
        self.trim = trim
        self.categorical_features = categorical_features

    def __sklearn_tags__(self) -> Any:
        """Return the tags: one node names two classes only, which is poor where there are more."""
        tags = super().__sklearn_tags__()
        tags.classifier_tags.poor_score = True
        return tags

    def fit(self, X: Any, y: Any) -> NodeClassifier:
        """Fit the node.

        Parameters
        ----------
        X : array or data frame of shape (m, d)
            Rows; NaN is missing.
        y : array of shape (m,)
            Class labels.

        Returns
        -------
        NodeClassifier
            Itself.
        """
        from ._node_models import fit_model

        kind = check_choice("kind", self.kind, KINDS)
        variance, trim = check_number("variance", self.variance, 1e-9, 1.0), check_number("trim", self.trim, 0.0, 0.5)
        matrix, codes = self._read_fit(X, y)
        centre, scale = _standard_units(matrix)
        grown = _Grown()
        Z, fill = _filled((matrix - centre) / scale, np.zeros(matrix.shape[1]))
        rows = make_rows(Z, codes, self.n_classes_)
        with one_thread():
            split = fit_model(kind, rows, variance, trim) if self.n_classes_ > 1 else None
        none = np.zeros(self.n_classes_)
        grown.add(None if split is None else split.model, rows.counts, fill, none)
        if split is not None:
            for counts in (split.left_counts, split.right_counts):
                grown.add(None, counts, fill, none)
            grown.left[0], grown.right[0] = 1, 2
        self.tree_ = grown.as_tree(self.classes_, centre, scale, self.encoder_.names)
        return self


# ---- growing


@dataclass(frozen=True, slots=True)
class _Limits:
    """Where growing stops."""

    max_depth: float
    """Most questions on a path."""
    min_samples_split: int
    """Fewest rows of a node that is divided."""
    will_prune: bool
    """Whether the tree is pruned afterwards."""


class _Grown:
    """A tree while it grows: lists over the nodes, in preorder."""

    def __init__(self) -> None:
        self.models: list[NodeModel | None] = []
        self.left: list[int] = []
        self.right: list[int] = []
        self.value: list[Floats] = []
        self.fill: list[Floats] = []
        self.aside: list[Floats] = []  # rows of each class that were kept aside and pass the node

    def add(self, model: NodeModel | None, value: Floats, fill: Floats, aside: Floats) -> int:
        """Add a node without children and return its number."""
        self.models.append(model)
        self.left.append(-1)
        self.right.append(-1)
        self.value.append(value)
        self.fill.append(fill)
        self.aside.append(aside)
        return len(self.models) - 1

    def cut(self, is_leaf: npt.NDArray[np.bool_]) -> _Grown:
        """The tree with some nodes made leaves."""
        out = _Grown()
        pending = [(0, -1, False)]  # node here, parent there, whether it is the right child
        while pending:
            node, parent, is_right = pending.pop()
            ends = self.left[node] < 0 or bool(is_leaf[node])
            model = None if ends else self.models[node]
            place = out.add(model, self.value[node], self.fill[node], self.aside[node])
            if parent >= 0:
                (out.right if is_right else out.left)[parent] = place
            if not ends:
                pending += [(self.right[node], place, True), (self.left[node], place, False)]
        return out

    def as_tree(
        self, classes: npt.NDArray[Any], centre: Floats, scale: Floats, names: tuple[str, ...]
    ) -> OmnivariateTree:
        """The tree, finished: rows that were kept aside count in it."""
        left, right = np.array(self.left, dtype=np.intp), np.array(self.right, dtype=np.intp)
        value, fill = np.array(self.value) + np.array(self.aside), np.array(self.fill)
        return OmnivariateTree(tuple(self.models), left, right, value, fill, classes, centre, scale, names)


@dataclass(frozen=True, slots=True)
class _Task:
    """A node that is still to be made."""

    rows: Codes
    """Rows that grow it."""
    aside: Codes
    """Rows that were kept aside and come here."""
    depth: int
    """Its level."""
    parent: int
    """Number of its parent, -1 for the root."""
    is_right: bool
    """Whether it is the right child."""
    above: Floats
    """What replaces missing values in its parent."""


def _grow(
    Z: Floats, codes: Codes, is_aside: npt.NDArray[np.bool_], n_classes: int, options: Options, limits: _Limits,
    rng: np.random.RandomState,
) -> _Grown:  # fmt: skip
    """Grow until leaves are pure, no model divides them, the selection prefers a leaf, or pruning is certain to."""
    tree = _Grown()
    is_missing = bool(np.isnan(Z).any())
    pending = [_Task(np.flatnonzero(~is_aside), np.flatnonzero(is_aside), 0, -1, False, np.zeros(Z.shape[1]))]
    while pending:
        task = pending.pop()
        here = Z[task.rows]
        here, fill = _filled(here, task.above) if is_missing else (here, here.mean(axis=0))
        rows = make_rows(here, codes[task.rows], n_classes)
        aside = np.bincount(codes[task.aside], minlength=n_classes).astype(np.float64)
        may_split = task.depth < limits.max_depth and rows.n >= limits.min_samples_split
        may_split = may_split and int(np.count_nonzero(rows.counts)) > 1
        if may_split and limits.will_prune:
            may_split = not is_sure_leaf(options.selection, rows.counts, aside, bool(is_aside.any()))
        split = choose(rows, options, rng) if may_split else None
        node = tree.add(None if split is None else split.model, rows.counts, fill, aside)
        if task.parent >= 0:
            (tree.right if task.is_right else tree.left)[task.parent] = node
        if split is not None:
            there = split.model.goes_right(_replace(Z[task.aside], fill))
            for is_right, chosen, sent in ((True, split.right, there), (False, ~split.right, ~there)):
                below = _Task(task.rows[chosen], task.aside[sent], task.depth + 1, node, is_right, fill)
                pending.append(below)
    return tree


def _pruned(grown: _Grown, selection: str) -> _Grown:
    """The tree after pruning by its criterion, or by the rows that were kept aside."""
    value, aside = np.array(grown.value), np.array(grown.aside)
    if selection in ("aic", "bic"):
        parameters = [0 if model is None else model.n_parameters for model in grown.models]
        return grown.cut(prune_by_criterion(selection, grown.left, grown.right, value, parameters))
    if selection == "cv" and aside[0].sum() > 0:
        return grown.cut(prune_by_error(grown.left, grown.right, value, aside))
    return grown


def _keep_aside(codes: Codes, fraction: float, rng: np.random.RandomState) -> npt.NDArray[np.bool_]:
    """A random share of every class, rounded down."""
    out = np.zeros(codes.size, dtype=np.bool_)
    for code in range(int(codes.max()) + 1):
        rows = np.flatnonzero(codes == code)
        out[rng.permutation(rows)[: int(fraction * rows.size)]] = True
    return out


def _standard_units(X: Floats) -> tuple[Floats, Floats]:
    """Mean and standard deviation of each feature where it is present; 0 and 1 where it never is or never varies."""
    present = ~np.isnan(X)
    counts = np.maximum(present.sum(axis=0), 1)
    centre = np.where(present, X, 0.0).sum(axis=0) / counts
    scale = np.sqrt((np.where(present, X - centre, 0.0) ** 2).sum(axis=0) / counts)
    constant = scale <= 1e-12 * np.abs(centre)  # what is left of a constant is rounding
    return centre, np.where(constant | (scale == 0.0), 1.0, scale)


def _filled(Z: Floats, above: Floats) -> tuple[Floats, Floats]:
    """Rows without missing values, and the means that replaced them."""
    present = ~np.isnan(Z)
    counts = present.sum(axis=0)
    sums = np.where(present, Z, 0.0).sum(axis=0)
    fill = np.where(counts > 0, sums / np.maximum(counts, 1), above)
    return np.where(present, Z, fill), fill


def _replace(Z: Floats, fill: Floats) -> Floats:
    """Rows with the given values where one is missing."""
    return np.where(np.isnan(Z), fill, Z)


def _finite(matrix: Floats) -> Floats:
    """The matrix, if nothing in it is infinite."""
    if np.isinf(matrix).any():
        raise ValueError("expected X without infinite values, got inf")
    return matrix

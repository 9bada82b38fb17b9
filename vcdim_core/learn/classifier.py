"""A decision tree classifier that follows the rules of scikit-learn."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils import check_random_state
from sklearn.utils.class_weight import compute_sample_weight
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import _check_sample_weight, check_is_fitted, validate_data

from .._table import KINDS
from .._validation import check_choice
from ..discretise import METHODS, Discretiser
from ..growing import grow_tree
from ..structures import Structure
from ..trees import Tree, _rebuild
from ._frames import has_categories, is_frame, read_categories, read_matrix
from ._prune_fit import Rest, prune_grown, split_rows
from ._prune_result import PruneResult


class TreeClassifier(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """A greedy decision tree, grown exactly.

    Parameters
    ----------
    criterion : str, default="gini"
        ``"error"``, ``"gini"``, ``"entropy"``, ``"gain_ratio"``, ``"chi2"``, ``"orthogonality"`` or
        ``"hypergeometric"``.
    tree : {"binary", "multiway"}, default="binary"
        Two children per node, or one per value (ID3); a multiway tree needs ``discretise`` for real features.
    feature_kinds : str or sequence of str, optional
        As for `vcdim_core.best_split`; categorical and text columns of a frame are nominal unless given.
    nominal : {"one-vs-rest", "subset"}, default="one-vs-rest"
        How nominal features split in a binary tree.
    missing : {"raise", "best"}, default="raise"
        Refuse NaN, or send it to the better side.
    discretise : {"quartiles", "natural"}, optional
        Turn real features into intervals first.
    max_depth, max_leaf_nodes, min_samples_split, min_samples_leaf, min_weight_fraction_leaf, min_gain, alpha
        As for `vcdim_core.grow_tree`.
    class_weight : dict, "balanced" or None
        Weights of the classes, multiplied with the sample weights.
    random_state : int, RandomState or None
        Without it, ties are broken by the lowest feature; with it, features are tried in a random order.
    n_jobs : int, default=1
        Threads.
    prune : str or dict, optional
        A method of `prune`, or ``{"method": ..., option: ...}``, by which the grown tree is pruned. With
        ``"holdout"`` the rows put aside are not grown on.

    Attributes
    ----------
    tree_ : Tree
        The tree, grown and pruned.
    prune_result_ : PruneResult or None
        How it was pruned.
    classes_ : ndarray
        Class labels.
    n_features_in_ : int
        Features seen in ``fit``.

    Examples
    --------
    >>> import numpy as np
    >>> model = TreeClassifier(max_depth=1).fit(np.array([[1.0], [2.0], [4.0]]), ["a", "a", "b"])
    >>> model.predict([[3.5]]).tolist()
    ['b']
    >>> model.structure
    Structure('(..)')
    """

    def __init__(
        self,
        criterion: str = "gini",
        *,
        tree: str = "binary",
        feature_kinds: str | Sequence[str] | None = None,
        nominal: str = "one-vs-rest",
        missing: str = "raise",
        discretise: str | None = None,
        max_depth: int | None = None,
        max_leaf_nodes: int | None = None,
        min_samples_split: int = 2,
        min_samples_leaf: int = 1,
        min_weight_fraction_leaf: float = 0.0,
        min_gain: float = 0.0,
        alpha: float | None = None,
        class_weight: Any = None,
        random_state: Any = None,
        n_jobs: int = 1,
        prune: str | Mapping[str, Any] | None = None,
    ) -> None:
        self.criterion = criterion
        self.tree = tree
        self.feature_kinds = feature_kinds
        self.nominal = nominal
        self.missing = missing
        self.discretise = discretise
        self.max_depth = max_depth
        self.max_leaf_nodes = max_leaf_nodes
        self.min_samples_split = min_samples_split
        self.min_samples_leaf = min_samples_leaf
        self.min_weight_fraction_leaf = min_weight_fraction_leaf
        self.min_gain = min_gain
        self.alpha = alpha
        self.class_weight = class_weight
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.prune = prune

    def __sklearn_tags__(self) -> Any:
        """Return the tags: NaN is allowed with ``missing="best"``."""
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = self.missing == "best"
        return tags

    # ---- fitting

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> TreeClassifier:
        """Grow the tree.

        Parameters
        ----------
        X : array or data frame of shape (m, d)
            Rows.
        y : array of shape (m,)
            Class labels.
        sample_weight : array of shape (m,), optional
            Weights of the rows.

        Returns
        -------
        TreeClassifier
            Itself.
        """
        matrix, y = self._read_fit(X, y)
        check_classification_targets(y)
        weights = self._weights(matrix, y, sample_weight)
        kinds = self._kinds(matrix.shape[1])
        matrix, kinds = self._discretised(matrix, kinds, sample_weight)
        rest = self._hold_out(matrix, y, weights)
        self.prune_result_: PruneResult | None = None
        self.tree_ = self._grown(*rest.grow_on, kinds)
        if rest.method is not None:
            self.prune_result_ = prune_grown(self, rest, kinds)
            self.tree_ = self.prune_result_.tree
        self.classes_ = self.tree_.classes
        self.n_classes_ = int(self.tree_.classes.size)
        return self

    def _hold_out(self, X: npt.NDArray[Any], y: npt.NDArray[Any], weights: Any) -> Rest:
        """What to grow on, and how to prune."""
        return split_rows(self.prune, X, y, weights)

    def _tree_kinds(self) -> list[str]:
        """The kinds of the features as the tree sees them."""
        kinds = self._kinds(self.n_features_in_)
        return ["ordinal" if self.discretiser_ is not None and kind == "real" else kind for kind in kinds]

    def _grown(self, matrix: npt.NDArray[Any], y: npt.NDArray[Any], weights: Any, kinds: list[str]) -> Tree:
        """Grow on numbers."""
        names = getattr(self, "feature_names_in_", None)
        order = self._feature_order(matrix.shape[1])
        grown = grow_tree(
            matrix if order is None else np.asfortranarray(matrix[:, order]), y, self.criterion, tree=self.tree,
            feature_kinds=kinds if order is None else [kinds[place] for place in order], nominal=self.nominal,
            sample_weight=weights, missing=self.missing, max_depth=self.max_depth, max_leaf_nodes=self.max_leaf_nodes,
            min_samples_split=self.min_samples_split, min_samples_leaf=self.min_samples_leaf,
            min_weight_fraction_leaf=self.min_weight_fraction_leaf, min_gain=self.min_gain, alpha=self.alpha,
            n_jobs=self.n_jobs,
        )  # fmt: skip
        return _renamed(grown, order, names, self._category_names())

    def _read_fit(self, X: Any, y: Any) -> tuple[npt.NDArray[Any], npt.NDArray[Any]]:
        """Numbers from an array or a frame; remembers names and categories."""
        self.categories_: dict[int, list[Any]] = {}
        if is_frame(X) and has_categories(X):
            _, y = validate_data(self, X, y, skip_check_array=True)
            self.categories_ = read_categories(X)
            labels = np.asarray(y)
            if labels.ndim == 2 and labels.shape[1] == 1:
                labels = labels.reshape(-1)
            return self._without_inf(read_matrix(X, self.categories_)), labels
        finite: Any = "allow-nan" if self.missing == "best" else True
        matrix, labels = validate_data(self, X, y, dtype=[np.float64, np.float32], ensure_all_finite=finite)
        return matrix, labels

    def _read(self, X: Any) -> npt.NDArray[Any]:
        """Numbers from an array or a frame like the one in ``fit``."""
        check_is_fitted(self, "tree_")
        if self.categories_ and is_frame(X):
            validate_data(self, X, reset=False, skip_check_array=True)
            matrix: npt.NDArray[Any] = self._without_inf(read_matrix(X, self.categories_))
        else:
            finite: Any = "allow-nan" if self.missing == "best" else True
            matrix = validate_data(self, X, reset=False, dtype=[np.float64, np.float32], ensure_all_finite=finite)
        return matrix if self.discretiser_ is None else self.discretiser_.transform(matrix)

    def _without_inf(self, matrix: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
        if np.isinf(matrix).any():
            raise ValueError("expected X without infinite values, got inf")
        return matrix

    def _weights(self, X: npt.NDArray[Any], y: npt.NDArray[Any], sample_weight: Any) -> Any:
        """Sample weights times class weights, None where there are neither."""
        weights = None
        if sample_weight is not None:
            weights = _check_sample_weight(sample_weight, X, dtype=np.float64, ensure_non_negative=True)
        if isinstance(self.class_weight, str) and self.class_weight == "balanced" and weights is not None:
            # As if each row were repeated by its weight.
            codes, total = np.unique(y, return_inverse=True)[1], float(weights.sum())
            of_class = total / np.maximum(np.bincount(codes, weights=weights), 1e-300) / (codes.max() + 1)
            weights = weights * of_class[codes]
        elif self.class_weight is not None:
            of_class = compute_sample_weight(self.class_weight, y)
            weights = of_class if weights is None else weights * of_class
        return weights

    def _kinds(self, d: int) -> list[str]:
        """One kind per feature; what the user says goes before what the frame says."""
        if isinstance(self.feature_kinds, str):
            return [check_choice("feature_kinds", self.feature_kinds, KINDS)] * d
        if self.feature_kinds is not None:
            kinds = [check_choice("every entry of feature_kinds", kind, KINDS) for kind in self.feature_kinds]
            if len(kinds) != d:
                raise ValueError(f"expected one kind for each of {d} features, got {len(kinds)}")
            return kinds
        return ["nominal" if place in self.categories_ else "real" for place in range(d)]

    def _discretised(
        self, X: npt.NDArray[Any], kinds: list[str], sample_weight: Any
    ) -> tuple[npt.NDArray[Any], list[str]]:
        """Replace real features by interval codes where asked."""
        self.discretiser_: Discretiser | None = None
        if self.discretise is None:
            return X, kinds
        check_choice("discretise", self.discretise, METHODS)
        real = [place for place, kind in enumerate(kinds) if kind == "real"]
        self.discretiser_ = Discretiser(self.discretise).fit(X, real, sample_weight)
        return self.discretiser_.transform(X), ["ordinal" if kind == "real" else kind for kind in kinds]

    def _category_names(self) -> dict[int, list[str]]:
        """Names of codes for exports."""
        names = {place: [str(entry) for entry in known] for place, known in self.categories_.items()}
        if self.discretiser_ is not None and self.tree == "multiway":
            names.update({place: list(self.discretiser_.labels(place)) for place in self.discretiser_.chosen_})
        return names

    def _feature_order(self, d: int) -> npt.NDArray[np.intp] | None:
        """A random order of the features, or None for their own."""
        if self.random_state is None:
            return None
        order: npt.NDArray[np.intp] = check_random_state(self.random_state).permutation(d)
        return order

    # ---- predicting

    def predict(self, X: Any) -> npt.NDArray[Any]:
        """Return the class of each row."""
        matrix = self._read(X)
        return self.tree_.predict(matrix)

    def predict_proba(self, X: Any) -> npt.NDArray[np.float64]:
        """Return the class shares of the leaf of each row."""
        matrix = self._read(X)
        return self.tree_.predict_proba(matrix)

    def predict_log_proba(self, X: Any) -> npt.NDArray[np.float64]:
        """Return the logarithms of `predict_proba`."""
        with np.errstate(divide="ignore"):
            return np.log(self.predict_proba(X))

    def apply(self, X: Any) -> npt.NDArray[np.int64]:
        """Return the leaf of each row."""
        matrix = self._read(X)
        return self.tree_.apply(matrix)

    def decision_path(self, X: Any) -> Any:
        """Return a sparse matrix of rows by nodes: 1 where the row passes the node."""
        from scipy.sparse import csr_matrix

        matrix = self._read(X)
        starts, nodes = self.tree_.decision_path(matrix)
        return csr_matrix((np.ones(nodes.size), nodes, starts), shape=(starts.size - 1, self.tree_.n_all))

    # ---- what was grown

    @property
    def structure(self) -> Structure:
        """The shape of the tree."""
        check_is_fitted(self, "tree_")
        return self.tree_.structure

    @property
    def feature_importances_(self) -> npt.NDArray[np.float64]:
        """Share of each feature in the weighted gains of all splits."""
        check_is_fitted(self, "tree_")
        tree = self.tree_
        inner = tree.feature >= 0
        weight = tree.gain * tree.value.sum(axis=1)
        out = np.bincount(tree.feature[inner], weights=weight[inner], minlength=tree.n_features)
        total = float(out.sum())
        return out / total if total > 0 else out.astype(np.float64)

    def get_depth(self) -> int:
        """Return the tests on the longest path."""
        check_is_fitted(self, "tree_")
        return self.tree_.height

    def get_n_leaves(self) -> int:
        """Return how many leaves the tree has."""
        check_is_fitted(self, "tree_")
        return self.tree_.n_leaves


def _renamed(
    tree: Tree, order: npt.NDArray[np.intp] | None, names: Any, categories: dict[int, list[str]]
) -> Tree:
    """The tree with its features in the caller's order, and with names."""
    feature = tree.feature
    if order is not None:
        feature = np.where(feature >= 0, order[np.maximum(feature, 0)], -1)
    return _rebuild(
        feature, tree.test, tree.threshold, tree.child_start, tree.child, tree.set_start, tree.set_values,
        tree.missing, tree.value, tree.n_samples, tree.gain, tree.classes, tree.n_features, tree.takes_missing,
        tree.as_single, names, categories, tree.criterion,
    )  # fmt: skip

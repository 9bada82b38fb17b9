"""The best split of a sample: which feature, and where."""

from __future__ import annotations

import math
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from . import _bins, _split
from ._table import CRITERIA, MULTIWAY, THRESHOLD, Data, as_matrix, prepare
from ._validation import check_choice, check_int


@dataclass(frozen=True, slots=True)
class Split:
    """A test on one feature and what it is worth."""

    feature: int
    """Number of the feature."""
    threshold: float | None
    """Rows with x <= threshold go left (branch 0); None for nominal and multiway tests."""
    gain: float
    """Value of the criterion, larger is better; see the table in `best_split`."""
    n_left: int
    """Rows in branch 0."""
    n_right: int
    """Rows in the other branches."""
    criterion: str
    """Name of the criterion."""
    kind: str
    """Kind of the feature."""
    categories: tuple[float, ...] = ()
    """Categories that go left, or the category of each branch of a multiway test (nan for missing values)."""
    missing_left: bool | None = None
    """Whether missing values go left; None where there were none."""
    p_value: float = 1.0
    """Chance of such a split without association, by the criterion's own test."""
    counts: tuple[tuple[float, ...], ...] = ()
    """Weight of each class in each branch."""
    test: str = "threshold"
    """What is asked: ``"threshold"``, ``"one"`` (a category), ``"subset"`` (of categories) or ``"multiway"``."""

    def branch(self, X: Any) -> npt.NDArray[np.intp]:
        """Return the branch of each row of ``X``.

        Parameters
        ----------
        X : array of shape (m, d)
            Rows.

        Returns
        -------
        ndarray of int
            0 for left and 1 for right; for a multiway test the place of the value in ``categories``, -1 for a value
            that is not there.

        Examples
        --------
        >>> best_split([[1.0], [2.0], [4.0]], [0, 0, 1]).branch([[0.0], [3.5]]).tolist()
        [0, 1]
        """
        column = as_matrix(X)[:, self.feature]
        absent = np.isnan(column)
        if self.test == "multiway":
            out = np.full(column.size, -1, dtype=np.intp)
            for place, value in enumerate(self.categories):
                out[absent if math.isnan(value) else column == value] = place
            return out
        left = column <= self.threshold if self.threshold is not None else np.isin(column, self.categories)
        left[absent] = bool(self.missing_left)
        return np.where(left, 0, 1).astype(np.intp)

    def __str__(self) -> str:
        """Return the test and its gain in one line."""
        if self.threshold is not None:
            test = f"x{self.feature} <= {self.threshold:.6g}"
        else:
            listed = ", ".join(f"{value:g}" for value in self.categories)
            test = f"x{self.feature} by {listed}" if self.test == "multiway" else f"x{self.feature} in {{{listed}}}"
        return f"{test} ({self.criterion} {self.gain:.6g}, {self.n_left} | {self.n_right} rows)"


def best_split(
    X: Any,
    y: Any,
    criterion: str = "gini",
    *,
    feature_kinds: str | Sequence[str] | None = None,
    sample_weight: Any = None,
    missing: str = "raise",
    nominal: str = "one-vs-rest",
    min_samples_leaf: int = 1,
    n_jobs: int = 1,
) -> Split | None:
    """Return the split of ``X`` with the largest gain.

    Parameters
    ----------
    X : array of shape (m, d)
        Numbers; float32 and float64 are compared as they are, in either memory order.
    y : array of shape (m,)
        Class labels of any sortable kind, any number of classes.
    criterion : str
        ``"error"``, ``"gini"``, ``"entropy"``, ``"gain_ratio"``, ``"chi2"``, ``"orthogonality"`` or
        ``"hypergeometric"``.
    feature_kinds : str or sequence of str, optional
        Kind of all features or of each: ``"real"`` (default), ``"binary"``, ``"ordinal"``, ``"nominal"`` or
        ``"multiway"``.  Nominal and multiway columns hold category codes 0, 1, 2, ...
    sample_weight : array of shape (m,), optional
        Weights >= 0; rows of weight 0 take no part.
    missing : {"raise", "best"}
        Refuse NaN, or send all missing values of the tested feature to the side where the gain is larger (the right
        one when equal); missing against present is a candidate too, with threshold inf.
    nominal : {"one-vs-rest", "subset", "multiway"}
        How nominal features split; ``"subset"`` needs two classes.
    min_samples_leaf : int
        Fewest rows on either side of a two-branch split.
    n_jobs : int
        Threads; features are shared out among them.

    Returns
    -------
    Split or None
        None when there is nothing to separate: one class, or no feature with two different values.  A split may have
        gain 0.

    Raises
    ------
    ValueError, TypeError
        For data that cannot be read as described.

    Notes
    -----
    With n rows, N_k of class k, n_v in branch v and n_vk of class k there:

    - error: :math:`(\\sum_v \\max_k n_{vk} - \\max_k N_k)/n`
    - gini: :math:`G(N)-\\sum_v \\frac{n_v}{n}G(n_v)`, :math:`G = 1-\\sum_k p_k^2`
    - entropy: the same with :math:`H = -\\sum_k p_k\\log_2 p_k`; gain_ratio divides it by :math:`H(n_1,\\dots,n_V)`
    - chi2: :math:`\\sum_{vk}(n_{vk}-e_{vk})^2/e_{vk}` with :math:`e_{vk}=n_vN_k/n`
    - orthogonality: :math:`1-\\cos(n_1,n_2)`, averaged over pairs of branches with weight :math:`n_un_v`
    - hypergeometric: :math:`-\\ln P_0`, :math:`P_0=\\prod_k N_k!\\prod_v n_v!/(n!\\prod_{vk}n_{vk}!)`

    A threshold lies midway between two neighbouring values that differ, however little.  Ties are broken by the lowest
    feature, then by the lowest threshold (category).  Exact; time O(d m log m), extra memory O(m).

    References
    ----------
    J. K. Martin, D. S. Hirschberg, On the Complexity of Learning Decision Trees, AI & Mathematics 1996.
    P. Lingwei, Decision Trees (notes on ch. 18 of Shalev-Shwartz & Ben-David), 2019.

    Examples
    --------
    >>> best_split([[0.0]], [1]) is None
    True
    >>> print(best_split([[1.0], [2.0], [4.0]], ["a", "a", "b"]))
    x0 <= 3 (gini 0.444444, 2 | 1 rows)
    >>> print(best_split([[0], [1], [2], [0]], [1, 0, 1, 1], "hypergeometric", feature_kinds="nominal"))
    x0 in {1} (hypergeometric 1.38629, 1 | 3 rows)
    """
    check_choice("criterion", criterion, CRITERIA)
    least = check_int("min_samples_leaf", min_samples_leaf, 1)
    jobs = check_int("n_jobs", n_jobs, 1)
    data = prepare(X, y, sample_weight, feature_kinds, nominal, missing)
    if data.classes.size < 2 or data.X.shape[0] < 2:
        return None
    found = _search(data, CRITERIA.index(criterion), least, jobs)
    return None if found is None else _as_split(data, criterion, found)


def _search(data: Data, criterion: int, least: int, jobs: int) -> tuple[Any, ...] | None:
    """Run the kernel over all features, shared out among threads; the lowest feature wins a tie."""
    general = data.has_missing or data.weights is not None
    d = data.X.shape[1]
    cuts = [d * part // min(jobs, d) for part in range(min(jobs, d) + 1)]

    binned = (
        data.ranges is not None and not general and not data.tests.any()
        and (data.classes.size == 2 or (data.classes.size <= 256 and criterion == CRITERIA.index("gini")))
    )  # fmt: skip

    def part(first: int, last: int) -> tuple[Any, ...] | None:
        if binned and data.ranges is not None:
            return _bins.search(data.X, data.codes, *data.ranges, int(data.classes.size), criterion, least, first, last)
        return _split.search(
            data.X, data.codes, data.weights, data.tests, int(data.classes.size), criterion, least, general, data.shift,
            first, last,
        )  # fmt: skip

    if len(cuts) == 2:
        return part(0, d)
    with ThreadPoolExecutor(len(cuts) - 1) as pool:
        answers = [answer for answer in pool.map(part, cuts[:-1], cuts[1:]) if answer is not None]
    if (data.tests == MULTIWAY).any():
        return max(answers, key=lambda answer: (answer[2], -answer[0]), default=None)
    return max(answers, key=lambda answer: (answer[4], -answer[0]), default=None)


def _as_split(data: Data, criterion: str, found: tuple[Any, ...]) -> Split:
    """Wrap the kernel's answer."""
    feature, test, gain, p_value, _, details = found
    m, n_classes = data.X.shape[0], int(data.classes.size)
    column_missing = data.has_missing and bool(np.isnan(data.X[:, feature]).any())
    if test == MULTIWAY:
        values, place = np.unique(data.X[:, feature], return_inverse=True)
        table = np.zeros((values.size, n_classes))
        np.add.at(table, (place.reshape(-1), data.codes), 1.0 if data.weights is None else data.weights)
        first = int((place == 0).sum())
        return Split(
            feature, None, gain, first, m - first, criterion, data.kinds[feature], tuple(values.tolist()), None,
            p_value, tuple(map(tuple, table.tolist())), "multiway",
        )  # fmt: skip
    threshold, categories, rows, table, _, missing_left = details
    return Split(
        feature, threshold if test == THRESHOLD else None, gain, rows, m - rows, criterion, data.kinds[feature],
        categories, missing_left if column_missing else None, p_value,
        (tuple(table[:n_classes]), tuple(table[n_classes:])), ("threshold", "one", "subset")[test],
    )  # fmt: skip


def table_gain(table: Any, criterion: str = "gini") -> float:
    """Return the gain of a contingency table.

    Parameters
    ----------
    table : array of shape (branches, classes)
        Counts or weights >= 0.
    criterion : str
        One of the criteria of `best_split`.

    Returns
    -------
    float

    Examples
    --------
    >>> table_gain([[3, 0], [0, 3]], "entropy")
    1.0
    """
    return _measures(table, criterion)[0]


def significance(table: Any, criterion: str = "hypergeometric") -> float:
    """Return the chance of so good a table without association, by the criterion's own test.

    Parameters
    ----------
    table : array of shape (branches, classes)
        Counts >= 0.
    criterion : str
        One of the criteria of `best_split`.

    Returns
    -------
    float

    Notes
    -----
    hypergeometric: P0 itself; chi2: Pearson's test; entropy and gain_ratio: the likelihood-ratio test; gini: CATANOVA
    (Light & Margolin 1971); error: the sign test on the rows whose prediction changes; orthogonality: a scaled
    chi-squared tail with the mean and variance of the statistic without association (Satterthwaite 1946).

    Examples
    --------
    >>> round(significance([[2, 0], [0, 2]]), 6)
    0.166667
    """
    return _measures(table, criterion)[1]


def _measures(table: Any, criterion: str) -> tuple[float, float, float]:
    """Gain, p-value and impurity of a table."""
    check_choice("criterion", criterion, CRITERIA)
    counts = np.ascontiguousarray(table, dtype=np.float64)
    if counts.ndim != 2 or 0 in counts.shape:
        raise ValueError(f"expected table to have 2 dimensions (branches, classes), got shape {counts.shape}")
    if not np.isfinite(counts).all() or counts.min() < 0 or counts.sum() <= 0:
        raise ValueError("expected table to hold counts >= 0, not all 0")
    return _split.gains(counts, CRITERIA.index(criterion))

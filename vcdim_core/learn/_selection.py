r"""Which model a node gets: structural risk, information criteria, or cross-validation.

With L the log-likelihood (Eq. 6) and e the error (Eq. 5) of a model on the n rows of the node, and p its parameters,

* ``aic``: the least 2 (-L + p) (Eq. 7);
* ``bic``: the least -L + p/2 log n (Eq. 8);
* ``srm``: the least bound on the error to come, from e and a VC dimension (Eq. 9 and 10), where a leaf is one of the
  candidates. The bound at e = 0 is below the bound at any e, so that a model whose bound at 0 is no better than the
  best so far need not be fitted; on small nodes that spares the quadratic model, and often the linear one;
* ``cv``: the simplest model that is not significantly worse in the one-sided 5 x 2 cv t test (Dietterich 1998). Ten
  fits on halves of the rows give differences p_ij of error rates, and

      t = p_11 / sqrt(sum_i s_i^2 / 5),   s_i^2 = (p_i1 - p_i2)^2 / 2,

  is compared with the t distribution on 5 degrees of freedom. p_11 comes from the first half alone, and the sum only
  grows: a model that is not better on the first half, or whose t has fallen below the critical value after some of the
  ten, cannot be chosen any more and is not fitted again. Neither changes the choice.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from ..risk import srm_bound
from ._node_models import KINDS, Floats, Rows, Split, fit_model, log_likelihood, vc_dimension

SELECTIONS = ("srm", "aic", "bic", "cv")
"""The criteria."""

LEAF_PARAMETERS = 1
"""A leaf counts as one parameter, its class."""


@dataclass(frozen=True, slots=True)
class Options:
    """What a selection depends on."""

    selection: str
    """One of `SELECTIONS`."""
    kinds: tuple[str, ...]
    """Candidate models, from simple to complex."""
    variance: float
    """Share of the variance that principal components keep."""
    a1: float
    """First constant of the risk bound."""
    a2: float
    """Second constant of the risk bound."""
    critical: float
    """Critical value of the t test."""
    n_bound: int | None
    """Number of rows in the risk bound, None for the rows of the node."""


def aic(likelihood: float, n_parameters: float) -> float:
    """Akaike's criterion, 2 (-L + p).

    Examples
    --------
    >>> aic(-10.0, 3)
    26.0
    """
    return 2.0 * (n_parameters - likelihood)


def bic(likelihood: float, n_parameters: float, n: float) -> float:
    """The Bayesian criterion, -L + p/2 log n.

    Examples
    --------
    >>> round(bic(-10.0, 4, 100), 4)
    19.2103
    """
    return -likelihood + n_parameters / 2.0 * math.log(n)


def criterion(selection: str, likelihood: float, n_parameters: float, n: float) -> float:
    """AIC or BIC."""
    return aic(likelihood, n_parameters) if selection == "aic" else bic(likelihood, n_parameters, n)


def choose(rows: Rows, options: Options, rng: np.random.RandomState) -> Split | None:
    """Return the split of a node, or None for a leaf; at least two classes have rows."""
    if options.selection == "srm":
        return _choose_by_risk(rows, options)
    if options.selection == "cv":
        return _choose_by_test(rows, options, rng)
    return _choose_by_criterion(rows, options)


def risk(error: float, at_zero: float) -> float:
    """The bound at an error from the bound at 0, which is lambda in Eq. 9.

    Examples
    --------
    >>> from vcdim_core import srm_bound
    >>> abs(risk(0.1, srm_bound(0.0, 5, 100)) - srm_bound(0.1, 5, 100)) < 1e-15
    True
    """
    return error + 0.5 * (at_zero + math.sqrt(at_zero * at_zero + 4.0 * error * at_zero))


def group_counts(split: Split) -> tuple[Floats, Floats]:
    """Rows of the two groups of classes on the left and on the right."""
    group = split.model.group
    return (
        np.array([split.left_counts[~group].sum(), split.left_counts[group].sum()]),
        np.array([split.right_counts[~group].sum(), split.right_counts[group].sum()]),
    )


def _choose_by_risk(rows: Rows, options: Options) -> Split | None:
    """The bound that lies farthest below that of a leaf; the simpler model if two do; None if none does.

    The bounds are for two classes, so the classes are the two groups of a model. With two classes these are the
    classes, the bound of the leaf is the same for every model, and the least bound is chosen.
    """
    n, d = rows.n, rows.Z.shape[1]
    n_bound = n if options.n_bound is None else options.n_bound
    at_zero = {
        kind: float(srm_bound(0.0, vc_dimension(kind, d), n_bound, options.a1, options.a2))
        for kind in ("leaf", *options.kinds)
    }

    def bound(error: float, kind: str) -> float:
        return risk(error, at_zero[kind])

    chosen, most = None, 0.0
    # No grouping leaves a leaf with a larger error than this, nor a larger fall of the bound.
    worst = min(0.5, 1.0 - float(rows.counts.max()) / n)
    for kind in options.kinds:
        if bound(worst, "leaf") - bound(0.0, kind) <= most:
            continue
        split = fit_model(kind, rows, options.variance)
        if split is None:
            continue
        left, right = group_counts(split)
        wrong = n - left.max() - right.max()
        fall = bound(float(min(left + right)) / n, "leaf") - bound(float(wrong) / n, kind)
        if fall > most:
            chosen, most = split, fall
    return chosen


def _choose_by_criterion(rows: Rows, options: Options) -> Split | None:
    """The least AIC or BIC; the simpler model if they are equal."""
    chosen, least = None, math.inf
    for kind in options.kinds:
        split = fit_model(kind, rows, options.variance)
        if split is None:
            continue
        value = criterion(options.selection, split.log_likelihood, split.model.n_parameters, rows.n)
        if value < least:
            chosen, least = split, value
    return chosen


# ---- cross-validation


def _choose_by_test(rows: Rows, options: Options, rng: np.random.RandomState) -> Split | None:
    """The model that the tests choose, or the simplest other one where that does not divide the rows."""
    kind = options.kinds[0] if len(options.kinds) == 1 or rows.n < 4 else _tested_kind(rows, options, rng)
    split = fit_model(kind, rows, options.variance)
    for other in options.kinds:
        if split is not None:
            break
        split = fit_model(other, rows, options.variance) if other != kind else None
    return split


def halves(rows: Rows, rng: np.random.RandomState) -> Iterator[tuple[Rows, Rows]]:
    """Five random divisions into halves with the classes in proportion; each serves twice."""
    for _ in range(5):
        order = rng.permutation(rows.n)
        order = order[np.argsort(rows.codes[order], kind="stable")]
        one, other = rows.take(order[::2]), rows.take(order[1::2])
        yield one, other
        yield other, one


def validation_error(kind: str, fitted: Rows, judged: Rows, variance: float) -> float:
    """Error rate on some rows of a model fitted to others, whose sides are labelled by their majority."""
    split = None if np.count_nonzero(fitted.counts) < 2 else fit_model(kind, fitted, variance)
    if split is None:
        return 1.0 - float(judged.counts[fitted.counts.argmax()]) / judged.n
    labels = np.array([split.left_counts.argmax(), split.right_counts.argmax()])
    return float(np.mean(labels[split.model.goes_right(judged.Z).astype(np.intp)] != judged.codes))


class Comparison:
    """The test of one model against a simpler one, fold by fold.

    Examples
    --------
    >>> test = Comparison(2.015)
    >>> for difference in (0.2, 0.1, 0.1, 0.1, 0.1, 0.1, 0.2, 0.1, 0.1, 0.1):
    ...     test.add(difference)
    >>> round(test.t, 3), test.is_open, test.is_significant
    (4.472, True, True)
    """

    def __init__(self, critical: float) -> None:
        self.critical = critical
        self._differences: list[float] = []
        self._squares = 0.0

    def add(self, difference: float) -> None:
        """Add the error of the simpler model minus that of the other on the next fold."""
        self._differences.append(difference)
        if len(self._differences) % 2 == 0:
            self._squares += (self._differences[-2] - difference) ** 2 / 2.0

    @property
    def t(self) -> float:
        """The statistic from the folds so far, with those to come as if they did not vary: an upper bound."""
        first = self._differences[0]
        if first <= 0.0:
            return -math.inf if first < 0.0 else 0.0
        return first / math.sqrt(self._squares / 5.0) if self._squares > 0.0 else math.inf

    @property
    def is_open(self) -> bool:
        """Whether the other model can still turn out significantly better."""
        return not self._differences or self.t > self.critical

    @property
    def is_significant(self) -> bool:
        """Whether it is significantly better, after all ten folds."""
        return len(self._differences) == 10 and self.t > self.critical


def _tested_kind(rows: Rows, options: Options, rng: np.random.RandomState) -> str:
    """The most complex model that is significantly better than every simpler one, else the next one down."""
    kinds = options.kinds
    tests = {(s, c): Comparison(options.critical) for c in range(len(kinds)) for s in range(c)}
    for fold, (fitted, judged) in enumerate(halves(rows, rng)):
        alive = [c for c in range(1, len(kinds)) if all(tests[s, c].is_open for s in range(c))]
        if not alive:
            return kinds[0]
        errors = _fold_errors(kinds, max(alive) + 1, fitted, judged, options.variance, fold == 0)
        for s, c in tests:
            if c in alive:
                tests[s, c].add(errors[s] - errors[c])
    chosen = [c for c in range(1, len(kinds)) if all(tests[s, c].is_significant for s in range(c))]
    return kinds[max(chosen, default=0)]


def _fold_errors(
    kinds: tuple[str, ...], n_needed: int, fitted: Rows, judged: Rows, variance: float, is_first: bool
) -> list[float]:
    """Errors on one fold of the simplest models.

    On the first fold nothing is better than a model without errors: those above it are out, and take its error
    unfitted.
    """
    errors: list[float] = []
    for kind in kinds[:n_needed]:
        is_settled = is_first and 0.0 in errors
        errors.append(0.0 if is_settled else validation_error(kind, fitted, judged, variance))
    return errors


def critical_value(alpha: float) -> float:
    """The value that t on 5 degrees of freedom exceeds with probability alpha.

    Examples
    --------
    >>> round(critical_value(0.05), 4)
    2.015
    """
    from scipy.stats import t

    return float(t.ppf(1.0 - alpha, 5))


# ---- pruning


def prune_by_criterion(
    selection: str, left: Sequence[int], right: Sequence[int], values: Floats, parameters: Sequence[int]
) -> npt.NDArray[np.bool_]:
    """Which nodes become leaves so that AIC or BIC of the rows below them is least; nodes are in preorder.

    A subtree has the log-likelihood of its leaves and the parameters of its nodes, one more for each leaf.
    """
    n_all = len(left)
    likelihood, weight = np.zeros(n_all), np.zeros(n_all)
    cut = np.zeros(n_all, dtype=np.bool_)
    for node in range(n_all - 1, -1, -1):
        own = log_likelihood(values[node])
        likelihood[node], weight[node] = own, LEAF_PARAMETERS
        if left[node] < 0:
            continue
        below = [left[node], right[node]]
        whole, size = likelihood[below].sum(), weight[below].sum() + parameters[node]
        n = float(values[node].sum())
        if criterion(selection, whole, size, n) < criterion(selection, own, LEAF_PARAMETERS, n):
            likelihood[node], weight[node] = whole, size
        else:
            cut[node] = True
    return cut


def prune_by_error(
    left: Sequence[int], right: Sequence[int], values: Floats, judged: Floats
) -> npt.NDArray[np.bool_]:
    """Which nodes become leaves so that rows kept aside are misclassified least; equal errors go to the leaf.

    ``values`` counts the classes of the rows that grew each node, ``judged`` those of the rows kept aside.
    """
    n_all = len(left)
    wrong = np.zeros(n_all)
    cut = np.zeros(n_all, dtype=np.bool_)
    for node in range(n_all - 1, -1, -1):
        as_leaf = judged[node].sum() - judged[node, values[node].argmax()]
        wrong[node] = as_leaf
        if left[node] < 0:
            continue
        as_tree = wrong[left[node]] + wrong[right[node]]
        cut[node] = as_leaf <= as_tree
        wrong[node] = min(as_leaf, as_tree)
    return cut


def is_sure_leaf(selection: str, counts: Floats, aside: Floats, is_any_aside: bool) -> bool:
    """Whether pruning is certain to make a node a leaf, so that nothing need be grown below it.

    A subtree has a log-likelihood of at most 0 and at least four parameters, two of a node and two leaves; and it
    cannot have fewer errors than none on the rows kept aside.
    """
    if selection == "cv":
        return is_any_aside and bool(aside.sum() == aside[counts.argmax()])
    if selection == "srm":
        return False
    n = float(counts.sum())
    as_leaf = criterion(selection, log_likelihood(counts), LEAF_PARAMETERS, n)
    return as_leaf <= criterion(selection, 0.0, 2 + 2 * LEAF_PARAMETERS, n)


def ordered_kinds(kinds: Sequence[str]) -> tuple[str, ...]:
    """The models in order of complexity, each once."""
    return tuple(kind for kind in KINDS if kind in kinds)

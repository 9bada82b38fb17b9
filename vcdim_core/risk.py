"""Risk bounds: from a training error and a complexity to a bound on the error to come.

Every function is vectorised over the errors and finite, and grows (never falls) with the training error and with the
complexity; it never grows with the sample size at a given error, nor with the probability of failure that is allowed.
(The one argument without a direction is r of :func:`shawe_taylor_bound`: a small r is good without errors and bad with
many.) Values may exceed 1: they rank trees even where they say nothing about the risk itself; ask for ``clip=True`` to
cut them off at 1.
"""

from __future__ import annotations

import math
import threading
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ._validation import check_int
from .bounds_growth import GrowthMethod, log_growth_bound
from .features import Features
from .structures import as_structure

__all__ = ["mdl_bound", "shawe_taylor_bound", "srm_bound", "vapnik_bound", "wedderburn_etherington"]

Result = float | NDArray[np.float64]
Form = Literal["tight", "loose"]

PAPER_R = 2.0**-13.7
"""q_k = (1 - r) r^k in Leboeuf et al. (2020): r chosen by cross-validation on one data set."""


def _checked_error(error: ArrayLike) -> NDArray[np.float64]:
    """Return errors as an array, all in [0, 1]."""
    values = np.asarray(error, dtype=np.float64)
    wrong = ~((values >= 0.0) & (values <= 1.0))  # catches nan
    if wrong.any():
        raise ValueError(f"expected every error in [0, 1], got {float(values[wrong].flat[0])!r}")
    return values


def _checked_positive(name: str, value: float, most: float = math.inf) -> float:
    number = float(value)
    if not 0.0 < number <= most or math.isinf(number):
        limit = "" if math.isinf(most) else f" and <= {most:g}"
        raise ValueError(f"expected {name} > 0{limit}, got {value!r}")
    return number


def _result(values: NDArray[np.float64], clip: bool) -> Result:
    values = np.minimum(values, 1.0) if clip else values
    return float(values) if values.ndim == 0 else values


def srm_bound(
    error: ArrayLike, vc_dim: float, n: int, a1: float = 0.1, a2: float = 2.0, nu: float | None = None, *,
    clip: bool = False,
) -> Result:  # fmt: skip
    r"""Bound the generalisation error by structural risk minimisation.

    Parameters
    ----------
    error : array_like
        Training errors :math:`E_t` in [0, 1].
    vc_dim : float
        VC dimension V, at least 0.
    n : int
        Sample size N, at least 1.
    a1, a2 : float, default=0.1, 2.0
        Constants > 0. Yildiz (2012) found 0.1 and 2.0 by cross-validation; Yildiz (2011) uses 0.2 and 0.8;
        the worst case of the theory is 4 and 2.
    nu : float, optional
        Probability of failure in (0, 1]; :math:`1/\sqrt N` if not given, as Cherkassky and Mulier recommend.
    clip : bool, default=False
        Cut the result off at 1.

    Returns
    -------
    float or ndarray
        One value for each error.

    Raises
    ------
    ValueError
        If an error is outside [0, 1] or another argument out of range.

    Notes
    -----
    .. math:: E_g = E_t + \frac\epsilon2 \Bigl(1 + \sqrt{1 + \frac{4 E_t}\epsilon}\Bigr), \qquad
        \epsilon = a_1 \frac{V (\log(a_2 N / V) + 1) - \log \nu}{N}

    (Yildiz 2012, Eq. 2 and 3). As printed, :math:`V (\log(a_2 N/V) + 1)` grows up to :math:`V = a_2 N`, where it is
    :math:`a_2 N`, then falls and becomes negative beyond :math:`V = e\, a_2 N`. A larger class is not easier to learn,
    so from its maximum on it is continued by that value (V larger than :math:`a_2 N` counts as :math:`a_2 N`); V = 0
    counts as the limit 0. So epsilon is never negative, and is 0 only for V = 0 and nu = 1, where the bound is the
    training error. It never grows with N; for that :math:`\log(N) / N`, from the default of nu, keeps its value at N =
    3 for N < 3, near its maximum.

    References
    ----------
    V. Cherkassky and F. Mulier, Learning from Data, Wiley 1998. O. T. Yildiz, On the VC-dimension of univariate
    decision trees, ICPRAM 2012. O. T. Yildiz, Model selection in omnivariate decision trees using structural risk
    minimization, Information Sciences 181, 2011.

    Examples
    --------
    >>> round(srm_bound(0.0, 1, 100), 4)
    0.0086
    >>> [round(srm_bound(0.1, v, 100), 4) for v in (1, 10, 100, 1000)]
    [0.1339, 0.1895, 0.3424, 0.3757]
    >>> srm_bound([0.0, 0.1], 10, 100, a1=0.2, a2=0.8, nu=0.05).round(4)
    array([0.0676, 0.2227])
    """
    errors = _checked_error(error)
    n = check_int("n", n, 1)
    a1, a2 = _checked_positive("a1", a1), _checked_positive("a2", a2)
    v = float(vc_dim)
    if not v >= 0.0:
        raise ValueError(f"expected vc_dim >= 0, got {vc_dim!r}")
    if nu is None:
        log_nu = -0.5 * math.log(n) if n >= 3 else -n * math.log(3.0) / 6.0
    else:
        log_nu = math.log(_checked_positive("nu", nu, 1.0))
    v = min(v, a2 * n)
    complexity = v * (math.log(a2 * n / v) + 1.0) if v > 0.0 else 0.0
    epsilon = a1 * (complexity - log_nu) / n
    # epsilon * sqrt(1 + 4 E / epsilon) = sqrt(epsilon^2 + 4 E epsilon): no division by zero.
    return _result(errors + 0.5 * (epsilon + np.sqrt(epsilon * epsilon + 4.0 * errors * epsilon)), clip)


_wedderburn_lock = threading.Lock()
_wedderburn = [0, 1]  # only grows, under the lock


def wedderburn_etherington(n_leaves: int) -> int:
    """Count the unordered binary structures with a given number of leaves, exactly.

    Parameters
    ----------
    n_leaves : int
        At least 0.

    Returns
    -------
    int
        The Wedderburn-Etherington number (OEIS A001190).

    Notes
    -----
    W(2n-1) = sum_{i<n} W(i) W(2n-1-i), W(2n) = sum_{i<n} W(i) W(2n-i) + W(n) (W(n) + 1) / 2. O(n^2) products for all
    numbers up to n, which are kept.

    Examples
    --------
    >>> [wedderburn_etherington(n) for n in range(11)]
    [0, 1, 1, 1, 2, 3, 6, 11, 23, 46, 98]
    """
    n_leaves = check_int("n_leaves", n_leaves, 0)
    table = _wedderburn
    with _wedderburn_lock:
        for n in range(len(table), n_leaves + 1):
            half = n // 2
            total = sum(table[i] * table[n - i] for i in range(1, (n + 1) // 2))
            if n % 2 == 0:
                total += table[half] * (table[half] + 1) // 2
            table.append(total)
    return table[n_leaves]


def _log_growth(
    structure: object, m: int, n_classes: int, features: dict[str, object], log_growth: float | None, form: Form,
    method: GrowthMethod,
) -> float:  # fmt: skip
    """Return the logarithm of the growth function at m points that was given, or a bound on it."""
    if log_growth is not None:
        value = float(log_growth)
        if not 0.0 <= value < math.inf:
            raise ValueError(f"expected log_growth >= 0, got {log_growth!r}")
        return value
    return log_growth_bound(structure, m, n_classes, form=form, method=method, **features)  # type: ignore[arg-type]


def _log_prior(structure: object) -> float:
    """Return -log p of a structure: p = 6 / (pi^2 L^2) shared by the structures with L leaves."""
    n_leaves = as_structure(structure).n_leaves
    return math.log(math.pi**2 / 6.0) + 2.0 * math.log(n_leaves) + math.log(wedderburn_etherington(n_leaves))


def shawe_taylor_bound(
    error: ArrayLike, structure: object, m: int, n_classes: int = 2, *, delta: float = 0.05, r: float = PAPER_R,
    d: int | None = None, real: int | None = None, features: Features | None = None, form: Form = "loose",
    method: GrowthMethod = "theorem9", log_growth: float | None = None, clip: bool = False,
) -> Result:  # fmt: skip
    r"""Bound the risk of a tree by the theorem of Shawe-Taylor et al. (1998), as Leboeuf et al. (2020) prune with it.

    Parameters
    ----------
    error : array_like
        Training errors in [0, 1]; k = m error points are misclassified.
    structure : structure
        Anything that :func:`as_structure` accepts; binary.
    m : int
        Sample size, at least 1.
    n_classes : int, default=2
        Number of classes.
    delta : float, default=0.05
        Probability of failure in (0, 1].
    r : float, default=2**-13.7
        :math:`q_k = (1 - r) r^k`, 0 < r < 1; the paper's value.
    d, real, features, form, method
        As in :func:`log_growth_bound`, which is asked for 2 m points.
    log_growth : float, optional
        Logarithm of the growth function at 2 m points, if it is known already.
    clip : bool, default=False
        Cut the result off at 1.

    Returns
    -------
    float or ndarray
        One value for each error.

    Notes
    -----
    .. math:: \epsilon = \frac1m \Bigl(2 k + 4 \ln \frac{4\, \tau(2m)}{\delta\, q_k\, p}\Bigr), \qquad
        p = \frac{6}{\pi^2 L^2\, \mathrm{WE}(L)}

    (Leboeuf et al. 2020, Eq. 8), WE(L) the number of structures with L leaves. In logarithms throughout, so finite for
    every size.

    References
    ----------
    J. Shawe-Taylor, P. L. Bartlett, R. C. Williamson and M. Anthony, Structural risk minimization over data-dependent
    hierarchies, IEEE Transactions on Information Theory 44 (1998), 1926-1940, doi:10.1109/18.705570.

    Examples
    --------
    >>> round(shawe_taylor_bound(0.0, ".", 1000, real=10), 4)
    0.0223
    >>> shawe_taylor_bound([0.0, 0.01], "((..).)", 1000, real=10).round(3)
    array([0.116, 0.516])
    """
    errors = _checked_error(error)
    m = check_int("m", m, 1)
    delta = _checked_positive("delta", delta, 1.0)
    if not 0.0 < float(r) < 1.0:
        raise ValueError(f"expected 0 < r < 1, got {r!r}")
    given: dict[str, object] = {"d": d, "real": real, "features": features}
    growth = _log_growth(structure, 2 * m, n_classes, given, log_growth, form, method)
    k = errors * m
    fixed = math.log(4.0) + growth - math.log(delta) - math.log1p(-r) + _log_prior(structure)
    return _result((2.0 * k + 4.0 * (fixed - k * math.log(r))) / m, clip)


def vapnik_bound(
    error: ArrayLike, structure: object, m: int, n_classes: int = 2, *, delta: float = 0.05,
    d: int | None = None, real: int | None = None, features: Features | None = None, form: Form = "loose",
    method: GrowthMethod = "theorem9", log_growth: float | None = None, clip: bool = False,
) -> Result:  # fmt: skip
    r"""Bound the risk of a tree by Vapnik's relative deviation bound, with a prior over structures.

    Parameters
    ----------
    error, structure, m, n_classes, delta, d, real, features, form, method, log_growth, clip
        As in :func:`shawe_taylor_bound`.

    Returns
    -------
    float or ndarray
        One value for each error.

    Notes
    -----
    With probability at least 1 - delta, for every tree of every structure,

    .. math:: R \le E + \frac\epsilon2 \Bigl(1 + \sqrt{1 + \frac{4 E}\epsilon}\Bigr), \qquad
        \epsilon = \frac4m \ln \frac{4\, \tau(2m)}{\delta\, p},

    p as in :func:`shawe_taylor_bound`, by the union bound over structures (Vapnik 1998, section 4). No distribution
    over the number of errors is needed.

    References
    ----------
    V. Vapnik, Statistical Learning Theory, Wiley 1998.

    Examples
    --------
    >>> round(vapnik_bound(0.0, ".", 1000, real=10), 4)
    0.0223
    >>> vapnik_bound([0.0, 0.01], "((..).)", 1000, real=10).round(3)
    array([0.116, 0.135])
    """
    errors = _checked_error(error)
    m = check_int("m", m, 1)
    delta = _checked_positive("delta", delta, 1.0)
    given: dict[str, object] = {"d": d, "real": real, "features": features}
    growth = _log_growth(structure, 2 * m, n_classes, given, log_growth, form, method)
    epsilon = 4.0 / m * (math.log(4.0) + growth - math.log(delta) + _log_prior(structure))
    return _result(errors + 0.5 * (epsilon + np.sqrt(epsilon * epsilon + 4.0 * errors * epsilon)), clip)


def mdl_bound(
    error: ArrayLike, n_nodes: int, n_features: int, m: int, *, delta: float = 0.05, n_classes: int = 2,
    clip: bool = False,
) -> Result:  # fmt: skip
    r"""Bound the risk of a tree on binary features by the length of its description.

    Parameters
    ----------
    error : array_like
        Training errors in [0, 1].
    n_nodes : int
        Number of nodes and leaves together, at least 1 (a tree with N nodes has 2 N + 1 of both).
    n_features : int
        Number d of binary features, at least 0.
    m : int
        Sample size, at least 1.
    delta : float, default=0.05
        Probability of failure in (0, 1].
    n_classes : int, default=2
        Number of classes; each is a kind of leaf.
    clip : bool, default=False
        Cut the result off at 1.

    Returns
    -------
    float or ndarray
        One value for each error.

    Notes
    -----
    .. math:: E + \sqrt{\frac{(n + 1) \log_2(d + 3) + \ln(2/\delta)}{2 m}}

    for two classes (Peng 2019, section 18.1, after Shalev-Shwartz and Ben-David 2014): one block of :math:`\log_2(d+3)`
    bits for each node and leaf in preorder (d features, 2 labels, end of code) and one for the end. With n classes d +
    n + 1 blocks. The description length is in bits, as printed; it is bounded in the proof by a natural logarithm, so
    the bound holds with room to spare.

    References
    ----------
    S. Shalev-Shwartz and S. Ben-David, Understanding Machine Learning, Cambridge 2014, Theorem 7.7 and section 18.1.

    Examples
    --------
    >>> round(mdl_bound(0.0, 1, 10, 1000), 4), round(mdl_bound(0.1, 7, 10, 1000), 4)
    (0.0745, 0.229)
    """
    errors = _checked_error(error)
    n_nodes, m = check_int("n_nodes", n_nodes, 1), check_int("m", m, 1)
    n_features, n_classes = check_int("n_features", n_features, 0), check_int("n_classes", n_classes, 1)
    delta = _checked_positive("delta", delta, 1.0)
    bits = (n_nodes + 1) * math.log2(n_features + n_classes + 1)
    return _result(errors + math.sqrt((bits + math.log(2.0 / delta)) / (2.0 * m)), clip)

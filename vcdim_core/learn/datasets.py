"""Data sets made by rule."""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt

from .._validation import check_int

__all__ = ["make_ringnorm", "make_twonorm"]

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]


def make_ringnorm(n: int = 7400, *, d: int = 20, random_state: int | None = None) -> tuple[Floats, Ints]:
    r"""Draw from Breiman's ringnorm: one normal cloud around the other.

    Parameters
    ----------
    n : int, default=7400
        Number of points.
    d : int, default=20
        Number of features.
    random_state : int, optional
        Seed.

    Returns
    -------
    X, y : arrays of shape (n, d) and (n,)
        Class 0 is :math:`N(0, 4I)`, class 1 :math:`N((a, \dots, a), I)` with :math:`a = 2/\sqrt{d}`; equally likely.

    References
    ----------
    L. Breiman, Bias, variance, and arcing classifiers, technical report 460, University of California, Berkeley, 1996.

    Examples
    --------
    >>> X, y = make_ringnorm(1000, random_state=0)
    >>> X.shape, bool(X[y == 0].std() > 1.8 > 1.2 > X[y == 1].std())
    ((1000, 20), True)
    """
    y, normal = _draw(n, d, random_state)
    a = 2.0 / math.sqrt(d)
    return np.where(y[:, None] == 0, 2.0 * normal, normal + a), y


def make_twonorm(n: int = 7400, *, d: int = 20, random_state: int | None = None) -> tuple[Floats, Ints]:
    r"""Draw from Breiman's twonorm: two normal clouds side by side.

    Parameters
    ----------
    n : int, default=7400
        Number of points.
    d : int, default=20
        Number of features.
    random_state : int, optional
        Seed.

    Returns
    -------
    X, y : arrays of shape (n, d) and (n,)
        Class 0 is :math:`N((-a, \dots, -a), I)`, class 1 :math:`N((a, \dots, a), I)` with :math:`a = 2/\sqrt{d}`;
        equally likely. The best error is 2.28 percent.

    References
    ----------
    L. Breiman, Bias, variance, and arcing classifiers, technical report 460, University of California, Berkeley, 1996.

    Examples
    --------
    >>> X, y = make_twonorm(1000, random_state=0)
    >>> bool(((X.sum(axis=1) > 0) == y).mean() > 0.95)
    True
    """
    y, normal = _draw(n, d, random_state)
    a = 2.0 / math.sqrt(d)
    return normal + np.where(y[:, None] == 0, -a, a), y


def _draw(n: int, d: int, random_state: int | None) -> tuple[Ints, Floats]:
    """Fair classes and standard normal points."""
    n, d = check_int("n", n, 1), check_int("d", d, 1)
    rng = np.random.default_rng(None if random_state is None else check_int("random_state", random_state, 0))
    return rng.integers(0, 2, n), rng.standard_normal((n, d))

"""Turning real features into categories: quartiles and natural cut-points (Martin & Hirschberg 1996)."""

from __future__ import annotations

import math
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt

from ._table import as_matrix
from ._validation import check_choice, check_int

METHODS = ("quartiles", "natural")
"""Ways to choose cut-points."""


def quartile_cuts(x: Any, weights: Any = None) -> npt.NDArray[np.float64]:
    """Return cut-points at about the quartiles of ``x``.

    Parameters
    ----------
    x : array of shape (m,)
        Numbers; NaN is left out.
    weights : array of shape (m,), optional
        How much each number counts.

    Returns
    -------
    ndarray
        At most three ascending cuts, each midway between two neighbouring values, none that leaves a side empty.

    Examples
    --------
    >>> quartile_cuts([1, 2, 3, 4, 5, 6, 7, 8]).tolist()
    [2.5, 4.5, 6.5]
    >>> quartile_cuts([1, 1, 1, 9]).tolist()
    [5.0]
    >>> quartile_cuts([3, 3]).tolist()
    []
    """
    values, counts = _present(x, weights)
    below = np.cumsum(counts)
    gaps = np.flatnonzero(values[1:] > values[:-1])
    cuts = []
    for quarter in (1, 2, 3) if gaps.size else ():
        # The gap between different values that is nearest to the quartile's place in the order.
        nearest = int(gaps[np.argmin(np.abs(below[gaps] - quarter * below[-1] / 4))])
        cuts.append(_between(float(values[nearest]), float(values[nearest + 1])))
    return np.unique(cuts)


def natural_cuts(
    x: Any, weights: Any = None, *, bins: int | None = None, smoothing: int = 1
) -> npt.NDArray[np.float64]:
    """Return cut-points at the local minima of a smoothed histogram of ``x``.

    Parameters
    ----------
    x : array of shape (m,)
        Numbers; NaN is left out.
    weights : array of shape (m,), optional
        How much each number counts.
    bins : int, optional
        Bins of equal width; the square root of the weight, at least 8 and at most 256, unless given.
    smoothing : int
        How many times the counts are averaged with the weights 1, 2, 1.

    Returns
    -------
    ndarray
        Ascending cuts, in the middle of the bins (or of the flat stretch) where the smoothed count is lowest; none that
        leaves an interval empty.

    Notes
    -----
    Cost O(m + bins * smoothing).

    Examples
    --------
    >>> natural_cuts([0.0, 0.1, 0.2, 5.0, 5.1, 5.2], bins=9, smoothing=1).round(1).tolist()
    [2.6]
    >>> natural_cuts([1.0, 1.0]).tolist()
    []
    """
    values, heavy = _present(x, weights)
    rounds = check_int("smoothing", smoothing, 0)
    size = check_int("bins", bins, 1) if bins is not None else min(256, max(8, math.ceil(math.sqrt(heavy.sum()))))
    finite, heavy = values[np.isfinite(values)], heavy[np.isfinite(values)]
    if finite.size < 2 or finite[0] == finite[-1] or not math.isfinite(float(finite[-1]) - float(finite[0])):
        return np.empty(0)
    counts, edges = np.histogram(finite, bins=size, weights=heavy)
    smooth = counts.astype(np.float64)
    for _ in range(rounds):
        padded = np.concatenate(([0.0], smooth, [0.0]))
        smooth = (padded[:-2] + 2 * padded[1:-1] + padded[2:]) / 4
    cuts = [
        0.5 * (edges[first] + edges[last + 1]) for first, last in _valleys(smooth.tolist())
    ]
    kept: list[float] = []
    for cut in cuts:
        low = np.searchsorted(finite, kept[-1] if kept else -np.inf, side="right")
        if low < np.searchsorted(finite, cut, side="right") < finite.size:
            kept.append(float(cut))
    return np.array(kept)


def _valleys(heights: list[float]) -> list[tuple[int, int]]:
    """Flat stretches [first, last] with higher ground on both sides."""
    out = []
    first = 0
    for at in range(1, len(heights) + 1):
        if at < len(heights) and heights[at] == heights[first]:
            continue
        if first > 0 and at < len(heights) and heights[first - 1] > heights[first] < heights[at]:
            out.append((first, at - 1))
        first = at
    return out


def _present(x: Any, weights: Any) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.float64]]:
    """The values that are there, ascending, and their weights."""
    values = np.asarray(x, dtype=np.float64)
    if values.ndim != 1:
        raise ValueError(f"expected x to have 1 dimension, got {values.ndim}")
    heavy = np.ones(values.size) if weights is None else np.asarray(weights, dtype=np.float64)
    if heavy.shape != values.shape:
        raise ValueError(f"expected weights to have shape {values.shape}, got {heavy.shape}")
    keep = ~np.isnan(values) & (heavy > 0)
    order = np.argsort(values[keep], kind="stable")
    return values[keep][order], heavy[keep][order]


def _between(low: float, high: float) -> float:
    """A cut t with low <= t < high."""
    middle = 0.5 * low + 0.5 * high
    return middle if low <= middle < high else low


class Discretiser:
    """Codes 0, 1, 2, ... for the intervals between the cut-points of each feature.

    Parameters
    ----------
    method : {"quartiles", "natural"}
        How the cut-points are chosen.

    Notes
    -----
    Interval j of a feature holds the values above cut j - 1 and up to cut j.  NaN stays NaN.

    References
    ----------
    J. K. Martin, D. S. Hirschberg, On the Complexity of Learning Decision Trees, AI & Mathematics 1996.

    Examples
    --------
    >>> coder = Discretiser("quartiles").fit([[1.0], [2.0], [3.0], [4.0]])
    >>> coder.transform([[0.0], [2.5], [9.0]]).tolist()
    [[0.0], [1.0], [3.0]]
    >>> coder.labels(0)
    ('<= 1.5', '(1.5, 2.5]', '(2.5, 3.5]', '> 3.5')
    """

    def __init__(self, method: str = "quartiles") -> None:
        self.method = check_choice("method", method, METHODS)
        self.cuts_: list[npt.NDArray[np.float64]] | None = None

    def fit(self, X: Any, features: Any = None, weights: Any = None) -> Discretiser:
        """Choose the cut-points of ``features`` (all unless given); other features pass through unchanged."""
        matrix = as_matrix(X)
        chosen = set(range(matrix.shape[1])) if features is None else set(int(feature) for feature in features)
        find = quartile_cuts if self.method == "quartiles" else natural_cuts
        self.chosen_ = chosen
        self.cuts_ = [
            find(column, weights) if feature in chosen else np.empty(0) for feature, column in enumerate(matrix.T)
        ]
        return self

    def transform(self, X: Any) -> npt.NDArray[np.float64]:
        """Return the codes of ``X``."""
        matrix = as_matrix(X)
        cuts = self._fitted()
        if matrix.shape[1] != len(cuts):
            raise ValueError(f"expected X to have {len(cuts)} features, got {matrix.shape[1]}")
        out = matrix.astype(np.float64)
        for feature in self.chosen_:
            column = out[:, feature]
            absent = np.isnan(column)
            out[:, feature] = np.where(absent, np.nan, np.searchsorted(cuts[feature], column, side="left"))
        return out

    def labels(self, feature: int) -> tuple[str, ...]:
        """Return the intervals of a feature as text."""
        cuts = [f"{cut:.6g}" for cut in self._fitted()[feature]]
        if not cuts:
            return ("any",)
        middle = [f"({low}, {high}]" for low, high in pairwise(cuts)]
        return (f"<= {cuts[0]}", *middle, f"> {cuts[-1]}")

    def _fitted(self) -> list[npt.NDArray[np.float64]]:
        if self.cuts_ is None:
            raise ValueError("expected a fitted Discretiser, got one before fit")
        return self.cuts_

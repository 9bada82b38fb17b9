"""The recursion of :class:`MixedRows` for two parts in doubles that are rounded up, up to 1,000 points."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from ._counts import MixedRows, State, n_distinct, use_up
from ._finite import add_finite_splits, add_real_splits
from ._rows import Table
from .features import Features

MAX_POINTS = 1_000  # 2**1000 is a double, with room for the number of features
MAX_FEATURES = 1 << 20

_KINDS = {"binary": 0, "ordinal": 1, "nominal": 2}

Doubles = NDArray[np.float64]


class FastRows(MixedRows):
    """Bounds on the 2-partitions for any mixture of real, binary, ordinal and nominal features.

    The same numbers as :class:`MixedRows` below 2**53, never below them, and above by a relative 1e-10 at most. Rows
    are extended from what is there; cost O(m^2) for each pair of a substructure and a state of the features, in a
    kernel. ``growth_known`` may return upper bounds on the growth function with two classes for an entry and the
    features left, a constant test allowed, by number of points.
    """

    def __init__(
        self, table: Table, features: Features, vc_known: Callable[[int, State], int | None] | None = None,
        growth_known: Callable[[int, State], dict[int, int]] | None = None,
    ) -> None:  # fmt: skip
        super().__init__(table, features, 2, vc_known)
        self.growth_known = growth_known
        self._rows: dict[tuple[int, State], tuple[Doubles, Doubles]] = {}

    def extend(self, n_points: int) -> None:
        """Fill all rows up to this number of points."""
        first = self.n_points + 1
        if n_points < first:
            return
        for key in self._entries:
            rows = np.zeros((2, n_points + 1)), np.zeros((2, n_points + 1))  # splits, all; [part - 1, m]
            if key in self._rows:
                for new, old in zip(rows, self._rows[key], strict=True):
                    new[:, :first] = old
            self._rows[key] = rows
            self._fill_from(key, first, n_points)
        self.n_points = n_points

    def _fill_from(self, key: tuple[int, State], first: int, n_points: int) -> None:
        """Fill the columns from ``first`` on; those of the children are there."""
        i, state = key
        splits, everything = self._rows[key]
        last = n_points if self.real else min(n_points, n_distinct(state))
        splits[0, first : last + 1] = everything[0, first : last + 1] = 1.0
        if not self.table[i]:
            return
        x, y = self.table[i]
        out = np.zeros(n_points + 1)
        if self.real:
            sides = self._rows[x, state][1], self._rows[y, state][1]
            add_real_splits(*sides, out, 2.0 * self.real, x == y, self.leaves[x], self.leaves[y], first)
        for kind, count in state:
            below = self._below(state, kind)
            sides = self._rows[x, below][1], self._rows[y, below][1]
            add_finite_splits(*sides, out, _KINDS[kind[0]], kind[1], float(count), x == y, first)
        cap = self._caps(i, state, n_points)
        new = slice(first, last + 1)
        splits[1, new] = np.minimum(cap, out)[new]
        total = out + self._passed_on(i, state)
        everything[1, new] = np.minimum(cap, np.where(total < 2.0**53, total, total * (1 + 2.0**-50)))[new]
        if self.real:
            shattered = slice(first, min(self.leaves[i], n_points) + 1)
            splits[1, shattered] = everything[1, shattered] = cap[shattered]

    def _passed_on(self, i: int, state: State) -> Doubles:
        """What the children realise on all points, with finite features only."""
        x, y = self.table[i]
        left: Doubles = self._rows[x, state][1][1]
        right: Doubles = self._rows[y, state][1][1]
        if self.real:
            return np.zeros_like(left)
        if self._fits is not None and (self._fits[x][y] or self._fits[y][x]):
            return right if self._fits[x][y] else left
        both: Doubles = left + right
        return both

    def _caps(self, i: int, state: State, n_points: int) -> Doubles:
        """Return 2**(m-1) - 1 or, with a bound on the VC dimension, that of Sauer and Shelah, rounded up."""
        m = np.arange(n_points + 1, dtype=np.float64)
        cap: Doubles = np.where(m <= 54, np.exp2(np.maximum(m, 1) - 1) - 1, np.exp2(np.maximum(m, 1) - 1))
        vc = self.vc_known(i, state) if self.vc_known is not None else None
        if vc is not None and vc < n_points:
            sauer, term = np.ones(n_points + 1), np.ones(n_points + 1)
            for j in range(1, vc + 1):
                term = term * np.maximum(m - j + 1, 0.0) / j
                sauer += np.rint(term)
            # Below 2**40 every product above is below 2**50, hence exact, and so are the quotients.
            sauer = np.where(sauer < 2.0**40, sauer, sauer * (1 + (4 * vc + 8) * 2.0**-50))
            cap = np.minimum(cap, np.where(m > vc, np.floor(sauer / 2) - 1, np.inf))
        for points, growth in (self.growth_known(i, state) if self.growth_known is not None else {}).items():
            if points <= n_points:
                cap[points] = min(cap[points], growth // 2 - 1)
        return cap

    def two_parts(self, n_points: int) -> Doubles:
        """Bound for 2 parts of m = 0 .. n_points points at the root."""
        if not self.top and not self.real:
            return np.zeros(n_points + 1)
        self.extend(n_points)
        root = len(self.table) - 1
        best: Doubles = self._rows[root, self.top][0][1].copy()
        if not self.real:
            for kind, _ in self.top:
                best = np.maximum(best, self._rows[root, use_up(self.top, kind)][1][1])
        return best

    def vc_bound(self, most: int) -> int:
        """Return the last m before the bound falls below 2**(m-1) - 1, at most ``most``; by galloping."""
        most = min(most, MAX_POINTS)
        n_points = 0
        while n_points < most:
            n_points = min(most, max(32, n_points + n_points // 2))
            values = self.two_parts(n_points)
            m = np.arange(2, n_points + 1)
            everything = np.where(m <= 54, np.exp2(m - 1) - 1, np.exp2(m - 1))
            failing = np.flatnonzero(values[2:] < everything)
            if failing.size:
                return int(failing[0]) + 1
        return most

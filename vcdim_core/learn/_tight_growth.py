r"""The tight form of Theorem 9 (Leboeuf et al. 2020) for many similar structures, by fast convolution.

**One row for each number of classes.** With :math:`P^n(m) = \sum_c (n)_c \pi^c(m)` the sum over parts is a product (as
in ``src/_boundprune.pyx``), so a node needs one convolution for each n = 2 .. C in place of one for each pair of parts:

.. math:: U^n(m) = \sum_{k=L_x}^{m-L_y} \min\{2\ell, \tbinom mk\} P_x^n(k) P_y^n(m-k), \qquad
    P^n = h\,U^n - n (h\,W - 1), \quad W(m) = \sum_k \min\{2\ell, \tbinom mk\},

h = 1/2 if x = y, else 1; the second term puts :math:`\pi^1 = 1` right. Where some :math:`\pi^c` may exceed its Stirling
number, all are solved for, capped, and summed again (``src/_capparts.pyx``).

**Tilting.** Rows grow by hundreds of digits. Times :math:`2^{-\lambda m}`, with one :math:`\lambda` for all rows, the
convolution is the same, and where :math:`\lambda` is the slope of the logarithm of the root at M, every row has its
peak where it counts for the root (all slopes are equal at the largest term). The error of a fast Fourier transform,
about 1e-16 of the peak, is then an error of that size at the root, and entries far from the peak, which are lost, do
not count. The first guess is :math:`\lambda = N / (M \ln 2)` for N nodes, as rows are polynomials of degree N where no
cap binds; then the slope of the root is measured. It is measured again as the tree shrinks, and changed when the root
is far from its peak.

The logarithms agree with `vcdim_core.log_growth_bound` to about 1e-11; they are not rounded up.
"""

from __future__ import annotations

import math
from collections import OrderedDict
from typing import Any

import numpy as np
import numpy.typing as npt

from .._capparts import cap_parts
from .._rows import stirling

Doubles = npt.NDArray[np.float64]

MAX_BYTES = 256 << 20
"""Rows that are kept."""


class Row:
    """P^2 .. P^C of a structure: ``values[n-2, m] * 2**(scale[n-2] + tilt m)``, 0 below its number of leaves."""

    __slots__ = ("fft", "scale", "values")

    def __init__(self, values: Doubles, scale: Doubles) -> None:
        self.values, self.scale = values, scale
        self.fft: npt.NDArray[np.complex128] | None = None

    @property
    def nbytes(self) -> int:
        return 3 * int(self.values.nbytes)


class TightGrowth:
    """Growth functions of structures at one number of points.

    Structures are numbers: 0 is a leaf, `join` names the others, the same name for swapped children.
    """

    def __init__(self, points: int, n_classes: int, real: int, n_nodes: int) -> None:
        self.points, self.n_classes, self.cap = points, n_classes, 2 * real
        self.ids: dict[tuple[int, int], int] = {}
        self.children: list[tuple[int, int]] = [(0, 0)]
        self.leaves = [1]
        self.known: dict[int, float] = {0: math.log(n_classes)}
        self.n = np.arange(2, n_classes + 1, dtype=np.float64)[:, None]
        self.m = np.arange(points + 1, dtype=np.float64)
        mantissa, exponent = stirling(n_classes, points)
        with np.errstate(divide="ignore"):
            self.log_cap: Doubles = np.asarray(np.log2(mantissa) + exponent, dtype=np.float64)
        # log2 (n)_a at [n, a], -inf for a > n.
        self.falling = np.full((n_classes + 1, n_classes + 1), -np.inf)
        for n in range(1, n_classes + 1):
            for a in range(1, n + 1):
                self.falling[n, a] = math.log2(math.perm(n, a))
        self.size = _fast_length(2 * points + 1)
        self.rows: OrderedDict[int, Row] = OrderedDict()
        self.nbytes = 0
        self._tilt_by(n_nodes / (points * math.log(2.0)))

    def _tilt_by(self, bits: float) -> None:
        """Set the tilt, at most that of all labellings; rows of another tilt are forgotten."""
        self.tilt = min(max(bits, 0.0), math.log2(self.n_classes))
        self.rows.clear()
        self.fall = np.exp2(-self.tilt * self.m)
        leaf = self.n * self.fall
        leaf[:, 0] = 0.0
        self.leaf = Row(leaf, np.zeros(self.n_classes - 1))
        self.nbytes = 0

    def settle(self, structure: int) -> None:
        """Choose the tilt for a root, and compute its growth function with it.

        The root is about exp(-(M (slope - tilt) ln 2)^2 / (2 N)) of its peak, which is to be no less than e^-6.
        """
        size = self.leaves[structure]
        if size == 1 or size >= self.points:
            return
        for _ in range(6):
            slope = self._slope(structure)
            if (self.points * (slope - self.tilt) * math.log(2.0)) ** 2 <= 12.0 * (size - 1):
                return
            self.known.pop(structure, None)
            self._tilt_by(slope)

    def _slope(self, structure: int) -> float:
        """log2 of the growth function at the last point less that at the one before."""
        x, y = self.children[structure]
        return (self._root(x, y, self.points) - self._root(x, y, self.points - 1)) / math.log(2.0)

    def join(self, x: int, y: int) -> int:
        """The structure with these children."""
        key = (min(x, y), max(x, y))
        if key not in self.ids:
            self.ids[key] = len(self.children)
            self.children.append(key)
            self.leaves.append(self.leaves[x] + self.leaves[y])
        return self.ids[key]

    def growth(self, structure: int) -> float:
        """ln tau at all points."""
        if structure not in self.known:
            if self.leaves[structure] >= self.points:
                value = self.points * math.log(self.n_classes)
            else:
                x, y = self.children[structure]
                value = min(self._root(x, y, self.points), self.points * math.log(self.n_classes))
            self.known[structure] = value
        return self.known[structure]

    def row(self, structure: int) -> Row:
        """The row of a structure, made from those of its children where it is not kept."""
        pending = [structure]
        while pending:
            at = pending[-1]
            if at == 0 or at in self.rows:
                pending.pop()
                continue
            missing = [child for child in self.children[at] if child and child not in self.rows]
            if missing:
                pending.extend(missing)
                continue
            pending.pop()
            self._keep(at, self._node(*self.children[at]))
        if structure:
            self.rows.move_to_end(structure)
            return self.rows[structure]
        return self.leaf

    def _keep(self, structure: int, row: Row) -> None:
        self.rows[structure] = row
        self.nbytes += row.nbytes
        while self.nbytes > MAX_BYTES and len(self.rows) > 64:
            self.nbytes -= self.rows.popitem(last=False)[1].nbytes

    def _fft(self, row: Row) -> npt.NDArray[np.complex128]:
        if row.fft is None:
            row.fft = np.fft.rfft(row.values, self.size)
        return row.fft

    # ---- one node

    def _node(self, x: int, y: int) -> Row:
        """The row of a node from those of its children."""
        left, right, lx, ly = self.row(x), self.row(y), self.leaves[x], self.leaves[y]
        size, scale = lx + ly, left.scale + right.scale
        sums = np.fft.irfft(self._fft(left) * self._fft(right), self.size)[:, : self.points + 1] * float(self.cap)
        splits = self.cap * (self.m - size + 1)
        self._mend_ends(sums, splits, left.values, right.values, lx, ly)
        half = 0.5 if x == y else 1.0
        sums *= half
        splits *= half
        np.maximum(sums, 0.0, out=sums)
        values = sums - (self.n * np.exp2(-scale)[:, None]) * (np.maximum(splits - 1.0, 0.0) * self.fall)
        np.maximum(values, 0.0, out=values)
        first, last = self._band(values, sums, scale, size)
        if first > size:  # all labellings: at least what is there, and nothing beside the peak
            values[:, size:first] = np.exp2(self.m[size:first] * (np.log2(self.n) - self.tilt) - scale[:, None])
        band = slice(first, last)
        cap_parts(
            values[:, band], sums[:, band], splits[band], scale, first, self.tilt, size, self.log_cap[:, band],
            self.falling,
        )  # fmt: skip
        values[:, :size] = 0.0
        values[:, size] = np.exp2(size * (np.log2(self.n[:, 0]) - self.tilt) - scale)
        peak = values.max(axis=1)
        shift = np.floor(np.log2(np.where(peak > 0, peak, 1.0)))
        return Row(values * np.exp2(-shift)[:, None], scale + shift)

    def _mend_ends(self, sums: Doubles, splits: Doubles, x: Doubles, y: Doubles, lx: int, ly: int) -> None:
        """Replace the weight 2 l by C(m, k) where that is smaller: for few k at both ends."""
        for k in range(1, self.points // 2 + 1):
            if math.comb(2 * k, k) >= self.cap:
                break
            last = 2 * k
            while last <= self.points and math.comb(last, k) < self.cap:
                last = self._next_m(last, k)
            for own, other, own_least, other_least, first in ((x, y, lx, ly, 2 * k), (y, x, ly, lx, 2 * k + 1)):
                start, stop = max(first, k + other_least), min(last, self.points + 1)
                if k < own_least or start >= stop:
                    continue
                m = np.arange(start, stop)
                less = _binomials(m, k) - self.cap
                splits[start:stop] += less
                sums[:, start:stop] += less * own[:, k : k + 1] * other[:, start - k : stop - k]

    def _next_m(self, m: int, k: int) -> int:
        """The first m with C(m, k) >= 2 l, or one past the last point."""
        if k == 1:
            return min(self.cap, self.points + 1)
        while m <= self.points and math.comb(m, k) < self.cap:
            m += 1
        return m

    def _band(self, values: Doubles, sums: Doubles, scale: Doubles, size: int) -> tuple[int, int]:
        """Columns where a cap may bind and the row is not lost beside its peak.

        Caps grow exponentially and sums as powers: beyond the last column where one binds none does, and that column is
        looked for among every 32nd. Where n^m, the most a row can be, is below 1e-20 of the peak, caps are of no
        account.
        """
        parts = min(self.n_classes, size)
        peak = values[:, size:].max(axis=1)
        with np.errstate(divide="ignore"):
            steep = np.log2(self.n[:, 0]) - self.tilt
            start = (np.log2(peak * 1e-20) + scale) / np.where(steep > 0, steep, np.nan)
            coarse = np.log2(sums[: parts - 1, ::32]) + scale[: parts - 1, None] + self.tilt * self.m[::32]
        factorials = np.array([self.falling[c, c] for c in range(2, parts + 1)])[:, None]
        binds = np.flatnonzero((coarse - factorials > self.log_cap[1:parts, ::32]).any(axis=0))
        last = min(self.points + 1, 32 * (int(binds[-1]) + 1) + 1) if binds.size else min(size + 33, self.points + 1)
        low = np.nanmin(start) if np.isfinite(start).all() else size + 1
        return int(min(max(size + 1, math.floor(low)), max(last, size + 1))), max(last, size + 1)

    def _root(self, x: int, y: int, m: int) -> float:
        """ln of the growth function of a node at m points: one entry of its row."""
        left, right, lx, ly = self.row(x), self.row(y), self.leaves[x], self.leaves[y]
        if m <= lx + ly:
            return m * math.log(self.n_classes)
        scale = left.scale + right.scale
        k = np.arange(lx, m - ly + 1)
        weights = np.minimum(_binomials_of(m, k, self.cap), self.cap)
        half = 0.5 if x == y else 1.0
        sums = half * (left.values[:, k] * right.values[:, m - k] * weights).sum(axis=1)[:, None]
        splits = np.array([half * float(weights.sum())])
        values = sums - self.n * max(float(splits[0]) - 1.0, 0.0) * np.exp2(-scale[:, None] - self.tilt * m)
        cap_parts(values, sums, splits, scale, m, self.tilt, lx + ly, self.log_cap[:, m : m + 1], self.falling)
        return float((np.log2(values[-1, 0]) + scale[-1] + self.tilt * m) * math.log(2.0))


def _binomials(m: npt.NDArray[Any], k: int) -> Doubles:
    """C(m, k) for small k."""
    out = np.ones(m.size)
    for i in range(k):
        out = out * (m - i) / (i + 1)
    return np.rint(out)


def _binomials_of(m: int, k: npt.NDArray[Any], cap: int) -> Doubles:
    """min(C(m, k), cap) of one m."""
    out = np.full(k.size, float(cap))
    least = np.minimum(k, m - k)
    size = 0
    while 2 * size <= m and (ways := math.comb(m, size)) < cap:
        out[least == size] = ways
        size += 1
    return out


def _fast_length(least: int) -> int:
    """The smallest product of powers of 2, 3 and 5 that is not smaller."""
    best = 1 << (least - 1).bit_length()
    five = 1
    while five < best:
        three = five
        while three < best:
            size = three << max(0, (-(-least // three) - 1).bit_length())
            best = min(best, size) if size >= least else best
            three *= 3
        five *= 5
    return best

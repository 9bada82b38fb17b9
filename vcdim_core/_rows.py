"""Rows of directed-rounding bounds for every substructure, cached across calls.

A *row* holds, for one substructure and a number of real features, the bound of Theorem 9 on the number of a-partitions
of m points, for a = 1 .. c and m = 0 .. M, as mantissas and exponents that are never below the exact integers. Rows
are immutable once made: extending one makes a new one, so threads share them freely. Substructures that are equal up
to swapping children share a row, whichever structure they were met in.
"""

from __future__ import annotations

import itertools
import math
import threading
from collections import OrderedDict, deque
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ._partition import extend_partitions, fill_stirling

Doubles = NDArray[np.float64]
Exponents = NDArray[np.int32]
Table = tuple[tuple[int, ...], ...]

CACHE_BYTES = 256 << 20  # rows kept across calls; a comb of 40 leaves at m = 5,000 takes 6 MB


MAX_REAL = 1 << 38  # the kernel multiplies twice this number by a number of points in 64 bits


class CacheInfo(NamedTuple):
    """What the cache of rows holds and how it was used."""

    hits: int
    misses: int
    rows: int
    nbytes: int
    max_nbytes: int


@dataclass(frozen=True, slots=True)
class Row:
    """Bounds on the a-partitions of m points, a = 1 .. c and m = 0 .. M, each mantissa * 2**exponent."""

    mantissa: Doubles
    """Shape (c, M + 1); in [1/2, 1), or 0."""
    exponent: Exponents
    """Shape (c, M + 1)."""
    ratio: Doubles
    """Uncapped bound for 2 parts over 2**(m-1) - 1: below 1 only if no m points are shattered."""
    error: float
    """No value exceeds the exact integer of the recursion by more than this factor minus 1."""

    @property
    def n_parts(self) -> int:
        return int(self.mantissa.shape[0])

    @property
    def n_points(self) -> int:
        return int(self.mantissa.shape[1]) - 1

    @property
    def nbytes(self) -> int:
        return self.mantissa.nbytes + self.exponent.nbytes + self.ratio.nbytes


class RowCache:
    """Least recently used rows, up to a number of bytes; every method may be called from any thread."""

    def __init__(self, max_nbytes: int) -> None:
        self._lock = threading.Lock()
        self._ids: dict[tuple[int, ...], int] = {(): 0}  # ids of the children -> id, the same in all structures
        self._fresh = itertools.count(1)  # never used twice, so rows of forgotten ids are never found again
        self._rows: OrderedDict[tuple[int, ...], Row] = OrderedDict()
        self._nbytes = 0
        self._hits = self._misses = 0
        self.max_nbytes = max_nbytes

    def name(self, table: Table) -> list[int]:
        """Return the id of each entry of a table."""
        ids: list[int] = []
        with self._lock:
            if len(self._ids) > 1_000_000:
                self._clear()
            for children in table:
                key = tuple(sorted(ids[child] for child in children))
                found = self._ids.get(key)
                if found is None:
                    found = self._ids[key] = next(self._fresh)
                ids.append(found)
        return ids

    def get(self, key: tuple[int, ...]) -> Row | None:
        with self._lock:
            row = self._rows.get(key)
            if row is None:
                self._misses += 1
            else:
                self._hits += 1
                self._rows.move_to_end(key)
            return row

    def put(self, key: tuple[int, ...], row: Row) -> None:
        """Keep a row, unless a larger one is there already; forget the oldest ones beyond the limit."""
        with self._lock:
            old = self._rows.get(key)
            if old is not None:
                if old.n_points >= row.n_points and old.n_parts >= row.n_parts:
                    return
                self._nbytes -= old.nbytes
            self._rows[key] = row
            self._rows.move_to_end(key)
            self._nbytes += row.nbytes
            while self._nbytes > self.max_nbytes and self._rows:
                self._nbytes -= self._rows.popitem(last=False)[1].nbytes

    def info(self) -> CacheInfo:
        with self._lock:
            return CacheInfo(self._hits, self._misses, len(self._rows), self._nbytes, self.max_nbytes)

    def clear(self) -> None:
        with self._lock:
            self._clear()

    def _clear(self) -> None:
        self._ids = {(): 0}
        self._rows.clear()
        self._nbytes = self._hits = self._misses = 0

    def check(self) -> None:
        """Assert the invariants: the bytes add up, stay below the limit, and rows are normalised."""
        with self._lock:
            assert self._nbytes == sum(row.nbytes for row in self._rows.values()) <= self.max_nbytes
            for row in self._rows.values():
                assert row.mantissa.shape == row.exponent.shape
                assert (((row.mantissa >= 0.5) & (row.mantissa < 1)) | (row.mantissa == 0)).all()


CACHE = RowCache(CACHE_BYTES)


@lru_cache(maxsize=16)
def coefficients(n_parts: int) -> tuple[Doubles, Exponents]:
    """Return q(a, b, c) = C(a, c-b) C(b, c-a) (a+b-c)! at [c-1, a-1, b-1], rounded up: how many c-partitions an
    a-partition and a b-partition of two disjoint sets can be glued to."""
    shape = (n_parts, n_parts, n_parts)
    mantissa, exponent = np.zeros(shape), np.zeros(shape, np.int32)
    for c in range(1, n_parts + 1):
        for a in range(1, c + 1):
            for b in range(max(1, c - a), c + 1):
                mantissa[c - 1, a - 1, b - 1], exponent[c - 1, a - 1, b - 1] = round_up(glue(a, b, c))
    return mantissa, exponent


def glue(a: int, b: int, c: int) -> int:
    """Number of c-partitions that glue parts of an a-partition to parts of a b-partition of a disjoint set."""
    return math.comb(a, c - b) * math.comb(b, c - a) * math.factorial(a + b - c)


def round_up(value: int) -> tuple[float, int]:
    """Return (f, e) with f in [1/2, 1) and f * 2**e >= value, equal below 2**53; (0, 0) for zero."""
    bits = value.bit_length()
    if bits <= 53:
        return math.frexp(value)
    f, e = math.frexp(-(-value >> (bits - 53)))
    return f, e + bits - 53


_stirling_lock = threading.Lock()
_stirling: dict[int, tuple[Doubles, Exponents]] = {}


def stirling(n_parts: int, n_points: int) -> tuple[Doubles, Exponents]:
    """Return S(m, c) at [c-1, m] for c <= n_parts and m <= n_points, rounded up."""
    with _stirling_lock:
        known = _stirling.get(n_parts)
        if known is None or known[0].shape[1] <= n_points:
            shape = (n_parts, n_points + n_points // 4 + 1)
            known = np.zeros(shape), np.zeros(shape, np.int32)
            fill_stirling(*known)
            if len(_stirling) > 32:
                _stirling.clear()
            _stirling[n_parts] = known
    return np.ascontiguousarray(known[0][:, : n_points + 1]), np.ascontiguousarray(known[1][:, : n_points + 1])


def leaf_row(n_parts: int, n_points: int) -> Row:
    """A leaf makes the one 1-partition of any sample."""
    mantissa, exponent = np.zeros((n_parts, n_points + 1)), np.zeros((n_parts, n_points + 1), np.int32)
    mantissa[0, 1:], exponent[0, 1:] = 0.5, 1
    ratio = np.zeros(n_points + 1)
    ratio[:2] = 1.0
    return Row(mantissa, exponent, ratio, 0.0)


def count_leaves(table: Table) -> list[int]:
    """Return the number of leaves of each entry of a table."""
    leaves: list[int] = []
    for children in table:
        leaves.append(sum(leaves[child] for child in children) if children else 1)
    return leaves


def last_uses(table: Table) -> list[int]:
    """Return for each entry of a table the last entry that has it as a child; the root is used by itself."""
    last = list(range(len(table)))
    for i, children in enumerate(table):
        for child in children:
            last[child] = i
    return last


def iterate_rows(table: Table, real: int, n_parts: int, n_points: int) -> Iterator[Row]:
    """Yield the row of every entry of a binary table, from the cache or by the kernel.

    Parameters
    ----------
    table : tuple of tuple of int
        The distinct substructures as :meth:`Structure.table` lists them.
    real : int
        Number of real features, at least 1.
    n_parts, n_points : int
        Least size of the rows, both at least 1.

    Notes
    -----
    Rows are held here only as long as a node above needs them: 3 MB each at 100,000 points and 2 parts.
    """
    if real > MAX_REAL:
        raise ValueError(f"expected at most {MAX_REAL} real features, got {real}")
    names, leaves, last = CACHE.name(table), count_leaves(table), last_uses(table)
    caps = stirling(n_parts, n_points)
    live = {0: leaf_row(n_parts, n_points)}
    yield live[0]
    for i in range(1, len(table)):
        key = (names[i], real)
        row = CACHE.get(key)
        x, y = table[i]
        if row is None or row.n_parts < n_parts or row.n_points < n_points:
            row = _extend(row, live[x], live[y], leaves[x], leaves[y], x == y, real, n_parts, n_points, caps)
            CACHE.put(key, row)
        live[i] = row
        for child in {x, y}:
            if last[child] == i:
                del live[child]
        yield row


def partition_rows(table: Table, real: int, n_parts: int, n_points: int) -> list[Row]:
    """Return the rows of all entries, as :func:`iterate_rows` yields them."""
    return list(iterate_rows(table, real, n_parts, n_points))


def root_row(table: Table, real: int, n_parts: int, n_points: int) -> Row:
    """Return the row of the last entry of a table."""
    return deque(iterate_rows(table, real, n_parts, n_points), maxlen=1).pop()


def _extend(
    old: Row | None, x: Row, y: Row, lx: int, ly: int, same: bool, real: int, n_parts: int, n_points: int,
    caps: tuple[Doubles, Exponents],
) -> Row:  # fmt: skip
    """Make the row of a node from those of its children, reusing the columns of an old one with as many parts."""
    shape = (n_parts, n_points + 1)
    mantissa, exponent, ratio = np.zeros(shape), np.zeros(shape, np.int32), np.ones(n_points + 1)
    first, error = 1, 0.0
    if old is not None and old.n_parts >= n_parts:
        first, error = old.n_points + 1, old.error
        mantissa[:, :first], exponent[:, :first] = old.mantissa[:n_parts], old.exponent[:n_parts]
        ratio[:first] = old.ratio
    extend_partitions(
        x.mantissa, x.exponent, y.mantissa, y.exponent, mantissa, exponent, ratio,
        *caps, *coefficients(n_parts), lx, ly, same, 2 * real, first,
    )  # fmt: skip
    roundings = 2 * n_points + 4 * n_parts**2 + 100
    error = max(error, (1 + x.error) * (1 + y.error) * (1 + roundings * 2.0**-51) - 1)
    return Row(mantissa, exponent, ratio, error)

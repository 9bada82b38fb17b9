"""Exact-integer bounds on the number of partitions, for every kind of feature that a binary node can test.

Three recursions over the distinct substructures, all with Python integers:

* :func:`real_rows`: Theorem 9 in its tight form for real features, all m up to a limit;
* :func:`loose_values`: Theorem 9 in its loose form, at one m;
* :class:`MixedRows`: the tight form for real, binary, ordinal and nominal features in any mixture.

**How many splits a feature can make.** Let a node meet m distinct points and let {A, B} be a split into two non-empty
sides of sizes j <= m - j; the node may send either side to either child. Of one feature,

* *real*: 2 splits for each j < m/2 (the j lowest, the j highest points), 1 for j = m/2;
* *binary* (also ordinal and nominal with 2 categories): 1 split in all;
* *ordinal*, C >= 3 categories: C - 1 thresholds, so C - 1 splits in all, of which at most 2 have a given j < m/2 and 1
  has j = m/2, as for a real feature;
* *nominal*, C >= 3 categories, one against the rest: C splits in all. A split with sizes j < m - j cuts off a category
  of size j, or one of size m - j. Categories are disjoint, so at most floor(m/j) have size j, at most C, and all C of
  them only if C j = m. One of size m - j > m/2 leaves j points to the others, so there is no second of its size, and if
  one of size j is there as well it is all the rest: the same split. So min(C - 1, floor(m/j)) splits, or C if C j = m,
  for j < m/2, and 1 for j = m/2 (two categories of that size make the same split).

No kind makes more than the C(m, j) splits there are (half of that for j = m/2). A feature with C categories has at most
C - 1 on each side of a split that it makes, and none are left of a binary one. The bound gives each kind the splits
that count most: sizes in decreasing order of the value of a split, until the number of splits of the kind is used up.

**Splits that send everything one way.** Where a real feature exists they add nothing: move the threshold until L_x
points go to the child x, which separates any L_x points on one feature alone. With finite features only, they add what
the children realise on the whole sample. They exist at a node below another (whose feature misses a category now); at
the root only if a category of some feature does not occur in the sample: that feature is as good as one with a category
less, a binary one as none.

**Distinct points.** With finite features only there are at most P points, the product of the numbers of categories;
a sample of m > P points repeats some, and realises what its distinct points do.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import lru_cache

from ._rows import Table, count_leaves, glue
from .features import Features

Kind = tuple[str, int]  # ("binary" | "ordinal" | "nominal", categories)
State = tuple[tuple[Kind, int], ...]  # how many features of each finite kind are left, sorted

_STATE_LIMIT = 400  # beyond so many states features are no longer used up (which only loosens the bound)
_PRODUCT_BYTES = 1 << 16  # factors of one product of integers: a few milliseconds, so that Ctrl-C is heard


@lru_cache(maxsize=4096)
def stirling2(m: int, c: int) -> int:
    """Number of c-partitions of m points: the Stirling number of the second kind."""
    if not 0 < c <= m:
        return int(c == m)
    ways = [math.comb(c, i) * int(pow(c - i, m)) for i in range(c)]  # onto at most c - i parts
    return (sum(ways[::2]) - sum(ways[1::2])) // math.factorial(c)


def finite_state(features: Features) -> State:
    """Return the features with finitely many categories that a binary node can test."""
    kinds: Counter[Kind] = Counter()
    if features.binary:
        kinds["binary", 2] = features.binary
    for name, all_categories in (("ordinal", features.ordinal), ("nominal", features.nominal)):
        kinds.update((name, categories) if categories > 2 else ("binary", 2) for categories in all_categories)
    if two_way := features.multiway.count(2):
        kinds["binary", 2] += two_way
    return tuple(sorted(kinds.items()))


def n_distinct(state: State) -> int:
    """Number of different points on these features, or 2**64 if there are more: no structure in memory has that many
    leaves."""
    if sum(count * (categories.bit_length() - 1) for (_, categories), count in state) >= 64:
        return 1 << 64
    return math.prod(categories**count for (_, categories), count in state)


def use_up(state: State, kind: Kind, remove: bool = False) -> State:
    """Return what is left on each side of a split by a feature of this kind, or after removing it."""
    kinds = Counter(dict(state))
    kinds[kind] -= 1
    name, categories = kind
    if categories > 2 and not remove:
        kinds[(name, categories - 1) if categories > 3 else ("binary", 2)] += 1
    return tuple(sorted((kind, count) for kind, count in kinds.items() if count))


def splits_at(kind: Kind, m: int, j: int) -> int:
    """Most splits of m points into sides of sizes j <= m - j by one feature of this kind (proof above)."""
    name, categories = kind
    if name == "binary" or 2 * j == m:
        return 1
    if name == "ordinal":
        return 2
    return categories if categories * j == m else min(categories - 1, m // j)


def splits_total(kind: Kind) -> int:
    """Most splits by one feature of this kind."""
    name, categories = kind
    return categories if name == "nominal" else categories - 1


# Products of rows


def _convolve(x: list[int], y: list[int]) -> list[int]:
    """Return the sums over k of x[k] y[m-k], m < len(x), by products of integers that hold many entries each."""
    size = len(x)
    width = (max(x).bit_length() + max(y).bit_length() + size.bit_length()) // 8 + 1
    step = max(1, _PRODUCT_BYTES // width)
    total = [0] * size

    def packed(row: list[int]) -> list[int]:
        parts = [row[i : i + step] for i in range(0, size, step)]
        return [int.from_bytes(b"".join(v.to_bytes(width, "little") for v in part), "little") for part in parts]

    for i, left in enumerate(packed(x)):
        for j, right in enumerate(packed(y)):
            if (start := (i + j) * step) >= size or not left or not right:
                continue
            product = (left * right).to_bytes(2 * step * width, "little")
            for k in range(min(2 * step - 1, size - start)):
                total[start + k] += int.from_bytes(product[k * width : (k + 1) * width], "little")
    return total


def _weighted(x: list[int], y: list[int], lx: int, ly: int, cap: int, first: int) -> list[int]:
    """Return the sums over lx <= k <= m - ly of min(cap, C(m, k)) x[k] y[m-k], for m >= first (0 before)."""
    size = len(x)
    x = [0] * lx + x[lx:]
    y = [0] * ly + y[ly:]
    sums = _prefix(x) if all(v == 1 for v in y[ly:]) else _prefix(y) if all(v == 1 for v in x[lx:]) else None
    if sums is not None:
        shift = ly if all(v == 1 for v in y[ly:]) else lx
        sums = ([0] * shift + sums)[:size]
    else:
        sums = _convolve(x, y)
    out = [0] * size
    for m in range(first, size):
        missing, k = 0, 0
        while 2 * k <= m and (ways := math.comb(m, k)) < cap:
            both = x[k] * y[m - k] + (x[m - k] * y[k] if 2 * k < m else 0)
            missing += (cap - ways) * both
            k += 1
        out[m] = cap * sums[m] - missing
    return out


def _prefix(x: list[int]) -> list[int]:
    """Return the running sums of a row."""
    total, out = 0, []
    for value in x:
        total += value
        out.append(total)
    return out


# Theorem 9, real features

Rows = list[list[int]]  # [c-1][m]


def real_rows(table: Table, real: int, n_parts: int, n_points: int) -> tuple[list[Rows], list[int]]:
    """Return Theorem 9 (tight) for every entry of a table, and the uncapped values for 2 parts of the last one."""
    leaves = count_leaves(table)
    rows: list[Rows] = [[[int(c == 1 and m > 0) for m in range(n_points + 1)] for c in range(1, n_parts + 1)]]
    raw: list[int] = []
    for i in range(1, len(table)):
        x, y = table[i]
        pairs = {
            (a, b): _weighted(rows[x][a - 1], rows[y][b - 1], leaves[x], leaves[y], 2 * real, leaves[i] + 1)
            for a in range(1, min(n_parts, leaves[x]) + 1)
            for b in range(1, min(n_parts, leaves[y]) + 1)
        }
        own: Rows = []
        for c in range(1, n_parts + 1):
            terms = [(glue(a, b, c), pairs[a, b]) for a, b in pairs if max(a, b) <= c <= a + b]
            values = [sum(q * pair[m] for q, pair in terms) >> int(x == y) for m in range(n_points + 1)]
            raw = values if c == 2 else raw
            own.append(
                [stirling2(m, c) if m <= leaves[i] else _capped(values[m], m, c) for m in range(n_points + 1)]
            )
        own[0] = [int(m > 0) for m in range(n_points + 1)]
        rows.append(own)
    return rows, raw


def _capped(value: int, m: int, c: int) -> int:
    """min(value, S(m, c)); S(m, c) >= c**(m-c) tells at once in most cases."""
    if value.bit_length() <= (m - c) * (c.bit_length() - 1):
        return value
    return min(value, stirling2(m, c))


def loose_values(table: Table, real: int, n_parts: int, m: int) -> list[int]:
    """Return Theorem 9 in its loose form for 1 .. n_parts parts of m points, m >= 1.

    The largest term of the sum over k, all factors taken at their largest argument, times the m - L_T + 1 terms.
    """
    leaves = count_leaves(table)
    wanted: list[set[int]] = [set() for _ in table]
    wanted[-1].add(m)
    for i in range(len(table) - 1, 0, -1):
        x, y = table[i]
        for size in wanted[i]:
            if size > leaves[i]:
                wanted[x].add(size - leaves[y])
                wanted[y].add(size - leaves[x])
    values: list[dict[int, list[int]]] = [{size: [1] + [0] * (n_parts - 1) for size in wanted[0]}]
    for i in range(1, len(table)):
        values.append({size: _loose_node(table[i], leaves, values, real, n_parts, size) for size in wanted[i]})
    return values[-1][m]


def _loose_node(
    children: tuple[int, ...], leaves: list[int], values: list[dict[int, list[int]]], real: int, n_parts: int, m: int
) -> list[int]:
    """One node of the loose form."""
    x, y = children
    n_leaves = leaves[x] + leaves[y]
    if m <= n_leaves:
        return [stirling2(m, c) for c in range(1, n_parts + 1)]
    left, right = values[x][m - leaves[y]], values[y][m - leaves[x]]
    weight = (m - n_leaves + 1) * 2 * real
    out = [1]
    for c in range(2, n_parts + 1):
        total = 0
        for a in range(1, min(c, leaves[x]) + 1):
            for b in range(max(1, c - a), min(c, leaves[y]) + 1):
                total += _glue(a, b, c) * left[a - 1] * right[b - 1]
        out.append(_capped((weight * total) >> int(x == y), m, c))
    return out


_glue = lru_cache(maxsize=1 << 16)(glue)


# Any mixture of kinds


@dataclass(slots=True)
class _Entry:
    """What one substructure can do with one state of the features left; lists are indexed [c-1][m]."""

    splits: Rows = field(default_factory=list)
    """Bound on the partitions made by splits with two non-empty sides, capped."""
    all: Rows = field(default_factory=list)
    """The same with splits that send everything to one child."""


class MixedRows:
    """Tight bounds on partitions for real, binary, ordinal and nominal features, extended on demand.

    Parameters
    ----------
    table : tuple of tuple of int
        The distinct substructures of a binary structure, the root last.
    features : Features
        Multiway features with more than 2 values are of no use to a binary node and are left out.
    n_parts : int
        Largest number of parts.
    vc_known : callable, optional
        Called with an entry and the features left, where a constant test is allowed as well; returns an upper bound V
        on the VC dimension there, or None. The 2-partitions are then at most half of sum_{i <= V} C(m, i), less 1
        (Sauer, Shelah).

    Notes
    -----
    Cost: O(c^2 m^2) integer products for each pair of a substructure and a state of the features left below it.
    """

    def __init__(
        self, table: Table, features: Features, n_parts: int, vc_known: Callable[[int, State], int | None] | None = None
    ) -> None:
        self.table, self.real, self.n_parts = table, features.real, n_parts
        self.vc_known = vc_known
        self.leaves = count_leaves(table)
        self.top = finite_state(features)
        sizes = math.prod(count * (categories - 1) + 1 for (_, categories), count in self.top)
        self.uses_up = sizes <= _STATE_LIMIT or (len(self.top) == 1 and self.top[0][0][1] == 2)
        self.n_points = 0
        self._entries: dict[tuple[int, State], _Entry] = {}
        self._fits = _embeddings(table) if not self.real and len(table) <= 200 else None
        self._plan()

    def _below(self, state: State, kind: Kind) -> State:
        return use_up(state, kind) if self.uses_up else state

    def _plan(self) -> None:
        """List the pairs (substructure, state) that the root needs, children first."""
        root = len(self.table) - 1
        tops = [self.top]
        if not self.real:
            tops += [use_up(self.top, kind) for kind, _ in self.top]
        pending, seen = [(root, state) for state in tops], set()
        while pending:
            key = pending.pop()
            if key in seen:
                continue
            seen.add(key)
            i, state = key
            below = {state} | {self._below(state, kind) for kind, _ in state}
            pending.extend((child, left) for child in set(self.table[i]) for left in below)
        self._entries = {key: _Entry() for key in sorted(seen, key=lambda key: key[0])}

    def extend(self, n_points: int) -> None:
        """Fill all rows up to this number of points."""
        for key, entry in self._entries.items():
            if not entry.all:
                entry.splits = [[0] for _ in range(self.n_parts)]
                entry.all = [[0] for _ in range(self.n_parts)]
            for m in range(self.n_points + 1, n_points + 1):
                self._fill(key, entry, m)
        self.n_points = max(self.n_points, n_points)

    def value(self, c: int, m: int) -> int:
        """Bound for c parts of m points at the root."""
        if not self.top and not self.real:
            return int(c == 1 and m > 0)
        if not self.real:
            m = min(m, n_distinct(self.top))
        self.extend(m)
        root = len(self.table) - 1
        best = self._entries[root, self.top].splits[c - 1][m]
        if not self.real:
            for kind, _ in self.top:
                best = max(best, self._entries[root, use_up(self.top, kind)].all[c - 1][m])
        return best

    def _fill(self, key: tuple[int, State], entry: _Entry, m: int) -> None:
        """Append the values for m points to the rows of one entry."""
        i, state = key
        is_possible = bool(self.real) or m <= n_distinct(state)
        for c in range(1, self.n_parts + 1):
            splits = everything = int(c == 1 and is_possible)
            if c > 1 and is_possible and self.table[i] and c <= self.leaves[i]:
                cap = stirling2(m, c)
                if c == 2 and self.vc_known is not None and (vc := self.vc_known(i, state)) is not None and vc < m:
                    cap = sum(math.comb(m, j) for j in range(vc + 1)) // 2 - 1
                if self.real and m <= self.leaves[i]:
                    splits = everything = cap
                else:
                    splits = min(cap, self._split_sum(i, state, c, m))
                    everything = min(cap, splits + self._one_way(i, state, c, m))
            entry.splits[c - 1].append(splits)
            entry.all[c - 1].append(everything)

    def _one_way(self, i: int, state: State, c: int, m: int) -> int:
        """What the children realise on all points; one of them if the other fits into it."""
        if self.real:
            return 0
        x, y = self.table[i]
        left, right = (self._entries[child, state].all[c - 1][m] for child in (x, y))
        if self._fits is not None and (self._fits[x][y] or self._fits[y][x]):
            return right if self._fits[x][y] else left
        return left + right

    def _split_sum(self, i: int, state: State, c: int, m: int) -> int:
        """Sum over all splits with two non-empty sides of the partitions that the children make of them."""
        x, y = self.table[i]
        total = 0
        if self.real:
            lx, ly = self.leaves[x], self.leaves[y]
            terms = (
                min(2 * self.real, math.comb(m, k)) * self._product(x, y, state, c, k, m) for k in range(lx, m - ly + 1)
            )
            total += sum(terms) >> int(x == y)
        for kind, count in state:
            total += self._kind_sum(x, y, self._below(state, kind), kind, count, c, m)
        return total

    def _kind_sum(self, x: int, y: int, below: State, kind: Kind, count: int, c: int, m: int) -> int:
        """The splits that count most, as many as the features of one kind can make."""
        worth = []
        for j in range(1, m // 2 + 1):
            value = self._product(x, y, below, c, j, m)
            if x != y:
                value += value if 2 * j == m else self._product(x, y, below, c, m - j, m)
            worth.append((value, j))
        worth.sort(reverse=True)
        left, total = count * splits_total(kind), 0
        for value, j in worth:
            if not left or not value:
                break
            there_are = math.comb(m, j) // 2 if 2 * j == m else math.comb(m, j)
            taken = min(left, there_are, count * splits_at(kind, m, j))
            total += taken * value
            left -= taken
        return total

    def _product(self, x: int, y: int, state: State, c: int, k: int, m: int) -> int:
        """c-partitions glued from partitions of k points by x and of m - k points by y."""
        left, right = self._entries[x, state].all, self._entries[y, state].all
        total = 0
        for a in range(1, min(c, self.leaves[x]) + 1):
            if ways := left[a - 1][k]:
                for b in range(max(1, c - a), min(c, self.leaves[y]) + 1):
                    total += _glue(a, b, c) * ways * right[b - 1][m - k]
        return total


def _embeddings(table: Table) -> list[list[bool]]:
    """Return whether entry i fits into entry j: every tree of i is one of j with some nodes sending all one way."""
    fits: list[list[bool]] = [[False] * len(table) for _ in table]
    for j, below in enumerate(table):
        for i, own in enumerate(table[: j + 1]):
            inside = any(fits[i][child] for child in below)
            if not inside and own and below:
                (a, b), (u, v) = own, below
                inside = (fits[a][u] and fits[b][v]) or (fits[a][v] and fits[b][u])
            fits[i][j] = inside or i == j or not own
    return fits

"""The bounds that the exact search starts from and stops at: cheap, and with a sample for the lower one."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import lru_cache
from itertools import combinations
from random import Random

from .structures import Structure


@lru_cache(maxsize=1024)
def lower_sample(structure: Structure, d: int) -> tuple[int, ...]:
    r"""Build a shattered sample of as many points as the recursion of Yildiz 2012 (Figure 4) promises.

    A stump shatters m points whose :math:`2^{m-1} - 1 \le d` first columns are all their splits into two parts
    (Theorem 1). A node gives the last of its d features to the root and lets its children shatter a sample each on
    the other d - 1 (Theorem 4). With no features left, one point remains.

    Examples
    --------
    >>> [format(p, "04b") for p in lower_sample(Structure("((..).)"), 4)]
    ['0000', '0101', '0110', '1000']
    """
    if structure.is_leaf or d <= 0:
        return (0,)
    if structure.n_nodes == 1:
        m = (d + 1).bit_length()
        splits = range(2 ** (m - 1) - 1)
        return (0, *(sum((split + 1 >> i & 1) << split for split in splits) for i in range(m - 1)))
    left, right = structure.children
    one = 1 << d - 1
    return lower_sample(left, d - 1) + tuple(point | one for point in lower_sample(right, d - 1))


@lru_cache(maxsize=1024)
def counting_bound(structure: Structure, d: int, fixed: bool = False) -> int:
    r"""Bound the VC dimension from above by the number of functions, Simon's rank bound and the size of the cube.

    A class that shatters V points holds at least :math:`2^V` functions. On k features not tested above it, a node
    below some test computes at most

    .. math:: G(t, k) \le G(l, k) + G(r, k) + s\, k\, [(G(l, k-1) + 2) (G(r, k-1) + 2) - 2],
              \qquad G(\text{leaf}, k) = 0,

    functions that are not constant: it passes everything on to one child, or tests one of the k; s = 2 orientations
    if l and r differ and the orientation is free, else 1; both children constant and equal are the two constants.
    The root passes nothing on. Trees of rank r compute functions of rank r, whose VC dimension is
    :math:`\sum_{i \le r} \binom{d}{i}` (Simon 1991).

    Examples
    --------
    >>> [counting_bound(Structure(s), 4) for s in (".", "(..)", "((..).)", "((..)(..))")]
    [1, 3, 5, 7]
    """
    if structure.is_leaf or d <= 0:
        return 1
    rank = sum(math.comb(d, i) for i in range(structure.rank + 1))
    bound: int = min(2**d, rank)
    if structure.n_nodes > 4 * bound:               # more functions than 2^bound, whatever they are
        return bound
    table = structure.table(unordered=not fixed)
    varied = [[0] * (d + 1) for _ in table]
    for t, (left, right) in enumerate(table[1:-1], 1):
        for k in range(d + 1):
            varied[t][k] = varied[left][k] + varied[right][k] + _tests(varied, left, right, k, fixed)
    left, right = table[-1]
    return min(bound, (2 + _tests(varied, left, right, d, fixed)).bit_length() - 1)


def _tests(varied: list[list[int]], left: int, right: int, k: int, fixed: bool) -> int:
    """Functions, not constant, of a node that tests one of k features new on the path."""
    if k == 0:
        return 0
    both = (varied[left][k - 1] + 2) * (varied[right][k - 1] + 2) - 2
    return (1 if fixed or left == right else 2) * k * both


@lru_cache(maxsize=1024)
def lower_orders(structure: Structure, n_real: int) -> tuple[tuple[int, ...], ...]:
    r"""Build a shattered sample on real features: the rank of each point on each feature, point by point.

    A stump shatters the most points m with :math:`\binom{m}{\lfloor m/2 \rfloor} \le 2 l` (Leboeuf 2020, Theorem 7):
    see `stump_orders`. A node puts a sample of its left child before one of its right child on every feature, cuts
    between them, and no feature is used up.

    Examples
    --------
    >>> lower_orders(Structure("(..)"), 2)
    ((2, 2), (0, 1), (1, 0))
    >>> [len(lower_orders(Structure("((..)(..))"), n)) for n in (1, 2, 3, 10)]
    [4, 6, 8, 12]
    """
    if structure.is_leaf:
        return ((0,) * n_real,)
    if structure.n_nodes == 1:
        m = 2
        while math.comb(m + 1, (m + 1) // 2) <= 2 * n_real:
            m += 1
        orders = stump_orders(m)
        orders += [orders[0]] * (n_real - len(orders))
        return tuple(tuple(order.index(point) for order in orders) for point in range(m))
    left, right = (lower_orders(child, n_real) for child in structure.children)
    return left + tuple(tuple(rank + len(left) for rank in point) for point in right)


def stump_orders(m: int) -> list[list[int]]:
    r"""Order m points in as few ways as possible so that every subset, or its complement, begins one of the orders.

    Let h = floor(m / 2). Every set of fewer than h points grows through a chain of sets into one of h points,
    different sets of one size into different ones (Hall: a set lies in at least as many larger sets as a larger one
    holds). The h-sets are paired, complements if m is even, disjoint ones if it is odd; an order runs up the chain of
    one and down that of the other. So :math:`\lceil \binom{m}{h} / 2 \rceil` orders are enough, and no fewer are.

    Examples
    --------
    >>> stump_orders(3)
    [[1, 2, 0], [2, 1, 0]]
    >>> [len(stump_orders(m)) for m in range(2, 8)]
    [1, 2, 3, 5, 10, 18]
    """
    half = m // 2
    below = {}
    for size in range(1, half):
        small = list(combinations(range(m), size))
        grown = _match(small, lambda s: [_with(s, p) for p in range(m) if p not in s])
        below.update({large: s for s, large in grown.items()})
    sets = list(combinations(range(m), half))
    pairs = _pair([s for s in sets if m % 2 or 0 in s], sets, m)
    return [_up(a, below) + [p for p in range(m) if p not in a and p not in b] + _up(b, below)[::-1] for a, b in pairs]


def _with(points: tuple[int, ...], point: int) -> tuple[int, ...]:
    return tuple(sorted((*points, point)))


def _up(points: tuple[int, ...], below: dict[tuple[int, ...], tuple[int, ...]]) -> list[int]:
    """The points in the order in which the chain of sets below takes them; any order where it ends."""
    smaller = below.get(points, points[:-1])
    return [*_up(smaller, below), *(p for p in points if p not in smaller)] if points else []


def _match(
    sources: list[tuple[int, ...]], neighbours: Callable[[tuple[int, ...]], list[tuple[int, ...]]]
) -> dict[tuple[int, ...], tuple[int, ...]]:
    """A neighbour for each source, all different, by augmenting paths."""
    taken: dict[tuple[int, ...], tuple[int, ...]] = {}

    def place(source: tuple[int, ...], seen: set[tuple[int, ...]]) -> bool:
        for target in neighbours(source):
            if target not in seen:
                seen.add(target)
                if target not in taken or place(taken[target], seen):
                    taken[target] = source
                    return True
        return False

    for source in sources:
        place(source, set())
    return {source: target for target, source in taken.items()}


def _pair(
    chosen: list[tuple[int, ...]], sets: list[tuple[int, ...]], m: int
) -> list[tuple[tuple[int, ...], tuple[int, ...]]]:
    """Disjoint pairs of sets that use each once; one set may be left to be paired with a set used before."""
    if m % 2 == 0:
        return [(a, tuple(p for p in range(m) if p not in a)) for a in chosen]
    for seed in range(1000):
        left, pairs = list(sets), []
        Random(seed).shuffle(left)
        while left:
            a = left.pop()
            b = next((s for s in left if not set(s) & set(a)), None)
            if b is None:
                b = next(s for s in sets if not set(s) & set(a))
            else:
                left.remove(b)
            pairs.append((a, b))
        if len(pairs) <= -(-len(sets) // 2):
            return pairs
    raise AssertionError(f"no pairing of the sets of {m} points was found")

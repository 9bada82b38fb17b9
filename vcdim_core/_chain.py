"""The chain bound on growth functions: real features, any number of classes.

**Theorem.** Let T have children x and y, l real features and n classes. Write n sigma(m) for the growth function (it is
a multiple of n: exchanging labels is a symmetry that moves every labelling), N for the number of nodes, and

    g_N(b) = sum_{i < N} C(b-1, i) (n-1)^i,    v_y(b) = sigma_y(b) - g_{N_y}(b)  (0 for b <= N_y).

Then sigma_T(m) <= sigma_y(m) + (n-1) sum_{k=1}^{m-1} min(2 l, C(m, k)) sigma_x(k) v_y(m-k), and the same with x and y
exchanged. For n = 2 this is the bound of DESIGN section 3, with tau = 2 sigma and u = 2 v.

*Proof.* Fix a sample S. Let D(A) be the labellings realised when the set A goes to x and B = S - A to y; D(empty) =
D_y(S). Grow A along the order of a feature, from either end, one point p at a time. Let a labelling be in D(A) but not
in D(A - p). Its restriction mu to B is in D_y(B); that to A - p is in D_x(A - p); so the labels of B + p are not
realised by y: p carries a label that does not extend mu. Let e(mu) >= 1 be the number of labels of p that do. D_x(A) is
symmetric under exchanging labels, so |D_x(A)| (n - e(mu)) / n of its members give p one of the other labels. Hence at
most

    |D_x(A)| / n * sum over mu of (n - e(mu)) <= |D_x(A)| (n - 1) / n * #{mu in D_y(B): e(mu) < n}

labellings are new. The mu with fewer than N_y changes of label along this feature have e(mu) = n: p comes right before
B in this order, so any label of p adds at most one change, and N_y nodes realise all labellings with at most N_y
changes on one feature alone. There are n g_{N_y}(b) of them. So at most n (n-1) sigma_x(k) v_y(m-k) labellings are new
at A. Each distinct A of size k is charged once (give it one predecessor); there are at most min(2 l, C(m, k)). A = S is
never new: every single point carries all labels. Divide by n. QED

**Equal children.** For x = y the splits (A, B) and (B, A) are one; P_k, the first k points in the order of a feature, k
= 1 .. m-1, are all splits of that feature, and each may have P_{k-1} or P_{k+1} as predecessor as long as every chain
ends at the empty set or at S. From the smallest k with C(m, k) >= 2 l on, up to m - k, take P_{k-1}: l sigma(k) v(m-k)
at each k. Outside shrink the smaller side: at most C(m, k) distinct smaller sides, each with sigma(k) v(m-k). If no k
has C(m, k) >= 2 l, shrink the smaller side everywhere; a split into halves is counted twice among the C(m, m/2) sides.

**Seeds.** The recursion takes any valid value of sigma at a substructure: exact growth functions, and for n = 2 the sum
2 sigma(m) <= sum_{i <= V} C(m, i) of Sauer and Shelah for an exact VC dimension V (:class:`Seed`). With one real
feature sigma(m) = g_{N+1}(m) is exact: the labellings with at most N changes.

Cost: for each node O(m^2) products, O(m) if a child is a leaf.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import lru_cache

import numpy as np

from ._growth import extend_chain, raise_changes, subtract_up
from ._rows import CACHE, Doubles, Exponents, Row, Table, count_leaves, iterate_rows, last_uses, round_up

Scaled = tuple[Doubles, Exponents]


@dataclass(frozen=True, slots=True)
class Seed:
    """Exact knowledge about the growth function of one structure on some number of real features."""

    vc_dimension: int | None = None
    """Exact VC dimension, if known."""
    growth: Mapping[int, int] = field(default_factory=dict)
    """Exact growth function with two classes, by number of points."""


def _changes(n_nodes: set[int], n_classes: int, n_points: int) -> dict[int, Scaled]:
    """Return g_N(b) for b = 0 .. n_points and each of these N, rounded down."""
    now, g = 0, (np.zeros(n_points + 1), np.zeros(n_points + 1, np.int32))
    found = {}
    for wanted in sorted(n_nodes):
        raise_changes(*g, wanted - now, float(n_classes))
        now, found[wanted] = wanted, (g[0].copy(), g[1].copy())
    return found


@lru_cache(maxsize=16)
def _all_labellings(n_classes: int, n_points: int) -> Scaled:
    """Return n**(m-1) for m = 0 .. n_points (0 for m = 0), rounded up from at least 96 bits."""
    mantissa, exponent = np.zeros(n_points + 1), np.zeros(n_points + 1, np.int32)
    value, e = 1, 0
    for m in range(1, n_points + 1):
        mantissa[m], bits = round_up(value)
        exponent[m] = bits + e
        value *= n_classes
        if (extra := value.bit_length() - 96) > 32:
            value, e = -(-value >> extra), e + extra
    return mantissa, exponent


def _partitions_as_growth(row: Row, n_classes: int, n_points: int) -> Scaled:
    """Return sum over a of (n-1)(n-2) .. (n-a+1) pi^a(m), rounded up: Theorem 9 by Eq. (4), over n."""
    n_parts, size = min(row.n_parts, n_classes), n_points + 1
    top = row.exponent[:n_parts, :size].max(axis=0)
    total = np.zeros(size)
    factor = 1
    for a in range(n_parts):
        f, e = round_up(factor)
        total += np.ldexp(row.mantissa[a, :size] * f, np.maximum(row.exponent[a, :size] - top, -900) + e)
        factor *= n_classes - 1 - a
    exact = np.ldexp(total, np.minimum(top, 900)) < 2.0**53
    total = np.where(exact, total, total * (1 + 4 * n_parts * 2.0**-52))
    mantissa, more = np.frexp(total)
    return mantissa, np.where(mantissa > 0, top + more, 0).astype(np.int32)


def _sauer(vc_dimension: int, n_points: int) -> Scaled:
    """Return half of the sum over i <= V of C(m, i), rounded down to an integer (growth is even), for n = 2."""
    mantissa, exponent = np.zeros(n_points + 1), np.zeros(n_points + 1, np.int32)
    terms = [1] + [0] * vc_dimension
    for m in range(1, n_points + 1):
        for i in range(vc_dimension, 0, -1):
            terms[i] += terms[i - 1]
        mantissa[m], exponent[m] = round_up(sum(terms) // 2)
    return mantissa, exponent


def chain_row(
    table: Table, real: int, n_classes: int, n_points: int, closed_forms: bool = True,
    seeds: Mapping[int, Seed] | None = None,
) -> Row:  # fmt: skip
    """Return sigma of the last entry of a binary table by the chain bound, never above Theorem 9.

    Parameters
    ----------
    table : tuple of tuple of int
        The distinct substructures, the root last.
    real, n_classes, n_points : int
        All at least 1.
    closed_forms : bool, default=True
        Take the exact value on one real feature, and the bound for two nodes (:func:`two_nodes`), as seeds.
    seeds : mapping from entry to Seed, optional
        Further exact knowledge, used with two classes. Rows made with it are not cached.

    Returns
    -------
    Row
        One part: sigma, and the ratio sigma / 2**(m-1).
    """
    leaves, names = count_leaves(table), CACHE.name(table)
    all_labellings = _all_labellings(n_classes, n_points)
    nine = iterate_rows(table, real, max(2, min(n_classes, leaves[-1])), n_points)
    last = last_uses(table)
    rows = {0: _leaf(n_points)}
    next(nine)
    wanted = {n_leaves - 1 for n_leaves in leaves} | (set(leaves) if closed_forms and real == 1 else set())
    changes = _changes(wanted, n_classes, n_points)
    for i in range(1, len(table)):
        key = (names[i], real, n_classes, closed_forms)
        row = None if seeds else CACHE.get(key)
        theorem9 = next(nine)
        if row is None or row.n_points < n_points:
            limits = [all_labellings, _partitions_as_growth(theorem9, n_classes, n_points)]
            if closed_forms and real == 1:
                limits.append(_one_feature(leaves[i], changes, n_points))
            if closed_forms and n_classes == 2 and leaves[i] == 3:
                limits.append(_scaled([0, *(1 + two_nodes(m, real) for m in range(1, n_points + 1))]))
            if seeds and n_classes == 2 and i in seeds:
                limits.extend(_seed_limits(seeds[i], n_points, all_labellings))
            row = _chain_node(row, rows, table[i], leaves, limits, changes, real, n_classes)
            if not seeds:
                CACHE.put(key, row)
        rows[i] = row
        for child in set(table[i]):
            if last[child] == i:
                del rows[child]
    return rows[len(table) - 1]


def two_nodes(m: int, real: int) -> int:
    """Bound the number of 2-partitions of m points by the structure with two nodes on l real features.

    Notes
    -----
    l (m-1) + l C(m-1, 2) + C(l, 2) (m-2)(m-3), from m = 3 on. Two nodes and two classes label a set W = H1 & H2 alike
    and the rest otherwise, H1 and H2 being one of the 2 l chains of half-spaces (the first points in the order of a
    feature, from either end). If both are of one feature, {W, S - W} is one of the (m-1) + C(m-1, 2) partitions by at
    most 2 cuts of its order. Otherwise W is a *corner* of two chains i and j. Let p and q be the last points of W in
    the orders i and j: W = {z: z <=_i p, z <=_j q}, and q <=_i p, p <=_j q. So the corners of i and j are m (p = q)
    plus the number of pairs that i and j put in different orders, and those of all four chains of two features are 4 m
    + m (m-1) together. Among them, m initial segments of i and m of j for each of the four, 8 m less those that are
    both: S itself four times, and twice for each of the b cuts that both features share (a cut of j shared with i is
    not shared with the reverse of i, since then all points would lie on both sides). And every two shared cuts enclose
    an interval of both features, a corner of two of the four. None of these is new, so m (m-1) + 4 m - (8 m - 4 - 2 b)
    - b (b-1) = m^2 - 5 m + 4 + b (3 - b) <= (m-2)(m-3) corners remain. Theorem 9 gives about 2 l^2 m^2, the chain bound
    l^2 m^2, this l (l+1) m^2 / 2.

    Examples
    --------
    >>> [two_nodes(m, 2) for m in (5, 6, 7, 8)]  # exact: 15, 30, 50, 72
    [26, 42, 62, 86]
    """
    if m < 3:
        return m - 1
    return real * (m - 1) + real * math.comb(m - 1, 2) + math.comb(real, 2) * (m - 2) * (m - 3)


def _scaled(values: list[int]) -> Scaled:
    """Return a row of integers, rounded up."""
    pairs = [round_up(value) for value in values]
    return np.array([f for f, _ in pairs]), np.array([e for _, e in pairs], np.int32)


def _leaf(n_points: int) -> Row:
    mantissa, exponent = np.full((1, n_points + 1), 0.5), np.ones((1, n_points + 1), np.int32)
    mantissa[0, 0], exponent[0, 0] = 0.0, 0
    return Row(mantissa, exponent, np.ldexp(1.0, np.maximum(1 - np.arange(n_points + 1), -1000)), 0.0)


def _one_feature(n_leaves: int, changes: dict[int, Scaled], n_points: int) -> Scaled:
    """Return g_{N+1}, rounded up: the lower values, raised by their largest relative error."""
    mantissa, exponent = changes[n_leaves]
    raised = np.where(exponent <= 53, mantissa, mantissa * (1 + (n_leaves + n_points + 8) * 2.0**-49))
    mantissa, more = np.frexp(raised)
    return mantissa, (exponent + more).astype(np.int32)


def _seed_limits(seed: Seed, n_points: int, all_labellings: Scaled) -> list[Scaled]:
    """Return what a seed says as bounds on sigma."""
    limits = []
    if seed.vc_dimension is not None:
        limits.append(_sauer(seed.vc_dimension, n_points))
    if seed.growth:
        mantissa, exponent = all_labellings[0].copy(), all_labellings[1].copy()
        for m, value in seed.growth.items():
            if 0 < m <= n_points:
                mantissa[m], exponent[m] = round_up(value // 2)
        limits.append((mantissa, exponent))
    return limits


def _chain_node(
    old: Row | None, rows: Mapping[int, Row], children: tuple[int, ...], leaves: list[int], limits: list[Scaled],
    changes: dict[int, Scaled], real: int, n_classes: int,
) -> Row:  # fmt: skip
    """One node: v of both children, then the kernel for the columns that an old row does not have."""
    size = limits[0][0].size
    sigma, single = ((np.zeros((2, size)), np.zeros((2, size), np.int32)) for _ in range(2))
    for side, child in enumerate(children):
        sigma[0][side], sigma[1][side] = rows[child].mantissa[0, :size], rows[child].exponent[0, :size]
        subtract_up(sigma[0][side], sigma[1][side], *changes[leaves[child] - 1], single[0][side], single[1][side])
    mantissa, exponent, ratio = np.zeros((1, size)), np.zeros((1, size), np.int32), np.zeros(size)
    first = 1
    if old is not None:
        first = old.n_points + 1
        mantissa[:, :first], exponent[:, :first], ratio[:first] = old.mantissa, old.exponent, old.ratio
    x, y = children
    extend_chain(
        *sigma, *single, np.stack([f for f, _ in limits]), np.stack([e for _, e in limits]),
        mantissa[0], exponent[0], ratio,
        leaves[x] == 1, leaves[y] == 1, x == y, leaves[x] + leaves[y], 2 * real, float(n_classes), first,
    )  # fmt: skip
    return Row(mantissa, exponent, ratio, 0.0)

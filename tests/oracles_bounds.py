"""Slow, plain oracles for the bounds: no code shared with the package.

A structure is a nested tuple, () for a leaf. A feature of a sample is a list of splits: each a frozenset of the points
(numbers 0 .. m-1) that go one way. Everything is enumerated.
"""

from __future__ import annotations

from functools import lru_cache
from itertools import combinations, permutations, product
from math import comb, factorial


def nested(text):
    """Return the nested tuples of a spelling such as ((..).)."""
    stack = [[]]
    for character in text:
        if character == "(":
            stack.append([])
        elif character == ")":
            done = tuple(stack.pop())
            stack[-1].append(done)
        elif character == ".":
            stack[-1].append(())
    return stack[0][0]


def leaves(t):
    return sum(leaves(child) for child in t) if t else 1


def nodes(t):
    return 1 + sum(nodes(child) for child in t) if t else 0


def same(t):
    """Return a form that is equal for structures that are equal up to swapping children."""
    return tuple(sorted(same(child) for child in t))


# Exact counts by enumeration


def real_feature(ranks):
    """Return the splits of a real feature given the rank of each point; the empty one included."""
    order = sorted(range(len(ranks)), key=lambda point: ranks[point])
    return {frozenset(p for p in order if ranks[p] <= ranks[q]) for q in order} | {frozenset()}


def ordinal_feature(values, categories):
    """Return the splits of an ordinal feature, a threshold between any two neighbouring categories."""
    return {frozenset(p for p, v in enumerate(values) if v < threshold) for threshold in range(1, categories)}


def nominal_feature(values, categories):
    """One category against the rest, for a column of categories, whether or not it occurs."""
    return {frozenset(p for p, v in enumerate(values) if v == w) for w in range(categories)}


def labellings(t, points, features, n_classes=2):
    """Return all labellings of the points (tuples of pairs) that trees of structure t realise, either side to either
    child. features: a list of sets of splits."""
    splits = {frozenset(side) & points for feature in features for side in feature}
    memo = {}

    def realise(t, inside):
        key = (t, inside)
        if key not in memo:
            if not t:
                memo[key] = {frozenset((p, label) for p in inside) for label in range(n_classes)}
            else:
                found = set()
                for side in splits:
                    low, high = inside & side, inside - side
                    for a, b in ((low, high), (high, low)):
                        found |= {u | v for u in realise(t[0], a) for v in realise(t[1], b)}
                memo[key] = found
        return memo[key]

    assert features
    return realise(t, frozenset(points))


def n_partitions(found, c):
    """Count the distinct partitions into c parts among labellings."""
    partitions = set()
    for labelling in found:
        parts = {}
        for point, label in labelling:
            parts.setdefault(label, set()).add(point)
        partitions.add(frozenset(frozenset(part) for part in parts.values()))
    return sum(len(p) == c for p in partitions)


def real_samples(m, real):
    """Yield every sample of m points on real features without ties, up to relabelling the points."""
    for orders in product(permutations(range(m)), repeat=real - 1):
        yield [real_feature(range(m))] + [real_feature(order) for order in orders]


def finite_samples(m, columns):
    """Yield every sample of m distinct points; columns: (kind, number of categories) of each feature."""
    domain = list(product(*(range(categories) for _, categories in columns)))
    make = {"binary": nominal_feature, "nominal": nominal_feature, "ordinal": ordinal_feature}
    for points in combinations(domain, m):
        yield [make[kind]([point[i] for point in points], c) for i, (kind, c) in enumerate(columns)]


def growth(t, m, samples, n_classes=2):
    """Return the largest number of labellings over samples of m points."""
    return max(len(labellings(t, frozenset(range(m)), sample, n_classes)) for sample in samples)


# The recursions straight from the papers


@lru_cache(None)
def stirling(m, c):
    if m == 0 or c == 0:
        return int(m == c)
    return c * stirling(m - 1, c) + stirling(m - 1, c - 1)


def theorem9(t, m, c, real, loose=False):
    """Return the bound of Leboeuf et al. (2020), Eq. (7), capped by Stirling numbers at every level."""

    @lru_cache(None)
    def pi(t, c, m):
        if c > m or c > leaves(t):
            return 0
        if c == m or c == 1:
            return 1
        if m <= leaves(t):
            return stirling(m, c)
        return min(stirling(m, c), raw(t, c, m))

    def raw(t, c, m):
        low, high = t
        total = 0
        for k in range(leaves(low), m - leaves(high) + 1):
            weight = min(2 * real, comb(m, k))
            left, right = k, m - k
            if loose:
                weight, left, right = 2 * real, m - leaves(high), m - leaves(low)
            for a in range(1, c + 1):
                for b in range(max(1, c - a), c + 1):
                    ways = comb(a, c - b) * comb(b, c - a) * factorial(a + b - c)
                    total += weight * ways * pi(low, a, left) * pi(high, b, right)
        return total // 2 if same(low) == same(high) else total

    return pi(t, c, m)


def theorem9_vc(t, real):
    """Return the last m before the bound for 2 parts falls below 2**(m-1) - 1."""
    if not t:
        return 1
    m = leaves(t) + 1
    while theorem9(t, m, 2, real) >= 2 ** (m - 1) - 1:
        m += 1
    return m - 1


def chain_growth(t, m, real, n_classes=2):
    """Return the chain bound on the growth function, Theorem 9 not used."""
    n = n_classes

    @lru_cache(None)
    def tau(t, m):
        if not t:
            return n if m else 1
        if m <= leaves(t):
            return n**m
        return min(n**m, *(chained(x, y, m) for x, y in (t, t[::-1])))

    def single(y, b):
        if b <= nodes(y):
            return 0
        return tau(y, b) - n * sum(comb(b - 1, i) * (n - 1) ** i for i in range(nodes(y)))

    def chained(x, y, m):
        if same(x) == same(y):
            return tau(y, m) + equal(x, m)
        terms = (min(2 * real, comb(m, k)) * tau(x, k) * single(y, m - k) for k in range(1, m))
        return tau(y, m) + (n - 1) * sum(terms) // n

    def equal(x, m):
        first = next((k for k in range(1, m // 2 + 1) if comb(m, k) >= 2 * real), None)
        total = 0
        for k in range(1, m):
            term = tau(x, k) * single(x, m - k)
            if first is not None and first <= k <= m - first:
                total += real * term
            elif 2 * k < m:
                total += comb(m, k) * term
            elif 2 * k == m and first is None:
                total += comb(m, k) // 2 * term
        return (n - 1) * total // n

    return tau(t, m)


# Lower bounds as printed


def yildiz(t, d):
    """Figure 4 of Yildiz (2012), with the value 1 where no feature is left."""
    if not t or d <= 0:
        return 1
    if not t[0] and not t[1]:
        return (d + 1).bit_length()
    return yildiz(t[0], d - 1) + yildiz(t[1], d - 1)


def stump_sum(t, real):
    """Sum of the exact VC dimensions of stumps and leaves at the bottom."""
    if not t:
        return 1
    if not t[0] and not t[1]:
        m = 1
        while comb(m + 1, (m + 1) // 2) <= 2 * real:
            m += 1
        return m
    return stump_sum(t[0], real) + stump_sum(t[1], real)


def covering_number(m, c):
    """Fewest c-partitions of m points such that every 2-partition joins parts of one of them, by trying all."""
    points = range(m)
    everything = frozenset(points)
    sides = [frozenset(side) for k in range(1, m) for side in combinations(points, k)]
    twos = {frozenset((side, everything - side)) for side in sides}
    rows = set()
    for colours in product(range(c), repeat=m):
        parts = [frozenset(p for p in points if colours[p] == i) for i in range(c)]
        parts = [part for part in parts if part]
        joined = set()
        for k in range(1, len(parts)):
            for chosen in combinations(parts, k):
                one = frozenset().union(*chosen)
                joined.add(frozenset((one, frozenset(points) - one)))
        rows.add(frozenset(joined))

    def within(missing, n):
        """Whether n rows cover what is missing; some row covers the first one."""
        if not missing:
            return True
        first = min(missing, key=lambda two: sorted(map(sorted, two)))
        return n > 0 and any(within(missing - row, n - 1) for row in rows if first in row)

    n = 0
    while not within(frozenset(twos), n):
        n += 1
    return n

"""Upper bounds on the VC dimension, each a function of the table of a structure and its features.

A class is shattered at most at m points if a bound on the number of 2-partitions of m + 1 points is below 2^m - 1:
subsets of shattered samples are shattered, so the first m that fails decides. Rows hold all smaller m as well, so the
search extends them by a fifth from a good guess on (galloping) and then looks the first failure up; a value that is
within the rounding of the threshold is settled with exact integers, so the answer is that of the integers.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping

import numpy as np

from ._chain import Seed, chain_row
from ._counts import State, loose_values, n_distinct, real_rows, use_up
from ._mixed import MAX_FEATURES, MAX_POINTS, FastRows
from ._rows import Row, Table, count_leaves, root_row
from ._seeds import BinarySeeds, binary_count
from .bounds_lower import full_state
from .features import Features


def guess(table: Table, real: int) -> int:
    """Return about where the bound of Theorem 9 will be: N log2(2 e l m / N), less 1 for each node with equal
    children.
    """
    n_nodes, n_twins = [0], [0]
    for children in table[1:]:
        n_nodes.append(1 + sum(n_nodes[child] for child in children))
        n_twins.append(sum(n_twins[child] for child in children) + (children[0] == children[-1]))
    m = 4.0 * n_nodes[-1] + 2
    for _ in range(8):
        m = max(n_nodes[-1] + 2.0, n_nodes[-1] * math.log2(2 * math.e * real * m / n_nodes[-1]) - n_twins[-1])
    return int(m)


def _first_failure(table: Table, real: int, rows: Callable[[int], Row]) -> tuple[int, Row]:
    """Return the first m whose ratio is below 1, and the row that shows it."""
    n_points = guess(table, real) * 21 // 20 + 12
    while True:
        row = rows(n_points)
        failing = np.flatnonzero(row.ratio[2 : n_points + 1] < 1.0)
        if failing.size:
            return int(failing[0]) + 2, row
        n_points += n_points // 5 + 8


def theorem9(table: Table, real: int) -> int:
    """Theorem 9 in its tight form on real features, as by exact integers."""
    m, row = _first_failure(table, real, lambda n_points: root_row(table, real, 2, n_points))
    n_leaves = count_leaves(table)[-1]
    close = np.flatnonzero(row.ratio[n_leaves + 1 : m] < 1.0 + 4.0 * row.error) + n_leaves + 1
    # Below 2**53 the rows are exact: a ratio of 1 or more there is no failure.
    for candidate in close[close > 54].tolist():
        if real_rows(table, real, 2, candidate)[1][candidate] < 2 ** (candidate - 1) - 1:
            return int(candidate) - 1
    return m - 1


def chain(table: Table, real: int, closed_forms: bool, seeds: Mapping[int, Seed] | None = None) -> int:
    """The chain bound on real features; with closed forms and seeds, the seeded one."""
    m, _ = _first_failure(
        table, real, lambda n_points: chain_row(table, real, 2, n_points, closed_forms, seeds)
    )
    return m - 1


def loose(table: Table, real: int) -> int:
    """Theorem 9 in its loose form, by galloping and bisection."""
    return bisect_failure(count_leaves(table)[-1], lambda m: loose_values(table, real, 2, m)[1] < 2 ** (m - 1) - 1)


def bisect_failure(shattered: int, fails: Callable[[int], bool]) -> int:
    """Return m - 1 for an m > shattered that fails while m - 1 does not (or is ``shattered``)."""
    low, step = shattered, 1
    while not fails(low + step):
        low, step = low + step, 2 * step
    high = low + step
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if fails(middle) else (middle, high)
    return low


def mixed(table: Table, features: Features, most: int, seeded: bool) -> int:
    """Theorem 9 for features of several kinds; ``most`` is an upper bound known before, which is not exceeded.

    With ``seeded``, binary features alone: VC dimensions of the substructures by rank (Simon 1991) and by the exact
    engine. Beyond 1,000 points, where doubles end, ``most`` is returned.
    """
    known = _binary_knowledge(table) if seeded and not features.real else (None, None)
    if features.n_features > MAX_FEATURES:
        return most
    found = FastRows(table, features, *known).vc_bound(most)
    return most if found == MAX_POINTS else found


def _binary_knowledge(
    table: Table,
) -> tuple[Callable[[int, State], int | None], Callable[[int, State], dict[int, int]]]:
    """Return upper bounds on VC dimension and growth of an entry with d binary features left and a constant test.

    A constant test is a feature that is constant on the sample: so many features and one more. By rank nothing is
    gained from it: nodes that send all one way leave a tree of no larger rank.
    """
    ranks, seeds = entry_ranks(table), BinarySeeds(table)

    def vc_known(i: int, state: State) -> int | None:
        d = binary_count(state)
        if d is None:
            return None
        by_rank = rank_bound(ranks[i], d)
        exact = seeds.value(i, d + 1)
        return min(by_rank, exact) if exact else by_rank

    def growth_known(i: int, state: State) -> dict[int, int]:
        d = binary_count(state)
        return seeds.growth(i, d + 1) if d is not None else {}

    return vc_known, growth_known


def entry_ranks(table: Table) -> list[int]:
    """Return the rank of each entry of a binary table."""
    ranks = [0]
    for x, y in table[1:]:
        ranks.append(max(ranks[x], ranks[y]) + (ranks[x] == ranks[y]))
    return ranks


def rank_bound(rank: int, d: int) -> int:
    """Sum of C(d, i) over i <= rank: the VC dimension of all trees of at most this rank on d binary features (Simon
    1991).
    """
    return sum(math.comb(d, i) for i in range(min(rank, d) + 1))


# Counting functions: any arity, any features


def counting(table: Table, features: Features) -> int:
    r"""Bound the VC dimension by the number of different functions on m points.

    Notes
    -----
    At a node, count the splits that m points allow (l (m - 1) by real features; 1, C - 1, C by each binary, ordinal,
    nominal feature; 1 by each multiway feature with as many values as the node has children), times the orders of
    different children, times the functions of the children with what is left of the features; below the root a test may
    be constant and send all points to one child. m points are shattered only if there are 2^m functions. For a single
    multiway node this is Theorem 5 of Yildiz (2012).
    """
    if features.real:
        return bisect_failure(1, lambda m: n_functions(table, features, m) < 2**m)
    return n_functions(table, features, 0).bit_length() - 1


def n_functions(table: Table, features: Features, m: int) -> int:
    """Bound the number of labellings with two classes of m points (of all points, without real features)."""
    top = full_state(features)
    sizes = math.prod(count * (categories - 1) + 1 for (_, categories), count in top)
    uses_up = len(top) <= 1 or sizes <= 2_000
    memo: dict[tuple[int, State], int] = {}
    root = len(table) - 1
    stack = [(root, top)]
    splits = 2
    while stack:
        key = stack[-1]
        if key in memo:
            stack.pop()
            continue
        i, state = key
        parts = list(_node_options(table[i], features.real, state, m, uses_up))
        needed = [(child, left) for _, left in parts for child in table[i]] + [(child, state) for child in table[i]]
        missing = [part for part in needed if part not in memo]
        if missing:
            stack.extend(missing)
            continue
        # The two constant labellings are made by every split: they are counted once.
        splits = 2 + sum(ways * (math.prod(memo[child, left] for child in table[i]) - 2) for ways, left in parts)
        memo[key] = splits + sum(memo[child, state] - 2 for child in set(table[i]))
        stack.pop()
    # Without real features all points there are come to the root, which comes last: no test is constant there.
    return memo[root, top] if features.real else splits


def _node_options(
    children: tuple[int, ...], real: int, state: State, m: int, uses_up: bool
) -> list[tuple[int, State]]:
    """Return for each kind of feature how many ordered splits it makes, and what is left below."""
    arity = len(children)
    if not arity:
        return []
    counts = [children.count(child) for child in set(children)]
    orders = math.factorial(arity) // math.prod(math.factorial(count) for count in counts)
    if arity > 2:
        options = [(kind, count) for kind, count in state if kind == ("multiway", arity)]
        return [(count * orders, use_up(state, kind, remove=True) if uses_up else state) for kind, count in options]
    found = [(real * max(1, m - 1) * orders, state)] if real else []
    for kind, count in state:
        name, categories = kind
        if name != "multiway":
            ways = count * (categories if name == "nominal" else categories - 1) * orders
            found.append((ways, use_up(state, kind) if uses_up else state))
    return found


def n_points_there_are(features: Features) -> int:
    """Return the number of different points on finite features of all kinds."""
    return n_distinct(full_state(features))

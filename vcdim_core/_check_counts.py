r"""Upper bounds on the VC dimension by counting, computed again by the checker with exact integers.

Each method says how many labellings of m points a structure can realise; fewer than :math:`2^m` and no sample of m
points is shattered, nor any larger one. The proofs are in the docstrings; orientation fixed realises no more than free.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import lru_cache

from ._check_problem import Problem, Shape, can_test, canonical, is_binary, n_leaves, n_nodes, n_orders

MAX_POINTS = 200
"""Bounds are looked for up to so many points."""


def upper_by(problem: Problem, method: str) -> int | None:
    """Return the upper bound of a method on the VC dimension, or None where it does not apply or is too large.

    Examples
    --------
    >>> stump = Problem(((), ()), (("binary", 2),) * 4, True, False)
    >>> {method: upper_by(stump, method) for method in METHODS}
    {'leaf': None, 'changes': None, 'points': 16, 'rank': 5, 'functions': 3, 'partitions': 3, 'chain': None}
    """
    return METHODS[method](problem)


def best_method(problem: Problem) -> tuple[int, str] | None:
    """Return the smallest upper bound and the method that gives it."""
    found = [(bound, method) for method in METHODS if (bound := upper_by(problem, method)) is not None]
    return min(found, key=lambda pair: pair[0], default=None)


def _leaf(problem: Problem) -> int | None:
    """A leaf gives all points one label."""
    return None if problem.shape else 1


def _changes(problem: Problem) -> int | None:
    """On one real feature alone N thresholds make at most N changes of label along the order: VC <= N + 1."""
    return n_nodes(problem.shape) + 1 if problem.columns == (("real", 0),) and problem.shape else None


def _points(problem: Problem) -> int | None:
    """Without real features there are only so many different points."""
    return None if problem.n_real else problem.n_values


def _rank(problem: Problem) -> int | None:
    r"""Trees of rank r on d binary features have VC dimension at most :math:`\sum_{i \le r} \binom{d}{i}` (Simon 1991).

    Such a tree is a decision list over conjunctions of at most r literals (Blum 1992): the child of smaller rank, with
    one literal more in each conjunction, and then the other child. A decision list is the sign of a sum of its
    conjunctions with weights that fall like powers of 2, a real polynomial of degree at most r. Those form a vector
    space of the dimension stated, and signs of functions in a space shatter no more points than its dimension.
    """
    if not problem.shape or any(kind != "binary" for kind, _ in problem.columns):
        return None

    def rank(shape: Shape) -> int:
        if not shape:
            return 0
        low, high = sorted(map(rank, shape))
        return high + (low == high)

    d = len(problem.columns)
    return sum(math.comb(d, i) for i in range(rank(problem.shape) + 1))


def _functions(problem: Problem) -> int | None:
    r"""Count functions: a structure that shatters m points realises :math:`2^m` labellings of them.

    A node that makes one of its t tests, its children in one of their orders, realises at most
    :math:`\prod_i (G_i + 2) - 2` labellings that are not constant, where child i realises :math:`G_i` such ones with
    what is left of the features; a test that sends all points to one child adds what that child realises. Without real
    features all points there are come to the root, where no test is constant. Left of a feature with C categories are
    at most C - 1 on either side of its test, and nothing of a multiway one. m points in l real features allow
    l (m - 1) tests that divide them, and tests that do not.
    """
    if not problem.n_real:
        return _n_functions(problem, 0).bit_length() - 1
    return _last_before(lambda m: _n_functions(problem, m) < 2**m)


Left = tuple[tuple[tuple[str, int], int], ...]
"""How many features of each kind and number of categories are left, sorted."""


def _n_functions(problem: Problem, m: int) -> int:
    """Bound the labellings of m points (without real features: of all points)."""
    all_left = _tally(problem.finite)

    def tests(shape: Shape, left: Left) -> int:
        total, orders = 0, n_orders(problem, shape)
        if problem.n_real and len(shape) == 2:
            total += orders * problem.n_real * max(m - 1, 0) * divided(shape, left)
        for (kind, categories), count in left:
            if can_test(len(shape), kind, categories):
                ways = count * orders * _n_tests(problem, kind, categories)
                total += ways * divided(shape, _use(left, (kind, categories)))
        return total

    def divided(shape: Shape, left: Left) -> int:
        return math.prod(varied(child, left) + 2 for child in shape) - 2

    @lru_cache(None)
    def varied(shape: Shape, left: Left) -> int:
        return sum(varied(child, left) for child in set(shape)) + tests(shape, left) if shape else 0

    return 2 + (varied(problem.shape, all_left) if problem.n_real else tests(problem.shape, all_left))


def _tally(columns: tuple[tuple[str, int], ...]) -> Left:
    return tuple((column, columns.count(column)) for column in sorted(set(columns)))


def _use(left: Left, column: tuple[str, int]) -> Left:
    """Return what is left on either side of a test of this feature."""
    counts = dict(left)
    counts[column] -= 1
    kind, categories = column
    if kind != "multiway" and categories > 2:
        counts[kind, categories - 1] = counts.get((kind, categories - 1), 0) + 1
    return tuple(sorted((column, count) for column, count in counts.items() if count))


def _n_tests(problem: Problem, kind: str, categories: int) -> int:
    """Number of tests of a feature that divide its categories, before the order of the children is chosen."""
    if kind == "multiway":
        return 1
    if kind != "nominal":
        return categories - 1
    either = 1 if problem.free else 2  # which side is named matters only if it always goes to the first child
    if problem.subset:
        return int(either * (2 ** (categories - 1) - 1))
    return categories if categories > 2 else either


def _partitions(problem: Problem) -> int | None:
    r"""Theorem 9 of Leboeuf et al. (2020): count 2-partitions, for nodes with two children.

    Let p(t, m) bound the partitions into two parts that t makes of m points. A split into A for the child x and B for
    y, |A| = k, makes at most 1 + 2p(x,k) + 2p(y,m-k) + 2p(x,k)p(y,m-k) of them; there are :math:`\binom{m}{k}`
    splits, l real features make 2l of them for each k, and k from the leaves of x to m less those of y suffice, since
    a threshold may be moved until the smaller side has as many points as its child has leaves, which separates them. A
    finite feature makes at most as many splits as it has tests, each counted at the most it can be worth. Without real
    features a test may send all points one way. If x and y are the same structure every partition is met twice.
    No more than :math:`2^{m-1} - 1` partitions exist.
    """
    if not problem.shape or not is_binary(problem.shape):
        return None
    n_splits = sum(_n_tests(problem, *column) for column in problem.finite if can_test(2, *column))

    def worth(x: Shape, y: Shape, k: int, m: int) -> int:
        a, b = bound(x, k), bound(y, m - k)
        return 1 + 2 * a + 2 * b + 2 * a * b

    @lru_cache(None)
    def bound(shape: Shape, m: int) -> int:
        most = int(2 ** (m - 1)) - 1 if m else 0
        if not shape or m < 2:
            return 0
        x, y = shape
        total, twins = 0, x == y
        if problem.n_real:
            if m <= n_leaves(shape):
                return most
            ks = range(n_leaves(x), m - n_leaves(y) + 1)
            total = sum(min(2 * problem.n_real, math.comb(m, k)) * worth(x, y, k, m) for k in ks) >> twins
        else:
            total = bound(x, m) + bound(y, m)
        if n_splits:
            both = (worth(x, y, j, m) + (0 if twins else worth(x, y, m - j, m)) for j in range(1, m // 2 + 1))
            total += n_splits * max(both)
        return min(most, total)

    root = canonical(problem.shape)
    return _last_before(lambda m: bound(root, m) < 2 ** (m - 1) - 1)


def _chain(problem: Problem) -> int | None:
    r"""The chain bound on the growth function, real features only.

    Order the splits in which a prefix or suffix A of a feature's order goes to the child x, growing A point by point. A
    labelling realised with A but not with A less its last point p has on B a single extension to p, and p carries the
    other label. At most :math:`\tfrac12 \tau_x(k) u_y(m-k)` labellings are new at A, |A| = k, where :math:`u_y(b)`
    counts labellings of b points with a single extension: none while y shatters any b + 1 points (as many as it has
    leaves), else at most :math:`\tau_y(b) - 2 \sum_{i < N_y} \binom{b-1}{i}`. So

    .. math:: \tau_T(m) \le \tau_y(m) + \sum_{k=1}^{m-1} \min(2l, \tbinom{m}{k}) \tfrac12 \tau_x(k) u_y(m-k),

    and the same with x and y exchanged. If they are the same structure every split may be charged with its smaller
    side only.
    """
    if not problem.shape or any(kind != "real" for kind, _ in problem.columns) or not is_binary(problem.shape):
        return None
    splits = 2 * problem.n_real

    @lru_cache(None)
    def growth(shape: Shape, m: int) -> int:
        if not shape or m <= n_leaves(shape):
            return 1 << min(m, n_leaves(shape))
        x, y = shape
        return min(1 << m, chained(x, y, m), chained(y, x, m))

    def single(shape: Shape, b: int) -> int:
        if b + 1 <= n_leaves(shape):
            return 0
        return growth(shape, b) - 2 * sum(math.comb(b - 1, i) for i in range(n_nodes(shape)))

    def chained(x: Shape, y: Shape, m: int) -> int:
        doubled = 0
        for k in range(1, m):
            ways = 2 * min(splits, math.comb(m, k))
            if x == y and 2 * k >= m:
                ways = ways // 2 if 2 * k == m else 0
            doubled += ways * growth(x, k) * single(y, m - k)
        return growth(y, m) + doubled // 4

    root = canonical(problem.shape)
    return _last_before(lambda m: growth(root, m) < 2**m)


def _last_before(fails: Callable[[int], bool]) -> int | None:
    """Return m - 1 for the first m that fails, or None if that is beyond `MAX_POINTS`."""
    return next((m - 1 for m in range(1, MAX_POINTS + 1) if fails(m)), None)


METHODS: dict[str, Callable[[Problem], int | None]] = {
    "leaf": _leaf,
    "changes": _changes,
    "points": _points,
    "rank": _rank,
    "functions": _functions,
    "partitions": _partitions,
    "chain": _chain,
}

"""Lower bounds on the VC dimension: sums over children, with single nodes at the bottom.

**Sums.** Let the root test one feature and send the points with its i-th outcome to the i-th child. A sample in which
the points of outcome i form a sample that child i shatters with the features it has left is shattered. So the VC
dimension is at least the sum of those of the children:

* *real* features are never used up (put the samples of the children one after the other in the order of a feature): sum
  over the children with the same features;
* *binary* features: sum with d - 1 features, for every d >= 1 (Theorem 4 of Yildiz 2012). With d = 0 all points are
  equal and the VC dimension is 1. The proof needs no more than that each child has a VC dimension >= 1 with d - 1 >= 0
  features;
* *ordinal* with C categories: j categories are left on one side and C - j on the other;
* *nominal* with C categories: none on the side of the one category, C - 1 on the other;
* *multiway* with C values, tested by nodes with C children: none.

**Printed formulas that are not bounds.** Figure 4 of Yildiz (2012) takes the logarithm of 0 or less for d < height - 1;
the value 1 for d <= 0 is right. A node cannot be passed by for free: max(LB(left, d), LB(right, d)) is *not* a lower
bound on binary features. The smallest counterexample is ``(((..)(..)).)`` with d = 2: its child ``((..)(..))`` shatters
all 4 points of {0, 1}^2, but to pass 4 points on, the root needs a feature that is constant on them, and there is none:
the VC dimension is 3. Theorem 5 counts, and is an upper bound (:mod:`vcdim_core._covers`).

**Pruning.** A structure realises what it does with some substructures replaced by leaves (label all their leaves
alike), so the bound of a single node with the root's number of children holds for every structure with such a root.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from functools import lru_cache

from ._counts import Kind, State, finite_state, use_up
from ._covers import multiway_stump_lower
from ._rows import Table
from ._validation import check_int
from .features import Features

_CHOICES_LIMIT = 20_000  # pairs (substructure, features left) after which only the first choice of a feature is tried

_MOST_STEPS = 1 << 16  # features that are put together to serve as real ones; more are left out

Oracle = Callable[[int, State], int]  # exact values of small substructures, 0 where unknown


def stump_vc_binary(d: int) -> int:
    """Return the VC dimension of a stump on d binary features: floor(log2(d+1)) + 1 (Yildiz 2012, Theorem 1).

    Examples
    --------
    >>> [stump_vc_binary(d) for d in (0, 1, 2, 3, 7)]
    [1, 2, 2, 3, 4]
    """
    return (d + 1).bit_length()


def stump_vc_real(real: int) -> int:
    """Return the VC dimension of a stump on l real features: the largest m with 2 l >= C(m, floor(m/2)) (Leboeuf et al.
    2020, Corollary 8).

    Examples
    --------
    >>> [stump_vc_real(real) for real in (0, 1, 2, 3, 5, 10)]
    [1, 2, 3, 4, 5, 6]
    """
    m = 1
    while math.comb(m + 1, (m + 1) // 2) <= 2 * real:
        m += 1
    return m


def degenerate_lower_bound(n_nodes: int, d: int) -> int:
    """Bound the VC dimension of a comb of N nodes on d binary features from below (Yildiz 2012, Theorem 2).

    Notes
    -----
    floor(log2(d - N + 2)) + N for d >= N - 1; d + 1, which is exact, for fewer features (as printed the logarithm is of
    0 or less there).

    Examples
    --------
    >>> degenerate_lower_bound(4, 7), degenerate_lower_bound(5, 2), degenerate_lower_bound(0, 3)
    (6, 3, 1)
    """
    n_nodes, d = check_int("n_nodes", n_nodes, 0), check_int("d", d, 0)
    if n_nodes == 0:
        return 1
    return (d - n_nodes + 2).bit_length() - 1 + n_nodes if d >= n_nodes - 1 else d + 1


def full_lower_bound(height: int, d: int) -> int:
    """Bound the VC dimension of a full structure of height h on d binary features from below (Yildiz 2012, Theorem 3).

    Notes
    -----
    2^(h-1) (floor(log2(d - h + 2)) + 1) for d >= h - 1; 2^d, all points there are, for fewer features.

    Examples
    --------
    >>> full_lower_bound(3, 5), full_lower_bound(4, 2), full_lower_bound(0, 3)
    (12, 4, 1)
    """
    height, d = check_int("height", height, 0), check_int("d", d, 0)
    if height == 0:
        return 1
    return int(2 ** (height - 1) * (d - height + 2).bit_length() if d >= height - 1 else 2**d)


def theorem5_counting_bound(values: tuple[int, ...] | list[int]) -> int:
    """Bound the VC dimension of a single multiway node from above by counting 2-partitions.

    Parameters
    ----------
    values : sequence of int
        Number of values L_i >= 2 of each feature.

    Returns
    -------
    int
        floor(log2(sum of (2^(L_i - 1) - 1) + 1)) + 1: Theorem 5 of Yildiz (2012), which states it as an equality.

    Notes
    -----
    A feature with L values realises the labellings that are constant on its L parts, 2^(L-1) - 1 2-partitions at most,
    and all 2^(m-1) - 1 are wanted. It is not a lower bound: 11 ternary features give 6, exact is 5.

    Examples
    --------
    >>> theorem5_counting_bound([2, 2, 2]), theorem5_counting_bound([3] * 11), theorem5_counting_bound([])
    (3, 6, 1)
    """
    total = sum((1 << check_int("number of values", n_values, 2) - 1) - 1 for n_values in values)
    return (total + 1).bit_length()


@lru_cache(maxsize=4096)
def stump_lower(real: int, state: State) -> int:
    """Return a lower bound on the VC dimension of a stump on features of any kinds; exact for real or binary ones
    alone.

    Notes
    -----
    m points are shattered if all 2-partitions of them are splits. Real features alone make min(2 l, C(m, k)) of each
    size k where Theorem 7 is an equality (m <= 7, 2 l <= m, or 2 l >= C(m, m/2), then all). An ordinal feature with C
    >= m categories is as good as a real one; features whose numbers of categories minus 1 add up to m - 1 make the
    splits of one together. Every other feature makes at least any one split, a nominal one of C categories cuts off C -
    1 single points (m if C >= m).
    """
    if not state:
        return stump_vc_real(real)
    if not real and state[0][0][1] == 2 and len(state) == 1:
        return stump_vc_binary(state[0][1])
    m = 2
    while _stump_shatters(real, state, m + 1):
        m += 1
    return m


def _stump_shatters(real: int, state: State, m: int) -> bool:
    """Whether the constructions above shatter m >= 3 points."""
    wanted = (1 << m - 1) - 1
    as_real, spare = real, 0
    steps: list[int] = []  # categories - 1 of the features that are not as good as a real one
    reaches: list[int] = []  # single points that each nominal feature cuts off
    for (name, categories), count in state:
        if name == "ordinal" and categories >= m:
            as_real += count
            continue
        spare += count
        if name == "nominal":
            reaches.extend([m if categories >= m else categories - 1] * min(count, m))
        else:
            steps.extend([categories - 1] * min(count, m * wanted, _MOST_STEPS))
    if 2 * (as_real + _bundles(steps, m - 1)) >= math.comb(m, m // 2):
        return True
    if m <= 7 or 2 * as_real <= m:
        by_real = sum(min(2 * as_real, math.comb(m, k)) for k in range(1, m)) // 2
    else:
        by_real = m // 2 * (m - 1) + as_real - m // 2
    # Real features may cut off the single points already; without them nominal features do, the widest first.
    cut_off = 0
    if not as_real:
        reaches.sort(reverse=True)
        cut_off = max((min(m, sum(reaches[:used])) - used for used in range(1, len(reaches) + 1)), default=0)
    return by_real + spare + max(0, cut_off) >= wanted


def _bundles(steps: list[int], length: int) -> int:
    """Return how many times steps can be put together to at least this length, largest with smallest."""
    steps = sorted(steps)
    count, low, high = 0, 0, len(steps) - 1
    while low <= high:
        total = steps[high]
        high -= 1
        while total < length and low <= high:
            total += steps[low]
            low += 1
        count += total >= length
    return count


def lower_bound(table: Table, features: Features, oracle: Oracle | None = None) -> int:
    """Return the best sum over children for a structure of any arity and features of any kinds.

    Parameters
    ----------
    table : tuple of tuple of int
        The distinct substructures, the root last.
    features : Features
    oracle : callable, optional
        Called with an entry and the features left, returns a VC dimension known to be reached, or 0.
    """
    real = features.real
    memo: dict[tuple[int, State], int] = {}
    stack = [(len(table) - 1, full_state(features))]
    while stack:
        key = stack[-1]
        if key in memo:
            stack.pop()
            continue
        choices = list(_choices(table[key[0]], real, key[1], only_first=len(memo) > _CHOICES_LIMIT))
        missing = [part for choice in choices for part in choice if part not in memo]
        if missing:
            stack.extend(missing)
            continue
        sums = [sum(memo[part] for part in choice) for choice in choices]
        known = oracle(*key) if oracle is not None else 0
        memo[key] = max([_single_node(table[key[0]], real, key[1]), known, *sums])
        stack.pop()
    return memo[len(table) - 1, full_state(features)]


def full_state(features: Features) -> State:
    """Return all finite features, multiway ones with more than 2 values as a kind of their own."""
    wide = sorted(set(features.multiway) - {2})
    return (*finite_state(features), *((("multiway", c), features.multiway.count(c)) for c in wide))


def _single_node(children: tuple[int, ...], real: int, state: State) -> int:
    """Bound for a node as if its children were leaves."""
    if not children:
        return 1
    if len(children) > 2:
        return multiway_stump_lower(len(children), dict(state).get(("multiway", len(children)), 0))
    return stump_lower(real, tuple((kind, count) for kind, count in state if kind[0] != "multiway"))


def _choices(
    children: tuple[int, ...], real: int, state: State, only_first: bool
) -> Iterator[list[tuple[int, State]]]:
    """Yield for each feature that the node may test what its children then have left."""
    if not any(children):
        return  # a leaf, or a node with leaves only
    if len(children) > 2:
        kind = ("multiway", len(children))
        if kind in dict(state):
            yield [(child, use_up(state, kind, remove=True)) for child in children]
        return
    if real:
        yield [(child, state) for child in children]
        return
    for kind, _ in state:
        if kind[0] == "multiway":
            continue
        for left, right in _sides(state, kind):
            x, y = children
            yield [(x, left), (y, right)]
            if only_first:
                return
            if x != y and left != right:
                yield [(x, right), (y, left)]


def _sides(state: State, kind: Kind) -> Iterator[tuple[State, State]]:
    """Yield what is left on both sides of the splits of one feature; the larger side second."""
    name, categories = kind
    gone = use_up(state, kind, remove=True)
    if name == "nominal":
        yield gone, _with(gone, name, categories - 1)
        return
    # Any j is valid; of many categories the halves of halves and the smallest are tried.
    halves = {categories >> i for i in range(1, categories.bit_length())} | {1, 2, 3}
    for j in range(categories // 2, 0, -1) if categories <= 16 else sorted(halves, reverse=True):
        yield _with(gone, name, j), _with(gone, name, categories - j)


def _with(state: State, name: str, categories: int) -> State:
    """Return the state with one feature more; none if it has a single category."""
    if categories < 2:
        return state
    kinds = dict(state)
    kind = (name, categories) if categories > 2 else ("binary", 2)
    kinds[kind] = kinds.get(kind, 0) + 1
    return tuple(sorted(kinds.items()))


def estimate_vc_aslan(table_or_structure: object, d: int, *, recursive: bool = True) -> float:
    """Estimate the VC dimension on d binary features by the regression of Aslan et al. (2009): an estimate, never a
    bound.

    Parameters
    ----------
    table_or_structure : structure
        Anything that :func:`as_structure` accepts; binary.
    d : int
        Number of binary features, at least 1.
    recursive : bool, default=True
        Use the estimates of the left and right substructures; otherwise the number of nodes only.

    Returns
    -------
    float

    Notes
    -----
    Recursive: 0.6076 + 1.0077 (V_left + V_right) + 0.3657 log2 d - 0.8058 log2 N, where V_left and V_right are
    estimates with d - 1 features, a leaf has V = 1 and so has a structure without features. Not recursive: 0.6734 +
    1.0117 N + 0.1939 N log2(D - log2 N) + 0.7147 log2(D - log2 N), with D = d; the regression has no value where d <=
    log2 N, and the argument of the logarithm is then taken as 1. N is the number of nodes.

    References
    ----------
    O. Aslan, O. T. Yildiz and E. Alpaydin, Calculating the VC-dimension of decision trees, ISCIS 2009, 193-198,
    doi:10.1109/ISCIS.2009.5291847.

    Examples
    --------
    >>> estimate_vc_aslan(".", 3)
    1.0
    >>> round(estimate_vc_aslan("(..)", 3), 3)  # exact: 3
    3.203
    >>> round(estimate_vc_aslan("((..)(..))", 4), 3), round(estimate_vc_aslan("((..)(..))", 4, recursive=False), 3)
    (6.516, 5.358)
    """
    from .structures import as_structure

    structure, d = as_structure(table_or_structure), check_int("d", d, 1)
    if not structure.is_binary:
        raise ValueError(f"expected a binary structure, got a node with {structure.max_arity} children")
    if structure.is_leaf:
        return 1.0
    if not recursive:
        n, rest = structure.n_nodes, max(1.0, d - math.log2(structure.n_nodes))
        return 0.6734 + 1.0117 * n + (0.1939 * n + 0.7147) * math.log2(rest)
    table = structure.table()
    n_nodes = [0]
    for children in table[1:]:
        n_nodes.append(1 + sum(n_nodes[child] for child in children))
    depths: list[set[int]] = [set() for _ in table]
    depths[-1].add(d)
    for i in range(len(table) - 1, 0, -1):
        for child in table[i]:
            depths[child] |= {left - 1 for left in depths[i] if left > 0}
    values: list[dict[int, float]] = []
    for i, children in enumerate(table):
        own = {}
        for left in depths[i]:
            own[left] = 1.0
            if children and left > 0:
                below = sum(values[child][left - 1] for child in children)
                own[left] = 0.6076 + 1.0077 * below + 0.3657 * math.log2(left) - 0.8058 * math.log2(n_nodes[i])
        values.append(own)
    return values[-1][d]

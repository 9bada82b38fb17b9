"""The bounds that the exact search starts from and stops at: cheap, and with a sample for the lower one."""

from __future__ import annotations

import math

from .structures import Structure


def lower_sample(structure: Structure, d: int) -> list[int]:
    r"""Build a shattered sample of as many points as the recursion of Yildiz 2012 (Figure 4) promises.

    A stump shatters m points whose :math:`2^{m-1} - 1 \le d` first columns are all their splits into two parts (Theorem
    1). A node gives the last of its d features to the root and lets its children shatter a sample each on the other
    d - 1 (Theorem 4). With no features left, one point remains.

    Examples
    --------
    >>> [format(p, "04b") for p in lower_sample(Structure("((..).)"), 4)]
    ['0000', '0101', '0110', '1000']
    """
    if structure.is_leaf or d <= 0:
        return [0]
    if structure.n_nodes == 1:
        m = (d + 1).bit_length()
        splits = range(2 ** (m - 1) - 1)
        return [sum((split + 1 >> i - 1 & 1) << split for split in splits) if i else 0 for i in range(m)]
    left, right = structure.children
    one = 1 << d - 1
    return lower_sample(left, d - 1) + [point | one for point in lower_sample(right, d - 1)]


def counting_bound(structure: Structure, d: int, fixed: bool = False) -> int:
    r"""Bound the VC dimension from above by the number of functions, Simon's rank bound and the size of the cube.

    A class that shatters V points holds at least :math:`2^V` functions. On d features not tested above, a node that has
    some tested one above it computes at most

    .. math:: F(t, d) \le F(l, d) + F(r, d) + s\, d\, F(l, d-1) F(r, d-1), \qquad F(\text{leaf}, d) = 2,

    functions: it passes everything on to one child, or tests one of the d; s = 2 orientations if l and r differ and are
    free, else 1.
    The root passes nothing on. Trees of rank r compute functions of rank r, whose VC dimension is
    :math:`\sum_{i \le r} \binom{d}{i}` (Simon 1991).

    Examples
    --------
    >>> [counting_bound(Structure(s), 4) for s in (".", "(..)", "((..).)", "((..)(..))")]
    [1, 3, 5, 8]
    """
    if structure.is_leaf or d <= 0:
        return 1
    if structure.n_nodes == 1:
        return (d + 1).bit_length()                 # 2 d functions and the two constant ones, which d tests share
    rank = sum(math.comb(d, i) for i in range(structure.rank + 1))
    bound: int = min(2**d, rank)
    if structure.n_nodes > 4 * bound:               # more functions than can be counted to any use
        return bound
    table = structure.table(unordered=not fixed)
    below = [[2] * (d + 1) for _ in table]
    for t, (left, right) in enumerate(table[1:-1], 1):
        for k in range(d + 1):
            below[t][k] = below[left][k] + below[right][k] + _tests(below, left, right, k, fixed)
    left, right = table[-1]
    return min(bound, _tests(below, left, right, d, fixed).bit_length() - 1)


def _tests(below: list[list[int]], left: int, right: int, k: int, fixed: bool) -> int:
    """Functions of a node whose test is one of k features that are new on the path."""
    if k == 0:
        return 0
    return (1 if fixed or left == right else 2) * k * below[left][k - 1] * below[right][k - 1]

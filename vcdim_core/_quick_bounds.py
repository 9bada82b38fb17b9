"""The bounds that the exact search starts from and stops at: cheap, and with a sample for the lower one."""

from __future__ import annotations

import math
from functools import lru_cache

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

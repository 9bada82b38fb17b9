"""Covering numbers: how many multiway features a single node needs to shatter m points.

A node with c children whose children are leaves realises a labelling if one of its features puts the points into at
most c parts on each of which the labelling is constant: the 2-partition of the labels joins parts of that c-partition.
So m points are shattered by d features if and only if d c-partitions *cover* all 2^(m-1) - 1 2-partitions. One
c-partition covers 2^(c-1) - 1 of them, whence Theorem 5 of Yildiz (2012); but different c-partitions may cover the same
one, so that counting is an upper bound only. With 11 ternary features it allows 6 points (11 * 3 >= 31), yet 12 are
needed.

Small covers by 3-partitions are stored (a digit for each point, its part): the tests check that they cover, and that
they are smallest was proved by integer programming. Larger ones are constructed, which gives an upper bound on the
covering number, hence a valid lower bound on the VC dimension.
"""

from __future__ import annotations

from functools import lru_cache

# Number of points: a smallest cover of their 2-partitions by 3-partitions.
TERNARY_COVERS: dict[int, str] = {
    4: "0102 0120 0122",
    5: "00122 01012 01120 01202 01221",
    6: "001210 001222 010121 010221 011002 011122 011212 012011 012112 012122 012202 012210",
    7: (
        "0001211 0010112 0011022 0011120 0012202 0012221 0100211 0101012 0101221 0102120 0102201 0110021 0110202 "
        "0111222 0112012 0112100 0120121 0120210 0121122 0121202 0122002 0122020 0122110"
    ),
    8: (
        "00011022 00012111 00101211 00102120 00110112 00111200 00111201 00112022 00120022 00120101 00122212 00122220 "
        "01000222 01001211 01010102 01012221 01020212 01021010 01021120 01021201 01022021 01100102 01101220 01102012 "
        "01102201 01110120 01110201 01111202 01112212 01112222 01120011 01121012 01121221 01122112 01122200 01200112 "
        "01201222 01202100 01211001 01211122 01211220 01212020 01212112 01212211 01212212 01220211 01221112 01221121 "
        "01222121"
    ),
    9: (
        "000011121 000101121 000110121 000111102 000111212 000121011 000122110 001002212 001010112 001011201 001021011 "
        "001021222 001022220 001102011 001102221 001111220 001112010 001112122 001120110 001120202 001121001 001121022 "
        "001200122 001201101 001201210 001210011 001210212 001211100 001222101 010002121 010010112 010011012 010011222 "
        "010012101 010012210 010101120 010102011 010110201 010121021 010121200 010122002 010122122 010200222 010201101 "
        "010202221 010211120 010212102 010220022 010220211 010220220 010221010 011000211 011001201 011010012 011011020 "
        "011012001 011020101 011021012 011022201 011100210 011101022 011102102 011112222 011120221 011122020 011201002 "
        "011201100 011202210 011212000 011212120 011220020 011220102 011222112 012001011 012001110 012001122 012010220 "
        "012020112 012021200 012022111 012022120 012100012 012100101 012102221 012110100 012111222 012112012 012112200 "
        "012120110 012121212 012200212 012202020 012210021 012211201 012212211 012220002 012221001"
    ),
}


@lru_cache(maxsize=4096)
def covering_number(m: int, c: int) -> int:
    """Return how many c-partitions suffice to cover all 2-partitions of m points.

    Parameters
    ----------
    m : int
        Number of points, at least 1.
    c : int
        Number of parts, at least 2.

    Returns
    -------
    int
        The covering number K(m, c) itself for c = 2, for m <= c + 2, for c = 3 and m <= 9, and for c <= 5 and m <= 8;
        otherwise the size of a cover, an upper bound on it.

    Notes
    -----
    K(m, 2) = 2^(m-1) - 1, and K(m, c) = 1 for 2 <= m <= c. Two constructions:

    * K(m, c) <= K(m-1, c-1): put the new point into a part of its own, which joins either side.
    * K(m, c) <= K(m-1, c) + 2^(m-c): keep the new point q with an old one z, which covers all 2-partitions with both on
      one side. Of the others fix c - 2 points, each in a part of its own; for every way to put the m - c points that
      remain with q or with z one partition covers the 2^(c-2) 2-partitions that agree with it.

    Examples
    --------
    >>> covering_number(3, 3), covering_number(4, 3), covering_number(6, 3), covering_number(3, 2)
    (1, 3, 12, 3)
    """
    if m <= 1:
        return 0
    if c == 2:
        return int(2 ** (m - 1) - 1)
    if m <= c:
        return 1
    if c == 3 and m in TERNARY_COVERS:
        return len(TERNARY_COVERS[m].split())
    return min(covering_number(m - 1, c - 1), covering_number(m - 1, c) + int(2 ** (m - c)))


def multiway_stump_lower(c: int, d: int) -> int:
    """Return a lower bound on the VC dimension of one node with c leaves and d features of c values.

    Notes
    -----
    The largest m whose covering number is known to be at most d: exact for c = 2, for c = 3 and d <= 97, for c <= 5 and
    d <= 12.

    Examples
    --------
    >>> [multiway_stump_lower(3, d) for d in (0, 1, 2, 3, 5, 11, 12, 22, 23)]
    [1, 3, 3, 4, 5, 5, 6, 6, 7]
    """
    if d < 1:
        return 1
    m = c
    while covering_number(m + 1, c) <= d:
        m += 1
    return m

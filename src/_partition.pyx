"""How many partitions and labellings can a structure realise on m points, at most?

Letters, as in Leboeuf, LeBlanc and Marchand (2020): m points, l features, c parts, a structure T with children x and y
that have L_x and L_y leaves; pi_T^c(m) bounds the number of c-partitions that T realises on m points.

Theorem 9 (tight form), for m > L_T = L_x + L_y; for m <= L_T the value is the Stirling number S(m, c):

    pi_T^c(m) = min(S(m, c), 1/2^[x = y] * sum over k = L_x .. m - L_y of w(m, k) *
                    sum over 1 <= a, b <= c <= a + b of q(a, b, c) pi_x^a(k) pi_y^b(m - k)),
    w(m, k)    = min(2 l, C(m, k)),      q(a, b, c) = C(a, c - b) C(b, c - a) (a + b - c)!

The sum over k is a convolution but for the few k near both ends where C(m, k) < 2 l. As pi^1 = 1, a pair with a = 1 or
b = 1 needs prefix sums only: O(m) for all m together, so a structure with a leaf at every node (a comb) costs O(m) for
each node, and with two classes a general node needs a single convolution (a = b = 2), O(m^2 / 2) products, half of
that when x = y.

Numbers are rounded up and of any size (src/scaled.pxd).

Cost: for each node O(c^2 m^2) products and O(c^2 m) memory reads of two rows; rows are extended, never recomputed.
Signals are looked for every few hundred thousand products.

References: J.-S. Leboeuf, F. LeBlanc and M. Marchand, Decision trees as partitioning machines to characterize their
generalization properties, NeurIPS 2020 (Theorem 9, appendix D).
"""

from libc.math cimport frexp, ldexp
from libc.stdint cimport int32_t, int64_t, uint64_t
from libc.stdlib cimport free, malloc

from cpython.exc cimport PyErr_CheckSignals

from scaled cimport (
    SIGNAL_EVERY, Blocks, Ends, Scaled, Weights, blocks_at, blocks_dot, blocks_fill, blocks_free, ends_choose, pair_sum,
    prefix_sum, scaled_add, scaled_halve, scaled_less, scaled_raise_up, scaled_store, weights_fill,
)


# Stirling numbers, the cap of every count.


def fill_stirling(double[:, ::1] sm, int32_t[:, ::1] se):
    """Fill S(m, c) at [c-1, m], rounded up, by S(m, c) = c S(m-1, c) + S(m-1, c-1); exact powers of two for c = 2.

    For c = 2 and m > 54 the value is 2**(m-1), one more than the number, which is not a double.
    """
    cdef int64_t c, m, n_parts = sm.shape[0], size = sm.shape[1]
    cdef Scaled value
    for m in range(size):
        if m % 256 == 0:
            PyErr_CheckSignals()
        for c in range(1, n_parts + 1):
            value.value, value.e = 0.0, 0
            if c == 1 and m >= 1:
                value.value = 1.0
            elif c == 2 and m > 54:
                value.value, value.e = 1.0, m - 1
            elif c > 1 and m >= c:
                scaled_add(&value, <double>c * sm[c - 1, m - 1], se[c - 1, m - 1])
                scaled_add(&value, sm[c - 2, m - 1], se[c - 2, m - 1])
                value = scaled_raise_up(value, 8.0)
            scaled_store(value, &sm[c - 1, m], &se[c - 1, m])


# Theorem 9 for one node.


# What one node needs; everything is borrowed but the blocks.
cdef struct Node:
    Blocks* x  # parts 1 .. nx of the child x
    Blocks* y  # parts 1 .. ny of the child y, the same pointer if x = y
    Scaled* prefix  # running sums: first of x^a for b = 1, then of y^b for a = 1
    int64_t* done  # where each running sum stands
    Scaled* pairs  # the sum over k of each pair (a, b), for the m at hand
    int64_t nx, ny  # min(c, L_x), min(c, L_y): further parts are zero
    int64_t lx, ly
    int64_t c
    Ends ends  # of weights up to 2 l
    bint same


cdef void node_sum_pairs(Node* node, int64_t m) noexcept nogil:
    """Fill node.pairs[(a-1) * ny + b-1] for this m; pairs above the diagonal only, if x = y."""
    cdef int64_t a, b, i
    cdef Scaled total
    cdef Weights w
    weights_fill(&w, m, &node.ends)
    for a in range(1, node.nx + 1):
        for b in range(1, node.ny + 1):
            if node.same and b > a:
                continue
            if b == 1:
                total = prefix_sum(&node.x[a - 1], &node.prefix[a - 1], &node.done[a - 1], &w, node.lx, node.ly)
            elif a == 1:
                i = node.nx + b - 1
                total = prefix_sum(&node.y[b - 1], &node.prefix[i], &node.done[i], &w, node.ly, node.lx)
            else:
                total = pair_sum(&node.x[a - 1], &node.y[b - 1], &w, node.lx, node.ly, node.same and a == b)
            node.pairs[(a - 1) * node.ny + b - 1] = total


cdef Scaled node_value(
    const Node* node, int64_t c, const double[:, :, ::1] qm, const int32_t[:, :, ::1] qe,
) noexcept nogil:
    """The sum over a and b for c parts, before the factor 1/2 and the cap."""
    cdef Scaled total, pair
    cdef int64_t a, b
    total.value, total.e = 0.0, 0
    for a in range(1, min(c, node.nx) + 1):
        for b in range(max(1, c - a), min(c, node.ny) + 1):
            pair = node.pairs[(max(a, b) - 1) * node.ny + min(a, b) - 1 if node.same else (a - 1) * node.ny + b - 1]
            scaled_add(&total, qm[c - 1, a - 1, b - 1] * pair.value, qe[c - 1, a - 1, b - 1] + pair.e)
    return total


cdef inline double _ratio(Scaled a, int64_t m) noexcept nogil:
    """a / (2**(m-1) - 1), rounded so that it is below 1 if and only if a is below; at most 2**1000."""
    cdef int e
    cdef double f = frexp(a.value, &e)
    if f == 0.0:
        return 0.0 if m > 1 else 1.0
    # 2**(m-1) - 1 is a double for m <= 54. For larger m a double below 2**(m-1) is below 2**(m-1) - 1 as well.
    if m <= 54:
        if a.e + e > 900:
            return ldexp(1.0, 900)
        return ldexp(f, <int>(a.e + e)) / (ldexp(1.0, <int>(m - 1)) - 1.0) if m > 1 else 1.0
    return ldexp(f, <int>max(-1000, min(1000, a.e + e - (m - 1))))


def extend_partitions(
    const double[:, ::1] xm, const int32_t[:, ::1] xe, const double[:, ::1] ym, const int32_t[:, ::1] ye,
    double[:, ::1] zm, int32_t[:, ::1] ze, double[::1] ratio,
    const double[:, ::1] sm, const int32_t[:, ::1] se, const double[:, :, ::1] qm, const int32_t[:, :, ::1] qe,
    int64_t lx, int64_t ly, bint same, uint64_t cap, int64_t m0,
):
    """Fill columns m0 .. end of the rows z of a node with children x and y, by Theorem 9.

    Parameters
    ----------
    xm, xe, ym, ye : arrays of shape (parts, points + 1)
        Mantissas and exponents of both children, at least as many columns as z has.
    zm, ze : arrays of shape (c, points + 1)
        Rows of the node; columns before m0 are left alone.
    ratio : array of points + 1
        The uncapped value for 2 parts over 2**(m-1) - 1: below 1 only if m points are not shattered.
    sm, se : arrays of shape (c, points + 1)
        Stirling numbers, rounded up.
    qm, qe : arrays of shape (c, c, c)
        The coefficients q(a, b, c) at [c-1, a-1, b-1], rounded up.
    lx, ly : int
        Leaves of the children.
    same : bool
        Whether the children are the same structure; then the x arrays are used for both.
    cap : int
        Twice the number of features, at least 1, below 2**40.
    m0 : int
        First column to fill, at least 1.
    """
    cdef int64_t c = zm.shape[0], size = zm.shape[1], i, n_blocks
    cdef Node node
    node.c, node.lx, node.ly, node.same = c, lx, ly, same
    node.nx, node.ny = min(c, lx), min(c, ly)
    n_blocks = node.nx if same else node.nx + node.ny
    cdef Blocks* blocks = <Blocks*>malloc(n_blocks * sizeof(Blocks))
    node.prefix = <Scaled*>malloc((node.nx + node.ny) * sizeof(Scaled))
    node.done = <int64_t*>malloc((node.nx + node.ny) * sizeof(int64_t))
    node.pairs = <Scaled*>malloc(node.nx * node.ny * sizeof(Scaled))
    try:
        if blocks == NULL or node.prefix == NULL or node.done == NULL or node.pairs == NULL:
            raise MemoryError(f"expected room for {c * c} pairs of parts, got none")
        for i in range(n_blocks):
            blocks[i].s, blocks[i].e = NULL, NULL
        for i in range(node.nx + node.ny):
            node.prefix[i].value, node.prefix[i].e, node.done[i] = 0.0, 0, 0
        with nogil:
            for i in range(n_blocks):
                if i < node.nx:
                    blocks_fill(&blocks[i], &xm[i, 0], &xe[i, 0], size)
                else:
                    blocks_fill(&blocks[i], &ym[i - node.nx, 0], &ye[i - node.nx, 0], size)
            node.x = blocks
            node.y = blocks if same else blocks + node.nx
            node.ends = ends_choose(cap)
            _fill_columns(&node, zm, ze, ratio, sm, se, qm, qe, m0, size)
    finally:
        if blocks != NULL:
            for i in range(n_blocks):
                blocks_free(&blocks[i])
        free(blocks)
        free(node.prefix)
        free(node.done)
        free(node.pairs)


cdef int _fill_columns(
    Node* node, double[:, ::1] zm, int32_t[:, ::1] ze, double[::1] ratio,
    const double[:, ::1] sm, const int32_t[:, ::1] se, const double[:, :, ::1] qm, const int32_t[:, :, ::1] qe,
    int64_t m0, int64_t size,
) except -1 nogil:
    """The loop over m of extend_partitions; looks for signals."""
    cdef int64_t m, c, work = 0
    cdef double n_roundings
    cdef Scaled value, stirling
    for m in range(m0, size):
        if m > node.lx + node.ly:
            node_sum_pairs(node, m)
            work += node.nx * node.ny * (m + 16)
        n_roundings = 2.0 * m + 4.0 * node.nx * node.ny + 100.0
        for c in range(1, node.c + 1):
            stirling.value, stirling.e = sm[c - 1, m], se[c - 1, m]
            if m <= node.lx + node.ly or c == 1:
                value = stirling
            else:
                value = node_value(node, c, qm, qe)
                value = scaled_halve(value, n_roundings) if node.same else scaled_raise_up(value, n_roundings)
            if c == 2:
                ratio[m] = _ratio(value, m) if m > node.lx + node.ly else 1.0
            if scaled_less(stirling, value):
                value = stirling
            scaled_store(value, &zm[c - 1, m], &ze[c - 1, m])
        if work > SIGNAL_EVERY:
            work = 0
            with gil:
                PyErr_CheckSignals()
    return 0


def _py_dot(x, y, m, first, last):
    """Door for tests: the scaled sum of x(k) y(m - k) as a pair (value, exponent); x and y are pairs of arrays."""
    cdef const double[::1] xm = x[0], ym = y[0]
    cdef const int32_t[::1] xe = x[1], ye = y[1]
    cdef Blocks bx, by
    cdef Scaled total
    bx.s, bx.e, by.s, by.e = NULL, NULL, NULL, NULL
    try:
        blocks_fill(&bx, &xm[0], &xe[0], xm.shape[0])
        blocks_fill(&by, &ym[0], &ye[0], ym.shape[0])
        total = blocks_dot(&bx, &by, m, first, last)
    finally:
        blocks_free(&bx)
        blocks_free(&by)
    return total.value, total.e

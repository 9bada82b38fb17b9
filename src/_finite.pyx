"""How many 2-partitions can the splits of a node make, at most, when features have finitely many categories?

Letters: m points; a split sends k of them to the child x and m - k to y. On k points x makes x1(k) 1-partitions (1, or
0 if there are no k different points) and at most x2(k) 2-partitions, y likewise; glued together they are

    value(k) = x1(k) y1(m-k) + 2 (x2(k) y1(m-k) + x1(k) y2(m-k) + x2(k) y2(m-k))

2-partitions of the m points. An unordered split {A, B} with sides of sizes j <= m - j can be used both ways round:
worth(j) = value(j) + value(m-j), or value(j) if x and y are the same structure. The features of one kind make a number
of splits in all, and of each size (proofs in vcdim_core/_counts.py); the bound gives them the sizes that are worth
most.

Numbers are doubles, below 2**1000 for m <= 1000. They are integers below 2**53 and exact there; a sum of n terms that
is larger is multiplied by 1 + n * 2**-51, so it is never below the exact one.

Cost: O(m) for each m and each size that is taken.
"""

from libc.math cimport floor
from libc.stdint cimport int64_t
from libc.stdlib cimport free, malloc

from cpython.exc cimport PyErr_CheckSignals

cdef double EXACT = 9007199254740992.0  # 2**53
cdef double TWO_ULP = 4.440892098500626e-16  # 2**-51

cdef enum:
    BINARY = 0
    ORDINAL = 1
    NOMINAL = 2


# Both children: numbers of 1- and 2-partitions by number of points.
cdef struct Children:
    const double* x1
    const double* x2
    const double* y1
    const double* y2
    bint same


cdef inline double children_value(const Children* t, int64_t k, int64_t m) noexcept nogil:
    cdef double a1 = t.x1[k], a2 = t.x2[k], b1 = t.y1[m - k], b2 = t.y2[m - k]
    return a1 * b1 + 2.0 * (a2 * b1 + a1 * b2 + a2 * b2)


cdef inline double children_worth(const Children* t, int64_t j, int64_t m) noexcept nogil:
    if t.same:
        return children_value(t, j, m)
    return children_value(t, j, m) + children_value(t, m - j, m)


cdef inline double binomial_up_to(int64_t m, int64_t k, double cap) noexcept nogil:
    """min(C(m, k), cap) for cap <= 2**42: exact, as products stay below 2**53 (m <= 1000)."""
    cdef double value = 1.0
    cdef int64_t i
    for i in range(1, min(k, m - k) + 1):
        value = floor(value * <double>(m - i + 1) / <double>i + 0.5)
        if value >= cap:
            return cap
    return value


cdef inline double splits_of_size(int kind, int64_t categories, int64_t m, int64_t j) noexcept nogil:
    """Most splits with sides of sizes j <= m - j by one feature."""
    if kind == BINARY or 2 * j == m:
        return 1.0
    if kind == ORDINAL:
        return 2.0
    return <double>categories if categories * j == m else <double>min(categories - 1, m // j)


cdef double best_splits(double* worth, int64_t m, int kind, int64_t categories, double count) noexcept nogil:
    """The sum over the splits that are worth most; worth[1 .. m // 2] is used up."""
    cdef double left = count * <double>(categories if kind == NOMINAL else categories - 1)
    cdef double total = 0.0, there_are, taken
    cdef int64_t j, best
    while left > 0.0:
        best = 0
        for j in range(1, m // 2 + 1):
            if worth[j] > 0.0 and (best == 0 or worth[j] > worth[best]):
                best = j
        if best == 0:
            break
        there_are = binomial_up_to(m, best, 2.0 * left)
        if 2 * best == m:
            there_are *= 0.5
        taken = min(left, there_are, count * splits_of_size(kind, categories, m, best))
        total += taken * worth[best]
        left -= taken
        worth[best] = 0.0
    return total


cdef inline double _raise_up(double value, double n_roundings) noexcept nogil:
    return value if value < EXACT else value * (1.0 + n_roundings * TWO_ULP)


def add_finite_splits(
    const double[:, ::1] x, const double[:, ::1] y, double[::1] out, int kind, int64_t categories, double count,
    bint same, int64_t m0,
):
    """Add to out[m], m >= m0, the 2-partitions made by the splits of ``count`` features of one kind.

    Parameters
    ----------
    x, y : arrays of shape (2, points + 1)
        1- and 2-partitions of the children below such a split.
    out : array of points + 1
        At most 1000 points.
    kind, categories : int
        0 binary, 1 ordinal, 2 nominal.
    count : float
        Number of features, below 2**20.
    """
    cdef int64_t m, j, size = out.shape[0]
    cdef Children t
    cdef double* worth = <double*>malloc((size // 2 + 2) * sizeof(double))
    if worth == NULL:
        raise MemoryError(f"expected room for {size} numbers, got none")
    t.x1, t.x2, t.y1, t.y2, t.same = &x[0, 0], &x[1, 0], &y[0, 0], &y[1, 0], same
    try:
        with nogil:
            for m in range(m0, size):
                for j in range(1, m // 2 + 1):
                    worth[j] = children_worth(&t, j, m)
                out[m] = _raise_up(out[m] + best_splits(worth, m, kind, categories, count), <double>m + 20.0)
                if m % 64 == 0:
                    with gil:
                        PyErr_CheckSignals()
    finally:
        free(worth)


def add_real_splits(
    const double[:, ::1] x, const double[:, ::1] y, double[::1] out, double cap, bint same, int64_t lx, int64_t ly,
    int64_t m0,
):
    """Add to out[m], m >= m0, the 2-partitions made by splits with k = lx .. m - ly, min(cap, C(m, k)) of each size."""
    cdef int64_t m, k, size = out.shape[0]
    cdef Children t
    cdef double total
    t.x1, t.x2, t.y1, t.y2, t.same = &x[0, 0], &x[1, 0], &y[0, 0], &y[1, 0], same
    with nogil:
        for m in range(m0, size):
            total = 0.0
            for k in range(lx, m - ly + 1):
                total += binomial_up_to(m, k, cap) * children_value(&t, k, m)
            total = _raise_up(total, <double>m + 20.0)
            if same:
                total = floor(0.5 * total) if total < EXACT else 0.5 * total
            out[m] = _raise_up(out[m] + total, 2.0)
            if m % 64 == 0:
                with gil:
                    PyErr_CheckSignals()

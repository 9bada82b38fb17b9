# Numbers of any size that are rounded up, rows of them, and sums of products of rows.
#
# Numbers. A value is a double times 2**e, with e of its own, so nothing overflows. *Invariant:* every value is at least
# the exact integer it stands for, and a value below 2**53 is an integer. Proof: a sum of n products of such values in
# doubles is at least (1 - 2**-53)**n times the exact sum, and is multiplied by 1 + n * 2**-52 (scaled_raise_up); powers
# of two are exact; a value too small to be scaled is replaced by a larger one (scaled_shift). If the rounded sum is
# below 2**53 then all its terms and partial sums are integers below 2**53, hence exact, and nothing is added. So small
# values are the exact integers of the recursion, floors included, and large ones exceed them by a factor below
# 1 + n * 2**-51.

from libc.math cimport ceil, floor, frexp, ldexp
from libc.stdint cimport int32_t, int64_t, uint64_t
from libc.stdlib cimport free, malloc

cdef enum:
    BLOCK = 32  # entries that share an exponent: S(m + 32, c) / S(m, c) stays below 2**500 for every c <= 1000
    MAX_ENDS = 8  # a row of binomials has at most so many k at each end that are looked at one by one
    DIRECT = 32  # rows up to about here may be looked at one by one as a whole
    LOWEST = -2000000000  # below every exponent
    SIGNAL_EVERY = 200_000  # products between two looks at the signals, about 0.2 ms


# A number: value * 2**e; zero has value 0.
cdef struct Scaled:
    double value
    int64_t e


# One part of a row, scaled by blocks: entry k is s[k] * 2**e[k >> shift], and r[k] = s[size - 1 - k].
cdef struct Blocks:
    double* s
    double* r
    int64_t* e
    int shift
    int64_t size


cdef inline double scaled_shift(double value, int64_t d) noexcept nogil:
    """value * 2**d for d <= 0, never below it: what is smaller than 2**-500 becomes that if d < -500 (value > 0)."""
    cdef double small
    if value == 0.0 or d == 0:
        return value
    if d < -500:
        # value may be as large as 1e100: only what is small after shifting is replaced.
        small = ldexp(value, <int>max(d, -5000))
        return small if small > 3.054936363499605e-151 else 3.054936363499605e-151
    return ldexp(value, <int>d)


cdef inline void scaled_add(Scaled* total, double value, int64_t e) noexcept nogil:
    """Add value * 2**e to the total; one rounding, upward where a scale is out of range."""
    if value == 0.0:
        return
    if total.value == 0.0:
        total.value, total.e = value, e
    elif e <= total.e:
        total.value += scaled_shift(value, e - total.e)
    else:
        total.value = value + scaled_shift(total.value, total.e - e)
        total.e = e
    if total.value > 1e100:
        total.value *= 3.054936363499605e-151  # 2**-500, exact
        total.e += 500


cdef inline bint scaled_less(Scaled a, Scaled b) noexcept nogil:
    """Whether a < b."""
    cdef int ea, eb
    cdef double fa = frexp(a.value, &ea), fb = frexp(b.value, &eb)
    if fa == 0.0 or fb == 0.0:
        return fa < fb
    if a.e + ea != b.e + eb:
        return a.e + ea < b.e + eb
    return fa < fb


cdef inline bint scaled_is_exact(Scaled a) noexcept nogil:
    """Whether the number is below 2**53."""
    cdef int e
    frexp(a.value, &e)
    return a.value == 0.0 or a.e + e <= 53


cdef inline Scaled scaled_raise_up(Scaled a, double n_roundings) noexcept nogil:
    """The invariant restored after n roundings: nothing to do below 2**53."""
    if not scaled_is_exact(a):
        a.value *= 1.0 + n_roundings * 2.220446049250313e-16
    return a


cdef inline Scaled scaled_halve(Scaled a, double n_roundings) noexcept nogil:
    """Half of it rounded down where it is exact, otherwise rounded up to keep the invariant."""
    cdef double whole
    if scaled_is_exact(a):
        a.value, a.e = floor(ldexp(a.value, <int>a.e) * 0.5), 0
        return a
    a = scaled_raise_up(a, n_roundings)
    a.value *= 0.5
    if scaled_is_exact(a):
        a.value, a.e = ceil(ldexp(a.value, <int>a.e)), 0
    return a


cdef inline void scaled_store(Scaled a, double* mantissa, int32_t* exponent) noexcept nogil:
    """Write the number with a mantissa in [1/2, 1)."""
    cdef int e
    mantissa[0] = frexp(a.value, &e)
    exponent[0] = <int32_t>(a.e + e) if mantissa[0] != 0.0 else 0


cdef inline void blocks_free(Blocks* row) noexcept nogil:
    free(row.s)
    free(row.e)
    row.s, row.e = NULL, NULL


cdef inline int blocks_fill(Blocks* row, const double* mantissa, const int32_t* exponent, int64_t size) except -1 nogil:
    """Scale a row by blocks, by one block if its largest entry is below 2**500; blocks_free releases it."""
    cdef int64_t k, b, first, last, top = 0, n_blocks
    for k in range(size):
        top = max(top, exponent[k])
    row.shift = 40 if top <= 500 else 5
    row.size = size
    n_blocks = (size >> row.shift) + 1
    row.s = <double*>malloc((2 * size + 1) * sizeof(double))
    row.e = <int64_t*>malloc(n_blocks * sizeof(int64_t))
    if row.s == NULL or row.e == NULL:
        blocks_free(row)
        with gil:
            raise MemoryError(f"expected room for {3 * size} numbers, got none")
    row.r = row.s + size
    for b in range(n_blocks):
        first, last = b << row.shift, min(size, (b + 1) << row.shift) if row.shift == 5 else size
        top = LOWEST
        for k in range(first, last):
            if mantissa[k] != 0.0:
                top = max(top, exponent[k])
        row.e[b] = 0 if top == LOWEST or row.shift != 5 else top
        for k in range(first, last):
            if row.shift == 5:
                row.s[k] = scaled_shift(mantissa[k], exponent[k] - row.e[b])
            else:
                row.s[k] = ldexp(mantissa[k], exponent[k])
    for k in range(size):
        row.r[size - 1 - k] = row.s[k]
    return 0


cdef inline double _dot(const double* x, const double* y, int64_t n) noexcept nogil:
    """Sum of n products, in four interleaved sums."""
    cdef double s0 = 0.0, s1 = 0.0, s2 = 0.0, s3 = 0.0
    cdef int64_t i = 0
    while i + 4 <= n:
        s0 += x[i] * y[i]
        s1 += x[i + 1] * y[i + 1]
        s2 += x[i + 2] * y[i + 2]
        s3 += x[i + 3] * y[i + 3]
        i += 4
    while i < n:
        s0 += x[i] * y[i]
        i += 1
    return (s0 + s1) + (s2 + s3)


cdef inline Scaled blocks_dot(const Blocks* x, const Blocks* y, int64_t m, int64_t first, int64_t last) noexcept nogil:
    """Sum of x(k) y(m - k) over first <= k <= last; at most last - first + 8 roundings."""
    cdef Scaled total
    cdef int64_t k = first, end, j
    total.value, total.e = 0.0, 0
    while k <= last:
        # Longest run in which neither k nor j = m - k leaves its block.
        end, j = last, m - k
        if x.shift == 5:
            end = min(end, k | (BLOCK - 1))
        if y.shift == 5:
            end = min(end, m - (j & ~<int64_t>(BLOCK - 1)))
        scaled_add(&total, _dot(x.s + k, y.r + (y.size - 1 - j), end - k + 1), x.e[k >> x.shift] + y.e[j >> y.shift])
        k = end + 1
    return total


cdef inline Scaled blocks_at(const Blocks* x, int64_t k) noexcept nogil:
    cdef Scaled a
    a.value, a.e = x.s[k], x.e[k >> x.shift]
    return a


# Weights: how many splits (A, B) of m points with |A| = k a node can make.


cdef inline double binomial_capped(int64_t m, int64_t k, uint64_t cap) noexcept nogil:
    """min(C(m, k), cap) for cap < 2**40 and m < 2**24: products stay below 2**64."""
    cdef uint64_t value = 1
    cdef int64_t i
    for i in range(1, min(k, m - k) + 1):
        value = value * <uint64_t>(m - i + 1) // <uint64_t>i
        if value >= cap:
            return <double>cap
    return <double>value


# How rows of weights are cut: from m = direct on, all but the outer n_ends entries at each end have the weight cap.
cdef struct Ends:
    uint64_t cap
    int64_t n_ends
    int64_t direct


cdef inline Ends ends_choose(uint64_t cap) noexcept nogil:
    """The fewest ends with which at most about DIRECT rows have to be looked at as a whole: 1 for 2 l <= 32."""
    cdef Ends ends
    ends.cap, ends.n_ends = cap, 0
    while True:
        ends.n_ends += 1
        ends.direct = 2 * ends.n_ends
        while binomial_capped(ends.direct, ends.n_ends, cap) < <double>cap:
            ends.direct += 1
            if ends.direct > DIRECT and ends.n_ends < MAX_ENDS:
                break
        else:
            return ends


# The weights of one m: those of the k that are looked at one by one, and that of all others.
cdef struct Weights:
    double[MAX_ENDS] ends
    int64_t n_ends
    uint64_t cap  # the most splits of any size
    int64_t m
    bint direct  # whether all k are looked at one by one


cdef inline void weights_fill(Weights* w, int64_t m, const Ends* ends) noexcept nogil:
    cdef uint64_t value = 1
    cdef int64_t k
    w.m, w.cap, w.n_ends, w.direct = m, ends.cap, ends.n_ends, m < ends.direct
    for k in range(w.n_ends):
        w.ends[k] = <double>min(value, w.cap)
        if value < w.cap:
            value = value * <uint64_t>(m - k) // <uint64_t>(k + 1)


cdef inline double weights_at(const Weights* w, int64_t k) noexcept nogil:
    """The weight of k; one of the outer ones unless w.direct."""
    if w.direct:
        return binomial_capped(w.m, k, w.cap)
    return w.ends[min(k, w.m - k)]


cdef inline void _add_terms(
    Scaled* total, const Blocks* x, const Blocks* y, const Weights* w, int64_t first, int64_t last,
) noexcept nogil:
    """Add w(m, k) x(k) y(m - k) for first <= k <= last, one by one."""
    cdef int64_t k
    cdef Scaled a, b
    for k in range(first, last + 1):
        a, b = blocks_at(x, k), blocks_at(y, w.m - k)
        scaled_add(total, weights_at(w, k) * (a.value * b.value), a.e + b.e)


cdef inline Scaled pair_sum(
    const Blocks* x, const Blocks* y, const Weights* w, int64_t lx, int64_t ly, bint same,
) noexcept nogil:
    """Sum of w(m, k) x(k) y(m - k) over lx <= k <= m - ly. At most m + 40 roundings.

    With ``same`` (x and y are one row) the sum is taken over k < m/2 twice.
    """
    cdef Scaled total, middle
    cdef int64_t m = w.m, first = lx, last = m - ly, half
    cdef double weight
    total.value, total.e = 0.0, 0
    if same:
        last = (m - 1) // 2
    if w.direct:
        _add_terms(&total, x, y, w, first, last)
    else:
        _add_terms(&total, x, y, w, first, min(last, w.n_ends - 1))
        half = min(last, m - w.n_ends)
        if max(first, w.n_ends) <= half:
            middle = blocks_dot(x, y, m, max(first, w.n_ends), half)
            scaled_add(&total, <double>w.cap * middle.value, middle.e)
        _add_terms(&total, x, y, w, max(first, m - w.n_ends + 1), last)
    if same:
        total.value *= 2.0
        if m % 2 == 0 and m // 2 >= lx:
            middle = blocks_at(x, m // 2)
            half = m // 2
            weight = weights_at(w, half) if w.direct else <double>w.cap
            scaled_add(&total, weight * (middle.value * middle.value), 2 * middle.e)
    return total


cdef inline void _add_alone(
    Scaled* total, const Blocks* x, const Weights* w, int64_t first, int64_t last,
) noexcept nogil:
    """Add w(m, k) x(k) for first <= k <= last, one by one."""
    cdef int64_t k
    cdef Scaled a
    for k in range(first, last + 1):
        a = blocks_at(x, k)
        scaled_add(total, weights_at(w, k) * a.value, a.e)


cdef inline Scaled prefix_sum(
    const Blocks* x, Scaled* prefix, int64_t* done, const Weights* w, int64_t lx, int64_t ly,
) noexcept nogil:
    """The same sum for y = 1 at every size: the middle part is a running sum over k = max(lx, n_ends) .. done - 1.

    m must not fall from call to call. At most m + 40 roundings.
    """
    cdef Scaled total, a
    cdef int64_t k, m = w.m, first = max(lx, w.n_ends), last = m - ly
    total.value, total.e = 0.0, 0
    if w.direct:
        _add_alone(&total, x, w, lx, last)
        return total
    while done[0] <= min(last, m - w.n_ends):
        if done[0] >= first:
            a = blocks_at(x, done[0])
            scaled_add(prefix, a.value, a.e)
        done[0] += 1
    scaled_add(&total, <double>w.cap * prefix.value, prefix.e)
    _add_alone(&total, x, w, lx, min(last, w.n_ends - 1))
    _add_alone(&total, x, w, max(first, m - w.n_ends + 1), last)
    return total

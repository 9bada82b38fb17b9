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

The chain bound (statement and proof in vcdim_core/_chain.py) bounds the number n sigma_T(m) of labellings with n classes by

    sigma_T(m) = sigma_y(m) + (n - 1) sum over 1 <= k < m of w(m, k) sigma_x(k) v_y(m - k),

and the same with x and y exchanged; the smaller of both, of Theorem 9 and of n^(m-1).

Numbers. A value is a double times 2**e, with e of its own, so nothing overflows. *Invariant:* every value is at least
the exact integer it stands for, and a value below 2**53 is an integer. Proof: a sum of n products of such values in
doubles is at least (1 - 2**-53)**n times the exact sum, and is multiplied by 1 + n * 2**-52 (_raise_up); powers of two
are exact; a value too small to be scaled is replaced by a larger one (_shift). If the rounded sum is below 2**53 then
all its terms and partial sums are integers below 2**53, hence exact, and nothing is added. So small values are the
exact integers of the recursion, floors included, and large ones exceed them by a factor below 1 + n * 2**-51.

Cost: for each node O(c^2 m^2) products and O(c^2 m) memory reads of two rows; rows are extended, never recomputed.
Signals are looked for every few hundred thousand products.

References: J.-S. Leboeuf, F. LeBlanc and M. Marchand, Decision trees as partitioning machines to characterize their
generalization properties, NeurIPS 2020 (Theorem 9, appendix D).
"""

from libc.math cimport ceil, floor, frexp, ldexp
from libc.stdlib cimport free, malloc
from libc.stdint cimport int32_t, uint64_t

cimport cython
from cpython.exc cimport PyErr_CheckSignals

cdef enum:
    MAX_ENDS = 8  # a row of binomials has at most so many k at each end that are looked at one by one
    DIRECT = 32  # rows up to about here may be looked at one by one as a whole
    BLOCK = 32  # entries that share an exponent: S(m + 32, c) / S(m, c) stays below 2**500 for every c <= 1000
    SIGNAL_EVERY = 200_000  # products between two looks at the signals, about 0.2 ms

cdef double EXACT = 9007199254740992.0  # 2**53: integers below are exact
cdef double ULP = 2.220446049250313e-16  # 2**-52


# A number: value * 2**e; zero has value 0.
cdef struct Scaled:
    double value
    long e


# One part of a row, scaled by blocks: entry k is s[k] * 2**e[k >> shift], and r[k] = s[size - 1 - k].
cdef struct Blocks:
    double* s
    double* r
    long* e
    int shift
    long size


cdef inline double _shift(double value, long d) noexcept nogil:
    """value * 2**d for d <= 0, never below it: what is too small for a double becomes 2**-500 (value > 0)."""
    if value == 0.0 or d == 0:
        return value
    if d < -500:
        return 3.054936363499605e-151
    return ldexp(value, <int>d)


cdef inline void scaled_add(Scaled* total, double value, long e) noexcept nogil:
    """Add value * 2**e to the total; one rounding, upward where a scale is out of range."""
    if value == 0.0:
        return
    if total.value == 0.0:
        total.value, total.e = value, e
    elif e <= total.e:
        total.value += _shift(value, e - total.e)
    else:
        total.value = value + _shift(total.value, total.e - e)
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


cdef inline Scaled _raise_up(Scaled a, double n_roundings) noexcept nogil:
    """The invariant restored after n roundings: nothing to do below 2**53."""
    if not scaled_is_exact(a):
        a.value *= 1.0 + n_roundings * ULP
    return a


cdef inline Scaled _halve(Scaled a, double n_roundings) noexcept nogil:
    """Half of it rounded down where it is exact, otherwise rounded up to keep the invariant."""
    cdef double whole
    if scaled_is_exact(a):
        a.value, a.e = floor(ldexp(a.value, <int>a.e) * 0.5), 0
        return a
    a = _raise_up(a, n_roundings)
    a.value *= 0.5
    if scaled_is_exact(a):
        a.value, a.e = ceil(ldexp(a.value, <int>a.e)), 0
    return a


cdef inline void scaled_store(Scaled a, double* mantissa, int32_t* exponent) noexcept nogil:
    """Write the number with a mantissa in [1/2, 1)."""
    cdef int e
    mantissa[0] = frexp(a.value, &e)
    exponent[0] = <int32_t>(a.e + e) if mantissa[0] != 0.0 else 0


cdef int blocks_fill(Blocks* row, const double* mantissa, const int32_t* exponent, long size) except -1 nogil:
    """Scale a row by blocks, by one block if its largest entry is below 2**500; blocks_free releases it."""
    cdef long k, b, first, last, top = 0, n_blocks
    for k in range(size):
        top = max(top, exponent[k])
    row.shift = 40 if top <= 500 else 5
    row.size = size
    n_blocks = (size >> row.shift) + 1
    row.s = <double*>malloc((2 * size + 1) * sizeof(double))
    row.e = <long*>malloc(n_blocks * sizeof(long))
    if row.s == NULL or row.e == NULL:
        blocks_free(row)
        with gil:
            raise MemoryError(f"expected room for {3 * size} numbers, got none")
    row.r = row.s + size
    for b in range(n_blocks):
        first, last = b << row.shift, min(size, (b + 1) << row.shift) if row.shift == 5 else size
        top = -(<long>1 << 60)
        for k in range(first, last):
            if mantissa[k] != 0.0:
                top = max(top, exponent[k])
        row.e[b] = 0 if top == -(<long>1 << 60) or row.shift != 5 else top
        for k in range(first, last):
            if row.shift == 5:
                row.s[k] = _shift(mantissa[k], exponent[k] - row.e[b])
            else:
                row.s[k] = ldexp(mantissa[k], exponent[k])
    for k in range(size):
        row.r[size - 1 - k] = row.s[k]
    return 0


cdef void blocks_free(Blocks* row) noexcept nogil:
    free(row.s)
    free(row.e)
    row.s, row.e = NULL, NULL


cdef inline double _dot(const double* x, const double* y, long n) noexcept nogil:
    """Sum of n products, in four interleaved sums."""
    cdef double s0 = 0.0, s1 = 0.0, s2 = 0.0, s3 = 0.0
    cdef long i = 0
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


cdef Scaled blocks_dot(const Blocks* x, const Blocks* y, long m, long first, long last) noexcept nogil:
    """Sum of x(k) y(m - k) over first <= k <= last; at most last - first + 8 roundings."""
    cdef Scaled total
    cdef long k = first, end, j
    total.value, total.e = 0.0, 0
    while k <= last:
        # Longest run in which neither k nor j = m - k leaves its block.
        end, j = last, m - k
        if x.shift == 5:
            end = min(end, k | (BLOCK - 1))
        if y.shift == 5:
            end = min(end, m - (j & ~<long>(BLOCK - 1)))
        scaled_add(&total, _dot(x.s + k, y.r + (y.size - 1 - j), end - k + 1), x.e[k >> x.shift] + y.e[j >> y.shift])
        k = end + 1
    return total


cdef inline Scaled blocks_at(const Blocks* x, long k) noexcept nogil:
    cdef Scaled a
    a.value, a.e = x.s[k], x.e[k >> x.shift]
    return a


# Weights: how many splits (A, B) of m points with |A| = k a node can make.


cdef inline double binomial_capped(long m, long k, uint64_t cap) noexcept nogil:
    """min(C(m, k), cap) for cap < 2**40 and m < 2**24: products stay below 2**64."""
    cdef uint64_t value = 1
    cdef long i
    for i in range(1, min(k, m - k) + 1):
        value = value * <uint64_t>(m - i + 1) // <uint64_t>i
        if value >= cap:
            return <double>cap
    return <double>value


# How rows of weights are cut: from m = direct on, all but the outer n_ends entries at each end have the weight cap.
cdef struct Ends:
    uint64_t cap
    long n_ends
    long direct


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
    long n_ends
    uint64_t cap  # the most splits of any size
    long m
    bint direct  # whether all k are looked at one by one


cdef inline void weights_fill(Weights* w, long m, const Ends* ends) noexcept nogil:
    cdef uint64_t value = 1
    cdef long k
    w.m, w.cap, w.n_ends, w.direct = m, ends.cap, ends.n_ends, m < ends.direct
    for k in range(w.n_ends):
        w.ends[k] = <double>min(value, w.cap)
        if value < w.cap:
            value = value * <uint64_t>(m - k) // <uint64_t>(k + 1)


cdef inline double weights_at(const Weights* w, long k) noexcept nogil:
    """The weight of k; one of the outer ones unless w.direct."""
    if w.direct:
        return binomial_capped(w.m, k, w.cap)
    return w.ends[min(k, w.m - k)]


cdef inline void _add_terms(
    Scaled* total, const Blocks* x, const Blocks* y, const Weights* w, long first, long last,
) noexcept nogil:
    """Add w(m, k) x(k) y(m - k) for first <= k <= last, one by one."""
    cdef long k
    cdef Scaled a, b
    for k in range(first, last + 1):
        a, b = blocks_at(x, k), blocks_at(y, w.m - k)
        scaled_add(total, weights_at(w, k) * (a.value * b.value), a.e + b.e)


cdef Scaled pair_sum(const Blocks* x, const Blocks* y, const Weights* w, long lx, long ly, bint same) noexcept nogil:
    """Sum of w(m, k) x(k) y(m - k) over lx <= k <= m - ly. At most m + 40 roundings.

    With ``same`` (x and y are one row) the sum is taken over k < m/2 twice.
    """
    cdef Scaled total, middle
    cdef long m = w.m, first = lx, last = m - ly, half
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
            scaled_add(
                &total, (weights_at(w, half) if w.direct else <double>w.cap) * (middle.value * middle.value), 2 * middle.e,
            )
    return total


cdef Scaled prefix_sum(
    const Blocks* x, Scaled* prefix, long* done, const Weights* w, long lx, long ly,
) noexcept nogil:
    """The same sum for y = 1 at every size: the middle part is a running sum over k = max(lx, n_ends) .. done - 1.

    m must not fall from call to call. At most m + 40 roundings.
    """
    cdef Scaled total, a
    cdef long k, m = w.m, first = max(lx, w.n_ends), last = m - ly
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


cdef inline void _add_alone(Scaled* total, const Blocks* x, const Weights* w, long first, long last) noexcept nogil:
    """Add w(m, k) x(k) for first <= k <= last, one by one."""
    cdef long k
    cdef Scaled a
    for k in range(first, last + 1):
        a = blocks_at(x, k)
        scaled_add(total, weights_at(w, k) * a.value, a.e)


# Stirling numbers, the cap of every count.


def fill_stirling(double[:, ::1] sm, int32_t[:, ::1] se):
    """Fill S(m, c) at [c-1, m], rounded up, by S(m, c) = c S(m-1, c) + S(m-1, c-1); exact powers of two for c = 2.

    For c = 2 and m > 54 the value is 2**(m-1), one more than the number, which is not a double.
    """
    cdef long c, m, n_parts = sm.shape[0], size = sm.shape[1]
    cdef Scaled value
    for m in range(size):
        for c in range(1, n_parts + 1):
            value.value, value.e = 0.0, 0
            if c == 1 and m >= 1:
                value.value = 1.0
            elif c == 2 and m > 54:
                value.value, value.e = 1.0, m - 1
            elif c > 1 and m >= c:
                scaled_add(&value, <double>c * sm[c - 1, m - 1], se[c - 1, m - 1])
                scaled_add(&value, sm[c - 2, m - 1], se[c - 2, m - 1])
                value = _raise_up(value, 8.0)
            scaled_store(value, &sm[c - 1, m], &se[c - 1, m])


# Theorem 9 for one node.


# What one node needs; everything is borrowed but the blocks.
cdef struct Node:
    Blocks* x  # parts 1 .. nx of the child x
    Blocks* y  # parts 1 .. ny of the child y, the same pointer if x = y
    Scaled* prefix  # running sums: first of x^a for b = 1, then of y^b for a = 1
    long* done  # where each running sum stands
    Scaled* pairs  # the sum over k of each pair (a, b), for the m at hand
    long nx, ny  # min(c, L_x), min(c, L_y): further parts are zero
    long lx, ly
    long c
    Ends ends  # of weights up to 2 l
    bint same


cdef void node_sum_pairs(Node* node, long m) noexcept nogil:
    """Fill node.pairs[(a-1) * ny + b-1] for this m; pairs above the diagonal only, if x = y."""
    cdef long a, b, i
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


cdef Scaled node_value(const Node* node, long c, const double[:, :, ::1] qm, const int32_t[:, :, ::1] qe) noexcept nogil:
    """The sum over a and b for c parts, before the factor 1/2 and the cap."""
    cdef Scaled total, pair
    cdef long a, b
    total.value, total.e = 0.0, 0
    for a in range(1, min(c, node.nx) + 1):
        for b in range(max(1, c - a), min(c, node.ny) + 1):
            pair = node.pairs[(max(a, b) - 1) * node.ny + min(a, b) - 1 if node.same else (a - 1) * node.ny + b - 1]
            scaled_add(&total, qm[c - 1, a - 1, b - 1] * pair.value, qe[c - 1, a - 1, b - 1] + pair.e)
    return total


cdef inline double _ratio(Scaled a, long m) noexcept nogil:
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
    long lx, long ly, bint same, uint64_t cap, long m0,
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
    cdef long c = zm.shape[0], size = zm.shape[1], i, n_blocks
    cdef Node node
    node.c, node.lx, node.ly, node.same = c, lx, ly, same
    node.nx, node.ny = min(c, lx), min(c, ly)
    n_blocks = node.nx if same else node.nx + node.ny
    cdef Blocks* blocks = <Blocks*>malloc(n_blocks * sizeof(Blocks))
    node.prefix = <Scaled*>malloc((node.nx + node.ny) * sizeof(Scaled))
    node.done = <long*>malloc((node.nx + node.ny) * sizeof(long))
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
    long m0, long size,
) except -1 nogil:
    """The loop over m of extend_partitions; looks for signals."""
    cdef long m, c, work = 0
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
                value = _halve(value, n_roundings) if node.same else _raise_up(value, n_roundings)
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


# Every unordered split charged once.


cdef Scaled _halved_sum(const Blocks* x, const Blocks* y, const Weights* w) noexcept nogil:
    """Sum over 1 <= k < m of w(m, k) x(k) y(m - k) where w charges every unordered split once.

    w(m, k) = C(m, k) for the k from the left where that is below the cap, 0 for those on the right, and cap / 2 in
    between; if all are below the cap, C(m, k) for k < m / 2 and half of it for k = m / 2.
    """
    cdef Scaled total, middle
    cdef long first = 1, m = w.m
    cdef uint64_t cap = w.cap
    total.value, total.e = 0.0, 0
    while first <= m // 2 and (w.direct or first < w.n_ends) and weights_at(w, first) < <double>cap:
        first += 1
    _add_terms(&total, x, y, w, 1, min(first - 1, (m - 1) // 2))
    if first <= m // 2:
        middle = blocks_dot(x, y, m, first, m - first)
        scaled_add(&total, <double>(cap // 2) * middle.value, middle.e)
    elif m % 2 == 0:
        middle = blocks_at(x, m // 2)
        scaled_add(
            &total, binomial_capped(m, m // 2, cap) * 0.5 * (middle.value * blocks_at(y, m // 2).value),
            middle.e + blocks_at(y, m // 2).e,
        )
    return total


# The chain bound, for one node.


cdef inline Scaled _lower_down(Scaled a) noexcept nogil:
    """A lower bound after two roundings: nothing to do below 2**53."""
    if not scaled_is_exact(a):
        a.value *= 1.0 - 4.0 * ULP
    return a


def raise_changes(double[::1] gm, int32_t[::1] ge, long n_more, double n_classes):
    """Turn the row g_N into g_{N + n_more}, where g_N(b) = sum over i < N of C(b-1, i) (n-1)**i, rounded down; g_0 = 0.

    So many labellings of b points in a row have fewer than N changes of label, the first label being given. By
    Pascal's rule g_N(b) = g_N(b-1) + (n-1) g_{N-1}(b-1), g_N(1) = 1, one pass over the row for each N.
    """
    cdef long size = gm.shape[0], b, i
    cdef Scaled now, before
    cdef double value
    cdef long e
    with nogil:
        for i in range(n_more):
            before.value, before.e = gm[0], ge[0]
            for b in range(1, size):
                # before: the value for one node less at b - 1; the row to the left of b is already the new one.
                value, e = gm[b], ge[b]
                if b == 1:
                    now.value, now.e = 1.0, 0
                else:
                    now.value, now.e = gm[b - 1], ge[b - 1]
                    if before.value != 0.0 and before.e - now.e > -500:
                        scaled_add(&now, (n_classes - 1.0) * before.value, before.e)
                    now = _lower_down(now)
                scaled_store(now, &gm[b], &ge[b])
                before.value, before.e = value, e
            if i % 16 == 0:
                with gil:
                    PyErr_CheckSignals()


def subtract_up(
    const double[::1] xm, const int32_t[::1] xe, const double[::1] ym, const int32_t[::1] ye,
    double[::1] zm, int32_t[::1] ze,
):
    """Fill z = max(0, x - y), rounded up: x rounded up and y rounded down before, both integers below 2**53."""
    cdef long i
    cdef double value
    cdef Scaled a
    for i in range(zm.shape[0]):
        value = xm[i]
        if ye[i] - xe[i] > -500:
            value -= ldexp(ym[i], min(ye[i] - xe[i], 900))
        a.value, a.e = max(0.0, value), xe[i]
        if xe[i] > 53:
            a.value += ULP  # one rounding of a number below 1
            if scaled_is_exact(a):
                a.value, a.e = ceil(ldexp(a.value, <int>a.e)), 0
        scaled_store(a, &zm[i], &ze[i])


# One node of the chain bound; everything but the blocks is borrowed.
cdef struct Link:
    Blocks* sigma  # sigma of x, then of y
    Blocks* single  # v of x, then of y
    bint* is_leaf
    Scaled* prefix
    long* done
    Ends ends
    double n_classes


cdef Scaled link_value(Link* link, int x, int y, const Weights* w) noexcept nogil:
    """sigma_y(m) + (n - 1) sum over k of min(2 l, C(m, k)) sigma_x(k) v_y(m - k)."""
    cdef Scaled total, base = blocks_at(&link.sigma[y], w.m)
    if link.is_leaf[y]:
        total = prefix_sum(&link.sigma[x], &link.prefix[x], &link.done[x], w, 1, 1)
    elif link.is_leaf[x]:
        total = prefix_sum(&link.single[y], &link.prefix[2 + y], &link.done[2 + y], w, 1, 1)
    else:
        total = pair_sum(&link.sigma[x], &link.single[y], w, 1, 1, False)
    total.value *= link.n_classes - 1.0
    scaled_add(&total, base.value, base.e)
    return _raise_up(total, 2.0 * w.m + 100.0)


cdef Scaled link_value_same(Link* link, const Weights* w) noexcept nogil:
    """The chain bound for two equal children, every unordered split charged once."""
    cdef Scaled total = _halved_sum(&link.sigma[0], &link.single[0], w), base = blocks_at(&link.sigma[0], w.m)
    total.value *= link.n_classes - 1.0
    scaled_add(&total, base.value, base.e)
    return _raise_up(total, 2.0 * w.m + 100.0)


cdef int _fill_chain(
    Link* link, const double[:, ::1] tm, const int32_t[:, ::1] te, double[::1] zm, int32_t[::1] ze, double[::1] ratio,
    bint same, long n_leaves, long m0,
) except -1 nogil:
    """The loop over m of extend_chain; looks for signals."""
    cdef long m, i, work = 0
    cdef int e
    cdef double f
    cdef Scaled best, other
    cdef Weights w
    for m in range(m0, zm.shape[0]):
        best.value, best.e = tm[0, m], te[0, m]
        if m > n_leaves:
            for i in range(1, tm.shape[0]):
                other.value, other.e = tm[i, m], te[i, m]
                if scaled_less(other, best):
                    best = other
            weights_fill(&w, m, &link.ends)
            other = link_value_same(link, &w) if same else link_value(link, 0, 1, &w)
            if scaled_less(other, best):
                best = other
            if not same:
                other = link_value(link, 1, 0, &w)
                if scaled_less(other, best):
                    best = other
        f = frexp(best.value, &e)
        ratio[m] = ldexp(f, <int>max(-1000, min(1000, best.e + e - (m - 1))))
        scaled_store(best, &zm[m], &ze[m])
        work += 2 * m
        if work > SIGNAL_EVERY:
            work = 0
            with gil:
                PyErr_CheckSignals()
    return 0


def extend_chain(
    const double[:, ::1] sm, const int32_t[:, ::1] se, const double[:, ::1] vm, const int32_t[:, ::1] ve,
    const double[:, ::1] tm, const int32_t[:, ::1] te, double[::1] zm, int32_t[::1] ze, double[::1] ratio,
    bint x_is_leaf, bint y_is_leaf, bint same, long n_leaves, uint64_t cap, double n_classes, long m0,
):
    """Fill columns m0 .. end of sigma of a node, by the chain bound in both orders.

    Parameters
    ----------
    sm, se, vm, ve : arrays of shape (2, points + 1)
        sigma and v = sigma - g of both children.
    tm, te : arrays of shape (limits, points + 1)
        Other bounds on sigma; the smallest value wins. The first is n**(m-1), the number of all labellings, and is
        taken as it is for m <= n_leaves.
    zm, ze, ratio : arrays of points + 1
        sigma of the node, and sigma / 2**(m-1).
    cap : int
        Twice the number of real features.
    """
    cdef long size = zm.shape[0], i
    cdef Link link
    cdef Blocks[4] blocks
    cdef bint[2] is_leaf
    cdef Scaled[4] prefix
    cdef long[4] done
    for i in range(4):
        blocks[i].s, blocks[i].e = NULL, NULL
        prefix[i].value, prefix[i].e, done[i] = 0.0, 0, 0
    is_leaf[0], is_leaf[1] = x_is_leaf, y_is_leaf
    link.sigma, link.single, link.is_leaf, link.prefix, link.done = blocks, blocks + 2, is_leaf, prefix, done
    link.n_classes = n_classes
    try:
        with nogil:
            link.ends = ends_choose(cap)
            for i in range(2):
                blocks_fill(&blocks[i], &sm[i, 0], &se[i, 0], size)
                blocks_fill(&blocks[2 + i], &vm[i, 0], &ve[i, 0], size)
            _fill_chain(&link, tm, te, zm, ze, ratio, same, n_leaves, m0)
    finally:
        for i in range(4):
            blocks_free(&blocks[i])


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

"""The best threshold on rows sorted by one feature: one pass, O(n) after sorting (Peng 18.2).

A node's rows are *items*: ``row | class << shift`` in 32 bits, in the order of the feature.  Position p means that the
first p items go left; it is a candidate when item p - 1 and item p have different values.  Positions are visited in
ascending order and replaced only by a strictly better score, so the lowest threshold wins a tie; the caller visits
features in ascending order, so the lowest feature wins before it.

Two classes: 64 items at a time.  Their class bits give the corners of the box of left counts that the block can reach;
where no corner beats the best score so far, no position inside does (see ``criteria.pxd``), and the block is skipped.
Values are looked at only where a score is a new best, so a node costs one read of its items and little else.
"""

from libc.math cimport INFINITY
from libc.stdint cimport int32_t, int64_t, uint8_t, uint32_t, uint64_t

from criteria cimport (CHI2, ENTROPY, ERROR, GAIN_RATIO, GINI, HYPERGEOMETRIC, ORTHOGONALITY,
                       look, score_counts, score_pair, split_information)
from libc.math cimport sqrt
from radix cimport real_t

cdef extern from "lanes.h" nogil:
    int lanes_available()
    int lanes_sign_count(const uint32_t* a, int wide)
    int lanes_low_bit64(uint64_t)
    uint64_t lanes_gini_over(const int64_t* left, const int64_t* dot, int count, double first, double n, double squares,
                             double limit, int wide)

cdef enum:
    GINI_ROWS = 1 << 25     # up to here sums of squares stay below 2^51


cdef struct Best:
    double score            # of the best candidate so far, -inf before the first
    Py_ssize_t feature      # its feature, -1 before the first
    Py_ssize_t position     # how many items go left (missing ones not counted)
    int missing_left        # whether missing values go left
    int perfect             # both sides are pure: nothing can be strictly better


cdef struct Node:
    int criterion
    int wide                # whether the wide twins of lanes.h may run
    Py_ssize_t K            # classes
    Py_ssize_t least        # fewest rows on a side
    double lightest         # least weight of a side (weighted rows only)
    int shift               # class bits start here in an item
    uint32_t mask           # row bits of an item
    const double* T         # table of x log2 x or ln x!, or NULL (fractional weights)
    const double* N         # class counts of the node
    double n                # their sum
    double* l               # scratch: K left counts
    double* r               # scratch: K counts
    const double* w         # row weights, or NULL
    double slack            # more than the rounding error of a score in this node


cdef inline void best_clear(Best* best) noexcept nogil:
    best.score = -INFINITY
    best.feature = -1
    best.position = 0
    best.missing_left = 0
    best.perfect = 0


cdef inline void node_set(Node* node, const double* N) noexcept nogil:
    """Point the node at its class counts; sets n and slack."""
    cdef Py_ssize_t k
    node.N = N
    node.n = 0.0
    for k in range(node.K):
        node.n += N[k]
    if (node.criterion == GINI or node.criterion == CHI2) and node.K == 2:
        node.slack = 1e-14 * N[0] * N[1]
    elif node.criterion == GINI:
        node.slack = 1e-14 * node.n
    elif node.criterion == ORTHOGONALITY or node.criterion == CHI2:
        node.slack = 1e-14
    elif node.criterion == ERROR:
        node.slack = 0.0
    else:
        node.slack = 1e-14 * (1.0 + look(node.criterion, node.T, node.n))


cdef inline int column_rises(const real_t* x, Py_ssize_t step, uint32_t mask, uint32_t a, uint32_t b) noexcept nogil:
    """Whether item b has a larger value than item a."""
    return x[(a & mask) * step] < x[(b & mask) * step]


# ---- two classes ----------------------------------------------------------------------------------------------------

cdef inline int block_is_dead(
    const Node* node, double l0, double l1, double zeros, double ones, double score
) noexcept nogil:
    """Whether no left counts in [l0, l0 + zeros] x [l1, l1 + ones] can beat the score."""
    cdef double N0 = node.N[0], N1 = node.N[1], bound = score - node.slack
    cdef double a0 = l0 + zeros, a1 = l1 + ones
    if not (score_pair(node.criterion, node.T, a0, l1, N0 - a0, N1 - l1) < bound):
        return 0
    if not (score_pair(node.criterion, node.T, l0, a1, N0 - l0, N1 - a1) < bound):
        return 0
    if not (score_pair(node.criterion, node.T, l0, l1, N0 - l0, N1 - l1) < bound):
        return 0
    return score_pair(node.criterion, node.T, a0, a1, N0 - a0, N1 - a1) < bound


cdef inline void scan_pair_live(
    const Node* node, const real_t* x, Py_ssize_t step, const uint32_t* a, Py_ssize_t n,
    Py_ssize_t start, Py_ssize_t stop, double l1, Py_ssize_t feature, Best* best
) noexcept nogil:
    """Try every position in (start, stop]; l1 items of class 1 lie before start."""
    cdef double N0 = node.N[0], N1 = node.N[1], l0, score
    cdef Py_ssize_t i
    if stop > n - node.least:
        stop = n - node.least
    for i in range(start, stop):
        l1 += a[i] >> 31
        l0 = (i + 1) - l1
        score = score_pair(node.criterion, node.T, l0, l1, N0 - l0, N1 - l1)
        if score > best.score and i + 1 >= node.least and column_rises(x, step, node.mask, a[i], a[i + 1]):
            best.score = score
            best.feature = feature
            best.position = i + 1
            if (l0 == 0 or l1 == 0) and (l0 == N0 or l1 == N1):
                best.perfect = 1
                return


cdef inline void scan_gini_live(
    const Node* node, const real_t* x, Py_ssize_t step, const uint32_t* a, Py_ssize_t n,
    Py_ssize_t start, Py_ssize_t stop, double cross, Py_ssize_t feature, Best* best
) noexcept nogil:
    """``scan_pair_live`` for Gini and chi-squared; cross = l1 N0 - l0 N1 before start.

    cross^2 / (nl nr) is compared without division; the score itself is computed only for a likely new best.
    """
    cdef double N1 = node.N[1], total = node.n, limit = best.score * (1.0 - 1e-15), nl, score
    cdef double steps[2]
    cdef Py_ssize_t i
    cdef uint32_t mask = node.mask
    steps[0] = -N1
    steps[1] = total - N1
    if stop > n - node.least:
        stop = n - node.least
    for i in range(start, stop):
        cross += steps[a[i] >> 31]
        nl = i + 1
        if cross * cross > limit * (nl * (total - nl)):
            score = cross * cross / (nl * (total - nl))
            if score > best.score and i + 1 >= node.least and column_rises(x, step, mask, a[i], a[i + 1]):
                best.score = score
                limit = score * (1.0 - 1e-15)
                best.feature = feature
                best.position = i + 1
                # Both sides pure: l = (N0, 0) or (0, N1).
                if cross * cross == (total - N1) * N1 * ((total - N1) * N1):
                    best.perfect = 1
                    return


cdef inline int gini_is_dead(
    const Node* node, double cross, double nl, double zeros, double ones, double limit
) noexcept nogil:
    """``block_is_dead`` for Gini and chi-squared: cross^2 < limit nl nr at all four corners."""
    cdef double N0 = node.N[0], N1 = node.N[1], n = node.n, c, p
    c, p = cross - zeros * N1, nl + zeros
    if not (c * c < limit * (p * (n - p))):
        return 0
    c, p = cross + ones * N0, nl + ones
    if not (c * c < limit * (p * (n - p))):
        return 0
    if not (cross * cross < limit * (nl * (n - nl))):
        return 0
    c, p = cross + ones * N0 - zeros * N1, nl + ones + zeros
    return c * c < limit * (p * (n - p))


cdef inline void scan_gini(
    const Node* node, const real_t* x, Py_ssize_t step, const uint32_t* a, Py_ssize_t n,
    Py_ssize_t feature, Best* best
) noexcept nogil:
    """``scan_pair`` for Gini and chi-squared, which order two-class splits alike."""
    cdef Py_ssize_t i = 0
    cdef double cross = 0.0, ones
    while i + 64 <= n:
        ones = lanes_sign_count(a + i, node.wide)
        if not gini_is_dead(node, cross, i, 64 - ones, ones, best.score * (1.0 - 1e-14)):
            scan_gini_live(node, x, step, a, n, i, i + 64, cross, feature, best)
            if best.perfect:
                return
        cross += ones * node.N[0] - (64 - ones) * node.N[1]
        i += 64
    scan_gini_live(node, x, step, a, n, i, n, cross, feature, best)


cdef inline void scan_pair(
    const Node* node, const real_t* x, Py_ssize_t step, const uint32_t* a, Py_ssize_t n,
    Py_ssize_t feature, Best* best
) noexcept nogil:
    """The best threshold of one feature, two classes, no weights; class in the top bit of an item."""
    cdef Py_ssize_t i = 0
    cdef double l1 = 0.0, ones
    while i + 64 <= n:
        ones = lanes_sign_count(a + i, node.wide)
        if not block_is_dead(node, i - l1, l1, 64 - ones, ones, best.score):
            scan_pair_live(node, x, step, a, n, i, i + 64, l1, feature, best)
            if best.perfect:
                return
        l1 += ones
        i += 64
    scan_pair_live(node, x, step, a, n, i, n, l1, feature, best)


cdef inline void scan_table_live(
    const Node* node, const real_t* x, Py_ssize_t step, const uint32_t* a, Py_ssize_t n,
    Py_ssize_t start, Py_ssize_t stop, Py_ssize_t l1, Py_ssize_t feature, Best* best
) noexcept nogil:
    """``scan_pair_live`` for entropy and hypergeometric: whole counts index the table."""
    cdef const double* T = node.T
    cdef Py_ssize_t N1 = <Py_ssize_t> node.N[1], N0 = n - N1, l0, i
    cdef double score, least = best.score
    if stop > n - node.least:
        stop = n - node.least
    for i in range(start, stop):
        l1 += a[i] >> 31
        l0 = i + 1 - l1
        score = (T[l0] + T[l1] - T[i + 1]) + (T[N0 - l0] + T[N1 - l1] - T[n - i - 1])
        if score > least and i + 1 >= node.least and column_rises(x, step, node.mask, a[i], a[i + 1]):
            best.score = least = score
            best.feature = feature
            best.position = i + 1
            if (l0 == 0 or l1 == 0) and (l0 == N0 or l1 == N1):
                best.perfect = 1
                return


cdef inline double largest(double a, double b) noexcept nogil:
    return a if a > b else b


cdef inline int table_is_dead(
    const Node* node, Py_ssize_t n, Py_ssize_t l0, Py_ssize_t l1, Py_ssize_t zeros, Py_ssize_t ones, double score
) noexcept nogil:
    """``block_is_dead`` for entropy and hypergeometric; the corners share half of their terms."""
    cdef const double* T = node.T
    cdef Py_ssize_t N1 = <Py_ssize_t> node.N[1], N0 = n - N1, nl = l0 + l1
    cdef double near0 = T[l0] + T[N0 - l0], near1 = T[l1] + T[N1 - l1]
    cdef double far0 = T[l0 + zeros] + T[N0 - l0 - zeros], far1 = T[l1 + ones] + T[N1 - l1 - ones]
    cdef double one = near0 + near1 - (T[nl] + T[n - nl])
    cdef double two = far0 + far1 - (T[nl + zeros + ones] + T[n - nl - zeros - ones])
    cdef double three = far0 + near1 - (T[nl + zeros] + T[n - nl - zeros])
    cdef double four = near0 + far1 - (T[nl + ones] + T[n - nl - ones])
    return largest(largest(one, two), largest(three, four)) < score - node.slack


cdef inline void scan_table(
    const Node* node, const real_t* x, Py_ssize_t step, const uint32_t* a, Py_ssize_t n,
    Py_ssize_t feature, Best* best
) noexcept nogil:
    """``scan_pair`` for entropy and hypergeometric with a table."""
    cdef Py_ssize_t i = 0, l1 = 0, ones
    while i + 64 <= n:
        ones = lanes_sign_count(a + i, node.wide)
        if not table_is_dead(node, n, i - l1, l1, 64 - ones, ones, best.score):
            scan_table_live(node, x, step, a, n, i, i + 64, l1, feature, best)
            if best.perfect:
                return
        l1 += ones
        i += 64
    scan_table_live(node, x, step, a, n, i, n, l1, feature, best)


# ---- many classes ---------------------------------------------------------------------------------------------------

cdef inline void try_counts(
    const Node* node, const double* l, Py_ssize_t position, Py_ssize_t feature, Best* best
) noexcept nogil:
    """Take the split with left counts l if its score, computed afresh, is better."""
    cdef double score = score_counts(node.criterion, node.T, node.K, l, node.N, position, node.n - position)
    if score > best.score:
        best.score = score
        best.feature = feature
        best.position = position


cdef inline void scan_many_gini(
    const Node* node, const real_t* x, Py_ssize_t step, const uint32_t* a, Py_ssize_t n,
    Py_ssize_t feature, Best* best
) noexcept nogil:
    """Gini, any number of classes, up to GINI_ROWS rows; whole numbers are kept where node.l and node.r lie.

    When one item of class k moves left, sum l_k^2 grows by 2 l_k + 1 and 2 sum N_k l_k by 2 N_k.  These two sums are
    written down for 32 positions, which are then compared with the best score together.
    """
    cdef int64_t* count = <int64_t*> node.l
    cdef int64_t* double_N = <int64_t*> node.r
    cdef int64_t left[32]
    cdef int64_t dot[32]
    cdef int64_t sum_left = 0, sum_dot = 0
    cdef double squares = 0.0, l, r, nl, score
    cdef Py_ssize_t i = 0, j, k, stop, last = n - node.least
    cdef uint64_t over
    for k in range(node.K):
        count[k] = 0
        double_N[k] = 2 * <int64_t> node.N[k]
        squares += node.N[k] * node.N[k]
    while i < last:
        stop = 32 if i + 32 <= last else last - i
        for j in range(stop):
            k = a[i + j] >> node.shift
            sum_left += 2 * count[k] + 1
            sum_dot += double_N[k]
            count[k] += 1
            left[j] = sum_left
            dot[j] = sum_dot
        over = lanes_gini_over(left, dot, <int> stop, i + 1, n, squares, best.score - node.slack, node.wide)
        while over:
            j = lanes_low_bit64(over)
            over &= over - 1
            nl = i + j + 1
            l = left[j]
            r = squares - dot[j] + l
            score = l / nl + r / (n - nl)
            j += i
            if score > best.score and j + 1 >= node.least and column_rises(x, step, node.mask, a[j], a[j + 1]):
                best.score = score
                best.feature = feature
                best.position = j + 1
        i += stop


cdef inline double score_nearly(
    const Node* node, double left, double right, double dot, double nl, double nr
) noexcept nogil:
    """The score from running sums, up to rounding."""
    if node.criterion == CHI2 or node.criterion == GINI:
        return left / nl + right / nr
    if node.criterion == ORTHOGONALITY:
        return 1.0 - dot / sqrt(left * right)
    left += right - look(node.criterion, node.T, nl) - look(node.criterion, node.T, nr)
    if node.criterion == GAIN_RATIO:
        return (left - dot) / split_information(ENTROPY, node.T, nl, nr)
    return left


cdef inline double start_sums(const Node* node, double* dot) noexcept nogil:
    """The running sum of the right side when it holds everything; dot starts as the node's own term."""
    cdef double right = 0.0
    cdef Py_ssize_t k
    dot[0] = 0.0
    for k in range(node.K):
        node.l[k] = 0.0
        if node.criterion == CHI2:
            right += node.N[k]
        elif node.criterion == ORTHOGONALITY or node.criterion == GINI:
            right += node.N[k] * node.N[k]
        else:
            right += look(node.criterion, node.T, node.N[k])
    if node.criterion == GAIN_RATIO:
        dot[0] = right - look(ENTROPY, node.T, node.n)
    return right


cdef inline void scan_many(
    const Node* node, const real_t* x, Py_ssize_t step, const uint32_t* a, Py_ssize_t n,
    Py_ssize_t feature, Best* best
) noexcept nogil:
    """Any criterion but the training error, any number of classes, no weights: running sums, then the exact score."""
    cdef double left = 0.0, right, dot, lk, rk, slack = 1e4 * node.slack
    cdef Py_ssize_t i, k
    right = start_sums(node, &dot)
    for i in range(n - node.least):
        k = a[i] >> node.shift
        lk = node.l[k]
        rk = node.N[k] - lk
        node.l[k] = lk + 1.0
        if node.criterion == CHI2:
            left += (2.0 * lk + 1.0) / node.N[k]
            right -= (2.0 * rk - 1.0) / node.N[k]
        elif node.criterion == ORTHOGONALITY or node.criterion == GINI:
            left += 2.0 * lk + 1.0
            right -= 2.0 * rk - 1.0
            dot += rk - lk - 1.0
        else:
            left += look(node.criterion, node.T, lk + 1.0) - look(node.criterion, node.T, lk)
            right += look(node.criterion, node.T, rk - 1.0) - look(node.criterion, node.T, rk)
        if score_nearly(node, left, right, dot, i + 1, n - i - 1) > best.score - slack:
            if i + 1 >= node.least and column_rises(x, step, node.mask, a[i], a[i + 1]):
                try_counts(node, node.l, i + 1, feature, best)


cdef inline void scan_many_table(
    const Node* node, const real_t* x, Py_ssize_t step, const uint32_t* a, Py_ssize_t n,
    Py_ssize_t feature, Best* best
) noexcept nogil:
    """``scan_many`` for entropy and hypergeometric with a table: whole counts, kept where node.r lies, index it."""
    cdef const double* T = node.T
    cdef int64_t* count = <int64_t*> node.r
    cdef double total = 0.0, limit = best.score - 1e4 * node.slack
    cdef Py_ssize_t i, k, c, r
    for k in range(node.K):
        count[k] = 0
        total += T[<Py_ssize_t> node.N[k]]
    for i in range(n - node.least):
        k = a[i] >> node.shift
        c = count[k]
        r = <Py_ssize_t> node.N[k] - c
        count[k] = c + 1
        total += (T[c + 1] - T[c]) - (T[r] - T[r - 1])
        if total - T[i + 1] - T[n - i - 1] > limit:
            if i + 1 >= node.least and column_rises(x, step, node.mask, a[i], a[i + 1]):
                for k in range(node.K):
                    node.l[k] = count[k]
                try_counts(node, node.l, i + 1, feature, best)
                limit = best.score - 1e4 * node.slack


cdef inline void scan_many_error(
    const Node* node, const real_t* x, Py_ssize_t step, const uint32_t* a, Py_ssize_t n,
    Py_ssize_t feature, Best* best
) noexcept nogil:
    """Training error, any number of classes: scored only where the value rises."""
    cdef Py_ssize_t i, k
    for k in range(node.K):
        node.l[k] = 0.0
    for i in range(n - node.least):
        node.l[a[i] >> node.shift] += 1.0
        if i + 1 >= node.least and column_rises(x, step, node.mask, a[i], a[i + 1]):
            try_counts(node, node.l, i + 1, feature, best)


# ---- weights and missing values -------------------------------------------------------------------------------------

cdef inline void try_sides(
    const Node* node, const double* missing, Py_ssize_t n_missing, Py_ssize_t position, Py_ssize_t n,
    Py_ssize_t feature, Best* best
) noexcept nogil:
    """Score the left counts node.l with the missing rows on the right, then with them on the left."""
    cdef double nl, score
    cdef Py_ssize_t k, side, rows
    for side in range(2 if n_missing and position < n else 1):
        nl = 0.0
        for k in range(node.K):
            node.r[k] = node.l[k] + (missing[k] if side else 0.0)
            nl += node.r[k]
        rows = position + (n_missing if side else 0)
        if rows < node.least or n + n_missing - rows < node.least or not (0.0 < nl < node.n):
            continue
        if nl < node.lightest or node.n - nl < node.lightest:
            continue
        score = score_counts(node.criterion, node.T, node.K, node.r, node.N, nl, node.n - nl)
        if score > best.score:
            best.score = score
            best.feature = feature
            best.position = position
            best.missing_left = <int> side


cdef inline void scan_weighted(
    const Node* node, const real_t* x, Py_ssize_t step, const uint32_t* a, Py_ssize_t n,
    double* missing, Py_ssize_t feature, Best* best
) noexcept nogil:
    """Any case: weights, and missing values, which are the last items.  ``missing`` is scratch for K sums.

    The last candidate sets the missing rows alone on the right.  O(n K).
    """
    cdef Py_ssize_t i, k, present = n
    cdef uint32_t row
    for k in range(node.K):
        node.l[k] = missing[k] = 0.0
    while present > 0 and x[(a[present - 1] & node.mask) * step] != x[(a[present - 1] & node.mask) * step]:
        present -= 1
        row = a[present] & node.mask
        missing[a[present] >> node.shift] += node.w[row] if node.w != NULL else 1.0
    for i in range(present):
        row = a[i] & node.mask
        node.l[a[i] >> node.shift] += node.w[row] if node.w != NULL else 1.0
        if i + 1 < present and not column_rises(x, step, node.mask, a[i], a[i + 1]):
            continue
        if i + 1 < n:
            try_sides(node, missing, n - present, i + 1, present, feature, best)


cdef inline void scan_sorted(
    const Node* node, const real_t* x, Py_ssize_t step, const uint32_t* a, Py_ssize_t n,
    int general, double* missing, Py_ssize_t feature, Best* best
) noexcept nogil:
    """The best threshold of one feature by the method that fits; ``general`` when there are weights or missing values."""
    if general:
        scan_weighted(node, x, step, a, n, missing, feature, best)
    elif node.K == 2 and (node.criterion == GINI or node.criterion == CHI2):
        scan_gini(node, x, step, a, n, feature, best)
    elif node.K == 2 and node.T != NULL and (node.criterion == ENTROPY or node.criterion == HYPERGEOMETRIC):
        scan_table(node, x, step, a, n, feature, best)
    elif node.K == 2:
        scan_pair(node, x, step, a, n, feature, best)
    elif node.criterion == GINI and n <= GINI_ROWS:
        scan_many_gini(node, x, step, a, n, feature, best)
    elif node.T != NULL and (node.criterion == ENTROPY or node.criterion == HYPERGEOMETRIC):
        scan_many_table(node, x, step, a, n, feature, best)
    elif node.criterion == ERROR:
        scan_many_error(node, x, step, a, n, feature, best)
    else:
        scan_many(node, x, step, a, n, feature, best)


cdef inline double midpoint(double low, double high) noexcept nogil:
    """A threshold t with low <= t < high: the mean, or low where the mean rounds up to high or is not finite."""
    cdef double middle = 0.5 * low + 0.5 * high
    if low == -INFINITY or high == INFINITY:
        # Any finite t does when both are infinite; next to one infinity the finite side is exact.
        middle = 0.0 if low == -INFINITY and high == INFINITY else low
    return middle if low <= middle < high else low

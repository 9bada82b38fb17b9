"""The best threshold of a large node without sorting it: class histograms, a bound per bin, and a look into few bins.

1. Each column is cut into B bins of equal width and the rows of each class are counted per bin: O(d m).
2. Every border between two bins is a candidate; the best of them is a first answer.
3. Inside a bin the left counts l lie in the box [before, before + bin].  Two classes: no score in the box exceeds its
   corners (``criteria.pxd``).  More classes, Gini: the score is a sum over classes of l_k^2 / s + r_k^2 / (n - s) with
   s = |l|; each term is convex in (l_k, s) over a parallelogram and so at most its value at one of the four corners.
   A bin whose bound is below the answer holds nothing better and is dead.
4. The rows of the live bins are sorted and every candidate between them is scored exactly.

The answer is the exact optimum with the same ties as the sorted search: lowest feature, then lowest threshold.  A column
with an infinite range, or with many rows in live bins, is sorted whole; one bin that holds a single value, such as the
zeros of sparse data, is dead whatever its bound.

Cost O(d m + d B K) plus the live bins; memory 4 d B K bytes and at most 20 bytes per row.
"""

from libc.math cimport INFINITY
from libc.stdint cimport int32_t, uint8_t, uint32_t, uint64_t
from libc.stdlib cimport calloc, free, malloc
from libc.string cimport memset

from criteria cimport GINI, HYPERGEOMETRIC, score_counts, score_pair, table_gain, table_value
from radix cimport real_t, sort_items
from scan cimport Node, lanes_available, midpoint, node_set
from significance cimport significance

cdef extern from "bins.h" nogil:
    enum:
        BINS_CHUNK
    void bins_gather_single(const float*, Py_ssize_t step, Py_ssize_t n, float* out, int lanes)
    void bins_gather_wide(const double*, Py_ssize_t step, Py_ssize_t n, double* out, int lanes)
    void bins_add_single(const float*, const uint8_t*, Py_ssize_t, float, float, int32_t, int32_t, uint32_t*, int)
    void bins_add_wide(const double*, const uint8_t*, Py_ssize_t, double, double, int32_t, int32_t, uint32_t*, int)
    void bins_range_single(const float*, Py_ssize_t, float*, float*, int)
    void bins_range_wide(const double*, Py_ssize_t, double*, double*, int)
    Py_ssize_t bins_select_single(const float*, Py_ssize_t, float, float, int32_t, const uint8_t*, uint64_t, uint64_t*, int)
    Py_ssize_t bins_select_wide(const double*, Py_ssize_t, double, double, int32_t, const uint8_t*, uint64_t, uint64_t*, int)


cdef struct Column:
    double low              # smallest value
    double scale            # bins per unit
    int binned              # 0: constant; 1: has a histogram; 2: must be sorted


cdef struct Search:
    Node node
    Py_ssize_t m
    Py_ssize_t d
    Py_ssize_t K
    int32_t B               # bins
    Py_ssize_t row_step
    Py_ssize_t column_step
    const int32_t* y
    uint8_t* classes        # y as bytes
    uint32_t* counts        # d x B x K
    Column* columns
    uint8_t* live           # B
    uint64_t* rows          # m: rows of live bins
    uint64_t* spare
    double* scratch         # l, N, before, term buffers: 6 K
    double* T
    char* piece             # BINS_CHUNK values
    # the answer
    double score
    Py_ssize_t feature
    double below            # largest value on the left
    double above            # smallest value on the right
    int border              # >= 0: the answer is the border above this bin, below and above are not known yet


# ---- histograms -----------------------------------------------------------------------------------------------------

cdef inline const real_t* piece_of(
    Search* s, const real_t* X, Py_ssize_t f, Py_ssize_t start, Py_ssize_t n
) noexcept nogil:
    """n values of a column from row ``start`` on, contiguous."""
    cdef const real_t* x = X + start * s.row_step + f * s.column_step
    if s.row_step == 1:
        return x
    if real_t is float:
        bins_gather_single(x, s.row_step, n, <float*> s.piece, s.node.wide)
    else:
        bins_gather_wide(x, s.row_step, n, <double*> s.piece, s.node.wide)
    return <const real_t*> s.piece


cdef inline Py_ssize_t piece_size(const Search* s, Py_ssize_t start) noexcept nogil:
    return BINS_CHUNK if start + BINS_CHUNK < s.m else s.m - start


cdef void find_ranges(Search* s, const real_t* X, real_t* lows, real_t* highs) noexcept nogil:
    """Smallest and largest value of every column; rows outside, columns inside, so that any order is read once."""
    cdef Py_ssize_t f, start = 0, n
    cdef const real_t* x
    for f in range(s.d):
        lows[f] = highs[f] = X[f * s.column_step]
    while start < s.m:
        n = piece_size(s, start)
        for f in range(s.d):
            x = piece_of(s, X, f, start, n)
            if real_t is float:
                bins_range_single(x, n, &lows[f], &highs[f], s.node.wide)
            else:
                bins_range_wide(x, n, &lows[f], &highs[f], s.node.wide)
        start += n


cdef void set_columns(Search* s, const real_t* lows, const real_t* highs) noexcept nogil:
    """The bins of every column."""
    cdef Py_ssize_t f
    cdef real_t width, scale
    for f in range(s.d):
        width = highs[f] - lows[f]
        s.columns[f].low = lows[f]
        s.columns[f].binned = 0
        if width > 0:
            scale = <real_t> s.B / width
            s.columns[f].scale = scale
            # A range or a scale that overflows, or a width that the type cannot tell from 0, needs sorting.
            s.columns[f].binned = 1 if width < INFINITY and scale < INFINITY and width * scale < 2 * s.B else 2


cdef void fill_histograms(Search* s, const real_t* X, Py_ssize_t first, Py_ssize_t last) noexcept nogil:
    """Count the rows of the columns [first, last)."""
    cdef Py_ssize_t f, start = 0, n
    cdef const real_t* x
    cdef Column* c
    while start < s.m:
        n = piece_size(s, start)
        for f in range(first, last):
            c = &s.columns[f]
            if c.binned != 1:
                continue
            x = piece_of(s, X, f, start, n)
            if real_t is float:
                bins_add_single(x, s.classes + start, n, <float> c.low, <float> c.scale, s.B - 1, <int32_t> s.K,
                                s.counts + f * s.B * s.K, s.node.wide)
            else:
                bins_add_wide(x, s.classes + start, n, c.low, c.scale, s.B - 1, <int32_t> s.K,
                              s.counts + f * s.B * s.K, s.node.wide)
        start += n


# ---- borders and bounds ---------------------------------------------------------------------------------------------

cdef void try_borders(Search* s, Py_ssize_t f) noexcept nogil:
    """Score every border of one column; a border above an empty bin repeats the one below it."""
    cdef const uint32_t* h = s.counts + f * s.B * s.K
    cdef double* l = s.scratch
    cdef double nl = 0.0, here, score
    cdef Py_ssize_t b, k
    for k in range(s.K):
        l[k] = 0.0
    for b in range(s.B - 1):
        here = 0.0
        for k in range(s.K):
            l[k] += h[b * s.K + k]
            here += h[b * s.K + k]
        nl += here
        if here == 0.0 or nl < s.node.least or s.node.n - nl < s.node.least or nl >= s.node.n:
            continue
        score = score_counts(s.node.criterion, s.T, s.K, l, s.node.N, nl, s.node.n - nl)
        if score > s.score:
            s.score = score
            s.feature = f
            s.border = <int> b


cdef inline double gini_bound(const Search* s, const double* l, const uint32_t* bin, double s0, double s1) noexcept nogil:
    """Sum over classes of the largest l_k^2 / s + r_k^2 / (n - s) over the four corners (see the head of this file)."""
    cdef double out = 0.0, term, best, n = s.node.n, size, a, r, at
    cdef Py_ssize_t k, corner
    for k in range(s.K):
        size = bin[k]
        best = 0.0
        for corner in range(4):
            a = l[k] + (size if corner >= 2 else 0.0)
            at = s0 if corner == 0 else s1 - size if corner == 1 else s0 + size if corner == 2 else s1
            r = s.node.N[k] - a
            term = (a * a / at if at > 0.0 else 0.0) + (r * r / (n - at) if at < n else 0.0)
            best = term if term > best else best
        out += best
    return out


cdef inline int bin_is_live(const Search* s, const double* l, const uint32_t* bin, double nl, double rows) noexcept nogil:
    """Whether a candidate inside the bin could reach the score of the answer."""
    cdef double l0, l1, a0, a1, N0, N1, limit = s.score - s.node.slack
    if rows < 2.0:
        return 0
    if s.K > 2:
        return not (gini_bound(s, l, bin, nl, nl + rows) < limit)
    l0, l1, N0, N1 = l[0], l[1], s.node.N[0], s.node.N[1]
    a0, a1 = l0 + bin[0], l1 + bin[1]
    return not (score_pair(s.node.criterion, s.T, a0, l1, N0 - a0, N1 - l1) < limit
                and score_pair(s.node.criterion, s.T, l0, a1, N0 - l0, N1 - a1) < limit
                and score_pair(s.node.criterion, s.T, l0, l1, N0 - l0, N1 - l1) < limit
                and score_pair(s.node.criterion, s.T, a0, a1, N0 - a0, N1 - a1) < limit)


cdef Py_ssize_t mark_live(Search* s, Py_ssize_t f) noexcept nogil:
    """Mark the live bins of a column; returns how many rows they hold."""
    cdef const uint32_t* h = s.counts + f * s.B * s.K
    cdef double* l = s.scratch
    cdef double nl = 0.0, here
    cdef Py_ssize_t b, k, rows = 0
    for k in range(s.K):
        l[k] = 0.0
    for b in range(s.B):
        here = 0.0
        for k in range(s.K):
            here += h[b * s.K + k]
        s.live[b] = <uint8_t> bin_is_live(s, l, h + b * s.K, nl, here)
        if s.live[b]:
            rows += <Py_ssize_t> here
        for k in range(s.K):
            l[k] += h[b * s.K + k]
        nl += here
    return rows


# ---- inside the bins ------------------------------------------------------------------------------------------------

cdef inline int32_t bin_of(const Search* s, const Column* c, real_t value) noexcept nogil:
    """As in bins.h."""
    cdef int32_t b = <int32_t> ((value - <real_t> c.low) * <real_t> c.scale)
    return b if b < s.B - 1 else s.B - 1


cdef void drop_constant_bins(Search* s, const real_t* X, Py_ssize_t f) noexcept nogil:
    """Unmark crowded bins that hold a single value: one pass looks for two values in each."""
    cdef const uint32_t* h = s.counts + f * s.B * s.K
    cdef Column* c = &s.columns[f]
    cdef Py_ssize_t b, k, i, rows, crowded = -1
    cdef real_t first = 0, value
    cdef int seen = 0, several = 0
    for b in range(s.B):
        rows = 0
        for k in range(s.K):
            rows += h[b * s.K + k]
        if s.live[b] and 4 * rows > s.m:
            crowded = b
            break
    if crowded < 0:
        return
    for i in range(s.m):
        value = X[i * s.row_step + f * s.column_step]
        if bin_of(s, c, value) == crowded:
            if seen and value != first:
                several = 1
                break
            first = value
            seen = 1
    if not several:
        s.live[crowded] = 0


cdef void select_rows(Search* s, const real_t* X, Py_ssize_t f, Py_ssize_t* found) noexcept nogil:
    """The rows of the live bins of a column."""
    cdef Py_ssize_t start = 0, n, got = 0
    cdef const real_t* x
    cdef Column* c = &s.columns[f]
    while start < s.m:
        n = piece_size(s, start)
        x = piece_of(s, X, f, start, n)
        if real_t is float:
            got += bins_select_single(x, n, <float> c.low, <float> c.scale, s.B - 1, s.live, start, s.rows + got,
                                      s.node.wide)
        else:
            got += bins_select_wide(x, n, c.low, c.scale, s.B - 1, s.live, start, s.rows + got, s.node.wide)
        start += n
    found[0] = got


cdef inline void try_inside(Search* s, const double* l, double nl, Py_ssize_t f, double low, double high) noexcept nogil:
    """Let a candidate between two values compete; a tie goes to the lower feature, then to the lower threshold."""
    cdef double score
    if nl < s.node.least or s.node.n - nl < s.node.least:
        return
    score = score_counts(s.node.criterion, s.T, s.K, l, s.node.N, nl, s.node.n - nl)
    if score > s.score or (score == s.score and (f < s.feature or (
            f == s.feature and s.border < 0 and low < s.below))):
        s.score = score
        s.feature = f
        s.below = low
        s.above = high
        s.border = -1


cdef void scan_rows(
    Search* s, const real_t* X, Py_ssize_t f, uint64_t* rows, Py_ssize_t count, int whole
) noexcept nogil:
    """Score every candidate between sorted rows of the live bins; ``whole``: they are all rows of the column.

    A tie with a border of the same feature that lies higher goes to the lower threshold, so the border's place is
    settled first.
    """
    cdef const real_t* x = X + f * s.column_step
    cdef const uint32_t* h = s.counts + f * s.B * s.K
    cdef double* l = s.scratch
    cdef double nl = 0.0
    cdef Py_ssize_t i, k
    cdef int32_t b, at = 0
    cdef real_t value, after
    for k in range(s.K):
        l[k] = 0.0
    for i in range(count):
        value = x[<uint32_t> rows[i] * s.row_step]
        if not whole:
            b = bin_of(s, &s.columns[f], value)
            while at < b:
                if not s.live[at]:
                    for k in range(s.K):
                        l[k] += h[at * s.K + k]
                        nl += h[at * s.K + k]
                at += 1
        l[s.classes[<uint32_t> rows[i]]] += 1.0
        nl += 1.0
        if i + 1 < count:
            after = x[<uint32_t> rows[i + 1] * s.row_step]
            if value < after and (whole or bin_of(s, &s.columns[f], after) == b):
                try_inside(s, l, nl, f, value, after)


cdef void settle_border(Search* s, const real_t* X) noexcept nogil:
    """The values next to the border that is the answer."""
    cdef Column* c = &s.columns[s.feature]
    cdef Py_ssize_t i
    cdef real_t value, low = 0, high = 0
    cdef int has_low = 0, has_high = 0
    if s.feature < 0 or s.border < 0:
        return
    for i in range(s.m):
        value = X[i * s.row_step + s.feature * s.column_step]
        if bin_of(s, c, value) <= s.border:
            low = value if not has_low or value > low else low
            has_low = 1
        else:
            high = value if not has_high or value < high else high
            has_high = 1
    s.below = low
    s.above = high
    s.border = -1


cdef void refine(Search* s, const real_t* X, Py_ssize_t f) noexcept nogil:
    """Look into the live bins of one column."""
    cdef Py_ssize_t i, count = 0
    cdef int whole = s.columns[f].binned == 2
    cdef uint64_t* sorted_rows
    if not s.columns[f].binned:
        return
    if not whole:
        if mark_live(s, f) == 0:
            return
        drop_constant_bins(s, X, f)
        select_rows(s, X, f, &count)
        if count == 0:
            return
    else:
        count = s.m
        for i in range(s.m):
            s.rows[i] = <uint64_t> i
    if s.feature == f:
        settle_border(s, X)
    sorted_rows = sort_items(X + f * s.column_step, s.row_step, s.rows, s.spare, count)
    scan_rows(s, X, f, sorted_rows, count, whole)


cdef int run(Search* s, const real_t* X) noexcept nogil:
    """The whole search; 0 when no column has two values."""
    cdef Py_ssize_t f
    cdef real_t* ranges = <real_t*> malloc(2 * s.d * sizeof(real_t))
    if ranges == NULL:
        return -1
    find_ranges(s, X, ranges, ranges + s.d)
    set_columns(s, ranges, ranges + s.d)
    free(ranges)
    fill_histograms(s, X, 0, s.d)
    for f in range(s.d):
        if s.columns[f].binned == 1:
            try_borders(s, f)
    # The feature of the best border first: what it finds kills bins elsewhere.
    f = s.feature
    if f >= 0:
        refine(s, X, f)
    for f in range(s.d):
        if f != s.feature or s.columns[f].binned == 2:
            refine(s, X, f)
    settle_border(s, X)
    return s.feature >= 0


# ---- Python side ----------------------------------------------------------------------------------------------------

cdef void search_free(Search* s) noexcept nogil:
    free(s.classes); free(s.counts); free(s.columns); free(s.live); free(s.rows); free(s.spare); free(s.scratch)
    free(s.T); free(s.piece)


cdef int search_init(Search* s, Py_ssize_t m, Py_ssize_t d, Py_ssize_t K, int criterion, Py_ssize_t least) noexcept nogil:
    """Allocate everything; -1 without memory."""
    cdef Py_ssize_t i
    s.m, s.d, s.K = m, d, K
    s.B = 1024 if K <= 3 and m >= 32768 else 256
    s.classes = <uint8_t*> malloc(m)
    s.counts = <uint32_t*> calloc(d * s.B * K, 4)
    s.columns = <Column*> calloc(d, sizeof(Column))
    s.live = <uint8_t*> malloc(s.B)
    s.rows = <uint64_t*> malloc(8 * (m + 1))
    s.spare = <uint64_t*> malloc(8 * (m + 1))
    s.scratch = <double*> calloc(4 * K, 8)
    s.T = <double*> malloc(8 * (m + 1)) if criterion == HYPERGEOMETRIC or criterion == 2 or criterion == 3 else NULL
    s.piece = <char*> malloc(BINS_CHUNK * 8)
    if (s.classes == NULL or s.counts == NULL or s.columns == NULL or s.live == NULL or s.rows == NULL
            or s.spare == NULL or s.scratch == NULL or s.piece == NULL):
        return -1
    if s.T != NULL:
        for i in range(m + 1):
            s.T[i] = table_value(criterion, i)
    s.node.criterion, s.node.K, s.node.least, s.node.T = criterion, K, least, s.T
    s.node.wide = lanes_available()
    s.score, s.feature, s.border, s.below, s.above = -INFINITY, -1, -1, 0.0, 0.0
    return 0


def search(const real_t[:, :] X, const int32_t[::1] y, Py_ssize_t K, int criterion, Py_ssize_t least,
           Py_ssize_t first, Py_ssize_t last):
    """Best threshold over the features [first, last); no weights, no NaN, at most 256 classes.

    Returns ``None`` or ``(feature, 0, gain, p_value, score, details)`` as ``_split.search`` does.
    """
    cdef Search s
    cdef Py_ssize_t m = X.shape[0], i, k, rows = 0
    cdef int code
    cdef double threshold, gain, p
    cdef double* N
    cdef double* table = NULL
    cdef const real_t* x
    try:
        if search_init(&s, m, last - first, K, criterion, least) < 0:
            raise MemoryError(f"expected memory for the histograms of {m} rows")
        table = <double*> calloc(2 * K, 8)
        s.row_step = X.strides[0] // <Py_ssize_t> sizeof(real_t)
        s.column_step = X.strides[1] // <Py_ssize_t> sizeof(real_t)
        s.y = &y[0]
        N = s.scratch + K
        with nogil:
            for i in range(m):
                s.classes[i] = <uint8_t> y[i]
                N[y[i]] += 1.0
            node_set(&s.node, N)
            code = run(&s, &X[0, first])
            if code > 0:
                threshold = midpoint(s.below, s.above)
                x = &X[0, first + s.feature]
                for i in range(m):
                    k = x[i * s.row_step] <= threshold
                    rows += k
                    table[(1 - k) * K + s.classes[i]] += 1.0
                gain = table_gain(criterion, 2, K, table, N, NULL)
                p = significance(criterion, 2, K, table, N)
        if code < 0 or table == NULL:
            raise MemoryError("expected memory for the ranges of the columns")
        if code == 0:
            return None
        return (first + s.feature, 0, gain, p, s.score,
                (threshold, (), rows, [table[k] for k in range(2 * K)], p, False))
    finally:
        free(table)
        search_free(&s)

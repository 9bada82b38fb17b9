"""The best threshold of a large node without sorting it: class histograms, a bound per bin, and a look into few bins.

1. Each column is cut into B bins (of equal width, or by powers of two where a sample says that widths would crowd) and
   the rows of each class are counted per bin: O(d m).
2. Every border between two bins is a candidate; the best of them is a first answer.
3. Inside a bin the left counts l lie in the box [before, before + bin].  Two classes: no score in the box exceeds its
   corners (``criteria.pxd``).  More classes, Gini: the score is a sum over classes of l_k^2 / s + r_k^2 / (n - s) with
   s = |l|; each term is convex in (l_k, s) over a parallelogram and so at most its value at one of the four corners.
   A bin whose bound is below the answer holds nothing better and is dead.
4. A crowded bin is often one repeated value, such as the zeros of sparse data.  That value is taken out: the rest of the
   bin lies before or after it, which leaves two small boxes to bound.  Where a sample shows such a value, step 1 counts
   the other rows only; what is missing from the classes is the value.
5. The rows of the live bins are sorted and every candidate between them is scored exactly.

The answer is the exact optimum with the same ties as the sorted search: lowest feature, then lowest threshold.  A column
whose range or scale overflows is sorted whole.

Cost O(d m + d B K) plus the live bins; memory 4 d B K bytes and 17 bytes per row.
"""

from libc.math cimport INFINITY, NAN
from libc.stdint cimport int32_t, uint8_t, uint32_t, uint64_t
from libc.stdlib cimport calloc, free, malloc
from cpython.exc cimport PyErr_CheckSignals
from libc.string cimport memcpy, memset

from criteria cimport HYPERGEOMETRIC, score_counts, score_pair, table_gain, table_value
from radix cimport real_t, sort_items
from scan cimport Node, lanes_available, midpoint, node_set
from significance cimport significance

cdef extern from "bins.h" nogil:
    enum:
        BINS_CHUNK
        BINS_STRIDED
    ctypedef struct BinsCut:
        double low
        double scale
        int32_t top
        uint32_t key_low
        int32_t shift
        int32_t by_key
    uint32_t bins_key_single(float)
    uint32_t bins_key_wide(double)
    int32_t bins_of_single(float, const BinsCut*)
    int32_t bins_of_wide(double, const BinsCut*)
    void bins_gather_single(const float*, Py_ssize_t step, Py_ssize_t n, float* out, int lanes)
    void bins_gather_wide(const double*, Py_ssize_t step, Py_ssize_t n, double* out, int lanes)
    void bins_add_single(const float*, const uint8_t*, Py_ssize_t, const BinsCut*, int32_t, uint32_t*, int)
    void bins_add_wide(const double*, const uint8_t*, Py_ssize_t, const BinsCut*, int32_t, uint32_t*, int)
    void bins_add_rare_single(const float*, const uint8_t*, Py_ssize_t, const BinsCut*, float, int32_t, uint32_t*, int)
    void bins_add_rare_wide(const double*, const uint8_t*, Py_ssize_t, const BinsCut*, double, int32_t, uint32_t*, int)
    int bins_nan_single(const float*, Py_ssize_t, int)
    int bins_nan_wide(const double*, Py_ssize_t, int)
    void bins_range_single(const float*, Py_ssize_t, float*, float*, int)
    void bins_range_wide(const double*, Py_ssize_t, double*, double*, int)
    void bins_range_rows_single(const float*, Py_ssize_t, Py_ssize_t, Py_ssize_t, float*, float*, int)
    void bins_range_rows_wide(const double*, Py_ssize_t, Py_ssize_t, Py_ssize_t, double*, double*, int)
    Py_ssize_t bins_select_single(const float*, Py_ssize_t, const BinsCut*, const uint8_t*, float, uint64_t, uint64_t*, int)
    Py_ssize_t bins_select_wide(const double*, Py_ssize_t, const BinsCut*, const uint8_t*, double, uint64_t, uint64_t*, int)
    enum:
        BINS_TURNED_SINGLE
        BINS_TURNED_WIDE
    void bins_turn_single(const float*, Py_ssize_t step, Py_ssize_t n, float* out, Py_ssize_t width, int lanes)
    void bins_turn_wide(const double*, Py_ssize_t step, Py_ssize_t n, double* out, Py_ssize_t width, int lanes)
    Py_ssize_t bins_equal_single(const float*, const uint8_t*, Py_ssize_t, float, int32_t, uint32_t*, int)
    Py_ssize_t bins_equal_wide(const double*, const uint8_t*, Py_ssize_t, double, int32_t, uint32_t*, int)

cdef enum:
    CONSTANT = 0            # one value
    BINNED = 1              # has a histogram
    UNBINNED = 2            # must be sorted whole
    SAMPLE = 256            # rows that decide how a column is cut


cdef struct Column:
    BinsCut cut
    int state               # CONSTANT, BINNED or UNBINNED
    double common           # a value that fills most of a sample, NaN without one


cdef struct Heavy:
    double value            # a value repeated many times in a crowded bin, NaN without one
    int32_t bin
    uint32_t* counts        # its rows by class: a row of Search.repeats


cdef struct Search:
    Node node
    Py_ssize_t m
    Py_ssize_t d
    Py_ssize_t K
    int32_t B               # bins
    Py_ssize_t row_step
    Py_ssize_t column_step
    uint8_t* classes        # class of each row
    uint32_t* counts        # d x B x K
    Column* columns
    Heavy heavy             # of the column at hand
    uint32_t* repeats       # d x K: rows of the repeated value of each column
    uint8_t* live           # B
    uint8_t* beside         # B: the two bins beside a border
    uint64_t* rows          # m: rows of live bins
    uint64_t* spare
    double* scratch         # l, N, best l: 3 K
    double* best            # left counts of the answer
    double* T
    char* piece             # BINS_CHUNK values, or some columns of BINS_STRIDED
    char* held              # a whole column, copied where columns are strided
    Py_ssize_t held_feature # which, -1 before
    # the answer
    double score
    Py_ssize_t feature
    double below            # largest value on the left
    double above            # smallest value on the right
    int border              # >= 0: the answer is the border above this bin, below and above are not known yet


# ---- reading columns ------------------------------------------------------------------------------------------------

cdef inline const real_t* piece_of(
    Search* s, const real_t* X, Py_ssize_t f, Py_ssize_t start, Py_ssize_t n
) noexcept nogil:
    """n values of a column from row ``start`` on, contiguous."""
    cdef const real_t* x = X + start * s.row_step + f * s.column_step
    if s.row_step == 1:
        return x
    if s.held_feature == f:
        return <const real_t*> s.held + start
    if real_t is float:
        bins_gather_single(x, s.row_step, n, <float*> s.piece, s.node.wide)
    else:
        bins_gather_wide(x, s.row_step, n, <double*> s.piece, s.node.wide)
    return <const real_t*> s.piece


cdef inline Py_ssize_t piece_size(const Search* s, Py_ssize_t start) noexcept nogil:
    """Rows handled together: few where columns are gathered, so that the rows stay in the first cache."""
    cdef Py_ssize_t most = BINS_CHUNK if s.row_step == 1 else BINS_STRIDED
    return most if start + most < s.m else s.m - start


cdef inline const real_t* whole_column(Search* s, const real_t* X, Py_ssize_t f, Py_ssize_t* step) noexcept nogil:
    """A column and the step between its rows, which is 1 for one that is held."""
    step[0] = 1 if s.held_feature == f else s.row_step
    return <const real_t*> s.held if s.held_feature == f else X + f * s.column_step


cdef void hold_column(Search* s, const real_t* X, Py_ssize_t f) noexcept nogil:
    """Copy a strided column: to read one value of each row is to read the whole matrix, so once is enough."""
    if s.row_step == 1:
        return
    if real_t is float:
        bins_gather_single(X + f * s.column_step, s.row_step, s.m, <float*> s.held, s.node.wide)
    else:
        bins_gather_wide(X + f * s.column_step, s.row_step, s.m, <double*> s.held, s.node.wide)
    s.held_feature = f


cdef inline int32_t bin_of(const BinsCut* cut, real_t value) noexcept nogil:
    return bins_of_single(value, cut) if real_t is float else bins_of_wide(value, cut)


cdef inline uint32_t key_of(real_t value) noexcept nogil:
    return bins_key_single(value) if real_t is float else bins_key_wide(value)


cdef int fullest(Search* s, const real_t* X, Py_ssize_t f, const BinsCut* cut) noexcept nogil:
    """How many rows of a small sample fall into the fullest 1/64 of the bins, the sample's commonest value left out."""
    cdef int count[64]
    cdef int most = 0, second = 0, b
    cdef Py_ssize_t i, step = s.m // SAMPLE if s.m > SAMPLE else 1
    memset(count, 0, sizeof(count))
    i = 0
    while i < s.m:
        b = bin_of(cut, X[i * s.row_step + f * s.column_step]) * 64 // s.B
        count[b] += 1
        i += step
    for b in range(64):
        if count[b] > most:
            most, second = count[b], most
        elif count[b] > second:
            second = count[b]
    return most + second


cdef double common_value(Search* s, const real_t* X, Py_ssize_t f) noexcept nogil:
    """A value that fills three quarters of a small sample, NaN without one; by Boyer and Moore's vote."""
    cdef Py_ssize_t i = 0, votes = 0, seen = 0, step = s.m // SAMPLE if s.m > SAMPLE else 1
    cdef real_t value, chosen = 0
    while i < s.m:
        value = X[i * s.row_step + f * s.column_step]
        if votes == 0:
            chosen = value
        votes += 1 if value == chosen else -1
        seen += 1
        i += step
    return chosen if 2 * votes >= seen else <double> NAN


cdef void set_column(Search* s, const real_t* X, Py_ssize_t f, real_t low, real_t high) noexcept nogil:
    """Choose the bins of one column."""
    cdef Column* c = &s.columns[f]
    cdef BinsCut other
    cdef real_t width = high - low, scale
    cdef uint32_t spread
    c.state = CONSTANT
    if not (low < high):
        return
    c.common = common_value(s, X, f)
    scale = <real_t> s.B / width
    c.cut.low, c.cut.scale, c.cut.top, c.cut.by_key = low, scale, s.B - 1, 0
    other = c.cut
    other.by_key, other.key_low, other.shift = 1, key_of(low), 0
    spread = key_of(high) - other.key_low
    while spread >> other.shift >= <uint32_t> s.B:
        other.shift += 1
    # A range or a scale that overflows, or a product that rounds far off, rules out equal widths.
    if not (width < INFINITY and scale < INFINITY and width * scale < 2 * s.B):
        c.cut = other
        c.state = BINNED if spread >= 16 else UNBINNED
        return
    c.state = BINNED
    if spread >= 16 and fullest(s, X, f, &c.cut) > 3 * fullest(s, X, f, &other):
        c.cut = other


cdef inline void add_piece(
    Search* s, const real_t* x, Py_ssize_t f, Py_ssize_t start, Py_ssize_t n
) noexcept nogil:
    """Count n contiguous values of column f that belong to the rows from ``start`` on."""
    cdef const Column* c = &s.columns[f]
    cdef const uint8_t* y = s.classes + start
    cdef uint32_t* h = s.counts + f * s.B * s.K
    if c.state != BINNED:
        return
    if c.common == c.common:
        if real_t is float:
            bins_add_rare_single(x, y, n, &c.cut, <float> c.common, <int32_t> s.K, h, s.node.wide)
        else:
            bins_add_rare_wide(x, y, n, &c.cut, c.common, <int32_t> s.K, h, s.node.wide)
    elif real_t is float:
        bins_add_single(x, y, n, &c.cut, <int32_t> s.K, h, s.node.wide)
    else:
        bins_add_wide(x, y, n, &c.cut, <int32_t> s.K, h, s.node.wide)


cdef void add_common(Search* s, Py_ssize_t f, int32_t bin) noexcept nogil:
    """Put the common value of a column into its bin: all rows that the histogram does not hold yet."""
    cdef uint32_t* h = s.counts + f * s.B * s.K
    cdef uint32_t* repeats = s.repeats + f * s.K
    cdef Py_ssize_t b, k
    for k in range(s.K):
        repeats[k] = <uint32_t> s.node.N[k]
    for b in range(s.B):
        for k in range(s.K):
            repeats[k] -= h[b * s.K + k]
    for k in range(s.K):
        h[bin * s.K + k] += repeats[k]


cdef int look_for_signals() except -1 nogil:
    """Let Python handle signals; between columns, or some 2^20 rows."""
    with gil:
        PyErr_CheckSignals()
    return 0


cdef int fill_by_rows(Search* s, const real_t* X) except -1 nogil:
    """Count every column of a matrix with contiguous rows: some rows and some columns at a time are turned."""
    cdef Py_ssize_t f, j, start = 0, n, group = BINS_TURNED_SINGLE if real_t is float else BINS_TURNED_WIDE
    cdef const real_t* x
    cdef real_t* turned = <real_t*> s.piece
    while start < s.m:
        n = piece_size(s, start)
        f = 0
        while f + group <= s.d:
            x = X + start * s.row_step + f
            if real_t is float:
                bins_turn_single(x, s.row_step, n, turned, BINS_STRIDED, s.node.wide)
            else:
                bins_turn_wide(x, s.row_step, n, turned, BINS_STRIDED, s.node.wide)
            for j in range(group):
                add_piece(s, <const real_t*> (turned + j * BINS_STRIDED), f + j, start, n)
            f += group
        while f < s.d:
            add_piece(s, piece_of(s, X, f, start, n), f, start, n)
            f += 1
        start += n
        if start % (1 << 20) == 0:
            look_for_signals()
    return 0


cdef void fill_histograms(Search* s, const real_t* X, Py_ssize_t first, Py_ssize_t last) noexcept nogil:
    """Count the rows of the columns [first, last); pieces of rows outside, columns inside."""
    cdef Py_ssize_t f, start, n
    start = 0
    while start < s.m:
        n = piece_size(s, start)
        for f in range(first, last):
            add_piece(s, piece_of(s, X, f, start, n), f, start, n)
        start += n


# ---- borders and bounds ---------------------------------------------------------------------------------------------

cdef inline void take_answer(Search* s, double score, const double* l, Py_ssize_t f) noexcept nogil:
    s.score = score
    s.feature = f
    memcpy(s.best, l, s.K * sizeof(double))


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
            take_answer(s, score, l, f)
            s.border = <int> b


cdef inline double gini_bound(const Search* s, const double* l, const double* size, double s0, double s1) noexcept nogil:
    """Sum over classes of the largest l_k^2 / s + r_k^2 / (n - s) over the four corners (see the head of this file)."""
    cdef double out = 0.0, term, best, n = s.node.n, a, r, at
    cdef Py_ssize_t k, corner
    for k in range(s.K):
        best = 0.0
        for corner in range(4):
            a = l[k] + (size[k] if corner >= 2 else 0.0)
            at = s0 if corner == 0 else s1 - size[k] if corner == 1 else s0 + size[k] if corner == 2 else s1
            r = s.node.N[k] - a
            term = (a * a / at if at > 0.0 else 0.0) + (r * r / (n - at) if at < n else 0.0)
            best = term if term > best else best
        out += best
    return out


cdef inline int box_is_live(const Search* s, const double* l, const double* size, double nl, double rows) noexcept nogil:
    """Whether left counts in [l, l + size] could reach the score of the answer; nl and rows are the sums."""
    cdef double l0, l1, a0, a1, N0, N1, limit = s.score - s.node.slack
    if s.K > 2:
        return not (gini_bound(s, l, size, nl, nl + rows) < limit)
    l0, l1, N0, N1 = l[0], l[1], s.node.N[0], s.node.N[1]
    a0, a1 = l0 + size[0], l1 + size[1]
    return not (score_pair(s.node.criterion, s.T, a0, l1, N0 - a0, N1 - l1) < limit
                and score_pair(s.node.criterion, s.T, l0, a1, N0 - l0, N1 - a1) < limit
                and score_pair(s.node.criterion, s.T, l0, l1, N0 - l0, N1 - l1) < limit
                and score_pair(s.node.criterion, s.T, a0, a1, N0 - a0, N1 - a1) < limit)


cdef Py_ssize_t mark_live(Search* s, Py_ssize_t f, Py_ssize_t* crowded) noexcept nogil:
    """Mark the live bins of a column; returns how many rows they hold, and in ``crowded`` a live bin with over 1/16 of
    all rows, -1 without one."""
    cdef const uint32_t* h = s.counts + f * s.B * s.K
    cdef double* l = s.scratch
    cdef double* size = s.scratch + 3 * s.K
    cdef double nl = 0.0, here
    cdef Py_ssize_t b, k, rows = 0
    crowded[0] = -1
    for k in range(s.K):
        l[k] = 0.0
    for b in range(s.B):
        here = 0.0
        for k in range(s.K):
            size[k] = h[b * s.K + k]
            here += size[k]
        s.live[b] = <uint8_t> (here >= 2.0 and box_is_live(s, l, size, nl, here))
        if s.live[b]:
            rows += <Py_ssize_t> here
            if 16 * here > s.m:
                crowded[0] = b
        for k in range(s.K):
            l[k] += size[k]
        nl += here
    return rows


# ---- a repeated value in a crowded bin ------------------------------------------------------------------------------

cdef void find_heavy(Search* s, const real_t* X, Py_ssize_t f, Py_ssize_t bin) noexcept nogil:
    """Take out a value that fills a crowded bin: the majority of its first rows, by Boyer and Moore's vote."""
    cdef const BinsCut* cut = &s.columns[f].cut
    cdef Py_ssize_t i, start = 0, n, seen = 0, votes = 0
    cdef real_t value, chosen = 0
    cdef const real_t* x
    i = 0
    while i < s.m and seen < 64:
        value = X[i * s.row_step + f * s.column_step]
        if bin_of(cut, value) == bin:
            seen += 1
            if votes == 0:
                chosen = value
            votes += 1 if value == chosen else -1
        i += 1
    if votes <= 0:
        return
    s.heavy.value = chosen
    s.heavy.bin = <int32_t> bin
    memset(s.heavy.counts, 0, 4 * s.K)
    while start < s.m:
        n = piece_size(s, start)
        x = piece_of(s, X, f, start, n)
        if real_t is float:
            bins_equal_single(x, s.classes + start, n, chosen, <int32_t> s.K, s.heavy.counts, s.node.wide)
        else:
            bins_equal_wide(x, s.classes + start, n, chosen, <int32_t> s.K, s.heavy.counts, s.node.wide)
        start += n


cdef void bound_around_heavy(Search* s, Py_ssize_t f) noexcept nogil:
    """Unmark the crowded bin when nothing before or after its repeated value can reach the answer."""
    cdef const uint32_t* h = s.counts + f * s.B * s.K
    cdef double* l = s.scratch
    cdef double* size = s.scratch + 3 * s.K
    cdef double nl = 0.0, rest = 0.0, heavy = 0.0
    cdef Py_ssize_t b, k
    cdef int live
    for k in range(s.K):
        l[k] = 0.0
        for b in range(s.heavy.bin):
            l[k] += h[b * s.K + k]
        size[k] = h[s.heavy.bin * s.K + k] - <double> s.heavy.counts[k]
        rest += size[k]
        nl += l[k]
        heavy += s.heavy.counts[k]
    if rest == 0.0:
        s.live[s.heavy.bin] = 0
        return
    live = box_is_live(s, l, size, nl, rest)
    for k in range(s.K):
        l[k] += s.heavy.counts[k]
    s.live[s.heavy.bin] = <uint8_t> (live or box_is_live(s, l, size, nl + heavy, rest))


# ---- inside the bins ------------------------------------------------------------------------------------------------

cdef Py_ssize_t select_rows(
    Search* s, const real_t* X, Py_ssize_t f, const uint8_t* live, double heavy, uint64_t* out
) noexcept nogil:
    """Collect the rows of the marked bins of a column, the repeated value left out; returns how many."""
    cdef Py_ssize_t start = 0, n, got = 0
    cdef const real_t* x
    cdef const BinsCut* cut = &s.columns[f].cut
    while start < s.m:
        n = piece_size(s, start)
        x = piece_of(s, X, f, start, n)
        if real_t is float:
            got += bins_select_single(x, n, cut, live, <float> heavy, start, out + got, s.node.wide)
        else:
            got += bins_select_wide(x, n, cut, live, heavy, start, out + got, s.node.wide)
        start += n
    return got


cdef inline void try_inside(Search* s, const double* l, double nl, Py_ssize_t f, double low, double high) noexcept nogil:
    """Let a candidate between two values compete; a tie goes to the lower feature, then to the lower threshold."""
    cdef double score
    if nl < s.node.least or s.node.n - nl < s.node.least:
        return
    score = score_counts(s.node.criterion, s.T, s.K, l, s.node.N, nl, s.node.n - nl)
    if score > s.score or (score == s.score and (f < s.feature or (f == s.feature and low < s.below))):
        take_answer(s, score, l, f)
        s.below = low
        s.above = high
        s.border = -1


cdef inline int32_t pass_bins(Search* s, const uint32_t* h, int32_t at, int32_t to, double* l, double* nl) noexcept nogil:
    """Move the dead bins in [at, to) to the left; returns ``to``."""
    cdef Py_ssize_t k
    while at < to:
        if not s.live[at]:
            for k in range(s.K):
                l[k] += h[at * s.K + k]
                nl[0] += h[at * s.K + k]
        at += 1
    return to


cdef void scan_rows(
    Search* s, const real_t* X, Py_ssize_t f, const uint64_t* rows, Py_ssize_t count, int whole
) noexcept nogil:
    """Score every candidate inside the live bins.  ``rows`` are sorted; ``whole``: they are all rows of the column.

    The repeated value, if its bin is live, takes its place among them as one group.  Before each value moves left, the
    gap below it is a candidate if the value before lies in the same bin: gaps between bins are borders.
    """
    cdef Py_ssize_t i = 0, k, step
    cdef const real_t* x = whole_column(s, X, f, &step)
    cdef const uint32_t* h = s.counts + f * s.B * s.K
    cdef const BinsCut* cut = &s.columns[f].cut
    cdef double* l = s.scratch
    cdef double nl = 0.0
    cdef int32_t b = 0, at = 0, last = -1
    cdef real_t value = 0, before = 0, heavy = <real_t> s.heavy.value
    cdef int waiting = not whole and s.heavy.value == s.heavy.value and s.live[s.heavy.bin], is_group
    for k in range(s.K):
        l[k] = 0.0
    while i < count or waiting:
        is_group = waiting and (i == count or heavy < x[<uint32_t> rows[i] * step])
        value = heavy if is_group else x[<uint32_t> rows[i] * step]
        if not whole:
            b = bin_of(cut, value)
            at = pass_bins(s, h, at, b, l, &nl)
        if last == b and before < value:
            try_inside(s, l, nl, f, before, value)
        if is_group:
            waiting = 0
            for k in range(s.K):
                l[k] += s.heavy.counts[k]
                nl += s.heavy.counts[k]
        else:
            l[s.classes[<uint32_t> rows[i]]] += 1.0
            nl += 1.0
            i += 1
        before, last = value, b


cdef void settle_border(Search* s, const real_t* X) noexcept nogil:
    """The values next to the border that is the answer: the extremes of the two filled bins beside it."""
    cdef const uint32_t* h = s.counts + s.feature * s.B * s.K
    cdef Py_ssize_t i, step, count
    cdef int32_t low, high
    cdef const real_t* x
    cdef real_t value, below, above
    if s.feature < 0 or s.border < 0:
        return
    low, high = s.border, s.border + 1
    while bin_is_empty(s, h, low):
        low -= 1
    while bin_is_empty(s, h, high):
        high += 1
    memset(s.beside, 0, s.B)
    s.beside[low] = s.beside[high] = 1
    count = select_rows(s, X, s.feature, s.beside, NAN, s.spare)
    x = whole_column(s, X, s.feature, &step)
    below, above = <real_t> -INFINITY, <real_t> INFINITY
    for i in range(count):
        value = x[<uint32_t> s.spare[i] * step]
        if bin_of(&s.columns[s.feature].cut, value) == low:
            below = value if value > below else below
        else:
            above = value if value < above else above
    s.below = below
    s.above = above
    s.border = -1


cdef inline int bin_is_empty(const Search* s, const uint32_t* h, int32_t b) noexcept nogil:
    """Whether no row is in bin b; a border has filled bins on both sides."""
    cdef Py_ssize_t k
    for k in range(s.K):
        if h[b * s.K + k]:
            return 0
    return 1


cdef void refine(Search* s, const real_t* X, Py_ssize_t f) noexcept nogil:
    """Look into the live bins of one column."""
    cdef Py_ssize_t i, crowded, step, count = s.m
    cdef int whole = s.columns[f].state == UNBINNED
    cdef const real_t* x
    cdef uint64_t* sorted_rows
    if s.columns[f].state == CONSTANT:
        return
    s.heavy.value = NAN
    if whole:
        for i in range(s.m):
            s.rows[i] = <uint64_t> i
    else:
        if mark_live(s, f, &crowded) == 0:
            return
        s.heavy.counts = s.repeats + f * s.K
        s.heavy.value = s.columns[f].common
        if s.heavy.value == s.heavy.value:
            s.heavy.bin = bin_of(&s.columns[f].cut, <real_t> s.heavy.value)
        elif crowded >= 0:
            hold_column(s, X, f)
            find_heavy(s, X, f, crowded)
        if s.heavy.value == s.heavy.value and s.live[s.heavy.bin]:
            bound_around_heavy(s, f)
        for i in range(s.B):
            if s.live[i]:
                break
        else:
            return
        if s.held_feature != f:
            hold_column(s, X, f)
        count = select_rows(s, X, f, s.live, s.heavy.value, s.rows)
    if s.feature == f:
        settle_border(s, X)
    x = whole_column(s, X, f, &step)
    sorted_rows = sort_items(x, step, s.rows, s.spare, count)
    scan_rows(s, X, f, sorted_rows, count, whole)


cdef int run(Search* s, const real_t* X, const double* lows, const double* highs) except -1 nogil:
    """The whole search, given the range of each column; 0 when no column has two values."""
    cdef Py_ssize_t f, first
    for f in range(s.d):
        set_column(s, X, f, <real_t> lows[f], <real_t> highs[f])
    # Contiguous columns one by one: a histogram stays in the first cache.
    if s.row_step == 1:
        for f in range(s.d):
            fill_histograms(s, X, f, f + 1)
            look_for_signals()
    elif s.column_step == 1:
        fill_by_rows(s, X)
    else:
        fill_histograms(s, X, 0, s.d)
    for f in range(s.d):
        if s.columns[f].state == BINNED:
            if s.columns[f].common == s.columns[f].common:
                add_common(s, f, bin_of(&s.columns[f].cut, <real_t> s.columns[f].common))
            try_borders(s, f)
    # The feature of the best border first: what it finds kills bins elsewhere.
    first = s.feature
    if first >= 0:
        refine(s, X, first)
    for f in range(s.d):
        if f != first:
            refine(s, X, f)
            if f % 8 == 0:
                look_for_signals()
    settle_border(s, X)
    return s.feature >= 0


# ---- Python side ----------------------------------------------------------------------------------------------------

cdef void search_free(Search* s) noexcept nogil:
    free(s.classes); free(s.counts); free(s.columns); free(s.live); free(s.rows); free(s.spare); free(s.scratch)
    free(s.T); free(s.piece); free(s.repeats); free(s.held)


cdef int search_init(
    Search* s, Py_ssize_t m, Py_ssize_t d, Py_ssize_t K, int criterion, Py_ssize_t least, size_t held
) noexcept nogil:
    """Allocate everything, with ``held`` bytes for a column; -1 without memory."""
    cdef Py_ssize_t i
    cdef int tabled = criterion == HYPERGEOMETRIC or criterion == 2 or criterion == 3
    s.m, s.d, s.K = m, d, K
    # More bins leave fewer rows in live ones; fewer keep a histogram in the first cache.
    s.B = 256
    if K <= 3 and m >= 32768:
        s.B = 1024 if m < 400000 else 4096
    s.classes = <uint8_t*> malloc(m)
    s.counts = <uint32_t*> calloc(d * s.B * K, 4)
    s.columns = <Column*> calloc(d, sizeof(Column))
    s.live = <uint8_t*> malloc(2 * s.B)
    s.beside = s.live + s.B
    s.rows = <uint64_t*> malloc(8 * (m + 1))
    s.spare = <uint64_t*> malloc(8 * (m + 1))
    s.scratch = <double*> calloc(4 * K, 8)
    s.T = <double*> malloc(8 * (m + 1)) if tabled else NULL
    s.piece = <char*> malloc(BINS_CHUNK * 16)
    s.repeats = <uint32_t*> calloc(d * K, 4)
    s.held = <char*> malloc(held + 1)
    s.held_feature = -1
    if (s.classes == NULL or s.counts == NULL or s.columns == NULL or s.live == NULL or s.rows == NULL
            or s.spare == NULL or s.scratch == NULL or s.piece == NULL or s.repeats == NULL or s.held == NULL
            or (tabled and s.T == NULL)):
        return -1
    if tabled:
        for i in range(m + 1):
            s.T[i] = table_value(criterion, i)
    s.node.criterion, s.node.K, s.node.least, s.node.T = criterion, K, least, s.T
    s.node.wide = lanes_available()
    s.best = s.scratch + 2 * K
    s.score, s.feature, s.border, s.below, s.above = -INFINITY, -1, -1, 0.0, 0.0
    return 0


def search(const real_t[:, :] X, const int32_t[::1] y, const double[::1] lows, const double[::1] highs, Py_ssize_t K,
           int criterion, Py_ssize_t least, Py_ssize_t first, Py_ssize_t last):
    """Best threshold over the features [first, last), given their ranges; no weights, no NaN, at most 256 classes.

    Returns ``None`` or ``(feature, 0, gain, p_value, score, details)`` as ``_split.search`` does.
    """
    cdef Search s
    cdef Py_ssize_t m = X.shape[0], i, k
    cdef int code
    cdef double rows = 0.0
    cdef double* N
    try:
        s.row_step = X.strides[0] // <Py_ssize_t> sizeof(real_t)
        if search_init(&s, m, last - first, K, criterion, least, 0 if s.row_step == 1 else m * sizeof(real_t)) < 0:
            raise MemoryError(f"expected memory for the histograms of {m} rows")
        s.column_step = X.strides[1] // <Py_ssize_t> sizeof(real_t)
        N = s.scratch + K
        with nogil:
            for i in range(m):
                s.classes[i] = <uint8_t> y[i]
                s.repeats[y[i]] += 1
            for k in range(K):
                N[k] = s.repeats[k]
            node_set(&s.node, N)
            code = run(&s, &X[0, first], &lows[first], &highs[first])
        if code == 0:
            return None
        table = [s.best[k] for k in range(K)] + [N[k] - s.best[k] for k in range(K)]
        gain, p = judge(table, N, K, criterion)
        for k in range(K):
            rows += s.best[k]
        return (first + s.feature, 0, gain, p, s.score,
                (midpoint(s.below, s.above), (), int(rows), table, p, False))
    finally:
        search_free(&s)


cdef int ranges_by_rows(
    const real_t* x, Py_ssize_t step, Py_ssize_t m, Py_ssize_t d, real_t* low, real_t* high, int lanes
) noexcept nogil:
    """Widen the range of every column by m rows of d contiguous values; whether some value is NaN."""
    cdef Py_ssize_t start = 0, n, i
    cdef int nan = 0
    while start < m and not nan:
        n = BINS_STRIDED if start + BINS_STRIDED < m else m - start
        if real_t is float:
            bins_range_rows_single(x, step, n, d, low, high, lanes)
        else:
            bins_range_rows_wide(x, step, n, d, low, high, lanes)
        if step == d:
            nan = has_nan(x, n * d, lanes)
        else:
            for i in range(n):
                nan |= has_nan(x + i * step, d, lanes)
        x += n * step
        start += n
    return nan


def ranges(const real_t[:, :] X, double[::1] lows, double[::1] highs):
    """Smallest and largest value of each column, one pass; False, and no ranges, if X holds a NaN."""
    cdef Py_ssize_t m = X.shape[0], d = X.shape[1], f, size = sizeof(real_t), start, n
    cdef Py_ssize_t row = X.strides[0] // size, column = X.strides[1] // size
    cdef int lanes = lanes_available(), nan = 0
    cdef real_t* low = <real_t*> malloc(size * (2 * d + BINS_CHUNK))
    cdef real_t* high = low + d
    cdef real_t* piece = high + d
    cdef const real_t* x = &X[0, 0]
    if low == NULL:
        raise MemoryError(f"expected {2 * size * d} bytes")
    with nogil:
        for f in range(d):
            low[f] = high[f] = x[f * column]
        # Along rows where they are contiguous, else along columns: memory is read in its order.
        if column == 1 and row != 1:
            nan = ranges_by_rows(x, row, m, d, low, high, lanes)
        else:
            for f in range(d):
                start = 0
                while start < m and not nan:
                    n = BINS_CHUNK if start + BINS_CHUNK < m else m - start
                    nan = range_part(x + start * row + f * column, row, n, piece, &low[f], &high[f], lanes)
                    start += n
        if not nan:
            for f in range(d):
                lows[f], highs[f] = low[f], high[f]
        free(low)
    return not nan


cdef inline int has_nan(const real_t* x, Py_ssize_t n, int lanes) noexcept nogil:
    """Whether some of n contiguous values is NaN."""
    if real_t is float:
        return bins_nan_single(x, n, lanes)
    else:
        return bins_nan_wide(x, n, lanes)


cdef inline int range_part(
    const real_t* x, Py_ssize_t step, Py_ssize_t n, real_t* piece, real_t* low, real_t* high, int lanes
) noexcept nogil:
    """Widen a range by n values of a column; whether some of them is NaN."""
    if step != 1:
        if real_t is float:
            bins_gather_single(x, step, n, piece, lanes)
        else:
            bins_gather_wide(x, step, n, piece, lanes)
        x = piece
    if real_t is float:
        bins_range_single(x, n, low, high, lanes)
    else:
        bins_range_wide(x, n, low, high, lanes)
    return has_nan(x, n, lanes)


cdef tuple judge(list counts, const double* N, Py_ssize_t K, int criterion):
    """Gain and p-value of the table of two branches."""
    cdef double* table = <double*> malloc(2 * K * sizeof(double))
    cdef Py_ssize_t k
    if table == NULL:
        raise MemoryError(f"expected {16 * K} bytes")
    for k in range(2 * K):
        table[k] = counts[k]
    out = (table_gain(criterion, 2, K, table, N, NULL), significance(criterion, 2, K, table, N))
    free(table)
    return out

"""The best split of one node: every feature, every threshold, exactly, in O(d m log m) (Peng 18.2).

Each column is sorted once (``radix.pxd``) and read once (``scan.pxd``, ``nominal.pxd``); a column of a multiway feature
gives one contingency table.  Two-branch splits are compared by score, which is cheap; once a multiway feature takes part,
by gain, which is the same for any number of branches.  Equal splits: the lowest feature, then the lowest threshold (or
category) wins.

Scratch: 16 m bytes for sorting, 4 m for items, whatever d is.
"""

from libc.math cimport INFINITY
from libc.stdint cimport int8_t, int16_t, int32_t, int64_t, uint8_t, uint16_t, uint32_t, uint64_t
from libc.stdlib cimport calloc, free, malloc
from cpython.exc cimport PyErr_CheckSignals

from criteria cimport HYPERGEOMETRIC, impurity, table_gain, table_value
from nominal cimport Run, run_is_left, scan_one_against_rest, scan_subsets
from radix cimport real_t, sort_items
from scan cimport (Best, Node, best_clear, column_rises, lanes_available, midpoint, node_set, scan_sorted)
from significance cimport significance

cdef enum:
    THRESHOLD = 0           # real, binary, ordinal: x <= t goes left
    ONE = 1                 # nominal: one category goes left
    SUBSET = 2              # nominal: a set of categories goes left
    MULTIWAY = 3            # one branch per category


cdef struct Search:
    Node node
    Py_ssize_t m
    int general             # weights or missing values
    const int32_t* y
    uint64_t* a             # sorting scratch
    uint64_t* b
    uint32_t* items
    double* missing         # K sums
    double* N               # class weights of the node
    double* table           # 2 K counts of the winner, or the multiway table
    double* T
    Run* runs


cdef void search_free(Search* s) noexcept nogil:
    free(s.a); free(s.b); free(s.items); free(s.missing); free(s.N); free(s.table); free(s.T); free(s.runs)


cdef int search_init(
    Search* s, int criterion, Py_ssize_t m, Py_ssize_t K, const int32_t* y, const double* w, int general,
    Py_ssize_t least, int shift, int subsets
) noexcept nogil:
    """Allocate everything; -1 without memory.  The class of a row goes above ``shift`` in its item."""
    cdef Py_ssize_t i
    s.m = m
    s.general = general
    s.y = y
    s.a = <uint64_t*> malloc(8 * m)
    s.b = <uint64_t*> malloc(8 * m)
    s.items = <uint32_t*> malloc(4 * m)
    s.missing = <double*> calloc(4 * K, 8)
    s.N = <double*> calloc(K, 8)
    s.table = <double*> calloc(2 * K, 8)
    s.runs = <Run*> malloc(m * sizeof(Run)) if subsets else NULL
    s.T = <double*> malloc(8 * (m + 1)) if w == NULL and not general else NULL
    if (s.a == NULL or s.b == NULL or s.items == NULL or s.missing == NULL or s.N == NULL or s.table == NULL
            or (subsets and s.runs == NULL) or (w == NULL and not general and s.T == NULL)):
        return -1
    if s.T != NULL:
        if criterion == HYPERGEOMETRIC or criterion == 2 or criterion == 3:
            for i in range(m + 1):
                s.T[i] = table_value(criterion, i)
        else:
            free(s.T)
            s.T = NULL
    for i in range(m):
        s.N[y[i]] += w[i] if w != NULL else 1.0
    s.node.criterion = criterion
    s.node.wide = lanes_available()
    s.node.K = K
    s.node.least = least
    s.node.lightest = 0.0
    s.node.shift = shift
    s.node.mask = (<uint32_t> 1 << shift) - 1
    s.node.T = s.T
    s.node.l = s.missing + K
    s.node.r = s.missing + 2 * K
    s.node.w = w
    node_set(&s.node, s.N)
    return 0


cdef void sort_feature(Search* s, const real_t* x, Py_ssize_t step) noexcept nogil:
    """Fill s.items with all rows in the order of the column, classes attached."""
    cdef Py_ssize_t i
    cdef uint32_t row
    cdef uint64_t* sorted_items
    for i in range(s.m):
        s.a[i] = <uint64_t> i
    sorted_items = sort_items(x, step, s.a, s.b, s.m)
    for i in range(s.m):
        row = <uint32_t> sorted_items[i]
        s.items[i] = row | (<uint32_t> s.y[row] << s.node.shift)


cdef void scan_feature(
    Search* s, const real_t* x, Py_ssize_t step, int kind, Py_ssize_t feature, Best* best
) noexcept nogil:
    """Sort one column and let its best two-branch split compete."""
    sort_feature(s, x, step)
    if kind == THRESHOLD:
        scan_sorted(&s.node, x, step, s.items, s.m, s.general, s.missing, feature, best)
    elif kind == ONE:
        scan_one_against_rest(&s.node, x, step, s.items, s.m, s.missing, feature, best)
    else:
        scan_subsets(&s.node, x, step, s.items, s.m, s.missing, s.runs, feature, best)


cdef double multiway_gain(Search* s, const real_t* x, Py_ssize_t step, double* p_value) except -2.0:
    """The gain of one branch per category, -1 with fewer than two; missing values form a branch of their own."""
    cdef Py_ssize_t i, V = 0, K = s.node.K
    cdef double gain
    cdef double* table
    cdef uint32_t previous, item
    sort_feature(s, x, step)
    for i in range(s.m):
        if i == 0 or differs(x, step, s.node.mask, s.items[i - 1], s.items[i]):
            V += 1
    if V < 2:
        return -1.0
    table = <double*> calloc(V * K, 8)
    if table == NULL:
        raise MemoryError(f"expected {8 * V * K} bytes for a multiway table")
    V = -1
    for i in range(s.m):
        if i == 0 or differs(x, step, s.node.mask, s.items[i - 1], s.items[i]):
            V += 1
        item = s.items[i]
        table[V * K + (item >> s.node.shift)] += s.node.w[item & s.node.mask] if s.node.w != NULL else 1.0
    gain = table_gain(s.node.criterion, V + 1, K, table, s.N, NULL)
    p_value[0] = significance(s.node.criterion, V + 1, K, table, s.N)
    free(table)
    return gain


cdef inline int differs(const real_t* x, Py_ssize_t step, uint32_t mask, uint32_t a, uint32_t b) noexcept nogil:
    """Whether two neighbours in sorted order belong to different categories (all NaN are one)."""
    cdef real_t u = x[(a & mask) * step], v = x[(b & mask) * step]
    return u != v and not (u != u and v != v)


cdef object describe(Search* s, const real_t* x, Py_ssize_t step, int kind, Best* best, double* gain):
    """Threshold, left categories, rows and weight on the left, gain and p-value of the winner.

    Sorts its column once more: the items of other features have replaced it.
    """
    cdef Py_ssize_t i, k, K = s.node.K, rows = 0
    cdef double threshold = 0.0, value, p
    cdef int left
    cdef set chosen = set()
    cdef Best again
    sort_feature(s, x, step)
    if kind == THRESHOLD:
        i = best.position
        threshold = INFINITY
        if i < s.m and x[(s.items[i] & s.node.mask) * step] == x[(s.items[i] & s.node.mask) * step]:
            threshold = midpoint(x[(s.items[i - 1] & s.node.mask) * step], x[(s.items[i] & s.node.mask) * step])
    elif kind == ONE:
        chosen.add(<double> x[(s.items[best.position] & s.node.mask) * step])
    else:
        best_clear(&again)
        scan_subsets(&s.node, x, step, s.items, s.m, s.missing, s.runs, 0, &again)
        i = rows = 0
        while rows < s.m and i < s.m:
            value = x[(s.items[rows] & s.node.mask) * step]
            if value != value:
                break
            if run_is_left(again.position, i):
                chosen.add(s.runs[i].value)
            rows += s.runs[i].rows
            i += 1
    rows = 0
    for k in range(2 * K):
        s.table[k] = 0.0
    for i in range(s.m):
        value = x[i * step]
        if value != value:
            left = best.missing_left
        elif kind == THRESHOLD:
            left = value <= threshold
        else:
            left = value in chosen
        rows += left
        s.table[(0 if left else K) + s.y[i]] += s.node.w[i] if s.node.w != NULL else 1.0
    gain[0] = table_gain(s.node.criterion, 2, K, s.table, s.N, NULL)
    p = significance(s.node.criterion, 2, K, s.table, s.N)
    return (threshold, tuple(sorted(chosen)), rows, [s.table[k] for k in range(2 * K)], p)


def search(const real_t[:, :] X, const int32_t[::1] y, const double[::1] w, const int32_t[::1] kinds,
           Py_ssize_t K, int criterion, Py_ssize_t least, bint general, int shift,
           Py_ssize_t first, Py_ssize_t last):
    """Best split over the features [first, last).

    Returns ``None`` or ``(feature, kind, gain, p_value, score, details)`` with details
    ``(threshold, left categories, rows left, table, p_value, missing_left)`` (``None`` for a multiway split).
    """
    cdef Search s
    cdef Best best, one
    cdef Py_ssize_t f, m = X.shape[0], step
    cdef const double* weights = &w[0] if w is not None else NULL
    cdef bint subsets = False, mixed = False
    cdef double gain, best_gain = -1.0, p_value = 1.0, best_p = 1.0
    cdef Py_ssize_t best_feature = -1
    cdef object details = None
    for f in range(first, last):
        subsets = subsets or kinds[f] == SUBSET
        mixed = mixed or kinds[f] == MULTIWAY
    best_clear(&best)
    step = X.strides[0] // <Py_ssize_t> sizeof(real_t)
    try:
        if search_init(&s, criterion, m, K, &y[0], weights, general, least, shift, subsets) < 0:
            raise MemoryError(f"expected memory to sort {m} rows")
        if not mixed:
            for f in range(first, last):
                PyErr_CheckSignals()
                with nogil:
                    scan_feature(&s, &X[0, f], step, kinds[f], f, &best)
                if best.perfect:
                    break
            if best.feature < 0:
                return None
            details = describe(&s, &X[0, best.feature], step, kinds[best.feature], &best, &gain)
            return best.feature, kinds[best.feature], gain, details[4], best.score, (*details, bool(best.missing_left))
        for f in range(first, last):
            PyErr_CheckSignals()
            if kinds[f] == MULTIWAY:
                gain = multiway_gain(&s, &X[0, f], step, &p_value)
            else:
                best_clear(&one)
                gain = -1.0
                with nogil:
                    scan_feature(&s, &X[0, f], step, kinds[f], f, &one)
                if one.feature >= 0:
                    describe(&s, &X[0, f], step, kinds[f], &one, &gain)
            if gain > best_gain:
                best_gain, best_feature, best_p = gain, f, p_value
                best = one
        if best_feature < 0:
            return None
        if kinds[best_feature] == MULTIWAY:
            return best_feature, MULTIWAY, best_gain, best_p, best_gain, None
        details = describe(&s, &X[0, best_feature], step, kinds[best_feature], &best, &gain)
        return (best_feature, kinds[best_feature], gain, details[4], best_gain,
                (*details, bool(best.missing_left)))
    finally:
        search_free(&s)


ctypedef fused integer_t:
    int8_t
    int16_t
    int32_t
    int64_t
    uint8_t
    uint16_t
    uint32_t
    uint64_t


def small_classes(const integer_t[:] y, int32_t[::1] codes):
    """Copy labels 0 .. 255 into codes and list those that occur, ascending; None if some label is another number."""
    cdef int seen[256]
    cdef Py_ssize_t i
    cdef int bad = 0
    cdef integer_t label
    with nogil:
        for i in range(256):
            seen[i] = 0
        for i in range(y.shape[0]):
            label = y[i]
            if label < 0 or label > 255:
                bad = 1
                break
            seen[label] = 1
            codes[i] = <int32_t> label
    if bad:
        return None
    return [i for i in range(256) if seen[i]]


def gains(const double[:, ::1] table, int criterion):
    """Gain, p-value and impurity of a table with one row per branch and one column per class."""
    cdef Py_ssize_t V = table.shape[0], K = table.shape[1], v, k
    cdef double[::1] N
    import array
    N = array.array("d", bytes(8 * K))
    for v in range(V):
        for k in range(K):
            N[k] += table[v, k]
    return (table_gain(criterion, V, K, &table[0, 0], &N[0], NULL),
            significance(criterion, V, K, &table[0, 0], &N[0]), impurity(criterion, K, &N[0]))

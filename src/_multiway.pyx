"""Growing multiway trees: BuildTree of Martin & Hirschberg (1996), Figure 1, which is ID3 with stopping.

A node tests an attribute that no node above it has tested and gets one child per value of that attribute.  For each
attribute still free the rows of the node fill a contingency table n_vk; the criterion judges it, the best attribute
wins (the lowest of equals), and the split stands if it has the least gain and is significant by the criterion's own
test.  A value that does not occur in the node leads to an empty leaf, which keeps the class weights of its parent.

Rows are kept in one list; a node owns a range of it, and splitting sorts the range by the value of the winner (counting
sort).  Cost of a node of n rows with A free attributes of arity V: O(A (n + V K)), the paper's K0 + A (E1 n + E4 K V).
Open nodes wait on a stack, with the attributes used above them as a bit set, so depth is no problem.
"""

from libc.math cimport fabs
from libc.stdint cimport int32_t, int64_t, uint8_t, uint32_t, uint64_t
from libc.stdlib cimport calloc, free, malloc, realloc
from libc.string cimport memcpy, memset
from cpython.exc cimport PyErr_CheckSignals

from cpython cimport array

import array

import numpy as np

from criteria cimport table_gain
from significance cimport significance


cdef struct Open:
    int64_t node
    int64_t start           # its rows are [start, end) of the list
    int64_t end
    int64_t depth
    int64_t used            # where its set of used attributes starts


cdef struct Job:
    int criterion
    Py_ssize_t m
    Py_ssize_t d
    Py_ssize_t K
    const int32_t* codes    # column f starts at f m
    const int32_t* arity    # values of each attribute
    const int32_t* y
    const double* w         # or NULL
    int32_t* rows           # the list of rows
    int32_t* spare
    double* table           # largest arity x K
    int64_t* rows_in        # rows of each value
    int64_t least           # fewest rows of a branch that holds something
    double lightest         # its least weight
    int64_t* place          # largest arity + 1


cdef inline double row_weight(const Job* j, int32_t row) noexcept nogil:
    return j.w[row] if j.w != NULL else 1.0


cdef void fill_table(Job* j, int64_t start, int64_t end, Py_ssize_t f) noexcept nogil:
    """The contingency table of attribute f over a range of rows."""
    cdef const int32_t* code = j.codes + f * j.m
    cdef int64_t i
    cdef int32_t row
    memset(j.table, 0, j.arity[f] * j.K * sizeof(double))
    memset(j.rows_in, 0, j.arity[f] * sizeof(int64_t))
    for i in range(start, end):
        row = j.rows[i]
        j.rows_in[code[row]] += 1
        j.table[code[row] * j.K + j.y[row]] += row_weight(j, row)


cdef Py_ssize_t filled_branches(const Job* j, Py_ssize_t f) noexcept nogil:
    """How many branches of the table hold something; 0 where one of them holds too little."""
    cdef Py_ssize_t v, k, out = 0
    cdef double weight
    for v in range(j.arity[f]):
        if j.rows_in[v]:
            weight = 0.0
            for k in range(j.K):
                weight += j.table[v * j.K + k]
            if j.rows_in[v] < j.least or weight < j.lightest:
                return 0
            out += 1
    return out


cdef Py_ssize_t choose(
    Job* j, int64_t start, int64_t end, const uint8_t* used, const double* N, double* gain
) noexcept nogil:
    """The free attribute of largest gain with two branches that hold something, -1 without one."""
    cdef Py_ssize_t f, best = -1
    cdef double here
    for f in range(j.d):
        if used[f]:
            continue
        fill_table(j, start, end, f)
        if filled_branches(j, f) < 2:
            continue
        here = table_gain(j.criterion, j.arity[f], j.K, j.table, N, NULL)
        # Gains of different tables that are equal on paper may differ by rounding: the lowest attribute keeps a tie.
        if best < 0 or here > gain[0] + 1e-12 * fabs(gain[0]):
            gain[0] = here
            best = f
    return best


cdef void sort_range(Job* j, int64_t start, int64_t end, Py_ssize_t f) noexcept nogil:
    """Order a range of rows by attribute f, stably; place[v] is then where the rows with value v start."""
    cdef const int32_t* code = j.codes + f * j.m
    cdef int64_t i, total = start, here
    cdef Py_ssize_t v
    memset(j.place, 0, (j.arity[f] + 1) * sizeof(int64_t))
    for i in range(start, end):
        j.place[code[j.rows[i]]] += 1
    for v in range(j.arity[f] + 1):
        here = j.place[v]
        j.place[v] = total
        total += here
    for i in range(start, end):
        v = code[j.rows[i]]
        j.spare[j.place[v]] = j.rows[i]
        j.place[v] += 1
    memcpy(j.rows + start, j.spare + start, (end - start) * sizeof(int32_t))
    for v in range(j.arity[f], 0, -1):
        j.place[v] = j.place[v - 1]
    j.place[0] = start


def grow(const int32_t[:, ::1] codes, const int32_t[::1] arity, const int32_t[::1] y, const double[::1] w,
         Py_ssize_t K, int criterion, Py_ssize_t max_depth, Py_ssize_t min_split, Py_ssize_t least, double lightest,
         double min_gain, double alpha):
    """Grow a tree; returns arrays (feature, n, value, gain, first child, place), nodes in the order of creation.

    Children of a node are created together, in the order of the values; place is a node's number in preorder.
    """
    cdef Job j
    cdef Py_ssize_t d = codes.shape[0], m = codes.shape[1], widest = 1, f, v, k, present
    cdef int64_t start, end, node, at, depth
    cdef double gain = 0.0
    for f in range(d):
        widest = arity[f] if arity[f] > widest else widest
    cdef double[::1] N
    rows = np.arange(m, dtype=np.int32)
    spare = np.empty(m, dtype=np.int32)
    table = np.empty((widest, K))
    place = np.empty(widest + 2, dtype=np.int64)
    rows_in = np.empty(widest, dtype=np.int64)
    cdef int32_t[::1] rows_view = rows, spare_view = spare
    cdef double[:, ::1] table_view = table
    cdef int64_t[::1] place_view = place, rows_in_view = rows_in
    j.rows_in, j.least, j.lightest = &rows_in_view[0], least, lightest
    j.criterion, j.m, j.d, j.K = criterion, m, d, K
    j.codes, j.arity, j.y = &codes[0, 0], &arity[0], &y[0]
    j.w = NULL
    if w is not None:
        j.w = &w[0]
    j.rows, j.spare, j.table, j.place = &rows_view[0], &spare_view[0], &table_view[0, 0], &place_view[0]
    cdef array.array feature = array.array("i", [-1]), rows_of = array.array("q", [m]), gains = array.array("d", [0.0])
    cdef array.array first = array.array("q", [-1]), values = array.array("d")
    root = np.bincount(y, weights=w, minlength=K).astype(np.float64)
    values.frombytes(root.tobytes())
    N = np.empty(K)
    stack = [(0, 0, m, 0, bytes(d))]
    cdef const uint8_t[::1] used
    while stack:
        PyErr_CheckSignals()
        node, start, end, depth, path = stack.pop()
        used = path
        present = 0
        for k in range(K):
            N[k] = values.data.as_doubles[node * K + k]
            present += N[k] > 0.0
        if present < 2 or end - start < min_split or depth >= max_depth:
            continue
        with nogil:
            f = choose(&j, start, end, &used[0], &N[0], &gain)
        if f < 0 or gain < min_gain:
            continue
        fill_table(&j, start, end, f)
        if alpha < 1.0 and significance(criterion, arity[f], K, j.table, &N[0]) > alpha:
            continue
        feature[node], gains[node], first[node] = f, gain, len(feature)
        below = path[:f] + b"\1" + path[f + 1:]
        with nogil:
            sort_range(&j, start, end, f)
        pending = []
        for v in range(arity[f]):
            at = len(feature)
            feature.append(-1)
            gains.append(0.0)
            first.append(-1)
            rows_of.append(j.place[v + 1] - j.place[v])
            if j.place[v + 1] > j.place[v]:
                values.frombytes(table[v].tobytes())
                pending.append((at, j.place[v], j.place[v + 1], depth + 1, below))
            else:
                values.frombytes(N.base.tobytes())
        stack.extend(reversed(pending))
    features, firsts = np.frombuffer(feature, np.int32), np.frombuffer(first, np.int64)
    return (features, np.frombuffer(rows_of, np.int64), np.frombuffer(values).reshape(-1, K), np.frombuffer(gains),
            firsts, preorder(features, firsts, arity))


cdef object preorder(const int32_t[::1] feature, const int64_t[::1] first, const int32_t[::1] arity):
    """The number of each node in preorder, from the sizes of the subtrees; children come after their parent."""
    cdef Py_ssize_t n = feature.shape[0], i, v
    cdef int64_t at
    sizes, places = np.ones(n, dtype=np.int64), np.zeros(n, dtype=np.int64)
    cdef int64_t[::1] size = sizes, place = places
    for i in range(n - 1, -1, -1):
        if feature[i] >= 0:
            for v in range(arity[feature[i]]):
                size[i] += size[first[i] + v]
    for i in range(n):
        if feature[i] >= 0:
            at = place[i] + 1
            for v in range(arity[feature[i]]):
                place[first[i] + v] = at
                at += size[first[i] + v]
    return places

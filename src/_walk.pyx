"""Sending rows down a tree: which leaf each reaches, and which nodes it passes.

The tree is flat: node i tests feature[i] (-1 for a leaf), its children are child[child_start[i]:child_start[i + 1]], and
its categories, where it has any, values[set_start[i]:set_start[i + 1]].  A row goes to

* THRESHOLD: child 0 if x <= threshold, else child 1;
* ONE: child 0 if x == threshold, else child 1;
* SUBSET: child 0 if x is among the categories, else child 1;
* MULTIWAY: the child beside its category;

and to child missing[i] where x is NaN or, in a multiway test, a category that the node has not seen.
Cost O(depth) per row, O(log C) at a node with C categories.
"""

from libc.stdint cimport int8_t, int32_t, int64_t

from radix cimport real_t

import numpy as np

cdef enum:
    THRESHOLD = 0
    ONE = 1
    SUBSET = 2
    MULTIWAY = 3


cdef struct Flat:
    const int32_t* feature
    const int8_t* test
    const double* threshold
    const int64_t* child_start
    const int64_t* child
    const int64_t* set_start
    const double* values
    const int32_t* missing
    int as_single           # compare after rounding to float32


cdef inline int64_t find(const Flat* t, int64_t node, double x) noexcept nogil:
    """Place of x among the ascending categories of a node, -1 if it is not there."""
    cdef int64_t low = t.set_start[node], high = t.set_start[node + 1], middle
    while low < high:
        middle = (low + high) // 2
        if t.values[middle] < x:
            low = middle + 1
        else:
            high = middle
    if low < t.set_start[node + 1] and t.values[low] == x:
        return low - t.set_start[node]
    return -1


cdef inline int64_t step_down(const Flat* t, int64_t node, double x) noexcept nogil:
    """The child that x goes to."""
    cdef int64_t place
    cdef int test = t.test[node]
    if t.as_single:
        x = <float> x
    if x != x:
        place = t.missing[node]
    elif test == THRESHOLD:
        place = 0 if x <= t.threshold[node] else 1
    elif test == ONE:
        place = 0 if x == t.threshold[node] else 1
    else:
        place = find(t, node, x)
        if test == SUBSET:
            place = 0 if place >= 0 else 1
        elif place < 0:
            place = t.missing[node]
    return t.child[t.child_start[node] + place]


def apply(const real_t[:, :] X, const int32_t[::1] feature, const int8_t[::1] test, const double[::1] threshold,
          const int64_t[::1] child_start, const int64_t[::1] child, const int64_t[::1] set_start,
          const double[::1] values, const int32_t[::1] missing, bint as_single):
    """The leaf of each row, and how many nodes (leaf included) it passes."""
    cdef Py_ssize_t m = X.shape[0], i
    cdef int64_t node, passed
    cdef Flat t
    leaves = np.empty(m, np.int64)
    lengths = np.empty(m, np.int64)
    cdef int64_t[::1] leaf = leaves, length = lengths
    if m == 0:
        return leaves, lengths
    t.feature, t.test, t.threshold, t.missing = &feature[0], &test[0], &threshold[0], &missing[0]
    t.child_start, t.set_start, t.as_single = &child_start[0], &set_start[0], as_single
    t.child = NULL
    t.values = NULL
    if child.shape[0]:
        t.child = &child[0]
    if values.shape[0]:
        t.values = &values[0]
    with nogil:
        for i in range(m):
            node = 0
            passed = 1
            while t.feature[node] >= 0:
                node = step_down(&t, node, X[i, t.feature[node]])
                passed += 1
            leaf[i] = node
            length[i] = passed
    return leaves, lengths


def path(const int64_t[::1] leaves, const int64_t[::1] lengths, const int64_t[::1] parent):
    """Nodes passed by each row, root first, one row after the other: (starts, nodes)."""
    cdef Py_ssize_t m = leaves.shape[0], i
    cdef int64_t node, at
    starts = np.zeros(m + 1, np.int64)
    np.cumsum(lengths, out=starts[1:])
    nodes = np.empty(int(starts[m]), np.int64)
    cdef int64_t[::1] start = starts, passed = nodes
    with nogil:
        for i in range(m):
            node = leaves[i]
            at = start[i + 1] - 1
            while at >= start[i]:
                passed[at] = node
                node = parent[node]
                at -= 1
    return starts, nodes

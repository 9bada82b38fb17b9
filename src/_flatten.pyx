"""Grown records as arrays in preorder: a node comes before its subtrees, the left one first.

Growing may create nodes in any order (best first, several threads); readers of a tree want one order.  The walk keeps
its own stack, so depth is limited by memory alone.
"""

from libc.stdint cimport int8_t, int32_t, int64_t
from libc.stdlib cimport free, malloc

import numpy as np

from outcome cimport Outcome, Record


cdef int64_t* preorder(const Outcome* o) except NULL nogil:
    """Record numbers in preorder, and after them the new number of each record."""
    cdef int64_t* order = <int64_t*> malloc(2 * o.count * sizeof(int64_t))
    cdef int64_t* place
    cdef int64_t* stack = <int64_t*> malloc((o.count + 2) // 2 * sizeof(int64_t) + 16)
    cdef int64_t top = 1, made = 0, at
    if order == NULL or stack == NULL:
        free(order)
        free(stack)
        with gil:
            raise MemoryError(f"expected {20 * o.count} bytes to order {o.count} nodes")
    place = order + o.count
    stack[0] = 0
    while top:
        top -= 1
        at = stack[top]
        order[made] = at
        place[at] = made
        made += 1
        if o.records[at].left >= 0:
            stack[top] = o.records[at].right
            stack[top + 1] = o.records[at].left
            top += 2
    free(stack)
    return order


cdef dict outcome_arrays(const Outcome* o):
    """All fields as arrays, in preorder; set_start and set_end are empty where there is no set."""
    cdef int64_t n = o.count, i, j, K = o.K
    cdef int64_t* order = preorder(o)
    cdef int64_t* place = order + n
    cdef Record* r
    out = {
        "feature": np.empty(n, np.int32), "test": np.empty(n, np.int8), "missing_left": np.empty(n, np.int8),
        "left": np.empty(n, np.int64), "right": np.empty(n, np.int64), "n_samples": np.empty(n, np.int64),
        "threshold": np.empty(n, np.float64), "gain": np.empty(n, np.float64), "value": np.empty((n, K), np.float64),
        "set_start": np.zeros(n if o.set_count else 0, np.int64), "set_end": np.zeros(n if o.set_count else 0, np.int64),
        "sets": np.empty(o.set_count, np.float64),
    }
    cdef int32_t[::1] feature = out["feature"]
    cdef int8_t[::1] test = out["test"], missing = out["missing_left"]
    cdef int64_t[::1] left = out["left"], right = out["right"], rows = out["n_samples"]
    cdef int64_t[::1] set_start = out["set_start"], set_end = out["set_end"]
    cdef double[::1] threshold = out["threshold"], gain = out["gain"], sets = out["sets"]
    cdef double[:, ::1] value = out["value"]
    with nogil:
        for i in range(n):
            r = o.records + order[i]
            if r.left < 0:
                # A node that best-first growing searched but did not split is a leaf.
                r.feature, r.test, r.missing_left, r.threshold, r.gain, r.set_end = -1, 0, -1, 0.0, 0.0, r.set_start
            feature[i], test[i], missing[i] = r.feature, r.test, r.missing_left
            left[i] = place[r.left] if r.left >= 0 else -1
            right[i] = place[r.right] if r.right >= 0 else -1
            rows[i], threshold[i], gain[i] = r.n, r.threshold, r.gain
            if o.set_count:
                set_start[i], set_end[i] = r.set_start, r.set_end
            for j in range(K):
                value[i, j] = o.values[order[i] * K + j]
        for i in range(o.set_count):
            sets[i] = o.sets[i]
        free(order)
    return out


def arrays(size_t address):
    """The arrays of the outcome at this address, which a kernel owns and keeps alive during the call."""
    return outcome_arrays(<const Outcome*> address)

"""Pessimistic pruning with surgery: keep a subtree, make it a leaf, or put its larger child in its place?

Martin and Hirschberg (1996), Figure 2, for trees of any arity. Of a subtree and the rows that reach it

    Eval(leaf)  = f(E, N)                       the binomial upper limit (src/binomial.pxd)
    Eval(node)  = min(AsIs, Pruned, Surgery),   AsIs = sum over children of N_c / N Eval(child, its rows),
                                                Pruned = f(E, N) of one leaf with the largest class,
                                                Surgery = Eval(the child with most rows, all rows of the node).

A node whose AsIs is not larger than both stays, and its children are looked at in turn. (As printed the routine returns
there and leaves them as they are, although AsIs counts on what becomes of them: a root that stays would keep a child that is
better a leaf.) Otherwise it becomes a leaf, or the larger child takes its place and is looked at again with all rows.

Leaves predict the class that most of their rows have (the first of equals); a leaf without rows keeps its label.

Rows are kept in one array; a node's rows are a span of it, which a test partitions in place. Eval costs, with H the height
and m the rows, O(m) in the best case and O(m 2^H) in the worst: surgery looks at every row of a node twice. Signals are
looked for every few hundred thousand steps of rows.
"""

from libc.stdint cimport int8_t, int32_t, int64_t, uint8_t

from cpython.exc cimport PyErr_CheckSignals

import numpy as np

from binomial cimport binomial_upper

cdef enum:
    THRESHOLD = 0
    ONE = 1
    SUBSET = 2
    SIGNAL_EVERY = 500_000  # rows partitioned between two looks at the signals


cdef inline double most_of(const double[::1] count) noexcept nogil:
    """The largest entry."""
    cdef Py_ssize_t c
    cdef double most = 0.0
    for c in range(count.shape[0]):
        most = max(most, count[c])
    return most


cdef class Surgeon:
    """Rows and a tree; ``run`` fills leaf marks and redirections."""

    cdef const double[:, :] X
    cdef const int32_t[::1] codes, feature, missing
    cdef const double[::1] weights, threshold, values
    cdef const int8_t[::1] test
    cdef const int64_t[::1] child_start, child, set_start, label
    cdef int64_t[::1] rows, spare
    cdef double[::1] count
    cdef uint8_t[::1] leaf
    cdef int64_t[::1] redirect
    cdef double cf
    cdef bint surgery, as_single
    cdef readonly int64_t steps  # rows partitioned
    cdef int64_t look

    def __cinit__(
        self, const double[:, :] X, const int32_t[::1] codes, const double[::1] weights, int64_t n_classes,
        const int32_t[::1] feature, const int8_t[::1] test, const double[::1] threshold,
        const int64_t[::1] child_start, const int64_t[::1] child, const int64_t[::1] set_start,
        const double[::1] values, const int32_t[::1] missing, const int64_t[::1] label, bint as_single, double cf,
        bint surgery,
    ):
        self.X, self.codes, self.weights, self.feature, self.test = X, codes, weights, feature, test
        self.threshold, self.child_start, self.child, self.set_start = threshold, child_start, child, set_start
        self.values, self.missing, self.label, self.as_single = values, missing, label, as_single
        self.cf, self.surgery, self.steps, self.look = cf, surgery, 0, 0
        self.rows, self.spare = np.arange(X.shape[0], dtype=np.int64), np.empty(X.shape[0], np.int64)
        self.count = np.zeros(n_classes)
        n = feature.shape[0]
        self.leaf = np.array(np.asarray(feature) < 0, dtype=np.uint8)
        self.redirect = np.arange(n, dtype=np.int64)

    cdef int64_t _place(self, int64_t node, double x) noexcept nogil:
        """Which child a value goes to, as src/_walk.pyx sends it."""
        cdef int64_t low, high, middle
        cdef int test = self.test[node]
        if self.as_single:
            x = <float> x
        if x != x:
            return self.missing[node]
        if test == THRESHOLD:
            return 0 if x <= self.threshold[node] else 1
        if test == ONE:
            return 0 if x == self.threshold[node] else 1
        low, high = self.set_start[node], self.set_start[node + 1]
        while low < high:
            middle = (low + high) // 2
            if self.values[middle] < x:
                low = middle + 1
            else:
                high = middle
        if low < self.set_start[node + 1] and self.values[low] == x:
            return 0 if test == SUBSET else low - self.set_start[node]
        return 1 if test == SUBSET else self.missing[node]

    cdef int _partition(self, int64_t node, int64_t first, int64_t last, int64_t* ends) except -1:
        """Put the rows of a span in order of the children they go to; ends[i] is where child i stops."""
        cdef int64_t width = self.child_start[node + 1] - self.child_start[node], i, place, at = first, row
        for place in range(width):
            ends[place] = 0
        for i in range(first, last):
            row = self.rows[i]
            self.spare[i] = self._place(node, self.X[row, self.feature[node]])
            ends[self.spare[i]] += 1
        # A stable counting sort: starts, then rows to their places.
        cdef int64_t[::1] copy = np.array(self.rows[first:last])
        for place in range(width):
            i, ends[place] = ends[place], at
            at += i
        for i in range(first, last):
            place = self.spare[i]
            self.rows[ends[place]] = copy[i - first]
            ends[place] += 1
        self.steps += last - first
        self.look += last - first + 1
        if self.look > SIGNAL_EVERY:
            self.look = 0
            PyErr_CheckSignals()
        return 0

    cdef double _leaf_value(self, int64_t first, int64_t last, double* weight) noexcept nogil:
        """N f(E, N) of a leaf with the largest class of these rows."""
        cdef int64_t i, c
        cdef double n = 0.0, most = 0.0
        for c in range(self.count.shape[0]):
            self.count[c] = 0.0
        for i in range(first, last):
            self.count[self.codes[self.rows[i]]] += self.weights[self.rows[i]] if self.weights.shape[0] else 1.0
        for c in range(self.count.shape[0]):
            n += self.count[c]
            most = max(most, self.count[c])
        weight[0] = n
        return n * binomial_upper(n - most, n, self.cf)

    cdef double _eval(self, int64_t node, int64_t first, int64_t last, double* parts) except? -1:
        """N Eval of a subtree on the rows of a span; with ``parts`` also AsIs, Pruned and Surgery, and the larger child."""
        cdef double n, as_is = 0.0, pruned = self._leaf_value(first, last, &n), surgery, most = -1.0, share
        cdef int64_t width = self.child_start[node + 1] - self.child_start[node], i, start = first, larger = 0
        if parts == NULL and most_of(self.count) == n:
            return pruned  # one class: N f(0, N) is concave in N and 0 at 0, so no partition of the rows has less
        if width == 0 or last == first:
            if parts != NULL:
                parts[0] = parts[1] = parts[2] = pruned
                parts[3] = -1
            return pruned
        cdef int64_t[::1] ends = np.empty(width, np.int64)
        self._partition(node, first, last, &ends[0])
        for i in range(width):
            as_is += self._eval(self.child[self.child_start[node] + i], start, ends[i], NULL)
            self._leaf_value(start, ends[i], &share)
            if share > most:
                most, larger = share, i
            start = ends[i]
        surgery = pruned
        if self.surgery:
            surgery = self._eval(self.child[self.child_start[node] + larger], first, last, NULL)
        if parts != NULL:
            parts[0], parts[1], parts[2], parts[3] = as_is, pruned, surgery, larger
        return min(as_is, pruned, surgery)

    cdef int _process(self, int64_t node, int64_t first, int64_t last, list log) except -1:
        """PostProc: decide for a node and, where it stays, for its children."""
        cdef double[4] parts
        cdef double room
        cdef int64_t width = self.child_start[node + 1] - self.child_start[node], i, start, into
        if width == 0:
            return 0
        self._eval(node, first, last, parts)
        room = 1e-12 * (parts[0] + 1e-300)
        if last == first or parts[0] > min(parts[1], parts[2]) + room:
            if last == first or parts[1] <= parts[2] + room:
                self.leaf[node] = 1
                log.append((node, parts[0], parts[1], parts[2], 1))
                return 0
            into = self.child[self.child_start[node] + <int64_t>parts[3]]
            log.append((node, parts[0], parts[1], parts[2], 2))
            self.redirect[node] = into
            return self._process(into, first, last, log)
        log.append((node, parts[0], parts[1], parts[2], 0))
        cdef int64_t[::1] ends = np.empty(width, np.int64)
        self._partition(node, first, last, &ends[0])
        start = first
        for i in range(width):
            self._process(self.child[self.child_start[node] + i], start, ends[i], log)
            start = ends[i]
        return 0

    def run(self):
        """Decide for every node; returns leaf marks, which node stands in the place of each, and what was compared."""
        cdef list log = []
        self._process(0, 0, self.rows.shape[0], log)
        return np.asarray(self.leaf), np.asarray(self.redirect), log

    def evaluate(self):
        """Eval of the whole tree: its expected errors; for measuring."""
        return self._eval(0, 0, self.rows.shape[0], NULL)

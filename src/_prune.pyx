"""Which nodes of a tree become leaves? The pruning rules that one walk from the leaves to the root decides.

A tree has n nodes and leaves, parents before their children; the children of v are child[child_start[v]:child_start[v+1]].
N(v) rows reach v, e(v) of them are errors if v is a leaf. A rule looks at each node after its children:

* srm (Yildiz 2012, 4.2): the subtree, with its errors and its VC dimension V, against a leaf, V = 1, both by
  E_g = E + (eps + sqrt(eps^2 + 4 E eps)) / 2, eps = a1 (V (ln(a2 N / V) + 1) - ln nu) / N   (Eq. 2 and 3);
  V is the larger of the single node's and the sum over the children (Theorems 4 to 6), or the regression of Aslan et al.
  (2009), or a number. The leaf wins if it is smaller.
* pessimistic (Quinlan 1993; Martin and Hirschberg 1996, Figure 2, without surgery): sum over the leaves of N(leaf) times
  the binomial upper limit of its error rate against that of one leaf. The subtree stays if it is not larger.
* holdout (reduced error): errors on other rows; the leaf wins ties.
* merge: children that are leaves with one label.
* insignificant: children that are leaves, and a split that chance makes with probability above alpha, by the same
  function as in growing (src/significance.pxd).

Cost: O(n), and O(n classes) for the last. Counting rows is one pass over them.

Pruning is written into ``leaf`` (1: a leaf now, or one before); nodes below a new leaf keep their marks and are out of
reach. What the rules report of a node (``size``: its leaves, ``errors``, ``vc``, ``bound``) is that of its subtree as it was
looked at, pruned below; a parent takes a node that has become a leaf as a leaf.
"""

from libc.math cimport INFINITY, log, log2, sqrt
from libc.stdint cimport int32_t, int64_t, uint8_t

import numpy as np

from binomial cimport binomial_upper
from significance cimport significance

cdef enum:
    SUMS = 0
    ASLAN = 1
    NUMBER = 2


def count_rows(
    const int64_t[::1] leaf, const int32_t[::1] codes, const double[::1] weights, const int64_t[::1] parent,
    double[:, ::1] counts,
):
    """Add every row to its leaf, and every node to its parent: weight of each class in each node."""
    cdef Py_ssize_t m = leaf.shape[0], n = counts.shape[0], k = counts.shape[1], i, c
    cdef bint plain = weights.shape[0] == 0
    with nogil:
        for i in range(m):
            counts[leaf[i], codes[i]] += 1.0 if plain else weights[i]
        for i in range(n - 1, 0, -1):
            for c in range(k):
                counts[parent[i], c] += counts[i, c]


def subtree_sums(const int64_t[::1] parent, const uint8_t[::1] leaf, double[::1] values):
    """Replace the value of every node that is not a leaf by the sum over the leaves below it."""
    cdef Py_ssize_t i
    with nogil:
        for i in range(values.shape[0]):
            if not leaf[i]:
                values[i] = 0.0
        for i in range(values.shape[0] - 1, 0, -1):
            values[parent[i]] += values[i]


cdef inline double srm_value(double errors, double rows, double v, double a1, double a2, double nu) noexcept nogil:
    """Eq. 2 and 3; V beyond a2 N counts as a2 N, and nu < 0 stands for 1 / sqrt(N), as in vcdim_core.srm_bound."""
    cdef double log_nu, eps, error = errors / rows
    if nu < 0.0:
        log_nu = -0.5 * log(rows) if rows >= 3.0 else -rows * 1.0986122886681098 / 6.0
    else:
        log_nu = log(nu)
    v = min(v, a2 * rows)
    eps = a1 * ((v * (log(a2 * rows / v) + 1.0) if v > 0.0 else 0.0) - log_nu) / rows
    return error + 0.5 * (eps + sqrt(eps * eps + 4.0 * error * eps))


cdef inline double aslan_value(double below, double n_nodes, double left) noexcept nogil:
    """The recursive regression of Aslan et al. (2009) with so many features left; 1 without features."""
    if left <= 0.0:
        return 1.0
    return 0.6076 + 1.0077 * below + 0.3657 * log2(left) - 0.8058 * log2(n_nodes)


def prune_srm(
    const int64_t[::1] child_start, const int64_t[::1] child, const double[::1] rows, const double[::1] leaf_errors,
    const double[::1] single, int kind, double a1, double a2, double nu,
    uint8_t[::1] leaf, int64_t[::1] size, double[::1] errors, double[::1] vc, double[::1] bound, double[::1] as_leaf,
):
    """Structural risk minimisation. ``single``: V of each node over leaves (kind 0), features left (1), or V (2)."""
    cdef Py_ssize_t v, i
    cdef double below, wrong
    cdef int64_t c, leaves
    with nogil:
        for v in range(rows.shape[0] - 1, -1, -1):
            size[v], errors[v], vc[v] = 1, leaf_errors[v], 1.0
            as_leaf[v] = srm_value(leaf_errors[v], rows[v], 1.0, a1, a2, nu) if rows[v] > 0.0 else 0.0
            bound[v] = as_leaf[v]
            if leaf[v]:
                continue
            below, wrong, leaves = 0.0, 0.0, 0
            for i in range(child_start[v], child_start[v + 1]):
                c = child[i]
                below += 1.0 if leaf[c] else vc[c]
                wrong += leaf_errors[c] if leaf[c] else errors[c]
                leaves += 1 if leaf[c] else size[c]
            if kind == SUMS:
                vc[v] = max(single[v], below if leaves > child_start[v + 1] - child_start[v] else 0.0)
            elif kind == ASLAN:
                vc[v] = aslan_value(below, <double>(leaves - 1), single[v])
            else:
                vc[v] = single[v]
            size[v], errors[v] = leaves, wrong
            if rows[v] <= 0.0:
                leaf[v] = 1
            else:
                bound[v] = srm_value(wrong, rows[v], vc[v], a1, a2, nu)
                leaf[v] = as_leaf[v] < bound[v]


def prune_pessimistic(
    const int64_t[::1] child_start, const int64_t[::1] child, const double[::1] rows, const double[::1] leaf_errors,
    double cf, uint8_t[::1] leaf, int64_t[::1] size, double[::1] errors, double[::1] bound, double[::1] as_leaf,
):
    """C4.5's rule; ``bound`` and ``as_leaf`` are expected errors N U(E, N)."""
    cdef Py_ssize_t v, i
    cdef int64_t c
    with nogil:
        for v in range(rows.shape[0] - 1, -1, -1):
            size[v], errors[v] = 1, leaf_errors[v]
            as_leaf[v] = rows[v] * binomial_upper(leaf_errors[v], rows[v], cf)
            bound[v] = as_leaf[v]
            if leaf[v]:
                continue
            bound[v], size[v], errors[v] = 0.0, 0, 0.0
            for i in range(child_start[v], child_start[v + 1]):
                c = child[i]
                bound[v] += as_leaf[c] if leaf[c] else bound[c]
                size[v] += 1 if leaf[c] else size[c]
                errors[v] += leaf_errors[c] if leaf[c] else errors[c]
            # The same sum by another way is the same number: ties stay.
            leaf[v] = bound[v] > as_leaf[v] * (1.0 + 1e-12)


def prune_holdout(
    const int64_t[::1] child_start, const int64_t[::1] child, const double[::1] as_leaf,
    uint8_t[::1] leaf, int64_t[::1] size, double[::1] bound,
):
    """Reduced-error pruning: ``as_leaf`` counts the errors of each node, as a leaf, on the rows put aside."""
    cdef Py_ssize_t v, i
    with nogil:
        for v in range(as_leaf.shape[0] - 1, -1, -1):
            size[v], bound[v] = 1, as_leaf[v]
            if leaf[v]:
                continue
            bound[v], size[v] = 0.0, 0
            for i in range(child_start[v], child_start[v + 1]):
                bound[v] += as_leaf[child[i]] if leaf[child[i]] else bound[child[i]]
                size[v] += 1 if leaf[child[i]] else size[child[i]]
            leaf[v] = as_leaf[v] <= bound[v] * (1.0 + 1e-12)


def merge_leaves(
    const int64_t[::1] child_start, const int64_t[::1] child, const int64_t[::1] label,
    uint8_t[::1] leaf, int64_t[::1] size, uint8_t[::1] merged,
):
    """Children that are all leaves with one label become one leaf, with that label: ``merged`` marks it."""
    cdef Py_ssize_t v, i, n = label.shape[0]
    cdef bint same
    cdef int64_t[::1] now = np.array(label)
    with nogil:
        for v in range(n - 1, -1, -1):
            size[v] = 1
            if leaf[v]:
                continue
            same, size[v] = True, 0
            for i in range(child_start[v], child_start[v + 1]):
                same = same and leaf[child[i]] and now[child[i]] == now[child[child_start[v]]]
                size[v] += 1 if leaf[child[i]] else size[child[i]]
            if same:
                leaf[v], merged[v], now[v] = 1, 1, now[child[child_start[v]]]
    return np.asarray(now)


def prune_insignificant(
    const int64_t[::1] child_start, const int64_t[::1] child, const double[:, ::1] counts, int criterion, double alpha,
    uint8_t[::1] leaf, int64_t[::1] size, double[::1] chance,
):
    """Splits into leaves that chance makes with probability above alpha; ``chance`` is NaN where none was computed."""
    cdef Py_ssize_t v, i, c, n = counts.shape[0], k = counts.shape[1], most = 2, width
    cdef bint low
    for v in range(n):
        most = max(most, child_start[v + 1] - child_start[v])
    cdef double[:, ::1] table = np.empty((most, k))
    with nogil:
        for v in range(n - 1, -1, -1):
            size[v], chance[v] = 1, INFINITY - INFINITY
            if leaf[v]:
                continue
            low, size[v], width = True, 0, child_start[v + 1] - child_start[v]
            for i in range(width):
                low = low and leaf[child[child_start[v] + i]]
                size[v] += 1 if leaf[child[child_start[v] + i]] else size[child[child_start[v] + i]]
            if not low:
                continue
            for i in range(width):
                for c in range(k):
                    table[i, c] = counts[child[child_start[v] + i], c]
            chance[v] = significance(criterion, width, k, &table[0, 0], &counts[v, 0])
            leaf[v] = chance[v] > alpha


def upper_limits(const double[::1] errors, const double[::1] rows, double cf, double[::1] out):
    """The binomial upper limit of each pair."""
    cdef Py_ssize_t i
    for i in range(out.shape[0]):
        out[i] = binomial_upper(errors[i], rows[i], cf)


def kept_nodes(const int64_t[::1] child_start, const int64_t[::1] child, const uint8_t[::1] leaf):
    """The nodes that can still be reached, in preorder."""
    cdef int64_t n = leaf.shape[0], top = 1, at = 0, v, i
    kept = np.empty(n, np.int64)
    cdef int64_t[::1] out = kept, stack = np.zeros(n, np.int64)
    with nogil:
        while top:
            top -= 1
            v = stack[top]
            out[at] = v
            at += 1
            if not leaf[v]:
                for i in range(child_start[v + 1] - 1, child_start[v] - 1, -1):
                    stack[top] = child[i]
                    top += 1
    return kept[:at]

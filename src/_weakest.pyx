"""In which order does cost-complexity pruning take the nodes, and what do trees look like on the way?

R(v) is the risk of v as a leaf, R(T_v) the sum over the leaves below v, |T_v| their number. The weakest link is the node
with the smallest

    g(v) = (R(v) - R(T_v)) / (|T_v| - 1)

(or |T_v| the number of nodes and leaves together, which orders binary trees alike); it becomes a leaf at alpha = g(v), and with it alpha never falls (Breiman, Friedman, Olshen and Stone 1984, chapter 3).
The trees of this sequence are the smallest minimisers of R(T) + alpha |T| for every alpha, and so the corners of the
lower convex hull of all pruned trees in the plane of size and risk. A function that never falls with the risk and is
concave in (size, risk) has its minimum over all pruned trees at one of these corners: the bound of minimum description
length is such a function.

A collapse changes g of the ancestors only. A tournament over the nodes keeps the smallest g on top, the first node of
equals, which is never below another one of them: O(depth log n) for each collapse.
"""

from libc.math cimport INFINITY
from libc.stdint cimport int64_t

from cpython.exc cimport PyErr_CheckSignals

import numpy as np


cdef inline void _put(double* best, int64_t* who, int64_t base, int64_t v, double g) noexcept nogil:
    """Set g(v) and replay its matches."""
    cdef int64_t i = base + v
    best[i] = g
    i >>= 1
    while i >= 1:
        if best[2 * i] <= best[2 * i + 1]:
            best[i], who[i] = best[2 * i], who[2 * i]
        else:
            best[i], who[i] = best[2 * i + 1], who[2 * i + 1]
        i >>= 1


cdef inline double _link(double own, double below, int64_t leaves, double scale) noexcept nogil:
    """g of a node; what is below zero by rounding only is zero."""
    cdef double g = (own - below) / <double>(leaves - 1)
    return 0.0 if -1e-12 * scale < g < 1e-12 * scale else g


def weakest_links(
    const int64_t[::1] parent, const int64_t[::1] child_start, const int64_t[::1] child, const double[::1] risk,
    bint nodes_too, int64_t[::1] order, double[::1] alphas,
):
    """Fill the nodes in the order in which they collapse and their alphas; returns how many do."""
    cdef int64_t n = risk.shape[0], base = 1, v, u, i, at = 0, top, cut
    cdef double drop, alpha = 0.0, scale = 0.0
    while base < n:
        base *= 2
    cdef double[::1] best = np.full(2 * base, INFINITY), below = np.array(risk)
    cdef int64_t[::1] who = np.zeros(2 * base, np.int64), leaves = np.ones(n, np.int64), stack = np.zeros(n, np.int64)
    with nogil:
        for v in range(base):
            who[base + v] = v
        for v in range(n):
            scale = max(scale, abs(risk[v]))
        for v in range(n - 1, -1, -1):
            if child_start[v] == child_start[v + 1]:
                continue
            below[v], leaves[v] = 0.0, nodes_too
            for i in range(child_start[v], child_start[v + 1]):
                below[v] += below[child[i]]
                leaves[v] += leaves[child[i]]
            best[base + v] = _link(risk[v], below[v], leaves[v], scale)
        for i in range(base - 1, 0, -1):
            u = 2 * i if best[2 * i] <= best[2 * i + 1] else 2 * i + 1
            best[i], who[i] = best[u], who[u]
        while best[1] < INFINITY:
            v = who[1]
            alpha = max(alpha, best[1])
            order[at], alphas[at] = v, alpha
            at += 1
            if at % 4096 == 0:
                with gil:
                    PyErr_CheckSignals()
            drop, cut = risk[v] - below[v], leaves[v] - 1
            top, stack[0] = 1, v
            while top:  # v and every node below it are out of the game
                top -= 1
                u = stack[top]
                if best[base + u] < INFINITY:
                    _put(&best[0], &who[0], base, u, INFINITY)
                    for i in range(child_start[u], child_start[u + 1]):
                        stack[top] = child[i]
                        top += 1
            below[v], leaves[v] = risk[v], 1
            u = parent[v]
            while u >= 0:
                below[u] += drop
                leaves[u] -= cut
                _put(&best[0], &who[0], base, u, _link(risk[u], below[u], leaves[u], scale))
                u = parent[u]
    return at


def after_each(
    const int64_t[::1] parent, const int64_t[::1] child_start, const int64_t[::1] child, const double[::1] leaf_errors,
    const double[::1] single, const int64_t[::1] order, int64_t[::1] leaves, int64_t[::1] total, double[::1] errors,
    double[::1] vc,
):
    """Leaves, nodes and leaves together, errors and VC bound (sums over children) of the whole tree as it is, and after each
    collapse of ``order``."""
    cdef int64_t n = leaf_errors.shape[0], v, u, i, at
    cdef int64_t[::1] size = np.ones(n, np.int64), both = np.ones(n, np.int64)
    cdef double[::1] wrong = np.array(leaf_errors), value = np.ones(n)
    with nogil:
        for v in range(n - 1, -1, -1):
            if child_start[v] != child_start[v + 1]:
                _sum_up(v, child_start, child, single, size, both, wrong, value)
        leaves[0], total[0], errors[0], vc[0] = size[0], both[0], wrong[0], value[0]
        for at in range(order.shape[0]):
            v = order[at]
            size[v], both[v], wrong[v], value[v] = 1, 1, leaf_errors[v], 1.0
            u = parent[v]
            while u >= 0:
                _sum_up(u, child_start, child, single, size, both, wrong, value)
                u = parent[u]
            leaves[at + 1], total[at + 1], errors[at + 1], vc[at + 1] = size[0], both[0], wrong[0], value[0]


cdef inline void _sum_up(
    int64_t v, const int64_t[::1] child_start, const int64_t[::1] child, const double[::1] single,
    int64_t[::1] size, int64_t[::1] both, double[::1] wrong, double[::1] value,
) noexcept nogil:
    """Leaves, errors and VC bound of a node from those of its children."""
    cdef int64_t i, width = child_start[v + 1] - child_start[v]
    size[v], both[v], wrong[v], value[v] = 0, 1, 0.0, 0.0
    for i in range(child_start[v], child_start[v + 1]):
        size[v] += size[child[i]]
        both[v] += both[child[i]]
        wrong[v] += wrong[child[i]]
        value[v] += value[child[i]]
    value[v] = max(single[v], value[v] if size[v] > width else 0.0)

"""How many labellings can a structure realise on m points of real features, at most? The chain bound.

Letters: m points, l real features, n classes, a structure T with children x and y; n sigma_T(m) bounds the number of
labellings. g and v = sigma - g as in vcdim_core/_chain.py, where the bound is stated and proved:

    sigma_T(m) = sigma_y(m) + (n - 1) sum over 1 <= k < m of min(2 l, C(m, k)) sigma_x(k) v_y(m - k),

and the same with x and y exchanged; the smallest of both and of other bounds that are handed in. For x = y every
unordered split is charged once. sigma and v are rounded up and g down (src/scaled.pxd), so the result is never below
the exact one.

Cost: O(m^2) products for each node, O(m) if a child is a leaf. Signals are looked for every few hundred thousand
products.
"""

from libc.math cimport ceil, frexp, ldexp
from libc.stdint cimport int32_t, int64_t, uint64_t

from cpython.exc cimport PyErr_CheckSignals

from scaled cimport (
    SIGNAL_EVERY, Blocks, Ends, Scaled, Weights, _add_terms, blocks_at, blocks_dot, blocks_fill, blocks_free,
    ends_choose, pair_sum, prefix_sum, scaled_add, scaled_is_exact, scaled_less, scaled_raise_up, scaled_store,
    weights_at, weights_fill,
)

cdef double ULP = 2.220446049250313e-16  # 2**-52


# Every unordered split charged once.


cdef Scaled _halved_sum(const Blocks* x, const Blocks* y, const Weights* w) noexcept nogil:
    """Sum over 1 <= k < m of w(m, k) x(k) y(m - k) where w charges every unordered split once.

    w(m, k) = C(m, k) for the k from the left where that is below the cap, 0 for those on the right, and cap / 2 in
    between; if all are below the cap, C(m, k) for k < m / 2 and half of it for k = m / 2.
    """
    cdef Scaled total, middle
    cdef int64_t first = 1, m = w.m
    cdef uint64_t cap = w.cap
    total.value, total.e = 0.0, 0
    while first <= m // 2 and (w.direct or first < w.n_ends) and weights_at(w, first) < <double>cap:
        first += 1
    _add_terms(&total, x, y, w, 1, min(first - 1, (m - 1) // 2))
    if first <= m // 2:
        middle = blocks_dot(x, y, m, first, m - first)
        scaled_add(&total, <double>(cap // 2) * middle.value, middle.e)
    elif m % 2 == 0:
        middle = blocks_at(x, m // 2)
        scaled_add(
            &total, weights_at(w, m // 2) * 0.5 * (middle.value * blocks_at(y, m // 2).value),
            middle.e + blocks_at(y, m // 2).e,
        )
    return total


# The chain bound, for one node.


cdef inline Scaled _lower_down(Scaled a) noexcept nogil:
    """A lower bound after two roundings: nothing to do below 2**53."""
    if not scaled_is_exact(a):
        a.value *= 1.0 - 4.0 * ULP
    return a


def raise_changes(double[::1] gm, int32_t[::1] ge, int64_t n_more, double n_classes):
    """Turn the row g_N into g_{N + n_more}, where g_N(b) = sum over i < N of C(b-1, i) (n-1)**i, rounded down; g_0 = 0.

    So many labellings of b points in a row have fewer than N changes of label, the first label being given. By
    Pascal's rule g_N(b) = g_N(b-1) + (n-1) g_{N-1}(b-1), g_N(1) = 1, one pass over the row for each N.
    """
    cdef int64_t size = gm.shape[0], b, i
    cdef Scaled now, before
    cdef double value
    cdef int64_t e
    with nogil:
        for i in range(n_more):
            before.value, before.e = gm[0], ge[0]
            for b in range(1, size):
                # before: the value for one node less at b - 1; the row to the left of b is already the new one.
                value, e = gm[b], ge[b]
                if b == 1:
                    now.value, now.e = 1.0, 0
                else:
                    now.value, now.e = gm[b - 1], ge[b - 1]
                    if before.value != 0.0 and before.e - now.e > -500:
                        scaled_add(&now, (n_classes - 1.0) * before.value, before.e)
                    now = _lower_down(now)
                scaled_store(now, &gm[b], &ge[b])
                before.value, before.e = value, e
            if i % 16 == 0:
                with gil:
                    PyErr_CheckSignals()


def subtract_up(
    const double[::1] xm, const int32_t[::1] xe, const double[::1] ym, const int32_t[::1] ye,
    double[::1] zm, int32_t[::1] ze,
):
    """Fill z = max(0, x - y), rounded up: x rounded up and y rounded down before, both integers below 2**53."""
    cdef int64_t i
    cdef double value
    cdef Scaled a
    for i in range(zm.shape[0]):
        value = xm[i]
        if ye[i] - xe[i] > -500:
            value -= ldexp(ym[i], min(ye[i] - xe[i], 900))
        a.value, a.e = max(0.0, value), xe[i]
        if xe[i] > 53:
            a.value += ULP  # one rounding of a number below 1
            if scaled_is_exact(a):
                a.value, a.e = ceil(ldexp(a.value, <int>a.e)), 0
        scaled_store(a, &zm[i], &ze[i])


# One node of the chain bound; everything but the blocks is borrowed.
cdef struct Link:
    Blocks* sigma  # sigma of x, then of y
    Blocks* single  # v of x, then of y
    bint* is_leaf
    Scaled* prefix
    int64_t* done
    Ends ends
    double n_classes


cdef Scaled link_value(Link* link, int x, int y, const Weights* w) noexcept nogil:
    """sigma_y(m) + (n - 1) sum over k of min(2 l, C(m, k)) sigma_x(k) v_y(m - k)."""
    cdef Scaled total, base = blocks_at(&link.sigma[y], w.m)
    if link.is_leaf[y]:
        total = prefix_sum(&link.sigma[x], &link.prefix[x], &link.done[x], w, 1, 1)
    elif link.is_leaf[x]:
        total = prefix_sum(&link.single[y], &link.prefix[2 + y], &link.done[2 + y], w, 1, 1)
    else:
        total = pair_sum(&link.sigma[x], &link.single[y], w, 1, 1, False)
    total.value *= link.n_classes - 1.0
    scaled_add(&total, base.value, base.e)
    return scaled_raise_up(total, 2.0 * w.m + 100.0)


cdef Scaled link_value_same(Link* link, const Weights* w) noexcept nogil:
    """The chain bound for two equal children, every unordered split charged once."""
    cdef Scaled total = _halved_sum(&link.sigma[0], &link.single[0], w), base = blocks_at(&link.sigma[0], w.m)
    total.value *= link.n_classes - 1.0
    scaled_add(&total, base.value, base.e)
    return scaled_raise_up(total, 2.0 * w.m + 100.0)


cdef int _fill_chain(
    Link* link, const double[:, ::1] tm, const int32_t[:, ::1] te, double[::1] zm, int32_t[::1] ze, double[::1] ratio,
    bint same, int64_t n_leaves, int64_t m0,
) except -1 nogil:
    """The loop over m of extend_chain; looks for signals."""
    cdef int64_t m, i, work = 0
    cdef int e
    cdef double f
    cdef Scaled best, other
    cdef Weights w
    for m in range(m0, zm.shape[0]):
        best.value, best.e = tm[0, m], te[0, m]
        if m > n_leaves:
            for i in range(1, tm.shape[0]):
                other.value, other.e = tm[i, m], te[i, m]
                if scaled_less(other, best):
                    best = other
            weights_fill(&w, m, &link.ends)
            other = link_value_same(link, &w) if same else link_value(link, 0, 1, &w)
            if scaled_less(other, best):
                best = other
            if not same:
                other = link_value(link, 1, 0, &w)
                if scaled_less(other, best):
                    best = other
        f = frexp(best.value, &e)
        ratio[m] = ldexp(f, <int>max(-1000, min(1000, best.e + e - (m - 1))))
        scaled_store(best, &zm[m], &ze[m])
        work += 2 * m
        if work > SIGNAL_EVERY:
            work = 0
            with gil:
                PyErr_CheckSignals()
    return 0


def extend_chain(
    const double[:, ::1] sm, const int32_t[:, ::1] se, const double[:, ::1] vm, const int32_t[:, ::1] ve,
    const double[:, ::1] tm, const int32_t[:, ::1] te, double[::1] zm, int32_t[::1] ze, double[::1] ratio,
    bint x_is_leaf, bint y_is_leaf, bint same, int64_t n_leaves, uint64_t cap, double n_classes, int64_t m0,
):
    """Fill columns m0 .. end of sigma of a node, by the chain bound in both orders.

    Parameters
    ----------
    sm, se, vm, ve : arrays of shape (2, points + 1)
        sigma and v = sigma - g of both children.
    tm, te : arrays of shape (limits, points + 1)
        Other bounds on sigma; the smallest value wins. The first is n**(m-1), the number of all labellings, and is
        taken as it is for m <= n_leaves.
    zm, ze, ratio : arrays of points + 1
        sigma of the node, and sigma / 2**(m-1).
    cap : int
        Twice the number of real features.
    """
    cdef int64_t size = zm.shape[0], i
    cdef Link link
    cdef Blocks[4] blocks
    cdef bint[2] is_leaf
    cdef Scaled[4] prefix
    cdef int64_t[4] done
    for i in range(4):
        blocks[i].s, blocks[i].e = NULL, NULL
        prefix[i].value, prefix[i].e, done[i] = 0.0, 0, 0
    is_leaf[0], is_leaf[1] = x_is_leaf, y_is_leaf
    link.sigma, link.single, link.is_leaf, link.prefix, link.done = blocks, blocks + 2, is_leaf, prefix, done
    link.n_classes = n_classes
    try:
        with nogil:
            link.ends = ends_choose(cap)
            for i in range(2):
                blocks_fill(&blocks[i], &sm[i, 0], &se[i, 0], size)
                blocks_fill(&blocks[2 + i], &vm[i, 0], &ve[i, 0], size)
            _fill_chain(&link, tm, te, zm, ze, ratio, same, n_leaves, m0)
    finally:
        for i in range(4):
            blocks_free(&blocks[i])

"""Caps on the numbers of partitions where only their sums over labellings are at hand.

U^n(m) = sum over c of (n)_c pi^c(m) is known for n = 2 .. C, where pi^c is the number of c-partitions of m points that
Theorem 9 of Leboeuf et al. (2020) gives before its cap, and pi^1 is the number of splits. So

    c! pi^c = U^c - sum over a < c of (c)_a pi^a,      then      P^n = sum over c of (n)_c min(pi^c, S(m, c)),  pi^1 = 1.

All in logarithms to base 2. A column in which no pi^c can reach its Stirling number, as U^c / c! is below it, is left
alone. Terms below 2^-60 of the sum are left out. Cost: O(C^2) exponentials for each column that is capped.
"""

from libc.math cimport INFINITY, exp2, log2
from libc.stdint cimport int64_t

from cpython.exc cimport PyErr_CheckSignals

import numpy as np

cdef double LOST = -60.0  # powers of two below which a term of a sum does not count


cdef inline double rest_of(const double[:, ::1] falling, const double* free, int64_t c, double u) noexcept nogil:
    """Share of U^c that partitions into fewer parts make."""
    cdef int64_t a
    cdef double total = 0.0, term
    for a in range(1, c):
        term = falling[c, a] + free[a] - u
        if term > LOST:
            total += exp2(min(term, 0.0))
    return total


cdef bint solve(
    const double[:, ::1] falling, const double* u, double splits, int64_t parts, const double* caps, double* free,
) noexcept nogil:
    """Fill log2 pi^1 .. pi^parts, capped; false if no cap can bind. u[n] and caps[c] are log2 U^n and log2 S(m, c)."""
    cdef int64_t c
    cdef bint binds = False
    for c in range(2, parts + 1):
        binds = binds or u[c] - falling[c, c] > caps[c]
    if not binds:
        return False
    free[1] = log2(max(splits, 1.0))
    for c in range(2, parts + 1):
        free[c] = -INFINITY
        if u[c] > -INFINITY:
            free[c] = u[c] + log2(max(1.0 - rest_of(falling, free, c, u[c]), 1e-300)) - falling[c, c]
    # Only now: the equations hold for the numbers before their caps.
    free[1] = 0.0
    for c in range(2, parts + 1):
        free[c] = min(free[c], caps[c])
    return True


cdef inline double sum_of(
    const double[:, ::1] falling, const double* free, int64_t n, int64_t parts, double shift,
) noexcept nogil:
    """2^-shift times the sum over c of (n)_c 2^free[c]."""
    cdef int64_t c
    cdef double top = -INFINITY, total = 0.0
    for c in range(1, min(n, parts) + 1):
        top = max(top, falling[n, c] + free[c])
    for c in range(1, min(n, parts) + 1):
        if falling[n, c] + free[c] - top > LOST:
            total += exp2(falling[n, c] + free[c] - shift)
    return total


def cap_parts(
    double[:, :] values, const double[:, :] sums, const double[:] splits, const double[::1] scale, int64_t first,
    double tilt, int64_t size, const double[:, :] caps, const double[:, ::1] falling,
):
    """Replace P^n in columns first, first + 1, ... where caps bind.

    Parameters
    ----------
    values, sums : arrays of shape (C - 1, columns)
        P^n and U^n times 2**-(scale[n-2] + tilt m).
    splits : array
        pi^1 before it is put right.
    size : int
        Number of leaves; columns m <= size are left alone, and there are no more parts than leaves.
    caps : array of shape (C, columns)
        log2 S(m, c) at [c-1, column].
    falling : array of shape (C + 1, C + 1)
        log2 (n)_a at [n, a].
    """
    cdef int64_t n_classes = values.shape[0] + 1, parts = min(n_classes, size), j, n, m
    cdef double[::1] u = np.empty(n_classes + 1), free = np.empty(n_classes + 1), top = np.empty(n_classes + 1)
    with nogil:
        for j in range(values.shape[1]):
            m = first + j
            if m <= size:
                continue
            for n in range(2, n_classes + 1):
                u[n] = log2(sums[n - 2, j]) + scale[n - 2] + tilt * m if sums[n - 2, j] > 0.0 else -INFINITY
                top[n] = caps[n - 1, j]
            if solve(falling, &u[0], splits[j], parts, &top[0], &free[0]):
                for n in range(2, n_classes + 1):
                    values[n - 2, j] = sum_of(falling, &free[0], n, parts, scale[n - 2] + tilt * m)
            if j % 4096 == 4095:
                with gil:
                    PyErr_CheckSignals()

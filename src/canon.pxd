"""One sample per orbit: the canonical last point of a sample of the cube.

The group. Permuting features maps shattered samples to shattered samples, and so, when the orientation is free, does complementing
a feature. A sample is a set R of points of {0,1}^d; its images under that group G are its *orbit*. |G| = d! (fixed) or 2^d d! (free).

Canonical augmentation (McKay, Isomorph-free exhaustive generation, J. Algorithms 26, 1998). Every sample R gets one
*last point* up to automorphisms of R, by a rule that does not look at names: last(g R) = g last(R). A search that
extends each orbit's representative Q by every point x, keeps Q + x only where x is a last point of Q + x, and drops
repetitions among the children of one Q (which occur only if Q has automorphisms) meets every orbit exactly once.

The rule. Each point p of R gets a key (s(p), s2(p), form(p)); the points with the smallest key are the last ones.

    s(p)    = sum over q in R of a hash of the pair (p, q)        -- free: of their Hamming distance
    s2(p)   = sum over q in R of a hash of s(q) and the pair
    form(p) = the smallest image of (R, p) under permutations of the features, after moving p to the origin (free)

Two points of R have the same key iff an automorphism of R takes one to the other, because form(p) = form(q) exhibits it.
s and s2 are hashes: a collision costs time, never correctness. form is computed by colour refinement on features, and
branching where colours tie (McKay & Piperno 2014); features whose exchange preserves the set are tried once.
"""

from libc.stdint cimport uint16_t, uint32_t, uint64_t
from libc.string cimport memcmp, memcpy

from lanes cimport bits_count, bits_low
from scalars cimport MAX_FEATURES, MAX_POINTS


cdef struct Canon:
    int d
    int n                                    # points
    uint16_t rows[MAX_POINTS]                # the sample, the marked point first, moved to the origin if free
    uint64_t seeds[MAX_POINTS]               # initial colour of each row
    uint16_t best[MAX_POINTS]                # smallest form so far: the marked row, then the others sorted
    bint found                               # best is set
    uint64_t n_automorphisms                 # permutations of the features that give best


cdef inline uint64_t mix(uint64_t x) noexcept nogil:
    x ^= x >> 32
    x *= <uint64_t>0xD6E8FEB86659FD93
    x ^= x >> 29
    return x * <uint64_t>0x9E3779B97F4A7C15


cdef inline uint64_t pair_hash(uint32_t p, uint32_t q, bint fixed) noexcept nogil:
    """A hash of the orbit of the ordered pair (p, q)."""
    if fixed:
        return mix(1 + bits_count(p & q) + 32 * bits_count(p) + 1024 * bits_count(q))
    return mix(1 + bits_count(p ^ q))


cdef inline void canon_refine(Canon* canon, uint64_t* colours, int rounds) noexcept nogil:
    """Colour each row by its features, then each feature by its rows, `rounds` times."""
    cdef uint64_t sums[MAX_FEATURES]
    cdef uint64_t colour
    cdef uint32_t row
    cdef int i, j, k
    for k in range(rounds):
        for j in range(canon.d):
            sums[j] = colours[j]
        for i in range(canon.n):
            colour = canon.seeds[i]
            row = canon.rows[i]
            while row:
                colour += colours[bits_low(row)]
                row &= row - 1
            colour = mix(colour)
            row = canon.rows[i]
            while row:
                sums[bits_low(row)] += colour
                row &= row - 1
        for j in range(canon.d):
            colours[j] = mix(sums[j])


cdef inline void canon_leaf(Canon* canon, const int* order, uint64_t multiplicity) noexcept nogil:
    """Compare the form under this order of the features with the best one."""
    cdef uint16_t form[MAX_POINTS]
    cdef int place[MAX_FEATURES]
    cdef uint32_t row, image
    cdef int i, j, c
    for j in range(canon.d):
        place[order[j]] = j
    for i in range(canon.n):
        row = canon.rows[i]
        image = 0
        while row:
            image |= <uint32_t>1 << place[bits_low(row)]
            row &= row - 1
        j = i
        while j > 1 and form[j - 1] > image:          # insertion sort behind the marked row
            form[j] = form[j - 1]
            j -= 1
        form[j] = <uint16_t>image
    c = -1
    if canon.found:
        c = memcmp(form, canon.best, canon.n * sizeof(uint16_t))
    if c < 0:
        memcpy(canon.best, form, canon.n * sizeof(uint16_t))
        canon.found = True
        canon.n_automorphisms = multiplicity
    elif c == 0:
        canon.n_automorphisms += multiplicity


cdef inline bint exchange_is_symmetry(Canon* canon, int a, int b) noexcept nogil:
    """Whether exchanging features a and b maps the set of rows to itself (and the marked row to itself)."""
    cdef uint32_t swap = (<uint32_t>1 << a) | (<uint32_t>1 << b)
    cdef uint32_t row
    cdef int i, j
    for i in range(canon.n):
        row = canon.rows[i]
        if ((row >> a) ^ (row >> b)) & 1:
            if i == 0:
                return False
            row ^= swap
            for j in range(canon.n):
                if canon.rows[j] == row:
                    break
            else:
                return False
    return True


cdef inline void canon_branch(Canon* canon, const uint64_t* colours, int rounds, uint64_t multiplicity) noexcept nogil:
    """Refine; at a tie give each feature of the first tied cell, up to exchanges, a colour of its own in turn."""
    cdef uint64_t own[MAX_FEATURES]
    cdef int order[MAX_FEATURES]
    cdef int tried[MAX_FEATURES]
    cdef int copies[MAX_FEATURES]
    cdef int i, j, k, n_tried, start, stop, d = canon.d
    cdef uint64_t colour
    memcpy(own, colours, d * sizeof(uint64_t))
    canon_refine(canon, own, rounds)
    for i in range(d):
        j = i
        colour = own[i]
        while j > 0 and own[order[j - 1]] > colour:
            order[j] = order[j - 1]
            j -= 1
        order[j] = i
    start = 0
    while start + 1 < d and own[order[start]] != own[order[start + 1]]:
        start += 1
    if start + 1 >= d:
        canon_leaf(canon, order, multiplicity)
        return
    stop = start + 1
    while stop < d and own[order[stop]] == own[order[start]]:
        stop += 1
    n_tried = 0
    for i in range(start, stop):
        for k in range(n_tried):
            if exchange_is_symmetry(canon, tried[k], order[i]):
                copies[k] += 1
                break
        else:
            tried[n_tried] = order[i]
            copies[n_tried] = 1
            n_tried += 1
    for k in range(n_tried):
        colour = own[tried[k]]
        own[tried[k]] = colour ^ <uint64_t>0x5851F42D4C957F2D
        canon_branch(canon, own, 1, multiplicity * copies[k])
        own[tried[k]] = colour


cdef inline void canon_form(Canon* canon, int d, const uint16_t* points, int n, int marked, bint fixed) noexcept nogil:
    """form(points[marked]) into canon.best, with the number of permutations of the features that give it."""
    cdef uint64_t colours[MAX_FEATURES]
    cdef uint16_t origin = 0 if fixed else points[marked]
    cdef int i, j = 1
    canon.d = d
    canon.n = n
    canon.found = False
    canon.n_automorphisms = 0
    canon.rows[0] = points[marked] ^ origin
    canon.seeds[0] = 1
    for i in range(n):
        if i != marked:
            canon.rows[j] = points[i] ^ origin
            canon.seeds[j] = 2
            j += 1
    for i in range(d):
        colours[i] = 3
    canon_branch(canon, colours, 2, 1)

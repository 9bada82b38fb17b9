"""One sample per orbit: canonical forms of samples of the cube, and the canonical last point.

The group. Permuting features maps shattered samples to shattered samples, and so, when the orientation is free, does complementing
a feature. A sample is a set R of points of {0,1}^d; its images under that group G are its *orbit*. |G| = d! (fixed) or 2^d d! (free).

Keys. Each point p of R gets a key (s(p), s2(p), form(p)):

    s(p)    = sum over q in R of a hash of the pair (p, q)        -- free: of their Hamming distance
    s2(p)   = sum over q in R of a hash of s(q) and the pair
    form(p) = the smallest image of (R, p) under permutations of the features, after moving p to the origin (free)

The points with the smallest key are the *last points* of R, and their form is the *canonical form* of R. Keys do not
depend on names, and two points have the same key iff an automorphism of R takes one to the other, because form(p) = form(q)
exhibits it. s and s2 are hashes: a collision costs time, never correctness. form is found by colour refinement on features, with
branching where colours tie (McKay & Piperno, Practical graph isomorphism II, 2014); features whose exchange preserves the
set are tried once.

Canonical augmentation (McKay, Isomorph-free exhaustive generation, J. Algorithms 26, 1998). A search that extends one
representative Q of each orbit by every point x, keeps Q + x only where x is a last point of Q + x, and drops
repetitions among the children of one Q (which occur only if Q has automorphisms) meets every orbit exactly once.
"""

from libc.stdint cimport uint16_t, uint32_t, uint64_t
from libc.string cimport memcmp, memcpy

from bitlane cimport bits_count
from scalars cimport MAX_FEATURES, MAX_POINTS


cdef enum:
    MAX_GENERATORS = 64

# A map of the cube: complement the features of `base`, then move feature j to place[j].
cdef struct CubeMap:
    uint16_t base
    unsigned char place[MAX_FEATURES]

cdef struct Canon:
    int d
    bint fixed
    int n                                    # points
    uint16_t rows[MAX_POINTS]                # the sample, the marked point first, moved to the origin if free
    uint64_t seeds[MAX_POINTS]               # initial colour of each row
    uint16_t best[MAX_POINTS]                # smallest form so far: the marked row, then the others sorted
    CubeMap map                              # takes the sample to best
    bint found                               # best is set
    uint64_t n_automorphisms                 # maps that take the sample to best
    uint64_t pair_hashes[MAX_FEATURES + 1]   # by Hamming distance
    const uint16_t* goal                     # not NULL: collect the maps that take the sample to this form ...
    int n_generators                         # ... and exchanges of features that are symmetries; together they generate
    CubeMap generators[MAX_GENERATORS]       #     the automorphism group; more than MAX_GENERATORS are only counted


cdef inline uint64_t mix(uint64_t x) noexcept nogil:
    x ^= x >> 32
    x *= <uint64_t>0xD6E8FEB86659FD93
    x ^= x >> 29
    return x * <uint64_t>0x9E3779B97F4A7C15


cdef inline void canon_init(Canon* canon, int d, bint fixed) noexcept nogil:
    cdef int i
    canon.d = d
    canon.fixed = fixed
    canon.goal = NULL
    for i in range(d + 1):
        canon.pair_hashes[i] = mix(1 + i)


cdef inline uint64_t canon_pair(const Canon* canon, uint32_t p, uint32_t q) noexcept nogil:
    """A hash of the orbit of the ordered pair (p, q)."""
    if canon.fixed:
        return mix(1 + bits_count(p & q) + 32 * bits_count(p) + 1024 * bits_count(q))
    return canon.pair_hashes[bits_count(p ^ q)]


cdef inline void canon_sums(const Canon* canon, const uint16_t* points, int n, uint64_t* sums) noexcept nogil:
    """s of each point."""
    cdef int i, j
    for i in range(n):
        sums[i] = 0
        for j in range(n):
            sums[i] += canon_pair(canon, points[i], points[j])


cdef inline uint64_t canon_second_sum(const Canon* canon, const uint16_t* points, const uint64_t* sums, int n,
                                      int i) noexcept nogil:
    """s2 of points[i]."""
    cdef uint64_t total = 0
    cdef int j
    for j in range(n):
        total += mix(sums[j] + canon_pair(canon, points[i], points[j]))
    return total


cdef inline uint64_t bit_mask(uint32_t row, int j) noexcept nogil:
    """All ones if bit j of row is set, else 0."""
    return -<uint64_t>((row >> j) & 1)


cdef inline void canon_colours(const Canon* canon, const int* ranks, uint64_t* colours) noexcept nogil:
    """Colour each row by the ranks of its features, then each feature by its rows. Without branches: rows are random."""
    cdef uint64_t seeds[MAX_FEATURES]
    cdef uint64_t colour
    cdef uint32_t row
    cdef int i, j
    for j in range(canon.d):
        seeds[j] = mix(<uint64_t>ranks[j] + 3)
        colours[j] = 0
    for i in range(canon.n):
        colour = canon.seeds[i]
        row = canon.rows[i]
        for j in range(canon.d):
            colour += seeds[j] & bit_mask(row, j)
        colour = mix(colour)
        for j in range(canon.d):
            colours[j] += colour & bit_mask(row, j)


cdef inline uint32_t place_bits(const unsigned char* place, uint32_t row, int d) noexcept nogil:
    """Move bit j of row to place[j]."""
    cdef uint32_t image = 0
    cdef int j
    for j in range(d):
        image |= ((row >> j) & 1) << place[j]
    return image


cdef inline uint32_t map_point(const CubeMap* map, uint32_t point, int d) noexcept nogil:
    return place_bits(map.place, point ^ map.base, d)


cdef inline void add_generator(Canon* canon, uint16_t base, const unsigned char* place) noexcept nogil:
    if canon.n_generators < MAX_GENERATORS:
        canon.generators[canon.n_generators].base = base
        memcpy(canon.generators[canon.n_generators].place, place, canon.d)
    canon.n_generators += 1


cdef inline void add_exchange(Canon* canon, int a, int b) noexcept nogil:
    """Note the symmetry that exchanges features a and b of the rows, in the sample's own coordinates.

    The rows are the points moved by o = map.base, so a point z goes to swap(z + o) + o = swap(z + o + swap(o)).
    """
    cdef unsigned char place[MAX_FEATURES]
    cdef uint16_t o = canon.map.base
    cdef int j
    for j in range(canon.d):
        place[j] = <unsigned char>j
    place[a] = <unsigned char>b
    place[b] = <unsigned char>a
    add_generator(canon, <uint16_t>(o ^ place_bits(place, o, canon.d)), place)


cdef inline void canon_leaf(Canon* canon, const int* order, uint64_t multiplicity) noexcept nogil:
    """Compare the form under this order of the features with the best one."""
    cdef uint16_t form[MAX_POINTS]
    cdef unsigned char place[MAX_FEATURES]
    cdef uint32_t image
    cdef int i, j, c
    for j in range(canon.d):
        place[order[j]] = <unsigned char>j
    for i in range(canon.n):
        image = place_bits(place, canon.rows[i], canon.d)
        j = i
        while j > 1 and form[j - 1] > image:          # insertion sort behind the marked row
            form[j] = form[j - 1]
            j -= 1
        form[j] = <uint16_t>image
    if canon.goal != NULL and memcmp(form, canon.goal, canon.n * sizeof(uint16_t)) == 0:
        add_generator(canon, canon.map.base, place)
    c = -1
    if canon.found:
        c = memcmp(form, canon.best, canon.n * sizeof(uint16_t))
    if c < 0:
        memcpy(canon.best, form, canon.n * sizeof(uint16_t))
        memcpy(canon.map.place, place, canon.d)
        canon.found = True
        canon.n_automorphisms = multiplicity
    elif c == 0:
        canon.n_automorphisms += multiplicity


cdef inline bint exchange_is_symmetry(const Canon* canon, int a, int b) noexcept nogil:
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


cdef inline int refine_ranks(Canon* canon, const int* ranks, int* order, int* refined) noexcept nogil:
    """Sort the features by (rank, colour) into `order`; a feature's refined rank is where its cell of equals starts.

    Returns where the first cell of more than one feature starts, or d if there is none. Ranks only ever split: a feature
    that came before another stays before it.
    """
    cdef uint64_t colours[MAX_FEATURES]
    cdef int i, j, p, d = canon.d, tie = canon.d
    canon_colours(canon, ranks, colours)
    for i in range(d):
        j = i
        while j > 0:
            p = order[j - 1]
            if ranks[p] < ranks[i] or (ranks[p] == ranks[i] and colours[p] <= colours[i]):
                break
            order[j] = p
            j -= 1
        order[j] = i
    for i in range(d):
        refined[order[i]] = i
        if i and ranks[order[i]] == ranks[order[i - 1]] and colours[order[i]] == colours[order[i - 1]]:
            refined[order[i]] = refined[order[i - 1]]
            if refined[order[i]] < tie:
                tie = refined[order[i]]
    return tie


cdef inline int tied_features(Canon* canon, const int* refined, const int* order, int start, int* tied,
                              int* copies) noexcept nogil:
    """The features of the cell that starts at `start` into `tied`, up to exchanges that are symmetries, with how many
    features each stands for. Returns how many."""
    cdef int i = start, k, n = 0
    while i < canon.d and refined[order[i]] == start:
        for k in range(n):
            if exchange_is_symmetry(canon, tied[k], order[i]):
                copies[k] += 1
                if canon.goal != NULL:
                    add_exchange(canon, tied[k], order[i])
                break
        else:
            tied[n] = order[i]
            copies[n] = 1
            n += 1
        i += 1
    return n


cdef inline void canon_branch(Canon* canon, const int* ranks, uint64_t multiplicity) noexcept nogil:
    """Refine; at a tie put each feature of the first tied cell, up to exchanges, before the others of it in turn.

    Different branches so end in different orders of the features, which makes the orders that give the best form as many as
    there are automorphisms. (Ordering by colours alone would not: two branches could end in one order.)
    """
    cdef int refined[MAX_FEATURES]
    cdef int order[MAX_FEATURES]
    cdef int tied[MAX_FEATURES]
    cdef int copies[MAX_FEATURES]
    cdef int i, k, n_tied, start = refine_ranks(canon, ranks, order, refined)
    if start == canon.d:
        canon_leaf(canon, order, multiplicity)
        return
    n_tied = tied_features(canon, refined, order, start, tied, copies)
    i = start
    while i < canon.d and refined[order[i]] == start:
        refined[order[i]] = start + 1
        i += 1
    for k in range(n_tied):
        refined[tied[k]] = start
        canon_branch(canon, refined, multiplicity * copies[k])
        refined[tied[k]] = start + 1


cdef inline void canon_form(Canon* canon, const uint16_t* points, int n, int marked) noexcept nogil:
    """form(points[marked]) into canon.best with its map and the number of maps that give it."""
    cdef int weights[MAX_FEATURES]
    cdef uint16_t origin = 0 if canon.fixed else points[marked]
    cdef int i, j = 1
    canon.n = n
    canon.found = False
    canon.n_automorphisms = 0
    canon.map.base = origin
    canon.rows[0] = points[marked] ^ origin
    canon.seeds[0] = 1
    for i in range(n):
        if i != marked:
            canon.rows[j] = points[i] ^ origin
            canon.seeds[j] = 2
            j += 1
    for i in range(canon.d):
        weights[i] = 0
        for j in range(n):
            weights[i] += (canon.rows[j] >> i) & 1
    canon_branch(canon, weights, 1)


cdef inline int canon_ties(const Canon* canon, const uint16_t* points, const uint64_t* sums, int n,
                           int* ties) noexcept nogil:
    """The points with the smallest (s, s2) into `ties`; returns how many."""
    cdef uint64_t least = sums[0], second, other
    cdef int i, m = 0, n_ties = 0
    for i in range(1, n):
        if sums[i] < least:
            least = sums[i]
    for i in range(n):
        if sums[i] == least:
            ties[n_ties] = i
            n_ties += 1
    if n_ties == 1:
        return 1
    second = ~<uint64_t>0
    for i in range(n_ties):
        other = canon_second_sum(canon, points, sums, n, ties[i])
        if other < second:
            second = other
            m = 0
        if other == second:
            ties[m] = ties[i]
            m += 1
    return m


cdef inline void canon_canonical(Canon* canon, const uint16_t* points, const uint64_t* sums, int n) noexcept nogil:
    """The canonical form of the sample into canon.best, with a map that gives it and the number of automorphisms."""
    cdef int ties[MAX_POINTS]
    cdef uint16_t best[MAX_POINTS]
    cdef CubeMap map
    cdef uint64_t total = 0
    cdef int i, order, n_ties
    if n == 0:
        return
    n_ties = canon_ties(canon, points, sums, n, ties)
    if n_ties == 1:
        canon_form(canon, points, n, ties[0])
        return
    for i in range(n_ties):
        canon_form(canon, points, n, ties[i])
        order = memcmp(canon.best, best, n * sizeof(uint16_t)) if i else -1
        if order < 0:
            memcpy(best, canon.best, n * sizeof(uint16_t))
            map = canon.map
            total = canon.n_automorphisms
        elif order == 0:
            total += canon.n_automorphisms
    memcpy(canon.best, best, n * sizeof(uint16_t))
    canon.map = map
    canon.n_automorphisms = total


cdef inline bint canon_augments(Canon* canon, const uint16_t* points, const uint64_t* old, uint64_t* sums,
                                int n) noexcept nogil:
    """Whether points[n-1] is a last point of points[:n]; if so its canonical form is in `canon`, as by canon_canonical.

    `old` are the sums of points[:n-1]; `sums` are set. Most calls end after O(n) steps, at the first smaller sum.
    """
    cdef int ties[MAX_POINTS]
    cdef uint16_t mine[MAX_POINTS]
    cdef CubeMap map
    cdef uint64_t own, total
    cdef int i, order, n_ties, k = n - 1
    own = canon_pair(canon, points[k], points[k])
    for i in range(k):
        own += canon_pair(canon, points[k], points[i])
    for i in range(k):
        sums[i] = old[i] + canon_pair(canon, points[i], points[k])
        if sums[i] < own:
            return False
    sums[k] = own
    n_ties = canon_ties(canon, points, sums, n, ties)
    if ties[n_ties - 1] != k:
        return False
    canon_form(canon, points, n, k)
    if n_ties == 1:
        return True
    memcpy(mine, canon.best, n * sizeof(uint16_t))
    map = canon.map
    total = canon.n_automorphisms
    for i in range(n_ties - 1):
        canon_form(canon, points, n, ties[i])
        order = memcmp(canon.best, mine, n * sizeof(uint16_t))
        if order < 0:
            return False
        if order == 0:
            total += canon.n_automorphisms
    memcpy(canon.best, mine, n * sizeof(uint16_t))
    canon.map = map
    canon.n_automorphisms = total
    return True


cdef inline int canon_generators(Canon* canon, const uint16_t* form, int n) noexcept nogil:
    """Generators of the automorphism group of a canonical form into canon.generators; returns how many.

    Every automorphism takes the search tree of canon_branch to itself. Branches that exchanges identify are visited once and
    the exchange is noted; the leaves visited whose form is the canonical one give one automorphism each.
    """
    cdef int ties[MAX_POINTS]
    cdef uint64_t sums[MAX_POINTS]
    cdef int i, n_ties
    canon_sums(canon, form, n, sums)
    n_ties = canon_ties(canon, form, sums, n, ties)
    canon.goal = form
    canon.n_generators = 0
    for i in range(n_ties):
        canon_form(canon, form, n, ties[i])
    canon.goal = NULL
    return canon.n_generators

"""Features of every kind, and samples on them.

A feature gives each point a value. On a *real* feature only the order of the values counts, and ties never help (a
small change of the values keeps every split and adds some), so the values of m points are the ranks 0 .. m-1. On the
other kinds a value is one of C categories.

    kind        values    splits of a node                               symmetries (orientation free | fixed)
    REAL        ranks     at most a rank | above it; all on one side     reversal                   | none
    ORDERED     0 .. C-1  at most a category | above it                  reversal                   | none
    NOMINAL     0 .. C-1  a category | the others                        permutations of categories | the same
    SUBSETS     0 .. C-1  a set of categories | its complement           permutations of categories | the same
    MULTIWAY    0 .. C-1  one part per category, C children              permutations of categories | none

A binary feature is ORDERED with two categories. Features of the same kind and number of categories may be exchanged.

A sample grows point by point. What the next point looks like, seen from a sample of m points, is its *position*: a category
on each finite feature, a gap 0 .. m (the number of points below) on each real one; written as one number in mixed radix. A
sample is kept as the positions of its points in the order in which they came.
"""

from libc.stdint cimport uint8_t, uint32_t, uint64_t

from scalars cimport MAX_POINTS

cdef enum:
    MAX_COLUMNS = 16                 # features
    MAX_CATEGORIES = 26              # of one feature: MAX_POINTS different values and one beyond at either end
    MAX_POSITIONS = 1 << 20          # of a new point: a sample's candidates are a bit set of so many

cdef enum:
    REAL = 0
    ORDERED = 1
    NOMINAL = 2
    SUBSETS = 3
    MULTIWAY = 4

# How positions are numbered in a sample of m points.
cdef struct Frame:
    uint32_t count                   # of positions; 0 if there are more than MAX_POSITIONS
    uint32_t stride[MAX_COLUMNS]

cdef struct Kinds:
    int n                            # features
    int n_real                       # the first so many are real
    bint fixed                       # orientation
    uint8_t kind[MAX_COLUMNS]
    uint8_t size[MAX_COLUMNS]        # categories; 0 for real
    uint8_t group[MAX_COLUMNS]       # features of one group, which are neighbours, may be exchanged
    Frame frames[MAX_POINTS + 1]

cdef struct Sample:
    int m
    uint8_t value[MAX_COLUMNS][MAX_POINTS]


cdef inline int radix(const Kinds* kinds, int f, int m) noexcept nogil:
    """The number of places for a new point on feature f."""
    return m + 1 if kinds.kind[f] == REAL else kinds.size[f]


cdef inline void kinds_init(Kinds* kinds, const int[:, ::1] columns, bint fixed) noexcept nogil:
    """`columns` holds (kind, categories) per feature, like features side by side and real ones first."""
    cdef int f, m
    cdef uint64_t count
    kinds.n = <int>columns.shape[0]
    kinds.n_real = 0
    kinds.fixed = fixed
    for f in range(kinds.n):
        kinds.kind[f] = <uint8_t>columns[f, 0]
        kinds.size[f] = <uint8_t>columns[f, 1]
        kinds.n_real += kinds.kind[f] == REAL
        kinds.group[f] = <uint8_t>f
        if f and kinds.kind[f] == kinds.kind[f - 1] and kinds.size[f] == kinds.size[f - 1]:
            kinds.group[f] = kinds.group[f - 1]
    for m in range(MAX_POINTS + 1):
        count = 1
        for f in range(kinds.n - 1, -1, -1):
            kinds.frames[m].stride[f] = <uint32_t>count
            count *= radix(kinds, f, m)
            if count > MAX_POSITIONS:
                count = 0
                break
        kinds.frames[m].count = <uint32_t>count


cdef inline bint is_reversible(const Kinds* kinds, int f) noexcept nogil:
    return kinds.kind[f] <= ORDERED and not kinds.fixed


cdef inline bint is_permutable(const Kinds* kinds, int f) noexcept nogil:
    """Whether the categories of feature f may be renamed."""
    return kinds.kind[f] == NOMINAL or kinds.kind[f] == SUBSETS or (kinds.kind[f] == MULTIWAY and not kinds.fixed)


cdef inline void split_position(const Kinds* kinds, int m, uint32_t position, uint8_t* places) noexcept nogil:
    """The place on each feature."""
    cdef int f
    for f in range(kinds.n):
        places[f] = <uint8_t>(position // kinds.frames[m].stride[f])
        position -= places[f] * kinds.frames[m].stride[f]


cdef inline void insert(const Kinds* kinds, Sample* sample, const uint8_t* places) noexcept nogil:
    """Add a point."""
    cdef int f, i, m = sample.m
    for f in range(kinds.n):
        if kinds.kind[f] == REAL:
            for i in range(m):
                sample.value[f][i] += sample.value[f][i] >= places[f]
        sample.value[f][m] = places[f]
    sample.m = m + 1


cdef inline void remove(const Kinds* kinds, const Sample* sample, int j, Sample* out) noexcept nogil:
    """The sample without point j."""
    cdef int f, i
    cdef uint8_t gone
    for f in range(kinds.n):
        gone = sample.value[f][j] if kinds.kind[f] == REAL else 255
        for i in range(j):
            out.value[f][i] = sample.value[f][i] - (sample.value[f][i] > gone)
        for i in range(j + 1, sample.m):
            out.value[f][i - 1] = sample.value[f][i] - (sample.value[f][i] > gone)
    out.m = sample.m - 1


cdef inline bint is_taken(const Kinds* kinds, const Sample* sample, const uint8_t* places) noexcept nogil:
    """Whether a point of the sample is at this position; with real features never."""
    cdef int f, i
    if kinds.n_real:
        return False
    for i in range(sample.m):
        f = 0
        while f < kinds.n and sample.value[f][i] == places[f]:
            f += 1
        if f == kinds.n:
            return True
    return False

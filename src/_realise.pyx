"""One labelling of one sample: a tree of the structure that realises it.

A sample comes as its splits: *cuts*, masks of the points on the right, for nodes with two children; *parts*, C masks each, for nodes with C
children. A tree with given labels, of any number of classes, is found by the plain recursion

    realises(t, A)  iff  A has one label, or t is a node and some split of A into as many parts as t has children, and some way to
                         give the parts to the children (orientation fixed: in order), has all children realise theirs

remembering the pairs (t, A) that fail. `count_partitions` asks it for every partition of the sample into c parts, written as
restricted growth strings (label i+1 is at most one more than the largest label before it).
"""

from libc.stdint cimport int64_t, uint32_t, uint64_t
from libc.stdlib cimport calloc, free, malloc
from libc.string cimport memset

from bitlane cimport bits_low
from control cimport Watch, watch_init, watch_step
from scalars cimport MAX_POINTS, mask_t

cdef enum:
    MAX_ARITY = 26

# The pairs (t, A) known to fail: open addressing on t << 32 | A, live entries carry the current stamp.
cdef struct Failures:
    uint64_t* keys
    uint32_t* stamps
    size_t size
    size_t used
    uint32_t stamp

cdef struct Solver:
    bint fixed
    int width
    const int* children                    # `width` per substructure, then -1
    int n_cuts
    const uint32_t* cuts
    int n_parts                            # features with parts
    int part_width
    const uint32_t* parts                  # `part_width` per feature
    const int* part_sizes                  # how many of these
    mask_t same[MAX_POINTS]                # points with the label of point i
    Failures failures
    Watch watch
    bint failed                            # memory
    bint stopped                           # by the watch: what was returned since is void


cdef inline size_t failure_place(const Failures* failures, uint64_t key) noexcept nogil:
    """Where key is, or the free place where it would go."""
    cdef size_t i = (key * <uint64_t>0x9E3779B97F4A7C15) >> 32
    i &= failures.size - 1
    while failures.stamps[i] == failures.stamp and failures.keys[i] != key:
        i = (i + 1) & (failures.size - 1)
    return i


cdef int failures_grow(Failures* failures) noexcept nogil:
    """Double the table; -1 when memory is out."""
    cdef Failures larger
    cdef size_t i, j
    larger.size = 2 * failures.size if failures.size else 1024
    larger.stamp = 1
    larger.used = failures.used
    larger.keys = <uint64_t*>malloc(larger.size * sizeof(uint64_t))
    larger.stamps = <uint32_t*>calloc(larger.size, sizeof(uint32_t))
    if larger.keys == NULL or larger.stamps == NULL:
        free(larger.keys)
        free(larger.stamps)
        return -1
    for i in range(failures.size):
        if failures.stamps[i] == failures.stamp:
            j = failure_place(&larger, failures.keys[i])
            larger.keys[j] = failures.keys[i]
            larger.stamps[j] = 1
    free(failures.keys)
    free(failures.stamps)
    failures[0] = larger
    return 0


cdef void failures_clear(Failures* failures) noexcept nogil:
    failures.used = 0
    failures.stamp += 1
    if failures.stamp == 0:
        memset(failures.stamps, 0, failures.size * sizeof(uint32_t))
        failures.stamp = 1


cdef bint note_failure(Solver* s, int t, mask_t A) noexcept nogil:
    """Remember that t fails on A; always False."""
    cdef size_t i
    if 2 * s.failures.used >= s.failures.size and failures_grow(&s.failures) < 0:
        s.failed = True
        return False
    i = failure_place(&s.failures, <uint64_t>t << 32 | A)
    s.failures.keys[i] = <uint64_t>t << 32 | A
    s.failures.stamps[i] = s.failures.stamp
    s.failures.used += 1
    return False


cdef inline bint is_constant(const Solver* s, mask_t A) noexcept nogil:
    return A == 0 or (A & ~s.same[bits_low(A)]) == 0


cdef inline int arity(const Solver* s, int t) noexcept nogil:
    cdef int n = 0
    while n < s.width and s.children[t * s.width + n] >= 0:
        n += 1
    return n


cdef int find_cut(Solver* s, int t, mask_t A, int* order) except -2 nogil:
    """A cut by which a node with two children realises the labels on A, and which child takes each side; -1 if there is none."""
    cdef int l = s.children[s.width * t], r = s.children[s.width * t + 1], i
    cdef mask_t A1
    for i in range(s.n_cuts):
        A1 = A & s.cuts[i]
        order[0] = 0
        order[1] = 1
        if realises(s, l, A ^ A1) and realises(s, r, A1):
            return i
        if l != r and not s.fixed and realises(s, r, A ^ A1) and realises(s, l, A1):
            order[0] = 1
            order[1] = 0
            return i
    return -1


cdef int find_parts(Solver* s, int t, mask_t A, int* order) except -2 nogil:
    """As find_cut for a node with more children: the number of a feature whose parts do."""
    cdef int f, C = arity(s, t)
    for f in range(s.n_parts):
        if s.part_sizes[f] == C and give_parts(s, t, f, 0, 0, A, order):
            return f
    return -1


cdef bint give_parts(Solver* s, int t, int f, int part, int taken, mask_t A, int* order) except -1 nogil:
    """Whether the parts from `part` on can be given to the children of t that are not taken; order[part] is the child."""
    cdef const int* children = s.children + t * s.width
    cdef int j
    if part == s.part_sizes[f]:
        return True
    for j in range(s.part_sizes[f]):
        if (taken >> j) & 1 or (s.fixed and j != part):
            continue
        if j and not s.fixed and children[j] == children[j - 1] and not (taken >> (j - 1)) & 1:
            continue                        # like children are taken in their order
        order[part] = j
        if (realises(s, children[j], A & s.parts[f * s.part_width + part])
                and give_parts(s, t, f, part + 1, taken | 1 << j, A, order)):
            return True
    return False


cdef inline int find_split(Solver* s, int t, mask_t A, int* order) except -2 nogil:
    return find_cut(s, t, A, order) if arity(s, t) == 2 else find_parts(s, t, A, order)


cdef bint realises(Solver* s, int t, mask_t A) except -1 nogil:
    """Whether some tree of structure t has the labels on A."""
    cdef uint64_t key = <uint64_t>t << 32 | A
    cdef int order[MAX_ARITY]
    cdef size_t i
    if is_constant(s, A):
        return True
    if t == 0 or s.failed or s.stopped:
        return False
    if s.failures.size:
        i = failure_place(&s.failures, key)
        if s.failures.stamps[i] == s.failures.stamp:
            return False
    if watch_step(&s.watch, 1):
        s.stopped = True
        return False
    if find_split(s, t, A, order) >= 0:
        return True
    return note_failure(s, t, A)


cdef int solver_init(Solver* s, const int[:, ::1] table, const uint32_t[::1] cuts, const uint32_t[:, ::1] parts,
                     const int[::1] part_sizes, bint fixed, double[::1] limits) except -1:
    memset(s, 0, sizeof(Solver))
    s.fixed = fixed
    s.width = <int>table.shape[1]
    s.children = &table[0, 0]
    s.n_cuts = <int>cuts.shape[0]
    s.cuts = &cuts[0] if s.n_cuts else NULL
    s.n_parts = <int>parts.shape[0]
    s.part_width = <int>parts.shape[1]
    s.parts = &parts[0, 0] if s.n_parts else NULL
    s.part_sizes = &part_sizes[0] if s.n_parts else NULL
    s.failures.stamp = 1
    watch_init(&s.watch, &limits[0])
    return 0


cdef void solver_free(Solver* s) noexcept nogil:
    free(s.failures.keys)
    free(s.failures.stamps)


cdef void set_labels(Solver* s, const int* labels, int n) noexcept nogil:
    cdef int i, j
    for i in range(n):
        s.same[i] = 0
        for j in range(n):
            if labels[i] == labels[j]:
                s.same[i] |= <mask_t>1 << j


cdef list trivial_split(Solver* s, int t, int* order):
    """Any split that t can take; for a part of the sample with one label."""
    cdef int f, C = arity(s, t)
    for f in range(C):
        order[f] = f
    if C == 2 and s.n_cuts:
        return [0]
    return [f for f in range(s.n_parts) if s.part_sizes[f] == C]


def realise(const int[:, ::1] table, const uint32_t[::1] cuts, const uint32_t[:, ::1] parts, const int[::1] part_sizes,
            const int[::1] labels, bint fixed, double[::1] limits):
    """A tree of the structure with these labels on the points, or None.

    The tree is a list of nodes in preorder: (substructure, number of the cut or of the feature with parts, -1 for a leaf; mask of the
    points that reach it). The children of a node come in the order of its parts: left, right; or category by category.
    """
    cdef Solver s
    cdef list nodes = [], pending
    cdef int t, i, C, part
    cdef int order[MAX_ARITY]
    cdef mask_t A, points
    solver_init(&s, table, cuts, parts, part_sizes, fixed, limits)
    try:
        set_labels(&s, &labels[0], <int>labels.shape[0])
        A = (<mask_t>1 << labels.shape[0]) - 1
        if not realises(&s, <int>table.shape[0] - 1, A):
            if s.failed:
                raise MemoryError
            return None
        pending = [(<int>table.shape[0] - 1, A)]
        while pending:
            t, A = pending.pop()
            if t == 0:
                nodes.append((0, -1, A))
                continue
            i = trivial_split(&s, t, order)[0] if is_constant(&s, A) else find_split(&s, t, A, order)
            if i < 0:                       # was found before: only for want of memory
                raise MemoryError
            nodes.append((t, i, A))
            C = arity(&s, t)
            for part in range(C - 1, -1, -1):
                if C == 2:
                    points = A & cuts[i] if part else A & ~cuts[i]
                else:
                    points = A & parts[i, part]
                pending.append((s.children[s.width * t + order[part]], points))
        return nodes
    finally:
        solver_free(&s)


cdef bint next_string(int* string, int n, int c) noexcept nogil:
    """The next restricted growth string of n labels that uses exactly c of them; False after the last.

    string[i] <= 1 + max(string[:i]). Counts up from the right; a prefix with too few labels to reach c is skipped.
    """
    cdef int i, j, top
    i = n - 1
    while i > 0:
        top = -1
        for j in range(i):
            if string[j] > top:
                top = string[j]
        if string[i] <= top and string[i] + 1 < c:
            string[i] += 1
            if string[i] > top:
                top = string[i]
            for j in range(i + 1, n):
                # as small as possible, but the last labels must still be reached
                string[j] = 0
                if c - 1 - top >= n - j:
                    top += 1
                    string[j] = top
            if top == c - 1:
                return True
            continue
        i -= 1
    return False


cdef int64_t partitions_of_sample(Solver* s, int t, int n, int c) except -2 nogil:
    """The number of partitions of the n points into exactly c parts that are realised; -1 to stop."""
    cdef int string[MAX_POINTS]
    cdef int64_t total = 0
    cdef int i
    cdef mask_t full = (<mask_t>1 << n) - 1
    for i in range(n):
        string[i] = 0 if i < n - c + 1 else i - (n - c)
    while True:
        set_labels(s, string, n)
        failures_clear(&s.failures)
        total += realises(s, t, full)
        if s.failed or s.stopped or watch_step(&s.watch, 1):
            return -1
        if not next_string(string, n, c):
            return total


def count_partitions(const int[:, ::1] table, const uint32_t[::1] cuts, const uint32_t[:, ::1] parts, const int[::1] part_sizes,
                     int n, int c, bint fixed, double[::1] limits):
    """The number of partitions of the n distinct points into exactly c parts that the structure realises; -1 when told to stop."""
    cdef Solver s
    cdef int64_t total
    if c > n or c < 1:
        return 0
    solver_init(&s, table, cuts, parts, part_sizes, fixed, limits)
    try:
        with nogil:
            total = partitions_of_sample(&s, <int>table.shape[0] - 1, n, c)
        if s.failed:
            raise MemoryError
        return total
    finally:
        solver_free(&s)

"""One sample: what a structure realises on it.

`count_dichotomies` and `find_unrealised` run over all labellings, 256 at a time (dichotomy.pxd). `realise` looks for one tree with
given labels, of any number of classes, by the plain recursion

    realises(t, A)  iff  A has one label, or t is a node (l r) and some feature splits A into A0, A1 with
                         realises(l, A0) and realises(r, A1), or (free) realises(r, A0) and realises(l, A1)

remembering the pairs (t, A) that fail; `count_partitions` asks it for every partition of the sample into c parts, written as
restricted growth strings (label i+1 is at most one more than the largest label before it).
"""

from libc.stdint cimport int64_t, uint16_t, uint32_t, uint64_t
from libc.stdlib cimport calloc, free, malloc
from libc.string cimport memset

from bitlane cimport bits_low
from control cimport Watch, watch_init, watch_step
from dichotomy cimport Memo, memo_count, memo_free, memo_init, memo_set_point, memo_unrealised
from scalars cimport MAX_FEATURES, MAX_POINTS, mask_t


cdef int set_up(Memo* memo, const int[:, ::1] table, const uint16_t[::1] points, int d, bint fixed) noexcept nogil:
    cdef int i, n = <int>points.shape[0]
    if memo_init(memo, table, d, fixed, n) < 0:
        memo.failed = True
        return -1
    for i in range(n):
        memo_set_point(memo, i, points[i])
    return 0


def count_dichotomies(const int[:, ::1] table, const uint16_t[::1] points, int d, bint fixed, double[::1] limits):
    """The number of labellings of the distinct `points` that the structure realises; -1 when told to stop."""
    cdef int64_t total = -1
    cdef Memo memo
    cdef Watch watch
    watch_init(&watch, &limits[0])
    try:
        with nogil:
            if set_up(&memo, table, points, d, fixed) == 0:
                total = memo_count(&memo, <int>points.shape[0], &watch)
        if memo.failed:
            raise MemoryError
        return total
    finally:
        memo_free(&memo)


def find_unrealised(const int[:, ::1] table, const uint16_t[::1] points, int d, bint fixed, double[::1] limits):
    """A labelling (bit i = label of point i) of the distinct `points` that is not realised; -1 if all are, -2 when told to stop."""
    cdef int64_t found = -2
    cdef Memo memo
    cdef Watch watch
    watch_init(&watch, &limits[0])
    try:
        with nogil:
            if set_up(&memo, table, points, d, fixed) == 0:
                found = memo_unrealised(&memo, <int>points.shape[0], &watch)
        if memo.failed:
            raise MemoryError
        return found
    finally:
        memo_free(&memo)


# --- one labelling ---------------------------------------------------------------------------------------------------

# The pairs (t, A) known to fail: open addressing on t << 32 | A, live entries carry the current stamp.
cdef struct Failures:
    uint64_t* keys
    uint32_t* stamps
    size_t size
    size_t used
    uint32_t stamp

cdef struct Solver:
    int d
    bint fixed
    const int* children                    # 2 per substructure
    mask_t columns[MAX_FEATURES]
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


cdef int find_split(Solver* s, int t, mask_t A, bint* swapped) except -2 nogil:
    """A feature by which node t realises the labels on A, and whether the left child takes the ones; -1 if there is none."""
    cdef int l = s.children[2 * t], r = s.children[2 * t + 1], f
    cdef mask_t A1
    for f in range(s.d):
        A1 = A & s.columns[f]
        if realises(s, l, A ^ A1) and realises(s, r, A1):
            swapped[0] = False
            return f
        if l != r and not s.fixed and realises(s, r, A ^ A1) and realises(s, l, A1):
            swapped[0] = True
            return f
    return -1


cdef bint realises(Solver* s, int t, mask_t A) except -1 nogil:
    """Whether some tree of structure t has the labels on A."""
    cdef uint64_t key = <uint64_t>t << 32 | A
    cdef bint swapped = False
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
    if find_split(s, t, A, &swapped) >= 0:
        return True
    return note_failure(s, t, A)


cdef int solver_init(Solver* s, const int[:, ::1] table, const uint16_t[::1] points, int d, bint fixed,
                     double[::1] limits) except -1:
    cdef int i, f
    memset(s, 0, sizeof(Solver))
    s.d = d
    s.fixed = fixed
    s.children = &table[0, 0]
    s.failures.stamp = 1
    watch_init(&s.watch, &limits[0])
    for i in range(<int>points.shape[0]):
        for f in range(d):
            s.columns[f] |= <mask_t>((points[i] >> f) & 1) << i
    return 0


cdef void solver_free(Solver* s) noexcept nogil:
    free(s.failures.keys)
    free(s.failures.stamps)


cdef void set_labels(Solver* s, const int[::1] labels) noexcept nogil:
    cdef int i, j, n = <int>labels.shape[0]
    for i in range(n):
        s.same[i] = 0
        for j in range(n):
            if labels[i] == labels[j]:
                s.same[i] |= <mask_t>1 << j


def realise(const int[:, ::1] table, const uint16_t[::1] points, const int[::1] labels, int d, bint fixed,
            double[::1] limits):
    """A tree of the structure with these labels on the points, or None.

    The tree is a list of nodes in preorder, the child for value 0 first: (substructure, feature or -1, mask of the points
    that reach it). A constant part of the sample gets tests on feature 0 down to its leaves.
    """
    cdef Solver s
    cdef list nodes = [], pending
    cdef int t, f
    cdef mask_t A, A1
    cdef bint swapped
    solver_init(&s, table, points, d, fixed, limits)
    try:
        set_labels(&s, labels)
        A = (<mask_t>1 << points.shape[0]) - 1
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
            swapped = False
            f = 0 if is_constant(&s, A) else find_split(&s, t, A, &swapped)
            if f < 0:                       # was found before: only for want of memory
                raise MemoryError
            nodes.append((t, f, A))
            A1 = A & s.columns[f]
            pending.append((s.children[2 * t + (not swapped)], A1))
            pending.append((s.children[2 * t + swapped], A ^ A1))
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
    cdef int i, j
    cdef mask_t full = (<mask_t>1 << n) - 1
    for i in range(n):
        string[i] = 0 if i < n - c + 1 else i - (n - c)
    while True:
        for i in range(n):
            s.same[i] = 0
            for j in range(n):
                if string[i] == string[j]:
                    s.same[i] |= <mask_t>1 << j
        failures_clear(&s.failures)
        total += realises(s, t, full)
        if s.failed or s.stopped or watch_step(&s.watch, 1):
            return -1
        if not next_string(string, n, c):
            return total


def count_partitions(const int[:, ::1] table, const uint16_t[::1] points, int c, int d, bint fixed, double[::1] limits):
    """The number of partitions of the distinct `points` into exactly c parts that the structure realises; -1 when told to stop."""
    cdef Solver s
    cdef int n = <int>points.shape[0]
    cdef int64_t total
    if c > n or c < 1:
        return 0
    solver_init(&s, table, points, d, fixed, limits)
    try:
        with nogil:
            total = partitions_of_sample(&s, <int>table.shape[0] - 1, n, c)
        if s.failed:
            raise MemoryError
        return total
    finally:
        solver_free(&s)

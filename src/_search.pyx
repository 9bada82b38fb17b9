"""The search for the largest shattered sample, one sample per orbit.

The VC dimension of a structure on d binary features is the size of the largest shattered subset R of {0,1}^d. Subsets of shattered
samples are shattered, so samples are grown one point at a time, depth first, and only from shattered ones:

    visit(R, candidates):                       R is shattered; candidates contain E(R)
        E = {y in candidates : R + y is shattered}
        a set of `target` points needs target - |R| of them: give up if there are fewer
        for x in E with R + x kept (one per orbit, see canon.pxd):
            visit(R + x, E - x)

E(R + x) is a subset of E(R) because R + y is a subset of R + x + y. `target` is one more than the largest shattered sample known;
finding one of that size raises it. When the search ends, no shattered sample of `target` points exists.

A test (is R + y shattered?) evaluates the dichotomy set of the whole structure on R + y, chunk by chunk, the chunk that
failed last first; what it needs of subsets of R is memoised from earlier tests (see dichotomy.pxd).

Determinism: candidates are taken in a fixed order, so the first sample of each size met is always the same.
Independent units of work are the samples of a given size with their candidates (`Search.units`), each to be run on its own.
"""

from cpython.exc cimport PyErr_CheckSignals
from libc.stdint cimport int64_t, uint16_t, uint32_t, uint64_t
from libc.stdlib cimport free, malloc, realloc
from libc.string cimport memcmp, memcpy, memset

from canon cimport Canon, canon_form, mix, pair_hash
from clock cimport monotonic_seconds
from dichotomy cimport (LOW_POINTS, MAX_FEATURES, MAX_POINTS, Memo, mask_t, memo_free, memo_init, memo_set_point,
                        node_lane)
from lanes cimport bits_count, lane_is_ones, lane_t

# How a run ended.
cdef enum Outcome:
    EXHAUSTED = 0        # no sample of `target` points extends what was given
    FOUND = 1            # stopped at the first sample of `target` points (or at `ceiling`)
    STOPPED = 2          # by time, nodes, another thread or a signal
    NO_MEMORY = 3

OUTCOMES = ("exhausted", "found", "stopped", "no memory")

cdef enum:
    POLL_SETS = 4096           # dichotomy sets between two looks at the clock: about 0.2 ms
    SIGNAL_MILLISECONDS = 20   # between two looks for Ctrl-C


# Growing list of equally long records of 16-bit numbers.
cdef struct Records:
    uint16_t* data
    size_t used
    size_t room


cdef inline int records_add(Records* records, const uint16_t* values, size_t n) noexcept nogil:
    cdef uint16_t* data
    if records.used + n > records.room:
        records.room = 2 * records.room + n
        data = <uint16_t*>realloc(records.data, records.room * sizeof(uint16_t))
        if data == NULL:
            return -1
        records.data = data
    memcpy(records.data + records.used, values, n * sizeof(uint16_t))
    records.used += n
    return 0


# What all threads of one search share; read and written without locks, every field on its own.
cdef struct Shared:
    int stop                   # nonzero: give up
    int64_t last_unit          # units behind this one give up: an earlier one has found a sample
    double deadline            # by the monotonic clock
    int64_t n_tests            # tests allowed in all, -1 for no limit; counted down as they are made


cdef struct State:
    int d
    bint fixed
    int target                            # size of sample looked for
    int ceiling                           # a sample of this size ends the search
    bint first_only                       # stop at the first sample of `target` points
    int split_size                        # samples of this size become units instead of being visited; -1 for none
    uint16_t points[MAX_POINTS + 1]       # R
    uint16_t* candidates[MAX_POINTS + 1]  # for samples of each size, 2^d at most
    uint64_t sums[MAX_POINTS + 1][MAX_POINTS + 1]     # s(p) of canon.pxd for R of each size
    uint64_t automorphisms[MAX_POINTS + 1]            # |Aut R| for R of each size
    Records forms[MAX_POINTS + 1]         # forms of the children kept of R of each size
    mask_t failing_chunk[MAX_POINTS + 1]  # where the last failing test of each size failed
    uint64_t distance_hash[MAX_FEATURES + 1]
    Records units                         # |candidates|, points, candidates of each unit
    int witness_size
    uint16_t witness[MAX_POINTS]
    int64_t kept[MAX_POINTS + 1]          # orbits visited by size
    int64_t tested[MAX_POINTS + 1]        # samples tested by size
    int64_t shattered[MAX_POINTS + 1]     # of those tested
    int64_t next_poll
    double next_signal
    int64_t unit
    Shared* shared
    Memo memo
    Canon canon


cdef int check_signals() except -1 with gil:
    return PyErr_CheckSignals()


cdef int poll(State* s) except -2 nogil:
    """Nonzero when the run has to stop. Raises what a signal handler raises."""
    cdef double now
    s.next_poll = <int64_t>s.memo.n_sets + POLL_SETS
    if s.shared.stop or s.unit > s.shared.last_unit:
        return 1
    now = monotonic_seconds()
    if now >= s.shared.deadline:
        s.shared.stop = 1
        return 1
    if now >= s.next_signal:
        s.next_signal = now + SIGNAL_MILLISECONDS * 0.001
        check_signals()
    return 0


cdef int is_extension(State* s, int k, uint16_t y) except -2 nogil:
    """1 if points[:k] + y is shattered, 0 if not, -1 to stop. Assumes points[:k] are set and shattered."""
    cdef mask_t full = (<mask_t>2 << k) - 1
    cdef mask_t n_chunks = <mask_t>1 << (k + 1 - LOW_POINTS if k + 1 > LOW_POINTS else 0)
    cdef mask_t first = s.failing_chunk[k] & (n_chunks - 1)
    cdef mask_t i, c
    cdef lane_t lane
    s.tested[k + 1] += 1
    if s.shared.n_tests >= 0:
        s.shared.n_tests -= 1
        if s.shared.n_tests < 0:
            s.shared.n_tests = 0
            s.shared.stop = 1
            return -1
    memo_set_point(&s.memo, k, y)
    for i in range(n_chunks):
        c = i ^ first                                   # every chunk once, the one that failed last first
        node_lane(&s.memo, s.memo.n_structures - 1, full, c, &lane)
        s.memo.n_sets += 1
        if not lane_is_ones(&lane):
            s.failing_chunk[k] = c
            return 0
        if <int64_t>s.memo.n_sets >= s.next_poll and poll(s):
            return -1
    if <int64_t>s.memo.n_sets >= s.next_poll and poll(s):
        return -1
    s.shattered[k + 1] += 1
    return 1


cdef inline uint64_t hash_pair(State* s, uint16_t p, uint16_t q) noexcept nogil:
    if s.fixed:
        return pair_hash(p, q, True)
    return s.distance_hash[bits_count(p ^ q)]


cdef inline uint64_t second_sum(State* s, const uint64_t* sums, int n, int i) noexcept nogil:
    """s2 of points[i] in points[:n]."""
    cdef uint64_t total = 0
    cdef int j
    for j in range(n):
        total += mix(sums[j] + hash_pair(s, s.points[i], s.points[j]))
    return total


cdef inline bint form_is_new(State* s, int k) noexcept nogil:
    """Whether no child kept of points[:k] has the form in canon.best; if so, note it."""
    cdef Records* forms = &s.forms[k]
    cdef size_t i, n = k + 1
    for i in range(forms.used // n):
        if memcmp(forms.data + i * n, s.canon.best, n * sizeof(uint16_t)) == 0:
            return False
    if records_add(forms, s.canon.best, n) < 0:
        s.memo.failed = True
    return True


cdef bint is_kept(State* s, int k) noexcept nogil:
    """Whether points[k] is a last point of R = points[:k+1] and no isomorphic sibling was kept. Sets sums and |Aut R|.

    |Aut R| is left out (set to 1) when R has target - 1 points: such samples have no children to compare.
    """
    cdef int n = k + 1, n_ties = 0, i, order
    cdef int ties[MAX_POINTS]
    cdef uint64_t* old = s.sums[k]
    cdef uint64_t* sums = s.sums[n]
    cdef uint64_t own = hash_pair(s, s.points[k], s.points[k]), mine, other
    cdef uint16_t form[MAX_POINTS]
    for i in range(k):
        own += hash_pair(s, s.points[k], s.points[i])
    for i in range(k):
        sums[i] = old[i] + hash_pair(s, s.points[i], s.points[k])
        if sums[i] < own:
            return False
        if sums[i] == own:
            ties[n_ties] = i
            n_ties += 1
    sums[k] = own
    if n_ties:
        mine = second_sum(s, sums, n, k)
        order = 0
        for i in range(n_ties):
            other = second_sum(s, sums, n, ties[i])
            if other < mine:
                return False
            if other == mine:
                ties[order] = ties[i]
                order += 1
        n_ties = order
    if n_ties == 0 and s.automorphisms[k] == 1 and n >= s.target - 1:
        s.automorphisms[n] = 1
        return True
    canon_form(&s.canon, s.d, s.points, n, k, s.fixed)
    s.automorphisms[n] = s.canon.n_automorphisms
    if n_ties:
        memcpy(form, s.canon.best, n * sizeof(uint16_t))
        for i in range(n_ties):
            canon_form(&s.canon, s.d, s.points, n, ties[i], s.fixed)
            order = memcmp(s.canon.best, form, n * sizeof(uint16_t))
            if order < 0:
                return False
            if order == 0:
                s.automorphisms[n] += s.canon.n_automorphisms
        memcpy(s.canon.best, form, n * sizeof(uint16_t))
    return s.automorphisms[k] == 1 or form_is_new(s, k)


cdef void note_witness(State* s, int k, uint16_t y) noexcept nogil:
    """points[:k] + y is shattered and as large as the target: look for larger ones from now on."""
    memcpy(s.witness, s.points, k * sizeof(uint16_t))
    s.witness[k] = y
    s.witness_size = k + 1
    s.target = k + 2


cdef int note_unit(State* s, int k, int n) noexcept nogil:
    """Put points[:k] with its n candidates aside as a unit of work."""
    cdef uint16_t head[2]
    head[0] = <uint16_t>(n & 0xFFFF)
    head[1] = <uint16_t>(n >> 16)
    if (records_add(&s.units, head, 2) < 0 or records_add(&s.units, s.points, k) < 0
            or records_add(&s.units, s.candidates[k], n) < 0):
        return NO_MEMORY
    return EXHAUSTED


cdef int find_extensions(State* s, int k, int* n_candidates) except -1 nogil:
    """Reduce candidates[k] to E(points[:k]); gives up (0 left) when a sample of target points is out of reach."""
    cdef uint16_t* extensions = s.candidates[k]
    cdef int n = 0, i, answer, total = n_candidates[0]
    for i in range(total):
        if n + total - i < s.target - k:
            break
        answer = is_extension(s, k, extensions[i])
        if answer < 0:
            return STOPPED
        if answer:
            if k + 1 >= s.target:
                note_witness(s, k, extensions[i])
                if s.first_only or k + 1 >= s.ceiling:
                    return FOUND
            extensions[n] = extensions[i]
            n += 1
    n_candidates[0] = n if n >= s.target - k else 0
    return NO_MEMORY if s.memo.failed else EXHAUSTED


cdef int visit(State* s, int k, int n) except -1 nogil:
    """Search all samples that extend R = points[:k] by some of candidates[k][:n] and have R in their line of descent."""
    cdef int outcome, i, m
    if k == s.split_size:
        return note_unit(s, k, n)
    s.kept[k] += 1
    outcome = find_extensions(s, k, &n)
    if outcome != EXHAUSTED:
        return outcome
    s.forms[k].used = 0
    for i in range(n):
        if n < s.target - k:
            break
        s.points[k] = s.candidates[k][i]
        if not is_kept(s, k):
            continue
        memo_set_point(&s.memo, k, s.points[k])
        m = n - 1
        memcpy(s.candidates[k + 1], s.candidates[k], i * sizeof(uint16_t))
        memcpy(s.candidates[k + 1] + i, s.candidates[k] + i + 1, (m - i) * sizeof(uint16_t))
        outcome = visit(s, k + 1, m)
        if outcome != EXHAUSTED:
            return outcome
    return EXHAUSTED


cdef class Control:
    """Limits and the stop flag that all threads of one search share."""
    cdef Shared shared

    def __init__(self, double deadline=float("inf"), int64_t n_tests=-1):
        self.shared.stop = 0
        self.shared.last_unit = (<int64_t>1 << 62)
        self.shared.deadline = deadline
        self.shared.n_tests = n_tests

    def stop(self):
        """Make every run under this control end soon."""
        self.shared.stop = 1

    @property
    def stopped(self):
        return bool(self.shared.stop)

    @property
    def last_unit(self):
        return self.shared.last_unit

    @last_unit.setter
    def last_unit(self, int64_t unit):
        self.shared.last_unit = unit


cdef class Search:
    """One searcher: its sample, its memo, its counters. Use from one thread at a time."""
    cdef State* s
    cdef Control control

    def __cinit__(self, const int[:, ::1] table, int d, bint fixed, Control control):
        cdef int i
        self.control = control
        self.s = <State*>malloc(sizeof(State))
        if self.s == NULL:
            raise MemoryError
        memset(self.s, 0, sizeof(State))
        self.s.d = d
        self.s.fixed = fixed
        self.s.split_size = -1
        self.s.shared = &control.shared
        for i in range(d + 1):
            self.s.distance_hash[i] = mix(1 + i)
        if memo_init(&self.s.memo, table, d, fixed, True, MAX_POINTS) < 0:
            raise MemoryError
        for i in range(MAX_POINTS + 1):
            self.s.candidates[i] = <uint16_t*>malloc(sizeof(uint16_t) << d)
            if self.s.candidates[i] == NULL:
                raise MemoryError

    def __dealloc__(self):
        cdef int i
        if self.s == NULL:
            return
        for i in range(MAX_POINTS + 1):
            free(self.s.candidates[i])
            free(self.s.forms[i].data)
        free(self.s.units.data)
        memo_free(&self.s.memo)
        free(self.s)

    cdef int begin(self):
        """Start from scratch: the empty sample, or (orientation free) the origin, to which any point can be moved."""
        cdef State* s = self.s
        cdef uint64_t order = 1
        cdef int i, n = 1 << s.d
        for i in range(2, s.d + 1):
            order *= i
        if s.fixed:
            s.automorphisms[0] = order
            for i in range(n):
                s.candidates[0][i] = i
            return 0
        s.points[0] = 0
        s.sums[1][0] = hash_pair(s, 0, 0)
        s.automorphisms[1] = order
        memo_set_point(&s.memo, 0, 0)
        for i in range(n - 1):
            s.candidates[1][i] = i + 1
        return 1

    def run(self, int target, int ceiling, bint first_only=False, int split_size=-1):
        """Search from scratch for samples of `target` points and more; returns one of OUTCOMES."""
        cdef int outcome, k
        k = self.begin()
        self.s.target = target
        self.s.ceiling = ceiling
        self.s.first_only = first_only
        self.s.split_size = split_size
        self.s.unit = 0
        self.s.next_poll = 0
        with nogil:
            outcome = visit(self.s, k, (1 << self.s.d) - k)
        return OUTCOMES[outcome]

    @property
    def witness(self):
        """The largest sample found, as a list of points (bit f = feature f)."""
        return [self.s.witness[i] for i in range(self.s.witness_size)]

    @property
    def target(self):
        return self.s.target

    @property
    def kept(self):
        """Orbits visited, by size of sample."""
        return [self.s.kept[i] for i in range(MAX_POINTS + 1)]

    @property
    def tested(self):
        """Samples tested, by size."""
        return [self.s.tested[i] for i in range(MAX_POINTS + 1)]

    @property
    def shattered(self):
        """Samples tested and found shattered, by size."""
        return [self.s.shattered[i] for i in range(MAX_POINTS + 1)]

    @property
    def n_sets(self):
        """Dichotomy sets (lanes of them) computed."""
        return self.s.memo.n_sets

    @property
    def n_bytes(self):
        """Memory held by the memo."""
        return self.s.memo.bytes

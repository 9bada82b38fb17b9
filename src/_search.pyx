"""The search for the largest shattered sample, one sample per orbit.

The VC dimension of a structure on d binary features is the size of the largest shattered subset R of {0,1}^d. Subsets of shattered
samples are shattered, so samples are grown one point at a time, depth first, and only from shattered ones:

    visit(R, candidates):                       R is shattered; candidates contain E(R)
        E = {y in candidates : R + y is shattered}                  (extension.pxd)
        a set of `target` points needs target - |R| of them: give up as soon as there are fewer
        for x in E with R + x kept (one per orbit, canon.pxd):
            visit(R + x, E - x)

E(R + x) is a subset of E(R) because R + y is a subset of R + x + y. `target` is one more than the largest shattered sample known;
finding one of that size raises it. When the search ends, no shattered sample of `target` points exists.

Determinism: candidates are taken in increasing order, so the first sample of each size met is always the same.
Independent units of work are the samples of a given size with their candidates (`Search.units`), each to be run on its own.
"""

from cpython.exc cimport PyErr_CheckSignals
from libc.stdint cimport int64_t, uint16_t, uint32_t, uint64_t
from libc.stdlib cimport free, malloc, realloc
from libc.string cimport memcmp, memcpy, memset

from canon cimport Canon, canon_form, mix, pair_hash
from clock cimport monotonic_seconds
from dichotomy cimport LOW_POINTS, Memo, memo_bytes, memo_free, memo_init, memo_set_point, node_lane
from extension cimport ALL, Extender, extend, extender_bytes, extender_free, extender_init, extender_set_point
from lanes cimport bits_count, bits_count64, bits_low64, lane_is_ones, lane_t
from scalars cimport MAX_FEATURES, MAX_POINTS, mask_t

# How a run ended.
cdef enum Outcome:
    EXHAUSTED = 0        # no sample of `target` points extends what was given
    FOUND = 1            # stopped at the first sample of `target` points (or at `ceiling`)
    STOPPED = 2          # by time, nodes, another thread or a signal
    NO_MEMORY = 3
    DEAD = 4             # exhausted, and no sample of `target` points has this one for a subset

OUTCOMES = ("exhausted", "found", "stopped", "no memory", "exhausted")

cdef enum:
    POLL_ENTRIES = 4096        # entries of extension sets between two looks at the clock: about 0.2 ms
    SIGNAL_MILLISECONDS = 20   # between two looks for Ctrl-C
    N_KILLERS = 2             # labellings remembered per size of sample because they removed candidates


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
    uint64_t* candidates[MAX_POINTS + 1]  # for samples of each size: a set of points of the cube, W words
    uint64_t* verdict                     # 2 W words: what one labelling leaves
    uint64_t sums[MAX_POINTS + 1][MAX_POINTS + 1]     # s(p) of canon.pxd for R of each size
    uint64_t automorphisms[MAX_POINTS + 1]            # |Aut R| for R of each size
    Records forms[MAX_POINTS + 1]         # forms of the children kept of R of each size
    mask_t killers[MAX_POINTS + 1][N_KILLERS]         # the latest first
    uint64_t distance_hash[MAX_FEATURES + 1]
    Records units                         # |candidates|, points, candidates of each unit
    int witness_size
    uint16_t witness[MAX_POINTS]
    int64_t kept[MAX_POINTS + 1]          # orbits visited by size
    int64_t tested[MAX_POINTS + 1]        # samples decided by size
    int64_t shattered[MAX_POINTS + 1]     # of those, shattered
    int64_t n_labellings                  # labellings decided
    int64_t next_poll
    double next_signal
    int64_t unit
    Shared* shared
    Extender extender
    Memo memo
    Canon canon


cdef int check_signals() except -1 with gil:
    return PyErr_CheckSignals()


cdef int poll(State* s) except -2 nogil:
    """Nonzero when the run has to stop. Raises what a signal handler raises."""
    cdef double now
    s.next_poll = <int64_t>(s.memo.n_sets + s.extender.n_entries) + POLL_ENTRIES
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


cdef inline int set_size(const uint64_t* members, int W) noexcept nogil:
    cdef int n = 0, w
    for w in range(W):
        n += bits_count64(members[w])
    return n


cdef inline bint apply_labelling(State* s, int k, mask_t labels) noexcept nogil:
    """Remove from candidates[k] what cannot be added to points[:k] under these labels; True if anything was."""
    cdef Extender* x = &s.extender
    cdef uint64_t* alive = s.candidates[k]
    cdef uint64_t* out = s.verdict
    cdef uint64_t removed = 0
    cdef int w
    s.n_labellings += 1
    if extend(x, k, labels, alive, out) == ALL:
        return False
    for w in range(x.W):
        removed |= alive[w] & ~(out[w] & out[x.W + w])
        alive[w] &= out[w] & out[x.W + w]
    return removed != 0


cdef inline void note_killer(State* s, int k, int place, mask_t labels) noexcept nogil:
    """Move `labels`, now at `place` (or new: N_KILLERS), to the front of the killers of samples of k points."""
    cdef int i = place if place < N_KILLERS else N_KILLERS - 1
    while i > 0:
        s.killers[k][i] = s.killers[k][i - 1]
        i -= 1
    s.killers[k][0] = labels


cdef int failing_labels(State* s, int k, uint16_t y, mask_t* labels) except -2 nogil:
    """Test points[:k] + y: 0 if shattered, 1 if not, with labels of points[:k] that fail with y; -1 to stop."""
    cdef mask_t full = (<mask_t>2 << k) - 1
    cdef mask_t n_chunks = <mask_t>1 << (k + 1 - LOW_POINTS if k + 1 > LOW_POINTS else 0)
    cdef mask_t chunk
    cdef lane_t lane
    cdef int w
    memo_set_point(&s.memo, k, y)
    for chunk in range(n_chunks):
        node_lane(&s.memo, s.memo.n_structures - 1, full, chunk, &lane)
        s.memo.n_sets += 1
        if not lane_is_ones(&lane):
            w = 0
            while lane.w[w] == ~<uint64_t>0:
                w += 1
            labels[0] = <mask_t>(64 * w + bits_low64(~lane.w[w])) << 1 | chunk << LOW_POINTS
            labels[0] &= (<mask_t>1 << k) - 1
            return 1
        if <int64_t>(s.memo.n_sets + s.extender.n_entries) >= s.next_poll and poll(s):
            return -1
    return 0


cdef inline int kill(State* s, int k, mask_t labels, int place) noexcept nogil:
    """Apply a labelling; the number of candidates left if it removed any (and note it), else -1."""
    if not apply_labelling(s, k, labels):
        return -1
    note_killer(s, k, place, labels)
    return set_size(s.candidates[k], s.extender.W)


cdef int thin_candidates(State* s, int k) except -2 nogil:
    """Remove from candidates[k] what the labellings that killed lately kill; the number left, or 0 if too few for the target.

    Assumes points[:k] shattered.
    """
    cdef int need = s.target - k if s.target > k else 1, size = set_size(s.candidates[k], s.extender.W), i, left
    s.tested[k + 1] += size
    for i in range(N_KILLERS):
        if size < need:
            return 0
        left = kill(s, k, s.killers[k][i] & ((<mask_t>1 << k) - 1), i)
        if left >= 0:
            size = left
    return size if size >= need else 0


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
        s.extender.failed = True
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


cdef void note_witness(State* s, int k) noexcept nogil:
    """points[:k] is shattered and as large as the target: look for larger ones from now on."""
    memcpy(s.witness, s.points, k * sizeof(uint16_t))
    s.witness_size = k
    s.target = k + 1


cdef int note_unit(State* s, int k) noexcept nogil:
    """Put points[:k] with its candidates aside as a unit of work."""
    if (records_add(&s.units, s.points, k) < 0
            or records_add(&s.units, <uint16_t*>s.candidates[k], 4 * s.extender.W) < 0):
        return NO_MEMORY
    return EXHAUSTED


cdef inline void set_remove(uint64_t* members, uint32_t p) noexcept nogil:
    members[p >> 6] &= ~(<uint64_t>1 << (p & 63))


cdef int visit_children(State* s, int k) except -1 nogil:
    """Visit points[:k] + x for each x in candidates[k] that is kept."""
    cdef int W = s.extender.W, w, outcome
    cdef uint64_t word
    s.forms[k].used = 0
    for w in range(W):
        word = s.candidates[k][w]
        while word:
            s.points[k] = <uint16_t>(64 * w + bits_low64(word))
            word &= word - 1
            if k + 1 < s.target and not is_kept(s, k):
                continue
            memcpy(s.candidates[k + 1], s.candidates[k], W * sizeof(uint64_t))
            set_remove(s.candidates[k + 1], s.points[k])
            outcome = visit(s, k + 1)
            if outcome == DEAD:
                set_remove(s.candidates[k], s.points[k])
                word &= s.candidates[k][w]
                if set_size(s.candidates[k], W) < s.target - k:
                    return DEAD
            elif outcome != EXHAUSTED:
                return outcome
    return EXHAUSTED


cdef int visit(State* s, int k) except -1 nogil:
    """Search all samples that extend R = points[:k] by some of candidates[k] and have R in their line of descent.

    R minus its last point is shattered. Whether R is, is asked only once its candidates are many enough to matter; if not,
    the labels that fail are applied to the candidates one size below, of which R's last point was one.
    """
    cdef int answer
    cdef mask_t labels = 0
    if k == s.split_size:
        return note_unit(s, k)
    if k:
        extender_set_point(&s.extender, k - 1, s.points[k - 1], s.candidates[k])
    if <int64_t>(s.memo.n_sets + s.extender.n_entries) >= s.next_poll and poll(s):
        return STOPPED
    if k < s.target:
        s.kept[k] += 1
        if thin_candidates(s, k) == 0:
            return DEAD
    if s.extender.failed or s.memo.failed:
        return NO_MEMORY
    if k > 1:
        answer = failing_labels(s, k - 1, s.points[k - 1], &labels)
        if answer < 0:
            return STOPPED
        if answer:
            kill(s, k - 1, labels, N_KILLERS)
            return DEAD
    elif k:
        memo_set_point(&s.memo, 0, s.points[0])
    s.shattered[k] += 1
    if k >= s.target:
        note_witness(s, k)
        if s.first_only or k >= s.ceiling:
            return FOUND
        if not is_kept(s, k - 1):
            return EXHAUSTED
        s.kept[k] += 1
        if thin_candidates(s, k) == 0:
            return EXHAUSTED
    return visit_children(s, k)


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

    def __cinit__(self, const int[:, ::1] table, int height, int d, bint fixed, Control control):
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
        if (extender_init(&self.s.extender, table, height, d, fixed) < 0
                or memo_init(&self.s.memo, table, d, fixed, True, MAX_POINTS) < 0):
            raise MemoryError
        self.s.verdict = <uint64_t*>malloc(2 * self.s.extender.W * sizeof(uint64_t))
        if self.s.verdict == NULL:
            raise MemoryError
        for i in range(MAX_POINTS + 1):
            self.s.candidates[i] = <uint64_t*>malloc(self.s.extender.W * sizeof(uint64_t))
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
        free(self.s.verdict)
        extender_free(&self.s.extender)
        memo_free(&self.s.memo)
        free(self.s)

    cdef int begin(self):
        """Start from scratch: the empty sample, or (orientation free) the origin, to which any point can be moved."""
        cdef State* s = self.s
        cdef uint64_t order = 1
        cdef int i, k = 0 if s.fixed else 1
        for i in range(2, s.d + 1):
            order *= i
        s.automorphisms[k] = order
        memset(s.candidates[k], 0, s.extender.W * sizeof(uint64_t))
        memcpy(s.candidates[k], s.extender.root.members, s.extender.W * sizeof(uint64_t))
        if not s.fixed:
            s.points[0] = 0
            s.sums[1][0] = hash_pair(s, 0, 0)
            set_remove(s.candidates[1], 0)
        return k

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
            outcome = visit(self.s, k)
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
        """Entries of extension sets computed."""
        return self.s.extender.n_entries + self.s.memo.n_sets

    @property
    def n_labellings(self):
        return self.s.n_labellings

    @property
    def n_bytes(self):
        """Memory held by the memo."""
        return extender_bytes(&self.s.extender) + memo_bytes(&self.s.memo)

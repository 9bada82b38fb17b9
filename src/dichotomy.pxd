"""Dichotomy sets: which labellings of a sample a substructure realises, memoised.

A sample is m <= MAX_POINTS points, numbered 0 .. m-1, on d <= MAX_FEATURES binary features; column f is the mask
of the points whose feature f is 1. For a substructure t and a subset A of the sample

    D(t, A) = the labellings of the sample whose restriction to A is realised by some tree of structure t:

    D(leaf, A)   = the labellings constant on A
    D((l r), A)  = OR over features f, with A0 = A minus column f and A1 = A and column f, of
                   D(l, A0) AND D(r, A1)    and, orientation free, D(r, A0) AND D(l, A1).

A feature that is constant on A makes one side empty, and D(t, {}) is everything: the node is wasted and passes A on to
one child. Complementing a labelling keeps it realisable, so point 0 is always labelled 0.

Representation. The labels of points 1 .. 8 run inside a *lane* of 256 bits, bit i of a labelling's number being the
label of point i+1. The labels of points 9, 10, ... (the *high* points) are held in a mask `c`, the chunk: D(t, A) on
chunk c is one lane, and it depends on c only through the labels of the high points of A. So the memo keeps
2^|A's high points| lanes per (t, A), filled when first asked for (one lane only, where these would be too many).

D(t, A) depends on the points of A alone. The memo of all A whose last point is number i therefore stays valid for as long as
points 0 .. i stay where they are: it is kept per *level* i, and replacing point i empties just that level. A depth-first
search that replaces its last point keeps everything else, and testing one more point costs only the subsets
that hold it.

Cost of one lane of D(t, A): 2 d look-ups and as many operations on 4 words.
"""

from libc.stdint cimport int64_t, uint8_t, uint32_t, uint64_t
from libc.stdlib cimport calloc, free, malloc
from libc.string cimport memset

from arena cimport Arena, arena_clear, arena_free, arena_take
from control cimport Watch, watch_quietly, watch_step
from bitlane cimport (bits_count, bits_low, bits_low64, bits_top, lane_and, lane_andnot, lane_count, lane_fill,
                      lane_is_ones, lane_is_within, lane_is_zero, lane_or, lane_or_and, lane_t, lane_xor)
from scalars cimport MAX_FEATURES, MAX_POINTS, mask_t

cdef enum:
    LOW_POINTS = 9        # point 0 (label fixed) and the 8 whose labels run inside a lane
    KEPT_HIGH = 10        # subsets with more high points than this do not keep all their 2^high lanes (33 kB here)

# What is known of a lane of the memo.
cdef enum:
    LANE_UNKNOWN = 0
    LANE_MIXED = 1
    LANE_ONES = 2
    LANE_ZEROS = 3

# An open-addressing table A -> slot; a slot is an array of T pointers, one per substructure, to its lanes.
cdef struct Entry:
    mask_t key
    uint32_t epoch       # the entry is live iff this is the level's epoch
    void** slot

cdef struct MemoLevel:
    Entry* entries
    uint32_t size        # a power of two
    uint32_t used
    uint32_t epoch
    int shift            # 32 - log2(size)
    Arena arena

# Computes D(t, A) on chunk c for a node t; see `Memo.node`.
ctypedef void (*node_t)(Memo* memo, int t, mask_t A, mask_t c, lane_t* out) noexcept nogil

cdef struct Memo:
    node_t node                     # the recursion on other than binary features (splits.pxd); NULL: the one here
    void* splits                    # what it needs
    int n_structures                # T; 0 is the leaf, T-1 the whole structure
    int* left
    int* right
    int* easy                       # any `easy[t]` distinct points are shattered by t
    bint fixed                      # orientation
    int d
    mask_t columns[MAX_FEATURES]
    MemoLevel levels[MAX_POINTS]
    lane_t ones
    lane_t zeros
    lane_t label[LOW_POINTS]        # labellings of a lane in which low point i is labelled 1
    mask_t failing_chunk[MAX_POINTS + 1]
    uint64_t n_sets                 # lanes computed so far
    bint failed                     # out of memory: what was returned since is void
    Watch* watch                    # looked at with every lane computed
    int halt                        # what it said, if not 0: what was returned since is void


cdef inline int level_init(Memo* memo, MemoLevel* level, int log_size) noexcept nogil:
    level.size = <uint32_t>1 << log_size
    level.shift = 32 - log_size
    level.used = 0
    level.epoch = 1
    level.entries = <Entry*>calloc(level.size, sizeof(Entry))
    return -1 if level.entries == NULL else 0


cdef inline void level_clear(MemoLevel* level) noexcept nogil:
    """Forget every subset whose last point is this level's. O(1)."""
    level.used = 0
    level.epoch += 1
    if level.epoch == 0:
        memset(level.entries, 0, level.size * sizeof(Entry))
        level.epoch = 1
    arena_clear(&level.arena)


cdef inline int level_grow(Memo* memo, MemoLevel* level) noexcept nogil:
    """Double the table; keeps the live entries."""
    cdef Entry* old = level.entries
    cdef uint32_t i, j, size = level.size
    cdef Entry* fresh = <Entry*>calloc(2 * <size_t>size, sizeof(Entry))
    if fresh == NULL:
        memo.failed = True
        return -1
    level.entries = fresh
    level.size = 2 * size
    level.shift -= 1
    for i in range(size):
        if old[i].epoch == level.epoch:
            j = (old[i].key * <uint32_t>0x9E3779B1) >> level.shift
            while fresh[j].epoch == level.epoch:
                j = (j + 1) & (level.size - 1)
            fresh[j] = old[i]
    free(old)
    return 0


cdef inline void** memo_slot(Memo* memo, mask_t A) noexcept nogil:
    """The slot of A, made on first use; NULL when memory is out."""
    cdef MemoLevel* level = &memo.levels[bits_top(A)]
    cdef uint32_t j = (A * <uint32_t>0x9E3779B1) >> level.shift
    cdef Entry* entry = &level.entries[j]
    while entry.epoch == level.epoch:
        if entry.key == A:
            return entry.slot
        j = (j + 1) & (level.size - 1)
        entry = &level.entries[j]
    if 2 * level.used >= level.size:
        if level_grow(memo, level) < 0:
            return NULL
        return memo_slot(memo, A)
    cdef void** slot = <void**>arena_take(&level.arena, memo.n_structures * sizeof(void*))
    cdef int t
    if slot == NULL:
        memo.failed = True
        return NULL
    for t in range(memo.n_structures):
        slot[t] = NULL
    entry.key = A
    entry.epoch = level.epoch
    entry.slot = slot
    level.used += 1
    return slot


cdef inline mask_t compress(mask_t c, mask_t high) noexcept nogil:
    """The bits of c at the set bits of high, packed."""
    cdef mask_t packed = 0
    cdef int i = 0
    while high:
        packed |= ((c >> bits_low(high)) & 1) << i
        high &= high - 1
        i += 1
    return packed


cdef inline const lane_t* label_lane(const Memo* memo, int i, mask_t c) noexcept nogil:
    """The labellings of chunk c in which point i is labelled 1."""
    if i < LOW_POINTS:
        return &memo.label[i]
    return &memo.ones if (c >> (i - LOW_POINTS)) & 1 else &memo.zeros


cdef inline void leaf_lane(const Memo* memo, mask_t A, mask_t c, lane_t* out) noexcept nogil:
    """D(leaf, A) on chunk c: all of A labelled 0, or all labelled 1."""
    cdef mask_t high = A >> LOW_POINTS
    cdef mask_t low = A & ((1 << LOW_POINTS) - 1)
    cdef lane_t zero, one
    lane_fill(&zero, <uint64_t>0 if c & high else ~<uint64_t>0)
    lane_fill(&one, <uint64_t>0 if ~c & high else ~<uint64_t>0)
    while low:
        lane_andnot(&zero, &memo.label[bits_low(low)])
        lane_and(&one, &memo.label[bits_low(low)])
        low &= low - 1
    out[0] = zero
    lane_or(out, &one)


cdef inline void stump_lane(const Memo* memo, mask_t A, mask_t c, lane_t* out) noexcept nogil:
    """D(stump, A) on chunk c, A not empty: the labellings that are constant on A, or a column, or a column's complement.

    Up to complement, the label of A's first point is 0; `differs` holds the labellings in which another point differs from it.
    """
    cdef lane_t differs[MAX_POINTS]
    cdef lane_t match
    cdef mask_t first = A & -A, others = A ^ first, rest, part
    cdef const lane_t* label = label_lane(memo, bits_low(A), c)
    cdef int f, i, n = 0
    lane_fill(out, ~<uint64_t>0)
    rest = others
    while rest:
        differs[n] = label_lane(memo, bits_low(rest), c)[0]
        lane_xor(&differs[n], label)
        lane_andnot(out, &differs[n])
        n += 1
        rest &= rest - 1
    for f in range(memo.d):
        part = A & memo.columns[f]
        if part & first:
            part ^= A
        if part == 0:
            continue
        lane_fill(&match, ~<uint64_t>0)
        rest = others
        for i in range(n):
            if part & rest & -rest:
                lane_and(&match, &differs[i])
            else:
                lane_andnot(&match, &differs[i])
            rest &= rest - 1
        lane_or(out, &match)


cdef inline bint is_easy(const Memo* memo, int t, mask_t A) noexcept nogil:
    """Whether |A| <= easy[t], which is 1, 2 or 3, or A is empty."""
    cdef mask_t rest = A & (A - 1)
    if rest == 0 or A == 0:
        return True
    if memo.easy[t] == 1:
        return False
    rest &= rest - 1
    if rest == 0:
        return True
    return memo.easy[t] >= 3 and (rest & (rest - 1)) == 0


cdef inline uint8_t lane_state(const lane_t* lane) noexcept nogil:
    if lane_is_ones(lane):
        return LANE_ONES
    return LANE_ZEROS if lane_is_zero(lane) else LANE_MIXED


cdef inline lane_t* memo_place(Memo* memo, int t, mask_t A, mask_t c, uint8_t** state) noexcept nogil:
    """Where D(t, A) on chunk c is kept, and its state; NULL when memory is out.

    Subsets with more than KEPT_HIGH high points keep one lane only, with the labels it is for: chunks are taken one
    after the other, so it serves while one chunk is worked on.
    """
    cdef void** slot = memo_slot(memo, A)
    cdef mask_t high = A >> LOW_POINTS
    cdef size_t n = 1, index = 0
    cdef int n_high
    cdef bint one_only = False
    cdef lane_t* lanes
    if slot == NULL:
        return NULL
    if high:
        n_high = bits_count(high)
        one_only = n_high > KEPT_HIGH
        if not one_only:
            n = <size_t>1 << n_high
            index = compress(c, high)
    lanes = <lane_t*>slot[t]
    if lanes == NULL:
        lanes = <lane_t*>arena_take(&memo.levels[bits_top(A)].arena, n * (sizeof(lane_t) + 1) + 2 * sizeof(mask_t))
        if lanes == NULL:
            memo.failed = True
            return NULL
        slot[t] = lanes
        memset(lanes + n, 0, n + 2 * sizeof(mask_t))
    state[0] = <uint8_t*>(lanes + n) + index
    if one_only and (<mask_t*>(lanes + 1))[1] != (c & high):
        (<mask_t*>(lanes + 1))[1] = c & high
        state[0][0] = LANE_UNKNOWN
    return lanes + index


cdef inline const lane_t* memo_lane(Memo* memo, int t, mask_t A, mask_t c, lane_t* room) noexcept nogil:
    """D(t, A) on chunk c: memo.ones, memo.zeros, a place of the memo, or `room` for what is not kept."""
    cdef uint8_t* state
    cdef lane_t* lane
    if is_easy(memo, t, A):
        return &memo.ones
    if t == 0:
        leaf_lane(memo, A, c, room)
        return room
    lane = memo_place(memo, t, A, c, &state)
    if lane == NULL:
        return &memo.zeros
    if state[0] == LANE_UNKNOWN:
        memo.n_sets += 1
        if memo.halt == 0:
            memo.halt = watch_quietly(memo.watch)
        if memo.halt:
            return &memo.zeros
        if memo.node != NULL:
            memo.node(memo, t, A, c, lane)
        elif memo.left[t] == 0 and memo.right[t] == 0:
            stump_lane(memo, A, c, lane)
        else:
            node_lane(memo, t, A, c, lane)
        state[0] = lane_state(lane)
    if state[0] == LANE_ONES:
        return &memo.ones
    return &memo.zeros if state[0] == LANE_ZEROS else lane


cdef inline void join_lanes(Memo* memo, int l, int r, mask_t A0, mask_t A1, mask_t c, lane_t* out) noexcept nogil:
    """out |= D(l, A0) AND D(r, A1) on chunk c; the second is not asked for where the first adds nothing."""
    cdef lane_t a_room, b_room
    cdef const lane_t* a = memo_lane(memo, l, A0, c, &a_room)
    cdef const lane_t* b
    if lane_is_within(a, out):
        return
    b = memo_lane(memo, r, A1, c, &b_room)
    lane_or_and(out, a, b)


cdef inline void node_lane(Memo* memo, int t, mask_t A, mask_t c, lane_t* out) noexcept nogil:
    """D(t, A) on chunk c for a node t, by the recursion at the head of this file."""
    cdef int l = memo.left[t], r = memo.right[t], f
    cdef mask_t A1
    cdef bint to_left = False, to_right = False       # a constant feature can send all of A there
    cdef lane_t room
    lane_fill(out, 0)
    for f in range(memo.d):
        A1 = A & memo.columns[f]
        if A1 == 0:
            to_left = True
        elif A1 == A:
            to_right = True
        else:
            join_lanes(memo, l, r, A ^ A1, A1, c, out)
            if l != r and not memo.fixed:
                join_lanes(memo, l, r, A1, A ^ A1, c, out)
            if lane_is_ones(out):
                return
    if to_left or (to_right and (l == r or not memo.fixed)):
        lane_or(out, memo_lane(memo, l, A, c, &room))
    if l != r and (to_right or (to_left and not memo.fixed)):
        lane_or(out, memo_lane(memo, r, A, c, &room))


cdef inline void memo_set_point(Memo* memo, int i, uint32_t point) noexcept nogil:
    """Make `point` (bit f = feature f) point number i; forgets what was known with the old one."""
    cdef int f
    cdef mask_t bit = <mask_t>1 << i
    level_clear(&memo.levels[i])
    for f in range(memo.d):
        if (point >> f) & 1:
            memo.columns[f] |= bit
        else:
            memo.columns[f] &= ~bit


cdef inline int root_lane(Memo* memo, mask_t full, mask_t c, lane_t* out) except -1 nogil:
    """D(whole structure, full) on chunk c; 1 if told to stop before, else 0."""
    assert full != 0 and full >> MAX_POINTS == 0 and (c << LOW_POINTS) <= full
    if memo.node != NULL:
        memo.node(memo, memo.n_structures - 1, full, c, out)
    else:
        node_lane(memo, memo.n_structures - 1, full, c, out)
    memo.n_sets += 1
    return memo.halt if memo.halt else watch_step(memo.watch, 1)


cdef inline int memo_shatters(Memo* memo, int n, Watch* watch) except -1 nogil:
    """1 if points 0 .. n-1 are shattered by the whole structure, 0 if not, 2 if told to stop.

    The chunk that failed last at this size is tried first: siblings in a search fail alike.
    """
    cdef mask_t full = (<mask_t>1 << n) - 1
    cdef mask_t n_chunks = <mask_t>1 << (n - LOW_POINTS if n > LOW_POINTS else 0)
    cdef mask_t hint = memo.failing_chunk[n] & (n_chunks - 1), i
    cdef lane_t lane
    if memo.n_structures == 1 or n == 0:
        return n <= 1
    memo.watch = watch
    for i in range(n_chunks):
        if root_lane(memo, full, i ^ hint, &lane):
            return 2
        if not lane_is_ones(&lane):
            memo.failing_chunk[n] = i ^ hint
            return 0
    return 1


cdef inline int64_t memo_count(Memo* memo, int n, Watch* watch) except -2 nogil:
    """The number of labellings of points 0 .. n-1 that the whole structure realises; -1 if told to stop."""
    cdef mask_t full = (<mask_t>1 << n) - 1
    cdef mask_t n_chunks = <mask_t>1 << (n - LOW_POINTS if n > LOW_POINTS else 0), chunk
    cdef int64_t total = 0
    cdef lane_t lane
    if n == 0:
        return 1
    if memo.n_structures == 1:
        return 2
    memo.watch = watch
    for chunk in range(n_chunks):
        if root_lane(memo, full, chunk, &lane):
            return -1
        total += lane_count(&lane)
    if n < LOW_POINTS:                  # labels of points that are not there run along: each labelling is met 2^(9-n) times
        total >>= LOW_POINTS - n
    return 2 * total


cdef inline int64_t memo_unrealised(Memo* memo, int n, Watch* watch) except -3 nogil:
    """A labelling (bit i = label of point i) of points 0 .. n-1 that is not realised; -1 if all are, -2 if told to stop."""
    cdef mask_t full = (<mask_t>1 << n) - 1
    cdef mask_t n_chunks = <mask_t>1 << (n - LOW_POINTS if n > LOW_POINTS else 0), chunk
    cdef lane_t lane
    cdef int w
    if n == 0:
        return -1
    if memo.n_structures == 1:
        return -1 if n < 2 else 2
    memo.watch = watch
    for chunk in range(n_chunks):
        if root_lane(memo, full, chunk, &lane):
            return -2
        if not lane_is_ones(&lane):
            w = 0
            while lane.w[w] == ~<uint64_t>0:
                w += 1
            return ((64 * w + bits_low64(~lane.w[w])) << 1 | <int64_t>chunk << LOW_POINTS) & full
    return -1


cdef inline uint64_t low_label(int i, int word) noexcept nogil:
    """Word of the lane of labellings in which low point i >= 1 is labelled 1."""
    cdef int bit = i - 1
    if bit >= 6:
        return ~<uint64_t>0 if (word >> (bit - 6)) & 1 else 0
    cdef uint64_t out = 0
    cdef int j
    for j in range(64):
        if (j >> bit) & 1:
            out |= <uint64_t>1 << j
    return out


cdef inline int memo_allocate(Memo* memo, int n_structures, int n_points) noexcept nogil:
    """An empty memo for samples of up to n_points distinct points; -1 when memory is out."""
    cdef int i, j
    memset(memo, 0, sizeof(Memo))
    memo.n_structures = n_structures
    memo.left = <int*>calloc(n_structures, sizeof(int))
    memo.right = <int*>calloc(n_structures, sizeof(int))
    memo.easy = <int*>calloc(n_structures, sizeof(int))
    if memo.left == NULL or memo.right == NULL or memo.easy == NULL:
        return -1
    lane_fill(&memo.ones, ~<uint64_t>0)
    lane_fill(&memo.zeros, 0)
    for i in range(1, LOW_POINTS):
        for j in range(4):
            memo.label[i].w[j] = low_label(i, j)
    for i in range(n_points):
        if level_init(memo, &memo.levels[i], 6) < 0:
            return -1
    return 0


cdef inline int memo_init(Memo* memo, const int[:, ::1] table, int d, bint fixed, int n_points) noexcept nogil:
    """Set up for binary features; -1 when memory is out. `table` rows are (left, right), row 0 the leaf."""
    cdef int t, l, r, T = <int>table.shape[0]
    if memo_allocate(memo, T, n_points) < 0:
        return -1
    memo.d = d
    memo.fixed = fixed
    for t in range(T):
        l = table[t, 0]
        r = table[t, 1]
        memo.left[t] = l
        memo.right[t] = r
        # One point needs no test, two distinct points one, and three distinct points two wherever the second
        # stands: some feature separates one of them from the other two. Four on a face defeat a comb.
        # (Orientation fixed: the child with a node may be on the wrong side, so three points need not be easy.)
        if t == 0:
            memo.easy[t] = 1
        elif (l == 0 and r == 0) or (fixed and (l == 0 or r == 0)):
            memo.easy[t] = 2
        else:
            memo.easy[t] = 3
    return 0


cdef inline size_t memo_bytes(Memo* memo) noexcept nogil:
    """Memory held."""
    cdef size_t total = 0
    cdef int i
    for i in range(MAX_POINTS):
        total += memo.levels[i].arena.bytes + memo.levels[i].size * sizeof(Entry)
    return total


cdef inline void memo_free(Memo* memo) noexcept nogil:
    cdef int i
    free(memo.left)
    free(memo.right)
    free(memo.easy)
    for i in range(MAX_POINTS):
        free(memo.levels[i].entries)
        arena_free(&memo.levels[i].arena)

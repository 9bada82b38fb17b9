"""Extension sets: which points can be added to a shattered sample, decided one labelling at a time for all points at once.

Let R be a shattered sample and lambda a labelling of it. A point y extends R iff for every lambda some tree of the structure
realises lambda and labels y 0, and some tree realises lambda and labels y 1. For a substructure t and a *cell*, a subcube of
{0,1}^d got by fixing features, with A = R and cell,

    Y_b(t, cell, lambda) = the points y of the cell that some tree of structure t labels b while it realises lambda on A

    leaf      everything, if no point of A is labelled 1-b; else nothing
    (l r)     the union over features f and (free) both orientations of Y_b(l, cell with f=0) and Y_b(r, cell with f=1),
              where l realises lambda on its side and r on its own

so that with cells as bit sets over the 2^d points of the cube, one pass decides every y at once, and E(R) is the
intersection over lambda of Y_0 and Y_1 of the whole structure. Labellings that removed points before are tried first, and the pass
ends as soon as too few points are left: most samples of a search die after a few labellings.

Memo. Y(t, cell, lambda) depends on lambda only through its restriction to A, which has 2^|A| values, and on R only through A: it
is kept per level i, the number of A's last point, for as long as points 0 .. i stay (replacing point i empties the level).
Points that are no candidates at level i are no candidates below it, so the union may stop once all candidates of level i are in both sets.

Cost: O(d) operations on 2^d/64 words per entry of the memo and O(d) per labelling at the root.
"""

from libc.stdint cimport uint16_t, uint32_t, uint64_t
from libc.stdlib cimport calloc, free, malloc, realloc
from libc.string cimport memset

from arena cimport Arena, arena_clear, arena_free, arena_take
from lanes cimport bits_count, bits_top
from scalars cimport MAX_FEATURES, MAX_POINTS, mask_t

cdef enum:
    MEMO_BYTES = 1 << 18   # larger tables of 2^|A| entries are not kept but computed anew

# What is known of an entry Y(t, cell, labels); the first four are two bits, "may label 0" and "may label 1".
cdef enum:
    NOTHING = 0            # t does not realise the labels on A
    ZERO_ONLY = 1          # Y_0 is the whole cell, Y_1 empty
    ONE_ONLY = 2           # the other way round
    ALL = 3                # every candidate of the cell is in both sets
    SOME = 4               # anything else: the sets are written out

cdef struct Cell:
    int number
    uint16_t used                        # features fixed
    uint16_t values                      # and their values
    uint64_t* members                    # W words
    Cell* child[MAX_FEATURES][2]

# The entries of one cell at one level: per substructure, 2^|A| records of 1 + 2 W words, the state plus one (0: not
# known yet) and the two sets.
cdef struct Slot:
    uint32_t epoch                       # live iff this is the level's epoch
    uint64_t** records                   # T pointers

cdef struct Level:
    Slot* slots                          # by cell number
    int n_slots
    uint32_t epoch
    Arena arena
    uint64_t* candidates                 # W words: the candidates when this point was set

cdef struct Extender:
    int T                                # substructures; 0 is the leaf, T-1 the whole
    int W                                # words of a set of points of the cube
    int d
    bint fixed
    int* left
    int* right
    int* easy                            # any easy[t] distinct points are shattered by t
    mask_t columns[MAX_FEATURES]         # points of R whose feature is 1
    uint64_t* halves                     # per feature W words: the points of the cube whose feature is 1
    Level levels[MAX_POINTS]
    Cell* root
    Cell** cells
    int n_cells
    uint64_t* scratch                    # 4 W words per depth, for entries that are not kept
    Arena arena                          # cells
    uint64_t n_entries                   # computed so far
    bint failed                          # memory ran out: all later answers are void


cdef inline Cell* cell_make(Extender* x, uint16_t used, uint16_t values) noexcept nogil:
    """A new cell with its members; NULL when memory is out."""
    cdef Cell* cell = <Cell*>arena_take(&x.arena, sizeof(Cell))
    cdef Cell** cells
    cdef uint32_t p
    if cell == NULL:
        x.failed = True
        return NULL
    if (x.n_cells & (x.n_cells - 1)) == 0:                      # the list doubles at powers of two
        cells = <Cell**>realloc(x.cells, (2 * x.n_cells + 1) * sizeof(Cell*))
        if cells == NULL:
            x.failed = True
            return NULL
        x.cells = cells
    memset(cell, 0, sizeof(Cell))
    cell.members = <uint64_t*>arena_take(&x.arena, x.W * sizeof(uint64_t))
    if cell.members == NULL:
        x.failed = True
        return NULL
    cell.number = x.n_cells
    cell.used = used
    cell.values = values
    memset(cell.members, 0, x.W * sizeof(uint64_t))
    for p in range(<uint32_t>1 << x.d):
        if (p & used) == values:
            cell.members[p >> 6] |= <uint64_t>1 << (p & 63)
    x.cells[x.n_cells] = cell
    x.n_cells += 1
    return cell


cdef inline Cell* cell_child(Extender* x, Cell* cell, int f, int value) noexcept nogil:
    """The half of `cell` where feature f, not fixed yet, is `value`; NULL when memory is out."""
    cdef Cell* child = cell.child[f][value]
    cdef uint16_t used, values
    cdef int i
    if child != NULL:
        return child
    used = cell.used | <uint16_t>(1 << f)
    values = cell.values | <uint16_t>(value << f)
    for i in range(x.n_cells):
        if x.cells[i].used == used and x.cells[i].values == values:
            child = x.cells[i]
            break
    else:
        child = cell_make(x, used, values)
    cell.child[f][value] = child
    return child


cdef inline mask_t compress(mask_t labels, mask_t A) noexcept nogil:
    """The bits of labels at the set bits of A, packed."""
    cdef mask_t packed = 0, bit = 1
    while A:
        if labels & A & -A:
            packed |= bit
        bit += bit
        A &= A - 1
    return packed


cdef inline uint64_t* level_records(Extender* x, Level* level, Cell* cell, int t, mask_t A) noexcept nogil:
    """The records of (t, cell) at this level, made on first use; NULL when they are too many or memory is out."""
    cdef Slot* slots
    cdef Slot* slot
    cdef uint64_t* records
    cdef size_t n, size, i
    if cell.number >= level.n_slots:
        size = 2 * x.n_cells
        slots = <Slot*>realloc(level.slots, size * sizeof(Slot))
        if slots == NULL:
            x.failed = True
            return NULL
        memset(slots + level.n_slots, 0, (size - level.n_slots) * sizeof(Slot))
        level.slots = slots
        level.n_slots = <int>size
    slot = &level.slots[cell.number]
    if slot.epoch != level.epoch:
        slot.records = <uint64_t**>arena_take(&level.arena, x.T * sizeof(uint64_t*))
        if slot.records == NULL:
            x.failed = True
            return NULL
        for i in range(<size_t>x.T):
            slot.records[i] = NULL
        slot.epoch = level.epoch
    records = slot.records[t]
    if records == NULL:
        n = ((1 + 2 * <size_t>x.W) * sizeof(uint64_t)) << bits_count(A)
        if n > MEMO_BYTES:
            return NULL
        records = <uint64_t*>arena_take(&level.arena, n)
        if records == NULL:
            x.failed = True
            return NULL
        memset(records, 0, n)
        slot.records[t] = records
    return records


cdef inline bint extends_easily(Extender* x, int t, mask_t A) noexcept nogil:
    """Whether |A| + 1 <= easy[t], A not empty: then A and any further point are shattered by t."""
    cdef mask_t rest = A & (A - 1)
    if rest == 0:
        return x.easy[t] >= 2
    return x.easy[t] >= 3 and (rest & (rest - 1)) == 0


cdef inline int leaf_state(mask_t A, mask_t labels) noexcept nogil:
    """Y(leaf, cell, labels): the labels that a leaf may carry."""
    return ((A & labels) == 0) + 2 * ((A & ~labels) == 0)


# W is handed down as an argument, so that compilers make copies of what follows for W = 1 and W = 2.

cdef inline bint holds_all(Cell* cell, const uint64_t* candidates, const uint64_t* out, int W) noexcept nogil:
    """Whether every candidate of the cell is in both sets."""
    cdef int w
    for w in range(W):
        if cell.members[w] & candidates[w] & ~(out[w] & out[W + w]):
            return False
    return True


cdef inline int stump_entry(Extender* x, Cell* cell, mask_t A, mask_t labels, uint64_t* out, int W) noexcept nogil:
    """Y(stump, cell, labels) into out, A not empty: the split of each feature with the labels its two leaves may carry."""
    cdef int f, w, zero, one, realised = leaf_state(A, labels) if cell.used else 0
    cdef mask_t A1
    cdef uint64_t member, half
    for w in range(W):
        out[w] = cell.members[w] if realised & ZERO_ONLY else 0
        out[W + w] = cell.members[w] if realised & ONE_ONLY else 0
    for f in range(x.d):
        A1 = A & x.columns[f]
        zero = leaf_state(A ^ A1, labels)
        one = leaf_state(A1, labels)
        if zero == NOTHING or one == NOTHING or (cell.used >> f) & 1:
            continue
        realised = 1
        for w in range(W):
            member = cell.members[w]
            half = x.halves[f * W + w]
            out[w] |= member & (((half if one & ZERO_ONLY else 0)) | (~half if zero & ZERO_ONLY else 0))
            out[W + w] |= member & ((half if one & ONE_ONLY else 0) | (~half if zero & ONE_ONLY else 0))
    return SOME if realised else NOTHING


cdef inline int entry(Extender* x, int t, Cell* cell, mask_t A, mask_t labels, int depth, int side,
                      uint64_t** sets, int W) noexcept nogil:
    """State of Y(t, cell, labels); if it is SOME, `sets` is pointed at Y_0 (W words) and Y_1 (W words)."""
    cdef Level* level
    cdef uint64_t* record
    if t == 0:
        return leaf_state(A, labels)
    if A == 0 or extends_easily(x, t, A):
        return ALL
    if x.left[t] == 0 and x.right[t] == 0:
        sets[0] = x.scratch + (4 * depth + 2 * side) * W
        return stump_entry(x, cell, A, labels, sets[0], W)
    level = &x.levels[bits_top(A)]
    record = level_records(x, level, cell, t, A)
    if record == NULL:
        sets[0] = x.scratch + (4 * depth + 2 * side) * W
        return node_entry(x, t, cell, A, labels, level.candidates, depth + 1, sets[0], W)
    record += <size_t>compress(labels, A) * (1 + 2 * W)
    sets[0] = record + 1
    if record[0] == 0:
        record[0] = 1 + node_entry(x, t, cell, A, labels, level.candidates, depth + 1, sets[0], W)
    return <int>record[0] - 1


cdef inline void unite(Cell* cell, int state, const uint64_t* sets, uint64_t* out, int W) noexcept nogil:
    """out |= the two sets of an entry of `cell`."""
    cdef int w
    if state == SOME:
        for w in range(2 * W):
            out[w] |= sets[w]
        return
    for w in range(W):
        out[w] |= cell.members[w] if state & ZERO_ONLY else 0
        out[W + w] |= cell.members[w] if state & ONE_ONLY else 0


cdef inline bint split_entry(Extender* x, int l, int r, Cell* first, Cell* second, mask_t A0, mask_t A1, mask_t labels,
                             int depth, uint64_t* out, int W) noexcept nogil:
    """out |= what l on the first half and r on the second give together; False if one of them fails."""
    cdef uint64_t* a = NULL
    cdef uint64_t* b = NULL
    cdef int a_state, b_state
    a_state = entry(x, l, first, A0, labels, depth, 0, &a, W)
    if a_state == NOTHING:
        return False
    b_state = entry(x, r, second, A1, labels, depth, 1, &b, W)
    if b_state == NOTHING:
        return False
    unite(first, a_state, a, out, W)
    unite(second, b_state, b, out, W)
    return True


cdef inline bint pass_on(Extender* x, int t, Cell* cell, mask_t A, mask_t labels, int depth, uint64_t* out,
                         int W) noexcept nogil:
    """out |= what child t gives when a feature that is fixed already sends the whole cell to it."""
    cdef uint64_t* sets = NULL
    cdef int state = entry(x, t, cell, A, labels, depth, 0, &sets, W)
    if state == NOTHING:
        return False
    unite(cell, state, sets, out, W)
    return True


cdef inline int node_entry(Extender* x, int t, Cell* cell, mask_t A, mask_t labels, const uint64_t* candidates,
                           int depth, uint64_t* out, int W) noexcept nogil:
    """Y(t, cell, labels) into out for a node t, by the recursion at the head of this file; returns its state."""
    cdef int l = x.left[t], r = x.right[t], f
    cdef mask_t A1
    cdef Cell* zero
    cdef Cell* one
    cdef bint realised = False
    x.n_entries += 1
    for f in range(2 * W):
        out[f] = 0
    if cell.used:
        if not x.fixed or cell.values != cell.used:
            realised |= pass_on(x, l, cell, A, labels, depth, out, W)
        if l != r and (not x.fixed or cell.values):
            realised |= pass_on(x, r, cell, A, labels, depth, out, W)
        if realised and holds_all(cell, candidates, out, W):
            return ALL
    for f in range(x.d):
        if (cell.used >> f) & 1:
            continue
        zero = cell_child(x, cell, f, 0)
        one = cell_child(x, cell, f, 1)
        if zero == NULL or one == NULL:
            return NOTHING
        A1 = A & x.columns[f]
        realised |= split_entry(x, l, r, zero, one, A ^ A1, A1, labels, depth, out, W)
        if l != r and not x.fixed:
            realised |= split_entry(x, l, r, one, zero, A1, A ^ A1, labels, depth, out, W)
        if realised and holds_all(cell, candidates, out, W):
            return ALL
    return SOME if realised else NOTHING


cdef inline int extend(Extender* x, int k, mask_t labels, const uint64_t* candidates, uint64_t* out) noexcept nogil:
    """Y(whole structure, cube, labels) for a sample of k points: ALL, or the two sets in out."""
    cdef mask_t A = (<mask_t>1 << k) - 1
    if x.T <= 2:
        return small_extend(x, A, labels, out)
    if x.W == 1:
        return node_entry(x, x.T - 1, x.root, A, labels, candidates, 0, out, 1)
    if x.W == 2:
        return node_entry(x, x.T - 1, x.root, A, labels, candidates, 0, out, 2)
    return node_entry(x, x.T - 1, x.root, A, labels, candidates, 0, out, x.W)


cdef inline int small_extend(Extender* x, mask_t A, mask_t labels, uint64_t* out) noexcept nogil:
    """`extend` for a leaf and a stump."""
    if A == 0:
        return ALL
    if x.T > 1:
        return stump_entry(x, x.root, A, labels, out, x.W)
    memset(out, 0, 2 * x.W * sizeof(uint64_t))
    unite(x.root, leaf_state(A, labels), NULL, out, x.W)
    return SOME


cdef inline void extender_set_point(Extender* x, int i, uint32_t point, uint64_t* candidates) noexcept nogil:
    """Make `point` (bit f = feature f) point number i; `candidates` stay its candidates until it is replaced."""
    cdef Level* level = &x.levels[i]
    cdef mask_t bit = <mask_t>1 << i
    cdef int f
    arena_clear(&level.arena)
    level.epoch += 1
    if level.epoch == 0:
        memset(level.slots, 0, level.n_slots * sizeof(Slot))
        level.epoch = 1
    level.candidates = candidates
    for f in range(x.d):
        if (point >> f) & 1:
            x.columns[f] |= bit
        else:
            x.columns[f] &= ~bit


cdef inline int extender_init(Extender* x, const int[:, ::1] table, int height, int d, bint fixed) noexcept nogil:
    """Set up; -1 when memory is out. Row t of `table` holds the children of substructure t, row 0 the leaf."""
    cdef int t, l, r, T = <int>table.shape[0]
    cdef uint32_t p
    memset(x, 0, sizeof(Extender))
    x.T = T
    x.d = d
    x.W = 1 if d <= 6 else 1 << (d - 6)
    x.fixed = fixed
    x.left = <int*>malloc(T * sizeof(int))
    x.right = <int*>malloc(T * sizeof(int))
    x.easy = <int*>malloc(T * sizeof(int))
    x.scratch = <uint64_t*>malloc(4 * (height + 2) * x.W * sizeof(uint64_t))
    x.halves = <uint64_t*>calloc((d + 1) * x.W, sizeof(uint64_t))
    if x.left == NULL or x.right == NULL or x.easy == NULL or x.scratch == NULL or x.halves == NULL:
        return -1
    for p in range(<uint32_t>1 << d):
        for t in range(d):
            if (p >> t) & 1:
                x.halves[t * x.W + (p >> 6)] |= <uint64_t>1 << (p & 63)
    for t in range(T):
        l = table[t, 0]
        r = table[t, 1]
        x.left[t] = l
        x.right[t] = r
        # One point needs no test, two distinct points one, and three distinct points two: some feature separates
        # one of them from the other two. Four points on a face defeat a comb. With orientation fixed and a leaf for a
        # child the two may be sent to the leaf, so there three are not easy.
        if t == 0:
            x.easy[t] = 1
        elif (l == 0 and r == 0) or (fixed and (l == 0 or r == 0)):
            x.easy[t] = 2
        else:
            x.easy[t] = 3
    x.root = cell_make(x, 0, 0)
    return -1 if x.root == NULL else 0


cdef inline size_t extender_bytes(Extender* x) noexcept nogil:
    """Memory held."""
    cdef size_t total = x.arena.bytes
    cdef int i
    for i in range(MAX_POINTS):
        total += x.levels[i].arena.bytes + x.levels[i].n_slots * sizeof(Slot)
    return total


cdef inline void extender_free(Extender* x) noexcept nogil:
    cdef int i
    free(x.left)
    free(x.right)
    free(x.easy)
    free(x.scratch)
    free(x.halves)
    free(x.cells)
    arena_free(&x.arena)
    for i in range(MAX_POINTS):
        free(x.levels[i].slots)
        arena_free(&x.levels[i].arena)

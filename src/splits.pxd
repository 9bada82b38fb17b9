"""Dichotomy sets on features of every kind: the recursion of dichotomy.pxd with the splits of kinds.pxd.

    D(leaf, A)        = the labellings constant on A
    D((t1 .. tC), A)  = OR over the splits (A1, .., AC) of A by one feature, and over the ways to give the parts to the children,
                        of D(t1, A1) AND .. AND D(tC, AC).

A node with two children takes a *cut*: the mask of the points on the right, prepared for each feature when the sample is set. A real
feature has a cut between any two neighbours. It can also send everything to one side, but that adds nothing: what r realises on A it
realises without the first point p, and l on p alone. A node with C > 2
children, or a multiway feature with two values, takes a feature's C groups of points.

On a real feature any e(t) points are shattered by t, where e(leaf) = 1 and e((l r)) = e(l) + e(r): cut behind the first e(l).
Cost of one lane: two look-ups a cut and way; for a stump on an ordered feature four operations a point, because the labellings
constant on a beginning of the order are those of one point less that do not change at the last.
"""

from libc.stdint cimport uint8_t, uint64_t
from libc.stdlib cimport calloc, free
from libc.string cimport memset

from bitlane cimport bits_count, bits_low, lane_and, lane_andnot, lane_fill, lane_is_ones, lane_is_within, lane_is_zero, lane_or, lane_or_and, lane_t, lane_xor
from dichotomy cimport Memo, join_lanes, label_lane, leaf_lane, memo_allocate, memo_free, memo_lane
from kinds cimport MAX_CATEGORIES, MAX_COLUMNS, MULTIWAY, NOMINAL, ORDERED, REAL, SUBSETS, Kinds, Sample
from scalars cimport MAX_POINTS, mask_t

cdef enum:
    MAX_SUBSET_CATEGORIES = 8        # 254 cuts
    MAX_CUTS = 256                   # of one feature

cdef struct Splits:
    const Kinds* kinds
    int width                                    # most children of a node
    int* children                                # `width` per substructure
    int* arity
    int* easy                                    # e(t)
    int n_cuts[MAX_COLUMNS]
    mask_t cuts[MAX_COLUMNS][MAX_CUTS]           # points on the right
    mask_t groups[MAX_COLUMNS][MAX_CATEGORIES]   # points by category, finite features
    uint8_t order[MAX_COLUMNS][MAX_POINTS]       # points by value, ordered features
    int n_points


cdef inline int splits_init(Splits* splits, Memo* memo, const Kinds* kinds, const int[:, ::1] table, int n_points) noexcept nogil:
    """A memo whose recursion is the one of this file; -1 when memory is out. Row t of `table`: children, then -1."""
    cdef int t, j, T = <int>table.shape[0], width = <int>table.shape[1]
    memset(splits, 0, sizeof(Splits))
    if memo_allocate(memo, T, n_points) < 0:
        return -1
    splits.kinds = kinds
    splits.width = width
    splits.children = <int*>calloc(T * width, sizeof(int))
    splits.arity = <int*>calloc(T, sizeof(int))
    splits.easy = <int*>calloc(T, sizeof(int))
    if splits.children == NULL or splits.arity == NULL or splits.easy == NULL:
        return -1
    for t in range(T):
        while splits.arity[t] < width and table[t, splits.arity[t]] >= 0:
            splits.children[t * width + splits.arity[t]] = table[t, splits.arity[t]]
            splits.arity[t] += 1
        splits.easy[t] = 1
        if splits.arity[t] == 2 and kinds.n_real:
            splits.easy[t] = splits.easy[table[t, 0]] + splits.easy[table[t, 1]]
        memo.easy[t] = splits.easy[t] if splits.easy[t] < 3 else 3
    memo.fixed = kinds.fixed
    memo.node = general_node
    memo.splits = splits
    return 0


cdef inline void splits_free(Splits* splits) noexcept nogil:
    free(splits.children)
    free(splits.arity)
    free(splits.easy)


cdef inline void splits_set(Splits* splits, const Sample* sample) noexcept nogil:
    """Prepare the cuts of a sample."""
    cdef const Kinds* kinds = splits.kinds
    cdef int f, i
    cdef mask_t everything = (<mask_t>1 << sample.m) - 1
    splits.n_points = sample.m
    for f in range(kinds.n):
        if kinds.kind[f] == REAL:
            for i in range(sample.m):
                splits.order[f][sample.value[f][i]] = <uint8_t>i
            for i in range(sample.m - 1):
                everything ^= <mask_t>1 << splits.order[f][i]
                splits.cuts[f][i] = everything
            everything = (<mask_t>1 << sample.m) - 1
            splits.n_cuts[f] = sample.m - 1 if sample.m else 0
        else:
            memset(splits.groups[f], 0, sizeof(splits.groups[f]))
            for i in range(sample.m):
                splits.groups[f][sample.value[f][i]] |= <mask_t>1 << i
            set_cuts(splits, f)


cdef inline void set_cuts(Splits* splits, int f) noexcept nogil:
    """The cuts of a finite feature, from its groups."""
    cdef int c, set, n = 0, C = splits.kinds.size[f], kind = splits.kinds.kind[f], i = 0
    cdef mask_t rest, points = 0
    if kind == ORDERED:
        for c in range(C - 1, 0, -1):
            points |= splits.groups[f][c]
            splits.cuts[f][n] = points
            n += 1
        for c in range(C):
            rest = splits.groups[f][c]
            while rest:
                splits.order[f][i] = <uint8_t>bits_low(rest)
                i += 1
                rest &= rest - 1
    elif kind == NOMINAL:
        for c in range(C):
            splits.cuts[f][n] = ((<mask_t>1 << splits.n_points) - 1) ^ splits.groups[f][c]
            n += 1
    elif kind == SUBSETS:
        # Orientation free: of a set and its complement the one without the last category is enough.
        for set in range(1, (1 << C) - 1 if splits.kinds.fixed else 1 << (C - 1)):
            points = 0
            for c in range(C):
                if (set >> c) & 1:
                    points |= splits.groups[f][c]
            splits.cuts[f][n] = points
            n += 1
    elif C == 2:
        splits.cuts[f][0] = splits.groups[f][1]
        n = 1
    splits.n_cuts[f] = n


cdef inline void general_node(Memo* memo, int t, mask_t A, mask_t c, lane_t* out) noexcept nogil:
    """D(t, A) on chunk c for a node t."""
    cdef Splits* splits = <Splits*>memo.splits
    cdef const int* children = splits.children + t * splits.width
    cdef lane_t everything
    cdef int f
    if bits_count(A) <= splits.easy[t]:
        lane_fill(out, ~<uint64_t>0)
        return
    if splits.arity[t] == 2:
        if children[1] == 0 and children[0] == 0:
            stump_node(memo, splits, A, c, out)
        else:
            cut_node(memo, splits, children[0], children[1], A, c, out)
        return
    lane_fill(&everything, ~<uint64_t>0)
    lane_fill(out, 0)
    for f in range(splits.kinds.n):
        if splits.kinds.kind[f] == MULTIWAY and splits.kinds.size[f] == splits.arity[t]:
            hand_out(memo, splits, t, f, 0, 0, A, c, &everything, out)
            if lane_is_ones(out):
                return


cdef inline void cut_node(Memo* memo, Splits* splits, int l, int r, mask_t A, mask_t c, lane_t* out) noexcept nogil:
    """D((l r), A) on chunk c."""
    cdef mask_t A1, last
    cdef bint to_left = False, to_right = False
    cdef bint both_ways = l != r and not memo.fixed
    cdef lane_t room
    cdef int f, i
    lane_fill(out, 0)
    for f in range(splits.kinds.n):
        if (l == 0 or r == 0) and splits.kinds.kind[f] == REAL:
            comb_node(memo, splits, l, r, f, A, c, out)
            if lane_is_ones(out):
                return
            continue
        last = 0
        for i in range(splits.n_cuts[f]):
            A1 = A & splits.cuts[f][i]
            if A1 == 0:
                to_left = True
            elif A1 == A:
                to_right = True
            elif A1 != last:
                last = A1
                join_smaller(memo, l, r, A ^ A1, A1, c, out)
                if both_ways:
                    join_smaller(memo, l, r, A1, A ^ A1, c, out)
                if lane_is_ones(out):
                    return
    if to_left or (to_right and (l == r or not memo.fixed)):
        lane_or(out, memo_lane(memo, l, A, c, &room))
    if l != r and (to_right or (to_left and not memo.fixed)):
        lane_or(out, memo_lane(memo, r, A, c, &room))


cdef inline void join_smaller(Memo* memo, int l, int r, mask_t A0, mask_t A1, mask_t c, lane_t* out) noexcept nogil:
    """out |= D(l, A0) AND D(r, A1) on chunk c, the smaller set first: it is cheaper and may show that nothing is added."""
    if bits_count(A0) <= bits_count(A1):
        join_lanes(memo, l, r, A0, A1, c, out)
    else:
        join_lanes(memo, r, l, A1, A0, c, out)


cdef inline void comb_node(Memo* memo, Splits* splits, int l, int r, int f, mask_t A, mask_t c, lane_t* out) noexcept nogil:
    """out |= D((l r), A) on chunk c by the real feature f, where one of l, r is the leaf."""
    cdef lane_t tails[MAX_POINTS]
    cdef uint8_t points[MAX_POINTS]
    cdef lane_t head, room
    cdef mask_t left = 0
    cdef int n = tail_lanes(memo, splits, f, A, c, points, tails), i, other = l + r
    cdef bint leaf_left = l == 0 or not memo.fixed, leaf_right = r == 0 or not memo.fixed
    lane_fill(&head, ~<uint64_t>0)
    for i in range(n - 1):
        left |= <mask_t>1 << points[i]
        if i:
            narrow(memo, points[i - 1], points[i], c, &head)
        if leaf_left and not lane_is_within(&head, out):
            lane_or_and(out, &head, memo_lane(memo, other, A ^ left, c, &room))
        if leaf_right and not lane_is_within(&tails[i + 1], out):
            lane_or_and(out, &tails[i + 1], memo_lane(memo, other, left, c, &room))


cdef inline void narrow(const Memo* memo, int p, int q, mask_t c, lane_t* lane) noexcept nogil:
    """Keep the labellings in which points p and q have the same label."""
    cdef lane_t change = label_lane(memo, p, c)[0]
    lane_xor(&change, label_lane(memo, q, c))
    lane_andnot(lane, &change)


cdef inline int tail_lanes(Memo* memo, const Splits* splits, int f, mask_t A, mask_t c, uint8_t* points,
                           lane_t* tails) noexcept nogil:
    """The points of A in the order of feature f; tails[i]: the labellings constant on points i, i+1, ... Returns how many."""
    cdef int n = 0, i
    for i in range(splits.n_points):
        if (A >> splits.order[f][i]) & 1:
            points[n] = splits.order[f][i]
            n += 1
    lane_fill(&tails[n - 1], ~<uint64_t>0)
    for i in range(n - 2, 0, -1):
        tails[i] = tails[i + 1]
        narrow(memo, points[i], points[i + 1], c, &tails[i])
    return n


cdef inline void stump_node(Memo* memo, Splits* splits, mask_t A, mask_t c, lane_t* out) noexcept nogil:
    """D(stump, A) on chunk c."""
    cdef const Kinds* kinds = splits.kinds
    cdef mask_t A1
    cdef int f, i
    leaf_lane(memo, A, c, out)
    for f in range(kinds.n):
        if kinds.kind[f] == REAL or (kinds.kind[f] == ORDERED and splits.n_cuts[f] > 1):
            ordered_stump(memo, splits, f, A, c, out)
        else:
            for i in range(splits.n_cuts[f]):
                A1 = A & splits.cuts[f][i]
                if A1 != 0 and A1 != A:
                    join_lanes(memo, 0, 0, A ^ A1, A1, c, out)
        if lane_is_ones(out):
            return


cdef inline void ordered_stump(Memo* memo, Splits* splits, int f, mask_t A, mask_t c, lane_t* out) noexcept nogil:
    """out |= the labellings constant on a beginning and on the rest of A in the order of feature f."""
    cdef lane_t tails[MAX_POINTS]
    cdef uint8_t points[MAX_POINTS]
    cdef lane_t head
    cdef int n = tail_lanes(memo, splits, f, A, c, points, tails), i
    lane_fill(&head, ~<uint64_t>0)
    for i in range(n - 1):
        if i:
            narrow(memo, points[i - 1], points[i], c, &head)
        if splits.kinds.kind[f] == REAL or not share_group(splits, f, points[i], points[i + 1]):
            lane_or_and(out, &head, &tails[i + 1])


cdef inline bint share_group(const Splits* splits, int f, int p, int q) noexcept nogil:
    """Whether points p and q have the same category."""
    cdef int c = 0
    while not (splits.groups[f][c] >> p) & 1:
        c += 1
    return (splits.groups[f][c] >> q) & 1


cdef inline void hand_out(Memo* memo, Splits* splits, int t, int f, int part, int taken, mask_t A, mask_t c,
                   const lane_t* so_far, lane_t* out) noexcept nogil:
    """out |= so_far AND D of the parts of A from `part` on, given to the children of t that are not `taken`.

    Like children are taken in their order: exchanging them gives nothing new. Orientation fixed: part i goes to child i.
    """
    cdef const int* children = splits.children + t * splits.width
    cdef mask_t points = A & splits.groups[f][part]
    cdef lane_t room, next
    cdef int j
    for j in range(splits.arity[t]):
        if (taken >> j) & 1 or (memo.fixed and j != part):
            continue
        if j and not memo.fixed and children[j] == children[j - 1] and not (taken >> (j - 1)) & 1:
            continue
        next = so_far[0]
        lane_and(&next, memo_lane(memo, children[j], points, c, &room))
        if lane_is_zero(&next):
            continue
        if part + 1 == splits.arity[t]:
            lane_or(out, &next)
        else:
            hand_out(memo, splits, t, f, part + 1, taken | 1 << j, A, c, &next, out)

"""Growing a whole tree on features with few values: every possible test is a column of bits.

A feature with codes 0 .. C - 1 gives C - 1 columns "code <= j" (ordinal, integer, binary features) or C columns
"code == j" (nominal, one against the rest).  An open node owns its columns, one bit per row, and one plane of bits for
each class but one; then

* search: for each column c, |c| and |c & plane_k| by population count: 64 rows per instruction;
* split: the winning column is the mask; every other column is compressed under it and under its complement.

Columns die out.  Inside a feature the sets "code <= j" are nested, so a column with as many bits as the one before it is
the same set and is dropped, as are empty and full ones and those with fewer than the least rows on a side; what is
dropped in a node is dropped below it.  A column keeps the codes ``low`` and ``high`` between which it cuts in this node:
low is the largest code on the left and high the smallest on the right, so that the threshold lies midway between values
that occur.  Deep nodes thus cost a few instructions per surviving column.

Cost of a node: O(columns * classes * n / 64).  Memory: one bit per row and column, at most twice.
"""

from libc.math cimport INFINITY
from libc.stdint cimport int8_t, int32_t, int64_t, uint8_t, uint16_t, uint32_t, uint64_t
from libc.stdlib cimport calloc, free, malloc, realloc
from libc.string cimport memmove, memset
cimport cython
from cpython.exc cimport PyErr_CheckSignals

from criteria cimport (CHI2, ENTROPY, GAIN_RATIO, GINI, HYPERGEOMETRIC, score_counts, score_pair, table_gain,
                       table_value)
from outcome cimport (Outcome, Record, Rules, outcome_add, outcome_free, outcome_init, outcome_merge)
from scan cimport lanes_available, midpoint
from significance cimport significance

cdef extern from "bitplanes.h" nogil:
    void planes_count(const uint64_t*, Py_ssize_t A, Py_ssize_t W, const uint64_t* planes, Py_ssize_t P,
                      uint32_t* out, int wide)
    ctypedef uint64_t PlanesCut
    PlanesCut planes_cut(uint32_t feature, uint32_t low, uint32_t high)
    uint32_t planes_cut_feature(PlanesCut)
    uint32_t planes_cut_low(PlanesCut)
    uint32_t planes_cut_high(PlanesCut)
    ctypedef struct PlanesFilter:
        Py_ssize_t alive
    PlanesFilter planes_filter()
    void planes_admit(PlanesFilter* f, PlanesCut cut, uint32_t count, Py_ssize_t n, Py_ssize_t least, PlanesCut* cuts,
                      uint32_t* counts)
    ctypedef struct PlanesChild:
        const uint64_t* columns
        const PlanesCut* cuts
        const uint32_t* counts
        Py_ssize_t A
        Py_ssize_t W
        const uint64_t* mask
        Py_ssize_t n
        Py_ssize_t least
        uint64_t* out
        Py_ssize_t width
        PlanesCut* out_cuts
        uint32_t* out_counts
    Py_ssize_t planes_child(const PlanesChild* c, uint32_t* every, uint8_t* fills, uint64_t* steps, int wide)
    Py_ssize_t planes_rest(const PlanesChild* c, const uint32_t* every, uint32_t* list, uint8_t* fills, uint64_t* steps,
                           int wide)
    void planes_close(const uint64_t* column, Py_ssize_t W, const uint64_t* mask, uint64_t* out, Py_ssize_t width,
                      uint8_t* fills, uint64_t* steps, int wide)
    Py_ssize_t planes_gini(const uint64_t* columns, const uint32_t* counts, Py_ssize_t A, Py_ssize_t W,
                           const uint64_t* planes, Py_ssize_t P, const double* N, double n, int two, double* score,
                           int wide)
    Py_ssize_t planes_small(const uint64_t* columns, Py_ssize_t A, uint64_t mask, const uint64_t* planes, Py_ssize_t P,
                            const double* N, double n, double least, int two, double* score, int wide)
    Py_ssize_t planes_table(const uint64_t* columns, const uint32_t* counts, Py_ssize_t A, Py_ssize_t W, uint64_t mask,
                            const uint64_t* plane, const double* T, Py_ssize_t N1, Py_ssize_t n, Py_ssize_t least,
                            double* score, int wide)
    Py_ssize_t planes_small_table(const uint64_t* columns, Py_ssize_t A, uint64_t mask, const uint64_t* planes, Py_ssize_t P,
                                  const double* N, const double* T, int32_t n, int32_t least, double* score, int wide)
    void planes_small_count(const uint64_t* columns, Py_ssize_t A, uint64_t mask, const uint64_t* planes, Py_ssize_t P,
                            uint32_t* out, int wide)
    int planes_codes_single(const float* x, Py_ssize_t n, float low, uint8_t* codes, int lanes)
    int planes_codes_wide(const double* x, Py_ssize_t n, double low, uint8_t* codes, int lanes)
    void planes_from_codes(const uint8_t* codes, Py_ssize_t m, int cut, int equal, uint64_t* out, int wide)

cdef extern from "bins.h" nogil:
    enum:
        BINS_STRIDED
        BINS_TURNED_SINGLE
        BINS_TURNED_WIDE
    void bins_gather_single(const float*, Py_ssize_t step, Py_ssize_t n, float* out, int lanes)
    void bins_gather_wide(const double*, Py_ssize_t step, Py_ssize_t n, double* out, int lanes)
    void bins_turn_single(const float*, Py_ssize_t step, Py_ssize_t n, float* out, Py_ssize_t width, int lanes)
    void bins_turn_wide(const double*, Py_ssize_t step, Py_ssize_t n, double* out, Py_ssize_t width, int lanes)

ctypedef fused floating_t:
    float
    double

cdef enum:
    SIGNAL_STEP = 40000000  # words handled between two looks for signals
    POOL = 32               # freed blocks kept
    SMALL = 16384           # bytes; smaller blocks are left to malloc, which is quick with them


cdef struct Block:
    int64_t record          # its number in the outcome
    Py_ssize_t n            # rows
    Py_ssize_t W            # words per column
    Py_ssize_t A            # columns
    Py_ssize_t P            # class planes: one per class that occurs, but the first
    Py_ssize_t depth
    PlanesCut* cuts         # A tests, see bitplanes.h
    uint32_t* counts        # A: bits of each column
    uint64_t* columns       # A x W
    uint64_t* planes        # P x W
    int32_t* classes        # P + 1 classes that occur
    Py_ssize_t best         # winning column, -1 without one
    double score
    double priority
    size_t capacity         # bytes of the piece of memory that holds all this


cdef struct Twig:
    uint64_t mask           # rows of a node of at most 64 rows, among those of the block
    int64_t record
    Py_ssize_t depth
    Py_ssize_t n
    Py_ssize_t P            # classes that occur, but the first
    int32_t classes[64]
    uint64_t planes[64]     # P planes under the mask
    double N[65]            # rows of the classes, and a 0


cdef struct Job:
    int criterion
    int wide
    Py_ssize_t K
    Py_ssize_t least
    Py_ssize_t root_words
    double total
    Rules rules
    const double* T
    const double* lows      # smallest value of each feature: value = low + code
    const int32_t* tests    # 0 "code <= j", 1 "code == j"
    Outcome out
    Block** open            # stack or heap
    Py_ssize_t open_count
    Py_ssize_t open_capacity
    Py_ssize_t leaves       # so far
    uint32_t* counts        # of all columns of one node: A x (P + 1)
    double* scratch         # l and N of the classes that occur, table: 4 K
    uint8_t* fills          # scratch of planes_child
    uint64_t* steps
    uint64_t* mask          # complement of the winning column
    uint32_t* every         # bits of each column of a node in its first child
    uint32_t* list          # columns of a node that live on in its second child
    int64_t work
    volatile int* stop
    Block* pool[POOL]       # freed blocks, to be used again: fresh memory costs more than the work on it
    Py_ssize_t pooled


# ---- blocks ---------------------------------------------------------------------------------------------------------

cdef Block* block_take(Job* j, size_t size) noexcept nogil:
    """Memory for a block: the tightest freed one of at most four times the size, else new; NULL without memory."""
    cdef Py_ssize_t i, best = -1
    cdef Block* b
    if size > SMALL:
        for i in range(j.pooled):
            if size <= j.pool[i].capacity <= 4 * size and (
                    best < 0 or j.pool[i].capacity < j.pool[best].capacity):
                best = i
    if best >= 0:
        b = j.pool[best]
        j.pooled -= 1
        j.pool[best] = j.pool[j.pooled]
        return b
    b = <Block*> malloc(size)
    if b != NULL:
        b.capacity = size
    return b


cdef void block_free(Job* j, Block* b) noexcept nogil:
    """Keep the memory of a block for later, or give it back: the smallest of a full pool goes."""
    cdef Py_ssize_t i, least = 0
    if b.capacity <= SMALL:
        free(b)
        return
    if j.pooled < POOL:
        j.pool[j.pooled] = b
        j.pooled += 1
        return
    for i in range(1, POOL):
        if j.pool[i].capacity < j.pool[least].capacity:
            least = i
    if j.pool[least].capacity < b.capacity:
        j.pool[least], b = b, j.pool[least]
    free(b)


cdef Block* block_new(Job* j, Py_ssize_t n, Py_ssize_t A, Py_ssize_t P) noexcept nogil:
    """A block with room for A columns and P planes, all in one piece of memory; NULL without memory."""
    cdef Py_ssize_t W = (n + 63) // 64
    cdef size_t words = <size_t> (A + P) * W * 8, cuts = <size_t> A * sizeof(PlanesCut)
    cdef Block* b = block_take(j, sizeof(Block) + words + cuts + 4 * (A + P + 1))
    cdef char* memory = <char*> b
    if b == NULL:
        return NULL
    b.n, b.W, b.A, b.P = n, W, A, P
    b.planes = <uint64_t*> (memory + sizeof(Block))
    b.columns = b.planes + P * W
    b.cuts = <PlanesCut*> (b.columns + A * W)
    b.counts = <uint32_t*> (b.cuts + A)
    b.classes = <int32_t*> (b.counts + A)
    b.best = -1
    b.score = b.priority = 0.0
    return b


cdef inline double column_score(
    const Job* j, Py_ssize_t P, double n, const uint32_t* count, double* l, const double* N
) noexcept nogil:
    """The score of one column from its counts in a node of n rows and P + 1 classes."""
    cdef Py_ssize_t k
    cdef double first = count[0]
    if j.K == 2:
        return score_pair(j.criterion, j.T, first - count[1], count[1],
                          N[0] - (first - count[1]), N[1] - count[1])
    for k in range(1, P + 1):
        l[k] = count[k]
        first -= l[k]
    l[0] = first
    return score_all(j, P + 1, l, N, count[0], n - <double> count[0])


cdef inline double score_all(const Job* j, Py_ssize_t K, double* l, const double* N, double nl, double nr) noexcept nogil:
    """``score_counts`` by the formula for many classes even when only two occur here."""
    if K == 2:
        # A third class that is absent changes no sum.
        l[2] = 0.0
        return score_counts(j.criterion, j.T, 3, l, N, nl, nr)
    return score_counts(j.criterion, j.T, K, l, N, nl, nr)


cdef void block_search(Job* j, Block* b, const double* value) noexcept nogil:
    """Choose the best column of a block with these class counts, the first of equals."""
    cdef Py_ssize_t i, k, stride = b.P + 1
    cdef double* l = j.scratch
    cdef double* N = j.scratch + j.K + 1
    cdef double score
    for k in range(stride):
        N[k] = value[b.classes[k]]
    N[stride] = 0.0
    b.score = -INFINITY
    if j.criterion == GINI or (j.criterion == CHI2 and j.K == 2):
        b.best = planes_gini(b.columns, b.counts, b.A, b.W, b.planes, b.P, N, b.n, j.K == 2, &b.score, j.wide)
        return
    if (j.criterion == ENTROPY or j.criterion == HYPERGEOMETRIC) and j.K == 2:
        b.best = planes_table(b.columns, b.counts, b.A, b.W, ~<uint64_t> 0, b.planes, j.T, <Py_ssize_t> N[1], b.n, j.least,
                              &b.score, j.wide)
        return
    planes_count(b.columns, b.A, b.W, b.planes, b.P, j.counts, j.wide)
    b.best = -1
    for i in range(b.A):
        score = column_score(j, b.P, b.n, j.counts + i * stride, l, N)
        if score > b.score:
            b.score = score
            b.best = i


cdef int settle(
    Job* j, int64_t number, PlanesCut cut, Py_ssize_t P, const int32_t* classes, const uint32_t* count
) noexcept nogil:
    """Write a test into record ``number``; 0 where a rule refuses it.  Leaves the tables of both children in the scratch.

    ``count`` holds the rows that go left, and those of them that are of classes[1], ..., classes[P].
    """
    cdef Py_ssize_t K = j.K, k, feature = planes_cut_feature(cut)
    cdef double* table = j.scratch + 2 * K + 4
    cdef const double* value = j.out.values + number * K
    cdef Record* record = j.out.records + number
    for k in range(2 * K):
        table[k] = 0.0
    table[classes[0]] = count[0]
    for k in range(1, P + 1):
        table[classes[k]] = count[k]
        table[classes[0]] -= count[k]
    for k in range(K):
        table[K + k] = value[k] - table[k]
    record.gain = table_gain(j.criterion, 2, K, table, value, j.T if j.criterion == HYPERGEOMETRIC else NULL)
    if record.gain < j.rules.min_gain or (
            j.rules.alpha < 1.0 and significance(j.criterion, 2, K, table, value) > j.rules.alpha):
        record.gain = 0.0
        return 0
    record.feature = <int32_t> feature
    record.test = <int8_t> j.tests[feature]
    record.threshold = j.lows[feature] + planes_cut_low(cut)
    if record.test == 0:
        record.threshold = midpoint(record.threshold, j.lows[feature] + planes_cut_high(cut))
    return 1


cdef void block_settle(Job* j, Block* b) noexcept nogil:
    """Write the winning test into the record, or drop it where a rule refuses it."""
    if b.best < 0:
        return
    planes_count(b.columns + b.best * b.W, 1, b.W, b.planes, b.P, j.counts, j.wide)
    if not settle(j, b.record, b.cuts[b.best], b.P, b.classes, j.counts):
        b.best = -1
        return
    b.priority = j.out.records[b.record].gain
    if j.criterion != CHI2 and j.criterion != HYPERGEOMETRIC:
        b.priority *= b.n / j.total


cdef inline int is_final(const Job* j, const double* value, Py_ssize_t n, Py_ssize_t depth) noexcept nogil:
    """Whether a node must be a leaf without looking at its features: pure, too small or too deep."""
    cdef Py_ssize_t k, present = 0
    if n < j.rules.min_split or n < 2 * j.least or depth >= j.rules.max_depth:
        return 1
    for k in range(j.K):
        present += value[k] > 0.0
        if present == 2:
            return 0
    return 1


cdef Block* child_new(Job* j, const Block* b, const double* value, Py_ssize_t n, const uint64_t* mask) noexcept nogil:
    """A child for the rows of b under the mask, with the planes of its classes and no column yet; NULL without memory."""
    cdef Py_ssize_t k, P = -1
    cdef Block* child
    for k in range(b.P + 1):
        P += value[b.classes[k]] > 0.0
    child = block_new(j, n, b.A, P)
    if child == NULL:
        return NULL
    P = 0
    for k in range(b.P + 1):
        if value[b.classes[k]] > 0.0:
            child.classes[P] = b.classes[k]
            if P:
                # Class k has the plane k - 1.
                planes_close(b.planes + (k - 1) * b.W, b.W, mask, child.planes + (P - 1) * child.W, child.W,
                             j.fills, j.steps, j.wide)
            P += 1
    child.depth = b.depth + 1
    return child


cdef void child_fill(Job* j, const Block* b, Block* child, const uint64_t* mask, int first) noexcept nogil:
    """Give a child its living columns; the second child of a node needs what the first one counted."""
    cdef PlanesChild c = PlanesChild(b.columns, b.cuts, b.counts, b.A, b.W, mask, child.n, j.least, child.columns,
                                     child.W, child.cuts, child.counts)
    if first:
        child.A = planes_child(&c, j.every, j.fills, j.steps, j.wide)
    else:
        child.A = planes_rest(&c, j.every, j.list, j.fills, j.steps, j.wide)


# ---- the frontier ---------------------------------------------------------------------------------------------------

cdef inline int comes_first(const Block* a, const Block* b) noexcept nogil:
    """Best first: larger weighted gain, then the older node."""
    return a.priority > b.priority or (a.priority == b.priority and a.record < b.record)


cdef int frontier_push(Job* j, Block* b) noexcept nogil:
    """Add an open block: on top of the stack, or into the heap; -1 without memory."""
    cdef Py_ssize_t i = j.open_count
    cdef void* grown
    if i == j.open_capacity:
        grown = realloc(j.open, (2 * i + 64) * sizeof(Block*))
        if grown == NULL:
            return -1
        j.open = <Block**> grown
        j.open_capacity = 2 * i + 64
    j.open_count += 1
    if j.rules.max_leaves:
        while i > 0 and comes_first(b, j.open[(i - 1) // 2]):
            j.open[i] = j.open[(i - 1) // 2]
            i = (i - 1) // 2
    j.open[i] = b
    return 0


cdef Block* frontier_pop(Job* j) noexcept nogil:
    """Take the next open block: the top of the stack, or the best of the heap."""
    cdef Py_ssize_t i = 0, child, n
    cdef Block* first
    cdef Block* last
    j.open_count -= 1
    n = j.open_count
    if not j.rules.max_leaves:
        return j.open[n]
    first = j.open[0]
    last = j.open[n]
    while 2 * i + 1 < n:
        child = 2 * i + 1
        if child + 1 < n and comes_first(j.open[child + 1], j.open[child]):
            child += 1
        if not comes_first(j.open[child], last):
            break
        j.open[i] = j.open[child]
        i = child
    j.open[i] = last
    return first


_pending = []


cdef inline int look_for_signals(Job* j, int64_t work) noexcept nogil:
    """Count work and let Python handle signals now and then; 1 when growing must stop."""
    j.work += work
    if j.work > SIGNAL_STEP:
        j.work = 0
        handle_signals(j)
    return j.stop[0]


cdef void handle_signals(Job* j) noexcept with gil:
    """Apart from the count: a function that holds Python objects takes the lock whenever it is called."""
    try:
        PyErr_CheckSignals()
    except BaseException as error:
        j.stop[0] = 1
        _pending.append(error)


# ---- at most 64 rows ------------------------------------------------------------------------------------------------

cdef int twig_set(const Job* j, const Block* b, Twig* t) noexcept nogil:
    """Fill in the classes, planes and class counts of a twig; 0 if it must be a leaf."""
    cdef Py_ssize_t k
    cdef const double* value = j.out.values + t.record * j.K
    t.n = j.out.records[t.record].n
    if is_final(j, value, t.n, t.depth):
        return 0
    t.P = -1
    for k in range(b.P + 1):
        if value[b.classes[k]] > 0.0:
            t.P += 1
            t.classes[t.P] = b.classes[k]
            t.N[t.P] = value[b.classes[k]]
            if t.P:
                t.planes[t.P - 1] = b.planes[k - 1] & t.mask
    t.N[t.P + 1] = 0.0
    return 1


cdef Py_ssize_t twig_search(Job* j, const Block* b, const Twig* t) noexcept nogil:
    """The best column of a twig, the first of equals, -1 without one."""
    cdef Py_ssize_t i, best = -1, stride = t.P + 1
    cdef double score = -INFINITY, here
    cdef const uint32_t* count = j.counts
    if j.criterion == GINI or (j.criterion == CHI2 and j.K == 2):
        return planes_small(b.columns, b.A, t.mask, t.planes, t.P, t.N, t.n, j.least, j.K == 2, &score, j.wide)
    if (j.criterion == ENTROPY or j.criterion == HYPERGEOMETRIC) and j.K == 2:
        return planes_table(b.columns, NULL, b.A, 1, t.mask, t.planes, j.T, <Py_ssize_t> t.N[1], t.n, j.least, &score,
                            j.wide)
    if j.criterion == ENTROPY or j.criterion == HYPERGEOMETRIC:
        return planes_small_table(b.columns, b.A, t.mask, t.planes, t.P, t.N, j.T, <int32_t> t.n, <int32_t> j.least, &score,
                                  j.wide)
    planes_small_count(b.columns, b.A, t.mask, t.planes, t.P, j.counts, j.wide)
    for i in range(b.A):
        if j.least <= count[0] <= t.n - j.least:
            here = column_score(j, t.P, t.n, count, j.scratch, t.N)
            if here > score:
                score = here
                best = i
        count += stride
    return best


cdef PlanesCut twig_cut(Job* j, const Block* b, const Twig* t, Py_ssize_t best) noexcept nogil:
    """The cut of a winning column in a twig: its gap goes on over columns of the feature that are the same set here."""
    cdef PlanesCut cut = b.cuts[best]
    cdef uint32_t feature = planes_cut_feature(cut)
    cdef uint64_t rows = b.columns[best] & t.mask
    if j.tests[feature] == 0:
        best += 1
        while best < b.A and planes_cut_feature(b.cuts[best]) == feature and b.columns[best] & t.mask == rows:
            cut = planes_cut(feature, planes_cut_low(cut), planes_cut_high(b.cuts[best]))
            best += 1
    return cut


cdef int grow_small(Job* j, Block* b) noexcept nogil:
    """Grow everything below a block of at most 64 rows, depth first; -1 without memory.  Frees the block.

    Nodes that wait have two rows or more and share none, so 32 places suffice.
    """
    cdef Twig twig
    cdef Twig* t = &twig
    cdef uint64_t masks[34]
    cdef int64_t records[34]
    cdef Py_ssize_t depths[34]
    cdef Py_ssize_t top = 1, best, side
    cdef double* table = j.scratch + 2 * j.K + 4
    cdef int64_t made
    cdef int code = 0
    masks[0] = ~<uint64_t> 0 >> (64 - b.n)
    records[0], depths[0] = b.record, b.depth
    while top and code == 0:
        top -= 1
        t.mask, t.record, t.depth = masks[top], records[top], depths[top]
        if not twig_set(j, b, t):
            continue
        best = twig_search(j, b, t)
        if best < 0:
            continue
        planes_small_count(b.columns + best, 1, t.mask, t.planes, t.P, j.counts, j.wide)
        if not settle(j, t.record, twig_cut(j, b, t, best), t.P, t.classes, j.counts):
            continue
        for side in range(2):
            made = outcome_add(&j.out, table + side * j.K, t.n - j.counts[0] if side else j.counts[0])
            if made < 0:
                code = -1
                break
            if side:
                j.out.records[t.record].right = made
            else:
                j.out.records[t.record].left = made
            if j.out.records[made].n > 1:
                masks[top] = t.mask & (~b.columns[best] if side else b.columns[best])
                records[top], depths[top] = made, t.depth + 1
                top += 1
    block_free(j, b)
    return code


cdef int admit(Job* j, Block* b) noexcept nogil:
    """Put a searched block on the frontier if it has a split; -1 without memory."""
    if j.rules.max_leaves:
        block_settle(j, b)
    if b.best < 0:
        block_free(j, b)
        return 0
    return frontier_push(j, b)


cdef int consider(Job* j, Block* b) noexcept nogil:
    """Search a new block and put it on the frontier if it has a split; -1 without memory."""
    look_for_signals(j, b.A * (b.P + 3) * b.W)
    if b.W == 1 and not j.rules.max_leaves:
        return grow_small(j, b)
    block_search(j, b, j.out.values + b.record * j.K)
    return admit(j, b)


cdef void complement(const Block* b, uint64_t* mask) noexcept nogil:
    """The rows of a settled block that go right."""
    cdef const uint64_t* winner = b.columns + b.best * b.W
    cdef Py_ssize_t i
    for i in range(b.W):
        mask[i] = ~winner[i]
    if b.n % 64:
        mask[b.W - 1] &= (<uint64_t> 1 << (b.n % 64)) - 1


cdef int add_children(Job* j, const Block* b, int64_t* records, int* wanted) noexcept nogil:
    """Add the two child records of a block that was settled just now; says which need a search; -1 without memory."""
    cdef double* table = j.scratch + 2 * j.K + 4
    cdef Py_ssize_t side, i, n
    cdef double rows
    wanted[0] = 0
    for side in range(2):
        rows = 0.0
        for i in range(j.K):
            rows += table[side * j.K + i]
        n = <Py_ssize_t> rows
        records[side] = outcome_add(&j.out, table + side * j.K, n)
        if records[side] < 0:
            return -1
        if not is_final(j, table + side * j.K, n, b.depth + 1):
            wanted[0] |= 1 << side
    j.out.records[b.record].left = records[0]
    j.out.records[b.record].right = records[1]
    return 0


cdef int expand(Job* j, Block* b) noexcept nogil:
    """Split a settled block and consider its children; -1 without memory.  Frees the block."""
    cdef const uint64_t* masks[2]
    cdef Block* children[2]
    cdef int64_t records[2]
    cdef Py_ssize_t side
    cdef int wanted, first, code = add_children(j, b, records, &wanted)
    children[0] = children[1] = NULL
    masks[0] = b.columns + b.best * b.W
    masks[1] = j.mask
    if code == 0 and wanted & 2:
        complement(b, j.mask)
    for side in range(2):
        if code == 0 and wanted >> side & 1:
            children[side] = child_new(j, b, j.out.values + records[side] * j.K, j.out.records[records[side]].n,
                                       masks[side])
            if children[side] == NULL:
                code = -1
            else:
                children[side].record = records[side]
    if code == 0 and wanted:
        # The smaller child is counted, the larger one is what is left.
        first = 1 if children[0] == NULL or (children[1] != NULL and children[1].n < children[0].n) else 0
        child_fill(j, b, children[first], masks[first], 1)
        if wanted == 3:
            child_fill(j, b, children[1 - first], masks[1 - first], 0)
    block_free(j, b)
    for side in range(1, -1, -1):
        if children[side] != NULL:
            if code < 0:
                block_free(j, children[side])
            else:
                code = consider(j, children[side])
    return code


cdef Block* next_block(Job* j) noexcept nogil:
    """The next open block that is split, settled; NULL when there is none, when there are enough leaves or on a signal."""
    cdef Block* b
    while j.open_count and not j.stop[0]:
        if j.rules.max_leaves and j.leaves >= j.rules.max_leaves:
            break
        b = frontier_pop(j)
        block_settle(j, b)
        if b.best >= 0:
            j.leaves += 1
            return b
        block_free(j, b)
    return NULL


cdef int grow_all(Job* j) noexcept nogil:
    """Split open blocks until none is left or there are enough leaves; -1 without memory."""
    cdef Block* b = next_block(j)
    while b != NULL:
        if expand(j, b) < 0:
            return -1
        b = next_block(j)
    return 0


# ---- Python side ----------------------------------------------------------------------------------------------------

cdef void job_free(Job* j) noexcept nogil:
    """Give back all memory of a job."""
    cdef Py_ssize_t i
    for i in range(j.open_count):
        free(j.open[i])
    for i in range(j.pooled):
        free(j.pool[i])
    outcome_free(&j.out)
    free(j.open); free(j.counts); free(j.scratch); free(j.fills); free(j.steps); free(j.mask); free(j.every); free(j.list)


cdef int job_allocate(Job* j, Py_ssize_t m, Py_ssize_t A) noexcept nogil:
    """All scratch of a job for m rows and A columns; -1 without memory."""
    cdef Py_ssize_t W = (m + 63) // 64
    j.counts = <uint32_t*> malloc(4 * (A + 1) * (j.K + 1))
    j.scratch = <double*> calloc(4 * j.K + 8, 8)
    j.fills = <uint8_t*> malloc(2 * W)
    j.steps = <uint64_t*> malloc(8 if j.wide else 48 * W)
    j.mask = <uint64_t*> malloc(8 * W)
    j.every = <uint32_t*> malloc(4 * (A + 1))
    j.list = <uint32_t*> malloc(4 * (A + 1))
    if (j.counts == NULL or j.scratch == NULL or j.fills == NULL or j.steps == NULL or j.mask == NULL
            or j.every == NULL or j.list == NULL):
        return -1
    return 0


cdef struct Wave:
    Block* parent           # a settled block that several threads split
    Block* child            # what one of them makes of it, NULL before
    int64_t record          # of the child
    int side


@cython.auto_pickle(False)
cdef class BitGrower:
    """Columns of bits for all rows, then growing; the methods release the GIL.

    One thread: plant_columns, plant, run.  Several: plant_columns by parts, plant, then wave, build and close until wave
    says 0, then, depth first, grow_subtree for all that subtrees names, and join.
    """

    cdef Job* jobs          # jobs[0] owns the tree, the others are scratch of threads
    cdef Py_ssize_t n_jobs
    cdef double* T
    cdef double* root_value
    cdef Block* root
    cdef Py_ssize_t* starts # first column of each feature, and how many there are, before any is left out
    cdef Py_ssize_t* alive  # columns of each feature that are kept
    cdef const uint8_t[:, ::1] codes
    cdef const int32_t[::1] y
    cdef volatile int stop
    cdef object keep
    cdef Wave* waves
    cdef Py_ssize_t n_waves
    cdef Outcome* parts     # subtrees grown by threads, by place of their root among the open blocks
    cdef int64_t* places    # the record of jobs[0] that each subtree replaces
    cdef Py_ssize_t n_parts

    def __cinit__(self, const uint8_t[:, ::1] codes, const int32_t[::1] sizes, const double[::1] lows,
                  const int32_t[::1] tests, const int32_t[::1] y, Py_ssize_t K, int criterion, Py_ssize_t least,
                  Py_ssize_t max_depth, Py_ssize_t max_leaves, Py_ssize_t min_split, double min_gain, double alpha,
                  Py_ssize_t n_jobs):
        cdef Py_ssize_t d = codes.shape[0], m = codes.shape[1], i
        cdef Job* j
        self.keep = (codes, sizes, lows, tests, y)
        self.codes, self.y, self.stop = codes, y, 0
        self.starts = <Py_ssize_t*> calloc(2 * d + 1, sizeof(Py_ssize_t))
        self.root_value = <double*> calloc(K, 8)
        self.jobs = <Job*> calloc(n_jobs, sizeof(Job))
        if self.starts == NULL or self.root_value == NULL or self.jobs == NULL:
            raise MemoryError(f"expected {n_jobs * sizeof(Job)} bytes for {n_jobs} threads")
        self.n_jobs = n_jobs
        self.alive = self.starts + d + 1
        for i in range(d):
            self.starts[i + 1] = self.starts[i] + columns_of(sizes[i], tests[i])
        if criterion == ENTROPY or criterion == GAIN_RATIO or criterion == HYPERGEOMETRIC:
            self.T = <double*> malloc(8 * (m + 1))
            if self.T == NULL:
                raise MemoryError(f"expected {8 * m} bytes for a table")
            for i in range(m + 1):
                self.T[i] = table_value(criterion, i)
        for i in range(n_jobs):
            j = &self.jobs[i]
            j.criterion, j.wide, j.K, j.least, j.total, j.leaves = criterion, lanes_available(), K, least, m, 1
            j.rules = Rules(max_depth, max_leaves, min_split, min_gain, alpha)
            j.lows, j.tests, j.stop, j.T = &lows[0], &tests[0], &self.stop, self.T
            outcome_init(&j.out, K)
            if job_allocate(j, m, self.starts[d]) < 0:
                raise MemoryError(f"expected memory for {self.starts[d]} columns of {m} bits")
        self.root = block_new(&self.jobs[0], m, self.starts[d], K - 1)
        if self.root == NULL:
            raise MemoryError(f"expected {self.starts[d] * m // 8} bytes for columns of bits")

    def plant_columns(self, Py_ssize_t first, Py_ssize_t last):
        """Make the columns of the features [first, last)."""
        cdef Job* j = &self.jobs[0]
        cdef Block* b = self.root
        cdef Py_ssize_t f, c, at
        cdef PlanesFilter filter
        cdef uint32_t count
        with nogil:
            for f in range(first, last):
                filter = planes_filter()
                at = self.starts[f]
                for c in range(self.starts[f + 1] - at):
                    planes_from_codes(&self.codes[f, 0], b.n, <int> c, j.tests[f], b.columns + (at + filter.alive) * b.W,
                                      j.wide)
                    planes_count(b.columns + (at + filter.alive) * b.W, 1, b.W, NULL, 0, &count, j.wide)
                    planes_admit(&filter, planes_cut(<uint32_t> f, <uint32_t> c, <uint32_t> (c if j.tests[f] else c + 1)),
                                 count, b.n, j.least, b.cuts + at, b.counts + at)
                self.alive[f] = filter.alive

    cdef void close_columns(self) noexcept nogil:
        """Close the gaps that dropped columns of the root have left."""
        cdef Block* b = self.root
        cdef Py_ssize_t f, at, A = 0
        for f in range(self.codes.shape[0]):
            at = self.starts[f]
            if at != A:
                memmove(b.columns + A * b.W, b.columns + at * b.W, 8 * self.alive[f] * b.W)
                memmove(b.cuts + A, b.cuts + at, self.alive[f] * sizeof(PlanesCut))
                memmove(b.counts + A, b.counts + at, 4 * self.alive[f])
            A += self.alive[f]
        b.A = A

    cdef int plant_classes(self) except -1 nogil:
        """The class planes of the root, and its class counts."""
        cdef Job* j = &self.jobs[0]
        cdef Block* b = self.root
        cdef Py_ssize_t i, k
        cdef uint8_t* classes
        for k in range(j.K):
            b.classes[k] = <int32_t> k
        for i in range(b.n):
            self.root_value[self.y[i]] += 1.0
        if j.K <= 16:
            classes = <uint8_t*> malloc(b.n)
            if classes == NULL:
                with gil:
                    raise MemoryError(f"expected {b.n} bytes for classes")
            for i in range(b.n):
                classes[i] = <uint8_t> self.y[i]
            for k in range(1, j.K):
                planes_from_codes(classes, b.n, <int> k, 1, b.planes + (k - 1) * b.W, j.wide)
            free(classes)
            return 0
        memset(b.planes, 0, 8 * b.P * b.W)
        for i in range(b.n):
            if self.y[i]:
                b.planes[(self.y[i] - 1) * b.W + i // 64] |= <uint64_t> 1 << (i % 64)
        return 0

    def plant(self):
        """Make the root, whose columns are there, and search it."""
        cdef Job* j = &self.jobs[0]
        cdef Block* b = self.root
        cdef int code = 0
        with nogil:
            self.close_columns()
            self.plant_classes()
            b.record = outcome_add(&j.out, self.root_value, b.n)
            b.depth = 0
            if b.record == 0 and not is_final(j, self.root_value, b.n, 0):
                self.root = NULL
                code = consider(j, b)
        if b.record < 0 or code < 0:
            raise MemoryError("expected memory for the root")

    def __dealloc__(self):
        cdef Py_ssize_t i
        for i in range(self.n_waves):
            free(self.waves[i].child)
            if i == 0 or self.waves[i].parent != self.waves[i - 1].parent:
                free(self.waves[i].parent)
        for i in range(self.n_parts):
            outcome_free(&self.parts[i])
        for i in range(self.n_jobs):
            job_free(&self.jobs[i])
        free(self.jobs); free(self.waves); free(self.parts); free(self.places); free(self.root); free(self.T); free(self.root_value)
        free(self.starts)

    cdef int finish(self, int code) except -1:
        """Raise what happened inside a nogil block."""
        if self.stop and _pending:
            raise _pending.pop()
        if code < 0:
            raise MemoryError("expected memory for the nodes of the tree")
        return 0

    def run(self):
        """Grow everything below the root in this thread."""
        cdef int code
        with nogil:
            code = grow_all(&self.jobs[0])
        self.finish(code)

    # ---- several threads: the children of large nodes, then whole subtrees ------------------------------------------

    def wave(self, Py_ssize_t limit):
        """Settle open blocks of more than ``limit`` rows, all of them (depth first) or the best (best first, smaller ones
        before it are split here); returns how many children are to be built, 0 when no block is that large."""
        cdef Job* j = &self.jobs[0]
        cdef Block* b
        cdef Py_ssize_t i = 0
        cdef int code = 0
        free(self.waves)
        self.n_waves = 0
        self.waves = <Wave*> calloc(2 * j.open_count + 2, sizeof(Wave))
        if self.waves == NULL:
            raise MemoryError("expected memory for open nodes")
        with nogil:
            look_for_signals(j, SIGNAL_STEP + 1)
            if j.rules.max_leaves:
                b = next_block(j)
                while code == 0 and b != NULL and b.n <= limit:
                    code = expand(j, b)
                    b = next_block(j) if code == 0 else NULL
                if b != NULL:
                    code = self.add_wave(b)
            while not j.rules.max_leaves and code == 0 and i < j.open_count and not self.stop:
                b = j.open[i]
                if b.n <= limit:
                    i += 1
                    continue
                j.open_count -= 1
                j.open[i] = j.open[j.open_count]
                block_settle(j, b)
                if b.best < 0:
                    block_free(j, b)
                else:
                    code = self.add_wave(b)
        self.finish(code)
        return self.n_waves

    cdef int add_wave(self, Block* b) noexcept nogil:
        """Note the children of a settled block that need a search; -1 without memory."""
        cdef int64_t records[2]
        cdef int wanted, side, code = add_children(&self.jobs[0], b, records, &wanted)
        if code < 0 or wanted == 0:
            block_free(&self.jobs[0], b)
            return code
        for side in range(2):
            if wanted >> side & 1:
                self.waves[self.n_waves] = Wave(b, NULL, records[side], side)
                self.n_waves += 1
        return 0

    def build(self, Py_ssize_t part, Py_ssize_t place):
        """Make and search the child number ``place`` of the wave with the scratch of thread ``part``."""
        cdef Job* j = &self.jobs[part]
        cdef Wave* w = &self.waves[place]
        cdef const Block* b = w.parent
        cdef const Outcome* out = &self.jobs[0].out
        cdef const double* value = out.values + w.record * j.K
        cdef const uint64_t* mask = j.mask if w.side else b.columns + b.best * b.W
        with nogil:
            if w.side:
                complement(b, j.mask)
            w.child = child_new(j, b, value, out.records[w.record].n, mask)
            if w.child != NULL:
                w.child.record = w.record
                child_fill(j, b, w.child, mask, 1)
                block_search(j, w.child, value)
        if w.child == NULL:
            raise MemoryError("expected memory for the nodes of the tree")

    def close(self):
        """Open the children of the wave that have a split."""
        cdef Job* j = &self.jobs[0]
        cdef Py_ssize_t i
        cdef int code = 0
        for i in range(self.n_waves):
            if i == 0 or self.waves[i].parent != self.waves[i - 1].parent:
                block_free(j, self.waves[i].parent)
        for i in range(self.n_waves):
            if code == 0:
                code = admit(j, self.waves[i].child)
            else:
                block_free(j, self.waves[i].child)
        self.n_waves = 0
        self.finish(code)

    def subtrees(self):
        """The open blocks by number, the largest first; each becomes a subtree."""
        cdef Py_ssize_t n = self.jobs[0].open_count
        self.parts = <Outcome*> calloc(n + 1, sizeof(Outcome))
        self.places = <int64_t*> calloc(n + 1, sizeof(int64_t))
        if self.parts == NULL or self.places == NULL:
            raise MemoryError(f"expected {n * sizeof(Outcome)} bytes for subtrees")
        self.n_parts = n
        return sorted(range(n), key=lambda i: -self.jobs[0].open[i].n)

    def grow_subtree(self, Py_ssize_t part, Py_ssize_t place):
        """Grow the open block number ``place`` with the scratch of thread ``part``, into an outcome of its own."""
        cdef Job* j = &self.jobs[part]
        cdef Block* b = self.jobs[0].open[place]
        cdef int64_t where = b.record
        cdef const double* value = self.jobs[0].out.values + where * j.K
        cdef int code = -1
        if part == 0:
            raise ValueError("expected a thread of its own for a subtree, got 0")
        with nogil:
            outcome_init(&j.out, j.K)
            b.record = outcome_add(&j.out, value, b.n)
            if b.record == 0 and frontier_push(j, b) == 0:
                self.jobs[0].open[place] = NULL
                code = grow_all(j)
            self.parts[place] = j.out
            self.places[place] = where
            outcome_init(&j.out, j.K)
        self.finish(code)

    def join(self):
        """Put all subtrees into their places."""
        cdef Py_ssize_t i
        cdef int code = 0
        for i in range(self.n_parts):
            if code == 0 and outcome_merge(&self.jobs[0].out, self.places[i], &self.parts[i]) < 0:
                code = -1
            outcome_free(&self.parts[i])
        self.n_parts = 0
        self.jobs[0].open_count = 0
        self.finish(code)

    def halt(self):
        """Make every thread stop soon."""
        self.stop = 1

    def release(self):
        """Give back the blocks and codes that are left, not the outcome: nothing grows after this."""
        cdef Py_ssize_t i, k
        cdef Job* j
        for i in range(self.n_jobs):
            j = &self.jobs[i]
            for k in range(j.open_count):
                free(j.open[k])
            for k in range(j.pooled):
                free(j.pool[k])
            j.open_count = j.pooled = 0
        self.codes = self.keep = None

    def address(self):
        """Where the outcome is, for ``_flatten.arrays``."""
        return <size_t> &self.jobs[0].out


cdef inline Py_ssize_t columns_of(int32_t size, int32_t test) noexcept nogil:
    """How many columns a feature with this many codes has; one of two complementary columns is enough."""
    if size < 2:
        return 0
    return size - 1 if test == 0 or size == 2 else size


cdef struct Source:
    Py_ssize_t m
    Py_ssize_t d
    Py_ssize_t row          # steps between rows and between columns, in values
    Py_ssize_t column
    int lanes
    void* piece             # scratch: BINS_STRIDED rows of BINS_TURNED_SINGLE columns


cdef inline const floating_t* contiguous(const Source* s, const floating_t* x, Py_ssize_t n) noexcept nogil:
    """n values of one column from x on, copied where they are strided."""
    if s.row == 1:
        return x
    if floating_t is float:
        bins_gather_single(x, s.row, n, <float*> s.piece, s.lanes)
    else:
        bins_gather_wide(x, s.row, n, <double*> s.piece, s.lanes)
    return <const floating_t*> s.piece


cdef inline int piece_codes(const Source* s, const floating_t* x, Py_ssize_t n, floating_t low, uint8_t* codes) noexcept nogil:
    """Codes of n contiguous values; 1 where one is no whole number above ``low``."""
    if floating_t is float:
        return planes_codes_single(x, n, low, codes, s.lanes)
    else:
        return planes_codes_wide(x, n, low, codes, s.lanes)


cdef int column_codes(
    const Source* s, const floating_t* x, const floating_t* lows, uint8_t* codes, Py_ssize_t width
) noexcept nogil:
    """value - low as bytes, columns ``width`` places apart; 0 where some value is not a whole number above it.

    In C order some rows of some columns at a time are turned first.
    """
    cdef Py_ssize_t start = 0, n, f, k, group = BINS_TURNED_SINGLE if floating_t is float else BINS_TURNED_WIDE
    cdef const floating_t* here
    cdef floating_t* turned = <floating_t*> s.piece
    cdef int bad = 0
    while start < s.m:
        n = BINS_STRIDED if start + BINS_STRIDED < s.m else s.m - start
        here = x + start * s.row
        f = 0
        while s.column == 1 and f + group <= s.d:
            if floating_t is float:
                bins_turn_single(here + f, s.row, n, turned, BINS_STRIDED, s.lanes)
            else:
                bins_turn_wide(here + f, s.row, n, turned, BINS_STRIDED, s.lanes)
            for k in range(group):
                bad |= piece_codes(s, <const floating_t*> (turned + k * BINS_STRIDED), n, lows[f + k],
                                   codes + (f + k) * width + start)
            f += group
        while f < s.d:
            bad |= piece_codes(s, contiguous(s, here + f * s.column, n), n, lows[f], codes + f * width + start)
            f += 1
        if bad:
            return 0
        start += n
    return 1


cdef Source as_source(const floating_t[:, :] X, void* piece):
    """How to read X."""
    cdef Py_ssize_t size = sizeof(floating_t)
    return Source(X.shape[0], X.shape[1], X.strides[0] // size, X.strides[1] // size, lanes_available(), piece)


cdef void* scratch_of(Py_ssize_t d, size_t size) except NULL:
    """Room for one value per column and for a piece of the matrix."""
    cdef size_t memory = size * (d + BINS_STRIDED * BINS_TURNED_SINGLE)
    cdef void* out = malloc(memory)
    if out == NULL:
        raise MemoryError(f"expected {memory} bytes")
    return out


def encode(const floating_t[:, :] X, const double[::1] lows, uint8_t[:, :] codes):
    """value - low as bytes, one row of codes per column; False where a value is not a whole number above its low.

    Values are less than 256 above; a row of codes is contiguous.
    """
    cdef Py_ssize_t d = X.shape[1], f
    cdef floating_t* low = <floating_t*> scratch_of(d, sizeof(floating_t))
    cdef Source s = as_source(X, low + d)
    cdef int good
    assert codes.strides[1] == 1 and codes.shape[0] == d and codes.shape[1] == X.shape[0]
    with nogil:
        for f in range(d):
            low[f] = <floating_t> lows[f]
        good = column_codes(&s, &X[0, 0], low, &codes[0, 0], codes.strides[0])
        free(low)
    return bool(good)

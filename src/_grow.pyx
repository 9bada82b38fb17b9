"""Growing a whole tree from presorted columns: each column is sorted once, never again.

Every feature f keeps the rows of all open nodes as one list of items (``scan.pxd``) of length m; a node owns the same
range [start, end) in each list, and inside it the items are in the order of feature f.  To split a node, its rows are
marked left or right and every list is partitioned *stably*, so both halves stay sorted.  A node of n rows costs O(d n)
for the search and O(d n) for the partition; a tree costs O(d m log m) for sorting plus O(d m) per level.

What is left out: the list of the winning feature is partitioned already; children that will be leaves (pure, too small,
too deep) are counted but not carried on; a node whose children are both leaves moves nothing.

Open nodes wait on a stack (depth first) or in a heap by weighted gain (best first); a heap entry has been searched, a
stack entry too, so both run the same two steps: ``evaluate`` (search) and ``expand`` (split, search both children).

Memory: 4 d m bytes of items, 4 m of scratch and m of marks per thread, and 16 m while sorting.
"""

from libc.math cimport INFINITY
from libc.stdint cimport int8_t, int32_t, int64_t, uint8_t, uint32_t, uint64_t
from libc.stdlib cimport calloc, free, malloc, realloc
from libc.string cimport memcpy, memmove
cimport cython
from cpython.exc cimport PyErr_CheckSignals

from criteria cimport (CHI2, ENTROPY, ERROR, GAIN_RATIO, GINI, HYPERGEOMETRIC, ORTHOGONALITY, table_gain, table_value)
from nominal cimport Run, run_is_left, scan_one_against_rest, scan_subsets
from outcome cimport (Outcome, Record, Rules, outcome_add, outcome_add_category, outcome_free, outcome_init, outcome_merge)
from radix cimport real_t, sort_items
from scan cimport (Best, Node, best_clear, column_rises, lanes_available, midpoint, node_set, scan_sorted)
from significance cimport significance

cdef enum:
    THRESHOLD = 0
    ONE = 1
    SUBSET = 2

cdef enum:
    SIGNAL_STEP = 20000000  # items handled between two looks for signals: a few hundredths of a second


cdef struct Open:
    int64_t record          # its number in the outcome
    Py_ssize_t start        # its items are [start, end) of every list
    Py_ssize_t end
    Py_ssize_t depth
    Best best               # its best split, feature -1 without one
    Py_ssize_t left         # rows that go left, once it is settled
    double priority         # best first: weighted gain


cdef struct Data:
    const void* X
    int is_double
    Py_ssize_t m
    Py_ssize_t d
    Py_ssize_t row_step     # distance of two rows of a column, in values
    Py_ssize_t column_step
    const int32_t* tests    # test of each feature
    const int32_t* y
    uint32_t* items         # d lists of m items
    uint8_t* marks          # 1: the row goes left
    double total            # weight of the sample
    int general             # weights or missing values
    int subsets
    Rules rules


cdef struct Worker:
    Data* data
    Node node
    Outcome out
    uint32_t* spare         # m items
    double* scratch         # l, r, missing, N, table of two branches: 6 K
    Run* runs
    Open* open              # stack or heap
    Py_ssize_t open_count
    Py_ssize_t open_capacity
    Best found              # of the features that this worker searched
    int64_t work            # items handled since the last look for signals
    volatile int* stop


# ---- one node -------------------------------------------------------------------------------------------------------

cdef inline uint32_t* list_of(const Data* data, Py_ssize_t f) noexcept nogil:
    return data.items + f * data.m


cdef inline double item_value(const Data* data, Py_ssize_t f, uint32_t row) noexcept nogil:
    """The value of a row, whatever the type."""
    cdef Py_ssize_t at = row * data.row_step + f * data.column_step
    return (<const double*> data.X)[at] if data.is_double else (<const float*> data.X)[at]


cdef void scan_list(
    Worker* w, const real_t* X, Py_ssize_t f, Py_ssize_t start, Py_ssize_t end, Best* best
) noexcept nogil:
    """Let the best split on feature f compete."""
    cdef Data* data = w.data
    cdef const real_t* x = X + f * data.column_step
    cdef const uint32_t* a = list_of(data, f) + start
    cdef Py_ssize_t n = end - start
    cdef double* missing = w.scratch + 2 * w.node.K
    if n > 16 and x[(a[0] & w.node.mask) * data.row_step] == x[(a[n - 1] & w.node.mask) * data.row_step]:
        return
    if data.tests[f] == THRESHOLD:
        scan_sorted(&w.node, x, data.row_step, a, n, data.general, missing, f, best)
    elif data.tests[f] == ONE:
        scan_one_against_rest(&w.node, x, data.row_step, a, n, missing, f, best)
    else:
        scan_subsets(&w.node, x, data.row_step, a, n, missing, w.runs, f, best)


cdef void scan_lists(
    Worker* w, const double* N, Open* t, Py_ssize_t first, Py_ssize_t last, Best* best
) noexcept nogil:
    """Search the features [first, last) of an open node with class weights N."""
    cdef Py_ssize_t f
    node_set(&w.node, N)
    for f in range(first, last):
        if w.data.is_double:
            scan_list(w, <const double*> w.data.X, f, t.start, t.end, best)
        else:
            scan_list(w, <const float*> w.data.X, f, t.start, t.end, best)
        if best.perfect or look_for_signals(w, t.end - t.start):
            return


cdef inline int is_final(const Worker* w, const double* value, Py_ssize_t n, Py_ssize_t depth) noexcept nogil:
    """Whether a node must be a leaf without looking at its features: pure, too small or too deep."""
    cdef Py_ssize_t k, present = 0
    if n < w.data.rules.min_split or n < 2 * w.node.least or depth >= w.data.rules.max_depth:
        return 1
    for k in range(w.node.K):
        present += value[k] > 0.0
        if present == 2:
            return 0
    return 1


cdef double open_priority(const Worker* w, const Open* t) noexcept nogil:
    """Weighted gain.  Chi-squared and the hypergeometric grow with the rows by themselves."""
    cdef double gain = w.out.records[t.record].gain
    if w.node.criterion == CHI2 or w.node.criterion == HYPERGEOMETRIC:
        return gain
    return gain * w.node.n / w.data.total


cdef void settle(Worker* w, Open* t) noexcept nogil:
    """Write the split of an evaluated node into its record, or drop it where a rule refuses it.

    Marks every row of the node; the table of the two branches is left in the scratch.
    """
    cdef Data* data = w.data
    cdef Py_ssize_t K = w.node.K, i, n = t.end - t.start, f = t.best.feature, run, rows
    cdef uint32_t* a
    cdef double* table = w.scratch + 4 * K
    cdef Record* record = w.out.records + t.record
    cdef double value, low
    cdef int left
    cdef Best again
    if f < 0:
        return
    node_set(&w.node, w.out.values + t.record * K)
    a = list_of(data, f) + t.start
    for i in range(2 * K):
        table[i] = 0.0
    record.feature = <int32_t> f
    record.test = <int8_t> data.tests[f]
    record.missing_left = -1
    if record.test == THRESHOLD:
        record.threshold = INFINITY
        if t.best.position < n:
            low = item_value(data, f, a[t.best.position] & w.node.mask)
            if low == low:
                record.threshold = midpoint(item_value(data, f, a[t.best.position - 1] & w.node.mask), low)
    elif record.test == ONE:
        record.threshold = item_value(data, f, a[t.best.position] & w.node.mask)
    else:
        best_clear(&again)
        if data.is_double:
            scan_list(w, <const double*> data.X, f, t.start, t.end, &again)
        else:
            scan_list(w, <const float*> data.X, f, t.start, t.end, &again)
        record.set_start = w.out.set_count
        run = rows = 0
        while rows < n:
            value = item_value(data, f, a[rows] & w.node.mask)
            if value != value:
                break
            if run_is_left(again.position, run):
                outcome_add_category(&w.out, w.runs[run].value)
            rows += w.runs[run].rows
            run += 1
        record.set_end = w.out.set_count
    t.left = 0
    for i in range(n):
        left = i < t.best.position
        if data.general or record.test != THRESHOLD:
            value = item_value(data, f, a[i] & w.node.mask)
            left = goes_left(&w.out, record, value, t.best.missing_left)
            if value != value:
                record.missing_left = <int8_t> t.best.missing_left
        t.left += left
        data.marks[a[i] & w.node.mask] = <uint8_t> left
        table[(0 if left else K) + (a[i] >> w.node.shift)] += (
            w.node.w[a[i] & w.node.mask] if w.node.w != NULL else 1.0)
    record.gain = table_gain(w.node.criterion, 2, K, table, w.node.N,
                             w.node.T if w.node.criterion == HYPERGEOMETRIC else NULL)
    if record.gain < data.rules.min_gain or (
            data.rules.alpha < 1.0 and significance(w.node.criterion, 2, K, table, w.node.N) > data.rules.alpha):
        record.feature = -1
        record.test = 0
        record.gain = record.threshold = 0.0
        record.missing_left = -1
        t.best.feature = -1
        return
    t.priority = open_priority(w, t)


cdef inline int goes_left(const Outcome* out, const Record* record, double value, int missing_left) noexcept nogil:
    """Where one value goes under the test of a record."""
    cdef int64_t i
    if value != value:
        return missing_left
    if record.test == THRESHOLD:
        return value <= record.threshold
    if record.test == ONE:
        return value == record.threshold
    for i in range(record.set_start, record.set_end):
        if out.sets[i] == value:
            return 1
    return 0


# ---- partition ------------------------------------------------------------------------------------------------------

cdef void partition_both(
    uint32_t* a, Py_ssize_t n, const uint8_t* marks, uint32_t mask, uint32_t* spare
) noexcept nogil:
    """Marked items to the front, the others behind them, both in order."""
    cdef Py_ssize_t i, l = 0, r = 0
    cdef uint32_t item
    cdef uint8_t left
    for i in range(n):
        item = a[i]
        left = marks[item & mask]
        a[l] = item
        spare[r] = item
        l += left
        r += 1 - left
    memcpy(a + l, spare, 4 * r)


cdef void keep_left(uint32_t* a, Py_ssize_t n, const uint8_t* marks, uint32_t mask) noexcept nogil:
    """Marked items to the front, in order; what lies behind them is lost."""
    cdef Py_ssize_t i, l = 0
    cdef uint32_t item
    for i in range(n):
        item = a[i]
        a[l] = item
        l += marks[item & mask]


cdef void keep_right(uint32_t* a, Py_ssize_t n, const uint8_t* marks, uint32_t mask) noexcept nogil:
    """Unmarked items to the back, in order; what lies before them is lost."""
    cdef Py_ssize_t i, r = n - 1
    cdef uint32_t item
    for i in range(n - 1, -1, -1):
        item = a[i]
        a[r] = item
        r -= 1 - marks[item & mask]


cdef void partition_lists(
    Worker* w, const Open* t, int wanted, Py_ssize_t first, Py_ssize_t last
) noexcept nogil:
    """Split the lists [first, last) of a node by the marks; wanted: 1 left child, 2 right child, 3 both."""
    cdef Data* data = w.data
    cdef Py_ssize_t f, n = t.end - t.start
    cdef uint32_t* a
    for f in range(first, last):
        if f == t.best.feature and data.tests[f] == THRESHOLD and not data.general:
            continue
        a = list_of(data, f) + t.start
        if wanted == 3:
            partition_both(a, n, data.marks, w.node.mask, w.spare)
        elif wanted == 1:
            keep_left(a, n, data.marks, w.node.mask)
        else:
            keep_right(a, n, data.marks, w.node.mask)
        if look_for_signals(w, n):
            return


# ---- the frontier ---------------------------------------------------------------------------------------------------

cdef inline int comes_first(const Open* a, const Open* b) noexcept nogil:
    """Best first: larger weighted gain, then the older node."""
    return a.priority > b.priority or (a.priority == b.priority and a.record < b.record)


cdef int frontier_push(Worker* w, const Open* t) noexcept nogil:
    """Add an open node: on top of the stack, or into the heap; -1 without memory."""
    cdef Py_ssize_t i, parent
    cdef void* grown
    if w.open_count == w.open_capacity:
        grown = realloc(w.open, (2 * w.open_capacity + 64) * sizeof(Open))
        if grown == NULL:
            return -1
        w.open = <Open*> grown
        w.open_capacity = 2 * w.open_capacity + 64
    i = w.open_count
    w.open_count += 1
    if w.data.rules.max_leaves:
        while i > 0 and comes_first(t, &w.open[(i - 1) // 2]):
            parent = (i - 1) // 2
            w.open[i] = w.open[parent]
            i = parent
    w.open[i] = t[0]
    return 0


cdef void frontier_pop(Worker* w, Open* t) noexcept nogil:
    """Take the next open node: the top of the stack, or the best of the heap."""
    cdef Py_ssize_t i = 0, child, n
    cdef Open last
    w.open_count -= 1
    n = w.open_count
    if not w.data.rules.max_leaves:
        t[0] = w.open[n]
        return
    t[0] = w.open[0]
    last = w.open[n]
    while 2 * i + 1 < n:
        child = 2 * i + 1
        if child + 1 < n and comes_first(&w.open[child + 1], &w.open[child]):
            child += 1
        if not comes_first(&w.open[child], &last):
            break
        w.open[i] = w.open[child]
        i = child
    w.open[i] = last


cdef inline int look_for_signals(Worker* w, int64_t work) noexcept nogil:
    """Count work and let Python handle signals now and then; 1 when growing must stop."""
    w.work += work
    if w.work > SIGNAL_STEP:
        w.work = 0
        handle_signals(w)
    return w.stop[0]


cdef void handle_signals(Worker* w) noexcept with gil:
    """Apart from the count: a function that holds Python objects takes the lock whenever it is called."""
    try:
        PyErr_CheckSignals()
    except BaseException as error:
        w.stop[0] = 1
        _pending.append(error)


_pending = []


cdef int make_children(Worker* w, Open* t, Open* children, int* wanted) noexcept nogil:
    """Add the two child records of a node that was settled just now; says which need a search; -1 without memory."""
    cdef Py_ssize_t K = w.node.K, side, rows = t.left
    cdef double* table = w.scratch + 4 * K
    cdef int64_t made
    wanted[0] = 0
    for side in range(2):
        children[side].start = t.start + (rows if side else 0)
        children[side].end = t.end if side else t.start + rows
        children[side].depth = t.depth + 1
        children[side].priority = 0.0
        made = outcome_add(&w.out, table + side * K, children[side].end - children[side].start)
        if made < 0:
            return -1
        children[side].record = made
        if not is_final(w, table + side * K, children[side].end - children[side].start, t.depth + 1):
            wanted[0] |= 1 << side
    w.out.records[t.record].left = children[0].record
    w.out.records[t.record].right = children[1].record
    return 0


cdef int consider(Worker* w, Open* t) noexcept nogil:
    """Search an open node and put it on the frontier if it has a split; -1 without memory."""
    best_clear(&t.best)
    scan_lists(w, w.out.values + t.record * w.node.K, t, 0, w.data.d, &t.best)
    if w.stop[0]:
        return 0
    if w.data.rules.max_leaves:
        settle(w, t)
    if t.best.feature < 0:
        return 0
    return frontier_push(w, t)


cdef int grow_all(Worker* w, Py_ssize_t leaves) noexcept nogil:
    """Split open nodes until none is left or there are enough leaves; -1 without memory.

    Invariant: the ranges of open nodes are disjoint, and their lists are sorted.
    """
    cdef Open t
    cdef Open children[2]
    cdef int wanted, side
    while w.open_count and not w.stop[0]:
        if w.data.rules.max_leaves and leaves >= w.data.rules.max_leaves:
            break
        frontier_pop(w, &t)
        settle(w, &t)
        if t.best.feature < 0:
            continue
        leaves += 1
        if make_children(w, &t, children, &wanted) < 0:
            return -1
        if wanted:
            partition_lists(w, &t, wanted, 0, w.data.d)
        for side in range(1, -1, -1):
            if wanted >> side & 1 and consider(w, &children[side]) < 0:
                return -1
    return 0


# ---- Python side ----------------------------------------------------------------------------------------------------

@cython.auto_pickle(False)
cdef class Grower:
    """Data, presorted lists and one worker per thread; the methods release the GIL."""

    cdef Data data
    cdef Worker* workers
    cdef Py_ssize_t n_workers
    cdef double* T
    cdef double* root_value
    cdef volatile int stop
    cdef object keep        # arrays whose memory the structs point into
    cdef Open current       # the node that several threads work on
    cdef Open children[2]
    cdef int wanted         # which of its children need a search
    cdef Outcome* parts     # subtrees grown by other workers, by place of their root among the open nodes
    cdef Py_ssize_t n_parts

    def __cinit__(self, const float[:, :] single, const double[:, :] wide, const int32_t[::1] y, const double[::1] w,
                  const int32_t[::1] tests, Py_ssize_t K, int criterion, Py_ssize_t least, double lightest, bint general,
                  int shift, Py_ssize_t max_depth, Py_ssize_t max_leaves, Py_ssize_t min_split, double min_gain, double alpha,
                  Py_ssize_t n_workers):
        cdef Data* data = &self.data
        cdef Py_ssize_t i
        self.keep = (single, wide, y, w, tests)
        data.is_double = single is None
        if data.is_double:
            data.X = <const void*> &wide[0, 0]
            data.m, data.d = wide.shape[0], wide.shape[1]
            data.row_step, data.column_step = wide.strides[0] // 8, wide.strides[1] // 8
        else:
            data.X = <const void*> &single[0, 0]
            data.m, data.d = single.shape[0], single.shape[1]
            data.row_step, data.column_step = single.strides[0] // 4, single.strides[1] // 4
        data.tests = &tests[0]
        data.y = &y[0]
        data.general = general
        data.subsets = 0
        for i in range(data.d):
            data.subsets |= tests[i] == SUBSET
        data.rules = Rules(max_depth, max_leaves, min_split, min_gain, alpha)
        self.stop = 0
        self.n_workers = n_workers
        self.allocate(K)
        for i in range(data.m):
            self.root_value[y[i]] += w[i] if w is not None else 1.0
        data.total = 0.0
        for i in range(K):
            data.total += self.root_value[i]
        if w is None and (criterion == ENTROPY or criterion == GAIN_RATIO or criterion == HYPERGEOMETRIC):
            self.T = <double*> malloc(8 * (data.m + 1))
            if self.T == NULL:
                raise MemoryError(f"expected {8 * data.m} bytes for a table")
            for i in range(data.m + 1):
                self.T[i] = table_value(criterion, i)
        for i in range(n_workers):
            self.set_worker(&self.workers[i], K, criterion, least, shift, &w[0] if w is not None else NULL)
            self.workers[i].node.lightest = lightest

    cdef int allocate(self, Py_ssize_t K) except -1:
        """Lists, marks and workers."""
        cdef Data* data = &self.data
        cdef Py_ssize_t i
        cdef Worker* w
        data.items = <uint32_t*> malloc(4 * data.m * data.d)
        data.marks = <uint8_t*> malloc(data.m)
        self.root_value = <double*> calloc(K, 8)
        self.workers = <Worker*> calloc(self.n_workers, sizeof(Worker))
        if data.items == NULL or data.marks == NULL or self.root_value == NULL or self.workers == NULL:
            raise MemoryError(f"expected {5 * data.m * data.d} bytes for presorted lists")
        for i in range(self.n_workers):
            w = &self.workers[i]
            w.spare = <uint32_t*> malloc(4 * data.m)
            w.scratch = <double*> calloc(6 * K, 8)
            w.runs = <Run*> malloc(data.m * sizeof(Run)) if data.subsets else NULL
            if w.spare == NULL or w.scratch == NULL or (data.subsets and w.runs == NULL):
                raise MemoryError(f"expected {4 * data.m} bytes of scratch")
        return 0

    cdef void set_worker(self, Worker* w, Py_ssize_t K, int criterion, Py_ssize_t least, int shift, const double* weights):
        """Fill in one worker."""
        w.data = &self.data
        w.stop = &self.stop
        outcome_init(&w.out, K)
        w.node.criterion = criterion
        w.node.wide = lanes_available()
        w.node.K = K
        w.node.least = least
        w.node.shift = shift
        w.node.mask = (<uint32_t> 1 << shift) - 1
        w.node.T = self.T
        w.node.l = w.scratch
        w.node.r = w.scratch + K
        w.node.w = weights

    def __dealloc__(self):
        cdef Py_ssize_t i
        if self.workers != NULL:
            for i in range(self.n_workers):
                outcome_free(&self.workers[i].out)
                free(self.workers[i].spare)
                free(self.workers[i].scratch)
                free(self.workers[i].runs)
                free(self.workers[i].open)
        for i in range(self.n_parts):
            outcome_free(&self.parts[i])
        free(self.parts)
        free(self.workers)
        free(self.data.items)
        free(self.data.marks)
        free(self.T)
        free(self.root_value)

    def sort(self, Py_ssize_t first, Py_ssize_t last):
        """Sort the columns [first, last)."""
        cdef Data* data = &self.data
        cdef uint64_t* a = <uint64_t*> malloc(16 * data.m)
        cdef uint64_t* c
        cdef Py_ssize_t f, i, at
        cdef uint32_t row
        cdef int shift = self.workers[0].node.shift
        if a == NULL:
            raise MemoryError(f"expected {16 * data.m} bytes for sorting")
        for f in range(first, last):
            if self.stop:
                break
            try:
                PyErr_CheckSignals()
            except BaseException:
                free(a)
                raise
            with nogil:
                for i in range(data.m):
                    a[i] = <uint64_t> i
                at = f * data.column_step
                if data.is_double:
                    c = sort_items(<const double*> data.X + at, data.row_step, a, a + data.m, data.m)
                else:
                    c = sort_items(<const float*> data.X + at, data.row_step, a, a + data.m, data.m)
                for i in range(data.m):
                    row = <uint32_t> c[i]
                    list_of(data, f)[i] = row | (<uint32_t> data.y[row] << shift)
        free(a)

    def start(self):
        """Make the root; True if it may be split."""
        cdef Worker* w = &self.workers[0]
        cdef Open* t = &self.current
        t.start, t.end, t.depth, t.priority = 0, self.data.m, 0, 0.0
        best_clear(&t.best)
        t.record = outcome_add(&w.out, self.root_value, self.data.m)
        if t.record < 0:
            raise MemoryError("expected memory for the root")
        return not is_final(w, self.root_value, self.data.m, 0)

    def run(self):
        """Grow everything below the root in this thread."""
        cdef int code
        with nogil:
            code = consider(&self.workers[0], &self.current)
            if code == 0:
                code = grow_all(&self.workers[0], 1)
        self.finish(code)

    cdef int finish(self, int code) except -1:
        """Raise what happened inside a nogil block."""
        if self.stop and _pending:
            raise _pending.pop()
        if code < 0:
            raise MemoryError("expected memory for the nodes of the tree")
        return 0

    # ---- several threads: the largest nodes feature by feature, then whole subtrees -----------------------------------

    def take(self, Py_ssize_t limit):
        """Make an open node with more rows than ``limit`` the current one; False when there is none."""
        cdef Worker* w = &self.workers[0]
        cdef Py_ssize_t i
        for i in range(w.open_count):
            if w.open[i].end - w.open[i].start > limit:
                self.current = w.open[i]
                w.open_count -= 1
                w.open[i] = w.open[w.open_count]
                return True
        return False

    def push_root(self):
        """Open the root without a search."""
        if frontier_push(&self.workers[0], &self.current) < 0:
            raise MemoryError("expected memory for the root")

    def scan(self, Py_ssize_t part, Py_ssize_t first, Py_ssize_t last):
        """Search the features [first, last) of the current node with worker ``part``."""
        cdef Worker* w = &self.workers[part]
        with nogil:
            best_clear(&w.found)
            scan_lists(w, self.workers[0].out.values + self.current.record * w.node.K, &self.current, first, last,
                       &w.found)

    def choose(self, Py_ssize_t parts):
        """Take the best of the parts and split the current node by it; True if its lists must be partitioned."""
        cdef Worker* w = &self.workers[0]
        cdef Py_ssize_t i
        cdef int code = 0
        self.current.best = self.workers[0].found
        for i in range(1, parts):
            # Parts hold ascending features: an equal score later loses.
            if self.workers[i].found.score > self.current.best.score:
                self.current.best = self.workers[i].found
        with nogil:
            look_for_signals(w, SIGNAL_STEP + 1)
            settle(w, &self.current)
            self.wanted = 0
            if self.current.best.feature >= 0:
                code = make_children(w, &self.current, self.children, &self.wanted)
        self.finish(code)
        return self.wanted != 0

    def partition(self, Py_ssize_t part, Py_ssize_t first, Py_ssize_t last):
        """Partition the lists [first, last) of the current node."""
        with nogil:
            partition_lists(&self.workers[part], &self.current, self.wanted, first, last)

    def push_children(self):
        """Open the children of the current node that need a search."""
        cdef int side
        for side in range(2):
            if self.wanted >> side & 1:
                best_clear(&self.children[side].best)
                if frontier_push(&self.workers[0], &self.children[side]) < 0:
                    raise MemoryError("expected memory for open nodes")

    def subtrees(self):
        """How many open nodes are left to whole-subtree workers."""
        cdef Py_ssize_t i, n = self.workers[0].open_count
        if n:
            self.parts = <Outcome*> calloc(n, sizeof(Outcome))
            if self.parts == NULL:
                raise MemoryError(f"expected {n * sizeof(Outcome)} bytes for subtrees")
        self.n_parts = n
        return sorted(range(n), key=lambda i: self.workers[0].open[i].start - self.workers[0].open[i].end)

    def grow_subtree(self, Py_ssize_t part, Py_ssize_t place):
        """Grow the open node number ``place`` with worker ``part``, into an outcome of its own."""
        cdef Worker* w = &self.workers[part]
        cdef Open t = self.workers[0].open[place]
        cdef int code = -1
        cdef Outcome held = w.out
        cdef const double* value = self.workers[0].out.values + t.record * w.node.K
        if part == 0:
            raise ValueError("expected a worker of its own for a subtree, got worker 0")
        with nogil:
            outcome_init(&w.out, w.node.K)
            t.record = outcome_add(&w.out, value, t.end - t.start)
            if t.record == 0:
                code = consider(w, &t)
                if code == 0:
                    code = grow_all(w, 1)
            self.parts[place] = w.out
            w.out = held
        self.finish(code)

    def join(self):
        """Put all subtrees into their places."""
        cdef Py_ssize_t i
        cdef int code = 0
        for i in range(self.n_parts):
            if code == 0 and outcome_merge(&self.workers[0].out, self.workers[0].open[i].record, &self.parts[i]) < 0:
                code = -1
            outcome_free(&self.parts[i])
        self.n_parts = 0
        self.workers[0].open_count = 0
        self.finish(code)

    def halt(self):
        """Make every thread stop soon."""
        self.stop = 1

    def release(self):
        """Give back all memory but the outcome's: nothing grows after this."""
        cdef Py_ssize_t i
        free(self.data.items)
        free(self.data.marks)
        self.data.items, self.data.marks = NULL, NULL
        for i in range(self.n_workers):
            free(self.workers[i].spare)
            free(self.workers[i].runs)
            self.workers[i].spare, self.workers[i].runs = NULL, NULL

    def address(self):
        """Where the outcome is, for ``_flatten.arrays``."""
        return <size_t> &self.workers[0].out

"""The best split on a nominal feature from rows sorted by category: each run of equal values is one category.

* One against the rest: every run is a candidate left side.  The lowest category wins a tie.
* Subsets, two classes: the runs are ordered by their share of class 1 (equal shares by category) and the prefixes of
  that order are the candidates.  A subset's left counts are a sum of some of the categories' counts, so they lie in a
  zonotope whose vertices are exactly such prefixes and their complements; a quasi-convex score is largest at a vertex
  (Breiman et al. 1984, Theorem 4.5, says so for Gini and entropy; ``criteria.pxd`` for the rest).  The hypergeometric is
  convex only along the axes, not quasi-convex in general; its prefix can miss the optimum by a small amount where
  categories hold few rows, so up to ``EXHAUSTIVE`` categories it tries every subset instead.
* Missing rows are tried on both sides.
"""

from libc.stdint cimport uint32_t

from criteria cimport HYPERGEOMETRIC
from radix cimport real_t
from scan cimport Best, Node, try_sides

cdef enum:
    EXHAUSTIVE = 12


cdef struct Run:
    double value            # the category
    double c0               # weight of class 0
    double c1               # weight of class 1
    Py_ssize_t rows         # items


cdef inline Py_ssize_t run_end(
    const Node* node, const real_t* x, Py_ssize_t step, const uint32_t* a, Py_ssize_t i, Py_ssize_t n
) noexcept nogil:
    """Where the run of equal values that starts at i ends."""
    cdef real_t value = x[(a[i] & node.mask) * step]
    while i < n and x[(a[i] & node.mask) * step] == value:
        i += 1
    return i


cdef inline double weight_of(const Node* node, uint32_t item) noexcept nogil:
    return node.w[item & node.mask] if node.w != NULL else 1.0


cdef inline Py_ssize_t take_missing(
    const Node* node, const real_t* x, Py_ssize_t step, const uint32_t* a, Py_ssize_t n, double* missing
) noexcept nogil:
    """Sum the missing rows, which are the last items, by class; returns how many items are present."""
    cdef Py_ssize_t k
    cdef real_t value
    for k in range(node.K):
        missing[k] = 0.0
    while n > 0:
        value = x[(a[n - 1] & node.mask) * step]
        if value == value:
            break
        n -= 1
        missing[a[n] >> node.shift] += weight_of(node, a[n])
    return n


cdef inline void scan_one_against_rest(
    const Node* node, const real_t* x, Py_ssize_t step, const uint32_t* a, Py_ssize_t n,
    double* missing, Py_ssize_t feature, Best* best
) noexcept nogil:
    """Each category against the others; best.position is where the category's run starts."""
    cdef Py_ssize_t i = 0, j, k, p, present = take_missing(node, x, step, a, n, missing)
    cdef double before
    while i < present:
        j = run_end(node, x, step, a, i, present)
        for k in range(node.K):
            node.l[k] = 0.0
        for p in range(i, j):
            node.l[a[p] >> node.shift] += weight_of(node, a[p])
        before = best.score
        if j - i < present or n > present:
            try_sides(node, missing, n - present, j - i, present, feature, best)
        if best.score > before:
            best.position = i
        i = j


cdef inline Py_ssize_t collect_runs(
    const Node* node, const real_t* x, Py_ssize_t step, const uint32_t* a, Py_ssize_t present, Run* runs
) noexcept nogil:
    """The categories in ascending order with their counts, two classes; returns how many."""
    cdef Py_ssize_t i = 0, j, p, count = 0
    while i < present:
        j = run_end(node, x, step, a, i, present)
        runs[count].value = x[(a[i] & node.mask) * step]
        runs[count].rows = j - i
        runs[count].c0 = runs[count].c1 = 0.0
        for p in range(i, j):
            if a[p] >> node.shift:
                runs[count].c1 += weight_of(node, a[p])
            else:
                runs[count].c0 += weight_of(node, a[p])
        count += 1
        i = j
    return count


cdef inline void order_runs(Run* runs, Py_ssize_t count) noexcept nogil:
    """Order categories by share of class 1, equal shares by category: heap sort, no recursion."""
    cdef Py_ssize_t end = count, root = count // 2, child, parent
    cdef Run held
    while end > 1:
        if root > 0:
            root -= 1
        else:
            end -= 1
            held = runs[end]
            runs[end] = runs[0]
            runs[0] = held
        parent = root
        held = runs[parent]
        while 2 * parent + 1 < end:
            child = 2 * parent + 1
            if child + 1 < end and run_before(&runs[child], &runs[child + 1]):
                child += 1
            if not run_before(&held, &runs[child]):
                break
            runs[parent] = runs[child]
            parent = child
        runs[parent] = held


cdef inline int run_before(const Run* a, const Run* b) noexcept nogil:
    """Whether a comes before b: smaller share of class 1, compared without division, then smaller category."""
    cdef double left = a.c1 * (b.c0 + b.c1), right = b.c1 * (a.c0 + a.c1)
    return left < right or (left == right and a.value < b.value)


cdef inline void try_every_subset(
    const Node* node, const Run* runs, Py_ssize_t count, const double* missing, Py_ssize_t n_missing,
    Py_ssize_t present, Py_ssize_t feature, Best* best
) noexcept nogil:
    """All subsets with the last run on the right; best.position is minus the bit mask of the left side."""
    cdef Py_ssize_t mask, i, rows
    cdef double before
    for mask in range(1, <Py_ssize_t> 1 << (count - 1)):
        node.l[0] = node.l[1] = 0.0
        rows = 0
        for i in range(count - 1):
            if mask >> i & 1:
                node.l[0] += runs[i].c0
                node.l[1] += runs[i].c1
                rows += runs[i].rows
        before = best.score
        try_sides(node, missing, n_missing, rows, present, feature, best)
        if best.score > before:
            best.position = -mask


cdef inline void scan_subsets(
    const Node* node, const real_t* x, Py_ssize_t step, const uint32_t* a, Py_ssize_t n,
    double* missing, Run* runs, Py_ssize_t feature, Best* best
) noexcept nogil:
    """The best subset of categories, two classes.

    Leaves best.position = how many runs of the order go left, or minus a bit mask of the first runs; ``runs`` keeps the
    order when this feature is the last one scanned.
    """
    cdef Py_ssize_t i, rows = 0, present = take_missing(node, x, step, a, n, missing), count
    cdef double before, l0 = 0.0, l1 = 0.0
    count = collect_runs(node, x, step, a, present, runs)
    order_runs(runs, count)
    if node.criterion == HYPERGEOMETRIC and 2 <= count <= EXHAUSTIVE:
        try_every_subset(node, runs, count, missing, n - present, present, feature, best)
    for i in range(count):
        l0 += runs[i].c0
        l1 += runs[i].c1
        rows += runs[i].rows
        node.l[0] = l0
        node.l[1] = l1
        before = best.score
        if i + 1 < count or n > present:
            try_sides(node, missing, n - present, rows, present, feature, best)
        if best.score > before:
            best.position = i + 1


cdef inline int run_is_left(Py_ssize_t position, Py_ssize_t i) noexcept nogil:
    """Whether run i of the order goes left under the position that ``scan_subsets`` recorded."""
    return i < position if position > 0 else <int> ((-position) >> i & 1)

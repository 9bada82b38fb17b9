"""Depth-first search for a large shattered sample: first answers, and whole searches that are small.

    visit(R, candidates):                                R is shattered
        a sample of `target` points needs target - |R| more: give up if the candidates are fewer
        for x in candidates with R + x kept (one per orbit, canon.pxd) and shattered:
            visit(R + x, candidates - x)

A candidate that fails with R fails with every larger sample, so it leaves the candidates of R at once. `target` is one more than the
largest shattered sample known; finding one of that size raises it. If the search ends within its budget, no shattered sample of `target`
points exists. It needs no memory beyond one sample and its memo; the level by level search (_levels.pyx) tests far fewer samples
when there are many.
"""

from libc.stdint cimport int64_t, uint16_t, uint64_t
from libc.stdlib cimport free, malloc
from libc.string cimport memcmp, memcpy, memset

from buffer cimport Buffer, buffer_add, buffer_free
from canon cimport Canon, canon_augments, canon_init, canon_pair
from control cimport TESTS_LEFT, Watch, take_test, watch_init, watch_step
from dichotomy cimport Memo, memo_free, memo_init, memo_set_point, memo_shatters
from scalars cimport MAX_FEATURES, MAX_POINTS

cdef enum:
    EXHAUSTED = 0        # no shattered sample of `target` points
    CEILING = 1          # a sample as large as asked for at most
    BUDGET = 2           # the budget of tests is used up
    STOPPED = 3          # by a limit
    NO_MEMORY = 4

cdef struct Dive:
    int target
    int ceiling
    int64_t budget                                    # tests left
    int64_t n_tested
    int64_t n_generated
    int64_t kept[MAX_POINTS + 1]                      # orbits visited by size
    uint16_t points[MAX_POINTS + 1]                   # R
    uint64_t sums[MAX_POINTS + 1][MAX_POINTS + 1]     # canon.pxd's s for R of each size
    uint64_t automorphisms[MAX_POINTS + 1]            # of R of each size
    uint16_t* candidates[MAX_POINTS + 1]              # for R of each size, 2^d at most
    Buffer forms[MAX_POINTS + 1]                      # of the children of R of each size
    int witness_size
    uint16_t witness[MAX_POINTS]
    Memo memo
    Canon canon
    Watch watch


cdef bint is_new_child(Dive* dive, int k) noexcept nogil:
    """Whether canon.best is no form of a child of points[:k] met before; if so, note it."""
    cdef Buffer* forms = &dive.forms[k]
    cdef size_t bytes = (k + 1) * sizeof(uint16_t), i
    for i in range(forms.used // bytes):
        if memcmp(forms.data + i * bytes, dive.canon.best, bytes) == 0:
            return False
    if buffer_add(forms, dive.canon.best, bytes) < 0:
        dive.memo.failed = True
    return True


cdef int test_child(Dive* dive, int k) except -1 nogil:
    """1 if points[:k+1] is shattered, 0 if not, 2 to stop."""
    if not take_test(&dive.watch.limits[TESTS_LEFT]):
        return 2
    dive.n_tested += 1
    dive.budget -= 1
    memo_set_point(&dive.memo, k, dive.points[k])
    return memo_shatters(&dive.memo, k + 1, &dive.watch)


cdef int visit(Dive* dive, int k, int n) except -1 nogil:
    """Search all samples that extend points[:k] by some of candidates[k][:n] and have it in their line of descent."""
    cdef uint16_t* candidates = dive.candidates[k]
    cdef int i = 0, outcome, answer
    assert 0 <= k < MAX_POINTS and 0 <= n <= (1 << dive.canon.d)
    dive.kept[k] += k > 0
    dive.forms[k].used = 0
    while i < n and n >= dive.target - k:
        dive.points[k] = candidates[i]
        i += 1
        dive.n_generated += 1
        if watch_step(&dive.watch, 1):
            return STOPPED
        if not canon_augments(&dive.canon, dive.points, dive.sums[k], dive.sums[k + 1], k + 1):
            continue
        dive.automorphisms[k + 1] = dive.canon.n_automorphisms
        if dive.automorphisms[k] > 1 and not is_new_child(dive, k):
            continue
        answer = test_child(dive, k)
        if answer == 2 or watch_step(&dive.watch, 8):
            return STOPPED
        if dive.memo.failed:
            return NO_MEMORY
        if answer == 0:
            i -= 1
            n -= 1
            memcpy(candidates + i, candidates + n, sizeof(uint16_t))    # the last takes its place
            continue
        if k + 1 >= dive.target:
            memcpy(dive.witness, dive.points, (k + 1) * sizeof(uint16_t))
            dive.witness_size = k + 1
            dive.target = k + 2
            if k + 1 >= dive.ceiling:
                return CEILING
        if dive.budget <= 0:
            return BUDGET
        memcpy(dive.candidates[k + 1], candidates, (i - 1) * sizeof(uint16_t))
        memcpy(dive.candidates[k + 1] + i - 1, candidates + i, (n - i) * sizeof(uint16_t))
        outcome = visit(dive, k + 1, n - 1)
        if outcome != EXHAUSTED:
            return outcome
    return EXHAUSTED


cdef int start(Dive* dive) except -1 nogil:
    """Visit the empty sample or, orientation free, the origin: any point can be moved there."""
    cdef int i, d = dive.canon.d, k = 0 if dive.canon.fixed else 1
    dive.automorphisms[k] = 2                       # more than one, as far as anyone asks
    dive.points[0] = 0
    dive.sums[1][0] = canon_pair(&dive.canon, 0, 0)
    memo_set_point(&dive.memo, 0, 0)
    for i in range(k, 1 << d):
        dive.candidates[k][i - k] = <uint16_t>i
    dive.kept[0] = 1
    return visit(dive, k, (1 << d) - k)


def dive(const int[:, ::1] table, int n_features, bint fixed, int target, int ceiling, int64_t budget,
         double[::1] limits):
    """Look for shattered samples of `target` points and more, until exhausted, `ceiling` is reached or `budget` tests are made.

    Returns (outcome, witness, orbits visited by size, samples generated, samples tested, dichotomy sets computed); the outcome is
    "exhausted", "ceiling", "budget" or "stopped", the witness a list of points (bit f = feature f), empty if none was found.
    """
    cdef Dive* dive = <Dive*>malloc(sizeof(Dive))
    cdef int outcome = NO_MEMORY, i
    if dive == NULL:
        raise MemoryError
    memset(dive, 0, sizeof(Dive))
    dive.target = target
    dive.ceiling = ceiling
    dive.budget = budget
    canon_init(&dive.canon, n_features, fixed)
    watch_init(&dive.watch, &limits[0])
    try:
        if memo_init(&dive.memo, table, n_features, fixed, ceiling) < 0:
            raise MemoryError
        for i in range(ceiling + 1):
            dive.candidates[i] = <uint16_t*>malloc(sizeof(uint16_t) << n_features)
            if dive.candidates[i] == NULL:
                raise MemoryError
        with nogil:
            outcome = start(dive)
        if outcome == NO_MEMORY:
            raise MemoryError
        return (("exhausted", "ceiling", "budget", "stopped")[outcome],
                [dive.witness[i] for i in range(dive.witness_size)],
                [dive.kept[i] for i in range(ceiling + 1)],
                dive.n_generated, dive.n_tested, dive.memo.n_sets)
    finally:
        for i in range(MAX_POINTS + 1):
            free(dive.candidates[i])
            buffer_free(&dive.forms[i])
        memo_free(&dive.memo)
        free(dive)

"""The nodes that a growing kernel has made: one record each, in the order of creation, with class weights beside them.

Children always come after their parent; the root is record 0.  Kernels append, ``_flatten.pyx`` turns the records into
arrays in preorder.
"""

from libc.stdint cimport int8_t, int32_t, int64_t, uint8_t
from libc.stdlib cimport free, malloc, realloc
from libc.string cimport memcpy


cdef struct Record:
    int32_t feature         # tested feature, -1 for a leaf
    int8_t test             # THRESHOLD, ONE or SUBSET (see _split.pyx)
    int8_t missing_left     # 1 left, 0 right, -1 no missing value was seen
    int64_t left            # child record, -1 for a leaf
    int64_t right
    int64_t n               # rows
    double threshold        # or the category of a ONE test
    double gain             # of the split, 0 for a leaf
    int64_t set_start       # SUBSET: its categories are sets[set_start:set_end]
    int64_t set_end


cdef struct Rules:
    Py_ssize_t max_depth
    Py_ssize_t max_leaves   # 0: depth first, no limit
    Py_ssize_t min_split
    double min_gain
    double alpha            # 1: no test of significance


cdef struct Outcome:
    Record* records
    double* values          # K class weights per record
    int64_t count
    int64_t capacity
    Py_ssize_t K
    double* sets            # categories of all SUBSET tests
    int64_t set_count
    int64_t set_capacity


cdef inline void outcome_init(Outcome* o, Py_ssize_t K) noexcept nogil:
    o.records = NULL
    o.values = NULL
    o.sets = NULL
    o.count = o.capacity = o.set_count = o.set_capacity = 0
    o.K = K


cdef inline void outcome_free(Outcome* o) noexcept nogil:
    free(o.records)
    free(o.values)
    free(o.sets)
    outcome_init(o, o.K)


cdef inline int64_t outcome_add(Outcome* o, const double* value, int64_t n) noexcept nogil:
    """Append a leaf with these class weights; returns its number, -1 without memory."""
    cdef int64_t capacity
    cdef Record* record
    cdef void* grown
    if o.count == o.capacity:
        capacity = 2 * o.capacity + 64
        grown = realloc(o.records, capacity * sizeof(Record))
        if grown == NULL:
            return -1
        o.records = <Record*> grown
        grown = realloc(o.values, capacity * o.K * sizeof(double))
        if grown == NULL:
            return -1
        o.values = <double*> grown
        o.capacity = capacity
    record = o.records + o.count
    record.feature = -1
    record.test = 0
    record.missing_left = -1
    record.left = record.right = -1
    record.n = n
    record.threshold = record.gain = 0.0
    record.set_start = record.set_end = o.set_count
    memcpy(o.values + o.count * o.K, value, o.K * sizeof(double))
    o.count += 1
    return o.count - 1


cdef inline int outcome_add_category(Outcome* o, double category) noexcept nogil:
    """Append one category to the sets; -1 without memory."""
    cdef void* grown
    if o.set_count == o.set_capacity:
        grown = realloc(o.sets, (2 * o.set_capacity + 64) * sizeof(double))
        if grown == NULL:
            return -1
        o.sets = <double*> grown
        o.set_capacity = 2 * o.set_capacity + 64
    o.sets[o.set_count] = category
    o.set_count += 1
    return 0


cdef inline int outcome_merge(Outcome* o, int64_t where, const Outcome* part) noexcept nogil:
    """Put the tree ``part`` in the place of the leaf ``where``; -1 without memory."""
    cdef int64_t i, base = o.count - 1, set_base = o.set_count, at
    cdef Record* record
    for i in range(part.set_count):
        if outcome_add_category(o, part.sets[i]) < 0:
            return -1
    for i in range(part.count):
        at = where
        if i > 0:
            at = outcome_add(o, part.values + i * o.K, part.records[i].n)
            if at < 0:
                return -1
        record = o.records + at
        record[0] = part.records[i]
        if record.left >= 0:
            record.left += base
            record.right += base
        record.set_start += set_base
        record.set_end += set_base
    return 0

"""Sorting the rows of a node by one feature: least-significant-digit radix sort of order-preserving keys.

A float becomes an unsigned integer of the same order: flip all bits of a negative number, the sign bit of any other.
-0.0 and 0.0 share a key; every NaN has the largest key, so missing values come last.  Items are (upper 32 key bits, row)
in one 64-bit word, sorted stably digit by digit (digits shared by all rows are skipped); double keys that agree in the
upper half are then ordered by the lower half, by insertion in short runs and by the same radix sort in long ones.
Cost O(m) per digit; 8 m bytes of scratch twice.
"""

from libc.stdint cimport uint8_t, uint16_t, uint32_t, uint64_t
from libc.string cimport memcpy, memset

ctypedef fused real_t:
    float
    double


cdef inline uint64_t float_key(double value) noexcept nogil:
    """The order-preserving 64-bit key of a double."""
    cdef uint64_t bits
    if value != value:
        return <uint64_t> -1
    value += 0.0
    memcpy(&bits, &value, 8)
    return ~bits if bits >> 63 else bits | (<uint64_t> 1 << 63)


cdef inline uint32_t single_key(float value) noexcept nogil:
    """The order-preserving 32-bit key of a float."""
    cdef uint32_t bits
    if value != value:
        return <uint32_t> -1
    value += <float> 0.0
    memcpy(&bits, &value, 4)
    return ~bits if bits >> 31 else bits | (<uint32_t> 1 << 31)


cdef inline uint64_t* radix_pass(
    uint64_t* a, uint64_t* b, Py_ssize_t n, int shift, uint32_t mask, uint32_t* count
) noexcept nogil:
    """Move the items of a into b in the order of one digit, stably; a itself when they share the digit.

    Assumes count[digit] holds how many items have each digit; destroys it.  Returns where the items now are.
    """
    cdef uint32_t total = 0, here
    cdef Py_ssize_t i
    cdef uint64_t item
    if count[(a[0] >> shift) & mask] == n:
        return a
    for i in range(mask + 1):
        here = count[i]
        count[i] = total
        total += here
    for i in range(n):
        item = a[i]
        here = <uint32_t> (item >> shift) & mask
        b[count[here]] = item
        count[here] += 1
    return b


cdef inline uint64_t* radix_sort(uint64_t* a, uint64_t* b, Py_ssize_t n) noexcept nogil:
    """Sort n items by their upper 32 bits, stably; returns a or b, whichever holds the result."""
    cdef uint32_t count[3 * 2048]
    cdef Py_ssize_t i
    cdef uint32_t key
    cdef uint64_t* c
    if n < 2:
        return a
    if n < 1500:
        memset(count, 0, 4 * 256 * 4)
        for i in range(n):
            key = <uint32_t> (a[i] >> 32)
            count[key & 255] += 1
            count[256 + ((key >> 8) & 255)] += 1
            count[512 + ((key >> 16) & 255)] += 1
            count[768 + (key >> 24)] += 1
        for i in range(4):
            c = radix_pass(a, b, n, 32 + 8 * <int> i, 255, count + 256 * i)
            if c == b:
                a, b = b, a
        return a
    memset(count, 0, sizeof(count))
    for i in range(n):
        key = <uint32_t> (a[i] >> 32)
        count[key & 2047] += 1
        count[2048 + ((key >> 11) & 2047)] += 1
        count[4096 + (key >> 22)] += 1
    for i in range(3):
        c = radix_pass(a, b, n, 32 + 11 * <int> i, 1023 if i == 2 else 2047, count + 2048 * i)
        if c == b:
            a, b = b, a
    return a


cdef inline void insert_items(const double* x, Py_ssize_t step, uint64_t* a, Py_ssize_t n) noexcept nogil:
    """Sort a short run by full key, stably."""
    cdef Py_ssize_t i, j
    cdef uint64_t item, key
    for i in range(1, n):
        item = a[i]
        key = float_key(x[<uint32_t> item * step])
        j = i
        while j > 0 and float_key(x[<uint32_t> a[j - 1] * step]) > key:
            a[j] = a[j - 1]
            j -= 1
        a[j] = item


cdef inline void settle_runs(const double* x, Py_ssize_t step, uint64_t* a, uint64_t* b, Py_ssize_t n) noexcept nogil:
    """Order items that share the upper half of their key by the lower half; b is scratch."""
    cdef Py_ssize_t i = 0, j, k
    cdef uint32_t high
    cdef uint64_t* c
    while i < n:
        high = <uint32_t> (a[i] >> 32)
        j = i + 1
        while j < n and <uint32_t> (a[j] >> 32) == high:
            j += 1
        if j - i > 24:
            for k in range(i, j):
                a[k] = (float_key(x[<uint32_t> a[k] * step]) << 32) | <uint32_t> a[k]
            c = radix_sort(a + i, b + i, j - i)
            if c != a + i:
                memcpy(a + i, c, (j - i) * 8)
        elif j - i > 1:
            insert_items(x, step, a + i, j - i)
        i = j


cdef inline uint64_t* sort_items(
    const real_t* x, Py_ssize_t step, uint64_t* a, uint64_t* b, Py_ssize_t n
) noexcept nogil:
    """Sort the rows named in the lower halves of a[:n] by x[row * step], stably.

    Returns a or b, whichever holds the result; only the lower halves (rows) of the result mean anything.
    """
    cdef Py_ssize_t i
    cdef uint32_t row
    cdef uint64_t* c
    for i in range(n):
        row = <uint32_t> a[i]
        if real_t is float:
            a[i] = (<uint64_t> single_key(x[row * step]) << 32) | row
        else:
            a[i] = (float_key(x[row * step]) >> 32 << 32) | row
    c = radix_sort(a, b, n)
    if real_t is double:
        settle_runs(x, step, c, b if c == a else a, n)
    return c

"""Sets of small numbers as arrays of 64-bit words."""

from libc.stdint cimport uint32_t, uint64_t

from bitlane cimport bits_count64


cdef inline int bitset_count(const uint64_t* words, int n_words) noexcept nogil:
    cdef int n = 0, w
    for w in range(n_words):
        n += bits_count64(words[w])
    return n


cdef inline bint bitset_has(const uint64_t* words, uint32_t i) noexcept nogil:
    return (words[i >> 6] >> (i & 63)) & 1


cdef inline void bitset_add(uint64_t* words, uint32_t i) noexcept nogil:
    words[i >> 6] |= <uint64_t>1 << (i & 63)

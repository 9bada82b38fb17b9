"""Bit operations: lanes of 256 labellings and 32-bit masks of points (see ``bitlane.h``)."""

from libc.stdint cimport uint32_t, uint64_t


cdef extern from "bitlane.h" nogil:
    ctypedef struct lane_t:
        uint64_t w[4]
    int LANE_WORDS
    void lane_fill(lane_t *a, uint64_t word) noexcept
    void lane_or(lane_t *a, const lane_t *b) noexcept
    void lane_and(lane_t *a, const lane_t *b) noexcept
    void lane_andnot(lane_t *a, const lane_t *b) noexcept
    void lane_xor(lane_t *a, const lane_t *b) noexcept
    void lane_or_and(lane_t *acc, const lane_t *a, const lane_t *b) noexcept      # acc |= a & b
    bint lane_is_within(const lane_t *a, const lane_t *b) noexcept                # no bit of a is missing in b
    bint lane_is_ones(const lane_t *a) noexcept
    bint lane_is_zero(const lane_t *a) noexcept
    int lane_count(const lane_t *a) noexcept                                     # number of set bits
    int bits_count(uint32_t x) noexcept
    int bits_top(uint32_t x) noexcept                                            # index of the highest set bit, x != 0
    int bits_low(uint32_t x) noexcept                                            # index of the lowest set bit, x != 0
    int bits_count64(uint64_t x) noexcept
    int bits_low64(uint64_t x) noexcept

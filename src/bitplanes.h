/* Columns of bits: counting them against class planes, and keeping the rows of a child.

   A column holds one bit per row of a node, 64 rows per word, the last word padded with zeros.
   planes_count        for each column c: |c|, |c & p_1|, ..., |c & p_P|
   planes_compress     for each column the bits under a mask, closed up (parallel extract)
   planes_from_codes   the column "code <= cut" or "code == cut" of byte codes

   Each has a portable body; on x86 the same body is compiled again for BMI2 and POPCNT and chosen at run time. */
#ifndef VCDIM_BITPLANES_H
#define VCDIM_BITPLANES_H
#include <string.h>
#include "lanes.h"

LANES_INLINE void planes_count_body(const uint64_t *columns, ptrdiff_t A, ptrdiff_t W, const uint64_t *planes,
                                    ptrdiff_t P, uint32_t *out) {
    for (ptrdiff_t i = 0; i < A; i++, columns += W, out += P + 1) {
        if (W == 1) {
            uint64_t c = columns[0];
            out[0] = (uint32_t) lanes_popcount64(c);
            for (ptrdiff_t k = 0; k < P; k++) out[k + 1] = (uint32_t) lanes_popcount64(c & planes[k]);
            continue;
        }
        uint32_t total = 0;
        for (ptrdiff_t w = 0; w < W; w++) total += (uint32_t) lanes_popcount64(columns[w]);
        out[0] = total;
        for (ptrdiff_t k = 0; k < P; k++) {
            const uint64_t *p = planes + k * W;
            uint32_t both = 0;
            for (ptrdiff_t w = 0; w < W; w++) both += (uint32_t) lanes_popcount64(columns[w] & p[w]);
            out[k + 1] = both;
        }
    }
}

/* Parallel extract without the instruction: six steps that each move bits by a power of two (Hacker's Delight, 7-4);
   steps[6] depends on the mask alone and serves every column. */
static inline void planes_steps(uint64_t mask, uint64_t *steps) {
    uint64_t gaps = ~mask << 1;
    for (int i = 0; i < 6; i++) {
        uint64_t p = gaps;
        for (int j = 1; j < 64; j <<= 1) p ^= p << j;
        uint64_t move = p & mask;
        mask = (mask ^ move) | (move >> (1 << i));
        steps[i] = move;
        gaps &= ~p;
    }
}

static inline uint64_t planes_extract_plain(uint64_t x, uint64_t mask, const uint64_t *steps) {
    x &= mask;
    for (int i = 0; i < 6; i++) {
        uint64_t t = x & steps[i];
        x = (x ^ t) | (t >> (1 << i));
    }
    return x;
}

#define PLANES_COMPRESS(EXTRACT)                                                                                    \
    for (ptrdiff_t i = 0; i < A; i++) {                                                                             \
        const uint64_t *c = columns + (ptrdiff_t) which[i] * W;                                                     \
        uint64_t held = 0;                                                                                          \
        int fill = 0;                                                                                               \
        uint64_t *to = out + i * width;                                                                             \
        for (ptrdiff_t w = 0; w < W; w++) {                                                                         \
            uint64_t bits = EXTRACT;                                                                                \
            int size = sizes[w];                                                                                    \
            held |= bits << fill;                                                                                   \
            if (fill + size >= 64) {                                                                                \
                *to++ = held;                                                                                       \
                held = fill ? bits >> (64 - fill) : 0;                                                              \
                fill += size - 64;                                                                                  \
            } else {                                                                                                \
                fill += size;                                                                                       \
            }                                                                                                       \
        }                                                                                                           \
        if (fill) *to = held;                                                                                       \
    }

/* Keeps of the columns which[0..A) the bits under the mask; width words each.  sizes and steps are scratch of W and 6 W
   entries; steps may be NULL when wide. */
static void planes_compress_plain(const uint64_t *columns, const int32_t *which, ptrdiff_t A, ptrdiff_t W,
                                  const uint64_t *mask, uint64_t *out, ptrdiff_t width, uint8_t *sizes,
                                  uint64_t *steps) {
    for (ptrdiff_t w = 0; w < W; w++) {
        sizes[w] = (uint8_t) lanes_popcount64(mask[w]);
        planes_steps(mask[w], steps + 6 * w);
    }
    PLANES_COMPRESS(planes_extract_plain(c[w], mask[w], steps + 6 * w))
}

static void planes_count_plain(const uint64_t *columns, ptrdiff_t A, ptrdiff_t W, const uint64_t *planes, ptrdiff_t P,
                               uint32_t *out) {
    planes_count_body(columns, A, W, planes, P, out);
}

#if LANES_X86
LANES_TARGET static void planes_count_wide(const uint64_t *columns, ptrdiff_t A, ptrdiff_t W, const uint64_t *planes,
                                           ptrdiff_t P, uint32_t *out) {
    planes_count_body(columns, A, W, planes, P, out);
}

LANES_TARGET static void planes_compress_wide(const uint64_t *columns, const int32_t *which, ptrdiff_t A, ptrdiff_t W,
                                              const uint64_t *mask, uint64_t *out, ptrdiff_t width, uint8_t *sizes) {
    for (ptrdiff_t w = 0; w < W; w++) sizes[w] = (uint8_t) lanes_popcount64(mask[w]);
    PLANES_COMPRESS(_pext_u64(c[w], mask[w]))
}

LANES_TARGET static void planes_from_codes_wide(const uint8_t *codes, ptrdiff_t m, int cut, int equal, uint64_t *out) {
    const __m256i limit = _mm256_set1_epi8((char) cut);
    for (ptrdiff_t i = 0; i + 64 <= m; i += 64) {
        __m256i a = _mm256_loadu_si256((const __m256i *) (codes + i));
        __m256i b = _mm256_loadu_si256((const __m256i *) (codes + i + 32));
        if (!equal) {
            a = _mm256_min_epu8(a, limit);
            b = _mm256_min_epu8(b, limit);
            a = _mm256_cmpeq_epi8(a, _mm256_loadu_si256((const __m256i *) (codes + i)));
            b = _mm256_cmpeq_epi8(b, _mm256_loadu_si256((const __m256i *) (codes + i + 32)));
        } else {
            a = _mm256_cmpeq_epi8(a, limit);
            b = _mm256_cmpeq_epi8(b, limit);
        }
        out[i / 64] = (uint64_t) (uint32_t) _mm256_movemask_epi8(a)
                    | (uint64_t) (uint32_t) _mm256_movemask_epi8(b) << 32;
    }
}
#endif

static inline void planes_count(const uint64_t *columns, ptrdiff_t A, ptrdiff_t W, const uint64_t *planes, ptrdiff_t P,
                                uint32_t *out, int wide) {
#if LANES_X86
    if (wide) {
        planes_count_wide(columns, A, W, planes, P, out);
        return;
    }
#endif
    (void) wide;
    planes_count_plain(columns, A, W, planes, P, out);
}

static inline void planes_compress(const uint64_t *columns, const int32_t *which, ptrdiff_t A, ptrdiff_t W,
                                   const uint64_t *mask, uint64_t *out, ptrdiff_t width, uint8_t *sizes,
                                   uint64_t *steps, int wide) {
#if LANES_X86
    if (wide) {
        planes_compress_wide(columns, which, A, W, mask, out, width, sizes);
        return;
    }
#endif
    (void) wide;
    planes_compress_plain(columns, which, A, W, mask, out, width, sizes, steps);
}

static inline void planes_from_codes(const uint8_t *codes, ptrdiff_t m, int cut, int equal, uint64_t *out, int wide) {
    ptrdiff_t done = 0;
#if LANES_X86
    if (wide) {
        planes_from_codes_wide(codes, m, cut, equal, out);
        done = m / 64 * 64;
    }
#endif
    (void) wide;
    for (ptrdiff_t i = done; i < m; i++) {
        if (i % 64 == 0) out[i / 64] = 0;
        out[i / 64] |= (uint64_t) (equal ? codes[i] == cut : codes[i] <= cut) << (i % 64);
    }
}
#endif

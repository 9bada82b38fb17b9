/* Columns of bits: counting them against class planes, and keeping the rows of a child.

   A column holds one bit per row of a node, 64 rows per word, the last word padded with zeros.
   planes_count        for each column c: |c|, |c & p_1|, ..., |c & p_P|
   planes_child        the columns of a child: the bits under a mask, closed up (parallel extract), dead columns left out
   planes_gini         the best column by Gini, counts and scores in one pass
   planes_codes        byte codes of whole numbers
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

/* One candidate test: low is the largest code on its left, high the smallest on its right; low == high says that the
   column is "code == low" instead of "code <= low". */
typedef struct {
    int32_t feature;
    uint16_t low;
    uint16_t high;
} PlanesCut;

/* Which columns live on while they are visited in order. */
typedef struct {
    int32_t feature;      /* of the column before */
    uint32_t count;       /* its bits */
    int kept;             /* whether it lives on */
    ptrdiff_t alive;      /* columns kept so far */
} PlanesFilter;

/* Takes the next column, of `count` bits among n rows, into the list or not; 1 if it lives on.  Columns of one feature
   are nested, so one with as many bits as the one before is the same set: only the gap above that one gets wider. */
LANES_INLINE int planes_admit(PlanesFilter *f, PlanesCut cut, uint32_t count, ptrdiff_t n, ptrdiff_t least,
                              PlanesCut *cuts, uint32_t *counts) {
    int nested = cut.low != cut.high;
    if (nested && cut.feature == f->feature && count == f->count) {
        if (f->kept) cuts[f->alive - 1].high = cut.high;
        return 0;
    }
    f->feature = cut.feature;
    f->count = count;
    f->kept = (ptrdiff_t) count >= least && n - (ptrdiff_t) count >= least;
    if (!f->kept) return 0;
    cuts[f->alive] = cut;
    counts[f->alive] = count;
    f->alive++;
    return 1;
}

/* The columns of a child of n rows: the bits under the mask, closed up, those that live on; returns how many.
   out has room for A columns of `width` words; sizes and steps are scratch of W and 6 W entries. */
#define PLANES_CHILD(EXTRACT)                                                                                       \
    PlanesFilter filter = {-1, 0, 0, 0};                                                                            \
    if (W == 1) {                                                                                                   \
        const ptrdiff_t w = 0;                                                                                      \
        for (ptrdiff_t i = 0; i < A; i++) {                                                                         \
            const uint64_t *c = columns + i;                                                                        \
            uint64_t bits = EXTRACT;                                                                                \
            out[filter.alive] = bits;                                                                               \
            planes_admit(&filter, cuts[i], (uint32_t) lanes_popcount64(bits), n, least, out_cuts, out_counts);      \
        }                                                                                                           \
        return filter.alive;                                                                                        \
    }                                                                                                               \
    for (ptrdiff_t i = 0; i < A; i++) {                                                                             \
        const uint64_t *c = columns + i * W;                                                                        \
        uint64_t *to = out + filter.alive * width;                                                                  \
        uint64_t held = 0;                                                                                          \
        uint32_t total = 0;                                                                                         \
        int fill = 0;                                                                                               \
        for (ptrdiff_t w = 0; w < W; w++) {                                                                         \
            uint64_t bits = EXTRACT;                                                                                \
            int size = sizes[w];                                                                                    \
            held |= bits << fill;                                                                                   \
            total += (uint32_t) lanes_popcount64(bits);                                                             \
            if (fill + size >= 64) {                                                                                \
                *to++ = held;                                                                                       \
                held = fill ? bits >> (64 - fill) : 0;                                                              \
                fill += size - 64;                                                                                  \
            } else {                                                                                                \
                fill += size;                                                                                       \
            }                                                                                                       \
        }                                                                                                           \
        if (fill) *to = held;                                                                                       \
        planes_admit(&filter, cuts[i], total, n, least, out_cuts, out_counts);                                      \
    }                                                                                                               \
    return filter.alive;

static ptrdiff_t planes_child_plain(const uint64_t *columns, const PlanesCut *cuts, ptrdiff_t A, ptrdiff_t W,
                                    const uint64_t *mask, ptrdiff_t n, ptrdiff_t least, uint64_t *out, ptrdiff_t width,
                                    PlanesCut *out_cuts, uint32_t *out_counts, uint8_t *sizes, uint64_t *steps) {
    for (ptrdiff_t w = 0; w < W; w++) {
        sizes[w] = (uint8_t) lanes_popcount64(mask[w]);
        planes_steps(mask[w], steps + 6 * w);
    }
    PLANES_CHILD(planes_extract_plain(c[w], mask[w], steps + 6 * w))
}

/* The best Gini split of two classes: cross^2 / (nl nr) with cross = l1 n - nl N1.  Starts from *score, returns the
   first column that reaches the largest score beyond it, -1 without one; stops at a perfect split. */
LANES_INLINE ptrdiff_t planes_gini2_body(const uint64_t *columns, const uint32_t *counts, ptrdiff_t A, ptrdiff_t W,
                                         const uint64_t *plane, double N1, double n, double *score) {
    double limit = *score * (1.0 - 1e-15), N0 = n - N1, perfect = N0 * N1 * (N0 * N1);
    ptrdiff_t best = -1;
    for (ptrdiff_t i = 0; i < A; i++, columns += W) {
        uint32_t both = 0;
        for (ptrdiff_t w = 0; w < W; w++) both += (uint32_t) lanes_popcount64(columns[w] & plane[w]);
        double nl = counts[i], cross = both * n - nl * N1, square = cross * cross, sizes = nl * (n - nl);
        if (square > limit * sizes) {
            double here = square / sizes;
            if (here > *score) {
                *score = here;
                limit = here * (1.0 - 1e-15);
                best = i;
                if (square == perfect) return best;
            }
        }
    }
    return best;
}

/* The same for more classes: sum l_k^2 / nl + sum r_k^2 / nr; the first class has no plane. */
LANES_INLINE ptrdiff_t planes_gini_body(const uint64_t *columns, const uint32_t *counts, ptrdiff_t A, ptrdiff_t W,
                                        const uint64_t *planes, ptrdiff_t P, const double *N, double n, double *score) {
    double limit = *score, squares = 0.0;
    ptrdiff_t best = -1;
    for (ptrdiff_t k = 0; k <= P; k++) squares += N[k] * N[k];
    for (ptrdiff_t i = 0; i < A; i++, columns += W) {
        int64_t rest = counts[i], left = 0;
        double dot = 0.0;
        for (ptrdiff_t k = 0; k < P; k++) {
            const uint64_t *p = planes + k * W;
            int64_t both = 0;
            for (ptrdiff_t w = 0; w < W; w++) both += lanes_popcount64(columns[w] & p[w]);
            rest -= both;
            left += both * both;
            dot += (double) both * N[k + 1];
        }
        left += rest * rest;
        dot += (double) rest * N[0];
        double nl = counts[i], nr = n - nl, l = (double) left, r = squares - 2.0 * dot + l;
        if (l * nr + r * nl > limit * (nl * nr)) {
            double here = l / nl + r / nr;
            if (here > *score) {
                *score = here;
                limit = here * (1.0 - 1e-15);
                best = i;
            }
        }
    }
    return best;
}

static ptrdiff_t planes_gini_plain(const uint64_t *columns, const uint32_t *counts, ptrdiff_t A, ptrdiff_t W,
                                   const uint64_t *planes, ptrdiff_t P, const double *N, double n, int two,
                                   double *score) {
    if (two) return planes_gini2_body(columns, counts, A, W, planes, N[1], n, score);
    return planes_gini_body(columns, counts, A, W, planes, P, N, n, score);
}

static void planes_count_plain(const uint64_t *columns, ptrdiff_t A, ptrdiff_t W, const uint64_t *planes, ptrdiff_t P,
                               uint32_t *out) {
    planes_count_body(columns, A, W, planes, P, out);
}

/* Writes x - low as bytes, for n contiguous values less than 256 above low; 1 where one is no whole number above it. */
#define PLANES_CODES(REAL, NAME, SUFFIX, TARGET)                                                                    \
    TARGET static int planes_codes_##NAME##SUFFIX(const REAL *x, ptrdiff_t n, REAL low, uint8_t *codes) {           \
        int bad = 0;                                                                                                \
        for (ptrdiff_t i = 0; i < n; i++) {                                                                         \
            REAL value = x[i] - low;                                                                                \
            int32_t code = (int32_t) value;                                                                         \
            bad |= (REAL) code != value;                                                                            \
            codes[i] = (uint8_t) code;                                                                              \
        }                                                                                                           \
        return bad;                                                                                                 \
    }
#define PLANES_NOTHING
PLANES_CODES(float, single, _plain, PLANES_NOTHING)
PLANES_CODES(double, wide, _plain, PLANES_NOTHING)

#if LANES_X86
PLANES_CODES(float, single, _avx2, LANES_TARGET)
PLANES_CODES(double, wide, _avx2, LANES_TARGET)

LANES_TARGET static void planes_count_wide(const uint64_t *columns, ptrdiff_t A, ptrdiff_t W, const uint64_t *planes,
                                           ptrdiff_t P, uint32_t *out) {
    planes_count_body(columns, A, W, planes, P, out);
}

LANES_TARGET static ptrdiff_t planes_child_wide(const uint64_t *columns, const PlanesCut *cuts, ptrdiff_t A, ptrdiff_t W,
                                                const uint64_t *mask, ptrdiff_t n, ptrdiff_t least, uint64_t *out,
                                                ptrdiff_t width, PlanesCut *out_cuts, uint32_t *out_counts,
                                                uint8_t *sizes) {
    for (ptrdiff_t w = 0; w < W; w++) sizes[w] = (uint8_t) lanes_popcount64(mask[w]);
    PLANES_CHILD(_pext_u64(c[w], mask[w]))
}

LANES_TARGET static ptrdiff_t planes_gini_wide(const uint64_t *columns, const uint32_t *counts, ptrdiff_t A, ptrdiff_t W,
                                               const uint64_t *planes, ptrdiff_t P, const double *N, double n, int two,
                                               double *score) {
    if (W == 1) {
        if (two) return planes_gini2_body(columns, counts, A, 1, planes, N[1], n, score);
        return planes_gini_body(columns, counts, A, 1, planes, P, N, n, score);
    }
    if (two) return planes_gini2_body(columns, counts, A, W, planes, N[1], n, score);
    return planes_gini_body(columns, counts, A, W, planes, P, N, n, score);
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

#if LANES_X86
#define PLANES_CHOOSE(NAME, ARGUMENTS) return lanes ? NAME##_avx2 ARGUMENTS : NAME##_plain ARGUMENTS
#else
#define PLANES_CHOOSE(NAME, ARGUMENTS) return (void) lanes, NAME##_plain ARGUMENTS
#endif

static inline int planes_codes_single(const float *x, ptrdiff_t n, float low, uint8_t *codes, int lanes) {
    PLANES_CHOOSE(planes_codes_single, (x, n, low, codes));
}

static inline int planes_codes_wide(const double *x, ptrdiff_t n, double low, uint8_t *codes, int lanes) {
    PLANES_CHOOSE(planes_codes_wide, (x, n, low, codes));
}

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

static inline ptrdiff_t planes_child(const uint64_t *columns, const PlanesCut *cuts, ptrdiff_t A, ptrdiff_t W,
                                     const uint64_t *mask, ptrdiff_t n, ptrdiff_t least, uint64_t *out, ptrdiff_t width,
                                     PlanesCut *out_cuts, uint32_t *out_counts, uint8_t *sizes, uint64_t *steps,
                                     int wide) {
#if LANES_X86
    if (wide) return planes_child_wide(columns, cuts, A, W, mask, n, least, out, width, out_cuts, out_counts, sizes);
#endif
    (void) wide;
    return planes_child_plain(columns, cuts, A, W, mask, n, least, out, width, out_cuts, out_counts, sizes, steps);
}

static inline ptrdiff_t planes_gini(const uint64_t *columns, const uint32_t *counts, ptrdiff_t A, ptrdiff_t W,
                                    const uint64_t *planes, ptrdiff_t P, const double *N, double n, int two,
                                    double *score, int wide) {
#if LANES_X86
    if (wide) return planes_gini_wide(columns, counts, A, W, planes, P, N, n, two, score);
#endif
    (void) wide;
    return planes_gini_plain(columns, counts, A, W, planes, P, N, n, two, score);
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

/* Bin numbers, histograms and ranges of a piece of a column, for float and double.

   Two ways to cut a column, both monotone in floating point, so that x <= z implies bin(x) <= bin(z):
   equal widths   bin(x) = min(trunc((x - low) * scale), top): one subtraction, one multiplication;
   by key         bin(x) = (key(x) - key_low) >> shift, where key(x) are the upper 32 bits of the order-preserving integer
                  of x (radix.pxd): widths grow with the values, for columns that span many powers of ten.

   Written once as plain loops; on x86 compiled a second time for AVX2 (without fused operations, so both give the same
   bins) and chosen at run time. */
#ifndef VCDIM_BINS_H
#define VCDIM_BINS_H
#include <string.h>
#include "lanes.h"

enum { BINS_CHUNK = 1024, BINS_STRIDED = 256 };

typedef struct {
    double low;           /* smallest value */
    double scale;         /* bins per unit */
    int32_t top;          /* last bin */
    uint32_t key_low;     /* smallest key */
    int32_t shift;
    int32_t by_key;
} BinsCut;

LANES_INLINE uint32_t bins_key_single(float x) {
    uint32_t bits;
    x += 0.0f;
    memcpy(&bits, &x, 4);
    return bits ^ ((uint32_t) ((int32_t) bits >> 31) | 0x80000000u);
}

LANES_INLINE uint32_t bins_key_wide(double x) {
    uint64_t bits;
    x += 0.0;
    memcpy(&bits, &x, 8);
    uint32_t high = (uint32_t) (bits >> 32);
    return high ^ ((uint32_t) ((int32_t) high >> 31) | 0x80000000u);
}

#define BINS_BODIES(REAL, NAME)                                                                                     \
    LANES_INLINE int32_t bins_of_##NAME(REAL x, const BinsCut *cut) {                                               \
        if (cut->by_key) return (int32_t) ((bins_key_##NAME(x) - cut->key_low) >> cut->shift);                      \
        int32_t bin = (int32_t) ((x - (REAL) cut->low) * (REAL) cut->scale);                                        \
        return bin < cut->top ? bin : cut->top;                                                                     \
    }                                                                                                               \
    /* Bin numbers of n contiguous values. */                                                                       \
    LANES_INLINE void bins_all_##NAME(const REAL *x, ptrdiff_t n, const BinsCut *cut, int32_t *at) {                \
        if (cut->by_key) {                                                                                          \
            uint32_t low = cut->key_low;                                                                            \
            int32_t shift = cut->shift;                                                                             \
            for (ptrdiff_t i = 0; i < n; i++) at[i] = (int32_t) ((bins_key_##NAME(x[i]) - low) >> shift);           \
            return;                                                                                                 \
        }                                                                                                           \
        REAL low = (REAL) cut->low, scale = (REAL) cut->scale;                                                      \
        int32_t top = cut->top;                                                                                     \
        for (ptrdiff_t i = 0; i < n; i++) {                                                                         \
            int32_t bin = (int32_t) ((x[i] - low) * scale);                                                         \
            at[i] = bin < top ? bin : top;                                                                          \
        }                                                                                                           \
    }                                                                                                               \
    /* Copies n values that lie `step` apart. */                                                                    \
    LANES_INLINE void bins_gather_##NAME##_body(const REAL *x, ptrdiff_t step, ptrdiff_t n, REAL *out) {            \
        for (ptrdiff_t i = 0; i < n; i++) out[i] = x[i * step];                                                     \
    }                                                                                                               \
    /* Adds n <= BINS_CHUNK contiguous values to a histogram of K classes per bin. */                               \
    LANES_INLINE void bins_add_##NAME##_body(const REAL *x, const uint8_t *y, ptrdiff_t n, const BinsCut *cut,      \
                                             int32_t K, uint32_t *counts) {                                         \
        int32_t at[BINS_CHUNK];                                                                                     \
        bins_all_##NAME(x, n, cut, at);                                                                             \
        for (ptrdiff_t i = 0; i < n; i++) at[i] = at[i] * K + y[i];                                                 \
        ptrdiff_t j = 0;                                                                                            \
        for (; j + 8 <= n; j += 8) {                                                                                \
            counts[at[j]]++, counts[at[j + 1]]++, counts[at[j + 2]]++, counts[at[j + 3]]++;                         \
            counts[at[j + 4]]++, counts[at[j + 5]]++, counts[at[j + 6]]++, counts[at[j + 7]]++;                     \
        }                                                                                                           \
        for (; j < n; j++) counts[at[j]]++;                                                                         \
    }                                                                                                               \
    /* Smallest and largest of n contiguous values, none NaN. */                                                    \
    LANES_INLINE void bins_range_##NAME##_body(const REAL *x, ptrdiff_t n, REAL *low, REAL *high) {                 \
        for (ptrdiff_t i = 0; i < n; i++) {                                                                         \
            *low = x[i] < *low ? x[i] : *low;                                                                       \
            *high = x[i] > *high ? x[i] : *high;                                                                    \
        }                                                                                                           \
    }                                                                                                               \
    /* The same for every column of n contiguous rows of d values that lie `step` apart. */                         \
    LANES_INLINE void bins_range_rows_##NAME##_body(const REAL *x, ptrdiff_t step, ptrdiff_t n, ptrdiff_t d,        \
                                                    REAL *low, REAL *high) {                                        \
        for (ptrdiff_t i = 0; i < n; i++, x += step)                                                                \
            for (ptrdiff_t f = 0; f < d; f++) {                                                                     \
                low[f] = x[f] < low[f] ? x[f] : low[f];                                                             \
                high[f] = x[f] > high[f] ? x[f] : high[f];                                                          \
            }                                                                                                       \
    }                                                                                                               \
    /* Rows first + i whose bin is marked in `live` and whose value is not `heavy`, into out; returns how many. */  \
    LANES_INLINE ptrdiff_t bins_select_##NAME##_body(const REAL *x, ptrdiff_t n, const BinsCut *cut,                \
                                                     const uint8_t *live, REAL heavy, uint64_t first,               \
                                                     uint64_t *out) {                                               \
        int32_t at[BINS_CHUNK];                                                                                     \
        ptrdiff_t found = 0;                                                                                        \
        bins_all_##NAME(x, n, cut, at);                                                                             \
        for (ptrdiff_t i = 0; i < n; i++) {                                                                         \
            out[found] = first + (uint64_t) i;                                                                      \
            found += live[at[i]] & (x[i] != heavy);                                                                 \
        }                                                                                                           \
        return found;                                                                                               \
    }                                                                                                               \
    /* Whether some of n contiguous values is NaN. */                                                               \
    LANES_INLINE int bins_nan_##NAME##_body(const REAL *x, ptrdiff_t n) {                                           \
        int out = 0;                                                                                                \
        for (ptrdiff_t i = 0; i < n; i++) out |= x[i] != x[i];                                                      \
        return out;                                                                                                 \
    }                                                                                                               \
    /* How many of n values equal `value`; those of class k are added to counts[k]. */                              \
    LANES_INLINE ptrdiff_t bins_equal_##NAME##_body(const REAL *x, const uint8_t *y, ptrdiff_t n, REAL value,       \
                                                    int32_t K, uint32_t *counts) {                                  \
        int32_t total = 0, ones = 0;                                                                                \
        if (K == 2) {                                                                                               \
            for (ptrdiff_t i = 0; i < n; i++) {                                                                     \
                int32_t same = x[i] == value;                                                                       \
                total += same;                                                                                      \
                ones += same & y[i];                                                                                \
            }                                                                                                       \
            counts[0] += (uint32_t) (total - ones);                                                                 \
            counts[1] += (uint32_t) ones;                                                                           \
            return total;                                                                                           \
        }                                                                                                           \
        for (ptrdiff_t i = 0; i < n; i++) {                                                                         \
            counts[y[i]] += x[i] == value;                                                                          \
            total += x[i] == value;                                                                                 \
        }                                                                                                           \
        return total;                                                                                               \
    }

/* One set of functions: SUFFIX and TARGET name the twin. */
#define BINS_TWIN(REAL, NAME, SUFFIX, TARGET)                                                                       \
    TARGET static void bins_gather_##NAME##SUFFIX(const REAL *x, ptrdiff_t step, ptrdiff_t n, REAL *out) {          \
        bins_gather_##NAME##_body(x, step, n, out);                                                                 \
    }                                                                                                               \
    TARGET static void bins_add_##NAME##SUFFIX(const REAL *x, const uint8_t *y, ptrdiff_t n, const BinsCut *cut,    \
                                               int32_t K, uint32_t *counts) {                                       \
        if (K == 2) bins_add_##NAME##_body(x, y, n, cut, 2, counts);                                                \
        else bins_add_##NAME##_body(x, y, n, cut, K, counts);                                                       \
    }                                                                                                               \
    /* Adds those of n contiguous values that differ from `common`, which most of them equal. */                    \
    TARGET static void bins_add_rare_##NAME##SUFFIX(const REAL *x, const uint8_t *y, ptrdiff_t n,                   \
                                                    const BinsCut *cut, REAL common, int32_t K, uint32_t *counts) { \
        ptrdiff_t i = 0;                                                                                            \
        for (; i + 64 <= n; i += 64) {                                                                              \
            uint64_t rare = bins_unequal_##NAME##SUFFIX(x + i, common);                                             \
            for (; rare; rare &= rare - 1) {                                                                        \
                ptrdiff_t at = i + lanes_low_bit64(rare);                                                           \
                counts[bins_of_##NAME(x[at], cut) * K + y[at]]++;                                                   \
            }                                                                                                       \
        }                                                                                                           \
        for (; i < n; i++)                                                                                          \
            if (x[i] != common) counts[bins_of_##NAME(x[i], cut) * K + y[i]]++;                                     \
    }                                                                                                               \
    TARGET static void bins_range_rows_##NAME##SUFFIX(const REAL *x, ptrdiff_t step, ptrdiff_t n, ptrdiff_t d,      \
                                                      REAL *low, REAL *high) {                                      \
        bins_range_rows_##NAME##_body(x, step, n, d, low, high);                                                    \
    }                                                                                                               \
    TARGET static int bins_nan_##NAME##SUFFIX(const REAL *x, ptrdiff_t n) { return bins_nan_##NAME##_body(x, n); }   \
    TARGET static ptrdiff_t bins_select_##NAME##SUFFIX(const REAL *x, ptrdiff_t n, const BinsCut *cut,              \
                                                       const uint8_t *live, REAL heavy, uint64_t first,             \
                                                       uint64_t *out) {                                             \
        return bins_select_##NAME##_body(x, n, cut, live, heavy, first, out);                                       \
    }                                                                                                               \
    TARGET static ptrdiff_t bins_equal_##NAME##SUFFIX(const REAL *x, const uint8_t *y, ptrdiff_t n, REAL value,     \
                                                      int32_t K, uint32_t *counts) {                                \
        return bins_equal_##NAME##_body(x, y, n, value, K, counts);                                                 \
    }

/* Which of 64 values differ from `value`, one bit each. */
#define BINS_UNEQUAL_PLAIN(REAL, NAME)                                                                              \
    static inline uint64_t bins_unequal_##NAME##_plain(const REAL *x, REAL value) {                                 \
        uint64_t out = 0;                                                                                           \
        for (int i = 0; i < 64; i++) out |= (uint64_t) (x[i] != value) << i;                                        \
        return out;                                                                                                 \
    }
BINS_UNEQUAL_PLAIN(float, single)
BINS_UNEQUAL_PLAIN(double, wide)

#define BINS_NOTHING
BINS_BODIES(float, single)
BINS_BODIES(double, wide)
BINS_TWIN(float, single, _plain, BINS_NOTHING)
BINS_TWIN(double, wide, _plain, BINS_NOTHING)

static void bins_range_single_plain(const float *x, ptrdiff_t n, float *low, float *high) {
    bins_range_single_body(x, n, low, high);
}
static void bins_range_wide_plain(const double *x, ptrdiff_t n, double *low, double *high) {
    bins_range_wide_body(x, n, low, high);
}

#if LANES_X86
LANES_TARGET static inline uint64_t bins_unequal_single_avx2(const float *x, float value) {
    const __m256 all = _mm256_set1_ps(value);
    uint64_t out = 0;
    for (int i = 0; i < 8; i++)
        out |= (uint64_t) _mm256_movemask_ps(_mm256_cmp_ps(_mm256_loadu_ps(x + 8 * i), all, _CMP_NEQ_UQ)) << (8 * i);
    return out;
}
LANES_TARGET static inline uint64_t bins_unequal_wide_avx2(const double *x, double value) {
    const __m256d all = _mm256_set1_pd(value);
    uint64_t out = 0;
    for (int i = 0; i < 16; i++)
        out |= (uint64_t) _mm256_movemask_pd(_mm256_cmp_pd(_mm256_loadu_pd(x + 4 * i), all, _CMP_NEQ_UQ)) << (4 * i);
    return out;
}
BINS_TWIN(float, single, _avx2, LANES_TARGET)
BINS_TWIN(double, wide, _avx2, LANES_TARGET)

/* By hand: without licence to reorder comparisons the compiler keeps one chain of them. */
#define BINS_RANGE_AVX2(REAL, NAME, VECTOR, COUNT, LOAD, SET, MIN, MAX, STORE)                                      \
    LANES_TARGET static void bins_range_##NAME##_avx2(const REAL *x, ptrdiff_t n, REAL *low, REAL *high) {          \
        VECTOR a = SET(*low), b = SET(*high), c = a, e = b;                                                         \
        REAL out[COUNT];                                                                                            \
        ptrdiff_t i = 0;                                                                                            \
        for (; i + 2 * COUNT <= n; i += 2 * COUNT) {                                                                \
            VECTOR u = LOAD(x + i), v = LOAD(x + i + COUNT);                                                        \
            a = MIN(a, u);                                                                                          \
            b = MAX(b, u);                                                                                          \
            c = MIN(c, v);                                                                                          \
            e = MAX(e, v);                                                                                          \
        }                                                                                                           \
        STORE(out, MIN(a, c));                                                                                      \
        for (int j = 0; j < COUNT; j++) *low = out[j] < *low ? out[j] : *low;                                       \
        STORE(out, MAX(b, e));                                                                                      \
        for (int j = 0; j < COUNT; j++) *high = out[j] > *high ? out[j] : *high;                                    \
        bins_range_##NAME##_body(x + i, n - i, low, high);                                                          \
    }
BINS_RANGE_AVX2(float, single, __m256, 8, _mm256_loadu_ps, _mm256_set1_ps, _mm256_min_ps, _mm256_max_ps,
                _mm256_storeu_ps)
BINS_RANGE_AVX2(double, wide, __m256d, 4, _mm256_loadu_pd, _mm256_set1_pd, _mm256_min_pd, _mm256_max_pd,
                _mm256_storeu_pd)
/* Turns n rows (a multiple of 8) of 8 contiguous floats into 8 columns of `width` places: 8 x 8 blocks in registers. */
LANES_TARGET static void bins_turn_single_avx2(const float *x, ptrdiff_t step, ptrdiff_t n, float *out, ptrdiff_t width) {
    for (ptrdiff_t i = 0; i < n; i += 8, x += 8 * step) {
        __m256 r[8], t[8];
        for (int j = 0; j < 8; j++) r[j] = _mm256_loadu_ps(x + j * step);
        for (int j = 0; j < 8; j += 2) {
            t[j] = _mm256_unpacklo_ps(r[j], r[j + 1]);
            t[j + 1] = _mm256_unpackhi_ps(r[j], r[j + 1]);
        }
        for (int j = 0; j < 8; j += 4) {
            r[j] = _mm256_shuffle_ps(t[j], t[j + 2], 0x44);
            r[j + 1] = _mm256_shuffle_ps(t[j], t[j + 2], 0xee);
            r[j + 2] = _mm256_shuffle_ps(t[j + 1], t[j + 3], 0x44);
            r[j + 3] = _mm256_shuffle_ps(t[j + 1], t[j + 3], 0xee);
        }
        for (int j = 0; j < 4; j++) {
            _mm256_storeu_ps(out + j * width + i, _mm256_permute2f128_ps(r[j], r[j + 4], 0x20));
            _mm256_storeu_ps(out + (j + 4) * width + i, _mm256_permute2f128_ps(r[j], r[j + 4], 0x31));
        }
    }
}

/* The same for 4 doubles: 4 x 4 blocks; n is a multiple of 4. */
LANES_TARGET static void bins_turn_wide_avx2(const double *x, ptrdiff_t step, ptrdiff_t n, double *out, ptrdiff_t width) {
    for (ptrdiff_t i = 0; i < n; i += 4, x += 4 * step) {
        __m256d a = _mm256_loadu_pd(x), b = _mm256_loadu_pd(x + step);
        __m256d c = _mm256_loadu_pd(x + 2 * step), e = _mm256_loadu_pd(x + 3 * step);
        __m256d p = _mm256_unpacklo_pd(a, b), q = _mm256_unpackhi_pd(a, b);
        __m256d u = _mm256_unpacklo_pd(c, e), v = _mm256_unpackhi_pd(c, e);
        _mm256_storeu_pd(out + i, _mm256_permute2f128_pd(p, u, 0x20));
        _mm256_storeu_pd(out + width + i, _mm256_permute2f128_pd(q, v, 0x20));
        _mm256_storeu_pd(out + 2 * width + i, _mm256_permute2f128_pd(p, u, 0x31));
        _mm256_storeu_pd(out + 3 * width + i, _mm256_permute2f128_pd(q, v, 0x31));
    }
}
#define BINS_CHOOSE(NAME, ARGUMENTS) return lanes ? NAME##_avx2 ARGUMENTS : NAME##_plain ARGUMENTS
#else
#define BINS_CHOOSE(NAME, ARGUMENTS) return (void) lanes, NAME##_plain ARGUMENTS
#endif

#define BINS_DOORS(REAL, NAME)                                                                                      \
    static inline void bins_gather_##NAME(const REAL *x, ptrdiff_t step, ptrdiff_t n, REAL *out, int lanes) {       \
        BINS_CHOOSE(bins_gather_##NAME, (x, step, n, out));                                                         \
    }                                                                                                               \
    static inline void bins_add_##NAME(const REAL *x, const uint8_t *y, ptrdiff_t n, const BinsCut *cut, int32_t K, \
                                       uint32_t *counts, int lanes) {                                               \
        BINS_CHOOSE(bins_add_##NAME, (x, y, n, cut, K, counts));                                                    \
    }                                                                                                               \
    static inline void bins_add_rare_##NAME(const REAL *x, const uint8_t *y, ptrdiff_t n, const BinsCut *cut,       \
                                            REAL common, int32_t K, uint32_t *counts, int lanes) {                  \
        BINS_CHOOSE(bins_add_rare_##NAME, (x, y, n, cut, common, K, counts));                                       \
    }                                                                                                               \
    static inline void bins_range_##NAME(const REAL *x, ptrdiff_t n, REAL *low, REAL *high, int lanes) {            \
        BINS_CHOOSE(bins_range_##NAME, (x, n, low, high));                                                          \
    }                                                                                                               \
    static inline void bins_range_rows_##NAME(const REAL *x, ptrdiff_t step, ptrdiff_t n, ptrdiff_t d, REAL *low,   \
                                              REAL *high, int lanes) {                                              \
        BINS_CHOOSE(bins_range_rows_##NAME, (x, step, n, d, low, high));                                            \
    }                                                                                                               \
    static inline int bins_nan_##NAME(const REAL *x, ptrdiff_t n, int lanes) {                                      \
        BINS_CHOOSE(bins_nan_##NAME, (x, n));                                                                       \
    }                                                                                                               \
    static inline ptrdiff_t bins_select_##NAME(const REAL *x, ptrdiff_t n, const BinsCut *cut, const uint8_t *live, \
                                               REAL heavy, uint64_t first, uint64_t *out, int lanes) {              \
        BINS_CHOOSE(bins_select_##NAME, (x, n, cut, live, heavy, first, out));                                      \
    }                                                                                                               \
    static inline ptrdiff_t bins_equal_##NAME(const REAL *x, const uint8_t *y, ptrdiff_t n, REAL value, int32_t K,  \
                                              uint32_t *counts, int lanes) {                                        \
        BINS_CHOOSE(bins_equal_##NAME, (x, y, n, value, K, counts));                                                \
    }

BINS_DOORS(float, single)
BINS_DOORS(double, wide)

/* Columns of n contiguous rows: bins_turned_* of them (8 floats, 4 doubles) are written, `width` places each. */
enum { BINS_TURNED_SINGLE = 8, BINS_TURNED_WIDE = 4 };

static inline void bins_turn_single(const float *x, ptrdiff_t step, ptrdiff_t n, float *out, ptrdiff_t width, int lanes) {
    ptrdiff_t done = 0;
#if LANES_X86
    if (lanes) {
        done = n / 8 * 8;
        bins_turn_single_avx2(x, step, done, out, width);
    }
#endif
    (void) lanes;
    for (ptrdiff_t i = done; i < n; i++)
        for (int j = 0; j < BINS_TURNED_SINGLE; j++) out[j * width + i] = x[i * step + j];
}

static inline void bins_turn_wide(const double *x, ptrdiff_t step, ptrdiff_t n, double *out, ptrdiff_t width, int lanes) {
    ptrdiff_t done = 0;
#if LANES_X86
    if (lanes) {
        done = n / 4 * 4;
        bins_turn_wide_avx2(x, step, done, out, width);
    }
#endif
    (void) lanes;
    for (ptrdiff_t i = done; i < n; i++)
        for (int j = 0; j < BINS_TURNED_WIDE; j++) out[j * width + i] = x[i * step + j];
}
#endif

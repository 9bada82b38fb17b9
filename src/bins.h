/* Bin numbers, histograms and ranges of a piece of a column, for float and double.

   bin(x) = min(trunc((x - low) * scale), top): one subtraction and one multiplication, both monotone, so x <= z implies
   bin(x) <= bin(z) in floating point too.  Written once as plain loops; on x86 compiled a second time for AVX2 (without
   fused operations, so both give the same bins) and chosen at run time. */
#ifndef VCDIM_BINS_H
#define VCDIM_BINS_H
#include "lanes.h"

enum { BINS_CHUNK = 1024 };

#define BINS_BODIES(REAL, NAME)                                                                                     \
    /* Copies n values that lie `step` apart. */                                                                    \
    LANES_INLINE void bins_gather_##NAME##_body(const REAL *x, ptrdiff_t step, ptrdiff_t n, REAL *out) {            \
        for (ptrdiff_t i = 0; i < n; i++) out[i] = x[i * step];                                                     \
    }                                                                                                               \
    /* Adds n <= BINS_CHUNK contiguous values to a histogram of K classes per bin. */                               \
    LANES_INLINE void bins_add_##NAME##_body(const REAL *x, const uint8_t *y, ptrdiff_t n, REAL low, REAL scale,    \
                                             int32_t top, int32_t K, uint32_t *counts) {                            \
        int32_t at[BINS_CHUNK];                                                                                     \
        for (ptrdiff_t i = 0; i < n; i++) {                                                                         \
            int32_t bin = (int32_t) ((x[i] - low) * scale);                                                         \
            bin = bin < top ? bin : top;                                                                            \
            at[i] = bin * K + y[i];                                                                                 \
        }                                                                                                           \
        for (ptrdiff_t i = 0; i < n; i++) counts[at[i]]++;                                                          \
    }                                                                                                               \
    /* Smallest and largest of n contiguous values, none NaN. */                                                    \
    LANES_INLINE void bins_range_##NAME##_body(const REAL *x, ptrdiff_t n, REAL *low, REAL *high) {                 \
        REAL a[16], b[16];                                                                                          \
        for (int j = 0; j < 16; j++) a[j] = *low, b[j] = *high;                                                     \
        ptrdiff_t i = 0;                                                                                            \
        for (; i + 16 <= n; i += 16)                                                                                \
            for (int j = 0; j < 16; j++) {                                                                          \
                a[j] = x[i + j] < a[j] ? x[i + j] : a[j];                                                           \
                b[j] = x[i + j] > b[j] ? x[i + j] : b[j];                                                           \
            }                                                                                                       \
        for (; i < n; i++) {                                                                                        \
            a[0] = x[i] < a[0] ? x[i] : a[0];                                                                       \
            b[0] = x[i] > b[0] ? x[i] : b[0];                                                                       \
        }                                                                                                           \
        for (int j = 0; j < 16; j++) {                                                                              \
            *low = a[j] < *low ? a[j] : *low;                                                                       \
            *high = b[j] > *high ? b[j] : *high;                                                                    \
        }                                                                                                           \
    }                                                                                                               \
    /* Rows first + i whose bin is marked in `live`, into out; returns how many. */                                 \
    LANES_INLINE ptrdiff_t bins_select_##NAME##_body(const REAL *x, ptrdiff_t n, REAL low, REAL scale, int32_t top, \
                                                     const uint8_t *live, uint64_t first, uint64_t *out) {          \
        int32_t at[BINS_CHUNK];                                                                                     \
        ptrdiff_t found = 0;                                                                                        \
        for (ptrdiff_t i = 0; i < n; i++) {                                                                         \
            int32_t bin = (int32_t) ((x[i] - low) * scale);                                                         \
            at[i] = bin < top ? bin : top;                                                                          \
        }                                                                                                           \
        for (ptrdiff_t i = 0; i < n; i++) {                                                                         \
            out[found] = first + (uint64_t) i;                                                                      \
            found += live[at[i]];                                                                                   \
        }                                                                                                           \
        return found;                                                                                               \
    }

#define BINS_TWIN(REAL, NAME, SUFFIX, TARGET)                                                                       \
    TARGET static void bins_gather_##NAME##SUFFIX(const REAL *x, ptrdiff_t step, ptrdiff_t n, REAL *out) {          \
        bins_gather_##NAME##_body(x, step, n, out);                                                                 \
    }                                                                                                               \
    TARGET static void bins_add_##NAME##SUFFIX(const REAL *x, const uint8_t *y, ptrdiff_t n, REAL low, REAL scale,  \
                                               int32_t top, int32_t K, uint32_t *counts) {                          \
        if (K == 2) bins_add_##NAME##_body(x, y, n, low, scale, top, 2, counts);                                    \
        else bins_add_##NAME##_body(x, y, n, low, scale, top, K, counts);                                           \
    }                                                                                                               \
    TARGET static void bins_range_##NAME##SUFFIX(const REAL *x, ptrdiff_t n, REAL *low, REAL *high) {               \
        bins_range_##NAME##_body(x, n, low, high);                                                                  \
    }                                                                                                               \
    TARGET static ptrdiff_t bins_select_##NAME##SUFFIX(const REAL *x, ptrdiff_t n, REAL low, REAL scale,            \
                                                       int32_t top, const uint8_t *live, uint64_t first,            \
                                                       uint64_t *out) {                                             \
        return bins_select_##NAME##_body(x, n, low, scale, top, live, first, out);                                  \
    }

#define BINS_NOTHING
BINS_BODIES(float, single)
BINS_BODIES(double, wide)
BINS_TWIN(float, single, _plain, BINS_NOTHING)
BINS_TWIN(double, wide, _plain, BINS_NOTHING)
#if LANES_X86
BINS_TWIN(float, single, _avx2, LANES_TARGET)
BINS_TWIN(double, wide, _avx2, LANES_TARGET)
#define BINS_CHOOSE(CALL_WIDE, CALL_PLAIN) return lanes ? CALL_WIDE : CALL_PLAIN
#else
#define BINS_CHOOSE(CALL_WIDE, CALL_PLAIN) return (void) lanes, CALL_PLAIN
#endif

#define BINS_DOORS(REAL, NAME)                                                                                      \
    static inline void bins_gather_##NAME(const REAL *x, ptrdiff_t step, ptrdiff_t n, REAL *out, int lanes) {       \
        BINS_CHOOSE(bins_gather_##NAME##_avx2(x, step, n, out), bins_gather_##NAME##_plain(x, step, n, out));       \
    }                                                                                                               \
    static inline void bins_add_##NAME(const REAL *x, const uint8_t *y, ptrdiff_t n, REAL low, REAL scale,          \
                                       int32_t top, int32_t K, uint32_t *counts, int lanes) {                       \
        BINS_CHOOSE(bins_add_##NAME##_avx2(x, y, n, low, scale, top, K, counts),                                    \
                    bins_add_##NAME##_plain(x, y, n, low, scale, top, K, counts));                                  \
    }                                                                                                               \
    static inline void bins_range_##NAME(const REAL *x, ptrdiff_t n, REAL *low, REAL *high, int lanes) {            \
        BINS_CHOOSE(bins_range_##NAME##_avx2(x, n, low, high), bins_range_##NAME##_plain(x, n, low, high));         \
    }                                                                                                               \
    static inline ptrdiff_t bins_select_##NAME(const REAL *x, ptrdiff_t n, REAL low, REAL scale, int32_t top,       \
                                               const uint8_t *live, uint64_t first, uint64_t *out, int lanes) {     \
        BINS_CHOOSE(bins_select_##NAME##_avx2(x, n, low, scale, top, live, first, out),                             \
                    bins_select_##NAME##_plain(x, n, low, scale, top, live, first, out));                           \
    }

BINS_DOORS(float, single)
BINS_DOORS(double, wide)
#endif

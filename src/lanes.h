/* Wide-vector helpers of the split search, chosen at run time; every one has a portable twin beside it.

   lanes_available()        1 when the wide twins may be called: the processor has them and VCDIM_PORTABLE is not set
   lanes_sign_count(a)      how many of 64 32-bit items have their top bit set
   lanes_gini_over(...)     which of up to 64 positions may have a Gini score above a limit */
#ifndef VCDIM_LANES_H
#define VCDIM_LANES_H
#include <stdint.h>
#include <stddef.h>
#include <math.h>
#include <stdlib.h>

#if (defined(__x86_64__) || defined(_M_X64)) && (defined(__GNUC__) || defined(__clang__))
#define LANES_X86 1
#include <immintrin.h>
#define LANES_TARGET __attribute__((target("avx2,popcnt,bmi,bmi2")))
#else
#define LANES_X86 0
#endif

#if defined(__GNUC__) || defined(__clang__)
#define lanes_popcount64(x) ((int) __builtin_popcountll(x))
#define lanes_low_bit64(x) ((int) __builtin_ctzll(x))
#define LANES_INLINE static inline __attribute__((always_inline))
#else
static inline int lanes_popcount64(uint64_t x) {
    x = x - ((x >> 1) & 0x5555555555555555ULL);
    x = (x & 0x3333333333333333ULL) + ((x >> 2) & 0x3333333333333333ULL);
    x = (x + (x >> 4)) & 0x0f0f0f0f0f0f0f0fULL;
    return (int) ((x * 0x0101010101010101ULL) >> 56);
}
static inline int lanes_low_bit64(uint64_t x) { return lanes_popcount64((x & (0 - x)) - 1); }
#define LANES_INLINE static inline
#endif

static inline int lanes_available(void) {
#if LANES_X86
    const char *portable = getenv("VCDIM_PORTABLE");
    if (portable && portable[0] && portable[0] != '0') return 0;
    return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("popcnt") && __builtin_cpu_supports("bmi2");
#else
    return 0;
#endif
}

/* ---- top bits of 64 items ---- */

static inline int lanes_sign_count_plain(const uint32_t *a) {
    int out = 0;
    for (int i = 0; i < 64; i++) out += (int) (a[i] >> 31);
    return out;
}

#if LANES_X86
LANES_TARGET static int lanes_sign_count_wide(const uint32_t *a) {
    /* Eight partial sums: add up the top bits as numbers, then the lanes. */
    __m256i total = _mm256_setzero_si256();
    for (int i = 0; i < 8; i++)
        total = _mm256_add_epi32(total, _mm256_srli_epi32(_mm256_loadu_si256((const __m256i *) (a + 8 * i)), 31));
    __m128i half = _mm_add_epi32(_mm256_castsi256_si128(total), _mm256_extracti128_si256(total, 1));
    half = _mm_add_epi32(half, _mm_shuffle_epi32(half, 0x4e));
    half = _mm_add_epi32(half, _mm_shuffle_epi32(half, 0xb1));
    return _mm_cvtsi128_si32(half);
}
#endif

static inline int lanes_sign_count(const uint32_t *a, int wide) {
#if LANES_X86
    if (wide) return lanes_sign_count_wide(a);
#endif
    (void) wide;
    return lanes_sign_count_plain(a);
}

/* ---- Gini scores of up to 64 positions ----

   Position i has nl = first + i rows on its left, left[i] = sum l_k^2 and dot[i] = 2 sum N_k l_k, both below 2^52, so that
   right = squares - dot + left = sum r_k^2 is exact.  Bit i of the answer: left / nl + right / nr > limit, without division. */

LANES_INLINE uint64_t lanes_gini_over_body(const int64_t *left, const int64_t *dot, int i, int count, double first, double n,
                                           double squares, double limit) {
    uint64_t out = 0;
    for (; i < count; i++) {
        double l = (double) left[i], r = squares - (double) dot[i] + l, nl = first + i, nr = n - nl;
        out |= (uint64_t) (l * nr + r * nl > limit * (nl * nr)) << i;
    }
    return out;
}

#if LANES_X86
/* A whole number below 2^52 is the fraction of 2^52 + itself. */
LANES_TARGET static inline __m256d lanes_whole(const int64_t *x) {
    const __m256d magic = _mm256_set1_pd(4503599627370496.0);
    __m256i bits = _mm256_loadu_si256((const __m256i *) x);
    return _mm256_sub_pd(_mm256_castsi256_pd(_mm256_or_si256(bits, _mm256_castpd_si256(magic))), magic);
}

LANES_TARGET static uint64_t lanes_gini_over_wide(const int64_t *left, const int64_t *dot, int count, double first,
                                                  double n, double squares, double limit) {
    const __m256d rows = _mm256_set1_pd(n), total = _mm256_set1_pd(squares), least = _mm256_set1_pd(limit);
    __m256d nl = _mm256_setr_pd(first, first + 1, first + 2, first + 3);
    uint64_t out = 0;
    int i = 0;
    for (; i + 4 <= count; i += 4) {
        __m256d l = lanes_whole(left + i), r = _mm256_add_pd(_mm256_sub_pd(total, lanes_whole(dot + i)), l);
        __m256d nr = _mm256_sub_pd(rows, nl);
        __m256d sum = _mm256_add_pd(_mm256_mul_pd(l, nr), _mm256_mul_pd(r, nl));
        __m256d over = _mm256_cmp_pd(sum, _mm256_mul_pd(least, _mm256_mul_pd(nl, nr)), _CMP_GT_OQ);
        out |= (uint64_t) _mm256_movemask_pd(over) << i;
        nl = _mm256_add_pd(nl, _mm256_set1_pd(4.0));
    }
    return out | lanes_gini_over_body(left, dot, i, count, first, n, squares, limit);
}
#endif

static inline uint64_t lanes_gini_over(const int64_t *left, const int64_t *dot, int count, double first, double n,
                                       double squares, double limit, int wide) {
#if LANES_X86
    if (wide) return lanes_gini_over_wide(left, dot, count, first, n, squares, limit);
#endif
    (void) wide;
    return lanes_gini_over_body(left, dot, 0, count, first, n, squares, limit);
}
#endif

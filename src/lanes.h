/* Wide-vector helpers of the split search, chosen at run time; every one has a portable twin beside it.

   lanes_available()        1 when the wide twins may be called: the processor has them and VCDIM_PORTABLE is not set
   lanes_sign_count(a)      how many of 64 32-bit items have their top bit set */
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
#endif

/* Wide-vector helpers of the split search, chosen at run time; every one has a portable twin beside it.

   lanes_available()        1 when the wide twins may be called
   lanes_sign_bits(a)       how many of 64 32-bit items have their top bit set
   lanes_bin_*              bin numbers of up to 4096 values: clamp(trunc((x - low) * scale), 0, top)
   lanes_range_*            smallest and largest value, and whether any is NaN

   The twins agree to the last bit: one subtraction, one multiplication and one truncation per value, no fusing. */
#ifndef VCDIM_LANES_H
#define VCDIM_LANES_H
#include <stdint.h>
#include <stddef.h>
#include <math.h>

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
    return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("popcnt") && __builtin_cpu_supports("bmi2");
#else
    return 0;
#endif
}

/* ---- top bits of 64 items ---- */

static inline uint64_t lanes_sign_bits_plain(const uint32_t *a) {
    uint64_t out = 0;
    for (int i = 0; i < 64; i++) out |= (uint64_t) (a[i] >> 31) << i;
    return out;
}

#if LANES_X86
LANES_TARGET static uint64_t lanes_sign_bits_wide(const uint32_t *a) {
    uint64_t out = 0;
    for (int i = 0; i < 8; i++)
        out |= (uint64_t) (uint32_t) _mm256_movemask_ps(_mm256_loadu_ps((const float *) (a + 8 * i))) << (8 * i);
    return out;
}
#endif

static inline uint64_t lanes_sign_bits(const uint32_t *a, int wide) {
#if LANES_X86
    if (wide) return lanes_sign_bits_wide(a);
#endif
    (void) wide;
    return lanes_sign_bits_plain(a);
}
#endif

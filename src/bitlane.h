/* A lane: 256 labellings at once, as four 64-bit words.

   The loops below have a constant trip count of four; compilers turn them into two (SSE2, NEON) or one
   (AVX2) vector instructions each. */
#ifndef VCDIM_BITLANE_H
#define VCDIM_BITLANE_H

#include <stdint.h>

#define LANE_WORDS 4

typedef struct { uint64_t w[LANE_WORDS]; } lane_t;

static inline void lane_fill(lane_t *a, uint64_t word)
{ for (int i = 0; i < LANE_WORDS; i++) a->w[i] = word; }

static inline void lane_or(lane_t *a, const lane_t *b)
{ for (int i = 0; i < LANE_WORDS; i++) a->w[i] |= b->w[i]; }

static inline void lane_and(lane_t *a, const lane_t *b)
{ for (int i = 0; i < LANE_WORDS; i++) a->w[i] &= b->w[i]; }

static inline void lane_andnot(lane_t *a, const lane_t *b)
{ for (int i = 0; i < LANE_WORDS; i++) a->w[i] &= ~b->w[i]; }

static inline void lane_xor(lane_t *a, const lane_t *b)
{ for (int i = 0; i < LANE_WORDS; i++) a->w[i] ^= b->w[i]; }

static inline void lane_or_and(lane_t *acc, const lane_t *a, const lane_t *b)
{ for (int i = 0; i < LANE_WORDS; i++) acc->w[i] |= a->w[i] & b->w[i]; }

static inline int lane_is_within(const lane_t *a, const lane_t *b)
{
    return ((a->w[0] & ~b->w[0]) | (a->w[1] & ~b->w[1]) | (a->w[2] & ~b->w[2]) | (a->w[3] & ~b->w[3])) == 0;
}

static inline int lane_is_ones(const lane_t *a)
{ return (a->w[0] & a->w[1] & a->w[2] & a->w[3]) == UINT64_MAX; }

static inline int lane_is_zero(const lane_t *a)
{ return (a->w[0] | a->w[1] | a->w[2] | a->w[3]) == 0; }

/* Without a popcount instruction (baseline x86-64) the builtin is a library call; this is faster. */
static inline int bits_count(uint32_t x)
{
#if defined(__POPCNT__) || defined(__aarch64__)
    return __builtin_popcount(x);
#else
    x -= (x >> 1) & 0x55555555u;
    x = (x & 0x33333333u) + ((x >> 2) & 0x33333333u);
    return (int)((((x + (x >> 4)) & 0x0F0F0F0Fu) * 0x01010101u) >> 24);
#endif
}

#if defined(_MSC_VER) && !defined(__clang__)
#include <intrin.h>
static inline int bits_top(uint32_t x)
{ unsigned long i; _BitScanReverse(&i, x); return (int)i; }
static inline int bits_low(uint32_t x)
{ unsigned long i; _BitScanForward(&i, x); return (int)i; }
static inline int bits_low64(uint64_t x)
{ unsigned long i; _BitScanForward64(&i, x); return (int)i; }
#else
static inline int bits_low64(uint64_t x) { return __builtin_ctzll(x); }
static inline int bits_top(uint32_t x) { return 31 - __builtin_clz(x); }
static inline int bits_low(uint32_t x) { return __builtin_ctz(x); }
#endif

static inline int bits_count64(uint64_t x)
{ return bits_count((uint32_t)x) + bits_count((uint32_t)(x >> 32)); }

static inline int lane_count(const lane_t *a)
{
    int n = 0;
    for (int i = 0; i < LANE_WORDS; i++)
        n += bits_count64(a->w[i]);
    return n;
}

#endif

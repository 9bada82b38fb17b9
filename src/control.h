/* What several threads write: the count of tests left, and bit sets. */
#ifndef VCDIM_CONTROL_H
#define VCDIM_CONTROL_H

#include <float.h>
#include <stdint.h>

#if defined(_MSC_VER) && !defined(__clang__)
#include <intrin.h>
#include <string.h>
static inline int replace_double(double *place, double *seen, double next)
{
    __int64 before, after, found;
    memcpy(&before, seen, 8);
    memcpy(&after, &next, 8);
    found = _InterlockedCompareExchange64((volatile __int64 *)place, after, before);
    memcpy(seen, &found, 8);
    return found == before;
}
static inline double load_double(const double *place)
{ return *(const volatile double *)place; }
static inline void set_bits(uint64_t *place, uint64_t bits)
{ _InterlockedOr64((volatile __int64 *)place, (__int64)bits); }
#else
static inline int replace_double(double *place, double *seen, double next)
{ return __atomic_compare_exchange(place, seen, &next, 0, __ATOMIC_RELAXED, __ATOMIC_RELAXED); }
static inline double load_double(const double *place)
{ double value; __atomic_load(place, &value, __ATOMIC_RELAXED); return value; }
static inline void set_bits(uint64_t *place, uint64_t bits)
{ __atomic_fetch_or(place, bits, __ATOMIC_RELAXED); }
#endif

/* 1 if there was a test left, and takes it; else 0, and leaves -1. Without a limit (infinity) nothing is written. */
static inline int take_test(double *left)
{
    double now = load_double(left);
    if (now > DBL_MAX)
        return 1;
    while (now >= 1)
        if (replace_double(left, &now, now - 1))
            return 1;
    while (now >= 0)
        if (replace_double(left, &now, -1))
            return 0;
    return 0;
}

#endif

/* Seconds on a clock that never goes back. */
#ifndef VCDIM_CLOCK_H
#define VCDIM_CLOCK_H

#ifdef _WIN32
#include <windows.h>
static inline double monotonic_seconds(void)
{
    LARGE_INTEGER now, rate;
    QueryPerformanceCounter(&now);
    QueryPerformanceFrequency(&rate);
    return (double)now.QuadPart / (double)rate.QuadPart;
}
#else
#include <time.h>
static inline double monotonic_seconds(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}
#endif

#endif

"""Stopping a kernel: limits that all threads of one search share, and the look at them.

The limits are an array of doubles made by the caller (`limits[i]` below), read and written without locks: each entry is
one aligned word, and seeing it a moment late does no harm. Only the tests left are counted exactly (control.h), so that a
level is finished under a limit, or not, whatever the number of threads.
"""

from libc.stdint cimport int64_t, uint64_t

from clock cimport monotonic_seconds

cdef extern from "Python.h":
    # Declared noexcept: -1 leaves the exception set, for the caller to pass on.
    int run_signal_handlers "PyErr_CheckSignals" () noexcept

cdef extern from "control.h" nogil:
    bint take_test(double* left) noexcept          # from limits[TESTS_LEFT]; safe from several threads
    void set_bits(uint64_t* place, uint64_t bits) noexcept     # likewise

cdef enum:
    STOP = 0             # nonzero: give up
    DEADLINE = 1         # by the monotonic clock
    TESTS_LEFT = 2       # samples that may still be tested
    N_LIMITS = 3

cdef enum:
    POLL_STEPS = 2048          # steps between two looks at the clock: a few tenths of a millisecond
    SIGNAL_MILLISECONDS = 20   # between two looks for Ctrl-C

cdef struct Watch:
    double* limits
    int64_t steps              # until the next look
    double next_signal


cdef inline void watch_init(Watch* watch, double* limits) noexcept nogil:
    watch.limits = limits
    watch.steps = 0
    watch.next_signal = 0


cdef inline int check_signals() noexcept with gil:
    return run_signal_handlers()


cdef inline int watch_look(Watch* watch) noexcept nogil:
    """1 when the kernel has to stop, 0 when not, -1 with the exception set when a signal handler raised one."""
    cdef double now
    watch.steps = POLL_STEPS
    if watch.limits[STOP] != 0 or watch.limits[TESTS_LEFT] < 0:
        return 1
    now = monotonic_seconds()
    if now >= watch.limits[DEADLINE]:
        watch.limits[STOP] = 1
        return 1
    if now >= watch.next_signal:
        watch.next_signal = now + SIGNAL_MILLISECONDS * 0.001
        return check_signals()
    return 0


cdef inline int watch_quietly(Watch* watch) noexcept nogil:
    """Count one step of work, and look when it is time; returns as `watch_look`, for code that cannot raise."""
    watch.steps -= 1
    return 0 if watch.steps > 0 else watch_look(watch)


cdef inline int watch_step(Watch* watch, int64_t steps) except -1 nogil:
    """Count `steps` steps of work, and look when it is time."""
    watch.steps -= steps
    if watch.steps > 0:
        return 0
    return watch_look(watch)

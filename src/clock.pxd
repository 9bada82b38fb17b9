"""Seconds on the clock that ``time.monotonic`` reads."""


cdef extern from "clock.h" nogil:
    double monotonic_seconds() noexcept

"""Whether the wide twins of the vector helpers may run: one switch for all kernels, for tests and for the curious.

Kernels ask ``lanes_available`` (``lanes.h``) once per call; the environment variable ``VCDIM_PORTABLE=1``, read there,
turns the wide twins off for a whole process, and ``switch`` does so while it runs.
"""

import os

cdef extern from "lanes.h" nogil:
    int lanes_available()


def available():
    """Whether kernels started now run their wide twins."""
    return bool(lanes_available())


def switch(bint wide):
    """Allow or forbid the wide twins; returns what was allowed before."""
    before = available()
    if wide:
        os.environ.pop("VCDIM_PORTABLE", None)
    else:
        os.environ["VCDIM_PORTABLE"] = "1"
    return before

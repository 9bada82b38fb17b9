"""Limits of the exact engine and the types that follow from them."""

from libc.stdint cimport uint32_t

cdef enum:
    MAX_POINTS = 24        # points of a sample: 2^23 labellings, one point's label fixed, are 2^15 lanes of 256
    MAX_FEATURES = 16      # binary features: a point is 16 bits wide

ctypedef uint32_t mask_t   # a set of points of a sample, or the labels of its points: bit i for point i

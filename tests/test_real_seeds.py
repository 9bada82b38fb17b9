"""The exact values on two real features that seed the bounds, found again by another road.

A test x_i > theta on a sample of m points is one of m - 1 binary columns per feature, so the engine for binary features
decides whether a sample of orderings is shattered. Samples are grown by heredity: the points sorted by the first
feature, each new one to the right of the others and anywhere by the second.
"""

import pytest

import vcdim_core as vc
from vcdim_core._seeds import REAL_VC


def columns(order):
    """Points (i, order[i]) as zeros and ones: one column per threshold between two neighbours, for both features."""
    m = len(order)
    return [[int(i > t) for t in range(m - 1)] + [int(y > t) for t in range(m - 1)] for i, y in enumerate(order)]


def images(order):
    """The distinct images of a sample under reversals and exchange of the two features."""
    m = len(order)
    found = set()
    for points in (list(enumerate(order)), [(y, x) for x, y in enumerate(order)]):
        for flip_x in (False, True):
            for flip_y in (False, True):
                moved = sorted((m - 1 - x if flip_x else x, m - 1 - y if flip_y else y) for x, y in points)
                found.add(tuple(y for _, y in moved))
    return found


def extended(order):
    """Every sample with one more point on the right."""
    for y in range(len(order) + 1):
        yield (*(z + (z >= y) for z in order), y)


def vc_on_two_real_features(structure):
    level = {(0,)}
    while level:
        size = len(next(iter(level)))
        found = {min(images(larger)) for order in level for image in images(order) for larger in extended(image)}
        level = {order for order in found if vc.is_shattered(structure, columns(order))}
        if not level:
            return size
    return 0


def test_stump_on_two_real_features_as_theorem_7_says():
    assert vc_on_two_real_features("(..)") == 3


@pytest.mark.parametrize("spelling", ["((..).)", "((..)(..))", "(((..).).)"])
def test_seed_is_the_exact_value(spelling):
    assert vc_on_two_real_features(spelling) == REAL_VC[spelling, 2]

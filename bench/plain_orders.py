"""The rival of the search on real features: a simple search by dichotomy sets, in plain Python.

It grows shattered samples one point at a time, every order of the second, third, .. feature against the first,
without symmetry; a sample is tested by its dichotomy sets, Python integers of 2^m bits, memoised on substructure and
subset.
"""

from __future__ import annotations

from functools import cache
from itertools import product

import vcdim_core as vc


def plain_vc_real(structure: str, n_real: int) -> int:
    """The VC dimension on real features."""
    children = tuple(vc.Structure.parse(structure).table(unordered=True))
    level = [tuple((0,) for _ in range(n_real))]  # a sample: for each feature the ranks of its points
    size = 0
    while level:
        size += 1
        larger = {extend(sample, gaps) for sample in level for gaps in product(range(size + 1), repeat=n_real - 1)}
        level = [sample for sample in larger if is_shattered(children, sample)]
    return size


def extend(sample: tuple[tuple[int, ...], ...], gaps: tuple[int, ...]) -> tuple[tuple[int, ...], ...]:
    """The sample with one more point, last on the first feature and in these gaps of the others."""
    gaps = (len(sample[0]), *gaps)
    return tuple((*(r + (r >= g) for r in ranks), g) for ranks, g in zip(sample, gaps, strict=True))


def is_shattered(children: tuple[tuple[int, ...], ...], sample: tuple[tuple[int, ...], ...]) -> bool:
    """Whether all labellings are realised."""
    m = len(sample[0])
    full = (1 << 2**m) - 1
    label = [sum(1 << y for y in range(2**m) if y >> i & 1) for i in range(m)]
    cuts = [sum(1 << i for i in range(m) if ranks[i] > cut) for ranks in sample for cut in range(-1, m)]

    @cache
    def realised(t: int, points: int) -> int:
        zeros = ones = full
        for i in range(m):
            if points >> i & 1:
                zeros &= full ^ label[i]
                ones &= label[i]
        if t == 0:
            return zeros | ones
        left, right = children[t]
        found = 0
        for side in {points & cut for cut in cuts}:
            found |= realised(left, points ^ side) & realised(right, side)
            found |= realised(right, points ^ side) & realised(left, side)
        return found

    return realised(len(children) - 1, (1 << m) - 1) == full

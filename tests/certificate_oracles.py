"""Slow, plain answers for features of every kind: everything is enumerated, nothing is shared with the package.

A column is a pair (kind, categories), categories 0 for a real feature. A sample is a list of points, a labelling a
tuple of labels. A node with two children asks a real, binary, ordinal or nominal feature, or a multiway one with two
values; a node with k children a multiway feature with k values. Answer 0 goes to the first child; with orientation free
the children may stand in any order. A node that nothing can be asked at is a leaf.
"""

from __future__ import annotations

import itertools
from math import inf

from oracles import parse


def answers(kind, categories, values, subset):
    """Yield the tuples of answers that the points can give to the tests of one feature."""
    if kind == "real":
        yield from (tuple(int(v > t) for v in values) for t in (-inf, *values))
    elif kind in ("binary", "ordinal"):
        yield from (tuple(int(v > c) for v in values) for c in range(categories - 1))
    elif kind == "nominal":
        for size in range(1, categories if subset else 2):
            for chosen in itertools.combinations(range(categories), size):
                yield tuple(int(v not in chosen) for v in values)
    else:
        yield tuple(values)


def realised(shape, columns, sample, free=True, subset=False):
    """Return the labellings that trees of a shape realise on a sample, as tuples."""
    tests = {}
    for f, (kind, categories) in enumerate(columns):
        arity = categories if kind == "multiway" else 2
        found = answers(kind, categories, [point[f] for point in sample], subset)
        tests.setdefault(arity, set()).update(found)

    def visit(t, part):
        """Labellings of a part, as frozensets of the points labelled 1."""
        if not t or not tests.get(len(t)):
            return {frozenset(), part}
        found = set()
        for given in tests[len(t)]:
            sides = [frozenset(i for i in part if given[i] == a) for a in range(len(t))]
            for order in set(itertools.permutations(t)) if free else [t]:
                children = [visit(child, side) for child, side in zip(order, sides, strict=True)]
                found |= {frozenset().union(*pieces) for pieces in itertools.product(*children)}
        return found

    m = len(sample)
    return {tuple(int(i in ones) for i in range(m)) for ones in visit(shape, frozenset(range(m)))}


def is_shattered(shape, columns, sample, free=True, subset=False):
    return len(realised(shape, columns, sample, free, subset)) == 2 ** len(sample)


def samples(columns, m):
    """Yield every sample of m different points, the real values being ranks, up to the order of the points."""
    n_real = sum(kind == "real" for kind, _ in columns)
    domain = list(itertools.product(*(range(categories) for kind, categories in columns if kind != "real")))
    if not n_real:
        yield from itertools.combinations(domain, m)
        return
    for orders in itertools.product(itertools.permutations(range(m)), repeat=n_real - 1):
        for rest in itertools.product(domain, repeat=m):
            yield [(i, *(order[i] for order in orders), *rest[i]) for i in range(m)]


def shattered_samples(spelling, columns, m, free=True, subset=False):
    """Return all shattered samples of m points."""
    shape = parse(spelling)
    return [s for s in samples(columns, m) if is_shattered(shape, columns, s, free, subset)]


def vc_and_counts(spelling, columns, free=True, subset=False):
    """Return the VC dimension, a shattered sample of that size, and the number of shattered samples by size."""
    counts, witness = [1], ()
    while True:
        found = shattered_samples(spelling, columns, len(counts), free, subset)
        counts.append(len(found))
        if not found:
            return len(counts) - 2, witness, counts
        witness = found[len(found) // 2]

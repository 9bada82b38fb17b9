"""The rival of bound-based pruning: Algorithm 3 as published, in plain Python.

Every candidate is a whole tree, made by copying; its growth function is computed from nothing by the loose form of
Theorem 9, with Python integers (so that nothing overflows), memoised inside one evaluation as the paper's code does.
"""

from __future__ import annotations

import math


class Node:
    """A node or leaf of a binary tree with its number of errors as a leaf."""

    def __init__(self, errors: float, left: Node | None = None, right: Node | None = None) -> None:
        self.errors, self.left, self.right = errors, left, right


def build(tree, errors, node=0):
    kids = tree.children(node)
    return Node(float(errors[node]), *(build(tree, errors, kid) for kid in kids))


def leaves(t):
    return 1 if t.left is None else leaves(t.left) + leaves(t.right)


def wrong(t):
    return t.errors if t.left is None else wrong(t.left) + wrong(t.right)


def spelling(t):
    """The same for swapped children."""
    return "." if t.left is None else "(" + "".join(sorted((spelling(t.left), spelling(t.right)))) + ")"


def stirling(m, c):
    return sum((-1) ** i * math.comb(c, i) * (c - i) ** m for i in range(c)) // math.factorial(c)


def parts(t, m, c, n_features, memo):
    if c == 1:
        return 1
    if t.left is None:
        return 0
    key = (spelling(t), m, c)
    if key not in memo:
        size, lx, ly = leaves(t), leaves(t.left), leaves(t.right)
        if m <= size:
            return stirling(m, c)
        total = 0
        for a in range(1, c + 1):
            for b in range(max(1, c - a), c + 1):
                ways = math.comb(a, c - b) * math.comb(b, c - a) * math.factorial(a + b - c)
                x = parts(t.left, m - ly, a, n_features, memo)
                total += ways * x * parts(t.right, m - lx, b, n_features, memo) if x else 0
        total *= (m - size + 1) * 2 * n_features
        memo[key] = min(stirling(m, c), total // 2 if spelling(t.left) == spelling(t.right) else total)
    return memo[key]


def wedderburn_etherington(n):
    table = [0, 1]
    for i in range(2, n + 1):
        total = sum(table[j] * table[i - j] for j in range(1, (i + 1) // 2))
        table.append(total + (table[i // 2] * (table[i // 2] + 1) // 2 if i % 2 == 0 else 0))
    return table[n]


def bound(t, m, n_classes, n_features, r=2**-13.7, delta=0.05):
    """Shawe-Taylor's bound (8) of one tree, from nothing."""
    memo: dict = {}
    size, k = leaves(t), wrong(t)
    growth = sum(math.perm(n_classes, c) * parts(t, 2 * m, c, n_features, memo) for c in range(1, n_classes + 1))
    prior = math.log(math.pi**2 / 6) + 2 * math.log(size) + math.log(wedderburn_etherington(size))
    log_tau = math.log(growth)
    return (2 * k + 4 * (math.log(4 / delta) + log_tau + prior - math.log(1 - r) - k * math.log(r))) / m


def without(t, target):
    """A copy of the tree with one node made a leaf."""
    if t is target or t.left is None:
        return Node(t.errors)
    return Node(t.errors, without(t.left, target), without(t.right, target))


def inner(t):
    if t.left is not None:
        yield t
        yield from inner(t.left)
        yield from inner(t.right)


def one_step(t, m, n_classes, n_features):
    """The bounds of all candidates of one step: what Algorithm 3 does again and again."""
    found = [(bound(cut, m, n_classes, n_features), leaves(cut), i, cut) for i, cut in enumerate(map(
        lambda node: without(t, node), inner(t)))]  # fmt: skip
    return min(found, key=lambda entry: entry[:3])


def prune(t, m, n_classes, n_features, steps=None):
    """Algorithm 3; at most so many steps. Returns the tree, its bound and the steps taken."""
    value, taken = bound(t, m, n_classes, n_features), 0
    while t.left is not None and (steps is None or taken < steps):
        best = one_step(t, m, n_classes, n_features)
        if best[0] > value * (1 + 1e-12):
            break
        value, t, taken = best[0], best[3], taken + 1
    return t, value, taken

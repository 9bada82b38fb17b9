"""Slow, plain rivals of the split search: every candidate of every feature, in NumPy, from the definitions."""

import itertools
import math

import numpy as np


def _entropy(counts):
    p = counts[counts > 0] / counts.sum()
    return float(-(p * np.log2(p)).sum())


def _gini(counts):
    return float(1 - ((counts / counts.sum()) ** 2).sum())


def _error(counts):
    return float(1 - counts.max() / counts.sum())


def gain(table, criterion):
    """Gain of a table (branches x classes) from the textbook formula."""
    table = np.asarray(table, dtype=float)
    table = table[table.sum(axis=1) > 0]
    classes, sizes, n = table.sum(axis=0), table.sum(axis=1), table.sum()
    simple = {"error": _error, "gini": _gini, "entropy": _entropy, "gain_ratio": _entropy}
    if criterion in simple:
        measure = simple[criterion]
        out = measure(classes) - sum(size / n * measure(row) for size, row in zip(sizes, table, strict=True))
        if criterion == "gain_ratio":
            out = out / _entropy(sizes) if len(sizes) > 1 else 0.0
        return out
    if criterion == "chi2":
        expected = np.outer(sizes, classes) / n
        keep = expected > 0
        return float((((table - expected) ** 2)[keep] / expected[keep]).sum())
    if criterion == "orthogonality":
        total = weight = 0.0
        for u, v in itertools.combinations(range(len(sizes)), 2):
            cosine = table[u] @ table[v] / math.sqrt((table[u] @ table[u]) * (table[v] @ table[v]))
            total += sizes[u] * sizes[v] * (1 - cosine)
            weight += sizes[u] * sizes[v]
        return total / weight if weight else 0.0
    lf = math.lgamma
    log_p0 = sum(lf(c + 1) for c in classes) + sum(lf(s + 1) for s in sizes) - lf(n + 1)
    return -(log_p0 - sum(lf(c + 1) for c in table.ravel()))


def _table(branch, codes, weights, n_classes):
    out = np.zeros((int(branch.max()) + 1, n_classes))
    np.add.at(out, (branch, codes), weights)
    return out


def candidates(column, kind, nominal):
    """Every way to send the rows of one feature to branches; missing rows on either side."""
    missing = np.isnan(column)
    values = np.unique(column[~missing])
    if kind == "multiway" or (kind == "nominal" and nominal == "multiway"):
        yield np.unique(column, return_inverse=True)[1].reshape(-1)
        return
    lefts = []
    if kind != "nominal":
        lefts = [column <= value for value in values]
    elif nominal == "one-vs-rest":
        lefts = [column == value for value in values]
    else:
        for size in range(1, len(values) + 1):
            lefts += [np.isin(column, chosen) for chosen in itertools.combinations(values, size)]
    for left in lefts:
        yield np.where(left & ~missing, 0, 1)
        yield np.where(left | missing, 0, 1)


def best_gain(X, y, criterion, kinds=None, weights=None, nominal="one-vs-rest", least=1):
    """Largest gain over all candidates, None without any; and the lowest feature that reaches it."""
    X = np.asarray(X, dtype=float)
    codes = np.unique(y, return_inverse=True)[1]
    weights = np.ones(len(codes)) if weights is None else np.asarray(weights, dtype=float)
    kinds = kinds or ["real"] * X.shape[1]
    if codes.max() == 0:
        return None
    best = None
    for feature, kind in enumerate(kinds):
        for branch in candidates(X[:, feature], kind, nominal):
            sizes = np.bincount(branch, minlength=2)
            two_sided = kind != "multiway" and not (kind == "nominal" and nominal == "multiway")
            if (sizes > 0).sum() < 2 or (two_sided and sizes.min() < least):
                continue
            value = gain(_table(branch, codes, weights, codes.max() + 1), criterion)
            if best is None or value > best[0] + 1e-9 * max(1.0, abs(value)):
                best = (value, feature)
    return best

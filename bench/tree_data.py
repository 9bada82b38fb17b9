"""Data sets and timing shared by the benchmarks of split search and tree growing.

CPU time, one thread; the rival runs between our own runs, so that both see the same machine.
"""

import os
import time

import numpy as np

SEED = 20
SMALL = os.environ.get("VCDIM_BENCH_SMALL", "0") not in ("", "0")


def labels(score, n_classes):
    """Classes of about equal size by the rank of a score."""
    cuts = np.quantile(score, np.linspace(0, 1, n_classes + 1)[1:-1])
    return np.searchsorted(cuts, score)


def continuous(m, d, n_classes, seed=SEED):
    """Normal features; five of them and one product carry the class, with as much noise as one feature."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(m, d)).astype(np.float32)
    return X, labels(X[:, :5].sum(axis=1) + X[:, 0] * X[:, 1] + rng.normal(size=m), n_classes)


def skewed(m, d):
    """The 9th power of lognormal features."""
    X, y = continuous(m, d, 2)
    return np.exp(X) ** 9, y


def sparse(m, d):
    """Features that are 0 in nine rows of ten."""
    rng = np.random.default_rng(SEED)
    X = np.where(rng.random((m, d)) < 0.9, 0, rng.normal(size=(m, d))).astype(np.float32)
    return X, labels(X[:, :5].sum(axis=1) + 0.5 * rng.normal(size=m), 2)


def integers(m, d, n_classes):
    """Whole numbers 0 to 15."""
    rng = np.random.default_rng(SEED)
    X = rng.integers(0, 16, size=(m, d)).astype(np.float32)
    return X, labels(X[:, :5].sum(axis=1) + 8 * rng.normal(size=m), n_classes)


def binary(m, d, n_classes):
    """Zeros and ones."""
    rng = np.random.default_rng(SEED)
    X = rng.integers(0, 2, size=(m, d)).astype(np.float32)
    return X, labels(X[:, :8].sum(axis=1) + rng.normal(size=m), n_classes)


def cpu_time(work):
    """CPU seconds of one call, and its answer."""
    start = time.process_time()
    answer = work()
    return time.process_time() - start, answer


def interleaved(rounds, *works):
    """Least CPU seconds of each work over some rounds, all works in every round."""
    best = [float("inf")] * len(works)
    for _ in range(rounds):
        for place, work in enumerate(works):
            best[place] = min(best[place], cpu_time(work)[0])
    return best

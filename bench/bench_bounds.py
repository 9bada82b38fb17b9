"""Bounds on real features against the paper's recursion in plain Python (``rival_bounds.py``), all with cold caches.

Run with ``python -m pytest -s bench/bench_bounds.py``. Every benchmark asserts its answer and goal after timing; the
ratio to the rival, measured in the same run, is in ``extra_info``. ``test_exponents`` prints how the time grows.
"""

from __future__ import annotations

import sys
import time
from pathlib import Path

import numpy as np
import pytest

sys.path.insert(0, str(Path(__file__).parent))

from rival_bounds import Rival

from vcdim_core import _rows
from vcdim_core.bounds import cache_clear, log_growth_bound, vc_upper_bound
from vcdim_core.structures import Structure, comb, full

# name: structure, answer, goal in seconds or None, goal as a ratio to the rival or None
VC_CASES = {
    "full height 5": (full(5), 239, None, 300),
    "comb 20 leaves": (comb(19), 182, None, 300),
    "comb 40 leaves": (comb(39), 380, 0.050, None),
    "full height 8": (full(8), 1993, 2.0, None),
}
# name: structure, points, classes, form, logarithm of the bound (by exact integers), goal in seconds
GROWTH_CASES = {
    "tight, comb 40 leaves, m 5000, 2 classes": (comb(39), 5000, 2, "tight", 368.5547, 1.0),
    "tight, full 16 leaves, m 1000, 10 classes": (full(4), 1000, 10, "tight", 146.1060, 1.0),
    "loose, comb 40 leaves, m 5000, 2 classes": (comb(39), 5000, 2, "loose", 475.0383, 0.001),
    "loose, full 16 leaves, m 1000, 10 classes": (full(4), 1000, 10, "loose", 173.9270, 0.001),
}


def cold() -> None:
    """Forget everything that was computed before."""
    cache_clear()
    _rows._stirling.clear()
    _rows.coefficients.cache_clear()


@pytest.mark.parametrize("name", VC_CASES)
def test_vc_bound(benchmark, name):
    structure, answer, goal, ratio_goal = VC_CASES[name]
    found = benchmark.pedantic(
        lambda: vc_upper_bound(structure, real=10, method="theorem9"), setup=cold, rounds=15, warmup_rounds=1
    )
    assert found == answer
    ours = benchmark.stats.stats.median
    if ratio_goal is not None:
        start = time.perf_counter()
        rival = Rival(10).vc_bound(str(structure))
        theirs = time.perf_counter() - start
        assert rival == answer
        benchmark.extra_info.update(rival_seconds=theirs, times_faster=theirs / ours)
        print(f"\n{name}: {ours * 1e3:.3f} ms, rival {theirs:.3f} s, {theirs / ours:.0f} times faster")
        assert theirs / ours >= ratio_goal
    else:
        print(f"\n{name}: {ours * 1e3:.3f} ms")
        assert ours < goal


@pytest.mark.parametrize("name", VC_CASES)
def test_best_vc_bound(benchmark, name):
    structure, answer, _, _ = VC_CASES[name]
    found = benchmark.pedantic(lambda: vc_upper_bound(structure, real=10), setup=cold, rounds=5, warmup_rounds=1)
    print(f"\n{name}: best {found} instead of {answer}, {benchmark.stats.stats.median * 1e3:.3f} ms")
    assert found < answer


@pytest.mark.parametrize("name", GROWTH_CASES)
def test_log_growth(benchmark, name):
    structure, m, n_classes, form, answer, goal = GROWTH_CASES[name]
    found = benchmark.pedantic(
        lambda: log_growth_bound(structure, m, n_classes, real=10, form=form), setup=cold, rounds=9, warmup_rounds=1
    )
    assert abs(found - answer) < 1e-3
    print(f"\n{name}: {benchmark.stats.stats.median * 1e3:.3f} ms, log growth {found:.3f}")
    assert benchmark.stats.stats.median < goal


def least_seconds(call, rounds: int = 3) -> float:
    """Return the least processor time of a call with cold caches; other work on the machine matters little."""
    times = []
    for _ in range(rounds):
        cold()
        start = time.process_time()
        call()
        times.append(time.process_time() - start)
    return min(times)


def exponent(sizes: list[int], seconds: list[float]) -> float:
    """Return the slope of log time against log size."""
    return float(np.polyfit(np.log(sizes), np.log(seconds), 1)[0])


def caterpillar_of_stumps(n: int) -> Structure:
    """Return a comb with stumps in place of leaves: only stumps have leaves, all substructures differ."""
    text = "((..)(..))"
    for _ in range(n):
        text = f"({text}(..))"
    return Structure(text)


GROWTH_OF_TIME = {
    "m, comb of 40 leaves": ([10_000, 20_000, 40_000, 80_000], lambda m: (comb(39), m, 2)),
    "m, full 32 leaves": ([4_000, 8_000, 16_000, 32_000], lambda m: (full(5), m, 2)),
    "leaves, combs, m 5000": ([50, 100, 200, 400], lambda n: (comb(n - 1), 5_000, 2)),
    "leaves, stumps in a row, m 3000": ([8, 16, 32, 64], lambda n: (caterpillar_of_stumps(n), 3_000, 2)),
    "classes, full 32 leaves, m 2000": ([4, 8, 12, 16], lambda c: (full(5), 2_000, c)),
}


@pytest.mark.parametrize("name", GROWTH_OF_TIME)
def test_exponents(name):
    sizes, case = GROWTH_OF_TIME[name]
    seconds = []
    for size in sizes:
        structure, m, n_classes = case(size)
        seconds.append(least_seconds(lambda s=structure, m=m, c=n_classes: log_growth_bound(s, m, c, real=10)))
    print(f"\ntime by {name}: exponent {exponent(sizes, seconds):.2f}, seconds {[round(t, 4) for t in seconds]}")
    assert exponent(sizes, seconds) < 2.6


def test_vc_bound_exponents():
    for name, make, sizes in (("combs", lambda n: comb(n - 1), [50, 100, 200, 400]), ("full", full, [6, 7, 8, 9])):
        shapes = [make(n) for n in sizes]
        seconds = [least_seconds(lambda s=s: vc_upper_bound(s, real=10, method="theorem9")) for s in shapes]
        leaves = [s.n_leaves for s in shapes]
        print(f"\nVC bound by leaves, {name}: {exponent(leaves, seconds):.2f}, {[round(t, 4) for t in seconds]}")

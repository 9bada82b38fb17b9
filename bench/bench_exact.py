"""The exact search beside a plain exhaustive one (run: ``pytest bench/bench_exact.py``; see bench/README.md).

The rival, ``plain_search.pyx``, is the search of Aslan, Yildiz and Alpaydin (2009) at C speed: all samples, all
labellings, all assignments of features to nodes, without symmetry, heredity or memo. It is run on the cases it
finishes within its budget, in the same process.
"""

from __future__ import annotations

import os
import subprocess
import sys
import time

import pytest
from build_plain import load_plain
from common import GOALS, best_of, peak_megabytes, seconds_of, totals, up_to

import vcdim_core as vc

RIVAL_BUDGET = 3 * 10**8  # assignments of features to all nodes: a few seconds
N_JOBS = min(2, os.cpu_count() or 1)

# The sums of all values as they were found in 2026-11: a changed sum is a changed answer.
SUM_OF_VALUES = {(6, 5): 190, (6, 6): 224, (4, 7): 54}


def search_all(n_nodes: int, d: int, n_jobs: int = N_JOBS) -> list[vc.VCResult]:
    return [vc.search_vc(s, d=d, n_jobs=n_jobs) for s in up_to(n_nodes)]


def note(benchmark, name: str, **figures) -> None:
    """Put the goal and the figures beside the timing."""
    goal = GOALS[name]
    benchmark.extra_info.update(goal_seconds=goal.seconds, goal_ratio=goal.ratio, **figures)


@pytest.mark.parametrize("method", ["plain_vc", "plain_vc_recursive"])
def test_small_structures_beside_the_plain_search(benchmark, method):
    """All 47 structures of up to 7 nodes at d = 3 and 4; the ratio is over the cases that the rival finishes."""
    plain = getattr(load_plain(), method)
    cases = [(s, d) for d in (3, 4) for s in up_to(7)]
    results = benchmark(lambda: [vc.search_vc(s, d=d) for s, d in cases])
    ours = rival = 0.0
    finished = 0
    for (s, d), result in zip(cases, results, strict=True):
        started = time.perf_counter()
        answer = plain(str(s), d, RIVAL_BUDGET)
        seconds = time.perf_counter() - started
        if answer is None:
            continue
        assert answer == result.value
        finished += 1
        rival += seconds
        ours += best_of(3, lambda s=s, d=d: vc.exact_vc(s, d=d))
    note(benchmark, "up to 7 nodes, d = 3 and 4", ratio=rival / ours, rival_seconds=rival, rival_finished=finished)
    assert finished >= 47


@pytest.mark.parametrize(("n_nodes", "d"), [(6, 5), (6, 6), (4, 7)])
def test_all_structures(benchmark, n_nodes, d):
    """Every structure of up to so many nodes, on two threads."""
    results = benchmark.pedantic(search_all, (n_nodes, d), rounds=1)
    assert sum(result.value for result in results) == SUM_OF_VALUES[n_nodes, d]
    note(benchmark, f"up to {n_nodes} nodes, d = {d}", peak_megabytes=peak_megabytes(), **totals(results))


def test_two_threads_against_one(benchmark):
    """One search of several seconds."""
    structure, d = "((((..)(..)).)(..))", 6
    result = benchmark.pedantic(vc.search_vc, (structure,), {"d": d, "n_jobs": 2}, rounds=1)
    one = vc.search_vc(structure, d=d)
    assert (one.value, one.witness, one.stats.orbits) == (result.value, result.witness, result.stats.orbits)
    benchmark.extra_info["ratio"] = one.stats.seconds / result.stats.seconds


def test_one_call(benchmark):
    assert benchmark(vc.exact_vc, "((..)(..))", d=4) == 6
    note(benchmark, "one call")


def test_import(benchmark):
    """A fresh interpreter with the package against one with NumPy alone."""

    def start(code: str) -> float:
        return seconds_of(lambda: subprocess.run([sys.executable, "-c", code], check=True))

    ours = benchmark.pedantic(start, ("import numpy, vcdim_core",), rounds=9)
    assert ours > 0
    numpy = min(start("import numpy") for _ in range(9))
    package = min(start("import numpy, vcdim_core") for _ in range(9))
    note(benchmark, "import beyond NumPy", seconds_beyond=package - numpy)

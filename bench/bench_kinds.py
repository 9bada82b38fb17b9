"""The exact search on features of every kind (run: ``pytest bench/bench_kinds.py``; see bench/README.md).

The rival on real features is ``plain_orders.py``, a simple search by dichotomy sets. Threads are measured against one
thread, an executor against threads, in the same run.
"""

from __future__ import annotations

import os
from concurrent.futures import ProcessPoolExecutor

import pytest
from common import best_of, peak_megabytes, seconds_of, up_to
from plain_orders import plain_vc_real

import vcdim_core as vc

N_JOBS = min(2, os.cpu_count() or 1)
LONG = "((((..).)(..)).)"  # on two real features: more than 30 s with one thread


def test_up_to_four_nodes_on_two_real_features(benchmark):
    """Goal: 20 s in all."""
    values = benchmark.pedantic(lambda: [vc.exact_vc(s, real=2, n_jobs=N_JOBS) for s in up_to(4)], rounds=1)
    benchmark.extra_info.update(goal_seconds=20)
    assert values == [3, 5, 8, 8, 10, 10, 10]


def test_five_nodes_on_two_real_features(benchmark):
    """Goal: 300 s in all."""
    values = benchmark.pedantic(lambda: [vc.exact_vc(s, real=2, n_jobs=N_JOBS) for s in vc.structures(5)], rounds=1)
    benchmark.extra_info.update(goal_seconds=300, peak_megabytes=peak_megabytes())
    assert values == [12] * 6


def test_up_to_two_nodes_on_three_real_features(benchmark):
    """Goal: 60 s in all."""
    values = benchmark.pedantic(lambda: [vc.exact_vc(s, real=3) for s in up_to(2)], rounds=1)
    benchmark.extra_info.update(goal_seconds=60)
    assert values == [4, 7]


def test_ternary_multiway(benchmark):
    """Structures of up to three ternary nodes on up to four features (fixed: three); goal: 5 s in all."""
    shapes = ["(...)", "((...)..)", "(((...)..)..)", "((...)(...).)"]

    def search():
        return [
            vc.exact_vc(s, features=vc.Features(multiway=[3] * d), orientation=orientation, n_jobs=N_JOBS)
            for orientation, most in (("free", 4), ("fixed", 3))
            for s in shapes
            for d in range(1, most + 1)
        ]

    values = benchmark.pedantic(search, rounds=1)
    benchmark.extra_info.update(goal_seconds=5, values=values)


@pytest.mark.parametrize("structure", ["((..).)", "((..)(..))", "(((..).).)"])
def test_beside_the_simple_search(benchmark, structure):
    """The ratio to the simple search, two real features."""
    value = benchmark(lambda: vc.exact_vc(structure, real=2))
    ours = best_of(3, lambda: vc.exact_vc(structure, real=2))
    found = []
    rival = seconds_of(lambda: found.append(plain_vc_real(structure, 2)))
    benchmark.extra_info.update(rival_seconds=rival, ratio=rival / ours)
    assert found == [value]


def test_two_threads_beside_one(benchmark):
    """Goal: 1.7 times as fast."""
    two = benchmark.pedantic(lambda: seconds_of(lambda: vc.exact_vc(LONG, real=2, n_jobs=2)), rounds=1)
    one = seconds_of(lambda: vc.exact_vc(LONG, real=2))
    benchmark.extra_info.update(goal_ratio=1.7, ratio=one / two)


def test_processes_beside_threads(benchmark):
    """Goal: 10 % longer at most."""

    def search():
        with ProcessPoolExecutor(2) as pool:
            return vc.exact_vc(LONG, real=2, n_jobs=2, executor=pool)

    processes = benchmark.pedantic(lambda: seconds_of(search), rounds=1)
    threads = seconds_of(lambda: vc.exact_vc(LONG, real=2, n_jobs=2))
    benchmark.extra_info.update(goal_ratio=1.1, ratio=processes / threads)


@pytest.mark.parametrize(("n_nodes", "real", "goal"), [(3, 3, 10), (4, 3, 12), (2, 4, 7), (3, 4, 10)])
def test_lower_ends_within_a_minute(benchmark, n_nodes, real, goal):
    """The best lower end over the structures of a size, a minute in all."""
    shapes = list(vc.structures(n_nodes))
    each = 60 / len(shapes)
    results = benchmark.pedantic(
        lambda: [vc.search_vc(s, real=real, time_limit=each, n_jobs=N_JOBS) for s in shapes], rounds=1
    )
    brackets = {str(r.structure): (r.lower, r.upper) for r in results}
    benchmark.extra_info.update(goal=goal, brackets=brackets, peak_megabytes=peak_megabytes())

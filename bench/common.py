"""What the benchmarks share: named instances, goals, and how a ratio is measured."""

from __future__ import annotations

import resource
import sys
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass

import vcdim_core as vc


@dataclass(frozen=True)
class Goal:
    """What a benchmark is to reach: seconds on two cores, or a ratio to its rival."""

    seconds: float | None = None
    ratio: float | None = None


GOALS = {
    "up to 7 nodes, d = 3 and 4": Goal(seconds=0.1, ratio=1000),
    "up to 6 nodes, d = 5": Goal(seconds=1),
    "up to 6 nodes, d = 6": Goal(seconds=40),
    "up to 4 nodes, d = 7": Goal(seconds=60),
    "one call": Goal(seconds=0.0002),
    "import beyond NumPy": Goal(seconds=0.06),
}


def up_to(n_nodes: int) -> list[vc.Structure]:
    """Every structure of 1 to n_nodes nodes."""
    return [s for n in range(1, n_nodes + 1) for s in vc.structures(n)]


def seconds_of(work: Callable[[], object]) -> float:
    """Wall-clock seconds of one call."""
    started = time.perf_counter()
    work()
    return time.perf_counter() - started


def best_of(repeats: int, work: Callable[[], object]) -> float:
    """The fastest of some calls: what noise cannot improve."""
    return min(seconds_of(work) for _ in range(repeats))


def peak_megabytes() -> float:
    """The largest resident size of this process so far."""
    size = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return size / 2**20 if sys.platform == "darwin" else size / 2**10


def totals(results: Iterable[vc.VCResult]) -> dict[str, float]:
    """Samples and dichotomy sets per second over some searches."""
    results = list(results)
    seconds = sum(r.stats.seconds for r in results)
    return {
        "samples": sum(r.stats.samples for r in results),
        "tested": sum(r.stats.tested for r in results),
        "samples_per_second": sum(r.stats.samples for r in results) / seconds,
        "tested_per_second": sum(r.stats.tested for r in results) / seconds,
        "sets_per_second": sum(r.stats.sets for r in results) / seconds,
    }

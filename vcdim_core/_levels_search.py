"""Running the level by level search on one or several threads.

Each step of a level (see ``src/_levels.pyx``) is a loop over its orbits. The loop is cut into slices; threads take
the next slice when they are done with one, and the slices' results are put together in order, so that nothing
depends on the number of threads.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, TypeVar

from . import _levels

if TYPE_CHECKING:  # concurrent.futures is imported when threads are: it takes longer than the rest of the package
    from concurrent.futures import Future, ThreadPoolExecutor

    import numpy as np
    import numpy.typing as npt

    Table = npt.NDArray[np.int32]
    Limits = npt.NDArray[np.float64]

SLICE = 512
"""Orbits of one slice: some 10 ms of work."""

MIN_DEATHS = 1 / 8
"""Prune again while at least this share of a level died: what follows from fewer deaths is not worth a pass."""

T = TypeVar("T")


class Stopped(Exception):
    """A limit stopped the kernels."""


class Team:
    """Workers, one a thread, that share the slices of each loop."""

    def __init__(self, table: Table, n_features: int, fixed: bool, limits: Limits, n_jobs: int) -> None:
        self.limits = limits
        self.workers = [_levels.Worker(table, n_features, fixed, limits) for _ in range(n_jobs)]
        self.pool = _make_pool(n_jobs) if n_jobs > 1 else None

    @property
    def n_tested(self) -> int:
        """Samples tested so far."""
        return sum(worker.n_tested for worker in self.workers)

    @property
    def n_generated(self) -> int:
        """Samples generated so far."""
        return sum(worker.n_generated for worker in self.workers)

    @property
    def n_sets(self) -> int:
        """Dichotomy sets computed so far."""
        return sum(worker.n_sets for worker in self.workers)

    @property
    def n_bytes(self) -> int:
        """Memory held by the workers."""
        return sum(worker.n_bytes for worker in self.workers)

    def over(self, n: int, work: Callable[[_levels.Worker, int, int], T], tick: Callable[[], None]) -> list[T]:
        """``work(worker, start, stop)`` on the slices of range(n), in order; raises `Stopped` on None or False."""
        slices = [(start, min(start + SLICE, n)) for start in range(0, n, SLICE)]
        if self.pool is None or len(slices) == 1:
            results = []
            for start, stop in slices:
                results.append(work(self.workers[0], start, stop))
                tick()
                if results[-1] is None or results[-1] is False:
                    raise Stopped
            return results
        return self._over_threads(slices, work, tick)

    def _over_threads(
        self, slices: list[tuple[int, int]], work: Callable[[_levels.Worker, int, int], T], tick: Callable[[], None]
    ) -> list[T]:
        from concurrent.futures import FIRST_COMPLETED, wait

        assert self.pool is not None
        results: list[Any] = [None] * len(slices)
        queue = iter(enumerate(slices))

        def drain(worker: _levels.Worker) -> None:
            for i, (start, stop) in iter(lambda: next(queue, (-1, (0, 0))), (-1, (0, 0))):
                results[i] = work(worker, start, stop)
                if results[i] is None or results[i] is False:
                    return

        pending: set[Future[None]] = {self.pool.submit(drain, worker) for worker in self.workers}
        try:
            while pending:
                done, pending = wait(pending, timeout=0.05, return_when=FIRST_COMPLETED)
                for future in done:
                    future.result()
                tick()
        except BaseException:
            self.limits[_levels.STOP] = 1
            wait(pending)
            raise
        if any(result is None or result is False for result in results):
            raise Stopped
        return results

    def close(self) -> None:
        """Let the threads go."""
        if self.pool is not None:
            self.pool.shutdown()


def _make_pool(n_jobs: int) -> ThreadPoolExecutor:
    from concurrent.futures import ThreadPoolExecutor

    return ThreadPoolExecutor(n_jobs, thread_name_prefix="vcdim")


@contextmanager
def team(table: Table, n_features: int, fixed: bool, limits: Limits, n_jobs: int) -> Iterator[Team]:
    """A `Team` that is closed at the end."""
    members = Team(table, n_features, fixed, limits, n_jobs)
    try:
        yield members
    finally:
        members.close()


def next_level(members: Team, level: _levels.Level, tick: Callable[[], None], test: bool = True) -> _levels.Level:
    """The shattered (or all) children of a level, one per orbit."""
    parts = members.over(level.n_orbits, lambda worker, a, b: worker.generate(level, a, b, test), tick)
    return _levels.join_levels([part for part in parts if part is not None])


def prune_level(
    members: Team, parents: _levels.Level, level: _levels.Level, need: int, tick: Callable[[], None]
) -> None:
    """Give each orbit of a level its candidates and drop those that have fewer than ``need``."""
    _levels.allocate_links(level, parents)
    members.over(level.n_orbits, lambda worker, a, b: worker.link(parents, level, a, b), tick)
    alive = level.n_orbits
    while True:
        _levels.mark(parents, level)
        members.over(parents.n_orbits, lambda worker, a, b: worker.close(parents, a, b), tick)
        died = sum(members.over(level.n_orbits, lambda _, a, b: _levels.prune(parents, level, need, a, b), tick))
        alive -= died
        if died <= alive * MIN_DEATHS:
            break
    _levels.compact(level)

"""Going from size to size: slices of a level for the workers, their results in order.

Work is handed out in slices of orbits, and what comes back is put together in the order of the slices; so the levels,
and with them the answer and the witness, do not depend on the number of workers or on where they are.

A `Team` is threads: the kernels hold no lock while they work. A `Relay` hands units of a second or more to any
`concurrent.futures.Executor`; a unit whose time is up returns what it has and how far it came, and the rest is handed
out again. Both write finished units to a `Journal` and take from it what an earlier run has finished.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import lru_cache
from typing import TYPE_CHECKING, Any, TypeVar

from . import _levels
from ._engines import digest, engine_of
from ._problem import Problem, no_limits

if TYPE_CHECKING:  # concurrent.futures is imported when threads are: it takes longer than the rest of the package
    from concurrent.futures import Executor, Future, ThreadPoolExecutor

    from ._engines import Arrays, Engine, Limits
    from ._journal import Journal

    Tick = Callable[[int], None]

SLICE = 512
"""Orbits of one slice: some 10 ms of work."""

UNIT_SECONDS = 2.0
"""Time of a unit that is handed to an executor or written to a journal."""

LOCAL_SECONDS = 0.25
"""A level is begun here; what is not done after so long goes to the executor."""

T = TypeVar("T")


class Stopped(Exception):
    """A limit stopped the kernels."""


class OutOfRoom(Stopped):
    """The next step would need more memory than the search may hold."""


class ExecutorError(RuntimeError):
    """An executor died or refused work; what was finished is in the journal, if there is one."""


class Team:
    """Workers, one a thread, that share the slices of each loop."""

    def __init__(self, engine: Engine, limits: Limits, n_jobs: int) -> None:
        self.engine = engine
        self.limits = limits
        self.workers = [engine.worker(limits) for _ in range(n_jobs)]
        self.pool = _make_pool(n_jobs) if n_jobs > 1 else None
        self.elsewhere = [0, 0, 0]
        self.memory_limit = float("inf")
        self.held = 0  # bytes of the levels at hand and of the slices of the next one

    @property
    def n_tested(self) -> int:
        """Samples tested so far."""
        return self.elsewhere[0] + sum(int(worker.n_tested) for worker in self.workers)

    @property
    def n_generated(self) -> int:
        """Samples generated so far."""
        return self.elsewhere[1] + sum(int(worker.n_generated) for worker in self.workers)

    @property
    def n_sets(self) -> int:
        """Dichotomy sets computed so far."""
        return self.elsewhere[2] + sum(int(worker.n_sets) for worker in self.workers)

    @property
    def n_bytes(self) -> int:
        """Memory held by the workers."""
        return sum(int(worker.n_bytes) for worker in self.workers)

    def hold(self, n_bytes: int) -> None:
        """Note bytes that are held from now on; raises `OutOfRoom` beyond the limit."""
        self.held += n_bytes
        if self.held + self.n_bytes > self.memory_limit:
            raise OutOfRoom

    def note_elsewhere(self, counts: tuple[int, int, int]) -> None:
        """Add what other workers, or an earlier run, have counted: samples tested, generated, sets."""
        for i, count in enumerate(counts):
            self.elsewhere[i] += count

    def over(
        self, n: int, work: Callable[[Any, int, int], T], tick: Callable[[], object], size: int = 0
    ) -> list[T]:
        """``work(worker, start, stop)`` on the slices of range(n), in order; raises `Stopped` on None or False."""
        size = size or SLICE
        slices = [(start, min(start + size, n)) for start in range(0, n, size)]
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
        self, slices: list[tuple[int, int]], work: Callable[[Any, int, int], T], tick: Callable[[], object]
    ) -> list[T]:
        from concurrent.futures import FIRST_COMPLETED, wait

        assert self.pool is not None
        results: list[Any] = [None] * len(slices)
        queue = deque(enumerate(slices))  # taking from it is safe from several threads, with and without a global lock

        def drain(worker: Any) -> None:
            while True:
                try:
                    i, (start, stop) = queue.popleft()
                except IndexError:
                    return
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
def team(engine: Engine, limits: Limits, n_jobs: int) -> Iterator[Team]:
    """A `Team` that is closed at the end."""
    members = Team(engine, limits, n_jobs)
    try:
        yield members
    finally:
        members.close()


def all_children(members: Team, level: Any, tick: Callable[[], None]) -> Any:
    """All children of a level, one per orbit, shattered or not."""
    parts = members.over(level.n_orbits, lambda worker, a, b: worker.generate(level, a, b, False), tick)
    return members.engine.join(parts)


def next_level(
    members: Team, level: Any, tick: Tick, journal: Journal | None = None, relay: Relay | None = None
) -> Any:
    """The shattered children of a level, one per orbit; ``tick`` hears how many orbits are done."""
    finished: list[int] = []  # adding to it is safe from several threads

    def count(orbits: int = 0) -> None:
        if orbits:
            finished.append(orbits)
        tick(sum(finished))

    def generate(worker: Any, start: int, stop: int) -> Any:
        part = worker.generate(level, start, stop)
        finished.append(stop - start)
        if part is not None:
            members.hold(part.n_bytes)
        return part

    members.held = 0
    members.hold(level.n_bytes)
    if journal is None and relay is None:
        return members.engine.join(members.over(level.n_orbits, generate, count))
    units = Units(members, level, journal, count)
    if relay is None or not units.run_here(LOCAL_SECONDS):
        if relay is None:
            units.run_threads()
        else:
            units.run_elsewhere(relay)
    return members.engine.join(units.parts())


class Units:
    """The units of one level: which are done, what they gave, which are left."""

    def __init__(self, members: Team, level: Any, journal: Journal | None, count: Callable[[int], None]) -> None:
        self.members = members
        self.level = level
        self.journal = journal
        self.count = count
        self.name = digest(level) if journal is not None else ""
        self.done: dict[int, tuple[int, Any]] = {}  # start -> stop, children
        if journal is not None:
            for start, stop, n_orbits, arrays, counts in journal.finished(level.n_points, self.name):
                self._take(start, stop, self._unpack(n_orbits, arrays, start), counts)
        self.left = deque(self._gaps())

    def _gaps(self) -> list[tuple[int, int]]:
        gaps, at = [], 0
        for start, (stop, _) in sorted(self.done.items()):
            if start > at:
                gaps.append((at, start))
            at = stop
        if at < self.level.n_orbits:
            gaps.append((at, self.level.n_orbits))
        return gaps

    def _unpack(self, n_orbits: int, arrays: Arrays, start: int) -> Any:
        return self.members.engine.unpack(self.level.n_points + 1, n_orbits, arrays, start)

    def _take(self, start: int, stop: int, children: Any, counts: tuple[int, int, int] | None) -> None:
        """Note a unit from elsewhere or from the journal."""
        self.members.hold(children.n_bytes)
        self.done[start] = stop, children
        if counts is not None:
            self.members.note_elsewhere(counts)
        self.count(stop - start)

    def _finish(self, start: int, stop: int, children: Any, counts: tuple[int, int, int]) -> None:
        """Write a unit that was done here to the journal and note it."""
        if self.journal is not None:
            arrays = self.members.engine.pack_children(children, start)
            self.journal.add(self.level.n_points, self.name, start, stop, children.n_orbits, arrays, counts)
        self._take(start, stop, children, None)

    def parts(self) -> list[Any]:
        """The children, in the order of their parents."""
        return [children for _, (_, children) in sorted(self.done.items())]

    def _run_one(self, worker: Any, seconds: float) -> bool:
        """Do a unit of what is left; False if there is nothing left."""
        try:
            start, stop = self.left.popleft()
        except IndexError:
            return False
        before = worker.n_tested, worker.n_generated, worker.n_sets
        answer = worker.generate_some(self.level, start, stop, seconds)
        if answer is None:
            raise Stopped
        children, reached = answer
        if reached < stop:
            self.left.appendleft((reached, stop))
        counts = (worker.n_tested - before[0], worker.n_generated - before[1], worker.n_sets - before[2])
        self._finish(start, reached, children, counts)
        return True

    def run_here(self, seconds: float) -> bool:
        """Work for so long with one worker; True if that was all."""
        deadline = _levels.clock() + seconds
        while self.left and _levels.clock() < deadline:
            self._run_one(self.members.workers[0], deadline - _levels.clock())
        return not self.left

    def _share(self, n: int) -> None:
        """Cut what is left into about n pieces."""
        total = sum(stop - start for start, stop in self.left)
        size = max(1, -(-total // n))
        pieces = [
            (at, min(at + size, stop)) for start, stop in self.left for at in range(start, stop, size)
        ]
        self.left = deque(pieces)

    def run_threads(self) -> None:
        """Do what is left with the team's threads."""
        self._share(8 * len(self.members.workers))
        if self.members.pool is None:
            while self._run_one(self.members.workers[0], UNIT_SECONDS):
                pass
            return
        from concurrent.futures import FIRST_EXCEPTION, wait

        def drain(worker: Any) -> None:
            while self._run_one(worker, UNIT_SECONDS):
                pass

        pending = {self.members.pool.submit(drain, worker) for worker in self.members.workers}
        try:
            while pending:
                done, pending = wait(pending, timeout=0.05, return_when=FIRST_EXCEPTION)
                for future in done:
                    future.result()
        except BaseException:
            self.members.limits[_levels.STOP] = 1
            wait(pending)
            raise

    def run_elsewhere(self, relay: Relay) -> None:
        """Hand what is left to an executor."""
        from concurrent.futures import FIRST_COMPLETED, wait

        self._share(4 * relay.n_workers)
        running: dict[Future[Any], tuple[int, int]] = {}
        try:
            while self.left or running:
                while self.left and len(running) < 2 * relay.n_workers:
                    start, stop = self.left.popleft()
                    arrays = self.level.pack(start, stop)
                    future = relay.submit(self.members, self.level.n_points, stop - start, arrays)
                    running[future] = start, stop
                done, _ = wait(running, timeout=0.05, return_when=FIRST_COMPLETED)
                for future in done:
                    start, stop = running.pop(future)
                    self._receive(start, stop, relay.result(future), relay.n_workers)
                if _stopped(self.members.limits):
                    raise Stopped
        finally:
            for future in running:
                future.cancel()

    def _receive(self, start: int, stop: int, answer: UnitResult, n_workers: int) -> None:
        n_done, n_orbits, arrays, counts = answer
        reached = start + n_done
        self.members.limits[2] -= counts[0]
        if n_done == 0:  # it had too few tests left
            self.members.note_elsewhere(counts)
            self.members.limits[2] = -1
            raise Stopped
        if reached < stop:
            self.left.appendleft((reached, stop))
            if len(self.left) < n_workers:  # near the end of a level: smaller pieces, so that all end together
                self._share(4 * n_workers)
        if self.journal is not None:
            self.journal.add(self.level.n_points, self.name, start, reached, n_orbits, arrays, counts)
        self._take(start, reached, self._unpack(n_orbits, arrays, start), counts)


def _stopped(limits: Limits) -> bool:
    if _levels.clock() >= limits[1]:
        limits[_levels.STOP] = 1
    return bool(limits[_levels.STOP] or limits[2] < 0)


UnitResult = tuple[int, int, "Arrays", tuple[int, int, int]]


class Relay:
    """An executor and how to hand it units."""

    def __init__(self, executor: Any, problem: Problem) -> None:
        if hasattr(executor, "get_executor"):  # a dask client
            executor = executor.get_executor(pure=False)
        if not callable(getattr(executor, "submit", None)):
            raise TypeError(f"expected executor to be a concurrent.futures.Executor or a Dask client, got {executor!r}")
        self.executor: Executor = executor
        self.problem = problem.as_dict()
        self.n_workers = _count_workers(executor)

    def submit(self, members: Team, n_points: int, n_orbits: int, arrays: Arrays) -> Future[UnitResult]:
        """Hand out orbits, to be extended for `UNIT_SECONDS` or until the deadline."""
        left = float(members.limits[1]) - _levels.clock()
        try:
            return self.executor.submit(
                run_unit, self.problem, n_points, n_orbits, arrays, min(UNIT_SECONDS, left), float(members.limits[2])
            )
        except Exception as error:
            raise ExecutorError(_executor_trouble(error)) from error

    def result(self, future: Future[UnitResult]) -> UnitResult:
        """The result of a unit that is done."""
        try:
            return future.result()
        except Exception as error:
            raise ExecutorError(_executor_trouble(error)) from error


def _executor_trouble(error: Exception) -> str:
    return f"expected the executor to run a unit of the search, got {type(error).__name__}: {error}"


def _count_workers(executor: Any) -> int:
    """How many units an executor can run at a time, as far as it says."""
    client = getattr(executor, "_client", None)
    if client is not None and hasattr(client, "ncores"):
        return max(1, int(sum(client.ncores().values())))
    for name in ("_max_workers", "max_workers", "num_workers"):
        count = getattr(executor, name, None)
        if isinstance(count, int) and count > 0:
            return count
    return 8


@lru_cache(maxsize=4)
def _remote_worker(key: str) -> tuple[Engine, Any, Limits]:
    import json

    engine = engine_of(Problem.from_dict(json.loads(key)))
    limits = no_limits()
    return engine, engine.worker(limits), limits


def run_unit(
    problem: dict[str, Any], n_points: int, n_orbits: int, arrays: Arrays, seconds: float, tests_left: float
) -> UnitResult:
    """Extend orbits in another process: how many were done, their children, what was counted."""
    import json
    import threading

    key = json.dumps(problem, sort_keys=True)
    if threading.current_thread() is threading.main_thread():
        engine, worker, limits = _remote_worker(key)
    else:  # several threads of one process must not share a worker
        engine, worker, limits = _remote_worker.__wrapped__(key)
    limits[:] = (0.0, float("inf"), tests_left)
    before = worker.n_tested, worker.n_generated, worker.n_sets
    level = engine.unpack(n_points, n_orbits, arrays, 0)
    answer = worker.generate_some(level, 0, n_orbits, seconds)
    counts = (worker.n_tested - before[0], worker.n_generated - before[1], worker.n_sets - before[2])
    if answer is None:
        return 0, 0, (), counts
    children, n_done = answer
    return n_done, children.n_orbits, engine.pack_children(children, 0), counts

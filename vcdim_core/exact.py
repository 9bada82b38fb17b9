"""Exact VC dimension: the search over shattered samples, on features of every kind."""

from __future__ import annotations

import hashlib
import os
import time
from collections import Counter
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from . import _dive, _levels
from ._engines import CubeEngine, digest, engine_of
from ._levels_search import ExecutorError, OutOfRoom, Relay, Stopped, next_level, team
from ._problem import (
    MAX_CATEGORIES,
    MAX_FEATURES,
    MAX_POINTS,
    Problem,
    no_limits,
)
from ._progress import Printer
from ._quick_bounds import counting_bound, lower_orders, lower_sample
from ._validation import check_int, check_number
from ._witness import find_witness
from .features import Features, as_features
from .growth import growth_function, partitioning_function
from .results import LevelRecord, Point, Progress, SearchLimit, SearchStats, VCResult
from .samples import dichotomies, is_shattered, realize, unrealised

if TYPE_CHECKING:
    from concurrent.futures import Executor

    from ._engines import Engine
    from ._journal import Journal

DIVE_TESTS = 8000
"""Samples of the cube tested depth first before the search goes size by size: small searches end here."""
MEMORY_LIMIT = 7 << 28
"""Bytes that a search may hold unless told otherwise: 1.75 GiB."""
WITNESS_ORBITS = 2000
"""A level with so many orbits is worth looking for a witness first."""


def exact_vc(
    structure: object,
    d: int | None = None,
    *,
    real: int | None = None,
    features: Features | None = None,
    orientation: str = "free",
    nominal_splits: str = "one",
    n_jobs: int = 1,
    executor: Executor | Any = None,
) -> int:
    r"""Compute the VC dimension of a structure exactly.

    Parameters
    ----------
    structure : Structure, str, nested tuples or fitted scikit-learn tree
        The structure.
    d : int
        Number of binary features. (Or ``features=Features(binary=d)``.)
    real : int
        Number of real features. (Or ``features=Features(real=real)``.)
    features : Features
        Features of any kinds: at most 16, with at most 24 categories each.
    orientation : {"free", "fixed"}
        Whether a node may send either side of its test to either child.
    nominal_splits : {"one", "subset"}
        How a nominal feature is tested: one category against the others, or any set of categories.
    n_jobs : int
        Threads.
    executor : concurrent.futures.Executor or dask.distributed.Client, optional
        Where to extend samples; see `search_vc`.

    Returns
    -------
    int
        The size of the largest sample on which every labelling is realised.

    Raises
    ------
    SearchLimit
        If the value is larger than 24, the largest sample that is searched; carries the bracket.

    Notes ----- Shattered samples are grown one point at a time, one per orbit of the symmetries of the features; see
    `search_vc`. The cost grows with the number of orbits of shattered samples, roughly like :math:`2^{dV} / (V!\,
    d!\, 2^d)` on d binary features and :math:`(V!)^{l-1} / (l!\, 2^l)` on l real ones.

    References
    ----------
    O. Aslan, O. T. Yildiz, E. Alpaydin, Calculating the VC-dimension of decision trees, ISCIS 2009.

    Examples
    --------
    >>> exact_vc(".", d=4), exact_vc("(..)", d=4), exact_vc("((..)(..))", d=4)
    (1, 3, 6)
    >>> exact_vc("((..).)", real=2), exact_vc("((..)(..))", real=2)
    (5, 8)
    >>> exact_vc("(...)", features=Features(multiway=[3, 3])), exact_vc("(..)", features=Features(real=1, nominal=[4]))
    (3, 3)
    """
    return search_vc(
        structure, d, real=real, features=features, orientation=orientation, nominal_splits=nominal_splits,
        n_jobs=n_jobs, executor=executor,
    ).value  # fmt: skip


def search_vc(
    structure: object,
    d: int | None = None,
    *,
    real: int | None = None,
    features: Features | None = None,
    orientation: str = "free",
    nominal_splits: str = "one",
    time_limit: float | None = None,
    node_limit: int | None = None,
    memory_limit: int | None = None,
    n_jobs: int = 1,
    executor: Executor | Any = None,
    progress: bool | Callable[[Progress], object] = False,
    checkpoint: str | os.PathLike[str] | None = None,
) -> VCResult:
    """Search for the VC dimension of a structure; stop at a limit with a bracket.

    Parameters
    ----------
    structure, d, real, features, orientation, nominal_splits, n_jobs
        As in `exact_vc`.
    time_limit : float, optional
        Seconds.
    node_limit : int, optional
        Samples that may be tested (with an executor: before the units that are out).
    memory_limit : int, optional
        Bytes the levels and workers of the search may hold; 1.75 GiB unless given.
    executor : concurrent.futures.Executor or dask.distributed.Client, optional
        Where to extend samples, in units of about two seconds: a process pool, ``mpi4py.futures``, a Dask cluster.
        The first quarter of a second of each size is done here, so small searches never leave the process.
    progress : bool or callable
        True prints to standard error (a bar if tqdm is installed); a callable gets a `Progress`.
    checkpoint : path, optional
        A journal of finished units. The same call with the same path goes on where an earlier one ended, even one that
        was killed.

    Returns
    -------
    VCResult
        With ``lower``, ``upper``, ``exact``, ``value``, ``witness``, ``certificate`` and ``stats``. The result does
        not depend on ``n_jobs`` or ``executor``, except where a time or memory limit stops the search.

    Raises
    ------
    ExecutorError
        If the executor dies. With a checkpoint nothing that was finished is lost.

    Notes ----- A lower bound with its sample starts the search, an upper bound stops it; equal bounds need no search
    at all. On binary features a depth-first search of at most a few thousand samples follows, which ends small cases.
    Then the search goes size by size, where a sample is tested only if all its subsets are still in play
    (``src/_levels.pyx``, ``src/_orbits.pyx``). Before a large size a beam of random shattered samples is grown, which
    raises the lower end early.

    Examples
    --------
    >>> result = search_vc("((..).)", d=4)
    >>> result.lower, result.upper, result.exact, len(result.witness)
    (5, 5, True, 5)
    >>> search_vc("(((..)(..))((..).))", d=6, node_limit=100).exact
    False
    >>> search_vc("((..).)", real=2).witness
    ((4, 3), (3, 2), (1, 0), (0, 1), (2, 4))
    """
    problem = Problem.checked(structure, as_features(d, real, features), orientation, nominal_splits)
    search = _Search(problem)
    search.set_limits(time_limit, node_limit, memory_limit)
    search.set_progress(progress)
    search.relay = None if executor is None else Relay(executor, problem)
    return search.run(check_int("n_jobs", n_jobs, 1, 256), checkpoint)


class _Search:
    """One search: its problem, its limits, what it knows so far."""

    def __init__(self, problem: Problem) -> None:
        self.started = time.monotonic()
        self.problem = problem
        self.limits = no_limits()
        self.time_limit: float | None = None
        self.memory_limit = MEMORY_LIMIT
        self.report: Callable[[Progress], object] | None = None
        self.relay: Relay | None = None
        self.last_report = 0.0
        self.samples = self.tested = self.sets = 0
        self.orbits: dict[int, int] = {}
        self.ledger: list[LevelRecord] = []
        self.limit: str | None = None
        self.witness: Sequence[Point] = ((0,) * problem.features.n_features,)
        self.upper, self.upper_source = _upper(problem)
        if problem.is_cube:
            codes = lower_sample(problem.structure, problem.features.binary)
            self.witness = _cube_points(codes, problem.features.binary)
        elif problem.features.real and problem.structure.is_binary:
            rest = (0,) * (problem.features.n_features - problem.features.real)
            self.witness = [point + rest for point in lower_orders(problem.structure, problem.features.real)]
        self.lower = len(self.witness)
        self.looked_for_witness = False
        self.keep_all = False  # drop no orbit that could be extended, whatever the target

    def set_limits(self, time_limit: float | None, node_limit: int | None, memory_limit: int | None) -> None:
        if time_limit is not None:
            self.time_limit = check_number("time_limit", time_limit, 0)
            self.limits[1] = _levels.clock() + self.time_limit
        if node_limit is not None:
            self.limits[2] = check_int("node_limit", node_limit, 0)
        if memory_limit is not None:
            self.memory_limit = check_int("memory_limit", memory_limit, 0)

    def set_progress(self, progress: bool | Callable[[Progress], object]) -> None:
        if callable(progress):
            self.report = progress
        elif not isinstance(progress, bool):
            raise TypeError(f"expected progress to be a bool or a callable, got {progress!r}")
        elif progress:
            self.report = Printer()

    def run(self, n_jobs: int, checkpoint: str | os.PathLike[str] | None) -> VCResult:
        """Search until the bracket is closed or a limit is reached."""
        try:
            if self.lower < self.upper:
                engine = engine_of(self.problem)
                if self.lower >= engine.most_points():
                    self.limit = "points"
                elif not (isinstance(engine, CubeEngine) and self._dive(engine)):
                    self._go_by_levels(engine, n_jobs, checkpoint)
        finally:
            if isinstance(self.report, Printer):
                self.report.close()
        return self._result()

    def _dive(self, engine: CubeEngine) -> bool:
        """Depth first for a while; True when that settled it or a limit stopped it."""
        ceiling = min(self.upper, MAX_POINTS)
        outcome, witness, kept, samples, tested, sets = _dive.dive(
            engine.table, engine.d, self.problem.fixed, self.lower + 1, ceiling, DIVE_TESTS, self.limits
        )
        self.samples += samples
        self.tested += tested
        self.sets += sets
        if witness:
            self._found(_cube_points(witness, engine.d))
        if outcome == "exhausted":
            self._exhausted()
            self.orbits = dict(enumerate(kept))
        elif outcome == "stopped":
            self.limit = self._reason()
        elif outcome == "ceiling":
            self.orbits = dict(enumerate(kept))
            self.limit = None if self.lower == self.upper else "points"
        return outcome != "budget"

    def _go_by_levels(self, engine: Engine, n_jobs: int, checkpoint: str | os.PathLike[str] | None) -> None:
        """Size by size, until a level is empty."""
        journal = _open_journal(checkpoint, self.problem, engine)
        try:
            with team(engine, self.limits, n_jobs) as members:
                before = self.samples, self.tested, self.sets

                def tick(size: int = 0, orbits: int = 0, done: int = 0) -> None:
                    self.samples = before[0] + members.n_generated
                    self.tested = before[1] + members.n_tested
                    self.sets = before[2] + members.n_sets
                    self._tell(size, orbits, done)

                try:
                    self._search_levels(members, journal, tick)
                except OutOfRoom:
                    self.limit = "memory"
                except Stopped:
                    self.limit = self._reason()
                finally:
                    tick()
        finally:
            if journal is not None:
                journal.close()

    def _search_levels(self, members: Any, journal: Journal | None, tick: Callable[[int, int, int], None]) -> None:
        engine = members.engine
        members.memory_limit = self.memory_limit
        most = engine.most_points()
        level = engine.first()
        self.orbits = {0: 1}
        while level.n_orbits and self.lower < self.upper:
            size = level.n_points + 1
            if size > most:
                self.limit = "points"
                return
            if level.n_orbits >= WITNESS_ORBITS:
                self._look_for_witness(members)

            def tell(done: int = 0, orbits: int = level.n_orbits, size: int = size) -> None:
                tick(size, orbits, done)

            before = members.n_tested, members.n_generated
            children = next_level(members, level, tell, journal, self.relay)
            self._record(engine, level, children, members.n_tested - before[0], members.n_generated - before[1])
            if children.n_orbits == 0:
                break
            if size > self.lower:
                self._found(self.problem.rows(engine.values(children.sample(0))))
            members.held = level.n_bytes + children.n_bytes
            members.hold(engine.room_to_prune(level, children))
            need = 1 if self.keep_all else max(1, engine.need(self.lower + 1, size))
            engine.prune(members, level, children, need, lambda n=level.n_orbits: tell(n))
            self.orbits[size] = children.n_orbits
            level = children
        if self.lower < self.upper and self.ledger and self.ledger[-1].orbits:
            self._record_nothing(engine, self.ledger[-1])
        self._exhausted()

    def _record_nothing(self, engine: Any, last: LevelRecord) -> None:
        """The last line of a ledger: no sample of one size left a candidate for the next."""
        cut = last.orbits * engine.kernel.n_positions(last.points)
        empty = hashlib.sha256().hexdigest()
        self.ledger.append(LevelRecord(last.points + 1, 0, 0, (), 0, 0, cut, empty, last.complete))

    def _record(self, engine: Engine, level: Any, children: Any, tested: int, generated: int) -> None:
        """A line of the ledger; on features of every kind only, where all shattered samples are kept."""
        if isinstance(engine, CubeEngine):
            return
        sizes = Counter(children.stabilisers())
        order = self.problem.group_order
        known = max(sizes, default=0) < 2**64 - 1
        self.ledger.append(
            LevelRecord(
                points=children.n_points,
                orbits=children.n_orbits,
                samples=sum(order // size * count for size, count in sizes.items()) if known else None,
                stabilisers=tuple(sorted(sizes.items())) if known else (),
                tested=tested,
                shattered=children.n_orbits,
                cut=level.n_orbits * engine.kernel.n_positions(level.n_points) - generated,
                digest=digest(children),
                complete=self.keep_all or self.problem.features.real > 0,
            )
        )

    def _look_for_witness(self, members: Any) -> None:
        """Raise the lower end, once."""
        if self.looked_for_witness or isinstance(members.engine, CubeEngine):
            return
        self.looked_for_witness = True
        sample = find_witness(members, self.upper, self.time_limit)
        if len(sample) > self.lower:
            self._found(self.problem.rows(members.engine.values(sample)))

    def _found(self, points: Sequence[Point]) -> None:
        self.witness, self.lower = points, len(points)

    def _exhausted(self) -> None:
        if self.lower < self.upper:
            self.upper, self.upper_source = self.lower, "exhausted"

    def _reason(self) -> str:
        return "nodes" if self.limits[2] < 0 else "time"

    def _tell(self, size: int, orbits: int, done: int) -> None:
        now = time.monotonic()
        if self.report is not None and size and now - self.last_report >= 0.1:
            self.last_report = now
            seconds = now - self.started
            self.report(Progress(size, self.tested, orbits, self.lower, self.upper, seconds, done, orbits))

    def _result(self) -> VCResult:
        largest = max((size for size, n in self.orbits.items() if n), default=-1)
        stats = SearchStats(
            samples=self.samples,
            tested=self.tested,
            orbits=tuple(self.orbits.get(size, 0) for size in range(largest + 1)),
            sets=self.sets,
            seconds=time.monotonic() - self.started,
            limit=self.limit,
        )
        problem = self.problem
        return VCResult(
            problem.structure, problem.features, problem.orientation, self.lower, self.upper, tuple(self.witness),
            stats, problem.nominal_splits, self.upper_source, tuple(self.ledger),
        )  # fmt: skip


def _upper(problem: Problem) -> tuple[int, str]:
    """An upper bound to start from, and its name; no exact value of a part is used."""
    if problem.is_trivial:
        return 1, "leaf"
    if problem.is_cube:
        return counting_bound(problem.structure, problem.features.binary, problem.fixed), "counting"
    from .bounds import vc_upper_bound

    names = ["counting"]
    names += ["points"] if not problem.features.real else []
    names += ["theorem9", "chain"] if problem.structure.is_binary else []
    if problem.nominal_splits == "subset" and problem.features.nominal:
        names = ["points"] if not problem.features.real else []  # the others count one category against the rest
    bounds = [
        (vc_upper_bound(problem.structure, features=problem.features, method=name), name) for name in names
    ]
    return min(bounds, default=(MAX_POINTS + 1, "none"))


def _open_journal(path: str | os.PathLike[str] | None, problem: Problem, engine: Engine) -> Journal | None:
    if path is None:
        return None
    from ._journal import Journal

    return Journal(path, problem, engine.name)


def _cube_points(codes: Sequence[int], d: int) -> tuple[Point, ...]:
    return tuple(tuple(code >> f & 1 for f in range(d)) for code in codes)


__all__ = [
    "MAX_CATEGORIES",
    "MAX_FEATURES",
    "MAX_POINTS",
    "ExecutorError",
    "SearchLimit",
    "dichotomies",
    "exact_vc",
    "growth_function",
    "is_shattered",
    "partitioning_function",
    "realize",
    "search_vc",
    "unrealised",
]

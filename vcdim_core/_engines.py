"""The two search kernels behind one interface: subsets of the cube, and samples on features of every kind.

Both go size by size with one sample per orbit. `_levels` knows the cube's points by number, which makes it several
times faster there; `_orbits` knows the kinds of `src/kinds.pxd`. An engine makes levels and workers, and has a
level's orbits pruned.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from . import _levels, _orbits
from ._problem import MAX_POINTS, Problem

if TYPE_CHECKING:
    import numpy.typing as npt

    from ._levels_search import Team

    Limits = npt.NDArray[np.float64]
    Tick = Callable[[], None]

MIN_DEATHS = 1 / 8
"""Prune again while at least this share of a level died: what follows from fewer deaths is not worth a pass."""

Arrays = tuple[bytes, ...]


class CubeEngine:
    """Binary features: `_levels`."""

    name = "cube"

    def __init__(self, problem: Problem) -> None:
        self.problem = problem
        self.d = problem.features.binary
        self.table = np.maximum(problem.table, 0)

    def worker(self, limits: Limits) -> Any:
        """A worker for one thread."""
        return _levels.Worker(self.table, self.d, self.problem.fixed, limits)

    def first(self) -> Any:
        """The level of the empty sample."""
        return _levels.first_level(self.d, self.problem.fixed)

    def join(self, parts: list[Any]) -> Any:
        """The slices of a level, put together."""
        return _levels.join_levels(parts)

    def open(self, level: Any) -> None:
        """Make every other point a candidate."""
        _levels.open_candidates(level)

    def unpack(self, n_points: int, n_orbits: int, arrays: Arrays, first_parent: int) -> Any:
        """A level from what `pack_children` or its ``pack`` gave; its parents are numbered from ``first_parent`` on."""
        return _levels.unpack(n_points, self.d, n_orbits, arrays, first_parent)

    def pack_children(self, children: Any, first_parent: int) -> Arrays:
        """New children as bytes; the parents are counted from the first."""
        arrays: Arrays = children.pack(0, children.n_orbits, first_parent)
        return arrays

    def most_points(self) -> int:
        """The largest size that can be searched."""
        return MAX_POINTS

    def need(self, target: int, size: int) -> int:
        """The number of candidates without which a sample cannot grow to the target."""
        return target - size

    def room_to_prune(self, parents: Any, level: Any) -> int:
        """The bytes that `prune` will take."""
        return int(_levels.room_to_prune(parents, level))

    def prune(self, team: Team, parents: Any, level: Any, need: int, tick: Tick) -> None:
        """Give each orbit of a level its candidates and drop those that have fewer than ``need``."""
        _levels.allocate_links(level, parents)
        team.over(level.n_orbits, lambda worker, a, b: worker.link(parents, level, a, b), tick)
        alive = level.n_orbits
        while True:
            _levels.mark(parents, level)
            team.over(parents.n_orbits, lambda worker, a, b: worker.close(parents, a, b), tick)
            died = sum(team.over(level.n_orbits, lambda _, a, b: _levels.prune(parents, level, need, a, b), tick))
            alive -= died
            if died <= alive * MIN_DEATHS:
                break
        _levels.compact(level)

    def values(self, sample: Sequence[int]) -> list[list[int]]:
        """The points of a sample in the order of the kernels."""
        return [[code >> f & 1 for f in range(self.d)] for code in sample]


class KindsEngine:
    """Features of every kind: `_orbits`."""

    name = "kinds"

    def __init__(self, problem: Problem) -> None:
        self.problem = problem
        self.kernel = _orbits.Problem(problem.columns, problem.fixed)

    def worker(self, limits: Limits) -> Any:
        """A worker for one thread."""
        return _orbits.Worker(self.kernel, self.problem.table, limits)

    def first(self) -> Any:
        """The level of the empty sample."""
        return _orbits.first_level(self.kernel)

    def join(self, parts: list[Any]) -> Any:
        """The slices of a level, put together."""
        return _orbits.join_levels(parts)

    def open(self, level: Any) -> None:
        """Make every other position a candidate."""
        _orbits.open_candidates(level)

    def unpack(self, n_points: int, n_orbits: int, arrays: Arrays, first_parent: int) -> Any:
        """A level from what `pack_children` or its ``pack`` gave; parents are not noted here."""
        return _orbits.unpack(self.kernel, n_points, n_orbits, arrays)

    def pack_children(self, children: Any, first_parent: int) -> Arrays:
        """New children as bytes."""
        arrays: Arrays = children.pack(0, children.n_orbits)
        return arrays

    def most_points(self) -> int:
        """The largest size that can be searched: positions of a new point are numbered, up to a limit."""
        return next((m for m in range(MAX_POINTS) if self.kernel.n_positions(m) == 0), MAX_POINTS)

    def need(self, target: int, size: int) -> int:
        """The number of candidates without which a sample cannot grow to the target."""
        if self.problem.features.real:
            return 1  # a gap takes any number of points
        return target - size

    def room_to_prune(self, parents: Any, level: Any) -> int:
        """The bytes that `prune` will take."""
        return int(_orbits.room_to_prune(parents, level))

    def prune(self, team: Team, parents: Any, level: Any, need: int, tick: Tick) -> None:
        """Give each orbit of a level its candidates and drop those that have fewer than ``need``."""
        _orbits.allocate_marks(level, parents)
        alive = level.n_orbits
        while True:
            _orbits.clear_marks(parents)
            team.over(level.n_orbits, lambda worker, a, b: worker.mark(parents, level, a, b), tick)
            team.over(parents.n_orbits, lambda worker, a, b: worker.close(parents, a, b), tick)
            died = sum(team.over(level.n_orbits, lambda w, a, b: w.prune(parents, level, need, a, b), tick))
            alive -= died
            if need <= 1 or died <= alive * MIN_DEATHS:
                break
        _orbits.compact(level)

    def values(self, sample: Sequence[int]) -> list[list[int]]:
        """The points of a sample in the order of the kernels."""
        return self.kernel.values(sample)


Engine = CubeEngine | KindsEngine


def engine_of(problem: Problem) -> Engine:
    """The faster engine for a problem."""
    return CubeEngine(problem) if problem.is_cube else KindsEngine(problem)


def digest(level: Any) -> str:
    """A name for the orbits of a level, in their order."""
    return hashlib.sha256(level.form_bytes()).hexdigest()

"""The growth function and the partitioning functions, exactly: over all samples of m points, one per orbit."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from . import _realise
from ._engines import engine_of
from ._levels_search import all_children, team
from ._problem import MAX_POINTS, Problem, no_limits
from ._validation import check_int
from .features import Features, as_features
from .samples import Splits

__all__ = ["growth_function", "partitioning_function"]


def growth_function(
    structure: object,
    m: int,
    d: int | None = None,
    *,
    real: int | None = None,
    features: Features | None = None,
    orientation: str = "free",
    nominal_splits: str = "one",
    n_jobs: int = 1,
) -> int:
    """Compute the growth function: the most labellings realised on any sample of m points.

    Parameters
    ----------
    structure, d, real, features, orientation, nominal_splits, n_jobs
        As in `exact_vc`.
    m : int
        Number of points, at most 24.

    Returns
    -------
    int
        Exact.

    Notes ----- Repeating a point never helps, so samples have distinct points, one sample per orbit; where there are
    fewer points than m (2^d on d binary features) the value is that of all of them. All orbits are looked at: small m
    only.

    Examples
    --------
    >>> [growth_function("(..)", m, d=2) for m in range(5)]
    [1, 2, 4, 6, 6]
    """
    orbits = _Orbits(Problem.checked(structure, as_features(d, real, features), orientation, nominal_splits), m)
    if orbits.engine is None:
        return 2 if orbits.m else 1
    return orbits.most(lambda worker, level, a, b: worker.most_dichotomies(level, a, b), n_jobs)


def partitioning_function(
    structure: object,
    m: int,
    c: int,
    d: int | None = None,
    *,
    real: int | None = None,
    features: Features | None = None,
    orientation: str = "free",
    nominal_splits: str = "one",
    n_jobs: int = 1,
) -> int:
    """Compute the c-partitioning function: the most partitions into c parts realised on any sample of m points.

    Parameters
    ----------
    structure, d, real, features, orientation, nominal_splits, n_jobs
        As in `exact_vc`.
    m : int
        Number of points, at most 24.
    c : int
        Number of non-empty parts.

    Returns
    -------
    int
        Exact.

    Notes
    -----
    A tree realises a partition if its leaves can be grouped into c classes so that the classes cut the sample into
    those parts. Adding a point never loses a partition, so distinct points suffice. For two parts this is half of
    what the growth function counts besides the two constant labellings.

    References
    ----------
    J.-S. Leboeuf, F. LeBlanc, M. Marchand, Decision trees as partitioning machines to characterize their
    generalization properties, NeurIPS 2020.

    Examples
    --------
    >>> [partitioning_function("(..)", m, 2, d=3) for m in range(1, 5)]
    [0, 1, 3, 3]
    """
    c = check_int("c", c, 1)
    orbits = _Orbits(Problem.checked(structure, as_features(d, real, features), orientation, nominal_splits), m)
    if c > orbits.m:
        return 0
    if c == 1:
        return 1
    if orbits.engine is None:
        return 0
    if c == 2:
        return (orbits.most(lambda worker, level, a, b: worker.most_dichotomies(level, a, b), n_jobs) - 2) // 2
    return orbits.most(lambda _, level, a, b: orbits.most_partitions(level, a, b, c), n_jobs)


class _Orbits:
    """All samples of m points, one per orbit."""

    def __init__(self, problem: Problem, m: int) -> None:
        self.problem = problem
        self.m = check_int("m", m, 0, MAX_POINTS)
        if not problem.features.real:
            self.m = min(self.m, problem.n_samples(1))  # repeating a point adds nothing
        self.engine = engine_of(problem) if not problem.is_trivial else None
        if self.engine is not None and self.m > self.engine.most_points():
            raise ValueError(f"expected at most {self.engine.most_points()} points on {problem.features}, got {m}")
        self.limits = no_limits()

    def most(self, count: Callable[[Any, Any, int, int], int], n_jobs: int) -> int:
        """The largest count over all orbits; ``count`` takes a worker, a level and a range of orbits."""
        assert self.engine is not None
        with team(self.engine, self.limits, check_int("n_jobs", n_jobs, 1, 256)) as members:
            level = self.engine.first()
            for size in range(1, self.m + 1):
                level = all_children(members, level, lambda: None)
                if size < self.m:
                    self.engine.open(level)
            return max(members.over(level.n_orbits, lambda worker, a, b: count(worker, level, a, b), lambda: None))

    def most_partitions(self, level: Any, start: int, stop: int, c: int) -> int:
        """The most partitions into c parts on any of the orbits start .. stop-1."""
        return max(self.partitions(level.sample(i), c) for i in range(start, stop))

    def partitions(self, sample: list[int], c: int) -> int:
        """The number of partitions of one sample into c parts."""
        assert self.engine is not None
        columns = self.problem.columns.copy()
        values = np.array(self.engine.values(sample), dtype=np.uint8)
        for place in range(self.problem.features.real):
            columns[place] = 1, len(values) + 2  # ranks, with room beyond at either end
            values[:, place] += 1
        splits = Splits(values, columns, self.problem.fixed)
        return _realise.count_partitions(
            self.problem.table, splits.cuts, splits.parts, splits.part_sizes, len(values), c, self.problem.fixed,
            self.limits,
        )  # fmt: skip

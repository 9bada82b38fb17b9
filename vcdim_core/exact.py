"""Exact VC dimension, dichotomies, growth and partitioning functions on binary features."""

from __future__ import annotations

import math
import sys
import time
from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np

from . import _dive, _levels, _shatter
from ._levels_search import Stopped, next_level, prune_level, team
from ._quick_bounds import counting_bound, lower_sample
from ._validation import check_choice, check_int, check_number
from .features import Features, as_features
from .results import Point, Progress, SearchLimit, SearchStats, VCResult
from .structures import Structure, as_structure

if TYPE_CHECKING:
    import numpy.typing as npt

    from ._levels_search import Limits, Table
    from .trees import Tree

MAX_POINTS = 24
"""Points of a sample: beyond, 2^23 labellings times the trees tried are out of reach."""
MAX_FEATURES = 16
"""Binary features."""
MAX_HEIGHT = 1000
"""Height of a structure that is searched: the recursion of the kernels goes as deep."""
DIVE_TESTS = 8000
"""Samples tested depth first before the search goes size by size: small searches end here."""

ORIENTATIONS = ("free", "fixed")


def exact_vc(
    structure: object,
    d: int | None = None,
    *,
    real: int | None = None,
    features: Features | None = None,
    orientation: str = "free",
    n_jobs: int = 1,
) -> int:
    r"""Compute the VC dimension of a structure exactly.

    Parameters
    ----------
    structure : Structure, str, nested tuples or fitted scikit-learn tree
        The structure.
    d : int
        Number of binary features, at most 16. (Or ``features=Features(binary=d)``.)
    real, features : optional
        Other ways to say what a node may test.
    orientation : {"free", "fixed"}
        Whether a node may send either side of its test to either child.
    n_jobs : int
        Threads.

    Returns
    -------
    int
        The size of the largest sample on which every labelling is realised.

    Raises
    ------
    SearchLimit
        If the value is larger than 24, the largest sample that is searched; carries the bracket.

    Notes
    -----
    Shattered samples are grown one point at a time, one per orbit of the symmetries of the cube; see `search_vc`.
    The cost grows with the number of orbits of shattered samples, roughly like :math:`2^{dV} / (V!\, d!\, 2^d)`.

    References
    ----------
    O. Aslan, O. T. Yildiz, E. Alpaydin, Calculating the VC-dimension of decision trees, ISCIS 2009.

    Examples
    --------
    >>> exact_vc(".", d=4), exact_vc("(..)", d=4), exact_vc("((..)(..))", d=4)
    (1, 3, 6)
    """
    return search_vc(structure, d, real=real, features=features, orientation=orientation, n_jobs=n_jobs).value


def search_vc(
    structure: object,
    d: int | None = None,
    *,
    real: int | None = None,
    features: Features | None = None,
    orientation: str = "free",
    time_limit: float | None = None,
    node_limit: int | None = None,
    memory_limit: int | None = None,
    n_jobs: int = 1,
    progress: bool | Callable[[Progress], object] = False,
) -> VCResult:
    """Search for the VC dimension of a structure; stop at a limit with a bracket.

    Parameters
    ----------
    structure, d, real, features, orientation, n_jobs
        As in `exact_vc`.
    time_limit : float, optional
        Seconds.
    node_limit : int, optional
        Samples that may be tested.
    memory_limit : int, optional
        Bytes the search may hold.
    progress : bool or callable
        True prints a line to standard error now and then; a callable gets a `Progress`.

    Returns
    -------
    VCResult
        With ``lower``, ``upper``, ``exact``, ``value``, ``witness`` and ``stats``. The result does not depend on
        ``n_jobs``, except where a time or memory limit stops the search.

    Notes
    -----
    A lower bound with its sample starts the search, an upper bound stops it; equal bounds need no search at all. A
    depth-first search of at most a few thousand samples follows, which ends small cases; the others go on size by
    size, where a sample is tested only if all its subsets are still in play (``src/_levels.pyx``).

    Examples
    --------
    >>> result = search_vc("((..).)", d=4)
    >>> result.lower, result.upper, result.exact, len(result.witness)
    (5, 5, True, 5)
    >>> search_vc("(((..)(..))((..).))", d=6, node_limit=100).exact
    False
    """
    search = _Search(structure, _binary_features(d, real, features), orientation)
    search.set_limits(time_limit, node_limit, memory_limit)
    search.set_progress(progress)
    return search.run(check_int("n_jobs", n_jobs, 1, 256))


class _Search:
    """One search: its problem, its limits, what it knows so far."""

    def __init__(self, structure: object, features: Features, orientation: str) -> None:
        self.started = time.monotonic()
        self.structure = as_structure(structure)
        self.features = features
        self.d = features.binary
        self.orientation = check_choice("orientation", orientation, ORIENTATIONS)
        self.fixed = orientation == "fixed"
        self.table = _table(self.structure, self.fixed)
        self.limits = _no_limits()
        self.memory_limit: int | None = None
        self.report: Callable[[Progress], object] | None = None
        self.last_report = 0.0
        self.witness: Sequence[int] = lower_sample(self.structure, self.d)
        self.lower = len(self.witness)
        self.upper = counting_bound(self.structure, self.d, self.fixed)
        self.samples = self.tested = self.sets = 0
        self.orbits: dict[int, int] = {}
        self.limit: str | None = None

    def set_limits(self, time_limit: float | None, node_limit: int | None, memory_limit: int | None) -> None:
        if time_limit is not None:
            self.limits[1] = _levels.clock() + check_number("time_limit", time_limit, 0)
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
            self.report = _print_progress

    def run(self, n_jobs: int) -> VCResult:
        """Search until the bracket is closed or a limit is reached."""
        if self.lower < self.upper:
            if self.lower >= MAX_POINTS:
                self.limit = "points"
            elif not self._dive():
                self._go_by_levels(n_jobs)
        return self._result()

    def _dive(self) -> bool:
        """Depth first for a while; True when that settled it or a limit stopped it."""
        ceiling = min(self.upper, MAX_POINTS)
        outcome, witness, kept, samples, tested, sets = _dive.dive(
            self.table, self.d, self.fixed, self.lower + 1, ceiling, DIVE_TESTS, self.limits
        )
        self.samples += samples
        self.tested += tested
        self.sets += sets
        if witness:
            self.witness, self.lower = witness, len(witness)
        if outcome == "exhausted":
            self.upper = self.lower
            self.orbits = dict(enumerate(kept))
        elif outcome == "stopped":
            self.limit = self._reason()
        elif outcome == "ceiling":
            self.orbits = dict(enumerate(kept))
            self.limit = None if self.lower == self.upper else "points"
        return outcome != "budget"

    def _go_by_levels(self, n_jobs: int) -> None:
        """Size by size, until a level is empty."""
        with team(self.table, self.d, self.fixed, self.limits, n_jobs) as members:
            before = self.samples, self.tested, self.sets

            def tick(size: int = 0, orbits: int = 0) -> None:
                self.samples = before[0] + members.n_generated
                self.tested = before[1] + members.n_tested
                self.sets = before[2] + members.n_sets
                self._tell(size, orbits)

            try:
                self._search_levels(members, tick)
            except Stopped:
                self.limit = self._reason()
            finally:
                tick()

    def _search_levels(self, members: Any, tick: Callable[[int, int], None]) -> None:
        level = _levels.first_level(self.d, self.fixed)
        self.orbits = {0: 1}
        while level.n_orbits and self.lower < self.upper:
            size = level.n_points + 1
            if size > MAX_POINTS:
                self.limit = "points"
                return

            def tell(size: int = size, orbits: int = level.n_orbits) -> None:
                tick(size, orbits)

            children = next_level(members, level, tell)
            if children.n_orbits == 0:
                break
            if size > self.lower:
                self.witness, self.lower = children.sample(0), size
            if self.memory_limit is not None and members.n_bytes + level.n_bytes + children.n_bytes > self.memory_limit:
                self.limit = "memory"
                return
            prune_level(members, level, children, self.lower + 1 - size, tell)
            self.orbits[size] = children.n_orbits
            level = children
        self.upper = self.lower

    def _reason(self) -> str:
        return "nodes" if self.limits[2] < 0 else "time"

    def _tell(self, size: int, orbits: int) -> None:
        now = time.monotonic()
        if self.report is not None and size and now - self.last_report >= 0.1:
            self.last_report = now
            self.report(Progress(size, self.tested, orbits, self.lower, self.upper, now - self.started))

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
        witness = tuple(_as_point(code, self.d) for code in self.witness)
        return VCResult(self.structure, self.features, self.orientation, self.lower, self.upper, witness, stats)


def is_shattered(
    structure: object, X: object, *, features: Features | None = None, orientation: str = "free"
) -> bool:
    """Say whether every labelling of a sample is realised by some tree of the structure.

    Parameters
    ----------
    structure : Structure, str, nested tuples or fitted scikit-learn tree
        The structure.
    X : array-like of shape (m, d)
        The sample: m points on d binary features, entries 0 or 1. At most 24 distinct points and 16 features.
    features : Features, optional
        What the columns are, if that is to be checked; only binary features are known so far.
    orientation : {"free", "fixed"}
        Whether a node may send either side of its test to either child.

    Returns
    -------
    bool
        False whenever two points are equal: they cannot be labelled differently.

    Examples
    --------
    >>> is_shattered("(..)", [[0, 0, 0], [0, 1, 1], [1, 0, 1]])
    True
    >>> is_shattered("(..)", [[0, 0], [0, 1], [1, 0]])
    False
    """
    return unrealised(structure, X, features=features, orientation=orientation) is None


def unrealised(
    structure: object, X: object, *, features: Features | None = None, orientation: str = "free"
) -> tuple[int, ...] | None:
    """Find a labelling of a sample that no tree of the structure realises.

    Parameters
    ----------
    structure, X, features, orientation
        As in `is_shattered`.

    Returns
    -------
    tuple of int or None
        Labels 0 and 1, one per point; None if the sample is shattered.

    Examples
    --------
    >>> unrealised("(..)", [[0, 0], [0, 1], [1, 0], [1, 1]])
    (0, 1, 0, 0)
    >>> unrealised("((..)(..))", [[0, 0], [0, 1], [1, 0], [1, 1]]) is None
    True
    """
    problem = _Sample(structure, X, features, orientation)
    rows = problem.rows
    for i, row in enumerate(rows):
        if row in rows[:i]:
            return tuple(int(j == i) for j in range(len(rows)))
    labels = _shatter.find_unrealised(problem.table, problem.points, problem.d, problem.fixed, _no_limits())
    return None if labels < 0 else tuple(labels >> i & 1 for i in range(len(rows)))


def dichotomies(
    structure: object, X: object, *, features: Features | None = None, orientation: str = "free"
) -> int:
    """Count the labellings of a sample that trees of the structure realise.

    Parameters
    ----------
    structure, X, features, orientation
        As in `is_shattered`.

    Returns
    -------
    int
        Between 2 (the constant labellings; 1 for an empty sample) and 2^m.

    Notes
    -----
    Cost: 2^(m-1) / 256 steps of O(d) for each pair of a substructure and a subset that its path can cut out.

    Examples
    --------
    >>> dichotomies("(..)", [[0, 0], [0, 1], [1, 0], [1, 1]])
    6
    """
    problem = _Sample(structure, X, features, orientation)
    return int(_shatter.count_dichotomies(problem.table, problem.points, problem.d, problem.fixed, _no_limits()))


def realize(
    structure: object,
    X: object,
    y: Sequence[object] | npt.NDArray[Any],
    *,
    features: Features | None = None,
    orientation: str = "free",
) -> Tree | None:
    """Find a tree with this structure and these labels.

    Parameters
    ----------
    structure, X, features, orientation
        As in `is_shattered`.
    y : array-like of m labels
        Any number of classes.

    Returns
    -------
    Tree or None
        A tree with ``tree.predict(X)`` equal to y, or None if there is none. Its left child takes value 0; with
        orientation free its structure is the given one up to swapping children.

    Examples
    --------
    >>> X = [[0, 0], [0, 1], [1, 0], [1, 1]]
    >>> tree = realize("((..)(..))", X, [0, 1, 1, 0])
    >>> tree.predict(X).tolist()
    [0, 1, 1, 0]
    >>> realize("((..).)", X, [0, 1, 1, 0]) is None
    True
    """
    from .trees import Tree

    problem = _Sample(structure, X, features, orientation)
    labels = np.asarray(y)
    if labels.shape != (len(problem.rows),):
        raise ValueError(f"expected one label per point, {len(problem.rows)}, got labels of shape {labels.shape}")
    if len(labels) == 0:
        raise ValueError("expected at least one point to realise, got 0")
    classes, codes = np.unique(labels, return_inverse=True)
    if not problem.consistent(codes):
        return None
    firsts = problem.firsts
    nodes = _shatter.realise(
        problem.table, problem.points, codes[firsts].astype(np.int32), problem.d, problem.fixed, _no_limits()
    )
    return None if nodes is None else _build_tree(Tree, nodes, problem, codes, classes)


def growth_function(
    structure: object,
    m: int,
    d: int | None = None,
    *,
    real: int | None = None,
    features: Features | None = None,
    orientation: str = "free",
    n_jobs: int = 1,
) -> int:
    """Compute the growth function: the most labellings realised on any sample of m points.

    Parameters
    ----------
    structure, d, real, features, orientation, n_jobs
        As in `exact_vc`.
    m : int
        Number of points, at most 24.

    Returns
    -------
    int
        Exact.

    Notes
    -----
    Repeating a point never helps, so samples are subsets of the cube, one per orbit; for m > 2^d the value is that
    of 2^d. All orbits are looked at: small m only.

    Examples
    --------
    >>> [growth_function("(..)", m, d=2) for m in range(5)]
    [1, 2, 4, 6, 6]
    """
    problem = _Orbits(structure, m, _binary_features(d, real, features), orientation)
    if problem.table.shape[0] == 1 or problem.d == 0:
        return 2 if problem.m else 1
    return problem.most(lambda worker, level, a, b: worker.most_dichotomies(level, a, b), n_jobs)


def partitioning_function(
    structure: object,
    m: int,
    c: int,
    d: int | None = None,
    *,
    real: int | None = None,
    features: Features | None = None,
    orientation: str = "free",
    n_jobs: int = 1,
) -> int:
    """Compute the c-partitioning function: the most partitions into c parts realised on any sample of m points.

    Parameters
    ----------
    structure, d, real, features, orientation, n_jobs
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
    problem = _Orbits(structure, m, _binary_features(d, real, features), orientation)
    if c > problem.m:
        return 0
    if c == 1:
        return 1
    if problem.table.shape[0] == 1 or problem.d == 0:
        return 0
    if c == 2:
        return (problem.most(lambda worker, level, a, b: worker.most_dichotomies(level, a, b), n_jobs) - 2) // 2
    return problem.most(lambda _, level, a, b: problem.most_partitions(level, a, b, c), n_jobs)


class _Orbits:
    """All samples of m points of the cube, one per orbit."""

    def __init__(self, structure: object, m: int, features: Features, orientation: str) -> None:
        self.d = features.binary
        self.m = min(check_int("m", m, 0, MAX_POINTS), 2**self.d)
        self.fixed = check_choice("orientation", orientation, ORIENTATIONS) == "fixed"
        self.table = _table(as_structure(structure), self.fixed)
        self.limits = _no_limits()

    def most(self, count: Callable[[Any, _levels.Level, int, int], int], n_jobs: int) -> int:
        """The largest count over all orbits; ``count`` takes a worker, a level and a range of orbits."""
        with team(self.table, self.d, self.fixed, self.limits, check_int("n_jobs", n_jobs, 1, 256)) as members:
            level = _levels.first_level(self.d, self.fixed)
            for size in range(1, self.m + 1):
                level = next_level(members, level, lambda: None, test=False)
                if size < self.m:
                    _levels.open_candidates(level)
            return max(members.over(level.n_orbits, lambda worker, a, b: count(worker, level, a, b), lambda: None))

    def most_partitions(self, level: _levels.Level, start: int, stop: int, c: int) -> int:
        """The most partitions into c parts on any of the orbits start .. stop-1."""
        return max(
            _shatter.count_partitions(
                self.table, np.array(level.sample(i), dtype=np.uint16), c, self.d, self.fixed, self.limits
            )
            for i in range(start, stop)
        )


class _Sample:
    """A sample as given and as the kernels take it: distinct points, one 16-bit number each."""

    def __init__(self, structure: object, X: object, features: Features | None, orientation: str) -> None:
        self.structure = as_structure(structure)
        self.fixed = check_choice("orientation", orientation, ORIENTATIONS) == "fixed"
        self.table = _table(self.structure, self.fixed)
        self.rows = _binary_rows(X)
        self.d = len(self.rows[0]) if self.rows else 0
        if features is not None:
            wanted = _binary_features(None, None, features).binary
            if self.rows and wanted != self.d:
                raise ValueError(f"expected {wanted} columns, one per feature, got {self.d}")
            self.d = wanted
        if self.d == 0:
            self.table = self.table[:1]         # with no feature to test, a structure is a leaf
        self.codes = [sum(value << f for f, value in enumerate(row)) for row in self.rows]
        distinct = list(dict.fromkeys(self.codes))
        if len(distinct) > MAX_POINTS:
            raise ValueError(f"expected at most {MAX_POINTS} distinct points, got {len(distinct)}")
        self.points = np.array(distinct, dtype=np.uint16)
        self.firsts = [self.codes.index(code) for code in distinct]

    def consistent(self, labels: npt.NDArray[Any]) -> bool:
        """Whether equal points have equal labels."""
        return all(labels[i] == labels[self.codes.index(code)] for i, code in enumerate(self.codes))


def _build_tree(tree_class: type[Tree], nodes: Any, problem: _Sample, codes: Any, classes: Any) -> Tree:
    """The nodes of ``_shatter.realise`` as a `Tree` whose node values are class counts."""
    arity = [2 if problem.d and t else 0 for t, _, _ in nodes]
    children: list[tuple[int, ...]] = [()] * len(nodes)
    pending: list[list[int]] = []
    for i in range(len(nodes)):
        if pending:
            pending[-1].append(i)
        if arity[i]:
            pending.append([i])
        else:
            while pending and len(pending[-1]) == 3:
                first, *rest = pending.pop()
                children[first] = tuple(rest)
    place = {int(code): j for j, code in enumerate(problem.points)}
    value = np.zeros((len(nodes), len(classes)))
    for code, label in zip(problem.codes, codes, strict=True):
        value[[i for i, (_, _, mask) in enumerate(nodes) if mask >> place[code] & 1], label] += 1
    feature = [f for _, f, _ in nodes]
    threshold = [0.0 if f < 0 else 0.5 for f in feature]
    return tree_class(feature, [0] * len(nodes), threshold, children, value, classes, max(problem.d, 1))


def _binary_features(d: int | None, real: int | None, features: Features | None) -> Features:
    """The features, checked to be binary and few enough for the exact engine."""
    checked = as_features(d, real, features)
    if checked.n_features != checked.binary:
        raise ValueError(f"expected binary features only, the ones the exact search knows, got {checked}")
    if checked.binary > MAX_FEATURES:
        raise ValueError(f"expected at most {MAX_FEATURES} binary features, got {checked.binary}")
    return checked


@lru_cache(maxsize=256)
def _table(structure: Structure, fixed: bool) -> Table:
    """Children of each distinct substructure, the leaf first and the whole last."""
    if not structure.is_binary:
        raise ValueError(
            f"expected a structure whose nodes have two children, as binary features do, got {structure} "
            f"with a node of {structure.max_arity}"
        )
    if structure.height > MAX_HEIGHT:
        raise ValueError(f"expected a structure of height at most {MAX_HEIGHT}, got {structure.height}")
    rows = structure.table(unordered=not fixed)
    table = np.array([row or (0, 0) for row in rows], dtype=np.int32)
    table.flags.writeable = False
    return table


def _no_limits() -> Limits:
    """Limits for the kernels: stop flag, deadline, tests left."""
    return np.array([0.0, math.inf, math.inf])


def _binary_rows(X: object) -> list[Point]:
    """The rows of a sample of zeros and ones."""
    try:
        array = np.asarray(X)
    except ValueError:
        raise ValueError("expected a sample of shape (points, features), got rows of different lengths") from None
    if array.size == 0 and array.ndim < 2:
        return []
    if array.ndim != 2:
        raise ValueError(f"expected a sample of shape (points, features), got an array of {array.ndim} dimensions")
    if array.shape[1] > MAX_FEATURES:
        raise ValueError(f"expected at most {MAX_FEATURES} features, got {array.shape[1]}")
    if array.dtype.kind not in "biuf":
        raise TypeError(f"expected numbers 0 and 1, got an array of {array.dtype}")
    wrong = ~((array == 0) | (array == 1))
    if wrong.any():
        i, j = (int(v) for v in np.argwhere(wrong)[0])
        raise ValueError(f"expected every value to be 0 or 1, got {array[i, j]} in row {i}, column {j}")
    return [tuple(int(value) for value in row) for row in array]


def _as_point(code: int, d: int) -> Point:
    return tuple(code >> f & 1 for f in range(d))


def _print_progress(state: Progress) -> None:
    rate = state.samples / state.seconds if state.seconds else 0.0
    sys.stderr.write(
        f"size {state.size}: extending {state.orbits:,} samples, {state.samples:,} tested ({rate:,.0f}/s), "
        f"VC dimension between {state.lower} and {state.upper}\n"
    )


__all__ = [
    "MAX_FEATURES",
    "MAX_POINTS",
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

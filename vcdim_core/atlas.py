"""An atlas: the VC dimension of every small structure on few features, as one page to look at, as CSV and as JSON.

Each cell of the atlas is one structure on some features: all bounds that apply with their sources, a search of limited
time, the shattered sample that it found, and trees for the labellings of that sample.

A feature more does no harm, nor does a real feature in place of a binary one: a tree may leave it alone, or test it at
0.5. So a lower bound holds for more features too, and a sample that is shattered on fewer, with 0 for the others,
serves wherever the search finds a smaller one: the lower ends of a row never fall.

Trees for all labellings would be 2^m trees. But a tree that realises one labelling realises, with its tests kept and
its leaves relabelled, every labelling that is constant on each of its leaves, 2^k of them if k leaves are reached. So
a cell keeps trees *without* labels, made one by one for the first labelling that those before do not realise: a few
dozen cover the 1024 labellings of ten points.

>>> atlas = build(max_nodes=2, binary=3)
>>> print(atlas)
structure    1 binary  2 binary  3 binary
(..)                2         2         3
((..).)             2         3         4
"""

from __future__ import annotations

import csv
import io
import json
import re
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from ._files import write_atomically
from ._table import MULTIWAY, ONE, THRESHOLD
from ._validation import check_choice, check_int, check_number
from .bounds import Bound, Bracket, vc_bracket
from .exact import realize, search_vc
from .features import Features
from .structures import Structure, structures

if TYPE_CHECKING:
    import numpy.typing as npt

    from .results import Progress, VCResult
    from .trees import Tree

__all__ = ["Atlas", "Cell", "Witness", "build", "scan"]

GRADE_EFFORT = 20_000
"""Work allowed for searching again what a cell's certificate says is exhausted: a fraction of a second."""
MAX_LABELLED = 16
"""Points of a witness whose labellings get their trees: 65,536 labellings."""
MAX_NODES = 12
"""Nodes of a structure: there are 1,832 structures with 1 to 12."""
MAX_COLUMNS = 64
"""Columns of each kind."""
SUFFIXES = (".html", ".csv", ".json")
"""Formats that :meth:`Atlas.save` writes."""

TITLE = "Atlas of VC dimensions"

Question = tuple[str, int, Any]
"""A test: "<=" and a threshold, "=" and a category, "in" and categories, or "each" and one category per child."""
PlainTree = tuple[Question | None, ...]
"""A tree without labels: nodes and leaves in preorder, None for a leaf; a node's first child is the one of "yes"."""

_COLUMNS = (
    "structure", "nodes", "leaves", "height", "features", "status", "lower", "upper", "lower_source", "upper_source",
    "points", "grade", "seconds", "note",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Witness:
    """A shattered sample, and trees of the structure that realise its labellings."""

    points: tuple[tuple[float, ...], ...]
    """The sample, one tuple of feature values for each point."""
    trees: tuple[PlainTree, ...] = ()
    """Trees without labels: every labelling is constant on the leaves of one of them. Empty if there are too many."""
    source: str = ""
    """The features on which it was found, if those are not the ones of its cell."""


@dataclass(frozen=True, slots=True)
class Cell:
    """What is known about one structure on some features."""

    structure: Structure
    """The structure."""
    features: Features
    """The features."""
    lower: int
    """The VC dimension is at least this."""
    upper: int
    """The VC dimension is at most this."""
    lower_source: str
    """Where the lower bound comes from."""
    upper_source: str
    """Where the upper bound comes from."""
    bounds: tuple[Bound, ...] = ()
    """All bounds, of the named methods and of the search."""
    witness: Witness | None = None
    """A shattered sample, of the search or of a cell with fewer features; None if there is none."""
    grade: str = ""
    """What the certificate of the search proves; empty without one."""
    note: str = ""
    """Why there was no search, or what stopped it."""
    limit: str = ""
    """The limit that stopped the search: "time", "points" or "memory"; empty if none did."""
    seconds: float = 0.0
    """Time for bounds, search and trees."""

    @property
    def is_exact(self) -> bool:
        """Whether both bounds agree."""
        return self.lower == self.upper

    @property
    def status(self) -> str:
        """ "exact" or "bracket"."""
        return "exact" if self.is_exact else "bracket"

    @property
    def was_stopped(self) -> bool:
        """Whether a limit stopped the search before the value was known."""
        return not self.is_exact and bool(self.limit)

    @property
    def text(self) -> str:
        """The value, or the ends of the bracket."""
        return f"{self.lower}" if self.is_exact else f"{self.lower}–{self.upper}"

    def as_dict(self) -> dict[str, Any]:
        """Return the cell as JSON holds it."""
        own = ("lower", "upper", "lower_source", "upper_source", "grade", "note", "limit", "seconds", "status")
        bounds = [{key: getattr(bound, key) for key in ("side", "method", "value", "source")} for bound in self.bounds]
        witness = None
        if self.witness is not None:
            witness = {name: getattr(self.witness, name) for name in ("points", "trees", "source")}
        return {
            "structure": str(self.structure),
            "features": str(self.features),
            **{name: getattr(self, name) for name in own},
            "bounds": bounds,
            "witness": witness,
        }


@dataclass(frozen=True, slots=True)
class Atlas:
    """Structures by features: what was asked for, and the cells that there are.

    Examples
    --------
    >>> atlas = build(max_nodes=2, binary=2)
    >>> len(atlas.cells), atlas.n_exact, atlas.is_complete
    (4, 4, True)
    >>> print(atlas.csv().splitlines()[1].split(",")[:8])
    ['(..)', '1', '2', '1', '1 binary', 'exact', '2', '2']
    """

    structures: tuple[Structure, ...]
    """The rows."""
    columns: tuple[Features, ...]
    """The columns."""
    cells: tuple[Cell, ...] = field(repr=False)
    """The cells; fewer than rows times columns if the work was interrupted."""
    time_limit: float | None = None
    """Seconds that each search had."""
    title: str = TITLE
    """Heading of the page."""

    @property
    def n_exact(self) -> int:
        """How many cells are exact."""
        return sum(cell.is_exact for cell in self.cells)

    @property
    def is_complete(self) -> bool:
        """Whether every cell is there."""
        return len(self.cells) == len(self.structures) * len(self.columns)

    def by_place(self) -> dict[tuple[Structure, Features], Cell]:
        """Return the cells by structure and features."""
        return {(cell.structure, cell.features): cell for cell in self.cells}

    def as_dict(self) -> dict[str, Any]:
        """Return the atlas as JSON holds it."""
        return {
            "format": "vcdim_core atlas",
            "version": 1,
            "title": self.title,
            "time_limit": self.time_limit,
            "structures": [_shape(structure) for structure in self.structures],
            "features": [
                {"name": str(features), "key": key_of(features), "columns": features.columns}
                for features in self.columns
            ],
            "cells": [cell.as_dict() for cell in self.cells],
        }

    def json(self) -> str:
        """Return everything as JSON: bounds, witnesses and trees."""
        return json.dumps(self.as_dict(), ensure_ascii=False, allow_nan=False, separators=(",", ":")) + "\n"

    def csv(self) -> str:
        """Return one line for each cell, without witnesses and trees."""
        out = io.StringIO()
        writer = csv.DictWriter(out, _COLUMNS, extrasaction="ignore", lineterminator="\n")
        writer.writeheader()
        for cell in self.cells:
            points = "" if cell.witness is None else len(cell.witness.points)
            rounded = {"points": points, "seconds": f"{cell.seconds:.3f}"}
            writer.writerow(cell.as_dict() | _shape(cell.structure) | rounded)
        return out.getvalue()

    def html(self) -> str:
        """Return the page: one file that needs no network."""
        from ._atlas_page import page

        return page(self)

    def save(self, path: str | PathLike[str]) -> None:
        """Write the page, the CSV or the JSON, by the end of the file's name, in one step.

        Raises
        ------
        ValueError
            If the name does not end in .html, .csv or .json.
        """
        suffix = check_choice("the end of the file name", Path(path).suffix.lower(), SUFFIXES)
        write_atomically(path, getattr(self, suffix[1:])())

    def __str__(self) -> str:
        cells = self.by_place()
        rows = [["structure", *map(str, self.columns)]]
        for structure in self.structures:
            found = [cells.get((structure, features)) for features in self.columns]
            rows.append([str(structure), *("" if cell is None else cell.text for cell in found)])
        widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
        lines = []
        for name, *values in rows:
            padded = [f"{value:>{width}}" for value, width in zip(values, widths[1:], strict=True)]
            lines.append("  ".join([f"{name:<{max(widths[0], 11)}}", *padded]))
        return "\n".join(lines)


def build(
    max_nodes: int,
    binary: int = 0,
    real: int = 0,
    *,
    features: Iterable[Features] = (),
    time_limit: float | None = 10.0,
    n_jobs: int = 1,
    title: str = TITLE,
    progress: Callable[[int, int, Progress | None], object] | None = None,
) -> Atlas:
    """Compute an atlas.

    Parameters
    ----------
    max_nodes : int
        Structures with 1 to so many nodes, at most 12.
    binary : int, default=0
        Columns for 1, 2, ... so many binary features.
    real : int, default=0
        Columns for 1, 2, ... so many real features.
    features : iterable of Features, optional
        Further columns.
    time_limit : float or None, default=10.0
        Seconds for the search of each cell; None for no limit.
    n_jobs : int, default=1
        Threads for one search.
    title : str, optional
        Heading of the page.
    progress : callable, optional
        Called with the number of cells done, the number of all cells, and the progress of the search under way (None
        before it starts).

    Returns
    -------
    Atlas

    Raises
    ------
    TypeError, ValueError
        If an argument is of the wrong kind or out of range.

    See Also
    --------
    scan : the cells one by one, for who wants to keep what is done when interrupted.

    Examples
    --------
    >>> atlas = build(max_nodes=3, binary=2, real=1, time_limit=1)
    >>> [str(column) for column in atlas.columns]
    ['1 binary', '2 binary', '1 real']
    >>> cell = atlas.cells[-1]
    >>> str(cell.structure), str(cell.features), cell.lower, cell.upper
    ('(((..).).)', '1 real', 4, 4)
    """
    shapes, columns = plan(max_nodes, binary, real, features)
    cells = scan(shapes, columns, time_limit=time_limit, n_jobs=n_jobs, progress=progress)
    return Atlas(shapes, columns, tuple(cells), time_limit, title)


def plan(
    max_nodes: int, binary: int = 0, real: int = 0, features: Iterable[Features] = ()
) -> tuple[tuple[Structure, ...], tuple[Features, ...]]:
    """Return the rows and the columns of an atlas; the parameters are those of `build`.

    Examples
    --------
    >>> rows, columns = plan(3, binary=1, real=1)
    >>> [str(row) for row in rows], columns
    (['(..)', '((..).)', '((..)(..))', '(((..).).)'], (Features(binary=1), Features(real=1)))
    """
    sizes = range(1, check_int("max_nodes", max_nodes, 1, MAX_NODES) + 1)
    columns = [Features(binary=n + 1) for n in range(check_int("binary", binary, 0, MAX_COLUMNS))]
    columns += [Features(real=n + 1) for n in range(check_int("real", real, 0, MAX_COLUMNS))]
    for given in features:
        if not isinstance(given, Features):
            raise TypeError(f"expected features to hold Features, got {given!r}")
        if given.n_features == 0:
            raise ValueError("expected every column to have features, got Features()")
        columns.append(given)
    if not columns:
        raise ValueError("expected at least one column of features, got binary=0 and real=0")
    return tuple(s for n in sizes for s in structures(n)), tuple(dict.fromkeys(columns))


def scan(
    shapes: Sequence[Structure],
    columns: Sequence[Features],
    *,
    time_limit: float | None = 10.0,
    n_jobs: int = 1,
    progress: Callable[[int, int, Progress | None], object] | None = None,
) -> Iterator[Cell]:
    """Yield the cells of an atlas, row by row, each as soon as it is known.

    Parameters
    ----------
    shapes, columns
        As `plan` returns them.
    time_limit, n_jobs, progress
        As in `build`.

    Examples
    --------
    >>> for cell in scan(*plan(2, real=1)):
    ...     print(cell.structure, cell.text, cell.upper_source)
    (..) 2 exact for stumps: Leboeuf et al. 2020, Theorem 7
    ((..).) 3 exact on one real feature: at most N changes of label
    """
    if time_limit is not None:
        check_number("time_limit", time_limit, 0)
    check_int("n_jobs", n_jobs, 1)
    total = len(shapes) * len(columns)
    for i, structure in enumerate(shapes):
        row: list[Cell] = []
        for j, features in enumerate(columns):
            watch = _watch(progress, i * len(columns) + j, total)
            row.append(_carried(_explore(structure, features, time_limit, n_jobs, watch), row))
            yield row[-1]


def _watch(
    progress: Callable[[int, int, Progress | None], object] | None, done: int, total: int
) -> Callable[[Progress], object] | bool:
    """Announce a cell, and return what its search is to call."""
    if progress is None:
        return False
    progress(done, total, None)
    return lambda search: progress(done, total, search)


# One cell


def _explore(
    structure: Structure,
    features: Features,
    time_limit: float | None,
    n_jobs: int,
    progress: Callable[[Progress], object] | bool,
) -> Cell:
    """Bound, search, and make the trees of the witness."""
    started = time.monotonic()
    bracket = vc_bracket(structure, features=features)
    try:
        result = search_vc(structure, features=features, time_limit=time_limit, n_jobs=n_jobs, progress=progress)
    except ValueError as error:  # features that the search does not know
        return _cell(structure, features, bracket, (), started, note=f"no search: {error}")
    except MemoryError:
        return _cell(structure, features, bracket, (), started, note="no search: not enough memory")
    limit = result.stats.limit or ""
    note = f"the search was stopped by its {limit} limit" if limit else ""
    witness = Witness(_plain_points(result.witness), _covering_trees(structure, features, result.witness))
    found = _search_bounds(result)
    return _cell(structure, features, bracket, found, started, witness, certificate_grade(result), note, limit)


def _cell(
    structure: Structure,
    features: Features,
    bracket: Bracket,
    found: Sequence[Bound],
    started: float,
    witness: Witness | None = None,
    grade: str = "",
    note: str = "",
    limit: str = "",
) -> Cell:
    """The cell with the best of the bracket and of the bounds that the search found."""
    bounds = bracket.bounds or (
        Bound("lower", "leaf", bracket.lower, bracket.lower_source),
        Bound("upper", "leaf", bracket.upper, bracket.upper_source),
    )
    seconds = time.monotonic() - started
    return _closed(Cell(structure, features, 0, 0, "", "", (*bounds, *found), witness, grade, note, limit, seconds))


def _closed(cell: Cell) -> Cell:
    """The cell between the best of its bounds; of equal bounds the first is named."""
    bounds = cell.bounds
    lower = max((bound for bound in bounds if bound.side == "lower"), key=lambda bound: bound.value)
    upper = min((bound for bound in bounds if bound.side == "upper"), key=lambda bound: bound.value)
    if lower.value > upper.value:
        raise RuntimeError(
            f"expected bounds that agree on {cell.structure} with {cell.features}, "
            f"got at least {lower.value} ({lower.source}) and at most {upper.value} ({upper.source})"
        )
    return replace(
        cell, lower=lower.value, upper=upper.value, lower_source=lower.source, upper_source=upper.source
    )


def _carried(cell: Cell, before: Sequence[Cell]) -> Cell:
    """The cell with the best lower bound and the largest witness of the cells with fewer features, if better."""
    for other in before:
        if not _is_part(other.features, cell.features):
            continue
        if other.lower > cell.lower:
            bound = Bound("lower", "fewer", other.lower, f"on {other.features} alone: {other.lower_source}")
            cell = _closed(replace(cell, bounds=(*cell.bounds, bound)))
        if _n_points(other.witness) > _n_points(cell.witness) and other.witness is not None:
            zeros = (0,) * (cell.features.n_features - other.features.n_features)
            points = tuple((*point, *zeros) for point in other.witness.points)
            source = other.witness.source or str(other.features)
            cell = replace(cell, witness=Witness(points, other.witness.trees, source))
    return cell


def _n_points(witness: Witness | None) -> int:
    return 0 if witness is None else len(witness.points)


def _is_part(few: Features, many: Features) -> bool:
    """Whether points on ``few``, with zeros appended, are points on ``many`` that can be told apart as well.

    Examples
    --------
    >>> _is_part(Features(binary=2), Features(real=2)), _is_part(Features(real=2), Features(binary=3))
    (True, False)
    """
    if few.n_features > many.n_features or not (few.is_binary_only or few.is_real_only):
        return False
    return many.is_real_only or (many.is_binary_only and few.is_binary_only)


def _search_bounds(result: VCResult) -> tuple[Bound, Bound]:
    """What the search found, as bounds with sources."""
    if result.stats.limit is not None:
        source = f"bound that the search starts with; its {result.stats.limit} limit stopped it"
    elif result.stats.tested == 0:
        source = "bound that the search starts with; nothing was left to search"
    else:
        source = "exhaustive search"
    return (
        Bound("lower", "search", result.lower, "shattered sample, the witness"),
        Bound("upper", "search", result.upper, source),
    )


def certificate_grade(result: VCResult) -> str:
    """What the certificate of a search proves, in words; quickly, so without SAT; empty if the witness is too large."""
    from .certificates import build_certificate
    from .verify import check

    try:
        return str(check(build_certificate(result, sat="never"), effort=GRADE_EFFORT).grade)
    except ValueError:
        return ""


# Trees of a witness


def _covering_trees(
    structure: Structure, features: Features, points: Sequence[Sequence[float]]
) -> tuple[PlainTree, ...]:
    """Trees without labels such that every labelling is constant on the leaves of one of them."""
    m = len(points)
    if m == 0 or m > MAX_LABELLED:
        return ()
    sample = np.array(points, dtype=float).reshape(m, -1)
    is_realised = np.zeros(2**m, dtype=bool)
    trees: list[PlainTree] = []
    while not is_realised.all():
        labelling = int(is_realised.argmin())  # the first that is missing
        tree = realize(structure, points, [labelling >> i & 1 for i in range(m)], features=features)
        if tree is not None:
            is_realised[_unions(tree.apply(sample))] = True
        if tree is None or not is_realised[labelling]:
            raise RuntimeError(
                f"expected {structure} to realise every labelling of its witness {points}, "
                f"got none for {[labelling >> i & 1 for i in range(m)]}"
            )
        trees.append(plain_tree(tree, sample))
    return tuple(trees)


def _unions(leaves: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
    """All labellings, as numbers, that are constant on the points of each leaf."""
    unions = np.zeros(1, dtype=np.int64)
    for leaf in np.unique(leaves):
        part = int((1 << np.flatnonzero(leaves == leaf)).sum())
        unions = np.concatenate([unions, unions | part])
    return unions


def plain_tree(tree: Tree, sample: npt.NDArray[np.float64]) -> PlainTree:
    """Return the tests of a tree; an infinite threshold becomes a finite one beyond the sample.

    Examples
    --------
    >>> sample = np.array([[0.0, 0.0], [0.0, 1.0], [1.0, 0.0]])
    >>> plain_tree(realize("((..).)", sample, [0, 1, 1]), sample)
    (('<=', 0, 0.5), ('<=', 1, 0.5), None, None, None)
    """
    return tuple(
        _question(tree, node, sample) if tree.children(node) else None for node in range(tree.n_all)
    )


def _question(tree: Tree, node: int, sample: npt.NDArray[np.float64]) -> Question:
    feature, test, threshold = int(tree.feature[node]), int(tree.test[node]), float(tree.threshold[node])
    if test == THRESHOLD:
        values = sample[:, feature]
        return "<=", feature, float(min(max(threshold, values.min() - 1), values.max() + 1))
    if test == ONE:
        return "=", feature, threshold
    return "each" if test == MULTIWAY else "in", feature, tree.set_of(node)


# Names and plain values


def key_of(features: Features) -> str:
    """The name of a column in the address of a cell.

    Examples
    --------
    >>> key_of(Features(binary=4)), key_of(Features(real=2, nominal=(3,)))
    ('4-binary', '2-real-1-nominal-3')
    """
    return re.sub(r"[^a-z0-9]+", "-", str(features)).strip("-")


def _shape(structure: Structure) -> dict[str, Any]:
    return {
        "structure": str(structure),
        "nodes": structure.n_nodes,
        "leaves": structure.n_leaves,
        "height": structure.height,
    }


def _plain_points(points: Sequence[Sequence[Any]]) -> tuple[tuple[float, ...], ...]:
    """Points as numbers that JSON knows: integers where they are whole."""
    return tuple(tuple(int(x) if float(x).is_integer() else float(x) for x in point) for point in points)

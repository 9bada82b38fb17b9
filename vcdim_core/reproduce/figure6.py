"""Figure 6 of Yildiz 2012: a lower bound on the VC dimension of a structure beside its exact value.

The figure shows both for structures on d = 3 and d = 4 binary features, and the text draws two conclusions from it:

1. the largest difference between the bound and the exact value is 1;
2. in about 70 percent of the cases the two are equal.

Here both are computed for every structure of height at most 4 (66 structures, with up to 15 nodes) and any d. The
bound is the recursion of Theorems 1 to 4, in the form that is valid for every d. A search that is stopped by its time
limit leaves a bracket; such a row is counted as open and supports no conclusion that depends on its value.

References
----------
O. T. Yildiz, On the VC-dimension of univariate decision trees, ICPRAM 2012, 205-210.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from .._validation import check_choice, check_int, check_ints
from ..exact import search_vc
from ..structures import Structure, structures_of_height

if TYPE_CHECKING:
    from ..results import Progress

__all__ = ["ABOUT", "Claims", "Figure6", "Row", "figure6"]

ABOUT = (0.65, 0.75)
"""Shares of equal cases that count as "about 70 percent"."""

PAPER_D = (3, 4)
"""Numbers of features in the paper."""

PLOT_SUFFIXES = (".png", ".svg", ".pdf")
"""Formats that :meth:`Figure6.save` draws."""

_COLUMNS = ("d", "structure", "nodes", "height", "bound", "exact", "lower", "upper", "difference", "seconds")


@dataclass(frozen=True, slots=True)
class Row:
    """One structure on one number of features.

    Examples
    --------
    >>> row = Row(Structure("((..).)"), d=4, bound=4, lower=5, upper=5, seconds=0.0)
    >>> row.exact, row.difference
    (5, 1)
    >>> stopped = Row(Structure("((..).)"), d=4, bound=4, lower=4, upper=6, seconds=9.0)
    >>> stopped.is_open, stopped.exact, stopped.difference
    (True, None, None)
    """

    structure: Structure
    """The structure, in canonical form."""
    d: int
    """Number of binary features."""
    bound: int
    """Lower bound of Yildiz 2012."""
    lower: int
    """Largest size at which the search found a shattered sample, or knows one."""
    upper: int
    """Largest size that the search could not rule out."""
    seconds: float
    """Time of the search."""

    @property
    def is_open(self) -> bool:
        """Whether the search was stopped before it knew the exact value."""
        return self.lower != self.upper

    @property
    def exact(self) -> int | None:
        """The VC dimension, or None if open."""
        return None if self.is_open else self.lower

    @property
    def difference(self) -> int | None:
        """The exact value minus the bound, or None if open."""
        return None if self.is_open else self.lower - self.bound

    def __str__(self) -> str:
        exact = f"exact between {self.lower} and {self.upper}" if self.is_open else f"exact {self.lower}"
        return f"{self.structure} at d = {self.d}: bound {self.bound}, {exact}"

    def as_dict(self) -> dict[str, Any]:
        """Return the row as a dict that JSON can hold, with the columns of the CSV file."""
        own = {name: getattr(self, name) for name in ("d", "bound", "exact", "lower", "upper", "difference", "seconds")}
        shape = {"structure": str(self.structure), "nodes": self.structure.n_nodes, "height": self.structure.height}
        return {name: (own | shape)[name] for name in _COLUMNS}


@dataclass(frozen=True, slots=True)
class Claims:
    """The two conclusions of the paper, tested on some rows.

    Each conclusion is True, False, or None when open rows leave it undecided.

    Examples
    --------
    >>> stump = Row(Structure("(..)"), d=4, bound=3, lower=3, upper=3, seconds=0.0)
    >>> pair = Row(Structure("((..).)"), d=4, bound=4, lower=5, upper=5, seconds=0.0)
    >>> claims = Claims((stump, pair))
    >>> claims.n_equal, claims.largest_difference, claims.difference_holds
    (1, 1, True)
    >>> claims.equal_share, claims.share_holds
    ((0.5, 0.5), False)
    >>> stopped = Row(Structure("((..).)"), d=6, bound=4, lower=4, upper=6, seconds=9.0)
    >>> Claims((stump, stopped)).difference_holds is None
    True
    """

    rows: tuple[Row, ...]
    """The rows."""

    @property
    def n_open(self) -> int:
        """Number of rows without an exact value."""
        return sum(row.is_open for row in self.rows)

    @property
    def n_equal(self) -> int:
        """Number of rows whose bound is known to be the exact value."""
        return sum(row.difference == 0 for row in self.rows)

    @property
    def largest_difference(self) -> int | None:
        """Largest difference among the rows that are not open, or None without such a row."""
        return max((row.difference for row in self.rows if row.difference is not None), default=None)

    @property
    def exceptions(self) -> tuple[Row, ...]:
        """Rows that differ by more than 1 for certain, open or not."""
        return tuple(row for row in self.rows if row.lower - row.bound > 1)

    @property
    def unequal(self) -> tuple[Row, ...]:
        """Rows that differ for certain, open or not."""
        return tuple(row for row in self.rows if row.lower > row.bound)

    @property
    def difference_holds(self) -> bool | None:
        """Whether no row differs by more than 1."""
        if self.exceptions:
            return False
        return True if all(row.upper - row.bound <= 1 for row in self.rows) else None

    @property
    def equal_share(self) -> tuple[float, float]:
        """Smallest and largest possible share of equal rows; the same number twice when no row is open."""
        n = max(1, len(self.rows))
        return self.n_equal / n, (len(self.rows) - len(self.unequal)) / n

    @property
    def share_holds(self) -> bool | None:
        """Whether the share of equal rows is inside :data:`ABOUT`."""
        (low, high), (least, most) = self.equal_share, ABOUT
        if least <= low and high <= most:
            return True
        return False if high < least or low > most else None

    def as_dict(self) -> dict[str, Any]:
        """Return the counts and conclusions as a dict that JSON can hold."""
        return {
            "d": sorted({row.d for row in self.rows}),
            "rows": len(self.rows),
            "open": self.n_open,
            "equal": self.n_equal,
            "equal_share": list(self.equal_share),
            "about_70_percent_equal": self.share_holds,
            "largest_difference": self.largest_difference,
            "largest_difference_is_1": self.difference_holds,
            "exceptions": [{"structure": str(row.structure), "d": row.d} for row in self.exceptions],
            "unequal": [{"structure": str(row.structure), "d": row.d} for row in self.unequal],
        }

    def summary(self) -> str:
        """Say in three lines how many cases are equal, and whether each conclusion holds."""
        name = " and ".join(f"d = {d}" for d in sorted({row.d for row in self.rows}))
        share = " to ".join(f"{100 * part:.0f} %" for part in dict.fromkeys(self.equal_share))
        return "\n".join([
            f"{name}: {len(self.rows)} cases, {self.n_equal} equal ({share}), {self.n_open} open",
            f"  no difference above 1: {_verdict(self.difference_holds)}; {self._largest()}",
            f"  about 70 % equal: {_verdict(self.share_holds)}",
        ])  # fmt: skip

    def __str__(self) -> str:
        return "\n".join([self.summary(), *(f"  above 1: {row}" for row in self.exceptions)])

    def _largest(self) -> str:
        """Say what the largest difference is."""
        if self.largest_difference is None:
            return "no exact value known"
        return f"the largest is {self.largest_difference}" + (" among the exact ones" if self.n_open else "")


@dataclass(frozen=True, slots=True)
class Figure6:
    """The rows of the figure, and what they say.

    Examples
    --------
    >>> figure = figure6(d=[3], height=2)
    >>> [(str(row.structure), row.bound, row.exact) for row in figure.rows]
    [('(..)', 3, 3), ('((..).)', 3, 4), ('((..)(..))', 4, 4)]
    >>> print(figure.claims(3))
    d = 3: 3 cases, 2 equal (67 %), 0 open
      no difference above 1: holds; the largest is 1
      about 70 % equal: holds
    """

    rows: tuple[Row, ...]
    """One row for each d and structure; by d, then by number of nodes."""
    height: int
    """Largest height of a structure."""
    orientation: str
    """Orientation of the exact values: "free" or "fixed"."""

    @property
    def ds(self) -> tuple[int, ...]:
        """The numbers of features."""
        return tuple(dict.fromkeys(row.d for row in self.rows))

    def of(self, d: int) -> tuple[Row, ...]:
        """Return the rows with d features, by number of nodes."""
        return tuple(row for row in self.rows if row.d == d)

    def claims(self, *ds: int) -> Claims:
        """Test the conclusions of the paper on the rows with these numbers of features, or on all rows."""
        return Claims(tuple(row for row in self.rows if not ds or row.d in ds))

    def all_claims(self) -> tuple[Claims, ...]:
        """Test the conclusions for each d, and then for the paper's d = 3 and 4 together if both are there."""
        together = [self.claims(*PAPER_D)] if set(PAPER_D) <= set(self.ds) else []
        return (*(self.claims(d) for d in self.ds), *together)

    def table(self) -> str:
        """Return a table for reading: for each structure the bound and the exact value, or the bracket if open."""
        width = max([9, *(len(str(row.structure)) for row in self.rows)])
        head = "".join(f"  {f'd = {d}':^16}" for d in self.ds).rstrip()
        lines = [f"{'':{width + 7}}{head}", f"nodes  {'structure':{width}}" + "  bound exact     " * len(self.ds)]
        for rows in zip(*(self.of(d) for d in self.ds), strict=True):
            shape = rows[0].structure
            lines.append(f"{shape.n_nodes:5}  {shape!s:{width}}" + "".join(f"  {_cell(row)}" for row in rows))
        return "\n".join(line.rstrip() for line in lines)

    def csv(self) -> str:
        """Return the rows as comma-separated values with a header; exact and difference are empty where open."""
        out = io.StringIO()
        writer = csv.DictWriter(out, _COLUMNS, lineterminator="\n")
        writer.writeheader()
        writer.writerows(row.as_dict() for row in self.rows)
        return out.getvalue()

    def as_dict(self) -> dict[str, Any]:
        """Return everything as a dict that JSON can hold."""
        return {
            "height": self.height,
            "orientation": self.orientation,
            "rows": [row.as_dict() for row in self.rows],
            "claims": [claims.as_dict() for claims in self.all_claims()],
        }

    def plot(self) -> Any:
        """Draw one panel for each d; returns a ``matplotlib.figure.Figure``.

        Raises
        ------
        ImportError
            If matplotlib is not installed.
        """
        new_figure = plotting()
        figure = new_figure(figsize=(10, 0.8 + 2.6 * len(self.ds)), layout="constrained")
        panels = figure.subplots(len(self.ds), 1, squeeze=False)[:, 0]
        for d, panel in zip(self.ds, panels, strict=True):
            _draw_panel(panel, self.of(d), d)
        keys = {name: key for panel in panels for key, name in zip(*panel.get_legend_handles_labels(), strict=True)}
        figure.legend(keys.values(), keys.keys(), loc="outside upper center", ncols=len(keys), frameon=False)
        panels[-1].set_xlabel("structures by number of nodes")
        return figure

    def save(self, path: str | Path) -> None:
        """Write the table (.csv) or the plot (.png, .svg, .pdf) to a file.

        Raises
        ------
        ValueError
            If the name ends in something else.
        ImportError
            If a plot is asked for and matplotlib is not installed.
        OSError
            If the file cannot be written.
        """
        path = Path(path)
        if check_output(path) == ".csv":
            path.write_text(self.csv(), encoding="utf-8", newline="")
        else:
            self.plot().savefig(path, dpi=150)

    def __str__(self) -> str:
        each, together = self.all_claims()[: len(self.ds)], self.all_claims()[len(self.ds) :]
        texts = [*(str(claims) for claims in each), *(claims.summary() for claims in together)]
        return "\n".join([self.table(), "", *texts])


def figure6(
    d: Iterable[int] = (3, 4, 5, 6),
    *,
    height: int = 4,
    orientation: str = "free",
    time_limit: float | None = None,
    n_jobs: int = 1,
    progress: Callable[[int, int, Progress | None], None] | None = None,
) -> Figure6:
    """Compute the lower bound and the exact VC dimension of every structure up to a height.

    Parameters
    ----------
    d : iterable of int, default=(3, 4, 5, 6)
        Numbers of binary features; the paper has 3 and 4.
    height : int, default=4
        Largest height of a structure, at least 1; there are 1, 3, 10, 66, 2278 structures for 1, 2, 3, 4, 5.
    orientation : {"free", "fixed"}, default="free"
        Orientation of the exact values; with "fixed" they are those of the canonical form, left to right.
    time_limit : float, optional
        Seconds for the search of one structure; what is stopped becomes a bracket.
    n_jobs : int, default=1
        Threads for one search.
    progress : callable, optional
        Called with the number of rows done, the number of all rows, and the progress of the search under way (None
        before it starts).

    Returns
    -------
    Figure6

    Raises
    ------
    TypeError, ValueError
        If an argument is of the wrong kind or out of range.

    Examples
    --------
    >>> figure = figure6(d=[2, 3], height=2)
    >>> print(figure.table())
                            d = 2             d = 3
    nodes  structure   bound exact       bound exact
        1  (..)            2     2           3     3
        2  ((..).)         3     3           3     4 +1
        3  ((..)(..))      4     4           4     4
    """
    ds = tuple(dict.fromkeys(check_ints("d", d, 1)))
    if not ds:
        raise ValueError("expected at least one d, got none")
    shapes = structures_of_height(check_int("height", height, 1))
    check_choice("orientation", orientation, ("free", "fixed"))
    rows: list[Row] = []
    total = len(ds) * len(shapes)
    for n_features in ds:
        for shape in shapes:
            watch = _watch(progress, len(rows), total)
            result = search_vc(
                shape, n_features, orientation=orientation, time_limit=time_limit, n_jobs=n_jobs, progress=watch
            )
            bound = _yildiz_bound(shape, n_features)
            rows.append(Row(shape, n_features, bound, result.lower, result.upper, result.stats.seconds))
    return Figure6(tuple(rows), height, orientation)


def check_output(path: Path) -> str:
    """Return the suffix of a file that :meth:`Figure6.save` can write, or raise; for use before a long search."""
    suffix = check_choice("the end of the file name", path.suffix.lower(), (*PLOT_SUFFIXES, ".csv"))
    if not path.parent.is_dir():
        raise FileNotFoundError(f"expected a file in a folder that exists, got {str(path)!r}")
    if suffix in PLOT_SUFFIXES:
        plotting()
    return suffix


def plotting() -> Any:
    """Return the class ``matplotlib.figure.Figure``, or raise an ImportError that says what to install."""
    try:
        from matplotlib.figure import Figure
    except ImportError as error:
        raise ImportError("a plot needs matplotlib: pip install 'vcdim_core[plot]'") from error
    return Figure


def _watch(
    progress: Callable[[int, int, Progress | None], None] | None, done: int, total: int
) -> Callable[[Progress], None] | bool:
    """Announce a row, and return what its search is to call."""
    if progress is None:
        return False
    progress(done, total, None)
    return lambda search: progress(done, total, search)


def _yildiz_bound(structure: Structure, d: int) -> int:
    """Return the lower bound of the paper, valid for every d."""
    from ..bounds import vc_lower_bound

    return vc_lower_bound(structure, d=d, method="yildiz")


# Text


def _verdict(holds: bool | None) -> str:
    return "undecided" if holds is None else "holds" if holds else "does not hold"


def _cell(row: Row) -> str:
    """Return bound, exact value and difference, 16 characters wide."""
    if row.is_open:
        return f"{row.bound:5} {f'{row.lower}..{row.upper}':>7}   "
    assert row.difference is not None
    return f"{row.bound:5} {row.lower:5} {f'{row.difference:+d}' if row.difference else '':4}"


# Drawing

_BOUND, _EXACT, _ABOVE = "#0072b2", "#222222", "#d55e00"  # distinct for colour-blind readers, and in grey


def _draw_panel(axes: Any, rows: Sequence[Row], d: int) -> None:
    """Draw the bounds as a line and the exact values as dots; brackets as bars, exceptions with a ring."""
    axes.step(range(len(rows)), [row.bound for row in rows], where="mid", color=_BOUND, lw=1.5, label="lower bound")
    known = [(x, row.lower) for x, row in enumerate(rows) if not row.is_open]
    axes.plot(*_xy(known), "o", color=_EXACT, ms=4, label="exact")
    stopped = [(x, row) for x, row in enumerate(rows) if row.is_open]
    if stopped:
        places = [x for x, _ in stopped]
        axes.vlines(
            places, [row.lower for _, row in stopped], [row.upper for _, row in stopped],
            color=_EXACT, lw=2, alpha=0.4, label="open: bracket",
        )  # fmt: skip
    above = [(x, row.lower) for x, row in enumerate(rows) if row.lower - row.bound > 1]
    if above:
        axes.plot(*_xy(above), "o", mfc="none", mec=_ABOVE, ms=9, label="above the bound by 2 or more")
    axes.set_ylabel("VC dimension")
    axes.set_title(f"d = {d}", loc="left", fontsize=10)
    axes.yaxis.get_major_locator().set_params(integer=True)
    _mark_nodes(axes, rows)


def _xy(points: Sequence[tuple[int, int]]) -> tuple[list[int], list[int]]:
    """Return the coordinates of points as two lists."""
    return [x for x, _ in points], [y for _, y in points]


def _mark_nodes(axes: Any, rows: Sequence[Row]) -> None:
    """Label each run of structures with the same number of nodes, and draw a faint line between runs."""
    counts = [row.structure.n_nodes for row in rows]
    starts = [x for x, n in enumerate(counts) if x == 0 or counts[x - 1] != n]
    ends = [*starts[1:], len(counts)]
    axes.set_xticks([(start + end - 1) / 2 for start, end in zip(starts, ends, strict=True)])
    axes.set_xticklabels([str(counts[start]) for start in starts])
    axes.tick_params(axis="x", length=0, labelsize=8)
    for start in starts[1:]:
        axes.axvline(start - 0.5, color="0.9", lw=0.8, zorder=0)
    axes.set_xlim(-0.5, len(rows) - 0.5)

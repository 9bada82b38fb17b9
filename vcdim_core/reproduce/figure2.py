"""Figure 2 of Yildiz 2011: the VC dimension of the three node models, measured on d features.

The paper finds the linear model near d + 1 and the quadratic one near (d^2 + 3d + 2) / 2, the numbers of their
parameters, and the univariate one near log2(d) + 1. Here each is measured by :func:`vcdim_core.learn.estimate_vc`,
and stands beside that number.

References
----------
O. T. Yildiz, Model selection in omnivariate decision trees using structural risk minimization, Information Sciences 181
(2011), 5214-5226.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from .._validation import check_choice, check_ints
from .figure6 import PLOT_SUFFIXES, plotting

__all__ = ["Figure2", "Point", "figure2"]

MODELS = ("univariate", "linear", "quadratic")
"""The node models."""

PAPER_D = {"univariate": tuple(range(1, 21)), "linear": tuple(range(1, 21)), "quadratic": tuple(range(1, 11))}
"""Numbers of features in the paper."""

_COLUMNS = ("model", "d", "h", "low", "high", "expected", "ratio")


@dataclass(frozen=True, slots=True)
class Point:
    """One model on one number of features.

    Examples
    --------
    >>> Point("linear", 4, h=5.5, low=5.2, high=5.8, expected=5.0).ratio
    1.1
    """

    model: str
    """Which model."""
    d: int
    """Number of features."""
    h: float
    """The estimate."""
    low: float
    """Lower end of its interval."""
    high: float
    """Upper end of its interval."""
    expected: float
    """What the paper finds it near to."""

    @property
    def ratio(self) -> float:
        """The estimate divided by what is expected."""
        return self.h / self.expected

    def as_dict(self) -> dict[str, Any]:
        """Return the point as a dict that JSON can hold."""
        return {name: getattr(self, name) for name in _COLUMNS}


@dataclass(frozen=True, slots=True)
class Figure2:
    """The points of the figure."""

    points: tuple[Point, ...]
    """By model, then by d."""

    def of(self, model: str) -> tuple[Point, ...]:
        """Return the points of one model."""
        return tuple(point for point in self.points if point.model == model)

    def csv(self) -> str:
        """Return the points as comma-separated values with a header."""
        out = io.StringIO()
        writer = csv.DictWriter(out, _COLUMNS, lineterminator="\n")
        writer.writeheader()
        writer.writerows(point.as_dict() for point in self.points)
        return out.getvalue()

    def as_dict(self) -> dict[str, Any]:
        """Return everything as a dict that JSON can hold."""
        return {"points": [point.as_dict() for point in self.points]}

    def __str__(self) -> str:
        lines = [f"{'model':<10}  {'d':>3}  {'measured':>8}  {'interval':>14}  {'expected':>8}  ratio"]
        for p in self.points:
            interval = f"{p.low:.1f} to {p.high:.1f}"
            lines.append(f"{p.model:<10}  {p.d:>3}  {p.h:>8.2f}  {interval:>14}  {p.expected:>8.2f}  {p.ratio:.2f}")
        return "\n".join(lines)

    def plot(self) -> Any:
        """Draw one panel for each model; returns a ``matplotlib.figure.Figure``."""
        models = [model for model in MODELS if self.of(model)]
        figure = plotting()(figsize=(3.6 * len(models), 3.4), layout="constrained")
        for panel, model in zip(figure.subplots(1, len(models), squeeze=False)[0], models, strict=True):
            points = self.of(model)
            ds, hs = [p.d for p in points], [p.h for p in points]
            bars = [[p.h - p.low for p in points], [p.high - p.h for p in points]]
            panel.errorbar(ds, hs, bars, fmt="o", ms=4, color="#222222", label="measured")
            panel.plot(ds, [p.expected for p in points], color="#0072b2", label="paper")
            panel.set_title(model)
            panel.set_xlabel("features")
            panel.legend(frameon=False)
        return figure

    def save(self, path: str | Path) -> None:
        """Write the points (.csv) or the plot (.png, .svg, .pdf) to a file."""
        path = Path(path)
        if check_choice("the end of the file name", path.suffix.lower(), (*PLOT_SUFFIXES, ".csv")) == ".csv":
            path.write_text(self.csv(), encoding="utf-8", newline="")
        else:
            self.plot().savefig(path, dpi=150)


def figure2(
    d: Iterable[int] | None = None,
    *,
    models: Sequence[str] = MODELS,
    n_jobs: int = 1,
    random_state: int = 0,
    progress: Callable[[int, int], None] | None = None,
    **options: Any,
) -> Figure2:
    """Measure the VC dimensions of the node models.

    Parameters
    ----------
    d : iterable of int, optional
        Numbers of features; 1 to 20, and 1 to 10 for the quadratic model, unless given.
    models : sequence of str, default=("univariate", "linear", "quadratic")
        Which models.
    n_jobs : int, default=1
        Processes.
    random_state : int, default=0
        Seed.
    progress : callable, optional
        Called with the number of estimates done and of all.
    **options
        For `estimate_vc`: ``design``, ``repeats``, ...

    Returns
    -------
    Figure2

    Examples
    --------
    >>> figure = figure2([2], models=["linear"])
    >>> 0.9 < figure.points[0].ratio < 1.1
    True
    """
    from ..learn import estimate_vc
    from ..learn._node_models import vc_dimension

    for model in models:
        check_choice("every entry of models", model, MODELS)
    given = None if d is None else check_ints("d", d, 1)
    tasks = [(model, n) for model in models for n in (PAPER_D[model] if given is None else given)]
    points = []
    for place, (model, n) in enumerate(tasks):
        found = estimate_vc(model, n, n_jobs=n_jobs, random_state=random_state, **options)
        points.append(Point(model, n, found.h, found.low, found.high, vc_dimension(model, n)))
        if progress is not None:
            progress(place + 1, len(tasks))
    return Figure2(tuple(points))

"""The experiment of Yildiz 2011: omnivariate trees by four selections beside LDA, QDA and a linear SVM.

Each data set is divided into halves five times, with the classes in proportion; each half trains once and tests once.
What is recorded on the ten folds: error rate, complexity in free parameters, seconds to train, and for the trees the
number of nodes, their types, and their types on each level. Methods are compared pairwise by the number of data sets
on which one has the lower mean; a sign test says whether that could be chance.

Data sets are those that can be made by rule (ringnorm, twonorm), those that come with scikit-learn, and any folder of
CSV files whose column ``class`` is the class.

Complexities are those of the paper's text: a tree has the parameters of its nodes and one for each leaf, LDA d + 1,
QDA (d^2 + 3d + 2) / 2 and the SVM d times its support vectors, d features after 1-of-L encoding; with K classes LDA
and QDA have K - 1 times as many. (The paper's Table 7 counts otherwise: its numbers for LDA are d^2 + 2d + 2, and
twice the formula for QDA, the numbers that are stored.)

References
----------
O. T. Yildiz, Model selection in omnivariate decision trees using structural risk minimization, Information Sciences 181
(2011), 5214-5226.
"""

from __future__ import annotations

import csv
import io
import math
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from .._validation import check_choice, check_int
from .figure6 import PLOT_SUFFIXES, plotting

__all__ = ["MADE", "METHODS", "Data", "Fold", "Omnivariate", "omnivariate", "read_folder", "sign_test"]

TREES = ("AIC", "BIC", "CV", "SRM")
"""Omnivariate trees, by selection."""

METHODS = (*TREES, "LDA", "QDA", "SVM")
"""All methods, in the order of the tables."""

MADE = ("ringnorm", "twonorm", "breast_cancer", "iris", "wine", "digits")
"""Data sets that need no file."""

MEASURES = {"error": "error rate (%)", "parameters": "free parameters", "seconds": "seconds to train"}
"""What methods are compared by; less is better."""

_COLUMNS = ("data", "method", "fold", "error", "parameters", "seconds", "nodes", "univariate", "linear", "quadratic")


@dataclass(frozen=True, slots=True, eq=False)
class Data:
    """One data set."""

    name: str
    """Its name."""
    X: npt.NDArray[np.float64]
    """Values; NaN where missing."""
    y: npt.NDArray[Any]
    """Classes."""
    discrete: tuple[int, ...] = ()
    """Columns that hold codes of discrete values."""


@dataclass(frozen=True, slots=True)
class Fold:
    """One method trained on one half of a data set."""

    data: str
    """Name of the data set."""
    method: str
    """One of `METHODS`."""
    fold: int
    """0 to 9."""
    error: float
    """Error rate on the other half, in percent."""
    parameters: int
    """Free parameters."""
    seconds: float
    """Time to train."""
    levels: tuple[tuple[int, int, int], ...] = ()
    """Univariate, linear and quadratic nodes on each level of a tree."""

    @property
    def types(self) -> tuple[int, int, int]:
        """Univariate, linear and quadratic nodes."""
        sums = [sum(level[place] for level in self.levels) for place in range(3)]
        return sums[0], sums[1], sums[2]

    @property
    def nodes(self) -> int:
        """Number of nodes."""
        return sum(self.types)

    def as_dict(self) -> dict[str, Any]:
        """Return the fold as a dict that JSON can hold, with the columns of the CSV file."""
        types = dict(zip(("univariate", "linear", "quadratic"), self.types, strict=True))
        own = {name: getattr(self, name) for name in _COLUMNS if name not in types}
        return {name: (own | types)[name] for name in _COLUMNS}


def sign_test(wins: int, losses: int) -> float:
    """Probability of at least so many wins if wins and losses are equally likely; ties are left out.

    Examples
    --------
    >>> round(sign_test(12, 4), 4), sign_test(0, 0)
    (0.0384, 1.0)
    """
    n = wins + losses
    return float(sum(math.comb(n, k) for k in range(wins, n + 1)) / 2.0**n)


@dataclass(frozen=True, slots=True)
class Omnivariate:
    """All folds, and the tables of the paper made from them."""

    folds: tuple[Fold, ...]
    """One entry for each data set, method and fold."""

    @property
    def data(self) -> tuple[str, ...]:
        """Names of the data sets."""
        return tuple(dict.fromkeys(fold.data for fold in self.folds))

    @property
    def methods(self) -> tuple[str, ...]:
        """Names of the methods."""
        return tuple(dict.fromkeys(fold.method for fold in self.folds))

    def of(self, data: str, method: str) -> tuple[Fold, ...]:
        """Return the folds of one method on one data set."""
        return tuple(fold for fold in self.folds if (fold.data, fold.method) == (data, method))

    def mean(self, data: str, method: str, measure: str) -> float:
        """Return the mean of a measure over the folds."""
        return float(np.mean([getattr(fold, measure) for fold in self.of(data, method)]))

    def wins(self, measure: str) -> dict[tuple[str, str], int]:
        """On how many data sets one method has a lower mean than another."""
        return {
            (a, b): sum(self.mean(name, a, measure) < self.mean(name, b, measure) for name in self.data)
            for a in self.methods
            for b in self.methods
        }

    def chances(self, measure: str) -> dict[tuple[str, str], float]:
        """Sign test of each method against each other."""
        wins = self.wins(measure)
        return {(a, b): sign_test(wins[a, b], wins[b, a]) for a, b in wins}

    def types(self, method: str, data: str | None = None) -> tuple[int, int, int]:
        """Univariate, linear and quadratic nodes of a method over all folds, of one data set or of all."""
        found = [fold.types for fold in self.folds if fold.method == method and data in (None, fold.data)]
        sums = np.sum(found, axis=0, dtype=int).tolist() if found else [0, 0, 0]
        return sums[0], sums[1], sums[2]

    def levels(self, method: str) -> npt.NDArray[np.int64]:
        """Univariate, linear and quadratic nodes of a method on each level, over all data sets and folds."""
        folds = [fold for fold in self.folds if fold.method == method]
        out = np.zeros((max([1, *(len(fold.levels) for fold in folds)]), 3), dtype=np.int64)
        for fold in folds:
            for place, level in enumerate(fold.levels):
                out[place] += level
        return out

    # ---- text

    def table(self, measure: str) -> str:
        """Return mean and standard deviation of a measure for each data set and method."""
        rows = [[name, *(self._cell(name, method, measure) for method in self.methods)] for name in self.data]
        return _table(["", *self.methods], rows)

    def _cell(self, data: str, method: str, measure: str) -> str:
        values = [getattr(fold, measure) for fold in self.of(data, method)]
        digits = 4 if measure == "seconds" else 2
        return f"{np.mean(values):.{digits}f} ± {np.std(values, ddof=min(1, len(values) - 1)):.{digits}f}"

    def wins_table(self, measure: str) -> str:
        """Return the wins of each row's method over each column's; * where a sign test finds them significant."""
        wins, chances = self.wins(measure), self.chances(measure)
        rows = [
            [a, *("-" if a == b else f"{wins[a, b]}{'*' if chances[a, b] < 0.05 else ' '}" for b in self.methods)]
            for a in self.methods
        ]
        return _table(["", *self.methods], rows)

    def types_table(self) -> str:
        """Return how often each selection chose each type of node, on each data set and in all."""
        trees = [method for method in self.methods if method in TREES]
        head = ["", *(f"{method} {letter}" for method in trees for letter in "ULQ")]
        rows = [[name, *(str(n) for method in trees for n in self.types(method, name))] for name in self.data]
        rows.append(["sum", *(str(n) for method in trees for n in self.types(method))])
        return _table(head, rows)

    def levels_table(self) -> str:
        """Return how often each selection chose each type of node on each level of its trees."""
        trees = [method for method in self.methods if method in TREES]
        levels = {method: self.levels(method) for method in trees}
        head = ["level", *(f"{method} {letter}" for method in trees for letter in "ULQ")]
        rows = []
        for level in range(max(len(found) for found in levels.values())):
            cells = [levels[m][level] if level < len(levels[m]) else (0, 0, 0) for m in trees]
            rows.append([str(level + 1), *(str(n) for cell in cells for n in cell)])
        return _table(head, rows)

    def __str__(self) -> str:
        parts = []
        for measure, title in MEASURES.items():
            parts += [f"{title}, mean and standard deviation\n{self.table(measure)}"]
            parts += [f"{title}: data sets on which the row is lower (* significant)\n{self.wins_table(measure)}"]
        if any(method in TREES for method in self.methods):
            trees = Omnivariate(tuple(fold for fold in self.folds if fold.method in TREES))
            parts.append(f"nodes, mean and standard deviation\n{trees.table('nodes')}")
            parts.append(f"types of nodes: univariate, linear, quadratic\n{self.types_table()}")
            parts.append(f"types of nodes by level\n{self.levels_table()}")
        return "\n\n".join(parts)

    # ---- files

    def csv(self) -> str:
        """Return the folds as comma-separated values with a header."""
        out = io.StringIO()
        writer = csv.DictWriter(out, _COLUMNS, lineterminator="\n")
        writer.writeheader()
        writer.writerows(fold.as_dict() for fold in self.folds)
        return out.getvalue()

    def as_dict(self) -> dict[str, Any]:
        """Return everything as a dict that JSON can hold."""
        pairs = {
            measure: [
                {"better": a, "than": b, "wins": wins, "chance": self.chances(measure)[a, b]}
                for (a, b), wins in self.wins(measure).items()
                if a != b
            ]
            for measure in MEASURES
        }
        levels = {method: self.levels(method).tolist() for method in self.methods if method in TREES}
        return {"folds": [fold.as_dict() for fold in self.folds], "wins": pairs, "levels": levels}

    def plot(self) -> Any:
        """Draw the types of nodes by level for each selection; returns a ``matplotlib.figure.Figure``."""
        trees = [method for method in self.methods if method in TREES]
        figure = plotting()(figsize=(3.2 * max(1, len(trees)), 3.2), layout="constrained")
        panels = figure.subplots(1, max(1, len(trees)), squeeze=False)[0]
        for panel, method in zip(panels, trees, strict=False):
            levels = self.levels(method)
            for place, (name, colour) in enumerate(
                zip(("univariate", "linear", "quadratic"), ("#0072b2", "#e69f00", "#d55e00"), strict=True)
            ):
                panel.bar(np.arange(1, len(levels) + 1) + 0.27 * (place - 1), levels[:, place], 0.27, label=name,
                          color=colour)  # fmt: skip
            panel.set_title(method)
            panel.set_xlabel("level")
            panel.xaxis.get_major_locator().set_params(integer=True)
        panels[0].set_ylabel("nodes")
        panels[0].legend(frameon=False)
        return figure

    def save(self, path: str | Path) -> None:
        """Write the folds (.csv) or the plot of node types (.png, .svg, .pdf) to a file."""
        path = Path(path)
        if check_choice("the end of the file name", path.suffix.lower(), (*PLOT_SUFFIXES, ".csv")) == ".csv":
            path.write_text(self.csv(), encoding="utf-8", newline="")
        else:
            self.plot().savefig(path, dpi=150)


def _table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """A table whose first column is left-aligned and whose others are right-aligned."""
    widths = [max(map(len, column)) for column in zip(head, *rows, strict=True)]
    return "\n".join(
        "  ".join(f"{cell:<{w}}" if i == 0 else f"{cell:>{w}}" for i, (cell, w) in enumerate(zip(row, widths,
        strict=True))) for row in (head, *rows)
    )


# ---- data


def made_data(name: str, rows: int = 7400, random_state: int = 0) -> Data:
    """Return a data set that needs no file; ``rows`` is for those made by rule."""
    from sklearn import datasets

    from ..learn.datasets import make_ringnorm, make_twonorm

    check_choice("data set", name, MADE)
    rules = {"ringnorm": make_ringnorm, "twonorm": make_twonorm}
    if name in rules:
        X, y = rules[name](rows, random_state=random_state)
        return Data(name, X, y)
    X, y = getattr(datasets, f"load_{name}")(return_X_y=True)
    return Data(name, np.asarray(X, dtype=np.float64), y)


def read_folder(folder: str | Path) -> list[Data]:
    """Return the data sets of a folder: every CSV file with a column ``class``, in order of their names.

    Raises
    ------
    ValueError
        If there is none, or one cannot be read.
    """
    from ..cli_grow import read_csv

    folder = Path(folder)
    if not folder.is_dir():
        raise FileNotFoundError(f"expected a folder of CSV files, got {str(folder)!r}")
    paths = sorted(folder.glob("*.csv"))
    if not paths:
        raise ValueError(f"expected a CSV file in {str(folder)!r}, got none")
    out = []
    for path in paths:
        table = read_csv(path, "class")
        out.append(Data(path.stem, table.X, table.y, tuple(sorted(table.categories))))
    return out


# ---- training


def omnivariate(
    data: Iterable[str | Data] = MADE,
    *,
    methods: Sequence[str] = METHODS,
    rows: int = 7400,
    repeats: int = 5,
    bound_rows: str = "node",
    random_state: int = 0,
    n_jobs: int = 1,
    progress: Callable[[int, int], None] | None = None,
) -> Omnivariate:
    """Run the experiment.

    Parameters
    ----------
    data : iterable of str or Data, default=MADE
        Data sets, or names of those that need no file.
    methods : sequence of str, default=METHODS
        What to train.
    rows : int, default=7400
        Points of the data sets made by rule.
    repeats : int, default=5
        Divisions into halves; the paper has 5.
    bound_rows : {"node", "all"}, default="node"
        Which rows count in the risk bound, see `OmnivariateTreeClassifier`; "all" grows trees of the paper's size on
        ringnorm.
    random_state : int, default=0
        Seed of the data, the divisions and the selections.
    n_jobs : int, default=1
        Processes; times are honest with 1.
    progress : callable, optional
        Called with the number of divisions done and of all.

    Returns
    -------
    Omnivariate

    Raises
    ------
    TypeError, ValueError
        If an argument is of the wrong kind or out of range.

    Examples
    --------
    >>> result = omnivariate(["iris"], methods=["SRM", "LDA"], repeats=1)
    >>> len(result.folds), result.mean("iris", "LDA", "parameters")
    (4, 10.0)
    """
    for method in methods:
        check_choice("every entry of methods", method, METHODS)
    rows, repeats = check_int("rows", rows, 4), check_int("repeats", repeats, 1)
    sets = [made_data(one, rows, random_state) if isinstance(one, str) else one for one in data]
    for one in sets:
        _check_classes(one)
    tasks = [(one, tuple(methods), repeat, bound_rows, random_state) for one in sets for repeat in range(repeats)]
    found: list[Fold] = []
    for place, folds in enumerate(_run(tasks, n_jobs)):
        found += folds
        if progress is not None:
            progress(place + 1, len(tasks))
    order = {method: place for place, method in enumerate(methods)}
    names = {one.name: place for place, one in enumerate(sets)}
    found.sort(key=lambda fold: (names[fold.data], order[fold.method], fold.fold))
    return Omnivariate(tuple(found))


def _check_classes(data: Data) -> None:
    """Two halves with every class need two rows of each."""
    classes, counts = np.unique(data.y, return_counts=True)
    if classes.size < 2 or counts.min() < 2:
        wanted = f"expected at least 2 classes with at least 2 rows each in {data.name}"
        raise ValueError(f"{wanted}, got {dict(zip(classes.tolist(), counts.tolist(), strict=True))}")


def _run(tasks: list[tuple[Data, tuple[str, ...], int, str, int]], n_jobs: int) -> Iterable[list[Fold]]:
    """The folds of each task, here or in processes."""
    if n_jobs == 1:
        return (_divide_and_train(*task) for task in tasks)
    from joblib import Parallel, delayed  # type: ignore[import-untyped]

    answer: Iterable[list[Fold]] = Parallel(n_jobs=n_jobs)(delayed(_divide_and_train)(*task) for task in tasks)
    return answer


def _divide_and_train(
    data: Data, methods: tuple[str, ...], repeat: int, bound_rows: str, random_state: int
) -> list[Fold]:
    """Train every method on both halves of one division."""
    from sklearn.model_selection import StratifiedKFold

    from ..learn._blas import one_thread

    halves = StratifiedKFold(2, shuffle=True, random_state=random_state + repeat).split(data.X, data.y)
    out = []
    for half, (train, test) in enumerate(halves):
        for method in methods:
            model = _model(method, data.discrete, bound_rows, random_state)
            with one_thread():  # the same for all
                started = time.perf_counter()
                model.fit(data.X[train], data.y[train])
                seconds = time.perf_counter() - started
            error = 100.0 * float(np.mean(model.predict(data.X[test]) != data.y[test]))
            levels: tuple[tuple[int, int, int], ...] = ()
            if method in TREES and model.tree_.n_nodes:
                levels = tuple((int(u), int(l_), int(q)) for u, l_, q in model.tree_.node_types_per_level())
            out.append(Fold(data.name, method, 2 * repeat + half, error, model.n_parameters_, seconds, levels))
    return out


def _model(method: str, discrete: tuple[int, ...], bound_rows: str, random_state: int) -> Any:
    """A new estimator."""
    if method in TREES:
        from ..learn import OmnivariateTreeClassifier

        columns = list(discrete) or None
        return OmnivariateTreeClassifier(
            method.lower(), bound_rows=bound_rows, categorical_features=columns, random_state=random_state
        )
    return _Rival(method, discrete)


class _Rival:
    """LDA, QDA or a linear SVM of scikit-learn on the same features: 1-of-L, means for missing values, standard
    units."""

    def __init__(self, method: str, discrete: tuple[int, ...]) -> None:
        self.method, self.discrete = method, discrete

    def fit(self, X: npt.NDArray[np.float64], y: npt.NDArray[Any]) -> None:
        """Fit the encoding and the classifier."""
        from ..learn._encoding import make_encoder
        from ..learn.omnivariate import _standard_units

        is_discrete = np.zeros(X.shape[1], dtype=np.bool_)
        is_discrete[list(self.discrete)] = True
        self.encoder = make_encoder(X, is_discrete, [""] * X.shape[1], {})
        encoded = self.encoder.transform(X)
        self.centre, self.scale = _standard_units(encoded)
        self.model = _rival(self.method).fit(self._standard(X), y)
        self.n_parameters_ = self._count(encoded.shape[1], np.unique(y).size)

    def _standard(self, X: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
        Z = (self.encoder.transform(X) - self.centre) / self.scale
        return np.where(np.isnan(Z), 0.0, Z)

    def _count(self, d: int, n_classes: int) -> int:
        """Complexity as in the paper's text."""
        if self.method == "SVM":
            return d * int(self.model.support_.size)
        return (n_classes - 1) * (d + 1 if self.method == "LDA" else (d * d + 3 * d + 2) // 2)

    def predict(self, X: npt.NDArray[np.float64]) -> npt.NDArray[Any]:
        """Return the class of each row."""
        return np.asarray(self.model.predict(self._standard(X)))


def _rival(method: str) -> Any:
    """A classifier of scikit-learn; QDA is regularised a little, as indicators make covariances singular."""
    from sklearn.discriminant_analysis import LinearDiscriminantAnalysis, QuadraticDiscriminantAnalysis
    from sklearn.svm import SVC

    if method == "LDA":
        return LinearDiscriminantAnalysis()
    if method == "QDA":
        return QuadraticDiscriminantAnalysis(reg_param=1e-3)
    return SVC(kernel="linear")

"""``vcdim grow``: a tree from a CSV file, with its structure, its VC bracket and its risk bounds."""

from __future__ import annotations

import argparse
import csv
import math
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from ._table import CRITERIA, NOMINAL
from .bounds import vc_bracket
from .discretise import METHODS, Discretiser
from .features import Features
from .growing import grow_tree
from .risk import mdl_bound, shawe_taylor_bound, srm_bound
from .trees import Tree

_MISSING = ("", "?", "NA", "N/A", "nan", "NaN", "null", "None")
"""Cells that count as missing."""


@dataclass(frozen=True, slots=True)
class CsvTable:
    """A CSV file as numbers and labels."""

    X: npt.NDArray[np.float64]
    """Numbers, or codes of categories; NaN where a cell is missing."""
    y: npt.NDArray[Any]
    """Labels."""
    names: tuple[str, ...]
    """Names of the features."""
    kinds: tuple[str, ...]
    """``"real"``, ``"binary"`` or ``"nominal"``."""
    categories: dict[int, tuple[str, ...]]
    """Names of the codes of features that were text."""


def read_csv(path: str | Path, target: str) -> CsvTable:
    """Read a CSV file with a header line.

    Parameters
    ----------
    path : path
        The file, in UTF-8.
    target : str
        Name of the column with the class.

    Returns
    -------
    CsvTable

    Raises
    ------
    ValueError
        If the file has no header, no row, a row of another length, or no such column.

    Notes
    -----
    A column of numbers is real, or binary where it holds two of them, 0 and 1; a column with any text is nominal, or
    binary where it holds two words.  Empty cells, ``?``, ``NA`` and ``nan`` are missing.
    """
    with open(path, newline="", encoding="utf-8-sig") as file:
        rows = [row for row in csv.reader(file) if row]
    if not rows:
        raise ValueError(f"expected a header line in {str(path)!r}, got an empty file")
    header = [name.strip() for name in rows[0]]
    if target not in header:
        raise ValueError(f"expected the target to be one of {', '.join(header)}, got {target!r}")
    if len(rows) == 1:
        raise ValueError(f"expected at least 1 row below the header of {str(path)!r}, got 0")
    for number, row in enumerate(rows[1:], start=2):
        if len(row) != len(header):
            raise ValueError(f"expected {len(header)} cells in line {number}, got {len(row)}")
    at = header.index(target)
    labels = [row[at].strip() for row in rows[1:]]
    if any(label in _MISSING for label in labels):
        raise ValueError(f"expected a class in every row, got a missing one in line {_first_missing(labels) + 2}")
    columns: list[npt.NDArray[np.float64]] = []
    kinds: list[str] = []
    names: list[str] = []
    categories: dict[int, tuple[str, ...]] = {}
    for place, name in enumerate(header):
        if place == at:
            continue
        cells = [row[place].strip() for row in rows[1:]]
        column, kind, known = _read_column(cells)
        if known:
            categories[len(columns)] = known
        columns.append(column)
        kinds.append(kind)
        names.append(name)
    if not columns:
        raise ValueError("expected at least 1 feature beside the target, got 0")
    return CsvTable(np.column_stack(columns), np.array(labels), tuple(names), tuple(kinds), categories)


def _first_missing(cells: list[str]) -> int:
    return next(place for place, cell in enumerate(cells) if cell in _MISSING)


def _read_column(cells: list[str]) -> tuple[npt.NDArray[np.float64], str, tuple[str, ...]]:
    """Numbers or codes, the kind, and the categories of text."""
    try:
        column = np.array([math.nan if cell in _MISSING else float(cell) for cell in cells])
    except ValueError:
        known = tuple(sorted({cell for cell in cells if cell not in _MISSING}))
        codes = {cell: float(code) for code, cell in enumerate(known)}
        column = np.array([codes.get(cell, math.nan) for cell in cells])
        return column, "binary" if len(known) == 2 else "nominal", known
    present = np.unique(column[~np.isnan(column)])
    return column, "binary" if present.tolist() == [0.0, 1.0] else "real", ()


def add_grow_command(subparsers: Any) -> argparse.ArgumentParser:
    """Add ``grow`` to the subcommands of the command line."""
    parser: argparse.ArgumentParser = subparsers.add_parser(
        "grow", help="grow a decision tree from a CSV file", description=__doc__
    )
    parser.add_argument("data", help="CSV file with a header line")
    parser.add_argument("--target", required=True, help="column with the class")
    parser.add_argument("--criterion", choices=CRITERIA, default="gini")
    parser.add_argument("--tree", choices=("binary", "multiway"), default="binary")
    parser.add_argument("--nominal", choices=NOMINAL[:2], default="one-vs-rest", help="splits of nominal features")
    parser.add_argument("--discretise", choices=METHODS, help="turn real features into intervals first")
    parser.add_argument("--max-depth", type=int)
    parser.add_argument("--max-leaf-nodes", type=int)
    parser.add_argument("--min-samples-leaf", type=int, default=1)
    parser.add_argument("--min-gain", type=float, default=0.0)
    parser.add_argument("--alpha", type=float, help="split only where chance would do as well with at most this chance")
    parser.add_argument("--delta", type=float, default=0.05, help="the risk bounds hold with probability 1 - delta")
    parser.add_argument("--n-jobs", type=int, default=1)
    parser.add_argument("--format", choices=("text", "rules", "json", "dot", "svg"), default="text")
    parser.add_argument("--json", dest="format", action="store_const", const="json", help="the same as --format json")
    parser.set_defaults(run=run_grow)
    return parser


def run_grow(arguments: argparse.Namespace) -> int:
    """Grow, print, and return the exit code."""
    try:
        table = read_csv(arguments.data, arguments.target)
        X, kinds, categories = _coded(table, arguments)
        tree = grow_tree(
            X, table.y, arguments.criterion, tree=arguments.tree, feature_kinds=kinds, nominal=arguments.nominal,
            missing="best", max_depth=arguments.max_depth, max_leaf_nodes=arguments.max_leaf_nodes,
            min_samples_leaf=arguments.min_samples_leaf, min_gain=arguments.min_gain, alpha=arguments.alpha,
            n_jobs=arguments.n_jobs, feature_names=table.names, categories=categories,
        )  # fmt: skip
        shown = {"text": tree.to_text, "rules": lambda: "\n".join(tree.rules()), "json": tree.to_json,
                 "dot": tree.to_dot, "svg": tree.to_svg}[arguments.format]()  # fmt: skip
        print(shown)
        if arguments.format in ("text", "rules"):
            print()
            print("\n".join(_summary(tree, X, table.y, kinds, arguments)))
    except (OSError, UnicodeDecodeError, ValueError, TypeError) as error:
        print(f"vcdim grow: {error}", file=sys.stderr)
        return 2
    return 0


def _coded(
    table: CsvTable, arguments: argparse.Namespace
) -> tuple[npt.NDArray[np.float64], list[str], dict[int, tuple[str, ...]]]:
    """The features as the tree will see them."""
    kinds, categories = list(table.kinds), dict(table.categories)
    if arguments.discretise is None:
        return table.X, kinds, categories
    real = [place for place, kind in enumerate(kinds) if kind == "real"]
    coder = Discretiser(arguments.discretise).fit(table.X, real)
    for place in real:
        kinds[place] = "ordinal"
        if arguments.tree == "multiway":
            categories[place] = coder.labels(place)
    return coder.transform(table.X), kinds, categories


def features_of(X: npt.NDArray[np.float64], kinds: list[str], tree: str) -> Features:
    """The features of the data as the VC dimension sees them; columns with one value can split nothing."""
    counts = [np.unique(column[~np.isnan(column)]).size for column in X.T]
    usable = [(kind, count) for kind, count in zip(kinds, counts, strict=True) if count >= 2]
    if tree == "multiway":
        return Features(multiway=[count for _, count in usable])
    return Features(
        real=sum(kind == "real" for kind, _ in usable),
        binary=sum(kind == "binary" for kind, _ in usable),
        ordinal=[count for kind, count in usable if kind == "ordinal"],
        nominal=[count for kind, count in usable if kind == "nominal"],
    )


def _summary(
    tree: Tree, X: npt.NDArray[np.float64], y: npt.NDArray[Any], kinds: list[str], arguments: argparse.Namespace
) -> list[str]:
    """Structure, training error, VC bracket and risk bounds, one line each."""
    m, error = len(y), 1.0 - tree.score(X, y)
    features = features_of(X, kinds, arguments.tree)
    spelling = str(tree.structure)
    out = [
        f"structure        {spelling if len(spelling) <= 200 else spelling[:197] + '...'}",
        f"nodes, leaves    {tree.n_nodes}, {tree.n_leaves} (height {tree.height})",
        f"rows, classes    {m}, {tree.classes.size}",
        f"features         {features}",
        f"training error   {error:.4f}",
    ]
    # The bounds know thresholds and single categories; these tests can separate more.
    if np.isnan(X).any():
        return [*out, "vc dimension     no bound: tests that place missing values are not covered"]
    if arguments.nominal == "subset" and "nominal" in kinds:
        return [*out, "vc dimension     no bound: tests by subsets of categories are not covered"]
    return out + _bounds(tree, features, error, m, arguments.delta)


def _bounds(tree: Tree, features: Features, error: float, m: int, delta: float) -> list[str]:
    """VC bracket and risk bounds."""
    out = []
    try:
        bracket = vc_bracket(tree.structure, features=features)
        out.append(f"vc dimension     between {bracket.lower} and {bracket.upper}")
        srm = srm_bound(error, bracket.upper, m, nu=delta)
        out.append(f"SRM bound        {float(srm):.4f} (with the upper VC bound)")
    except ValueError as reason:
        out.append(f"vc dimension     no bound: {reason}")
    k = int(tree.classes.size)
    try:
        value = shawe_taylor_bound(error, tree.structure, m, max(k, 2), delta=delta, features=features)
        out.append(f"Shawe-Taylor     {float(value):.4f}")
    except ValueError as reason:
        out.append(f"Shawe-Taylor     no bound: {reason}")
    try:
        value = mdl_bound(error, tree.n_all, max(tree.n_features, 1), m, delta=delta, n_classes=max(k, 2))
        out.append(f"MDL bound        {float(value):.4f} (stated for binary features)")
    except ValueError as reason:
        out.append(f"MDL bound        no bound: {reason}")
    return out

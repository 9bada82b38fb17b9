"""``vcdim prune``: a tree from a CSV file, pruned, with the path that led to it and a report."""

from __future__ import annotations

import argparse
import json
import math
import sys
from pathlib import Path
from typing import Any

import numpy as np

from ._table import CRITERIA, NOMINAL
from .cli_grow import CsvTable, _coded, features_of, read_csv
from .discretise import METHODS as DISCRETISE
from .growing import grow_tree
from .trees import Tree

PRUNE_METHODS = (
    "bound", "srm", "holdout", "cost_complexity", "m_cost_complexity", "pessimistic", "mdl", "hypergeometric", "merge",
)  # fmt: skip
"""Methods that need nothing but data: all but the generic one, which needs a function."""

_EXAMPLES = """\
examples:
  vcdim prune data.csv --target class --method bound --report report.html
  vcdim prune data.csv --target class --method cost_complexity --one-standard-error
  vcdim prune data.csv --target class --method holdout --validation more.csv --json
"""


def add_prune_command(subparsers: Any) -> argparse.ArgumentParser:
    """Add ``prune`` to the subcommands of the command line."""
    parser: argparse.ArgumentParser = subparsers.add_parser(
        "prune", help="grow a decision tree from a CSV file and prune it", description=__doc__, epilog=_EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )  # fmt: skip
    parser.add_argument("data", help="CSV file with a header line")
    parser.add_argument("--target", required=True, help="column with the class")
    parser.add_argument("--method", choices=PRUNE_METHODS, default="bound")
    parser.add_argument("--report", type=Path, metavar="FILE", help="write an HTML page with trees, path and curve")
    parser.add_argument("--json", action="store_true", help="print the tree, the path and the settings as JSON")
    growing = parser.add_argument_group("growing")
    growing.add_argument("--criterion", choices=CRITERIA, default="gini")
    growing.add_argument("--tree", choices=("binary", "multiway"), default="binary")
    growing.add_argument("--nominal", choices=NOMINAL[:2], default="one-vs-rest", help="splits of nominal features")
    growing.add_argument("--discretise", choices=DISCRETISE, help="turn real features into intervals first")
    growing.add_argument("--max-depth", type=int)
    growing.add_argument("--max-leaf-nodes", type=int)
    growing.add_argument("--min-samples-leaf", type=int, default=1)
    _add_options(parser.add_argument_group("pruning (each for the methods that take it)"))
    parser.set_defaults(run=run_prune)
    return parser


def _add_options(group: Any) -> None:
    """One argument for each option of a method."""
    group.add_argument("--bound", choices=("shawe_taylor", "vapnik"), help="bound: which one")
    group.add_argument("--form", choices=("loose", "tight"), help="bound: of the growth function")
    group.add_argument("--r", help="bound: a number below 1, such as 2e-4, or cv")
    group.add_argument("--delta", type=float, help="bound, mdl: probability of failure")
    group.add_argument("--raising", action="store_true", default=None, help="bound: a child may replace its parent")
    group.add_argument("--vc", help="srm: lower, exact, upper, aslan or a number")
    group.add_argument("--a1", type=float, help="srm")
    group.add_argument("--a2", type=float, help="srm")
    group.add_argument("--nu", type=float, help="srm")
    group.add_argument("--validation", metavar="CSV", help="holdout: a file with the same columns")
    group.add_argument("--fraction", type=float, help="holdout: share of the rows put aside, and not grown on")
    group.add_argument("--alpha", type=float, help="cost_complexity: the price of a leaf; hypergeometric: the level")
    group.add_argument("--risk", choices=("error", "impurity"), help="cost_complexity")
    group.add_argument("--folds", type=int, help="cost_complexity, bound --r cv")
    group.add_argument("--one-standard-error", action="store_true", default=None, help="cost_complexity")
    group.add_argument("--confidence", type=float, help="pessimistic")
    group.add_argument("--surgery", action="store_true", default=None, help="pessimistic")
    group.add_argument("--random-state", type=int, help="of folds and of rows put aside")


_OPTIONS = (
    "bound", "form", "r", "delta", "raising", "vc", "a1", "a2", "nu", "fraction", "alpha", "risk", "folds",
    "one_standard_error", "confidence", "surgery", "random_state",
)  # fmt: skip


def run_prune(arguments: argparse.Namespace) -> int:
    """Grow, prune, print, and return the exit code."""
    try:
        result = _pruned(arguments)
        if arguments.report is not None:
            arguments.report.write_text(result.report(), encoding="utf-8")
        print(_as_json(result) if arguments.json else _as_text(result))
    except (OSError, UnicodeDecodeError, ImportError, ValueError, TypeError) as error:
        print(f"vcdim prune: {error}", file=sys.stderr)
        return 2
    return 0


def _pruned(arguments: argparse.Namespace) -> Any:
    """Read, grow and prune."""
    from .learn._prune_rules import hold_out
    from .learn.pruning import prune

    table = read_csv(arguments.data, arguments.target)
    X, kinds, categories = _coded(table, arguments)
    options = {name: getattr(arguments, name) for name in _OPTIONS if getattr(arguments, name) is not None}
    for name in ("r", "vc"):
        if name in options:
            options[name] = _number_or_word(options[name])
    rows = np.arange(len(table.y))
    if arguments.validation is not None:
        options["validation"] = _read_validation(arguments.validation, arguments, table)
    elif arguments.method == "holdout":
        rows, aside = hold_out(X, table.y, options.pop("fraction", 0.2), options.pop("random_state", 0))
        options["validation"] = (X[aside], table.y[aside])

    def grow(X: Any, y: Any, weights: Any) -> Tree:
        return grow_tree(
            X, y, arguments.criterion, tree=arguments.tree, feature_kinds=kinds, nominal=arguments.nominal,
            sample_weight=weights, missing="best", max_depth=arguments.max_depth,
            max_leaf_nodes=arguments.max_leaf_nodes, min_samples_leaf=arguments.min_samples_leaf,
            feature_names=table.names, categories=categories,
        )  # fmt: skip

    features = features_of(X, kinds, arguments.tree)
    tree = grow(X[rows], table.y[rows], None)
    return prune(tree, X[rows], table.y[rows], arguments.method, features=features, grow=grow, **options)


def _number_or_word(text: str) -> float | str:
    try:
        return float(text)
    except ValueError:
        return text


def _read_validation(path: str, arguments: argparse.Namespace, table: CsvTable) -> tuple[Any, Any]:
    """Another file with the same columns, coded as the first one."""
    if arguments.discretise is not None:
        raise ValueError("expected no --discretise with --validation: intervals are those of the first file")
    other = read_csv(path, arguments.target)
    if other.names != table.names:
        raise ValueError(f"expected the columns {', '.join(table.names)} in {path!r}, got {', '.join(other.names)}")
    X = other.X.copy()
    for place in range(X.shape[1]):
        if (place in table.categories) != (place in other.categories):
            raise ValueError(f"expected column {table.names[place]!r} of one kind in both files, got numbers and text")
        if place in table.categories:
            known = {name: float(code) for code, name in enumerate(table.categories[place])}
            codes = [known.get(name, float(len(known))) for name in other.categories[place]]
            column = X[:, place]
            X[:, place] = [math.nan if math.isnan(code) else codes[int(code)] for code in column]
    return X, other.y


def _as_text(result: Any) -> str:
    """The tree, the path, and what it came to."""
    settings = result.settings
    lines = [
        result.tree.to_text(), "", str(result), "",
        f"leaves           {result.before.n_leaves} before, {result.tree.n_leaves} after",
        f"training error   {settings['error_before']:.4f} before, {settings['error_after']:.4f} after",
    ]  # fmt: skip
    if not math.isnan(result.bound):
        lines.append(f"value            {result.bound:.6g}")
    return "\n".join(lines)


def _as_json(result: Any) -> str:
    """Everything as JSON; numbers that it has not are null."""
    columns = result.path.columns()
    path = [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]
    return json.dumps(
        _plain(
            {
                "method": result.method, "bound": result.bound, "settings": dict(result.settings), "path": path,
                "tree": result.tree.to_dict(), "leaves_before": result.before.n_leaves,
            }
        ),
        allow_nan=False,
    )  # fmt: skip


def _plain(value: Any) -> Any:
    """Lists, dicts, numbers and text only."""
    if isinstance(value, dict):
        return {str(key): _plain(entry) for key, entry in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(entry) for entry in value]
    if isinstance(value, np.ndarray):
        return _plain(value.tolist())
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    return value if value is None or isinstance(value, (str, int)) else str(value)

"""The command ``vcdim bounds``: a VC dimension from below and from above, with the source of each bound."""

from __future__ import annotations

import argparse
import json
import sys
from typing import Any

from .bounds import Bracket, vc_bracket
from .exact import search_vc
from .features import Features
from .structures import Structure, as_structure

__all__ = ["add_bounds_command", "run_bounds"]


def add_bounds_command(subparsers: Any) -> argparse.ArgumentParser:
    """Add the command to the subparsers of ``vcdim``; its function is in the default ``run``."""
    parser: argparse.ArgumentParser = subparsers.add_parser(
        "bounds",
        help="bound the VC dimension of a structure from below and from above",
        description="Print lower <= exact <= upper with the source of each, and all other bounds with --all.",
    )
    parser.add_argument("structure", help="'.' is a leaf, '(' children ')' a node: \"((..).)\"")
    parser.add_argument("-d", "--binary", type=int, default=0, metavar="D", help="number of binary features")
    parser.add_argument("--real", type=int, default=0, metavar="L", help="number of real features")
    for kind in ("ordinal", "nominal", "multiway"):
        parser.add_argument(
            f"--{kind}", type=int, nargs="*", default=[], metavar="C", help=f"categories of each {kind} feature"
        )
    parser.add_argument(
        "--time-limit", type=float, default=1.0, metavar="S",
        help="seconds to search for the exact value where the bounds leave it open (default: 1; 0 for none)",
    )  # fmt: skip
    parser.add_argument("--all", action="store_true", help="list every bound that applies")
    parser.add_argument("--json", action="store_true", help="print JSON")
    parser.set_defaults(run=run_bounds)
    return parser


def run_bounds(args: argparse.Namespace) -> int:
    """Print the bounds; return 0, or 2 after an error in the arguments."""
    try:
        structure = as_structure(args.structure)
        features = Features(args.real, args.binary, args.ordinal, args.nominal, args.multiway)
        bracket = vc_bracket(structure, features=features)
        exact, source = _exact_value(structure, features, bracket, args.time_limit)
    except (TypeError, ValueError) as error:
        print(f"vcdim bounds: {error}", file=sys.stderr)
        return 2
    print(_as_json(structure, features, bracket, exact) if args.json else _as_text(bracket, exact, source, args.all))
    return 0


def _exact_value(
    structure: Structure, features: Features, bracket: Bracket, time_limit: float
) -> tuple[int | None, str]:
    """The exact value, or None, and where it comes from, or why it is not known."""
    if bracket.is_exact:
        return bracket.lower, "both bounds agree"
    if time_limit == 0:
        return None, "not decided by the bounds"
    try:
        result = search_vc(structure, features=features, time_limit=time_limit)
    except ValueError:  # more features or categories than a search takes
        return None, "not decided by the bounds"
    return (result.lower, "exhaustive search") if result.exact else (None, "not decided by the bounds, nor in time")


def _as_text(bracket: Bracket, exact: int | None, source: str, everything: bool) -> str:
    lines = [
        f"{bracket.lower} <= {'exact' if exact is None else exact} <= {bracket.upper}",
        f"lower {bracket.lower}: {bracket.lower_source}",
        f"exact {'?' if exact is None else exact}: {source}",
        f"upper {bracket.upper}: {bracket.upper_source}",
    ]
    if everything:
        lines += [f"  {bound.side} {bound.value:>6}  {bound.method:<12} {bound.source}" for bound in bracket.bounds]
    return "\n".join(lines)


def _as_json(structure: object, features: Features, bracket: Bracket, exact: int | None) -> str:
    fields = ("side", "method", "value", "source")
    return json.dumps(
        {
            "structure": str(structure),
            "features": str(features),
            "lower": bracket.lower,
            "exact": exact,
            "upper": bracket.upper,
            "lower_source": bracket.lower_source,
            "upper_source": bracket.upper_source,
            "bounds": [{name: getattr(bound, name) for name in fields} for bound in bracket.bounds],
        }
    )

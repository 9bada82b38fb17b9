"""The command ``vcdim verify``: check certificates without the engine, name their grade and all that is wrong."""

from __future__ import annotations

import argparse
import json
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from .verify import EFFORT, check

__all__ = ["add_verify_command", "main", "run_verify"]

_DESCRIPTION = """\
Check certificates: send every point of the witness down its trees, and check the proof of the upper end. Nothing of the
engine is used. The grade says what the upper end rests on: proved by SAT, proved by counting, exhausted (rechecked, or
ledger consistent), or witness only."""
_EPILOG = "exit codes: 0 everything holds; 1 a certificate is refused; 2 a file cannot be read"


def add_verify_command(subparsers: Any) -> argparse.ArgumentParser:
    """Add the command to the subparsers of ``vcdim``; its function is in the default ``run``."""
    parser: argparse.ArgumentParser = subparsers.add_parser(
        "verify", help="check a certificate without the engine", description=_DESCRIPTION, epilog=_EPILOG
    )
    _add_arguments(parser)
    return parser


def _add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("files", nargs="+", metavar="FILE", help="a certificate as JSON")
    parser.add_argument(
        "--effort", type=int, default=EFFORT, metavar="N",
        help=f"work allowed for searching an exhausted problem again (default: {EFFORT:,}, some 5 seconds; 0 for none)",
    )  # fmt: skip
    parser.add_argument("--json", action="store_true", help="print JSON, one line for each file")
    parser.set_defaults(run=run_verify)


def main(arguments: Sequence[str]) -> int:
    """Run ``vcdim verify`` by itself.

    Examples
    --------
    >>> main(["no such file"])
    no such file: cannot be read: No such file or directory
    2
    """
    parser = argparse.ArgumentParser(prog="vcdim verify", description=_DESCRIPTION, epilog=_EPILOG)
    _add_arguments(parser)
    return run_verify(parser.parse_args(arguments))


def run_verify(args: argparse.Namespace) -> int:
    """Print a report on each file; return 0 if all hold, 1 if one is refused, 2 if one cannot be read."""
    status = 0
    for name in args.files:
        try:
            report = check(Path(name), effort=args.effort)
        except OSError as error:
            print(json.dumps({"file": name, "error": error.strerror}) if args.json else
                  f"{name}: cannot be read: {error.strerror}")  # fmt: skip
            status = 2
            continue
        print(json.dumps({"file": name, **asdict(report)}) if args.json else f"{name}: {report}")
        status = max(status, 0 if report.ok else 1)
    return status

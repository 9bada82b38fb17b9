"""The command ``vcdim atlas``: every small structure on few features, as one page, and as CSV and JSON."""

from __future__ import annotations

import argparse
import math
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any, TextIO

from ._files import check_writable, write_atomically
from ._validation import check_number
from .atlas import TITLE, Atlas, Cell, plan, scan

if TYPE_CHECKING:
    from .results import Progress

__all__ = ["add_atlas_command", "run_atlas"]

EXIT_OK, EXIT_LIMIT, EXIT_INTERRUPTED = 0, 3, 130


def add_atlas_command(subparsers: Any) -> argparse.ArgumentParser:
    """Add the command to the subparsers of ``vcdim``; its function is in the default ``run``."""
    parser: argparse.ArgumentParser = subparsers.add_parser(
        "atlas",
        help="write a page with the VC dimension of every small structure",
        description="Find the VC dimension of every structure with up to N nodes on 1 to D binary and 1 to L real\n"
        "features, and write one page that needs no network: values and brackets by colour, and for each of\n"
        "them bounds with sources, the shattered sample, a tree for each labelling, the certificate's grade.",
        epilog="Interrupting (Ctrl-C) writes the files with the cells that are done.\n\n"
        "examples:\n"
        "  vcdim atlas --max-nodes 4 --binary 4 --real 2 --time-limit 10 -o atlas.html\n"
        "  vcdim atlas --max-nodes 6 --binary 5 --jobs 2 -o atlas.html --csv atlas.csv --json atlas.json\n\n"
        "exit codes: 0 all searches ended; 3 a limit stopped some; 2 bad input; 130 interrupted",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--max-nodes", type=int, required=True, metavar="N", help="structures with 1 to N nodes")
    parser.add_argument("--binary", type=int, default=0, metavar="D", help="columns for 1 to D binary features")
    parser.add_argument("--real", type=int, default=0, metavar="L", help="columns for 1 to L real features")
    parser.add_argument(
        "--time-limit", type=float, default=10.0, metavar="S",
        help="seconds for the search of each cell, then a bracket (default: 10; inf for no limit)",
    )  # fmt: skip
    parser.add_argument("--jobs", type=int, default=1, metavar="N", help="number of threads (default: 1)")
    parser.add_argument("--title", default=TITLE, help="heading of the page")
    parser.add_argument("-o", "--output", type=Path, required=True, metavar="FILE", help="the page, such as atlas.html")
    parser.add_argument("--csv", type=Path, metavar="FILE", help="write one line for each cell as well")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write all that the page holds as JSON as well")
    parser.set_defaults(run=run_atlas)
    return parser


def run_atlas(args: argparse.Namespace) -> int:
    """Write the atlas; return 0, 3 if a limit stopped a search, 2 after bad input, 130 if interrupted."""
    try:
        shapes, columns = plan(args.max_nodes, args.binary, args.real)
        limit = check_number("time-limit", args.time_limit, 0)
        for path in _outputs(args):  # what is wrong with a file is to be found out before a long search
            check_writable(path)
        time_limit = None if math.isinf(limit) else limit
        cells: list[Cell] = []
        was_interrupted = False
        try:
            with Report(sys.stderr) as report:
                for cell in scan(shapes, columns, time_limit=time_limit, n_jobs=args.jobs, progress=report):
                    cells.append(cell)
        except KeyboardInterrupt:
            was_interrupted = True
        finally:  # hours of work are not lost, whatever it was that ended them
            atlas = Atlas(shapes, columns, tuple(cells), time_limit, args.title)
            if cells or was_interrupted:
                _write(atlas, args)
    except (OSError, TypeError, ValueError) as error:
        print(f"vcdim atlas: {error}", file=sys.stderr)
        return 2
    print(_summary(atlas, args.output))
    if was_interrupted:
        print("vcdim atlas: interrupted; the cells that were done are written", file=sys.stderr)
        return EXIT_INTERRUPTED
    return EXIT_LIMIT if any(cell.was_stopped for cell in cells) else EXIT_OK


def _outputs(args: argparse.Namespace) -> list[Path]:
    return [path for path in (args.output, args.csv, args.json) if path is not None]


def _write(atlas: Atlas, args: argparse.Namespace) -> None:
    write_atomically(args.output, atlas.html())
    if args.csv is not None:
        write_atomically(args.csv, atlas.csv())
    if args.json is not None:
        write_atomically(args.json, atlas.json())


def _summary(atlas: Atlas, path: Path) -> str:
    done, total = len(atlas.cells), len(atlas.structures) * len(atlas.columns)
    cells = f"{done} cells" if done == total else f"{done} of {total} cells"
    return f"{path}: {cells}, {atlas.n_exact} exact, {done - atlas.n_exact} brackets"


class Report:
    """Says how far the work is: one line that is rewritten on a terminal, else a line every ten seconds.

    Examples
    --------
    >>> with Report(sys.stdout, every=0.0) as report:
    ...     report(3, 20, None)
    vcdim atlas: 3 of 20 cells, 0 s
    """

    def __init__(self, stream: TextIO, every: float = 10.0) -> None:
        from .cli import ProgressLine

        self.stream = stream
        self.every = every
        self.line = ProgressLine(stream)
        self.started = self.last = time.monotonic()

    def __enter__(self) -> Report:
        return self

    def __exit__(self, *error: object) -> None:
        self.line.__exit__(*error)

    def __call__(self, done: int, total: int, progress: Progress | None) -> None:
        if self.line.is_shown:
            self.line.row(done, total, progress)
            return
        now = time.monotonic()
        if now - self.last >= self.every:
            self.last = now
            print(f"vcdim atlas: {done} of {total} cells, {now - self.started:.0f} s", file=self.stream, flush=True)

"""The ``vcdim`` command: parse, call, print.

Exit codes: 0 an answer was found, or "yes"; 1 "no" (``vcdim shatters``); 2 bad input; 3 a limit was reached and the
answer is a bracket; 130 interrupted.
"""

from __future__ import annotations

import argparse
import csv
import importlib
import json
import os
import sys
import time
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any, TextIO

from . import __version__
from ._journal import read_problem
from ._problem import Problem
from .exact import dichotomies, realize, search_vc, unrealised
from .features import Features
from .results import Progress, SearchLimit, VCResult
from .structures import Structure, as_structure, structures, structures_of_height

__all__ = ["main"]

EXIT_OK, EXIT_NO, EXIT_BAD_INPUT, EXIT_LIMIT, EXIT_INTERRUPTED = 0, 1, 2, 3, 130

_EXIT_CODES = """\
exit codes:
  0    an answer was found, or yes
  1    no (vcdim shatters)
  2    bad input
  3    a limit was reached: the answer is a bracket
  130  interrupted
"""

_SPELLING = """\
A structure is spelled with three characters: '.' is a leaf and '(' children ')' a node, so "(..)" is a stump and
"((..)(..))" a node over two stumps. Quote it: parentheses mean something to the shell.
"""


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command and return its exit code.

    Parameters
    ----------
    argv : sequence of str, optional
        The words after ``vcdim``; those of the process unless given.

    Examples
    --------
    >>> main(["structures", "4"])
    (((..)(..)).)
    (((..).)(..))
    ((((..).).).)
    0
    """
    args = _parser().parse_args(argv)
    try:
        code: int = args.run(args)
        sys.stdout.flush()
        return code
    except KeyboardInterrupt:
        return _complain(args.command, "interrupted", EXIT_INTERRUPTED)
    except BrokenPipeError:  # the reader, such as head, has seen enough; let the exit not flush into the pipe again
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return EXIT_OK
    except SearchLimit as error:
        return _complain(args.command, error, EXIT_LIMIT)
    except (ValueError, TypeError, OSError, ImportError) as error:
        return _complain(args.command, error, EXIT_BAD_INPUT)
    except MemoryError:
        return _complain(args.command, "not enough memory", EXIT_LIMIT)


def _complain(command: str, error: object, code: int) -> int:
    """Say on stderr what went wrong, and return the exit code."""
    print(f"vcdim {command}: {error}", file=sys.stderr)
    return code


# Parsers


def _parser() -> argparse.ArgumentParser:
    """Return the parser of all commands; each sets ``run`` to the function that does it."""
    parser = argparse.ArgumentParser(
        prog="vcdim",
        description="The VC dimension of decision-tree structures.\n\n" + _SPELLING,
        epilog=_EXIT_CODES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--version", action="version", version=f"vcdim {__version__}")
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")
    _add_exact_command(commands)
    _add_resume_command(commands)
    _add_shatters_command(commands)
    _add_structures_command(commands)
    _add_optional_commands(commands)
    _add_reproduce_command(commands)
    return parser


def _add_optional_commands(commands: Any) -> None:
    """Add the commands of other modules; one whose extra is not installed is left out."""
    for name in ("bounds", "grow", "prune", "atlas", "verify"):
        try:
            module = importlib.import_module(f"{__package__}.cli_{name}")
        except ImportError:
            continue
        getattr(module, f"add_{name}_command")(commands)


def _new_command(
    commands: Any, name: str, summary: str, description: str, examples: str, run: Callable[[argparse.Namespace], int]
) -> argparse.ArgumentParser:
    """Return the parser of one command, with ``--json`` and its examples."""
    parser: argparse.ArgumentParser = commands.add_parser(
        name,
        help=summary,
        description=description,
        epilog=f"examples:\n{examples}\n{_EXIT_CODES}",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--json", action="store_true", help="print JSON")
    parser.set_defaults(run=run)
    return parser


def _add_orientation(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--orientation",
        choices=("free", "fixed"),
        default="free",
        help="whether a node may send either answer to either child (default: free), or 0 always goes left",
    )


def _add_features(parser: argparse.ArgumentParser) -> None:
    """Add the options that say what the features are."""
    parser.add_argument("-d", "--binary", dest="d", type=int, metavar="D", help="number of binary features")
    parser.add_argument("--real", type=int, default=0, metavar="L", help="number of real features")
    for kind in ("ordinal", "nominal", "multiway"):
        parser.add_argument(
            f"--{kind}", type=int, nargs="+", default=[], metavar="C", help=f"categories of each {kind} feature"
        )
    parser.add_argument(
        "--subset-splits", action="store_true", help="let nominal features be split by any set of categories"
    )


def _features(args: argparse.Namespace) -> Features:
    return Features(args.real, args.d or 0, args.ordinal, args.nominal, args.multiway)


def _nominal_splits(args: argparse.Namespace) -> str:
    return "subset" if args.subset_splits else "one"


def _add_limits(parser: argparse.ArgumentParser) -> None:
    """Add the options that a search can be stopped, shared and saved by."""
    parser.add_argument("--time-limit", type=float, metavar="S", help="stop after S seconds with a bracket")
    parser.add_argument("--node-limit", type=int, metavar="N", help="stop after N samples with a bracket")
    parser.add_argument("--memory-limit", type=float, metavar="MB", help="stop beyond so many megabytes with a bracket")
    parser.add_argument("--jobs", type=int, default=1, metavar="N", help="number of threads (default: 1)")
    parser.add_argument("--certificate", type=Path, metavar="FILE", help="write the certificate of the result")


def _add_exact_command(commands: Any) -> None:
    parser = _new_command(
        commands,
        "exact",
        "find the exact VC dimension of a structure",
        "Find the VC dimension of a structure on some features, and a shattered sample of that size.\n\n"
        + _SPELLING,
        '  vcdim exact "((..)(..))" -d 4\n'
        '  vcdim exact "((..)(..))" --real 2 --certificate proof.json\n'
        '  vcdim exact "((...)..)" --multiway 3 3 3\n'
        '  vcdim exact "(((..).).)" --real 3 --time-limit 60 --checkpoint search.journal\n'
        '  vcdim exact "((((..).)(..)).)" -d 6 --time-limit 10 --jobs 2\n'
        '  vcdim exact "((..).)" -d 5 --json\n',
        _run_exact,
    )
    parser.add_argument("structure", metavar="STRUCTURE", help='for example "((..)(..))"')
    _add_features(parser)
    _add_orientation(parser)
    _add_limits(parser)
    parser.add_argument(
        "--checkpoint", type=Path, metavar="FILE", help="keep a journal, from which a search that was killed goes on"
    )


def _add_resume_command(commands: Any) -> None:
    parser = _new_command(
        commands,
        "resume",
        "go on with a search that was stopped or killed",
        "Go on with the search whose journal this is (vcdim exact --checkpoint); finished work is not done again.",
        "  vcdim resume search.journal --jobs 2\n",
        _run_resume,
    )
    parser.add_argument("journal", type=Path, metavar="FILE", help="the journal")
    _add_limits(parser)


def _add_shatters_command(commands: Any) -> None:
    parser = _new_command(
        commands,
        "shatters",
        "decide whether a structure shatters given points",
        "Decide whether every labelling of some points is realised by a tree with this structure.\n\n" + _SPELLING,
        '  vcdim shatters "((..).)" points.csv\n'
        "  printf '0,0\\n0,1\\n1,0\\n1,1\\n' | vcdim shatters \"((..).)\" -\n",
        _run_shatters,
    )
    parser.add_argument("structure", metavar="STRUCTURE", help='for example "((..)(..))"')
    parser.add_argument(
        "points", metavar="POINTS.csv", help="one point a line, header optional; - reads stdin"
    )
    _add_features(parser)
    _add_orientation(parser)


def _add_structures_command(commands: Any) -> None:
    parser = _new_command(
        commands,
        "structures",
        "list the structures of a size",
        "List every binary structure with N nodes, or up to a height, once up to swapping children.",
        "  vcdim structures 4 --draw\n"
        "  vcdim structures 12 --count\n"
        "  vcdim structures --height 4\n",
        _run_structures,
    )
    size = parser.add_mutually_exclusive_group(required=True)
    size.add_argument("nodes", nargs="?", type=int, metavar="N", help="number of nodes")
    size.add_argument("--height", type=int, metavar="H", help="all structures with a node and height at most H")
    parser.add_argument("--draw", action="store_true", help="draw each structure")
    parser.add_argument("--count", action="store_true", help="print only how many there are")


def _add_reproduce_command(commands: Any) -> None:
    parser = _new_command(
        commands,
        "reproduce",
        "compute a published figure again",
        "figure6: Yildiz 2012, Figure 6: the lower bound beside the exact VC dimension of every structure up to a\n"
        "height, and whether the paper's two conclusions hold (largest difference 1; about 70 % equal).\n\n"
        "figure2: Yildiz 2011, Figure 2: the VC dimension of the node models, measured by experiment.\n\n"
        "omnivariate: Yildiz 2011: omnivariate trees by four selections beside LDA, QDA and a linear SVM on 5 x 2\n"
        "folds of generated data, those of scikit-learn, and the CSV files of a folder (column class).",
        "  vcdim reproduce figure6 --d 3 4\n"
        "  vcdim reproduce figure6 --time-limit 10 -o figure6.png figure6.csv\n"
        "  vcdim reproduce omnivariate --sets twonorm iris\n"
        "  vcdim reproduce omnivariate --sets --data FOLDER -o folds.csv levels.png\n",
        _run_reproduce,
    )
    parser.add_argument("figure", choices=("figure2", "figure6", "omnivariate"), help="which figure or experiment")
    parser.add_argument(
        "--d", type=int, nargs="+", metavar="D",
        help="numbers of features (default: 3 4 5 6; figure2: 1 to 20, and 1 to 10 for quadratic nodes)",
    )
    parser.add_argument("--height", type=int, default=4, metavar="H", help="largest height (default: 4)")
    _add_orientation(parser)
    parser.add_argument(
        "--time-limit", type=float, default=10.0, metavar="S",
        help="seconds for each structure, then a bracket (default: 10; inf for no limit)",
    )
    parser.add_argument("--jobs", type=int, default=1, metavar="N", help="number of threads (default: 1)")
    parser.add_argument(
        "-o", "--output", type=Path, nargs="+", default=[], metavar="FILE", help="write .png, .svg, .pdf or .csv files"
    )
    parser.add_argument(
        "--bound-rows", choices=("node", "all"), default="node", help="omnivariate: rows that count in the risk bound"
    )
    parser.add_argument("--data", type=Path, metavar="FOLDER", help="omnivariate: CSV files with a column class")
    parser.add_argument(
        "--sets", nargs="*", metavar="NAME",
        help="omnivariate: which of ringnorm twonorm breast_cancer iris wine digits (default: all)",
    )
    parser.add_argument(
        "--rows", type=int, default=7400, metavar="N", help="omnivariate: points of generated data (default: 7400)"
    )


# vcdim exact


def _run_exact(args: argparse.Namespace) -> int:
    features = _features(args)
    if features.n_features == 0 and args.d is None:
        raise ValueError("expected features: -d, --real, --ordinal, --nominal or --multiway, got none")
    problem = Problem.checked(args.structure, features, args.orientation, _nominal_splits(args))
    return _search(problem, args, args.checkpoint)


def _run_resume(args: argparse.Namespace) -> int:
    return _search(read_problem(args.journal), args, args.journal)


def _search(problem: Problem, args: argparse.Namespace, checkpoint: Path | None) -> int:
    """Search and print."""
    limit = None if args.memory_limit is None else int(args.memory_limit * 1e6)
    with ProgressLine() as line:
        result = search_vc(
            problem.structure,
            features=problem.features,
            orientation=problem.orientation,
            nominal_splits=problem.nominal_splits,
            time_limit=args.time_limit,
            node_limit=args.node_limit,
            memory_limit=limit,
            n_jobs=args.jobs,
            progress=line.search if line.is_shown else False,
            checkpoint=checkpoint,
        )
    if args.certificate is not None:
        from .certificates import write_certificate

        write_certificate(args.certificate, result.certificate)
    print(json.dumps(_result_dict(result)) if args.json else _result_text(result))
    return EXIT_OK if result.exact else EXIT_LIMIT


def _result_dict(result: VCResult) -> dict[str, Any]:
    stats = result.stats
    return {
        "structure": str(result.structure),
        "d": result.features.binary,
        "features": str(result.features),
        "orientation": result.orientation,
        "vc": result.value if result.exact else None,
        "exact": result.exact,
        "lower": result.lower,
        "upper": result.upper,
        "upper_source": result.upper_source,
        "witness": [list(point) for point in result.witness],
        "stats": {
            "samples": stats.samples,
            "tested": stats.tested,
            "orbits": list(stats.orbits),
            "sets": stats.sets,
            "seconds": stats.seconds,
            "limit": stats.limit,
        },
    }


def _result_text(result: VCResult) -> str:
    """Return answer, drawing, witness with one realised labelling, and one line of statistics."""
    kinds = str(result.features) if result.features.n_features else "0 binary"
    on = f"{result.structure} on {kinds} feature{'s' * (result.features.n_features != 1)}"
    if result.orientation != "free":
        on += f", orientation {result.orientation}"
    if result.exact:
        answer = f"VC dimension {result.value}: {on}"
    else:
        answer = f"VC dimension {result.lower} to {result.upper} (limit reached: {result.stats.limit}): {on}"
    drawing = result.structure.draw(ascii=_is_ascii(sys.stdout))
    return "\n\n".join([answer, drawing, *_witness_parts(result), _stats_line(result)])


def _witness_parts(result: VCResult) -> list[str]:
    """Return the table of the points, and a tree that realises the labelling in its last column."""
    points = result.witness
    if not points:
        return []
    labels = [i % 2 for i in range(len(points))]
    head = f"Shattered: {len(points)} point{'s' * (len(points) > 1)}, all {2 ** len(points):,} labellings realised"
    names = [f"x{i}" for i in range(len(points[0]))]
    rows = [[*map(str, point), str(label)] for point, label in zip(points, labels, strict=True)]
    tree = realize(
        result.structure, points, labels, features=result.features, orientation=result.orientation,
        nominal_splits=result.nominal_splits,
    )  # fmt: skip
    return [f"{head}\n{_table([*names, 'label'], rows)}", f"These labels, by the tree\n{_indent(str(tree))}"]


def _stats_line(result: VCResult) -> str:
    stats = result.stats
    orbits = f"{sum(stats.orbits):,} orbits kept"
    work = f"{stats.samples:,} samples generated, {stats.tested:,} tested, {orbits}, {stats.sets:,} dichotomy sets"
    return f"Search: {work}, {stats.seconds:.3g} s"


# vcdim shatters


def _run_shatters(args: argparse.Namespace) -> int:
    structure = as_structure(args.structure)
    features = _features(args)
    points = _read_points(args.points, _parse_number if features.n_features else _parse_bit)
    options: dict[str, Any] = {"orientation": args.orientation, "nominal_splits": _nominal_splits(args)}
    if features.n_features:
        options["features"] = features
    found, total = dichotomies(structure, points, **options), 2 ** len(points)
    missing = None if found == total else unrealised(structure, points, **options)
    if args.json:
        answer = {"structure": str(structure), "orientation": args.orientation, "points": len(points)}
        counts = {"shattered": found == total, "dichotomies": found, "labellings": total}
        print(json.dumps(answer | counts | {"unrealised": missing and list(missing)}))
    else:
        print(f"{'yes' if missing is None else 'no'}: {found:,} of {total:,} labellings realised")
        if missing is not None:
            print(f"not realised: {' '.join(map(str, missing))}")
    return EXIT_OK if found == total else EXIT_NO


def _read_points(name: str, parse: Callable[[str, int], float]) -> list[list[float]]:
    """Read points from a CSV file, or from stdin if the name is ``-``."""
    if name == "-":
        return _parse_points(sys.stdin, parse)
    with open(name, encoding="utf-8-sig", newline="") as file:
        return _parse_points(file, parse)


def _parse_points(lines: Iterable[str], parse: Callable[[str, int], float]) -> list[list[float]]:
    """Return the points; the first line is a header if none of its values is a number."""
    reader = csv.reader(lines)
    points: list[list[float]] = []
    width: int | None = None
    for row in reader:
        values = [value.strip() for value in row]
        if not any(values):
            continue
        if width is None and not any(_is_number(value) for value in values):
            width = len(values)
            continue
        if width is not None and len(values) != width:
            raise ValueError(f"expected {width} values, got {len(values)} in line {reader.line_num}")
        width = len(values)
        points.append([parse(value, reader.line_num) for value in values])
    return points


def _parse_bit(value: str, line: int) -> int:
    if value not in ("0", "1"):
        raise ValueError(f"expected 0 or 1, got {value!r} in line {line}")
    return int(value)


def _parse_number(value: str, line: int) -> float:
    if not _is_number(value):
        raise ValueError(f"expected a number, got {value!r} in line {line}")
    return float(value)


def _is_number(value: str) -> bool:
    try:
        float(value)
    except ValueError:
        return False
    return True


# vcdim structures


def _run_structures(args: argparse.Namespace) -> int:
    found = structures(args.nodes) if args.height is None else structures_of_height(args.height)
    if args.json:
        listed = [{"structure": str(s), "nodes": s.n_nodes, "height": s.height} for s in found]
        print(json.dumps({"count": len(found)} | ({} if args.count else {"structures": listed})))
    elif args.count:
        print(len(found))
    else:
        for structure in found:
            print(_drawn(structure) if args.draw else structure)
    return EXIT_OK


def _drawn(structure: Structure) -> str:
    return f"{structure}\n{structure.draw(ascii=_is_ascii(sys.stdout))}\n"


# vcdim reproduce


def _run_reproduce(args: argparse.Namespace) -> int:
    from .reproduce.figure6 import check_output, figure6

    for path in args.output:  # what is wrong with a file is to be found out before a long search
        check_output(path)
    if args.figure == "omnivariate":
        return _run_omnivariate(args)
    if args.figure == "figure2":
        return _run_figure2(args)
    with ProgressLine() as line:
        figure = figure6(
            [3, 4, 5, 6] if args.d is None else args.d,
            height=args.height,
            orientation=args.orientation,
            time_limit=args.time_limit,
            n_jobs=args.jobs,
            progress=line.row if line.is_shown else None,
        )
    for path in args.output:
        figure.save(path)
    print(json.dumps(figure.as_dict()) if args.json else figure)
    return EXIT_LIMIT if figure.claims().n_open else EXIT_OK


def _run_figure2(args: argparse.Namespace) -> int:
    from .reproduce.figure2 import figure2

    with ProgressLine() as line:
        figure = figure2(
            args.d, n_jobs=args.jobs, progress=lambda done, total: line.show(f"{done}/{total} estimates")
        )
    for path in args.output:
        figure.save(path)
    print(json.dumps(figure.as_dict()) if args.json else figure)
    return EXIT_OK


def _run_omnivariate(args: argparse.Namespace) -> int:
    from .reproduce.omnivariate import MADE, omnivariate, read_folder

    data = [*(MADE if args.sets is None else args.sets), *(read_folder(args.data) if args.data else [])]
    if not data:
        raise ValueError("expected a data set, got none: give --sets or --data")
    with ProgressLine() as line:
        result = omnivariate(
            data, rows=args.rows, bound_rows=args.bound_rows, n_jobs=args.jobs,
            progress=lambda done, total: line.show(f"{done}/{total} divisions"),
        )  # fmt: skip
    for path in args.output:
        result.save(path)
    print(json.dumps(result.as_dict()) if args.json else result)
    return EXIT_OK


# Printing


class ProgressLine:
    """One line on a terminal that follows a search and is erased at the end; nothing where there is no terminal.

    Parameters
    ----------
    stream : text file, optional
        Where to write; stderr unless given.
    delay : float, default=1.0
        Seconds before the line appears.

    Examples
    --------
    >>> import io
    >>> with ProgressLine(io.StringIO()) as line:
    ...     line.is_shown
    False
    """

    def __init__(self, stream: TextIO | None = None, delay: float = 1.0) -> None:
        self.stream = sys.stderr if stream is None else stream
        self.delay = delay
        self.is_shown = self.stream.isatty()
        self._start = time.monotonic()
        self._width = 0  # of the text on the line

    def __enter__(self) -> ProgressLine:
        return self

    def __exit__(self, *error: object) -> None:
        if self._width:
            self._write("")
            self.stream.write("\r")
            self.stream.flush()

    def search(self, progress: Progress) -> None:
        """Show the progress of one search."""
        self.show(_progress_text(progress))

    def row(self, done: int, total: int, progress: Progress | None) -> None:
        """Show which of several searches is under way, and its progress."""
        self.show(f"{done}/{total}" + (f": {_progress_text(progress)}" if progress else ""))

    def show(self, text: str) -> None:
        """Put a text on the line, once the delay has passed."""
        if self.is_shown and time.monotonic() - self._start >= self.delay:
            self._write(text)

    def _write(self, text: str) -> None:
        self.stream.write(f"\r{text:{self._width}}")  # spaces over what the last text leaves
        self.stream.flush()
        self._width = len(text)


def _progress_text(progress: Progress) -> str:
    rate = progress.samples / progress.seconds if progress.seconds > 0 else 0.0
    bracket = f"VC {progress.lower} to {progress.upper}"
    work = f"{progress.size} points, {progress.samples:,} samples, {rate:,.0f} samples/s"
    return f"{bracket}, {work}, {progress.seconds:.0f} s"


def _table(names: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Return a table with right-aligned columns, indented."""
    widths = [max(map(len, column)) for column in zip(names, *rows, strict=True)]
    lines = ["  ".join(f"{cell:>{width}}" for cell, width in zip(row, widths, strict=True)) for row in (names, *rows)]
    return _indent("\n".join(lines))


def _indent(text: str) -> str:
    return "\n".join(f"  {line}" for line in text.splitlines())


def _is_ascii(stream: TextIO) -> bool:
    """Whether a stream cannot show the characters of a drawing."""
    try:
        "●○├└│─…".encode(getattr(stream, "encoding", None) or "ascii")
    except (UnicodeEncodeError, LookupError):
        return True
    return False

"""The ``vcdim`` command: what it prints, and its exit codes."""

from __future__ import annotations

import builtins
import doctest
import importlib
import io
import itertools
import json
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from vcdim_core import __version__, cli
from vcdim_core.results import Progress

# Words, what stderr says.
BAD_INPUT = [
    (["exact", "((..)x)", "-d", "4"], "expected '.', '(' or ')', got 'x' at position 5"),
    (["exact", "", "-d", "4"], "expected"),
    (["exact", "(..)", "-d", "-1"], "expected binary >= 0, got -1"),
    (["structures", "-1"], "expected n_nodes >= 0, got -1"),
    (["structures", "--height", "7"], "expected height <= 6, got 7"),
    (["shatters", "(..)", "no/such/file.csv"], "No such file"),
    (["reproduce", "figure6", "-o", "figure.gif"], "got '.gif'"),
    (["reproduce", "figure6", "-o", "no/such/folder/figure.csv"], "expected a file in a folder that exists"),
    (["reproduce", "figure6", "--d", "0"], "expected d[0] >= 1, got 0"),
    (["reproduce", "figure6", "--height", "0"], "expected height >= 1, got 0"),
]

# Text of a file of points, what stderr says.
BAD_POINTS = [
    ("0,1\n0,2\n", "expected 0 or 1, got '2' in line 2"),
    ("0,1\n0\n", "expected 2 values, got 1 in line 2"),
    ("a,b\n0,1\n1,0,1\n", "expected 2 values, got 3 in line 3"),
    ("a,b\nc,d\n", "expected 0 or 1, got 'c' in line 2"),
    ("0.5,1\n", "expected 0 or 1, got '0.5' in line 1"),
]

SQUARE = [[0, 0], [0, 1], [1, 0], [1, 1]]


class Terminal(io.StringIO):
    """A text stream that says it is a terminal."""

    def isatty(self) -> bool:
        return True


def run(capsys: pytest.CaptureFixture[str], *words: str) -> tuple[int, str, str]:
    """Return exit code, stdout and stderr of ``vcdim`` with these words."""
    code = cli.main(words)
    out, err = capsys.readouterr()
    return code, out, err


def realised(labels: list[int]) -> bool:
    """Whether ((..).) realises these labels of the square: some side of some split is constant."""
    sides = [
        [label for point, label in zip(SQUARE, labels, strict=True) if point[f] == v] for f in (0, 1) for v in (0, 1)
    ]
    return any(len(set(side)) == 1 for side in sides)


# The frame


def test_examples_run() -> None:
    assert doctest.testmod(cli).failed == 0


def test_version(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit, match="0"):
        cli.main(["--version"])
    assert capsys.readouterr().out == f"vcdim {__version__}\n"


@pytest.mark.parametrize("command", ["exact", "shatters", "structures", "reproduce"])
def test_help_has_examples_exit_codes_and_json(command: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit, match="0"):
        cli.main([command, "--help"])
    out = capsys.readouterr().out
    assert "--json" in out and f"  vcdim {command} " in out and "a limit was reached" in out


@pytest.mark.parametrize(
    "words", [[], ["guess"], ["exact", "-d", "x"], ["structures"], ["structures", "3", "--height=1"]]
)
def test_usage_errors_exit_with_2(words: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit, match="2"):
        cli.main(words)
    assert capsys.readouterr().err.startswith("usage: vcdim")


def test_a_search_without_features_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["exact", "(..)"]) == 2
    assert "expected features: -d, --real" in capsys.readouterr().err


def test_exact_on_other_kinds(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["exact", "((..).)", "--real", "2", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["vc"] == 5
    assert cli.main(["exact", "(...)", "--multiway", "3", "3"]) == 0
    assert "VC dimension 3: (...) on 2 multiway(3) features" in capsys.readouterr().out


def test_resume(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    journal = str(tmp_path / "journal")
    assert cli.main(["exact", "((..).)", "--real", "2", "--node-limit", "9", "--checkpoint", journal, "--json"]) == 3
    capsys.readouterr()
    assert cli.main(["resume", journal, "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["vc"] == 5


@pytest.mark.parametrize(("words", "message"), BAD_INPUT)
def test_bad_input_is_one_sentence(words: list[str], message: str, capsys: pytest.CaptureFixture[str]) -> None:
    code, out, err = run(capsys, *words)
    assert code == 2 and out == ""
    assert err.startswith(f"vcdim {words[0]}: ") and message in err and "Traceback" not in err


def test_command_is_installed() -> None:
    script = Path(sys.executable).with_name("vcdim.exe" if sys.platform == "win32" else "vcdim")
    if not script.exists():
        pytest.skip("the package is not installed beside this interpreter")
    done = subprocess.run([script, "exact", "(..)", "-d", "3", "--json"], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    assert json.loads(done.stdout)["vc"] == 3


def test_interrupt_exits_with_130(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    def interrupted(*args: object, **options: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(cli, "search_vc", interrupted)
    assert run(capsys, "exact", "(..)", "-d", "3") == (130, "", "vcdim exact: interrupted\n")


def test_a_reader_that_stops_early_is_no_error() -> None:
    code = "import sys; from vcdim_core.cli import main; sys.exit(main(['structures', '14']))"
    # -P: the installed package, whatever the current directory holds
    process = subprocess.Popen([sys.executable, "-P", "-c", code], stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    assert process.stdout is not None and process.stderr is not None
    process.stdout.readline()
    process.stdout.close()
    with process.stderr:
        error = process.stderr.read()
    assert (process.wait(), error) == (0, b"")


# vcdim exact


def test_exact_prints_answer_drawing_witness_and_statistics(capsys: pytest.CaptureFixture[str]) -> None:
    code, out, err = run(capsys, "exact", "((..)(..))", "-d", "4")
    assert (code, err) == (0, "")
    assert out.startswith("VC dimension 6: ((..)(..)) on 4 binary features\n")
    assert "Shattered: 6 points, all 64 labellings realised" in out
    assert out.splitlines()[-1].startswith("Search: ")


def test_exact_json_has_a_witness_of_that_size(capsys: pytest.CaptureFixture[str]) -> None:
    code, out, _ = run(capsys, "exact", "((..).)", "-d", "4", "--json")
    answer = json.loads(out)
    assert code == 0 and answer["vc"] == answer["lower"] == answer["upper"] == 5 and answer["exact"]
    assert len(set(map(tuple, answer["witness"]))) == 5
    assert {len(point) for point in answer["witness"]} == {4}
    assert answer["stats"]["limit"] is None


@pytest.mark.parametrize(("spelling", "d"), [(".", 0), (".", 3), ("(..)", 0)])
def test_exact_without_use_for_a_feature_is_1(spelling: str, d: int, capsys: pytest.CaptureFixture[str]) -> None:
    code, out, _ = run(capsys, "exact", spelling, "-d", str(d))
    assert code == 0 and out.startswith(f"VC dimension 1: {spelling} on {d} binary features\n")


def test_exact_names_an_orientation_that_is_not_free(capsys: pytest.CaptureFixture[str]) -> None:
    _, out, _ = run(capsys, "exact", "((..).)", "-d", "3", "--orientation", "fixed")
    assert out.splitlines()[0] == "VC dimension 4: ((..).) on 3 binary features, orientation fixed"


def test_exact_stopped_by_a_limit_is_a_bracket(capsys: pytest.CaptureFixture[str]) -> None:
    words = ["exact", "((((..).)((..).))((..)(..)))", "-d", "6", "--node-limit", "1"]
    code, out, err = run(capsys, *words)
    assert (code, err) == (3, "")
    assert "(limit reached: nodes)" in out.splitlines()[0]
    code, out, _ = run(capsys, *words, "--json")
    answer = json.loads(out)
    assert code == 3 and answer["vc"] is None and answer["lower"] < answer["upper"]
    assert answer["stats"]["limit"] == "nodes"


def test_drawings_are_ascii_where_the_terminal_is(monkeypatch: pytest.MonkeyPatch) -> None:
    stream = io.TextIOWrapper(io.BytesIO(), encoding="ascii")
    monkeypatch.setattr(sys, "stdout", stream)
    assert cli.main(["structures", "2", "--draw"]) == 0
    stream.seek(0)
    assert stream.read() == "((..).)\n*\n|- *\n|  |- o\n|  `- o\n`- o\n\n"


# vcdim shatters


@pytest.mark.parametrize("text", ["0,0\n0,1\n1,0\n", "x,y\n0, 0\n\n0, 1\n1, 0\n", "\ufeffx,y\r\n0,0\r\n0,1\r\n1,0\r\n"])
def test_shatters_yes(text: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "points.csv"
    path.write_bytes(text.encode())
    assert run(capsys, "shatters", "((..).)", str(path)) == (0, "yes: 8 of 8 labellings realised\n", "")


def test_shatters_no_names_a_labelling(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    text = "".join(f"{x},{y}\n" for x, y in SQUARE)
    monkeypatch.setattr(sys, "stdin", io.StringIO(text))
    code, out, _ = run(capsys, "shatters", "((..).)", "-")
    first, second = out.splitlines()
    missing = list(map(int, second.removeprefix("not realised: ").split()))
    n_realised = sum(realised(list(labels)) for labels in itertools.product((0, 1), repeat=4))
    assert code == 1 and first == f"no: {n_realised} of 16 labellings realised"
    assert not realised(missing)


def test_shatters_json(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "points.csv"
    path.write_text("0,1\n0,1\n")
    code, out, _ = run(capsys, "shatters", "(..)", str(path), "--json")
    answer = json.loads(out)
    assert code == 1 and answer["shattered"] is False and (answer["dichotomies"], answer["labellings"]) == (2, 4)
    assert answer["unrealised"] in ([0, 1], [1, 0])  # equal points with different labels


@pytest.mark.parametrize(("text", "message"), BAD_POINTS)
def test_bad_points_name_the_line(
    text: str, message: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "points.csv"
    path.write_text(text)
    assert run(capsys, "shatters", "(..)", str(path)) == (2, "", f"vcdim shatters: {message}\n")


# vcdim structures


def test_structures_lists_counts_and_draws(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(capsys, "structures", "3") == (0, "((..)(..))\n(((..).).)\n", "")
    assert run(capsys, "structures", "--height", "4", "--count") == (0, "66\n", "")
    assert run(capsys, "structures", "0", "--draw")[1].splitlines()[0] == "."
    code, out, _ = run(capsys, "structures", "4", "--json")
    answer = json.loads(out)
    assert code == 0 and answer["count"] == 3
    assert answer["structures"][0] == {"structure": "(((..)(..)).)", "nodes": 4, "height": 3}


# vcdim reproduce


def test_reproduce_writes_files_and_json(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    table, plot = tmp_path / "f.csv", tmp_path / "f.svg"
    words = ["reproduce", "figure6", "--d", "2", "3", "--height", "2"]
    code, out, _ = run(capsys, *words, "-o", str(table), str(plot), "--json")
    answer = json.loads(out)
    assert code == 0 and len(answer["rows"]) == 6 and [c["d"] for c in answer["claims"]] == [[2], [3]]
    assert table.read_text().startswith("d,structure,nodes,") and "<svg" in plot.read_text()
    assert run(capsys, *words)[1].count("no difference above 1: holds") == 2


def test_reproduce_asks_for_matplotlib_before_it_searches(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    real_import = builtins.__import__

    def no_matplotlib(name: str, *args: Any, **options: Any) -> Any:
        if name.startswith("matplotlib"):
            raise ModuleNotFoundError(f"No module named {name!r}")
        return real_import(name, *args, **options)

    monkeypatch.setattr(builtins, "__import__", no_matplotlib)
    code, out, err = run(capsys, "reproduce", "figure6", "-o", "figure.png")
    assert (code, out) == (2, "")
    assert err == "vcdim reproduce: a plot needs matplotlib: pip install 'vcdim_core[plot]'\n"


# The line of progress


def test_progress_line_is_erased() -> None:
    stream = Terminal()
    with cli.ProgressLine(stream, delay=0) as line:
        line.search(Progress(size=5, samples=3000, orbits=7, lower=4, upper=9, seconds=2.0))
        line.row(3, 66, None)
    first, second, *rest = stream.getvalue().removeprefix("\r").split("\r")
    assert first == "VC 4 to 9, 5 points, 3,000 samples, 1,500 samples/s, 2 s"
    assert second == "3/66".ljust(len(first))
    assert "".join(rest).strip() == ""


def test_no_progress_line_before_a_second_or_without_a_terminal() -> None:
    for stream, delay in [(Terminal(), 60.0), (io.StringIO(), 0.0)]:
        with cli.ProgressLine(stream, delay) as line:
            line.show("text")
        assert stream.getvalue() == ""


# Commands of other modules


def test_a_command_that_cannot_be_imported_is_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(name: str) -> SimpleNamespace:
        raise ModuleNotFoundError(name)

    monkeypatch.setattr(importlib, "import_module", refuse)
    assert cli.main(["structures", "0", "--count"]) == 0

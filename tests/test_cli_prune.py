"""vcdim prune: growing from CSV files, pruning, printing and reporting."""

import argparse
import json

import pytest

from vcdim_core.cli import main
from vcdim_core.cli_prune import PRUNE_METHODS, add_prune_command
from vcdim_core.trees import Tree


def run(*words):
    parser = argparse.ArgumentParser()
    add_prune_command(parser.add_subparsers())
    arguments = parser.parse_args(["prune", *map(str, words)])
    return arguments.run(arguments)


def write(path, rows, shift=0):
    lines = ["size,colour,flag,class"]
    for i in range(rows):
        j = i + shift
        label = "ab"[(j % 3 == 0) ^ (j % 7 == 0)]
        lines.append(f"{(j * 37) % 101},{('red', 'green', '<blue>')[j % 3]},{j % 2},{label}")
    path.write_text("\n".join(lines) + "\n")
    return path


@pytest.fixture
def table(tmp_path):
    return write(tmp_path / "data.csv", 60)


@pytest.mark.parametrize("method", PRUNE_METHODS)
def test_every_method_prints_tree_path_and_sizes(table, capsys, method):
    assert run(table, "--target", "class", "--method", method) == 0
    out = capsys.readouterr().out
    assert f"PruneResult: {method}, " in out and "step  node  n_leaves" in out and "leaves           " in out


def test_report(table, tmp_path, capsys):
    page = tmp_path / "report.html"
    assert main(["prune", str(table), "--target", "class", "--method", "bound", "--report", str(page)]) == 0
    text = page.read_text(encoding="utf-8")
    assert "<h3>before</h3>" in text and "<h3>after</h3>" in text and "<polyline" in text and "<h3>path</h3>" in text
    assert "<blue>" not in text
    assert capsys.readouterr().out


def test_json(table, capsys):
    assert run(table, "--target", "class", "--method", "cost_complexity", "--alpha", "0.01", "--json") == 0
    data = json.loads(capsys.readouterr().out)
    tree = Tree.from_dict(data["tree"])
    assert data["path"][0]["n_leaves"] == data["leaves_before"] >= tree.n_leaves
    assert data["settings"]["alpha"] == 0.01 and data["path"][0]["alternative"] is None


def test_validation_file(table, tmp_path, capsys):
    other = write(tmp_path / "more.csv", 30, shift=3)
    other.write_text(other.read_text() + "5,violet,0,c\n")
    assert run(table, "--target", "class", "--method", "holdout", "--validation", other, "--json") == 0
    data = json.loads(capsys.readouterr().out)
    assert data["settings"]["validation_rows"] == 31 and data["bound"] >= 1


def test_options_reach_the_method(table, capsys):
    assert run(table, "--target", "class", "--method", "srm", "--vc", "3", "--a1", "0.2", "--json") == 0
    assert json.loads(capsys.readouterr().out)["settings"]["vc"] == 3.0
    assert run(table, "--target", "class", "--r", "0.01", "--form", "loose", "--raising", "--json") == 0
    assert json.loads(capsys.readouterr().out)["settings"]["raising"] is True


@pytest.mark.parametrize(
    "words, message",
    [
        (["--method", "merge", "--alpha", "0.1"], "expected an option of method 'merge'"),
        (["--r", "2"], "expected 0 < r < 1 or 'cv', got 2.0"),
        (["--method", "srm", "--vc", "guess"], "expected vc to be one of"),
    ],
)
def test_bad_options(table, capsys, words, message):
    assert run(table, "--target", "class", *words) == 2
    assert message in capsys.readouterr().err


def test_missing_file(tmp_path, capsys):
    assert run(tmp_path / "none.csv", "--target", "class") == 2
    assert "vcdim prune: " in capsys.readouterr().err

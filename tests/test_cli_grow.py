"""vcdim grow: reading CSV files and printing."""

import argparse
import json

import pytest

from vcdim_core.cli_grow import add_grow_command, read_csv
from vcdim_core.trees import Tree


def run(*words):
    parser = argparse.ArgumentParser()
    add_grow_command(parser.add_subparsers())
    arguments = parser.parse_args(["grow", *map(str, words)])
    return arguments.run(arguments)


@pytest.fixture
def table(tmp_path):
    path = tmp_path / "data.csv"
    rows = ["size,colour,flag,class"]
    rows += [f"{i},{('red', 'green', 'blue')[i % 3]},{i % 2},{'ab'[(i % 3 == 0) or i > 15]}" for i in range(24)]
    path.write_text("\n".join(rows) + "\n")
    return path


def test_kinds_are_inferred(table):
    data = read_csv(table, "class")
    assert data.kinds == ("real", "nominal", "binary")
    assert data.categories == {1: ("blue", "green", "red")}
    assert data.names == ("size", "colour", "flag")


def test_prints_tree_structure_and_bounds(table, capsys):
    assert run(table, "--target", "class") == 0
    out = capsys.readouterr().out
    assert "colour = red?" in out
    assert "structure        (" in out and "training error   0.0000" in out and "vc dimension     " in out


@pytest.mark.parametrize("form", ["rules", "json", "dot", "svg"])
def test_other_formats(table, capsys, form):
    assert run(table, "--target", "class", "--format", form) == 0
    out = capsys.readouterr().out
    assert out.startswith({"rules": "if ", "json": "{", "dot": "digraph", "svg": "<svg"}[form])
    if form == "json":
        assert Tree.from_dict(json.loads(out)).feature_names == ("size", "colour", "flag")


def test_multiway_trees_from_intervals(table, capsys):
    words = ("--tree", "multiway", "--discretise", "quartiles", "--criterion", "hypergeometric", "--alpha", "0.5")
    assert run(table, "--target", "class", *words) == 0
    assert "multiway" in capsys.readouterr().out


def test_missing_cells_and_subsets_say_why_there_is_no_bound(tmp_path, table, capsys):
    path = tmp_path / "holes.csv"
    path.write_text("a,class\n1,x\n?,y\n3,x\n4,y\n")
    assert run(path, "--target", "class") == 0
    assert "no bound: tests that place missing values" in capsys.readouterr().out
    assert run(table, "--target", "class", "--nominal", "subset") == 0
    assert "no bound: tests by subsets" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "expected a header line"),
        ("a,class\n", "expected at least 1 row below the header"),
        ("a,b\n1,2\n", "expected the target to be one of a, b, got 'class'"),
        ("a,class\n1,2,3\n", "expected 2 cells in line 2, got 3"),
        ("a,class\n1,\n", "expected a class in every row, got a missing one in line 2"),
        ("class\n1\n", "expected at least 1 feature beside the target, got 0"),
    ],
)
def test_bad_files_are_refused_in_one_line(tmp_path, capsys, text, message):
    path = tmp_path / "bad.csv"
    path.write_text(text)
    assert run(path, "--target", "class") == 2
    error = capsys.readouterr().err
    assert message in error and error.count("\n") == 1

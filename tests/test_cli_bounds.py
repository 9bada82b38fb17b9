"""The command ``vcdim bounds``."""

from __future__ import annotations

import argparse
import json

import pytest

from vcdim_core.cli_bounds import add_bounds_command


def run(*arguments):
    parser = argparse.ArgumentParser()
    add_bounds_command(parser.add_subparsers())
    args = parser.parse_args(["bounds", *arguments])
    return args.run(args)


def test_an_open_bracket_names_both_sources(capsys):
    assert run("((..).)", "--real", "10") == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == "7 <= exact <= 13"
    assert lines[1].startswith("lower 7: ") and lines[2].startswith("exact ?: ") and lines[3].startswith("upper 13: ")


def test_a_closed_bracket_is_exact(capsys):
    assert run("(..)", "-d", "4") == 0
    assert capsys.readouterr().out.splitlines()[0] == "3 <= 3 <= 3"


def test_all_bounds_are_listed(capsys):
    assert run("((..)(..))", "--real", "2", "--all") == 0
    out = capsys.readouterr().out
    assert "theorem9" in out and "chain" in out and "stumps" in out


def test_json(capsys):
    assert run("((..)(..))", "--nominal", "3", "4", "--ordinal", "5", "--json") == 0
    data = json.loads(capsys.readouterr().out)
    assert data["lower"] <= data["upper"]
    assert data["features"] == "1 ordinal(5) + 1 nominal(3) + 1 nominal(4)"
    assert {bound["side"] for bound in data["bounds"]} == {"lower", "upper"}


@pytest.mark.parametrize("arguments", [["((..)", "--real", "1"], ["(..)", "--real", "-1"], ["(..)", "--nominal", "1"]])
def test_bad_arguments_give_one_sentence(capsys, arguments):
    assert run(*arguments) == 2
    assert capsys.readouterr().err.startswith("vcdim bounds: expected ")


def test_an_open_bracket_on_binary_features_is_searched(capsys):
    assert run("((..).)", "-d", "4") == 0
    assert run("(((..).)(..))", "-d", "5") == 0
    out = capsys.readouterr().out
    assert "exact 8: exhaustive search" in out


def test_no_search_without_time(capsys):
    assert run("(((..).)(..))", "-d", "5", "--time-limit", "0", "--json") == 0
    assert json.loads(capsys.readouterr().out)["exact"] is None

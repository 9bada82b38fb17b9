"""The plain search that benchmarks compare with must be right, or the comparison says nothing."""

from __future__ import annotations

import importlib.util
import json
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from oracles import oracle_vc

BUILDER = Path(__file__).parents[1] / "bench" / "build_plain.py"


@pytest.fixture(scope="module")
def plain() -> ModuleType:
    """The compiled module, or a skipped test where it cannot be compiled."""
    pytest.importorskip("Cython", reason="the plain search is compiled with Cython")
    pytest.importorskip("setuptools", reason="the plain search is compiled with setuptools")
    if not BUILDER.exists():
        pytest.skip("the folder bench/ is not here")
    spec = importlib.util.spec_from_file_location("build_plain", BUILDER)
    assert spec is not None and spec.loader is not None
    builder = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(builder)
    try:
        return builder.load_plain()
    except (builder.BuildError, OSError) as error:
        pytest.skip(f"the plain search does not compile here: {error}")


def read_rows(name: str) -> list[dict[str, Any]]:
    return json.loads((Path(__file__).parent / "golden" / f"{name}.json").read_text(encoding="utf-8"))["rows"]


@pytest.mark.parametrize("method", ["joint", "recursive"])
@pytest.mark.parametrize(("table", "orientation"), [("exact_binary_free", "free"), ("exact_binary_fixed", "fixed")])
def test_finds_the_vc_dimension_of_the_tables(plain, table, orientation, method):
    finished = 0
    for row in read_rows(table):
        found = plain.plain_search(row["s"], row["d"], 10**7, method=method, orientation=orientation)
        assert found.vc in (None, row["vc"]), row
        assert found.lower <= row["vc"], row
        finished += found.vc is not None
    assert finished >= 60


def test_leaf_and_no_features_have_vc_dimension_one(plain):
    for vc in (plain.plain_vc, plain.plain_vc_recursive):
        assert vc(".", 3) == 1
        assert vc("((..)(..))", 0) == 1
        assert vc("(((..)(..)).)", 2) == oracle_vc("(((..)(..)).)", 2) == 3


def test_counts_are_those_of_the_search_by_hand(plain):
    # One feature, points 0 and 1.  m = 1: the sample {0} and its two labellings; m = 2: the sample {0, 1} and its four.
    # There is one tree but for leaf labels, so the joint search evaluates six.  The recursive one has nothing to test
    # where all points have one label, which leaves 01 and 10.
    assert plain.plain_search("(..)", 1) == (2, 2, 2, 6, 6)
    assert plain.plain_search("(..)", 1, method="recursive") == (2, 2, 2, 6, 2)


def test_a_spent_budget_is_said(plain):
    found = plain.plain_search("((..)(..))", 4, 1000)
    assert found.vc is None
    assert found.trees == 1000
    assert plain.plain_vc("((..)(..))", 4, 1000) is None
    assert plain.plain_vc_recursive("((..)(..))", 4, 1000) is None
    assert plain.plain_search("(((..)(..))((..)(..)))", 4, seconds=0.05).vc is None


def test_what_is_not_a_case_is_refused(plain):
    for spelling in ("", "(.)", "(...)", "..", "(..", "x"):
        with pytest.raises(ValueError, match="spelling of a binary structure"):
            plain.plain_vc(spelling, 2)
    with pytest.raises(ValueError, match="expected 0 <= d <= 6, got 7"):
        plain.plain_vc("(..)", 7)
    with pytest.raises(ValueError, match="method 'joint' or 'recursive', got 'x'"):
        plain.plain_search("(..)", 2, method="x")
    with pytest.raises(ValueError, match="orientation 'free' or 'fixed', got 'x'"):
        plain.plain_search("(..)", 2, orientation="x")

"""Figure 6 of Yildiz 2012 on small cases: against the plain recursion, the golden values, and hand-made rows."""

from __future__ import annotations

import csv
import doctest
import importlib
import io
import json
from pathlib import Path

import pytest
from oracles import oracle_is_shattered

from vcdim_core import Structure, search_vc, structures_of_height
from vcdim_core.reproduce import Claims, Figure6, Row, figure6

# Exact values on 3 and 4 binary features, orientation free, found by an independent program.
GOLDEN = {
    3: {
        "(..)": 3, "((..).)": 4, "((..)(..))": 4, "(((..).).)": 4, "(((..)(..)).)": 5, "(((..).)(..))": 5,
        "(((..)(..))(..))": 6, "(((..).)((..).))": 6, "(((..)(..))((..).))": 7,
    },
    4: {"(..)": 3, "((..).)": 5, "((..)(..))": 6},
}  # fmt: skip

# Structure, d, lower bound, exact value: the bound is 2 below, where the paper has a largest difference of 1.
EXCEPTIONS = [
    ("((((..)(..)).)(((..)(..)).))", 3, 6, 8),
    ("(((..).)((..).))", 4, 6, 8),
    ("((((..).).)((..).))", 4, 7, 9),
]

module = importlib.import_module("vcdim_core.reproduce.figure6")  # the package has a function of that name

PNG, SVG = b"\x89PNG", b"<?xml"


def plain_bound(structure: Structure, d: int) -> int:
    """The lower bound as the paper has it, and 1 where no feature is left."""
    if structure.is_leaf or d <= 0:
        return 1
    if structure.n_nodes == 1:
        return max(k for k in range(1, d + 2) if 2 ** (k - 1) <= d + 1)
    return sum(plain_bound(child, d - 1) for child in structure.children)


def row(bound: int, lower: int, upper: int | None = None, d: int = 3) -> Row:
    return Row(Structure("(..)"), d, bound, lower, lower if upper is None else upper, 0.0)


@pytest.fixture(scope="module")
def small() -> Figure6:
    return figure6([3], height=3)


# The figure


def test_examples_run() -> None:
    assert doctest.testmod(module).failed == 0


def test_every_structure_has_a_row_in_order_of_nodes(small: Figure6) -> None:
    assert [r.structure for r in small.rows] == structures_of_height(3)
    assert (small.ds, small.height, small.orientation) == ((3,), 3, "free")


def test_bounds_are_those_of_the_paper() -> None:
    for structure in structures_of_height(4):
        for d in range(1, 9):
            assert module._yildiz_bound(structure, d) == plain_bound(structure, d)


def test_exact_values_agree_with_an_independent_program(small: Figure6) -> None:
    figure = figure6([4], height=2)
    found = {(r.d, str(r.structure)): r.exact for r in (*small.rows, *figure.rows)}
    for d, values in GOLDEN.items():
        for spelling, value in values.items():
            assert found[d, spelling] == value


def test_bound_is_never_above_the_exact_value(small: Figure6) -> None:
    assert all(r.difference is not None and r.difference >= 0 for r in small.rows)


def test_progress_is_told_each_row() -> None:
    told: list[tuple[int, int]] = []
    figure6([1, 2], height=2, progress=lambda done, total, search: told.append((done, total)))
    assert sorted(set(told)) == [(i, 6) for i in range(6)]


def test_stopped_searches_are_open_rows() -> None:
    figure = figure6([6], height=3, time_limit=0.0)
    assert figure.claims().n_open > 0
    for r in figure.rows:
        assert r.lower <= r.upper and (r.exact is None) == r.is_open


# Its conclusions


def test_claims_on_the_small_figure(small: Figure6) -> None:
    claims = small.claims(3)
    assert (len(claims.rows), claims.n_equal, claims.n_open, claims.largest_difference) == (10, 9, 0, 1)
    assert claims.difference_holds is True and claims.share_holds is False
    assert [str(r.structure) for r in claims.unequal] == ["((..).)"]


def test_a_difference_of_2_is_an_exception_even_where_open() -> None:
    claims = Claims((row(3, 3), row(3, 5, 9), row(3, 5)))
    assert claims.difference_holds is False and claims.exceptions == claims.rows[1:]
    assert str(claims).count("above 1: (..) at d = 3") == 2


def test_an_open_row_decides_nothing() -> None:
    claims = Claims((row(3, 3), row(3, 3, 5)))
    assert claims.difference_holds is None and claims.largest_difference == 0
    assert claims.equal_share == (0.5, 1.0) and claims.share_holds is None
    assert "undecided; the largest is 0 among the exact ones" in str(claims)


def test_an_open_row_within_1_of_its_bound_supports_the_first_claim() -> None:
    assert Claims((row(3, 3, 4),)).difference_holds is True
    assert Claims((row(3, 3, 4),)).share_holds is None


@pytest.mark.parametrize(("n_equal", "holds"), [(12, False), (13, True), (14, True), (15, True), (16, False)])
def test_about_70_percent(n_equal: int, holds: bool) -> None:
    rows = [row(3, 3)] * n_equal + [row(3, 4)] * (20 - n_equal)
    assert Claims(tuple(rows)).share_holds is holds


def test_claims_without_rows_say_so() -> None:
    assert Claims(()).largest_difference is None
    assert Claims((row(3, 3, 9),)).largest_difference is None


@pytest.mark.parametrize(("spelling", "d", "bound", "exact"), EXCEPTIONS)
def test_the_first_claim_fails_on_samples_that_plain_python_shatters(
    spelling: str, d: int, bound: int, exact: int
) -> None:
    result = search_vc(spelling, d)
    assert result.value == len(set(result.witness)) == exact
    assert plain_bound(result.structure, d) == bound < exact - 1
    assert oracle_is_shattered(spelling, result.witness)


def test_the_papers_features_are_also_taken_together() -> None:
    rows = (row(3, 3), row(3, 4, d=4), row(3, 4, d=5))
    figure = Figure6(rows, 1, "free")
    assert [sorted({r.d for r in claims.rows}) for claims in figure.all_claims()] == [[3], [4], [5], [3, 4]]


# Its forms


def test_csv_leaves_unknown_values_empty() -> None:
    figure = Figure6((row(3, 4), row(3, 4, 6)), 1, "free")
    exact, stopped = csv.DictReader(io.StringIO(figure.csv()))
    assert (exact["bound"], exact["exact"], exact["difference"]) == ("3", "4", "1")
    assert (stopped["exact"], stopped["difference"], stopped["lower"], stopped["upper"]) == ("", "", "4", "6")


def test_table_shows_the_bracket_where_open() -> None:
    lines = Figure6((row(3, 4, 6), row(3, 5, d=4)), 1, "free").table().splitlines()
    assert lines[2].split() == ["1", "(..)", "3", "4..6", "3", "5", "+2"]


def test_json_holds_everything(small: Figure6) -> None:
    answer = json.loads(json.dumps(small.as_dict()))
    assert len(answer["rows"]) == 10 and answer["claims"][0]["largest_difference_is_1"] is True


@pytest.mark.parametrize(("suffix", "start"), [(".png", PNG), (".SVG", SVG)])
def test_plot_files(suffix: str, start: bytes, tmp_path: Path) -> None:
    rows = (row(3, 3), row(3, 4, 6), row(3, 5), row(3, 3, d=4), row(3, 3, d=4), row(3, 4, d=4))
    path = tmp_path / f"figure{suffix}"
    Figure6(rows, 1, "free").save(path)
    assert path.read_bytes().startswith(start)


def test_plot_has_a_panel_for_each_d() -> None:
    plot = Figure6((row(3, 3), row(3, 5, d=4)), 1, "free").plot()
    assert [panel.get_title(loc="left") for panel in plot.axes] == ["d = 3", "d = 4"]
    labels = [text.get_text() for text in plot.legends[0].get_texts()]
    assert labels == ["lower bound", "exact", "above the bound by 2 or more"]


# Errors


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"d": []}, "expected at least one d, got none"),
        ({"d": [0]}, r"expected d\[0\] >= 1, got 0"),
        ({"height": 0}, "expected height >= 1, got 0"),
        ({"orientation": "left"}, "expected orientation to be one of 'free', 'fixed', got 'left'"),
    ],
)
def test_bad_arguments(options: dict[str, object], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        figure6(**options)  # type: ignore[arg-type]


def test_bad_file_name(tmp_path: Path, small: Figure6) -> None:
    with pytest.raises(ValueError, match="expected the end of the file name to be one of"):
        small.save(tmp_path / "figure.gif")

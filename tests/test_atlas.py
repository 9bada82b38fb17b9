"""The atlas: its cells, its files, its page as text, and the command."""

from __future__ import annotations

import base64
import csv
import hashlib
import io
import itertools
import json
import os
import re
import signal
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import atlas_oracle as oracle
import numpy as np
import pytest
from atlas_samples import HOSTILE, hostile_atlas, plain_realize, plain_search

from vcdim_core import Features, Structure, VCResult, atlas, cli, cli_atlas, search_vc
from vcdim_core._files import write_atomically
from vcdim_core.atlas import Atlas, Bound, Cell, build
from vcdim_core.trees import Tree

# structure, binary features, VC dimension (Aslan et al. 2009, Yildiz 2012 and the closed form of stumps)
KNOWN = [("(..)", 1, 2), ("(..)", 2, 2), ("(..)", 3, 3), ("((..).)", 4, 5), ("((..)(..))", 4, 6), ("(((..).).)", 4, 5)]


@pytest.fixture(scope="module")
def small() -> Atlas:
    return build(max_nodes=3, binary=4, real=2, time_limit=20)


class Page(HTMLParser):
    """Tags with their attributes, and the text of scripts, styles and cells."""

    def __init__(self, text: str) -> None:
        super().__init__(convert_charrefs=True)
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.texts: dict[str, list[str]] = {}
        self.is_inside = False
        self.feed(text)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))
        self.texts.setdefault(tag, []).append("")

        self.is_inside = True

    def handle_endtag(self, tag: str) -> None:
        self.is_inside = False

    def handle_data(self, data: str) -> None:
        if self.is_inside:
            self.texts[self.tags[-1][0]][-1] += data

    def all(self, tag: str) -> list[dict[str, str | None]]:
        return [attributes for name, attributes in self.tags if name == tag]


# Cells


def test_known_values(small: Atlas) -> None:
    found = {(str(cell.structure), cell.features.binary): (cell.lower, cell.upper) for cell in small.cells}
    assert [found[structure, d] for structure, d, _ in KNOWN] == [(value, value) for *_, value in KNOWN]


def test_one_real_feature_gives_one_more_than_nodes(small: Atlas) -> None:
    cells = [cell for cell in small.cells if cell.features == Features(real=1)]
    assert len(cells) == 4
    assert all((cell.lower, cell.upper) == (cell.structure.n_nodes + 1,) * 2 for cell in cells)


def test_there_is_one_cell_for_each_structure_and_column(small: Atlas) -> None:
    assert [str(s) for s in small.structures] == ["(..)", "((..).)", "((..)(..))", "(((..).).)"]
    assert [str(c) for c in small.columns] == ["1 binary", "2 binary", "3 binary", "4 binary", "1 real", "2 real"]
    places = [(cell.structure, cell.features) for cell in small.cells]
    assert places == list(itertools.product(small.structures, small.columns)) and small.is_complete


def test_the_trees_of_a_witness_realise_every_labelling(small: Atlas) -> None:
    n_looked_at = 0
    for cell in json.loads(small.json())["cells"]:
        if cell["witness"] is None:
            continue
        n_looked_at += 1
        points, trees = cell["witness"]["points"], cell["witness"]["trees"]
        shapes = {oracle.sorted_shape(oracle.read(tree)[0]) for tree in trees}
        assert shapes == {oracle.sorted_shape(cell["structure"])}
        assert oracle.realised(trees, points) == set(itertools.product((0, 1), repeat=len(points)))
        assert len(points) == cell["lower"] or (len(points) < cell["lower"] and "binary" not in cell["features"])
        assert len(trees) <= 2 ** (len(points) - 1)
    assert n_looked_at >= 16  # those on binary features


def test_bounds_come_with_sources(small: Atlas) -> None:
    cell = small.by_place()[Structure("((..)(..))"), Features(binary=4)]
    assert {"yildiz", "stumps", "seeded", "theorem9", "points", "search"} <= {bound.method for bound in cell.bounds}
    assert cell.lower == max(bound.value for bound in cell.bounds if bound.side == "lower")
    assert cell.upper == min(bound.value for bound in cell.bounds if bound.side == "upper")
    assert all(bound.source for bound in cell.bounds)
    assert cell.lower_source in {bound.source for bound in cell.bounds if bound.value == cell.lower}


def no_engine(*args: object, **options: object) -> VCResult:
    raise ValueError("expected binary features only, got others")


def test_a_cell_without_an_engine_shows_its_bracket(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(atlas, "search_vc", no_engine)
    found = build(max_nodes=4, real=3)
    assert [cell.text for cell in found.cells[:3]] == ["2", "3", "4"]
    open_cells = [cell for cell in found.cells if not cell.is_exact]
    assert open_cells and all(cell.lower < cell.upper and cell.status == "bracket" for cell in open_cells)
    assert {cell.note for cell in found.cells} == {"no search: expected binary features only, got others"}
    assert all(cell.witness is None and not cell.was_stopped for cell in found.cells)


def test_lower_bounds_of_a_row_never_fall(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(atlas, "search_vc", plain_search)
    monkeypatch.setattr(atlas, "realize", plain_realize)
    cells = list(atlas.scan([Structure("((..).)")], [Features(binary=4), *(Features(real=n) for n in range(1, 5))]))
    assert [cell.lower for cell in cells] == [5, 3, 5, 5, 5]
    own, one, two, three, four = (cell.witness for cell in cells)
    assert own and one and two and three and four
    assert (own.source, one.source, two.source, three.source, four.source) == ("", "", "", "2 real", "4 binary")
    for cell in cells[3:]:
        assert cell.witness and oracle.is_shattered("((..).)", cell.witness.points)
        assert {len(point) for point in cell.witness.points} == {cell.features.real}
        assert oracle.realised(cell.witness.trees, cell.witness.points) == set(itertools.product((0, 1), repeat=5))
        assert "no search" in cell.note and not cell.was_stopped


def test_a_bound_on_fewer_features_holds_on_more(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(atlas, "search_vc", no_engine)
    known = {1: (4, 4), 2: (8, 8), 3: (6, 15), 4: (9, 16)}

    def bracket(structure: object, *, features: Features) -> atlas.Bracket:
        lower, upper = known[features.real]
        bounds = (Bound("lower", "own", lower, "own"), Bound("upper", "own", upper, "own"))
        return atlas.Bracket(lower, upper, "own", "own", bounds)

    monkeypatch.setattr(atlas, "vc_bracket", bracket)
    cells = list(atlas.scan([Structure("(((..).).)")], [Features(real=n) for n in known]))
    assert [(cell.lower, cell.lower_source) for cell in cells] == [
        (4, "own"), (8, "own"), (8, "on 2 real alone: own"), (9, "own")
    ]  # fmt: skip
    assert [bound.method for bound in cells[2].bounds] == ["own", "own", "fewer"]


def test_a_search_that_is_stopped_leaves_a_bracket() -> None:
    cell, = atlas.scan([Structure("(((..)(..))((..).))")], [Features(binary=6)], time_limit=0)
    assert cell.lower < cell.upper and cell.was_stopped and "time limit" in cell.note
    assert cell.witness is not None and 1 <= len(cell.witness.points) <= cell.lower
    sources = {bound.source for bound in cell.bounds if bound.method == "search"}
    assert any("its time limit stopped it" in source for source in sources)


def test_further_columns_of_any_kind() -> None:
    mixed = Features(real=1, nominal=(3,))
    found = build(max_nodes=1, binary=1, features=[mixed, mixed])
    assert found.columns == (Features(binary=1), mixed)
    assert found.cells[1].lower <= found.cells[1].upper


def test_a_large_witness_has_points_and_no_trees(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(atlas, "MAX_LABELLED", 3)
    cell, = atlas.scan([Structure("((..)(..))")], [Features(binary=2)])
    assert cell.witness is not None and len(cell.witness.points) == 4 and cell.witness.trees == ()


def test_a_sample_that_is_not_shattered_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    real_search = search_vc

    def wrong(structure: object, **options: Any) -> VCResult:
        result = real_search(structure, **options)
        points = ((0, 0), (0, 1), (1, 0))
        return VCResult(result.structure, result.features, "free", 3, 3, points, result.stats)

    monkeypatch.setattr(atlas, "search_vc", wrong)
    with pytest.raises(RuntimeError, match=r"expected \(..\) to realise every labelling of its witness"):
        list(atlas.scan([Structure("(..)")], [Features(binary=2)]))


def test_bounds_that_contradict_each_other_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    bracket = atlas.vc_bracket("(..)", d=2)
    wrong = (*bracket.bounds, Bound("lower", "dream", 9, "a dream"))
    monkeypatch.setattr(atlas, "vc_bracket", lambda *a, **o: atlas.Bracket(9, 2, "a dream", "", wrong))
    with pytest.raises(RuntimeError, match=r"got at least 9 \(a dream\) and at most 2"):
        build(max_nodes=1, binary=2)


def test_the_grade_is_that_of_the_certificate() -> None:
    assert atlas.certificate_grade(search_vc("((..).)", real=2)) == "exhausted (rechecked)"
    assert atlas.certificate_grade(search_vc("((..).)", d=4)) == "proved by counting"


def test_tests_of_every_kind_are_written() -> None:
    sample = np.array([[0.0, 0.0, 0.0], [1.0, 1.0, 2.0], [5.0, 2.0, 1.0]])
    tree = Tree(
        [0, 1, -1, -1, 2, -1, -1, 0, -1, -1], [3, 1, 0, 0, 2, 0, 0, 0, 0, 0], [0, 2, 0, 0, 0, 0, 0, np.inf, 0, 0],
        [(1, 4, 7), (2, 3), (), (), (5, 6), (), (), (8, 9), (), ()], np.ones((10, 2)), [0, 1], 3,
        sets=[(0, 1, 5), (), (), (), (1, 2), (), (), (), (), ()],
    )  # fmt: skip
    flat = atlas.plain_tree(tree, sample)
    each, one, some, beyond = ("each", 0, (0.0, 1.0, 5.0)), ("=", 1, 2.0), ("in", 2, (1.0, 2.0)), ("<=", 0, 6.0)
    assert flat == (each, one, None, None, some, None, None, beyond, None, None)
    order = {leaf: place for place, leaf in enumerate(np.flatnonzero(tree.feature < 0).tolist())}
    assert [oracle.read(flat)[1](point) for point in sample] == [order[leaf] for leaf in tree.apply(sample).tolist()]


# Files


def test_csv_has_a_line_for_each_cell(small: Atlas) -> None:
    rows = list(csv.DictReader(io.StringIO(small.csv())))
    assert [(row["structure"], row["features"]) for row in rows] == [
        (str(cell.structure), str(cell.features)) for cell in small.cells
    ]
    for row, cell in zip(rows, small.cells, strict=True):
        assert (int(row["lower"]), int(row["upper"]), row["status"]) == (cell.lower, cell.upper, cell.status)
        assert (row["lower_source"], row["upper_source"]) == (cell.lower_source, cell.upper_source)


def test_json_says_what_it_is(small: Atlas) -> None:
    read = json.loads(small.json())
    assert (read["format"], read["version"]) == ("vcdim_core atlas", 1)
    assert len({f["key"] for f in read["features"]}) == len(small.columns)


@pytest.mark.parametrize("suffix", ["html", "csv", "json"])
def test_save_goes_by_the_end_of_the_name(small: Atlas, tmp_path: Path, suffix: str) -> None:
    path = tmp_path / f"atlas.{suffix}"
    small.save(path)
    assert path.read_bytes().decode() == getattr(small, suffix)()
    assert os.listdir(tmp_path) == [path.name]


def test_save_refuses_other_names(small: Atlas, tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=r"expected the end of the file name to be one of '.html'.*got '.txt'"):
        small.save(tmp_path / "atlas.txt")


def test_a_write_that_fails_leaves_the_old_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "old.txt"
    path.write_text("old")

    def full(handle: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(OSError, match="No space left"):
        write_atomically(path, "new")
    assert path.read_text() == "old" and os.listdir(tmp_path) == ["old.txt"]


@pytest.mark.skipif(os.name == "nt", reason="permissions and devices of POSIX")
def test_permissions_links_and_devices_stay(tmp_path: Path) -> None:
    path, link = tmp_path / "a", tmp_path / "link"
    path.write_text("old")
    path.chmod(0o640)
    link.symlink_to(path)
    write_atomically(link, "new")
    assert link.is_symlink() and path.read_text() == "new" and path.stat().st_mode & 0o777 == 0o640
    write_atomically(os.devnull, "new")
    assert not Path(os.devnull).is_file()


# The page as text


def test_the_page_needs_nothing_else(small: Atlas) -> None:
    page = Page(small.html())
    names = {name for name, _ in page.tags}
    assert not names & {"iframe", "object", "embed", "img", "form", "base"}
    attributes = [item for _, given in page.tags for item in given.items()]
    links = [value for key, value in attributes if key in ("src", "href", "action", "srcset")]
    assert links == ["data:,"]
    style, script = page.texts["style"][0], page.texts["script"][-1]
    assert not re.search(r"url\(|@import", style)
    assert not re.search(r"fetch\(|XMLHttpRequest|import\(|innerHTML|outerHTML|insertAdjacentHTML|eval\(", script)
    assert not any(key.startswith("on") or key == "style" for key, _ in attributes)


def test_the_policy_allows_this_script_and_this_style_only(small: Atlas) -> None:
    page = Page(small.html())
    policy = next(given["content"] for given in page.all("meta") if given.get("http-equiv")) or ""

    def hashed(text: str) -> str:
        return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"

    assert "default-src 'none'" in policy and "unsafe" not in policy
    assert f"script-src {hashed(page.texts['script'][-1])};" in policy
    assert f"style-src {hashed(page.texts['style'][0])};" in policy


def test_the_grid_shows_every_cell(small: Atlas) -> None:
    page = Page(small.html())
    buttons = [(given, page.texts["button"][i]) for i, given in enumerate(page.all("button")) if "data-cell" in given]
    assert [(text, given["class"]) for given, text in buttons] == [
        (cell.text, f"cell {cell.status}") for cell in small.cells
    ]
    assert [int(given["data-cell"] or -1) for given, _ in buttons] == list(range(len(small.cells)))
    assert buttons[0][0]["aria-label"] == "(..) on 1 binary: 2, exact"
    assert small.html().count("<svg") == len(small.structures)


def test_the_data_in_the_page_is_that_of_the_files(small: Atlas) -> None:
    page = Page(small.html())
    data = json.loads(page.texts["script"][0])
    assert data["atlas"] == json.loads(small.json()) and data["csv"] == small.csv()


def test_hostile_texts_stay_texts() -> None:
    text = hostile_atlas().html()
    page = Page(text)
    assert len(page.all("script")) == 2 and not page.all("img")
    assert page.texts["title"][0] == HOSTILE and page.texts["h1"][0] == HOSTILE
    cell = json.loads(page.texts["script"][0])["atlas"]["cells"][0]
    assert {cell["grade"], cell["note"], cell["lower_source"], cell["bounds"][0]["method"]} == {HOSTILE}
    assert "\u2028" not in page.texts["script"][0]


def test_cells_that_are_missing_are_shown_as_such(small: Atlas) -> None:
    part = Atlas(small.structures, small.columns, small.cells[:5], 1.0)
    page = Page(part.html())
    assert not part.is_complete
    assert len([given for given in page.all("button") if "data-cell" in given]) == 5
    assert part.html().count('title="not computed"') == len(small.cells) - 5
    assert str(part).splitlines()[2].split() == ["((..).)"]


# The command


def run(capsys: pytest.CaptureFixture[str], *words: object) -> tuple[int, str, str]:
    code = cli.main(["atlas", *map(str, words)])
    out, err = capsys.readouterr()
    return code, out, err


def test_the_command_writes_three_files(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    page, table, data = tmp_path / "a.html", tmp_path / "a.csv", tmp_path / "a.json"
    words = ["--max-nodes", 2, "--binary", 2, "--real", 1, "--time-limit", 5, "--title", "A & B", "-o", page]
    code, out, err = run(capsys, *words, "--csv", table, "--json", data)
    assert (code, out, err) == (0, f"{page}: 6 cells, 6 exact, 0 brackets\n", "")
    assert "<h1>A &amp; B</h1>" in page.read_text(encoding="utf-8")
    assert len(table.read_text().splitlines()) == 7
    assert len(json.loads(data.read_text())["cells"]) == 6
    assert len(os.listdir(tmp_path)) == 3


def test_a_limit_that_was_reached_is_in_the_exit_code(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    hard = ((Structure("(((..)(..))((..).))"),), (Features(binary=6),))
    monkeypatch.setattr(cli_atlas, "plan", lambda *given: hard)
    path = tmp_path / "a.html"
    code, out, _ = run(capsys, "--max-nodes", 1, "--binary", 1, "--time-limit", 0, "-o", path)
    assert code == 3 and out.endswith("1 cells, 0 exact, 1 brackets\n")
    assert 'class="cell bracket"' in path.read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--max-nodes", 0, "--binary", 1, "-o", "a.html"], "expected max_nodes >= 1, got 0"),
        (["--max-nodes", 13, "--binary", 1, "-o", "a.html"], "expected max_nodes <= 12, got 13"),
        (["--max-nodes", 1, "-o", "a.html"], "expected at least one column of features, got binary=0 and real=0"),
        (["--max-nodes", 1, "--real", -1, "-o", "a.html"], "expected real >= 0, got -1"),
        (["--max-nodes", 1, "--real", 1, "--time-limit", -1, "-o", "a.html"], "expected time-limit >= 0, got -1.0"),
        (["--max-nodes", 1, "--real", 1, "--jobs", 0, "-o", "a.html"], "expected n_jobs >= 1, got 0"),
        (["--max-nodes", 1, "--real", 1, "-o", "no/a.html"], "expected a file in a folder that exists, got "),
        (["--max-nodes", 1, "--real", 1, "-o", "."], "expected the name of a file, got the folder '.'"),
        (["--max-nodes", 1, "--real", 1, "-o", "a.html", "--csv", "no/a.csv"], "expected a file in a folder that"),
    ],
)
def test_bad_arguments_give_one_sentence(
    words: list[object],
    message: str,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(tmp_path)
    code, out, err = run(capsys, *words)
    assert (code, out) == (2, "") and err.startswith(f"vcdim atlas: {message}") and err.count("\n") == 1
    assert os.listdir(tmp_path) == []


def test_an_interrupt_keeps_what_is_done(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    path, data = tmp_path / "a.html", tmp_path / "a.json"
    report = cli_atlas.Report.__call__

    def interrupt(self: cli_atlas.Report, done: int, total: int, progress: Any) -> None:
        report(self, done, total, progress)
        if done == 5:
            signal.raise_signal(signal.SIGINT)

    monkeypatch.setattr(cli_atlas.Report, "__call__", interrupt)
    code, out, err = run(capsys, "--max-nodes", 4, "--binary", 3, "-o", path, "--json", data)
    assert (code, out) == (130, f"{path}: 5 of 21 cells, 5 exact, 0 brackets\n")
    assert err == "vcdim atlas: interrupted; the cells that were done are written\n"
    assert len(json.loads(data.read_text())["cells"]) == 5
    assert path.read_text(encoding="utf-8").count('class="cell ') == 5


def test_an_error_in_a_cell_keeps_those_before_it(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    explore = atlas._explore

    def fail(structure: Structure, *rest: Any) -> Cell:
        if structure.n_nodes == 2:
            raise RuntimeError("expected bounds that agree")
        return explore(structure, *rest)

    monkeypatch.setattr(atlas, "_explore", fail)
    with pytest.raises(RuntimeError, match="expected bounds that agree"):
        run(capsys, "--max-nodes", 2, "--binary", 3, "-o", tmp_path / "a.html", "--csv", tmp_path / "a.csv")
    assert len((tmp_path / "a.csv").read_text().splitlines()) == 4


def test_progress_goes_to_stderr_where_there_is_no_terminal() -> None:
    stream = io.StringIO()
    with cli_atlas.Report(stream, every=0.0) as report:
        report(2, 9, None)
    assert stream.getvalue() == "vcdim atlas: 2 of 9 cells, 0 s\n"
    with cli_atlas.Report(stream, every=60.0) as report:
        report(3, 9, None)
    assert "3 of 9" not in stream.getvalue()

"""The page of an atlas in a real browser: a reader opens cells, moves the slider, uses the keyboard, a phone, the dark.

Needs Debian's package ``chromium`` (or Google Chrome); elsewhere these tests are skipped and say so.
"""

from __future__ import annotations

import itertools
import json
import re
import time
from collections.abc import Iterator
from pathlib import Path

import atlas_oracle as oracle
import pytest
from atlas_samples import HOSTILE, SAMPLES, hostile_atlas, other_kinds_atlas, plain_realize, plain_search
from browser import Browser, find_browser

from vcdim_core import Features, Structure, atlas
from vcdim_core.atlas import Atlas, build

PROGRAM = find_browser()
pytestmark = pytest.mark.skipif(
    PROGRAM is None, reason="no browser to look at the page with: expected chromium or google-chrome on the path"
)

CELL = "((..).)/4-binary"


@pytest.fixture(scope="module")
def shown() -> Iterator[Atlas]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(atlas, "search_vc", plain_search)
        patch.setattr(atlas, "realize", plain_realize)
        patch.setattr(atlas, "certificate_grade", lambda result: "exhausted")
        yield build(max_nodes=3, binary=4, real=3, time_limit=20)


@pytest.fixture(scope="module")
def page(shown: Atlas, tmp_path_factory: pytest.TempPathFactory) -> str:
    path = tmp_path_factory.mktemp("atlas") / "atlas.html"
    shown.save(path)
    return path.as_uri()


@pytest.fixture(scope="module")
def running(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Browser]:
    assert PROGRAM is not None
    with Browser(PROGRAM, tmp_path_factory.mktemp("browser") / "profile") as found:
        yield found


@pytest.fixture
def browser(running: Browser) -> Iterator[Browser]:
    running.size(1200, 900)
    running.call("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": "light"}])
    yield running
    assert running.complaints() == []
    assert {address.split("#")[0].split(":")[0] for address in running.requests()} <= {"file", "blob"}


def cell_of(shown: Atlas, structure: str, features: Features) -> atlas.Cell:
    return shown.by_place()[Structure(structure), features]


def selector_of(shown: Atlas, structure: str, features: Features) -> str:
    return f'[data-cell="{shown.cells.index(cell_of(shown, structure, features))}"]'


def shown_labels(browser: Browser) -> list[int]:
    """The labels beside the slider."""
    return [int(label) for label in browser.text("#number").split(":")[1].split()]


def shown_leaves(browser: Browser) -> dict[str, int]:
    """The label of each point by the drawing of the tree."""
    read = "[...document.querySelectorAll('#tree svg .%s')].map((node) => node.textContent)"
    labels, members = browser.run(read % "leaf-label"), browser.run(read % "members")
    pairs = zip(labels, members, strict=True)
    return {point: int(label) for label, points in pairs if points != "no point" for point in points.split()}


def by_letter(labels: list[int]) -> dict[str, int]:
    return {chr(ord("a") + i): label for i, label in enumerate(labels)}


def test_a_cell_opens_and_shows_what_is_known(browser: Browser, page: str, shown: Atlas) -> None:
    browser.open(page)
    assert browser.run("document.getElementById('detail').open") is False
    features = Features(binary=4)
    browser.click(selector_of(shown, "((..).)", features))
    cell = cell_of(shown, "((..).)", features)
    assert browser.run("document.getElementById('detail').open") is True
    assert browser.text("#detail-title") == "((..).) on 4 binary features"
    assert browser.text("#value") == "VC dimension 5"
    facts = browser.text("#facts")
    assert "2 nodes, 3 leaves, height 2" in facts and "exhausted" in facts and cell.upper_source in facts
    assert browser.run("document.querySelectorAll('#drawing svg rect').length") == 3
    rows = browser.run("[...document.querySelectorAll('#bounds tbody tr')].map((row) => row.innerText)")
    assert len(rows) == len(cell.bounds)
    for row, bound in zip(rows, cell.bounds, strict=True):
        assert row.startswith(bound.side) and bound.method in row and bound.source in row and str(bound.value) in row


def test_the_slider_goes_over_all_labellings(browser: Browser, page: str, shown: Atlas) -> None:
    browser.open(f"{page}#{CELL}")
    assert "realise all 32 labellings: counted by this page" in browser.text("#witness-text")
    browser.run("document.getElementById('slider').focus()")
    browser.press("Home")
    seen = []
    for _ in range(32):
        labels = shown_labels(browser)
        assert shown_leaves(browser) == by_letter(labels)
        assert browser.text("#check") == "✓ 5 of 5 points reach a leaf of their label."
        seen.append(tuple(labels))
        browser.press("ArrowRight")
    assert sorted(seen) == sorted(itertools.product((0, 1), repeat=5))
    assert tuple(shown_labels(browser)) == (1, 1, 1, 1, 1)  # the slider stops at its end


def test_the_tree_on_show_gives_the_labels(browser: Browser, page: str, shown: Atlas) -> None:
    browser.open(f"{page}#{CELL}/01101")
    assert shown_labels(browser) == [0, 1, 1, 0, 1]
    witness = cell_of(shown, "((..).)", Features(binary=4)).witness
    assert witness is not None
    questions = browser.run("[...document.querySelectorAll('#tree .ask')].map((box) => box.nextSibling.textContent)")
    matching = [
        tree for tree in witness.trees
        if sorted(f"x{q[1]} ≤ {q[2]:g}" for q in tree if q is not None) == sorted(questions)
    ]  # fmt: skip
    assert any((0, 1, 1, 0, 1) in oracle.realised([tree], witness.points) for tree in matching)


def test_labels_can_be_flipped_and_the_address_follows(browser: Browser, page: str) -> None:
    browser.open(f"{page}#{CELL}/01101")
    browser.click("#points tbody tr:nth-child(1) .label")
    assert shown_labels(browser) == [1, 1, 1, 0, 1]
    assert shown_leaves(browser) == by_letter([1, 1, 1, 0, 1])
    browser.settle("location.hash", f"#{CELL}/11101")
    browser.click("#next")
    assert shown_labels(browser) == [0, 0, 0, 1, 1]
    browser.click("#previous")
    assert shown_labels(browser) == [1, 1, 1, 0, 1]
    assert browser.run("document.querySelector('#points .label').getAttribute('aria-pressed')") == "true"


def test_the_keyboard_is_enough(browser: Browser, page: str, shown: Atlas) -> None:
    browser.open(page)
    browser.run(f"document.querySelector('{selector_of(shown, '(..)', Features(binary=2))}').focus()")
    browser.press("ArrowDown")
    browser.press("ArrowRight")
    browser.press("Enter")
    assert browser.text("#detail-title") == "((..).) on 3 binary features"
    browser.press("Escape")
    browser.settle("document.getElementById('detail').open", False)
    browser.settle("document.activeElement.getAttribute('aria-label')", "((..).) on 3 binary: 4, exact")
    browser.settle("location.hash", "")


@pytest.mark.parametrize(("structure", "n_real"), [("((..).)", 2), ("((..)(..))", 2), ("((..).)", 1)])
def test_real_features_are_drawn_in_the_plane(browser: Browser, page: str, structure: str, n_real: int) -> None:
    points = SAMPLES[structure, n_real]
    labels = [i % 2 for i in range(len(points))]
    browser.open(f"{page}#{structure}/{n_real}-real/{''.join(map(str, labels))}")
    place = "[+d.getAttribute('cx'), +d.getAttribute('cy'), +d.classList.contains('one')]"
    dots = browser.run(f"[...document.querySelectorAll('#plane .dot')].map((d) => {place})")
    assert [dot[2] for dot in dots] == labels
    for axis, sign in ((0, 1), (1, -1))[:n_real]:  # up the page is up the scale
        order = sorted(range(len(points)), key=lambda i, axis=axis: points[i][axis])
        assert sorted(range(len(points)), key=lambda i, axis=axis, sign=sign: sign * dots[i][axis]) == order
    n_cuts = browser.run("document.querySelectorAll('#plane .cut').length")
    assert 1 <= n_cuts <= Structure(structure).n_nodes
    # Every point lies in a region of its own colour.
    inside = """[...document.querySelectorAll('#plane .dot')].map((d) => {
        const [x, y] = ['cx', 'cy'].map((name) => +d.getAttribute(name));
        const regions = [...document.querySelectorAll('#plane .region')].filter((r) => {
            const [left, top, width, height] = ['x', 'y', 'width', 'height'].map((name) => +r.getAttribute(name));
            return left <= x && x <= left + width && top <= y && y <= top + height;
        });
        return regions.map((r) => +r.classList.contains('one'));
    })"""
    assert browser.run(inside) == [[label] for label in labels]
    assert shown_leaves(browser) == by_letter(labels)


def test_tests_of_other_kinds_are_drawn(browser: Browser, tmp_path: Path) -> None:
    path = tmp_path / "kinds.html"
    other_kinds_atlas().save(path)
    browser.open(path.as_uri())
    browser.click("[data-cell]")
    browser.settle("location.hash", "#((..)(..).)/1-nominal-3-1-nominal-4-1-multiway-3/01010")
    assert "realise all 32 labellings" in browser.text("#witness-text")
    assert shown_leaves(browser) == by_letter([0, 1, 0, 1, 0])
    others = "#tree text:not(.leaf-label):not(.members)"
    texts = browser.run(f"[...document.querySelectorAll('{others}')].map((node) => node.textContent)")
    assert sorted(texts) == sorted(["x2", "0", "1", "2", "x0 = 2", "yes", "no", "x1 in 0, 3", "yes", "no"])
    assert browser.run("document.getElementById('plane-figure').hidden")


def test_the_samples_of_these_tests_are_shattered() -> None:
    small = [(structure, points) for (structure, _), points in SAMPLES.items() if len(points) <= 5]
    assert len(small) == 4 and all(oracle.is_shattered(structure, points) for structure, points in small)


def test_a_cell_without_a_search_says_so(browser: Browser, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "open.html"
    with monkeypatch.context() as patch:
        patch.setattr(atlas, "search_vc", plain_search)
        patch.setattr(atlas, "realize", plain_realize)
        patch.setitem(SAMPLES, ("((..).)", 2), None)
        patch.setitem(SAMPLES, ("((..).)", 1), None)
        build(max_nodes=2, real=3).save(path)
    browser.open(f"{path.as_uri()}#((..).)/3-real")
    assert re.fullmatch(r"VC dimension between \d+ and \d+", browser.text("#value"))
    assert browser.text("#witness-text") == "There is no sample to show."
    assert "no search: expected a structure with a known sample" in browser.text("#facts")
    assert browser.run("document.getElementById('labelling').hidden && document.getElementById('plane-figure').hidden")


def test_a_witness_on_fewer_features_says_so(browser: Browser, page: str) -> None:
    browser.open(f"{page}#((..).)/3-real/01101")
    assert "Found on 2 real; the other features are 0." in browser.text("#witness-text")
    assert shown_leaves(browser) == by_letter([0, 1, 1, 0, 1])
    assert "no search: expected a structure with a known sample" in browser.text("#facts")


def test_hostile_texts_stay_texts(browser: Browser, tmp_path: Path) -> None:
    path = tmp_path / "hostile.html"
    hostile_atlas().save(path)
    browser.open(f"{path.as_uri()}#(..)/1-binary/01")
    assert browser.run("typeof pwned") == "undefined"
    assert browser.run("document.scripts.length") == 2 and browser.run("document.images.length") == 0
    assert browser.run("document.querySelector('h1').textContent") == HOSTILE
    facts = browser.run("[...document.querySelectorAll('#facts dd')].map((node) => node.textContent)")
    assert facts.count(HOSTILE) == 2 and facts.count(f"2: {HOSTILE}") == 2  # grade and note; sources
    assert browser.run("document.querySelector('#bounds .method').textContent") == HOSTILE


def test_a_script_that_gets_in_does_not_run(browser: Browser, page: str, tmp_path: Path, shown: Atlas) -> None:
    path = tmp_path / "broken.html"
    path.write_text(shown.html().replace("<main>", "<main><script>pwned = 1</script>"), encoding="utf-8")
    browser.open(path.as_uri())
    assert browser.run("typeof pwned") == "undefined"
    assert "Content Security Policy" in browser.wait_for("Log.entryAdded")["entry"]["text"]
    browser.events.clear()


def test_downloads_are_the_files(browser: Browser, page: str, shown: Atlas, tmp_path: Path) -> None:
    browser.open(page)
    browser.call("Browser.setDownloadBehavior", behavior="allow", downloadPath=str(tmp_path))
    for suffix in ("csv", "json"):
        browser.click(f"#get-{suffix}")
        path, deadline = tmp_path / f"atlas.{suffix}", time.monotonic() + 20
        while not (path.exists() and path.stat().st_size) and time.monotonic() < deadline:
            time.sleep(0.05)
        text = path.read_bytes().decode()
        assert json.loads(text) == json.loads(shown.json()) if suffix == "json" else text == shown.csv()


def test_a_phone_shows_everything(browser: Browser, page: str) -> None:
    browser.size(360, 740)
    browser.open(page)
    assert browser.run("document.documentElement.scrollWidth") <= 360
    sizes = browser.run("[...document.querySelectorAll('.cell')].map((c) => c.getBoundingClientRect().height)")
    assert min(sizes) >= 32  # large enough for a finger
    browser.open(f"{page}#((..)(..))/2-real")
    wide = "[...document.querySelectorAll('#detail .sheet, #tree svg, #plane svg, #slider')]"
    assert browser.run(f"Math.max(...{wide}.map((node) => node.getBoundingClientRect().right))") <= 360


def contrast(browser: Browser, selector: str) -> float:
    """Contrast of an element's text with its background, as the Web Content Accessibility Guidelines define it."""
    pick = "({color, backgroundColor}) => [color, backgroundColor]"
    read = f"({pick})(getComputedStyle(document.querySelector('{selector}')))"

    def light(colour: str) -> float:
        parts = [int(part) / 255 for part in re.findall(r"\d+", colour)[:3]]
        linear = [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]
        return float(sum(weight * part for weight, part in zip((0.2126, 0.7152, 0.0722), linear, strict=True)))

    low, high = sorted(light(colour) for colour in browser.run(read))
    return (high + 0.05) / (low + 0.05)


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_both_themes_can_be_read(browser: Browser, page: str, theme: str) -> None:
    browser.call("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": theme}])
    browser.open(f"{page}#{CELL}")
    is_dark = "getComputedStyle(document.body).backgroundColor.match(/\\d+/g).every((part) => part < 60)"
    assert browser.run(is_dark) is (theme == "dark")
    for selector in ("body", ".exact", "#close", ".label[aria-pressed=true]", ".label[aria-pressed=false]"):
        assert contrast(browser, selector) >= 4.5, selector
    browser.press("Escape")
    browser.settle("document.getElementById('detail').open", False)
    for _ in range(1 if theme == "dark" else 2):  # automatic, light, dark
        browser.click("#theme")
    assert browser.run(is_dark) is (theme == "light")

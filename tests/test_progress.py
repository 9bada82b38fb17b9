"""How far a search is, in lines and in bars."""

from __future__ import annotations

import io
import re
import sys
from types import SimpleNamespace
from typing import Any

import pytest

from vcdim_core import search_vc
from vcdim_core._progress import Printer


def state(**fields: Any) -> Any:
    """A report of a search, with the number of samples extended."""
    usual = {"size": 5, "samples": 0, "orbits": 7, "lower": 4, "upper": 9, "seconds": 0.0, "done": 0, "total": 0}
    return SimpleNamespace(**(usual | fields))


def lines(*states: Any, every: float = 1.0) -> list[str]:
    stream = io.StringIO()
    with Printer(stream, every=every, bars=False) as show:
        for each in states:
            show(each)
    return stream.getvalue().splitlines()


def test_a_line_tells_size_rate_bracket_and_what_is_left() -> None:
    first = state(seconds=2.0, samples=1000, done=100, total=400)
    later = state(seconds=6.0, samples=3000, done=200, total=400)
    assert lines(first, later)[1] == (
        "5 points: 200 of 400 extended, 3,000 samples tested (500/s), VC dimension between 4 and 9, "
        "about 8 s left at this size"
    )


def test_no_estimate_without_something_to_tell_by() -> None:
    assert lines(state(seconds=2.0, samples=10), state(seconds=4.0, samples=30)) == [
        "5 points: 10 samples tested (5/s), VC dimension between 4 and 9",
        "5 points: 30 samples tested (10/s), VC dimension between 4 and 9",
    ]
    assert "left" not in lines(state(seconds=2.0, done=5, total=9), state(seconds=4.0, done=5, total=9))[1]


def test_the_estimate_starts_anew_with_each_size() -> None:
    small = [state(seconds=1.0 * i, done=i, total=10) for i in range(1, 4)]
    large = [state(size=6, seconds=10.0, done=0, total=50), state(size=6, seconds=20.0, done=10, total=50)]
    *_, before, after = lines(*small, *large)
    assert before.startswith("6 points") and "left" not in before
    assert after.endswith("about 40 s left at this size")


def test_lines_keep_their_distance() -> None:
    states = [state(seconds=0.1 * i) for i in range(1, 100)]
    assert len(lines(*states)) == 9
    assert len(lines(*states, every=0.0)) == 99
    changing = [state(size=i, seconds=0.1 * i) for i in range(1, 100)]
    assert 8 <= len(lines(*changing)) <= 10


def test_a_printer_serves_one_search_after_another() -> None:
    assert len(lines(state(seconds=50.0), state(seconds=2.0), state(seconds=4.0))) == 3


def test_bars_show_the_same() -> None:
    pytest.importorskip("tqdm")
    stream = io.StringIO()
    with Printer(stream, bars=True) as show:
        show(state(seconds=1.0, samples=100, done=10, total=40))
        show(state(seconds=3.0, samples=300, done=20, total=40))
        bar = show._bar
        assert (bar.n, bar.total, bar.desc) == (20, 40, "5 points, VC 4 to 9")
        assert bar.postfix == "300 tested, 100/s"
        show(state(size=6, seconds=4.0, samples=400))
        assert show._bar is not bar and show._bar.total is None
    assert "5 points, VC 4 to 9" in stream.getvalue()


def test_lines_where_tqdm_is_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "tqdm", None)
    stream = io.StringIO()
    with Printer(stream) as show:
        show(state(seconds=2.0))
    assert stream.getvalue().startswith("5 points: ")
    with pytest.raises(ModuleNotFoundError, match="tqdm"):
        Printer(stream, bars=True)


def test_a_search_reports_to_it() -> None:
    stream = io.StringIO()
    with Printer(stream, every=0.0, bars=False) as show:
        search_vc("((((..)(..)).)(..))", d=5, node_limit=20000, progress=show)
    found = stream.getvalue().splitlines()
    assert found and all(re.match(r"\d+ points?: ", line) and "VC dimension between" in line for line in found)

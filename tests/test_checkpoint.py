"""The journal of a search: killed at any moment, torn, damaged, of another problem, on a full disk."""

from __future__ import annotations

import base64
import errno
import hashlib
import json
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import vcdim_core as vc
from vcdim_core import Features, _levels_search, exact

PROBLEM: dict[str, Any] = dict(structure="((..).)", features=Features(real=3))
CUBE: dict[str, Any] = dict(structure="(((..).)(..))", d=5)

HELPER = """
import json, os, random, signal, sys, time
import vcdim_core as vc
from vcdim_core import _levels_search
_levels_search.UNIT_SECONDS = 0.001

def search(path, n_jobs=1):
    result = vc.search_vc("((..).)", real=3, checkpoint=path, n_jobs=n_jobs)
    digests = [record.digest for record in result.levels]
    return [result.lower, result.upper, result.witness, result.stats.tested, digests]

"""

TORTURE = HELPER + """
path, seed = sys.argv[1], int(sys.argv[2])
chance = random.Random(seed)
kills, whole, answers = 0, b"", []
while kills < 20 or not answers:
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        answer = json.dumps(search(path, 1 + kills % 2)).encode()
        os.write(writer, answer)
        os._exit(0)
    os.close(writer)
    if kills < 20:
        time.sleep(chance.uniform(0, 0.06))
        os.kill(child, signal.SIGKILL)
    with os.fdopen(reader, "rb") as stream:
        data = stream.read()
    killed = os.WIFSIGNALED(os.waitpid(child, 0)[1])
    kills += killed
    after = open(path, "rb").read() if os.path.exists(path) else b""
    assert after.startswith(whole), "a finished unit is gone"
    whole = after[: after.rfind(b"\\n") + 1]
    if not killed:
        answers.append(json.loads(data))
        os.rename(path, f"{path}.{len(answers)}")
        whole = b""
print(json.dumps(answers))
"""

FULL = HELPER + """
import resource
resource.setrlimit(resource.RLIMIT_FSIZE, (int(sys.argv[2]), int(sys.argv[2])))
try:
    search(sys.argv[1])
except OSError as error:
    print(json.dumps([error.errno, error.strerror, error.filename]))
"""

OTHER = HELPER + """
try:
    search(sys.argv[1])
except OSError as error:
    print(json.dumps([error.errno, error.strerror, error.filename]))
"""


def run(code: str, *arguments: object) -> Any:
    environment = os.environ | {"PYTHONPATH": str(Path(vc.__file__).parent.parent)}
    command = [sys.executable, "-P", "-c", code, *map(str, arguments)]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def answer(result: vc.VCResult) -> list[Any]:
    digests = [record.digest for record in result.levels]
    return json.loads(json.dumps([result.lower, result.upper, result.witness, result.stats.tested, digests]))


def units(path: Path) -> dict[tuple[int, str], list[tuple[int, int]]]:
    """The units of a journal by level, from its documented format."""
    found: dict[tuple[int, str], list[tuple[int, int]]] = {}
    for line in path.read_bytes().splitlines()[1:]:
        text, _, checksum = line.rpartition(b" ")
        assert hashlib.sha256(text).hexdigest().encode() == checksum
        record = json.loads(text)
        for array in record["children"]:
            base64.b64decode(array, validate=True)
        found.setdefault((record["points"], record["level"]), []).append((record["start"], record["stop"]))
    return found


def check_no_unit_twice(path: Path) -> None:
    """Each level of a finished search is covered, and nothing of it was done twice."""
    found = units(path)
    assert len(found) > 3
    for ranges in found.values():
        at = 0
        for start, stop in sorted(ranges):
            assert start == at < stop
            at = stop


@pytest.fixture
def many_units(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_levels_search, "UNIT_SECONDS", 0.001)


@pytest.fixture
def journal(tmp_path: Path, many_units: None) -> Path:
    """The journal of a finished search."""
    path = tmp_path / "journal"
    vc.search_vc(**PROBLEM, checkpoint=path)
    return path


# Killed


@pytest.mark.skipif(not hasattr(os, "fork"), reason="a search is killed the POSIX way, in a child process")
def test_a_search_killed_twenty_times_ends_as_an_undisturbed_one(tmp_path: Path) -> None:
    path = tmp_path / "journal"
    answers = run(TORTURE, path, 7)
    expected = answer(vc.search_vc(**PROBLEM))
    assert answers and all(found == expected for found in answers)
    for i in range(len(answers)):
        check_no_unit_twice(tmp_path / f"journal.{i + 1}")


def test_a_finished_search_is_read_from_its_journal(journal: Path) -> None:
    check_no_unit_twice(journal)
    before = journal.read_bytes()
    assert answer(vc.search_vc(**PROBLEM, checkpoint=journal)) == answer(vc.search_vc(**PROBLEM))
    assert journal.read_bytes() == before


def test_a_search_that_met_a_limit_goes_on(tmp_path: Path, many_units: None) -> None:
    path = tmp_path / "journal"
    for node_limit in (1, 100, 400):
        assert not vc.search_vc(**PROBLEM, checkpoint=path, node_limit=node_limit).exact
    assert answer(vc.search_vc(**PROBLEM, checkpoint=path)) == answer(vc.search_vc(**PROBLEM))
    check_no_unit_twice(path)


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_journal_of_the_cube(n_jobs: int, tmp_path: Path, many_units: None, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(exact, "DIVE_TESTS", 0)
    path = tmp_path / "journal"
    expected = answer(vc.search_vc(**CUBE))
    assert not vc.search_vc(**CUBE, checkpoint=path, node_limit=300, n_jobs=n_jobs).exact
    for _ in range(2):
        assert answer(vc.search_vc(**CUBE, checkpoint=path, n_jobs=n_jobs)) == expected


# Torn and damaged


def test_a_torn_last_line_is_dropped(journal: Path) -> None:
    data = journal.read_bytes()
    expected = answer(vc.search_vc(**PROBLEM))
    last = data[:-1].rfind(b"\n") + 1
    for cut in (last + 1, (last + len(data)) // 2, len(data) - 2, len(data) - 1):
        journal.write_bytes(data[:cut])
        assert answer(vc.search_vc(**PROBLEM, checkpoint=journal)) == expected
        assert journal.read_bytes()[:last] == data[:last]
        check_no_unit_twice(journal)
    journal.write_bytes(data[:-10] + b"0123456789\n"[-10:])  # the end of the last line was never written
    assert answer(vc.search_vc(**PROBLEM, checkpoint=journal)) == expected


def test_a_torn_first_line_is_written_again(journal: Path) -> None:
    data = journal.read_bytes()
    first = data.index(b"\n")
    for cut in (0, 1, first // 2, first):
        journal.write_bytes(data[:cut])
        assert vc.search_vc(**PROBLEM, checkpoint=journal).value == 7
        assert journal.read_bytes()[: first + 1] == data[: first + 1]


@pytest.mark.parametrize("line", [2, 3, 6])
def test_a_damaged_line_in_the_middle_is_refused(journal: Path, line: int) -> None:
    lines = journal.read_bytes().split(b"\n")
    lines[line - 1] = lines[line - 1].replace(b'"start"', b'"Start"')
    journal.write_bytes(b"\n".join(lines))
    damaged = journal.read_bytes()
    with pytest.raises(ValueError, match=rf"^expected line {line} of .*journal to be whole, got a damaged one$"):
        vc.search_vc(**PROBLEM, checkpoint=journal)
    assert journal.read_bytes() == damaged


def test_a_line_that_comes_twice_counts_once(journal: Path) -> None:
    lines = journal.read_bytes().splitlines(keepends=True)
    journal.write_bytes(b"".join([*lines, lines[2], lines[-1]]))
    assert answer(vc.search_vc(**PROBLEM, checkpoint=journal)) == answer(vc.search_vc(**PROBLEM))


# Refused


@pytest.mark.parametrize(
    "other",
    [
        dict(structure="(.(..))", features=Features(real=3)),
        dict(structure="((..).)", features=Features(real=2)),
        dict(structure="((..).)", features=Features(real=3), orientation="fixed"),
        dict(structure="((..).)", features=Features(real=1, nominal=[4]), nominal_splits="subset"),
    ],
    ids=str,
)
def test_a_journal_of_another_problem_is_refused_by_name(journal: Path, other: dict[str, Any]) -> None:
    before = journal.read_bytes()
    with pytest.raises(ValueError) as caught:
        vc.search_vc(**other, checkpoint=journal)
    message = str(caught.value)
    assert message.startswith(f"expected {journal} to be the journal of ")
    wanted, _, came = message.partition(", got one of ")
    assert json.dumps(other["structure"]) in wanted
    assert f'"orientation": "{other.get("orientation", "free")}"' in wanted
    assert '"structure": "((..).)"' in came and '"real": 3' in came and '"orientation": "free"' in came
    assert journal.read_bytes() == before


def sealed(record: dict[str, Any]) -> bytes:
    text = json.dumps(record).encode()
    return text + b" " + hashlib.sha256(text).hexdigest().encode() + b"\n"


def test_other_versions_and_machines_are_refused(journal: Path) -> None:
    data = journal.read_bytes()
    first, rest = data.split(b"\n", 1)
    header = json.loads(first.rpartition(b" ")[0])
    for change, message in (
        ({"version": 2}, "expected version 1 of the journal .*, got 2"),
        ({"byteorder": "odd"}, "expected .* to be of this kind of machine and engine, got one of another"),
        ({"format": "novel"}, "expected .* to be a journal of a search, got another file"),
    ):
        changed = sealed(header | change) + rest
        journal.write_bytes(changed)
        with pytest.raises(ValueError, match=f"^{message}$"):
            vc.search_vc(**PROBLEM, checkpoint=journal)
        assert journal.read_bytes() == changed


@pytest.mark.parametrize("content", [b"my notes", b"my notes\nof today\n", b"\n", b"\x00" * 40, b"[]\n{}\n", b"{}"])
def test_another_file_is_refused_and_left_alone(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "notes"
    path.write_bytes(content)
    with pytest.raises(ValueError, match=r"^expected .*notes to be a journal of a search, got another file$"):
        vc.search_vc(**PROBLEM, checkpoint=path)
    assert path.read_bytes() == content


def test_a_path_that_cannot_be_written_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match="nowhere"):
        vc.search_vc(**PROBLEM, checkpoint=tmp_path / "nowhere" / "journal")
    with pytest.raises(IsADirectoryError, match=re.escape(str(tmp_path))):
        vc.search_vc(**PROBLEM, checkpoint=tmp_path)
    if os.name != "nt":
        with pytest.raises(ValueError, match=r"^expected /dev/null to be a file, got a device or a pipe$"):
            vc.search_vc(**PROBLEM, checkpoint="/dev/null")


@pytest.mark.skipif(os.name == "nt", reason="files are locked the POSIX way")
def test_two_searches_do_not_write_to_one_journal(journal: Path) -> None:
    before = journal.read_bytes()
    from vcdim_core._journal import Journal
    from vcdim_core._problem import Problem

    held = Journal(journal, Problem.checked(PROBLEM["structure"], PROBLEM["features"]), "kinds")
    try:
        code, message, name = run(OTHER, journal)
    finally:
        held.close()
    assert (message, name) == ("expected a journal that no other search writes to, got one in use", str(journal))
    assert code == errno.EAGAIN
    assert journal.read_bytes() == before
    assert run(HELPER + "print(json.dumps(search(sys.argv[1])))", journal) == answer(vc.search_vc(**PROBLEM))


# Full disk


@pytest.mark.skipif(sys.platform != "linux", reason="the size of files is limited the Linux way")
@pytest.mark.parametrize("size", [50, 900, 4000])
def test_a_full_disk_is_a_clear_error_and_loses_nothing(tmp_path: Path, size: int, many_units: None) -> None:
    path = tmp_path / "journal"
    code, message, name = run(FULL, path, size)
    assert code == errno.EFBIG
    assert message == f"expected to write to the journal, got: {os.strerror(errno.EFBIG)}"
    assert name == str(path)
    before = path.read_bytes()
    assert len(before) <= size and (not before or before.endswith(b"\n"))
    assert answer(vc.search_vc(**PROBLEM, checkpoint=path)) == answer(vc.search_vc(**PROBLEM))
    assert path.read_bytes().startswith(before)
    check_no_unit_twice(path)

"""The journal of a search: an append-only text file of finished units.

The first line names the format, its version and the problem; every other line is one unit: the size and the digest of
the level it extends, its first and last orbit, its children, and what was counted. A line is JSON, a space, and the
SHA-256 of that JSON. Lines are written whole and synchronised to the disk, so that after a crash at most the last one
is torn: it is cut off when the file is opened again. Units are found by the digest of their level, so that a line
that fits nothing does no harm. Nothing is evaluated or unpickled.
"""

from __future__ import annotations

import base64
import errno
import hashlib
import json
import os
import stat
import sys
import threading
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ._problem import Problem

try:
    import fcntl
except ImportError:  # no such locks on this system
    fcntl = None  # type: ignore[assignment]

if TYPE_CHECKING:
    from ._engines import Arrays

FORMAT, VERSION = "vcdim-journal", 1

Unit = tuple[int, int, int, "Arrays", tuple[int, int, int]]


class Journal:
    """Finished units of one problem."""

    def __init__(self, path: str | os.PathLike[str], problem: Problem, engine: str) -> None:
        self.path = Path(path)
        self.lock = threading.Lock()
        self.units: dict[tuple[int, str], list[Unit]] = {}
        self.header = {
            "format": FORMAT, "version": VERSION, "engine": engine, "byteorder": sys.byteorder,
            "problem": problem.as_dict(),
        }  # fmt: skip
        self.file = os.open(self.path, os.O_RDWR | os.O_CREAT | getattr(os, "O_BINARY", 0), 0o644)
        try:
            if not stat.S_ISREG(os.fstat(self.file).st_mode):
                raise ValueError(f"expected {self.path} to be a file, got a device or a pipe")
            self._lock()
            self._read()
        except BaseException:
            os.close(self.file)
            raise

    def _lock(self) -> None:
        """Refuse a journal to which another process writes; the lock ends with this process, however that ends."""
        if fcntl is None:
            return
        try:
            fcntl.lockf(self.file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            if error.errno in (errno.EACCES, errno.EAGAIN):  # and not: no locks on this file system
                message = "expected a journal that no other search writes to, got one in use"
                raise OSError(error.errno, message, str(self.path)) from None

    def _read(self) -> None:
        """Read what is there, and cut off a torn end; write the first line of a new file."""
        size = os.fstat(self.file).st_size
        # One descriptor only: the lock would end when another one of the same file is closed.
        data = b""
        while len(data) < size and (chunk := os.read(self.file, size)):
            data += chunk
        lines = data.split(b"\n")
        if len(lines) == 1:  # new, or torn in its first line
            if data and not data.startswith(b'{"format": "vcdim-journal"'[: len(data)]):
                raise ValueError(f"expected {self.path} to be a journal of a search, got another file")
            os.ftruncate(self.file, 0)
            os.lseek(self.file, 0, os.SEEK_SET)
            self._write(self.header)
            return
        self._check_header(_parse(lines[0]))
        good = len(lines[0]) + 1
        for number, line in enumerate(lines[1:-1], 2):
            record = _parse(line)
            if record is None:
                if number < len(lines) - 1:
                    raise ValueError(f"expected line {number} of {self.path} to be whole, got a damaged one")
                break
            self._note(record)
            good += len(line) + 1
        os.ftruncate(self.file, good)
        os.lseek(self.file, 0, os.SEEK_END)

    def _check_header(self, header: Any) -> None:
        if not isinstance(header, dict) or header.get("format") != FORMAT:
            raise ValueError(f"expected {self.path} to be a journal of a search, got another file")
        if header.get("version") != VERSION:
            raise ValueError(f"expected version {VERSION} of the journal {self.path}, got {header.get('version')}")
        if header.get("problem") != self.header["problem"]:
            other = header.get("problem", {})
            name = f"{other.get('structure')} on {other.get('features')}" if isinstance(other, dict) else other
            raise ValueError(
                f"expected {self.path} to be the journal of {json.dumps(self.header['problem'])}, got one of {name}, "
                f"{json.dumps(other)}"
            )
        if header != self.header:
            raise ValueError(f"expected {self.path} to be of this kind of machine and engine, got one of another")

    def _note(self, record: dict[str, Any]) -> None:
        arrays = tuple(zlib.decompress(base64.b64decode(text)) for text in record["children"])
        unit = (record["start"], record["stop"], record["orbits"], arrays, tuple(record["counts"]))
        units = self.units.setdefault((record["points"], record["level"]), [])
        if all(unit[1] <= start or stop <= unit[0] for start, stop, *_ in units):
            units.append(unit)

    def finished(self, n_points: int, level: str) -> Iterator[Unit]:
        """The units of a level that an earlier run has finished."""
        return iter(self.units.get((n_points, level), ()))

    def add(
        self, n_points: int, level: str, start: int, stop: int, n_orbits: int, arrays: Arrays,
        counts: tuple[int, int, int],
    ) -> None:  # fmt: skip
        """Write a finished unit; on return it is on the disk."""
        children = [base64.b64encode(zlib.compress(array, 1)).decode() for array in arrays]
        with self.lock:
            self._write(
                {
                    "points": n_points, "level": level, "start": start, "stop": stop, "orbits": n_orbits,
                    "counts": counts, "children": children,
                }
            )  # fmt: skip

    def _write(self, record: dict[str, Any]) -> None:
        text = json.dumps(record).encode()
        line = text + b" " + hashlib.sha256(text).hexdigest().encode() + b"\n"
        at = os.lseek(self.file, 0, os.SEEK_CUR)
        try:
            while line:
                line = line[os.write(self.file, line) :]
            os.fsync(self.file)
        except OSError as error:
            os.ftruncate(self.file, at)  # what was written before stays whole
            os.lseek(self.file, at, os.SEEK_SET)
            message = f"expected to write to the journal, got: {error.strerror}"
            raise OSError(error.errno, message, str(self.path)) from None

    def close(self) -> None:
        """Let the file go."""
        os.close(self.file)


def _parse(line: bytes) -> Any:
    """The record of a line, or None if it is damaged."""
    text, _, checksum = line.rpartition(b" ")
    if hashlib.sha256(text).hexdigest().encode() != checksum:
        return None
    try:
        return json.loads(text)
    except ValueError:
        return None


def read_problem(path: str | os.PathLike[str]) -> Problem:
    """The problem that a journal is about."""
    with open(path, "rb") as stream:
        header = _parse(stream.readline().rstrip(b"\n"))
    if not isinstance(header, dict) or header.get("format") != FORMAT:
        raise ValueError(f"expected {path} to be a journal of a search, got another file")
    return Problem.from_dict(header["problem"])

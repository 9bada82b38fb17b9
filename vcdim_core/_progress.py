"""Saying how far a search is: which size of sample, how fast, and roughly how long that size will still take.

A search goes size by size. How many samples of the next size there will be is not known before it is reached, so the
estimate is for the size at hand: the time that its samples have taken so far, times those left over those done.
"""

from __future__ import annotations

import importlib
import sys
from typing import TYPE_CHECKING, Any, TextIO

if TYPE_CHECKING:
    from .results import Progress

__all__ = ["Printer"]


class Printer:
    """Shows the progress of a search: a bar of tqdm for each size, or plain lines where tqdm is not installed.

    Parameters
    ----------
    stream : text file, optional
        Where to write; stderr unless given.
    every : float, default=1.0
        Seconds between two plain lines, and before the first.
    bars : bool, optional
        Whether to use tqdm; if not given, it is used where it is installed.

    Raises
    ------
    ModuleNotFoundError
        If ``bars`` is True and tqdm is not installed.

    Examples
    --------
    >>> from vcdim_core.results import Progress
    >>> with Printer(sys.stdout, every=0.0, bars=False) as show:
    ...     show(Progress(size=5, samples=3000, orbits=7, lower=4, upper=9, seconds=2.0))
    5 points: 3,000 samples tested (1,500/s), VC dimension between 4 and 9
    """

    def __init__(self, stream: TextIO | None = None, *, every: float = 1.0, bars: bool | None = None) -> None:
        self.stream = sys.stderr if stream is None else stream
        self.every = every
        self._tqdm = None if bars is False else _tqdm(needed=bars is True)
        self._bar: Any = None
        self._first: Progress | None = None  # the first report of this size
        self._last = 0.0  # when the last line was written

    def __enter__(self) -> Printer:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def __call__(self, progress: Progress) -> None:
        """Show where a search stands."""
        if self._first is None or self._first.size != progress.size or progress.seconds < self._first.seconds:
            self.close()
            self._first = progress
        if progress.seconds < self._last:  # another search
            self._last = 0.0
        if self._tqdm is not None:
            self._show_bar(progress)
        elif progress.seconds - self._last >= self.every:
            self._last = progress.seconds
            print(self._line(progress), file=self.stream, flush=True)

    def close(self) -> None:
        """Take the bar away; the next report begins anew."""
        if self._bar is not None:
            self._bar.close()
        self._bar = None
        self._first = None

    def remaining(self, progress: Progress) -> float | None:
        """Return the seconds that this size will roughly take, or None while there is nothing to tell by."""
        done, total = _counts(progress)
        first = progress if self._first is None else self._first
        advance, elapsed = done - _counts(first)[0], progress.seconds - first.seconds
        return elapsed / advance * (total - done) if advance > 0 and total >= done else None

    def rate(self, progress: Progress) -> float:
        """Return the samples tested per second at this size, or since the start if this is its first report."""
        first = progress if self._first is None else self._first
        elapsed = progress.seconds - first.seconds
        if elapsed > 0:
            return (progress.samples - first.samples) / elapsed
        return progress.samples / progress.seconds if progress.seconds > 0 else 0.0

    def _line(self, progress: Progress) -> str:
        done, total = _counts(progress)
        parts = [f"{progress.samples:,} samples tested ({self.rate(progress):,.0f}/s)"]
        if total:
            parts.insert(0, f"{done:,} of {total:,} extended")
        parts.append(f"VC dimension between {progress.lower} and {progress.upper}")
        left = self.remaining(progress)
        if left is not None:
            parts.append(f"about {_duration(left)} left at this size")
        return f"{_points(progress.size)}: {', '.join(parts)}"

    def _show_bar(self, progress: Progress) -> None:
        done, total = _counts(progress)
        head = f"{_points(progress.size)}, VC {progress.lower} to {progress.upper}"
        if self._bar is None:
            assert self._tqdm is not None
            layout = {"unit": " samples", "leave": False, "dynamic_ncols": True}
            self._bar = self._tqdm(desc=head, total=total or None, initial=done, file=self.stream, **layout)
        self._bar.set_description_str(head, refresh=False)
        self._bar.set_postfix_str(f"{progress.samples:,} tested, {self.rate(progress):,.0f}/s", refresh=False)
        self._bar.update(done - self._bar.n)


def _tqdm(needed: bool) -> Any:
    """The class of tqdm's bars, or None where it is not installed."""
    try:
        return importlib.import_module("tqdm").tqdm
    except ModuleNotFoundError:
        if needed:
            raise
        return None


def _counts(progress: Progress) -> tuple[int, int]:
    """How many samples of the size below have been extended, and how many there are; zeros where that is not told."""
    return getattr(progress, "done", 0), getattr(progress, "total", 0)


def _points(size: int) -> str:
    return f"{size} point{'s' * (size != 1)}"


def _duration(seconds: float) -> str:
    """A duration in two figures at most of its largest unit.

    Examples
    --------
    >>> _duration(0.4), _duration(95), _duration(4000), _duration(200000)
    ('1 s', '1.6 min', '1.1 h', '2.3 d')
    """
    if seconds < 60:
        return f"{max(seconds, 1):.0f} s"
    for size, unit, limit in ((60, "min", 3600), (3600, "h", 86400)):
        if seconds < limit:
            return f"{seconds / size:.1f} {unit}"
    return f"{seconds / 86400:.1f} d"

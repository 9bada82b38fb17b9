"""A fast search for large shattered samples: a beam, seeded, on features of every kind.

From a set of shattered samples of k points random ones of k + 1 points are grown; like samples are kept once, and a
random part of `width` of them goes on. Nothing is proved by this but the witness it ends with.
"""

from __future__ import annotations

import random
from typing import Any

from . import _levels, _orbits
from ._levels_search import Stopped

WIDTHS = (32, 128, 512, 2048)
"""Samples of one size that go on, one attempt after the other."""
CHILDREN = 8
"""Samples grown from one, at most."""
FREE_TESTS = 20_000
"""Samples that may be tested where there is no time limit: a second or so."""
SLICE = 16
"""Samples grown between two looks at the limits."""
SHARE = 0.4
"""Part of a time limit that may be spent here."""


def find_witness(members: Any, upper: int, time_limit: float | None, seed: int = 0) -> list[int]:
    """The largest shattered sample found, as positions; without a time limit only a short try."""
    deadline = _levels.clock() + SHARE * time_limit if time_limit is not None else None
    best: list[int] = []
    start = members.n_tested
    try:
        for attempt, width in enumerate(WIDTHS):
            for sample in _beam(members, width, seed + attempt):
                if len(sample) > len(best):
                    best = sample
                if len(best) >= upper or _is_over(members, deadline, members.n_tested - start):
                    return best
    except Stopped:  # what was found counts; the search itself meets the limit next
        pass
    return best


def _is_over(members: Any, deadline: float | None, tested: int) -> bool:
    return tested >= FREE_TESTS if deadline is None else _levels.clock() >= deadline


def _beam(members: Any, width: int, seed: int) -> Any:
    """Yield shattered samples of growing size; after each slice of work one, so that the caller can stop."""
    engine = members.engine
    level = engine.first()
    most = engine.most_points()
    chance = random.Random(seed)
    while level.n_orbits and level.n_points < most:
        parts = []
        for start in range(0, level.n_orbits, SLICE):
            stop = min(start + SLICE, level.n_orbits)
            parts += _sprout(members, level, start, stop, chance.getrandbits(32))
            found = next((part for part in parts if part.n_orbits), None)
            yield found.sample(0) if found is not None else level.sample(0)
        children = _orbits.join_levels(parts)
        chosen = list(range(children.n_orbits))
        chance.shuffle(chosen)
        level = _orbits.select(children, chosen[:width])


def _sprout(members: Any, level: Any, start: int, stop: int, seed: int) -> list[Any]:
    """Children of orbits start .. stop-1, in order, by all workers."""

    def work(worker: Any, a: int, b: int) -> Any:
        return worker.sprout(level, start + a, start + b, CHILDREN, seed)

    parts: list[Any] = members.over(stop - start, work, lambda: None, 1)
    return parts

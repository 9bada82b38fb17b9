"""All shattered samples of a problem, size by size, for the ledger of a certificate."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .results import LevelRecord, VCResult

MAX_TESTS = 300_000
"""Samples tested for a ledger: some ten seconds."""


def exhaust(result: VCResult) -> tuple[LevelRecord, ...]:
    """The ledger of a search that drops nothing, by the engine for features of every kind; () if that is too long."""
    from ._engines import KindsEngine
    from ._levels_search import Stopped, team
    from ._problem import Problem
    from .exact import _Search

    problem = Problem(result.structure, result.features, result.orientation, result.nominal_splits)
    search = _Search(problem)
    search.lower, search.upper = 0, result.upper + 1
    search.keep_all = True
    search.limits[2] = MAX_TESTS
    try:
        with team(KindsEngine(problem), search.limits, 1) as members:
            search._search_levels(members, None, lambda *_: None)
    except Stopped:
        return ()
    return tuple(search.ledger)

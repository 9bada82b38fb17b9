"""Shattering as satisfiability: search by counterexample, and proofs that no sample of a size is shattered.

Needs a SAT solver: the extra ``sat`` (python-sat). Nothing here has to be trusted: a sample that is found is tested by
plain code, and a proof is checked by `vcdim_core.verify`, which knows nothing of this module.

**Counterexample-guided search.** A formula for all :math:`2^{m-1}` labellings is large, and a few of them already
exclude most samples. So start with few; each sample that the solver proposes is tested, and labellings that it does not
realise are added, until a sample is shattered or the formula is unsatisfiable. The labellings added so far are then
those the proof needs.

**Proofs.** The solver writes the clauses that it learns (DRUP: Goldberg and Novikov 2003, Heule et al. 2013). Each is
redone here by unit propagation, with the clauses that it took as hints (LRAT); clauses that the contradiction does not
rest on are dropped.
"""

from __future__ import annotations

import itertools
import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from ._check_problem import Problem, Values, read_problem
from ._cnf import Case, Formula, SampleVariables, add_labelling, cases, encode
from ._lrat import Step
from ._recheck import realised
from .features import Features

SOLVER = "cadical195"
"""Can be stopped after a number of conflicts. Of the solvers of python-sat whose proofs use no more than unit
propagation (Glucose, CaDiCaL, Lingeling) the one with the fewest hints in the proofs tried."""


class OutOfBudget(Exception):
    """The solver was stopped by its limit on conflicts or time."""


class NotByPropagation(Exception):
    """The solver wrote down a clause that does not follow by unit propagation."""


@dataclass(frozen=True)
class Found:
    """What a search by counterexample found."""

    sample: tuple[Values, ...] | None
    """A shattered sample, or None: there is none."""
    labellings: tuple[tuple[int, ...], ...]
    """The labellings that were needed, for each case (the last ones only, if a sample was found)."""
    rounds: int
    """Samples proposed by the solver."""
    seconds: float
    """Time it took."""


def load_solver() -> Any:
    """Return the class of solvers, or say which extra is missing."""
    try:
        from pysat.solvers import Solver
    except ImportError as error:
        raise ImportError("a SAT solver needs the extra 'sat': pip install 'vcdim_core[sat]'") from error
    return Solver


# Search


def search(
    structure: object, features: Features, m: int, *, orientation: str = "free", nominal_splits: str = "one",
    conflicts: int | None = None, time_limit: float | None = None,
) -> Found:  # fmt: skip
    """Find a shattered sample of m points of a structure on features, or find that there is none.

    Parameters
    ----------
    structure, features, orientation, nominal_splits
        The problem.
    m : int
        Number of points, at least 1.
    conflicts : int, optional
        Conflicts that the solver may have in all.
    time_limit : float, optional
        Seconds; looked at between two calls of the solver.

    Returns
    -------
    Found
        With ``sample`` None if no sample is shattered: that is the solver's word, see `prove`.

    Raises
    ------
    OutOfBudget
        At a limit.

    Examples
    --------
    >>> search("((..).)", Features(real=2), 6).sample is None
    True
    >>> len(search("((..).)", Features(real=2), 5).sample)
    5
    """
    described = describe_problem(structure, features, orientation, nominal_splits)
    return search_problem(read_problem(described), m, conflicts=conflicts, time_limit=time_limit)


def describe_problem(
    structure: object, features: Features, orientation: str = "free", nominal_splits: str = "one"
) -> dict[str, Any]:
    """Return the part "problem" of a certificate."""
    kinds = {kind: list(getattr(features, kind)) for kind in ("ordinal", "nominal", "multiway")}
    return {
        "structure": str(structure),
        "features": {"real": features.real, "binary": features.binary, **kinds},
        "orientation": orientation,
        "nominal_splits": nominal_splits,
    }


def search_problem(
    problem: Problem, m: int, *, conflicts: int | None = None, per_round: int = 4, solver: str = SOLVER,
    time_limit: float | None = None,
) -> Found:  # fmt: skip
    """Do `search` for a problem as the checker reads it; ``per_round`` labellings are added for each sample."""
    started = time.monotonic()
    labellings: list[tuple[int, ...]] = []
    rounds = 0
    for case in reversed(cases(problem, m)):  # those with the most different ends have the most samples
        if time_limit is not None and time.monotonic() - started > time_limit:
            raise OutOfBudget
        with load_solver()(name=solver) as oracle:
            until = None if time_limit is None else started + time_limit
            sample, asked, more = _search_case(problem, m, case, oracle, conflicts, per_round, until)
            if conflicts is not None:
                conflicts -= oracle.accum_stats()["conflicts"]
        labellings.append(asked)
        rounds += more
        if sample is not None:
            return Found(sample, tuple(labellings[::-1]), rounds, time.monotonic() - started)
    return Found(None, tuple(labellings[::-1]), rounds, time.monotonic() - started)


def _search_case(
    problem: Problem, m: int, case: Case, oracle: Any, conflicts: int | None, per_round: int, until: float | None
) -> tuple[tuple[Values, ...] | None, tuple[int, ...], int]:
    """Return a shattered sample in a case or None, the labellings asked for, and how many samples were proposed."""
    formula = Formula()
    sample = SampleVariables(formula, problem, m, case)
    asked: dict[int, None] = {}
    everything = (1 << (1 << m - 1)) - 1
    for rounds in itertools.count():
        _hand_over(oracle, formula)
        if not _solve(oracle, conflicts, since=rounds > 0):
            return None, tuple(asked), rounds
        points = read_sample(sample, set(oracle.get_model()))
        missing = everything & ~realised(problem, points)
        if not missing:
            return points, tuple(asked), rounds + 1
        for labelling in _choose(missing, per_round, m):
            asked[labelling] = None
            add_labelling(sample, labelling)
        if until is not None and time.monotonic() > until:
            raise OutOfBudget
    raise AssertionError("every round adds a labelling, and there are no more")


def _hand_over(oracle: Any, formula: Formula) -> None:
    """Give the solver the clauses that it has not seen."""
    for clause in formula.clauses:
        oracle.add_clause(clause)
    formula.clauses.clear()


def _solve(oracle: Any, conflicts: int | None, since: bool = False) -> bool:
    """Ask the solver, which may have so many conflicts, those it had before included if ``since``."""
    if conflicts is None:
        return bool(oracle.solve())
    left = conflicts - (oracle.accum_stats()["conflicts"] if since else 0)
    if left <= 0:
        raise OutOfBudget
    oracle.conf_budget(left)
    answer = oracle.solve_limited()
    if answer is None:
        raise OutOfBudget
    return bool(answer)


def _choose(missing: int, count: int, m: int) -> list[int]:
    """Choose labellings among those not realised, the same number of each label first: they exclude most."""
    listed = []
    position = 0
    while missing:
        skip = (missing & -missing).bit_length() - 1
        position += skip
        listed.append(position)
        missing >>= skip + 1
        position += 1
    listed.sort(key=lambda labelling: (abs(2 * labelling.bit_count() - m), labelling * 0x9E3779B1 & 0xFFFFFFFF))
    return listed[:count]


def read_sample(sample: SampleVariables, true: set[int]) -> tuple[Values, ...]:
    """Read the sample off a model: ranks of real features, numbers of categories."""
    points, columns = range(sample.m), []
    for f, (kind, categories) in enumerate(sample.problem.columns):
        if kind == "real":
            columns.append([sum(sample.below[f, j, i] in true for j in points if j != i) for i in points])
        elif kind in ("nominal", "multiway"):
            columns.append([next(c for c in range(categories) if sample.equal(f, i, c) in true) for i in points])
        else:
            columns.append([sum(sample.more(f, i, c) in true for c in range(categories - 1)) for i in points])
    return tuple(zip(*columns, strict=True)) if columns else ((),) * sample.m


# Proofs


def prove(
    problem: Problem, m: int, labellings: Sequence[int], case: Case = (), conflicts: int | None = None
) -> tuple[str, list[Step]]:
    """Return the digest of the formula and a proof that no sample of m points in a case realises these labellings.

    Examples
    --------
    >>> from vcdim_core._lrat import check_refutation
    >>> stump = Problem(((), ()), (("real", 0),) * 2, True, False)
    >>> digest, steps = prove(stump, 4, range(1, 8))
    >>> check_refutation(encode(stump, 4, range(1, 8)).clauses, steps) == len(steps)
    True
    """
    formula = encode(problem, m, labellings, case)
    with load_solver()(name=SOLVER, bootstrap_with=formula.clauses, with_proof=True) as oracle:
        if _solve(oracle, conflicts):
            raise ValueError(f"expected labellings that no sample of {m} points realises, got {list(labellings)}")
        learnt = oracle.get_proof()
    return formula.digest, add_hints(formula, learnt)


def add_hints(formula: Formula, learnt: Iterable[str]) -> list[Step]:
    """Turn a proof in the format DRUP into steps with hints, only those that are needed."""
    propagation = _Propagation(formula)
    for line in learnt:
        words = line.split()
        if words[:1] == ["d"]:
            propagation.delete([int(word) for word in words[1:-1]])
        elif words and propagation.learn([int(word) for word in words[:-1]]):
            break
    else:
        propagation.learn([])  # what the solver saw at once it does not write down
    return _needed(len(formula.clauses), propagation.steps)


def _needed(n_given: int, steps: list[Step]) -> list[Step]:
    """Drop the steps that the last one does not rest on, and number the others anew."""
    used = [False] * len(steps)
    used[-1] = True
    for i in range(len(steps) - 1, -1, -1):
        if used[i]:
            for hint in steps[i][1]:
                if hint > n_given:
                    used[hint - n_given - 1] = True
    number = {i: i for i in range(n_given + 1)}
    kept: list[Step] = []
    for i, (clause, hints) in enumerate(steps):
        if used[i]:
            kept.append((clause, tuple(number[hint] for hint in hints)))
            number[n_given + 1 + i] = n_given + len(kept)
    return kept


class _Propagation:
    """Unit propagation with two watched literals in each clause, which remembers reasons.

    Lists indexed by a literal have room for both signs: the negative ones count from the end. ``trail`` holds the
    literals that are true, those without any assumption first; ``reason[variable]`` the clause that made it so.
    """

    def __init__(self, formula: Formula) -> None:
        size = 2 * formula.n_variables + 1
        self.value = [0] * size
        self.reason = [0] * (formula.n_variables + 1)
        self.watched: list[list[int]] = [[] for _ in range(size)]
        self.clauses: list[list[int]] = [[]]
        self.places: dict[tuple[int, ...], list[int]] = {}
        self.trail: list[int] = []
        self.n_given = len(formula.clauses)
        self.steps: list[Step] = []
        self.contradiction = 0
        for clause in formula.clauses:
            self._attach(list(clause))

    def delete(self, literals: list[int]) -> None:
        """Forget a clause, unless a literal is true because of it."""
        found = self.places.get(tuple(sorted(literals)))
        if found:
            clause = self.clauses[found[-1]]
            if not any(self.value[literal] > 0 and self.reason[abs(literal)] == found[-1] for literal in clause):
                clause.clear()  # watch lists drop it when they meet it
                found.pop()

    def learn(self, literals: list[int]) -> bool:
        """Add a clause that follows by unit propagation; True when the contradiction is reached."""
        if self.contradiction:
            self.steps.append(((), self._hints(self.contradiction)))
            return True
        known = len(self.trail)
        conflict = 0
        for literal in literals:
            if self.value[literal] > 0:
                conflict = -1  # true without any assumption: its reason is the whole proof
                hints = self._hints(self.reason[abs(literal)], but=literal)
                break
            if not self.value[literal]:
                self._set(-literal, 0)
        if not conflict:
            conflict = self._propagate(known)
            if not conflict:
                raise NotByPropagation(f"expected a clause that follows by unit propagation, got {literals}")
            hints = self._hints(conflict)
        for literal in self.trail[known:]:
            self.value[literal] = self.value[-literal] = 0
        del self.trail[known:]
        self.steps.append((tuple(literals), hints))
        if not literals:
            return True
        self._attach(literals)
        if self.contradiction:
            self.steps.append(((), self._hints(self.contradiction)))
        return bool(self.contradiction)

    def _set(self, literal: int, reason: int) -> None:
        self.value[literal], self.value[-literal] = 1, -1
        self.reason[abs(literal)] = reason
        self.trail.append(literal)

    def _attach(self, literals: list[int]) -> None:
        """Add a clause; what is true without assumptions stays true."""
        number = len(self.clauses)
        clause = sorted(set(literals), key=lambda literal: -self.value[literal])  # true, open, false
        self.clauses.append(clause)
        self.places.setdefault(tuple(sorted(literals)), []).append(number)
        for literal in clause[:2]:
            self.watched[literal].append(number)
        if not clause or self.value[clause[0]] < 0:
            self.contradiction = self.contradiction or number
        elif (len(clause) == 1 or self.value[clause[1]] < 0) and not self.value[clause[0]]:
            self._set(clause[0], number)
            self.contradiction = self.contradiction or self._propagate(len(self.trail) - 1)

    def _propagate(self, start: int) -> int:
        """Follow the consequences of the trail from ``start`` on; return a clause all of whose literals are false."""
        value, clauses, watched, trail = self.value, self.clauses, self.watched, self.trail
        while start < len(trail):
            false = -trail[start]
            start += 1
            waiting = watched[false]
            kept = watched[false] = []
            for place, number in enumerate(waiting):
                clause = clauses[number]
                if not clause:
                    continue
                if clause[0] == false:
                    clause[0], clause[1] = clause[1], false
                first = clause[0]
                if value[first] > 0:
                    kept.append(number)
                    continue
                for k in range(2, len(clause)):
                    if value[clause[k]] >= 0:
                        clause[1], clause[k] = clause[k], false
                        watched[clause[1]].append(number)
                        break
                else:
                    kept.append(number)
                    if value[first] < 0:
                        kept += waiting[place + 1 :]
                        return number
                    value[first], value[-first] = 1, -1
                    self.reason[abs(first)] = number
                    trail.append(first)
        return 0

    def _hints(self, conflict: int, but: int = 0) -> tuple[int, ...]:
        """The reasons that lead to a conflict, in the order of the trail, and the conflict."""
        wanted = {abs(literal) for literal in self.clauses[conflict] if literal != but}
        hints = [conflict]
        for literal in reversed(self.trail):
            if abs(literal) in wanted and literal != but:
                reason = self.reason[abs(literal)]
                if reason:
                    hints.append(reason)
                    wanted.update(abs(other) for other in self.clauses[reason])
        return tuple(hints[::-1])

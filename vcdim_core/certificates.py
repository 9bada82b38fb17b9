"""Certificates: a result of a search as JSON that anyone can check without the engine.

`build_certificate` writes down what `vcdim_core.verify` needs to see for itself; that module says what is in it.
"""

from __future__ import annotations

import json
import os
import tempfile
from collections.abc import Iterator, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any

from . import _sat
from ._check_counts import best_method
from ._check_problem import Parts, Problem, Shape, Values, all_divisions, arrangements, read_problem
from ._cnf import cases, labels_of
from ._lrat import pack
from ._recheck import OutOfEffort, exhaust
from ._validation import check_choice
from .results import VCResult
from .verify import EFFORT, FORMAT, MAX_WITNESS, VERSION, digest

__all__ = ["build_certificate", "write_certificate"]

SAT_POINTS = 10
"""Points up to which a proof by SAT is tried unless asked for."""
SAT_CONFLICTS = 20_000
"""Conflicts after which the solver is stopped unless a proof is asked for; the hints for so many take 10 seconds."""


def build_certificate(result: VCResult, *, sat: str = "auto") -> dict[str, Any]:
    """Write down why a result is right, as JSON that `vcdim_core.verify` checks.

    Parameters
    ----------
    result : VCResult
        What a search returned.
    sat : {"auto", "always", "never"}
        Whether to prove the upper end by SAT: where the problem is small and python-sat is installed, always, or never.

    Returns
    -------
    dict
        With the fields "format", "version", "problem", "lower" (the witness and a tree for each labelling), "upper"
        (the value and its proof) and "digest".

    Raises
    ------
    ValueError
        If the witness has more than 18 points, or ``sat="always"`` and one point more than the upper end is shattered.
    ImportError
        If ``sat="always"`` and python-sat is not installed.

    Notes
    -----
    The upper end is proved by SAT if that is small enough, else by counting, else by the ledger of the search. A result
    whose upper end rests on none of these gets a proof of kind "none".

    Examples
    --------
    >>> from vcdim_core import search_vc
    >>> certificate = build_certificate(search_vc("(..)", d=3), sat="never")
    >>> certificate["lower"]["trees"]
    {'000': [0, 0, 0, 0], '010': [0, 0, 0, 1], '001': [1, 0, 0, 1], '011': [2, 0, 0, 1]}
    >>> certificate["upper"]
    {'value': 3, 'proof': {'kind': 'counting', 'method': 'functions'}}
    """
    check_choice("sat", sat, ("auto", "always", "never"))
    splits = getattr(result, "nominal_splits", "one")
    described = _sat.describe_problem(result.structure, result.features, result.orientation, splits)
    problem = read_problem(described)
    certificate: dict[str, Any] = {
        "format": FORMAT,
        "version": VERSION,
        "problem": described,
        "lower": _lower(problem, result),
        "upper": {"value": int(result.upper), "proof": _upper_proof(problem, result, sat)},
    }
    certificate["digest"] = digest(certificate)
    return certificate


def certificate_of(result: VCResult) -> dict[str, Any]:
    """Return the certificate of a result, a new object each time; the last few are not computed again."""
    certificate: dict[str, Any] = json.loads(_text_of(result))
    return certificate


@lru_cache(maxsize=4)
def _text_of(result: VCResult) -> str:
    return json.dumps(build_certificate(result))


def write_certificate(path: str | os.PathLike[str], certificate: dict[str, Any]) -> None:
    """Write a certificate to a file, whole or not at all.

    Examples
    --------
    >>> import tempfile, vcdim_core as vc
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     write_certificate(f"{folder}/stump.json", vc.search_vc("(..)", d=3).certificate)
    ...     vc.verify(f"{folder}/stump.json")
    True
    """
    target = Path(path)
    text = json.dumps(certificate, separators=(",", ":"), allow_nan=False)
    handle, name = tempfile.mkstemp(prefix=f".{target.name}.", dir=target.parent)
    try:
        with os.fdopen(handle, "w", encoding="utf-8") as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        os.replace(name, target)
    except BaseException:
        Path(name).unlink(missing_ok=True)
        raise


# The lower end


def _lower(problem: Problem, result: VCResult) -> dict[str, Any]:
    if not 1 <= result.lower <= MAX_WITNESS:
        raise ValueError(f"expected a witness of 1 to {MAX_WITNESS} points for a certificate, got {result.lower}")
    n_real = problem.n_real
    sample = [tuple(_plain(v) if f < n_real else int(v) for f, v in enumerate(point)) for point in result.witness]
    trees = dict(all_trees(problem, sample))
    return {"value": result.lower, "sample": [list(point) for point in sample], "trees": trees}


def _plain(value: float) -> int | float:
    """A number as JSON has it: an int where it is whole."""
    return int(value) if value == int(value) else float(value)


def all_trees(problem: Problem, sample: Sequence[Values]) -> Iterator[tuple[str, Any]]:
    """Yield each labelling of a sample, the first point 0, with a tree that realises it.

    A substructure on a part of the sample is asked for one labelling of that part at a time; what it answers for this
    labelling and its complement is kept. Divisions come in a fixed order, so equal samples have equal trees.
    """
    finder = _Finder(problem, sample)
    everything = (1 << len(sample)) - 1
    for labelling in range(1 << len(sample) - 1):
        labels = labels_of(labelling, len(sample))
        ones = sum(label << i for i, label in enumerate(labels))
        tree = finder.find(problem.shape, everything, ones)
        if tree is None:
            raise ValueError(f"expected a shattered witness, got one on which no tree gives the labels {labels}")
        yield "".join(map(str, labels)), tree


class _Finder:
    """Trees for labellings of one sample, with a memory of what substructures can do."""

    def __init__(self, problem: Problem, sample: Sequence[Values]) -> None:
        self.problem = problem
        self.divisions = {arity: list(found.items()) for arity, found in all_divisions(problem, sample).items()}
        self.inside: dict[tuple[int, int], list[tuple[Parts, tuple[int, object]]]] = {}
        self.possible: dict[tuple[Shape, int, int], bool] = {}

    def find(self, shape: Shape, part: int, ones: int) -> Any:
        """Return a tree that gives these labels (bits of ``ones``) to the points of a part, or None."""
        if not shape:
            return int(ones & part != 0) if ones & part in (0, part) else None
        for parts, test, order in self._splits(shape, part):
            if all(self._can(shape[child], side, ones) for child, side in zip(order, parts, strict=True)):
                children = [self.find(shape[child], side, ones) for child, side in zip(order, parts, strict=True)]
                return [*test, *children]
        return None

    def _can(self, shape: Shape, part: int, ones: int) -> bool:
        inside = ones & part
        if inside in (0, part) or not shape:
            return inside in (0, part)
        lowest = part & -part
        key = shape, part, inside if not inside & lowest else part & ~inside  # complement: exchange the leaf labels
        if key not in self.possible:
            self.possible[key] = any(
                all(self._can(shape[child], side, inside) for child, side in zip(order, parts, strict=True))
                for parts, _, order in self._splits(shape, part)
            )
        return self.possible[key]

    def _splits(self, shape: Shape, part: int) -> Iterator[tuple[Parts, tuple[int, object], tuple[int, ...]]]:
        """Yield the different divisions of a part, each with a test and an order of the children."""
        key = len(shape), part
        if key not in self.inside:
            found: dict[Parts, tuple[int, object]] = {}
            for parts, test in self.divisions[len(shape)]:
                found.setdefault(tuple(side & part for side in parts), test)
            self.inside[key] = list(found.items())
        orders = arrangements(self.problem, shape)
        for parts, test in self.inside[key]:
            for order in orders:
                yield parts, test, order


# The upper end


def _upper_proof(problem: Problem, result: VCResult, sat: str) -> dict[str, Any]:
    """The best proof of the upper end that there is."""
    ledger = ledger_records(result)
    proof: dict[str, Any] | None = None
    if sat == "always" or (sat == "auto" and result.upper < SAT_POINTS and _has_solver()):
        proof = _sat_proof(problem, int(result.upper) + 1, None if sat == "always" else SAT_CONFLICTS)
    if proof is None and sat == "always":
        raise ValueError("expected a proof by unit propagation from the solver, got another")
    if proof is None:
        proof = _counting_proof(problem, int(result.upper))
    if proof is not None:
        return {**proof, "ledger": ledger} if ledger else proof
    if ledger or _can_be_searched(problem, int(result.upper)):
        return {"kind": "exhausted", "ledger": ledger}
    return {"kind": "none"}


def _has_solver() -> bool:
    try:
        _sat.load_solver()
    except ImportError:
        return False
    return True


def _sat_proof(problem: Problem, points: int, conflicts: int | None) -> dict[str, Any] | None:
    """Prove that no sample of so many points is shattered; None if the solver gives up or its proof is of no use."""
    try:
        found = _sat.search_problem(problem, points, conflicts=conflicts)
        if found.sample is not None:
            raise ValueError(f"expected no shattered sample of {points} points, got {found.sample}")
        proved = []
        for case, labellings in zip(cases(problem, points), found.labellings, strict=True):
            cnf, steps = _sat.prove(problem, points, labellings, case, conflicts)
            proved.append({"labellings": list(labellings), "cnf": cnf, "lrat": pack(steps)})
    except (_sat.OutOfBudget, _sat.NotByPropagation):
        return None
    return {"kind": "sat", "points": points, "cases": proved}


def _counting_proof(problem: Problem, value: int) -> dict[str, Any] | None:
    best = best_method(problem)
    return {"kind": "counting", "method": best[1]} if best is not None and best[0] <= value else None


def _can_be_searched(problem: Problem, value: int) -> bool:
    """Whether the checker can exhaust the problem by itself."""
    try:
        return exhaust(problem, value + 1, EFFORT)[-1][0] == 0
    except OutOfEffort:
        return False


def ledger_records(result: VCResult) -> list[dict[str, Any]]:
    """Return the ledger of a search as a certificate has it; nothing if it is not complete."""
    ledger = getattr(result, "ledger", ())
    if not ledger or ledger[-1].orbits or any(record.samples is None for record in ledger):
        return []
    names = ("points", "orbits", "samples", "tested", "shattered", "cut")
    return [
        {
            **{name: int(getattr(record, name)) for name in names},
            "stabilisers": [[int(size), int(count)] for size, count in record.stabilisers],
            "digest": str(record.digest),
        }
        for record in ledger
    ]

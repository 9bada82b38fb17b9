"""Checking a certificate: standard library only, nothing of the engine, and nothing in the certificate is trusted.

A certificate is a JSON object that says lower <= VC dimension <= upper of a structure on features, with reasons:

* *lower*: a sample, and for each labelling of it up to complement a tree. Each tree is compared with the structure and
  each point is sent down it here.
* *upper*: a proof of one of these kinds. "sat": the formula "one point more is shattered" is built again here, and a
  proof of its unsatisfiability is followed step by step. "counting": a bound that is computed again here with exact
  integers. "exhausted": the ledger of a search, whose totals are compared with closed forms, and which is searched
  again here where the problem is small. "none": no proof.

The *grade* says what the upper end rests on: "proved by SAT", "proved by counting", "exhausted (rechecked)",
"exhausted (ledger consistent)" or "witness only"; "refused" if anything is wrong.

Run it with ``python -m vcdim_core.verify FILE...``: exit status 0 if all hold, 1 if one is refused, 2 if one cannot be
read.
"""

from __future__ import annotations

import hashlib
import json
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NoReturn, TypeVar

from ._check_counts import METHODS, upper_by
from ._check_problem import (
    Problem,
    Refused,
    Shape,
    Values,
    answer,
    can_test,
    canonical,
    expect_fields,
    expect_int,
    expect_list,
    is_binary,
    n_leaves,
    read_problem,
)
from ._cnf import Case, cases, encode, labels_of
from ._lrat import BadProof, check_refutation, unpack
from ._recheck import OutOfEffort, exhaust, group_order, n_samples

__all__ = ["FORMAT", "VERSION", "Report", "check", "digest", "verify"]

FORMAT, VERSION = "vcdim-certificate", 1
MAX_WITNESS = 18
"""Points of a witness: beyond, the trees of all labellings fill gigabytes."""
MAX_SAT_POINTS = 20
"""Points of a sample in a formula."""
EFFORT = 500_000
"""Units of work for searching again, some 5 seconds."""
SHOWN = 20
"""Problems of one kind that are listed."""


_T = TypeVar("_T")


@dataclass(frozen=True)
class Report:
    """What checking a certificate found."""

    ok: bool
    """Whether everything in it holds."""
    grade: str
    """What the upper end rests on, or "refused"."""
    lower: int | None
    """The VC dimension is at least this; None if that was not shown."""
    upper: int | None
    """The VC dimension is at most this; None if that was not shown."""
    problems: list[str]
    """What is wrong."""

    def __str__(self) -> str:
        if not self.ok:
            return "\n".join(["refused", *(f"  {problem}" for problem in self.problems)])
        if self.lower == self.upper:
            return f"VC dimension {self.lower}: {self.grade}"
        upper = "" if self.upper is None else f" and at most {self.upper}"
        return f"VC dimension at least {self.lower}{upper}: {self.grade}"


def verify(certificate: Mapping[str, object] | str | Path) -> bool:
    """Say whether a certificate holds: `check` without the details, and False also for a file that cannot be read.

    Parameters
    ----------
    certificate : dict, str or Path
        The certificate, or a file that holds it.

    Returns
    -------
    bool
        True if all that it says was checked. A certificate without a proof of its upper end ("witness only") is true as
        well; `check` tells.

    Examples
    --------
    >>> import vcdim_core as vc
    >>> certificate = vc.search_vc("((..).)", d=3).certificate
    >>> vc.verify(certificate)
    True
    >>> certificate["lower"]["value"] += 1
    >>> vc.verify(certificate)
    False
    """
    try:
        return check(certificate).ok
    except OSError:
        return False


def check(certificate: Mapping[str, object] | str | Path, *, effort: int = EFFORT) -> Report:
    """Check a certificate and report what it shows and what is wrong with it.

    Parameters
    ----------
    certificate : dict, str or Path
        The certificate, or a file that holds it.
    effort : int
        Units of work allowed for searching an exhausted problem again.

    Returns
    -------
    Report

    Raises
    ------
    OSError
        If the file cannot be read.

    Examples
    --------
    >>> print(check({"format": "something else"}))
    refused
      expected format 'vcdim-certificate', got 'something else'
    """
    problems: list[str] = []
    lower = upper = grade = None
    try:
        fields = _read(certificate)
        problem = read_problem(fields["problem"])
        lower = _collect(problems, lambda: _check_lower(problem, fields["lower"], problems))
        found = _collect(problems, lambda: _check_upper(problem, fields["upper"], effort))
        if found is not None:
            value, grade = found
            upper = None if grade == "witness only" else value
            if lower is not None and value < lower:
                problems.append(f"expected an upper value of at least {lower}, the lower one, got {value}")
    except (Refused, RecursionError) as error:
        problems.append(str(error) or "nested too deeply")
    if problems or grade is None:
        return Report(False, "refused", None, None, problems)
    return Report(True, grade, lower, upper, [])


def _collect(problems: list[str], step: Callable[[], _T]) -> _T | None:
    """Run one part of the check; write down why it is refused."""
    try:
        return step()
    except (Refused, RecursionError) as error:
        problems.append(str(error) or "nested too deeply")
        return None


# Reading


def digest(certificate: Mapping[str, object]) -> str:
    """Return the SHA-256 of a certificate without its field "digest", in canonical JSON."""
    rest = {name: value for name, value in certificate.items() if name != "digest"}
    text = json.dumps(rest, sort_keys=True, separators=(",", ":"), allow_nan=False)
    return hashlib.sha256(text.encode()).hexdigest()


def _read(certificate: Mapping[str, object] | str | Path) -> Mapping[str, object]:
    """Return the certificate if it is one of this version and its digest fits."""
    data = _load(Path(certificate)) if isinstance(certificate, str | Path) else certificate
    if not isinstance(data, dict):
        raise Refused(f"expected a certificate to be an object, got {data!r:.60}")
    if data.get("format") != FORMAT:
        raise Refused(f"expected format {FORMAT!r}, got {data.get('format')!r:.60}")
    if type(data.get("version")) is not int or data["version"] != VERSION:
        raise Refused(f"expected version {VERSION} of the format, got {data.get('version')!r:.60}")
    fields = expect_fields("the certificate", data, ("format", "version", "problem", "lower", "upper", "digest"))
    try:
        right = digest(fields)
    except (TypeError, ValueError) as error:
        raise Refused(f"expected plain JSON, got {error}") from None
    if fields["digest"] != right:
        raise Refused(f"expected the digest {right}, got {fields['digest']!r:.80}")
    return fields


def _load(path: Path) -> object:
    """Read JSON without repeated fields and without NaN."""

    def pairs(items: list[tuple[str, object]]) -> dict[str, object]:
        if len(dict(items)) < len(items):
            raise Refused("expected each field once, got one twice")
        return dict(items)

    def refuse(name: str) -> NoReturn:
        raise Refused(f"expected numbers, got {name}")

    try:
        return json.loads(path.read_bytes(), object_pairs_hook=pairs, parse_constant=refuse)
    except (UnicodeDecodeError, json.JSONDecodeError) as error:
        raise Refused(f"expected JSON, got {error}") from None


# The lower end


def _check_lower(problem: Problem, data: object, problems: list[str]) -> int:
    """Check the sample and its trees; list what is wrong with them; return the value."""
    fields = expect_fields("lower", data, ("value", "sample", "trees"))
    value = expect_int("the lower value", fields["value"], 1, MAX_WITNESS)
    sample = _read_sample(problem, fields["sample"], value)
    trees = fields["trees"]
    if not isinstance(trees, dict):
        raise Refused(f"expected the trees to be an object, got {trees!r:.60}")
    wanted = {"".join(map(str, labels_of(labelling, value))) for labelling in range(1 << value - 1)}
    wrong = [f"expected a labelling of {value} points with 0 first, got {name!r:.60}" for name in trees.keys() - wanted]
    wrong += [f"expected a tree for the labelling {name}, got none" for name in wanted - trees.keys()]
    for name in sorted(wanted & trees.keys()):
        wrong += _wrong_with_tree(problem, trees[name], sample, name)
    problems += wrong[:SHOWN]
    if len(wrong) > SHOWN:
        problems.append(f"and {len(wrong) - SHOWN} more")
    return value


def _read_sample(problem: Problem, data: object, value: int) -> list[Values]:
    """Read the points: finite numbers for real features, numbers of categories for the others."""
    rows = expect_list("the sample", data)
    if len(rows) != value:
        raise Refused(f"expected {value} points in the sample, got {len(rows)}")
    sample = []
    for i, row in enumerate(rows):
        point = expect_list(f"point {i}", row)
        if len(point) != len(problem.columns):
            raise Refused(f"expected {len(problem.columns)} values in point {i}, got {len(point)}")
        for number, (kind, categories) in zip(point, problem.columns, strict=True):
            if kind != "real":
                expect_int(f"a {kind} value of point {i}", number, 0, categories - 1)
            elif not _is_number(number):
                raise Refused(f"expected a number in point {i}, got {number!r:.60}")
        sample.append(tuple(point))
    return sample  # type: ignore[return-value]


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and abs(value) < float("inf")


def _wrong_with_tree(problem: Problem, tree: object, sample: Sequence[Values], labels: str) -> Iterator[str]:
    """Yield what is wrong with the tree of a labelling."""
    try:
        shape = _tree_shape(problem, tree)
    except Refused as error:
        yield f"labelling {labels}: {error}"
        return
    wanted = problem.shape
    if (canonical(shape) != canonical(wanted)) if problem.free else (shape != wanted):
        yield f"labelling {labels}: expected a tree of the structure {_spell(wanted)}, got one of {_spell(shape)}"
        return
    for i, point in enumerate(sample):
        if _label(problem, tree, point) != int(labels[i]):
            yield f"labelling {labels}: expected label {labels[i]} of point {i}, got the other from the tree"
            return


def _spell(shape: Shape) -> str:
    return f"({''.join(map(_spell, shape))})" if shape else "."


def _tree_shape(problem: Problem, tree: object) -> Shape:
    """Return the shape of a tree [feature, cut, child, child, ...] with labels 0 and 1 as leaves."""
    if not isinstance(tree, list):
        if type(tree) is not int or tree not in (0, 1):
            raise Refused(f"expected a leaf 0 or 1, got {tree!r:.60}")
        return ()
    if len(tree) < 4:
        raise Refused(f"expected [feature, cut, child, child, ...], got {tree!r:.60}")
    column = expect_int("a tested feature", tree[0], 0, len(problem.columns) - 1)
    kind, categories = problem.columns[column]
    if not can_test(len(tree) - 2, kind, categories):
        raise Refused(f"expected a feature for a node with {len(tree) - 2} children, got {kind}({categories})")
    _check_cut(problem, kind, categories, tree[1])
    return tuple(_tree_shape(problem, child) for child in tree[2:])


def _check_cut(problem: Problem, kind: str, categories: int, cut: object) -> None:
    """Check that a cut is one of its kind of feature."""
    if kind == "real":
        if not _is_number(cut):
            raise Refused(f"expected a threshold, got {cut!r:.60}")
    elif kind == "multiway":
        if cut is not None:
            raise Refused(f"expected no cut of a multiway feature, got {cut!r:.60}")
    elif kind == "nominal" and problem.subset:
        members = [expect_int("a category", c, 0, categories - 1) for c in expect_list("a set of categories", cut)]
        if not 0 < len(set(members)) == len(members) < categories:
            raise Refused(f"expected some but not all categories, each once, got {cut!r:.60}")
    else:
        expect_int(f"the cut of a {kind} feature", cut, 0, categories - 1 - (kind != "nominal"))


def _label(problem: Problem, tree: object, point: Values) -> object:
    """Send a point down a tree whose shape was checked."""
    while isinstance(tree, list):
        column = tree[0]
        tree = tree[2 + answer(problem.columns[column][0], tree[1], point[column])]
    return tree


# The upper end


def _check_upper(problem: Problem, data: object, effort: int) -> tuple[int, str]:
    """Check the proof of the upper end; return its value and the grade."""
    fields = expect_fields("upper", data, ("value", "proof"))
    value = expect_int("the upper value", fields["value"], 1)
    proof = fields["proof"]
    kind = proof.get("kind") if isinstance(proof, dict) else None
    if kind == "sat":
        return value, _check_sat(problem, proof, value)
    if kind == "counting":
        return value, _check_counting(problem, proof, value)
    if kind == "exhausted":
        return value, _check_exhausted(problem, proof, value, effort)
    if kind == "none":
        expect_fields("the proof", proof, ("kind",))
        return value, "witness only"
    raise Refused(f"expected a proof of kind sat, counting, exhausted or none, got {kind!r:.60}")


def _check_sat(problem: Problem, proof: object, value: int) -> str:
    """Build the formula of each case again and follow the proof that it is unsatisfiable."""
    fields = expect_fields("the proof", proof, ("kind", "points", "cases"), ("ledger",))
    points = expect_int("points", fields["points"], 2, MAX_SAT_POINTS)
    if points != value + 1:
        raise Refused(f"expected a proof about {value + 1} points, got one about {points}")
    wanted, given = cases(problem, points), expect_list("the cases", fields["cases"])
    if len(wanted) != len(given):
        raise Refused(f"expected proofs of {len(wanted)} cases, got {len(given)}")
    for number, (case, part) in enumerate(zip(wanted, given, strict=True)):
        _check_case(problem, points, case, part, f"case {number}")
    if "ledger" in fields:
        _check_ledger(problem, fields["ledger"], value)
    return "proved by SAT"


def _check_case(problem: Problem, points: int, case: Case, data: object, where: str) -> None:
    """Check that no sample in a case is shattered."""
    fields = expect_fields(where, data, ("labellings", "cnf", "lrat"))
    listed = expect_list("the labellings", fields["labellings"])
    labellings = [expect_int("a labelling", y, 0, 2 ** (points - 1) - 1) for y in listed]
    formula = encode(problem, points, labellings, case)
    if fields["cnf"] != formula.digest:
        raise Refused(f"{where}: expected the digest {formula.digest} of the formula, got {fields['cnf']!r:.80}")
    try:
        check_refutation(formula.clauses, unpack(fields["lrat"]))
    except BadProof as error:
        raise Refused(f"{where}: {error}") from None


def _check_counting(problem: Problem, proof: object, value: int) -> str:
    """Compute the bound again."""
    fields = expect_fields("the proof", proof, ("kind", "method"), ("ledger",))
    method = fields["method"]
    if not isinstance(method, str) or method not in METHODS:
        raise Refused(f"expected a method among {', '.join(METHODS)}, got {method!r:.60}")
    bound = upper_by(problem, method)
    if bound is None or bound > value:
        raise Refused(f"expected a bound of at most {value} by {method}, got {bound}")
    if "ledger" in fields:
        _check_ledger(problem, fields["ledger"], value)
    return "proved by counting"


def _check_exhausted(problem: Problem, proof: object, value: int, effort: int) -> str:
    """Check the ledger, and search again if that is not too much."""
    fields = expect_fields("the proof", proof, ("kind", "ledger"))
    ledger = expect_list("the ledger", fields["ledger"])
    records = _check_ledger(problem, ledger, value) if ledger else []
    try:
        counts: Sequence[tuple[int, int]] = exhaust(problem, value + 1, effort)
    except OutOfEffort as stopped:
        if not records:
            raise Refused("expected a ledger, or a problem small enough to be searched again, got neither") from None
        _compare(records, stopped.counts)
        return "exhausted (ledger consistent)"
    if counts[-1][0]:
        raise Refused(f"expected no shattered sample of {value + 1} points, got {counts[-1][1]} in a search")
    _compare(records, counts)
    return "exhausted (rechecked)"


def _compare(records: Sequence[tuple[int, int, int]], counts: Sequence[tuple[int, int]]) -> None:
    """Check that a ledger has what a search finds, as far as that went."""
    for points, orbits, samples in records:
        if points < len(counts) and (orbits, samples) != counts[points]:
            n_orbits, n_found = counts[points]
            raise Refused(
                f"expected {n_orbits} orbits of {n_found} shattered samples of {points} points, as a search finds, got "
                f"{orbits} of {samples}"
            )


def _check_ledger(problem: Problem, data: object, value: int) -> list[tuple[int, int, int]]:
    """Check that the totals of a ledger fit each other and the closed forms; return points, orbits and samples.

    All shattered samples are in it. So the share of the samples that are shattered does not grow with their size: each
    has only shattered subsets, and every sample is a subset of equally many. It is 1 for a single point and, with a
    real feature and nodes of two children, for as many points as there are leaves, which thresholds on one feature
    separate.
    """
    records = [_check_record(problem, record) for record in expect_list("the ledger", data)]
    sizes = [points for points, _, _ in records]
    if sizes[:1] not in ([0], [1]) or sizes != list(range(sizes[0], value + 2)):
        raise Refused(f"expected records for 1 to {value + 1} points, one by one, got {sizes}")
    if records[-1][1] or not all(orbits for _, orbits, _ in records[:-1]):
        raise Refused(f"expected samples of up to {value} points in the ledger and none of {value + 1}")
    everything = n_leaves(problem.shape) if problem.n_real and is_binary(problem.shape) else 1
    before = (1, 1)
    for points, _, samples in records:
        there_are = n_samples(problem, points)
        if points <= everything and samples != there_are:
            raise Refused(f"expected all {there_are} samples of {points} points, which are shattered, got {samples}")
        if samples * before[1] > before[0] * there_are:
            raise Refused(f"expected no larger share of samples of {points} points than of one less, got {samples}")
        before = samples, there_are
    return records


_RECORD = ("points", "orbits", "samples", "stabilisers", "tested", "shattered", "cut", "digest")


def _check_record(problem: Problem, data: object) -> tuple[int, int, int]:
    """Check one level of a ledger."""
    fields = expect_fields("a record of the ledger", data, _RECORD)
    points = expect_int("points", fields["points"], 0, 64)
    names = ("orbits", "samples", "tested", "shattered", "cut")
    orbits, samples, tested, shattered, _ = (expect_int(name, fields[name], 0) for name in names)
    order, total, counted = group_order(problem), 0, 0
    for pair in expect_list("stabilisers", fields["stabilisers"]):
        if not isinstance(pair, list) or len(pair) != 2:
            raise Refused(f"expected pairs [stabiliser, orbits], got {pair!r:.60}")
        size, count = expect_int("a stabiliser", pair[0], 1), expect_int("orbits of a stabiliser", pair[1], 1)
        if order % size:
            raise Refused(f"expected a stabiliser whose order divides {order}, got {size} at {points} points")
        total, counted = total + count * (order // size), counted + count
    for name, got, right in (("orbits", orbits, counted), ("samples", samples, total)):
        if got != right:
            raise Refused(f"expected {right} {name} of {points} points by the stabilisers, got {got}")
    if orbits != shattered or (shattered > tested and points > 1):
        raise Refused(
            f"expected orbits = shattered <= tested at {points} points, got {orbits}, {shattered} and {tested}"
        )
    text = fields["digest"]
    if not isinstance(text, str) or len(text) != 64 or set(text) - set("0123456789abcdef"):
        raise Refused(f"expected a SHA-256 in the ledger, got {text!r:.80}")
    return points, orbits, samples


if __name__ == "__main__":
    from .cli_verify import main

    sys.exit(main(sys.argv[1:]))

"""Certificates: built from results, checked by plain code, refused when anything in them is wrong."""

from __future__ import annotations

import ast
import copy
import errno
import functools
import importlib.util
import itertools
import json
import os
import random
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import certificate_oracles as oracle
import oracles_bounds
import pytest

import vcdim_core as vc
from vcdim_core import _check_counts, _check_problem, _cnf, _lrat, _recheck, _sat, certificates, cli, cli_verify
from vcdim_core.certificates import build_certificate, write_certificate
from vcdim_core.results import SearchStats, VCResult
from vcdim_core.verify import check, digest

HAS_SOLVER = importlib.util.find_spec("pysat") is not None
needs_solver = pytest.mark.skipif(not HAS_SOLVER, reason="python-sat, the extra sat, is not installed")

# Structure and features; every kind, both orientations, small enough to enumerate all samples.
BINARY_NODES = [
    ("(..)", {"real": 2}),
    ("(..)", {"binary": 3}),
    ("(..)", {"nominal": (4,)}),
    ("(..)", {"nominal": (4,), "subset": True}),
    ("((..).)", {"real": 1}),
    ("((..).)", {"binary": 2}),
    ("((..).)", {"ordinal": (4,)}),
    ("((..).)", {"ordinal": (3, 3)}),
    ("((..).)", {"nominal": (3, 2)}),
    ("(.(..))", {"nominal": (4,)}),
    ("(.(..))", {"nominal": (3, 3)}),
    ("(.(..))", {"nominal": (3, 3), "subset": True}),
    ("((..).)", {"real": 1, "binary": 1}),
    ("((..).)", {"multiway": (2, 2)}),
    ("((..)(..))", {"binary": 3}),
    ("((..)(..))", {"ordinal": (3, 2)}),
    ("((..)(..))", {"binary": 1, "nominal": (3,)}),
]
OTHER_NODES = [
    ("(...)", {"multiway": (3,)}),
    ("(...)", {"multiway": (3, 3)}),
    ("((...)..)", {"multiway": (3, 3)}),
    ("((..)..)", {"multiway": (3, 2)}),
    ("((...).)", {"multiway": (3,), "binary": 2}),
    ("((...).)", {"binary": 2}),
]
CASES = [(s, f, o) for s, f in BINARY_NODES + OTHER_NODES for o in ("free", "fixed")]


def describe(structure, features, orientation="free"):
    """Return the field "problem" of a certificate."""
    kinds = {kind: list(features.get(kind, ())) for kind in ("ordinal", "nominal", "multiway")}
    counts = {kind: features.get(kind, 0) for kind in ("real", "binary")}
    splits = "subset" if features.get("subset") else "one"
    return {
        "structure": structure, "features": counts | kinds, "orientation": orientation, "nominal_splits": splits
    }  # fmt: skip


def problem_of(structure, features, orientation="free"):
    return _check_problem.read_problem(describe(structure, features, orientation))


enumerate_all = functools.cache(oracle.vc_and_counts)


def solve(structure, features, orientation="free"):
    """Return VC dimension, witness and numbers of shattered samples by full enumeration."""
    columns = problem_of(structure, features).columns
    return enumerate_all(structure, columns, orientation == "free", bool(features.get("subset")))


class Result(SimpleNamespace):
    """What a search returns, with fields that one on binary features alone does not have yet."""


def result_of(structure, features, orientation="free", ledger=()):
    """Return the result of a search that enumerates everything."""
    value, witness, _ = solve(structure, features, orientation)
    plain = {kind: count for kind, count in features.items() if kind != "subset"}
    return Result(
        structure=vc.as_structure(structure), features=vc.Features(**plain), orientation=orientation, lower=value,
        upper=value, witness=witness, ledger=ledger, nominal_splits="subset" if features.get("subset") else "one",
    )  # fmt: skip


def sealed(certificate):
    """Return the certificate with the digest that fits it."""
    return {**certificate, "digest": digest(certificate)}


def stump_certificate(proof=None, value=2):
    """Return a certificate written by hand: a stump on two binary features shatters two points."""
    certificate = {
        "format": "vcdim-certificate",
        "version": 1,
        "problem": describe("(..)", {"binary": 2}),
        "lower": {"value": 2, "sample": [[0, 0], [1, 0]], "trees": {"00": [1, 0, 0, 0], "01": [0, 0, 0, 1]}},
        "upper": {"value": value, "proof": proof or {"kind": "none"}},
    }
    return sealed(certificate)


def record(points, stabilisers, **changes):
    """Return a level of the ledger of two binary features, whose symmetries are 8."""
    orbits = sum(count for _, count in stabilisers)
    fields = {
        "points": points,
        "orbits": orbits,
        "samples": sum(8 // size * count for size, count in stabilisers),
        "stabilisers": [list(pair) for pair in stabilisers],
        "tested": orbits + 1,
        "shattered": orbits,
        "cut": 0,
        "digest": "0" * 64,
    }
    return fields | changes


# One point: all four alike. Two: four pairs of neighbours, two of opposites. A stump does not shatter three.
STUMP_LEDGER = [record(0, [(8, 1)]), record(1, [(2, 1)]), record(2, [(2, 1), (4, 1)]), record(3, [])]


# The pieces of the checker against full enumeration


@pytest.mark.parametrize(("structure", "features", "orientation"), CASES)
def test_exhaustion_finds_as_many_shattered_samples_as_there_are(structure, features, orientation):
    _, _, counts = solve(structure, features, orientation)
    found = _recheck.exhaust(problem_of(structure, features, orientation), 30, 10**7)
    assert [samples for _, samples in found] == counts


@pytest.mark.parametrize(("structure", "features", "orientation"), CASES)
def test_bounds_by_counting_hold(structure, features, orientation):
    value, _, _ = solve(structure, features, orientation)
    problem = problem_of(structure, features, orientation)
    bounds = [_check_counts.upper_by(problem, method) for method in _check_counts.METHODS]
    assert all(bound is None or bound >= value for bound in bounds)
    assert any(bound is not None for bound in bounds)


@pytest.mark.parametrize("structure", ["(..)", "((..).)", "((..)(..))", "(((..).).)", "(((..)(..)).)"])
@pytest.mark.parametrize("real", [1, 2, 3, 10])
def test_theorem_9_and_the_chain_bound_as_in_the_oracles(structure, real):
    problem = problem_of(structure, {"real": real})
    assert _check_counts.upper_by(problem, "partitions") == oracles_bounds.theorem9_vc(problem.shape, real)
    chain = _check_counts.upper_by(problem, "chain")
    first = next(m for m in itertools.count(1) if oracles_bounds.chain_growth(problem.shape, m, real) < 2**m)
    assert first - 1 <= chain <= _check_counts.upper_by(problem, "partitions")


@pytest.mark.parametrize("structure", ["(..)", "((..).)", "((..)(..))"])
def test_features_with_two_categories_are_alike(structure):
    alike = [{"binary": 3}, {"ordinal": (2, 2, 2)}, {"nominal": (2, 2, 2)}, {"multiway": (2, 2, 2)}]
    counts = [_recheck.exhaust(problem_of(structure, features), 30, 10**7) for features in alike]
    assert all(each == counts[0] for each in counts)


def test_a_real_feature_is_as_good_as_an_ordinal_one_with_a_category_for_each_point():
    for m in range(2, 5):
        real = _recheck.exhaust(problem_of("((..).)", {"real": 1, "binary": 1}), m, 10**7)
        ordinal = _recheck.exhaust(problem_of("((..).)", {"ordinal": (m,), "binary": 1}), m, 10**7)
        assert (real[m][0] > 0) == (ordinal[m][0] > 0)


@needs_solver
@pytest.mark.parametrize(("structure", "features", "orientation"), CASES)
def test_the_formula_is_satisfiable_exactly_where_a_sample_is_shattered(structure, features, orientation):
    value, _, _ = solve(structure, features, orientation)
    problem = problem_of(structure, features, orientation)
    for m in range(1, value + 2):
        for cases in ([()], _cnf.cases(problem, m)):
            answers = []
            for case in cases:
                formula = _cnf.encode(problem, m, range(2 ** (m - 1)), case)
                with _sat.load_solver()(name=_sat.SOLVER, bootstrap_with=formula.clauses) as solver:
                    answers.append(solver.solve())
            assert any(answers) == (m <= value)


@needs_solver
@pytest.mark.parametrize(("structure", "features", "orientation"), CASES)
def test_search_by_counterexample_finds_a_shattered_sample_or_a_proof(structure, features, orientation):
    value, _, _ = solve(structure, features, orientation)
    problem = problem_of(structure, features, orientation)
    sample = _sat.search_problem(problem, value).sample
    assert len(sample) == value
    free, subset = orientation == "free", bool(features.get("subset"))
    assert oracle.is_shattered(problem.shape, problem.columns, sample, free, subset)
    found = _sat.search_problem(problem, value + 1)
    assert found.sample is None
    for case, labellings in zip(_cnf.cases(problem, value + 1), found.labellings, strict=True):
        cnf, steps = _sat.prove(problem, value + 1, labellings, case)
        formula = _cnf.encode(problem, value + 1, labellings, case)
        assert cnf == formula.digest and _lrat.check_refutation(formula.clauses, steps) == len(steps)


@pytest.mark.parametrize(("real", "m"), [(2, 2), (2, 3), (2, 4), (3, 2), (3, 3), (3, 4)])
def test_every_sample_falls_into_exactly_one_case(real, m):
    """A case is a sample's set of pairs of ends up to renaming its points: compared by renaming them in all ways."""
    cases = _cnf.cases(problem_of("(..)", {"real": real}), m)

    def renamed(pairs):
        names = itertools.permutations(range(m))
        return min(sorted(sorted((name[low], name[high])) for low, high in pairs) for name in names)

    forms = [renamed([case[i : i + 2] for i in range(0, len(case), 2)]) for case in cases]
    met = []
    for sample in oracle.samples([("real", 0)] * real, m):
        columns = list(zip(*sample, strict=True))
        form = renamed([(column.index(0), column.index(m - 1)) for column in columns])
        assert forms.count(form) == 1
        met.append(form)
    assert all(form in met for form in forms)


@needs_solver
@pytest.mark.parametrize(("real", "m"), [(2, 4), (2, 5), (3, 3), (3, 4)])
def test_what_the_cases_leave_out_is_a_copy_of_something_they_keep(real, m):
    """Without labellings the models are the samples kept: some image of every sample is among them."""
    problem = problem_of("(..)", {"real": real})
    kept = set()
    for case in _cnf.cases(problem, m):
        formula = _cnf.Formula()
        sample = _cnf.SampleVariables(formula, problem, m, case)
        with _sat.load_solver()(name="minisat22", bootstrap_with=formula.clauses) as solver:
            kept |= {tuple(sorted(_sat.read_sample(sample, set(model)))) for model in solver.enum_models()}
    for sample in oracle.samples([("real", 0)] * real, m):
        columns = list(zip(*sample, strict=True))
        turned = itertools.product(*((column, [m - 1 - v for v in column]) for column in columns))
        images = (order for choice in turned for order in itertools.permutations(choice))
        assert any(tuple(sorted(zip(*image, strict=True))) in kept for image in images)


def test_there_are_as_many_cases_as_multigraphs_without_loops():
    assert [len(_cnf.cases(problem_of("(..)", {"real": real}), 8)) for real in (1, 2, 3, 4, 5)] == [1, 3, 8, 23, 1]
    assert _cnf.cases(problem_of("(..)", {"real": 2}, "fixed"), 8) == [()]


@needs_solver
def test_search_takes_structures_and_features_and_gives_up_at_its_limits():
    found = _sat.search("((..).)", vc.Features(real=3), 7)
    columns = (("real", 0),) * 3
    assert len(found.sample) == 7 and oracle.is_shattered((((), ()), ()), columns, found.sample)
    with pytest.raises(_sat.OutOfBudget):
        _sat.search(vc.comb(3), vc.Features(real=2), 9, conflicts=10)
    with pytest.raises(_sat.OutOfBudget):
        _sat.search(vc.comb(3), vc.Features(real=2), 9, time_limit=0)


@needs_solver
def test_two_nodes_on_three_real_features_shatter_no_eight_points():
    assert _sat.search("((..).)", vc.Features(real=3), 8).sample is None


def test_lexicographic_order_of_vectors():
    for strict in (False, True):
        for low, high in itertools.product(itertools.product((0, 1), repeat=3), repeat=2):
            formula = _cnf.Formula()
            names = [formula.new() for _ in range(6)]
            formula.add_lex(names[:3], names[3:], strict)
            units = [name if bit else -name for name, bit in zip(names, low + high, strict=True)]
            models = itertools.product((False, True), repeat=formula.n_variables - 6)
            values = ([0, *(u > 0 for u in units), *rest] for rest in models)
            holds = any(
                all(any(value[abs(x)] == (x > 0) for x in clause) for clause in formula.clauses) for value in values
            )
            assert holds == (low < high if strict else low <= high)


# Proofs of unsatisfiability

PIGEONS = [(1, 2), (3, 4), (5, 6), (-1, -3), (-1, -5), (-3, -5), (-2, -4), (-2, -6), (-4, -6)]


@needs_solver
def test_a_proof_of_the_pigeon_hole_principle_holds_and_no_part_of_it_can_be_left_out():
    formula = _cnf.Formula()
    formula.n_variables, formula.clauses = 6, PIGEONS
    with _sat.load_solver()(name=_sat.SOLVER, bootstrap_with=PIGEONS, with_proof=True) as solver:
        assert not solver.solve()
        steps = _sat.add_hints(formula, solver.get_proof())
    assert _lrat.check_refutation(PIGEONS, steps) == len(steps)
    for i in range(len(steps)):
        with pytest.raises(_lrat.BadProof):
            _lrat.check_refutation(PIGEONS, steps[:i] + steps[i + 1 :])
    for i in range(len(PIGEONS)):
        with pytest.raises(_lrat.BadProof):
            _lrat.check_refutation(PIGEONS[:i] + PIGEONS[i + 1 :], steps)


@pytest.mark.parametrize(
    "steps",
    [
        [],
        [((), ())],
        [((), (1,))],
        [((1,), (1, 2)), ((), (4, 99))],
        [((1,), (1, 2)), ((), (4, 0))],
        [((1,), (1, 2)), ((), (4, -3))],
        [((1,), (2, 3))],
        [((2,), (1, 3))],
    ],
)
def test_a_step_that_does_not_follow_is_refused(steps):
    with pytest.raises(_lrat.BadProof):
        _lrat.check_refutation([(1, 2), (1, -2), (-1,)], steps)


@pytest.mark.parametrize("text", [5, "not base 64!", "AAAA", _lrat.pack([((), (1,))])[:-8], ""])
def test_a_proof_that_cannot_be_unpacked_is_refused(text):
    with pytest.raises(_lrat.BadProof):
        list(_lrat.unpack(text))


@pytest.mark.parametrize("line", ["1 2 0 3", "1 2 3", "0", "1 0 2 0 3 0", "1 x 0 2 0", ""])
def test_a_malformed_step_is_refused(line):
    with pytest.raises(_lrat.BadProof, match="step 7"):
        _lrat._read_step(line, 7)


@needs_solver
def test_a_solver_that_claims_too_much_is_caught():
    formula = _cnf.Formula()
    formula.n_variables, formula.clauses = 2, [(1, 2)]
    with pytest.raises(_sat.NotByPropagation, match=r"by unit propagation, got \[1\]"):
        _sat.add_hints(formula, ["1 0", "0"])


# Certificates of every kind


@pytest.mark.parametrize(("structure", "features", "orientation"), CASES)
def test_a_certificate_of_every_kind_of_feature_holds(structure, features, orientation):
    result = result_of(structure, features, orientation)
    for sat in ("always", "never") if HAS_SOLVER else ("never",):
        certificate = json.loads(json.dumps(build_certificate(result, sat=sat)))
        report = check(certificate)
        assert report.problems == [] and report.ok
        assert (report.lower, report.upper) == (result.lower, result.lower)
        grades = {"proved by SAT"} if sat == "always" else {"proved by counting", "exhausted (rechecked)"}
        assert report.grade in grades
        assert vc.verify(certificate) is True


def test_a_claim_of_one_point_more_or_less_is_refused():
    for structure, features, orientation in CASES[::5]:
        result = result_of(structure, features, orientation)
        certificate = build_certificate(result, sat="never")
        certificate["upper"]["value"] -= 1
        certificate["lower"]["value"] -= 1
        certificate["lower"]["sample"].pop()
        names = sorted({name[:-1] for name in certificate["lower"]["trees"]})
        certificate["lower"]["trees"] = {name: certificate["lower"]["trees"][name + "0"] for name in names}
        report = check(sealed(certificate))
        assert not report.ok and len(report.problems) == 1  # the lower end is right, the upper one is not
        if result.lower > 1:
            del certificate["lower"]["trees"][names[0]]
            assert len(check(sealed(certificate)).problems) == 2


def test_a_search_on_binary_features_comes_with_a_certificate():
    for structure, d in [(".", 0), (".", 3), ("(..)", 0), ("(..)", 1), ("((..)(..))", 3)]:
        result = vc.search_vc(structure, d=d)
        report = check(result.certificate)
        assert report.ok and report.lower == report.upper == result.value


@pytest.mark.parametrize(
    ("structure", "features"),
    [
        ("((..).)", {"real": 2}),
        ("((..).)", {"ordinal": (3, 3)}),
        ("((..).)", {"nominal": (3, 3)}),
        ("((...)..)", {"multiway": (3, 3)}),
        ("((..).)", {"real": 1, "nominal": (3,)}),
    ],
)
@pytest.mark.parametrize("orientation", ["free", "fixed"])
def test_the_ledger_of_a_search_is_what_the_checker_finds(structure, features, orientation):
    """The engine's orbits, stabilisers and counts against the plain search, by way of the certificate."""
    result = vc.search_vc(structure, features=vc.Features(**features), orientation=orientation)
    certificate = build_certificate(result, sat="never")
    ledger = certificates.ledger_records(result)
    assert [record["points"] for record in ledger] == list(range(1, result.value + 2))
    certificate["upper"]["proof"] = {"kind": "exhausted", "ledger": ledger}
    assert check(sealed(certificate)).grade == "exhausted (rechecked)"
    assert check(sealed(certificate), effort=0).grade == "exhausted (ledger consistent)"


def test_trees_are_those_that_realize_finds_too():
    result = vc.search_vc("((..).)", d=4)
    trees = build_certificate(result, sat="never")["lower"]["trees"]
    assert len(trees) == 2 ** (result.value - 1)
    for name in trees:
        assert vc.realize("((..).)", result.witness, [int(label) for label in name]) is not None


def test_an_open_bracket_is_certified_as_far_as_it_goes():
    result = vc.search_vc("(((..)(..))((..).))", d=6, node_limit=100)
    assert not result.exact
    report = check(build_certificate(result, sat="never"))
    assert report.ok and report.lower == result.lower and report.upper in (result.upper, None)


def test_the_certificate_is_computed_once_and_handed_out_afresh(monkeypatch):
    result = vc.search_vc("(..)", d=3)
    first = result.certificate
    monkeypatch.setattr(certificates, "build_certificate", None)
    first["lower"]["value"] = 17
    assert vc.verify(result.certificate) and not vc.verify(first)


def test_a_witness_that_is_not_shattered_is_not_certified():
    result = Result(**{name: getattr(vc.search_vc("(..)", d=2), name) for name in VCResult.__slots__})
    result.witness, result.lower = ((0, 0), (0, 1), (1, 0)), 3
    with pytest.raises(ValueError, match=r"expected a shattered witness, got one .* labels \[0, "):
        build_certificate(result)


def test_a_witness_of_too_many_points_is_not_certified():
    result = VCResult(vc.full(5), vc.Features(real=1), "free", 32, 32, tuple((i,) for i in range(32)), SearchStats())
    with pytest.raises(ValueError, match="expected a witness of 1 to 18 points for a certificate, got 32"):
        build_certificate(result)


def test_an_unknown_way_to_prove_is_refused():
    with pytest.raises(ValueError, match="expected sat to be one of 'auto', 'always', 'never', got 'maybe'"):
        build_certificate(vc.search_vc("(..)", d=2), sat="maybe")


def test_without_the_solver_certificates_are_built_without_it(monkeypatch):
    def missing():
        raise ImportError("a SAT solver needs the extra 'sat': pip install 'vcdim_core[sat]'")

    monkeypatch.setattr(_sat, "load_solver", missing)
    result = vc.search_vc("((..).)", d=3)
    assert check(build_certificate(result)).grade in ("proved by counting", "exhausted (rechecked)")
    with pytest.raises(ImportError, match="needs the extra 'sat'"):
        build_certificate(result, sat="always")


@needs_solver
def test_sat_is_not_persuaded_of_a_wrong_upper_end():
    result = result_of("((..).)", {"binary": 3})
    result.upper = 3
    with pytest.raises(ValueError, match="expected no shattered sample of 4 points"):
        build_certificate(result, sat="always")


@needs_solver
def test_a_proof_of_another_kind_is_not_taken(monkeypatch):
    monkeypatch.setattr(_sat, "add_hints", lambda formula, learnt: (_ for _ in ()).throw(_sat.NotByPropagation))
    result = result_of("((..).)", {"binary": 3})
    assert check(build_certificate(result)).grade in ("proved by counting", "exhausted (rechecked)")
    with pytest.raises(ValueError, match="expected a proof by unit propagation from the solver"):
        build_certificate(result, sat="always")


@needs_solver
def test_a_solver_that_gives_up_leaves_the_other_proofs(monkeypatch):
    monkeypatch.setattr(certificates, "SAT_CONFLICTS", 1)
    assert check(build_certificate(result_of("((..)(..))", {"binary": 3}))).grade == "exhausted (rechecked)"


# Ledgers


@pytest.mark.parametrize("effort", [0, 10**6])
def test_a_ledger_is_checked_and_searched_again_where_that_is_possible(effort):
    proof = {"kind": "exhausted", "ledger": STUMP_LEDGER}
    report = check(stump_certificate(proof), effort=effort)
    assert report.problems == []
    assert report.grade == ("exhausted (rechecked)" if effort else "exhausted (ledger consistent)")


def test_a_ledger_comes_with_the_result():
    ledger = [SimpleNamespace(**record) for record in STUMP_LEDGER]
    certificate = build_certificate(result_of("(..)", {"binary": 2}, ledger=ledger), sat="never")
    assert certificate["upper"]["proof"]["ledger"] == STUMP_LEDGER
    assert check(certificate).grade == "proved by counting"
    certificate = build_certificate(result_of("(..)", {"binary": 2}, ledger=ledger[:2]), sat="never")
    assert "ledger" not in certificate["upper"]["proof"]  # a search that was stopped proves nothing by its ledger


def with_record(**changes):
    """Return the ledger of the stump with another record of one point."""
    return [STUMP_LEDGER[0], STUMP_LEDGER[1] | changes, *STUMP_LEDGER[2:]]


WRONG_LEDGERS = [
    ([], "expected a ledger, or a problem small enough"),
    (STUMP_LEDGER[2:], "expected records for 1 to 3 points, one by one, got [2, 3]"),
    (STUMP_LEDGER[:2] + STUMP_LEDGER[3:], "one by one, got [0, 1, 3]"),
    (STUMP_LEDGER[:3], "one by one, got [0, 1, 2]"),
    ([*STUMP_LEDGER, record(4, [])], "one by one, got [0, 1, 2, 3, 4]"),
    ([*STUMP_LEDGER[:3], record(3, [(2, 1)])], "expected samples of up to 2 points in the ledger and none of 3"),
    ([*STUMP_LEDGER[:2], record(2, []), record(3, [])], "expected samples of up to 2 points in the ledger"),
    (with_record(orbits=2), "expected 1 orbits of 1 points by the stabilisers, got 2"),
    (with_record(samples=3), "expected 4 samples of 1 points by the stabilisers, got 3"),
    (with_record(stabilisers=[[3, 1]]), "whose order divides 8, got 3"),
    (with_record(stabilisers=[[4, 1]], samples=2), "expected all 4 samples of 1 points, which are shattered, got 2"),
    ([*STUMP_LEDGER[:2], record(2, [(1, 1)]), record(3, [])], "expected no larger share of samples of 2 points"),
    (with_record(shattered=0), "expected orbits = shattered <= tested"),
    ([*STUMP_LEDGER[:2], STUMP_LEDGER[2] | {"tested": 1}, STUMP_LEDGER[3]], "expected orbits = shattered <= tested"),
    (with_record(cut=-1), "expected cut to be an integer at least 0"),
    (with_record(digest="f" * 63), "expected a SHA-256"),
    (with_record(extra=1), "only known fields"),
    (with_record(stabilisers=[2]), "expected pairs"),
    (7, "expected the ledger to be a list, got 7"),
]


@pytest.mark.parametrize(("ledger", "message"), WRONG_LEDGERS)
def test_a_ledger_whose_totals_do_not_fit_is_refused(ledger, message):
    report = check(stump_certificate({"kind": "exhausted", "ledger": ledger}), effort=0)
    assert not report.ok and message in "\n".join(report.problems)


def test_searching_again_refutes_a_ledger_that_only_looks_right():
    proof = {"kind": "exhausted", "ledger": [*STUMP_LEDGER[:2], record(2, [(2, 1)]), record(3, [])]}
    assert check(stump_certificate(proof), effort=0).ok
    wrong = "expected 2 orbits of 6 shattered samples of 2 points, as a search finds, got 1 of 4"
    for effort in (10**6, 100):  # all of it, and as far as it goes
        assert check(stump_certificate(proof), effort=effort).problems == [wrong]
    proof = {"kind": "exhausted", "ledger": [*STUMP_LEDGER[:2], record(2, [])]}
    problems = check(stump_certificate(proof, value=1)).problems
    assert any("expected no shattered sample of 2 points" in problem for problem in problems)


def test_with_a_real_feature_all_samples_of_few_points_are_shattered():
    problem = problem_of("((..).)", {"real": 2})
    counts = _recheck.exhaust(problem, 10, 10**7)
    assert [samples for _, samples in counts[:4]] == [_recheck.n_samples(problem, m) for m in range(4)] == [1, 1, 2, 6]
    group = _recheck.symmetries(problem)
    level, ledger = {(): len(group)}, []
    while level:
        level = _recheck.next_level(problem, level, group, _recheck.Effort(10**7))
        fields = record(len(ledger) + 1, [(size, 1) for size in level.values()])
        ledger.append(fields | {"samples": sum(len(group) // size for size in level.values())})
    certificate = build_certificate(result_of("((..).)", {"real": 2}), sat="never")
    certificate["upper"]["proof"] = {"kind": "exhausted", "ledger": ledger}
    assert check(sealed(certificate), effort=0).grade == "exhausted (ledger consistent)"
    ledger[2] |= {"stabilisers": ledger[2]["stabilisers"][:1], "orbits": 1, "shattered": 1}
    ledger[2]["samples"] = len(group) // ledger[2]["stabilisers"][0][0]
    assert "expected all 6 samples of 3 points" in check(sealed(certificate), effort=0).problems[0]


# Tampering


def mutate(value, rng):
    """Change one place somewhere in a nest of JSON values."""
    if isinstance(value, dict) and value:
        name = rng.choice(sorted(value))
        action = rng.random()
        if action < 0.06:
            del value[name]
        elif action < 0.1:
            value[name + "x"] = value.pop(name)
        else:
            value[name] = mutate(value[name], rng)
        return value
    if isinstance(value, list) and value:
        i = rng.randrange(len(value))
        action = rng.random()
        if action < 0.06:
            del value[i]
        elif action < 0.12:
            value.insert(i, copy.deepcopy(rng.choice(value)))
        else:
            value[i] = mutate(value[i], rng)
        return value
    return _other_value(value, rng)


def _other_value(value, rng):
    if isinstance(value, str) and value:
        i = rng.randrange(len(value))
        return value[:i] + rng.choice("01.()abcfree9") + value[i + 1 :]
    if isinstance(value, int) and not isinstance(value, bool):
        return rng.choice([value + 1, value - 1, 1 - value, -value, value + 0.5, str(value), None, True, [value]])
    return rng.choice([0, 1, None, "", [], {}])


def tampered(seed, count):
    """Yield certificates with a change, and the true VC dimension."""
    subjects = [("((..).)", {"binary": 3}), ("((..).)", {"real": 1}), ("((...)..)", {"multiway": (3, 3)})]
    subjects += [("(..)", {"nominal": (3, 2), "subset": True}), ("((..).)", {"ordinal": (3,), "binary": 1})]
    originals = [
        build_certificate(result_of(structure, features), sat=sat)
        for structure, features in subjects
        for sat in (("always", "never") if HAS_SOLVER else ("never",))
    ]
    originals.append(stump_certificate({"kind": "exhausted", "ledger": STUMP_LEDGER}))
    rng = random.Random(seed)
    for _ in range(count):
        original = rng.choice(originals)
        changed = copy.deepcopy(original)
        while json.dumps(changed) == json.dumps(original):
            part = rng.choice(["problem", "lower", "lower", "upper", "upper", None])
            if part is None:
                changed = mutate(changed, rng)
            else:
                changed[part] = mutate(changed[part], rng)
        yield changed


def test_five_hundred_changes_are_all_refused():
    for certificate in tampered(1, 500):
        report = check(certificate)
        assert not report.ok and report.grade == "refused" and report.problems
        assert report.lower is report.upper is None
        assert vc.verify(certificate) is False


def test_with_a_digest_that_fits_only_what_is_true_is_accepted():
    """Whoever changes a certificate may compute its digest too: what is accepted then must still hold."""
    accepted = 0
    for certificate in tampered(2, 500):
        try:
            certificate = sealed(certificate)
        except (AttributeError, TypeError):
            continue
        report = check(certificate)
        if report.ok:
            accepted += 1
            problem = _check_problem.read_problem(certificate["problem"])
            structure = certificate["problem"]["structure"]
            true, _, _ = enumerate_all(structure, problem.columns, problem.free, problem.subset)
            assert report.lower <= true and (report.upper is None or true <= report.upper)
    assert accepted < 250


WRONG_CERTIFICATES = [
    (lambda c: c.update(format="other"), "expected format 'vcdim-certificate', got 'other'"),
    (lambda c: c.update(version=2), "expected version 1 of the format, got 2"),
    (lambda c: c.update(version=True), "expected version 1 of the format, got True"),
    (lambda c: c.pop("lower"), "expected a field 'lower' in the certificate, got none"),
    (lambda c: c.update(more=1), "expected only known fields in the certificate, got 'more'"),
    (lambda c: c["problem"].update(structure="(..))"), "expected a structure"),
    (lambda c: c["problem"].update(structure="(.)"), "expected a structure"),
    (lambda c: c["problem"].update(structure="(" * 2000), "expected a structure of at most"),
    (lambda c: c["problem"].update(orientation="both"), "expected orientation to be one of free, fixed, got 'both'"),
    (lambda c: c["problem"]["features"].update(binary=-1), "expected binary to be an integer from 0"),
    (lambda c: c["problem"]["features"].update(ordinal=[1]), "expected categories of ordinal to be an integer from 2"),
    (lambda c: c["lower"]["sample"].pop(), "expected 2 points in the sample, got 1"),
    (lambda c: c["lower"]["sample"][0].pop(), "expected 2 values in point 0, got 1"),
    (lambda c: c["lower"]["sample"].__setitem__(0, [0, 2]), "expected a binary value of point 0"),
    (lambda c: c["lower"]["trees"].pop("01"), "expected a tree for the labelling 01, got none"),
    (lambda c: c["lower"]["trees"].update({"10": 0}), "expected a labelling of 2 points with 0 first, got '10'"),
    (lambda c: c["lower"]["trees"].update({"01": [1, 0, 0, 1]}), "labelling 01: expected label 1 of point 1"),
    (lambda c: c["lower"]["trees"].update({"00": 0}), "expected a tree of the structure (..), got one of ."),
    (lambda c: c["lower"]["trees"].update({"00": [0, 0, 0, [1, 0, 0, 0]]}), "(..), got one of (.(..))"),
    (lambda c: c["lower"]["trees"].update({"00": [0, 0, 0, 2]}), "expected a leaf 0 or 1, got 2"),
    (lambda c: c["lower"]["trees"].update({"00": [2, 0, 0, 0]}), "expected a tested feature to be an integer from 0"),
    (lambda c: c["lower"]["trees"].update({"00": [0, 1, 0, 0]}), "expected the cut of a binary feature"),
    (lambda c: c["lower"]["trees"].update({"00": [0, 0, 0, 0, 0]}), "expected a feature for a node with 3 children"),
    (lambda c: c["upper"].update(value=1), "expected an upper value of at least 2, the lower one, got 1"),
    (lambda c: c["upper"].update(proof={"kind": "magic"}), "expected a proof of kind sat, counting"),
    (lambda c: c["upper"].update(proof={"kind": "counting", "method": "luck"}), "expected a method among leaf"),
    (lambda c: c["upper"].update(proof={"kind": "counting", "method": "points"}), "expected a bound of at most 2 by"),
    (lambda c: c["upper"].update(proof={"kind": "none", "ledger": []}), "expected only known fields in the proof"),
]


@pytest.mark.parametrize(("change", "message"), WRONG_CERTIFICATES)
def test_what_is_wrong_is_named(change, message):
    certificate = stump_certificate()
    change(certificate)
    report = check(sealed(certificate))
    assert not report.ok and message in "\n".join(report.problems)


@needs_solver
@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"labellings": [1]}, "of the formula, got"),
        ({"labellings": [4]}, "expected a labelling to be an integer from 0 to 3, got 4"),
        ({"cnf": "0" * 64}, "of the formula, got"),
        ({"lrat": _lrat.pack([((), (1,))])}, "step 1 of the proof does not follow"),
    ],
)
def test_what_is_wrong_with_a_proof_by_sat_is_named(change, message):
    certificate = build_certificate(result_of("(..)", {"binary": 2}), sat="always")
    assert check(certificate).grade == "proved by SAT"
    certificate["upper"]["proof"]["cases"][0].update(change)
    assert message in "\n".join(check(sealed(certificate)).problems)


@needs_solver
def test_a_proof_by_sat_is_about_one_point_more_and_all_cases():
    certificate = build_certificate(result_of("(..)", {"real": 2}), sat="always")
    proof = certificate["upper"]["proof"]
    assert len(proof["cases"]) == 3 and check(certificate).grade == "proved by SAT"
    for change in ({"points": 5}, {"cases": proof["cases"][:2]}, {"cases": proof["cases"][::-1]}):
        changed = copy.deepcopy(certificate)
        changed["upper"]["proof"].update(change)
        assert not check(sealed(changed)).ok


def test_fixed_orientation_does_not_let_children_be_swapped():
    certificate = stump_certificate()
    certificate["problem"] = describe("((..).)", {"binary": 2})
    left = {"00": [0, 0, [1, 0, 0, 0], 0], "01": [0, 0, [1, 0, 0, 0], 1]}
    right = {"00": [0, 0, 0, [1, 0, 0, 0]], "01": [0, 0, 0, [1, 0, 1, 1]]}
    for orientation, trees, is_right in itertools.product(("free", "fixed"), (left, right), (True,)):
        certificate["problem"]["orientation"] = orientation
        certificate["lower"]["trees"] = trees
        assert check(sealed(certificate)).ok == (is_right and (orientation == "free" or trees is left))


def test_all_problems_are_listed_up_to_a_limit():
    certificate = build_certificate(vc.search_vc("(((..).).)", d=5), sat="never")
    certificate["lower"]["trees"] = dict.fromkeys(certificate["lower"]["trees"], 0)
    certificate["upper"]["proof"] = {"kind": "magic"}
    problems = check(sealed(certificate)).problems
    assert len(problems) == 22 and "and 12 more" in problems and "magic" in problems[-1]


# Files and the command


def test_a_file_is_written_whole_or_not_at_all(tmp_path, monkeypatch):
    file = tmp_path / "certificate.json"
    write_certificate(file, stump_certificate())
    assert vc.verify(file) and vc.verify(str(file))
    before = file.read_bytes()

    def full(descriptor):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(OSError, match="No space left"):
        write_certificate(file, stump_certificate(value=3))
    assert file.read_bytes() == before and os.listdir(tmp_path) == ["certificate.json"]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "expected JSON"),
        ("[]", "expected a certificate to be an object"),
        ('{"format": "vcdim-certificate", "format": "vcdim-certificate"}', "expected each field once"),
        ('{"format": NaN}', "expected numbers, got NaN"),
        ("[" * 100_000, "too deep"),
        ("\x80", "expected JSON"),
    ],
)
def test_a_file_that_is_no_certificate_is_refused(tmp_path, capsys, text, message):
    file = tmp_path / "file.json"
    file.write_bytes(text.encode("latin-1"))
    assert vc.verify(file) is False
    assert cli.main(["verify", str(file)]) == 1
    out = capsys.readouterr().out
    assert "refused" in out and (message in out or message == "too deep")


def test_the_command_writes_what_it_checks(tmp_path, capsys):
    file = tmp_path / "c.json"
    assert cli.main(["exact", "((..).)", "-d", "3", "--certificate", str(file)]) == 0
    assert cli.main(["verify", str(file)]) == 0
    assert "VC dimension 4: proved by" in capsys.readouterr().out


def test_exit_codes_and_what_is_printed(tmp_path, capsys):
    good, bad = tmp_path / "good.json", tmp_path / "bad.json"
    write_certificate(good, stump_certificate({"kind": "counting", "method": "functions"}))
    write_certificate(bad, {**stump_certificate(), "version": 9})
    assert cli.main(["verify", str(good)]) == 0
    assert capsys.readouterr().out == f"{good}: VC dimension 2: proved by counting\n"
    assert cli.main(["verify", str(good), str(bad)]) == 1
    assert capsys.readouterr().out.endswith("refused\n  expected version 1 of the format, got 9\n")
    assert cli.main(["verify", str(good), str(tmp_path / "none.json"), str(bad)]) == 2
    assert "none.json: cannot be read: No such file" in capsys.readouterr().out
    assert cli_verify.main(["--json", str(good)]) == 0
    assert json.loads(capsys.readouterr().out)["grade"] == "proved by counting"
    assert vc.verify(tmp_path / "none.json") is False
    write_certificate(good, stump_certificate(value=3))
    assert cli.main(["verify", str(good)]) == 0
    assert "VC dimension at least 2: witness only" in capsys.readouterr().out


MODULES = ("verify", "_check_problem", "_check_counts", "_recheck", "_cnf", "_lrat")


@pytest.mark.parametrize("name", MODULES)
def test_the_checker_imports_the_standard_library_and_itself_only(name):
    source = Path(vc.__file__).with_name(f"{name}.py").read_text(encoding="utf-8")
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            assert all(alias.name.split(".")[0] in sys.stdlib_module_names for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            own = node.level == 1 and node.module in (*MODULES, "cli_verify")
            assert own or (node.level == 0 and node.module.split(".")[0] in sys.stdlib_module_names)


@pytest.mark.parametrize("words", [["-m", "vcdim_core.verify"], ["-c", "COMMAND", "verify"]])
def test_checking_runs_without_numpy_and_without_the_engine(tmp_path, words):
    write_certificate(tmp_path / "c.json", stump_certificate({"kind": "exhausted", "ledger": STUMP_LEDGER}))
    (tmp_path / "numpy.py").write_text("raise ImportError('no NumPy here')", encoding="utf-8")
    command = (
        "import sys; from vcdim_core._command import main; code = main(); "
        "assert not any('numpy' in m or m.startswith('vcdim_core._levels') for m in sys.modules); sys.exit(code)"
    )
    done = subprocess.run(
        [sys.executable, *(command if word == "COMMAND" else word for word in words), str(tmp_path / "c.json")],
        env={**os.environ, "PYTHONPATH": os.pathsep.join([str(tmp_path), str(Path(vc.__file__).parent.parent)])},
        cwd=tmp_path, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.endswith("VC dimension 2: exhausted (rechecked)\n")


@pytest.mark.parametrize("first", ["vcdim_core", "vcdim_core.verify, vcdim_core.structures", "vcdim_core.exact"])
def test_functions_are_not_hidden_by_modules_of_the_same_name(first):
    code = (
        f"import {first}, vcdim_core as vc; print(vc.verify({{}}), len(vc.structures(4)), type(vc.learn).__name__); "
        "from vcdim_core.verify import check; print(check({}).grade, vc.verify({}), len(vc.structures(4)))"
    )
    done = subprocess.run([sys.executable, "-P", "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["False", "3", "module", "refused", "False", "3"]

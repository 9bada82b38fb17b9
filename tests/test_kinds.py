"""Features of every kind: the engine against the oracle, the golden tables, itself, and the counts of all samples."""

from __future__ import annotations

import itertools
import json
import math
import os
import random
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import kinds_oracles
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from interrupts import latency_of
from kinds_oracles import Oracle, columns_of

import vcdim_core as vc
from vcdim_core import Features, _levels_search, exact
from vcdim_core._engines import CubeEngine, KindsEngine
from vcdim_core._levels_search import all_children, next_level, team
from vcdim_core._problem import Problem, no_limits

QUICK = settings(deadline=None, derandomize=True, max_examples=60)
GOLDEN = Path(__file__).parent / "golden"
ORIENTATIONS = ("free", "fixed")

TWO_WAY = ["(..)", "((..).)", "(.(..))", "((..)(..))", "(((..).).)", "(.((..).))"]
THREE_WAY = ["(...)", "((...)..)", "(.(...).)", "(..(...))", "((...).(...))"]
BOTH = ["((...).)", "(.(...))", "((..)..)", "(.(..).)", "((...)(..))"]


def suits(structure: str, features: Features) -> bool:
    """Whether each node has a feature that makes as many parts as it has children."""
    arities: set[int] = set()

    def note(shape: tuple[Any, ...]) -> None:
        if shape:
            arities.add(len(shape))
            for child in shape:
                note(child)

    note(kinds_oracles.parse(structure))
    two_way = features.n_features > len(features.multiway) or 2 in features.multiway
    return all(two_way if arity == 2 else arity in features.multiway for arity in arities)


def cases_of(features: Features, most: int) -> list[tuple[Features, str, str, str]]:
    """Features, structures of up to so many nodes, orientations, splits of nominal features."""
    return [
        (features, structure, orientation, nominal)
        for structure in [".", *TWO_WAY, *THREE_WAY, *BOTH]
        if structure.count("(") <= most and suits(structure, features)
        for orientation in ORIENTATIONS
        for nominal in (("one", "subset") if features.nominal else ("one",))
    ]


TINY = [
    *cases_of(Features(real=1), 3),
    *cases_of(Features(real=2), 1),
    *cases_of(Features(binary=2), 3),
    *cases_of(Features(ordinal=[4]), 3),
    *cases_of(Features(ordinal=[3, 3]), 2),
    *cases_of(Features(binary=1, ordinal=[3]), 3),
    *cases_of(Features(nominal=[4]), 3),
    *cases_of(Features(nominal=[3, 2]), 3),
    *cases_of(Features(ordinal=[3], nominal=[3]), 2),
    *cases_of(Features(multiway=[2, 2]), 3),
    *cases_of(Features(multiway=[2, 3]), 3),
    *cases_of(Features(multiway=[3]), 3),
    *cases_of(Features(multiway=[3, 3]), 1),
    *cases_of(Features(binary=1, multiway=[3]), 3),
    *cases_of(Features(nominal=[2], multiway=[2, 3]), 1),
    *cases_of(Features(real=1, binary=1), 2),
    *cases_of(Features(real=1, nominal=[3]), 1),
    *cases_of(Features(real=1, ordinal=[3]), 1),
    *cases_of(Features(real=1, multiway=[2]), 2),
    *cases_of(Features(real=1, multiway=[3]), 1),
]


def oracle_of(features: Features, structure: str, orientation: str, nominal: str = "one") -> Oracle:
    return Oracle(structure, columns_of(features, nominal), orientation == "fixed")


# Degenerate inputs


@pytest.mark.parametrize("features", [Features(real=2), Features(ordinal=[3]), Features(nominal=[3], multiway=[2])])
def test_no_point_and_one_point(features: Features) -> None:
    empty = np.zeros((0, features.n_features))
    one = np.ones((1, features.n_features))
    for structure in (".", "(..)", "((..).)"):
        assert vc.is_shattered(structure, empty, features=features)
        assert vc.unrealised(structure, empty, features=features) is None
        assert vc.dichotomies(structure, empty, features=features) == 1
        assert vc.is_shattered(structure, one, features=features)
        assert vc.dichotomies(structure, one, features=features) == 2
        assert [vc.growth_function(structure, m, features=features) for m in (0, 1)] == [1, 2]
        assert vc.partitioning_function(structure, 1, 1, features=features) == 1
        assert vc.partitioning_function(structure, 1, 2, features=features) == 0


def test_a_leaf_has_vc_dimension_one_on_any_feature() -> None:
    for features in (Features(real=3), Features(multiway=[5]), Features(ordinal=[3], nominal=[4])):
        result = vc.search_vc(".", features=features)
        assert (result.value, len(result.witness)) == (1, 1)


# The oracle


@pytest.mark.parametrize("features", list(dict.fromkeys(case[0] for case in TINY)), ids=str)
def test_search_agrees_with_the_oracle(features: Features) -> None:
    for case in TINY:
        if case[0] == features:
            oracle = oracle_of(*case)
            _, structure, orientation, nominal = case
            result = vc.search_vc(structure, features=features, orientation=orientation, nominal_splits=nominal)
            assert result.value == oracle.vc(), case
            assert len(result.witness) == result.value and oracle.shatters(result.witness), case


def test_ties_on_real_features_never_help() -> None:
    for structure in ("(..)", "((..).)"):
        for columns in ([("real", 0)], [("real", 0)] * 2, [("real", 0), ("binary", 2)]):
            for fixed in (False, True):
                oracle = Oracle(structure, columns, fixed)
                for m in (2, 3):
                    assert oracle.growth(m, ties=True) == oracle.growth(m), (structure, columns, m)


SMALL = [(case, m) for case in TINY for m in (2, 3, 4) if case[1] in ("((..).)", "(..)", "(.(...).)", "((..)..)")]


def test_growth_and_partitioning_functions_agree_with_the_oracle() -> None:
    for case, m in SMALL:
        features, structure, orientation, nominal = case
        if features.n_features > 1 and m == 4 and math.prod(c or 4 for _, c in features.columns) > 6:
            continue
        oracle = oracle_of(*case)
        options: dict[str, Any] = dict(features=features, orientation=orientation, nominal_splits=nominal)
        assert vc.growth_function(structure, m, **options) == oracle.growth(m), (case, m)
        for parts in (2, 3):
            expected = oracle.partitioning(m, parts)
            assert vc.partitioning_function(structure, m, parts, **options) == expected, (case, m, parts)


def test_functions_of_more_points_than_there_are_cells() -> None:
    for features in (Features(ordinal=[3]), Features(nominal=[2, 2]), Features(multiway=[2])):
        cells = math.prod(c or 1 for _, c in features.columns)
        for structure in ("(..)", "((..)(..))"):
            oracle = oracle_of(features, structure, "free")
            assert vc.growth_function(structure, cells + 3, features=features) == oracle.growth(cells)
            expected = oracle.partitioning(cells, 3)
            assert vc.partitioning_function(structure, cells + 3, 3, features=features) == expected


@st.composite
def problems(draw: st.DrawFn) -> tuple[Features, str, str, str]:
    sizes = st.lists(st.integers(2, 4), max_size=2)
    features = Features(
        real=draw(st.integers(0, 2)), binary=draw(st.integers(0, 1)), ordinal=draw(sizes), nominal=draw(sizes),
        multiway=draw(st.lists(st.integers(2, 3), max_size=2)),
    )  # fmt: skip
    structures = [s for s in [*TWO_WAY, *THREE_WAY, *BOTH] if suits(s, features)]
    structure = draw(st.sampled_from(structures)) if features.n_features and structures else "."
    return features, structure, draw(st.sampled_from(ORIENTATIONS)), draw(st.sampled_from(["one", "subset"]))


@st.composite
def samples_on(draw: st.DrawFn, features: Features, most: int) -> list[tuple[float, ...]]:
    """Few values, so that ties and repeated points are common; real ones negative, large and fractional too."""
    reals = st.sampled_from([-1e300, -2.5, -0.0, 0.0, 5e-324, 1.0, 1.0000000000000002, 7e8])
    values = [reals if c is None else st.integers(0, c - 1) for _, c in features.columns]
    return draw(st.lists(st.tuples(*values), max_size=most))


@QUICK
@given(st.data())
def test_one_sample_agrees_with_the_oracle(data: st.DataObject) -> None:
    features, structure, orientation, nominal = case = data.draw(problems())
    sample = data.draw(samples_on(features, 5))
    oracle = oracle_of(*case)
    options: dict[str, Any] = dict(features=features, orientation=orientation, nominal_splits=nominal)
    X = np.array(sample, dtype=float).reshape(len(sample), features.n_features)
    count = oracle.count(sample)
    assert vc.dichotomies(structure, X, **options) == count
    assert vc.is_shattered(structure, X, **options) == (count == 2 ** len(sample))
    missing = vc.unrealised(structure, X, **options)
    assert (missing is None) == (count == 2 ** len(sample))
    assert missing is None or not oracle.realises(sample, missing)


@QUICK
@given(st.data())
def test_realize_gives_a_tree_or_none_as_the_oracle_says(data: st.DataObject) -> None:
    features, structure, orientation, nominal = case = data.draw(problems())
    sample = data.draw(samples_on(features, 5).filter(len))
    oracle = oracle_of(*case)
    X = np.array(sample, dtype=float).reshape(len(sample), features.n_features)
    labels = data.draw(st.lists(st.integers(0, 2), min_size=len(sample), max_size=len(sample)))
    tree = vc.realize(structure, X, labels, features=features, orientation=orientation, nominal_splits=nominal)
    assert (tree is not None) == oracle.realises(sample, labels)
    if tree is not None:
        assert tree.predict(X).tolist() == labels
        oracle.check_tree(tree, sample, labels)


# Golden values


def golden(name: str) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = json.loads((GOLDEN / name).read_text())["rows"]
    return rows


def test_golden_values_on_real_features() -> None:
    for row in golden("exact_real.json"):
        features = Features(real=row["d"])
        result = vc.search_vc(row["s"], features=features)
        assert result.value == row["vc"], row
        assert vc.is_shattered(row["s"], row["witness"], features=features), row
        assert oracle_of(features, row["s"], "free").shatters(result.witness), row
        # found to be the same with orientation fixed; not in the table
        assert vc.exact_vc(row["s"], features=features, orientation="fixed") <= row["vc"]


def test_golden_values_on_multiway_features() -> None:
    rows = golden("exact_multiway.json")
    assert {row["orientation"] for row in rows} == set(ORIENTATIONS)
    for row in rows:
        features = Features(multiway=[row["arity"]] * row["d"])
        options: dict[str, Any] = dict(features=features, orientation=row["orientation"])
        result = vc.search_vc(row["s"], **options)
        assert result.value == row["vc"], row
        assert vc.is_shattered(row["s"], row["witness"], **options), row
        if result.value <= 7:
            assert oracle_of(features, row["s"], row["orientation"]).shatters(result.witness), row


def test_four_nodes_on_two_real_features() -> None:
    for structure in list(vc.structures(4))[-1:]:
        result = vc.search_vc(structure, real=2)
        assert result.value == 10
        assert vc.is_shattered(structure, result.witness, features=Features(real=2))


@pytest.mark.parametrize("n_features", [1, 2, 3, 4, 5])
def test_stumps_on_real_features(n_features: int) -> None:
    value = max(m for m in range(1, 20) if 2 * n_features >= math.comb(m, m // 2))
    assert vc.exact_vc("(..)", real=n_features) == value


def test_one_real_feature() -> None:
    for n_nodes in range(1, 6):
        for structure in vc.structures(n_nodes):
            assert vc.exact_vc(structure, real=1) == n_nodes + 1


# Consistency between kinds


@pytest.mark.parametrize("orientation", ORIENTATIONS)
def test_two_categories_are_the_same_in_every_kind(orientation: str) -> None:
    for n in (1, 2, 3):
        kinds = [Features(binary=n), Features(ordinal=[2] * n), Features(nominal=[2] * n), Features(multiway=[2] * n)]
        kinds.append(Features(binary=1, ordinal=[2] * (n > 1), nominal=[2] * (n > 2)))
        for structure in ("(..)", "((..).)", "(.(..))", "((..)(..))", "(((..).)(..))"):
            # One category against the other goes either way, whatever the orientation, if the feature is nominal.
            values = [vc.exact_vc(structure, features=f, orientation=orientation) for f in kinds]
            free = vc.exact_vc(structure, d=n)
            assert values[0] == values[1] == values[3] and values[2] == free, (structure, n, values)
            assert vc.growth_function(structure, 3, features=kinds[2], orientation=orientation) == (
                vc.growth_function(structure, 3, d=n)
            )


def test_real_is_ordinal_with_as_many_categories_as_points() -> None:
    """V categories are always enough, and with fewer one feature has too few points.

    Let S be a sample of m points with ranks on each real feature, and give the ranks as categories. All that a real
    threshold can do and one between categories cannot is to send everything one way. But cutting off the last point
    does as well: the child that would get everything realises the labelling on the others, and the other child
    realises any label of one point. So S realises the same labellings, and m = V categories suffice; more change
    nothing, because an ordinal feature is a real one with ties. On one feature V different points need V categories.
    """
    for structure in ("(..)", "((..).)", "(.(..))", "((..)(..))", "(((..).).)"):
        for orientation in ORIENTATIONS:
            for n in (1, 2):
                value = vc.exact_vc(structure, real=n, orientation=orientation)
                if value > 5 and n == 2:
                    continue
                for more in (0, 1, 2) if n == 1 else (0,):
                    ordinal = Features(ordinal=[value + more] * n)
                    assert vc.exact_vc(structure, features=ordinal, orientation=orientation) == value
            if vc.Structure.parse(structure).n_nodes > 1:
                value = vc.exact_vc(structure, real=1)
                assert vc.exact_vc(structure, features=Features(ordinal=[value - 1])) == value - 1


def test_ranks_realise_the_same_as_real_and_as_ordinal() -> None:
    generator = random.Random(5)
    for _ in range(40):
        m = generator.randint(2, 6)
        sample = list(zip(*(generator.sample(range(m), m) for _ in range(2)), strict=True))
        structure = generator.choice(TWO_WAY)
        for orientation in ORIENTATIONS:
            real = vc.dichotomies(structure, sample, features=Features(real=2), orientation=orientation)
            ordinal = Features(ordinal=[m, m])
            assert vc.dichotomies(structure, sample, features=ordinal, orientation=orientation) == real


def test_subset_splits_do_at_least_as_much_as_one_against_the_rest() -> None:
    for features in (Features(nominal=[3, 3]), Features(nominal=[4]), Features(real=1, nominal=[4])):
        for structure in ("(..)", "((..).)", "((..)(..))"):
            one = vc.exact_vc(structure, features=features)
            assert one <= vc.exact_vc(structure, features=features, nominal_splits="subset")
    assert vc.exact_vc("(..)", features=Features(nominal=[4])) == 3
    assert vc.exact_vc("(..)", features=Features(nominal=[4]), nominal_splits="subset") == 4
    assert vc.dichotomies("(..)", [[0], [1], [2], [3]], features=Features(nominal=[4])) == 10
    assert vc.dichotomies("(..)", [[0], [1], [2], [3]], features=Features(nominal=[4]), nominal_splits="subset") == 16


# The general engine against that of the cube


def shattered_levels(engine: CubeEngine | KindsEngine) -> list[tuple[int, int]]:
    """Orbits of shattered samples of each size, and the sum of 1 / |stabiliser| as samples, when nothing is dropped."""
    counts = []
    with team(engine, no_limits(), 1) as members:
        level = engine.first()
        while level.n_orbits:
            level = next_level(members, level, lambda done: None)
            order = engine.problem.group_order
            counts.append((level.n_orbits, sum(order // size for size in level.stabilisers())))
            if level.n_orbits:
                engine.open(level)
    return counts


@pytest.mark.parametrize("orientation", ORIENTATIONS)
def test_general_engine_finds_the_same_orbits_on_the_cube(orientation: str) -> None:
    for n_nodes in range(1, 6):
        for structure in vc.structures(n_nodes):
            for d in range(1, 5 if n_nodes < 4 else 4):
                problem = Problem.checked(structure, Features(binary=d), orientation)
                assert shattered_levels(KindsEngine(problem)) == shattered_levels(CubeEngine(problem)), problem


def forms_of(level: Any) -> list[bytes]:
    data, size = level.form_bytes(), len(level.form_bytes()) // max(level.n_orbits, 1)
    return sorted(data[i : i + size] for i in range(0, len(data), size or 1))


@pytest.mark.parametrize("orientation", ORIENTATIONS)
def test_pruning_loses_no_shattered_sample(orientation: str) -> None:
    for features in (
        Features(real=2), Features(ordinal=[3, 3]), Features(nominal=[3, 3]), Features(real=1, binary=1, nominal=[3]),
        Features(binary=1, ordinal=[3], multiway=[2]), Features(nominal=[6]),
    ):  # fmt: skip
        engine = KindsEngine(Problem.checked("((..).)", features, orientation))
        with team(engine, no_limits(), 1) as members:
            pruned = everything = engine.first()
            while pruned.n_orbits:
                parents, pruned = pruned, next_level(members, pruned, lambda done: None)
                everything = next_level(members, everything, lambda done: None)
                assert forms_of(pruned) == forms_of(everything)
                if pruned.n_orbits:
                    engine.prune(members, parents, pruned, 1, lambda: None)
                    engine.open(everything)
            assert everything.n_points > 2


@pytest.mark.parametrize("orientation", ORIENTATIONS)
def test_general_engine_finds_the_same_values_on_the_cube(orientation: str, monkeypatch: pytest.MonkeyPatch) -> None:
    tasks = [(s, d) for n in range(1, 6) for s in vc.structures(n) for d in range(1, 5)]
    values = [vc.exact_vc(s, d, orientation=orientation) for s, d in tasks]
    monkeypatch.setattr(exact, "engine_of", KindsEngine)
    for (structure, d), value in zip(tasks, values, strict=True):
        result = vc.search_vc(structure, d, orientation=orientation)
        assert result.value == value, (structure, d)
        assert vc.is_shattered(structure, result.witness, orientation=orientation)


# Orbits

MIXTURES = [
    Features(real=1), Features(real=2), Features(real=3), Features(binary=3), Features(ordinal=[3, 3]),
    Features(ordinal=[4, 3]), Features(nominal=[3, 3]), Features(nominal=[4, 2]), Features(multiway=[3, 3]),
    Features(multiway=[2, 3]), Features(real=1, binary=2), Features(real=2, ordinal=[3]), Features(real=2, nominal=[3]),
    Features(real=1, multiway=[3]), Features(binary=2, ordinal=[3], nominal=[3]), Features(nominal=[3], multiway=[3]),
    Features(real=1, binary=1, ordinal=[3], nominal=[2], multiway=[2]), Features(ordinal=[5]), Features(nominal=[7]),
]  # fmt: skip


def levels_of(problem: Problem, most: int) -> list[Any]:
    """All samples of 1, 2, .. points, one per orbit."""
    engine = KindsEngine(problem)
    levels = [engine.first()]
    with team(engine, no_limits(), 1) as members:
        for _ in range(most):
            engine.open(levels[-1])
            levels.append(all_children(members, levels[-1], lambda: None))
            if levels[-1].n_orbits == 0:
                break
    return levels[1:]


def problem_on(features: Features, orientation: str, nominal: str = "one") -> Problem:
    structure = "(" + "." * min(features.multiway, default=2) + ")" if features.is_multiway_only else "(..)"
    return Problem.checked(structure, features, orientation, nominal)


@pytest.mark.parametrize("orientation", ORIENTATIONS)
@pytest.mark.parametrize("features", MIXTURES, ids=str)
def test_orbit_sizes_sum_to_all_samples(features: Features, orientation: str) -> None:
    for nominal in ("one", "subset") if features.nominal else ("one",):
        problem = problem_on(features, orientation, nominal)
        for m, level in enumerate(levels_of(problem, 4 if features.n_features < 3 else 3), 1):
            sizes = level.stabilisers()
            assert all(problem.group_order % size == 0 for size in sizes)
            assert sum(problem.group_order // size for size in sizes) == problem.n_samples(m), m


@pytest.mark.parametrize("orientation", ORIENTATIONS)
@pytest.mark.parametrize("features", [f for f in MIXTURES if f.n_features < 3], ids=str)
def test_representatives_and_their_images_are_all_samples(features: Features, orientation: str) -> None:
    problem = problem_on(features, orientation)
    # the columns in the order of the kernels
    columns = [columns_of(features)[f] for f in problem.order]
    oracle = Oracle("(..)", columns, orientation == "fixed")
    kernel = KindsEngine(problem).kernel
    for m, level in enumerate(levels_of(problem, 3), 1):
        everything = {frozenset(sample) for sample in oracle.samples(m)}
        seen: set[frozenset[Any]] = set()
        for i, size in enumerate(level.stabilisers()):
            sample = [tuple(row) for row in kernel.values(level.sample(i))]
            orbit = kinds_oracles.images(sample, columns, oracle.fixed)
            assert len(orbit) == problem.group_order // size
            assert not orbit & seen
            seen |= orbit
        assert seen == everything


def test_positions_and_values_are_inverse() -> None:
    for features in MIXTURES:
        problem = problem_on(features, "free")
        kernel = KindsEngine(problem).kernel
        level = levels_of(problem, 3)[-1]
        for i in range(level.n_orbits):
            assert kernel.positions(kernel.values(level.sample(i))) == level.sample(i)


@pytest.mark.parametrize(
    "features", [Features(nominal=[24]), Features(multiway=[24]), Features(nominal=[12, 12])], ids=str
)
def test_many_like_points_are_numbered_once(features: Features) -> None:
    """k points of different categories have k! automorphisms; they must not be listed one by one."""
    problem = problem_on(features, "free")
    for m, level in enumerate(levels_of(problem, 24 if features.n_features == 1 else 5), 1):
        if problem.group_order < 2**64:
            assert sum(problem.group_order // size for size in level.stabilisers()) == problem.n_samples(m)
        assert features.n_features > 1 or level.n_orbits == 1
    assert level.n_points == (24 if features.n_features == 1 else 5)


# Workers


def answer(result: vc.VCResult) -> tuple[Any, ...]:
    """What must not depend on who does the work."""
    return result.lower, result.upper, result.witness, result.stats.tested, result.stats.orbits, result.levels


SEARCHES = [
    ("((..).)", Features(real=3)),
    ("((..)(..))", Features(real=2)),
    ("((..)(..))", Features(nominal=[3, 3, 3])),
    ("((..).)", Features(binary=1, ordinal=[3, 3])),
    ("((...)..)", Features(multiway=[3, 3, 3])),
]


@pytest.mark.parametrize(("structure", "features"), SEARCHES, ids=str)
def test_workers_and_journals_change_nothing(
    structure: str, features: Features, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    expected = answer(vc.search_vc(structure, features=features))
    monkeypatch.setattr(_levels_search, "SLICE", 7)
    monkeypatch.setattr(_levels_search, "UNIT_SECONDS", 0.001)
    for n_jobs in (1, 2, 3):
        assert answer(vc.search_vc(structure, features=features, n_jobs=n_jobs)) == expected
        path = tmp_path / f"{n_jobs}"
        for _ in range(2):  # the second time from the journal alone
            result = vc.search_vc(structure, features=features, n_jobs=n_jobs, checkpoint=path)
            assert answer(result) == expected


def test_witness_search_does_not_depend_on_the_number_of_threads(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(exact, "WITNESS_ORBITS", 20)
    for structure, features in SEARCHES[:3]:
        answers = [answer(vc.search_vc(structure, features=features, n_jobs=n)) for n in (1, 2, 3)]
        assert answers[0] == answers[1] == answers[2]


# Limits


def check_bracket(result: vc.VCResult, value: int) -> None:
    assert result.lower <= value <= result.upper
    assert len(result.witness) == result.lower
    assert vc.is_shattered(result.structure, result.witness, features=result.features, orientation=result.orientation)


@pytest.mark.parametrize("n_jobs", [1, 2])
@pytest.mark.parametrize(("structure", "features", "value"), [(*SEARCHES[0], 7), (*SEARCHES[2], 7)], ids=str)
def test_limits_give_brackets(structure: str, features: Features, value: int, n_jobs: int) -> None:
    options: dict[str, Any] = dict(features=features, n_jobs=n_jobs)
    for node_limit in (0, 1, 17, 150):
        result = vc.search_vc(structure, node_limit=node_limit, **options)
        check_bracket(result, value)
        assert not result.exact and result.stats.limit == "nodes" and result.stats.tested == node_limit
    for time_limit in (0, 1e-9, 1e-3):
        result = vc.search_vc(structure, time_limit=time_limit, **options)
        check_bracket(result, value)
        assert result.exact or result.stats.limit == "time"
    result = vc.search_vc(structure, memory_limit=1, **options)
    check_bracket(result, value)
    assert not result.exact and result.stats.limit == "memory"


def test_limits_that_are_not_reached_change_nothing() -> None:
    loose = vc.search_vc("((..).)", real=3, time_limit=1e9, node_limit=10**9, memory_limit=2**40)
    assert answer(loose) == answer(vc.search_vc("((..).)", real=3))


def test_what_the_witness_search_found_survives_a_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    """Three nodes on three real features shatter ten points; a limit in the middle of the beam keeps what it has."""
    monkeypatch.setattr(exact, "WITNESS_ORBITS", 20)
    lowers = [vc.search_vc("((..)(..))", real=3, node_limit=limit).lower for limit in (0, 100, 400, 2000)]
    assert lowers == sorted(lowers)
    assert lowers[-1] >= 8


def test_larger_limits_never_give_smaller_lower_ends() -> None:
    for structure, features in (("((..).)", Features(real=3)), ("((..)(..))", Features(real=3))):
        results = [vc.search_vc(structure, features=features, node_limit=2**k) for k in range(4, 13, 2)]
        lowers = [result.lower for result in results]
        assert lowers == sorted(lowers)


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_progress_tells_what_is_done(n_jobs: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_levels_search, "SLICE", 4)
    seen: list[vc.Progress] = []
    result = vc.search_vc("((..)(..))", real=3, node_limit=40_000, n_jobs=n_jobs, progress=seen.append)
    assert len(seen) > 1
    for before, after in itertools.pairwise(seen):
        assert before.seconds < after.seconds and before.samples <= after.samples
        assert before.size < after.size or before.done <= after.done
        assert before.lower <= after.lower <= result.lower <= result.upper <= after.upper
    assert all(0 <= state.done <= state.total and state.samples <= 40_000 for state in seen)


# Errors

REAL = Features(real=1)


class NoExecutor:
    """Something that submits nothing."""

    submit = None


ERRORS = {
    "features": (lambda: vc.exact_vc("(..)", features=3), TypeError, "expected features to be a Features, got 3"),
    "two kinds of features": (lambda: vc.exact_vc("(..)", 2, real=1), TypeError, "expected exactly one of d=, real= "),
    "nan": (
        lambda: vc.is_shattered("(..)", [[0.5], [math.nan]], features=REAL), ValueError,
        "expected every value to be a finite number, got nan in row 1, column 0",
    ),
    "infinity": (
        lambda: vc.dichotomies("(..)", [[math.inf]], features=REAL), ValueError,
        "expected every value to be a finite number, got inf in row 0, column 0",
    ),
    "category": (
        lambda: vc.is_shattered("(..)", [[0], [3]], features=Features(nominal=[3])), ValueError,
        "expected every value to be a category 0 to 2, got 3 in row 1, column 0",
    ),
    "negative category": (
        lambda: vc.realize("(..)", [[-1]], [0], features=Features(ordinal=[4])), ValueError,
        "expected every value to be a category 0 to 3, got -1 in row 0, column 0",
    ),
    "half a category": (
        lambda: vc.unrealised("(...)", [[0.5]], features=Features(multiway=[3])), ValueError,
        "expected every value to be a category 0 to 2, got 0.5 in row 0, column 0",
    ),
    "columns": (
        lambda: vc.is_shattered("(..)", [[0, 1]], features=REAL), ValueError,
        "expected 1 columns, one per feature, got 2",
    ),
    "text": (
        lambda: vc.is_shattered("(..)", [["a"]], features=REAL), TypeError, "expected numbers, got an array of <U1",
    ),
    "three children": (
        lambda: vc.exact_vc("((...).)", real=1), ValueError,
        "expected a structure whose nodes have two children, as 1 real do, got ((...).) with a node of 3",
    ),
    "two children": (
        lambda: vc.exact_vc("((..)..)", features=Features(multiway=[3, 4])), ValueError,
        "expected a structure whose nodes have 3 or 4 children, as 1 multiway(3) + 1 multiway(4) do, got ((..)..) with "
        "a node of 2",
    ),
    "too many categories": (
        lambda: vc.exact_vc("(..)", features=Features(ordinal=[25])), ValueError,
        "expected at most 24 categories, got 25",
    ),
    "too many categories for subsets": (
        lambda: vc.exact_vc("(..)", features=Features(nominal=[9]), nominal_splits="subset"), ValueError,
        "expected at most 8 categories with subset splits, got 9",
    ),
    "too many features": (lambda: vc.exact_vc("(..)", real=17), ValueError, "expected at most 16 features, got 17"),
    "orientation": (
        lambda: vc.exact_vc("(..)", real=1, orientation="up"), ValueError, "expected orientation to be ",
    ),
    "nominal splits": (
        lambda: vc.exact_vc("(..)", real=1, nominal_splits="all"), ValueError, "expected nominal_splits to be ",
    ),
    "executor": (
        lambda: vc.search_vc("(..)", real=1, executor=3), TypeError,
        "expected executor to be a concurrent.futures.Executor or a Dask client, got 3",
    ),
    "executor that cannot submit": (
        lambda: vc.search_vc("(..)", real=1, executor=NoExecutor()), TypeError, "expected executor to be a concurrent.",
    ),
    "points": (
        lambda: vc.dichotomies("(..)", [[x] for x in range(25)], features=REAL), ValueError,
        "expected at most 24 distinct points, got 25",
    ),
    "unsigned integers beyond 2**53": (
        lambda: vc.realize("(..)", np.array([[2**63], [1]], dtype=np.uint64), [0, 1], features=REAL), ValueError,
        "expected integers within 2**53, where float64 is exact, got 9223372036854775808",
    ),
    "integers beyond 2**53": (
        lambda: vc.dichotomies("(..)", [[-(2**53) - 1], [0]], features=REAL), ValueError,
        "expected integers within 2**53, where float64 is exact, got -9007199254740993",
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", ERRORS)
def test_errors_and_their_messages(name: str) -> None:
    call, kind, message = ERRORS[name]
    with pytest.raises(kind) as caught:
        call()
    assert str(caught.value).startswith(message)
    assert "\n" not in str(caught.value)


def labels_of(n: int) -> Sequence[tuple[int, ...]]:
    return list(itertools.product((0, 1), repeat=n))


def test_witnesses_come_with_a_tree_for_each_labelling() -> None:
    for structure, features in (("((..).)", Features(real=1, nominal=[3])), ("((...)..)", Features(multiway=[3, 3]))):
        result = vc.search_vc(structure, features=features)
        oracle = oracle_of(features, structure, "free")
        for labels in labels_of(result.value):
            tree = vc.realize(structure, result.witness, labels, features=features)
            oracle.check_tree(tree, result.witness, labels)


# Ctrl-C

SLOW = "((..)((..).))"              # on three real features: far too long
LONG_CALLS = {
    "search": f"search_vc({SLOW!r}, real=3)",
    "search with threads": f"search_vc({SLOW!r}, real=3, n_jobs=2)",
    "search with threads and a journal": f"search_vc({SLOW!r}, real=3, n_jobs=2, checkpoint=sys.argv[1])",
    "search elsewhere": f"search_vc({SLOW!r}, real=3, executor=ThreadPoolExecutor(2))",
    "search on mixed features": "search_vc('((..)(..))', features=Features(binary=2, ordinal=[4, 4], nominal=[4]))",
    "search for a witness with threads": f"search_vc({SLOW!r}, real=4, time_limit=1000, n_jobs=2)",
    "growth function": "growth_function('((..)(..))', 7, real=3)",
    "partitioning function": "partitioning_function('((..)(..))', 6, 3, real=3)",
}
INTERRUPTED = """
import os, sys, time
from concurrent.futures import ThreadPoolExecutor
from vcdim_core import Features, exact, growth_function, partitioning_function, search_vc
if "witness" in {name!r}:
    exact.WITNESS_ORBITS = 1
print("ready", flush=True)
try:
    {call}
except KeyboardInterrupt:
    print(repr(time.time()), flush=True)
    os._exit(0)
"""


@pytest.mark.skipif(os.name == "nt", reason="signals are sent the POSIX way")
@pytest.mark.parametrize("name", LONG_CALLS)
def test_interrupt(name: str, tmp_path: Path) -> None:
    code = INTERRUPTED.format(call=LONG_CALLS[name], name=name)
    latency = latency_of(code, str(tmp_path / "journal"))
    print(f"{name}: answered after {1000 * latency:.0f} ms")
    assert latency < 2

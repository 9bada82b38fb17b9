"""The kernel behind the bounds: directed rounding, rows, cache, threads, signals."""

from __future__ import annotations

import math
import os
import random
import signal
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from fractions import Fraction

import numpy as np
import pytest

from vcdim_core import _chain, _counts, _growth, _mixed, _partition, _rows
from vcdim_core.bounds import cache_clear, growth_bound, log_growth_bound, vc_upper_bound
from vcdim_core.features import Features
from vcdim_core.structures import Structure, comb, full, structures


def value(mantissa, exponent):
    """Return the number that a pair stands for, exactly."""
    return Fraction(float(mantissa)) * Fraction(2) ** int(exponent)


def random_structure(rng, n_leaves):
    parts = ["."] * n_leaves
    while len(parts) > 1:
        a = parts.pop(rng.randrange(len(parts)))
        b = parts.pop(rng.randrange(len(parts)))
        parts.append(f"({a}{b})")
    return Structure(parts[0])


# Numbers


@pytest.mark.parametrize("number", [0, 1, 2**53 - 1, 2**53 + 1, 3**80, 2**2000 + 1])
def test_round_up_is_never_below_and_exact_where_it_fits(number):
    f, e = _rows.round_up(number)
    assert number <= value(f, e) <= number * (1 + Fraction(1, 2**52))
    if number < 2**53:
        assert value(f, e) == number


def test_stirling_numbers_are_rounded_up():
    mantissa, exponent = _rows.stirling(12, 300)
    for c in range(1, 13):
        for m in (0, 1, 5, 12, 20, 53, 54, 55, 100, 299, 300):
            exact = _counts.stirling2(m, c)
            rounded = value(mantissa[c - 1, m], exponent[c - 1, m])
            assert exact <= rounded <= exact * (1 + Fraction(1, 10**11))
            if exact < 2**53:
                assert rounded == exact


@pytest.mark.parametrize(("bits", "jitter"), [(10, 9), (40, 30), (300, 50), (2000, 5), (2000, 1900), (9000, 8000)])
def test_dot_products_of_any_size(bits, jitter):
    rng = random.Random(bits)
    size = 200
    sizes = [[max(1, bits * (k + 1) // size - rng.randint(0, jitter)) for k in range(size)] for _ in range(2)]
    x, y = (_chain._scaled([rng.getrandbits(n) for n in row]) for row in sizes)
    for first, last in [(0, 199), (3, 150), (17, 17), (60, 59)]:
        total, e = _partition._py_dot(x, y, 199, first, last)
        exact = sum(value(x[0][k], x[1][k]) * value(y[0][199 - k], y[1][199 - k]) for k in range(first, last + 1))
        got = value(total, e) * (1 + Fraction(600, 2**52))
        assert exact <= got
        if jitter < 100:  # neighbours that differ by more than 2**500 share a scale and are rounded up a lot
            assert got <= exact * (1 + Fraction(1, 10**9))


# Rows


@pytest.mark.parametrize("real", [1, 2, 10, 5000])
def test_rows_are_never_below_the_exact_integers_and_close(real):
    rng = random.Random(real)
    shapes = [comb(12), full(4), *(random_structure(rng, rng.randint(2, 14)) for _ in range(6))]
    for shape in shapes:
        n_parts, n_points = 4, 90
        row = _rows.partition_rows(shape.table(), real, n_parts, n_points)[-1]
        exact = _counts.real_rows(shape.table(), real, n_parts, n_points)[0][-1]
        for c in range(1, n_parts + 1):
            for m in range(n_points + 1):
                rounded = value(row.mantissa[c - 1, m], row.exponent[c - 1, m])
                assert exact[c - 1][m] <= rounded <= exact[c - 1][m] * (1 + Fraction(row.error)), (str(shape), c, m)
                if exact[c - 1][m] < 2**52:
                    assert rounded == exact[c - 1][m], (str(shape), c, m)


def test_large_terms_are_not_lost_beside_larger_ones():
    # Terms of up to 1e100 and exponents that differ by more than 500 in one sum: once taken for 2**-500.
    shape = Structure(
        "(((((.(..))(.((.(..))((..)(.(..))))))(.(.(..))))((..)(.((..)((..)(.(..)))))))((.(..))((.(..))((..)(.(.(..)))))))"
    ).canonical()
    row = _rows.partition_rows(shape.table(), 10, 6, 300)[-1]
    exact = _counts.real_rows(shape.table(), 10, 6, 300)[0][-1]
    for m in (150, 186, 202, 230, 300):
        for c in (4, 5, 6):
            found = value(row.mantissa[c - 1, m], row.exponent[c - 1, m])
            assert exact[c - 1][m] <= found <= exact[c - 1][m] * (1 + Fraction(row.error))


def test_all_partitions_of_54_points_are_not_taken_for_fewer():
    """2**53 - 1 is the last number of 2-partitions that is a double: found by this case."""
    row = _rows.partition_rows(full(6).table(), 1000, 2, 60)[-1]
    assert value(row.mantissa[1, 54], row.exponent[1, 54]) == 2**53 - 1
    assert (row.ratio[1:] >= 1).all()
    shape = comb(5)
    for real in range(10, 400, 7):
        raw = _counts.real_rows(shape.table(), real, 2, 70)[1]
        ratio = _rows.partition_rows(shape.table(), real, 2, 70)[-1].ratio
        for m in range(7, 71):
            if ratio[m] < 1:
                assert raw[m] < 2 ** (m - 1) - 1


def test_rows_beyond_the_range_of_doubles():
    shape = Structure(f"({full(5)}{comb(30)})")
    row = _rows.partition_rows(shape.table(), 10, 2, 1500)[-1]
    exact = _counts.real_rows(shape.table(), 10, 2, 1500)[0][-1]
    for m in (63, 500, 1100, 1500):
        rounded = value(row.mantissa[1, m], row.exponent[1, m])
        assert exact[1][m] <= rounded <= exact[1][m] * (1 + Fraction(row.error))


@pytest.mark.parametrize("n_classes", [2, 3, 7])
def test_log_growth_is_never_below_the_exact_integer(n_classes):
    rng = random.Random(n_classes)
    for _ in range(12):
        shape, m, real = random_structure(rng, rng.randint(1, 12)), rng.randint(1, 120), rng.randint(1, 20)
        for form in ("tight", "loose"):
            exact = growth_bound(shape, m, n_classes, real=real, form=form)
            bound = log_growth_bound(shape, m, n_classes, real=real, form=form)
            assert math.log(exact) <= bound <= math.log(exact) * (1 + 1e-12) + 1e-12


def test_extending_rows_gives_the_same_as_making_them_at_once():
    for shape in (comb(9), full(4), Structure("(((..)(..))((..).))")):
        cache_clear()
        at_once = _rows.partition_rows(shape.table(), 3, 3, 200)[-1]
        at_once_chain = _chain.chain_row(shape.table(), 3, 2, 200)
        cache_clear()
        for n_points in (5, 17, 18, 64, 150):
            _rows.partition_rows(shape.table(), 3, 3, n_points)
            _chain.chain_row(shape.table(), 3, 2, n_points)
        grown = _rows.partition_rows(shape.table(), 3, 3, 200)[-1]
        grown_chain = _chain.chain_row(shape.table(), 3, 2, 200)
        np.testing.assert_allclose(grown.mantissa, at_once.mantissa, rtol=1e-12)
        np.testing.assert_array_equal(grown.exponent, at_once.exponent)
        np.testing.assert_allclose(grown_chain.ratio, at_once_chain.ratio, rtol=1e-9)


def test_vc_bound_is_that_of_exact_integers():
    rng = random.Random(8)
    for _ in range(15):
        shape, real = random_structure(rng, rng.randint(2, 16)), rng.choice([1, 2, 3, 10, 100])
        raw = _counts.real_rows(shape.table(), real, 2, 260)[1]
        expected = next(m for m in range(shape.n_leaves + 1, 260) if raw[m] < 2 ** (m - 1) - 1) - 1
        assert vc_upper_bound(shape, real=real, method="theorem9") == expected


def test_changes_are_rounded_down():
    for n_classes, n_nodes in ((2, 1), (2, 7), (3, 5), (2, 90)):
        mantissa, exponent = _chain._changes({n_nodes}, n_classes, 150)[n_nodes]
        for b in range(1, 151):
            exact = sum(math.comb(b - 1, i) * (n_classes - 1) ** i for i in range(n_nodes))
            rounded = value(mantissa[b], exponent[b])
            assert exact * (1 - Fraction(1, 10**11)) <= rounded <= exact
            if exact < 2**53:
                assert rounded == exact


def test_differences_are_rounded_up():
    rng = random.Random(5)
    xs = [rng.getrandbits(rng.randint(1, 90)) + 1 for _ in range(300)]
    ys = [rng.randint(0, x) if rng.random() < 0.7 else x - rng.randint(0, min(x, 5)) for x in xs]
    x = _chain._scaled(xs)
    y = tuple(np.array(part) for part in zip(*[_floor(v) for v in ys], strict=True))
    z = np.zeros(300), np.zeros(300, np.int32)
    _growth.subtract_up(*x, y[0].astype(float), y[1].astype(np.int32), *z)
    for i in range(300):
        exact = value(x[0][i], x[1][i]) - value(y[0][i], y[1][i])
        rounded = value(z[0][i], z[1][i])
        assert exact <= rounded <= exact + value(x[0][i], x[1][i]) / 2**50
        if rounded < 2**53:
            assert rounded.denominator == 1


def _floor(number):
    bits = number.bit_length()
    f, e = math.frexp(number >> max(0, bits - 53))
    return f, e + max(0, bits - 53)


# Features of several kinds

MIXTURES = [
    Features(binary=3), Features(binary=12), Features(ordinal=[3, 5]), Features(nominal=[3, 4]),
    Features(binary=2, ordinal=[4], nominal=[5, 3]), Features(real=1, binary=2), Features(real=2, nominal=[4]),
]  # fmt: skip


@pytest.mark.parametrize("features", MIXTURES, ids=str)
def test_doubles_are_never_below_the_integers_for_any_mixture(features):
    for text in ("(..)", "((..).)", "((..)(..))", "(((..).)(..))", "(((..)(..))((..)(..)))"):
        table = Structure(text).table()
        n_points = 40
        exact, fast = _counts.MixedRows(table, features, 2), _mixed.FastRows(table, features)
        if not features.real:
            n_points = min(n_points, _counts.n_distinct(_counts.finite_state(features)))
        fast.extend(n_points // 2)
        row = fast.two_parts(n_points)
        for m in range(1, n_points + 1):
            assert row[m] == exact.value(2, m), (text, m)


def test_doubles_stay_above_beyond_53_bits():
    table, features = full(6).table(), Features(binary=9, nominal=[3])
    exact, fast = _counts.MixedRows(table, features, 2), _mixed.FastRows(table, features)
    row = fast.two_parts(150)
    for m in (60, 100, 149, 150):
        assert exact.value(2, m) <= Fraction(float(row[m])) <= exact.value(2, m) * (1 + Fraction(1, 10**10))


def test_sauer_caps_are_rounded_up():
    for vc in (1, 2, 5, 20):
        rows = _mixed.FastRows(full(3).table(), Features(binary=5), lambda i, state, vc=vc: vc)
        cap = rows._caps(1, (), 200)
        for m in range(1, 201):
            sauer = sum(math.comb(m, i) for i in range(vc + 1)) // 2 - 1
            exact = min(2 ** (m - 1) - 1, sauer if m > vc else 2**m)
            assert exact <= Fraction(float(cap[m])) <= exact * (1 + Fraction(1, 10**12)) + 1


# Cache, threads, signals


def test_cache_forgets_the_oldest_rows():
    cache = _rows.RowCache(50_000)
    for i in range(1, 40):
        cache.put((i, 1), _rows.leaf_row(2, 100))
        cache.check()
    assert 0 < cache.info().rows < 39
    assert cache.get((1, 1)) is None
    assert cache.get((39, 1)) is not None


def test_cache_keeps_the_larger_row():
    cache = _rows.RowCache(1 << 20)
    cache.put((1, 1), _rows.leaf_row(2, 100))
    cache.put((1, 1), _rows.leaf_row(2, 50))
    assert cache.get((1, 1)).n_points == 100
    cache.put((1, 1), _rows.leaf_row(2, 200))
    assert cache.get((1, 1)).n_points == 200
    cache.check()


def test_answers_are_right_under_threads():
    shapes = [s for n in range(3, 7) for s in structures(n)]
    cache_clear()
    expected = {s: (vc_upper_bound(s, real=3), log_growth_bound(s, 60, 3, real=3)) for s in shapes}
    cache_clear()

    def ask(i):
        rng = random.Random(i)
        for s in rng.sample(shapes, len(shapes)):
            if rng.random() < 0.05:
                cache_clear()
            assert vc_upper_bound(s, real=3) == expected[s][0]
            assert log_growth_bound(s, 60, 3, real=3) == pytest.approx(expected[s][1], rel=1e-12)

    with ThreadPoolExecutor(4) as pool:
        list(pool.map(ask, range(4)))
    _rows.CACHE.check()


@pytest.mark.skipif(os.name == "nt", reason="sends a POSIX signal")
def test_a_long_computation_is_interrupted_within_a_tenth_of_a_second():
    sent = []

    def send():
        sent.append(time.perf_counter())
        os.kill(os.getpid(), signal.SIGINT)

    cache_clear()
    timer = threading.Timer(0.5, send)
    timer.start()
    try:
        with pytest.raises(KeyboardInterrupt):
            log_growth_bound(full(9), 100_000, real=10)
        assert time.perf_counter() - sent[0] < 0.1
    finally:
        timer.cancel()
        cache_clear()


def test_the_gil_is_released():
    ticks = []

    def tick(stop):
        while not stop.is_set():
            ticks.append(time.perf_counter())
            time.sleep(0.001)

    cache_clear()
    stop = threading.Event()
    thread = threading.Thread(target=tick, args=(stop,))
    thread.start()
    log_growth_bound(full(5), 8_000, real=10)
    stop.set()
    thread.join()
    assert len(ticks) > 5
    cache_clear()

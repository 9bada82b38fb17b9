"""Risk bounds: values by hand, limits, monotone in every argument, refusals."""

from __future__ import annotations

import json
import math
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest

from vcdim_core.bounds import log_growth_bound
from vcdim_core.risk import mdl_bound, shawe_taylor_bound, srm_bound, vapnik_bound, wedderburn_etherington
from vcdim_core.structures import comb, full

GOLDEN = Path(__file__).parent / "golden"
ERRORS = np.linspace(0.0, 1.0, 21)


def is_rising(values):
    return all(a <= b + 1e-12 for a, b in pairwise(values))


# Wedderburn-Etherington numbers


def test_wedderburn_etherington_numbers_against_the_table():
    for n, number in json.loads((GOLDEN / "wedderburn_etherington.json").read_text()).items():
        assert wedderburn_etherington(int(n)) == int(number)


def test_wedderburn_etherington_numbers_to_any_size():
    number = wedderburn_etherington(1500)
    assert number > 2**1500
    # The ratio of neighbours tends to 2.4832535...
    assert number / wedderburn_etherington(1499) == pytest.approx(2.4832535 * (1499 / 1500) ** 1.5, rel=1e-4)


# Values by hand


def test_srm_bound_is_the_printed_formula():
    for error, v, n, a1, a2, nu in [(0.1, 5, 200, 0.1, 2.0, 0.05), (0.3, 20, 1000, 0.2, 0.8, 0.5)]:
        epsilon = a1 * (v * (math.log(a2 * n / v) + 1) - math.log(nu)) / n
        expected = error + epsilon / 2 * (1 + math.sqrt(1 + 4 * error / epsilon))
        assert srm_bound(error, v, n, a1, a2, nu) == pytest.approx(expected)
    epsilon = 0.1 * (5 * (math.log(2 * 200 / 5) + 1) + 0.5 * math.log(200)) / 200
    assert srm_bound(0.0, 5, 200) == pytest.approx(epsilon)


def test_shawe_taylor_bound_is_the_printed_formula():
    tree, m, k, delta, r = full(2), 100, 3, 0.05, 2.0**-13.7
    growth = math.exp(log_growth_bound(tree, 200, real=4, form="tight"))
    p, q = 6 / (math.pi**2 * 16 * 2), (1 - r) * r**k
    expected = (2 * k + 4 * math.log(4 * growth / (delta * q * p))) / m
    assert shawe_taylor_bound(k / m, tree, m, real=4, form="tight") == pytest.approx(expected)
    given = shawe_taylor_bound(k / m, tree, m, log_growth=math.log(growth))
    assert given == pytest.approx(expected)


def test_vapnik_bound_without_errors_is_epsilon():
    tree, m = full(2), 100
    growth = log_growth_bound(tree, 200, real=4, form="loose")
    expected = 4 / m * (math.log(4) + growth - math.log(0.05) + math.log(math.pi**2 / 6 * 16 * 2))
    assert vapnik_bound(0.0, tree, m, real=4) == pytest.approx(expected)


def test_mdl_bound_is_the_printed_formula():
    expected = 0.1 + math.sqrt((8 * math.log2(13) + math.log(2 / 0.05)) / 2000)
    assert mdl_bound(0.1, 7, 10, 1000) == pytest.approx(expected)


# Vectorised, finite, monotone

BOUNDS = {
    "srm": lambda error, size, n, delta: srm_bound(error, size, n, nu=delta),
    "srm, default nu": lambda error, size, n, delta: srm_bound(error, size, n),
    "srm, 2011": lambda error, size, n, delta: srm_bound(error, size, n, 0.2, 0.8, delta),
    "shawe_taylor": lambda error, size, n, delta: shawe_taylor_bound(error, comb(size), n, real=3, delta=delta),
    "vapnik": lambda error, size, n, delta: vapnik_bound(error, comb(size), n, real=3, delta=delta),
    "vapnik tight": lambda error, size, n, delta: vapnik_bound(error, comb(size), n, d=3, delta=delta),
    "mdl": lambda error, size, n, delta: mdl_bound(error, 2 * size + 1, 5, n, delta=delta),
}


@pytest.mark.parametrize("name", BOUNDS)
def test_bounds_are_vectorised_finite_and_monotone(name):
    bound = BOUNDS[name]
    values = bound(ERRORS, 3, 50, 0.05)
    assert values.shape == ERRORS.shape
    np.testing.assert_allclose(values, [bound(error, 3, 50, 0.05) for error in ERRORS])
    assert bound(ERRORS.reshape(3, 7), 3, 50, 0.05).shape == (3, 7)
    assert isinstance(bound(0.5, 3, 50, 0.05), float)
    assert is_rising(values) and (values >= ERRORS).all()
    for error in (0.0, 0.2, 1.0):
        sizes = [bound(error, size, 20, 0.05) for size in range(0, 90)]
        assert np.isfinite(sizes).all() and is_rising(sizes)
        samples = [bound(error, 4, n, 0.05) for n in range(1, 120)]
        assert np.isfinite(samples).all() and is_rising(samples[::-1])
        chances = [bound(error, 4, 30, delta) for delta in (1.0, 0.5, 0.05, 1e-6, 1e-300)]
        assert np.isfinite(chances).all() and is_rising(chances)


def test_srm_bound_is_monotone_in_its_constants():
    for name, values in (("a1", (0.01, 0.1, 0.2, 4.0)), ("a2", (0.01, 0.1, 0.8, 2.0))):
        assert is_rising([srm_bound(0.1, 40, 50, **{name: value}) for value in values])


def test_srm_bound_never_subtracts():
    assert srm_bound(0.25, 0, 10, nu=1.0) == 0.25
    assert srm_bound(0.25, 1e9, 10) == srm_bound(0.25, 20, 10)
    assert srm_bound(0.25, math.inf, 10) == srm_bound(0.25, 20, 10)


def test_mdl_bound_is_monotone_in_features_and_classes():
    assert is_rising([mdl_bound(0.1, 5, d, 100) for d in range(30)])
    assert is_rising([mdl_bound(0.1, 5, 3, 100, n_classes=n) for n in range(1, 30)])


def test_clipping():
    assert srm_bound(0.9, 50, 10, clip=True) == 1.0
    assert mdl_bound([0.0, 1.0], 5, 3, 10, clip=True).max() <= 1.0


def test_huge_trees_stay_finite():
    assert math.isfinite(shawe_taylor_bound(0.5, comb(999), 50_000, 10, real=10))
    assert math.isfinite(vapnik_bound(0.5, comb(999), 50_000, 10, real=10))


# Errors


@pytest.mark.parametrize("error", [-0.1, 1.1, math.nan, [0.5, 2.0]])
@pytest.mark.parametrize("name", BOUNDS)
def test_errors_outside_the_unit_interval_are_refused(name, error):
    with pytest.raises(ValueError, match=r"^expected every error in \[0, 1\], got "):
        BOUNDS[name](error, 3, 50, 0.05)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: srm_bound(0.1, -1, 10), r"expected vc_dim >= 0, got -1"),
        (lambda: srm_bound(0.1, math.nan, 10), r"expected vc_dim >= 0, got nan"),
        (lambda: srm_bound(0.1, 1, 0), r"expected n >= 1, got 0"),
        (lambda: srm_bound(0.1, 1, 10, a1=0), r"expected a1 > 0, got 0"),
        (lambda: srm_bound(0.1, 1, 10, nu=1.5), r"expected nu > 0 and <= 1, got 1.5"),
        (lambda: shawe_taylor_bound(0.1, ".", 10, real=1, r=1.0), r"expected 0 < r < 1, got 1.0"),
        (lambda: shawe_taylor_bound(0.1, ".", 10, log_growth=-1.0), r"expected log_growth >= 0, got -1.0"),
        (lambda: vapnik_bound(0.1, ".", 10, real=1, delta=0.0), r"expected delta > 0 and <= 1, got 0.0"),
        (lambda: mdl_bound(0.1, 0, 3, 10), r"expected n_nodes >= 1, got 0"),
        (lambda: wedderburn_etherington(-1), r"expected n_leaves >= 0, got -1"),
    ],
)
def test_errors_say_what_was_expected(call, message):
    with pytest.raises(ValueError, match=message):
        call()

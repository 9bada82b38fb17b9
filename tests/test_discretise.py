"""Quartiles and natural cut-points."""

import numpy as np
import pytest

from vcdim_core.discretise import Discretiser, natural_cuts, quartile_cuts


def test_quartiles_leave_about_a_quarter_in_each_interval():
    rng = np.random.default_rng(1)
    x = rng.normal(size=1000)
    codes = np.searchsorted(quartile_cuts(x), x)
    assert np.bincount(codes).tolist() == [250, 250, 250, 250]


def test_constant_and_tiny_columns_have_no_empty_interval():
    assert quartile_cuts([]).tolist() == []
    assert quartile_cuts([2.0]).tolist() == []
    assert quartile_cuts([np.nan, 1.0, 2.0]).tolist() == [1.5]
    assert natural_cuts([np.inf, -np.inf, 0.0]).tolist() == []
    assert natural_cuts([-1e308, 1e308]).tolist() == []
    one_ulp = [1.0, np.nextafter(1.0, 2.0)]
    assert quartile_cuts(one_ulp).tolist() == [1.0]


def test_natural_cuts_lie_in_the_gaps():
    rng = np.random.default_rng(2)
    x = np.concatenate([rng.normal(0, 1, 500), rng.normal(20, 1, 500), rng.normal(50, 1, 300)])
    cuts = natural_cuts(x)
    assert ((cuts > 5) & (cuts < 15)).any() and ((cuts > 25) & (cuts < 45)).any()
    assert (np.bincount(np.searchsorted(cuts, x)) > 0).all()


def test_weights_count_as_repetitions():
    rng = np.random.default_rng(3)
    x, weights = rng.normal(size=60).round(1), rng.integers(0, 4, 60)
    again = np.repeat(x, weights)
    assert quartile_cuts(x, weights).tolist() == quartile_cuts(again).tolist()
    assert np.allclose(natural_cuts(x, weights), natural_cuts(again))


def test_transform_codes_intervals_and_keeps_missing_values():
    coder = Discretiser().fit([[1.0, 5.0], [2.0, 5.0], [3.0, 6.0], [4.0, 7.0]], features=[0])
    out = coder.transform([[0.0, 9.0], [np.nan, 1.0], [1.5, 1.0]])
    assert out[[0, 2]].tolist() == [[0.0, 9.0], [0.0, 1.0]] and np.isnan(out[1, 0])
    assert coder.labels(1) == ("any",)


def test_bad_arguments_are_named():
    with pytest.raises(ValueError, match="expected method to be one of 'quartiles', 'natural', got 'thirds'"):
        Discretiser("thirds")
    with pytest.raises(ValueError, match="expected a fitted Discretiser"):
        Discretiser().transform([[1.0]])
    with pytest.raises(ValueError, match="expected X to have 1 features, got 2"):
        Discretiser().fit([[1.0]]).transform([[1.0, 2.0]])
    with pytest.raises(ValueError, match="expected x to have 1 dimension, got 2"):
        quartile_cuts([[1.0]])

"""Features: counts, spelling, and the one way to give them."""

from __future__ import annotations

import dataclasses
import doctest
import importlib
import pickle

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from vcdim_core import Features, as_features

settings.register_profile("no deadline", deadline=None)
settings.load_profile("no deadline")

categories = st.lists(st.integers(2, 6), max_size=4)
any_features = st.builds(
    Features,
    real=st.integers(0, 5),
    binary=st.integers(0, 5),
    ordinal=categories,
    nominal=categories,
    multiway=categories,
)

SPELLED = [
    (Features(), "no features", "Features()"),
    (Features(binary=4), "4 binary", "Features(binary=4)"),
    (Features(real=2, nominal=(3,)), "2 real + 1 nominal(3)", "Features(real=2, nominal=(3,))"),
    (Features(ordinal=(3, 3, 2, 3)), "2 ordinal(3) + 1 ordinal(2) + 1 ordinal(3)", "Features(ordinal=(3, 3, 2, 3))"),
    (Features(binary=1, multiway=(3, 3)), "1 binary + 2 multiway(3)", "Features(binary=1, multiway=(3, 3))"),
]


# Degenerate inputs


def test_no_features():
    none = Features()
    assert none.n_features == 0 and none.columns == ()
    assert not (none.is_real_only or none.is_binary_only or none.is_multiway_only)
    assert as_features(d=0) == as_features(real=0) == as_features(features=none) == none


# Worked by hand


@pytest.mark.parametrize(("features", "text", "pasted"), SPELLED)
def test_str_and_repr(features, text, pasted):
    assert str(features) == text
    assert repr(features) == pasted


def test_columns_come_in_the_order_of_the_arguments():
    features = Features(real=1, binary=2, ordinal=(4,), nominal=(5, 3), multiway=(3,))
    assert features.columns == (
        ("real", None),
        ("binary", 2),
        ("binary", 2),
        ("ordinal", 4),
        ("nominal", 5),
        ("nominal", 3),
        ("multiway", 3),
    )


def test_one_kind_only():
    assert Features(real=2).is_real_only and Features(binary=2).is_binary_only
    assert Features(multiway=(3,)).is_multiway_only
    mixed = Features(real=1, binary=1, multiway=(2,))
    assert not (mixed.is_real_only or mixed.is_binary_only or mixed.is_multiway_only)


def test_any_iterable_of_integers_gives_the_categories():
    expected = Features(real=2, nominal=(3, 5))
    assert Features(real=np.int64(2), nominal=np.array([3, 5])) == expected
    assert Features(2, nominal=(c for c in [3, 5])) == expected
    assert all(type(c) is int for c in Features(nominal=np.array([3, 5])).nominal)
    assert Features(nominal=(5, 3)) != expected


def test_the_three_ways():
    assert as_features(d=3) == as_features(3) == Features(binary=3)
    assert as_features(real=3) == Features(real=3)
    mixed = Features(real=1, ordinal=(3,))
    assert as_features(features=mixed) is mixed


# Properties


@given(any_features)
def test_every_form_reads_back(features):
    assert eval(repr(features)) == features
    assert hash(eval(repr(features))) == hash(features)
    assert pickle.loads(pickle.dumps(features)) == features
    assert dataclasses.replace(features) == features
    assert len(features.columns) == features.n_features


# Errors


@pytest.mark.parametrize(
    ("arguments", "kind", "message"),
    [
        ({"real": -1}, ValueError, "expected real >= 0, got -1"),
        ({"binary": True}, TypeError, "expected binary to be an integer, got True"),
        ({"binary": 2.0}, TypeError, "expected binary to be an integer, got 2.0"),
        ({"ordinal": (3, 1)}, ValueError, "expected ordinal[1] >= 2, got 1"),
        ({"nominal": (2.5,)}, TypeError, "expected nominal[0] to be an integer, got 2.5"),
        ({"nominal": 3}, TypeError, "expected nominal to be an iterable of integers, got 3"),
        ({"multiway": "33"}, TypeError, "expected multiway to be an iterable of integers, got '33'"),
    ],
)
def test_bad_counts(arguments, kind, message):
    with pytest.raises(kind) as caught:
        Features(**arguments)
    assert str(caught.value) == message


@pytest.mark.parametrize(
    ("arguments", "kind", "message"),
    [
        ({}, TypeError, "expected exactly one of d=, real= and features=, got none"),
        ({"d": 3, "real": 2}, TypeError, "expected exactly one of d=, real= and features=, got d=3 and real=2"),
        (
            {"real": 0, "features": Features(binary=1)},
            TypeError,
            "expected exactly one of d=, real= and features=, got real=0 and features=Features(binary=1)",
        ),
        ({"d": -1}, ValueError, "expected d >= 0, got -1"),
        ({"d": 2.0}, TypeError, "expected d to be an integer, got 2.0"),
        ({"real": True}, TypeError, "expected real to be an integer, got True"),
        ({"features": 3}, TypeError, "expected features to be a Features, got 3"),
    ],
)
def test_bad_ways(arguments, kind, message):
    with pytest.raises(kind) as caught:
        as_features(**arguments)
    assert str(caught.value) == message


def test_features_cannot_be_changed():
    with pytest.raises(dataclasses.FrozenInstanceError):
        Features().real = 3


def test_docstrings():
    result = doctest.testmod(importlib.import_module("vcdim_core.features"))
    assert result.attempted > 0 and result.failed == 0

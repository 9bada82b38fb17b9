"""VC dimension by experiment: the formula, the fit, the experiments, and the paper's Figure 2."""

import math

import numpy as np
import pytest

pytest.importorskip("sklearn")

from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.dummy import DummyClassifier
from sklearn.neighbors import KNeighborsClassifier

from vcdim_core.learn import NodeClassifier, estimate_vc
from vcdim_core.learn import uniform_design as module
from vcdim_core.learn.uniform_design import deviation_bound, inverse_deviation


def plain_deviation(tau):
    """The formula as printed."""
    if tau < 0.5:
        return 1.0
    log = math.log(2 * tau) + 1
    return 0.16 * log / (tau - 0.14928) * (math.sqrt(1 + 1.2 * (tau - 0.14928) / log) + 1)


# The formula


def test_formula_as_printed():
    for tau in (0.1, 0.5, 0.51, 1.0, 3.3, 30.0, 1e6):
        assert deviation_bound(tau) == pytest.approx(plain_deviation(tau), rel=1e-5)
    assert deviation_bound(0.5 + 1e-9) == pytest.approx(1.0, abs=1e-5)  # continuous where its branches meet
    assert deviation_bound(math.inf) == 0.0


def test_formula_falls():
    values = deviation_bound(np.geomspace(0.5, 1e9, 5000))
    assert (np.diff(values) < 0).all()


def test_inverse():
    for tau in (0.5001, 0.7, 1.0, 4.0, 30.0, 1e4, 1e9):
        assert inverse_deviation(deviation_bound(tau)) == pytest.approx(tau, rel=1e-9)
    assert (inverse_deviation(1.0), inverse_deviation(1.7), inverse_deviation(0.0)) == (0.5, 0.5, math.inf)


# The fit


@pytest.mark.parametrize("h", [0.3, 1.0, 7.5, 66.0, 400.0])
@pytest.mark.parametrize("loss", ["huber", "squared"])
def test_fit_finds_the_h_of_exact_deviations(h, loss):
    sizes = np.unique(np.maximum(1, np.rint(np.geomspace(0.5, 30, 20) * h))).astype(np.intp)
    means = np.array([plain_deviation(n / h) for n in sizes])
    assert module._fit(sizes, means[None], loss)[0] == pytest.approx(h, rel=1e-4)


def test_huber_resists_an_outlier():
    sizes = np.unique(np.rint(np.geomspace(0.5, 30, 20) * 10)).astype(np.intp)
    rng = np.random.default_rng(0)
    means = np.array([plain_deviation(n / 10) for n in sizes]) + rng.normal(scale=0.004, size=sizes.size)
    means[6] -= 0.4
    huber, squared = (module._fit(sizes, means[None], loss)[0] for loss in ("huber", "squared"))
    assert abs(huber - 10) < 0.3 < 0.6 < abs(squared - 10)


def test_squared_loss_is_least():
    sizes = np.array([2, 4, 9, 30], dtype=np.intp)
    means = np.array([0.9, 0.8, 0.3, 0.2])
    found = module._fit(sizes, means[None], "squared")[0]
    loss = lambda h: sum((m - plain_deviation(n / h)) ** 2 for n, m in zip(sizes, means, strict=True))  # noqa: E731
    assert all(loss(found) <= loss(h) + 1e-9 for h in np.geomspace(0.1, 60, 3000))


# Experiments


def test_deviation_is_one_minus_twice_the_training_error():
    errors = []

    def train(X, y):
        model = LinearDiscriminantAnalysis().fit(X, y)
        errors.append(np.mean(model.predict(X) != y))
        return model.predict(X)

    for seed in range(5):
        value = module._experiment(train, module._uniform, 3, 20, np.random.SeedSequence(seed))
        assert value == pytest.approx(abs(1 - 2 * errors[-1]))


def test_a_constant_has_almost_no_capacity():
    estimate = estimate_vc(DummyClassifier(strategy="constant", constant=0), 2, design=6, repeats=40, random_state=0)
    assert estimate.h < 0.8
    majority = estimate_vc(DummyClassifier(), 2, design=6, repeats=40, random_state=0)
    assert majority.h < 0.8


def test_what_fits_everything_has_no_estimate():
    estimate = estimate_vc(KNeighborsClassifier(1), 2, max_size=64, random_state=0)
    assert (estimate.h, estimate.low) == (math.inf, 128.0)
    assert str(estimate) == "VC dimension above 128 on 2 features: the deviation did not fall"


def test_exact_minimisation_comes_out_too_large():
    """A threshold on one feature has VC dimension 2; the constants were made for less than a search of them all."""

    def search(X, y):
        order = np.argsort(X[:, 0])
        walk = np.concatenate([[0], np.cumsum(2 * y[order] - 1)])
        gain = walk[-1] - 2 * walk
        at = int(np.abs(gain).argmax())
        border = np.concatenate([[-2.0], np.sort(X[:, 0])])[at]
        return lambda new: (new[:, 0] > border) == (gain[at] > 0)

    assert 2.5 < estimate_vc(search, 1, repeats=40, random_state=0).h < 3.2


def test_same_answer_for_any_number_of_processes():
    options = {"design": 4, "repeats": 4, "n_bootstrap": 20, "guess": 4.0}
    one = estimate_vc("linear", 3, random_state=7, **options)
    two = estimate_vc("linear", 3, random_state=7, n_jobs=2, **options)
    other = estimate_vc("linear", 3, random_state=8, **options)
    assert one.as_dict() == two.as_dict()
    assert np.array_equal(one.deviations, two.deviations)
    assert not np.array_equal(one.deviations, other.deviations)


def test_kinds_of_estimators():
    # from five points a half on, standard units do not change a discriminant on two features
    options = {"design": 5, "repeats": 5, "n_bootstrap": 20, "random_state": 0, "guess": 3.0, "min_size": 5}
    name = estimate_vc("linear", 2, **options)
    node = estimate_vc(NodeClassifier("linear", variance=1.0, trim=module.TRIM), 2, **options)
    function = estimate_vc(lambda X, y: LinearDiscriminantAnalysis().fit(X, y), 2, **options)
    rival = estimate_vc(LinearDiscriminantAnalysis(), 2, **options)
    assert np.array_equal(name.sizes, node.sizes)
    assert np.allclose(name.deviations, node.deviations)
    assert np.array_equal(function.deviations, rival.deviations)


def test_design_is_laid_again_around_the_h_that_was_found():
    estimate = estimate_vc("linear", 4, guess=60.0, repeats=10, random_state=0)
    assert estimate.designs[0] == 60.0
    assert len(estimate.designs) > 1
    assert abs(math.log(estimate.h / estimate.designs[-1])) <= math.log(1.15)
    ratios = estimate.sizes / estimate.h
    assert ratios.min() > 0.4 and ratios.max() < 36
    assert estimate.sizes.size == np.unique(estimate.sizes).size == 20


def test_smallest_size():
    estimate = estimate_vc(KNeighborsClassifier(5), 2, min_size=3, max_size=50, design=5, repeats=3, random_state=0)
    assert estimate.sizes.min() >= 3
    assert module._design(0.01, (0.5, 30.0), 20, 1, 100).tolist() == [1, 2]
    assert module._design(4.0, (0.5, 30.0), 20, 1, 1000).size == 20


def test_interval_and_progress():
    calls = []
    watch = lambda done, planned: calls.append((done, planned))  # noqa: E731
    estimate = estimate_vc("univariate", 3, design=8, repeats=10, random_state=1, progress=watch)
    assert estimate.low <= estimate.h <= estimate.high < 2 * estimate.low
    assert calls[-1][0] == calls[-1][1]
    assert [done for done, _ in calls] == sorted(done for done, _ in calls)
    wide = estimate_vc("univariate", 3, design=8, repeats=10, random_state=1, confidence=0.999)
    assert wide.high - wide.low >= estimate.high - estimate.low


def test_sampler():
    seen = []

    def sampler(rng, n, d):
        seen.append((n, d))
        return rng.normal(size=(n, d))

    estimate = estimate_vc("linear", 3, design=4, repeats=3, sampler=sampler, random_state=0)
    assert all(d == 3 and n % 2 == 0 for n, d in seen)
    assert 2 < estimate.h < 7


def test_plot():
    pytest.importorskip("matplotlib")
    estimate = estimate_vc("linear", 2, design=5, repeats=5, random_state=0)
    axes = estimate.plot().axes[0]
    assert axes.get_xscale() == "log"
    labels = [text.get_text() for text in axes.get_legend().get_texts()]
    assert any(label.startswith("fitted, h = ") for label in labels) and "measured" in labels


# Figure 2 of the paper


@pytest.mark.parametrize("d", [1, 4, 10])
def test_linear_is_within_a_tenth_of_its_parameters(d):
    assert estimate_vc("linear", d, repeats=30, random_state=0, n_bootstrap=1).h == pytest.approx(d + 1, rel=0.1)


@pytest.mark.parametrize("d", [1, 2, 4])
def test_quadratic_is_within_a_tenth_of_its_parameters(d):
    h = estimate_vc("quadratic", d, repeats=30, random_state=1, n_bootstrap=1).h
    assert h == pytest.approx((d * d + 3 * d + 2) / 2, rel=0.1)


@pytest.mark.parametrize("d", [2, 8, 20])
def test_univariate_is_about_one_plus_the_logarithm(d):
    h = estimate_vc("univariate", d, repeats=30, random_state=0, n_bootstrap=1).h
    assert h == pytest.approx(math.log2(d) + 1, rel=0.15)


# Errors


def test_bad_arguments_are_named():
    for wrong, message in [
        ({"d": 0}, "expected d >= 1, got 0"),
        ({"design": 1}, "expected design >= 2, got 1"),
        ({"ratios": (0.1, 3)}, r"expected ratios\[0\] >= 0.5, got 0.1"),
        ({"ratios": (3, 2)}, r"expected ratios\[0\] < ratios\[1\], got \(3, 2\)"),
        ({"ratios": 3}, "expected ratios to be two numbers, got 3"),
        ({"confidence": 1.0}, "expected 0 < confidence < 1, got 1.0"),
        ({"loss": "cubic"}, "expected loss to be one of 'huber', 'squared', got 'cubic'"),
        ({"estimator": "cubic"}, "expected estimator to be one of"),
        ({"sampler": lambda rng, n, d: np.zeros((n, 1))}, r"expected sampler to return shape \(2, 2\), got \(2, 1\)"),
    ]:
        with pytest.raises(ValueError, match=message):
            estimate_vc(**({"estimator": "linear", "d": 2} | wrong))
    with pytest.raises(TypeError, match="expected a model's name, a classifier with fit and predict, or a function"):
        estimate_vc(3, 2)
    with pytest.raises(TypeError, match="to return something that predicts, got 5"):
        estimate_vc(lambda X, y: 5, 2, random_state=0)
    with pytest.raises(TypeError, match="expected progress to be True, False or a function"):
        estimate_vc("linear", 2, progress=3)
    with pytest.raises(ValueError, match="expected every tau >= 0"):
        deviation_bound(-1.0)

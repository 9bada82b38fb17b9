r"""The VC dimension of a classifier, measured by experiment.

A classifier with VC dimension h that is fitted to n points with random labels gets some of them right by chance and
some because it can. Vapnik, Levin and LeCun (1994) give the largest difference between the error rates on two halves
of n points each that such a classifier is expected to reach as

.. math:: \Phi(\tau) = a \frac{\ln(2\tau) + 1}{\tau - k} \Bigl(\sqrt{1 + \frac{b (\tau - k)}{\ln(2\tau) + 1}} + 1\Bigr),
    \qquad \tau = n / h \ge 0.5,

and 1 below, with a = 0.16, b = 1.2 and k = 0.14928, which makes it continuous. Measuring the difference at several n
(design points, several experiments each) and choosing the h whose curve fits best estimates h.

What is measured is what the learning algorithm does, not what the class of functions could do: an algorithm that does
not minimise the number of training errors has a smaller h. And the constants a and b were themselves fitted to linear
classifiers found by an algorithm that does not, so that one which minimises the number of errors exactly comes out
too large: 2.8 instead of 2 for a threshold on one feature (see :func:`estimate_vc`).

References
----------
V. Vapnik, E. Levin and Y. LeCun, Measuring the VC-dimension of a learning machine, Neural Computation 6 (1994),
851-876. X. Shao, V. Cherkassky and W. Li, Measuring the VC-dimension using optimized experimental design, Neural
Computation 12 (2000), 1969-1986. O. T. Yildiz, Model selection in omnivariate decision trees using structural risk
minimization, Information Sciences 181 (2011), 5214-5226, Figure 1.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from .._validation import check_choice, check_int, check_number
from ._blas import one_thread
from ._node_models import KINDS, fit_model, make_rows

__all__ = ["VCEstimate", "deviation_bound", "estimate_vc", "inverse_deviation"]

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.intp]
Trainer = Callable[[Floats, Ints], npt.NDArray[Any]]
Sampler = Callable[[np.random.Generator, int, int], Any]

A, B, K = 0.16, 1.2, 0.14928
"""Constants of Vapnik, Levin and LeCun."""

LOSSES = ("huber", "squared")
"""What is minimised over h: robust, or the sum of squares of the paper's Eq. 12."""

TRIM = 0.03
"""Share of the rows that the named models leave out of their second fit."""

_PILOT = 6
"""Experiments at each size of the first rough look."""

_LARGEST = 1 << 17
"""Largest n unless told otherwise."""


def deviation_bound(tau: npt.ArrayLike) -> Any:
    r"""Return :math:`\Phi(\tau)`, the expected largest deviation at :math:`\tau = n / h`.

    Examples
    --------
    >>> deviation_bound([0.25, 0.5, 1.0, 30.0]).round(4).tolist()
    [1.0, 1.0, 0.7216, 0.1047]
    """
    given = np.asarray(tau, dtype=np.float64)
    if np.isnan(given).any() or (given < 0).any():
        raise ValueError(f"expected every tau >= 0, got {tau!r}")
    inside = np.maximum(given, 0.5)
    with np.errstate(invalid="ignore"):
        log = np.log(2.0 * inside) + 1.0
        value = A * log / (inside - K) * (np.sqrt(1.0 + B * (inside - K) / log) + 1.0)
    out = np.where(given <= 0.5, 1.0, np.where(np.isinf(given), 0.0, value))
    return float(out) if out.ndim == 0 else out


def inverse_deviation(deviation: float) -> float:
    r"""Return the :math:`\tau \ge 0.5` with :math:`\Phi(\tau)` = deviation; 0.5 for deviations of 1 and more.

    Examples
    --------
    >>> round(deviation_bound(inverse_deviation(0.3)), 12)
    0.3
    """
    value = check_number("deviation", deviation, 0.0)
    if value >= 1.0:
        return 0.5
    if value == 0.0:
        return math.inf
    low, high = math.log(0.5), math.log(0.5)
    while deviation_bound(math.exp(high)) > value:
        low, high = high, high + 1.0
    while high - low > 1e-15 * max(1.0, abs(high)):  # the function falls: bisection to the last bit
        middle = (low + high) / 2.0
        if middle in (low, high):
            break
        low, high = (middle, high) if deviation_bound(math.exp(middle)) > value else (low, middle)
    return math.exp((low + high) / 2.0)


@dataclass(frozen=True, slots=True)
class VCEstimate:
    """A VC dimension found by experiment.

    Examples
    --------
    >>> estimate = estimate_vc("linear", 2, design=6, repeats=5, random_state=0)
    >>> estimate.low <= estimate.h <= estimate.high, len(estimate.sizes)
    (True, 6)
    """

    h: float
    """The estimate; inf if the deviation never fell, so that the VC dimension is beyond the largest size."""
    low: float
    """Lower end of the confidence interval."""
    high: float
    """Upper end of the confidence interval."""
    confidence: float
    """Confidence of the interval."""
    d: int
    """Number of features."""
    sizes: Ints
    """Design points n: each experiment has 2 n points."""
    deviations: Floats
    """Measured deviations, design points x experiments."""
    designs: tuple[float, ...]
    """The h around which each design was laid, in turn; the last one is the design that is reported."""
    loss: str
    """What was minimised."""

    @property
    def measured(self) -> Floats:
        """Mean deviation at each design point."""
        return np.asarray(self.deviations.mean(axis=1))

    @property
    def fitted(self) -> Floats:
        """Deviation at each design point by the formula."""
        return np.asarray(deviation_bound(self.sizes / self.h))

    @property
    def rms(self) -> float:
        """Root mean square of measured minus fitted."""
        return float(np.sqrt(np.mean((self.measured - self.fitted) ** 2)))

    def __str__(self) -> str:
        if math.isinf(self.h):
            return f"VC dimension above {self.low:g} on {self.d} features: the deviation did not fall"
        share = f"{100 * self.confidence:g} % interval {self.low:.3g} to {self.high:.3g}"
        return f"VC dimension {self.h:.3g} on {self.d} features, {share}, residual {self.rms:.3f}"

    def as_dict(self) -> dict[str, Any]:
        """Return everything as a dict that JSON can hold."""
        return {
            "h": self.h, "low": self.low, "high": self.high, "confidence": self.confidence, "d": self.d,
            "sizes": self.sizes.tolist(), "measured": self.measured.tolist(), "fitted": self.fitted.tolist(),
            "designs": list(self.designs), "loss": self.loss,
        }  # fmt: skip

    def plot(self) -> Any:
        """Draw the measured deviations beside the fitted curve; returns a ``matplotlib.figure.Figure``.

        Raises
        ------
        ImportError
            If matplotlib is not installed.
        """
        from ..reproduce.figure6 import plotting

        figure = plotting()(figsize=(7, 4.5), layout="constrained")
        axes = figure.subplots()
        error = self.deviations.std(axis=1) / math.sqrt(max(1, self.deviations.shape[1] - 1))
        axes.errorbar(self.sizes, self.measured, 2.0 * error, fmt="o", ms=4, color="#222222", label="measured")
        if math.isfinite(self.h):
            n = np.geomspace(self.sizes.min(), self.sizes.max(), 200)
            axes.plot(n, deviation_bound(n / self.h), color="#0072b2", label=f"fitted, h = {self.h:.3g}")
            band = [deviation_bound(n / end) for end in (self.low, self.high)]
            axes.fill_between(n, *band, color="#0072b2", alpha=0.2, lw=0, label=f"{100 * self.confidence:g} % interval")
        axes.set_xscale("log")
        axes.set_xlabel("points in each half, n")
        axes.set_ylabel("deviation of the error rates")
        axes.legend(frameon=False)
        return figure


def estimate_vc(
    estimator: Any,
    d: int,
    *,
    design: int = 20,
    repeats: int = 20,
    ratios: tuple[float, float] = (0.5, 30.0),
    guess: float | None = None,
    loss: str = "huber",
    confidence: float = 0.95,
    n_bootstrap: int = 500,
    sampler: Sampler | None = None,
    min_size: int | None = None,
    max_size: int = _LARGEST,
    n_jobs: int | None = 1,
    progress: bool | Callable[[int, int], None] = False,
    random_state: int | np.random.SeedSequence | None = None,
) -> VCEstimate:
    r"""Measure the VC dimension of a classifier by uniform design.

    Parameters
    ----------
    estimator : {"univariate", "linear", "quadratic"}, scikit-learn classifier or callable
        A model of an omnivariate node by name; or a classifier, of which a clone is fitted in every experiment; or a
        function of points and labels that returns something with a method ``predict``, or a function that predicts.
    d : int
        Number of features of the points.
    design : int, default=20
        Number of design points.
    repeats : int, default=20
        Experiments at each design point.
    ratios : (float, float), default=(0.5, 30)
        Smallest and largest n / h; design points are evenly spaced in its logarithm.
    guess : float, optional
        h for the first design; found by a few small experiments unless given.
    loss : {"huber", "squared"}, default="huber"
        Minimise over h the sum of squares of measured minus fitted (the paper's Eq. 12), or Huber's loss, which is
        linear in residuals that stand out.
    confidence : float, default=0.95
        Confidence of the interval.
    n_bootstrap : int, default=500
        Bootstrap samples behind the interval; the experiments of each design point are drawn with replacement.
    sampler : callable, optional
        ``sampler(rng, n, d)`` returns n points; uniform in [-1, 1]^d unless given.
    min_size : int, optional
        Smallest n; 1 for named models and 2 for others, which may refuse fewer points.
    max_size : int, default=131072
        Largest n.
    n_jobs : int, default=1
        Processes, as in joblib; the answer does not depend on it.
    progress : bool or callable, default=False
        Show a line on the terminal, or call with the number of experiments done and planned.
    random_state : int or SeedSequence, optional
        Seed.

    Returns
    -------
    VCEstimate

    Raises
    ------
    TypeError, ValueError
        If an argument is of the wrong kind or out of range.

    Notes
    -----
    An experiment (the paper's Figure 1) draws 2 n points with random labels, flips the labels of the second half, fits,
    flips them back, and takes the absolute difference of the error rates on the halves: 1 - 2 e if e is the training
    error. The first design is laid around a rough h; when the h that it gives is more than 15 % off, a new design is
    laid around that, at most four times.

    The named models are those of the node: linear discriminants on all principal components, whose sides are labelled
    by their majority. Discriminant analysis does not minimise the number of training errors. Fitted once it comes out
    at 0.75 to 0.9 of the number d + 1, or (d^2 + 3d + 2) / 2, of parameters, which is the VC dimension of the class,
    and exact minimisation (d = 1) at 1.4 of it. Here linear and quadratic models are fitted once more without the 3
    percent of the points that are farthest on the wrong side, and the better fit is taken: that brings the estimate
    within 10 percent of the number of parameters for d up to 10. The univariate model is a single discriminant on the
    feature with the fewest errors; it comes out at about log2(d) + 1 from d = 2 on, below the VC dimension of all
    thresholds on one of d features, since it does not search them. At d = 1, where log2(d) + 1 = 1, that is 2, and
    the estimate lies between.

    Cost: design x repeats fits for each design laid, with 2 n points each.

    Examples
    --------
    >>> estimate = estimate_vc("linear", 3, random_state=0)
    >>> 3.6 < estimate.h < 4.4
    True
    """
    d, design, repeats = check_int("d", d, 1), check_int("design", design, 2), check_int("repeats", repeats, 1)
    check_choice("loss", loss, LOSSES)
    confidence = _open_share("confidence", confidence)
    n_bootstrap = check_int("n_bootstrap", n_bootstrap, 1)
    fewest = 2 - isinstance(estimator, str) if min_size is None else check_int("min_size", min_size, 1)
    span = (fewest, check_int("max_size", max_size, fewest))
    low, high = _checked_ratios(ratios)
    first = None if guess is None else check_number("guess", guess, 1e-9)
    train, seed = _trainer(estimator), _seed(random_state)
    with one_thread(), _reporter(progress) as report:
        lab = _Laboratory(train, d, repeats, sampler, n_jobs, report, seed)
        return _run(lab, design, (low, high), first, loss, confidence, n_bootstrap, span)


def _run(
    lab: _Laboratory, design: int, ratios: tuple[float, float], guess: float | None, loss: str, confidence: float,
    n_bootstrap: int, span: tuple[int, int],
) -> VCEstimate:  # fmt: skip
    """Lay designs until the h that one gives is the h that it was laid around."""
    around = lab.rough(*span) if guess is None else guess
    max_size = span[1]
    designs: list[float] = []
    for _ in range(4):
        designs.append(around)
        if math.isinf(around):
            seen = lab.measure(np.array([max_size]), 1)
            return VCEstimate(math.inf, 2.0 * max_size, math.inf, confidence, lab.d, np.array([max_size]), seen,
                              tuple(designs), loss)  # fmt: skip
        sizes = _design(around, ratios, design, *span)
        deviations = lab.measure(sizes)
        h = float(_fit(sizes, deviations.mean(axis=1)[None], loss)[0])
        if abs(math.log(h / around)) <= math.log(1.15):
            break
        around = h
    rng = np.random.default_rng(lab.seed.spawn(1)[0])
    tails = _bootstrap(sizes, deviations, loss, n_bootstrap, rng, confidence)
    return VCEstimate(h, min(h, tails[0]), max(h, tails[1]), confidence, lab.d, sizes, deviations, tuple(designs), loss)


# ---- experiments


def _trainer(estimator: Any) -> Trainer:
    """Return a function that fits to points and labels and predicts the same points."""
    if isinstance(estimator, str):
        return _NamedModel(check_choice("estimator", estimator, KINDS))
    if hasattr(estimator, "fit") and hasattr(estimator, "predict") and not isinstance(estimator, type):
        return _Clone(estimator)
    if callable(estimator) and not isinstance(estimator, type):
        return _Function(estimator)
    wanted = "a model's name, a classifier with fit and predict, or a function"
    raise TypeError(f"expected {wanted}, got {estimator!r}")


@dataclass(frozen=True)
class _NamedModel:
    """A model of an omnivariate node whose sides are labelled by their majority."""

    kind: str

    def __call__(self, X: Floats, y: Ints) -> npt.NDArray[Any]:
        rows = make_rows(X, y, 2)
        split = fit_model(self.kind, rows, 1.0, TRIM)
        if split is None:
            return np.full(y.size, int(rows.counts.argmax()))
        labels = np.array([split.left_counts.argmax(), split.right_counts.argmax()])
        return labels[split.right.astype(np.intp)]


@dataclass(frozen=True)
class _Clone:
    """A clone of a classifier for each experiment."""

    estimator: Any

    def __call__(self, X: Floats, y: Ints) -> npt.NDArray[Any]:
        from sklearn.base import clone

        return np.asarray(clone(self.estimator).fit(X, y).predict(X))


@dataclass(frozen=True)
class _Function:
    """A function that fits."""

    fit: Callable[[Floats, Ints], Any]

    def __call__(self, X: Floats, y: Ints) -> npt.NDArray[Any]:
        fitted = self.fit(X, y)
        predict = getattr(fitted, "predict", fitted)
        if not callable(predict):
            raise TypeError(f"expected estimator(X, y) to return something that predicts, got {fitted!r}")
        return np.asarray(predict(X))


def _uniform(rng: np.random.Generator, n: int, d: int) -> Floats:
    """Points in the cube [-1, 1]^d."""
    return rng.uniform(-1.0, 1.0, size=(n, d))


def _experiment(train: Trainer, sampler: Sampler, d: int, n: int, seed: np.random.SeedSequence) -> float:
    """One deviation: lines 5 to 12 of the paper's Figure 1."""
    rng = np.random.default_rng(seed)
    X = np.asarray(sampler(rng, 2 * n, d), dtype=np.float64)
    if X.shape != (2 * n, d):
        raise ValueError(f"expected sampler to return shape {(2 * n, d)}, got {X.shape}")
    labels = rng.integers(0, 2, 2 * n)
    flipped = labels.copy()
    flipped[n:] ^= 1
    # A classifier may refuse a single class; the constant has no error there.
    predicted = flipped if (flipped == flipped[0]).all() else train(X, flipped)
    if predicted.shape != (2 * n,):
        raise ValueError(f"expected {2 * n} predicted labels, got shape {predicted.shape}")
    wrong = predicted != labels
    return abs(float(wrong[:n].mean()) - float(wrong[n:].mean()))


def _experiments(
    train: Trainer, sampler: Sampler, d: int, n: int, seeds: list[np.random.SeedSequence]
) -> list[float]:
    """Several experiments of one size, for one process."""
    return [_experiment(train, sampler, d, n, seed) for seed in seeds]


@dataclass
class _Laboratory:
    """Runs experiments; the seed of each is its size and number, so that nothing depends on order or processes."""

    train: Trainer
    d: int
    repeats: int
    sampler: Sampler | None
    n_jobs: int | None
    report: Callable[[int, int], None]
    seed: np.random.SeedSequence
    done: int = 0

    def seeds(self, n: int, repeats: int) -> list[np.random.SeedSequence]:
        """The seeds of the experiments of one size."""
        root = self.seed
        return [
            np.random.SeedSequence(root.entropy, spawn_key=(*root.spawn_key, n, place)) for place in range(repeats)
        ]

    def rough(self, min_size: int, max_size: int) -> float:
        """A rough h: double n until the deviation is clearly below 1, then read the formula backwards."""
        n = min_size
        while True:
            deviation = float(self.measure(np.array([n]), _PILOT).mean())
            if deviation < 0.6:  # Phi(1.4): not far from the middle of the curve
                return n / inverse_deviation(max(deviation, 1e-6))
            if n >= max_size:
                return math.inf if deviation > 0.98 else n / inverse_deviation(deviation)
            n = min(2 * n, max_size)

    def measure(self, sizes: Ints, repeats: int | None = None) -> Floats:
        """Deviations at some sizes, sizes x repeats."""
        repeats = self.repeats if repeats is None else repeats
        planned = self.done + repeats * sizes.size
        sampler = _uniform if self.sampler is None else self.sampler
        out = np.empty((sizes.size, repeats))
        with _pool(self.n_jobs) as run:
            for place, n in enumerate(sizes.tolist()):
                tasks = [(self.train, sampler, self.d, n, part) for part in _parts(self.seeds(n, repeats), run.width)]
                out[place] = [value for values in run(tasks) for value in values]
                self.done += repeats
                self.report(self.done, planned)
        return out


def _parts(seeds: list[np.random.SeedSequence], width: int) -> list[list[np.random.SeedSequence]]:
    """Seeds in at most ``width`` runs of almost equal length, in order."""
    step = -(-len(seeds) // max(1, width))
    return [seeds[start : start + step] for start in range(0, len(seeds), step)]


class _pool:
    """Runs tasks in order, here or in processes."""

    def __init__(self, n_jobs: int | None) -> None:
        self.width, self._parallel = 1, None
        if n_jobs not in (None, 1):
            from joblib import Parallel, effective_n_jobs  # type: ignore[import-untyped]

            self.width = effective_n_jobs(n_jobs)
            self._parallel = Parallel(n_jobs=n_jobs)

    def __enter__(self) -> _pool:
        if self._parallel is not None:
            self._parallel.__enter__()
        return self

    def __exit__(self, *error: Any) -> None:
        if self._parallel is not None:
            self._parallel.__exit__(*error)

    def __call__(self, tasks: list[tuple[Any, ...]]) -> list[list[float]]:
        if self._parallel is None:
            return [_experiments(*task) for task in tasks]
        from joblib import delayed

        return list(self._parallel(delayed(_experiments)(*task) for task in tasks))


# ---- fitting h


def _design(h: float, ratios: tuple[float, float], design: int, min_size: int, max_size: int) -> Ints:
    """Sizes with n / h evenly spaced in its logarithm, each once; fewer than asked for if h is too small."""
    wanted = np.rint(np.geomspace(ratios[0], ratios[1], design) * h)
    sizes = np.unique(np.clip(wanted, min_size, max_size).astype(np.intp))
    last = min(max_size, max(int(sizes[-1]), int(sizes[0]) + 1))
    missing = design - sizes.size
    if missing > 0:  # rounding has made sizes equal: fill the gaps from below
        free = np.setdiff1d(np.arange(sizes[0], last + 1), sizes)[:missing]
        sizes = np.sort(np.concatenate([sizes, free]))
    return sizes


def _fit(sizes: Ints, means: Floats, loss: str) -> Floats:
    """The h with the least loss, for each row of mean deviations.

    For Huber's loss the scale of ordinary residuals comes from the fit by least absolute values: 1.345 standard
    deviations, by the median, beyond which it is linear.
    """
    low, high = math.log(float(sizes.min()) / 1e3), math.log(2.5 * float(sizes.max()))
    middle, half = np.full(len(means), (low + high) / 2.0), (high - low) / 2.0
    if loss == "squared":
        return np.asarray(np.exp(_least(sizes, means, middle, half, np.square)))
    rough = _least(sizes, means, middle, half, np.abs)
    ordinary = np.median(np.abs(means - _curves(sizes, rough)), axis=1)
    bound = np.maximum(1.345 * 1.4826 * ordinary, 1e-4)[:, None, None]

    def huber(residuals: Floats) -> Floats:
        size = np.abs(residuals)
        return np.asarray(np.where(size <= bound, size**2, bound * (2.0 * size - bound)))

    return np.asarray(np.exp(_least(sizes, means, rough, half / 8.0, huber)))


def _least(
    sizes: Ints, means: Floats, middle: Floats, half: float, loss: Callable[[Floats], Floats], n_grid: int = 129
) -> Floats:
    """The log h with the least sum of losses, for each row, on a grid that is refined around its best point.

    A grid and not a descent: with few design points the sum has several minima.
    """
    while half > 1e-5:
        grid = middle[:, None] + np.linspace(-half, half, n_grid)
        total = loss(means[:, None, :] - _curves(sizes, grid)).sum(axis=2)
        middle = grid[np.arange(len(means)), total.argmin(axis=1)]
        half = 4.0 * half / (n_grid - 1)
    return middle


def _curves(sizes: Ints, log_h: Floats) -> Floats:
    """The formula at every size for every h."""
    return np.asarray(deviation_bound(sizes / np.exp(log_h)[..., None]))


def _bootstrap(
    sizes: Ints, deviations: Floats, loss: str, n_bootstrap: int, rng: np.random.Generator, confidence: float
) -> tuple[float, float]:
    """Percentiles of h when the experiments of each design point are drawn again."""
    n_points, repeats = deviations.shape
    found = []
    for start in range(0, n_bootstrap, 50):  # fifty at a time: a grid takes 50 x 129 x points numbers
        some = min(50, n_bootstrap - start)
        drawn = rng.integers(0, repeats, size=(some, n_points, repeats))
        means = np.take_along_axis(deviations[None], drawn, axis=2).mean(axis=2)
        found.append(_fit(sizes, means, loss))
    tail = (1.0 - confidence) / 2.0
    low, high = np.quantile(np.concatenate(found), [tail, 1.0 - tail])
    return float(low), float(high)


# ---- arguments


def _checked_ratios(ratios: Any) -> tuple[float, float]:
    """The range of n / h."""
    try:
        low, high = ratios
    except (TypeError, ValueError):
        raise ValueError(f"expected ratios to be two numbers, got {ratios!r}") from None
    low = check_number("ratios[0]", low, 0.5)
    high = check_number("ratios[1]", high)
    if not low < high < math.inf:
        raise ValueError(f"expected ratios[0] < ratios[1], got {ratios!r}")
    return low, high


def _open_share(name: str, value: object) -> float:
    """A number inside (0, 1)."""
    number = check_number(name, value)
    if not 0.0 < number < 1.0:
        raise ValueError(f"expected 0 < {name} < 1, got {value!r}")
    return number


def _seed(random_state: object) -> np.random.SeedSequence:
    """The root of all seeds."""
    if isinstance(random_state, np.random.SeedSequence):
        return np.random.SeedSequence(random_state.entropy, spawn_key=random_state.spawn_key)
    return np.random.SeedSequence(None if random_state is None else check_int("random_state", random_state, 0))


@contextmanager
def _reporter(progress: bool | Callable[[int, int], None]) -> Iterator[Callable[[int, int], None]]:
    """What to call after each design point."""
    if callable(progress):
        yield progress
    elif not isinstance(progress, bool):
        raise TypeError(f"expected progress to be True, False or a function, got {progress!r}")
    elif not progress:
        yield lambda done, planned: None
    else:
        from ..cli import ProgressLine

        with ProgressLine() as line:
            yield lambda done, planned: line.show(f"{done}/{planned} experiments")

r"""The three models of an omnivariate node: univariate, linear and quadratic discriminants.

Rows z are in standard units. A model maps a row to a score phi(z)'w and sends it right if the score is above a
threshold t:

* univariate: the score is one feature;
* linear: phi(z) = z;
* quadratic: phi(z) = (z_1, ..., z_p, z_1^2, z_1 z_2, ..., z_p^2), P = (p^2 + 3p) / 2 functions.

**Discriminant after principal components.** Let T be the total scatter of phi over the rows of the node, and (V, L)
its k leading eigenvectors and eigenvalues, which hold a given share of the trace, so that no scatter is singular. In
the coordinates y = L^(-1/2) V' (phi - mean) the total scatter is I. For groups 0 and 1 with n0 + n1 = n rows, means
that differ by d and a = n0 n1 / n the scatter within the groups is W = I - a d d', so that

    W^-1 d = d / (1 - a d'd),

and the direction of Fisher's discriminant is d itself: one eigenproblem serves every grouping of the classes. R2 = a
d'd is the explained share of variance. With equal covariances W / n and priors n0/n, n1/n a row belongs to group 1
if

    score > (mean score of 0 + mean score of 1) / 2 - (1 - R2) / n log(n1 / n0),

which is what scikit-learn's LinearDiscriminantAnalysis decides. Where that leaves a side empty (unequal groups close
together) the midpoint of the means is taken, which never does.

**Cost.** If n > P, T is built from blocks of rows (n P^2 / 2 products) and P x P is diagonalised. Otherwise the n x n
matrix of inner products has the same eigenvalues, and for the quadratic model its entries are

    phi(x)'phi(z) = g + (g^2 + sum_i x_i^2 z_i^2) / 2,   g = x'z,

so that the P functions are never formed: O(n^2 p + n^3). The weights come back as a vector and a p x p matrix. All of
it is matrix products and eigenproblems in LAPACK.

References
----------
O. T. Yildiz, Model selection in omnivariate decision trees using structural risk minimization, Information Sciences
181 (2011), 5214-5226. O. T. Yildiz and E. Alpaydin, Linear discriminant trees, IJPRAI 19 (2005), 323-353.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from ._grouping import find_groups

Floats = npt.NDArray[np.float64]
Codes = npt.NDArray[np.intp]
Mask = npt.NDArray[np.bool_]

KINDS = ("univariate", "linear", "quadratic")
"""The models, from simple to complex."""

_BLOCK = 2048
"""Rows of quadratic functions formed at a time: 4 MB at 20 features."""

_RANK = 1e-11
"""Eigenvalues below this share of the largest are rounding errors of a scatter matrix in double precision."""


@dataclass(frozen=True, slots=True)
class Rows:
    """The rows that reach a node, complete and in standard units."""

    Z: Floats
    """Values, n x p."""
    codes: Codes
    """Class of each row, 0 to K - 1."""
    onehot: Floats
    """The same as n x K indicators."""
    counts: Floats
    """Rows of each class."""

    @property
    def n(self) -> int:
        """Number of rows."""
        return self.codes.size

    def take(self, chosen: npt.NDArray[np.intp] | Mask) -> Rows:
        """Return some of the rows."""
        onehot = self.onehot[chosen]
        return Rows(self.Z[chosen], self.codes[chosen], onehot, onehot.sum(axis=0))


def make_rows(Z: Floats, codes: Codes, n_classes: int) -> Rows:
    """Return rows with their indicators."""
    onehot = np.zeros((codes.size, n_classes))
    onehot[np.arange(codes.size), codes] = 1.0
    return Rows(Z, codes, onehot, onehot.sum(axis=0))


@dataclass(frozen=True, slots=True, eq=False)
class NodeModel:
    """What a node asks: a score and a threshold, in standard units."""

    kind: str
    """``"univariate"``, ``"linear"`` or ``"quadratic"``."""
    threshold: float
    """Scores above it go right."""
    n_parameters: int
    """Free parameters: 2, k + 1 or m + 1 after k or m principal components."""
    group: Mask
    """Classes of the group that is to go right."""
    feature: int = -1
    """Feature of a univariate model."""
    linear: Floats | None = None
    """Weights of z, length p."""
    quadratic: Floats | None = None
    """Weights of z_i z_j for i <= j, an upper triangular p x p matrix."""

    def scores(self, Z: Floats) -> Floats:
        """Return the score of each row."""
        if self.linear is None:
            return Z[:, self.feature]
        return _scores(Z, self.linear, self.quadratic)

    def goes_right(self, Z: Floats) -> Mask:
        """Return which rows go right."""
        return self.scores(Z) > self.threshold


@dataclass(frozen=True, slots=True)
class Split:
    """A fitted model and what it does to the rows of its node."""

    model: NodeModel
    """The model."""
    right: Mask
    """Which rows go right; some do and some do not."""
    left_counts: Floats
    """Rows of each class that go left."""
    right_counts: Floats
    """Rows of each class that go right."""

    @property
    def error(self) -> float:
        """Share of rows that are not of the largest class on their side (Eq. 5)."""
        n = self.left_counts.sum() + self.right_counts.sum()
        return float((n - self.left_counts.max() - self.right_counts.max()) / n)

    @property
    def log_likelihood(self) -> float:
        """Log-likelihood of the classes given the sides (Eq. 6)."""
        return log_likelihood(self.left_counts) + log_likelihood(self.right_counts)


def log_likelihood(counts: Floats) -> float:
    """Sum of n_i log(n_i / n) over the classes.

    Examples
    --------
    >>> import numpy as np
    >>> round(log_likelihood(np.array([3.0, 1.0, 0.0])), 4)  # 3 log(3/4) + log(1/4)
    -2.2493
    """
    some = counts[counts > 0]
    return float(some @ np.log(some / some.sum()))


def vc_dimension(kind: str, d: int) -> float:
    """VC dimension that the paper gives to a model on d features; 1 for a leaf.

    Examples
    --------
    >>> [vc_dimension(kind, 8) for kind in ("leaf", "univariate", "linear", "quadratic")]
    [1.0, 4.0, 9.0, 45.0]
    """
    if kind == "univariate":
        return math.log2(d) + 1.0
    if kind == "linear":
        return d + 1.0
    return (d * d + 3.0 * d + 2.0) / 2.0 if kind == "quadratic" else 1.0


# ---- fitting


def fit_model(kind: str, rows: Rows, variance: float = 0.99, trim: float = 0.0) -> Split | None:
    """Fit a model to the rows of a node; None if no model of that kind divides them.

    Parameters
    ----------
    kind : {"univariate", "linear", "quadratic"}
        Which model.
    rows : Rows
        At least two classes have rows.
    variance : float, default=0.99
        Share of the variance that the principal components keep.
    trim : float, default=0.0
        Fit linear and quadratic models a second time without this share of the rows, those on the wrong side and
        farthest from the border, and keep the fit with fewer errors.
    """
    if kind == "univariate":
        return _fit_univariate(rows)
    split = _fit_discriminant(kind, rows, rows, variance)
    if split is None or trim <= 0.0:
        return split
    kept = _without_worst(split, rows, trim)
    again = None if kept is None else _fit_discriminant(kind, kept, rows, variance)
    return split if again is None or again.error >= split.error else again


def _without_worst(split: Split, rows: Rows, trim: float) -> Rows | None:
    """The rows but the share that is worst on the wrong side; None if that leaves one group only."""
    n_out = math.ceil(trim * rows.n)
    margin = split.model.scores(rows.Z) - split.model.threshold
    margin[~split.model.group[rows.codes]] *= -1.0
    n_out = min(n_out, int((margin < 0).sum()))
    if n_out == 0:
        return None
    kept = rows.take(np.sort(np.argpartition(margin, n_out - 1)[n_out:]))
    inside = float(kept.counts[split.model.group].sum())
    return kept if 0.0 < inside < kept.n else None


def _counted(model: NodeModel, rows: Rows, right: Mask) -> Split | None:
    """The split that a model makes, None if a side is empty."""
    n_right = int(np.count_nonzero(right))
    if n_right in (0, rows.n):
        return None
    right_counts = right.astype(np.float64) @ rows.onehot
    return Split(model, right, rows.counts - right_counts, right_counts)


# ---- univariate


def _fit_univariate(rows: Rows) -> Split | None:
    """The discriminant of one feature with the fewest errors; equal errors are told apart by the log-likelihood.

    Classes are grouped along each feature by the order of their means: of the K - 1 cuts in that order, one is the
    best of all 2^(K-1) - 1 groupings, as R2 is a convex function of the mean of a group.
    """
    Z, n = rows.Z, float(rows.n)
    present = np.flatnonzero(rows.counts)
    counts = rows.counts[present]
    onehot = rows.onehot if present.size == rows.counts.size else rows.onehot[:, present]
    means = (onehot.T @ Z) / counts[:, None]
    centre = counts @ means / n
    centred = Z - centre
    total = np.einsum("ij,ij->j", centred, centred)
    cuts = _two_classes(means, counts) if present.size == 2 else _best_cuts(means, counts, centre)
    usable = (total > n * (1e-14 * (1.0 + np.abs(centre))) ** 2) & (cuts.high > cuts.low)  # more than rounding
    if not usable.any():
        return None
    borders = _borders(cuts, np.where(usable, total, 1.0))
    right = borders < Z
    totals = onehot.T @ right.astype(np.float64)
    sizes = totals.sum(axis=0)
    empty = usable & ((sizes == 0.0) | (sizes == n))
    if empty.any():
        borders[empty] = (cuts.low[empty] + cuts.high[empty]) / 2.0
        right[:, empty] = borders[empty] < Z[:, empty]
        totals[:, empty] = onehot.T @ right[:, empty].astype(np.float64)
    feature = _fewest_errors(totals, counts, usable)
    group = np.zeros(rows.counts.size, dtype=np.bool_)
    group[present[cuts.is_high[:, feature]]] = True
    model = NodeModel("univariate", float(borders[feature]), 2, group, feature)
    return _counted(model, rows, right[:, feature])


@dataclass(frozen=True, slots=True)
class _Cuts:
    """For each feature two groups of the classes."""

    low: Floats
    """Mean of the lower group."""
    high: Floats
    """Mean of the higher group."""
    n0: Floats
    """Rows of the lower group."""
    n1: Floats
    """Rows of the higher group."""
    is_high: Mask
    """Which classes are in the higher group, classes x features."""


def _borders(cuts: _Cuts, total: Floats) -> Floats:
    """Thresholds by equal variances and priors, see the top; a feature with total scatter T has d / T for d."""
    n, gap = cuts.n0 + cuts.n1, cuts.high - cuts.low
    within = np.maximum(total - cuts.n0 * cuts.n1 / n * gap * gap, 0.0)
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        shift = within / (gap * n) * np.log(cuts.n1 / cuts.n0)
    shift[~np.isfinite(shift)] = 0.0
    return (cuts.low + cuts.high) / 2.0 - shift


def _two_classes(means: Floats, counts: Floats) -> _Cuts:
    """The only grouping of two classes."""
    is_swapped = means[0] > means[1]
    n0 = np.where(is_swapped, counts[1], counts[0])
    is_high = np.stack([is_swapped, ~is_swapped])
    return _Cuts(means.min(axis=0), means.max(axis=0), n0, counts.sum() - n0, is_high)


def _best_cuts(means: Floats, counts: Floats, centre: Floats) -> _Cuts:
    """The grouping with the largest R2 for each feature."""
    n = counts.sum()
    order = np.argsort(means, axis=0, kind="stable")
    sizes = counts[order]
    n_below = np.cumsum(sizes, axis=0)[:-1]
    ordered = np.take_along_axis(means, order, axis=0) * sizes
    below = np.cumsum(ordered, axis=0)[:-1]
    shares = (below - n_below * centre) ** 2 / (n_below * (n - n_below))  # times n / T: R2
    cut = shares.argmax(axis=0)
    columns = np.arange(cut.size)
    n0, sums = n_below[cut, columns], below[cut, columns]
    is_high = np.empty(means.shape, dtype=np.bool_)
    np.put_along_axis(is_high, order, np.arange(len(counts))[:, None] > cut, axis=0)
    return _Cuts(sums / n0, (n * centre - sums) / (n - n0), n0, n - n0, is_high)


def _fewest_errors(right: Floats, counts: Floats, usable: Mask) -> int:
    """The usable feature with the fewest errors, then the largest log-likelihood, then the lowest number."""
    left = counts[:, None] - right
    correct = np.where(usable, left.max(axis=0) + right.max(axis=0), -1.0)
    best = np.flatnonzero(correct == correct.max())
    if best.size == 1:
        return int(best[0])
    sides = np.concatenate([left[:, best], right[:, best]], axis=1)
    shares = np.maximum(sides, 1e-300) / sides.sum(axis=0)  # 0 log 0 = 0
    likelihood = (sides * np.log(shares)).sum(axis=0)
    return int(best[int(np.argmax(likelihood[: best.size] + likelihood[best.size :]))])


# ---- linear and quadratic


@dataclass(frozen=True, slots=True)
class _Spectrum:
    """Principal components of the rows, by either of the two eigenproblems."""

    values: Floats
    """The k leading eigenvalues of the total scatter."""
    vectors: Floats
    """Their eigenvectors: P x k, or n x k of the inner products."""
    is_dual: bool
    """Whether the vectors are those of the inner products."""
    means: Floats
    """Class means in coordinates where the total scatter is I, K x k; 0 for classes without rows."""


def _leading(matrix: Floats, variance: float) -> tuple[Floats, Floats] | None:
    """The leading eigenvalues of a scatter matrix, largest first, with their vectors; None if it is zero."""
    values, vectors = np.linalg.eigh(matrix)
    values, vectors = values[::-1], vectors[:, ::-1]
    total = float(values[values > 0].sum())
    if not values[0] > 0.0 or not total > 0.0:
        return None
    n_sound = int(np.count_nonzero(values > _RANK * values[0]))
    enough = int(np.searchsorted(np.cumsum(values[:n_sound]), variance * total * (1.0 - 1e-12))) + 1
    k = min(n_sound, enough)
    return values[:k], vectors[:, :k]


def _fit_discriminant(kind: str, rows: Rows, judged: Rows, variance: float) -> Split | None:
    """Fit a linear or quadratic model to some rows, and count what it does to others (mostly the same)."""
    is_quadratic = kind == "quadratic"
    p = rows.Z.shape[1]
    n_functions = (p * p + 3 * p) // 2 if is_quadratic else p
    is_dual = rows.n <= n_functions
    spectrum = _dual(rows, is_quadratic, variance) if is_dual else _primal(rows, is_quadratic, variance)
    if spectrum is None:
        return None
    group = find_groups(spectrum.means, rows.counts)
    difference = _between(spectrum.means, rows.counts, group)
    linear, quadratic = _weights(rows.Z, spectrum, difference, is_quadratic)
    scores = _scores(rows.Z, linear, quadratic)
    is_one = group[rows.codes]
    n1 = float(np.count_nonzero(is_one))
    n0 = rows.n - n1
    high, low = float(scores[is_one].sum()) / n1, float(scores[~is_one].sum()) / n0
    if not high - low > 1e-12 * max(abs(high), abs(low)):
        return None
    share = min(1.0, n0 * n1 / rows.n * float(difference @ difference))
    middle = (low + high) / 2.0
    shift = (1.0 - share) / rows.n * math.log(n1 / n0)
    judged_scores = scores if judged is rows else _scores(judged.Z, linear, quadratic)
    for threshold in (middle - shift, middle):
        model = NodeModel(kind, threshold, spectrum.values.size + 1, group, -1, linear, quadratic)
        split = _counted(model, judged, judged_scores > threshold)
        if split is not None:
            return split
    return None


def _between(means: Floats, counts: Floats, group: Mask) -> Floats:
    """Difference of the group means."""
    inside = counts * group
    outside = counts - inside
    out: Floats = (inside @ means) / inside.sum() - (outside @ means) / outside.sum()
    return out


def _scores(Z: Floats, linear: Floats, quadratic: Floats | None) -> Floats:
    """phi(z)'w for each row; blocks keep the product of rows and matrix small."""
    out: Floats = Z @ linear
    if quadratic is not None:
        for start in range(0, len(Z), _BLOCK):
            block = Z[start : start + _BLOCK]
            out[start : start + _BLOCK] += np.einsum("ij,ij->i", block @ quadratic, block)
    return out


def _weights(Z: Floats, spectrum: _Spectrum, difference: Floats, is_quadratic: bool) -> tuple[Floats, Floats | None]:
    """Weights of z and of z_i z_j, from a direction in the coordinates of the components."""
    p = Z.shape[1]
    if spectrum.is_dual:
        pull = spectrum.vectors @ (difference / spectrum.values)  # sums to 0, so that phi need not be centred
        return Z.T @ pull, np.triu(Z.T @ (Z * pull[:, None])) if is_quadratic else None
    weights = spectrum.vectors @ (difference / np.sqrt(spectrum.values))
    if not is_quadratic:
        return weights, None
    quadratic = np.zeros((p, p))
    quadratic[np.triu_indices(p)] = weights[p:]
    return weights[:p], quadratic


def _dual(rows: Rows, is_quadratic: bool, variance: float) -> _Spectrum | None:
    """Components from the n x n inner products."""
    Z = rows.Z - rows.Z.mean(axis=0) if not is_quadratic else rows.Z
    inner = Z @ Z.T
    if is_quadratic:
        squares = Z * Z
        inner += (inner * inner + squares @ squares.T) / 2.0
        column = inner.mean(axis=0)
        inner -= column
        inner -= (column - column.mean())[:, None]
    found = _leading(inner, variance)
    if found is None:
        return None
    values, vectors = found
    means = rows.onehot.T @ vectors / np.maximum(rows.counts, 1.0)[:, None]
    return _Spectrum(values, vectors, True, means)


def _primal(rows: Rows, is_quadratic: bool, variance: float) -> _Spectrum | None:
    """Components from the P x P total scatter."""
    counts = np.maximum(rows.counts, 1.0)[:, None]
    sums = _quadratic_sums(rows) if is_quadratic else rows.onehot.T @ rows.Z
    centre = sums.sum(axis=0) / rows.n
    if is_quadratic:
        scatter = _quadratic_scatter(rows.Z, centre)
    else:
        centred = rows.Z - centre
        scatter = centred.T @ centred
    found = _leading(scatter, variance)
    if found is None:
        return None
    values, vectors = found
    means = (sums - rows.counts[:, None] * centre) @ vectors / np.sqrt(values) / counts
    return _Spectrum(values, vectors, False, means)


def _quadratic_sums(rows: Rows) -> Floats:
    """Sums of phi over the rows of each class, from the second moments: n p^2 products instead of n P K."""
    p = rows.Z.shape[1]
    upper = np.triu_indices(p)
    out = np.zeros((rows.counts.size, p + upper[0].size))
    out[:, :p] = rows.onehot.T @ rows.Z
    for code in np.flatnonzero(rows.counts):
        of_class = rows.Z[rows.codes == code]
        out[code, p:] = (of_class.T @ of_class)[upper]
    return out


def _quadratic_scatter(Z: Floats, centre: Floats) -> Floats:
    """Total scatter of phi, a block of rows at a time."""
    p = Z.shape[1]
    scatter = np.zeros((centre.size, centre.size))
    for start in range(0, len(Z), _BLOCK):
        block = quadratic_basis(Z[start : start + _BLOCK])
        block -= centre
        scatter += block.T @ block
    assert scatter.shape[0] == (p * p + 3 * p) // 2
    return scatter


def quadratic_basis(Z: Floats) -> Floats:
    """Return phi(z) for each row: z_1, ..., z_p, then z_i z_j for i <= j in order.

    Examples
    --------
    >>> import numpy as np
    >>> quadratic_basis(np.array([[2.0, 3.0]])).tolist()
    [[2.0, 3.0, 4.0, 6.0, 9.0]]
    """
    n, p = Z.shape
    out = np.empty((n, (p * p + 3 * p) // 2))
    out[:, :p] = Z
    at = p
    for i in range(p):
        np.multiply(Z[:, i : i + 1], Z[:, i:], out=out[:, at : at + p - i])
        at += p - i
    return out

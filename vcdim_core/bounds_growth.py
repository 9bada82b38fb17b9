"""Upper bounds on partitioning and growth functions: exact integers, and logarithms rounded up."""

from __future__ import annotations

import math
from typing import Literal

from ._chain import chain_row
from ._counts import MixedRows, finite_state, loose_values, n_distinct, real_rows
from ._mixed import MAX_FEATURES, FastRows
from ._mixed import MAX_POINTS as FAST_POINTS
from ._rows import CACHE, CacheInfo, Row, Table, root_row
from ._validation import check_choice, check_int
from .features import Features, as_features
from .structures import Structure, as_structure

__all__ = ["cache_clear", "cache_info", "growth_bound", "log_growth_bound", "partitioning_bound"]

MAX_POINTS = 1_000_000
_KERNEL_PARTS = 64  # more parts than this go to exact integers: the kernel's table of coefficients is cubic in them

Form = Literal["tight", "loose"]
GrowthMethod = Literal["theorem9", "best"]


def cache_info() -> CacheInfo:
    """Return how the cache of rows was used: hits, misses, rows, bytes and the limit in bytes.

    Notes
    -----
    Bounds on real features are computed for every distinct substructure and kept across calls, least recently used
    first out, up to 256 MiB. The cache may be used and cleared from any thread.

    Examples
    --------
    >>> cache_clear()
    >>> log_growth_bound("((..).)", 50, real=10) > 0, cache_info().rows, cache_info().hits
    (True, 2, 0)
    >>> log_growth_bound("(((..).).)", 50, real=10) > 0, cache_info().rows, cache_info().hits
    (True, 3, 2)
    """
    return CACHE.info()


def cache_clear() -> None:
    """Forget all rows and set the counters to zero."""
    CACHE.clear()


def checked(
    structure: object, d: int | None, real: int | None, features: Features | None
) -> tuple[Structure, Features]:
    """Return a structure and its features; a structure whose root has no usable feature is a leaf."""
    shape, kinds = as_structure(structure), as_features(d, real, features)
    return shape, kinds


def binary_only(shape: Structure, kinds: Features) -> tuple[Table, Features]:
    """Return the table of a binary structure, that of a leaf if no feature is of use to it."""
    if not shape.is_binary:
        raise ValueError(f"expected a binary structure, got a node with {shape.max_arity} children")
    if kinds.real == 0 and not finite_state(kinds):
        return ((),), kinds
    return shape.table(), kinds


def as_real(kinds: Features) -> int:
    """Return how many real features can do all that these do.

    A binary or ordinal feature makes some of the splits of a real one (break the ties); each category against the rest
    is a binary feature.
    """
    nominal = sum(c if c > 2 else 1 for c in kinds.nominal)
    return kinds.real + kinds.binary + len(kinds.ordinal) + nominal + kinds.multiway.count(2)


def partitioning_bound(
    structure: object, m: int, c: int, d: int | None = None, *, real: int | None = None,
    features: Features | None = None, form: Form = "tight",
) -> int:  # fmt: skip
    r"""Bound the number of c-partitions of m points that a structure realises, as an exact integer.

    Parameters
    ----------
    structure : structure
        Anything that :func:`as_structure` accepts; binary.
    m : int
        Number of points, from 0 to 1,000,000.
    c : int
        Number of parts, at least 1.
    d, real, features
        The features, as in :func:`exact_vc`.
    form : {"tight", "loose"}, default="tight"
        The sum over k, or its largest term times the number of terms.

    Returns
    -------
    int
        At least the c-partitioning function, at most the Stirling number S(m, c).

    Raises
    ------
    ValueError
        If m or c is out of range or a node has more than two children.

    Notes
    -----
    Theorem 9 of Leboeuf et al. (2020): for more than :math:`L_T` points

    .. math:: \pi_T^c(m) \le 2^{-\delta_{lr}} \sum_{k=L_l}^{m-L_r} \min\{2\ell, \tbinom mk\} \sum_{a,b}
        \tbinom{a}{c-b} \tbinom{b}{c-a} (a+b-c)!\, \pi_l^a(k)\, \pi_r^b(m-k).

    The loose form has :math:`m - L_T + 1` terms (m - L_T as printed, which is too few: ``(..)`` on one feature has 3
    2-partitions of 4 points, the printed form gives 2). For binary, ordinal and nominal features see the notes in
    ``vcdim_core/_counts.py``, where the number of splits of each kind is proved; the loose form then takes every
    feature as real ones that can do all it does.

    Cost: loose O(c^2) integer products for each substructure; tight on real features O(c^2 m) products of integers that
    hold many entries each, for each substructure, so m = 1,000 takes a tenth of a second and m = 100,000 hours, unless
    every node has a leaf (O(m)): use :func:`log_growth_bound` for large m.

    References
    ----------
    J.-S. Leboeuf, F. LeBlanc and M. Marchand, Decision trees as partitioning machines to characterize their
    generalization properties, NeurIPS 2020; the same, Generalization properties of decision trees on real-valued and
    categorical features, arXiv:2210.10781, 2022.

    Examples
    --------
    >>> partitioning_bound(".", 5, 1, real=3), partitioning_bound(".", 5, 2, real=3)
    (1, 0)
    >>> partitioning_bound("(..)", 10, 2, real=10)  # 2 * 10 >= C(10, 1): half of 10 + 7 * 20 + 10
    80
    >>> partitioning_bound("((..).)", 50, 2, real=2), partitioning_bound("((..).)", 50, 2, real=2, form="loose")
    (18992, 37056)
    """
    shape, kinds = checked(structure, d, real, features)
    m, c = check_int("m", m, 0, MAX_POINTS), check_int("c", c, 1)
    check_choice("form", form, ("tight", "loose"))
    table, kinds = binary_only(shape, kinds)
    return _partitions(table, kinds, m, c, form)[c - 1]


def _partitions(table: Table, kinds: Features, m: int, n_parts: int, form: str) -> list[int]:
    """Return the exact integers for 1 .. n_parts parts."""
    if len(table) == 1 or m == 0:
        return [int(m > 0)] + [0] * (n_parts - 1)
    only_real = kinds.n_features - len([c for c in kinds.multiway if c > 2]) == kinds.real
    if not kinds.real:
        m = min(m, n_distinct(finite_state(kinds)))
    if form == "loose":
        return loose_values(table, as_real(kinds), n_parts, m)
    if only_real:
        return [part[m] for part in real_rows(table, kinds.real, n_parts, m)[0][-1]]
    rows = MixedRows(table, kinds, n_parts)
    return [rows.value(c, m) for c in range(1, n_parts + 1)]


def growth_bound(
    structure: object, m: int, n_classes: int = 2, d: int | None = None, *, real: int | None = None,
    features: Features | None = None, form: Form = "tight",
) -> int:  # fmt: skip
    r"""Bound the growth function: the number of labellings of m points, as an exact integer.

    Parameters
    ----------
    structure, m, d, real, features, form
        As in :func:`partitioning_bound`.
    n_classes : int, default=2
        Number of classes n, at least 1.

    Returns
    -------
    int
        :math:`\sum_a (n)_a \pi_T^a(m)` (Leboeuf et al. 2020, Eq. 4), at most :math:`n^m`; 1 for m = 0.

    Examples
    --------
    >>> growth_bound(".", 5, 3, real=1), growth_bound("(..)", 4, real=1), growth_bound("((..).)", 3, real=1)
    (3, 8, 8)
    >>> growth_bound("((..).)", 6, d=3), growth_bound("((..).)", 100, d=3)  # no more than 8 points differ
    (62, 62)
    """
    shape, kinds = checked(structure, d, real, features)
    m, n_classes = check_int("m", m, 0, MAX_POINTS), check_int("n_classes", n_classes, 1)
    check_choice("form", form, ("tight", "loose"))
    table, kinds = binary_only(shape, kinds)
    return _growth(table, kinds, m, n_classes, form)


def _growth(table: Table, kinds: Features, m: int, n_classes: int, form: str) -> int:
    if m == 0:
        return 1
    n_parts = min(n_classes, m, _n_leaves(table))
    counts = _partitions(table, kinds, m, n_parts, form)
    total = sum(math.perm(n_classes, a) * count for a, count in enumerate(counts, 1))
    return min(total, n_classes**m) if total.bit_length() > (m - 1) * (n_classes.bit_length() - 1) else total


def _n_leaves(table: Table) -> int:
    leaves: list[int] = []
    for children in table:
        leaves.append(sum(leaves[child] for child in children) if children else 1)
    return leaves[-1]


def log_growth_bound(
    structure: object, m: int, n_classes: int = 2, d: int | None = None, *, real: int | None = None,
    features: Features | None = None, form: Form = "tight", method: GrowthMethod = "theorem9",
) -> float:  # fmt: skip
    """Bound the natural logarithm of the growth function, rounded up.

    Parameters
    ----------
    structure, m, n_classes, d, real, features, form
        As in :func:`growth_bound`.
    method : {"theorem9", "best"}, default="theorem9"
        "best" takes the smaller of Theorem 9 and the chain bound (``vcdim_core/_chain.py``), in the tight form.

    Returns
    -------
    float
        Never below the logarithm of the exact integer, and above it by a relative 1e-9 at most on real features.

    Notes
    -----
    On real features the tight form runs in a kernel with doubles that are rounded up, and keeps its rows for later
    calls (:func:`cache_info`). Cost: O(m) for each substructure with a leaf at its root, O(c^2 m^2) otherwise, c the
    smaller of the numbers of classes and leaves: a comb of 40 leaves takes 30 ms at m = 5,000, a full structure of 16
    leaves with 10 classes 10 ms at m = 1,000. It can be interrupted.

    Examples
    --------
    >>> log_growth_bound(".", 10, real=2)
    0.693147180559946
    >>> for form in ("tight", "loose"):
    ...     round(log_growth_bound("((..).)", 1000, real=10, form=form), 3)
    19.804
    20.496
    >>> round(log_growth_bound("((..).)", 1000, real=10, method="best"), 3)
    18.416
    """
    shape, kinds = checked(structure, d, real, features)
    m, n_classes = check_int("m", m, 0, MAX_POINTS), check_int("n_classes", n_classes, 1)
    check_choice("form", form, ("tight", "loose"))
    check_choice("method", method, ("theorem9", "best"))
    table, kinds = binary_only(shape, kinds)
    n_parts = min(n_classes, m, _n_leaves(table))
    is_real = kinds.n_features == kinds.real
    if form == "loose" or n_parts > _KERNEL_PARTS or len(table) == 1 or m == 0:
        return log_up(_growth(table, kinds, m, n_classes, form))
    if not is_real and method == "theorem9":
        return _mixed_log(table, kinds, m, n_classes)
    best = _row_log(table, kinds, m, n_classes, max(2, n_parts), method)
    return best if is_real else min(best, _mixed_log(table, kinds, m, n_classes))


def _mixed_log(table: Table, kinds: Features, m: int, n_classes: int) -> float:
    """The logarithm with features of several kinds: by doubles for 2 classes, by exact integers otherwise."""
    if not kinds.real:
        m = min(m, n_distinct(finite_state(kinds)))
    if n_classes > 2 or m > FAST_POINTS or kinds.n_features > MAX_FEATURES:
        return log_up(_growth(table, kinds, m, n_classes, "tight"))
    two_parts = float(FastRows(table, kinds).two_parts(m)[m])
    return min(log_up(n_classes**m), _nudge(math.log(math.nextafter(2.0 + 2.0 * two_parts, math.inf))))


def _row_log(table: Table, kinds: Features, m: int, n_classes: int, n_parts: int, method: str) -> float:
    """The logarithm from the rows of the kernel."""
    all_labellings = math.nextafter(m * math.nextafter(math.log(n_classes), math.inf), math.inf)
    if method == "best":
        row = chain_row(table, as_real(kinds), n_classes, m)
        values = [(row.mantissa[0, m] * n_classes, int(row.exponent[0, m]))]
    else:
        row = root_row(table, as_real(kinds), n_parts, m)
        values = _growth_terms(row, m, n_classes)
    return min(all_labellings, log_up_scaled(values))


def _growth_terms(row: Row, m: int, n_classes: int) -> list[tuple[float, int]]:
    """Return the terms of Eq. (4) as pairs (f, e) of f * 2**e, rounded up."""
    terms = []
    for a in range(1, min(row.n_parts, n_classes) + 1):
        factor = math.perm(n_classes, a)
        shift = max(0, factor.bit_length() - 53)
        f = math.nextafter(float(-(-factor >> shift)) * float(row.mantissa[a - 1, m]), math.inf)
        if row.mantissa[a - 1, m]:
            terms.append((f, int(row.exponent[a - 1, m]) + shift))
    return terms


def log_up(value: int) -> float:
    """Return the natural logarithm of an integer >= 1, rounded up: at most a few units in the last place above."""
    if value == 1:
        return 0.0
    return _nudge(math.log(value))


def log_up_scaled(terms: list[tuple[float, int]]) -> float:
    """Return the logarithm of the sum of f * 2**e, rounded up."""
    top = max(e for _, e in terms)
    total = math.fsum(math.ldexp(f, max(e - top, -1000)) for f, e in terms)
    return _nudge(math.log(math.nextafter(total, math.inf)) + top * math.log(2.0))


def _nudge(value: float) -> float:
    # The logarithm of a double, the product with log 2 and the sum are off by less than 4 units in the last place in
    # all.
    return value + abs(value) * 2.0**-50 + 2.0**-1000

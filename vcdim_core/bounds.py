"""Bounds on the VC dimension of a structure, from both sides, each with a name and a source.

>>> from vcdim_core.bounds import vc_bracket
>>> print(vc_bracket("((..)(..))", real=2))
8 <= VC <= 8 (lower: exact value remembered; upper: chain bound with exact values)
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from ._counts import State, finite_state
from ._rows import CacheInfo, Table
from ._seeds import BinarySeeds, binary_count, forget_exact, known, real_seeds, remember_exact
from ._validation import check_choice
from .bounds_growth import as_real, cache_clear, cache_info, growth_bound, log_growth_bound, partitioning_bound
from .bounds_lower import (
    degenerate_lower_bound,
    estimate_vc_aslan,
    full_lower_bound,
    lower_bound,
    stump_vc_real,
    theorem5_counting_bound,
)  # fmt: skip
from .bounds_upper import (
    chain,
    counting,
    entry_ranks,
    loose,
    mixed,
    n_points_there_are,
    rank_bound,
    theorem9,
)  # fmt: skip
from .features import Features, as_features
from .structures import Structure, as_structure

__all__ = [
    "Bound", "Bracket", "CacheInfo", "cache_clear", "cache_info", "degenerate_lower_bound", "estimate_vc_aslan",
    "forget_exact", "full_lower_bound", "growth_bound", "log_growth_bound", "partitioning_bound", "remember_exact",
    "theorem5_counting_bound", "vc_bracket", "vc_lower_bound", "vc_upper_bound",
]  # fmt: skip

LOWER_METHODS = ("best", "yildiz", "stumps", "seeded")
UPPER_METHODS = (
    "best", "theorem7", "theorem9", "loose", "chain", "seeded", "one_feature", "rank", "counting", "points",
)  # fmt: skip

_SOURCES = {
    "yildiz": "Yildiz 2012, Theorems 1 and 4",
    "stumps": "sum over the children of single nodes",
    "seeded lower": "sum over the children of exact values",
    "remembered": "exact value remembered",
    "leaf": "a leaf: no feature is of use",
    "theorem7": "exact for stumps: Leboeuf et al. 2020, Theorem 7",
    "theorem9": "Leboeuf et al. 2020, Theorem 9, tight form",
    "loose": "Leboeuf et al. 2020, Theorem 9, loose form",
    "chain": "chain bound",
    "seeded": "chain bound with exact values",
    "seeded mixed": "Theorem 9 with exact values",
    "one_feature": "exact on one real feature: at most N changes of label",
    "rank": "Simon 1991: all trees of this rank",
    "counting": "number of functions (Yildiz 2012, Theorem 5, for a single node)",
    "points": "number of different points",
}


@dataclass(frozen=True, slots=True)
class Bound:
    """One bound on a VC dimension."""

    side: str
    """"lower" or "upper"."""
    method: str
    """Name that :func:`vc_lower_bound` or :func:`vc_upper_bound` takes."""
    value: int
    """The bound."""
    source: str
    """Where it comes from."""


@dataclass(frozen=True, slots=True)
class Bracket:
    """Bounds on a VC dimension from both sides.

    Examples
    --------
    >>> bracket = vc_bracket("(..)", real=10)
    >>> bracket.lower, bracket.upper, bracket.is_exact
    (6, 6, True)
    """

    lower: int
    """Best lower bound."""
    upper: int
    """Best upper bound."""
    lower_source: str
    """Where the lower bound comes from."""
    upper_source: str
    """Where the upper bound comes from."""
    bounds: tuple[Bound, ...] = field(default=(), compare=False)
    """Every bound that was computed, lower ones first."""

    @property
    def is_exact(self) -> bool:
        """Whether both bounds agree."""
        return self.lower == self.upper

    def __str__(self) -> str:
        sources = f"(lower: {self.lower_source}; upper: {self.upper_source})"
        return f"{self.lower} <= VC <= {self.upper} {sources}"


@dataclass(frozen=True, slots=True)
class _Case:
    """A structure with its features, looked at once."""

    shape: Structure
    features: Features
    table: Table

    @property
    def is_trivial(self) -> bool:
        """Whether the VC dimension is 1 because the root is a leaf or has no usable feature."""
        arity = len(self.table[-1])
        usable = self.features.real > 0 or bool(finite_state(self.features))
        return arity == 0 or (not usable if arity == 2 else arity not in self.features.multiway)

    @property
    def is_real(self) -> bool:
        """Whether the structure is binary and all features that it can test are real."""
        return self.shape.is_binary and self.features.real > 0 and not finite_state(self.features)

    @property
    def is_binary(self) -> bool:
        """Whether the structure is binary and all features that it can test are binary."""
        return self.shape.is_binary and not self.features.real and (binary_count(finite_state(self.features)) or 0) > 0


def _case(structure: object, d: int | None, real: int | None, features: Features | None) -> _Case:
    shape, kinds = as_structure(structure), as_features(d, real, features)
    return _Case(shape, kinds, shape.table())


# Lower bounds


def _yildiz(case: _Case) -> int:
    return lower_bound(case.table, case.features)


def _seeded_lower(case: _Case) -> int:
    """Sums with exact values: of the engine for small substructures, remembered ones for all."""
    oracle: Callable[[int, State], int] | None = None
    if case.is_real:
        values = {i: seed.vc_dimension or 0 for i, seed in real_seeds(case.table, case.features.real).items()}

        def oracle(i: int, state: State) -> int:
            return values.get(i, 0)

    elif case.is_binary:
        seeds = BinarySeeds(case.table)

        def oracle(i: int, state: State) -> int:
            return seeds.value(i, binary_count(state) or 0)

    return lower_bound(case.table, case.features, oracle)


# Whether a method applies, what it wants, how it computes.
_Method = tuple[Callable[[_Case], bool], str, Callable[[_Case], int]]

_LOWER: dict[str, _Method] = {
    "yildiz": (lambda case: case.is_binary, "a binary structure on binary features", _yildiz),
    "stumps": (lambda case: True, "", lambda case: lower_bound(case.table, case.features)),
    "seeded": (lambda case: True, "", _seeded_lower),
}


# Upper bounds


def _best_known(case: _Case) -> int:
    """The smallest of the cheap bounds on finite or mixed features."""
    names = ("points", "rank", "counting", "chain") if case.features.real else ("points", "rank", "counting")
    return min(_UPPER[name][2](case) for name in names if _UPPER[name][0](case))


def _theorem9(case: _Case) -> int:
    if case.is_real:
        return theorem9(case.table, case.features.real)
    return mixed(case.table, case.features, _best_known(case), seeded=False)


def _seeded_upper(case: _Case) -> int:
    if case.is_real:
        return chain(case.table, case.features.real, True, real_seeds(case.table, case.features.real) or None)
    return mixed(case.table, case.features, _best_known(case), seeded=True)


_UPPER: dict[str, _Method] = {
    "theorem7": (
        lambda case: case.is_real and case.shape.n_nodes == 1, "a stump on real features",
        lambda case: stump_vc_real(case.features.real),
    ),
    "one_feature": (
        lambda case: case.is_real and case.features.real == 1, "a binary structure on one real feature",
        lambda case: case.shape.n_leaves,
    ),
    "points": (
        lambda case: case.features.real == 0, "features without real ones",
        lambda case: n_points_there_are(case.features),
    ),
    "rank": (
        lambda case: case.is_binary, "a binary structure on binary features",
        lambda case: rank_bound(entry_ranks(case.table)[-1], binary_count(finite_state(case.features)) or 0),
    ),
    "counting": (lambda case: True, "", lambda case: counting(case.table, case.features)),
    "loose": (
        lambda case: case.shape.is_binary, "a binary structure", lambda case: loose(case.table, as_real(case.features)),
    ),
    "theorem9": (lambda case: case.shape.is_binary, "a binary structure", _theorem9),
    "chain": (
        lambda case: case.shape.is_binary, "a binary structure",
        lambda case: chain(case.table, as_real(case.features), closed_forms=False),
    ),
    "seeded": (lambda case: case.shape.is_binary, "a binary structure", _seeded_upper),
}  # fmt: skip


def _named(case: _Case, method: str, methods: dict[str, _Method]) -> int:
    applies, wanted, compute = methods[method]
    if not applies(case):
        raise ValueError(f"expected {wanted} for method {method!r}, got {case.shape.n_nodes} nodes and {case.features}")
    return compute(case)


def vc_lower_bound(
    structure: object, d: int | None = None, *, real: int | None = None, features: Features | None = None,
    method: str = "best",
) -> int:  # fmt: skip
    """Bound the VC dimension of a structure from below.

    Parameters
    ----------
    structure : structure
        Anything that :func:`as_structure` accepts.
    d, real, features
        The features: d binary ones, or so many real ones, or :class:`Features` of any kinds.
    method : {"best", "yildiz", "stumps", "seeded"}, default="best"
        "yildiz" is the recursion of Yildiz (2012) for binary features; "stumps" the sum over children for features of
        all kinds, with single nodes at the bottom; "seeded" the same with exact VC dimensions of small substructures.

    Returns
    -------
    int
        At least 1.

    Raises
    ------
    ValueError
        If the method is not one of these, or not for these features.

    Notes
    -----
    Constructions, proofs and the smallest counterexamples to printed formulas are in ``vcdim_core/bounds_lower.py``.
    Closed forms for combs and full structures: :func:`degenerate_lower_bound` and :func:`full_lower_bound`. All bounds
    are for orientation free; "yildiz", and "stumps" on real or binary features, hold for orientation fixed as well.
    Cost: one sum for each substructure and number of features left.

    References
    ----------
    O. T. Yildiz, On the VC-dimension of univariate decision trees, ICPRAM 2012; VC-dimension of univariate decision
    trees, IEEE TNNLS 26 (2015), 378-387, doi:10.1109/TNNLS.2014.2385837.

    Examples
    --------
    >>> vc_lower_bound(".", d=4), vc_lower_bound("(..)", d=4), vc_lower_bound("((..)(..))", d=4)
    (1, 3, 6)
    >>> vc_lower_bound("((..)(..))", real=10), vc_lower_bound("(((..)(..)).)", d=2)
    (12, 3)
    >>> vc_lower_bound("((...)(...).)", features=Features(multiway=(3, 3)))
    7
    """
    case = _case(structure, d, real, features)
    check_choice("method", method, LOWER_METHODS)
    if case.is_trivial:
        return 1
    return _named(case, "seeded" if method == "best" else method, _LOWER)


def vc_upper_bound(
    structure: object, d: int | None = None, *, real: int | None = None, features: Features | None = None,
    method: str = "best",
) -> int:  # fmt: skip
    """Bound the VC dimension of a structure from above.

    Parameters
    ----------
    structure : structure
        Anything that :func:`as_structure` accepts.
    d, real, features
        The features: d binary ones, or so many real ones, or :class:`Features` of any kinds.
    method : str, default="best"
        One of

        * "theorem7": exact for a stump on real features;
        * "one_feature": exact for one real feature, N + 1;
        * "theorem9", "loose": Theorem 9 of Leboeuf et al. (2020) in both forms; on binary, ordinal and nominal features
          with the number of splits that each kind allows;
        * "chain": the chain bound (``vcdim_core/_chain.py``), never above Theorem 9; features of other kinds count as
          real;
        * "seeded": the chain bound with closed forms and exact values for small substructures; on finite features
          Theorem 9 with VC dimensions by rank and by the exact engine;
        * "rank": Simon (1991), binary features;
        * "counting": logarithm of the number of functions, structures of any arity;
        * "points": number of different points, features without real ones;
        * "best": the smallest of all that apply.

    Returns
    -------
    int
        At least the VC dimension, for orientation free (and fixed).

    Raises
    ------
    ValueError
        If the method is not one of these, or not for these features.

    Notes
    -----
    Cost on real features: that of rows up to about N log2(20 l) points, N the number of nodes; 0.4 ms for a full
    structure of 32 leaves and 10 features, 6 ms for a comb of 40, 10 ms for a full one of 256. Later calls reuse the
    rows of common substructures. On finite features exact integers are used, O(m^2) products for each substructure and
    level.

    Examples
    --------
    >>> from vcdim_core.structures import comb, full
    >>> vc_upper_bound(".", real=3), vc_upper_bound("(..)", real=10), vc_upper_bound("((..).)", d=4)
    (1, 6, 5)
    >>> [vc_upper_bound("(((..).).)", real=2, method=name) for name in ("loose", "theorem9", "chain", "seeded")]
    [20, 17, 14, 8]
    >>> vc_upper_bound(full(5), real=10, method="theorem9"), vc_upper_bound(comb(19), real=10, method="theorem9")
    (239, 182)
    """
    case = _case(structure, d, real, features)
    check_choice("method", method, UPPER_METHODS)
    if case.is_trivial:
        return 1
    if method != "best":
        return _named(case, method, _UPPER)
    return min(bound.value for bound in _upper_bounds(case, only_best=True))


def _upper_bounds(case: _Case, only_best: bool) -> list[Bound]:
    """Compute the upper bounds that apply; with ``only_best`` not those that others never exceed."""
    skipped: set[str] = set()
    if only_best:
        skipped = {"theorem9", "loose", "chain"} | ({"counting"} if case.is_real else set())
    found = []
    for name, (applies, _, compute) in _UPPER.items():
        if name not in skipped and applies(case):
            source = _SOURCES["seeded mixed"] if name == "seeded" and not case.is_real else _SOURCES[name]
            found.append(Bound("upper", name, compute(case), source))
    return found


def vc_bracket(
    structure: object, d: int | None = None, *, real: int | None = None, features: Features | None = None
) -> Bracket:
    """Bound the VC dimension of a structure from both sides, and say where each bound comes from.

    Parameters
    ----------
    structure : structure
        Anything that :func:`as_structure` accepts.
    d, real, features
        The features: d binary ones, or so many real ones, or :class:`Features` of any kinds.

    Returns
    -------
    Bracket
        The best of all bounds that apply, with their sources, and the list of all.

    Examples
    --------
    >>> print(vc_bracket(".", d=3))
    1 <= VC <= 1 (lower: a leaf: no feature is of use; upper: a leaf: no feature is of use)
    >>> print(vc_bracket("(..)", real=2))
    3 <= VC <= 3 (lower: sum over the children of single nodes; upper: exact for stumps: Leboeuf et al. 2020, Theorem 7)
    >>> for bound in vc_bracket("((..).)", real=10).bounds:
    ...     print(bound.side, bound.value, bound.method)
    lower 7 stumps
    lower 7 seeded
    upper 17 counting
    upper 17 loose
    upper 16 theorem9
    upper 14 chain
    upper 13 seeded
    """
    case = _case(structure, d, real, features)
    if case.is_trivial:
        return Bracket(1, 1, _SOURCES["leaf"], _SOURCES["leaf"])
    lowers = []
    for name, (applies, _, compute) in _LOWER.items():
        if applies(case):
            lowers.append(Bound("lower", name, compute(case), _SOURCES["seeded lower" if name == "seeded" else name]))
    uppers = _upper_bounds(case, only_best=False)
    exact = known(case.shape, case.features, use_engine=False)
    if exact is not None and exact.vc_dimension is not None:
        value, source = exact.vc_dimension, _SOURCES["remembered"]
        lowers.insert(0, Bound("lower", "seeded", value, source))
        uppers.append(Bound("upper", "seeded", value, source))
    # Of equal bounds the first is named.
    best_lower = max(lowers, key=lambda bound: bound.value)
    best_upper = min(uppers, key=lambda bound: bound.value)
    return Bracket(best_lower.value, best_upper.value, best_lower.source, best_upper.source, (*lowers, *uppers))

"""A structure, its features and its orientation, checked, and as the kernels of the exact engine take them."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np

from . import _orbits
from ._validation import check_choice
from .features import Features
from .structures import Structure, as_structure

if TYPE_CHECKING:
    import numpy.typing as npt

    Table = npt.NDArray[np.int32]

MAX_POINTS = 24
"""Points of a sample: beyond, 2^23 labellings times the trees tried are out of reach."""
MAX_FEATURES = _orbits.LIMITS["features"]
"""Features of a sample."""
MAX_CATEGORIES = _orbits.LIMITS["categories"] - 2
"""Categories of an ordinal, nominal or multiway feature."""
MAX_SUBSET_CATEGORIES = _orbits.LIMITS["subset categories"]
"""Categories of a nominal feature with subset splits."""
MAX_HEIGHT = 1000
"""Height of a structure that is searched: the recursion of the kernels goes as deep."""

ORIENTATIONS = ("free", "fixed")
NOMINAL_SPLITS = ("one", "subset")

REAL, ORDERED, NOMINAL, SUBSETS, MULTIWAY = range(5)
_KINDS = {"real": REAL, "binary": ORDERED, "ordinal": ORDERED, "nominal": NOMINAL, "multiway": MULTIWAY}


@dataclass(frozen=True)
class Problem:
    """What is asked: the class of a structure on some features."""

    structure: Structure
    features: Features
    orientation: str = "free"
    nominal_splits: str = "one"

    @classmethod
    def checked(
        cls, structure: object, features: Features, orientation: str = "free", nominal_splits: str = "one"
    ) -> Problem:
        """A problem that the exact engine takes, or an error that says why not."""
        problem = cls(
            as_structure(structure),
            features,
            check_choice("orientation", orientation, ORIENTATIONS),
            check_choice("nominal_splits", nominal_splits, NOMINAL_SPLITS),
        )
        _check_features(features, nominal_splits)
        if features.n_features:
            _check_arities(problem.structure, features)
        if problem.structure.height > MAX_HEIGHT:
            height = problem.structure.height
            raise ValueError(f"expected a structure of height at most {MAX_HEIGHT}, got {height}")
        return problem

    @property
    def fixed(self) -> bool:
        """Whether the orientation is fixed."""
        return self.orientation == "fixed"

    @property
    def is_trivial(self) -> bool:
        """Whether the structure is a leaf, or is one for want of features."""
        return self.structure.is_leaf or self.features.n_features == 0

    @property
    def is_cube(self) -> bool:
        """Whether all features are binary: samples are subsets of the cube."""
        return self.features.n_features == self.features.binary

    @property
    def table(self) -> Table:
        """Children of each distinct substructure, the leaf first and the whole last, -1 where there are fewer."""
        return substructures(self.structure if not self.is_trivial else Structure("."), self.fixed)

    @cached_property
    def order(self) -> tuple[int, ...]:
        """The features' columns in the order of the kernels: like kinds side by side, real ones first."""
        kinds = [self._kind(column) for column in self.features.columns]
        return tuple(sorted(range(len(kinds)), key=lambda f: (kinds[f], f)))

    @cached_property
    def columns(self) -> npt.NDArray[np.int32]:
        """Kind and categories of each feature, in the order of the kernels."""
        columns = self.features.columns
        return np.array([self._kind(columns[f]) for f in self.order], dtype=np.int32).reshape(-1, 2)

    def _kind(self, column: tuple[str, int | None]) -> tuple[int, int]:
        name, categories = column
        kind = SUBSETS if name == "nominal" and self.nominal_splits == "subset" else _KINDS[name]
        return kind, categories or 0

    def rows(self, values: Sequence[Sequence[int]]) -> tuple[tuple[int, ...], ...]:
        """Points in the order of the kernels as points in the order of the features."""
        back = sorted(range(len(self.order)), key=self.order.__getitem__)
        return tuple(tuple(row[place] for place in back) for row in values)

    @cached_property
    def group_order(self) -> int:
        """The number of symmetries of the features."""
        total: int = 1
        for (kind, categories), count in Counter(map(tuple, self.columns.tolist())).items():
            total *= math.factorial(count)
            if kind in (NOMINAL, SUBSETS) or (kind == MULTIWAY and not self.fixed):
                total *= math.factorial(categories) ** count
            elif kind in (REAL, ORDERED) and not self.fixed:
                total *= 2**count
        return total

    def n_samples(self, m: int) -> int:
        """The number of samples of m points: sets of points, up to the values of real features."""
        cells: int = math.prod(categories for _, categories in self.features.columns if categories)
        if self.features.real:
            return int(math.factorial(m) ** (self.features.real - 1)) * int(cells**m)
        return math.comb(cells, m)

    def as_dict(self) -> dict[str, Any]:
        """The problem in JSON's types."""
        features = {
            name: value if isinstance(value, int) else list(value)
            for name in ("real", "binary", "ordinal", "nominal", "multiway")
            for value in (getattr(self.features, name),)
        }
        return {
            "structure": str(self.structure),
            "features": features,
            "orientation": self.orientation,
            "nominal_splits": self.nominal_splits,
        }

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Problem:
        """The inverse of `as_dict`, checked."""
        return cls.checked(
            data["structure"], Features(**data["features"]), data["orientation"], data.get("nominal_splits", "one")
        )

    def __str__(self) -> str:
        return f"{self.structure} on {self.features}, orientation {self.orientation}"


def _check_features(features: Features, nominal_splits: str) -> None:
    if features.n_features > MAX_FEATURES:
        kind = "binary features" if features.is_binary_only else "features"
        raise ValueError(f"expected at most {MAX_FEATURES} {kind}, got {features.n_features}")
    most = max((*features.ordinal, *features.nominal, *features.multiway), default=0)
    if most > MAX_CATEGORIES:
        raise ValueError(f"expected at most {MAX_CATEGORIES} categories, got {most}")
    most = max(features.nominal, default=0)
    if nominal_splits == "subset" and most > MAX_SUBSET_CATEGORIES:
        raise ValueError(f"expected at most {MAX_SUBSET_CATEGORIES} categories with subset splits, got {most}")


def _check_arities(structure: Structure, features: Features) -> None:
    """A node with C children needs a feature that splits into C."""
    two_way = features.n_features > len(features.multiway) or 2 in features.multiway
    for children in structure.table():
        arity = len(children)
        if arity and not (two_way if arity == 2 else arity in features.multiway):
            wanted = _or((2, *features.multiway) if two_way else features.multiway)
            kinds = "binary features" if features.is_binary_only else str(features)
            raise ValueError(
                f"expected a structure whose nodes have {wanted} children, as {kinds} do, got {structure} with a node "
                f"of {arity}"
            )


def _or(numbers: Sequence[int]) -> str:
    names = {2: "two"}
    return " or ".join(names.get(n, str(n)) for n in sorted(set(numbers)))


@lru_cache(maxsize=256)
def substructures(structure: Structure, fixed: bool) -> Table:
    """Children of each distinct substructure, the leaf first and the whole last, -1 where there are fewer."""
    rows = structure.table(unordered=not fixed)
    width = max(2, *(len(row) for row in rows)) if len(rows) > 1 else 2
    table = np.array([[*row, *[-1] * (width - len(row))] for row in rows], dtype=np.int32)
    table.flags.writeable = False
    return table


def no_limits() -> npt.NDArray[np.float64]:
    """Limits for the kernels: stop flag, deadline, tests left."""
    return np.array([0.0, math.inf, math.inf])

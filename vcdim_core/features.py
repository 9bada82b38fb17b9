"""Features: what the nodes of a tree may test.

Five kinds. A *real* feature is tested by x > threshold. A *binary* feature is 0 or 1. An *ordinal* feature with C
categories is tested by a threshold between two categories. A *nominal* feature with C categories is tested by one
category against the rest. A *multiway* feature with C values is tested by a node with C children, one for each value.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from itertools import groupby

from ._validation import check_int, check_ints

__all__ = ["Features", "as_features"]


@dataclass(frozen=True, slots=True, init=False, repr=False)
class Features:
    """How many features there are, of which kinds.

    Parameters
    ----------
    real : int, default=0
        Number of real features.
    binary : int, default=0
        Number of binary features.
    ordinal, nominal, multiway : iterable of int, default=()
        Number of categories (at least 2) of each feature of this kind.

    Raises
    ------
    TypeError
        If a count is not an integer, or the categories are not an iterable.
    ValueError
        If a count is negative, or a number of categories below 2.

    Notes
    -----
    The columns of a sample come in the order of the arguments: real, binary, ordinal, nominal, multiway. The order
    within a kind is kept as given and counts for equality.

    Examples
    --------
    >>> print(Features())
    no features
    >>> Features(binary=4)
    Features(binary=4)
    >>> mixed = Features(real=2, nominal=[3, 3, 5])
    >>> mixed
    Features(real=2, nominal=(3, 3, 5))
    >>> print(mixed)
    2 real + 2 nominal(3) + 1 nominal(5)
    >>> mixed.n_features
    5
    """

    real: int
    """Number of real features."""
    binary: int
    """Number of binary features."""
    ordinal: tuple[int, ...]
    """Number of categories of each ordinal feature."""
    nominal: tuple[int, ...]
    """Number of categories of each nominal feature."""
    multiway: tuple[int, ...]
    """Number of values of each multiway feature."""

    def __init__(
        self,
        real: int = 0,
        binary: int = 0,
        ordinal: Iterable[int] = (),
        nominal: Iterable[int] = (),
        multiway: Iterable[int] = (),
    ) -> None:
        fill = object.__setattr__  # the dataclass is frozen
        fill(self, "real", check_int("real", real, 0))
        fill(self, "binary", check_int("binary", binary, 0))
        fill(self, "ordinal", check_ints("ordinal", ordinal, 2))
        fill(self, "nominal", check_ints("nominal", nominal, 2))
        fill(self, "multiway", check_ints("multiway", multiway, 2))

    @property
    def n_features(self) -> int:
        """Number of features of all kinds."""
        return self.real + self.binary + len(self.ordinal) + len(self.nominal) + len(self.multiway)

    @property
    def is_real_only(self) -> bool:
        """Whether there are features and all are real."""
        return 0 < self.real == self.n_features

    @property
    def is_binary_only(self) -> bool:
        """Whether there are features and all are binary."""
        return 0 < self.binary == self.n_features

    @property
    def is_multiway_only(self) -> bool:
        """Whether there are features and all are multiway."""
        return 0 < len(self.multiway) == self.n_features

    @property
    def columns(self) -> tuple[tuple[str, int | None], ...]:
        """Kind and number of categories (None for real) of each column of a sample.

        Examples
        --------
        >>> Features(real=1, binary=1, ordinal=(4,)).columns
        (('real', None), ('binary', 2), ('ordinal', 4))
        """
        counted = [("ordinal", self.ordinal), ("nominal", self.nominal), ("multiway", self.multiway)]
        return (
            (("real", None),) * self.real
            + (("binary", 2),) * self.binary
            + tuple((kind, categories) for kind, all_categories in counted for categories in all_categories)
        )

    def __repr__(self) -> str:
        values = {name: getattr(self, name) for name in ("real", "binary", "ordinal", "nominal", "multiway")}
        return f"Features({', '.join(f'{name}={value!r}' for name, value in values.items() if value)})"

    def __str__(self) -> str:
        parts = [f"{count} {kind}" for kind, count in (("real", self.real), ("binary", self.binary)) if count]
        for kind, categories in (("ordinal", self.ordinal), ("nominal", self.nominal), ("multiway", self.multiway)):
            parts.extend(f"{len(list(run))} {kind}({value})" for value, run in groupby(categories))
        return " + ".join(parts) or "no features"


def as_features(d: int | None = None, real: int | None = None, features: Features | None = None) -> Features:
    """Return the features that a caller described in one of three ways.

    Parameters
    ----------
    d : int, optional
        Number of binary features.
    real : int, optional
        Number of real features.
    features : Features, optional
        Features of any kinds.

    Returns
    -------
    Features

    Raises
    ------
    TypeError
        If not exactly one of the three is given, or it is of the wrong kind.
    ValueError
        If a count is negative.

    Examples
    --------
    >>> as_features(d=4)
    Features(binary=4)
    >>> as_features(real=2)
    Features(real=2)
    >>> as_features()
    Traceback (most recent call last):
        ...
    TypeError: expected exactly one of d=, real= and features=, got none
    """
    given = {name: value for name, value in (("d", d), ("real", real), ("features", features)) if value is not None}
    if len(given) != 1:
        came = " and ".join(f"{name}={value!r}" for name, value in given.items()) or "none"
        raise TypeError(f"expected exactly one of d=, real= and features=, got {came}")
    if d is not None:
        return Features(binary=check_int("d", d, 0))
    if real is not None:
        return Features(real=real)
    if not isinstance(features, Features):
        raise TypeError(f"expected features to be a Features, got {features!r}")
    return features

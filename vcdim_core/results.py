"""What searches return: frozen, small, readable."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from .features import Features
from .structures import Structure

Point = tuple[int, ...]


class SearchLimit(ValueError):
    """A search stopped before it knew the exact value; ``result`` is what it knew."""

    def __init__(self, message: str, result: VCResult) -> None:
        super().__init__(message)
        self.result = result

    def __reduce__(self) -> tuple[type[SearchLimit], tuple[str, VCResult]]:
        return type(self), (str(self), self.result)


@dataclass(frozen=True, slots=True)
class SearchStats:
    """What a search did."""

    samples: int = 0
    """Samples generated: orbits extended by one point, before any was recognised as a copy of another."""
    tested: int = 0
    """Samples for which all labellings were asked for."""
    orbits: tuple[int, ...] = ()
    """Orbits of samples kept, by number of points (0, 1, 2, ...)."""
    sets: int = 0
    """Dichotomy sets computed, in units of 256 labellings of one substructure on one subset."""
    seconds: float = 0.0
    """Wall-clock time."""
    limit: str | None = None
    """What stopped the search: None, "time", "nodes", "memory" or "points"."""


@dataclass(frozen=True, slots=True)
class Progress:
    """Where a running search stands; handed to the ``progress`` callable."""

    size: int
    """Points of the samples being searched."""
    samples: int
    """Samples tested so far."""
    orbits: int
    """Orbits of samples of the size below that are being extended."""
    lower: int
    """VC dimension known to be at least this."""
    upper: int
    """VC dimension known to be at most this."""
    seconds: float
    """Since the start."""
    done: int = 0
    """Orbits of the size below that have been extended ..."""
    total: int = 0
    """... of so many."""


@dataclass(frozen=True, slots=True)
class LevelRecord:
    """What a search did at one size; the lines of the ledger of a certificate."""

    points: int
    """The size m."""
    orbits: int
    """Orbits of shattered samples of m points that were found."""
    samples: int | None
    """Samples in these orbits, the sum of |G| / |stabiliser|; None if that is beyond 64 bits."""
    stabilisers: tuple[tuple[int, int], ...]
    """Size of the stabiliser, number of orbits."""
    tested: int
    """Samples of m points, one per orbit, for which all labellings were asked for."""
    shattered: int
    """How many of them were shattered."""
    cut: int
    """Extensions that were not looked at because a subset is not in play."""
    digest: str
    """SHA-256 of the canonical forms of the orbits, in order."""
    complete: bool = True
    """Whether these are all shattered samples of m points."""


@dataclass(frozen=True, slots=True)
class VCResult:
    """The VC dimension of a structure, or a bracket around it.

    Examples
    --------
    >>> from vcdim_core import search_vc
    >>> result = search_vc("(..)", d=3)
    >>> print(result)
    VC dimension of (..) on 3 binary: 3
    >>> result.witness
    ((0, 0, 0), (1, 0, 1), (0, 1, 1))
    """

    structure: Structure
    """The structure."""
    features: Features
    """The features."""
    orientation: str
    """"free" or "fixed"."""
    lower: int
    """The VC dimension is at least this: the size of the witness."""
    upper: int
    """The VC dimension is at most this."""
    witness: tuple[Point, ...]
    """A shattered sample of ``lower`` points, one tuple of feature values each."""
    stats: SearchStats
    """What the search did."""
    nominal_splits: str = "one"
    """"one" or "subset"."""
    upper_source: str = ""
    """Where the upper end comes from: "exhausted", or the name of a bound."""
    levels: tuple[LevelRecord, ...] = ()
    """What the search did, size by size, where it went by size on features of every kind."""

    @property
    def ledger(self) -> tuple[LevelRecord, ...]:
        """What an exhaustive search found at each size, for the certificate; searches again if that is not known.

        A search that ended early, by its bounds or in its depth-first part, has no complete ledger; then all
        shattered samples are generated now. Empty if that is too much, or if the search was stopped by a limit.
        """
        if self.upper_source != "exhausted":
            return ()
        if self.levels and all(level.complete for level in self.levels):
            return self.levels
        from ._ledger import exhaust

        return exhaust(self)

    @property
    def exact(self) -> bool:
        """Whether lower and upper agree."""
        return self.lower == self.upper

    @property
    def value(self) -> int:
        """The VC dimension; raises `SearchLimit` if it is not known exactly."""
        if self.lower != self.upper:
            raise SearchLimit(
                f"expected a finished search, got one stopped by its {self.stats.limit} limit: "
                f"the VC dimension of {self.structure} is between {self.lower} and {self.upper}",
                self,
            )
        return self.lower

    @property
    def certificate(self) -> dict[str, Any]:
        """Why this is so, as JSON that `vcdim_core.verify` checks; see `certificates.build_certificate`."""
        from .certificates import certificate_of

        return certificate_of(self)

    def __str__(self) -> str:
        value = f"{self.lower}" if self.exact else f"between {self.lower} and {self.upper}"
        return f"VC dimension of {self.structure} on {self.features}: {value}"

"""How complex is this decision tree, and what follows from that?

    >>> import vcdim_core as vc
    >>> vc.exact_vc("((..)(..))", d=4)
    6
    >>> result = vc.search_vc("((..).)", d=4)
    >>> result.value, vc.is_shattered("((..).)", result.witness)
    (5, True)
"""

from .exact import (
    dichotomies,
    exact_vc,
    growth_function,
    is_shattered,
    partitioning_function,
    realize,
    search_vc,
    unrealised,
)
from .features import Features, as_features
from .results import Progress, SearchLimit, SearchStats, VCResult
from .structures import LEAF, STUMP, Structure, as_structure, comb, full, join, structures, structures_of_height

__all__ = [
    "LEAF",
    "STUMP",
    "Features",
    "Progress",
    "SearchLimit",
    "SearchStats",
    "Structure",
    "VCResult",
    "as_features",
    "as_structure",
    "comb",
    "dichotomies",
    "exact_vc",
    "full",
    "growth_function",
    "is_shattered",
    "join",
    "partitioning_function",
    "realize",
    "search_vc",
    "structures",
    "structures_of_height",
    "unrealised",
]

__version__ = "0.1.0"

"""How complex is this decision tree, and what follows from that?"""

from .features import Features, as_features
from .structures import LEAF, STUMP, Structure, as_structure, comb, full, join, structures, structures_of_height

__all__ = [
    "LEAF",
    "STUMP",
    "Features",
    "Structure",
    "as_features",
    "as_structure",
    "comb",
    "full",
    "join",
    "structures",
    "structures_of_height",
]

__version__ = "0.1.0"

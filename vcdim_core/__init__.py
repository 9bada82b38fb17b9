"""How complex is this decision tree, and what follows from that?

    >>> import vcdim_core as vc
    >>> vc.exact_vc("((..)(..))", d=4)
    6
    >>> result = vc.search_vc("((..).)", d=4)
    >>> result.value, vc.is_shattered("((..).)", result.witness)
    (5, True)
    >>> vc.vc_lower_bound("((..).)", real=10), vc.vc_upper_bound("((..).)", real=10)
    (7, 13)
"""

import sys
from importlib import import_module
from types import ModuleType
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from . import atlas as atlas
    from . import learn as learn
    from .bounds import (
        Bracket,
        estimate_vc_aslan,
        growth_bound,
        log_growth_bound,
        partitioning_bound,
        vc_bracket,
        vc_lower_bound,
        vc_upper_bound,
    )
    from .exact import (
        ExecutorError,
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
    from .growing import grow_tree
    from .results import LevelRecord, Progress, SearchLimit, SearchStats, VCResult
    from .risk import mdl_bound, shawe_taylor_bound, srm_bound, vapnik_bound
    from .split import Split, best_split
    from .structures import LEAF, STUMP, Structure, as_structure, comb, full, join, structures, structures_of_height
    from .trees import Tree
    from .verify import verify

__version__ = "0.1.0"

# Imported when first asked for, so that a program that needs one part does not wait for the others, and so that the
# checker of certificates runs without NumPy and without the engine.
_LATER = {
    "exact": (
        "ExecutorError",
        "dichotomies",
        "exact_vc",
        "growth_function",
        "is_shattered",
        "partitioning_function",
        "realize",
        "search_vc",
        "unrealised",
    ),
    "features": ("Features", "as_features"),
    "results": ("LevelRecord", "Progress", "SearchLimit", "SearchStats", "VCResult"),
    "structures": (
        "LEAF",
        "STUMP",
        "Structure",
        "as_structure",
        "comb",
        "full",
        "join",
        "structures",
        "structures_of_height",
    ),
    "verify": ("verify",),
    "bounds": (
        "Bracket",
        "estimate_vc_aslan",
        "growth_bound",
        "log_growth_bound",
        "partitioning_bound",
        "vc_bracket",
        "vc_lower_bound",
        "vc_upper_bound",
    ),
    "growing": ("grow_tree",),
    "risk": ("mdl_bound", "shawe_taylor_bound", "srm_bound", "vapnik_bound"),
    "split": ("Split", "best_split"),
    "trees": ("Tree",),
    "atlas": ("atlas",),
    "learn": ("learn",),
}
_MODULE_OF = {name: module for module, names in _LATER.items() for name in names}

__all__ = [
    "LEAF",
    "STUMP",
    "Bracket",
    "ExecutorError",
    "Features",
    "LevelRecord",
    "Progress",
    "SearchLimit",
    "SearchStats",
    "Split",
    "Structure",
    "Tree",
    "VCResult",
    "as_features",
    "as_structure",
    "atlas",
    "best_split",
    "comb",
    "dichotomies",
    "estimate_vc_aslan",
    "exact_vc",
    "full",
    "grow_tree",
    "growth_bound",
    "growth_function",
    "is_shattered",
    "join",
    "learn",
    "log_growth_bound",
    "mdl_bound",
    "partitioning_bound",
    "partitioning_function",
    "realize",
    "search_vc",
    "shawe_taylor_bound",
    "srm_bound",
    "structures",
    "structures_of_height",
    "unrealised",
    "vapnik_bound",
    "vc_bracket",
    "vc_lower_bound",
    "vc_upper_bound",
    "verify",
]


def __getattr__(name: str) -> object:
    if name not in _MODULE_OF:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    module = import_module(f".{_MODULE_OF[name]}", __name__)
    value = getattr(module, name, module)  # a part that is a module has nothing of its own name
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *_MODULE_OF})


class _Package(ModuleType):
    """A package whose functions are not hidden by the modules of the same name that they live in."""

    def __setattr__(self, name: str, value: object) -> None:
        if isinstance(value, ModuleType) and _MODULE_OF.get(name) == name:
            value = getattr(value, name, value)
        super().__setattr__(name, value)


sys.modules[__name__].__class__ = _Package

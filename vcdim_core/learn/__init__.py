"""Estimators in the manner of scikit-learn, which this part of the package needs."""

from __future__ import annotations

try:
    import sklearn as _sklearn  # noqa: F401
except ImportError as _error:  # pragma: no cover - depends on the installation
    raise ImportError(
        "expected scikit-learn for vcdim_core.learn, got none: install it with pip install vcdim_core[learn]"
    ) from _error

from ._prune_result import PruneResult, PruneStep
from .classifier import TreeClassifier
from .omnivariate import NodeClassifier, OmnivariateTreeClassifier
from .pruning import prune
from .uniform_design import VCEstimate, estimate_vc

__all__ = [
    "NodeClassifier",
    "OmnivariateTreeClassifier",
    "PruneResult",
    "PruneStep",
    "TreeClassifier",
    "VCEstimate",
    "estimate_vc",
    "prune",
]

"""Estimators in the manner of scikit-learn, which this part of the package needs."""

from __future__ import annotations

try:
    import sklearn as _sklearn  # noqa: F401
except ImportError as _error:  # pragma: no cover - depends on the installation
    raise ImportError(
        "expected scikit-learn for vcdim_core.learn, got none: install it with pip install vcdim_core[learn]"
    ) from _error

from .classifier import TreeClassifier
from .omnivariate import NodeClassifier, OmnivariateTreeClassifier
from .uniform_design import VCEstimate, estimate_vc

__all__ = ["NodeClassifier", "OmnivariateTreeClassifier", "TreeClassifier", "VCEstimate", "estimate_vc"]

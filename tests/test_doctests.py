"""Every example in a docstring of the package runs."""

from __future__ import annotations

import doctest
import importlib
import importlib.util
import pkgutil

import pytest

import vcdim_core

# Packages that some modules need and that may be absent.
EXTRAS = {"sklearn", "matplotlib", "distributed", "dask"}
FOUND = pkgutil.walk_packages(vcdim_core.__path__, "vcdim_core.", onerror=lambda name: None)
MODULES = ["vcdim_core", *sorted(info.name for info in FOUND if not info.name.endswith("__main__"))]
# Modules whose examples use a package that is imported when first needed.
USES = {"vcdim_core._sat": "pysat"}
EXAMPLES_AT_LEAST = 60


def load(name: str) -> object:
    """Import a module of the package; None if that takes an extra which is not installed."""
    try:
        return importlib.import_module(name)
    except ModuleNotFoundError as error:
        if (error.name or "").split(".")[0] in EXTRAS:
            return None
        raise
    except ImportError as error:
        if any(extra in str(error) for extra in (*EXTRAS, "scikit-learn")):
            return None
        raise


@pytest.mark.parametrize("name", MODULES)
def test_examples(name: str) -> None:
    module = load(name)
    if module is None or (name in USES and importlib.util.find_spec(USES[name]) is None):
        pytest.skip(f"{name} needs an extra that is not installed")
    assert doctest.testmod(module).failed == 0


def test_there_are_examples() -> None:
    finder = doctest.DocTestFinder()
    modules = [module for module in map(load, MODULES) if module is not None]
    assert sum(len(test.examples) for module in modules for test in finder.find(module)) >= EXAMPLES_AT_LEAST

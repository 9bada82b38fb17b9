"""What all tests share."""

from __future__ import annotations

from pathlib import Path

import pytest

import vcdim_core


def pytest_configure(config: pytest.Config) -> None:
    """Refuse to test a source tree that has no compiled kernels in place of the installed package."""
    package = Path(vcdim_core.__file__).parent
    source = Path(__file__).parent.parent / "vcdim_core"
    kernels = [path for suffix in ("so", "pyd") for path in package.glob(f"_*.{suffix}")]
    if package == source and not kernels:
        raise pytest.UsageError(
            "vcdim_core comes from the source tree, which has no compiled kernels: install the package "
            "(pip install '.[test]') and run the pytest script, not python -m pytest"
        )

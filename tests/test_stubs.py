"""The hand-written stubs say what the kernels offer."""

from __future__ import annotations

import importlib.machinery
import os
import subprocess
import sys
from pathlib import Path

import pytest

import vcdim_core

PACKAGE = Path(vcdim_core.__file__).parent
ALLOWLIST = Path(__file__).parent / "stubtest_allowlist.txt"
KERNELS = sorted(
    {path.name.split(".")[0] for end in importlib.machinery.EXTENSION_SUFFIXES for path in PACKAGE.glob(f"_*{end}")}
)


def test_the_kernels_of_the_exact_engine_are_there() -> None:
    assert {"_dive", "_levels", "_orbits", "_realise"} <= set(KERNELS)


@pytest.mark.parametrize("kernel", KERNELS)
def test_kernel_has_a_stub(kernel: str) -> None:
    assert (PACKAGE / f"{kernel}.pyi").is_file()


def test_no_stub_without_a_kernel() -> None:
    assert {path.stem for path in PACKAGE.glob("*.pyi")} <= set(KERNELS)


def test_stubs_agree_with_the_kernels(tmp_path: Path) -> None:
    pytest.importorskip("mypy")
    modules = [f"vcdim_core.{kernel}" for kernel in KERNELS if (PACKAGE / f"{kernel}.pyi").is_file()]
    path = str(PACKAGE.parent)
    environment = os.environ | {"PYTHONPATH": path} | ({} if "site-packages" in path else {"MYPYPATH": path})
    run = subprocess.run(
        [sys.executable, "-m", "mypy.stubtest", *modules, "--allowlist", str(ALLOWLIST), "--ignore-unused-allowlist"],
        cwd=tmp_path,
        env=environment,
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert run.returncode == 0, run.stdout + run.stderr

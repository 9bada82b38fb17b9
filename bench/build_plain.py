"""Compile plain_search.pyx into bench/build/ when it is needed, and import it.

from build_plain import load_plain
plain = load_plain()
plain.plain_vc("((..).)", 3)
"""

from __future__ import annotations

import importlib.util
import os
import shutil
import subprocess
import sys
import sysconfig
import tempfile
from pathlib import Path
from types import ModuleType

HERE = Path(__file__).resolve().parent
SOURCE = HERE / "plain_search.pyx"
TARGET = HERE / "build" / ("plain_search" + sysconfig.get_config_var("EXT_SUFFIX"))


class BuildError(RuntimeError):
    """The plain search could not be compiled; the message says why."""


def build_plain() -> Path:
    """Compile the plain search unless that has been done, and return the extension module."""
    if TARGET.exists() and TARGET.stat().st_mtime >= SOURCE.stat().st_mtime:
        return TARGET
    TARGET.parent.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory(dir=TARGET.parent) as folder:
        # In a process of its own: setuptools changes the interpreter it runs in.
        command = [sys.executable, str(Path(__file__).resolve()), folder]
        done = subprocess.run(command, cwd=folder, capture_output=True, text=True)
        built = sorted(Path(folder, "lib").glob("plain_search*"))
        if done.returncode != 0 or not built:
            raise BuildError("expected to compile plain_search.pyx, got:\n" + (done.stderr or done.stdout)[-2000:])
        os.replace(built[0], TARGET)  # at once, so that another process never sees half of it
    return TARGET


def load_plain() -> ModuleType:
    """Return the module plain_search, compiled on demand."""
    spec = importlib.util.spec_from_file_location("plain_search", build_plain())
    if spec is None or spec.loader is None:
        raise BuildError(f"expected an extension module, got {TARGET.name!r}")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def _compile(folder: str) -> None:
    """Compile a copy of the source in `folder`, leaving the module in its lib/."""
    from Cython.Build import cythonize
    from setuptools import Distribution, Extension

    source = shutil.copy(SOURCE, folder)
    flags = ["/O2"] if sys.platform == "win32" else ["-O3"]
    extensions = cythonize([Extension("plain_search", [source], extra_compile_args=flags)], quiet=True)
    distribution = Distribution({"name": "plain_search", "ext_modules": extensions})
    command = distribution.get_command_obj("build_ext")
    command.build_lib = str(Path(folder, "lib"))
    command.build_temp = str(Path(folder, "temp"))
    command.ensure_finalized()
    command.run()


if __name__ == "__main__":
    if len(sys.argv) > 1:
        _compile(sys.argv[1])
    else:
        print(build_plain())

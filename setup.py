"""Build of the Cython kernels: every ``src/_name.pyx`` becomes ``vcdim_core._name``.

Four environment variables change the build (all for developers, none for wheels):

``VCDIM_CHECKED=1``
    keeps every ``assert`` in the kernels and switches bounds checks on.
``VCDIM_SANITIZE=address,undefined``
    compiles and links with those sanitizers (``.ci/sanitize`` builds and runs the tests so).
``VCDIM_QUICK=1``
    compiles without optimisation, where only the building is looked at.
``VCDIM_KERNELS="_dive _levels"``
    builds these kernels only.
"""

import os
import sys
from pathlib import Path

from Cython.Build import cythonize
from setuptools import Extension, setup

CHECKED = os.environ.get("VCDIM_CHECKED", "0") not in ("", "0")
SANITIZE = os.environ.get("VCDIM_SANITIZE", "")
QUICK = os.environ.get("VCDIM_QUICK", "0") not in ("", "0")

# Every kernel: src/_name.pyx -> vcdim_core._name.
KERNELS = os.environ.get("VCDIM_KERNELS", "").split() or sorted(path.stem for path in Path("src").glob("_*.pyx"))

DIRECTIVES = {
    "language_level": "3",
    "boundscheck": CHECKED,
    "wraparound": False,
    "initializedcheck": CHECKED,
    "cdivision": True,
    "embedsignature": True,
    "freethreading_compatible": True,
}

if sys.platform == "win32":
    COMPILE_ARGS = ["/O2"]
    LINK_ARGS: list[str] = []
else:
    # Portable code only: no -march. Wide vectors are chosen at run time inside the kernels.
    COMPILE_ARGS = ["-O1", "-g"] if SANITIZE else ["-O0"] if QUICK else ["-O3"]
    LINK_ARGS = []
    if SANITIZE:
        COMPILE_ARGS += [f"-fsanitize={SANITIZE}", "-fno-omit-frame-pointer", "-fno-sanitize-recover=all"]
        LINK_ARGS += [f"-fsanitize={SANITIZE}"]

MACROS = [] if CHECKED else [("CYTHON_WITHOUT_ASSERTIONS", "1")]


def extension(name: str) -> Extension:
    """The extension module of one kernel, rebuilt when any shared header changes."""
    return Extension(
        f"vcdim_core.{name}",
        sources=[f"src/{name}.pyx"],
        depends=sorted(str(path) for pattern in ("*.pxd", "*.h") for path in Path("src").glob(pattern)),
        include_dirs=["src"],
        define_macros=MACROS,
        extra_compile_args=COMPILE_ARGS,
        extra_link_args=LINK_ARGS,
    )


setup(
    options={"build_ext": {"parallel": os.cpu_count() or 1}},
    ext_modules=cythonize(
        [extension(name) for name in KERNELS],
        include_path=["src"],
        build_dir="build/cython-checked" if CHECKED else "build/cython",
        compiler_directives=DIRECTIVES,
    )
)

"""Cythonize the kernels. Everything else about the package is in pyproject.toml."""

import os
from pathlib import Path

import numpy as np
from Cython.Build import cythonize
from setuptools import Extension, setup

# RECNMP_DEBUG=1 builds every kernel with bounds checks, so that the whole suite can run on it.
DEBUG = os.environ.get("RECNMP_DEBUG", "0") == "1"
ROOT = Path(__file__).parent

DIRECTIVES = {
    "language_level": 3,
    "boundscheck": DEBUG,
    "wraparound": False,
    "initializedcheck": DEBUG,
    "cdivision": True,
    "freethreading_compatible": False,
}
# No -march and no contraction: the same input gives the same bits on every machine.
FLAGS = [*(("-O1", "-g") if DEBUG else ("-O3", "-g0")), "-ffp-contract=off"]

kernels = [
    Extension(
        f"recnmp.kernels.{path.stem}",
        [path.relative_to(ROOT).as_posix()],
        include_dirs=[np.get_include()],
        define_macros=[("NPY_NO_DEPRECATED_API", "NPY_2_0_API_VERSION")],
        extra_compile_args=FLAGS,
    )
    for path in sorted((ROOT / "recnmp" / "kernels").glob("*.pyx"))
]

# The two builds differ in generated C, which Cython would take for up to date.
generated = "build/cython-debug" if DEBUG else "build/cython"
setup(
    ext_modules=cythonize(kernels, compiler_directives=DIRECTIVES, build_dir=generated),
    # kernels do not depend on each other: all cores compile, under pip too
    options={"build_ext": {"parallel": True}},
)

"""A PyRTL block as machine code: C text, a shared object, and a loop over clocks in Cython."""

from .composition import Composition, Part
from .module import CircuitAssertionError, Instance, Module, compile_block

__all__ = ["CircuitAssertionError", "Composition", "Instance", "Module", "Part", "compile_block"]

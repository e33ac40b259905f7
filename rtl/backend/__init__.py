"""A PyRTL block as machine code: C text, a shared object, and a loop over clocks in Cython."""

from .module import CircuitAssertionError, Instance, Module, compile_block

__all__ = ["CircuitAssertionError", "Instance", "Module", "compile_block"]

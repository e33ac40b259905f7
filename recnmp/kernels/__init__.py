"""Cython kernels: one block of the machine a file."""

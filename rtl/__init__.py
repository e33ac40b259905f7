"""The blocks of the kernels as PyRTL hardware."""

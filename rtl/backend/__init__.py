"""PyRTL blocks made fast: Block -> C -> shared object -> Cython."""

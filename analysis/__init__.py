"""Adapters out: figures and reports, one a file."""

"""A kernel and its circuit, clock by clock."""

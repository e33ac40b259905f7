"""IEEE 754 binary32 units (D10)."""

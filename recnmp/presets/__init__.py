"""Presets as TOML: systems and DDR4 tables."""

"""Configuration: frozen and strict; every number has a unit and a source."""

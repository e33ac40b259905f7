"""Section traffic: what the host reads for other programs beside the near-memory work (design D17).

Marks of sources are those of recnmp.config.system.
"""

from __future__ import annotations

from .section import Section, field_of


class Traffic(Section):
    """Reads of single lines at random places, on each channel (docs/microarchitecture.md, section 3)."""

    reads_per_1000_clocks: int = field_of(
        0, "reads of 64 bytes that arrive on a channel; 0: none", "reads/1000 clocks", "design D17", 0, 250
    )
    seed: int = field_of(1, "seed of their clocks and places", "-", "user", 0, (1 << 63) - 1)

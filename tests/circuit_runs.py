"""Runs a hardware block alone, a row of inputs each clock."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from recnmp.rtl.backend import compile_block
from recnmp.rtl.ports import Hardware


class Circuit:
    """A compiled block. Each `run` starts at reset."""

    def __init__(self, hardware: Hardware) -> None:
        self._inputs = [port.name for port in hardware.inputs]
        self._outputs = [port.name for port in hardware.outputs]
        self._instance = compile_block(hardware.circuit(), self._inputs, self._outputs).instance()

    def run(self, inputs: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
        """The outputs of each clock; `inputs` has an array for each input port, all of one length."""
        self._instance.reset()
        rows = np.stack([np.asarray(inputs[name], np.uint64) for name in self._inputs], axis=1)
        return dict(zip(self._outputs, self._instance.run(rows).T, strict=True))

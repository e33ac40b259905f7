"""Runs a hardware block alone, a row of inputs each clock, on PyRTL's own compiled simulator."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pyrtl
from recnmp.rtl.ports import Hardware


class Circuit:
    """A compiled block. `run` starts at reset."""

    def __init__(self, hardware: Hardware) -> None:
        self._outputs = [port.name for port in hardware.outputs]
        self._block = hardware.circuit()
        with pyrtl.set_working_block(self._block, no_sanity_check=True):
            wires = [self._block.wirevector_by_name[name] for name in self._outputs]
            trace = pyrtl.SimulationTrace(wires_to_track=wires, block=self._block)
            self._simulation = pyrtl.CompiledSimulation(tracer=trace, block=self._block)
        self._trace = trace

    def run(self, inputs: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
        """The outputs of each clock; `inputs` has an array for each input port, all of one length."""
        columns = {name: np.asarray(values).tolist() for name, values in inputs.items()}
        begin = len(self._trace.trace[self._outputs[0]])
        for clock in range(len(next(iter(columns.values())))):
            self._simulation.step({name: values[clock] for name, values in columns.items()})
        return {name: np.array(self._trace.trace[name][begin:], np.uint64) for name in self._outputs}

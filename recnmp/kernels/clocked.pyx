"""A block that goes on by one clock for each row of words, as hardware does: what lockstep drives."""

import numpy as np

from libc.stdint cimport uint64_t


cdef class Clocked:
    """The base of such blocks. Its classes say INPUTS and OUTPUTS: names of the ports, in the order of the columns.

    Outputs of a clock are those that are visible in it, before the edge that ends it.
    """

    INPUTS = ()
    OUTPUTS = ()

    def __init__(self):
        self.n_inputs = len(self.INPUTS)
        self.n_outputs = len(self.OUTPUTS)
        self.reset()

    cdef void clock(self, const uint64_t* inputs, uint64_t* outputs) noexcept nogil:
        """One clock: the outputs that are visible in it, then its edge."""

    def reset(self):
        """Go back to the state at the start."""

    def run(self, const uint64_t[:, ::1] inputs, uint64_t[:, ::1] outputs=None):
        """One clock a row: inputs uint64 [clocks, inputs] -> outputs uint64 [clocks, outputs], made if not given.

        Bits above a port's width are ignored. Releases the GIL. Raises ValueError for another shape.
        """
        cdef Py_ssize_t t
        if inputs.shape[1] != self.n_inputs:
            raise ValueError(f"inputs have {inputs.shape[1]} columns, not {self.n_inputs}: {', '.join(self.INPUTS)}")
        if outputs is None:
            outputs = np.empty((inputs.shape[0], self.n_outputs), np.uint64)
        if outputs.shape[0] != inputs.shape[0] or outputs.shape[1] != self.n_outputs:
            raise ValueError(
                f"outputs are [{outputs.shape[0]}, {outputs.shape[1]}], not [{inputs.shape[0]}, {self.n_outputs}]"
            )
        with nogil:
            for t in range(inputs.shape[0]):
                self.clock(&inputs[t, 0], &outputs[t, 0])
        return np.asarray(outputs)

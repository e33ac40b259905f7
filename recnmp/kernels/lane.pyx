"""A lane: hazard, dequantise, multiply, accumulate, 16 x 8 partial sums of one element of the groups.

The page is docs/microarchitecture.md, section 7; the circuit is rtl/lane.py. State is one plain struct. An operand's
value is computed where it enters the pipeline; its partial sum is read and written in the page's clocks.
"""

import numpy as np

from libc.stdint cimport uint32_t, uint64_t
from libc.string cimport memset

from .float32 cimport FP16, NEGATIVE_ZERO_BITS, ONE_BITS, add32, element32, multiply32

cdef enum:  # columns of the inputs
    VALID, ELEMENT, DTYPE, SCALE, BIAS, WEIGHTED, WEIGHT, FIRST, TAG, GROUP, READ, READ_TAG, READ_GROUP
    N_INPUTS

cdef enum:  # columns of the outputs
    READY, WAITING, BUSY, SUM
    N_OUTPUTS

cdef enum:
    OPERANDS, HAZARD_CLOCKS

LANE_COUNTERS = ("operands", "hazard_clocks")

# clocks of each stage, by the names of the configuration's section nmp
LANE_STAGES = {
    "dequantise_multiply": SCALE_CLOCKS,
    "dequantise_add": BIAS_CLOCKS,
    "multiply": WEIGHT_CLOCKS,
    "accumulate": SUM_CLOCKS,
}


cdef inline int place_of(uint64_t tag, uint64_t group) noexcept nogil:
    return <int>((tag & 15) << 3 | group & 7)


cdef class Lane(Clocked):
    """One lane with its control."""

    INPUTS = (
        "valid", "element", "dtype", "scale", "bias", "weighted", "weight", "first", "tag", "group",
        "read", "read_tag", "read_group",
    )
    OUTPUTS = ("ready", "waiting", "busy", "sum")

    def reset(self):
        """All bits 0, and the counters."""
        memset(&self.state, 0, sizeof(LaneState))
        memset(self.counters, 0, sizeof(self.counters))

    def counts(self):
        """int64 [2], by LANE_COUNTERS: operands taken, clocks in which the hazard held one."""
        return np.array([self.counters[OPERANDS], self.counters[HAZARD_CLOCKS]], np.int64)

    def partial_sums(self):
        """float32 [16 tags, 8 groups], those visible in the next clock; a copy."""
        return np.array(<uint32_t[:PARTIAL_SUMS]>self.state.partial).view(np.float32).reshape(16, 8)

    def snapshot(self):
        """A lane in the same state; its counters begin at 0."""
        cdef Lane kept = Lane()
        kept.state = self.state
        return kept

    def restore(self, Lane kept not None):
        """Go back to the state of a snapshot; counters go on."""
        self.state = kept.state

    def step(
        self, uint64_t valid=0, uint64_t element=0, uint64_t dtype=0, uint64_t scale=0, uint64_t bias=0,
        uint64_t weighted=0, uint64_t weight=0, uint64_t first=0, uint64_t tag=0, uint64_t group=0,
        uint64_t read=0, uint64_t read_tag=0, uint64_t read_group=0,
    ):
        """One clock. Returns (ready, waiting, busy, sum), those visible in it."""
        cdef uint64_t inputs[N_INPUTS]
        cdef uint64_t outputs[N_OUTPUTS]
        inputs[:] = [
            valid, element, dtype, scale, bias, weighted, weight, first, tag, group, read, read_tag, read_group,
        ]
        self.clock(inputs, outputs)
        return outputs[READY], outputs[WAITING], outputs[BUSY], outputs[SUM]

    cdef void clock(self, const uint64_t* inputs, uint64_t* outputs) noexcept nogil:
        """One clock, in the page's numbers: outputs from state, then the edge."""
        cdef LaneState* state = &self.state
        cdef Flying* operand
        cdef bint entering = state.held.full, ready
        cdef int back, at

        # 1. hazard: the sum of an operand that entered so lately is not there to be added to
        for back in range(1, SUM_CLOCKS):
            at = state.now - back
            operand = &state.pipeline[at if at >= 0 else at + PIPELINE]
            if operand.there and operand.place == state.held.place:
                entering = False
        # 2. handshake, and what is seen
        ready = not state.held.full or entering
        outputs[READY] = ready
        outputs[WAITING] = not ready
        outputs[BUSY] = state.held.full or state.in_flight > 0
        outputs[SUM] = state.read_out
        self.counters[HAZARD_CLOCKS] += not ready
        # 5. read: the partial sum visible in this clock
        state.read_out = 0
        if inputs[READ] & 1:
            state.read_out = state.partial[place_of(inputs[READ_TAG], inputs[READ_GROUP])]
        # 4. pipeline: the adder's first clock, then its last, so that both see this clock's sums
        at = state.now - BEFORE_SUM
        operand = &state.pipeline[at if at >= 0 else at + PIPELINE]
        if operand.there:
            operand.value = add32(0 if operand.first else state.partial[operand.place], operand.value)
        at = state.now + 1 if state.now + 1 < PIPELINE else 0  # entered PIPELINE - 1 clocks ago
        operand = &state.pipeline[at]
        if operand.there:
            state.partial[operand.place] = operand.value
            operand.there = False
            state.in_flight -= 1
        if entering:
            operand = &state.pipeline[state.now]
            operand.value = multiply32(
                state.held.weight, add32(multiply32(state.held.scale, state.held.element), state.held.bias)
            )
            operand.there = True
            operand.first = state.held.first
            operand.place = state.held.place
            state.in_flight += 1
        if ready:
            state.held.full = False
            if inputs[VALID] & 1:
                self.take(inputs)
        state.now = at

    cdef void take(self, const uint64_t* inputs) noexcept nogil:
        """3. Conversion, on the way into the operand register."""
        cdef Held* held = &self.state.held
        cdef uint32_t dtype = <uint32_t>inputs[DTYPE] & 3
        held.full = True
        held.element = element32(<uint32_t>inputs[ELEMENT], dtype)
        held.scale = ONE_BITS if dtype <= FP16 else <uint32_t>inputs[SCALE]
        held.bias = NEGATIVE_ZERO_BITS if dtype <= FP16 else <uint32_t>inputs[BIAS]
        held.weight = <uint32_t>inputs[WEIGHT] if inputs[WEIGHTED] & 1 else ONE_BITS
        held.first = inputs[FIRST] & 1
        held.place = place_of(inputs[TAG], inputs[GROUP])
        self.counters[OPERANDS] += 1

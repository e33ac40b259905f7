"""Bank-indexed candidates of an FR-FCFS controller; the verbs are inline in candidates.pxd."""

from .dram cimport BANK, N_COMMANDS, N_LEVELS, PRE

import numpy as np

FIELD = np.dtype([("banks", "u8"), ("look_at", "i8")])
CANDIDATE = np.dtype([("key", "i8"), ("ripe_clk", "i8")])


cdef class Candidates:
    """No bank has a candidate at first, and all banks are closed.

    ValueError for more than 64 banks a rank, and for rules that hold up PRE elsewhere than at its bank.
    """

    def __init__(self, Device device):
        cdef int level, preceding, i
        self.device = device
        ranks = device.ranks
        rank_banks = device.bankgroups * device.banks
        if rank_banks > 64:
            raise ValueError(f"{rank_banks} banks a rank: at most 64")
        for level in range(N_LEVELS):
            for preceding in range(N_COMMANDS):
                for i in range(device.table.waits[level][preceding].count):
                    if device.table.waits[level][preceding].wait[i].following == PRE and level != BANK:
                        raise ValueError("a rule of another level than bank holds up PRE")
        word_ranks = 64 // rank_banks
        self.word_banks = word_ranks * rank_banks
        self.first_rank = np.array([*range(0, ranks, word_ranks), ranks], np.int32)
        self.words = self.first_rank.shape[0] - 1
        banks = np.arange(ranks * rank_banks)
        bits = np.uint64(1) << (banks % self.word_banks).astype(np.uint64)
        self.bit_of = (banks % self.word_banks).astype(np.int32)
        self.word_of = (banks // self.word_banks).astype(np.int32)
        self.rank_of = (banks // rank_banks).astype(np.int32)
        self.group_of = (banks // device.banks).astype(np.int32)
        self.rank_bits = np.bitwise_or.reduce(bits.reshape(ranks, -1), axis=1)
        of_group = np.bitwise_or.reduce(bits.reshape(-1, device.banks), axis=1)
        self.group_bits = np.repeat(of_group, device.banks)
        self.closed = np.full(self.words, 2**64 - 1, np.uint64)
        fields = np.zeros(self.words * N_FIELDS, FIELD)
        fields["look_at"] = FAR_CLOCK
        self.fields = fields
        self.candidates = np.zeros(self.words * N_FIELDS * 64, CANDIDATE)
        self.queue_look_at = [FAR_CLOCK, FAR_CLOCK]
        self.active_look_at = FAR_CLOCK

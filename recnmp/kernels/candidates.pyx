"""Bank-indexed candidates of an FR-FCFS controller; the verbs are inline in candidates.pxd."""

from .dram cimport N_COMMANDS, N_LEVELS, BANKGROUP

import numpy as np

RANK_CANDIDATES = np.dtype(
    [("ripe", "u8", N_KINDS), ("unripe", "u8", N_KINDS), ("ripe_at", "i8", N_KINDS), ("look_at", "i8", N_KINDS)]
)


cdef class Candidates:
    """No bank has a candidate at first. ValueError for more than 64 banks a rank or 64 ranks: sets are words."""

    def __init__(self, Device device):
        cdef int preceding, i
        self.device = device
        self.ranks, self.bankgroups = device.ranks, device.bankgroups
        self.rank_banks = device.bankgroups * device.banks
        self.n_banks = self.ranks * self.rank_banks
        if self.rank_banks > 64 or self.ranks > 64:
            raise ValueError(f"{self.ranks} ranks of {self.rank_banks} banks: at most 64 of each")
        banks = np.arange(self.n_banks)
        self.rank_of = (banks // self.rank_banks).astype(np.int32)
        self.bit_of = np.uint64(1) << (banks % self.rank_banks).astype(np.uint64)
        one_group = (1 << device.banks) - 1
        self.group_bits = np.array(
            [one_group << (group * device.banks) for group in range(device.bankgroups)], np.uint64
        )
        for preceding in range(N_COMMANDS):
            for i in range(device.table.waits[BANKGROUP][preceding].count):
                self.grouped[device.table.waits[BANKGROUP][preceding].wait[i].following] = True
        none = np.zeros(2 * self.ranks, RANK_CANDIDATES)
        none["ripe_at"] = none["look_at"] = FAR_CLOCK
        self.by_rank = none
        self.age = np.zeros(2 * N_KINDS * self.n_banks, np.int64)
        self.queue_look_at = np.full(2, FAR_CLOCK, np.int64)
        self.rank_look_at = np.full(2 * self.ranks, FAR_CLOCK, np.int64)
        self.active_look_at = FAR_CLOCK

"""Books of a host channel's banks; the verbs are inline in host_banks.pxd."""

import numpy as np

from .candidates import Candidates
from .command_log import CommandLog
from .request_queues import RequestQueues

BANK = np.dtype(
    [("rank", "i4"), ("group", "i4"), ("active", "i4"), ("hit", "i4", 2), ("conflict", "i4", 2)]
)


cdef class HostBanks:
    """All banks of `device` are closed, and nobody waits in queues of `reads` and `writes` entries."""

    def __init__(self, Device device, int64_t reads, int64_t writes, bint logging):
        self.device = device
        self.candidates = Candidates(device)
        self.ranks, self.rank_banks = device.ranks, device.bankgroups * device.banks
        n_banks = self.ranks * self.rank_banks
        self.queues = RequestQueues(n_banks, reads, writes)
        banks = np.full(n_banks, NONE, BANK)
        at = np.arange(n_banks)
        banks["rank"] = at // self.rank_banks
        banks["group"] = at // device.banks
        self.banks = banks
        self.active_count = np.zeros(self.ranks, np.int32)
        self.counters = np.zeros(N_COUNTERS, np.int64)
        self.log = CommandLog(logging)

from .dimm_nmp import DimmNmp
from .host_traffic import HostTraffic
from .rank_nmp import RankNmp

CHANNEL_COUNTERS: tuple[str, ...]

class HostBus:
    ranks: RankNmp
    dimms: DimmNmp
    groups: int
    tags_per_group: int
    instructions_per_clock: int
    plain_ddr: bool
    traffic: HostTraffic | None
    def __init__(
        self,
        ranks: RankNmp,
        dimms: DimmNmp,
        instructions_per_clock: int,
        turnaround: int,
        burst_clocks: int,
        skip_full_rank: bool,
        plain_ddr: bool = False,
        traffic: HostTraffic | None = None,
    ) -> None: ...

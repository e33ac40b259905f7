"""One rank of the naive machine, written from docs/microarchitecture.md section 4 alone.

Nothing here is fast or clever: `tests/naive_machine.py` calls every block once a clock. What a block changes
in clock t is stamped with the clock from which others may see it, so blocks may be stepped in any order.
Lines and operands are in tests/naive_window.py, RankCache in naive_rank_cache.py, the operand register in
naive_datapath.py; how rows lie in lines in naive_rows.py.
"""

from __future__ import annotations

from collections.abc import Iterator

from naive_datapath import Datapath
from naive_rank_cache import RankCache
from naive_rows import Row
from naive_window import NEVER, Entry, Instruction, Line, Operand

# command codes of the log, as in the recorded traces
CODES = {"ACT": 0, "PRE": 1, "PREA": 2, "RD": 3, "REF": 7}
# bits of an instruction's predicted commands
BITS = {"ACT": 1, "RD": 2, "PRE": 4}


class Rules:
    """Interprets rule rows (recnmp/timing.py) over the list of all commands that were ever issued."""

    def __init__(self, rows) -> None:
        self.rows = {name: [row for row in rows if name in row.following] for name in CODES}
        self.issued: dict[tuple, list[int]] = {}  # (level, place, command) -> clocks, oldest first

    @staticmethod
    def places(rank, bankgroup, bank):
        return {
            "channel": (),
            "rank": (rank,),
            "bankgroup": (rank, bankgroup),
            "bank": (rank, bankgroup, bank),
        }

    def issue(self, command: str, rank: int, bankgroup: int, bank: int, clk: int) -> None:
        for level, place in self.places(rank, bankgroup, bank).items():
            self.issued.setdefault((level, place, command), []).append(clk)

    def bounds(self, command: str, rank: int, bankgroup: int, bank: int) -> Iterator[tuple[str, int]]:
        """Level of each row that ever bound the command at this place, and the first clock it allows."""
        for row in self.rows[command]:
            if row.level == "other_ranks":
                ranks = {key[1] for key in self.issued if key[0] == "rank"} - {(rank,)}
                histories = [("rank", other, name) for other in ranks for name in row.preceding]
            else:
                place = self.places(rank, bankgroup, bank)[row.level]
                histories = [(row.level, place, name) for name in row.preceding]
            for history in histories:
                clocks = self.issued.get(history, [])
                if len(clocks) >= row.window:
                    yield row.level, clocks[-row.window] + row.clocks

    def legal(self, command: str, rank: int, bankgroup: int, bank: int, clk: int) -> bool:
        return all(first <= clk for _, first in self.bounds(command, rank, bankgroup, bank))


class Rank:
    """FIFO, decoder, window, scheduler, refresh, datapath and done bits of rank `number` of the channel."""

    def __init__(self, number, rules, options, log, traffic) -> None:
        self.number = number
        self.rules = rules
        self.options = options
        self.log = log
        self.traffic = traffic
        self.fifo: list[tuple[int, Instruction]] = []  # (visible from, instruction)
        self.popped: tuple[int, Instruction] | None = None  # (clock, instruction), the last one
        self.credits_back: list[int] = []  # clocks at which the host sees a credit come back
        self.window: list[Entry] = []
        self.open: dict[tuple[int, int], int] = {}  # (bankgroup, bank) -> open row
        self.owner: dict[tuple[int, int], Entry] = {}  # (bankgroup, bank) -> the entry its row was opened for
        self.refreshes = 0  # REFabs issued
        self.last_command = -NEVER, ""  # (clock, name)
        self.last_refresh = -NEVER  # clock of the last REFab
        self.counters = log.counters[number]
        self.cache = RankCache(options, self.counters) if options.rank_cache_bytes else None
        self.datapath = Datapath(options, self.counters)
        groups = options.groups
        self.valid: list[set[int]] = [set() for _ in range(groups)]  # pooling numbers with an instruction
        self.popped_end: list[int | None] = [None] * groups
        self.outstanding = [0] * groups  # operands decoded, not yet entered
        self.last_entered = [-NEVER] * groups
        # done[g] is seen as set from `since` on, and before `until`
        self.done_since = [NEVER] * groups
        self.done_until = [NEVER] * groups

    # -- what others see
    def done(self, group: int, t: int) -> bool:
        return self.done_since[group] <= t < self.done_until[group]

    def clear_done(self, group: int, t: int) -> None:
        self.done_until[group] = t + 1

    # -- decoder
    def decode(self, t: int) -> None:
        if not self.fifo or self.fifo[0][0] > t:
            return
        instruction = self.fifo[0][1]
        group = instruction.packet.group
        if instruction.kind == "CONFIG":
            if self.done(group, t):
                return
            # the packet before in this group is over in this DIMM, whatever the other DIMMs do
            assert self.popped_end[group] is None or self.done_until[group] <= t
            self.valid[group] = set()
            self.popped_end[group] = None
            self.last_entered[group] = -NEVER
            self.done_since[group] = self.done_until[group] = NEVER
        elif instruction.kind in ("LOOKUP", "HOST_READ"):
            if sum(entry.room > t for entry in self.window) >= self.options.window:
                return
            self.window = [entry for entry in self.window if entry.room > t]
            if instruction.kind == "HOST_READ":
                self.window.append(self.traffic.enter(instruction, t))
            else:
                self.decode_lookup(instruction, group, t)
        else:
            self.popped_end[group] = t
            self.find_done(group)
        self.popped = t, self.fifo.pop(0)[1]
        self.credits_back.append(t + 1)

    def decode_lookup(self, instruction: Instruction, group: int, t: int) -> None:
        self.window.append(self.decoded(instruction, group, t))
        self.valid[group].add(instruction.tag)
        self.outstanding[group] += len(self.window[-1].operands)

    def decoded(self, instruction: Instruction, group: int, t: int) -> Entry:
        entry = Entry(instruction, group)
        packet = instruction.packet
        row = Row(packet.dtype, packet.layout, packet.dim, instruction.byte_offset)
        numbers = range(instruction.first_line, instruction.first_line + instruction.bursts)
        lines: dict[int, Line] = {}
        for number in row.order(numbers):
            line = lines[number] = Line(entry, instruction.column + number - instruction.first_line)
            if self.cache is not None and instruction.locality:
                line.unprobed_from = t + 1
            else:
                line.wanted_from = t + 1
                self.counters["cache_bypasses"] += 1
                self.counters["bypasses", instruction.packet.number] += 1
            entry.lines.append(line)
        for part in row.operands(numbers):
            held_by = [lines[number] for number in part.lines]
            entry.operands.append(Operand(entry, part.group, part.first, part.count, held_by))
        needed = {line.column for operand in entry.operands for line in operand.lines}
        assert len(needed) == instruction.bursts, "a line that holds nothing of the row"
        return entry

    # -- RankCache
    def use_cache(self, t: int) -> None:
        if self.cache is not None:
            line = self.cache.use_port(self.window, t)
            if line is not None:
                self.compare_prediction(line.entry)

    # -- scheduler
    def choose(self, t: int) -> tuple[str, Entry | None] | None:
        """The command that this rank would issue in clock t, and the entry that it is for."""
        wanting = [entry for entry in self.window if entry.wants(t)]
        if self.refresh_is_due(t):
            return self.choose_for_refresh(t, wanting)
        for entry in wanting:
            if self.can_read(entry, t):
                return "RD", entry
        wanted = {(entry.bank, entry.instruction.row) for entry in wanting}
        for entry in wanting:
            row = self.open.get(entry.bank)
            if row is None:
                if self.legal("ACT", entry, t):
                    return "ACT", entry
            elif row == entry.instruction.row or (entry.bank, row) in wanted:
                continue
            elif self.legal("PRE", entry, t):
                return "PRE", entry
        return None

    def can_read(self, entry: Entry, t: int) -> bool:
        return self.open.get(entry.bank) == entry.instruction.row and self.legal("RD", entry, t)

    def legal(self, command: str, entry: Entry, t: int) -> bool:
        return self.rules.legal(command, self.number, *entry.bank, t)

    def refresh_is_due(self, t: int) -> bool:
        if self.options.nREFI is None:
            return False
        return t >= (self.refreshes + 1) * self.options.nREFI + self.number * self.options.stagger

    def choose_for_refresh(self, t: int, wanting: list[Entry]) -> tuple[str, Entry | None] | None:
        owners = [entry for entry in wanting if self.owner.get(entry.bank) is entry]
        if owners:
            for entry in owners:
                if self.can_read(entry, t):
                    return "RD", entry
            return None
        command = "PREA" if self.open else "REF"
        if self.rules.legal(command, self.number, -1, -1, t):
            return command, None
        return None

    def issue(self, command: str, entry: Entry | None, t: int) -> None:
        bankgroup, bank, row, column = -1, -1, -1, -1
        if entry is not None:
            bankgroup, bank = entry.bank
            entry.issued.add(command)
        if command == "ACT":
            row = self.open[entry.bank] = entry.instruction.row
            self.owner[entry.bank] = entry
        elif command == "PRE":
            del self.open[entry.bank], self.owner[entry.bank]
        elif command == "PREA":
            self.open.clear()
            self.owner.clear()
        elif command == "REF":
            self.refreshes += 1
            self.last_refresh = t
        elif command == "RD":
            line = next(line for line in entry.lines if line.wanted(t))
            row, column = entry.instruction.row, line.column
            line.read = t
            line.present_from = t + self.options.nCL + self.options.nBL - 1
            if entry.instruction.kind == "HOST_READ":
                self.traffic.land(entry, t, self.options.divider)
            if self.cache is not None:
                self.cache.read(line)
            self.compare_prediction(entry)
        self.rules.issue(command, self.number, bankgroup, bank, t)
        self.last_command = t, command
        self.log.commands.append((t, CODES[command], self.number, bankgroup, bank, row, column))

    def compare_prediction(self, entry: Entry) -> None:
        """Once, when the last of its lines is neither unprobed nor wanted any more, and if it had a RD."""
        if entry.compared or not all(line.settled for line in entry.lines):
            return
        entry.compared = True
        issued = sum(BITS[name] for name in entry.issued)
        if "RD" in entry.issued and issued != entry.instruction.ddr_cmd:
            self.counters["wrong_predictions"] += 1

    # -- datapath
    def take_data(self, t: int) -> None:
        operand = self.datapath.step(self.window, t)
        if operand is None:
            return
        instruction, group = operand.entry.instruction, operand.entry.group
        packet = instruction.packet.number
        part = operand.element_group, operand.first, operand.count
        self.log.operands[self.number].append(
            (t, instruction.lookup, packet, self.number, instruction.tag, *part)
        )
        self.outstanding[group] -= 1
        self.last_entered[group] = t
        self.find_done(group)

    def find_done(self, group: int) -> None:
        if self.popped_end[group] is not None and self.outstanding[group] == 0:
            in_partial_sum = self.last_entered[group] + self.options.pipeline
            self.done_since[group] = max(self.popped_end[group] + 1, in_partial_sum)

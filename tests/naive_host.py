"""The host's books and the channel bus of the naive machine: docs/microarchitecture.md, section 3, told once more."""

from __future__ import annotations

from collections.abc import Sequence

from naive_traffic import Traffic
from naive_window import Instruction

RESULT_CLOCKS = 4  # of a burst on the channel
ACT, PRE = 0b001, 0b100  # predicted commands


class Host:
    """Packets, credits, tag groups and the channel bus."""

    def __init__(self, dimms, ranks, options, log, traffic: Traffic) -> None:
        self.traffic = traffic
        self.read_went_last = False  # of all that the host sent
        self.start = 0  # of the batch
        self.dimms = dimms
        self.ranks = ranks
        self.options = options
        self.log = log
        self.credits = [options.fifo] * len(ranks)
        self.group_free: list[int | None] = [0] * options.groups  # clock from which; None: taken
        self.started = 0  # packets
        self.unsent: list[Instruction] = []
        self.unfinished: list = []  # packets of the batch whose results have not all been sent
        self.bus_end = 0  # the first clock after the last use
        self.last_user: str | int | None = None  # "instructions" or the number of a DIMM
        self.crossed = 0  # the clock at which the last result burst has crossed

    def drive_bus(self, t: int) -> None:
        self.collect_credits(t)
        self.traffic.measure_queue(t)
        if t < self.bus_end:
            return
        turned = t >= self.bus_end + self.options.bus_turnaround
        lines = self.traffic.ready(t)
        ready = {dimm.number: dimm.oldest_ready(t) for dimm in self.dimms if dimm.oldest_ready(t)}
        if lines:
            if self.last_user in lines:
                number = self.last_user
            else:
                number = min(lines, key=lambda number: lines[number][0].number)
            if self.last_user in (None, number) or turned:
                self.bus_end = self.traffic.cross(lines[number], t)
                self.last_user = number
        elif ready:
            if self.last_user in ready:
                number = self.last_user
            else:
                number = min(ready, key=lambda number: (ready[number].packet.age, number))
            if self.last_user in (None, number) or turned:
                self.send_result(number, ready[number], t)
        elif self.last_user in (None, "instructions") or turned:
            self.send_instructions(t)

    def collect_credits(self, t: int) -> None:
        for number, rank in enumerate(self.ranks):
            self.credits[number] += sum(clk <= t for clk in rank.credits_back)
            rank.credits_back = [clk for clk in rank.credits_back if clk > t]
            assert 0 <= self.credits[number] <= self.options.fifo

    def send_result(self, number: int, result, t: int) -> None:
        packet = result.packet
        for tag, element_group in result.bursts:
            self.log.bursts.append((t, number, packet.number, tag, element_group))
            t += RESULT_CLOCKS
        self.bus_end = self.crossed = t
        self.last_user = number
        self.dimms[number].results.remove(result)
        packet.crossed += len(result.bursts)
        if packet.end_sent and packet.crossed == len(packet.expected) * packet.bursts_a_tag:
            self.group_free[packet.group] = self.crossed
            self.unfinished.remove(packet)

    def send_instructions(self, t: int) -> None:
        most = 1 if self.options.command_mode == "ddr" else self.options.instructions_per_clock
        packets_first = self.read_went_last
        clocks: list[int] = []  # of the instructions that go in this clock
        if not packets_first:
            clocks += self.send_read(t)
        clocks += self.send_of_packets(t, most - len(clocks))
        if packets_first and len(clocks) < most:
            clocks += self.send_read(t)
        if clocks:
            self.bus_end = t + max(clocks)
            self.last_user = "instructions"

    def send_read(self, t: int) -> list[int]:
        """The oldest read goes, if it may; its clocks."""
        read = self.traffic.may_go(t, self.credits)
        if read is None or self.broadcast_wants_credits(t):
            return []
        instruction = self.traffic.send(read, t)
        clocks = self.clocks_of(instruction)
        self.credits[read.rank] -= 1
        self.ranks[read.rank].fifo.append((t + clocks, instruction))
        self.read_went_last = True
        return [clocks]

    def broadcast_wants_credits(self, t: int) -> bool:
        """The first instruction that was not sent is END, or CONFIG and a group is free, and a rank has no credit."""
        if not self.unsent or t < self.start or all(self.credits):
            return False
        kind = self.unsent[0].kind
        return kind == "END" or (
            kind == "CONFIG" and any(free is not None and free <= t for free in self.group_free)
        )

    def clocks_of(self, instruction: Instruction) -> int:
        """Clocks of the bus, and until it is visible in the FIFO."""
        if self.options.command_mode == "compressed" or instruction.kind in ("CONFIG", "END"):
            return 1
        acts, precharges = instruction.ddr_cmd & ACT != 0, instruction.ddr_cmd & PRE != 0
        return instruction.bursts + acts + precharges

    def send_of_packets(self, t: int, most: int) -> list[int]:
        """At most so many instructions of packets go; the clocks of each."""
        clocks: list[int] = []
        if t < self.start:
            return clocks
        place = 0  # in `unsent`; those before it are LOOKUPs that were skipped
        while place < len(self.unsent) and len(clocks) < most:
            instruction = self.unsent[place]
            if instruction.kind == "LOOKUP":
                if not self.credits[instruction.rank]:
                    if not self.options.skip_full_rank:
                        break
                    place += 1
                    continue
                self.send(instruction, [instruction.rank], t)
            else:
                if not all(self.credits):
                    break
                if instruction.kind == "END" and place:
                    break
                if instruction.kind == "CONFIG" and not self.take_group(instruction.packet, t):
                    break
                if instruction.kind == "END":
                    instruction.packet.end_sent = True
                self.send(instruction, range(len(self.ranks)), t)
            del self.unsent[place]
            clocks.append(self.clocks_of(instruction))
            self.read_went_last = False
        return clocks

    def take_group(self, packet, t: int) -> bool:
        for group, free in enumerate(self.group_free):
            if free is not None and free <= t:
                packet.group = group
                packet.age = self.started
                self.started += 1
                self.group_free[group] = None
                return True
        return False

    def send(self, instruction: Instruction, numbers: Sequence[int], t: int) -> None:
        packet = instruction.packet
        for number in numbers:
            self.credits[number] -= 1
            self.ranks[number].fifo.append((t + self.clocks_of(instruction), instruction))
            assert len(self.ranks[number].fifo) <= self.options.fifo
        if instruction.kind == "LOOKUP":
            packet.expected.add((instruction.rank // self.options.ranks_per_dimm, instruction.tag))
        if instruction.kind == "END":
            for dimm in self.dimms:
                dimm.packets[packet.group] = packet
        self.log.sends.append((t, instruction.index))

# The DDR scheduler of a rank-NMP (docs/microarchitecture.md, section 4, "Scheduler", "Prediction" and "Refresh").
#
# The window is never scanned. An open row that an entry wants is not closed, so each bank has one possible next
# command: RD for its oldest entry of the open row; PRE for its oldest entry if none wants the open row; ACT for its
# oldest entry if it is closed. That candidate changes only when the bank or its entries do. State: rank_window.pxd.

from libc.stdint cimport int64_t, uint64_t

from .dram cimport ACT, CLOSED, N_COMMANDS, PRE, PREA, RD, REF
from .local_bus cimport issue_alone, put_off_rank
from .operand_path cimport come, on_clock
from .rank_window cimport Bank, RankWindow, Window
from .vocabulary cimport HOST_READ, NEVER, PREDICT_ACT, PREDICT_PRE, PREDICT_RD
from .window_entries cimport (
    ACTIVATES, NONE, PRECHARGES, PRECHARGES_ALL, READS, REFRESHES, ROW_CONFLICTS, ROW_HITS, ROW_MISSES,
    WRONG_PREDICTIONS, Entry, give_back,
)

cdef extern from *:
    """
    #define lowest_bit(x) __builtin_ctzll(x)
    """
    int lowest_bit(uint64_t x) nogil


cdef inline int64_t legal(RankWindow windows, const Window* window, int b, int command) noexcept nogil:
    """First clock on which the rules allow ACT, PRE or RD in bank b of a rank."""
    cdef int64_t bank = window.by_bank[b * N_COMMANDS + command]
    cdef int64_t group = windows.by_group[window.bank[b].group * N_COMMANDS + command]
    return max(window.by_rank[command], max(bank, group))


cdef inline int64_t soonest_command(const Window* window) noexcept nogil:
    """A clock before which no command can go, from what holds for the whole rank."""
    cdef int64_t read = max(window.read_look, window.by_rank[<int>RD])
    cdef int64_t activate = max(window.activate_look, window.by_rank[<int>ACT])
    cdef int64_t precharge = max(window.precharge_look, window.by_rank[<int>PRE])
    return min(min(window.refresh_due, read), min(activate, precharge))


cdef inline void add_read(RankWindow windows, Window* window, int b) noexcept nogil:
    window.reads |= <uint64_t>1 << b
    window.read_look = min(window.read_look, legal(windows, window, b, RD))


cdef inline void add_activate(RankWindow windows, Window* window, int b) noexcept nogil:
    window.activates |= <uint64_t>1 << b
    window.activate_look = min(window.activate_look, legal(windows, window, b, ACT))


cdef inline void add_precharge(RankWindow windows, Window* window, int b) noexcept nogil:
    window.precharges |= <uint64_t>1 << b
    window.precharge_look = min(window.precharge_look, legal(windows, window, b, PRE))


cdef inline void drop_read(Window* window, int b) noexcept nogil:
    window.reads &= ~(<uint64_t>1 << b)
    window.read_look = window.read_look if window.reads else NEVER


cdef inline void drop_activate(Window* window, int b) noexcept nogil:
    window.activates &= ~(<uint64_t>1 << b)
    window.activate_look = window.activate_look if window.activates else NEVER


cdef inline void drop_precharge(Window* window, int b) noexcept nogil:
    window.precharges &= ~(<uint64_t>1 << b)
    window.precharge_look = window.precharge_look if window.precharges else NEVER


cdef inline void find_candidate(RankWindow windows, Window* window, int b) noexcept nogil:
    """Find what bank b, which has no candidate, needs next, and for which entry."""
    cdef Bank* bank = window.bank + b
    cdef const Entry* entry = window.entry
    cdef int open_row = window.open_row[b]
    cdef int place = bank.first
    bank.candidate = place
    if place == NONE:
        return
    bank.age = entry[place].age
    if open_row == CLOSED:
        add_activate(windows, window, b)
        return
    while place != NONE and entry[place].instruction.row != open_row:
        place = entry[place].next
    if place == NONE:
        add_precharge(windows, window, b)
        return
    bank.candidate = place
    bank.age = entry[place].age
    add_read(windows, window, b)


cdef inline void drop_candidate(Window* window, int b) noexcept nogil:
    drop_read(window, b)
    drop_activate(window, b)
    drop_precharge(window, b)


cdef inline void settle(const Window* window, const Entry* entry) noexcept nogil:
    """No line of an entry is unprobed or wanted any more: class it by what was issued for it, if there was an RD,
    and see whether the host had predicted that (D3)."""
    cdef Bank* bank = window.bank + entry.bank
    cdef int64_t* counters = window.counters
    cdef int needed = PREDICT_RD
    if bank.owner == entry - window.entry:
        bank.owner = NONE
    if not entry.read or entry.instruction.opcode == HOST_READ:
        return
    if entry.activated:
        needed |= PREDICT_ACT
    if entry.precharged:
        needed |= PREDICT_PRE
    counters[WRONG_PREDICTIONS] += needed != entry.instruction.ddr_cmd
    counters[ROW_CONFLICTS if entry.precharged else ROW_MISSES if entry.activated else ROW_HITS] += 1


cdef inline bint comes_after(
    const Window* window, const Bank* bank, const Entry* entry
) noexcept nogil:
    """Whether an entry that has joined a bank's chain leaves its candidate as it was."""
    if bank.age > entry.age:
        return False
    return not window.precharges >> entry.bank & 1 or (
        window.open_row[entry.bank] != entry.instruction.row
    )


cdef inline void join_chain(RankWindow windows, Window* window, Entry* entry) noexcept nogil:
    """An entry has wanted lines now: it goes behind the older ones of its bank."""
    cdef Entry* entries = window.entry
    cdef Bank* bank = window.bank + entry.bank
    cdef int place = entry - entries
    cdef int before = bank.last
    if before == NONE:
        bank.first = bank.last = place
        entry.next = NONE
        find_candidate(windows, window, entry.bank)
        return
    if entries[before].age > entry.age:
        before = NONE
        if entries[bank.first].age < entry.age:
            before = bank.first
            while entries[entries[before].next].age < entry.age:
                before = entries[before].next
    if before == NONE:
        entry.next = bank.first
        bank.first = place
    else:
        entry.next = entries[before].next
        entries[before].next = place
    if entry.next == NONE:
        bank.last = place
    if before == NONE or not comes_after(window, bank, entry):
        drop_candidate(window, entry.bank)
        find_candidate(windows, window, entry.bank)


cdef inline void leave_chain(RankWindow windows, Window* window, int b, const Entry* entry) noexcept nogil:
    """Unlink an entry that has no wanted line any more; the last one was read just now."""
    cdef Entry* entries = window.entry
    cdef Bank* bank = window.bank + b
    cdef int place = entry - entries
    cdef int before = bank.first
    if before == place:
        bank.first = entry.next
        before = NONE
    else:
        while entries[before].next != place:
            before = entries[before].next
        entries[before].next = entry.next
    if bank.last == place:
        bank.last = before
    if bank.owner == place:
        window.owned &= ~(<uint64_t>1 << b)
    drop_read(window, b)
    find_candidate(windows, window, b)


cdef inline void want(RankWindow windows, int r, Entry* entry, int lines, int64_t clk) noexcept nogil:
    """Lines of an entry (a bit each) become wanted: the scheduler sees them from the next clock on."""
    cdef Window* window = &windows.window[r]
    cdef int place = entry - window.entry
    entry.wanted |= lines
    if entry.wanted != lines:
        return
    window.fresh = place if window.fresh == NONE else window.fresh
    join_chain(windows, window, entry)
    if window.bank[entry.bank].owner == place:
        window.owned |= <uint64_t>1 << entry.bank
    window.look = min(window.look, max(soonest_command(window), clk + 1))


cdef inline void command(
    RankWindow windows, int r, Window* window, int code, const Entry* entry, int line, int64_t clk
) noexcept nogil:
    """Issue ACT, PRE or RD for a line of an entry, and log it; the caller counts it."""
    cdef int b = r * windows.banks + entry.bank
    if windows.shared_bus:
        windows.issue_shared(r, code, windows.bank[b].group, b, entry.instruction.row, clk)
    else:
        issue_alone(
            windows.device, &windows.gaps[code], code, r, windows.bank[b].group, b, entry.instruction.row, clk
        )
        window.issued[code] = clk
    if windows.logging:
        windows.log(r, code, entry, line, clk)


cdef inline void read_line(RankWindow windows, int r, Window* window, int b, Entry* entry, int64_t clk) noexcept nogil:
    """RD of the entry's first wanted line, which is then coming; with its last one the entry leaves its chain."""
    cdef int line = lowest_bit(entry.wanted)
    cdef int64_t landed
    command(windows, r, window, RD, entry, line, clk)
    window.counters[READS] += 1
    entry.read = 1
    entry.wanted &= entry.wanted - 1
    if entry.wanted == 0:
        leave_chain(windows, window, b, entry)
        if entry.probed == entry.instruction.bursts:
            settle(window, entry)
    if entry.instruction.opcode == HOST_READ:
        # past the entry in the last clock of its transfer
        landed = on_clock(windows.operands, clk + windows.operands.data_delay - 1) + windows.operands.divider
        windows.traffic.land(r, entry.instruction.lookup, landed)
        give_back(windows.entries, r, entry, landed)
    else:
        come(windows.operands, r, entry, line, clk)


cdef inline int oldest_ready(
    RankWindow windows, const Window* window, uint64_t banks, int command, int64_t clk, int64_t* look
) noexcept nogil:
    """Of these banks, which all need `command`, the one with the oldest candidate that may go in clk, if any may;
    the rank's own rules let one go.

    look: no candidate may go before; kept here, and lowered where a candidate joins. Rules only put clocks off, so
    it stays true whatever is issued meanwhile.
    """
    cdef const Bank* bank = window.bank
    cdef const int64_t* by_bank = window.by_bank + command
    cdef const int64_t* by_group = windows.by_group + command
    cdef int64_t rank, first, least = NEVER
    cdef int b, best = NONE
    while banks:
        b = lowest_bit(banks)
        banks &= banks - 1
        # ages below 0 for those that may go, clocks for the others: one comparison, without a jump
        first = max(by_bank[b * N_COMMANDS], by_group[bank[b].group * N_COMMANDS])
        rank = bank[b].age - NEVER
        rank = first if first > clk else rank
        best = b if rank < least else best
        least = min(least, rank)
    if least < 0:
        return best
    look[0] = least
    return NONE


cdef inline int choose(RankWindow windows, Window* window, int64_t clk) noexcept nogil:
    """The bank whose candidate goes in clk, or NONE. Issues nothing."""
    cdef int b = NONE, other = NONE
    if max(window.read_look, window.by_rank[<int>RD]) <= clk:
        b = oldest_ready(windows, window, window.reads, RD, clk, &window.read_look)
        if b != NONE:
            return b
    if max(window.activate_look, window.by_rank[<int>ACT]) <= clk:
        b = oldest_ready(windows, window, window.activates, ACT, clk, &window.activate_look)
    if max(window.precharge_look, window.by_rank[<int>PRE]) <= clk:
        other = oldest_ready(windows, window, window.precharges, PRE, clk, &window.precharge_look)
        if other != NONE and (
            b == NONE or window.bank[other].age < window.bank[b].age
        ):
            return other
    return b


cdef inline void serve(RankWindow windows, int r, Window* window, int b, int64_t clk) noexcept nogil:
    """Issue what bank b's candidate needs."""
    cdef Bank* bank = window.bank + b
    cdef Entry* entry = window.entry + bank.candidate
    if window.reads >> b & 1:
        read_line(windows, r, window, b, entry, clk)
    elif window.activates >> b & 1:
        command(windows, r, window, ACT, entry, 0, clk)
        window.counters[ACTIVATES] += 1
        entry.activated = 1
        bank.owner = bank.candidate
        window.owned |= <uint64_t>1 << b
        # of a closed bank the candidate is the oldest entry, and so it stays
        drop_activate(window, b)
        add_read(windows, window, b)
    else:
        command(windows, r, window, PRE, entry, 0, clk)
        window.counters[PRECHARGES] += 1
        entry.precharged = 1
        bank.owner = NONE
        drop_precharge(window, b)
        add_activate(windows, window, b)


cdef inline void command_rank(RankWindow windows, int r, Window* window, int code, int64_t clk) noexcept nogil:
    """Issue PREA or REF, count and log it."""
    cdef int first = r * windows.banks
    if windows.shared_bus:
        windows.issue_shared(r, code, windows.bank[first].group, first, -1, clk)
    else:
        windows.issue_rank(r, code, clk)
    window.counters[PRECHARGES_ALL if code == PREA else REFRESHES] += 1
    if windows.logging:
        windows.log(r, code, NULL, 0, clk)


cdef inline int64_t refresh(RankWindow windows, int r, Window* window, int64_t clk) noexcept nogil:
    """Refresh is due: entries that got an ACT are read out, then PREA, then REF (D13). The next clock for a command."""
    cdef const Bank* bank = window.bank
    cdef Entry* entries = window.entry
    cdef int64_t first, soonest = NEVER, age = NEVER
    cdef uint64_t banks = window.owned
    cdef int b, best = NONE, code
    while banks:
        b = lowest_bit(banks)
        banks &= banks - 1
        first = legal(windows, window, b, RD)
        if first > clk:
            soonest = min(soonest, first)
        elif entries[bank[b].owner].age < age:
            age = entries[bank[b].owner].age
            best = b
    if best != NONE:
        read_line(windows, r, window, best, &entries[bank[best].owner], clk)
        return clk + 1
    if window.owned:
        return soonest
    put_off_rank(windows.device, windows.gaps, window.issued, r)
    code = PREA if windows.device.open_banks[r] else REF
    soonest = window.by_rank[code]
    if soonest > clk:
        return soonest
    command_rank(windows, r, window, code, clk)
    if code == REF:
        window.refresh_due += windows.n_refi
        return clk + 1
    for b in range(windows.banks):
        window.bank[b].owner = NONE
        drop_candidate(window, b)
        find_candidate(windows, window, b)
    return clk + 1


cdef inline int64_t schedule(RankWindow windows, int r, Window* window, int64_t clk) noexcept nogil:
    """Issue at most one DDR command; returns the next clock on which one could be issued."""
    cdef int b
    if windows.shared_bus and windows.bus_taken[r // windows.ranks_per_dimm] == clk:
        return clk + 1
    if clk >= window.refresh_due:
        return refresh(windows, r, window, clk)
    b = choose(windows, window, clk)
    if b == NONE:
        return soonest_command(window)
    serve(windows, r, window, b, clk)
    return max(clk + 1, soonest_command(window))

"""A batch's lookups as instructions: counted packet by packet, then written at their places in the stream (section 2).

A lookup is one LOOKUP for each run of its lines: at most 8 consecutive columns of one DRAM row. Lookups come in pieces,
table by table, and each packet's part of a channel is a packet of its own, CONFIG, LOOKUPs, END.
"""

from libc.stdint cimport int8_t, int64_t, uint8_t

from .placing cimport (
    BANK, BANKGROUP, CHANNEL, COLUMN, RANK, ROW, Place, Placer, Places, first_line, is_next, lines_of_row, locate,
)
from .vocabulary cimport (
    CONFIG, END, LOOKUP, LOOKUP_LINE_8, PREDICT_ACT, PREDICT_PRE, PREDICT_RD, Instruction, is_lookup,
)

cdef enum:
    MAX_BURSTS = 8  # of a LOOKUP
    WORD_BYTES = 4  # unit of byte_offset
    BANKGROUPS = 4  # that an instruction can name, and banks of each
    BANKS = 4


def count_lookups(
    Placer placer not None, const int64_t[::1] rows, const int64_t[::1] bags, int64_t first, int poolings,
    int64_t[:, :, ::1] counts,
):
    """Add the LOOKUPs of some lookups of a table to counts [channels, packets, turns].

    rows: of lookups first, first + 1, ... of the batch. bags: int64 [samples + 1], where each sample's lookups begin.
    poolings: of a packet. turns: the ranks, where LOOKUPs go in turn by rank, or 1. Releases the GIL.
    Returns False, and counts nothing, if the table lacks one of the rows.
    """
    cdef const Places* t = &placer.places
    cdef Place place, before
    cdef int64_t i, sample, line
    cdef int offset, k, n, runs, bursts
    cdef bint by_rank
    by_rank = check_shapes(placer, rows, bags, first, poolings, counts)
    with nogil:
        for i in range(rows.shape[0]):
            if rows[i] < 0 or rows[i] >= t.rows:
                break
        else:
            sample = sample_of(bags, first)
            for i in range(rows.shape[0]):
                while bags[sample + 1] <= first + i:
                    sample += 1
                line = first_line(t, rows[i], &offset)
                n = lines_of_row(t, offset)
                locate(t, line, &before)
                runs = bursts = 1
                for k in range(1, n):
                    locate(t, line + k, &place)
                    if bursts == MAX_BURSTS or not is_next(&place, &before):
                        runs += 1
                        bursts = 0
                    bursts += 1
                    before = place
                counts[before.part[CHANNEL], sample // poolings, before.part[RANK] if by_rank else 0] += runs
            i = -1
    return i < 0


def write_lookups(
    Placer placer not None, const int64_t[::1] rows, const int64_t[::1] bags, int64_t first, int poolings,
    const int64_t[:, :, ::1] counts, int64_t[:, :, ::1] written, const int64_t[:, ::1] starts,
    const float[::1] weights, const uint8_t[::1] locality, Instruction[::1] stream, int64_t[::1] lines,
):
    """Write the LOOKUPs that `count_lookups` counted, into packets that `open_packets` opened.

    counts: of all lookups of the table; written: of the same shape, how many are there already, 0 at first. starts:
    int64 [channels, packets], where each packet has its CONFIG in the stream. weights, locality: of these lookups, or
    None for none. lines: int64 [channels], 64-byte lines read, added up. Releases the GIL. ValueError, with some
    written, for a row that the table lacks or a LOOKUP that was not counted.
    """
    cdef const Places* t = &placer.places
    cdef Place place, before
    cdef Instruction* one = NULL
    cdef const Instruction* opened
    cdef int64_t i, sample, packet, line, channel, turn, at
    cdef int offset, k, n
    cdef bint by_rank, wrong = False, weighted = weights is not None, local = locality is not None
    by_rank = check_shapes(placer, rows, bags, first, poolings, counts)
    check_shapes(placer, rows, bags, first, poolings, written)
    if (weighted and weights.shape[0] != rows.shape[0]) or (local and locality.shape[0] != rows.shape[0]):
        raise ValueError("weights and locality are one a lookup")
    if starts.shape[0] != placer.channels or starts.shape[1] != counts.shape[1] or lines.shape[0] != placer.channels:
        raise ValueError("starts and lines do not fit the counts")
    before = t.fixed
    with nogil:
        sample = sample_of(bags, first)
        for i in range(rows.shape[0]):
            if rows[i] < 0 or rows[i] >= t.rows:
                wrong = True
                break
            while bags[sample + 1] <= first + i:
                sample += 1
            packet = sample // poolings
            line = first_line(t, rows[i], &offset)
            n = lines_of_row(t, offset)
            for k in range(n):
                locate(t, line + k, &place)
                if k and one.bursts < MAX_BURSTS and is_next(&place, &before):
                    one.bursts += 1
                    before = place
                    continue
                before = place
                channel = place.part[CHANNEL]
                turn = place.part[RANK] if by_rank else 0
                at = written[channel, packet, turn]
                if at >= counts[channel, packet, turn]:
                    wrong = True
                    break
                written[channel, packet, turn] += 1
                at = place_in_packet(&counts[channel, packet, 0], counts.shape[2], turn, at)
                opened = &stream[starts[channel, packet]]
                one = &stream[starts[channel, packet] + 1 + at]
                one.lookup = first + i
                one.packet = opened.packet
                one.row = <int>place.part[ROW]
                one.column = <int>place.part[COLUMN]
                one.channel = <int8_t>channel
                one.rank = <int8_t>place.part[RANK]
                one.bankgroup = <int8_t>place.part[BANKGROUP]
                one.bank = <int8_t>place.part[BANK]
                one.opcode = LOOKUP + k if k < MAX_BURSTS else LOOKUP_LINE_8
                one.bursts = 1
                one.tag = <int8_t>(sample % poolings)
                one.byte_offset = offset // WORD_BYTES
                one.weight = weights[i] if weighted else 0
                one.locality = local and locality[i] != 0
                one.weighted, one.dim, one.dtype, one.layout = opened.weighted, opened.dim, opened.dtype, opened.layout
            if wrong:
                break
            lines[before.part[CHANNEL]] += n
    if wrong:
        raise ValueError(f"lookup {first + i}: its row or its instructions were not counted")


def open_packets(
    const int64_t[::1] lengths, const int64_t[::1] starts, const int64_t[::1] numbers, int dim, int dtype, int layout,
    bint weighted, Instruction[::1] stream,
):
    """Write CONFIG and END of a table's packets on one channel; those of no LOOKUPs are not sent.

    lengths: int64 [packets], LOOKUPs of each; starts: where its CONFIG is; numbers: of packets on the channel.
    """
    cdef Instruction* one
    cdef int64_t p
    cdef int end
    with nogil:
        for p in range(lengths.shape[0]):
            for end in range(2 if lengths[p] else 0):
                one = &stream[starts[p] + (lengths[p] + 1 if end else 0)]
                one.opcode = END if end else CONFIG
                one.lookup = -1
                one.packet = numbers[p]
                one.dim, one.dtype, one.layout, one.weighted = dim, dtype, layout, weighted


def predict(Instruction[::1] stream, int64_t[::1] rows):
    """Command-presence bits from the row that was last asked for in each bank (D3).

    rows: int64 [ranks * 16], that row, -1 before the first; kept up to date. Releases the GIL.
    """
    cdef Instruction* one
    cdef int64_t i, bank
    with nogil:
        for i in range(stream.shape[0]):
            one = &stream[i]
            if not is_lookup(one.opcode):
                continue
            bank = (one.rank * BANKGROUPS + one.bankgroup) * BANKS + one.bank
            one.ddr_cmd = PREDICT_RD
            if rows[bank] != one.row:
                one.ddr_cmd |= PREDICT_ACT if rows[bank] < 0 else PREDICT_ACT | PREDICT_PRE
                rows[bank] = one.row


cdef inline int64_t place_in_packet(const int64_t* counts, Py_ssize_t turns, int64_t turn, int64_t k) noexcept nogil:
    """Place of the k-th LOOKUP of a rank: behind k of each rank (or all it has), and one more of each rank below."""
    cdef Py_ssize_t other
    cdef int64_t place = k
    for other in range(turns):
        if other != turn:
            place += min(counts[other], k + (other < turn))
    return place


cdef inline int64_t sample_of(const int64_t[::1] bags, int64_t lookup) noexcept nogil:
    """The sample whose bag a lookup is in, or one before it that is empty."""
    cdef int64_t low = 0, high = bags.shape[0] - 1, middle
    while low + 1 < high:
        middle = (low + high) // 2
        if bags[middle] <= lookup:
            low = middle
        else:
            high = middle
    return low


cdef bint check_shapes(
    Placer placer, const int64_t[::1] rows, const int64_t[::1] bags, int64_t first, int poolings,
    const int64_t[:, :, ::1] counts,
) except -1:
    """Raise ValueError if something would be written beside its array; return whether counts are by rank."""
    cdef Py_ssize_t samples = bags.shape[0] - 1
    if poolings < 1 or samples < 0 or counts.shape[1] * poolings < samples:
        raise ValueError(f"{counts.shape[1]} packets of {poolings} poolings do not hold {samples} samples")
    if rows.shape[0] and (samples == 0 or first < bags[0] or first + rows.shape[0] > bags[samples]):
        raise ValueError("the bags do not hold all lookups")
    if counts.shape[0] != placer.channels or counts.shape[2] not in (1, placer.ranks):
        raise ValueError("counts are by channel, packet, and rank or all ranks together")
    return counts.shape[2] > 1

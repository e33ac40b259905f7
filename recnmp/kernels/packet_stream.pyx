"""What a stream of instructions must be before a channel takes it (docs/microarchitecture.md, section 2)."""

from libc.stdint cimport int64_t

from .row_form cimport (
    ELEMENTS, LINE_BYTES, N_DTYPES, WORD_BYTES, RowForm, elements_before, is_by_line, is_form, lines_of, row_form,
)
from .vocabulary cimport CONFIG, END, LOOKUP, LOOKUP_LINE_8, Instruction, first_line, is_lookup
from .window_entries cimport LINES, OPERANDS

cdef enum:  # what is wrong with an instruction
    NOTHING, RANK, BANKGROUP, BANK, TAG, OFFSET, BURSTS, ROW_END, CUT, NOT_BY_LINE, DTYPE, LAYOUT, DIM, ORDER


def check_stream(
    const Instruction[::1] stream, int ranks, int bankgroups, int banks, int tags, bint by_line=False,
):
    """Raise ValueError unless it is a sequence of packets and every field is one that the machine can hold.

    stream: dtype `instruction_dtype`. ranks, bankgroups, banks, tags: how many there are; of tags, of one packet.
    by_line: each line must be one operand. Returns the number of operands.
    """
    cdef int64_t at = 0, operands = 0
    cdef int wrong
    cdef const Instruction* one
    with nogil:
        wrong = find_wrong(stream, ranks, bankgroups, banks, tags, by_line, &at, &operands)
    if wrong == NOTHING:
        return operands
    if wrong == ORDER:
        raise ValueError("the stream is not CONFIG, LOOKUPs (at least one), END, packet by packet")
    one = &stream[at]
    ranges = {
        RANK: ("rank", one.rank, ranks), BANKGROUP: ("bankgroup", one.bankgroup, bankgroups),
        BANK: ("bank", one.bank, banks), TAG: ("tag", one.tag, tags), OFFSET: ("byte_offset", one.byte_offset, 16),
        DTYPE: ("dtype", one.dtype, N_DTYPES),
    }
    line = first_line(one.opcode)
    texts = {
        BURSTS: f"{one.bursts} bursts, allowed are 1 to {LINES}",
        ROW_END: f"{one.bursts} bursts from line {line} on, but its row ends before",
        CUT: f"{one.bursts} bursts from line {line} on, but a quantised row is one instruction",
        NOT_BY_LINE: "a line of its row is not one operand, which this datapath was promised",
        LAYOUT: f"rows of dtype {one.dtype} have no layout {one.layout}",
        DIM: f"dim {one.dim}, allowed are 1 to {ELEMENTS * OPERANDS}",
    }
    if wrong in ranges:
        name, value, limit = ranges[wrong]
        raise ValueError(f"instruction {at}: {name} {value} is not in 0 to {limit - 1}")
    raise ValueError(f"instruction {at}: {texts[wrong]}")


cdef int find_wrong(
    const Instruction[::1] stream, int ranks, int bankgroups, int banks, int tags, bint by_line,
    int64_t* at, int64_t* operands,
) noexcept nogil:
    """What is wrong with the first instruction that is wrong, and where; else the number of operands."""
    cdef const Instruction* one
    cdef RowForm form
    cdef int64_t i, packet = -1
    cdef int before = END, wrong
    for i in range(stream.shape[0]):
        one = &stream[i]
        at[0] = i
        if is_lookup(one.opcode):
            if before == END or one.packet != packet:
                return ORDER
            wrong = wrong_place(one, ranks, bankgroups, banks, tags)
            if wrong == NOTHING:
                wrong = wrong_run(one, &form, by_line)
            operands[0] += operands_of(one, &form) if wrong == NOTHING else 0
        elif one.opcode == CONFIG:
            if before != END or (i and one.packet != packet + 1):
                return ORDER
            packet = one.packet
            wrong = wrong_form(one)
            form = row_form(one.dtype, one.layout, one.dim)
        elif one.opcode != END or not is_lookup(before) or one.packet != packet:
            return ORDER
        else:
            wrong = NOTHING
        if wrong:
            return wrong
        before = one.opcode
    return NOTHING if before == END else ORDER


cdef inline int wrong_place(const Instruction* one, int ranks, int bankgroups, int banks, int tags) noexcept nogil:
    if one.rank < 0 or one.rank >= ranks:
        return RANK
    if one.bankgroup < 0 or one.bankgroup >= bankgroups:
        return BANKGROUP
    if one.bank < 0 or one.bank >= banks:
        return BANK
    return TAG if one.tag < 0 or one.tag >= tags else NOTHING


cdef inline int wrong_form(const Instruction* one) noexcept nogil:
    if one.dtype < 0 or one.dtype >= N_DTYPES:
        return DTYPE
    if not is_form(one.dtype, one.layout):
        return LAYOUT
    return DIM if one.dim < 1 or one.dim > ELEMENTS * OPERANDS else NOTHING


cdef inline int wrong_run(const Instruction* one, RowForm* form, bint by_line) noexcept nogil:
    """Every line of a run must hold something of its row, or its entry would never be free."""
    cdef int line = first_line(one.opcode), lines
    if one.opcode > LOOKUP_LINE_8 and one.opcode < LOOKUP:
        return ORDER
    if one.byte_offset < 0 or one.byte_offset >= LINE_BYTES // WORD_BYTES:
        return OFFSET
    if one.bursts < 1 or one.bursts > LINES:
        return BURSTS
    lines = lines_of(form, one.byte_offset)
    if line + one.bursts > lines:
        return ROW_END
    if form.parameter_bytes and one.bursts != lines:
        return CUT
    return NOT_BY_LINE if by_line and not is_by_line(form, one.byte_offset) else NOTHING


cdef inline int operands_of(const Instruction* one, RowForm* form) noexcept nogil:
    """Element groups of which the lines of a run hold an element."""
    cdef int begin = LINE_BYTES * first_line(one.opcode) - WORD_BYTES * one.byte_offset
    cdef int first = elements_before(form, begin), last = elements_before(form, begin + LINE_BYTES * one.bursts)
    return (last - 1) // ELEMENTS - first // ELEMENTS + 1

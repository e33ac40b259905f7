# Words shared by the near-memory kernels: opcodes and record structs (docs/microarchitecture.md).

from libc.stdint cimport int8_t, int16_t, int32_t, int64_t

cdef extern from *:
    """
    /* Far away, yet safe to add any timing to. */
    #define RECNMP_NEVER ((int64_t)1 << 60)
    """
    const int64_t NEVER "RECNMP_NEVER"

cdef enum:
    TAGS = 16
    GROUPS = 16  # tag groups at most
    CONFIG = 1
    END = 2
    HOST_READ = 3  # a line for the host (D17)
    LOOKUP_LINE_8 = 4
    LOOKUP = 8  # + first line of the run in its row, 0 to 7

cdef enum:
    PREDICT_ACT = 1
    PREDICT_RD = 2
    PREDICT_PRE = 4

# One NMP instruction, decoded. `lookup`, `packet` and `channel` are the simulator's, and not on the bus: they name
# what an operand is, for values and logs; packets are numbered in the order in which a channel sends them.
cdef struct Instruction:
    int64_t lookup
    int64_t packet
    int32_t row
    float weight
    int16_t column
    int16_t dim
    int8_t opcode
    int8_t rank
    int8_t bankgroup
    int8_t bank
    int8_t bursts
    int8_t tag  # of its packet's poolings, 0 .. P-1; the group's base is added where it is sent
    int8_t group  # tag group, set where it is sent
    int8_t ddr_cmd
    int8_t locality
    int8_t byte_offset
    int8_t weighted
    int8_t channel
    int8_t dtype  # of the row, as in CONFIG
    int8_t layout
    int8_t closing  # END: no instruction comes before all results have crossed
    int8_t padding[5]  # a struct in a struct must end at a multiple of its widest field

# One element group, or the part of one that the lines of one instruction hold, entering a rank's datapath:
# elements first .. first + count - 1 of the vector.
cdef struct Operand:
    int64_t clk
    int64_t lookup
    int64_t packet
    int16_t rank
    int8_t tag  # of its packet's poolings
    int8_t element_group
    int16_t first
    int16_t count

# One DRAM command, columns as in the recorded traces.
cdef struct LoggedCommand:
    int64_t clk
    int32_t command
    int32_t rank
    int32_t bankgroup
    int32_t bank
    int32_t row
    int32_t column

# One result burst on the channel.
cdef struct ResultBurst:
    int64_t clk
    int64_t packet
    int32_t dimm
    int16_t tag
    int16_t element_group

# One instruction on the channel: `position` in the stream of its batch.
cdef struct Sent:
    int64_t clk
    int64_t position


cdef inline bint is_lookup(int opcode) noexcept nogil:
    return opcode >= LOOKUP_LINE_8


cdef inline int first_line(int opcode) noexcept nogil:
    """Line of its row that a LOOKUP begins with."""
    return opcode - LOOKUP if opcode >= LOOKUP else 8

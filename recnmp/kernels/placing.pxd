# Where the rows of one table lie, as numbers: row -> page -> physical line -> place in DRAM (docs/placement.md).

from libc.stdint cimport int64_t, uint64_t

cdef enum:
    LINE_BYTES = 64
    PAGE_LINES = 64
    ROUNDS = 4  # of the Feistel network
    MIX_SHIFT = 32

cdef extern from *:
    """
    /* Odd multipliers of the splitmix64 finaliser, as in recnmp/pages.py. */
    #define RECNMP_MIX_1 0xBF58476D1CE4E5B9ULL
    #define RECNMP_MIX_2 0x94D049BB133111EBULL
    """
    const uint64_t MIX_1 "RECNMP_MIX_1"
    const uint64_t MIX_2 "RECNMP_MIX_2"

cdef enum:  # parts of a Place
    CHANNEL, RANK, BANKGROUP, BANK, ROW, COLUMN
    N_PARTS

cdef struct Place:
    int64_t part[6]

# One digit of a physical line: so many of a part; shift is log2 of that, or -1 where it is no power of two.
cdef struct Digit:
    int part
    int shift
    int64_t size

cdef struct Places:
    int64_t rows
    int64_t row_bytes
    int64_t stride
    int64_t slots  # rows of a page
    int slot_shift  # log2 of slots, or -1
    int64_t first_page
    int64_t pages  # of the region that is permuted; 0: they are not
    int low_bits
    int high_bits
    uint64_t keys[4]
    int n_digits
    Digit digits[6]  # lowest first
    Place fixed  # what no digit says
    bint hashed
    int64_t group_mask
    int64_t rank_mask
    int64_t bank_mask
    int rank_shift
    int bank_shift


cdef class Placer:
    cdef Places places
    cdef readonly int channels
    cdef readonly int ranks


cdef inline int64_t permuted(const Places* t, int64_t page) noexcept nogil:
    """The physical page: Feistel rounds, walked on until the number is one of the region's."""
    cdef uint64_t low, high, number = page
    while True:
        low = number & ((<uint64_t>1 << t.low_bits) - 1)
        high = number >> t.low_bits
        high ^= scrambled(low, t.keys[0]) >> (64 - t.high_bits)
        low ^= scrambled(high, t.keys[1]) >> (64 - t.low_bits)
        high ^= scrambled(low, t.keys[2]) >> (64 - t.high_bits)
        low ^= scrambled(high, t.keys[3]) >> (64 - t.low_bits)
        number = (high << t.low_bits) | low
        if number < <uint64_t>t.pages:
            return number


cdef inline uint64_t scrambled(uint64_t half, uint64_t key) noexcept nogil:
    cdef uint64_t word = (half + key) * MIX_1
    word ^= word >> MIX_SHIFT
    return word * MIX_2


cdef inline int64_t first_line(const Places* t, int64_t row, int* byte_offset) noexcept nogil:
    """Physical line in which a row begins, and at which byte of it."""
    cdef int64_t page, first_byte
    if t.slot_shift >= 0:
        page = row >> t.slot_shift
        first_byte = (row & (t.slots - 1)) * t.stride
    else:
        page = row // t.slots
        first_byte = (row - page * t.slots) * t.stride
    page += t.first_page
    if t.pages:
        page = permuted(t, page)
    byte_offset[0] = first_byte & (LINE_BYTES - 1)
    return page * PAGE_LINES + first_byte // LINE_BYTES


cdef inline int lines_of_row(const Places* t, int byte_offset) noexcept nogil:
    return (byte_offset + t.row_bytes + LINE_BYTES - 1) // LINE_BYTES


cdef inline void locate(const Places* t, int64_t line, Place* place) noexcept nogil:
    """DRAM address of a physical line: digits, then the hash over them."""
    cdef int i, last = t.n_digits - 1
    cdef int64_t row, quotient
    cdef const Digit* digit
    place[0] = t.fixed
    for i in range(last):
        digit = &t.digits[i]
        if digit.shift >= 0:
            place.part[digit.part] = line & (digit.size - 1)
            line >>= digit.shift
        else:
            quotient = line // digit.size
            place.part[digit.part] = line - quotient * digit.size
            line = quotient
    if last >= 0:
        place.part[t.digits[last].part] = line
    if t.hashed:
        row = place.part[ROW]
        if t.group_mask >= 0:
            place.part[BANKGROUP] ^= (place.part[COLUMN] & 1) ^ ((row & t.group_mask) << 1)
        place.part[RANK] ^= (row >> t.rank_shift) & t.rank_mask
        place.part[BANK] ^= (row >> t.bank_shift) & t.bank_mask


cdef inline bint is_next(const Place* place, const Place* before) noexcept nogil:
    """Whether a line is the next column of the DRAM row of another."""
    return (
        place.part[COLUMN] == before.part[COLUMN] + 1 and place.part[ROW] == before.part[ROW]
        and place.part[BANK] == before.part[BANK] and place.part[BANKGROUP] == before.part[BANKGROUP]
        and place.part[RANK] == before.part[RANK] and place.part[CHANNEL] == before.part[CHANNEL]
    )

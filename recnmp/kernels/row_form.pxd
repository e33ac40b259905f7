# How a row lies in bytes, and its bytes in lines (docs/microarchitecture.md, section 2, "Rows, lines and operands").

from libc.stdint cimport int16_t

cdef enum:  # dtype and layout of CONFIG
    FP32, FP16, INT8, INT4
    N_DTYPES
cdef enum:
    PLAIN, TAIL, HEAD

cdef enum:
    ELEMENTS = 16  # of a group
    LINE_BYTES = 64
    WORD_BYTES = 4  # unit of byte_offset

# Bytes are those of the row.
cdef struct RowForm:
    int16_t dim
    int16_t bits  # of an element
    int16_t elements_at
    int16_t parameters_at
    int16_t parameter_bytes  # of scale and bias together, 0 for none
    int16_t end  # first byte behind


cdef inline RowForm row_form(int dtype, int layout, int dim) noexcept nogil:
    cdef RowForm form
    cdef int element_bytes
    form.dim = dim
    form.bits = 32 >> dtype
    element_bytes = (dim * form.bits + 7) // 8
    form.parameter_bytes = 0 if layout == PLAIN else 8 if dtype == INT8 and layout == TAIL else 4
    form.elements_at = form.parameter_bytes if layout == HEAD else 0
    form.parameters_at = element_bytes if layout == TAIL else 0
    form.end = element_bytes + form.parameter_bytes
    return form


cdef inline bint is_form(int dtype, int layout) noexcept nogil:
    """Whether there are rows of this dtype and layout."""
    return layout == PLAIN if dtype == FP32 or dtype == FP16 else (dtype == INT8 or dtype == INT4) and (
        layout == TAIL or layout == HEAD
    )


cdef inline int lines_of(const RowForm* form, int byte_offset) noexcept nogil:
    """Lines that a row touches which begins in word `byte_offset` of its first one."""
    return (WORD_BYTES * byte_offset + form.end + LINE_BYTES - 1) // LINE_BYTES


cdef inline bint is_by_line(const RowForm* form, int byte_offset) noexcept nogil:
    """Whether each line of the row is one operand, and that a whole element group."""
    return form.bits == 32 and (byte_offset == 0 or WORD_BYTES * (byte_offset + form.dim) <= LINE_BYTES)


cdef inline int elements_before(const RowForm* form, int byte) noexcept nogil:
    """Elements that lie before a byte at which a line begins or ends: none lies on both sides of it."""
    cdef int elements = (byte - form.elements_at) * 8 // form.bits
    return 0 if byte <= form.elements_at else elements if elements < form.dim else form.dim


cdef inline int line_of_element(const RowForm* form, int byte_offset, int element) noexcept nogil:
    """Line of the row that holds an element."""
    return (WORD_BYTES * byte_offset + form.elements_at + element * form.bits // 8) // LINE_BYTES

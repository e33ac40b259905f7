"""NumPy dtypes of the record structs in vocabulary.pxd.

A struct memoryview does not check field names, so arrays for the kernels are made with these dtypes only.
"""

import numpy as np

cdef Instruction _instruction[1]
cdef Operand _operand[1]
cdef Command _command[1]

instruction_dtype = np.asarray(<Instruction[:1]>_instruction).dtype
operand_dtype = np.asarray(<Operand[:1]>_operand).dtype
command_dtype = np.asarray(<Command[:1]>_command).dtype

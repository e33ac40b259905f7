"""NumPy dtypes of the record structs in vocabulary.pxd.

A struct memoryview does not check field names, so arrays for the kernels are made with these dtypes only.
"""

import numpy as np

cdef Instruction _instruction[1]
cdef Operand _operand[1]
cdef LoggedCommand _command[1]
cdef ResultBurst _burst[1]
cdef Sent _sent[1]

instruction_dtype = np.asarray(<Instruction[:1]>_instruction).dtype
operand_dtype = np.asarray(<Operand[:1]>_operand).dtype
command_dtype = np.asarray(<LoggedCommand[:1]>_command).dtype
burst_dtype = np.asarray(<ResultBurst[:1]>_burst).dtype
sent_dtype = np.asarray(<Sent[:1]>_sent).dtype

import numpy as np

instruction_dtype: np.dtype[np.void]
operand_dtype: np.dtype[np.void]
command_dtype: np.dtype[np.void]
burst_dtype: np.dtype[np.void]
sent_dtype: np.dtype[np.void]

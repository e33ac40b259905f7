# clocks of the two FP32 units, in a rank's datapath and alone (D9)
cdef enum:
    FP_ADD_CLOCKS = 3
    FP_MUL_CLOCKS = 4
    DEQUANTISE_CLOCKS = FP_MUL_CLOCKS + FP_ADD_CLOCKS

from typing import ClassVar

import numpy as np
import numpy.typing as npt

class Clocked:
    INPUTS: ClassVar[tuple[str, ...]]
    OUTPUTS: ClassVar[tuple[str, ...]]
    n_inputs: int
    n_outputs: int
    def reset(self) -> None: ...
    def run(
        self, inputs: npt.NDArray[np.uint64], outputs: npt.NDArray[np.uint64] | None = None
    ) -> npt.NDArray[np.uint64]: ...

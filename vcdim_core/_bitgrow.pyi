from typing import Any, final

import numpy as np
import numpy.typing as npt

@final
class BitGrower:
    def __init__(
        self,
        codes: npt.NDArray[np.uint8],
        sizes: npt.NDArray[np.int32],
        lows: npt.NDArray[np.float64],
        tests: npt.NDArray[np.int32],
        y: npt.NDArray[np.int32],
        K: int,
        criterion: int,
        least: int,
        max_depth: int,
        max_leaves: int,
        min_split: int,
        min_gain: float,
        alpha: float,
    ) -> None: ...
    def run(self) -> None: ...
    def address(self) -> int: ...

def encode(
    X: npt.NDArray[Any],
    codes: npt.NDArray[np.uint8],
    sizes: npt.NDArray[np.int32],
    lows: npt.NDArray[np.float64],
    limit: int,
) -> bool: ...

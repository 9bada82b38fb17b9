from typing import Any

import numpy as np
import numpy.typing as npt

def ranges(X: npt.NDArray[Any], lows: npt.NDArray[np.float64], highs: npt.NDArray[np.float64]) -> bool: ...
def search(
    X: npt.NDArray[Any],
    y: npt.NDArray[np.int32],
    lows: npt.NDArray[np.float64],
    highs: npt.NDArray[np.float64],
    K: int,
    criterion: int,
    least: int,
    first: int,
    last: int,
) -> tuple[int, int, float, float, float, tuple[Any, ...] | None] | None: ...

__test__: dict[str, Any]

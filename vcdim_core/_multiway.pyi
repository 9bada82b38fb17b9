from typing import Any

import numpy as np
import numpy.typing as npt

def grow(
    codes: npt.NDArray[np.int32],
    arity: npt.NDArray[np.int32],
    y: npt.NDArray[np.int32],
    w: npt.NDArray[np.float64] | None,
    K: int,
    criterion: int,
    max_depth: int,
    min_split: int,
    least: int,
    lightest: float,
    min_gain: float,
    alpha: float,
) -> tuple[
    npt.NDArray[np.int32],
    npt.NDArray[np.int64],
    npt.NDArray[np.float64],
    npt.NDArray[np.float64],
    npt.NDArray[np.int64],
    npt.NDArray[np.int64],
]: ...

__test__: dict[str, Any]

from typing import Any

import numpy as np
import numpy.typing as npt

def apply(
    X: npt.NDArray[Any],
    feature: npt.NDArray[np.int32],
    test: npt.NDArray[np.int8],
    threshold: npt.NDArray[np.float64],
    child_start: npt.NDArray[np.int64],
    child: npt.NDArray[np.int64],
    set_start: npt.NDArray[np.int64],
    values: npt.NDArray[np.float64],
    missing: npt.NDArray[np.int32],
    as_single: bool,
) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]: ...
def path(
    leaves: npt.NDArray[np.int64], lengths: npt.NDArray[np.int64], parent: npt.NDArray[np.int64]
) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]: ...

__test__: dict[str, Any]

from typing import Any

import numpy as np
from numpy.typing import NDArray

def add_finite_splits(
    x: NDArray[np.float64],
    y: NDArray[np.float64],
    out: NDArray[np.float64],
    kind: int,
    categories: int,
    count: float,
    same: bool,
    m0: int,
) -> None: ...
def add_real_splits(
    x: NDArray[np.float64],
    y: NDArray[np.float64],
    out: NDArray[np.float64],
    cap: float,
    same: bool,
    lx: int,
    ly: int,
    m0: int,
) -> None: ...

__test__: dict[Any, Any]

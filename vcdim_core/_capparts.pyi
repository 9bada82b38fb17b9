from typing import Any

import numpy as np
from numpy.typing import NDArray

_Doubles = NDArray[np.float64]

def cap_parts(
    values: _Doubles,
    sums: _Doubles,
    splits: _Doubles,
    scale: _Doubles,
    first: int,
    tilt: float,
    size: int,
    caps: _Doubles,
    falling: _Doubles,
) -> None: ...

__test__: dict[Any, Any]

from typing import Any

import numpy as np
from numpy.typing import NDArray

_Doubles = NDArray[np.float64]
_Exponents = NDArray[np.int32]

def fill_stirling(sm: _Doubles, se: _Exponents) -> None: ...
def extend_partitions(
    xm: _Doubles,
    xe: _Exponents,
    ym: _Doubles,
    ye: _Exponents,
    zm: _Doubles,
    ze: _Exponents,
    ratio: _Doubles,
    sm: _Doubles,
    se: _Exponents,
    qm: _Doubles,
    qe: _Exponents,
    lx: int,
    ly: int,
    same: bool,
    cap: int,
    m0: int,
) -> None: ...
def _py_dot(
    x: tuple[_Doubles, _Exponents], y: tuple[_Doubles, _Exponents], m: int, first: int, last: int
) -> tuple[float, int]: ...

__test__: dict[Any, Any]

from typing import Any

import numpy as np
from numpy.typing import NDArray

_Doubles = NDArray[np.float64]
_Exponents = NDArray[np.int32]

def raise_changes(gm: _Doubles, ge: _Exponents, n_more: int, n_classes: float) -> None: ...
def subtract_up(
    xm: _Doubles, xe: _Exponents, ym: _Doubles, ye: _Exponents, zm: _Doubles, ze: _Exponents
) -> None: ...
def extend_chain(
    sm: _Doubles,
    se: _Exponents,
    vm: _Doubles,
    ve: _Exponents,
    tm: _Doubles,
    te: _Exponents,
    zm: _Doubles,
    ze: _Exponents,
    ratio: _Doubles,
    x_is_leaf: bool,
    y_is_leaf: bool,
    same: bool,
    n_leaves: int,
    cap: int,
    n_classes: float,
    m0: int,
) -> None: ...

__test__: dict[Any, Any]

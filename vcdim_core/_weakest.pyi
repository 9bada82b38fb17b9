from typing import Any

import numpy as np
from numpy.typing import NDArray

_Doubles = NDArray[np.float64]
_Ints = NDArray[np.int64]

def weakest_links(
    parent: _Ints,
    child_start: _Ints,
    child: _Ints,
    risk: _Doubles,
    nodes_too: bool,
    order: _Ints,
    alphas: _Doubles,
) -> int: ...
def after_each(
    parent: _Ints,
    child_start: _Ints,
    child: _Ints,
    leaf_errors: _Doubles,
    single: _Doubles,
    order: _Ints,
    leaves: _Ints,
    total: _Ints,
    errors: _Doubles,
    vc: _Doubles,
) -> None: ...

__test__: dict[Any, Any]

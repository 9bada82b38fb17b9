from typing import Any

import numpy as np
from numpy.typing import NDArray
from typing_extensions import disjoint_base

_Doubles = NDArray[np.float64]
_Ints = NDArray[np.int64]
_Codes = NDArray[np.int32]

@disjoint_base
class Surgeon:
    steps: int
    def __init__(
        self,
        X: _Doubles,
        codes: _Codes,
        weights: _Doubles,
        n_classes: int,
        feature: _Codes,
        test: NDArray[np.int8],
        threshold: _Doubles,
        child_start: _Ints,
        child: _Ints,
        set_start: _Ints,
        values: _Doubles,
        missing: _Codes,
        label: _Ints,
        as_single: bool,
        cf: float,
        surgery: bool,
    ) -> None: ...
    def run(self) -> tuple[NDArray[np.uint8], _Ints, list[tuple[int, float, float, float, int]]]: ...
    def evaluate(self) -> float: ...

__test__: dict[Any, Any]

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray
from typing_extensions import disjoint_base

_Doubles = NDArray[np.float64]
_Ints = NDArray[np.int64]
_Caps = tuple[_Doubles, _Doubles, NDArray[np.int32]]

@disjoint_base
class LoosePruner:
    def __init__(
        self,
        parent: _Ints,
        left: _Ints,
        right: _Ints,
        errors: _Doubles,
        prior: _Doubles,
        points: int,
        real: float,
        n_classes: int,
        kind: int,
        rows: float,
        fixed: float,
        log_r: float,
        raising: bool,
        caps: Callable[[int], _Caps] | None,
    ) -> None: ...
    def now(self) -> tuple[int, float, float, float]: ...
    def best(self) -> tuple[int, int, int, float, float, float] | None: ...
    def bounds(self) -> dict[tuple[int, int], float]: ...
    def is_capped(self) -> bool: ...
    def set_raised(self, v: int, left: float, right: float) -> None: ...
    def replace(self, v: int, action: int, nodes: _Ints, own: _Doubles, wrong: _Doubles) -> None: ...

__test__: dict[Any, Any]

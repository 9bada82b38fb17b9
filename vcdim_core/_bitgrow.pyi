from typing import Any, Self

import numpy as np
import numpy.typing as npt
from typing_extensions import disjoint_base

@disjoint_base
class BitGrower:
    def __new__(cls, *args: Any, **kwargs: Any) -> Self: ...
    def run(self) -> None: ...
    def address(self) -> int: ...

def encode(
    X: npt.NDArray[Any],
    codes: npt.NDArray[np.uint8],
    sizes: npt.NDArray[np.int32],
    lows: npt.NDArray[np.float64],
    limit: int,
) -> bool: ...

__test__: dict[str, Any]

from typing import Any

import numpy as np
import numpy.typing as npt

def search(
    X: npt.NDArray[Any],
    y: npt.NDArray[np.int32],
    w: npt.NDArray[np.float64] | None,
    kinds: npt.NDArray[np.int32],
    K: int,
    criterion: int,
    least: int,
    general: bool,
    shift: int,
    first: int,
    last: int,
) -> tuple[int, int, float, float, float, tuple[Any, ...] | None] | None: ...
def small_classes(y: npt.NDArray[Any], codes: npt.NDArray[np.int32]) -> list[int] | None: ...
def gains(table: npt.NDArray[np.float64], criterion: int) -> tuple[float, float, float]: ...

__test__: dict[str, Any]

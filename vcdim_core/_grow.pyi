from typing import Any

import numpy as np
import numpy.typing as npt

class Grower:
    def __init__(
        self,
        single: npt.NDArray[Any] | None,
        wide: npt.NDArray[Any] | None,
        y: npt.NDArray[np.int32],
        w: npt.NDArray[np.float64] | None,
        tests: npt.NDArray[np.int32],
        K: int,
        criterion: int,
        least: int,
        lightest: float,
        general: bool,
        shift: int,
        max_depth: int,
        max_leaves: int,
        min_split: int,
        min_gain: float,
        alpha: float,
        n_workers: int,
    ) -> None: ...
    def sort(self, first: int, last: int) -> None: ...
    def start(self) -> bool: ...
    def run(self) -> None: ...
    def address(self) -> int: ...

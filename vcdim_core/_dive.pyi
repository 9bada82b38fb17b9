import numpy as np
import numpy.typing as npt

def dive(
    table: npt.NDArray[np.int32],
    n_features: int,
    fixed: bool,
    target: int,
    ceiling: int,
    budget: int,
    limits: npt.NDArray[np.float64],
) -> tuple[str, list[int], list[int], int, int, int]: ...

import numpy as np
import numpy.typing as npt

def realise(
    table: npt.NDArray[np.int32],
    cuts: npt.NDArray[np.uint32],
    parts: npt.NDArray[np.uint32],
    part_sizes: npt.NDArray[np.int32],
    labels: npt.NDArray[np.int32],
    fixed: bool,
    limits: npt.NDArray[np.float64],
) -> list[tuple[int, int, int]] | None: ...
def count_partitions(
    table: npt.NDArray[np.int32],
    cuts: npt.NDArray[np.uint32],
    parts: npt.NDArray[np.uint32],
    part_sizes: npt.NDArray[np.int32],
    n: int,
    c: int,
    fixed: bool,
    limits: npt.NDArray[np.float64],
) -> int: ...

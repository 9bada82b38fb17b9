import numpy as np
import numpy.typing as npt

def count_dichotomies(
    table: npt.NDArray[np.int32],
    points: npt.NDArray[np.uint16],
    d: int,
    fixed: bool,
    limits: npt.NDArray[np.float64],
) -> int: ...
def find_unrealised(
    table: npt.NDArray[np.int32],
    points: npt.NDArray[np.uint16],
    d: int,
    fixed: bool,
    limits: npt.NDArray[np.float64],
) -> int: ...
def realise(
    table: npt.NDArray[np.int32],
    points: npt.NDArray[np.uint16],
    labels: npt.NDArray[np.int32],
    d: int,
    fixed: bool,
    limits: npt.NDArray[np.float64],
) -> list[tuple[int, int, int]] | None: ...
def count_partitions(
    table: npt.NDArray[np.int32],
    points: npt.NDArray[np.uint16],
    c: int,
    d: int,
    fixed: bool,
    limits: npt.NDArray[np.float64],
) -> int: ...

from typing import Any

import numpy.typing as npt

def arrays(address: int) -> dict[str, npt.NDArray[Any]]: ...

__test__: dict[str, Any]

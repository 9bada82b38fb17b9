from typing import Any

import numpy as np
from numpy.typing import NDArray

_Doubles = NDArray[np.float64]
_Ints = NDArray[np.int64]
_Marks = NDArray[np.uint8]

def count_rows(leaf: _Ints, codes: NDArray[np.int32], weights: _Doubles, parent: _Ints, counts: _Doubles) -> None: ...
def subtree_sums(parent: _Ints, leaf: _Marks, values: _Doubles) -> None: ...
def prune_srm(
    child_start: _Ints,
    child: _Ints,
    rows: _Doubles,
    leaf_errors: _Doubles,
    single: _Doubles,
    kind: int,
    a1: float,
    a2: float,
    nu: float,
    leaf: _Marks,
    size: _Ints,
    errors: _Doubles,
    vc: _Doubles,
    bound: _Doubles,
    as_leaf: _Doubles,
) -> None: ...
def prune_pessimistic(
    child_start: _Ints,
    child: _Ints,
    rows: _Doubles,
    leaf_errors: _Doubles,
    cf: float,
    leaf: _Marks,
    size: _Ints,
    errors: _Doubles,
    bound: _Doubles,
    as_leaf: _Doubles,
) -> None: ...
def prune_holdout(
    child_start: _Ints, child: _Ints, as_leaf: _Doubles, leaf: _Marks, size: _Ints, bound: _Doubles
) -> None: ...
def merge_leaves(
    child_start: _Ints, child: _Ints, label: _Ints, leaf: _Marks, size: _Ints, merged: _Marks
) -> _Ints: ...
def prune_insignificant(
    child_start: _Ints,
    child: _Ints,
    counts: _Doubles,
    criterion: int,
    alpha: float,
    leaf: _Marks,
    size: _Ints,
    chance: _Doubles,
) -> None: ...
def upper_limits(errors: _Doubles, rows: _Doubles, cf: float, out: _Doubles) -> None: ...
def kept_nodes(child_start: _Ints, child: _Ints, leaf: _Marks) -> _Ints: ...

__test__: dict[Any, Any]

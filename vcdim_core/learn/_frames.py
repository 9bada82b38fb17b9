"""Reading pandas and polars frames without importing either: categorical columns become nominal codes."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt


def is_frame(X: Any) -> bool:
    """Whether ``X`` is a data frame."""
    return hasattr(X, "columns") and hasattr(X, "dtypes") and hasattr(X, "__getitem__") and hasattr(X, "shape")


def column_kind(column: Any) -> str:
    """``"nominal"`` for categories and text, ``"binary"`` for truth values, ``"real"`` for numbers."""
    name = str(column.dtype).split("(")[0].lower()
    if name in ("category", "categorical", "enum", "object", "string", "str", "utf8", "large_string"):
        return "nominal"
    if name in ("bool", "boolean"):
        return "binary"
    return "real"


def has_categories(X: Any) -> bool:
    """Whether a frame has a column that is not numeric."""
    return any(column_kind(X[name]) == "nominal" for name in X.columns)


def _entries(column: Any) -> list[Any]:
    """The entries of a column, None where missing."""
    raw = column.to_list() if hasattr(column, "to_list") else list(column)
    return [None if entry is None or entry != entry else entry for entry in raw]


def _known(column: Any) -> list[Any]:
    """The categories of a nominal column, sorted: as text where kinds are mixed."""
    found = {entry for entry in _entries(column) if entry is not None}
    try:
        return sorted(found)
    except TypeError:
        return sorted(found, key=str)


def read_categories(X: Any) -> dict[int, list[Any]]:
    """The categories of each nominal column of a frame."""
    return {place: _known(X[name]) for place, name in enumerate(X.columns) if column_kind(X[name]) == "nominal"}


def read_matrix(X: Any, categories: dict[int, list[Any]]) -> npt.NDArray[np.float64]:
    """The frame as numbers: codes in nominal columns (one past the last for an unknown category), NaN where missing."""
    out = np.empty(X.shape, dtype=np.float64)
    for place, name in enumerate(X.columns):
        column = X[name]
        if place in categories:
            codes = {entry: float(code) for code, entry in enumerate(categories[place])}
            unknown = float(len(codes))
            out[:, place] = [np.nan if e is None else codes.get(e, unknown) for e in _entries(column)]
        elif column_kind(column) == "nominal":
            raise ValueError(f"expected column {str(name)!r} to hold numbers as when fitted, got {column.dtype}")
        else:
            out[:, place] = [np.nan if entry is None else float(entry) for entry in _entries(column)]
    return out

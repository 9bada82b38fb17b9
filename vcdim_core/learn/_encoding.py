"""Discrete features as numbers: one indicator for each of their L values (1-of-L)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Encoder:
    """How the columns of the data become features of the tree."""

    values: tuple[tuple[float, ...] | None, ...]
    """For each column its known values if it is discrete, None if it is a number."""
    names: tuple[str, ...]
    """Names of the features that come out."""

    def transform(self, X: Floats) -> Floats:
        """Return one feature for each number and L for each discrete column.

        A missing value is missing in all L of them; an unknown one is 0 in all.

        Examples
        --------
        >>> import numpy as np
        >>> encoder = Encoder((None, (1.0, 3.0)), ("x0", "x1=1", "x1=3"))
        >>> encoder.transform(np.array([[0.5, 3.0], [0.7, 9.0]])).tolist()
        [[0.5, 0.0, 1.0], [0.7, 0.0, 0.0]]
        """
        if all(known is None for known in self.values):
            return X
        out: list[Floats] = []
        for place, known in enumerate(self.values):
            column = X[:, place : place + 1]
            if known is None:
                out.append(column)
            else:
                out.append(np.where(np.isnan(column), np.nan, column == np.array(known)))
        return np.ascontiguousarray(np.hstack(out), dtype=np.float64)


def find_values(X: Floats, is_discrete: npt.NDArray[np.bool_]) -> tuple[tuple[float, ...] | None, ...]:
    """The known values of each discrete column."""
    return tuple(
        tuple(np.unique(X[~np.isnan(X[:, place]), place]).tolist()) if is_discrete[place] else None
        for place in range(X.shape[1])
    )


def make_encoder(
    X: Floats, is_discrete: npt.NDArray[np.bool_], names: list[str], categories: dict[int, list[Any]]
) -> Encoder:
    """Return the encoder of some data; ``categories`` names the codes of columns that were text."""
    values = find_values(X, is_discrete)
    out: list[str] = []
    for place, known in enumerate(values):
        if known is None:
            out.append(names[place])
            continue
        texts = categories.get(place)
        shown = [str(texts[int(value)]) if texts is not None else f"{value:g}" for value in known]
        out += [f"{names[place]}={text}" for text in shown]
    return Encoder(values, tuple(out))

"""Turning what users pass as data into what the kernels take: a matrix, class codes, weights and feature kinds."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from . import _bins, _split
from ._validation import check_choice

CRITERIA = ("error", "gini", "entropy", "gain_ratio", "chi2", "orthogonality", "hypergeometric")
"""Names of the split criteria; the position is the code that the kernels use."""

MANY = 4096
"""Rows from which histograms beat sorting (measured on normal data, 20 features)."""

KINDS = ("real", "binary", "ordinal", "nominal", "multiway")
"""What a feature may be."""

NOMINAL = ("one-vs-rest", "subset", "multiway")
"""How a nominal feature may split."""

THRESHOLD, ONE, SUBSET, MULTIWAY = range(4)
"""Codes of the tests that the kernels know."""


@dataclass(frozen=True, slots=True)
class Data:
    """Checked data, ready for a kernel."""

    X: npt.NDArray[Any]
    """float32 or float64, rows by features, any strides."""
    codes: npt.NDArray[np.int32]
    """Class of each row, 0, 1, ..."""
    classes: npt.NDArray[Any]
    """What the codes stand for, sorted."""
    weights: npt.NDArray[np.float64] | None
    """Positive weights, or None when all rows count once."""
    kinds: tuple[str, ...]
    """Kind of each feature."""
    tests: npt.NDArray[np.int32]
    """Test of each feature: THRESHOLD, ONE, SUBSET or MULTIWAY."""
    has_missing: bool
    """Whether X holds a NaN."""
    ranges: tuple[npt.NDArray[np.float64], npt.NDArray[np.float64]] | None = None
    """Smallest and largest value of each feature, where they were found on the way."""

    @property
    def shift(self) -> int:
        """Where the class bits start in a 32-bit item; a row number must fit below."""
        return 32 - max(1, (self.classes.size - 1).bit_length())


def as_matrix(X: Any, name: str = "X") -> npt.NDArray[Any]:
    """Return ``X`` as a float32 or float64 matrix without losing digits."""
    out = np.asarray(X)
    if out.ndim != 2:
        raise ValueError(f"expected {name} to have 2 dimensions (rows, features), got {out.ndim}")
    if out.dtype == object:
        try:
            out = out.astype(np.float64)
        except (TypeError, ValueError) as error:
            raise ValueError(f"expected {name} to hold numbers, got an entry that is none ({error})") from None
    kind = out.dtype.kind
    if kind not in "fiub":
        raise TypeError(f"expected {name} to hold numbers, got dtype {out.dtype}")
    if kind == "f" and out.dtype.itemsize == 2:
        return out.astype(np.float32)
    if kind == "f" and out.dtype.itemsize > 8:
        wide = out.astype(np.float64)
        if not np.array_equal(wide.astype(out.dtype), out, equal_nan=True):
            raise ValueError(f"expected {name} to fit float64, got {out.dtype} values that lose digits")
        return wide
    if kind in "iu" and out.dtype.itemsize == 8 and out.size:
        largest = max(abs(int(out.min())), abs(int(out.max())))
        if largest > 2**53:
            raise ValueError(f"expected integers of {name} within 2**53, where float64 is exact, got {largest}")
    if kind in "iub":
        return out.astype(np.float64 if out.dtype.itemsize > 2 else np.float32)
    if not out.dtype.isnative:
        out = out.astype(out.dtype.newbyteorder("="))
    if not out.flags.aligned or any(stride % out.itemsize for stride in out.strides):
        out = out.copy()
    return out


def as_codes(y: Any, m: int) -> tuple[npt.NDArray[np.int32], npt.NDArray[Any]]:
    """Return class codes and the sorted classes of the labels ``y``."""
    labels = np.asarray(y)
    if labels.ndim != 1:
        raise ValueError(f"expected y to have 1 dimension, got {labels.ndim}")
    if labels.size != m:
        raise ValueError(f"expected y to have one label for each of {m} rows, got {labels.size}")
    if labels.dtype.kind == "f" and np.isnan(labels).any():
        raise ValueError("expected y without missing values, got nan")
    if labels.dtype.kind in "iub":
        numbers = labels.view(np.uint8) if labels.dtype.kind == "b" else labels
        if not numbers.dtype.isnative:
            numbers = numbers.astype(numbers.dtype.newbyteorder("="))
        codes = np.empty(m, dtype=np.int32)
        found = _split.small_classes(numbers, codes)
        if found is not None:
            if found[-1] != len(found) - 1:
                place = np.zeros(256, dtype=np.int32)
                place[found] = np.arange(len(found), dtype=np.int32)
                return place[codes], np.array(found, dtype=labels.dtype)
            return codes, np.array(found, dtype=labels.dtype)
    try:
        classes, places = np.unique(labels, return_inverse=True)
    except TypeError:
        raise TypeError("expected y to hold labels of one kind that can be sorted, got a mixture") from None
    return places.astype(np.int32).reshape(-1), classes


def as_weights(sample_weight: Any, m: int) -> npt.NDArray[np.float64] | None:
    """Return weights as float64, or None where there are none."""
    if sample_weight is None:
        return None
    weights = np.ascontiguousarray(sample_weight, dtype=np.float64)
    if weights.shape != (m,):
        raise ValueError(f"expected sample_weight to have shape ({m},), got {weights.shape}")
    if not np.isfinite(weights).all():
        raise ValueError("expected sample_weight to be finite, got nan or inf")
    if m and float(weights.min()) < 0:
        raise ValueError(f"expected sample_weight >= 0, got {float(weights.min())!r}")
    return weights


def as_kinds(feature_kinds: str | Sequence[str] | None, d: int) -> tuple[str, ...]:
    """Return one kind per feature."""
    if feature_kinds is None:
        return ("real",) * d
    if isinstance(feature_kinds, str):
        return (check_choice("feature_kinds", feature_kinds, KINDS),) * d
    kinds = tuple(check_choice("every entry of feature_kinds", kind, KINDS) for kind in feature_kinds)
    if len(kinds) != d:
        raise ValueError(f"expected one kind for each of {d} features, got {len(kinds)}")
    return kinds


def as_tests(kinds: tuple[str, ...], nominal: str) -> npt.NDArray[np.int32]:
    """Return the test code of each feature."""
    check_choice("nominal", nominal, NOMINAL)
    if all(kind == "real" for kind in kinds):
        return np.zeros(len(kinds), dtype=np.int32)
    of_kind = {"nominal": (ONE, SUBSET, MULTIWAY)[NOMINAL.index(nominal)], "multiway": MULTIWAY}
    return np.array([of_kind.get(kind, THRESHOLD) for kind in kinds], dtype=np.int32)


def check_values(X: npt.NDArray[Any], kinds: tuple[str, ...]) -> None:
    """Raise where a binary column holds anything but 0 and 1, or a coded column anything but whole numbers."""
    for feature, kind in enumerate(kinds):
        if kind == "real":
            continue
        column = X[:, feature]
        column = column[~np.isnan(column)]
        if kind == "binary":
            bad = column[(column != 0) & (column != 1)]
            if bad.size:
                raise ValueError(f"expected binary feature {feature} to hold 0 and 1, got {float(bad[0])!r}")
        else:
            with np.errstate(invalid="ignore"):
                bad = column[~((column == np.floor(column)) & (column >= 0) & (column < 2**31))]
            if bad.size:
                raise ValueError(
                    f"expected {kind} feature {feature} to hold category codes 0, 1, 2, ..., got {float(bad[0])!r}"
                )


def prepare(
    X: Any,
    y: Any,
    sample_weight: Any,
    feature_kinds: str | Sequence[str] | None,
    nominal: str,
    missing: str,
) -> Data:
    """Check and convert everything that ``best_split`` and ``grow_tree`` take."""
    check_choice("missing", missing, ("raise", "best"))
    matrix = as_matrix(X)
    m, d = matrix.shape
    if m < 1:
        raise ValueError("expected at least 1 row, got 0")
    if d < 1:
        raise ValueError("expected at least 1 feature, got 0")
    if d >= 2**31:
        raise ValueError(f"expected fewer than 2**31 features, got {d}")
    codes, classes = as_codes(y, m)
    weights = as_weights(sample_weight, m)
    kinds = as_kinds(feature_kinds, d)
    tests = as_tests(kinds, nominal)
    if weights is not None:
        matrix, codes, weights = _drop_weightless(matrix, codes, weights)
    if any(kind != "real" for kind in kinds):
        check_values(matrix, kinds)
    has_missing, ranges = _look(matrix)
    if has_missing and missing == "raise":
        raise ValueError('expected X without missing values, got nan (missing="best" sends them to the better side)')
    if classes.size > 2 and bool((tests == SUBSET).any()):
        raise ValueError(f"expected two classes for subset splits, got {classes.size}")
    data = Data(matrix, codes, classes, weights, kinds, tests, has_missing, ranges)
    check_rows(m, data.shift)
    return data


def _look(
    X: npt.NDArray[Any],
) -> tuple[bool, tuple[npt.NDArray[np.float64], npt.NDArray[np.float64]] | None]:
    """Whether X holds a NaN; and, if it is large and does not, the range of each feature from the same pass."""
    if X.shape[0] < MANY:
        return math.isnan(X.min()), None
    lows, highs = np.empty(X.shape[1]), np.empty(X.shape[1])
    return (False, (lows, highs)) if _bins.ranges(X, lows, highs) else (True, None)


def check_rows(m: int, shift: int) -> None:
    """Raise where row numbers do not fit beside the class bits."""
    if m >= 2**shift:
        raise ValueError(f"expected fewer than 2**{shift} rows with this number of classes, got {m}")


def _drop_weightless(
    X: npt.NDArray[Any], codes: npt.NDArray[np.int32], weights: npt.NDArray[np.float64]
) -> tuple[npt.NDArray[Any], npt.NDArray[np.int32], npt.NDArray[np.float64] | None]:
    """Leave out rows of weight 0; weights that are all 1 become None."""
    keep = weights > 0
    if not keep.any():
        raise ValueError("expected some sample_weight > 0, got none")
    if not keep.all():
        X, codes, weights = X[keep], codes[keep], weights[keep]
    return X, codes, (None if bool((weights == 1).all()) else weights)

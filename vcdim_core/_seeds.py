"""Exact values of small substructures, for the recursions to start from.

Three sources, in this order: values put in by :func:`remember_exact`; the table below; the exact engine, asked for
structures and features that are small enough to be searched in no time. A problem that it refuses counts as not known.
"""

from __future__ import annotations

import threading
from collections.abc import Mapping
from functools import lru_cache

from ._chain import Seed
from ._counts import State
from ._rows import Table
from ._validation import check_int
from .features import Features
from .structures import Structure, as_structure

# Exact VC dimensions on real features, by exhaustive search over all orders (stumps and one feature have closed forms).
REAL_VC: dict[tuple[str, int], int] = {("((..).)", 2): 5, ("(((..).).)", 2): 8, ("((..)(..))", 2): 8}

# Number of nodes -> most features for which the engine is asked: at most 0.05 s each (measured 2026-11).
_ENGINE_BINARY = {1: 6, 2: 6, 3: 6, 4: 5, 5: 4}
_ENGINE_REAL = {1: 3, 2: 2}
# Growth functions: up to so many nodes; number of features -> most points, at most 0.01 s each.
_GROWTH_NODES = 3
_GROWTH_POINTS = {1: 2, 2: 4, 3: 8, 4: 8, 5: 7}

_asking = threading.local()  # set while the engine is asked: it may itself ask for bounds
_lock = threading.Lock()
_known: dict[tuple[str, Features], Seed] = {}


def remember_exact(
    structure: object, features: Features, *, vc_dimension: int | None = None, growth: Mapping[int, int] | None = None
) -> None:
    """Let the bounds use exact values found elsewhere.

    Parameters
    ----------
    structure : structure
        Anything that :func:`as_structure` accepts.
    features : Features
    vc_dimension : int, optional
        Exact VC dimension.
    growth : mapping from int to int, optional
        Exact growth function with two classes, by number of points.

    Notes
    -----
    The values are taken on trust. :func:`forget_exact` takes them back.

    Examples
    --------
    >>> from vcdim_core.features import Features
    >>> remember_exact("((..).)", Features(real=3), vc_dimension=7)
    >>> known("((..).)", Features(real=3)).vc_dimension
    7
    >>> forget_exact()
    """
    key = (str(as_structure(structure).canonical()), features)
    values = {check_int("m", m, 1): check_int("growth", value, 1) for m, value in (growth or {}).items()}
    if vc_dimension is not None:
        vc_dimension = check_int("vc_dimension", vc_dimension, 1)
    with _lock:
        _known[key] = Seed(vc_dimension, values)


def forget_exact() -> None:
    """Forget what :func:`remember_exact` was told."""
    with _lock:
        _known.clear()


def known(structure: object, features: Features, use_engine: bool = True) -> Seed | None:
    """Return what is known exactly about a structure on these features, or None."""
    shape = as_structure(structure).canonical()
    with _lock:
        seed = _known.get((str(shape), features))
    if seed is not None:
        return seed
    if features.is_real_only and (str(shape), features.real) in REAL_VC:
        return Seed(REAL_VC[str(shape), features.real])
    value = _engine_vc(shape, features) if use_engine and _is_small(shape, features) else None
    return Seed(value) if value is not None else None


def _is_small(shape: Structure, features: Features) -> bool:
    if not shape.is_binary or shape.is_leaf:
        return False
    if features.is_binary_only:
        return features.binary <= _ENGINE_BINARY.get(shape.n_nodes, 0)
    return features.is_real_only and features.real <= _ENGINE_REAL.get(shape.n_nodes, 0)


def _engine_vc(shape: Structure, features: Features) -> int | None:
    """Ask the exact engine; None where it has no answer, and while it is being asked already."""
    if getattr(_asking, "engine", False):
        return None
    _asking.engine = True
    try:
        return _ask_engine(shape, features)
    finally:
        _asking.engine = False


@lru_cache(maxsize=1024)
def _ask_engine(shape: Structure, features: Features) -> int | None:
    from .exact import exact_vc

    try:
        return exact_vc(shape, features=features)
    except ValueError:
        return None


@lru_cache(maxsize=4096)
def _ask_growth(shape: Structure, m: int, d: int) -> int | None:
    """Ask the engine for the growth function on d binary features; None where it has no answer."""
    from .exact import growth_function

    try:
        return growth_function(shape, m, d=d)
    except ValueError:
        return None


def small_entries(table: Table, n_nodes: int) -> dict[int, Structure]:
    """Return the entries of at most so many nodes, leaves excepted, as structures."""
    sizes, spelled, found = [0], ["."], {}
    for i, children in enumerate(table[1:], 1):
        sizes.append(1 + sum(sizes[child] for child in children))
        spelled.append(f"({''.join(spelled[child] for child in children)})" if sizes[i] <= n_nodes else "")
        if sizes[i] <= n_nodes:
            found[i] = Structure(spelled[i]).canonical()
    return found


def _largest_known() -> int:
    """Return the largest number of nodes about which anything may be known."""
    with _lock:
        return max([*_ENGINE_BINARY, *(text.count("(") for text, _ in _known)])


def real_seeds(table: Table, real: int) -> dict[int, Seed]:
    """Return what is known about the entries of a table on real features; the engine is not asked about the root."""
    shapes, root = small_entries(table, _largest_known()), len(table) - 1
    found = {i: known(shape, Features(real=real), use_engine=i != root) for i, shape in shapes.items()}
    return {i: seed for i, seed in found.items() if seed is not None}


class BinarySeeds:
    """Exact VC dimensions of the entries of a table on binary features, looked up when asked for.

    The engine is not asked about the root: a bound is wanted there, not the search that the bound is to save.
    """

    def __init__(self, table: Table) -> None:
        self._shapes, self._root = small_entries(table, _largest_known()), len(table) - 1
        self._values: dict[tuple[int, int], int] = {}

    def value(self, i: int, d: int) -> int:
        """Return the VC dimension of entry i on d features, 0 if it is not known."""
        if i not in self._shapes or d < 1:
            return 0
        if (i, d) not in self._values:
            seed = known(self._shapes[i], Features(binary=d), use_engine=i != self._root)
            self._values[i, d] = (seed.vc_dimension or 0) if seed is not None else 0
        return self._values[i, d]

    def growth(self, i: int, d: int) -> dict[int, int]:
        """Return the growth function of entry i on d features with two classes, at the points where it is known."""
        shape = self._shapes.get(i)
        if shape is None or d < 1:
            return {}
        with _lock:
            seed = _known.get((str(shape), Features(binary=d)))
        found = dict(seed.growth) if seed is not None else {}
        if i != self._root and shape.n_nodes <= _GROWTH_NODES and not getattr(_asking, "engine", False):
            answers = {m: _ask_growth(shape, m, d) for m in range(2, _GROWTH_POINTS.get(d, 0) + 1)}
            found.update({m: value for m, value in answers.items() if value is not None})
        return found


def binary_count(state: State) -> int | None:
    """Return the number of features if all are binary, else None."""
    if not state:
        return 0
    return state[0][1] if len(state) == 1 and state[0][0] == ("binary", 2) else None

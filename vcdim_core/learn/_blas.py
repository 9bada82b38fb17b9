"""One thread for small matrices, where the threads of a linear algebra library wait longer than they work."""

from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext
from functools import lru_cache
from typing import Any

ENOUGH = 1000
"""Eigenproblems of this size or more may use all threads."""


@lru_cache(maxsize=1)
def _controller() -> Any:
    """The libraries that are loaded, looked up once: a look-up takes about a millisecond."""
    import numpy.linalg  # noqa: F401  (its library is to be among them)
    from threadpoolctl import ThreadpoolController  # type: ignore[import-untyped]

    return ThreadpoolController()


def small_matrices(size: int = 0) -> AbstractContextManager[Any]:
    """A context in which linear algebra uses one thread, unless the matrices have ``size`` >= `ENOUGH` rows."""
    if size >= ENOUGH:
        return nullcontext()
    limit: AbstractContextManager[Any] = _controller().limit(limits=1, user_api="blas")
    return limit

"""One thread for linear algebra: on matrices as small as those of a node, threads wait longer than they work.

On a busy machine waiting threads cost whole factors, and with one the answers do not depend on the number of cores.
"""

from __future__ import annotations

from contextlib import AbstractContextManager
from functools import lru_cache
from typing import Any


@lru_cache(maxsize=1)
def _controller() -> Any:
    """The libraries that are loaded, looked up once: a look-up takes about a millisecond."""
    import numpy.linalg  # noqa: F401  (its library is to be among them)
    from threadpoolctl import ThreadpoolController  # type: ignore[import-untyped]

    return ThreadpoolController()


def one_thread() -> AbstractContextManager[Any]:
    """Return a context in which linear algebra uses one thread."""
    limit: AbstractContextManager[Any] = _controller().limit(limits=1, user_api="blas")
    return limit

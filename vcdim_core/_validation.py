"""Every check on user input and every message about it.

Messages are lower case and say what was expected, then what came: ``expected d >= 0, got -1``.
"""

from __future__ import annotations

import operator


def check_int(name: str, value: object, low: int | None = None, high: int | None = None) -> int:
    """Return ``value`` as an int inside [low, high], or raise naming the argument."""
    wanted = f"expected {name} to be an integer"
    if isinstance(value, bool):
        raise TypeError(f"{wanted}, got {value!r}")
    try:
        number = operator.index(value)  # type: ignore[arg-type]
    except TypeError:
        raise TypeError(f"{wanted}, got {value!r}") from None
    if low is not None and number < low:
        raise ValueError(f"expected {name} >= {low}, got {number}")
    if high is not None and number > high:
        raise ValueError(f"expected {name} <= {high}, got {number}")
    return number


def check_choice(name: str, value: object, choices: tuple[str, ...]) -> str:
    """Return ``value`` if it is one of ``choices``, or raise listing them."""
    if isinstance(value, str) and value in choices:
        return value
    listed = ", ".join(repr(choice) for choice in choices)
    kind = ValueError if isinstance(value, str) else TypeError
    raise kind(f"expected {name} to be one of {listed}, got {value!r}")

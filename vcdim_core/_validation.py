"""Every check on user input and every message about it.

Messages are lower case and say what was expected, then what came: ``expected d >= 0, got -1``.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Iterable


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


def check_ints(name: str, values: object, low: int | None = None) -> tuple[int, ...]:
    """Return ``values`` as a tuple of ints >= low, or raise naming the argument and the place in it."""
    if isinstance(values, str | bytes) or not isinstance(values, Iterable):
        raise TypeError(f"expected {name} to be an iterable of integers, got {values!r}")
    return tuple(check_int(f"{name}[{i}]", value, low) for i, value in enumerate(values))


def check_choice(name: str, value: object, choices: tuple[str, ...]) -> str:
    """Return ``value`` if it is one of ``choices``, or raise listing them."""
    if isinstance(value, str) and value in choices:
        return value
    listed = ", ".join(repr(choice) for choice in choices)
    kind = ValueError if isinstance(value, str) else TypeError
    raise kind(f"expected {name} to be one of {listed}, got {value!r}")


def text_error(sentence: str, text: str, position: int) -> ValueError:
    """Return the error that says ``sentence`` and points at ``text[position]``, with some text around it."""
    start, stop = max(0, position - 30), position + 30
    excerpt = "".join(" " if character.isspace() else character for character in text[start:stop])
    head, tail = "..." if start else "", "..." if stop < len(text) else ""
    return ValueError(f"{sentence}\n    {head}{excerpt}{tail}\n    {' ' * (len(head) + position - start)}^")


def check_number(name: str, value: object, low: float | None = None, high: float | None = None) -> float:
    """Return ``value`` as a float inside [low, high], or raise naming the argument."""
    if isinstance(value, (bool, str, bytes)):
        raise TypeError(f"expected {name} to be a number, got {value!r}")
    try:
        number = float(value)  # type: ignore[arg-type]
    except (TypeError, ValueError):
        raise TypeError(f"expected {name} to be a number, got {value!r}") from None
    if math.isnan(number):
        raise ValueError(f"expected {name} to be a number, got nan")
    if low is not None and number < low:
        raise ValueError(f"expected {name} >= {low:g}, got {value!r}")
    if high is not None and number > high:
        raise ValueError(f"expected {name} <= {high:g}, got {value!r}")
    return number

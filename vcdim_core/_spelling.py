"""Scans of the spelling of a structure: check it, measure it, fold it, make it; all from left to right, none recursive.

``.`` is a leaf and ``(`` two or more children ``)`` a node. Only :func:`checked_spelling` looks for mistakes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any, TypeVar

import numpy as np

from ._validation import text_error

_Value = TypeVar("_Value")


def checked_spelling(text: object) -> str:
    """Return ``text`` without whitespace if it spells a structure, or raise pointing at the first wrong character."""
    if not isinstance(text, str):
        raise TypeError(f"expected the spelling of a structure as a str, got {type(text).__name__}")
    opened: list[int] = []  # positions of the open nodes
    counts = [0]  # children so far of each open node; the first entry counts whole structures
    for at, character in enumerate(text):
        if character.isspace():
            continue
        if character not in ".()":
            raise text_error(f"expected '.', '(' or ')', got {character!r} at position {at}", text, at)
        if counts[0]:
            raise text_error(f"expected nothing after the structure, got {character!r} at position {at}", text, at)
        if character == "(":
            opened.append(at)
            counts.append(0)
            continue
        if character == ")":
            if not opened:
                raise text_error(f"expected '.' or '(', got ')' at position {at}", text, at)
            start, n_children = opened.pop(), counts.pop()
            if n_children < 2:
                wanted = f"expected at least 2 children for the node at position {start}"
                raise text_error(f"{wanted}, got {n_children}", text, start)
        counts[-1] += 1
    if opened:
        start = opened[-1]
        raise text_error(f"expected ')' for the '(' at position {start}, got the end of the text", text, start)
    if not counts[0]:
        raise ValueError(f"expected a structure such as '(..)', got empty text {text[:20]!r}")
    return "".join(text.split())


def codes(spelling: str) -> np.ndarray[Any, np.dtype[np.uint8]]:
    """Return the characters as numbers."""
    return np.frombuffer(spelling.encode("ascii"), dtype=np.uint8)


def depths(spelling: str) -> np.ndarray[Any, np.dtype[np.int64]]:
    """Return the number of open nodes just after each character."""
    characters = codes(spelling)
    steps = (characters == ord("(")).astype(np.int64)
    steps -= characters == ord(")")
    found: np.ndarray[Any, np.dtype[np.int64]] = np.cumsum(steps)
    return found


def ends(spelling: str) -> list[int]:
    """Return for each '(' the position of its ')', for every other character its own position."""
    found = list(range(len(spelling)))
    opened: list[int] = []
    for at, character in enumerate(spelling):
        if character == "(":
            opened.append(at)
        elif character == ")":
            found[opened.pop()] = at
    return found


def postorder(spelling: str) -> Iterator[int]:
    """Yield the number of children of every leaf and node, children before their parent."""
    counts = [0]
    for character in spelling:
        if character == "(":
            counts.append(0)
            continue
        yield counts.pop() if character == ")" else 0
        counts[-1] += 1


def fold(spelling: str, leaf: _Value, combine: Callable[[list[_Value]], _Value]) -> _Value:
    """Return the value of the root, where a leaf is worth ``leaf`` and a node ``combine(values of its children)``."""
    values: list[_Value] = []
    for n_children in postorder(spelling):
        if n_children:
            first = len(values) - n_children
            values[first:] = [combine(values[first:])]
        else:
            values.append(leaf)
    return values[0]


def spell(root: int, children: Callable[[int], Iterable[int]]) -> str:
    """Return the spelling of the structure with this root, where a leaf has no children."""
    close = -1
    pending, out = [root], []
    while pending:
        part = pending.pop()
        below = () if part == close else tuple(children(part))
        if below:
            out.append("(")
            pending.append(close)
            pending.extend(reversed(below))
        else:
            out.append(")" if part == close else ".")
    return "".join(out)

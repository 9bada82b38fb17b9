"""Checking a proof that clauses are unsatisfiable, in the format LRAT without deletions and without RAT steps.

A step is a clause with hints, the numbers of earlier clauses (the given ones first, from 1 on). Suppose the clause is
false. Then each hint in turn must have all its literals false but one, which is therefore true; the last hint must have
all its literals false. That is a contradiction, so the clause follows from the earlier ones. The last step is the empty
clause. (Cruz-Filipe, Heule, Hunt, Kaufmann, Schneider-Kamp: Efficient certified RAT verification, CADE 2017.)
"""

from __future__ import annotations

import base64
import binascii
import zlib
from collections.abc import Iterable, Iterator, Sequence

MAX_BYTES = 1 << 28
"""Length of a proof when unpacked."""

Step = tuple[tuple[int, ...], tuple[int, ...]]
"""A clause and its hints."""


class BadProof(ValueError):
    """The proof does not hold; the message says where."""


def pack(steps: Iterable[Step]) -> str:
    """Return a proof as text: one line "literals 0 hints 0" for each step, compressed, in base 64."""
    lines = (" ".join(map(str, (*clause, 0, *hints, 0))) for clause, hints in steps)
    return base64.b64encode(zlib.compress("\n".join(lines).encode(), 9)).decode()


def unpack(text: object) -> Iterator[Step]:
    """Yield the steps of a packed proof, or raise `BadProof`.

    Examples
    --------
    >>> list(unpack(pack([((1, -2), (3, 4)), ((), (5,))])))
    [((1, -2), (3, 4)), ((), (5,))]
    """
    if not isinstance(text, str):
        raise BadProof("expected the proof to be text")
    try:
        packed = base64.b64decode(text, validate=True)
        unpacker = zlib.decompressobj()
        lines = unpacker.decompress(packed, MAX_BYTES)
    except (binascii.Error, zlib.error, ValueError) as error:
        raise BadProof(f"expected compressed text in base 64, got {error}") from None
    if not unpacker.eof or unpacker.unused_data:
        raise BadProof(f"expected one compressed text of at most {MAX_BYTES:,} bytes")
    for number, line in enumerate(lines.decode("ascii", "replace").split("\n"), 1):
        yield _read_step(line, number)


def _read_step(line: str, number: int) -> Step:
    try:
        values = [int(word) for word in line.split(" ")]
        end = values.index(0)
        if values[-1] != 0 or values.index(0, end + 1) != len(values) - 1:
            raise ValueError
    except ValueError:
        raise BadProof(f"expected 'literals 0 hints 0' in step {number} of the proof, got {line!r:.60}") from None
    return tuple(values[:end]), tuple(values[end + 1 : -1])


def check_refutation(clauses: Sequence[Sequence[int]], steps: Iterable[Step]) -> int:
    """Return the number of steps of a proof that the clauses are unsatisfiable, or raise `BadProof`.

    Examples
    --------
    >>> check_refutation([(1, 2), (1, -2), (-1,)], [((1,), (1, 2)), ((), (4, 3))])
    2
    """
    known: list[Sequence[int]] = [(), *clauses]  # numbered from 1
    for number, (clause, hints) in enumerate(steps, 1):
        if not _follows(known, clause, hints):
            raise BadProof(f"step {number} of the proof does not follow from its hints")
        if not clause:
            return number
        known.append(clause)
    raise BadProof("the proof does not end with the empty clause")


def _follows(known: Sequence[Sequence[int]], clause: Sequence[int], hints: Sequence[int]) -> bool:
    """Whether the hints turn the opposite of a clause into a contradiction."""
    false = set(clause)
    for hint in hints:
        if not 0 < hint < len(known):
            return False
        open_literals = [literal for literal in known[hint] if literal not in false]
        if not open_literals:
            return True
        if len(set(open_literals)) > 1:
            return False
        false.add(-open_literals[0])
    return False

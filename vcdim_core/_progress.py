"""What a running search prints: a bar if tqdm is installed, else a line now and then."""

from __future__ import annotations

import sys
from typing import Any

from .results import Progress

LINE_SECONDS = 1.0
"""Between two lines, without tqdm."""


class Printer:
    """A progress callable that prints to standard error: size, rate, bracket and what remains of this size."""

    def __init__(self) -> None:
        self.bar: Any = None
        self.size = 0
        self.last = -LINE_SECONDS
        try:
            from tqdm import tqdm  # type: ignore[import-untyped]
        except ImportError:
            self.tqdm = None
        else:
            self.tqdm = tqdm

    def __call__(self, state: Progress) -> None:
        """Show where a search stands."""
        if self.tqdm is None:
            if state.seconds - self.last >= LINE_SECONDS:
                self.last = state.seconds
                sys.stderr.write(describe(state) + "\n")
            return
        if self.bar is None or self.size != state.size:
            self.close()
            self.bar = self.tqdm(total=state.total, file=sys.stderr, unit="orbit", desc=f"size {state.size}")
            self.size = state.size
        self.bar.set_postfix_str(f"{state.samples:,} tested, VC {state.lower}..{state.upper}", refresh=False)
        self.bar.update(max(0, state.done - self.bar.n))

    def close(self) -> None:
        """End the bar."""
        if self.bar is not None:
            self.bar.close()
            self.bar = None


def describe(state: Progress) -> str:
    """One line about where a search stands."""
    rate = state.samples / state.seconds if state.seconds else 0.0
    share = f" ({100 * state.done // state.total} % done)" if state.total else ""
    return (
        f"size {state.size}: extending {state.orbits:,} samples{share}, {state.samples:,} tested ({rate:,.0f}/s), "
        f"VC dimension between {state.lower} and {state.upper}"
    )

"""The entry point of the command ``vcdim``; ``vcdim verify`` runs without NumPy and without the engine."""

from __future__ import annotations

import sys


def main() -> int:
    """Run ``vcdim`` with the words of the process."""
    if sys.argv[1:2] == ["verify"]:
        from .cli_verify import main as run_alone

        return run_alone(sys.argv[2:])
    from .cli import main as run

    return run()

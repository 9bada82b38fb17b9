"""Sending Ctrl-C to a child process, and how long it takes to answer."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import vcdim_core


def latency_of(code: str, *arguments: str, wait: float = 0.4) -> float:
    """Seconds from the signal, sent after ``wait`` seconds of work, to the answer of a child that runs the code.

    The code prints ``ready`` before its long call and, when interrupted, ``repr(time.time())``.
    """
    environment = os.environ | {"PYTHONPATH": str(Path(vcdim_core.__file__).parent.parent)}
    command = [sys.executable, "-P", "-c", code, *arguments]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment) as child:
        assert child.stdout is not None
        assert child.stdout.readline() == "ready\n"
        time.sleep(wait)
        assert child.poll() is None, "ended before it could be interrupted"
        sent = time.time()
        child.send_signal(signal.SIGINT)
        try:
            answered = child.communicate(timeout=30)[0]
        finally:
            child.kill()
    return float(answered) - sent

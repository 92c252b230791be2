"""Killing a process while it talks to the loopback server."""

import os
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Sequence
from pathlib import Path

from tests.loopback import Loopback, Received

ROOT = Path(__file__).parents[1]


def run_and_kill(
    server: Loopback,
    module: Sequence[str],
    number: int,
    later: float,
    counts: Callable[[Received], bool] = lambda received: True,
) -> None:
    """Start `python -m` with a module and its arguments; kill it so many seconds after a request.

    `number` says which, from 1, of the requests that count.
    """
    victim = subprocess.Popen(
        [sys.executable, "-m", *module],
        cwd=ROOT,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        env=os.environ | {"PYTHONPATH": str(ROOT)},
    )

    def strike(received: Received) -> None:
        if counts(received) and sum(map(counts, server.requests)) == number:
            threading.Timer(later, victim.kill).start()

    server.fault = strike
    _, errors = victim.communicate(timeout=120)
    server.fault = lambda received: None
    assert victim.returncode == -signal.SIGKILL, errors.decode()

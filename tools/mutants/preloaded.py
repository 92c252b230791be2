"""`python -m tools.mutants.preloaded LIBRARY…`: run pytest in forks of a process that has imported libraries.

For each line of JSON on the standard input, arguments and a limit in seconds, it writes a line with the exit code.
Nothing of the tree is imported before a fork, and nothing that starts a thread, which a fork would lose.
"""

import importlib
import json
import os
import signal
import sys
import time
from contextlib import suppress
from pathlib import Path

import pytest


def main() -> None:
    """Serve until the standard input ends."""
    for name in sys.argv[1:]:
        importlib.import_module(name)
    if len(list(Path("/proc/self/task").glob("*"))) > 1:
        raise RuntimeError(f"one of these starts a thread, and must not be imported before a fork: {sys.argv[1:]}")
    for line in sys.stdin:
        arguments, seconds = json.loads(line)
        print(_exit_code(arguments, seconds), flush=True)


def _exit_code(arguments: list[str], seconds: float) -> int:
    pid = os.fork()
    if not pid:
        os.setsid()
        nowhere = os.open(os.devnull, os.O_RDWR)
        for descriptor in range(3):
            os.dup2(nowhere, descriptor)
        code = 1
        try:
            code = int(pytest.main(arguments))
        finally:
            os._exit(code)
    ended, status, until = 0, 0, time.monotonic() + seconds
    while not ended and time.monotonic() < until:
        time.sleep(0.02)
        ended, status = os.waitpid(pid, os.WNOHANG)
    with suppress(ProcessLookupError):
        os.killpg(pid, signal.SIGKILL)  # with what a test left behind
    if not ended:
        status = os.waitpid(pid, 0)[1]
    return os.waitstatus_to_exitcode(status)


if __name__ == "__main__":
    main()

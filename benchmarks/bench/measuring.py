"""The cost of a command with all processes that it starts and waits for: time, imports, memory, bytes written."""

import json
import os
import shutil
import subprocess
import tempfile
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Any, Self

_IMPORTS = Path(__file__).parent / "imports"
_KEPT = ("PATH", "HOME", "LANG", "TMPDIR")
"""Variables that a command gets from the environment; no settings of others, no proxy and no key."""
_LAST_CHARACTERS = 3000


class CommandError(Exception):
    """A command that failed, with the end of what it said."""


@dataclass(frozen=True)
class Cost:
    """The cost of a piece of work.

    `imports` is the part of `cpu` that went into Python's imports; None where everything was imported before. `written`
    is the bytes given to write calls (`wchar` of /proc/…/io), which neither a cache nor the file system changes. `peak`
    is the most memory that one of the processes held, in bytes; None of a part of a process.
    """

    wall: float
    cpu: float
    imports: float | None
    written: int
    peak: int | None


class Command:
    """A running command, with pipes to ask it, if it is a program that answers lines of JSON."""

    def __init__(self, arguments: Sequence[str], folder: Path, environment: Mapping[str, str]) -> None:
        self._arguments = arguments
        self._scratch = tempfile.TemporaryDirectory()
        self._said, self._imports = Path(self._scratch.name, "said"), Path(self._scratch.name, "imports")
        self._imports.mkdir()
        kept = {name: os.environ[name] for name in _KEPT if name in os.environ}
        path = os.pathsep.join(filter(None, (str(_IMPORTS), environment.get("PYTHONPATH"))))
        self._started = time.perf_counter()
        with self._said.open("wb") as said:
            self._process = subprocess.Popen(
                arguments,
                cwd=folder,
                env={**kept, **environment, "PYTHONPATH": path, "BENCH_IMPORTS": str(self._imports)},
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=said,
            )

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        if self._process.poll() is None:
            self._process.kill()
            self._process.wait()
        for stream in (self._process.stdin, self._process.stdout):
            if stream:
                with suppress(BrokenPipeError):  # of a request that was not read
                    stream.close()
        self._scratch.cleanup()

    def ask(self, request: object) -> Any:
        """Send a line of JSON, and return the line that is the answer.

        Raises:
            CommandError: it ended instead.
        """
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        with suppress(BrokenPipeError):
            self._process.stdin.write(json.dumps(request).encode() + b"\n")
            self._process.stdin.flush()
        if answer := self._process.stdout.readline():
            return json.loads(answer)
        self._process.wait()
        raise self._failed()

    def cost(self) -> Cost:
        """Wait for the end, and return what the whole command cost.

        Raises:
            CommandError: it failed.
        """
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.close()
        with self._said.open("ab") as said:
            shutil.copyfileobj(self._process.stdout, said)
        number = self._process.pid
        # Until it is waited for, what it wrote can be read, with what the processes wrote that it waited for.
        os.waitid(os.P_PID, number, os.WEXITED | os.WNOWAIT)
        wall, written = time.perf_counter() - self._started, written_by(number)
        _, status, usage = os.wait4(number, 0)
        self._process.returncode = os.waitstatus_to_exitcode(status)
        if self._process.returncode:
            raise self._failed()
        imports = sum(float(file.read_text() or 0) for file in self._imports.iterdir())
        return Cost(wall, usage.ru_utime + usage.ru_stime, imports, written, usage.ru_maxrss * 1024)

    def _failed(self) -> CommandError:
        said = self._said.read_text(errors="replace")[-_LAST_CHARACTERS:]
        return CommandError(f"{' '.join(self._arguments)} ended with {self._process.returncode}:\n{said}")


def cost_of(arguments: Sequence[str], folder: Path, environment: Mapping[str, str]) -> Cost:
    """Run a command in a folder, and return what it cost.

    Raises:
        CommandError: it failed.
    """
    with Command(arguments, folder, environment) as command:
        return command.cost()


def written_by(process: int) -> int:
    """Return the bytes that a process gave to write calls so far."""
    lines = Path(f"/proc/{process}/io").read_text().splitlines()
    return int(dict(line.split(": ") for line in lines)["wchar"])


def size_of(folder: Path) -> int:
    """Return the bytes of all files below a folder, of a file with several names once."""
    found = (path.lstat() for path in folder.rglob("*") if path.is_file() and not path.is_symlink())
    return sum({(one.st_dev, one.st_ino): one.st_size for one in found}.values())

"""Trying mutants: each is put into a copy of the tree, and tests run there until one fails."""

import hashlib
import json
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path
from threading import Lock

from tests.mutants.choosing import END_TO_END, digest, folder_of
from tests.mutants.drawing import Mutant
from tests.mutants.plugin import LEAST_SECONDS, TIMES_AS_LONG

_SHARED = ("tests/conftest.py", "tests/support.py", "tests/loopback.py", "tests/query/published.py")


class Results:
    """What was found before, in a file, so that a run can be interrupted: by name, and valid for certain contents."""

    def __init__(self, root: Path, file: Path) -> None:
        self._root, self._file, self._lock = root, file, Lock()
        lines = file.read_text().splitlines() if file.exists() else []
        self._found = {line["name"]: line for line in map(json.loads, lines)}

    def killed_by(self, mutant: Mutant) -> tuple[bool, str | None]:
        """Return whether a mutant was tried, since when nothing was edited that matters, and who noticed it."""
        found = self._found.get(mutant.key)
        test = found and found["killed_by"]
        if not found or found["contents"] != self._contents(mutant, test):
            return False, None
        return True, test

    def put(self, mutant: Mutant, killed_by: str | None) -> None:
        """Keep what was found of a mutant."""
        line = {"name": mutant.key, "killed_by": killed_by, "contents": self._contents(mutant, killed_by)}
        with self._lock, self._file.open("a") as lines:
            lines.write(json.dumps(line) + "\n")

    def _contents(self, mutant: Mutant, killed_by: str | None) -> str:
        places = [folder_of(mutant.path), END_TO_END] if killed_by is None else [killed_by.partition("::")[0]]
        paths = [self._root / one for one in (mutant.path, *_SHARED, *places)]
        files = {file for path in paths for file in ([path] if path.is_file() else path.rglob("*.py"))}
        return hashlib.sha256("".join(map(digest, sorted(files))).encode()).hexdigest()[:16]


class Copy:
    """A copy of the tree in which one mutant after the other is tried."""

    def __init__(self, root: Path, folder: Path) -> None:
        self._folder, self._tree = folder, folder / "tree"
        command = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
        listed = subprocess.run(command, cwd=root, capture_output=True, check=True).stdout.decode()
        for name in filter(None, listed.split("\0")):
            if (root / name).is_file():
                (self._tree / name).parent.mkdir(parents=True, exist_ok=True)
                shutil.copy2(root / name, self._tree / name)
        # Python takes a compiled file for that of a source of the same size and second.
        self._second = int(time.time())

    def measure(self, files: Iterable[str], into: Path, workers: int) -> None:
        """Run the tests of some files under `coverage`, and write what is found into a folder."""
        name = str(time.time_ns())
        arguments = ["--measure", f"{into / name}", "-n", str(workers), "--dist", "worksteal", *sorted(files)]
        self._run(arguments, None)
        sources = (path for path in (self._tree / "lightrag_dagster").rglob("*") if path.suffix in (".py", ".sql"))
        digests = {str(one.relative_to(self._tree)): digest(one) for one in sources}
        digests |= {one: digest(self._tree / one) for one in files}
        (into / f"{name}.json").write_text(json.dumps(digests))

    def killed_by(self, mutant: Mutant, stages: Iterable[dict[str, float]]) -> str | None:
        """Return the first of the chosen tests that notices a mutant, or None; one that takes too long has noticed."""
        file = self._tree / mutant.path
        source = file.read_bytes()
        self._write(file, mutant.applied(source))
        try:
            return next(filter(None, map(self.fails, stages)), None)
        finally:
            self._write(file, source)

    def fails(self, seconds: dict[str, float]) -> str | None:
        """Return the first of some tests that fails, or takes too long; or what they have in common if none can run."""
        chosen, running = self._folder / "chosen.json", self._folder / "running"
        chosen.write_text(json.dumps(seconds))
        running.write_text("at import")
        files = dict.fromkeys(test.partition("::")[0] for test in seconds)
        arguments = ["-x", "-p", "no:xdist", "--chosen", str(chosen), "--running", str(running), *files]
        return running.read_text() if seconds and self._run(arguments, seconds) not in (0, 5) else None

    def _run(self, arguments: Iterable[str], seconds: dict[str, float] | None) -> int:
        command = [sys.executable, "-m", "pytest", "-q", "-m", "not long", "-p", "no:cacheprovider"]
        command += ["-p", "tests.mutants.plugin", "--basetemp", str(self._folder / "temporary"), *arguments]
        # A hash seed, so that sets have one order, and what is named by them one name.
        environment = os.environ | {"PYTHONPATH": str(self._tree), "PYTHONHASHSEED": "0"}
        for name in ("LIGHTRAG_HOME", "LIGHTRAG_SOURCES", "PYTHONDONTWRITEBYTECODE"):
            environment.pop(name, None)
        output = None if seconds is None else subprocess.DEVNULL
        process = subprocess.Popen(
            command, cwd=self._tree, env=environment, stdout=output, stderr=output, start_new_session=True
        )
        try:
            return process.wait(seconds and 4 * LEAST_SECONDS + TIMES_AS_LONG * sum(seconds.values()))
        except subprocess.TimeoutExpired:
            return -signal.SIGKILL
        finally:
            with suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)  # with what a test left behind
            process.wait()

    def _write(self, file: Path, content: bytes) -> None:
        self._second += 1
        file.write_bytes(content)
        os.utime(file, (self._second, self._second))

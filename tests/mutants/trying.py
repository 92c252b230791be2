"""Trying mutants: each is put into a copy of the tree, and tests run there until one fails."""

import hashlib
import json
import os
import shutil
import signal
import subprocess
import sys
import time
from collections import defaultdict
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path
from threading import Lock

from tests.mutants.drawing import Mutant

END_TO_END = "tests/end_to_end"
_SHARED = ("tests/conftest.py", "tests/support.py", "tests/loopback.py", "tests/query/published.py")
_LEAST_SECONDS, _TIMES_AS_LONG = 60.0, 4.0


def stages_of(root: Path, path: str) -> list[str]:
    """Return where to look for a failing test, one after the other: of the file, of its folder, end to end."""
    below = Path("tests", *Path(path).parts[1:])
    mirror, folder = below.with_name(f"test_{below.stem}.py"), below.parent
    while not any((root / folder).glob("test_*.py")):
        folder = folder.parent
    found = [str(mirror)] if path.endswith(".py") and (root / mirror).exists() else []
    return [*found, str(folder), END_TO_END]


class Results:
    """What was found before, in a file, so that a run can be interrupted: by name, and valid for certain contents."""

    def __init__(self, root: Path, file: Path) -> None:
        self._root, self._file, self._lock = root, file, Lock()
        lines = file.read_text().splitlines() if file.exists() else []
        self._found = {line["name"]: line for line in map(json.loads, lines)}

    def killed_by(self, mutant: Mutant) -> tuple[bool, str | None]:
        """Return whether a mutant was tried, since when nothing was edited that matters, and who noticed it."""
        found = self._found.get(mutant.key)
        stage = found and found["killed_by"]
        if not found or found["contents"] != self._contents(mutant, stage):
            return False, None
        return True, stage

    def put(self, mutant: Mutant, killed_by: str | None) -> None:
        """Keep what was found of a mutant."""
        line = {"name": mutant.key, "killed_by": killed_by, "contents": self._contents(mutant, killed_by)}
        with self._lock, self._file.open("a") as lines:
            lines.write(json.dumps(line) + "\n")

    def _contents(self, mutant: Mutant, killed_by: str | None) -> str:
        stages = stages_of(self._root, mutant.path) if killed_by is None else [killed_by]
        return _digest(self._root / one for one in (mutant.path, *_SHARED, *stages))


def _digest(places: Iterable[Path]) -> str:
    files = {path for place in places for path in ([place] if place.is_file() else place.rglob("*.py"))}
    digests = [hashlib.sha256(path.read_bytes()).hexdigest() for path in sorted(files)]
    return hashlib.sha256("".join(digests).encode()).hexdigest()[:16]


class Limits:
    """Seconds that the tests of a stage may take: some times what they take without a mutant."""

    def __init__(self) -> None:
        self._locks: dict[str, Lock] = defaultdict(Lock)
        self._seconds: dict[str, float] = {}

    def of(self, stage: str, copy: "Copy") -> float:
        """Return the limit of a stage, for which its tests run once; raises RuntimeError when they fail."""
        with self._locks[stage]:
            if stage not in self._seconds:
                started = time.monotonic()
                if code := copy.run(stage, None):
                    raise RuntimeError(f"{stage} fails without a mutant (exit code {code}); run `pytest {stage}`")
                self._seconds[stage] = _LEAST_SECONDS + _TIMES_AS_LONG * (time.monotonic() - started)
            return self._seconds[stage]


class Copy:
    """A copy of the tree in which one mutant after the other is tried."""

    def __init__(self, root: Path, folder: Path) -> None:
        self._folder = folder / "tree"
        command = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
        listed = subprocess.run(command, cwd=root, capture_output=True, check=True).stdout.decode()
        for name in filter(None, listed.split("\0")):
            if (root / name).is_file():
                (self._folder / name).parent.mkdir(parents=True, exist_ok=True)
                shutil.copy2(root / name, self._folder / name)
        # Python takes a compiled file for that of a source of the same size and second.
        self._second = int(time.time())

    def killed_by(self, mutant: Mutant, stages: Iterable[str], limits: Limits) -> str | None:
        """Return the first of the stages that notices a mutant, or None; one that takes too long has noticed."""
        file = self._folder / mutant.path
        source = file.read_bytes()
        for stage in stages:
            seconds = limits.of(stage, self)
            self._write(file, mutant.applied(source))
            try:
                if self.run(stage, seconds):
                    return stage
            finally:
                self._write(file, source)
        return None

    def run(self, stage: str, seconds: float | None) -> int:
        """Run the tests of a stage up to the first that fails, and return the exit code."""
        command = [sys.executable, "-m", "pytest", "-q", "-x", "-m", "not long", "-p", "no:cacheprovider", stage]
        environment = os.environ | {"PYTHONPATH": str(self._folder)}
        for name in ("LIGHTRAG_HOME", "LIGHTRAG_SOURCES", "PYTHONDONTWRITEBYTECODE"):
            environment.pop(name, None)
        command += ["--basetemp", str(self._folder.with_name("temporary"))]
        process = subprocess.Popen(
            command, cwd=self._folder, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
            start_new_session=True,
        )  # fmt: skip
        try:
            return process.wait(seconds)
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

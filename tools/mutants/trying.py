"""Trying mutants: each is put into a copy of the tree, and tests run there until one fails."""

import hashlib
import json
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Iterable
from pathlib import Path
from threading import Lock

from tools.mutants.choosing import END_TO_END, digest, folder_of
from tools.mutants.drawing import Mutant
from tools.mutants.plugin import LEAST_SECONDS, TIMES_AS_LONG

AT_IMPORT = "at import"
_SHARED = ("tests/conftest.py", "tests/support.py", "tests/loopback.py", "tests/query/published.py")


# What takes seconds to import, and starts no thread.
LIBRARIES = (
    "coverage", "dagster", "dagster._core.storage.sqlite_storage", "duckdb", "fsspec", "httpx2", "hypothesis", "openai",
    "pydantic_settings", "rich", "scipy.sparse", "sqlalchemy", "starlette", "tiktoken", "typer", "uvicorn",
)  # fmt: skip


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

    def __init__(self, root: Path, folder: Path, libraries: Iterable[str] = LIBRARIES) -> None:
        self._folder, self._tree = folder, folder / "tree"
        command = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
        listed = subprocess.run(command, cwd=root, capture_output=True, check=True).stdout.decode()
        for name in filter(None, listed.split("\0")):
            if (root / name).is_file():
                (self._tree / name).parent.mkdir(parents=True, exist_ok=True)
                shutil.copy2(root / name, self._tree / name)
        # Python takes a compiled file for that of a source of the same size and second.
        self._second = int(time.time())
        self._sound = {AT_IMPORT}

        environment = {"PYTHONPATH": str(self._tree), "PYTHONHASHSEED": "0", "OPENBLAS_NUM_THREADS": "1"}
        for name, value in os.environ.items():
            if name not in ("LIGHTRAG_HOME", "LIGHTRAG_SOURCES", "PYTHONDONTWRITEBYTECODE"):
                environment.setdefault(name, value)
        self._process = subprocess.Popen(
            [sys.executable, "-m", "tools.mutants.preloaded", *libraries], cwd=self._tree, env=environment, text=True,
            stdin=subprocess.PIPE, stdout=subprocess.PIPE,
        )  # fmt: skip

    def __enter__(self) -> "Copy":
        return self

    def __exit__(self, *_: object) -> None:
        self._process.__exit__(None, None, None)  # its standard input ends, and so does it

    def measure(self, files: Iterable[str], into: Path, workers: int) -> None:
        """Run the tests of some files under `coverage`, and write what is found into a folder."""
        name = str(time.time_ns())
        arguments = ("--measure", str(into / name), "-n", str(workers), "--dist", "worksteal", *sorted(files))
        if (code := self._run(*arguments)) not in (0, 1):
            raise RuntimeError(
                f"pytest ends with exit code {code}; see `pytest -p tools.mutants.plugin {' '.join(arguments)}`"
            )
        sources = (path for path in (self._tree / "lightrag_dagster").rglob("*") if path.suffix in (".py", ".sql"))
        digests = {str(one.relative_to(self._tree)): digest(one) for one in sources}
        digests |= {one: digest(self._tree / one) for one in files}
        (into / f"{name}.json").write_text(json.dumps(digests))

    def killed_by(self, mutant: Mutant, stages: Iterable[dict[str, float]]) -> str | None:
        """Return the first of the chosen tests that notices a mutant, or None; one that takes too long has noticed.

        A test that fails without a mutant is left out.
        """
        file = self._tree / mutant.path
        source = file.read_bytes()
        for stage in stages:
            tests = dict(stage)
            while tests:
                self._write(file, mutant.applied(source))
                try:
                    failing = self.fails(tests)
                finally:
                    self._write(file, source)
                if failing is None:
                    break
                if failing in self._sound or not self.fails({failing: tests.get(failing, 0)}):
                    self._sound.add(failing)
                    return failing
                del tests[failing]
        return None

    def fails(self, seconds: dict[str, float]) -> str | None:
        """Return the first of some tests that fails, or takes too long, or AT_IMPORT if none can run."""
        chosen, running = self._folder / "chosen.json", self._folder / "running"
        chosen.write_text(json.dumps(seconds))
        running.write_text(AT_IMPORT)
        files = dict.fromkeys(test.partition("::")[0] for test in seconds)
        limit = 4 * LEAST_SECONDS + TIMES_AS_LONG * sum(seconds.values())
        chooses = ("-x", "-p", "no:xdist", "--chosen", str(chosen), "--running", str(running))
        noticed = self._run(*chooses, *files, seconds=limit) not in (0, 5)
        return running.read_text() if noticed else None

    def _run(self, *arguments: str, seconds: float = 7200.0) -> int:
        # pytest wonders that its plugins are imported already.
        always = (
            "-W",
            "ignore:Module already imported:pytest.PytestAssertRewriteWarning",
            "-q",
            "-m",
            "not long",
            "-p",
            "no:cacheprovider",
            "-p",
            "tools.mutants.plugin",
        )
        folder = str(self._folder / "temporary")
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        print(json.dumps([[*always, "--basetemp", folder, *arguments], seconds]), file=self._process.stdin, flush=True)
        return int(self._process.stdout.readline())

    def _write(self, file: Path, content: bytes) -> None:
        self._second += 1
        file.write_bytes(content)
        os.utime(file, (self._second, self._second))

"""The tests that may notice a mutant: those of its folder and end to end that execute what is changed, quickest first.

With those of a folder go others of their files, since what one test keeps, the next may only look at.
All of them run once under `coverage`, and what is found is kept in a folder. It is valid by test file, until that is
edited; of a source that was edited since, the tests that execute any line of it are taken.
"""

import ast
import hashlib
import json
import math
import re
from collections import defaultdict
from collections.abc import Iterable
from functools import cache
from pathlib import Path

import coverage

from tools.mutants.drawing import Mutant

END_TO_END = "tests/end_to_end"
# Of the tests of a folder, and of those end to end: when more may notice a mutant, the slowest are left out, so that
# a mutant that only these would notice counts as surviving.
MOST_SECONDS = 90.0


def folder_of(path: str) -> str:
    """Return the folder of the tests of a file."""
    return f"tests/{Path(path).parts[1]}"


def digest(path: Path) -> str:
    """Return what tells whether a file was edited."""
    return hashlib.sha256(path.read_bytes()).hexdigest()[:16]


def _file(test: str) -> str:
    return test.partition("::")[0]


class Run:
    """What one run of tests found: who executes which lines, and how long each takes."""

    def __init__(self, listing: Path, files: set[str]) -> None:
        self.digests: dict[str, str] = json.loads(listing.read_bytes())
        self.parts: dict[str, dict[str, float]] = {}  # the seconds of each test itself, and of its shared fixtures
        self.users: dict[str, list[str]] = defaultdict(list)
        for found in listing.parent.glob(f"{listing.stem}-*.json"):
            of_worker = json.loads(found.read_bytes())
            for test, fixtures in of_worker["used"].items():
                if _file(test) in files and test not in of_worker["failed"]:
                    self.users[test].append(test)
                    self.parts[test] = {one: of_worker["seconds"][one] for one in (test, *fixtures)}
                    for one in fixtures:
                        self.users[one].append(test)
        self._data = [coverage.CoverageData(str(one)) for one in listing.parent.glob(f"{listing.stem}-*.coverage")]
        for one in self._data:
            one.read()
        self._contexts = cache(lambda path: [one.contexts_by_lineno(path) for one in self._data])

    def executing(self, path: str, lines: Iterable[int] | None) -> set[str]:
        """Return the tests that execute some lines of a file, or any."""
        wanted = None if lines is None else set(lines)
        found = self._contexts(path)
        contexts = {
            one
            for by_line in found
            for line, all_of_it in by_line.items()
            if wanted is None or line in wanted
            for one in all_of_it
        }
        return {test for one in contexts for test in self.users.get(one, ())}


class Cover:
    """What is known of the tests of a tree."""

    def __init__(self, root: Path, folder: Path, test_folders: Iterable[str]) -> None:
        self._root = root
        self.stale = {str(path.relative_to(root)) for one in test_folders for path in (root / one).rglob("test_*.py")}
        self._runs: list[Run] = []
        for listing in sorted(folder.glob("*.json"), key=lambda path: path.stat().st_mtime, reverse=True):
            if "-" not in listing.stem:
                digests = json.loads(listing.read_bytes())
                valid = {file for file in self.stale if digests.get(file) == digest(root / file)}
                self._runs.append(Run(listing, valid))
                self.stale -= valid
        self._parts = {test: parts for run in self._runs for test, parts in run.parts.items()}
        self._seconds = {test: sum(parts.values()) for test, parts in self._parts.items()}

    def quickest(self) -> dict[str, float]:
        """Return some tests that should pass."""
        return dict(sorted(self._seconds.items(), key=lambda one: one[1])[:20])

    def tests_of(self, mutant: Mutant) -> list[dict[str, float]]:
        """Return the tests of the mutant's folder, then those end to end, in the order to run them: seconds by test."""
        rank = self._ranks(mutant)
        files = {_file(test) for test in rank}
        rank |= {test: 9 for test in self._seconds if _file(test) in files and test not in rank}
        below = Path("tests", *Path(mutant.path).parts[1:])
        mirror = str(below.with_name(f"test_{below.stem}.py"))

        def order(test: str) -> tuple[bool, int, int, str]:
            # About as long, then file by file, since the tests of a file share fixtures.
            return _file(test) != mirror, rank[test], round(math.log2(self._seconds[test] + 0.01)), _file(test)

        stages = []
        for folder in (folder_of(mutant.path), END_TO_END):
            found = [test for test in rank if test.startswith(f"{folder}/")]
            if folder == END_TO_END:
                found = [test for test in found if rank[test] == min(map(rank.__getitem__, found)) < 9]
            chosen: list[str] = []
            seconds: dict[str, float] = {}
            for test in sorted(found, key=lambda test: (rank[test], self._seconds[test])):
                seconds |= self._parts[test]
                if chosen and sum(seconds.values()) > MOST_SECONDS:
                    break
                chosen.append(test)
            stages.append({test: self._seconds[test] for test in sorted(chosen, key=order)})
        return stages

    def _ranks(self, mutant: Mutant) -> dict[str, int]:
        """Return how likely each test executes what is changed: its statement 0, its function 1, its file 2, any 3."""
        found: dict[str, int] = {}
        for rank, places in enumerate(executed(self._root, mutant)):
            if rank < 2 or not found:
                tests = {test for path, lines in places for test in self._executing(path, lines)}
                found = dict.fromkeys(tests, rank) | found
        return found or dict.fromkeys(self._seconds, 3)

    def _executing(self, path: str, lines: Iterable[int] | None) -> set[str]:
        found = set()
        for run in self._runs:
            found |= run.executing(path, lines if run.digests.get(path) == digest(self._root / path) else None)
        return found


def executed(root: Path, mutant: Mutant) -> list[list[tuple[str, Iterable[int] | None]]]:
    """Return where a mutant is executed, most likely first: files, and lines of them or None for all.

    First come its statement and what names it elsewhere: an SQL file, or a value that is computed at import. Then
    comes the function around it, since `coverage` loses lines where exceptions pass through coroutines; then its file.
    """
    statement, function, named = set[int](), set[int](), rf"[\"'/]{Path(mutant.path).stem}(\.sql)?[\"']"
    if mutant.path.endswith(".py"):
        walked = ast.walk(ast.parse((root / mutant.path).read_text()))
        ranges = [(one, range(one.lineno, (one.end_lineno or 0) + 1)) for one in walked if isinstance(one, ast.stmt)]
        around = [(one, lines) for one, lines in ranges if mutant.line in lines]
        for one, lines in around:
            statement = {one.lineno, mutant.line} if hasattr(one, "body") else set(lines)
            if isinstance(one, ast.FunctionDef | ast.AsyncFunctionDef):
                statement = function = set(range(one.body[0].lineno, lines.stop))
        match one:
            case ast.Assign(targets=[ast.Name(id=name)]) | ast.AnnAssign(target=ast.Name(id=name)) if not function:
                named = rf"\b{name}\b"
            case _:
                named = ""
    naming = [(file, _lines_with(named, file)) for file in (root / "lightrag_dagster").rglob("*.py") if named]
    elsewhere = [(str(file.relative_to(root)), lines) for file, lines in naming if lines]
    return [[(mutant.path, statement), *elsewhere], [(mutant.path, function)], [(mutant.path, None)]]


def _lines_with(named: str, file: Path) -> set[int]:
    return {at for at, line in enumerate(file.read_text().splitlines(), 1) if re.search(named, line)}

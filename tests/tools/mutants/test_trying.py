"""Mutants of a small tree, each tried with the tests that execute it."""

import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

import tools
from tools.mutants.choosing import Cover
from tools.mutants.drawing import Mutant, mutants_of
from tools.mutants.trying import Copy, Results

SOURCE = """
MOST = 3

def least(values):
    return min(
        values)

def few(values):
    return len(values) < MOST

def unused(values):
    while len(values) < 5:
        values.append(1)
    return values
"""
QUERY = """
SELECT 1
"""
TESTS = """
import pytest
from lightrag_dagster.query.a import few, least, unused

@pytest.fixture(scope="module")
def found():
    return least([2, 1])

def test_first(found):
    assert found

def test_least(found):
    assert found == 1

def test_few():
    assert few([1])

@pytest.mark.long
def test_long():
    assert few([1, 2, 3])
"""
END_TO_END = """
from lightrag_dagster.query.a import unused

def test_more():
    assert len(unused([])) == 5
"""


OF_A = ["test_a.py::test_few", "test_a.py::test_first", "test_a.py::test_least"]


@pytest.fixture(scope="module")
def tree(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("tree")
    for name, text in {
        ".gitignore": ".mutants/\n",
        "lightrag_dagster/query/a.py": SOURCE,
        "lightrag_dagster/query/ask.sql": QUERY,
        "lightrag_dagster/query/b.py": 'def ask():\n    return "ask"\n',
        "tests/query/test_a.py": TESTS,
        "tests/query/test_b.py": "from lightrag_dagster.query.b import ask\n\ndef test_ask():\n    assert ask()\n",
        "tests/end_to_end/test_all.py": END_TO_END,
    }.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text)
    shutil.copytree(Path(tools.__file__).parent, root / "tools", ignore=shutil.ignore_patterns("__pycache__"))
    (root / "tests/__init__.py").touch()
    (root / "pyproject.toml").write_text('[tool.pytest.ini_options]\nmarkers = ["long"]\n')
    (root / ".mutants").mkdir()
    subprocess.run(["git", "init", "-q"], cwd=root, check=True)
    return root


@pytest.fixture(scope="module")
def copy(tree: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Copy]:
    with Copy(tree, tmp_path_factory.mktemp("copy"), ()) as copy:
        copy.measure(cover(tree).stale, tree / ".mutants", 0)
        yield copy


def cover(tree: Path) -> Cover:
    return Cover(tree, tree / ".mutants", ["tests/query", "tests/end_to_end"])


def mutant(tree: Path, change: str, path: str = "a.py") -> Mutant:
    path = f"lightrag_dagster/query/{path}"
    (found,) = (one for one in mutants_of((tree / path).read_bytes(), path) if f"{one.was} → {one.now}" == change)
    return found


@pytest.mark.long
@pytest.mark.parametrize(
    ("change", "path", "tests"),
    [
        ("3 → 4", "a.py", [OF_A, []]),  # where it is named
        ("min(\n        values) → (max(values))", "a.py", [OF_A, []]),
        ("5 → 6", "a.py", [[], ["test_all.py::test_more"]]),
        ("1 → 2", "ask.sql", [["test_b.py::test_ask"], []]),
    ],
)
def test_tests_are_chosen_that_execute_what_is_changed(
    tree: Path, copy: Copy, change: str, path: str, tests: list[list[str]]
) -> None:
    stages = cover(tree).tests_of(mutant(tree, change, path))
    assert [sorted(test.rpartition("/")[2] for test in stage) for stage in stages] == tests


@pytest.mark.long
@pytest.mark.parametrize(
    ("change", "killed_by"),
    [
        ("min(\n        values) → (max(values))", "tests/query/test_a.py::test_least"),
        ("3 → 4", None),  # but by a test that is not run
        ("5 → 6", "tests/end_to_end/test_all.py::test_more"),
    ],
)
def test_the_test_that_notices_is_found(tree: Path, copy: Copy, change: str, killed_by: str | None) -> None:
    tried = mutant(tree, change)
    results = Results(tree, tree / ".mutants/results.jsonl")
    assert results.killed_by(tried) == (False, None)
    found = copy.killed_by(tried, cover(tree).tests_of(tried))
    assert found == killed_by
    results.put(tried, found)
    assert Results(tree, tree / ".mutants/results.jsonl").killed_by(tried) == (True, killed_by)


@pytest.mark.long
def test_only_edited_tests_are_measured_again(tree: Path, copy: Copy) -> None:
    assert not cover(tree).stale
    (tree / "tests/query/test_b.py").write_text("def test_ask():\n    pass\n")
    assert cover(tree).stale == {"tests/query/test_b.py"}
    # Who executes which line of a source is not known after an edit, except who executes any.
    moved = (tree / "lightrag_dagster/query/a.py").read_text()
    (tree / "lightrag_dagster/query/a.py").write_text(f"\n{moved}")
    assert len(cover(tree).tests_of(mutant(tree, "min(\n        values) → (max(values))"))[0]) == 3

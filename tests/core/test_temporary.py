"""Temporary folders: what a killed process has left goes, what a living one uses stays."""

import os
import re
import subprocess
import sys
import tempfile
from contextlib import ExitStack
from pathlib import Path

import pytest

from lightrag_dagster.core.temporary import temporary_folder
from lightrag_dagster.errors import StoreError
from tests.test_floors import product

HOLDER = """
import sys
from lightrag_dagster.core.temporary import temporary_folder
with temporary_folder("lightrag-plan-") as folder:
    (folder / "row").write_text("1")
    print(folder, flush=True)
    sys.stdin.read()
"""


def test_the_folder_of_a_killed_process_goes_with_the_next(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    environment = os.environ | {"TMPDIR": str(tmp_path)}
    with subprocess.Popen(
        [sys.executable, "-c", HOLDER], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=environment
    ) as holder:
        assert holder.stdout is not None
        left = Path(holder.stdout.readline().strip())
        os.utime(left, (0, 0))
        with temporary_folder("lightrag-plan-") as ours:
            assert sorted(tmp_path.iterdir()) == sorted([left, ours])
        holder.kill()
    assert (left / "row").exists()
    with temporary_folder("lightrag-try-"):
        assert left.exists()
    with temporary_folder("lightrag-plan-") as ours:
        assert list(tmp_path.iterdir()) == [ours]
    assert list(tmp_path.iterdir()) == []


def test_a_forked_process_leaves_the_folder_to_its_parent(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    with temporary_folder("lightrag-plan-") as ours, ExitStack() as opened:
        held = opened.enter_context(temporary_folder("lightrag-plan-"))
        if (child := os.fork()) == 0:
            try:
                opened.close()
            finally:
                os._exit(0)
        os.waitpid(child, 0)
        assert sorted(tmp_path.iterdir()) == sorted([ours, held])
    assert list(tmp_path.iterdir()) == []


def test_folders_of_people_stay(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    theirs = tmp_path / "lightrag-copy-of-home"
    theirs.mkdir()
    os.utime(theirs, (0, 0))
    with temporary_folder("lightrag-copy-"):
        assert theirs.exists()


def test_no_place_for_them_is_an_error_with_what_to_do(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tempfile, "tempdir", None)
    monkeypatch.setattr(tempfile, "_candidate_tempdir_list", list)
    with pytest.raises(StoreError, match="set TMPDIR"), temporary_folder("lightrag-copy-"):
        raise AssertionError


def test_all_temporary_folders_are_such() -> None:
    """Others stay for good where a process is killed: spilled rows, copies of tables, results."""
    beside = re.compile(r"(TemporaryDirectory|NamedTemporaryFile|mkdtemp|mkstemp)\((?!dir=|\s*dir=)[^)]*\)")
    found = [f"{name}: {one[0]}" for name, text in product().items() for one in beside.finditer(text)]
    kept = [one for one in found if "dir=" not in one and "delete=False" not in one]
    assert kept == ["lightrag_dagster.core.temporary: mkdtemp(_OURS, prefix)"]

"""The cost of a command with the processes that it starts."""

import subprocess
import sys
from pathlib import Path

import pytest

from benchmarks.bench.measuring import Command, CommandError, cost_of, size_of

CHILD = "import pathlib; pathlib.Path('child').write_bytes(bytes(3_000_000))"
WRITING = f"""
import pathlib, subprocess, sys
pathlib.Path("parent").write_bytes(bytes(2_000_000))
subprocess.run([sys.executable, "-c", {CHILD!r}], check=True)
"""
BUSY = "import time\nwhile time.process_time() < 0.3: pass"
ECHO = "import json, sys\nfor line in sys.stdin: print(json.dumps({'got': json.loads(line)}), flush=True)"


def test_what_processes_write_is_counted_with_what_their_children_write(tmp_path: Path) -> None:
    cost = cost_of([sys.executable, "-c", WRITING], tmp_path, {})
    assert 5_000_000 <= cost.written < 5_100_000
    assert size_of(tmp_path) == 5_000_000


@pytest.mark.long
def test_imports_are_a_part_of_the_processors_time(tmp_path: Path) -> None:
    (tmp_path / "slow.py").write_text(BUSY)
    importing = cost_of([sys.executable, "-c", "import slow"], tmp_path, {})
    working = cost_of([sys.executable, "-c", BUSY], tmp_path, {})
    assert importing.imports is not None
    assert working.imports is not None
    assert importing.imports > 0.2 > working.imports
    assert working.cpu > 0.3
    assert working.wall > 0.3


@pytest.mark.long
def test_memory_is_that_of_the_process_that_held_the_most(tmp_path: Path) -> None:
    child = "held = bytearray(400_000_000)"
    starting = f"import subprocess, sys; subprocess.run([sys.executable, '-c', {child!r}], check=True)"
    # In a process of its own: a process that was just forked counts what the one before it held, as these tests do.
    program = (
        "import sys; from pathlib import Path; from benchmarks.bench.measuring import cost_of\n"
        f"for code in ('pass', {starting!r}):\n"
        f"    print(cost_of([sys.executable, '-c', code], Path({str(tmp_path)!r}), {{}}).peak)"
    )
    root = Path(__file__).parents[3]
    told = subprocess.run([sys.executable, "-c", program], cwd=root, capture_output=True, text=True, check=True).stdout
    small, large = map(int, told.split())
    assert small < 400_000_000 < large < 600_000_000


def test_a_file_with_two_names_is_counted_once(tmp_path: Path) -> None:
    (tmp_path / "one").write_bytes(bytes(100))
    (tmp_path / "folder").mkdir()
    (tmp_path / "folder" / "two").hardlink_to(tmp_path / "one")
    assert size_of(tmp_path) == 100


def test_a_program_is_asked_line_by_line(tmp_path: Path) -> None:
    with Command([sys.executable, "-c", ECHO], tmp_path, {}) as command:
        assert [command.ask(1), command.ask({"two": 2})] == [{"got": 1}, {"got": {"two": 2}}]
        assert command.cost().cpu > 0


def test_a_command_sees_no_settings_or_keys_of_the_environment(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "secret")
    show = "import json, os; input(); print(json.dumps(dict(os.environ)))"
    with Command([sys.executable, "-c", show], tmp_path, {"GIVEN": "yes"}) as command:
        seen = command.ask(0)
    assert seen["GIVEN"] == "yes"
    assert "OPENAI_API_KEY" not in seen


@pytest.mark.parametrize("ask", [False, True])
def test_a_command_that_fails_is_an_error_with_what_it_said(tmp_path: Path, ask: bool) -> None:
    with (
        Command([sys.executable, "-c", "import sys; sys.exit('it broke')"], tmp_path, {}) as command,
        pytest.raises(CommandError, match=r"ended with 1:\nit broke"),
    ):
        command.ask({}) if ask else command.cost()

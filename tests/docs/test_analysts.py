"""The page of analysts' questions: its commands are run as they are written, and print what it shows."""

import re
import shlex
import shutil
import subprocess
from pathlib import Path

import pytest

from tests.cli.test_cli import command

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "analysts.md").read_text(encoding="utf-8")
COMMANDS = ("find", "entity", "neighbours", "path", "communities", "changes", "sql", "curate", "export")
"""Each is on the page."""

_SNAPSHOT = re.compile(r"gen-[0-9a-f]{32}")


def examples(page: str) -> list[tuple[str, str]]:
    """Return the commands in the blocks of a page, in order, each with the output below it."""
    found = []
    for block in re.findall(r"^```\n(.*?)^```$", page, re.MULTILINE | re.DOTALL):
        before, *rest = re.split(r"^\$ ", block, flags=re.MULTILINE)
        assert before == "", f"a block begins with no command: {before}"
        for text in rest:
            lines = text.splitlines(keepends=True)
            length = next(end for end in range(1, len(lines) + 1) if _is_whole("".join(lines[:end])))
            found.append(("".join(lines[:length]).strip(), "".join(lines[length:])))
    return found


def _is_whole(text: str) -> bool:
    try:
        shlex.split(text)
    except ValueError:  # a quotation mark is closed on a later line
        return False
    return True


def prints(shown: str, printed: str) -> bool:
    """Say whether text was printed as a page shows it, but for snapshot ids and what a `…` stands for."""
    shown, printed = (_SNAPSHOT.sub("gen-0", text).rstrip("\n") + "\n" for text in (shown, printed))
    lines = (r"(?:.*\n)+" if line == "…\n" else _pattern(line) for line in shown.splitlines(keepends=True))
    return re.fullmatch("".join(lines), printed) is not None


def _pattern(line: str) -> str:
    return re.escape(line).replace("…", ".*")


@pytest.mark.parametrize(
    ("shown", "same"),
    [
        ("a\nb\nc\n", True),
        ("a\n…\n", True),
        ("a\n…\nc\n", True),
        ("…\nb\nc\n", True),
        ("a\nb\n", False),
        ("a\nb\nc\n…\n", False),
        ("a…\nb\nc\n", True),
        ("a\n.\nc\n", False),
    ],
)
def test_a_page_may_leave_out_what_it_marks(shown: str, same: bool) -> None:
    assert prints(shown, "a\nb\nc\n") is same


def test_a_command_ends_with_its_quotation() -> None:
    assert examples('```\n$ echo "a\n    b"\na b\n$ ls\n```\n') == [('echo "a\n    b"', "a b\n"), ("ls", "")]


def test_fifteen_questions_are_answered() -> None:
    assert re.findall(r"^## (\d+)\. .*\?$", PAGE, re.MULTILINE) == [str(number) for number in range(1, 16)]
    sections = re.split(r"^## ", PAGE, flags=re.MULTILINE)[1:]
    assert [section.partition("\n")[0] for section in sections if not examples(section)] == []
    run = {shlex.split(line)[1] for line, _ in examples(PAGE) if line.startswith("lightrag-dagster ")}
    assert set(COMMANDS) - run == set()


@pytest.mark.long  # two runs of all sample sources
def test_the_commands_print_what_the_page_shows(
    capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    shutil.copytree(ROOT / "examples", "examples")
    monkeypatch.setenv("COLUMNS", "110")
    others = {}
    for line, shown in examples(PAGE):
        name, *arguments = shlex.split(line)
        if name == "lightrag-dagster":
            status, output, errors = command(capfd, monkeypatch, *arguments)
            printed = output + errors
        else:
            done = subprocess.run(["sh", "-c", line], capture_output=True, encoding="utf-8", check=False)
            status, printed = done.returncode, done.stdout + done.stderr
        assert status == 0, printed
        if not prints(shown, printed):
            others[line] = printed
    assert others == {}

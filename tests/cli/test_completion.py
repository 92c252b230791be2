"""Completion in a shell, and the version."""

import os
import re
import subprocess
import sys
from importlib.metadata import version
from pathlib import Path

import pytest

import lightrag_dagster
from tests.cli.test_cli import command

COMMAND = Path(sys.executable).with_name("lightrag-dagster")


def test_the_version_is_printed(capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    expected = (0, f"lightrag-dagster {version('lightrag-dagster')}\n", "")
    assert command(capfd, monkeypatch, "--version") == expected
    assert f"lightrag-dagster {lightrag_dagster.__version__}\n" == expected[1]


def test_help_says_where_the_pages_are(capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "400")
    _, output, _ = command(capfd, monkeypatch, "--help")
    (page, folder) = re.findall(r"Pages that messages name, such as (\S+), are in (\S+)\.", output)[0]
    assert (Path(folder) / page).is_file()


@pytest.mark.long
def test_bash_completes_commands_and_choices(tmp_path: Path) -> None:
    environment = os.environ | {"HOME": str(tmp_path), "PATH": f"{COMMAND.parent}:{os.environ['PATH']}"}

    def bash(program: str) -> str:
        done = subprocess.run(["bash", "-c", f"{program}\n:"], env=environment, capture_output=True, text=True)
        assert (done.returncode, done.stderr) == (0, "")
        return done.stdout

    def completed(typed: str) -> list[str]:
        words = f"lightrag-dagster {typed}"
        ask = f"COMP_WORDS=({words}); COMP_CWORD={words.count(' ')}; _lightrag_dagster_completion lightrag-dagster"
        return bash(f'. ~/.bashrc; {ask}; printf "%s\\n" "${{COMPREPLY[@]}}"').split()

    assert "bash completion installed" in bash("lightrag-dagster --install-completion")
    assert completed("snapshots p") == ["pin"]
    assert completed("export ") == ["tables", "graphml", "facts", "neo4j", "okf"]
    assert completed("sql --format j") == ["json"]

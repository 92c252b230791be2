"""Commands and options that pages, messages and examples name are those of the command line."""

import re
from typing import Any

import typer.main

from lightrag_dagster.cli.app import app
from tests.docs.test_links import PACKAGE, PAGES, ROOT

LINE = re.compile(r"(?:(?<!install )\blightrag-dagster |\blightrag\()([^`\n#|;]*)")
FOLDERS = (PACKAGE, *(ROOT / name for name in ("assets", "deploy", "examples", "tools")))
FILES = {*PAGES, *(file for folder in FOLDERS for kind in ("md", "py", "yaml") for file in folder.rglob(f"*.{kind}"))}


def unknown(line: str) -> str | None:
    """Return the word of a line after `lightrag-dagster` that the command line does not know."""
    command: Any = typer.main.get_command(app)
    words = (word.rstrip(")") for word in line.split())
    for word in words:
        known = {name: one for one in command.params for name in (*one.opts, *one.secondary_opts)}
        if option := re.match(r"--[a-z][\w-]*", word):
            if option[0] not in {*known, "--help"}:
                return word
            if option[0] in known and "=" not in word and not known[option[0]].is_flag:
                next(words, None)
        elif word in getattr(command, "commands", {}):
            command = command.commands[word]
        elif command.name == app.info.name:
            return word if re.fullmatch("[a-z-]+", word) else None
    return None


def test_commands_and_options_are_there() -> None:
    texts = {file: file.read_text(encoding="utf-8").replace('", "', " ").replace('"', "") for file in FILES}
    lines = [(str(file.relative_to(ROOT)), line) for file, text in texts.items() for line in LINE.findall(text)]
    assert len(lines) > 400
    assert [(name, line) for name, line in lines if unknown(line)] == []


def test_one_that_is_not_there_is_seen() -> None:
    lines = (
        "runs",
        "--homes data run",
        "--home data run --dry",
        "curate merge A B --into C --no-such",
        "run --home data",
    )
    assert [unknown(line) for line in lines] == ["runs", "--homes", "--dry", "--no-such", "--home"]
    assert [unknown(line) for line in ("--home data --sources sources run", "curate merge A B --into=C", "X")] == [
        None
    ] * 3

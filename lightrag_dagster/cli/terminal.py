"""The terminal that commands print on."""

import json
import os
import re
import shlex
import sys
from collections.abc import Mapping
from importlib.metadata import version
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.text import Text

_ORDERS = (*range(0x202A, 0x202F), *range(0x2066, 0x206A))
_CONTROLS = {code: 0xFFFD for code in (*range(32), *range(127, 160), *_ORDERS) if chr(code) not in "\t\n\r"}
_COMMAND = re.compile(r"(?:(?<=`)|(?<=^: ))lightrag-dagster (?!--home )")
"""The begin of a command for people to paste: in backquotes, or all that follows the name of a loss."""

_given: list[str] = []


def repeat_options(options: Mapping[str, str | Path | None]) -> None:
    """Have commands that are printed from now on repeat the options that this one was given, by name."""
    _given[:] = [f"{name} {shlex.quote(str(value))} " for name, value in options.items() if value is not None]


def visible(text: str) -> str:
    """Replace by `�` the characters that may colour, move, clear or reverse what a terminal shows."""
    return text.translate(_CONTROLS)


class _Terminal(Console):
    """A console on which the text of a document or a model is never a command to the terminal."""

    quotes = False

    def render_str(self, text: str, **options: Any) -> Text:
        if not self.quotes:
            text = _COMMAND.sub(lambda found: found[0] + "".join(_given), text)
            if "LIGHTRAG_" in text and (file := "".join(_given).partition("--defs ")[2].rstrip()):
                text += f" (what {file} sets wins over variables)"
        return super().render_str(visible(text), **options)

    def on_broken_pipe(self) -> None:
        """Go on when the reader of the output has ended, as after `run | head`: the work counts more than its lines."""
        self.quiet = True
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, self.file.fileno())
        os.close(nowhere)


def console(*, stderr: bool = False, quotes: bool = False) -> Console:
    """Return a console that prints every text as it is: `[note]` in a document is not markup.

    A long line is left to the terminal to break, so that copying it, or searching a log, finds it whole. In a file or a
    pipe tables are as wide as they need, unless COLUMNS says how wide.

    Commands for people to paste repeat the options of this one, so that they ask the same knowledge base; not where
    the console `quotes` documents, models or tables.
    """
    terminal = _Terminal(highlight=False, markup=False, emoji=False, soft_wrap=True, stderr=stderr)
    terminal.quotes = quotes
    if not terminal.is_terminal and not os.environ.get("COLUMNS", "").strip("0").isdigit():
        terminal.width = 1_000_000  # no bound
    return terminal


def print_json(facts: Mapping[str, object]) -> None:
    """Print facts as JSON on standard output, with the version of this package first."""
    sys.stdout.write(json.dumps({"version": version("lightrag-dagster"), **facts}, ensure_ascii=False, indent=2) + "\n")

"""The terminal that commands print on."""

import json
import sys
from collections.abc import Mapping
from importlib.metadata import version
from typing import Any

from rich.console import Console
from rich.text import Text

_CONTROLS = {code: 0xFFFD for code in (*range(32), *range(127, 160)) if chr(code) not in "\t\n\r"}


def visible(text: str) -> str:
    """Replace the control characters of a text, which may colour, move or clear what a terminal shows, by `�`."""
    return text.translate(_CONTROLS)


class _Terminal(Console):
    """A console on which the text of a document or a model is never a command."""

    def render_str(self, text: str, **options: Any) -> Text:
        return super().render_str(visible(text), **options)


def console(*, soft_wrap: bool = False, stderr: bool = False) -> Console:
    """Return a console that prints every text as it is: `[note]` in a document is not markup."""
    return _Terminal(highlight=False, markup=False, emoji=False, soft_wrap=soft_wrap, stderr=stderr)


def print_json(facts: Mapping[str, object]) -> None:
    """Print facts as JSON on standard output, with the version of this package first."""
    said = {"version": version("lightrag-dagster"), **facts}
    sys.stdout.write(json.dumps(said, ensure_ascii=False, indent=2) + "\n")

"""The texts of a page, cut where they are long and left out where the page would be too large; both are counted."""

import json
from collections import Counter
from collections.abc import Sequence
from typing import Any

_ESCAPES = str.maketrans(
    {"<": "\\u003c", ">": "\\u003e", "&": "\\u0026", "\u2028": "\\u2028", "\u2029": "\\u2029", "\x7f": "\\u007f"}
)


def as_json(value: Any) -> str:
    """Return JSON that neither ends a script nor begins a comment in any place of HTML."""
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    return text.translate(_ESCAPES).encode("utf-8", "replace").decode()


def size_of(value: Any) -> int:
    """Return the bytes that a value takes in a page."""
    return len(as_json(value).encode())


class Fitting:
    """The room that a page has left, in bytes, and what was cut or left out."""

    def __init__(self, room: int) -> None:
        """Take the bytes that the data may have."""
        self._room = room
        self._cut = Counter[str]()
        self._gone = Counter[str]()

    def take(self, value: Any) -> bool:
        """Take the room that a value needs; return False, and take none, if there is not enough."""
        needed = size_of(value) + 1
        if needed > self._room:
            return False
        self._room -= needed
        return True

    def short(self, text: str, most: int, name: str) -> str:
        """Return a text, cut to `most` characters; `name` is what the cut ones are called."""
        if len(text) <= most:
            return text
        self._cut[name] += 1
        return text[: most - 1].rstrip() + "…"

    def column(self, name: str, texts: Sequence[str], most: int) -> list[str]:
        """Return texts as `short`; those that have no room are empty."""
        found = []
        for text in texts:
            shown = self.short(text, most, name)
            if not self.take(shown):
                self._gone[name] += 1
                shown = ""
            found.append(shown)
        return found

    def leave_out(self, name: str) -> None:
        """Count something that has no room."""
        self._gone[name] += 1

    def notes(self) -> list[str]:
        """Return a sentence for each kind of text that was cut or left out."""
        return [
            *(f"{name}, cut: {count:,}" for name, count in self._cut.items()),
            *(f"{name}, left out since the page would be too large: {count:,}" for name, count in self._gone.items()),
        ]

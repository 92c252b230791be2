"""Data whose writer kept to ASCII: JSON, YAML and Java properties, with letters for their escapes.

A break of a line or a tab in JSON is a space, since the letter of its escape would be glued to the next word.
"""

import json
import re
from contextlib import suppress
from unicodedata import category

from lightrag_dagster.readers.content import Content
from lightrag_dagster.readers.decoding import decode
from lightrag_dagster.readers.plain.text import plain

# An escaped backslash first, so that what follows it is not taken for an escape.
_ESCAPE = re.compile(
    r"\\(?:\\|u((?i:d[89ab][0-9a-f]{2}))\\u((?i:d[c-f][0-9a-f]{2}))|u([0-9A-Fa-f]{4})"
    r"|x([0-9A-Fa-f]{2})|U000([01][0-9A-Fa-f]{4}))"  # of YAML alone
)
_BREAK = re.compile(r"(\\\\)|\\(/)|(?:\\(?:[bfnrt]|u000[9A-Da-d]|u202[89]))+")
_JSON_OF_LINE = re.compile(r"^[^\S\n]*[{\[][^\n\\]*\\[^\n]*", re.MULTILINE)
_PATH = re.compile(r"(?<![^\W_])[A-Za-z]:\\[A-Za-z]")  # of Windows, as who formats JSON by hand writes it
_NO_LETTERS = {"Cc", "Cs", "Zl", "Zp"}  # controls, halves of pairs, and what would break a line of JSON Lines


def read(data: bytes) -> Content:
    """Read text as it is, with letters for their escapes."""
    text, note = decode(data)
    return Content(unescaped(text), note=note)


def read_json(data: bytes) -> Content:
    """Read JSON or JSON Lines as they are, with letters and spaces for their escapes."""
    text, note = decode(data)
    return Content(_json(text), note=note)


def read_text(data: bytes) -> Content:
    """Read plain text, without colours for terminals; JSON that the whole or a line of it is, as such."""
    text, note = decode(data)
    return Content(_JSON_OF_LINE.sub(lambda line: with_json(line[0]), with_json(plain(text))), note=note)


def with_json(text: str) -> str:
    """Return text with letters and spaces for its escapes if all of it is an object or list of JSON."""
    if "\\" in text and text.lstrip().startswith(("{", "[")) and not _PATH.search(text):
        with suppress(ValueError, RecursionError):
            json.loads(text)
            return _json(text)
    return text


def _json(text: str) -> str:
    return _BREAK.sub(lambda found: found[1] or found[2] or " ", unescaped(text))


def unescaped(text: str) -> str:
    r"""Return text with letters for escapes such as `\u201c`; those of quotes, backslashes and controls stay."""
    return _ESCAPE.sub(_letter, text) if "\\" in text else text


def _letter(found: re.Match[str]) -> str:
    if found[1]:
        return (bytes.fromhex(found[1]) + bytes.fromhex(found[2])).decode("utf-16-be")
    code = found[3] or found[4] or found[5]
    if not code:
        return found[0]
    letter = chr(int(code, 16))
    return found[0] if letter in '"\\' or category(letter) in _NO_LETTERS else letter

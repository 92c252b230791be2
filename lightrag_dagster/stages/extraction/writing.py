"""Records written as an answer in rows, as the prompts ask models for it."""

import re
from collections.abc import Iterable, Sequence

from lightrag_dagster.stages.extraction.delimiters import END, FIELD, mark

_DELIMITER = "<|#|>"
_MARKS = re.compile(r"<\|[^<>|\s]{0,20}\|>|<\|+|(?<!\|)\|+[>#]|#\|+")
_MAY_BE_MARK = re.compile(r"[<|#＜｜＃]|&(?:lt|#)")


def write_answer(rows: Iterable[Sequence[str]]) -> str:
    """Return an answer of these rows, one a line; the first field of each is `entity` or `relation`."""
    return "\n".join([*(_DELIMITER.join(map(_plain_field, row)) for row in rows), "<|COMPLETE|>"])


def without_marks(content: str) -> str:
    """Return a text without anything that looks like a delimiter of the answer format."""
    return _MARKS.sub(" ", content)


def _plain_field(field: str) -> str:
    """Return a field on one line, without anything that looks like a delimiter or a marker of answers."""
    plain = " ".join(without_marks(field).split())
    if _MAY_BE_MARK.search(plain):
        marked = mark(plain)
        if FIELD in marked or END in marked:
            return " ".join(marked.replace(FIELD, " ").replace(END, " ").split())
    return plain

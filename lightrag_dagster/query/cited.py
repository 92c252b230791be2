"""Step 9: what an answer cites. A reference that is not in the list that the model was given is dropped and counted."""

import re
from collections.abc import Sequence
from typing import NamedTuple

from lightrag_dagster.query.types import Reference

# [1] or [1, 3], but no Markdown link, no link definition, and no index into code.
_MARK = re.compile(r"( ?)(?<!\w)\[(\d{1,4}(?:\s*[,;]\s*\d{1,4})*)\](?![(:])")
_HEADING = re.compile(r"^[ \t]*(?:#{1,6}[ \t]*|\*\*)?References:?(?:\*\*)?:?[ \t]*$", re.MULTILINE | re.IGNORECASE)
_ITEM = re.compile(r"^\s*(?:[-*+]\s+)?\[(\d{1,4})\](.*)$")
_DECORATION = " \t*_`:.-–—"


class Checked(NamedTuple):
    """The answer without invented references, the references that it does make, and how many were invented."""

    text: str
    cited: tuple[Reference, ...]
    invented: int


def without_references(text: str) -> str:
    """Return an answer without its last section headed References."""
    headings = list(_HEADING.finditer(text))
    return text[: headings[-1].start()].strip() if headings else text.strip()


def checked(text: str, references: Sequence[Reference]) -> Checked:
    """Resolve every `[n]` of an answer, and every line of its last section headed References.

    A line must name the document of its number, or a part of its path, or nothing beside the number.
    """
    known = {reference.reference_id: reference for reference in references}
    cited: set[str] = set()
    invented: set[str] = set()

    def resolved(mark: re.Match[str]) -> str:
        numbers = re.findall(r"\d+", mark[2])
        cited.update(known.keys() & numbers)
        invented.update(numbers - known.keys())
        kept = [number for number in numbers if number in known]
        return f"{mark[1]}[{', '.join(kept)}]" if kept else ""

    def stands(line: str) -> bool:
        item = _ITEM.match(line)
        if not item:
            return True
        number, named = item[1], item[2].strip(_DECORATION)
        file = known[number].file if number in known else ""
        if file and (named in file or file in named):
            cited.add(number)
            return True
        invented.add(number if number not in known else line.strip())
        return False

    headings = list(_HEADING.finditer(text))
    end = headings[-1].end() if headings else len(text)
    body = _MARK.sub(resolved, text[:end])
    listed = [line for line in text[end:].split("\n") if stands(line)]
    found = tuple(reference for reference in references if reference.reference_id in cited)
    return Checked((body + "\n".join(listed)).strip(), found, len(invented))

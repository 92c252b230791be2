"""The citations of an answer. A reference that is not in the list that the model was given is dropped and counted."""

import re
from collections.abc import Sequence
from typing import NamedTuple

from lightrag_dagster.query.answer_text import HEADING
from lightrag_dagster.query.types import Reference

_MARK = re.compile(
    r"(?:^[ \t]*|(?<=[A-Za-z0-9_]))\[\d+\]:"  # a link definition, or code such as `row[1]: int`
    r"|(\A)?+(?<!`)(`{3,}+)(?!markdown|md)(?s:.*?)\2(?(1)(?=\s*\S))"  # code, if not the whole answer
    r"|(?<![A-Za-z0-9`\]])(`{1,2}+)(?!`|\[[\d, ]+\]`).*?\3"  # code, if not a mark alone
    r"|\[\[[-\d., ]+\](?:,\s*\[[-\d., ]+\])+\]"  # a list of lists
    # Or else [1], [1, 3] or 【1†source】, except in a Markdown link; a range, as [0-9], may be code.
    r"|(?P<space> ?)[\[【［](?P<numbers>\d{1,4}(?:\s*[,;，；、]\s*\d{1,4})*)(?:†[^】\n]*)?[\]】］](?!\()",
    re.MULTILINE,
)
_INDEX = re.compile(r"[A-Za-z0-9_]\[")  # may begin an index into code
_ITEM = re.compile(r"^\s*(?:(?:[-*+]|\d{1,2}[.)])\s+)?\[(\d{1,4})\](.*)$")
_YEAR = 4  # digits; models invent numbers near to those that they were given
_DECORATION = " \t*_`:.-–—"


class Citations(NamedTuple):
    """An answer without invalid citations, the references that it cites, and the number of citations removed."""

    text: str
    cited: tuple[Reference, ...]
    invalid_citations: int


def resolve_citations(text: str, references: Sequence[Reference]) -> Citations:
    """Resolve every `[n]` of an answer, and every line of its last section headed References.

    A line must name the document of its number, or a part of its path, or have only the number.
    """
    text = text.strip()
    no_words = set("=:,[" if text.startswith("{") else "=")  # before the lists of an answer in JSON
    known = {reference.reference_id: reference for reference in references}
    cited: set[str] = set()
    invalid: set[str] = set()

    def resolve_mark(mark: re.Match[str]) -> str:
        numbers = [str(int(number)) for number in re.findall(r"\d+", mark["numbers"] or "")]  # such as １
        kept = [number for number in numbers if number in known]
        before = text[max(mark.start() - 9, 0) : mark.start()].rstrip()[-1:]
        if before in (no_words | set("(,:") if "0" in numbers else no_words):
            return mark[0]
        is_code = _INDEX.match(text[mark.start() - 1 : mark.start() + 1])
        if not kept and (is_code or all(len(number) >= _YEAR for number in numbers)):
            return mark[0]
        cited.update(kept)
        invalid.update(numbers - known.keys())
        return f"{mark['space']}[{', '.join(kept)}]" if kept else ""

    def is_valid_line(line: str) -> bool:
        item = _ITEM.match(line)
        if not item:
            return True
        number, named = item[1], item[2].strip(_DECORATION)
        file = known[number].file if number in known else ""
        if file and (named in file or file in named):
            cited.add(number)
            return True
        invalid.add(number if number not in known else line.strip())
        return False

    headings = list(HEADING.finditer(text))
    end = headings[-1].end() if headings else len(text)
    listed = [line for line in text[end:].split("\n") if is_valid_line(line)]
    if headings and not "".join(listed).strip():
        end = headings[-1].start()
    body = _MARK.sub(resolve_mark, text[:end])
    found = tuple(reference for reference in references if reference.reference_id in cited)
    return Citations((body + "\n".join(listed)).strip(), found, len(invalid))

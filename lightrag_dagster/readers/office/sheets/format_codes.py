"""Codes of number formats in spreadsheets, such as `#,##0.00;(#,##0.00)`, as sections of tokens."""

import re
from typing import NamedTuple

_TOKEN = re.compile(
    r'"(?P<quoted>[^"]*)"?|\\(?P<escaped>.)|(?P<space>_.)|\*.|\[\$(?P<currency>[^\]-]*)[^\]]*\]'
    r"|\[(?P<elapsed>h+|m+|s+)\]|\[(?P<condition>[<>=]+ *-?[\d.]+)\]|\[[^\]]*\]"
    r"|(?P<general>General|@)|(?P<era>g+e+|e+(?=\\?[-/.]m|\"?年)|bbbb)|b[12](?=y)"  # of Japan, China and Thailand
    r"|(?P<half>AM/PM|A/P)|(?P<date>y+|m+|d+|h+|s+(?:\.0+)?)|(?P<digit>[0#?])|(?P<mark>E[+-]|[.,%])|(?P<end>;)"
    r"|(?P<other>.)",
    re.DOTALL | re.IGNORECASE,
)


class CodeToken(NamedTuple):
    """A piece of a format: `text`, `date`, `elapsed`, `half` of a day, `digit`, `general`, `mark` or `condition`."""

    kind: str
    value: str


Section = list[CodeToken]


def sections_of(code: str) -> list[Section]:
    """Return the sections of a code: for positive numbers, negative ones, zero, and text, or by condition."""
    sections: list[Section] = [[]]
    for found in _TOKEN.finditer(code):
        kind, value = found.lastgroup, found[found.lastgroup or 0]
        if kind == "end":
            sections.append([])
        elif kind == "space":
            sections[-1].append(CodeToken("text", " "))
        elif kind == "era":
            sections[-1].append(CodeToken("date", "yyyy"))
        elif kind in ("quoted", "escaped", "currency", "other"):
            sections[-1].append(CodeToken("text", value))
        elif kind:  # fillers and colours have none
            sections[-1].append(CodeToken(kind, value))
    return sections

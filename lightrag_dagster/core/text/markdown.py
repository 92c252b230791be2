"""Headings of Markdown text: ATX (`# Title`) and one-line setext (underlined), not inside code fences or front matter.

A line scan rather than a full parser (markdown-it-py, blocks only), which reads 8 MB/s of Markdown against 190.
Headings are part of chunk ids, so the headings found here must not change.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass

_READ = "title|authors?|date|tags|keywords|categories|lang|language|draft|published"
_KEY = rf"(?(known)\w[\w .-]*|(?:[^\W\dA-Z][\w.-]*|(?i:{_READ})))[ \t]*:(?=\s)"
FRONT_MATTER = re.compile(
    rf"\A---[ \t]*\r?\n(?P<known>(?=(?:(?!---|\.\.\.)[^\n]*\n)*?[ \t]*(?:{_READ})[ \t]*:\s))?"
    # Lines are atomic groups, so that a text that is none is found out in one pass.
    rf"(?P<block>(?>(?:[ \t]+(?=\S)|[#\]}}'\"{{-]|{_KEY})[^\n]*\n|[ \t\r]*\n)*?)(?:---|\.\.\.)[ \t\r]*$",
    re.MULTILINE,
)
"""The YAML between two rules at the start of a text: a key is known, or all begin with a small letter.

Text between two rules is none, such as `Contract: between Ida and the town`, or a sentence below a key.
"""

# Begins with a character rather than `^`, which the search for it skips to: eight times as fast in prose.
_MARKED_LINE = re.compile(
    r"\n {0,3}(?:(?P<fence>`{3,}|~{3,})(?P<info>[^\n]*)"
    r"|(?P<marks>\#{1,6})(?P<text>[ \t][^\n]*)?\r?$"
    r"|(?P<underline>=+|-+)[ \t\r]*$)",
    re.MULTILINE,
)
_CLOSING_MARKS = re.compile(r"(?:^|[ \t])#+$")
_NOT_A_TITLE = re.compile(r"[ \t]{4}|\t| {0,3}(?:[#>|*+=~`-]|\d+[.)])")
_LINK = re.compile(r"!?\[([^\]\n]*)\]\([^)\n]*\)")
_MAX_HEADING = 500  # characters; a longer line is text with a stray mark
_ESCAPE = re.compile(r"\\([!-/:-@\[-`{-~])")


@dataclass(frozen=True)
class Heading:
    """One heading: where its line starts (characters), its level (1 to 6), and its text without markup."""

    offset: int
    level: int
    text: str


def find_headings(text: str) -> list[Heading]:
    """Return the headings of a Markdown text in order."""
    return list(_headings(text))


def _headings(text: str) -> Iterator[Heading]:
    front_matter = FRONT_MATTER.match(text)
    fence = ""
    for line in _MARKED_LINE.finditer(f"\n{text}", front_matter.end() + 1 if front_matter else 0):
        if mark := line["fence"]:
            fence = fence_after(fence, mark, line["info"])
        elif not fence and line["marks"]:
            yield Heading(line.start(), len(line["marks"]), _plain(line["text"] or ""))
        elif not fence and (start := _setext_start(text, line.start())) is not None:
            yield Heading(start, 1 if line["underline"][0] == "=" else 2, _plain(text[start : line.start()]))


def fence_after(fence: str, mark: str, info: str) -> str:
    """Return the code fence that is open behind a line, "" for none.

    Args:
        fence: the one that is open before the line, "" for none.
        mark: the run of marks that the line starts with.
        info: the rest of the line.
    """
    if not fence:
        return "" if mark[0] == "`" and "`" in info else mark
    return "" if mark.startswith(fence) and not info.strip() else fence


def closed(text: str) -> str:
    """Return Markdown with an end of the code that is open where the text ends."""
    fence = ""
    for line in _MARKED_LINE.finditer(f"\n{text}"):
        fence = fence_after(fence, line["fence"], line["info"]) if line["fence"] else fence
    return f"{text}\n{fence}" if fence else text


def heading_paths(text: str) -> list[tuple[int, str]]:
    """Return for each heading its offset and the path in force from there on, such as `Guide > Install`."""
    paths: list[tuple[int, str]] = []
    above: list[Heading] = []
    for heading in find_headings(text):
        above = [outer for outer in above if outer.level < heading.level] + [heading]
        paths.append((heading.offset, " > ".join(level.text for level in above if level.text)))
    return paths


def find_title(text: str) -> str | None:
    """Return the first level-1 heading that has text, or None."""
    return next((heading.text for heading in _headings(text) if heading.level == 1 and heading.text), None)


def _setext_start(text: str, underline: int) -> int | None:
    """Return the start of the single title line above an underline, or None when that line is something else."""
    if underline == 0:
        return None
    start = text.rfind("\n", 0, underline - 1) + 1
    before = text.rfind("\n", 0, max(start - 1, 0)) + 1
    title = text[start:underline]
    alone = start == 0 or not text[before:start].strip()
    return start if alone and title.strip() and not _NOT_A_TITLE.match(title) else None


def _plain(text: str) -> str:
    without_marks = _CLOSING_MARKS.sub("", text.strip()[:_MAX_HEADING])
    return " ".join(_ESCAPE.sub(r"\1", _LINK.sub(r"\1", without_marks)).strip("*_` \t\r\n").split())

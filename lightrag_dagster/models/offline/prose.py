"""Plain sentences out of Markdown-flavoured text: markup goes, headings are told apart from prose."""

import re
from collections.abc import Iterator
from dataclasses import dataclass

from lightrag_dagster.models.offline.words import words

_LONGEST_SENTENCE = 600
_LONGEST_HEADING = 120


@dataclass(frozen=True, slots=True)
class Sentence:
    """One sentence or heading without markup; `level` is the heading's, from 1, and 0 for prose.

    Back-quotes stay, since they mark names in technical prose. No text is longer than 600 characters.
    """

    text: str
    level: int = 0


# Every repetition below is bounded or over characters that its end excludes, so matching takes linear time.
_INLINE = (
    (re.compile(r"!?\[([^\[\]\n]{0,300})\](?:\([^()\s]{0,500}(?: \"[^\"\n]{0,200}\")?\)|\[[^\[\]\n]{0,100}\])"), r"\1"),
    (re.compile(r"<?\b(?:https?|ftp|mailto):[^\s<>()]+>?"), ""),
    (re.compile(r"</?[A-Za-z][^<>\n]{0,200}>|<!--[^<>\n]{0,200}-->"), " "),
    (re.compile(r"\[\^?\d{1,3}\]"), ""),
    (re.compile(r"``|''|&quot;"), '"'),
    (re.compile(r"\*+|~~|(?<!\w)_{1,3}(?=\w)|(?<=\w)_{1,3}(?!\w)"), ""),
)
_FRONT_MATTER = re.compile(r"\A\s*---[ \t]*\n(?:[^\n]*\n){0,100}?(?:---|\.\.\.)[ \t]*(?:\n|\Z)")
_HEADING = re.compile(r"(#{1,6})\s+")
_ITEM = re.compile(r"(?:>\s?){0,9}(?:[-*+•–]\s+(?:\[[ xX]\]\s+)?|\d{1,3}[.)]\s+(?=\D)|>\s*)")
_LABEL = re.compile(r"[*_]{0,3}[^\W\d_][\w -]{0,30}:[*_]{0,3}(?:\s|$)")
_RULE = re.compile(r"[-=_*|:+\s]{3,}$")
_END = re.compile(r"(?<![.!?…])[.!?…]+[\"'”’»)\]]{0,4}(?=\s)|[。！？]+[」』”）]{0,4}")
_LAST_WORD = re.compile(r"[^\s(\"“]+$")
_FIRST_WORD = re.compile(r"[\s\"“„«'(\[]*([^\W_]+)?")


def sentences(text: str) -> list[Sentence]:
    """Split text into headings and sentences, in order; code blocks are left out."""
    return [part for block in _blocks(text) for part in _split(block)]


def plain(line: str) -> str:
    """Return a line without inline markup."""
    for pattern, replacement in _INLINE:
        line = pattern.sub(replacement, line)
    return " ".join(line.split())


def _blocks(text: str) -> Iterator[Sentence]:
    """Yield headings, list items, table rows and paragraphs, each on one line."""
    paragraph: list[str] = []
    in_code = listed = False
    lines = _FRONT_MATTER.sub("", text, count=1).splitlines()
    fences_left = sum(line.lstrip().startswith(("```", "~~~")) for line in lines)
    first = next((number for number, line in enumerate(lines) if line.strip()), 0)
    for number, raw in enumerate([*lines, ""]):
        line = raw.strip()
        if line.startswith(("```", "~~~")):
            fences_left -= 1
            in_code = not in_code and fences_left > 0
            line = ""
        elif in_code:
            continue
        heading, item, row, rule = _HEADING.match(line), _ITEM.match(line), line.startswith("|"), _RULE.match(line)
        alone = len(paragraph) == 1 and not listed
        if alone and rule and not line.strip("=-"):
            yield Sentence(plain(paragraph.pop()), level=1 if line[0] == "=" else 2)
        elif alone and not line and number < len(lines) and _is_title(paragraph[0]):
            yield Sentence(plain(paragraph.pop()), level=1 if number == first + 1 else 2)
        elif not line or heading or item or row or rule or _LABEL.match(line):
            yield from _unwrap(paragraph)
            paragraph = []
        if heading:
            yield Sentence(plain(line[heading.end() :].rstrip("# ")), level=len(heading[1]))
        elif row and not rule:
            yield Sentence(plain("; ".join(filter(None, map(str.strip, line.split("|"))))))
        elif line and not rule:
            listed = bool(item) or (listed and bool(paragraph))
            paragraph.append(line[item.end() :] if item else line.rstrip("\\"))
        if raw.endswith(("  ", "\\")):
            yield from _unwrap(paragraph)
            paragraph = []


def _unwrap(lines: list[str]) -> Iterator[Sentence]:
    """Join wrapped lines; break where the next word would easily have fitted, as after a title or in an address."""
    width = max(map(len, lines), default=0)
    run: list[str] = []
    for number, line in enumerate(lines, start=1):
        following = lines[number] if number < len(lines) else ""
        run.append(line)
        fits = len(line) + 1 + len(following.split(" ", 1)[0]) < 0.7 * width
        shouted = line.isupper() and not following.isupper()
        if following and (not (fits or shouted) or following[0].islower()):
            continue
        titled = following and number == 1 and _is_title(line)
        yield Sentence(plain(" ".join(run)), level=1 if titled else 0)
        run = []


def _is_title(line: str) -> bool:
    return 0 < len(line) <= _LONGEST_HEADING and line[-1] not in ".!?:;,。！？…" and not _LABEL.match(line)


def _split(block: Sentence) -> Iterator[Sentence]:
    text, start = block.text, 0
    ends = () if block.level else _END.finditer(text)
    for stop in [*(end.end() for end in ends if _ends_sentence(text, end)), len(text)]:
        while stop - start > _LONGEST_SENTENCE:
            cut = text.rfind(" ", start + 1, start + _LONGEST_SENTENCE)
            cut = cut if cut > 0 else start + _LONGEST_SENTENCE
            yield Sentence(text[start:cut].strip(), block.level)
            start = cut
        if part := text[start:stop].strip():
            yield Sentence(part, block.level)
        start = stop


def _ends_sentence(text: str, end: re.Match[str]) -> bool:
    """Whether a full stop and what closes it end a sentence: not before a small letter, nor after `Dr` or `U.S`."""
    following = _FIRST_WORD.match(text, end.end(), end.end() + 60)
    first = (following and following[1]) or ""
    if end[0][0] != "." or not first:
        return True
    if first[0].islower():
        return False
    before = _LAST_WORD.search(text, max(0, end.start() - 30), end.start())
    word = before[0].casefold() if before else ""
    if end[0] != "." or not word:
        return True
    if word.isdigit() and len(word) <= 2:
        return first.casefold() not in words("months")
    abbreviated = len(word) == 1 or "." in word or word in words("abbreviations")
    return not abbreviated or first.casefold() in words("stop")

"""Plain sentences out of Markdown-flavoured text: markup goes, headings are told apart from prose."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from markdown_it import MarkdownIt
from markdown_it.token import Token

from lightrag_dagster.models.offline.words import words
from lightrag_dagster.stages.documents.markdown import FRONT_MATTER

_LONGEST_SENTENCE = 600
_LONGEST_HEADING = 120

# Indented text is prose more often than code, and text inside HTML is text.
_MARKDOWN = MarkdownIt("commonmark").enable(["table", "strikethrough"]).disable(["code", "html_block"])
_BREAKS = {"softbreak": "\n", "hardbreak": "\f", "html_inline": " "}
_INVISIBLE = re.compile(r"<?\b(?:https?|ftp|mailto):[^\s<>()]+>?|\[\^?\d{1,3}\]|\A\[[ xX]\] ")
_QUOTES = re.compile(r"(?<!`)``(?!`)|''")
_FENCE = re.compile(r"^[ \t]*(?:```|~~~)[^\n]*$", re.MULTILINE)
_LABEL = re.compile(r"[^\W\d_][\w -]{0,30}:(?:\s|$)")
_END = re.compile(r"(?<![.!?…])[.!?…]+[\"'”’»)\]]{0,4}(?=\s)|[。！？]+[」』”）]{0,4}")
_LAST_WORD = re.compile(r"[^\s(\"“]+$")
_FIRST_WORD = re.compile(r"[\s\"“„«'(\[]*([^\W_]+)?")


@dataclass(frozen=True, slots=True)
class Sentence:
    """One sentence or heading without markup; `level` is the heading's, from 1, and 0 for prose.

    Back-quotes stay, since they mark names in technical prose. No text is longer than 600 characters.
    """

    text: str
    level: int = 0


def sentences(text: str) -> list[Sentence]:
    """Split text into headings and sentences, in order; code blocks are left out."""
    return [part for block in _blocks(text) for part in _split(block)]


def plain(line: str) -> str:
    """Return a line without inline markup."""
    [token] = _MARKDOWN.parseInline(_QUOTES.sub('"', line))
    return " ".join(line for lines in _runs(token) for line in lines)


def _blocks(text: str) -> Iterator[Sentence]:
    """Yield headings, list items, table rows and paragraphs, each on one line."""
    text = _QUOTES.sub('"', FRONT_MATTER.sub("", text, count=1))
    fences = list(_FENCE.finditer(text))
    if len(fences) % 2:  # the text was cut inside a block of code
        text = text[: fences[-1].start()] + text[fences[-1].end() :]
    tokens = _MARKDOWN.parse(text)
    last = max((at for at, token in enumerate(tokens) if token.type == "inline"), default=0)
    row: list[str] = []
    for at, token in enumerate(tokens):
        if token.type == "tr_close":
            yield Sentence("; ".join(filter(None, row)))
            row = []
        elif token.type == "inline":
            runs, around = _runs(token), tokens[at - 1]
            alone = len(runs) == 1 and len(runs[0]) == 1
            if around.type in ("td_open", "th_open"):
                row += [" ".join(map(" ".join, runs))]
            elif around.type == "heading_open" and (around.markup[0] == "#" or alone):
                yield Sentence(" ".join(map(" ".join, runs)), int(around.tag[1]))
            elif alone and around.level == 0 and at != last and _is_title(runs[0][0]):
                yield Sentence(runs[0][0], level=1 if at == 1 else 2)
            else:
                for lines in runs:
                    yield from _unwrap(lines)


def _runs(token: Token) -> list[list[str]]:
    """Return the lines of inline text without markup, cut where the author broke a line on purpose."""
    parts: list[str] = []
    for child in token.children or []:
        if child.type == "code_inline":
            parts.append(f"`{child.content}`")
        else:
            parts.append(_BREAKS.get(child.type, child.content))
    runs = _INVISIBLE.sub("", "".join(parts)).split("\f")
    return [
        lines
        for lines in ([" ".join(line.split()) for line in run.split("\n") if line.strip()] for run in runs)
        if lines
    ]


def _unwrap(lines: Sequence[str]) -> Iterator[Sentence]:
    """Join wrapped lines; break where the next word would easily have fitted, as after a title or in an address."""
    width = max(map(len, lines))
    run: list[str] = []
    for number, line in enumerate(lines, start=1):
        following = lines[number] if number < len(lines) else ""
        run.append(line)
        fits = len(line) + 1 + len(following.split(" ", 1)[0]) < 0.7 * width
        shouted = line.isupper() and not following.isupper()
        if following and not _LABEL.match(following) and (not (fits or shouted) or following[0].islower()):
            continue
        titled = following and number == 1 and _is_title(line)
        yield Sentence(" ".join(run), level=1 if titled else 0)
        run = []


def _is_title(line: str) -> bool:
    return len(line) <= _LONGEST_HEADING and line[-1] not in ".!?:;,。！？…" and not _LABEL.match(line)


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
    """Tell whether a full stop ends a sentence: not before a small letter, nor after `Dr` or `U.S`."""
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

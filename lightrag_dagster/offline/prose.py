"""Plain sentences out of Markdown-flavoured text: markup goes, headings are told apart from prose."""

import re
import textwrap
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import groupby
from typing import TYPE_CHECKING

from lightrag_dagster.core.text.full_stops import ends_sentence
from lightrag_dagster.core.text.markdown import FRONT_MATTER

if TYPE_CHECKING:
    from markdown_it import MarkdownIt
    from markdown_it.token import Token

_LONGEST_SENTENCE = 600
_LONGEST_HEADING = 120

_BREAKS = {"softbreak": "\n", "hardbreak": "\n\n", "html_inline": " "}
_INVISIBLE = re.compile(r"<?\b(?:https?|ftp|mailto):[^\s<>()]+>?|\[\^?\d{1,3}\]|\A\[[ xX]\] ")
_QUOTES = re.compile(r"(?<!`)``(?!`)|''")
_FENCE = re.compile(r"^[ \t]*(```+(?!.*`)|~~~+)(.*)$", re.MULTILINE)
_LABEL = re.compile(r"[^\W\d_][\w -]{0,30}:(?:\s|$)")
_END = re.compile(r"(?<![.!?…])[.!?…]+[\"'”’»)\]]{0,4}(?=\s)|[。！？]+[」』”）]{0,4}")


@dataclass(frozen=True, slots=True)
class Sentence:
    """One sentence, heading or table row without markup; `level` is the heading's, from 1, and 0 for others.

    Back-quotes stay, since they mark names in technical prose. No text is longer than 600 characters.
    """

    text: str
    level: int = 0
    row: bool = False


def sentences(text: str) -> list[Sentence]:
    """Split text into headings and sentences, in order; code blocks are left out."""
    return [part for block in _blocks(text) for part in _split(block)]


def plain(line: str) -> str:
    """Return a line without inline markup."""
    [token] = _markdown().parseInline(_QUOTES.sub('"', line))
    return " ".join(filter(None, _lines(token)))


@cache
def _markdown() -> "MarkdownIt":
    from markdown_it import MarkdownIt  # 80 modules, which a question of vectors does not need

    # Indented text is prose more often than code, and text inside HTML is text.
    parser = MarkdownIt("commonmark").enable(["table", "strikethrough"]).disable(["code", "html_block"])
    parser.parse("*x*")  # compiles the rules, of which a second thread would find none meanwhile
    return parser


def _blocks(text: str) -> Iterator[Sentence]:
    """Yield headings, list items, table rows and paragraphs, each on one line."""
    text = _QUOTES.sub('"', FRONT_MATTER.sub("", text, count=1))
    fences, is_open = _fences(text)
    is_inside = _begins_in_code(text, fences)
    if is_inside or is_open:  # the text was cut inside a block of code
        fence = fences[0 if is_inside else -1]
        text = text[: fence.start()] + text[fence.end() :]
    tokens = _markdown().parse(text)
    last = max((at for at, token in enumerate(tokens) if token.type == "inline"), default=0)
    row: list[str] = []
    for at, token in enumerate(tokens):
        if token.type == "tr_close":
            yield Sentence("; ".join(filter(None, row)), row=True)
            row = []
        elif token.type == "inline":
            lines, around = _lines(token), tokens[at - 1]
            if around.type in ("td_open", "th_open"):
                row.append(" ".join(lines))
            elif around.type == "heading_open" and (around.markup[0] == "#" or len(lines) == 1):
                yield Sentence(" ".join(lines), int(around.tag[1]))
            elif len(lines) == 1 and around.level == 0 and at != last and _is_title(lines[0]):
                yield Sentence(lines[0], level=1 if at == 1 else 2)
            else:
                for is_row, group in groupby(lines, _is_row):
                    run = list(group)
                    yield from _rows(run) if is_row else _unwrap(run)


def _fences(text: str) -> tuple[list[re.Match[str]], bool]:
    """Return the fences that begin or end code, and True if code is open behind the last.

    Those of other marks, or of fewer than the fence before them that began some, are text of the code.
    """
    found, code = list[re.Match[str]](), ""
    for fence in _FENCE.finditer(text):
        if fence[1].startswith(code):
            found.append(fence)
            code = "" if code and not fence[2].strip() else fence[1]
    return found, bool(code)


def _begins_in_code(text: str, fences: Sequence[re.Match[str]]) -> bool:
    """Return True if the first fence ends code.

    A fence that names a language begins some, which tells the others; where none does, an empty line below tells it.
    """
    named = [bool(fence[2].strip()) for fence in fences]
    if any(named):
        return not any(named[::2])
    return len(fences) % 2 == 1 and text.startswith("\n\n", fences[0].end())


def _is_row(line: str) -> bool:
    return line.startswith("|") or line.endswith("|")


def _rows(lines: Iterable[str]) -> Iterator[Sentence]:
    """Yield the rows of a part of a table, which Markdown takes for prose where its heading is in another chunk."""
    for line in lines:
        cells = [cell.strip() for cell in line.split("|")]
        yield Sentence("; ".join(cell for cell in cells if cell.strip("-:")), row=True)


def _lines(token: "Token") -> list[str]:
    """Return the lines of inline text without markup; an empty one where the author broke a line on purpose."""
    source = token.content.replace("\n", " ")
    parts = [
        _code(child, source) if child.type == "code_inline" else _BREAKS.get(child.type, child.content)
        for child in token.children or []
    ]
    return [" ".join(line.split()) for line in _INVISIBLE.sub("", "".join(parts)).strip().split("\n")]


def _code(span: "Token", source: str) -> str:
    """Return a code span in back-quotes, or the text between two spans, which an odd back-quote makes look like one."""
    between = f" {span.content} "
    return between if span.markup == "`" and f"`{between}`" in source else f"`{span.content}`"


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
        yield Sentence(" ".join(filter(None, run)), level=1 if following and number == 1 and _is_title(line) else 0)
        run = []


def _is_title(line: str) -> bool:
    return 0 < len(line) <= _LONGEST_HEADING and line[-1] not in ".!?:;,|。！？…" and not _LABEL.match(line)


def _split(block: Sentence) -> Iterator[Sentence]:
    text, start = block.text, 0
    ends = () if block.level else _END.finditer(text)
    for stop in [*(end.end() for end in ends if ends_sentence(text, *end.span())), len(text)]:
        whole = text[start:stop].strip()
        short = len(whole) <= _LONGEST_SENTENCE and whole
        for part in [whole] if short else textwrap.wrap(whole, _LONGEST_SENTENCE, break_on_hyphens=False):
            yield Sentence(part, block.level, block.row)
        start = stop

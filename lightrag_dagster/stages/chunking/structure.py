"""Method `structure`: cuts along headings, pages and blocks of Markdown, with context for parts of them."""

import re
from bisect import bisect_right
from collections.abc import Sequence

from lightrag_dagster.core.text.markdown import Heading, find_headings
from lightrag_dagster.core.text.tokens import Measured
from lightrag_dagster.settings.chunking import ChunkerSettings
from lightrag_dagster.stages.chunking import boundaries
from lightrag_dagster.stages.chunking.blocks import Blocks, TableBlock, find_blocks
from lightrag_dagster.stages.chunking.chunker import Cut, Document, Tools
from lightrag_dagster.stages.chunking.splitter import Boundaries, Divider, cuts_of
from lightrag_dagster.stages.prompts.requests import short_path

_HEADER_SHARE = 0.25
_MARKED = re.compile(r" {0,3}#")
_INK = re.compile(r"\S|\Z")
_PARAGRAPH = re.compile(r"\n[ \t\r]*\n\s*")


def cut(document: Document, settings: ChunkerSettings, tools: Tools) -> list[Cut]:
    """Cut at the highest headings, then at lower ones, pages, blocks, list items, table rows, sentences and words.

    Each only in a piece that is longer than `size`; short neighbours are packed. A heading stays with the text below.
    `context` is the path of headings above a chunk, and in the middle of a table the table's header, unless this takes
    more than a quarter of `size`.
    """
    text, measured = document.text, tools.tokenizer.measure(document.text)
    if measured.count(0, len(text)) <= settings.size:
        return cuts_of(text, measured, [(0, len(text))])
    headings = list(find_headings(text)) if document.is_markdown else []
    blocks = find_blocks(text) if document.is_markdown else Blocks()
    spans = Divider(text, measured, settings.size, _levels(document, headings, blocks)).divide(0, len(text))
    context = _Context(document, headings, blocks.tables, measured, settings.size)
    return [one._replace(context=context.of(one)) for one in cuts_of(text, measured, spans)]


def _levels(document: Document, headings: Sequence[Heading], blocks: Blocks) -> list[Boundaries]:
    """Return the boundaries from the strongest to the weakest; none separates a heading from the text below it."""
    text, pages = document.text, list(document.pages)
    headed = _behind_headings(text, headings)
    strong = [[one.offset for one in headings if one.level == level] for level in range(1, 7)]
    known = [offsets for offsets in [*strong, pages, *blocks.at_depth()] if offsets]
    if not document.is_markdown:
        known.append([found.end() for found in _PARAGRAPH.finditer(text)])
    levels = [boundaries.listed([one for one in offsets if one not in headed]) for offsets in known]
    sentences, words = boundaries.sentences(text), boundaries.words(text)
    return [
        *levels,
        boundaries.listed(blocks.code_parts),
        boundaries.listed(blocks.code_lines),
        boundaries.outside(sentences, blocks.code),
        boundaries.after(text, "\n"),
        words,
    ]


def _behind_headings(text: str, headings: Sequence[Heading]) -> set[int]:
    """Return the start of the first line after each heading that is not blank, and its first character."""
    behind: set[int] = set()
    for heading in headings:
        end = heading.offset
        for _ in range(1 if _MARKED.match(text, end) else 2):  # a heading is underlined, or one line
            end = text.find("\n", end) + 1 or len(text)
        following = next(_INK.finditer(text, end)).start()
        behind |= {text.rfind("\n", 0, following) + 1, following}
    return behind


class _Context:
    """The context of a chunk: headings and a table's header above it in its document."""

    def __init__(
        self,
        document: Document,
        headings: Sequence[Heading],
        tables: Sequence[TableBlock],
        measured: Measured,
        size: int,
    ) -> None:
        self._text = document.text
        self._headings = headings
        self._paths = document.headings
        self._offsets = [heading.offset for heading in headings]
        self._tables = [table for table in tables if measured.count(*table.header) <= size * _HEADER_SHARE]
        self._rows = [table.rows[0] for table in self._tables]

    def of(self, cut: Cut) -> str | None:
        """Return the path of headings and the header of the table, each if there is one, a blank line between them."""
        return "\n\n".join(part for part in (self._path(cut.start), self._header(cut.start)) if part) or None

    def _path(self, start: int) -> str:
        at = bisect_right(self._offsets, start) - 1
        if at >= 0 and not self._text[self._offsets[at] : start].strip():  # the chunk begins with the heading itself
            level = self._headings[at].level
            at = next((above for above in range(at - 1, -1, -1) if self._headings[above].level < level), -1)
        return short_path(self._paths[at][1]) if at >= 0 else ""

    def _header(self, start: int) -> str:
        at = bisect_right(self._rows, start) - 1
        if at < 0 or not self._rows[at] < start < self._tables[at].rows[1]:
            return ""
        return self._text[slice(*self._tables[at].header)].strip()

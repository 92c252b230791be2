"""The blocks of a Markdown text: paragraphs, lists and their items, tables and their rows, code."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cache

from markdown_it import MarkdownIt
from markdown_it.token import Token

from lightrag_dagster.core.text.markdown import FRONT_MATTER

_LINE_END = re.compile(r"\r\n?|\n")
_CODE = {"fence", "code_block", "html_block"}
_PARTS_OF_A_TABLE = {"thead_open", "tbody_open", "th_open", "td_open", "inline"}


@dataclass(frozen=True)
class TableBlock:
    """A table: the spans of its header, with the line below it, and of its other rows. Characters."""

    header: tuple[int, int]
    rows: tuple[int, int]


@dataclass
class Blocks:
    """The blocks of a text, by the character at which each starts.

    `depths` has the depth of each block, 0 for one that is not in another; for a table, of each row except the first
    two, so that a cut leaves a row with the header. `code_lines` are the lines of code after the first of each block
    of code, and `code_parts` those of them after a blank line.
    """

    depths: dict[int, int] = field(default_factory=dict)
    tables: list[TableBlock] = field(default_factory=list)
    code: list[tuple[int, int]] = field(default_factory=list)
    code_lines: list[int] = field(default_factory=list)
    code_parts: list[int] = field(default_factory=list)

    def at_depth(self) -> list[list[int]]:
        """Return the starts of the blocks of each depth, the outermost first."""
        depths = sorted(set(self.depths.values()))
        return [sorted(start for start, depth in self.depths.items() if depth == one) for one in depths]


def find_blocks(text: str) -> Blocks:
    """Return the blocks of a Markdown text without its front matter."""
    front_matter = FRONT_MATTER.match(text)
    begin = front_matter.end() if front_matter else 0
    tokens = _parser().parse(text[begin:])
    lines = [begin, *(match.end() for match in _LINE_END.finditer(text, begin)), len(text)]
    blocks = Blocks()
    for token, first_row in _with_first_rows(tokens):
        if token.map is None or token.nesting < 0 or token.type in _PARTS_OF_A_TABLE:
            continue
        start, end = (lines[line] for line in token.map)
        if token.type == "tr_open" and first_row:
            continue
        blocks.depths[start] = min(token.level, blocks.depths.get(start, token.level))
        if token.type == "table_open":
            rows = lines[min(token.map[0] + 2, token.map[1])]
            blocks.tables.append(TableBlock((start, rows), (rows, end)))
        elif token.type in _CODE:
            blocks.code.append((start, end))
            _add_lines(blocks, text, [line for line in lines[token.map[0] + 2 : token.map[1]] if line < end])
    return blocks


@cache
def _parser() -> MarkdownIt:
    # Markup within a line is ignored.
    parser = MarkdownIt("commonmark").enable("table").disable("inline")
    parser.parse("*x*")  # compiles the rules, of which a second thread would find none meanwhile
    return parser


def _with_first_rows(tokens: Sequence[Token]) -> Iterator[tuple[Token, bool]]:
    """Yield each token, with True for the header and the first row below it."""
    rows = 0
    for token in tokens:
        if token.type == "table_open":
            rows = 0
        rows += token.type == "tr_open"
        yield token, rows <= 2


def _add_lines(blocks: Blocks, text: str, lines: Sequence[int]) -> None:
    for line in lines:
        blocks.code_lines.append(line)
        before = text.rfind("\n", 0, max(line - 1, 0)) + 1
        if not text[before:line].strip():
            blocks.code_parts.append(line)

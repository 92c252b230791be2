"""The form of all chunking methods: their input and their result."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from lightrag_dagster.core.protocols import Vectors
from lightrag_dagster.core.text.tokens import Tokenizer
from lightrag_dagster.settings.chunking import ChunkerSettings

EmbedTexts = Callable[[Sequence[str]], Vectors]
"""Texts → their unit vectors, shape (texts, dimensions)."""


@dataclass(frozen=True)
class Document:
    """The text of a document, with its known structure.

    `name` is source/path, for messages. `headings` are the first character of each heading and the path in force from
    there on, and `pages` the first character of each page. `is_markdown` is set if the text has Markdown's structure.
    """

    name: str
    text: str
    headings: Sequence[tuple[int, str]] = ()
    pages: Sequence[int] = ()
    is_markdown: bool = False


class Tools(NamedTuple):
    """The tools of a chunker. `embed` is set if the method of the settings compares meanings."""

    tokenizer: Tokenizer
    embed: EmbedTexts | None = None


class Cut(NamedTuple):
    """A chunk: `text[start:end]`, its tokens, and its context from the document."""

    start: int
    end: int
    tokens: int
    context: str | None = None


Chunker = Callable[[Document, ChunkerSettings, Tools], list[Cut]]
"""A method of cutting: a pure function of the document's text and the settings.

It returns the chunks in order, with no white space at their ends; none if the text is blank. Every character that is
not white space is in a chunk; a function of one's own may leave out some.
"""


def trimmed(text: str, start: int, end: int) -> tuple[int, int]:
    """Return a span without the white space at its ends; empty if there is only white space."""
    part = text[start:end]
    left = len(part) - len(part.lstrip())
    return start + left, start + len(part.rstrip()) if left < len(part) else start + left

"""What a chunker is given and what it returns: one small protocol for all methods."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import NamedTuple, Protocol

from lightrag_dagster.core.protocols import Vectors
from lightrag_dagster.core.text.tokens import Tokenizer
from lightrag_dagster.settings import ChunkerSettings

EmbedTexts = Callable[[Sequence[str]], Vectors]
"""Texts → their unit vectors, shape (texts, dimensions)."""


@dataclass(frozen=True)
class Document:
    """The text of a document, with what is known of its structure.

    `name` is source/path, for messages. `headings` are the first character of each heading and the path in force from
    there on, and `pages` the first character of each page. `is_markdown` tells that the text has Markdown's structure.
    """

    name: str
    text: str
    headings: Sequence[tuple[int, str]] = ()
    pages: Sequence[int] = ()
    is_markdown: bool = False


class Tools(NamedTuple):
    """What a chunker may use. `embed` is there for settings whose method compares meanings."""

    tokenizer: Tokenizer
    embed: EmbedTexts | None = None


class Cut(NamedTuple):
    """A chunk: `text[start:end]`, its tokens, and what of the document it needs to be understood."""

    start: int
    end: int
    tokens: int
    context: str | None = None


class Chunker(Protocol):
    """A method of cutting: a pure function of the document's text and the settings."""

    def __call__(self, document: Document, settings: ChunkerSettings, tools: Tools) -> list[Cut]:
        """Return the chunks in order, with no white space at their ends; none where the text is blank.

        Every character that is not white space lies in a chunk.
        """
        ...


def trimmed(text: str, start: int, end: int) -> tuple[int, int]:
    """Return a span without the white space at its ends; empty where there is nothing else."""
    part = text[start:end]
    left = len(part) - len(part.lstrip())
    return start + left, start + len(part.rstrip()) if left < len(part) else start + left

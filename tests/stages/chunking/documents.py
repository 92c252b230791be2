"""Documents and chunkers for the tests of chunking."""

import random
from typing import Any

from hypothesis import strategies as st

from lightrag_dagster.core.text.markdown import heading_paths
from lightrag_dagster.core.text.tokens import load_tokenizer
from lightrag_dagster.settings import ChunkingSettings
from lightrag_dagster.stages.chunking.chunker import Cut, Document, EmbedTexts, Tools
from lightrag_dagster.stages.chunking.methods import METHODS

TOKENIZER = load_tokenizer("o200k_base")


def document(text: str, *, markdown: bool = True, pages: tuple[int, ...] = ()) -> Document:
    return Document("s/a.md", text, heading_paths(text) if markdown else (), pages, is_markdown=markdown)


def cut(given: Document | str, embed: EmbedTexts | None = None, **settings: Any) -> list[Cut]:
    found = given if isinstance(given, Document) else document(given)
    own = ChunkingSettings(**settings).under(None)
    return METHODS[own.method](found, own, Tools(TOKENIZER, embed))


def contents(given: Document | str, **settings: Any) -> list[str]:
    text = given if isinstance(given, str) else given.text
    return [text[one.start : one.end] for one in cut(given, **settings)]


_PIECES = [
    *("word ", "Two sentences. And one more! ", "Donaudampfschiff", "e.g. this ", " ", "\t", "\r\n", "\n", "\n\n"),
    *(
        "# Heading\n",
        "## Lower\n\n",
        "Underlined\n====\n\n",
        "- item\n",
        "  - nested item\n",
        "1. first\n",
        "> quote\n",
    ),
    *("| a | b |\n|---|---|\n| 1 | 2 |\n| 3 | 4 |\n| 5 | 6 |\n", "```\ncode()\n\nmore code\n```\n", "```\n", "<div>\n"),
    *("漢字。かな、！", "한국어 ", "👩‍👩‍👧", "𒀭", "é", "\u2028", "\u00a0", "\x0b", "\x85", "<|endoftext|>", "---\n"),
]
TEXTS = st.lists(st.sampled_from(_PIECES) | st.text(st.characters(codec="utf-8"), max_size=5), max_size=80).map("".join)


def prose(paragraphs: int, seed: int = 1) -> list[str]:
    """Return paragraphs of about a hundred words, of sentences that differ."""
    choice = random.Random(seed)
    words = [f"{one}{two}" for one in ("ba", "de", "ki", "lo", "mu", "ra") for two in ("na", "sten", "vor", "li", "s")]
    sentences = [" ".join(choice.choices(words, k=choice.randint(6, 18))).capitalize() + "." for _ in range(997)]
    return [" ".join(choice.choices(sentences, k=choice.randint(4, 12))) for _ in range(paragraphs)]


def handbook(sections: int, seed: int = 1) -> str:
    """Return Markdown of chapters with sections of a few paragraphs, some of them with a list or a table."""
    choice, paragraphs = random.Random(seed), iter(prose(sections * 8, seed))
    parts = []
    for number in range(sections):
        parts += [f"# Chapter {number // 8}"] if number % 8 == 0 else []
        parts.append(f"## Section {number}")
        parts += [next(paragraphs) for _ in range(choice.randint(1, 6))]
        if number % 3 == 0:
            parts.append("\n".join(f"- item {choice.random()} of section {number}" for _ in range(8)))
        if number % 4 == 0:
            rows = "\n".join(f"| {choice.random()} | {choice.randint(0, 99)} |" for _ in range(12))
            parts.append(f"| measure | count |\n|---|---|\n{rows}")
    return "\n\n".join(parts)

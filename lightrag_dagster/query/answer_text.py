"""The text of an answer: its section of references, and its form in a notebook."""

import re
from collections.abc import Iterable

from lightrag_dagster.core.text.safe_markdown import escaped, without_links

HEADING = re.compile(r"^[ \t]*(?:#{1,6}[ \t]*|\*\*)?References:?(?:\*\*)?:?[ \t]*$", re.MULTILINE | re.IGNORECASE)
"""The heading of the section, in Markdown."""


def without_references(text: str) -> str:
    """Return an answer without its last section headed References."""
    headings = list(HEADING.finditer(text))
    return text[: headings[-1].start()].strip() if headings else text.strip()


def answer_markdown(text: str, title: str, documents: Iterable[tuple[str, str]], notes: Iterable[str]) -> str:
    """Return an answer, a titled list of documents with their numbers, and notes, as Markdown.

    The answer keeps its formatting. Text in it from a document is never a link, and is never loaded.
    """
    listed = "\n".join(f"- \\[{number}\\] {escaped(file)}" for number, file in documents)
    noted = "\n".join(f"- {escaped(note)}" for note in notes)
    parts = [without_links(without_references(text))]
    parts += [f"**{name}**\n\n{part}" for name, part in ((title, listed), ("Notes", noted)) if part]
    return "\n\n".join(parts)

"""The form of an answer in a notebook."""

from collections.abc import Iterable

from lightrag_dagster.core.text.safe_markdown import escaped, without_links
from lightrag_dagster.query.references import without_references


def answer_markdown(text: str, title: str, documents: Iterable[tuple[str, str]], notes: Iterable[str]) -> str:
    """Return an answer, a titled list of documents with their numbers, and notes, as Markdown.

    The answer keeps its formatting. Text in it from a document is never a link, and is never loaded.
    """
    listed = "\n".join(f"- \\[{number}\\] {escaped(file)}" for number, file in documents)
    noted = "\n".join(f"- {escaped(note)}" for note in notes)
    parts = [without_links(without_references(text))]
    parts += [f"**{name}**\n\n{part}" for name, part in ((title, listed), ("Notes", noted)) if part]
    return "\n\n".join(parts)

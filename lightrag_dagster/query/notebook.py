"""An answer as a notebook shows it."""

from lightrag_dagster.core.markdown_text import escaped, without_links
from lightrag_dagster.query.citations import without_references
from lightrag_dagster.query.types import Answer


def answer_markdown(answer: Answer) -> str:
    """Return an answer, the documents that it cites, else those that the model was given, and notes, as Markdown.

    The answer keeps its formatting. Nothing in it that comes from a document is a link or is loaded.
    """
    shown = answer.cited or answer.references
    title = "References" if answer.cited else "Documents"
    listed = "\n".join(f"- \\[{one.reference_id}\\] {escaped(one.file)}" for one in shown)
    notes = "\n".join(f"- {escaped(note)}" for note in answer.retrieval.notes)
    parts = [without_links(without_references(answer.text))]
    parts += [f"**{name}**\n\n{part}" for name, part in ((title, listed), ("Notes", notes)) if part]
    return "\n\n".join(parts)

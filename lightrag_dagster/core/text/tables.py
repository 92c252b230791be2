"""Tables as Markdown."""

from collections.abc import Iterable, Sequence

from lightrag_dagster.core.text.safe_markdown import escaped


def markdown_table(columns: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Return a heading and rows, whose cells are Markdown on one line, as a table."""
    lines = ["| " + " | ".join(row) + " |" for row in (columns, *rows)]
    return "\n".join([lines[0], "|" + " --- |" * len(columns), *lines[1:]])


def cell(value: object, most: int | None = None) -> str:
    """Return a cell that shows any value as it is, cut after `most` characters; None is shown as nothing."""
    text = " ".join(str("" if value is None else value).split())
    # Escaped, since the UI fetches the images that a document links to, and takes <SEP> for a tag.
    return escaped(text if most is None or len(text) <= most else text[: most - 1] + "…")

"""Markdown as the UI of Dagster shows it."""

from markdown_it import MarkdownIt

VIEWER = MarkdownIt("commonmark").enable("table")


def cells(markdown: str) -> list[str]:
    """Return the texts of a Markdown table as a viewer shows them; an image or a link among them is an error."""
    found = [one.children or () for one in VIEWER.parse(markdown) if one.type == "inline"]
    assert {part.type for parts in found for part in parts} <= {"text"}
    return ["".join(part.content for part in parts).replace("\u200b", "") for parts in found]

"""The paragraphs and tables of a Rich Text document, as they come."""

from dataclasses import dataclass, field

from lightrag_dagster.stages.documents.formats.content import as_markdown_item
from lightrag_dagster.stages.documents.formats.tables import markdown_table


@dataclass
class Document:
    """What is collected while reading."""

    paragraphs: list[str] = field(default_factory=list)
    rows: list[list[str]] = field(default_factory=list)
    cells: list[str] | None = None
    line: list[str] = field(default_factory=list)
    properties: dict[str, str] = field(default_factory=dict)

    def end_paragraph(self, heading: int) -> None:
        """Take the line as a paragraph, or as part of a cell within a row."""
        if self.cells is not None:
            self.line.append(" ")
            return
        text = "".join(self.line).strip()
        self.line.clear()
        self.end_table()
        if text:
            self.paragraphs.append(f"{'#' * heading} {' '.join(text.split())}" if heading else as_markdown_item(text))

    def end_cell(self) -> None:
        """Take the line as a cell."""
        self.cells = [*(self.cells or []), "".join(self.line)]
        self.line.clear()

    def end_row(self) -> None:
        """Take the cells as a row."""
        if self.cells:
            self.rows.append(self.cells)
        self.cells = None

    def end_table(self) -> None:
        """Take the rows as a table."""
        if table := markdown_table(self.rows):
            self.paragraphs.append(table)
        self.rows = []

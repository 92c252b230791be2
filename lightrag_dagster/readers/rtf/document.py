"""The paragraphs and tables of a Rich Text document, as they come."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from lightrag_dagster.readers.content import as_markdown_item
from lightrag_dagster.readers.images.figures import Figures
from lightrag_dagster.readers.inline import check_box, raised, write_struck
from lightrag_dagster.readers.rtf.rows import RtfRow, table_of

_BULLET = re.compile(r"[\W_]{1,3}|o")
_CHECK_BOX, _NO_STATE = 1, 25  # a kind of fields, and the value of a state that was never set
_NOT_HEX = re.compile(r"[^0-9a-fA-F]+")


@dataclass
class RtfDocument:
    """The content collected while reading."""

    paragraphs: list[str] = field(default_factory=list)
    rows: list[RtfRow] = field(default_factory=list)
    row: RtfRow = field(default_factory=RtfRow)  # the definition of those to come
    cells: list[str] | None = None
    line: list[str] = field(default_factory=list)
    properties: dict[str, str] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)
    left_out: list[str] = field(default_factory=list)
    comments: list[str] = field(default_factory=list)
    _raised: list[str] = field(default_factory=list)
    _has_gap: bool = False  # something between spaces was left out since the last text

    def add(self, text: str, *, is_raised: bool = False) -> None:
        """Take text of a line; raised text comes in parts, which are one number."""
        if is_raised:
            self._raised.append(text)
            return
        self._end_raised()
        # What is left out between two spaces leaves one.
        twice = self._has_gap and text.startswith(" ") and (not self.line or self.line[-1].endswith(" "))
        self.line.append(text[1:] if twice else text)
        self._has_gap = False

    def leave_out(self, text: str) -> None:
        """Take text that is hidden or deleted."""
        self.left_out.append(text)
        self._has_gap = True

    def add_marker(self, text: str) -> None:
        """Take the bullet or number of an item of a list; a bullet may be any sign of a font of signs."""
        if marker := text.strip():
            if self.line:
                self.end_paragraph(0)
            self.add("- " if _BULLET.fullmatch(marker) else f"{marker} ")
            self._has_gap = True

    def add_check_box(self, said: Mapping[str, int]) -> None:
        """Take a check box of a form, by what is said of its field; other fields show their text."""
        if said.get("fftype") == _CHECK_BOX:
            state = said.get("ffres", _NO_STATE)
            self.add(f"{check_box((said.get('ffdefres', 0) if state == _NO_STATE else state) == 1)} ")
            self._has_gap = True

    def begin_note(self) -> None:
        """Take the place of a note, whose text follows."""
        self._raised.clear()  # its number as the author's program wrote it
        self.notes.append("")
        self.add(f"[{len(self.notes)}]")

    def _end_raised(self) -> None:
        if self._raised:
            before = "".join(self.line[-2:])
            self.line.append(raised(before, "".join(self._raised)))
            self._raised.clear()

    def end_paragraph(self, heading: int) -> None:
        """Take the line as a paragraph, or as part of a cell within a row."""
        self._end_raised()
        if self.cells is not None:
            self.line.append(" ")
            return
        text = "".join(self.line).strip()
        self.line.clear()
        self.end_table()
        if text:
            self.paragraphs.append(f"{'#' * heading} {' '.join(text.split())}" if heading else as_markdown_item(text))

    def mark_column(self, mark: str, _: int) -> None:
        """Take a mark of the cell whose right edge comes next in the definition of rows."""
        self.row.marks.append(mark)

    def end_column(self, edge: int) -> None:
        """Take the right edge of a cell in the definition of rows."""
        self.row.edges.append(edge)
        self.row.marks += [""] * (len(self.row.edges) - len(self.row.marks))
        del self.row.marks[len(self.row.edges) :]

    def end_cell(self) -> None:
        """Take the line as a cell."""
        self._end_raised()
        self.cells = [*(self.cells or []), "".join(self.line)]
        self.line.clear()

    def end_row(self) -> None:
        """Take the cells as a row."""
        if self.cells:
            self.rows.append(replace(self.row, cells=self.cells))
        self.cells = None

    def end_table(self) -> None:
        """Take the rows as a table."""
        if table := table_of(self.rows):
            self.paragraphs.append(table)
        self.rows = []

    def text(self) -> str:
        """Return the paragraphs and tables, with the notes below."""
        notes = (f"{number}. {' '.join(note.split())}" for number, note in enumerate(self.notes, start=1))
        text = write_struck("\n\n".join(filter(None, (*self.paragraphs, "\n".join(notes)))))
        return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")  # two `\u` may be one character


@dataclass
class RtfPicture:
    """An image: its bytes, in hexadecimal digits or as they are, a flag for PNG and JPEG, and its description."""

    digits: list[str] = field(default_factory=list)
    data: bytes = b""
    is_shown: bool = False
    caption: str = ""
    _property: str = ""

    def add(self, into: str, text: str) -> None:
        """Take digits of the image, or the name (`sn`) or value (`sv`) of a property of it."""
        if into == "picture":
            self.digits.append(text)
        elif into == "sn":
            self._property = text
        elif self._property == "wzDescription":
            self.caption += text

    def mark(self, figures: Figures) -> str:
        """Return the image's placeholder in the text: its name as a figure, or its description."""
        digits = _NOT_HEX.sub("", "".join(self.digits))
        data = self.data or bytes.fromhex(digits[: len(digits) // 2 * 2])
        return figures.mark(data, self.caption) if self.is_shown else self.caption

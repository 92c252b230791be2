"""Rich Text Format, by its specification (1.9.1).

The libraries for it lose headings, break tables, or take the text of one code page for that of another.
"""

import re
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any

from lightrag_dagster.readers.content import Content, UnreadableError, make_properties
from lightrag_dagster.readers.images.figures import Figures
from lightrag_dagster.readers.inline import struck
from lightrag_dagster.readers.office.word.runs import as_sign
from lightrag_dagster.readers.rtf.document import RtfDocument, RtfPicture
from lightrag_dagster.readers.rtf.fonts import Encodings, decoded, of_page
from lightrag_dagster.readers.rtf.rows import ABOVE, ON_LEFT, RtfRow
from lightrag_dagster.readers.rtf.state import State
from lightrag_dagster.readers.rtf.words import ENDS, FIELD, INFO, INSIDE_A_LINE, MARKERS, NOT_TEXT, OPTIONAL, SIGNS

_TOKEN = re.compile(
    rb"\\(?P<word>[a-zA-Z]{1,32})(?P<number>-?\d{1,10})? ?|\\'(?P<hex>[0-9a-fA-F]{2})|\\(?P<symbol>[^a-zA-Z])"
    rb"|(?P<brace>[{}])|(?P<text>[^\\{}\r\n\x00]+)|[\r\n\x00\\]"
)
_SYMBOL = re.compile(r'\s*SYMBOL (\d{1,5}) .*?\\f "?(\w+(?: \d)?)')


def read(data: bytes, figures: Figures | None = None) -> Content:
    """Read text, headings, tables and properties; PNG and JPEG images are put into `figures`."""
    if not data.lstrip().startswith(b"{\\rtf"):
        empty = "the file is empty: it has 0 bytes" if not data else "not what its suffix says: no Rich Text Format"
        raise UnreadableError(f"{empty}; give the file its own suffix" if data else empty)
    reader = _RtfReader(figures)
    if reader.run(data):
        raise UnreadableError("cut short; copy the file again, or open it in its own program and save it")
    document = reader.document
    properties = document.properties
    count = len(document.comments)
    return Content(
        document.text(),
        make_properties(*map(properties.get, ("title", "author", "day", "keywords"))),
        note=f"comments of reviewers are left out: {count}" if count else None,
        left_out=(*document.left_out, *document.comments),
    )


class _RtfReader:
    """A reader of tokens, with a stack of groups rather than recursion, so that depth does no harm."""

    def __init__(self, figures: Figures | None) -> None:
        self.document = RtfDocument()
        self._figures = figures
        self._picture = RtfPicture()
        self._state = State()
        self._stack: list[State] = []
        self._encodings = Encodings()
        self._headings: dict[int, int] = {}
        self._bytes = bytearray()
        self._skip = 0
        self._marker = ""
        self._number = 0  # the font or style that an entry of their table defines
        self._instruction = ""  # of a field
        self._field: dict[str, int] = {}  # what is said of a field of a form
        self._words: dict[str, Callable[[int], None]] = {
            **dict.fromkeys(ENDS, lambda _: self.document.end_paragraph(self._state.heading)),
            "cell": lambda _: self.document.end_cell(),
            "nestcell": lambda _: self.document.add(" "),
            "row": lambda _: self.document.end_row(),
            "trowd": lambda _: self._begin_row(RtfRow()),
            "cellx": self.document.end_column,
            **{mark: partial(self.document.mark_column, mark) for mark in (ABOVE, ON_LEFT)},
            "intbl": lambda _: self._begin_row(),
            "pard": lambda _: self._set(heading=0),
            "outlinelevel": lambda level: self._set(heading=min(level, 5) + 1 if 0 <= level <= 8 else 0),
            "uc": lambda length: self._set(fallback=length if 0 <= length <= 8 else 1),  # more would hide text
            "plain": lambda _: self._plain(),
            "v": lambda on: self._set(is_hidden=on > 0),
            "deleted": lambda on: self._set(is_hidden=on > 0),
            **dict.fromkeys(("strike", "striked"), lambda on: self._set(is_struck=on > 0)),
            "super": lambda on: self._set(is_raised=on > 0),
            "up": lambda points: self._set(is_raised=points > 0),
            **dict.fromkeys(("sub", "dn", "nosupersub"), lambda _: self._set(is_raised=False)),
            "deff": self._encodings.set_default_font,
            "cpg": self._font_page,
            "ansicpg": lambda page: self._set_default(of_page(page)),
            "mac": lambda _: self._set_default("mac_roman"),
            "pc": lambda _: self._set_default("cp437"),
            "pca": lambda _: self._set_default("cp850"),
            "u": self._unicode,
            "f": self._font,
            "s": self._style,
            "fcharset": lambda number: self._encodings.set_charset(self._number, number),
            **{name: partial(self._date_part, name) for name in ("yr", "mo", "dy")},
        }

    def run(self, data: bytes) -> bool:
        """Read everything; return True if a group was still open at the end."""
        position, end = 0, len(data)
        while position < end:
            token = _TOKEN.match(data, position)
            if token is None:
                break
            position = token.end()
            if token["brace"]:
                self._flush()
                self._group(token["brace"])
                if not self._stack:
                    break
            elif token["hex"]:
                self._add_bytes(bytes.fromhex(token["hex"].decode()))
            elif token["text"]:
                self._add_bytes(token["text"])
            elif token["word"] == b"bin":
                start, position = position, position + max(0, int(token["number"] or 0))
                self._picture.data += data[start:position] if self._state.into == "picture" else b""
            elif token["word"] or token["symbol"]:
                self._flush()
                self._control((token["word"] or token["symbol"]).decode("latin-1"), int(token["number"] or 1))
        self._flush()
        self.document.end_row()
        self.document.end_paragraph(0)
        return bool(self._stack)

    def _group(self, brace: bytes) -> None:
        self._skip = 0
        if brace == b"{":
            self._stack.append(self._state)
        elif self._stack:
            ended, self._state = self._state.into, self._stack.pop()
            if ended == "marker" and self._state.into == "text":
                self.document.add_marker(self._marker)
                self._marker = ""
            elif ended == "fonttbl":
                self._plain()
            elif ended == "field" and self._state.into == "text":
                if found := _SYMBOL.match(self._instruction):
                    self._add(as_sign(chr(int(found[1])), found[2]))
                self._instruction = ""
            elif ended == "formfield" and self._state.into == "field":
                self.document.add_check_box(self._field)
                self._field = {}
            elif ended == "picture" and self._state.into != "picture" and self._figures:
                self.document.add(self._picture.mark(self._figures))

    def _control(self, word: str, number: int) -> None:
        state = self._state
        into = self._stack[-1].into if state.into == "optional" else state.into  # LibreOffice's notes are optional
        if word != "*" and state.into == "ansi":
            return
        if word == "*":
            self._set(into="nothing" if state.into == "nothing" else "optional")
        elif word == "footnote" and into == "text":
            if not state.is_hidden:
                self.document.begin_note()
            self._set(into="nothing" if state.is_hidden else "note", is_raised=False)
        elif word == "upr" and state.into != "nothing":
            self._set(into="ansi")  # until the same in Unicode
        elif state.into == "optional":
            self._set(into=self._stack[-2].into if word == "ud" and into == "ansi" else OPTIONAL.get(word, "nothing"))
            if word == "annotation":
                self.document.comments.append("")
        elif state.into == "info" and word in self.document.properties:  # some writers say it twice
            self._set(into="nothing")
        elif word in ("fonttbl", "stylesheet", "info") or (state.into == "info" and word in (*INFO, "creatim")):
            self._set(into=word)
        elif word == "fldinst" and state.into == "text":
            self._set(into="field")
        elif word == "pict" and state.into in ("text", "shape") and self._figures:
            self._picture = RtfPicture()
            self._set(into="picture")
        elif word in ("pngblip", "jpegblip") and state.into == "picture":
            self._picture.is_shown = True
        elif word in ("sn", "sv") and state.into in ("picprop", "sn", "sv"):
            self._set(into=word)
        elif word in ("sn", "sv") and state.into == "text":
            self._set(into="shape")
        elif word in FIELD and state.into == "formfield":
            self._field[word] = number
        elif word in NOT_TEXT or (state.into == "info" and word not in ("yr", "mo", "dy")):
            self._set(into="nothing")
        elif word in MARKERS and state.into == "text":
            self._set(into="marker")
        elif word in INSIDE_A_LINE and (state.into in ("note", "marker", "annotation") or state.is_hidden):
            self._add(" ")
        elif word in SIGNS:
            self._add(SIGNS[word])
        elif word in self._words and (state.into != "nothing"):
            self._words[word](number)

    def _begin_row(self, definition: RtfRow | None = None) -> None:
        if definition and self._state.into == "text":
            self.document.row = definition
        if self._state.into == "text" and self.document.cells is None:
            self.document.end_paragraph(self._state.heading) if "".join(self.document.line).strip() else None
            self.document.cells = []

    def _set(self, **values: Any) -> None:
        self._state = replace(self._state, **values)

    def _plain(self) -> None:
        """Take the style of text that has none, in the default font."""
        self._set(encoding=self._encodings.of(), is_hidden=False, is_raised=False, is_struck=False)

    def _set_default(self, encoding: str) -> None:
        self._encodings.set_default(encoding)
        self._set(encoding=self._encodings.of())

    def _font(self, number: int) -> None:
        if self._state.into == "fonttbl":
            self._number = number
        else:
            self._set(encoding=self._encodings.of(number))

    def _font_page(self, page: int) -> None:
        if self._state.into == "fonttbl":
            self._encodings.set_font_page(self._number, page)

    def _style(self, number: int) -> None:
        if self._state.into == "stylesheet":
            self._number = number
        else:
            self._set(heading=self._headings.get(number, 0))

    def _date_part(self, name: str, number: int) -> None:
        if self._state.into == "creatim":
            day = self.document.properties.get("day", "")
            self.document.properties["day"] = f"{number:04}" if name == "yr" else f"{day}-{number:02}"

    def _unicode(self, number: int) -> None:
        self._add(as_sign(chr(number % 65_536), self._state.encoding))
        self._skip = self._state.fallback

    def _add_bytes(self, data: bytes) -> None:
        skipped = min(self._skip, len(data))
        self._skip -= skipped
        self._bytes += data[skipped:]

    def _flush(self) -> None:
        if self._bytes:
            text = decoded(bytes(self._bytes), self._state.encoding)
            self._bytes.clear()
            self._add(text)

    def _add(self, text: str) -> None:
        into, properties = self._state.into, self.document.properties
        if self._state.is_struck and into in ("text", "note"):
            text = struck(text)
        if into == "text" and self._state.is_hidden:
            self.document.leave_out(text)
        elif into == "text":
            self.document.add(text, is_raised=self._state.is_raised)
        elif into == "note":
            self.document.notes[-1] += text
        elif into == "annotation":
            self.document.comments[-1] += text
        elif into == "marker":
            self._marker += text
        elif into in ("picture", "sn", "sv"):
            self._picture.add(into, text)
        elif into == "fonttbl":
            self._encodings.set_name(self._number, text.rstrip(";"))
        elif into == "field":
            self._instruction += text
        elif into in INFO:
            properties[into] = properties.get(into, "") + text
        elif into == "stylesheet" and (found := re.match(r"(?:heading|berschrift|Titre) (\d)", text, re.IGNORECASE)):
            self._headings[self._number] = min(int(found[1]), 6)

"""The encodings of a Rich Text document: of its code page, and of each of its fonts."""

from mammoth.docx.dingbats import dingbats

from lightrag_dagster.readers.office.word.runs import as_sign
from lightrag_dagster.readers.rtf.words import CHARSETS, CODE_PAGES

_OF_SIGNS = {font for font, _ in dingbats}


def decoded(data: bytes, encoding: str) -> str:
    """Return the text of bytes in an encoding, or in a font of signs."""
    if encoding not in _OF_SIGNS:
        return data.decode(encoding, "replace")
    return "".join(as_sign(one, encoding) for one in data.decode("latin-1"))


class Encodings:
    """The encoding of each font: of one of signs its name, of those without one the document's."""

    def __init__(self) -> None:
        self._default = "cp1252"
        self._default_font = 0
        self._of_fonts: dict[int, str] = {}

    def set_default(self, encoding: str) -> None:
        """Take the encoding of the document, if Python has it."""
        if _is_known(encoding):
            self._default = encoding

    def set_default_font(self, number: int) -> None:
        """Take the font of text that names none."""
        self._default_font = number

    def set_charset(self, font: int, number: int) -> None:
        """Take the character set of a font."""
        if number in CHARSETS:
            self._of_fonts[font] = CHARSETS[number]

    def set_name(self, font: int, name: str) -> None:
        """Take the name of a font, if it shows signs in place of letters."""
        if name in _OF_SIGNS:
            self._of_fonts[font] = name

    def set_font_page(self, font: int, page: int) -> None:
        """Take the code page of a font, which comes before its character set."""
        if _is_known(encoding := of_page(page)):
            self._of_fonts[font] = encoding

    def of(self, font: int | None = None) -> str:
        """Return the encoding of a font, or of the document's own."""
        return self._of_fonts.get(self._default_font if font is None else font, self._default)


def of_page(page: int) -> str:
    """Return the encoding of a code page."""
    return CODE_PAGES.get(page, f"cp{page}")


def _is_known(encoding: str) -> bool:
    try:
        "".encode(encoding)
    except LookupError:
        return False
    return True

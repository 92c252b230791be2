"""The places and sizes of the characters of a PDF page."""

import ctypes
import math

import pypdfium2
import pypdfium2.raw as pdfium

_LEVEL = 0.1  # of a character's width, by which a line may rise


class Places:
    """The places and sizes of a page's characters. Points."""

    def __init__(self, textpage: pypdfium2.PdfTextPage) -> None:
        self._page = textpage.raw
        self._x, self._y = ctypes.c_double(), ctypes.c_double()
        self._far, self._top = ctypes.c_double(), ctypes.c_double()
        self._to_x, self._to_y = ctypes.byref(self._x), ctypes.byref(self._y)
        self._to_far, self._to_top = ctypes.byref(self._far), ctypes.byref(self._top)
        self._box, self._matrix = pdfium.FS_RECTF(), pdfium.FS_MATRIX()

    def origin(self, number: int) -> tuple[float, float]:
        """Return the place at which a character begins, on its baseline."""
        pdfium.FPDFText_GetCharOrigin(self._page, number, self._to_x, self._to_y)
        return self._x.value, self._y.value

    def middle(self, number: int) -> tuple[float, float]:
        """Return the middle of the ink of a character."""
        pdfium.FPDFText_GetCharBox(self._page, number, self._to_x, self._to_far, self._to_y, self._to_top)
        return (self._x.value + self._far.value) / 2, (self._y.value + self._top.value) / 2

    def bottom(self, number: int) -> float:
        """Return the lower edge of the ink of a character."""
        pdfium.FPDFText_GetCharBox(self._page, number, self._to_x, self._to_far, self._to_y, self._to_top)
        return self._y.value

    def right(self, number: int) -> float:
        """Return the place at which a character ends, with the space around it."""
        pdfium.FPDFText_GetLooseCharBox(self._page, number, ctypes.byref(self._box))
        return float(self._box.right)

    def box(self, number: int) -> tuple[float, float, float, float]:
        """Return the left, lower, right and upper edge of a character, with the space around it."""
        pdfium.FPDFText_GetLooseCharBox(self._page, number, ctypes.byref(self._box))
        return self._box.left, self._box.bottom, self._box.right, self._box.top

    def size(self, number: int) -> float:
        """Return the size of a character on the page."""
        size = float(pdfium.FPDFText_GetFontSize(self._page, number))
        if pdfium.FPDFText_GetMatrix(self._page, number, ctypes.byref(self._matrix)):
            size *= math.hypot(self._matrix.c, self._matrix.d)
        return size

    def is_level(self, number: int) -> bool:
        """Return True for a character of a line from left to right."""
        found = pdfium.FPDFText_GetMatrix(self._page, number, ctypes.byref(self._matrix))
        return bool(found) and self._matrix.a > 0 and abs(self._matrix.b) < _LEVEL * self._matrix.a

    def is_added(self, number: int) -> bool:
        """Return True for a character that PDFium adds, such as the space in a gap."""
        return bool(pdfium.FPDFText_IsGenerated(self._page, number) == 1)

    def is_unknown(self, number: int) -> bool:
        """Return True for a character of a font that does not say which character it is."""
        return bool(pdfium.FPDFText_HasUnicodeMapError(self._page, number) == 1)

"""PDF files of pages that show texts at places, in Helvetica."""

from collections.abc import Sequence
from typing import NamedTuple


class Shown(NamedTuple):
    """A text on a page: its place from the lower left corner, its size, and what is set before it. Points."""

    x: float
    y: float
    text: str
    size: float = 12
    before: str = ""


def pdf(*pages: Sequence[Shown], drawn: str = "", annotations: Sequence[str] = (), fields: Sequence[str] = ()) -> bytes:
    """Return a file; `drawn` is behind the texts of every page, annotations and fields are on the first page."""
    font, kids, found = 3, list[int](), dict[int, str]()
    found[font] = "<</Type/Font/Subtype/Type1/BaseFont/Helvetica/Encoding/WinAnsiEncoding>>"
    number = font + 1
    first = []
    for annotation in (*annotations, *fields):
        found[number] = annotation
        first.append(number)
        number += 1
    for page in pages:
        texts = "".join(
            f"BT /F {one.size} Tf {one.before} 1 0 0 1 {one.x} {one.y} Tm ({one.text}) Tj ET\n" for one in page
        )
        shown = f"{drawn}\n{texts}"
        marks = f"/Annots[{' '.join(f'{one} 0 R' for one in first)}]" if not kids else ""
        found[number] = (
            f"<</Type/Page/Parent 2 0 R/MediaBox[0 0 595 842]/Contents {number + 1} 0 R"
            f"/Resources<</Font<</F {font} 0 R>>>>{marks}>>"
        )
        found[number + 1] = f"<</Length {len(shown)}>>stream\n{shown}\nendstream"
        kids.append(number)
        number += 2
    names = " ".join(f"{one} 0 R" for one in first[len(annotations) :])
    form = f"/AcroForm<</Fields[{names}]>>" if fields else ""
    found[1] = f"<</Type/Catalog/Pages 2 0 R{form}>>"
    found[2] = f"<</Type/Pages/Kids[{' '.join(f'{one} 0 R' for one in kids)}]/Count {len(kids)}>>"
    written = "".join(f"{one} 0 obj\n{text}\nendobj\n" for one, text in sorted(found.items()))
    return f"%PDF-1.4\n{written}trailer<</Root 1 0 R>>".encode("latin-1")

"""The text in images, by RapidOCR with the models that its package brings; nothing is downloaded.

A page takes about four seconds of one core, and 900 MB with the models.
"""

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

from lightrag_dagster.core.text.figures import find_marks
from lightrag_dagster.readers.content import Content, UnreadableError, first_few
from lightrag_dagster.readers.pdf.layout import PlacedLine, text_of

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    Pixels = npt.NDArray[np.uint8]

_PIXELS = 3_000_000  # of a page when it is read: 175 dots per inch on A4
_MOST_PAGES = 1000
_SMALLEST_SIDE, _LARGEST_RATIO = 10, 30  # of an image that has text; the first in pixels


def scale_for(width: float, height: float) -> float:
    """Return the factor that scales a page of this size to the size for recognition."""
    return math.sqrt(_PIXELS / max(1.0, width * height))


def recognise(
    content: Content,
    draw: Callable[[Sequence[int]], "Iterator[Pixels]"],
    page_done: Callable[[], None],
    *,
    keep: bool = False,
) -> Content:
    """Return the content of a file with the text of those of its pages that are images.

    Args:
        content: The content as read; its `drawn` are the numbers of the pages.
        draw: Returns the pixels of pages by their numbers: height × width × 3, blue first.
        page_done: Called after every page.
        keep: Keep the original text of these pages, too; else only of pages without recognised text.

    Raises:
        UnreadableError: there are too many pages.
    """
    if not find_spec("rapidocr"):
        return with_reason(content, "documents.recognise_text needs pip install 'lightrag-dagster[ocr]'")
    if len(content.drawn) > _MOST_PAGES:
        raise UnreadableError(
            f"text is in the images of {len(content.drawn):,} pages; at most {_MOST_PAGES:,} are recognised; divide it"
        )
    texts = [content.text] if isinstance(content.text, str) else list(content.text)
    without = list[int]()
    for number, pixels in zip(content.drawn, draw(content.drawn), strict=True):
        recognised = _text_in(pixels)
        read = texts[number] if keep or not recognised else ""
        texts[number] = "\n\n".join(filter(None, (recognised, read)))
        without += [] if recognised else [number]
        page_done()
    content = replace(content, text=texts[0] if isinstance(content.text, str) else texts)
    said = "no text was recognised in the images of pages {}; scan them again if they have any"
    return _with_notes(content, "no text was recognised in its images", without, said)


def with_reason(content: Content, remedy: str) -> Content:
    """Return the content, with the reason for an empty text or the pages whose text is missing, and the remedy."""
    said = f"text in the images of pages {{}} is not read; {remedy}"
    return _with_notes(content, f"no text: it is in images, such as scanned pages; {remedy}", content.drawn, said)


def _with_notes(content: Content, why_empty: str, pages: Sequence[int], said: str) -> Content:
    """Return the content with the reason for an empty text, and a note of pages that are not described as figures."""
    texts = [] if isinstance(content.text, str) else content.text
    missing = [number + 1 for number in pages if any(texts) and not any(find_marks(texts[number]))]
    notes = (content.note, said.format(first_few(missing)) if missing else None)
    return replace(content, why_empty=why_empty, note="; ".join(filter(None, notes)) or None)


def _text_in(pixels: "Pixels") -> str:
    height, width = pixels.shape[:2]
    smaller, larger = sorted((height, width))
    if smaller < _SMALLEST_SIDE or larger > _LARGEST_RATIO * smaller:
        return ""
    found = _reader()(pixels)
    if found.txts is None:
        return ""
    lines = []
    for text, box in zip(found.txts, found.boxes.tolist(), strict=True):
        across, down = zip(*box, strict=True)
        lines.append(PlacedLine(text, min(across), min(down), max(across), max(down)))
    return text_of(lines)


@cache
def _reader() -> Any:
    """Load the models. One thread, so that the result is the same on machines with more processors."""
    import cv2
    import rapidocr

    cv2.setNumThreads(1)
    folder = Path(rapidocr.__file__).parent / "models"
    models = {part: min(folder.glob(f"*_{part}_*.onnx"), default=None) for part in ("det", "cls", "rec")}
    if None in models.values():
        raise UnreadableError(f"the models of rapidocr are not in {folder}; install the extra `ocr` again")
    # With a path, the library does not look for the model on the web.
    paths = {f"{part.capitalize()}.model_path": str(path) for part, path in models.items()}
    threads = {f"EngineConfig.onnxruntime.{kind}_op_num_threads": 1 for kind in ("intra", "inter")}
    limits = {"Global.max_side_len": 100_000, "Global.log_level": "critical"}
    return rapidocr.RapidOCR(params=paths | threads | limits)

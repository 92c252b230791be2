"""Image files, by Pillow: the text is in their pixels. The images in a TIFF file are its pages."""

import io
import warnings
from base64 import b64encode
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING

from PIL import Image, ImageOps, UnidentifiedImageError

from lightrag_dagster.readers.content import Content, UnreadableError
from lightrag_dagster.readers.images.ocr import scale_for
from lightrag_dagster.readers.office.archive import DAMAGED

if TYPE_CHECKING:
    from lightrag_dagster.readers.images.figures import Figures
    from lightrag_dagster.readers.images.ocr import Pixels

MOST_PIXELS = 80_000_000
"""An image with more is not unpacked: A3 has 70 million at 600 dots per inch."""

_TOO_LARGE = f"an image of more than {MOST_PIXELS:,} pixels; make it smaller"
_SMALLEST, _LARGEST, _LARGEST_RATIO = 64, 2048, 20  # of an image for a model; pixels per side
_MOST_BYTES = 2_000_000  # of an image that is sent unchanged
_SENT = ("JPEG", "PNG", "WEBP")
_FORMATS = ("JPEG", "PNG", "TIFF", "WEBP")


def read(data: bytes, figures: "Figures | None" = None) -> Content:
    """Read the number of pages of an image file; their text is still to be recognised. Its figure is the first."""
    with _opened(data) as image:
        pages = getattr(image, "n_frames", 1) if image.format == "TIFF" else 1
    mark = figures.mark(data) if figures else ""
    return Content(mark if pages == 1 else [mark, *[""] * (pages - 1)], drawn=tuple(range(pages)))


def picture_of(data: bytes) -> tuple[str, int, int] | None:
    """Return an image as a data URL that models take, with its width and height; None if it is small.

    A large one is made smaller, one in another format becomes a JPEG. Raises ValueError, OverflowError: unreadable.
    """
    with _opened(data, (*_FORMATS, "GIF", "BMP", "JPEG2000")) as image:
        if min(image.size) < _SMALLEST or max(image.size) > _LARGEST_RATIO * min(image.size):
            return None
        image.load()
        kind, sent, size = image.format or "", data, image.size
        if kind not in _SENT or max(size) > _LARGEST or len(data) > _MOST_BYTES or image.mode == "CMYK":
            smaller = ImageOps.exif_transpose(_on_white(image))
            smaller.thumbnail((_LARGEST, _LARGEST))
            target = io.BytesIO()
            smaller.save(target, "JPEG", quality=85)
            kind, sent, size = "JPEG", target.getvalue(), smaller.size
    return f"data:image/{kind.lower()};base64,{b64encode(sent).decode()}", *size


def draw(data: bytes, pages: Sequence[int]) -> Iterator["Pixels"]:
    """Yield the pixels of some pages, upright, no larger than needed for recognition, blue first."""
    import numpy as np

    with _opened(data) as image:
        for page in pages:
            if page:
                image.seek(page)
            _check_size(image)
            scale = scale_for(*image.size)
            fitting = max(1, round(image.width * scale)), max(1, round(image.height * scale))
            if scale < 1:
                image.draft("RGB", fitting)
            upright = ImageOps.exif_transpose(_on_white(image))
            if scale < 1:
                upright.thumbnail(fitting if upright.size == image.size else fitting[::-1])
            yield np.ascontiguousarray(np.asarray(upright)[:, :, ::-1])


@contextmanager
def _opened(data: bytes, formats: tuple[str, ...] = _FORMATS) -> Iterator[Image.Image]:
    if not data:
        raise UnreadableError("the file is empty: it has 0 bytes")
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of odd metadata
            with Image.open(io.BytesIO(data), formats=formats) as image:
                _check_size(image)
                yield image
    except Image.DecompressionBombError as error:
        raise UnreadableError(_TOO_LARGE) from error
    except UnidentifiedImageError as error:
        raise UnreadableError("not what its suffix says: no image; give the file its own suffix") from error
    except (OSError, SyntaxError, EOFError) as error:  # SyntaxError: Pillow's, for a broken PNG
        raise UnreadableError(DAMAGED) from error


def _check_size(image: Image.Image) -> None:
    if image.width * image.height > MOST_PIXELS:
        raise UnreadableError(_TOO_LARGE)


def _on_white(image: Image.Image) -> Image.Image:
    """Return an image in colours, with transparent parts white."""
    if not image.has_transparency_data:
        return image.convert("RGB")
    seen = image.convert("RGBA")
    white = Image.new("RGBA", seen.size, "white")
    white.alpha_composite(seen)
    return white.convert("RGB")

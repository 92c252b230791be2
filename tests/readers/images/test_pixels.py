"""Image files; what they look like is for `test_figures.py`, what is written on them for `test_recognition.py`."""

import io

import pytest
from PIL import Image

from lightrag_dagster.readers.content import Content
from lightrag_dagster.readers.images.pixels import read


@pytest.mark.parametrize(
    ("kind", "images", "expected"),
    [
        ("TIFF", 1, Content("", drawn=(0,))),
        ("TIFF", 2, Content(["", ""], drawn=(0, 1))),
        ("TIFF", 3, Content(["", "", ""], drawn=(0, 1, 2))),
        ("WEBP", 2, Content("", drawn=(0,))),  # which moves
    ],
)
def test_the_images_of_a_tiff_file_are_pages(kind: str, images: int, expected: Content) -> None:
    target = io.BytesIO()
    first, *others = (Image.new("RGB", (70, 70), (40 * number, 0, 0)) for number in range(images))
    first.save(target, kind, save_all=True, append_images=others)
    assert read(target.getvalue()) == expected

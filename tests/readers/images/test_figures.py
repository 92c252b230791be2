"""Images in documents; the samples are by pandoc and LibreOffice: see tools/samples/make.py."""

import io
import re
import socket
import zipfile
import zlib
from base64 import b64decode, b64encode
from pathlib import Path

import pytest
from PIL import Image

from lightrag_dagster.core.text.figures import find_marks
from lightrag_dagster.readers.content import Limits, ReadingOptions
from lightrag_dagster.readers.extraction import extract_text
from lightrag_dagster.readers.images import figures as module
from lightrag_dagster.readers.images.figures import Figures
from lightrag_dagster.readers.images.pixels import picture_of
from lightrag_dagster.readers.isolation import extract_isolated

SAMPLES = Path(__file__).parents[1] / "samples"
CHART = "figure-7ea625e1dbe11dee"


def image(
    width: int = 100, height: int = 80, kind: str = "PNG", mode: str = "RGB", color: int | tuple[int, ...] = 0
) -> bytes:
    target = io.BytesIO()
    Image.new(mode, (width, height), color).save(target, kind)
    return target.getvalue()


@pytest.mark.parametrize(
    ("name", "before", "after"),
    [
        ("figures.docx", "The Kingfisher gauge was read.\n\n", "\n\nLevels of three [stations]"),
        ("figures.epub", "The Kingfisher gauge was read.\n\n", "\n\n\nLevels of three [stations]"),
        ("figures.html", "The Kingfisher gauge was read.\n\n", "\n\n\nA dot:"),
        ("figures.pptx", "The Kingfisher gauge was read.\n\n", "\n\nLevels of three [stations]"),
        ("figures.odt", "The Kingfisher gauge was read.\n\n", "\n\nLevels of three [stations]"),
        ("figures.xlsx", "| Steinhag | 1.42 |\n\n", ""),
        ("figures.pdf", "Again\n1\n\n", "\n\nThe end."),
        ("scan.png", "", ""),
    ],
)
def test_an_image_stands_once_where_it_is_and_small_ones_do_not(name: str, before: str, after: str) -> None:
    data = (SAMPLES / name).read_bytes()
    found = extract_text(data, name, ReadingOptions(figures=True))
    (figure,) = found.figures
    ((start, end, _, marked),) = find_marks(found.text)
    assert marked == figure.name
    assert found.text[:start].endswith(before)
    assert found.text[end:].startswith(after)
    if name != "scan.png":
        assert (figure.name, figure.width, figure.height) == (CHART, 320, 200)
        assert "figure-" not in extract_text(data, name).text
    assert extract_text(data, name).figures == ()


RTF = {
    "figures.rtf": "# Levels\n\nThe Kingfisher gauge was read.\n\n![]({})\n\nAgain ![]({})\n\nThe end.",
    "libreoffice-figures.rtf": "# Levels\n\nThe Kingfisher gauge was read.\n\n![]({})\n\nLevels\n\nAgain\n\nThe end.",
}


@pytest.mark.parametrize("name", RTF)
def test_images_of_rich_text_as_programs_write_them(name: str) -> None:
    data = (SAMPLES / name).read_bytes()
    found = extract_text(data, name, ReadingOptions(figures=True))
    assert found.text == RTF[name].format(*(figure.name for figure in found.figures))
    assert "figure-" not in extract_text(data, name).text


DESCRIBED = rb"{\*\picprop{\sp{\sn wzName}{\sv Chart 1}}{\sp{\sn wzDescription}{\sv A [navy] chart}}}"


@pytest.mark.parametrize(
    ("group", "caption", "images"),
    [
        (rb"{\pict\pngblip\picw100 %s}", "", 1),
        (rb"{\*\shppict{\pict%s\pngblip %%s}}{\nonshppict{\pict\wmetafile8 0100}}" % DESCRIBED, "A (navy) chart", 1),
        (rb"{\pict\pngblip\bin%d %b}", "", 1),
        (rb"{\pict%s\wmetafile8 %%s}" % DESCRIBED, "A [navy] chart", 0),
        (rb"{\pict\pngblip abc}", "", 0),
        (rb"{\header {\pict\pngblip %s}}", "", 0),
    ],
)
def test_images_of_rich_text(group: bytes, caption: str, images: int) -> None:
    data = image()
    given: object = (len(data), data) if b"%b" in group else (data.hex().encode(),) if b"%s" in group else ()
    rtf = b"{\\rtf1 Before. " + group % given + b" After.}"
    found = extract_text(rtf, "a.rtf", ReadingOptions(figures=True))
    assert len(found.figures) == images
    shown = f"![{caption}]({found.figures[0].name})" if images else caption
    assert " ".join(found.text.split()) == f"Before. {shown} After.".replace("  ", " ")


@pytest.mark.parametrize(
    ("part", "text"), [("xl/drawings/drawing1.xml", b"<broken"), ("xl/drawings/_rels/drawing1.xml.rels", b"<broken")]
)
def test_a_damaged_drawing_costs_a_workbook_its_images_alone(part: str, text: bytes) -> None:
    target = io.BytesIO()
    with zipfile.ZipFile(SAMPLES / "figures.xlsx") as good, zipfile.ZipFile(target, "w") as bad:
        for one in good.namelist():
            bad.writestr(one, text if one == part else good.read(one))
    found = extract_text(target.getvalue(), "a.xlsx", ReadingOptions(figures=True)).text
    assert found.startswith("## Levels\n\n| Station | Level |\n| --- | --- |\n| Steinhag | 1.42 |")


def pdf_with_image(space: str, pixels: bytes, width: int = 200) -> bytes:
    """Return a PDF whose page shows 200 × 150 pixels, `width` points wide."""
    shown, data = b"q %d 0 0 150 50 50 cm /I Do Q" % width, zlib.compress(pixels)
    image = f"/Type/XObject/Subtype/Image/Width 200/Height 150/BitsPerComponent 8/ColorSpace/{space}/Filter/FlateDecode"
    objects = [
        b"<</Type/Catalog/Pages 2 0 R>>",
        b"<</Type/Pages/Kids[3 0 R]/Count 1>>",
        b"<</Type/Page/Parent 2 0 R/MediaBox[0 0 400 400]/Contents 4 0 R/Resources<</XObject<</I 5 0 R>>>>>>",
        b"<</Length %d>>stream\n%s\nendstream" % (len(shown), shown),
        b"<<%s/Length %d>>stream\n%s\nendstream" % (image.encode(), len(data), data),
    ]
    written = b"".join(b"%d 0 obj\n%s\nendobj\n" % one for one in enumerate(objects, start=1))
    return b"%PDF-1.4\n" + written + b"trailer<</Root 1 0 R>>"


@pytest.mark.parametrize(
    ("space", "pixel", "count", "images"),
    [
        ("DeviceRGB", b"\x80\x10\x10", 30_000, 1),
        ("DeviceGray", b"\x80", 30_000, 1),
        ("DeviceCMYK", b"\x80\x10\x10\x00", 30_000, 1),
        ("DeviceRGB", b"\x80\x10\x10", 300, 0),
    ],
)
def test_images_of_a_pdf_in_any_colours(space: str, pixel: bytes, count: int, images: int) -> None:
    found = extract_text(pdf_with_image(space, pixel * count), "a.pdf", ReadingOptions(figures=True)).figures
    assert [(one.width, one.height) for one in found] == [(200, 150)] * images


@pytest.mark.parametrize(("width", "images"), [(35, 0), (36, 1)])
def test_images_of_less_than_half_an_inch_are_decoration(width: int, images: int) -> None:
    data = pdf_with_image("DeviceGray", b"\x80" * 30_000, width)
    assert len(extract_text(data, "a.pdf", ReadingOptions(figures=True)).figures) == images


@pytest.mark.parametrize("name", ["hostile/huge-image.pdf", "hostile/outside.docx"])
def test_images_that_are_too_large_or_outside_are_left_out(name: str) -> None:
    found = extract_isolated((SAMPLES / name).read_bytes(), name, ReadingOptions(figures=True), Limits(60, 2048))
    assert (found.figures, "figure-" in found.text) == ((), False)


@pytest.mark.parametrize(
    ("data", "kind", "size"),
    [
        (image(), "png", (100, 80)),
        (image(kind="JPEG"), "jpeg", (100, 80)),
        (image(kind="WEBP"), "webp", (100, 80)),
        (image(kind="GIF"), "jpeg", (100, 80)),
        (image(kind="TIFF"), "jpeg", (100, 80)),
        (image(kind="JPEG", mode="CMYK"), "jpeg", (100, 80)),
        (image(4096, 1024), "jpeg", (2048, 512)),
        (image(63, 500), None, None),
        (image(100, 2001), None, None),
    ],
)
def test_what_a_model_is_shown(data: bytes, kind: str | None, size: tuple[int, int] | None) -> None:
    found = picture_of(data)
    assert (found is None) == (kind is None)
    if found is None:
        return
    url, *shown = found
    head, _, content = url.partition(",")
    assert (head, tuple(shown)) == (f"data:image/{kind};base64", size)
    with Image.open(io.BytesIO(b64decode(content))) as sent:
        assert (sent.size, sent.mode) == (size, "RGB")


def test_images_that_cannot_be_shown_are_noted() -> None:
    unread = [image()[:60], b"no image", b"", (SAMPLES / "hostile/huge.png").read_bytes(), b"", image(63, 500)]
    shown = "".join(f"<img src='data:image/png;base64,{b64encode(data).decode()}'>" for data in unread)
    found = extract_text(f"<p>Levels.</p>{shown}".encode(), "a.html", ReadingOptions(figures=True))
    assert found.note == "drawings and damaged images, which are not described: 3"


def test_transparent_becomes_white() -> None:
    found = picture_of(image(3000, 200, mode="RGBA", color=(0, 0, 0, 0)))
    assert found is not None
    with Image.open(io.BytesIO(b64decode(found[0].partition(",")[2]))) as sent:
        assert sent.getpixel((0, 0)) == (255, 255, 255)


def test_the_number_and_the_size_of_images_are_limited(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_MOST", 2)
    several = Figures(picture_of)
    names = [several.name_of(image(100 + number, 80)) for number in (0, 0, 1, 2)]
    assert [name is None for name in names] == [False, True, False, True]
    assert several.left_out == {"images beyond the first 2 or 40 MB, which are not described": 1}
    monkeypatch.setattr(module, "_MOST_CHARACTERS", 100)
    assert Figures(picture_of).mark(image(), "A weir") == "A weir"


def linked(name: str, part: str, pattern: bytes, link: bytes) -> bytes:
    """Return a sample whose images are links to another machine."""
    copy = io.BytesIO()
    with zipfile.ZipFile(SAMPLES / name) as sample, zipfile.ZipFile(copy, "w") as archive:
        for entry in sample.namelist():
            data = sample.read(entry)
            changed = re.sub(pattern, link, data) if entry.endswith(part) else data
            archive.writestr(entry, changed)
    assert link in b"".join(map(zipfile.ZipFile(copy).read, zipfile.ZipFile(copy).namelist()))
    return copy.getvalue()


URL = b"http://127.0.0.1:9/pixel.png"


@pytest.mark.parametrize(
    ("name", "part", "pattern", "link"),
    [
        ("figures.docx", ".rels", rb'Target="media/[^"]*"', b'Target="' + URL + b'" TargetMode="External"'),
        ("figures.pptx", ".rels", rb'Target="../media/[^"]*"', b'Target="' + URL + b'" TargetMode="External"'),
        ("figures.odt", "content.xml", rb'xlink:href="Pictures/[^"]*"', b'xlink:href="' + URL + b'"'),
        ("figures.epub", "html", rb'src="[^"]*"', b'src="' + URL + b'"'),
        ("page.html", "", b"", b'<p>Gauges.</p><link href="%s" rel="stylesheet"><img src="%s">' % (URL, URL)),
    ],
)
def test_nothing_that_a_document_names_is_fetched(
    name: str, part: str, pattern: bytes, link: bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*arguments: object) -> None:
        raise AssertionError(f"connected to {arguments[1:]}")

    monkeypatch.setattr(socket.socket, "connect", refuse)
    data = linked(name, part, pattern, link) if part else link
    assert not extract_text(data, name, ReadingOptions(figures=True)).figures

"""Text in images; the samples are pages that LibreOffice drew: see tools/samples/make.py."""

import socket
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pytest

from lightrag_dagster.readers.content import Content, Limits, ReadingOptions, UnreadableError
from lightrag_dagster.readers.extraction import extract_text
from lightrag_dagster.readers.images import ocr
from lightrag_dagster.readers.isolation import extract_isolated

SAMPLES = Path(__file__).parents[1] / "samples"
ON = ReadingOptions(recognise_text=True)
OPTIONS, LIMITS = ReadingOptions(recognise_text=True), Limits(60, 2048)
SENTENCES = (
    "the kingfisher gauge at lerchbruck was cleaned in spring its housing was cracked so that rain reached the logger "
    "and the readings of two nights were lost before anybody noticed it der pegel fiel um 12 cm über nacht die straße "
    "nach größenbach war für fußgänger gesperrt man fuhr über öhringen steinhag 1.42"
)
WORDS = set(SENTENCES.split())
# `dev` has the extra, so that nothing is left out in CI.
needs_ocr = pytest.mark.skipif(not find_spec("rapidocr"), reason="the extra `ocr` is not installed")


def data(name: str) -> bytes:
    return (SAMPLES / name).read_bytes()


def recovered(text: str) -> float:
    """Return the share of WORDS that a text has."""
    return len(WORDS & {word.strip(".,;") for word in text.lower().split()}) / len(WORDS)


@pytest.mark.long
@needs_ocr
def test_the_words_of_a_photographed_page_are_found_without_a_network(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> None:
        raise AssertionError("the network was used")

    monkeypatch.setattr(socket.socket, "connect", refuse)
    done: list[None] = []
    found = extract_text(data("scan.jpg"), "scan.jpg", ON, lambda: done.append(None))
    assert len(done) == 1
    assert (found.title, found.media_type, found.pages) == ("scan.jpg", "image/jpeg", ())
    assert found.text.startswith("Station visits\n\nThe Kingfisher gauge")
    assert recovered(found.text) > 0.95


@pytest.mark.long
@needs_ocr
def test_the_text_of_a_scanned_page_has_its_place_and_that_of_others_is_kept() -> None:
    found = extract_isolated(data("scan.pdf"), "scan.pdf", OPTIONS, LIMITS)
    pages = [found.text[start:end] for start, end in zip(found.pages, [*found.pages[1:], None], strict=True)]
    assert recovered(pages[0]) > 0.9
    assert pages[0].rstrip().endswith("1 -")
    assert pages[1:] == ["The second page was written by a program, and needs no recognition: Corley 0.97.", ""]


@needs_ocr
@pytest.mark.long
@pytest.mark.parametrize(("name", "share"), [("scan.png", 0.97), ("scan.webp", 0.97), ("two-pages.tiff", 0.9)])
def test_every_kind_of_image_is_read_in_a_parser_process(name: str, share: float) -> None:
    found = extract_isolated(data(name), name, OPTIONS, LIMITS)
    assert recovered(found.text) >= share
    assert found.pages == (() if name != "two-pages.tiff" else (0, found.text.index("River survey")))


@needs_ocr
@pytest.mark.long
def test_columns_are_read_one_after_the_other_and_divided_words_are_whole() -> None:
    text = " ".join(extract_text(data("columns.png"), "columns.png", ON).text.split())
    first = "River survey The Kingfisher gauge at Lerchbruck was cleaned in spring. Its housing was cracked, so that"
    assert text.startswith(first)
    assert text.endswith(
        "The council asked the office to repeat the survey in autumn, when the river is low and the "
        "old staff gauge below the bridge can be read from the bank. Until then the values of the "
        "upper station are taken."
    )


@needs_ocr
@pytest.mark.parametrize("name", ["damaged/corrupt-image.pdf", "hostile/huge-image.pdf"])
@pytest.mark.long
def test_images_in_a_pdf_that_cannot_be_drawn_cost_their_page(name: str) -> None:
    found = extract_isolated(data(name), name, OPTIONS, LIMITS)
    assert ("Corley" in found.text) == name.startswith("damaged")
    assert found.why_empty == "no text was recognised in its images"


@needs_ocr
@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("damaged/truncated.jpg", "^damaged or cut short"),
        ("damaged/truncated.png", "^damaged or cut short"),
        ("damaged/truncated.webp", "^damaged or cut short"),
        ("hostile/huge.png", "^an image of more than 80,000,000 pixels; make it smaller$"),
    ],
)
def test_images_that_are_damaged_or_too_large_say_what_to_do(name: str, reason: str) -> None:
    with pytest.raises(UnreadableError, match=reason):
        extract_text(data(name), name, ON)


def test_without_the_extra_the_reason_names_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ocr, "find_spec", lambda _: None)
    found = extract_text(data("damaged/without-text.pdf"), "a.pdf", ON)
    assert found.text == ""
    assert found.why_empty == (
        "no text: it is in images, such as scanned pages; documents.recognise_text needs "
        "pip install 'lightrag-dagster[ocr]'"
    )


@pytest.mark.parametrize(("keep", "expected"), [(False, ["read", "b"]), (True, ["read\n\na", "b"])])
def test_what_was_read_of_a_page_stays_where_no_text_is_recognised(
    monkeypatch: pytest.MonkeyPatch, keep: bool, expected: list[str]
) -> None:
    monkeypatch.setattr(ocr, "find_spec", lambda _: True)
    monkeypatch.setattr(ocr, "_text_in", lambda pixels: "read" if len(pixels) == 1 else "")
    pages = [np.zeros((height, 1, 3), np.uint8) for height in (1, 2)]
    found = ocr.recognise(Content(["a", "b"], drawn=(0, 1)), lambda _: iter(pages), lambda: None, keep=keep)
    assert found.text == expected
    assert found.note == "no text was recognised in the images of pages 2; scan them again if they have any"


@needs_ocr
def test_the_number_of_pages_is_limited() -> None:
    with pytest.raises(UnreadableError, match=r"1,001 pages; at most 1,000 are recognised; divide it$"):
        ocr.recognise(Content([""] * 1001, drawn=tuple(range(1001))), lambda _: iter(()), lambda: None)


@needs_ocr
@pytest.mark.parametrize("shape", [(5, 900, 3), (100, 9000, 3)])
def test_lines_and_specks_have_no_text(shape: tuple[int, int, int]) -> None:
    pixels = np.zeros(shape, np.uint8)
    found = ocr.recognise(Content("", drawn=(0,)), lambda _: iter((pixels,)), lambda: None)
    assert (found.text, found.why_empty) == ("", "no text was recognised in its images")

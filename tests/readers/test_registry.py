import pytest

from lightrag_dagster.readers.content import Content
from lightrag_dagster.readers.decoding import decode
from lightrag_dagster.readers.extraction import ExtractedText, extract_text
from lightrag_dagster.readers.formats import FORMATS, UNSUPPORTED, FileFormat, has_headings, media_type


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        ("a/b.md", "text/markdown"),
        ("a.MARKDOWN", "text/markdown"),
        ("a.txt", "text/plain"),
        ("a.Html", "text/html"),
        ("a.htm", "text/html"),
        ("a.dat", "application/octet-stream"),
        ("txt", "application/octet-stream"),
    ],
)
def test_media_type(path: str, expected: str) -> None:
    assert media_type(path) == expected


@pytest.mark.parametrize(
    ("data", "path", "expected"),
    [
        (b"plain\n# not a title\n", "notes/a.txt", ExtractedText("a.txt", "plain\n# not a title", "text/plain")),
        (
            b"\n\n# The  &amp; title\n\nBody\n",
            "a.md",
            ExtractedText("The & title", "# The  & title\n\nBody", "text/markdown"),
        ),
        (b"no heading", "x/a.md", ExtractedText("a.md", "no heading", "text/markdown")),
        (b"\xef\xbb\xbfcaf\xc3\xa9", "a.txt", ExtractedText("a.txt", "café", "text/plain")),
        ("café".encode("utf-16"), "a.txt", ExtractedText("a.txt", "café", "text/plain")),
        (b"\xfe\xff\x00h\x00i", "a.txt", ExtractedText("a.txt", "hi", "text/plain")),
        (b" \x00\n ", "a.txt", ExtractedText("a.txt", "", "text/plain")),
        (b"", "a.md", ExtractedText("a.md", "", "text/markdown")),
    ],
)
def test_text_and_markdown(data: bytes, path: str, expected: ExtractedText) -> None:
    assert extract_text(data, path) == expected


def _read_pages(data: bytes) -> Content:
    return Content(decode(data).text.split("\f"))


@pytest.mark.parametrize(
    ("data", "text", "pages"),
    [
        (b"One.\fTwo.", "One.\n\nTwo.", (0, 6)),
        (b" One. \f\n\fTwo &amp; three.\f", "One.\n\nTwo &amp; three.", (0, 4, 6, 22)),
        (b"\fTwo.", "Two.", (0, 0)),
        (b"", "", (0,)),
    ],
)
def test_a_format_is_one_entry_and_may_have_pages(
    monkeypatch: pytest.MonkeyPatch, data: bytes, text: str, pages: tuple[int, ...]
) -> None:
    monkeypatch.setitem(FORMATS, ".paged", FileFormat("application/x-paged", _read_pages, has_headings=False))
    assert extract_text(data, "a.PAGED") == ExtractedText("a.PAGED", text, "application/x-paged", pages)
    assert media_type("a.paged") == "application/x-paged"


@pytest.mark.parametrize(
    "path", ["a.json", "a.yaml", "a.py", "a.sql", "a.xml", "a.js", "a.toml", "a.log", "a.txt", "a.rst", "README.md"]
)
def test_references_of_html_are_characters_of_the_author_in_code_and_data(path: str) -> None:
    code = 's = s.replace("&", "&amp;").replace("<", "&lt;") + "&#10;&#124;"'
    data = f"```\n{code}\n```" if path.endswith(".md") else code
    assert extract_text(data.encode(), path).text == data


@pytest.mark.parametrize(
    ("kind", "expected"), [("text/markdown", True), ("text/html", True), ("text/plain", False), (UNSUPPORTED, False)]
)
def test_which_texts_have_headings(kind: str, expected: bool) -> None:
    assert has_headings(kind) is expected

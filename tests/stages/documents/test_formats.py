import pytest

from lightrag_dagster.stages.documents.formats import ExtractedText, decode, extract_text, media_type


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        ("a/b.md", "text/markdown"),
        ("a.MARKDOWN", "text/markdown"),
        ("a.txt", "text/plain"),
        ("a.Html", "text/html"),
        ("a.htm", "text/html"),
        ("a.pdf", "application/octet-stream"),
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


@pytest.mark.parametrize(
    ("data", "declared", "reason"),
    [
        (b"ab\xff", None, "not valid UTF-8: invalid start byte at byte 2; save the file as UTF-8"),
        (b"\xff\xfea", None, "not valid UTF-16: truncated data at byte 2; save the file as UTF-8"),
        (b"ab\xff", "x-mac", "not valid UTF-8, and declares the unknown encoding 'x-mac'; save the file as UTF-8"),
        (b"ab\xff", "utf-8", "not valid UTF-8: invalid start byte at byte 2; save the file as UTF-8"),
    ],
)
def test_undecodable_bytes_say_why(data: bytes, declared: str | None, reason: str) -> None:
    with pytest.raises(ValueError, match="not valid") as caught:
        decode(data, declared)
    assert str(caught.value) == reason


def test_a_declared_encoding_is_used_when_utf_8_fails() -> None:
    assert decode("café".encode("latin-1"), "ISO-8859-1") == "café"
    assert decode("café".encode(), "ISO-8859-1") == "café"

import pytest

from lightrag_dagster.stages.documents.decoding import decode


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

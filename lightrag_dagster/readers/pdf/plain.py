"""PDFium's plain text of the file that was read last: to take it from every page again would be a third of the time."""

from collections.abc import Sequence

_last: dict[tuple[int, int], Sequence[str]] = {}


def remember(data: bytes, texts: Sequence[str]) -> None:
    """Keep the texts of a file in place of those of the file before."""
    _last.clear()
    _last[len(data), hash(data)] = texts


def recall(data: bytes) -> Sequence[str] | None:
    """Return the texts of a file, which are forgotten then; None if it is not the one read last."""
    return _last.pop((len(data), hash(data)), None)

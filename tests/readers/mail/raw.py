"""Mails as bytes, as programs send them and no library would write them."""

from lightrag_dagster.readers.extraction import ExtractedText, extract_text

PLAIN = "text/plain; charset=utf-8"
PAGE = "text/html; charset=utf-8"


def part(kind: str, *content: str | bytes, **headers: str) -> bytes:
    """Return a part of a type; one with several contents is divided into these."""
    lines = [f"Content-Type: {kind}", *(f"Content-{name.title()}: {value}" for name, value in headers.items())]
    texts = [one.encode() if isinstance(one, str) else one for one in content]
    if kind.startswith("multipart/"):
        mark = f"b{abs(hash(content))}"
        lines[0] += f'; boundary="{mark}"'
        body = b"".join(b"--%s\n%s\n" % (mark.encode(), text) for text in texts) + b"--%s--\n" % mark.encode()
    else:
        (body,) = texts
    return "\n".join(lines).encode() + b"\n\n" + body


def read(mail: bytes, header: bytes = b"Subject: Gauge\n") -> ExtractedText:
    """Return a mail that has lost no word but those that are expected to be."""
    return extract_text(header + mail, "a.eml")


def text_of(mail: bytes, lost: int = 0) -> str:
    """Return the text of a mail below its subject, after a look at its check of lost words."""
    found = read(mail)
    assert found.losses is not None
    assert found.losses.lost == lost, found.losses
    return found.text.removeprefix("# Gauge").strip()

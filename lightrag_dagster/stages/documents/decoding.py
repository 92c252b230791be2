"""From the bytes of a text file to its characters."""

import codecs


def decode(data: bytes, declared: str | None = None) -> str:
    """Decode UTF-8, or UTF-16 with a byte order mark, or else the encoding that the document itself declares.

    Raises:
        ValueError: the bytes are not in that encoding.
    """
    if data.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        encodings = ["utf-16"]
    else:
        encodings = ["utf-8-sig"] + ([declared] if declared else [])
    reason = ""
    for encoding in encodings:
        try:
            return data.decode(encoding)
        except UnicodeDecodeError as error:
            name = encoding.removesuffix("-sig").upper()
            reason = reason or f"not valid {name}: {error.reason} at byte {error.start}; save the file as UTF-8"
        except LookupError:
            reason = f"not valid UTF-8, and declares the unknown encoding {declared!r}; save the file as UTF-8"
    raise ValueError(reason)

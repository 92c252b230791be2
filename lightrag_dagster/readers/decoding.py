"""The decoding of text files."""

import codecs
import re
from contextlib import suppress
from typing import NamedTuple
from unicodedata import category

from lightrag_dagster.readers.content import UnreadableError

_SAMPLE = 200_000  # bytes that an encoding is guessed from
_LEAST = 20  # bytes; fewer are not enough
_MIN_CONFIDENCE = 0.1  # chardet's confidence: right guesses about a sentence have more, wrong ones mostly less
_LEAST_CONFIDENCE = 0.02  # of guesses that words must confirm
_NEAR = 0.7  # share of the confidence of the best guess
_MIN_WORDS = 4
_MAX_CONTROL = 0.3  # share of the characters
_NO_TEXT = "not text: control characters all over it; remove the file or give it its own suffix"
_CUT = "its last character is cut; copy the file again"
_WIDE = ("utf-16", "utf-32")
_NO_LETTERS = {"Cc", "Cn", "Co"}  # control, unassigned and private characters
_MAX_NO_LETTERS = 0.02  # share of the characters of UTF-16: numbers that are read as such have more
_CONTROL = re.compile(r"[\x00-\x08\x0e-\x1a\x1c-\x1f]")
_WORD = re.compile(r"[^\W\d_]{0,40}(?:[^\x00-\x7f]+[^\W\d_]*)+")  # with a character beyond ASCII
_AROUND = "„“”‚‘’«»–—…€°§ \xa0"
_SIGNS = _AROUND + "¡¢£¥©ª®±²³´µ·¹º¼½¾¿×÷‹›†‡•™"
_FEW = 0.2  # share of the bytes beyond ASCII: texts in Latin script have less, those in others more
_FEW_ERRORS = 0.1  # share of the characters of UTF-8 beyond ASCII
_NOT_ASCII = bytes(range(0x80, 0x100))
_BEYOND_ASCII = re.compile(rb"[\x80-\xff]")
_ESCAPE = re.compile(r"\\[nrt]")  # escape of a line feed, as JSON and SQL have it: not a letter of the next word
_TURKISH = "windows-1254"
_WESTERN = "windows-1252"
_TURKISH_OR_ICELANDIC = re.compile(rb"[\xd0\xdd\xde\xf0\xfd\xfe]")  # where the two code pages differ
_NOT_TURKISH = re.compile("[áéíóúæøåñõãìòùêßÁÉÍÓÚÆØÅÑÕÃÌÒÙÊ]")
_BEYOND_ASCII_TEXT = re.compile("[^\x00-\x7f\udc80-\udcff]")
_NOT_UTF8 = re.compile("[\udc80-\udcff]+")
_FOREIGN = re.compile(r"[^\x00-\x7f]{3}")  # three letters in a row with accents: of another script


class Decoded(NamedTuple):
    """A text, and a note about doubts in its encoding, for the row of its document; None without doubts."""

    text: str
    note: str | None = None


def decode(data: bytes, declared: str | None = None) -> Decoded:
    """Decode UTF-8, UTF-16 or UTF-32 with a byte order mark, the declared encoding, or the detected one.

    If that is uncertain for a few characters, they are read as Windows-1252 or replaced, with a note.

    Raises:
        UnreadableError: the bytes are not text, or their encoding is too uncertain.
    """
    whole = _whole(data)
    try:
        return Decoded(_certain(whole, declared), _CUT if len(whole) < len(data) else None)
    except _UncertainError as uncertain:
        if supposed := _supposed(data):
            return supposed
        raise UnreadableError(f"{uncertain}; save the file as UTF-8") from uncertain


def _whole(data: bytes) -> bytes:
    """Return UTF-16 without half a character at its end, as a copy that was cut has it; other bytes as they are."""
    if len(data) % 2 == 0:
        return data
    is_marked = data.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE))
    is_wide = is_marked or (b"\0" in data[:_SAMPLE] and (_detect(data[:-1]) or "").lower().startswith(_WIDE))
    return data[:-1] if is_wide else data


class _UncertainError(Exception):
    """The encoding of a possible text is uncertain; the message says why it is not UTF-8."""


def _certain(data: bytes, declared: str | None) -> str:
    if data.startswith((codecs.BOM_UTF32_LE, codecs.BOM_UTF32_BE)):
        return _decode(data, "utf-32")
    if data.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        return _decode(data, "utf-16")
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        reason = f"not valid UTF-8: {error.reason} at byte {error.start}"
    else:
        # Valid UTF-8 too: UTF-16 of Latin script without a mark, with zeros, and ISO-2022-JP, with escapes.
        # The single character first: looking for two takes longer than decoding the bytes.
        if "\x00" not in text and ("\x1b" not in text or "\x1b$" not in text):
            return text
        if other := _detect(data):
            return _decode(data, other)
        if len(_CONTROL.findall(text)) > _MAX_CONTROL * len(text):
            raise UnreadableError(_NO_TEXT)
        return text
    if declared:
        try:
            return data.decode(declared)
        except UnicodeDecodeError:
            pass
        except LookupError:
            reason += f", and declares the unknown encoding {declared!r}"
    if not _is_damaged_utf8(data, 1) and (detected := _detect(data)):
        with suppress(UnicodeDecodeError):
            if not _lines_apart(data, detected) and (detected.casefold() != _WESTERN or not _mixed(data)):
                return data.decode(detected)
    raise _UncertainError(reason)


def _supposed(data: bytes) -> Decoded | None:
    """Return a text with few doubtful characters, or None if there are many or it is not text."""
    if _CONTROL.search(data.decode("latin-1")):
        return None
    if _is_damaged_utf8(data, _FEW_ERRORS):
        text = data.decode("utf-8", "replace")
        errors = text.count("\ufffd") - data.count("\ufffd".encode())
        return Decoded(
            text, f"places that are not UTF-8 stand as \ufffd: {errors:,}; copy the file again or correct it"
        )
    others = _detect(b"".join(line for line in data.splitlines(keepends=True) if not _is_utf8(line)))
    if others and _lines_apart(data, others):
        text = "".join(line.decode("utf-8" if _is_utf8(line) else others, "replace") for line in data.splitlines(True))
        return Decoded(text, f"bytes that are not UTF-8 are read as {others.title()}; save the file as UTF-8")
    if mixed := _mixed(data):
        return Decoded(mixed, "bytes that are not UTF-8 are read as Windows-1252; save the file as UTF-8")
    if len(data) - len(data.translate(None, _NOT_ASCII)) > _FEW * len(data):
        return None
    name = _western(data, _WESTERN)
    if _is_text(western := data.decode(name, "replace")):
        return Decoded(western, f"its encoding is not certain and read as {name.title()}; save the file as UTF-8")
    text = data.decode("ascii", "replace")
    count = text.count("\ufffd")
    return Decoded(text, f"its encoding cannot be told, bytes stand as \ufffd: {count:,}; save the file as UTF-8")


def _lines_apart(data: bytes, others: str) -> bool:
    """Return True if some lines are UTF-8 beyond ASCII and the others of a code page, as of two files put together.

    In encodings with two bytes for a character, a short line may be both.
    """
    pages = others.casefold().startswith("windows-125")
    return pages and any(_is_utf8(line) for line in data.splitlines() if not line.isascii())


def _is_utf8(line: bytes) -> bool:
    try:
        line.decode("utf-8")
    except UnicodeDecodeError:
        return False
    return True


def _mixed(data: bytes) -> str | None:
    """Return a text of UTF-8 with its other bytes as Windows-1252, as of two files put together; None if it is none."""
    text = data.decode("utf-8", "surrogateescape")
    others = sum(map(len, _NOT_UTF8.findall(text)))
    if others > _FEW * len(data) or not _BEYOND_ASCII_TEXT.search(text):
        return None
    mixed = _NOT_UTF8.sub(lambda found: found[0].encode("utf-8", "surrogateescape").decode(_WESTERN, "replace"), text)
    return mixed if _is_text(mixed) else None


def _is_text(western: str) -> bool:
    """Return True if the words of a text look like those of languages in Latin script."""
    words = {word for found in _WORD.findall(_ESCAPE.sub(" ", western)) if not (word := found.strip(_SIGNS)).isascii()}
    return all(_is_word(word) and not _FOREIGN.search(word) for word in words)


def _decode(data: bytes, encoding: str) -> str:
    try:
        text = data.decode(encoding)
    except (UnicodeDecodeError, LookupError) as error:
        reason = f"{error.reason} at byte {error.start}" if isinstance(error, UnicodeDecodeError) else "unknown"
        raise UnreadableError(f"not valid {encoding.upper()}: {reason}; save the file as UTF-8") from error
    sample = text[: _SAMPLE // 2]
    others = sum(category(character) in _NO_LETTERS and not character.isspace() for character in sample)
    if encoding.lower().startswith(_WIDE) and others > _MAX_NO_LETTERS * len(sample):
        raise UnreadableError(_NO_TEXT)
    return text


def _detect(data: bytes) -> str | None:
    """Return the encoding of text, or None if it is not text or the guess is not certain."""
    import chardet

    sample = _sample(data)
    if len(sample) < _LEAST:
        return None
    found = chardet.detect(sample, encoding_era=chardet.EncodingEra.MODERN_WEB)
    encoding = found["encoding"]
    if encoding is None or (found["confidence"] < _MIN_CONFIDENCE and not _is_confirmed(sample)):
        return None
    try:
        if _CONTROL.search(sample.decode(encoding, "ignore")):
            return None
    except LookupError:
        return None
    chosen = _western(sample, encoding)
    # One letter alone may be that of a name from Iceland.
    return chosen if chosen == encoding or len({*_TURKISH_OR_ICELANDIC.findall(sample)}) > 1 else None


def _western(sample: bytes, encoding: str) -> str:
    """Return the Turkish code page for the Western one if chardet finds it as likely and all letters are Turkish.

    The two differ in six letters; in a sentence of Turkish, chardet often gives both the same confidence.
    """
    import chardet

    if encoding.casefold() != _WESTERN or not _TURKISH_OR_ICELANDIC.search(sample):
        return encoding
    found = chardet.detect_all(sample, encoding_era=chardet.EncodingEra.MODERN_WEB)
    confidence = {str(one["encoding"]).casefold(): one["confidence"] for one in found}
    near = confidence.get(_TURKISH, 0) >= _NEAR * confidence.get(_WESTERN, 1)
    return _TURKISH if near and not _NOT_TURKISH.search(sample.decode(_TURKISH, "replace")) else encoding


def _sample(data: bytes) -> bytes:
    """Return some lines of a text, at first those with the first byte beyond ASCII.

    Cut in the middle of a character, a sample would be judged as damaged; a line feed ends a character.
    """
    if len(data) <= _SAMPLE:
        return data
    found = _BEYOND_ASCII.search(data, _SAMPLE // 2)
    start = data.rfind(b"\n", 0, found.start()) + 1 if found and not _BEYOND_ASCII.search(data, 0, _SAMPLE // 2) else 0
    data = data[start : start + _SAMPLE]
    return data[: data.rfind(b"\n") + 1] or data


def _is_confirmed(sample: bytes) -> bool:
    """Return True if the guess of a Windows code page is right although chardet is not certain.

    It never is if ASCII prevails, as in tables and code. The guess counts if it makes four different words of letters
    alone, without capitals inside, and all guesses of a similar confidence give the same text.
    """
    import chardet

    best, *others = chardet.detect_all(sample, encoding_era=chardet.EncodingEra.MODERN_WEB)
    if best["confidence"] < _LEAST_CONFIDENCE or not str(best["encoding"]).startswith("Windows-125"):
        return False
    text = sample.decode(str(best["encoding"]), "replace")
    words = {word for found in _WORD.findall(text) if (word := found.strip(_AROUND))}
    words = {word for word in words if not word.isascii()}
    near = [str(one["encoding"]) for one in others if one["confidence"] >= _NEAR * best["confidence"]]
    return (
        len(words) >= _MIN_WORDS
        and all(map(_is_word, words))
        and all(sample.decode(encoding, "replace") == text for encoding in near)
    )


def _is_word(word: str) -> bool:
    return word.isalpha() and (word.isupper() or word[1:].islower() or len(word) == 1)


def _is_damaged_utf8(data: bytes, most: float) -> bool:
    """Return True if bytes are UTF-8 with errors in fewer than `most` of the characters beyond ASCII, or in one place.

    Any other encoding would spoil all its characters.
    """
    text = _sample(data).decode("utf-8", "replace")
    errors = text.count("\ufffd")
    good = sum(character > "\x7f" for character in text) - errors
    return good > errors and errors <= max(1, most * good)

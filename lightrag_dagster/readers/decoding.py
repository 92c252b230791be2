"""The decoding of text files."""

import codecs
import re
from collections import Counter
from contextlib import suppress
from functools import lru_cache
from itertools import pairwise
from typing import NamedTuple
from unicodedata import category

from lightrag_dagster.readers.content import UnreadableError
from lightrag_dagster.readers.language import detect_language

XML_ENCODING = re.compile(rb"""<\?xml[^>]{0,100}?encoding=["']([A-Za-z0-9_.:-]{1,40})["']""")
"""The encoding that XML declares in its first line."""

_SAMPLE = 60_000  # bytes that an encoding is guessed from
_LEAST = 20  # bytes; fewer are not enough
_MIN_CONFIDENCE = 0.05  # chardet's confidence without odd words: right guesses about a sentence have more
_LEAST_CONFIDENCE = 0.02  # of a guess about several words to which no other is near
_DOUBTFUL_CONFIDENCE = 0.1  # of a doubtful guess about a text that is mostly beyond ASCII
_NEAR = 0.9  # share of the confidence of the best guess; another text with more makes it doubtful
_NEAR_WESTERN, _FAR = 0.8, 0.5  # the same, where the text is not seen to be of the language of the guess
_OLD = ("Mac", "cp", "IBM")  # of the Macintosh and DOS
_RARITY = 0.95  # of these; Cyrillic of the Macintosh differs from Windows-1251 in capitals alone
_NEAR_TURKISH = 0.7
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
_ASCII = bytes(range(0x80))
_LONGEST_LINE = 10_000  # bytes of a line that joins the sample
_BEYOND_ASCII = re.compile(rb"[\x80-\xff]")
_ESCAPE = re.compile(r"\\[nrt]")  # escape of a line feed, as JSON and SQL have it: not a letter of the next word
_TURKISH = "windows-1254"
_WESTERN = "windows-1252"
_PAGES = ("windows-125", "iso-8859-", "iso8859-", "koi8-", "mac")  # with one byte for a character
_RARE = (
    *(f"iso8859-{part}" for part in (1, 3, 4, 9, 10, 13, 14, 16)),
    *(f"cp{page}" for page in (437, 720, 856, 858, 860, 861, 862, 863, 864, 865, 869, 1125)),
    *("ibm855", "johab", "mac-greek", "mac-iceland", "mac-latin2", "mac-turkish"),
)
_LATIN, _OTHER = "A-Za-z\xc0-\u024f", "\u0370-\u06ff\u0e00-\u0e7f"  # letters of Latin, and of other scripts
_BESIDE = "¢¦¨¯±´¸¶¼½¾×÷ˆ˜ˇ˘˙˛˝√∂∆◊ﬁﬂ‡"  # signs that stand beside no letter
_BETWEEN = "\xa1-\xac\xae-\xb6\xb8-\xbf×÷ˆ-˝‘“-•‚‰‹›™€"  # signs that stand between no letters
_ODD = re.compile(
    rf"[¤\u2500-\u25ff\ue000-\uf8ff]|[{_LATIN}][{_OTHER}]|[{_OTHER}][{_LATIN}]|[a-z][\u4e00-\u9fff][a-z]"
    rf"|[{_LATIN}{_OTHER}][{_BETWEEN}]+(?=[{_LATIN}{_OTHER}])|[^\W\d_][{_BESIDE}£¥¡¿]|[{_BESIDE}²³¹ªº™»®](?=[^\W\d_])"
)
_ODD_ALONE = re.compile(rf"(?:^|(?<=[A-Za-z] ))[{_OTHER}](?= [A-Za-z])|(?<=[A-Za-z] )[{_OTHER}]$", re.MULTILINE)
_NO_TEXT_OF_PAGE = re.compile(r"[\x00-\x08\x0e-\x1a\x1c-\x1f\x80-\x84\x86-\x9f]")  # controls, also of Latin-1
_FIRST_GREEK = "\u0370"  # letters of Greek and Cyrillic come from here on
_IRISH = "bcdghmnt"  # letters before the capital of a name, as in `hÉireann`
_NO_LETTER = re.compile(r"[\W\d_]+")
_BREAK = re.compile(r"[\s\d_]+")  # between words with the signs attached to them
_LARGER = {  # programs write the larger set under the name of the smaller one, and browsers read it so
    "iso8859-1": "windows-1252",
    "iso8859-9": "windows-1254",
    "gb2312": "gb18030",
    "gbk": "gb18030",
    "euc_kr": "cp949",
    "shift_jis": "cp932",
    **dict.fromkeys(("iso8859-11", "tis-620"), "cp874"),
}
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


def larger(name: str) -> str:
    """Return the encoding that is meant by a name, with all characters written under it; raises LookupError."""
    found = codecs.lookup(name).name
    return _LARGER.get(found, found)


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
        return text.replace("\x00", " ")
    if declared:
        try:
            for name in (larger(declared), declared):
                with suppress(UnicodeDecodeError):
                    return data.decode(name)
        except LookupError:
            reason += f", and declares the unknown encoding {declared!r}"
    if not _is_damaged_utf8(data, 1) and (detected := _detect(data)):
        with suppress(UnicodeDecodeError):
            if not _lines_apart(data, detected) and (detected.casefold() != _WESTERN or not _mixed(data)):
                text = data.decode(detected)
                if not (detected.casefold().startswith(_PAGES) and _NO_TEXT_OF_PAGE.search(text)):
                    return text
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
    others = _detect(b"".join(line for line in data.splitlines(keepends=True) if not is_utf8(line)))
    if others and _lines_apart(data, others):
        text = "".join(line.decode("utf-8" if is_utf8(line) else others, "replace") for line in data.splitlines(True))
        return Decoded(text, f"bytes that are not UTF-8 are read as {others.title()}; save the file as UTF-8")
    if mixed := _mixed(data):
        return Decoded(mixed, "bytes that are not UTF-8 are read as Windows-1252; save the file as UTF-8")
    name, is_told = _doubtful(data)
    if not is_told and not _is_few(data):
        return None
    if (text := data.decode(name, "replace")) and (is_told or _is_text(text)):
        return Decoded(text, f"its encoding is not certain and read as {name.title()}; save the file as UTF-8")
    text = data.decode("ascii", "replace")
    count = text.count("\ufffd")
    return Decoded(text, f"its encoding cannot be told, bytes stand as \ufffd: {count:,}; save the file as UTF-8")


def _is_few(data: bytes) -> bool:
    """Return True if so few bytes are beyond ASCII as in texts in Latin script."""
    return len(data) - len(data.translate(None, _NOT_ASCII)) <= _FEW * len(data)


def _doubtful(data: bytes) -> tuple[str, bool]:
    """Return the encoding to read a text by with a note, and whether there is more for it than that it is usual.

    It is Windows-1252 if that is near, and the text is not of the language of the best guess.
    """
    best, *others = _guesses(_sample(data)) or [_NO_GUESS]
    usual = next((one for one in (best, *others) if one.encoding.casefold() in (_WESTERN, _TURKISH)), _NO_GUESS)
    if best.score < (_MIN_CONFIDENCE if _is_few(data) else _DOUBTFUL_CONFIDENCE) or len(data) < _LEAST:
        return usual.encoding, False
    is_western = usual.score > _FAR * best.score and _language_of(best) not in (None, best.language)
    return (usual if is_western else best).encoding, True


def _lines_apart(data: bytes, others: str) -> bool:
    """Return True if some lines are UTF-8 beyond ASCII and the others of a code page, as of two files put together.

    In encodings with two bytes for a character, a short line may be both.
    """
    return others.casefold().startswith(_PAGES) and any(
        is_utf8(line) for line in data.splitlines() if not line.isascii()
    )


def is_utf8(data: bytes) -> bool:
    """Return True if bytes are valid UTF-8, as those of ASCII are."""
    try:
        data.decode("utf-8")
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


class _Guess(NamedTuple):
    """A possible encoding, what it makes of the sample, its likelihood, and the language that chardet supposes."""

    encoding: str
    text: str
    score: float
    language: str | None


_NO_GUESS = _Guess(_WESTERN, "", 0, None)


def _detect(data: bytes) -> str | None:
    """Return the encoding of text, or None if it is not text or the guess is not certain.

    It is doubtful if another text is about as likely; so it is by less if the text is not of the guessed language.
    """
    best, *others = _guesses(_sample(data)) or [_NO_GUESS]
    if len(data) < _LEAST:
        return None
    pages = (_WESTERN, _TURKISH)
    if best.encoding.casefold() in pages:
        if len({*_TURKISH_OR_ICELANDIC.findall(data)}) == 1:  # one letter alone may be that of a name from Iceland
            return None
        others = [one for one in others if one.encoding.casefold() not in pages]
    rival = max((one.score for one in others), default=0) / (best.score or 1)
    unconfirmed = _NEAR_WESTERN if best.encoding.casefold() == _WESTERN else _FAR
    is_told = rival <= (_NEAR if _language_of(best) == best.language else unconfirmed)
    words = len({word for word in _BREAK.split(best.text) if not word.isascii()})
    least = _LEAST_CONFIDENCE if words >= _MIN_WORDS and rival <= _FAR else _MIN_CONFIDENCE
    return best.encoding if is_told and best.score >= least else None


@lru_cache(maxsize=1)
def _guesses(sample: bytes) -> list[_Guess]:
    """Return the encodings that make text without control characters, the likeliest first, one for the same letters.

    chardet's confidence counts less by odd words: with letters of two scripts, a capital or a sign inside.
    """
    import chardet

    era = chardet.EncodingEra
    eras = era.MODERN_WEB | era.LEGACY_ISO | era.LEGACY_MAC | era.DOS
    found: dict[str, _Guess] = {}
    options = chardet.detect_all(sample, ignore_threshold=True, encoding_era=eras, exclude_encodings=_RARE)
    for one in sorted(options, key=lambda one: not str(one["encoding"]).startswith("Windows")):
        with suppress(LookupError):  # an encoding that Python lacks cannot be read either
            text = sample.decode(str(one["encoding"]), "ignore")
            rarity = _RARITY if str(one["encoding"]).startswith(_OLD) else 1
            guess = _Guess(str(one["encoding"]), text, one["confidence"] * rarity * _evenness(text), one["language"])
            letters = _NO_LETTER.sub("", text)
            if not _NO_TEXT_OF_PAGE.search(text) and (letters not in found or found[letters].score < guess.score):
                found[letters] = guess
    return sorted(_with_turkish(sample, list(found.values())), key=lambda one: -one.score)


def _evenness(text: str) -> float:
    """Return a factor that is 1 without odd words among those beyond ASCII, and 0 if half of them are odd."""
    words = Counter(word for word in _BREAK.split(text) if not word.isascii())
    odd = sum(count for word, count in words.items() if _ODD.search(word) or _has_capital_inside(word))
    return max(0, 1 - 2 * (odd + len(_ODD_ALONE.findall(text))) / max(1, words.total()))


def _has_capital_inside(word: str) -> bool:
    """Return True if a capital follows a small letter, one of them beyond ASCII: others are names in code.

    In Irish one may follow the first letter; in Cyrillic and Greek a part of a name begins with one, as in `РусГидро`.
    """
    for number, (a, b) in enumerate(pairwise(word)):
        if a.islower() and b.isupper() and not (a + b).isascii():
            begins = b >= _FIRST_GREEK and word[number + 2 : number + 3].islower()
            if not begins and (number or a not in _IRISH):
                return True
    return False


def _language_of(guess: _Guess) -> str | None:
    """Return the language of the lines beyond ASCII, None if it is not clear."""
    return detect_language("\n".join(line for line in guess.text.splitlines() if not line.isascii()))


def _with_turkish(sample: bytes, guesses: list[_Guess]) -> list[_Guess]:
    """Return guesses with the Turkish code page above the Western one if it is as likely and all letters are Turkish.

    The two differ in six letters; in a sentence of Turkish, chardet often gives both the same confidence.
    """
    score = {one.encoding.casefold(): one.score for one in guesses}
    least, most = score.get(_TURKISH, 0), 1.01 * score.get(_WESTERN, 0)
    if not _NEAR_TURKISH * most <= least <= most or not _TURKISH_OR_ICELANDIC.search(sample):
        return guesses
    is_turkish = not _NOT_TURKISH.search(sample.decode(_TURKISH, "replace"))
    return [one._replace(score=most) if is_turkish and one.encoding.casefold() == _TURKISH else one for one in guesses]


def _sample(data: bytes) -> bytes:
    """Return some lines of a text, at first those with the first byte beyond ASCII, then one with each byte they lack.

    Cut in the middle of a character, a sample would be judged as damaged; a line feed ends a character.
    """
    if len(data) <= _SAMPLE:
        return data
    found = _BEYOND_ASCII.search(data, _SAMPLE // 2)
    start = data.rfind(b"\n", 0, found.start()) + 1 if found and not _BEYOND_ASCII.search(data, 0, _SAMPLE // 2) else 0
    sample = data[start : start + _SAMPLE]
    sample = sample[: sample.rfind(b"\n") + 1] or sample
    for byte in sorted({*data.translate(None, _ASCII)} - {*sample}):
        at = data.find(bytes([byte]))
        begin, end = data.rfind(b"\n", 0, at) + 1, data.find(b"\n", at) + 1 or len(data)
        if end - begin <= _LONGEST_LINE:
            sample += data[begin:end]
    return sample


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

"""The text of a mail's author: without quotes of earlier mails, and without signatures.

There is no standard for quotes, so this goes by form, not by words: `>`, header lines in the text, lines with a colon
at the end above a quote. Forwarded text stays. The library that detects forwarded mails, quotequail 0.5, drops them,
and answers between quotes, and misses attributions in Japanese and Russian.
"""

import re
from collections.abc import Iterator, Sequence
from itertools import pairwise

_QUOTED = re.compile(r">(?!From )")  # `>From`: the mailbox format escapes a line that begins with From
_SIGNATURE = "-- "
_ANSWERED = 5  # lines; a quote above an answer is no longer
_REPLIES = "re|aw|sv|antw|odp|res|rif|回复|回覆|答复|返信"  # beginnings of the subjects of answers
_REPLY = re.compile(rf"\s*(?:{_REPLIES})\s*(?:\[\d+\])?[:：]", re.IGNORECASE)
_PREFIXES = re.compile(r"\s*(?:[^\W\d_]{1,4}\s*(?:\[\d+\])?\s*[:：]\s*)*")
_NAME = re.compile(r"[*_]{0,3}[^\W\d_][^\s:：]{0,14}(?: [^\s:：]{1,14})?\s?[:：][*_]{0,3}")
_HEADER = re.compile(_NAME.pattern + r"[ \t]*(\S.*)")
_HEADERS = 3  # lines; forwarded and answered mails begin with From, Date, Subject
_DAY = r"(?:(?<!\d)\d{4}(?!\d)|\d[./-]\d\d?[./-]\d\d)"
_TIME = r"(?<![\d.])\d\d?(?:[:.]\d\d(?![\d.])|\s?h(?:\s?\d\d)?\b|\s?Uhr\b)"
_DATE = re.compile(rf"(?=.*{_DAY}).*{_TIME}")
_OF_MAIL = re.compile(rf".*@|{_DATE.pattern}")  # an address, or a day with a time
_SENDERS = (
    "from|von|de|de la|da|fra|från|frá|van|od|lähettäjä|saatja|nuo|feladó|kimden|gönderen|dari|từ|από|от|від|מאת|من|"
    "จาก|发件人|發件人|寄件者|寄件人|差出人|送信者|보낸 ?사람"
)
_SENDER = re.compile(rf"[*_]{{0,3}}(?:{_SENDERS})[*_]{{0,3}}\s?[:：]", re.IGNORECASE)
_DIVIDER = re.compile(r"\s*(?:-{3,}[^-\n]{1,80}-{3,}|_{5,}|\*{3,})\s*$")
_WROTE = re.compile(
    r"\b(?:wrote|writes|schrieb|écrit|escribió|ha scritto|escreveu|skrev|schreef|napisał|písal)|写道", re.I
)
_DATED = re.compile(r"\b\d{4}\b|\d[:.]\d\d")


def without_quotes(text: str, subject: str, *, marked: bool = True, answers: bool = True) -> str:
    """Return the text of a mail without quotes and signatures.

    Lines that begin with `>` are quotes if they are `marked`, which HTML does not do, and the mail `answers` another:
    by its header, its subject, or a line such as `On … wrote:` above them. A quote of at most five lines with an answer
    below it stays, for the answer needs it. In an answer, by its subject, the text after the header of the earlier mail
    is a quote too.
    """
    lines = [line.rstrip("\r") for line in text.removesuffix(answered_mail(text, subject, marked=marked)).split("\n")]
    if marked and (answers or _REPLY.match(subject) or any(map(_is_attributed, _beginnings(lines)))):
        lines = list(_without_quotes(lines))
    return "\n".join(_without_signatures(lines, _without_prefixes(subject), marked=marked)).strip()


def answered_mail(text: str, subject: str, *, marked: bool = True) -> str:
    """Return the text from the header of the mail that it answers; "" without one, and if its subject answers none."""
    lines = text.split("\n")
    headers = _headers_about(_without_prefixes(subject), lines, marked=marked, answered=True)
    return "\n".join(lines[next(headers, len(lines)) :]) if _REPLY.match(subject) else ""


def begins_with_header(text: str) -> bool:
    """Return True if a text begins with the header of a mail, as forwarded text does; values may be on other lines."""
    lines = [line.strip() for line in text.split("\n") if line.strip()]
    return sum(bool(_NAME.match(line)) for line in lines[:4]) >= 2


def _headers_about(subject: str, lines: Sequence[str], *, marked: bool, answered: bool = False) -> Iterator[int]:
    """Yield the starts of headers with a subject, including the line that divides them from the text above.

    That of an `answered` mail begins with its sender, and has an address or a time: tickets have `Status: closed`. In a
    page the time is on a line below the sender.
    """
    for start, end in _headers(lines, spaced=not marked):
        if answered:
            start = next((one for one in range(start, end) if _SENDER.match(lines[one].strip())), end)
        values = [found[1] for line in lines[start:end] if (found := _HEADER.match(line.strip()))]
        is_sent = any(map(_OF_MAIL.match, values) if marked else map(_DATE.match, values[1:]))
        is_mail = not answered or (len(values) >= _HEADERS and is_sent)
        if is_mail and subject and subject in map(_without_prefixes, values):
            divider = start
            while divider and not lines[divider - 1].strip():
                divider -= 1
            yield divider - 1 if divider and _DIVIDER.match(lines[divider - 1]) else start


def _headers(lines: Sequence[str], *, spaced: bool) -> Iterator[tuple[int, int]]:
    """Yield the start and end of each header; between `spaced` lines, those of a page, are blank ones."""
    start = count = 0
    for end, line in enumerate([*map(str.strip, lines), "."]):
        if _HEADER.match(line):
            start, count = (start if count else end), count + 1
        elif line or not spaced:
            if count >= _HEADERS:
                yield start, end
            count = 0


def _without_prefixes(subject: str) -> str:
    return _PREFIXES.sub("", " ".join(subject.casefold().split()), count=1).strip("*_ ")


def _beginnings(lines: Sequence[str]) -> Iterator[str]:
    """Yield what is above each quote, on one line."""
    for number, line in enumerate(lines):
        if number and _QUOTED.match(line) and not _QUOTED.match(lines[number - 1]):
            above = [one.strip() for one in lines[max(0, number - 3) : number]]
            yield " ".join(above).strip()


def _is_attributed(above: str) -> bool:
    return above.endswith((":", "：")) and bool(_WROTE.search(above) or ("@" in above and _DATED.search(above)))


def _without_quotes(lines: Sequence[str]) -> Iterator[str]:
    kept: list[str] = []
    place = 0
    while place < len(lines):
        end = place
        while end < len(lines) and _QUOTED.match(lines[end]):
            end += 1
        if end == place:
            kept.append(lines[place])
        elif _stays(lines, place, end):
            kept += lines[place:end]
        else:
            del kept[_attribution(kept) :]
        place = max(end, place + 1)
    yield from kept


def _stays(lines: Sequence[str], start: int, end: int) -> bool:
    """Return True if lines that look like a quote are Python examples, forwarded, or answered by the next line."""
    quoted = [line.lstrip("> ") for line in lines[start:end]]
    if all(line.startswith(">>>") for line in lines[start:end]) or begins_with_header("\n".join(quoted)):
        return True
    following = (lines[number] for number in range(end, len(lines)))
    below = next((line for line in following if line.strip()), _SIGNATURE)
    return end - start <= _ANSWERED and below != _SIGNATURE and not _QUOTED.match(below)


def _attribution(lines: Sequence[str]) -> int:
    """Return the start of the lines that attribute the quote below; the number of lines if there are none."""
    last = len(lines) - 1
    if last > 0 and not lines[last].strip():
        last -= 1
    if last < 0 or not lines[last].rstrip().endswith((":", "：")):
        return len(lines)
    above = lines[last - 1].rstrip() if last else ""
    wrapped = not _DATED.search(lines[last]) and _DATED.search(above) and not above.endswith((".", "!", "?"))
    return last - 1 if wrapped else last


def _without_signatures(lines: Sequence[str], subject: str, *, marked: bool) -> Iterator[str]:
    """Yield the lines of a mail and of those that are forwarded in it, each without its signature."""
    forwarded = {number for number, line in enumerate(lines) if _DIVIDER.match(line)}
    forwarded |= set(_headers_about(subject, lines, marked=marked))
    starts = sorted({0, len(lines), *forwarded})
    for start, end in pairwise(starts):
        part = list(lines[start:end])
        if _SIGNATURE in part:
            del part[len(part) - 1 - part[::-1].index(_SIGNATURE) :]
            part.append("")
        yield from part

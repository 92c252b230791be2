"""Mailboxes: files of many mails, each after a line that begins with `From `, as mail programs and git write them."""

import re
from collections.abc import Iterator

from lightrag_dagster.readers.content import Content, Properties, UnreadableError
from lightrag_dagster.readers.formats import reasons
from lightrag_dagster.readers.images.figures import Figures
from lightrag_dagster.readers.mail import message

# The sender and a time, then a header: a sentence in a mail that begins with the word has neither.
_BEGIN = re.compile(rb"^From [^\n]{1,200}?\d:\d\d[^\n]{0,100}\n(?=>?[!-9;-~]+[ \t]*:)", re.MULTILINE)
_FLAGS = rb"(?-i:[AFTRO]*D[AFTRO]*)[ \t]*\r?$"
_MARK = rb"X-(?:Mozilla-Status: *[\da-f]{3}[89a-f]|Mozilla-Status2: *..[2367abef]|Status: *" + _FLAGS + rb")"
_DELETED = re.compile(rb"(?:[^\r\n]+\r?\n)*?" + _MARK, re.IGNORECASE | re.MULTILINE)
"""The mark of a deleted mail in its header, which Thunderbird, Dovecot and others keep until they compact the file."""

_ESCAPED = re.compile(rb"^>(>*From )", re.MULTILINE)
_MAX_REPORTED = 3  # reasons


def read(data: bytes, figures: Figures | None = None, *, attachments: bool = True) -> Content:
    """Read the mails of a mailbox in their order, each under a heading with its subject; one that cannot be is noted.

    Those that are marked as deleted are left out, and counted. Images are put into `figures`. Without `attachments`,
    only their names are in the text.
    """
    if not data.strip():
        return Content("")
    texts, subjects, left_out = list[str](), list[str](), list[str]()
    notes, count, deleted, answered = list[str](), 0, 0, 0
    for mail in mails(data):
        count += 1
        if is_deleted(mail):
            deleted += 1
            continue
        try:
            with reasons():
                content = message.read(mail, figures, attachments=attachments)
        except UnreadableError as error:
            notes.append(f"mail {count}: {error}")
            continue
        subject = content.properties.title
        text = content.text if isinstance(content.text, str) else "\n\n".join(content.text)
        texts.append(text if subject else f"# (no subject)\n\n{text}")
        subjects.append(subject or "(no subject)")
        left_out += content.left_out
        answered += content.answered
        notes += [f"mail {count}: {content.note}"] if content.note else []
    if not texts and not notes:
        return Content("", why_empty=f"all of its mails are marked as deleted: {deleted:,}")
    if not texts:
        raise UnreadableError(notes[0].partition(": ")[2])
    more = len(texts) - 1
    title = subjects[0] + (f" and {more:,} more {'mails' if more > 1 else 'mail'}" if more else "")
    shown = "; ".join(notes[:_MAX_REPORTED])
    told = [f"{len(notes):,} of {count:,} mails are not read whole: {shown}"] if notes else []
    told += [f"mails marked as deleted are left out: {deleted:,}"] if deleted else []
    note = "; ".join(told) or None
    return Content("\n\n".join(texts), Properties(title=title), note=note, left_out=tuple(left_out), answered=answered)


def is_deleted(mail: bytes) -> bool:
    """Return True for a mail that its program has marked as deleted."""
    return _DELETED.match(mail) is not None


def mails(data: bytes) -> Iterator[bytes]:
    """Yield the bytes of each mail; a file without a line between mails is one."""
    begins = [(found.start(), found.end()) for found in _BEGIN.finditer(data)]
    if not begins or data[: begins[0][0]].strip():
        begins.insert(0, (0, 0))
    ends = [start for start, _ in begins[1:]] + [len(data)]
    for (_, begin), end in zip(begins, ends, strict=True):
        yield _ESCAPED.sub(rb"\1", data[begin:end])

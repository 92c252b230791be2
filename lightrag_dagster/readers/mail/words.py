"""All text of a mail, by its parts, apart from its reader; that of attachments is checked where they are read."""

from collections.abc import Iterator
from email.message import EmailMessage
from typing import cast

from lightrag_dagster.readers.html.words import all_text
from lightrag_dagster.readers.mail import calendar
from lightrag_dagster.readers.mail.bodies import CALENDARS, file_name, joined_lines
from lightrag_dagster.readers.mail.charsets import decode_text
from lightrag_dagster.readers.mail.headers import parse_mail
from lightrag_dagster.readers.mail.mailbox import is_deleted, mails
from lightrag_dagster.readers.mail.payloads import payload


def eml(data: bytes) -> Iterator[str]:
    """Yield each text of a mail and of the mails in it, in all its forms, and what invitations say."""
    message = parse_mail(data)
    for part in cast(Iterator[EmailMessage], message.walk()):
        if part.get_content_maintype() != "text":
            continue
        kind = part.get_content_type()
        if kind not in CALENDARS and (part.get_content_disposition() == "attachment" or file_name(part)):
            continue
        text = joined_lines(part, decode_text(payload(part)[0], part.get_content_charset()).text)
        if kind in CALENDARS:
            lines = calendar.properties(text)
            yield from (one.text for one in lines if one.component in calendar.EVENTS and one.name in calendar.CONTENT)
        elif not kind.endswith("html"):
            yield text
        elif text.strip():
            yield all_text(text)


def mbox(data: bytes) -> Iterator[str]:
    """Yield each text of the mails of a mailbox."""
    for mail in mails(data):
        yield from () if is_deleted(mail) else eml(mail)

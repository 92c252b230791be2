"""Invitations are read as people see them."""

import pytest

from tests.readers.mail.raw import PLAIN, part, text_of

CALENDAR = "BEGIN:VCALENDAR\r\nMETHOD:{}\r\nBEGIN:VEVENT\r\nUID:1\r\n{}\r\nEND:VEVENT\r\nEND:VCALENDAR\r\n"
INSPECTION = r"""SUMMARY:Dam inspection
DTSTART;TZID=Europe/Berlin:20240312T090000
DTEND;TZID=Europe/Berlin:20240312T103000
LOCATION:Halden Weir\, north gate
ORGANIZER;CN="Wren, Ida":mailto:ida@example.org
ATTENDEE;PARTSTAT=ACCEPTED;CN=Per Holm:mailto:per@example.org
ATTENDEE;RSVP=TRUE:MAILTO:una@example.org
DESCRIPTION:Bring the keys.\nThe gauge at Cor
 ley is next.
BEGIN:VALARM
DESCRIPTION:Reminder
END:VALARM"""
READ = """## Dam inspection

When: 2024-03-12 09:00 to 10:30 Europe/Berlin
Where: Halden Weir, north gate
Organiser: Wren, Ida <ida@example.org>
Attendees: Per Holm <per@example.org> (accepted), una@example.org

Bring the keys.
The gauge at Corley is next."""


def event(lines: str, method: str = "REQUEST") -> str:
    return CALENDAR.format(method, lines.replace("\n", "\r\n"))


@pytest.mark.parametrize(
    "mail",
    [
        pytest.param(
            part(
                "multipart/alternative", part(PLAIN, "Come."), part("text/calendar; method=REQUEST", event(INSPECTION))
            ),
            id="F2",
        ),
        pytest.param(
            part(
                "multipart/mixed",
                part(PLAIN, "Come."),
                part("application/octet-stream", event(INSPECTION), disposition='attachment; filename="invite.ICS"'),
            ),
            id="F2-attached",
        ),
        pytest.param(
            part(
                "multipart/mixed",
                part("multipart/alternative", part(PLAIN, "Come."), part("text/calendar", event(INSPECTION))),
                part("application/ics; name=invite.ics", event(INSPECTION), disposition="attachment"),
            ),
            id="F2-twice",
        ),
    ],
)
def test_an_invitation_is_a_section(mail: bytes) -> None:
    assert text_of(mail) == f"Come.\n\n{READ}"


@pytest.mark.parametrize(
    ("lines", "when"),
    [
        ("DTSTART:20240312T090000Z", "When: 2024-03-12 09:00 UTC"),
        ("DTSTART:20240312T090000", "When: 2024-03-12 09:00"),
        ("DTSTART;VALUE=DATE:20240312\nDTEND;VALUE=DATE:20240313", "When: 2024-03-12"),
        ("DTSTART;VALUE=DATE:20240312\nDTEND;VALUE=DATE:20240315", "When: 2024-03-12 to 2024-03-14"),
        ("DTSTART:20240312T230000Z\nDURATION:PT2H30M", "When: 2024-03-12 23:00 UTC to 2024-03-13 01:30 UTC"),
        (
            "DTSTART;TZID=Europe/Berlin:20240312T090000\nDTEND:20240312T090000Z\nRRULE:FREQ=WEEKLY;COUNT=4",
            "When: 2024-03-12 09:00 Europe/Berlin to 2024-03-12 09:00 UTC\nRepeats: every week, 4 times",
        ),
        ("DTSTART:next week", "When: next week"),
        ("DUE:20240312T090000Z\nSTATUS:CONFIRMED", "When: until 2024-03-12 09:00 UTC\nStatus: confirmed"),
        ("DTSTART:00010101T000000\nDURATION:P99999W", "When: 0001-01-01 00:00 to 1917-07-09 00:00"),
        ("DTSTART:99990101T000000\nDURATION:P99999W", "When: 9999-01-01 00:00"),
    ],
)
def test_the_time_of_an_event(lines: str, when: str) -> None:
    calendar = part("text/calendar", event(f"SUMMARY:Dam\n{lines}"))
    assert text_of(calendar) == f"## Dam\n\n{when}"


@pytest.mark.parametrize(
    ("rule", "words"),
    [
        ("FREQ=WEEKLY", "every week"),
        ("freq=daily;interval=1", "every day"),
        ("FREQ=MONTHLY;INTERVAL=3;UNTIL=20251231T235959Z", "every 3 months, until 2025-12-31"),
        ("FREQ=WEEKLY;WKST=MO;BYDAY=MO,WE;INTERVAL=2", "every 2 weeks on Monday, Wednesday"),
        ("FREQ=YEARLY;COUNT=5", "every year, 5 times"),
        ("FREQ=MONTHLY;BYDAY=-1FR", "FREQ=MONTHLY;BYDAY=-1FR"),
        ("FREQ=YEARLY;BYMONTH=3", "FREQ=YEARLY;BYMONTH=3"),
        ("FREQ=HOURLY", "FREQ=HOURLY"),
        ("FREQ=DAILY;UNTIL=soon", "FREQ=DAILY;UNTIL=soon"),
        ("often", "often"),
    ],
)
def test_a_simple_rule_of_repetition_is_in_words(rule: str, words: str) -> None:
    assert text_of(part("text/calendar", event(f"SUMMARY:Dam\nRRULE:{rule}"))) == f"## Dam\n\nRepeats: {words}"


@pytest.mark.parametrize("name", ['"Holm, Per"', "Holm, Per", r"Holm\, Per"])
def test_a_name_may_have_a_comma(name: str) -> None:
    mail = part("text/calendar", event(f"SUMMARY:Dam\nATTENDEE;CN={name}:mailto:per@example.org"))
    assert text_of(mail) == "## Dam\n\nAttendees: Holm, Per <per@example.org>"


def test_a_cancelled_event_says_so() -> None:
    mail = part("text/calendar; method=CANCEL", event("SUMMARY:Dam\nSTATUS:CANCELLED", "CANCEL"))
    assert text_of(mail) == "## Dam\n\nStatus: cancelled"


def test_a_calendar_without_events_is_text() -> None:
    mail = part(
        "multipart/mixed", part(PLAIN, "See."), part("text/calendar; name=a.ics", "BEGIN:VCALENDAR\nEND:VCALENDAR")
    )
    assert text_of(mail) == "See.\n\n## a.ics\n\nBEGIN:VCALENDAR\nEND:VCALENDAR"

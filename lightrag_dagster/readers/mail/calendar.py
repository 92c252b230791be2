"""Invitations: the events and tasks of a calendar part, as people read them."""

import calendar
import datetime
import re
from collections.abc import Iterator
from contextlib import suppress
from typing import NamedTuple

_FOLD = re.compile(r"\r?\n[ \t]")
_LINE = re.compile(r'([A-Za-z0-9-]+)((?:;[^=:;]+=(?:"[^"]*"|[^";:])*)*):(.*)')
_PARAMETER = re.compile(r';([^=]+)=("[^"]*"|[^;]*)')
_ESCAPE = re.compile(r"\\(.)")
_TIME = re.compile(r"(\d{4})(\d\d)(\d\d)(?:T(\d\d)(\d\d)(\d\d)?(Z?))?")
_DURATION = re.compile(r"\+?P(?:(\d{1,5})W)?(?:(\d{1,5})D)?(?:T(?:(\d{1,5})H)?(?:(\d{1,5})M)?(?:(\d{1,5})S)?)?")
EVENTS = {"VEVENT", "VTODO", "VJOURNAL"}
"""The components that are shown; a reminder is not."""

_LINES = {
    "LOCATION": "Where",
    "ORGANIZER": "Organiser",
    "ATTENDEE": "Attendees",
    "STATUS": "Status",
    "RRULE": "Repeats",
    "CATEGORIES": "Categories",
    "URL": "Link",
    "CONTACT": "Contact",
    "RESOURCES": "Resources",
}
_UNITS = {"DAILY": "day", "WEEKLY": "week", "MONTHLY": "month", "YEARLY": "year"}
_DAYS = dict(zip(("MO", "TU", "WE", "TH", "FR", "SA", "SU"), calendar.day_name, strict=True))
_PEOPLE = ("ORGANIZER", "ATTENDEE")
_ANSWERS = ("ACCEPTED", "DECLINED", "TENTATIVE", "DELEGATED")
_BELOW = ("DESCRIPTION", "COMMENT")
CONTENT = ("SUMMARY", "LOCATION", *_BELOW)
"""The properties that are written for people."""


class Property(NamedTuple):
    """A line of a calendar: the component it is of, its name, its parameters, and its value as it is written."""

    component: str
    name: str
    parameters: dict[str, str]
    value: str

    @property
    def text(self) -> str:
        """The value without escapes."""
        return _ESCAPE.sub(lambda found: "\n" if found[1] in "nN" else found[1], self.value).strip()


def read(text: str, level: int) -> list[str]:
    """Return each event of a calendar as Markdown: its summary as heading, its time, place, people and description."""
    events, method = list[list[Property]](), ""
    for one in properties(text):
        if one.name == "BEGIN":
            if one.value.upper() in EVENTS:
                events.append([])
        elif one.name == "METHOD":
            method = one.value.strip().upper()
        elif one.component in EVENTS:
            events[-1].append(one)
    cancelled = ["Status: cancelled"] if method == "CANCEL" else []
    return [_event(event, level, cancelled) for event in events]


def properties(text: str) -> Iterator[Property]:
    """Yield the lines of a calendar that have a name and a value."""
    inside = [""]
    for line in _FOLD.sub("", text).splitlines():
        found = _LINE.match(line.strip("\ufeff"))
        if found is None:
            continue
        name, value = found[1].upper(), found[3]
        if name == "BEGIN":
            inside.append(value.strip().upper())
        parameters = {key.upper(): _ESCAPE.sub(r"\1", said.strip('"')) for key, said in _PARAMETER.findall(found[2])}
        yield Property(inside[-1], name, parameters, value.strip() if name in ("BEGIN", "END") else value)
        if name == "END" and len(inside) > 1:
            inside.pop()


def _event(event: list[Property], level: int, status: list[str]) -> str:
    by_name: dict[str, list[Property]] = {}
    for one in event:
        by_name.setdefault(one.name, []).append(one)
    lines = [f"When: {when}"] if (when := _when(by_name)) else []
    for name, label in _LINES.items():
        write = _person if name in _PEOPLE else _repeats if name == "RRULE" else _on_a_line
        said = [write(one) for one in by_name.get(name, ())]
        if name == "STATUS":
            said = [one.lower() for one in said] if not status else []
        if any(said):
            lines.append(f"{label}: {', '.join(filter(None, said))}")
    summary = " ".join(one.text for one in by_name.get("SUMMARY", ())) or "Invitation"
    below = [one.text for name in _BELOW for one in by_name.get(name, ())]
    heading = f"{'#' * min(level, 6)} {' '.join(summary.split())}"
    return "\n\n".join(filter(None, (heading, "\n".join([*lines, *status]), *below)))


def _on_a_line(one: Property) -> str:
    return " ".join(one.text.split())


def _repeats(one: Property) -> str:
    """Return a simple rule in words, such as `every 2 weeks on Monday, 4 times`; any other as it is written."""
    said = dict(part.split("=", 1) for part in one.value.strip().upper().split(";") if "=" in part)
    unit, every, times = (said.pop(name, "") for name in ("FREQ", "INTERVAL", "COUNT"))
    days = [_DAYS.get(day, "") for day in said.pop("BYDAY", "").split(",") if day]
    until = _TIME.match(last) if (last := said.pop("UNTIL", "")) else None
    said.pop("WKST", None)  # the first day of a week
    if said or unit not in _UNITS or not all(days) or (last and not until):
        return one.value.strip()
    words = f"every {every} {_UNITS[unit]}s" if every not in ("", "1") else f"every {_UNITS[unit]}"
    words += f" on {', '.join(days)}" if days else ""
    words += f", {times} times" if times else ""
    return words + (f", until {'-'.join(until.groups()[:3])}" if until else "")


def _person(one: Property) -> str:
    address = re.sub("^mailto:", "", one.text, flags=re.IGNORECASE)
    name = one.parameters.get("CN", "")
    shown = f"{name} <{address}>" if name and name != address else address
    answer = one.parameters.get("PARTSTAT", "").upper()
    return f"{shown} ({answer.lower()})" if answer in _ANSWERS else shown


def _when(event: dict[str, list[Property]]) -> str:
    """Return the time of an event with the zone that it names; the day of its end is left out if it is the same."""
    begin, end, due = (next(iter(event.get(name, ())), None) for name in ("DTSTART", "DTEND", "DUE"))
    last = end or due or begin
    if last is None:
        return ""
    start, until = _moment(begin), _moment(end or due)
    if start is None or begin is None:
        return f"until {_shown(until, last)}" if until else last.value
    if until is None:
        until = _after(start, event)
    is_day = not isinstance(until, datetime.datetime)
    is_comparable = _zone(begin) == _zone(last)
    if until is None or is_day == isinstance(start, datetime.datetime) or (is_comparable and until <= start):
        return _shown(start, begin)
    if is_day and end:  # a whole day ends before the next
        until -= datetime.timedelta(days=1)
        if until == start:
            return _shown(start, begin)
    if not is_day and is_comparable and until.isoformat()[:10] == start.isoformat()[:10]:
        return f"{_written(start)} to {until:%H:%M}{_zone(begin)}"
    return f"{_shown(start, begin)} to {_shown(until, last)}"


def _after(start: datetime.date, event: dict[str, list[Property]]) -> datetime.date | None:
    """Return the end of an event that has a duration."""
    found = next((_DURATION.fullmatch(one.value.strip()) for one in event.get("DURATION", ())), None)
    if found is None:
        return None
    weeks, days, hours, minutes, seconds = (int(one or 0) for one in found.groups())
    with suppress(OverflowError):
        return start + datetime.timedelta(weeks * 7 + days, seconds, hours=hours, minutes=minutes)
    return None


def _moment(one: Property | None) -> datetime.date | None:
    found = _TIME.match(one.value.strip()) if one else None
    if found is None:
        return None
    with suppress(ValueError):
        day = datetime.date(*map(int, found.groups()[:3]))
        return datetime.datetime(day.year, day.month, day.day, int(found[4]), int(found[5])) if found[4] else day
    return None


def _zone(one: Property) -> str:
    """Return the zone of a time as it is named, with a space before it; "" for a local time or a day."""
    zone = "UTC" if one.value.strip().upper().endswith("Z") else one.parameters.get("TZID", "")
    return f" {zone}" if zone else ""


def _shown(moment: datetime.date, one: Property) -> str:
    return f"{_written(moment)}{_zone(one) if isinstance(moment, datetime.datetime) else ''}"


def _written(moment: datetime.date) -> str:
    return moment.isoformat(" ", "minutes") if isinstance(moment, datetime.datetime) else moment.isoformat()

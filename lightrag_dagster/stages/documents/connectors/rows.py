"""Rows of a table: each is a document, a Markdown or HTML text made from its columns."""

import datetime
import decimal
import errno
import json
import re
import string
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from email.utils import parsedate_to_datetime
from typing import Any, ClassVar

import yaml

from lightrag_dagster.core.identity import digest
from lightrag_dagster.settings.sources import RowsSettings
from lightrag_dagster.stages.documents.connectors.access import Cell, access_of
from lightrag_dagster.stages.documents.connectors.origin import EPOCH, ListedFile, shown, unusable, warn_once
from lightrag_dagster.stages.documents.connectors.tables import Row, RowSource
from lightrag_dagster.stages.facts.columns import FACTS_FOLLOW, fact_lines
from lightrag_dagster.stages.facts.dates import read_date

SUFFIXES = {"markdown": ".md", "html": ".html"}
_GROUP = 3
"""Digits of a group of thousands."""
_MOST_DIGITS = 100  # before or after the point of an exact number that is written without a power of ten
_NONE = re.compile(r"(?i:null|none|na[nt]|n/?a|[-0:. t]*)")
_IN_DIGITS = re.compile(r"^((?:19|20)\d{6})(\d{4}|\d{6})$")  # 202403041030
_OF_MAIL = re.compile(r".*[A-Za-z]{3} .* (GMT|[-+]\d{4})")  # Python passes over other zones, as CET or PM
_SINCE_1970 = re.compile(r"(\d{9,13}|\d{16})(\.\d+)?")  # seconds; of over ten digits, milli- or microseconds
_BREAKS = re.compile(r"[\b\f\n\r\t]+")
_RAW = re.compile(r'"\\u0000([-+.\w]+)\\u0000"')
_BEGINS = re.compile(r"[\ufeff \t\r\n]*(---|\+\+\+)")
"""The begin of a text that may have front matter."""

_NO_TEXT = "its bytes are not UTF-8; convert the column in rows.query, or leave it out"
_PROPERTIES = ("title", "author", "date", "tags", "language")


@dataclass(frozen=True)
class RowDocuments:
    """The rows of a table as documents. Their properties, such as a title, become the front matter of their text."""

    source: str
    table: RowSource
    columns: RowsSettings
    access: Mapping[str, str]
    at_once: ClassVar[int] = 1

    @property
    def name(self) -> str:
        """See `Origin.name`."""
        return self.table.name

    def files(self) -> Iterator[ListedFile]:
        """See `Origin.files`."""
        yield from map(self.document, self.table.rows())

    def read(self, listed: ListedFile, most: int) -> bytes:
        """See `Origin.read`."""
        if listed.content is None:
            raise OSError(errno.ENODATA, "its row was read before, and is not kept; run backfill --source to read all")
        return listed.content[:most]

    def document(self, row: Row) -> ListedFile:
        """Return the document of a row; raises OSError for one without a column that is needed."""
        try:
            return self._listed(row)
        except KeyError as error:
            known = ", ".join(map(str, row))
            told = f"its rows have no column {error}; there are {known}"
            named = "; `rows.id` names the one that tells rows apart" if error.args == ("id",) else ""
            raise OSError(errno.EINVAL, told + named) from error
        except UnicodeDecodeError as error:
            raise OSError(errno.EINVAL, f"the id or an access of a row: {_NO_TEXT}") from error

    def _listed(self, row: Row) -> ListedFile:
        path, columns = as_text(row[self.columns.id]).strip("/"), self.columns
        if not path:
            raise OSError(errno.EINVAL, f"a row has no {columns.id}, which names its document")
        kind, refused = SUFFIXES[columns.format], unusable(path)
        try:
            data = self._document(row).encode("utf-8", "replace")
        except UnicodeDecodeError:
            data, refused = b"", _NO_TEXT
        access = access_of(self.access, shown(path), lambda column: _cell(row[column]))
        return ListedFile(
            path=shown(path),
            place="",
            size=len(data),
            modified_at=self._modified(row, columns.modified) if columns.modified else EPOCH,
            stamp=digest(" ".join(filter(None, (kind, columns.modified))), data.decode(), *access),
            stamp_is_stable=True,
            refused=refused,
            kind=kind,
            content=data,
            access=access,
        )

    def _modified(self, row: Row, column: str) -> datetime.datetime:
        """Return the time of a row; 1970, with a warning, if it cannot be read: that costs no document."""
        try:
            return _time(as_text(row[column]).strip())
        except (ValueError, OverflowError):
            why = f"its column {column} has values that cannot be read as times, and are left out"
            warn_once(f"source {self.source!r}: {why}; write 2024-03-04T10:00")
            return EPOCH

    def _document(self, row: Row) -> str:
        templates = {name: template for name in _PROPERTIES if (template := getattr(self.columns, name)) is not None}
        said: dict[str, Cell] = {name: value for name, one in templates.items() if (value := _filled(one, row))}
        if (day := read_date(str(said.get("date", "")))) and day[1] == "day":
            said["date"] = day[0].isoformat()
        if isinstance(tags := _cell(row.get(templates.get("tags", "").strip("{}"))), list):
            said["tags"] = tags  # each as it stands: with commas between, one of them could become two
        signs: set[str | None] = {one.decimal for one in self.columns.facts}
        cells = {sign: {name: with_sign(value, sign) for name, value in row.items()} for sign in signs}
        stated = fact_lines(self.columns.facts, lambda template, sign: _filled(template, cells[sign]))
        if self.columns.format == "html":  # whose paragraphs they are
            stated = "\n\n".join(" ".join(line.split()) for line in stated.splitlines())
        text = _filled(self.columns.text, row) + (f"{FACTS_FOLLOW.decode()}{stated}" if self.columns.facts else "")
        if not said and _BEGINS.match(text) and not _BEGINS.match(self.columns.text):
            said = {"published": "true"}  # so that what a cell begins with is text, and sets no tags
        return f"---\n{yaml.safe_dump(said, allow_unicode=True, sort_keys=False)}---\n\n{text}" if said else text


def _filled(template: str, row: Row) -> str:
    """Return a template with its columns, in braces, filled in; without braces it is a column."""
    parts = list(string.Formatter().parse(template))
    if not any(column is not None for _, column, _, _ in parts):
        return as_text(row[template])
    return "".join(text + (as_text(row[column]) if column is not None else "") for text, column, _, _ in parts)


def with_sign(value: Any, decimal_sign: str | None) -> Any:
    """Return a number as text with the decimal sign of its column, if that has one.

    Without one, a number with three decimals gets a fourth: in prose 1.234 may be 1234, which a number never is.
    """
    if not isinstance(value, float | decimal.Decimal):
        return value
    said = as_text(value)
    if decimal_sign:
        return said.replace(".", decimal_sign)
    return f"{said}0" if len(said.partition(".")[2]) == _GROUP else value


def _cell(value: Any) -> Cell:
    return [*map(as_text, value)] if isinstance(value, list | tuple) else as_text(value)


def as_text(value: Any) -> str:
    """Return a cell as text, a structure as JSON; exact numbers keep their digits. Raises UnicodeDecodeError."""
    if value is None or value != value:  # NaN
        return ""
    if isinstance(value, str):
        return value
    if isinstance(value, bytes | bytearray | memoryview):  # the last by psycopg2
        return bytes(value).decode()
    if isinstance(value, datetime.date):
        return value.isoformat()
    if isinstance(value, decimal.Decimal) and abs(value.adjusted()) < _MOST_DIGITS:
        return f"{value:f}"  # 0E-10 of a column with ten decimals
    if isinstance(value, list | tuple) and all(isinstance(one, str) for one in value):
        return ", ".join(value)
    if isinstance(value, bool | list | dict | tuple):
        return _RAW.sub(r"\1", json.dumps(_as_json(value), ensure_ascii=False))
    return str(value)


def _as_json(value: Any) -> Any:
    """Return a value, whose keys are texts in JSON; in place of an exact number, a mark by which its digits stay."""
    if isinstance(value, dict):
        return {as_text(key): _as_json(one) for key, one in value.items()}
    if isinstance(value, list | tuple):
        return [_as_json(one) for one in value]
    if isinstance(value, decimal.Decimal):
        return f"\0{as_text(value)}\0"
    if isinstance(value, str):
        return _BREAKS.sub(" ", value)  # whose escapes would be letters at the next word
    return value if value is None or isinstance(value, bool | int | float) else as_text(value)


def _time(text: str) -> datetime.datetime:
    """Return the time that a text is, UTC if it has no time zone, 1970 of none; raises ValueError or OverflowError."""
    if _NONE.fullmatch(text):
        return EPOCH
    text = _IN_DIGITS.sub(r"\1T\2", text.removesuffix(" UTC"))
    if since_1970 := _SINCE_1970.fullmatch(text):
        return EPOCH + datetime.timedelta(seconds=float(text) / 1000 ** ((len(since_1970[1]) - 8) // 3))
    if _OF_MAIL.fullmatch(text):
        found = parsedate_to_datetime(text)
    elif ":" not in text and (day := read_date(text)) and day[1] == "day":  # which knows no hours
        found = datetime.datetime.combine(day[0], datetime.time())
    else:
        found = datetime.datetime.fromisoformat(text.replace(" +", "+").replace(" -", "-"))
    return found.astimezone(datetime.UTC) if found.tzinfo else found.replace(tzinfo=datetime.UTC)

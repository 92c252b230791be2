"""Rows with a watermark: a column that grows with every change, so that only rows from its highest value on are read.

A listing has no row that is gone for certain, so none is ever taken for deleted.
"""

import errno
import json
import logging
import math
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from datetime import MAXYEAR, UTC, date, datetime, timedelta
from decimal import Decimal
from typing import Any

import pyarrow as pa

from lightrag_dagster.core.identity import digest
from lightrag_dagster.settings import SourceSettings
from lightrag_dagster.stages.documents.connectors.origin import Incremental, ListedFile
from lightrag_dagster.stages.documents.connectors.rows import RowDocuments
from lightrag_dagster.stages.documents.connectors.tables import From, Row

_log = logging.getLogger(__name__)
_KINDS: dict[str, Callable[[str], Any]] = {
    "int": int,
    "float": float,
    "Decimal": Decimal,
    "datetime": datetime.fromisoformat,
    "date": date.fromisoformat,
    "str": str,
}
_TIME = re.compile(r"\d{4}-\d\d-\d\d([ T]\d\d:\d\d(:\d\d(\.\d+)?)?(Z|\+00:?00)?)?")


@dataclass(frozen=True)
class Watermarked(RowDocuments, Incremental):
    """The rows of a table whose column `watermark` grows with every change."""

    watermark: str
    settings: SourceSettings

    def since(self, before: Mapping[str, str]) -> "NewerRows":
        """See `Incremental.since`."""
        return NewerRows(self, before)


class NewerRows:
    """A listing of the rows from the highest watermark of an earlier one on, and of those without one; see `Since`.

    `state` has the highest watermark, and a hash of the rows that have it or none: these may change unnoticed by it.
    """

    def __init__(self, origin: Watermarked, before: Mapping[str, str]) -> None:
        settings = digest(*origin.settings.said)
        self.state = {"settings": settings}
        self._origin = origin
        self._before = before.get("watermark") if before.get("settings") == settings else None
        self._paths = set[str]()

    def files(self) -> Iterator[ListedFile]:
        """See `Since.files`."""
        column, highest = self._origin.watermark, _value(self._before)
        at_highest, without, kind = list[str](), list[str](), _kind(highest)
        for row in self._origin.table.rows(From(column, highest)):
            document = self._origin.document(row)
            value = _compared(row, column)
            facts = digest(document.path, document.stamp)
            if value is None:
                without.append(facts)
            else:
                kind = _same_kind(column, value, kind)
                if highest is None or value > highest:
                    highest, at_highest = value, []
                if value == highest:
                    at_highest.append(facts)
            if self._before is not None:  # else no row of an earlier listing is compared
                self._paths.add(document.path)
            yield document
        if _is_ahead(highest):
            _log.warning(
                "the watermark %s of %s is at %s, which is to come: rows before it are not seen until a backfill",
                column,
                self._origin.name,
                highest,
            )
        if highest is not None:
            self.state["watermark"] = json.dumps([type(highest).__name__, str(highest)])
        self.state["rows"] = digest(sorted(at_highest), sorted(without))

    def keeps(self, paths: pa.Array) -> pa.Array:
        """See `Since.keeps`."""
        return pa.array([self._before is not None and one not in self._paths for one in paths.to_pylist()], pa.bool_())


def _compared(row: Row, column: str) -> Any:
    """Return the watermark of a row, None for one that compares with nothing; raises OSError without the column."""
    if column not in row:
        raise OSError(errno.EINVAL, f"its rows have no column {column!r}; there are {', '.join(map(str, row))}")
    value = row[column]
    if value in (math.inf, -math.inf) or getattr(value, "year", 0) == MAXYEAR:
        raise OSError(
            errno.EINVAL, f"its watermark {column} has {value}, above all that may come; leave it out in rows.query"
        )
    return value if value == value else None  # NaN


def _is_ahead(value: Any) -> bool:
    """Say whether a watermark is a time that is more than a day ahead."""
    day = value if isinstance(value, str) else value.isoformat() if isinstance(value, date) else ""
    return day[:10] > (datetime.now(UTC) + timedelta(days=1)).date().isoformat()


def _value(stored: str | None) -> Any:
    if stored is None:
        return None
    kind, text = json.loads(stored)
    return _KINDS[kind](text)


def _kind(value: Any) -> str:
    """Return what values have in common that can be compared: the type, of a time whether it has a zone or its form."""
    if isinstance(value, str):
        return re.sub(r"\.0+$", "", re.sub(r"\d", "0", value))
    zone = isinstance(value, datetime) and value.tzinfo is not None
    return f"{type(value).__name__}{' with a zone' if zone else ''}" if value is not None else ""


def _same_kind(column: str, value: Any, kind: str) -> str:
    """Return the kind of a value; raises OSError if it cannot be compared, or not with values of another kind.

    Text is compared as such, and `9` is more than `10`; so it has to be a time in UTC, all of them in the same form.
    """
    now = _kind(value)
    if type(value).__name__ not in _KINDS or (isinstance(value, str) and not _TIME.fullmatch(value)):
        reason = f"its watermark {column} has a {type(value).__name__}, no UTC time; name a column of numbers or times"
    elif kind and now != kind:
        reason = f"its watermark {column} has values of several forms, such as {value!r}; give it one by rows.query"
    else:
        return now
    raise OSError(errno.EINVAL, reason)

"""Sources of rows: CSV, JSON Lines and Parquet files, a DuckDB file, any database of SQLAlchemy."""

import datetime
import decimal
import errno
import json
import os
import re
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from itertools import chain, islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from lightrag_dagster.errors import one_line
from lightrag_dagster.settings.sources import PARTITION
from lightrag_dagster.stages.documents.connectors.bucket import Bucket
from lightrag_dagster.stages.documents.connectors.folder import LocalFolder
from lightrag_dagster.stages.documents.connectors.origin import warn_once
from lightrag_dagster.storage.duckdb import in_memory, open_duckdb, quoted_name

if TYPE_CHECKING:
    import duckdb

_ROWS_AT_ONCE = 1_000
# Bytes of a line: as documents.max_bytes is, if nothing else is set.
_OF_CSV = "all_varchar = true, comment = '', max_line_size = 20000000, buffer_size = 40000000"
ROW_FILES = {
    ".csv": f"read_csv($file, {_OF_CSV})",
    ".tsv": f"read_csv($file, {_OF_CSV})",
    ".jsonl": "read_ndjson_objects($file)",
    ".ndjson": "read_ndjson_objects($file)",
    ".parquet": "read_parquet($file)",
}
"""DuckDB's function that reads the rows of a file, by its suffix."""

_CSV, _JSON = (".csv", ".tsv"), (".jsonl", ".ndjson")
_DELIMITERS = b",;\t|"
_HINTS = re.compile(" Possible | The search space ")
"""The begin of what DuckDB says of its own options."""

_CAUSES = "Maximum line size|Expected Number of Columns|Value with unterminated|Invalid unicode"
_LINE = re.compile(rf"\nOriginal Line: (.*(?=\n({_CAUSES}))|.*)", re.DOTALL)
"""The part of a message in which DuckDB shows the line, before the cause."""

_END = re.compile(r";\s*(--[^\n]*\s*)*$")
"""The end of a statement, with comments after it."""

Row = Mapping[str, Any]


class From(NamedTuple):
    """A part of a table: rows whose column has at least a value, or none; all rows without a value."""

    column: str
    value: Any

    def of(self, query: str, column: str, value: str) -> str:
        """Return the SQL of this part of a query's rows, with the column and the value as SQL has them."""
        one = _END.sub("", query.rstrip())  # the line's end is that of a comment
        return f"SELECT * FROM (\n{one}\n) AS every_row WHERE {column} >= {value} OR {column} IS NULL"

    def has(self, row: Row) -> bool:
        """Say whether a row is in it; raises OSError for values of other types than its own."""
        value = row.get(self.column)
        try:
            return bool(self.value is None or value is None or value >= self.value)
        except TypeError as error:
            mixed = f"values of type {type(value).__name__}, which do not compare with {self.value!r}"
            raise OSError(errno.EINVAL, f"its column {self.column} has {mixed}") from error


class RowSource(Protocol):
    """A source of rows; raises OSError when they cannot be read."""

    @property
    def name(self) -> str:
        """The table in words, without secrets."""

    def rows(self, part: From | None = None) -> Iterator[Row]:
        """Yield column → value of every row, or of those of a part."""


@dataclass(frozen=True)
class TableFiles:
    """The rows of CSV, JSON Lines or Parquet files: one file, or those below a folder or in a bucket."""

    place: LocalFolder | Bucket

    @property
    def name(self) -> str:
        """See `RowSource.name`."""
        return self.place.name

    def rows(self, part: From | None = None) -> Iterator[Row]:
        """See `RowSource.rows`."""
        found = sorted(self.place.files(), key=lambda one: one.path)
        if refused := next((one for one in found if one.refused), None):
            raise OSError(errno.EPERM, f"{refused.path}: {refused.refused}; copy the file, or exclude it")
        is_file = isinstance(self.place, LocalFolder) and self.place.root.is_file()
        for one in found:
            with self.place.at_hand(one) as path:
                yield from _rows_of_file(self.name if is_file else f"{self.name}/{one.path}", path, part)


@dataclass(frozen=True)
class DuckDBQuery:
    """The rows of a query of a DuckDB file, which is opened for reading; `values` are those of a partition."""

    file: Path
    query: str
    values: Mapping[str, str] = field(default_factory=dict)

    @property
    def name(self) -> str:
        """See `RowSource.name`."""
        return str(self.file)

    def rows(self, part: From | None = None) -> Iterator[Row]:
        """See `RowSource.rows`."""
        with self.open() as connection:
            yield from _rows(connection, *_bound(self.query, self.values, "$"), part)

    def open(self) -> "duckdb.DuckDBPyConnection":
        """Open the file, which takes longer than most queries, except while it is open already; raises OSError."""
        import duckdb

        if not self.file.is_file():
            raise FileNotFoundError(errno.ENOENT, "there is no such file")
        try:
            return open_duckdb(self.file)
        except duckdb.Error as error:
            raise OSError(errno.EIO, one_line(error)) from error


@dataclass(frozen=True)
class SQLQuery:
    """The rows of a query of a database, whose SQLAlchemy URL is in an environment variable.

    `values` are those of a partition.
    """

    variable: str
    query: str
    values: Mapping[str, str] = field(default_factory=dict)

    @property
    def name(self) -> str:
        """See `RowSource.name`."""
        return f"the database of {self.variable}"

    def rows(self, part: From | None = None) -> Iterator[Row]:
        """See `RowSource.rows`."""
        import sqlalchemy
        from sqlalchemy.exc import ArgumentError, SQLAlchemyError

        url = os.environ.get(self.variable)
        if not url:
            raise OSError(errno.EINVAL, f"the environment variable {self.variable} is not set")
        try:
            engine = sqlalchemy.create_engine(url, poolclass=sqlalchemy.NullPool)
        except (ArgumentError, ImportError, ValueError) as error:
            reason = one_line(error) if isinstance(error, ImportError) else "it is not a URL of SQLAlchemy"
            raise OSError(errno.EINVAL, f"{self.variable}: {reason}") from None
        file = engine.url.database if engine.dialect.name == "sqlite" else None
        if file and file != ":memory:" and not file.startswith("file:") and not Path(file).exists():
            raise FileNotFoundError(errno.ENOENT, f"there is no file {file}")  # which SQLite would make
        password = engine.url.password
        query, values = _bound(self.query, self.values, ":")
        if part and part.value is not None:
            column = engine.dialect.identifier_preparer.quote(part.column)
            query, values = part.of(query, column, ":least"), values | {"least": part.value}
        try:
            with engine.connect().execution_options(yield_per=_ROWS_AT_ONCE) as connection:
                result = connection.execute(sqlalchemy.text(query), values)
                _require_distinct(list(result.keys()))
                yield from map(dict, result.mappings())
        except SQLAlchemyError as error:
            reason = one_line(getattr(error, "orig", None) or error)
            raise OSError(errno.EIO, reason.replace(password, "***") if password else reason) from None
        finally:
            engine.dispose()


def _bound(query: str, values: Mapping[str, str], mark: str) -> tuple[str, dict[str, Any]]:
    """Return a query with parameters in place of a partition's key or its dimensions, and their values."""
    names = {found[0]: "_".join(filter(None, ("partition", found[1]))) for found in PARTITION.finditer(query)}
    bound = {names[found[0]]: values[found[1] or ""] for found in PARTITION.finditer(query)}
    return PARTITION.sub(lambda found: mark + names[found[0]], query), bound


def _require_distinct(names: list[str]) -> None:
    """Check that each column has a name of its own, since a template would be of either; raises OSError."""
    if twice := _repeated(names):
        raise OSError(errno.EINVAL, f"its rows have several columns {twice[0]!r}; name them apart in rows.query, by AS")


def _repeated(names: list[str]) -> list[str]:
    return sorted(name for name, count in Counter(names).items() if name and count > 1)


def _rows_of_file(name: str, path: Path, part: From | None) -> Iterator[Row]:
    suffix = Path(name).suffix.lower()
    reader = ROW_FILES.get(suffix)
    if reader is None:
        raise OSError(errno.EINVAL, f"{name} has no rows; include only {', '.join(ROW_FILES)}")
    if suffix != ".parquet" and not path.stat().st_size:
        return  # as of a day without rows; there is no column to compare either
    with in_memory() as connection:
        try:
            if suffix in _CSV:
                if repeated := _repeated(_names_of_csv(path)[2]):
                    said = f"files of rows in {Path(name).parent} have several columns {', '.join(map(repr, repeated))}"
                    others = f"the others as {', '.join(f'{one}_1' for one in repeated)} and so on"
                    warn_once(f"{said}: a template finds the first of each under that name, and {others}, as in ", name)
                yield from _rows_of_csv(connection, path, part)
            elif suffix in _JSON:
                yield from _rows_of_json(connection, path, part)
            else:
                rows = _rows(connection, f"SELECT * FROM {reader}", {"file": str(path)}, part)
                yield from _in_their_zones(path, rows)
        except OSError as error:
            raise OSError(error.errno, f"{name}: {error.strerror}".replace(str(path), name)) from error


def _in_their_zones(path: Path, rows: Iterator[Row]) -> Iterator[Row]:
    """Yield rows of a Parquet file with times in the zone that it names for their column, where DuckDB has UTC."""
    first = [*islice(rows, 1)]  # DuckDB says what is wrong with a file
    named = ((one.name, one.type.tz) for one in pq.read_schema(path) if pa.types.is_timestamp(one.type) and one.type.tz)
    try:
        zones = {name: pa.lib.string_to_tzinfo(zone) for name, zone in named}
    except (KeyError, ValueError) as error:
        raise ValueError(f"a column has times in the zone {one_line(error)}, which is not known") from error
    for row in chain(first, rows):
        yield {**row} | {name: _in_zone(row[name], zone) for name, zone in zones.items() if row[name] is not None}


def _in_zone(value: datetime.datetime, zone: datetime.tzinfo) -> datetime.datetime:
    try:
        return value.astimezone(zone)
    except OverflowError:  # as of the year 9999, by which tables write an open end
        return value


def _rows_of_csv(connection: "duckdb.DuckDBPyConnection", path: Path, part: From | None) -> Iterator[Row]:
    """Yield the rows of a CSV file, named by the first line that has several columns.

    By itself DuckDB may take a line with another number of columns for the names, or the whole file for one column. It
    is left to it if no line has several columns, or if those are texts with commas below the name of their column.

    Raises:
        OSError: a line has more columns than the names, or fewer, is not UTF-8 or too long.
    """
    above, mark, _ = _names_of_csv(path)
    guessed = _rows(connection, f"SELECT * FROM {ROW_FILES['.csv']}", {"file": str(path)}, part)
    if not mark:
        yield from guessed
        return
    # Without the marks, DuckDB looks for others: for comments by #, and for apostrophes as quotes.
    options = f"header = true, skip = {above}, delim = '{mark}', quote = '\"', escape = '\"'"
    named, began = f"SELECT * FROM read_csv($file, {_OF_CSV}, {options})", False
    try:
        for row in _rows(connection, named, {"file": str(path)}, part):
            began = True
            yield row
    except OSError as error:
        first = None if began or not above else next(guessed, None)
        if first is None:
            uneven = f"a line has more or fewer columns than line {above + 1}, is not UTF-8 or longer than 20 MB"
            mended = f"correct it, or put a value with {mark!r} between quotes"
            raise OSError(errno.EINVAL, f"{uneven}; {mended} ({error.strerror})") from None
        yield first
        yield from guessed


def _rows_of_json(connection: "duckdb.DuckDBPyConnection", path: Path, part: From | None) -> Iterator[Row]:
    """Yield the rows of a file of JSON lines, with values as they are written and each column of any row.

    DuckDB would guess a type for each column, by which 1.5 may become 2, and a part number a day.
    """
    file, said = {"file": str(path)}, f"FROM {ROW_FILES['.jsonl']}"
    names = _rows(connection, f"SELECT DISTINCT unnest(json_keys(json)) AS name {said}", file, None)
    empty = dict.fromkeys(sorted(row["name"] for row in names))
    for number, line in enumerate(_rows(connection, f"SELECT json {said}", file, None), start=1):
        row = json.loads(line["json"], parse_float=decimal.Decimal)
        if not isinstance(row, dict):
            raise OSError(errno.EINVAL, f"row {number:,} is not an object of JSON")
        if part is None or part.has(empty | row):
            yield empty | row


def _names_of_csv(path: Path) -> tuple[int, str, list[str]]:
    """Return the number of lines above the first one with several columns, what divides these, and their names.

    Without such a line, 0, "" and no name.
    """
    with path.open("rb") as file:
        file.seek(0)  # of a descriptor, which may have been read before
        for number, line in enumerate(file):
            mark = max(_DELIMITERS, key=line.count)
            if mark in line:
                names = line.decode("utf-8-sig", "replace").split(chr(mark))
                return number, chr(mark), [one.strip(' "\r\n') for one in names]
    return 0, "", []


def _rows(
    connection: "duckdb.DuckDBPyConnection", query: str, values: Mapping[str, Any], part: From | None
) -> Iterator[Row]:
    import duckdb

    if part and part.value is not None:
        query, values = part.of(query, quoted_name(part.column), "$least"), {**values, "least": part.value}
    try:
        result = connection.execute(query, values or None)
        names = [column[0] for column in result.description or ()]
        _require_distinct(names)
        singles = {column[0] for column in result.description or () if str(column[1]) == "FLOAT"}
        singles -= {part.column} if part else set()  # which is compared in full
        while rows := result.fetchmany(_ROWS_AT_ONCE):
            for row in (dict(zip(names, values, strict=True)) for values in rows):
                # A number of single precision has some seven digits; as one of double precision 0.1 has seventeen.
                yield row | {name: float(str(np.float32(row[name]))) for name in singles if row[name] is not None}
    except duckdb.Error as error:
        # The error itself shows the line.
        raise OSError(errno.EIO, _HINTS.split(one_line(duckdb.Error(_LINE.sub("", str(error)))))[0]) from None

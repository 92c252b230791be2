"""Sources of rows: CSV, JSON Lines and Parquet files, a DuckDB file, any database of SQLAlchemy."""

import errno
import os
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from lightrag_dagster.errors import one_line
from lightrag_dagster.stages.documents.connectors.bucket import Bucket
from lightrag_dagster.stages.documents.connectors.folder import walk
from lightrag_dagster.stages.documents.connectors.patterns import Patterns

if TYPE_CHECKING:
    import duckdb

_ROWS_AT_ONCE = 1_000
ROW_FILES = {
    ".csv": "read_csv(?, all_varchar = true)",
    ".tsv": "read_csv(?, all_varchar = true)",
    ".jsonl": "read_json(?, format = 'newline_delimited')",
    ".ndjson": "read_json(?, format = 'newline_delimited')",
    ".parquet": "read_parquet(?)",
}
"""DuckDB's function that reads the rows of a file, by its suffix."""

Row = Mapping[str, Any]


class RowSource(Protocol):
    """A source of rows; raises OSError when they cannot be read."""

    @property
    def name(self) -> str:
        """The table in words, without secrets."""
        ...

    def rows(self) -> Iterator[Row]:
        """Yield column → value of every row."""
        ...


@dataclass(frozen=True)
class TableFiles:
    """The rows of CSV, JSON Lines or Parquet files: one file, or those below a folder."""

    root: Path
    patterns: Patterns

    @property
    def name(self) -> str:
        """See `Table.name`."""
        return str(self.root)

    def rows(self) -> Iterator[Row]:
        """See `Table.rows`."""
        if self.root.is_file():
            paths = [str(self.root)]
        else:
            paths = sorted(entry.path for entry, path in walk(self.root) if self.patterns.match(path))
        for path in paths:
            yield from _rows_of_file(path, Path(path))


@dataclass(frozen=True)
class TableObjects:
    """The rows of CSV, JSON Lines or Parquet files in a bucket; one after the other is copied to this machine."""

    bucket: Bucket

    @property
    def name(self) -> str:
        """See `Table.name`."""
        return self.bucket.name

    def rows(self) -> Iterator[Row]:
        """See `Table.rows`."""
        listed = sorted(self.bucket.files(), key=lambda one: one.path)
        if not listed and self.bucket.names:
            raise FileNotFoundError(errno.ENOENT, "it is not there")
        with tempfile.TemporaryDirectory(prefix="lightrag-rows-") as folder:
            for one in listed:
                copy = Path(folder) / f"rows{Path(one.place).suffix.lower()}"
                self.bucket.copy(one, copy)
                yield from _rows_of_file(f"{self.name}/{one.path}", copy)
                copy.unlink()


@dataclass(frozen=True)
class DuckDBQuery:
    """The rows of a query of a DuckDB file, which is opened for reading."""

    file: Path
    query: str

    @property
    def name(self) -> str:
        """See `Table.name`."""
        return str(self.file)

    def rows(self) -> Iterator[Row]:
        """See `Table.rows`."""
        import duckdb

        if not self.file.is_file():
            raise FileNotFoundError(errno.ENOENT, "there is no such file")
        try:
            connection = duckdb.connect(str(self.file), read_only=True)
        except duckdb.Error as error:
            raise OSError(errno.EIO, one_line(error)) from error
        with connection:
            yield from _rows(connection, self.query)


@dataclass(frozen=True)
class SQLQuery:
    """The rows of a query of a database, whose SQLAlchemy URL is in an environment variable."""

    variable: str
    query: str

    @property
    def name(self) -> str:
        """See `Table.name`."""
        return f"the database of {self.variable}"

    def rows(self) -> Iterator[Row]:
        """See `Table.rows`."""
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
        password = engine.url.password
        try:
            with engine.connect().execution_options(yield_per=_ROWS_AT_ONCE) as connection:
                for row in connection.execute(sqlalchemy.text(self.query)).mappings():
                    yield dict(row)
        except SQLAlchemyError as error:
            reason = one_line(getattr(error, "orig", None) or error)
            raise OSError(errno.EIO, reason.replace(password, "***") if password else reason) from None
        finally:
            engine.dispose()


def _rows_of_file(name: str, path: Path) -> Iterator[Row]:
    from lightrag_dagster.storage.duckdb import in_memory

    reader = ROW_FILES.get(path.suffix.lower())
    if reader is None:
        raise OSError(errno.EINVAL, f"{name} has no rows; include only {', '.join(ROW_FILES)}")
    with in_memory() as connection:
        try:
            yield from _rows(connection, f"SELECT * FROM {reader}", [str(path)])
        except OSError as error:
            raise OSError(error.errno, f"{name}: {error.strerror}".replace(str(path), name)) from error


def _rows(connection: "duckdb.DuckDBPyConnection", statement: str, values: Sequence[str] = ()) -> Iterator[Row]:
    import duckdb

    try:
        result = connection.execute(statement, values)
        names = [column[0] for column in result.description or ()]
        while rows := result.fetchmany(_ROWS_AT_ONCE):
            yield from (dict(zip(names, row, strict=True)) for row in rows)
    except duckdb.Error as error:
        raise OSError(errno.EIO, one_line(error)) from error

"""Tables of the database as Parquet files, which any database can read back. Rows go through memory some at a time."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import sqlalchemy as sa

from lightrag_dagster.errors import unread
from lightrag_dagster.storage.database.engine import Database

_ROWS = 2000
_TYPES = {int: pa.int64(), float: pa.float64(), bytes: pa.binary()}


def save_rows(database: Database | None, table: sa.Table, path: Path) -> int:
    """Write the rows of a table to a Parquet file and return their number; none without a database.

    They are those of one moment. Raises StoreError.
    """
    schema = pa.schema([pa.field(column.name, _type(column), bool(column.nullable)) for column in table.columns])
    written = 0
    with pq.ParquetWriter(path, schema, compression="zstd") as writer:
        if database is None:
            return 0
        rows = sa.select(table).order_by(*table.primary_key.columns).execution_options(yield_per=_ROWS)
        with database.begin() as connection:
            for some in connection.execute(rows).mappings().partitions():
                writer.write_table(pa.Table.from_pylist([dict(row) for row in some], schema))
                written += len(some)
    return written


def count_rows(path: Path) -> int:
    """Return the number of rows of a Parquet file; raises StoreError."""
    with reading(path):
        return int(pq.read_metadata(path).num_rows)


def load_rows(database: Database, table: sa.Table, path: Path) -> None:
    """Insert the rows of a Parquet file that the table lacks, without columns that it does not have.

    Raises:
        StoreError: the file is damaged, or the database refuses.
    """
    statement = database.insert(table).on_conflict_do_nothing()
    # Buffered ahead, the whole file would be in memory.
    with reading(path), pq.ParquetFile(path, pre_buffer=False) as file:
        columns = [name for name in file.schema_arrow.names if name in table.columns]
        for batch in file.iter_batches(_ROWS, columns=columns):
            with database.begin() as connection:
                connection.execute(statement, batch.to_pylist())
    if database.on_postgres and table.autoincrement_column is not None:
        # Rows that bring their number do not advance the sequence.
        number = table.autoincrement_column
        sequence = sa.func.pg_get_serial_sequence(table.name, number.name)
        with database.begin() as connection:
            connection.execute(sa.select(sa.func.setval(sequence, sa.func.max(number))))


def is_empty(database: Database, table: sa.Table) -> bool:
    """Say whether a table has no row; raises StoreError."""
    with database.begin() as connection:
        return connection.execute(sa.select(*table.primary_key.columns).limit(1)).first() is None


@contextmanager
def reading(name: Path | str) -> Iterator[None]:
    """Read a file of a backup in the block; raises StoreError where that fails."""
    try:
        yield
    except (OSError, ValueError, pa.ArrowException) as error:
        raise unread(name, error, "use another backup") from error


def _type(column: sa.Column[object]) -> pa.DataType:
    return _TYPES.get(column.type.python_type, pa.string())

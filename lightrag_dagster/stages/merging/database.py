"""The in-memory database in which a merge runs, and its statements."""

import tempfile
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from importlib import resources
from pathlib import Path

import duckdb
import pyarrow as pa

from lightrag_dagster.core import identity
from lightrag_dagster.errors import StoreError, one_line
from lightrag_dagster.storage import files

MEMORY_LIMIT = "2GB"
"""DuckDB spills to disk above this."""

WHITESPACE = "".join(filter(str.isspace, map(chr, range(0x110000))))


@contextmanager
def open_database(scratch: Path, variables: dict[str, str | int]) -> Iterator[duckdb.DuckDBPyConnection]:
    """Open an empty database that spills into a folder of its own below `scratch`, with variables and macros set.

    Raises:
        StoreError: the disk refuses.
    """
    try:
        spill = tempfile.TemporaryDirectory(dir=scratch, prefix=".merge.")
    except OSError as error:
        raise StoreError(f"cannot write in {scratch}: {error.strerror or error}; nothing was changed") from error
    config: dict[str, str | bool | int | float | list[str]] = {
        "memory_limit": MEMORY_LIMIT,
        "temp_directory": spill.name,
    }
    with spill, duckdb.connect(config=config) as connection:
        connection.execute("SET enable_progress_bar = false")  # on by default where Python is interactive
        for name, value in ({"whitespace": WHITESPACE} | variables).items():
            connection.execute(f"SET VARIABLE {name} = $1", [value])
        connection.execute("CREATE TABLE entity_name (name VARCHAR, entity_id VARCHAR)")
        run(connection, "macros")
        yield connection


@contextmanager
def readable(paths: Iterable[Path]) -> Iterator[None]:
    """Turn an error of the database into one that names the damaged file among those it read, if there is one.

    Raises:
        StoreError: a file is missing or damaged, or memory or disk ran out.
    """
    try:
        yield
    except duckdb.Error as error:
        for path in paths:
            files.read_parquet(path)
        raise StoreError(f"the merge failed: {one_line(error)}; make room on the disk and run again") from error


def run(connection: duckdb.DuckDBPyConnection, name: str, **parameters: str) -> None:
    """Execute all statements of a file in sql/."""
    for statement in duckdb.extract_statements(read_statement(name)):
        wanted = {key: value for key, value in parameters.items() if key in statement.named_parameters}
        connection.execute(statement, wanted or None)


def fetch(connection: duckdb.DuckDBPyConnection, statement: str, schema: pa.Schema) -> pa.Table:
    """Return the rows of a query in the columns of a schema."""
    return connection.sql(statement).to_arrow_table().select(schema.names).cast(schema)


def count(connection: duckdb.DuckDBPyConnection, statement: str) -> int:
    """Return the one number that a query yields."""
    return int(connection.execute(statement).fetchall()[0][0])


def read_statement(name: str) -> str:
    """Return the text of a file in sql/."""
    return resources.files(__package__).joinpath(f"sql/{name}.sql").read_text(encoding="utf-8")


def view_files(connection: duckdb.DuckDBPyConnection, view: str, schema: pa.Schema, paths: Iterable[Path]) -> None:
    """Make a view over Parquet files of one schema; over none, it is empty."""
    if names := sorted(map(str, paths)):
        connection.read_parquet(names).create_view(view)
    else:
        connection.register(view, schema.empty_table())


def name_entities(connection: duckdb.DuckDBPyConnection, table_of_names: str) -> None:
    """Give every distinct `name` its entity id; the rule is Python's, so it is applied once a name, not a mention."""
    names = connection.sql(
        f"SELECT DISTINCT name FROM ({table_of_names}) ANTI JOIN entity_name USING (name)"
    ).to_arrow_table()["name"]
    ids = pa.array([identity.entity_id(name) for name in names.to_pylist()], pa.string())
    connection.register("named", pa.table({"name": names, "entity_id": ids}))
    connection.execute("INSERT INTO entity_name FROM named")
    connection.unregister("named")

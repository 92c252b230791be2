"""A search for words in all that a home, its bucket and its database hold, packed or not."""

import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import closing
from pathlib import Path

import lancedb
import psycopg
import pyarrow as pa
import pyarrow.parquet as pq

from lightrag_dagster.storage.home import Home


def places(home: Home, words: Sequence[str], *more: Path) -> dict[str, set[str]]:
    """Return each word that is found, with where: names of files and of tables; case does not matter."""
    found: dict[str, set[str]] = {}
    for where, content in _everything(home, more):
        lower = content.lower()
        for word in words:
            if word.lower().encode() in lower:
                found.setdefault(word, set()).add(where)
    return found


def _everything(home: Home, more: Sequence[Path]) -> Iterator[tuple[str, bytes]]:
    """Yield each file as it is, and where it packs what it holds, that too; then each table of Postgres."""
    files = [path for folder in (home.of_machine, *more) for path in sorted(folder.rglob("*")) if path.is_file()]
    yield from [(str(path), path.name.encode() + path.read_bytes()) for path in files]  # before SQLite tidies up
    for path in files:
        if path.suffix == ".parquet":
            yield str(path), _text(pq.read_table(path, partitioning=None).to_pylist())
        elif path.suffix in (".db", ".sqlite"):
            yield from _sqlite(path)
        elif path.suffix == ".zst":
            with pa.input_stream(path, compression="zstd") as file:
                yield str(path), file.read()
    database = lancedb.connect(home.lance_uri)
    for name in sorted(path.stem for path in Path(home.lance_uri).glob("*.lance")):
        table = database.open_table(name)
        for version in [one["version"] for one in table.list_versions()]:
            table.checkout(version)
            yield f"{name} {version}", _text(table.to_arrow().drop_columns("vector").to_pylist())
    if home.database is not None:
        yield from _postgres(home.database.get_secret_value())


def _sqlite(path: Path) -> Iterator[tuple[str, bytes]]:
    with closing(sqlite3.connect(path)) as connection:
        for (name,) in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'").fetchall():
            yield f"{path} {name}", _text(connection.execute(f'SELECT * FROM "{name}"').fetchall())


def _postgres(url: str) -> Iterator[tuple[str, bytes]]:
    with psycopg.connect(url) as connection:
        tables = connection.execute("SELECT tablename FROM pg_tables WHERE schemaname = current_schema()").fetchall()
        for name in [*(name for (name,) in tables), "pg_stats"]:
            rows = connection.execute(f'SELECT * FROM "{name}"'.encode()).fetchall()
            # Samples of bytea columns are printed as hexadecimal digits.
            yield name, _text(rows) + b"".join(bytes.fromhex(one) for one in _hexadecimal(rows))


def _hexadecimal(rows: Sequence[tuple[object, ...]]) -> Iterator[str]:
    for part in str(rows).split("\\x")[1:]:
        digits = part.split('"')[0].split("'")[0].rstrip("\\,})")
        if len(digits) % 2 == 0 and set(digits) <= set("0123456789abcdef"):
            yield digits


def _text(rows: object) -> bytes:
    return str(rows).encode("utf-8", "surrogateescape")

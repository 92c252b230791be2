"""The mentions that a question may see, in a database: names of entities, and descriptions as extracted.

The database is that of a whole snapshot, or of a filtered view, which holds the allowed mentions alone. So a name that
only hidden documents use is not in it.
"""

from collections.abc import Mapping
from contextlib import ExitStack
from threading import Lock
from typing import Any

import duckdb
import pyarrow as pa
import pyarrow.compute as pc

from lightrag_dagster.core.statements import read_sql
from lightrag_dagster.errors import StoreError
from lightrag_dagster.indexes.views import create_views
from lightrag_dagster.storage.duckdb import OF_QUESTIONS, bounded, unreadable
from lightrag_dagster.storage.snapshots.generations import Generation


class Statements:
    """The mentions that a question may see; threads may share it."""

    def __init__(
        self, connection: duckdb.DuckDBPyConnection, written: Mapping[str, str], opened: ExitStack | None = None
    ) -> None:
        """Take a database with `said_of_entity` and `said_of_relation`, and what is `opened` with it, if it is its own.

        `written` are the names that people wrote and that may be seen, by id of the entity.
        """
        self._connection, self._written, self._opened = connection, written, opened or ExitStack()
        self._making, self._made = Lock(), False

    def close(self) -> None:
        """Close the database, if it is its own."""
        self._opened.close()

    def rows(self, statement: str, /, tables: Mapping[str, pa.Table] | None = None, **values: Any) -> pa.Table:
        """Return the rows of a statement of this package: the name of a file in this folder.

        It reads the tables above, `known_name`, and further `tables` that are given.

        Raises:
            StoreError: a table of the snapshot is missing or damaged.
        """
        try:
            self._make()
            with self._connection.cursor() as cursor:
                for name, table in (tables or {}).items():
                    cursor.register(name, table)
                return cursor.sql(read_sql(__package__, f"sql/{statement}"), params=values).to_arrow_table()
        except duckdb.Error as error:
            raise StoreError(f"the evidence cannot be read: {unreadable(error)}") from error

    def _make(self) -> None:
        """Make the table of names, once."""
        with self._making:
            if self._made:
                return
            with self._connection.cursor() as cursor:
                people = pa.schema([("entity_id", pa.string()), ("name", pa.string())])
                cursor.register("written_name", pa.table([list(self._written), list(self._written.values())], people))
                names = cursor.sql(read_sql(__package__, "sql/names")).to_arrow_table()
                folds = folded(names["name"])
                for name, column in {"fold": folds, "words": in_words(folds), "digits": digits_in(folds)}.items():
                    names = names.append_column(name, column)
                cursor.register("folded_name", names)
                cursor.execute("CREATE OR REPLACE TABLE known_name AS FROM folded_name")
            self._made = True


def open_statements(generation: Generation) -> Statements:
    """Open the mentions of a whole snapshot; the caller closes them.

    Raises:
        StoreError: a table is missing or damaged.
    """
    with ExitStack() as opened:
        connection = opened.enter_context(bounded(OF_QUESTIONS))
        create_views(connection, generation, ["entity_evidence", "relation_evidence"], temporary=False)
        for kind in ("entity", "relation"):
            connection.execute(f"CREATE VIEW said_of_{kind} AS FROM {kind}_evidence")
        # With threads of its own, the database could not be closed in a forked process.
        connection.execute("SET threads = 1; SET async_threads = 0")
        written = generation.record().curation.written
        return Statements(connection, {one.id: one.text for one in written if one.column == "name"}, opened.pop_all())


def folded(texts: pa.Array | pa.ChunkedArray) -> pa.Array | pa.ChunkedArray:
    """Return texts in lower case, without accents, quotes and surplus spaces, and with compatibility forms replaced."""
    plain = pc.replace_substring_regex(pc.utf8_normalize(texts, "NFKD"), r"\p{Mn}+", "")
    lower = pc.replace_substring(pc.utf8_lower(pc.utf8_normalize(plain, "NFC")), "ß", "ss")
    unquoted = pc.replace_substring_regex(lower, "[\"'“”‘’«»„‚`´]+", "")
    # Quotes alone are a name, too.
    kept = pc.if_else(pc.equal(pc.utf8_length(pc.utf8_trim_whitespace(unquoted)), 0), lower, unquoted)
    return pc.utf8_trim_whitespace(pc.replace_substring_regex(kept, r"\s+", " "))


def in_words(folds: pa.Array | pa.ChunkedArray) -> pa.Array | pa.ChunkedArray:
    """Return folded texts as letters, digits and single spaces; those with neither letter nor digit stay."""
    words = pc.utf8_trim_whitespace(pc.replace_substring_regex(folds, r"[^\p{L}\p{N}]+", " "))
    return pc.if_else(pc.equal(pc.utf8_length(words), 0), folds, words)


def digits_in(folds: pa.Array | pa.ChunkedArray) -> pa.Array | pa.ChunkedArray:
    """Return the digits of texts: Station 14 is not a misspelt Station 15."""
    return pc.replace_substring_regex(folds, r"\P{Nd}+", "")

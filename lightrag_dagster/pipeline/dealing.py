"""What is found by a look at all shards of a source at once: equal documents, text that moved, chunks to ask about.

The statements read the files of all shards and spill, so memory does not grow with the source.
"""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import cache
from importlib import resources
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import pyarrow as pa

from lightrag_dagster.pipeline.reuse import IN_ITS_LANGUAGE
from lightrag_dagster.schemas import CHUNKS, EXTRACTIONS, RAW_DOCUMENTS, STAMPS
from lightrag_dagster.settings import ChunkingSettings, DocumentSettings
from lightrag_dagster.stages.documents.deletions import Losses, check_deletions
from lightrag_dagster.stages.documents.listing import LISTED, Listing
from lightrag_dagster.stages.documents.raw_documents import MAX_REPORTED, Slow
from lightrag_dagster.storage.files.atomic import read_parquet
from lightrag_dagster.storage.tables.shards import Shard

if TYPE_CHECKING:
    import duckdb


PLACES = pa.schema(
    [
        *map(CHUNKS.field, ("chunk_id", "path", "chunk_index", "content", "heading", "context")),
        RAW_DOCUMENTS.field("language"),
    ]
)
"""Columns of CHUNKS that extraction reads, and the language that an answer follows: empty if unknown, null if none."""


class Dealt:
    """Rows dealt to the shards that need them, in a folder."""

    def __init__(self, folder: Path, schema: pa.Schema) -> None:
        self._folder = folder
        self._schema = schema

    def of(self, shard: Shard) -> pa.Table:
        """Return the rows of a shard."""
        paths = sorted((self._folder / f"shard={shard.number}").glob("*.parquet"))
        return pa.concat_tables(
            [self._schema.empty_table(), *(read_parquet(path).cast(self._schema) for path in paths)]
        )


@contextmanager
def open_sql(scratch: Path, shards: int) -> Iterator["duckdb.DuckDBPyConnection"]:
    """Open a database for statements over the files of a source: one that spills if it has several shards."""
    from lightrag_dagster.storage.duckdb import in_memory, spilling

    with in_memory() if shards == 1 else spilling(scratch) as connection:
        bits = (shards - 1).bit_length()
        connection.execute(
            f"CREATE TEMP MACRO shard_of(id) AS (('0x' || split_part(id, '-', 2)[:2])::INTEGER >> {8 - bits})"
        )
        yield connection


def deal_listing(connection: "duckdb.DuckDBPyConnection", listing: Listing, folder: Path) -> Dealt:
    """Deal the files of a source to the shards of their documents."""
    from lightrag_dagster.storage.duckdb import view_files

    view_files(connection, "listed", [listing.path], LISTED)
    return _deal(connection, "listed", folder, LISTED)


class Reading(NamedTuple):
    """Documents by media type, the largest ones (path, bytes), and the first that failed (path, status, error).

    `slowest` are those that took longest to read this time, and `losses` what is not there any more.
    `similar` are the first that say nearly the same as another (path, like, similarity), if these were looked for, and
    `similar_count` is how many there are.
    """

    media_types: dict[str, int]
    largest: pa.Table
    failures: pa.Table
    similar: pa.Table | None = None
    similar_count: int = 0
    slowest: Sequence[Slow] = ()
    losses: Losses = Losses(0, 0, 0)


def judge_reading(
    source: str,
    connection: "duckdb.DuckDBPyConnection",
    files: tuple[Sequence[Path], Sequence[Path], Sequence[Path]],
    settings: DocumentSettings,
) -> Reading:
    """Describe documents that were read, unless too much is lost; `deal_listing` has made the view `listed`.

    `files` are those of the version to compare with, of the new one and of the new stamps, with sketches where similar
    documents are looked for. Raises SourceError as `check_deletions`.
    """
    from lightrag_dagster.storage.duckdb import view_files

    for view, paths in zip(("before", "now"), files, strict=False):
        view_files(connection, view, paths, RAW_DOCUMENTS)
    losses = check_deletions(source, connection, settings)
    types = connection.sql("SELECT media_type, count(*) FROM now GROUP BY ALL ORDER BY ALL").fetchall()
    largest = f"SELECT path, size AS bytes FROM listed ORDER BY size DESC, path LIMIT {MAX_REPORTED}"
    failed = (
        f"SELECT path, status, error FROM now WHERE status IN ('failed', 'stale') ORDER BY path LIMIT {MAX_REPORTED}"
    )
    most, failures = (connection.sql(statement).to_arrow_table() for statement in (largest, failed))
    reading = Reading(dict(types), most, failures, losses=losses)
    if settings.similar is None:
        return reading
    view_files(connection, "stamps", files[2], STAMPS)
    candidates, similar = (_statement("lightrag_dagster.stages.documents", name) for name in ("candidates", "similar"))
    # As a table, since DuckDB takes pairs that are still to be found for millions, and would compare all with all.
    connection.execute(f"CREATE OR REPLACE TEMP TABLE candidate AS {candidates}")
    connection.execute("SET VARIABLE least_similarity = ?", [settings.similar])
    found = connection.sql(similar).to_arrow_table()
    return reading._replace(similar=found.slice(0, MAX_REPORTED), similar_count=found.num_rows)


def equal_documents(connection: "duckdb.DuckDBPyConnection", files: Sequence[Path]) -> pa.Table:
    """Return `doc_id` and `original` of documents whose text stands in another document of another shard."""
    from lightrag_dagster.storage.duckdb import view_files

    view_files(connection, "now", files, RAW_DOCUMENTS)
    statement = _statement("lightrag_dagster.stages.documents", "duplicates")
    return connection.sql(statement).to_arrow_table()


def deal_moved(
    connection: "duckdb.DuckDBPyConnection",
    files: tuple[Sequence[Path], Sequence[Path]],
    chunking: ChunkingSettings,
    folder: Path,
) -> Dealt:
    """Deal chunks of an earlier version to documents of other shards that have their text now, and the same rule.

    `files` are those of the documents now and of the earlier chunks.
    """
    from lightrag_dagster.storage.duckdb import view_files, view_source_files

    view_files(connection, "now", files[0], RAW_DOCUMENTS)
    view_source_files(connection, "earlier", files[1], CHUNKS)
    _register_rules(connection, chunking)
    connection.execute(f"CREATE OR REPLACE TEMP VIEW document AS {_statement(__package__, 'document_texts')}")
    return _deal(connection, "moved", folder, CHUNKS)


class Known(NamedTuple):
    """Files of EXTRACTIONS whose chunks need no question: all but some kinds of failures, or rows of one recipe.

    Rows that were written for a language do not count for a chunk of another one.
    """

    files: Sequence[Path]
    again: Sequence[str]
    recipe: str | None

    @property
    def condition(self) -> str:
        """Which rows count."""
        kinds = ", ".join(f"'{kind}'" for kind in self.again)
        whose = f" AND recipe = '{self.recipe}'" if self.recipe else ""
        return f"(error_kind IS NULL OR error_kind NOT IN ({kinds})){whose} AND {IN_ITS_LANGUAGE}"


def deal_places(
    connection: "duckdb.DuckDBPyConnection",
    files: tuple[Sequence[Path], Sequence[Path]],
    known: Known,
    folder: Path,
) -> Dealt:
    """Deal the places of chunks (PLACES) to the shards of their extractions; those of known chunks without text.

    `files` are those of the chunks, and of the documents whose languages the answers follow; of these none if they do
    not. A chunk that several documents share has the language of the first, in order of path.
    """
    from lightrag_dagster.storage.duckdb import view_files, view_source_files

    view_source_files(connection, "chunk", files[0], CHUNKS)
    view_source_files(connection, "document", files[1], RAW_DOCUMENTS)
    connection.execute(f"CREATE OR REPLACE TEMP TABLE spoken AS {_statement(__package__, 'spoken')}")
    view_files(connection, "earlier", known.files, EXTRACTIONS)
    connection.execute(
        "CREATE OR REPLACE TEMP VIEW known AS "
        f"SELECT chunk_id FROM earlier LEFT JOIN spoken USING (chunk_id) WHERE {known.condition}"
    )
    return _deal(connection, "asked", folder, PLACES)


def _register_rules(connection: "duckdb.DuckDBPyConnection", chunking: ChunkingSettings) -> None:
    """Register `rule`: doc_id and number of the rule of each document that has one, now or earlier."""
    ids: list[str] = []
    numbers: list[int] = []
    if chunking.rules:
        places = "SELECT DISTINCT doc_id, source, path FROM (FROM (SELECT doc_id, source, path FROM now) UNION ALL "
        places += "SELECT doc_id, source, path FROM earlier)"
        for doc_id, source, path in connection.execute(places).fetchall():
            if (number := chunking.rule_of(f"{source}/{path}")) is not None:
                ids.append(doc_id)
                numbers.append(number)
    rows = pa.table({"doc_id": pa.array(ids, pa.string()), "number": pa.array(numbers, pa.int64())})
    connection.register("rule", rows)


def _deal(connection: "duckdb.DuckDBPyConnection", statement: str, folder: Path, schema: pa.Schema) -> Dealt:
    folder.mkdir()
    quoted = str(folder).replace("'", "''")
    connection.execute("SET partitioned_write_flush_threshold = 2048")  # rows are held back for each file
    connection.execute(
        f"COPY ({_statement(__package__, statement)}) TO '{quoted}'"
        " (FORMAT parquet, COMPRESSION lz4, PARTITION_BY (shard), OVERWRITE_OR_IGNORE)"
    )
    return Dealt(folder, schema)


@cache
def _statement(package: str, name: str) -> str:
    return resources.files(package).joinpath(f"sql/{name}.sql").read_text(encoding="utf-8")

"""The paid responses and vectors that current tables still use, and a clean build would find in the stores."""

from collections.abc import Iterable, Iterator
from itertools import islice

import duckdb
import pyarrow as pa
import pyarrow.compute as pc

from lightrag_dagster.core.aio import run_sync
from lightrag_dagster.core.text.figures import answers_of, find_marks
from lightrag_dagster.indexes.lance import open_vectors
from lightrag_dagster.models.providers import chat_identity
from lightrag_dagster.models.stored_answers import StoredAnswers
from lightrag_dagster.pipeline.extractions import readings_of, todays_extractor
from lightrag_dagster.pipeline.merge import merge_after
from lightrag_dagster.pipeline.situation import Situation
from lightrag_dagster.schemas import SOURCE_TABLES
from lightrag_dagster.stages.extraction.extractions import extract
from lightrag_dagster.storage.database.responses import ResponseStore
from lightrag_dagster.storage.home import Home
from lightrag_dagster.storage.manifests import Manifest
from lightrag_dagster.storage.tables.acceptance import accepted
from lightrag_dagster.storage.tables.source_tables import SourceTables

_AT_ONCE = 10_000
_CHUNK_COLUMNS = ["doc_id", "path", "chunk_index", "chunk_id", "content", "heading", "context"]

Gone = dict[str, set[str]]
"""Source → paths of documents that are gone from it; none where the whole source is gone."""


def note(connection: duckdb.DuckDBPyConnection, table: str, keys: Iterable[str]) -> None:
    """Add keys to a table of a database that spills."""
    connection.execute(f"CREATE TABLE IF NOT EXISTS {table} (key VARCHAR)")
    left = iter(keys)
    while some := list(islice(left, _AT_ONCE)):
        connection.register("noted", pa.table({"key": some}))
        connection.execute(f"INSERT INTO {table} FROM noted")


def unused(connection: duckdb.DuckDBPyConnection, stored: str, used: str) -> Iterator[str]:
    """Yield the keys of one table that are not in another, in order."""
    found = f"SELECT key FROM {stored} ANTI JOIN {used} USING (key) ORDER BY key"
    for keys in connection.sql(found).to_arrow_reader(_AT_ONCE):
        yield from keys["key"].to_pylist()


def used_responses(situation: Situation, gone: Gone, store: ResponseStore) -> Iterator[str]:
    """Yield the keys of the responses that a run takes from the store.

    They are those of extraction, passes and summaries by the current recipe, and of the images that documents describe.
    Counted are the chunks of all tables, those of an unfinished backfill too, but of no document that is gone; and the
    summaries of the published snapshot. Rows of older recipes hold their own responses, and need none.
    """
    home, recipes = situation.home, situation.recipes
    identity = chat_identity(recipes.settings.llm.of("extract"))
    for source, chunks in _left(home, gone, "chunks", _CHUNK_COLUMNS):
        own, at_once = recipes.of_source(source), recipes.settings.llm.conversations
        extracting = StoredAnswers(identity, store)
        for reading in readings_of(own, source):
            for asked in _by_language(home, source, chunks) if reading.follows_languages(own) else [chunks]:
                run_sync(extract(source, asked, todays_extractor(extracting, own, at_once, reading)))
        yield from extracting.used
    yield from used_summaries(situation, store)
    yield from _descriptions(home, gone, store)


def used_summaries(situation: Situation, store: ResponseStore) -> set[str]:
    """Return the keys of the responses that summaries of the published snapshot are made from."""
    recipes, inputs = situation.recipes, situation.require_published().inputs
    summarising = StoredAnswers(chat_identity(recipes.settings.llm.of("summarise")), store)
    curation = situation.decided.curation
    with merge_after(None, inputs, recipes, summarising.open, backfill=True, curation=curation):
        return summarising.used


def _descriptions(home: Home, gone: Gone, store: ResponseStore) -> set[str]:
    """Return the keys of the responses that documents refer to, except documents that are gone."""
    named: set[str] = set()
    for _, documents in _left(home, gone, "raw_documents", ["path", "content"]):
        named |= {name for text in documents["content"].to_pylist() for *_, name in find_marks(text)}
    return answers_of(named, store.keys() if named else ())


def used_vectors(home: Home, snapshot: Manifest) -> Iterator[str]:
    """Yield the keys of the vectors of the published snapshot."""
    for entry in snapshot.vectors.tables.values():
        for keys in open_vectors(home, entry).rows(["embedding_key"])["embedding_key"].chunks:
            yield from keys.to_pylist()


def _left(home: Home, gone: Gone, table: str, columns: list[str]) -> Iterator[tuple[str, pa.Table]]:
    """Yield each source that is not gone, and the rows of its documents that are not, of every version of a table."""
    for source in {Home.source_of(folder) for folder in home.root.glob(f"tables/{table}/*")}:
        paths = gone.get(source, set())
        if paths or source not in gone:
            rows = _rows(home, source, table, columns)
            yield source, rows.filter(pc.invert(pc.is_in(rows["path"], pa.array(sorted(paths), pa.string()))))


def _by_language(home: Home, source: str, chunks: pa.Table) -> Iterator[pa.Table]:
    """Yield the chunks of the documents in each language, of every version of these documents."""
    documents = _rows(home, source, "raw_documents", ["doc_id", "language"])
    for language in pc.unique(documents["language"]).to_pylist():
        speaking = documents.filter(pc.field("language") == language if language else pc.field("language").is_null())
        found = chunks.filter(pc.is_in(chunks["doc_id"], value_set=speaking["doc_id"].combine_chunks()))
        yield found.append_column("language", pa.repeat(language or "", found.num_rows))


def _rows(home: Home, source: str, table: str, columns: list[str]) -> pa.Table:
    """Return columns of every version of a table that a run reads."""
    tables, record = SourceTables(home), accepted(home, source)
    found = [tables.current(table, source), SourceTables(home, candidate=True).current(table, source)]
    versions = {one.version for one in found if one} | ({record.tables[table]} if record else set())
    rows = [tables.read(table, source, one, columns) for one in sorted(versions) if tables.has(table, source, one)]
    empty = SOURCE_TABLES[table].empty_table().select(columns)
    return pa.concat_tables([empty, *rows], promote_options="permissive")

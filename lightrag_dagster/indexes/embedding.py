"""The vector tables of a generation: embed what changed, keep the rest."""

import logging
from collections.abc import AsyncIterator, Iterable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from functools import partial

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from duckdb import DuckDBPyConnection

from lightrag_dagster.core.identity import digest
from lightrag_dagster.core.progress import report
from lightrag_dagster.core.protocols import Vectors
from lightrag_dagster.errors import StoreError, one_line
from lightrag_dagster.indexes import vector_index, vector_writer
from lightrag_dagster.indexes.arrays import read_array
from lightrag_dagster.indexes.embedding_batches import Embedding
from lightrag_dagster.indexes.lance import open_database
from lightrag_dagster.indexes.views import open_tables
from lightrag_dagster.models.providers import tokens_read
from lightrag_dagster.storage import manifests
from lightrag_dagster.storage.home import Home
from lightrag_dagster.storage.manifests import VectorTable
from lightrag_dagster.storage.snapshots import generations
from lightrag_dagster.storage.snapshots.generations import Generation

_log = logging.getLogger(__name__)

# Vector table → table whose rows it holds.
_EMBEDDED = {"chunk_vectors": "chunks", "entity_vectors": "entities", "relation_vectors": "relations"}

# Id and embedded text of each row, over the views of a generation; a chunk has a row for each of its places.
_TEXTS = {
    "chunk_vectors": "SELECT chunk_id AS id, passage(content, context) AS text FROM chunks",
    "entity_vectors": "SELECT entity_id AS id, entity_text(name, description) AS text FROM entities",
    "relation_vectors": """
        SELECT relation_id AS id, relation_text(keywords, src, tgt, description) AS text FROM relations""",
}

_KEY = "embedding_key(getvariable('identity'), text) AS embedding_key"

_TO_EMBED = """
    SELECT id, missing.embedding_key, text FROM wanted JOIN missing USING (id) ORDER BY id"""

# Rows that are read, embedded and written together: 64 MiB of vectors at 1,024 dimensions.
_ROWS_PER_BLOCK = 16_384
_ROWS_READ = 512  # whose texts are held to be counted
# Counts of more chunks may be rounded, and then differ from those of a clean build.
_EXACT_ROWS = 1 << 24
# Characters by which a refused text is named.
_NAMED = 60
_NONE_REFUSED: Mapping[str, str] = {}


async def write_vectors(
    generation: Generation, name: str, embedding: Embedding, before: Mapping[str, str] = _NONE_REFUSED
) -> VectorTable:
    """Make one of VECTOR_TABLES hold what a generation holds, unless that is recorded already; return its entry.

    `before` has the texts that were refused for the published one. `record_vectors` finishes it.

    Raises:
        ProviderError: see `Embedder.embed_documents`; what was written before stays; the next run continues there.
        EmbeddingError: likewise.
        IntegrityError: see `prepare_vectors`.
        StoreError: a table cannot be read or written.
    """
    if entry := _recorded(generation).get(name):
        return entry
    with _open_texts(generation, [name], embedding.embedder.identity) as connection:
        connection.execute(f"CREATE TEMP VIEW wanted AS SELECT id, {_KEY}, text FROM ({_TEXTS[name]})")
        return await embed_changed(generation.home, name, connection, embedding, generation.id, before)


async def record_vectors(generation: Generation, name: str, entry: VectorTable, embedding: Embedding) -> VectorTable:
    """Record what `write_vectors` wrote, unless that is done; the embedder is no longer needed.

    Before, a large table is indexed by a worker that has a whole machine, and tagged. Raises StoreError.
    """
    if name in (recorded := _recorded(generation)):
        return recorded[name]
    home = generation.home.for_worker()
    if entry.search is None:
        with embedding.engine.keep(partial(open_database, home)) as kept:
            entry = await kept.call(vector_writer.pin_vectors, entry)
    home.files.keep([home.lance / f"{entry.table}.lance"])
    settings, embedder = embedding.settings, embedding.embedder
    record = manifests.Vectors(
        provider=settings.provider,
        model=settings.model,
        dimensions=embedder.dimensions,
        max_input_tokens=settings.max_input_tokens,
        identity=embedder.identity,
        reads=tokens_read(settings),
        tables=recorded | {name: entry},
    )
    generation.write_record(generations.VECTORS, record)
    return entry


async def embed_changed(
    home: Home,
    name: str,
    connection: DuckDBPyConnection,
    embedding: Embedding,
    tag: str,
    before: Mapping[str, str] = _NONE_REFUSED,
) -> VectorTable:
    """Make a vector table hold exactly the wanted rows, embedding only those that it lacks, and tag a small one.

    Each embedder has tables of its own, so that a snapshot made with another one keeps its vectors.

    Args:
        home: the home to write to.
        name: one of VECTOR_TABLES; also the stage of progress.
        connection: a database where `wanted` has columns `id`, `embedding_key` and `text`; it may name a row
            again.
        embedding: embeds the texts.
        tag: name for the version.
        before: the texts that were refused for the published table.

    Raises:
        ProviderError, EmbeddingError: see `Embedder.embed_documents`, and `add_vectors`.
        IntegrityError, StoreError: see `prepare_vectors`.
    """
    embedder = embedding.embedder
    handle = vector_writer.open_to_write(home, f"{name}-{digest(embedder.identity)[:8]}", embedder.dimensions)
    entry = vector_writer.prepare_vectors(handle, connection, tag, embedder.dimensions)

    async def blocks() -> AsyncIterator[tuple[pa.Table, Vectors]]:
        done = 0

        def count(embedded: int) -> None:
            nonlocal done
            done += embedded
            report(name, done, entry.upserted)

        for rows in _distinct(connection.sql(_TO_EMBED).to_arrow_reader(_ROWS_PER_BLOCK)):
            texts = rows["text"].to_pylist()
            vectors = await embedding.vectors_of(texts, count)
            if embedding.settings.provider != "offline":  # whose rules give a text without words the zero vector
                refused.update(_refused(rows, vectors))
            yield rows.append_column("unread", pa.array(await embedding.unread_of(texts), pa.int32())), vectors

    refused = _still_refused(connection, before)
    if entry.upserted:
        await vector_writer.add_vectors(handle, entry, blocks())
    entry = vector_writer.count_unread(handle, entry.model_copy(update={"refused": refused}))
    return entry if entry.rows >= vector_index.INDEX_ROWS else vector_writer.pin_vectors(open_database(home), entry)


def _still_refused(connection: DuckDBPyConnection, before: Mapping[str, str]) -> dict[str, str]:
    """Return those of the texts that were refused before that are as they were, and are not asked about again."""
    unchanged = "SELECT id FROM wanted_rows ANTI JOIN missing USING (id) WHERE id IN (SELECT unnest($1))"
    return {one: before[one] for (one,) in connection.execute(unchanged, [list(before)]).fetchall()}


def _refused(rows: pa.Table, vectors: Vectors) -> dict[str, str]:
    """Return the first words of the texts that a model refused, by id: their vector is zero, and so near nothing."""
    refused = rows.filter(pa.array(~vectors.any(axis=1)))
    return {one["id"]: " ".join(one["text"][:_NAMED].split()) for one in refused.to_pylist()}


def texts_to_embed(generation: Generation, name: str, published: Generation | None) -> Iterator[str]:
    """Yield the texts of one of VECTOR_TABLES that a run looks up in the store, each once, in its order, one by one.

    Args:
        generation: A merged generation.
        name: The vector table.
        published: The generation whose vector tables are up to date, if there is one.

    Raises:
        StoreError: a table is damaged.
    """
    identity = generation.inputs().embedder.identity
    with ExitStack() as opened:
        connection = opened.enter_context(_open_texts(generation, [name], identity))
        query = f"SELECT min(id) AS id, {_KEY}, text FROM ({_TEXTS[name]}) GROUP BY ALL"
        if published is not None and published.inputs().embedder.identity == identity:
            before = opened.enter_context(_open_texts(published, [name], identity))
            connection.register("known", before.sql(f"SELECT {_KEY} FROM ({_TEXTS[name]})").to_arrow_table())
            query = f"FROM ({query}) ANTI JOIN known USING (embedding_key)"
        for rows in _streamed(connection.sql(f"SELECT text FROM ({query}) ORDER BY id").to_arrow_reader(_ROWS_READ)):
            yield from rows["text"].to_pylist()


def save_corpus_state(generation: Generation, embedding: Embedding, before: Generation | None = None) -> None:
    """Store what the embedder must know of the corpus to embed a question, when it needs to know anything.

    It is a sum over chunks, so that of `before`, a generation by the same code and embedder, is changed by the
    difference; the result is the same without it.

    Raises:
        StoreError: a table cannot be read, or the disk refuses.
    """
    if generation.has(generations.CORPUS_STATE):
        return
    others, held = pa.schema([("id", pa.string())]).empty_table(), None
    if before and (known := _known_of(before)) and known[0].num_rows < _EXACT_ROWS:
        gone = _state_without(before, _chunk_ids(generation), embedding)
        others, held = known[0], None if gone is None else known[1] - gone
    state = _state_without(generation, others, embedding)
    if state is not None:
        path = generation.path(generations.CORPUS_STATE)
        with generation.home.files.writing(path) as temporary, temporary.open("wb") as file:
            np.save(file, state if held is None else held + state)


def _known_of(generation: Generation) -> tuple[pa.Table, Vectors] | None:
    """Return the ids of the chunks of an earlier generation and its corpus state; None without, or if one is lost."""
    if not generation.has(generations.CORPUS_STATE):
        return None
    try:
        return _chunk_ids(generation), read_array(generation.path(generations.CORPUS_STATE))
    except (OSError, StoreError, ValueError) as error:
        _log.warning("the state of the corpus of %s cannot be used (%s); it is made again", generation.id, error)
        return None


def _chunk_ids(generation: Generation) -> pa.Table:
    return generation.read_table("chunks", ["chunk_id"]).rename_columns(["id"])


def _state_without(generation: Generation, others: pa.Table, embedding: Embedding) -> Vectors | None:
    """Return the corpus state of the distinct chunks of a generation that are not among others, by their ids."""
    with _open_texts(generation, ["chunk_vectors"], embedding.embedder.identity) as connection:
        connection.register("other", others)
        query = f"FROM ({_TEXTS['chunk_vectors']}) ANTI JOIN other USING (id) ORDER BY id"
        rows = connection.sql(query).to_arrow_reader(_ROWS_PER_BLOCK)
        return embedding.corpus_state(one["text"].to_pylist() for one in _distinct(rows))


def _recorded(generation: Generation) -> dict[str, VectorTable]:
    """Return the vector tables that are finished."""
    if not generation.has(generations.VECTORS):
        return {}
    return generation.read_record(generations.VECTORS, manifests.Vectors).tables


@contextmanager
def _open_texts(generation: Generation, names: Iterable[str], identity: str) -> Iterator[DuckDBPyConnection]:
    """Open a database in which _TEXTS and _KEY of some vector tables can be queried."""
    chunks = {"chunks": ["chunk_id", "content", "context"]}
    with open_tables(generation, [_EMBEDDED[name] for name in names], chunks) as connection:
        connection.execute("SET VARIABLE identity = $1", [identity])
        yield connection


def _distinct(rows: pa.RecordBatchReader) -> Iterator[pa.Table]:
    """Yield rows that are sorted by id, the first of each id, in the blocks in which they are read."""
    last = None
    for batch in _streamed(rows):
        ids = batch["id"]
        before = pa.concat_arrays([pa.array([last], ids.type), ids[:-1]])
        if (first := batch.filter(pc.fill_null(pc.not_equal(ids, before), True))).num_rows:
            yield pa.Table.from_batches([first])
        last = ids[-1]


def _streamed(rows: pa.RecordBatchReader) -> Iterator[pa.RecordBatch]:
    try:
        yield from rows
    except OSError as error:  # so a stream of DuckDB's reports its errors
        raise StoreError(f"the texts to embed cannot be read: {one_line(error)}; run again") from error

"""The vector tables of a generation: embed what changed, keep the rest."""

from collections.abc import AsyncIterator, Callable, Iterable, Sequence

import duckdb
import numpy as np
import pyarrow as pa

from lightrag_dagster.core.aio import gather_or_cancel
from lightrag_dagster.core.identity import digest
from lightrag_dagster.core.progress import report
from lightrag_dagster.core.protocols import Embedder, Vectors
from lightrag_dagster.indexes.embedding_batches import batches
from lightrag_dagster.indexes.lance import sync_vectors
from lightrag_dagster.indexes.views import create_views
from lightrag_dagster.schemas import MERGED_TABLES
from lightrag_dagster.settings import EmbeddingSettings
from lightrag_dagster.storage import files, generations, manifest
from lightrag_dagster.storage.generations import Generation
from lightrag_dagster.storage.home import Home
from lightrag_dagster.storage.manifest import VectorTable

# What is embedded, over the views of a generation: id, text, and the fingerprint of text and embedder.
_ROWS = {
    "chunk_vectors": """
        SELECT chunk_id AS id, any_value(content) AS text,
            left(sha256(getvariable('identity') || chr(10) || any_value(content)), 32) AS embedding_fingerprint
        FROM chunks GROUP BY chunk_id""",
    "entity_vectors": """
        SELECT entity_id AS id, name || chr(10) || description AS text, embedding_fingerprint FROM entities""",
    "relation_vectors": """
        SELECT relation_id AS id, keywords || chr(9) || src || chr(10) || tgt || chr(10) || description AS text,
            embedding_fingerprint
        FROM relations""",
}

# Rows that are read, embedded and written together: 64 MiB of vectors at 1,024 dimensions.
_ROWS_PER_BLOCK = 16_384


async def build_vectors(
    generation: Generation, name: str, embedder: Embedder, settings: EmbeddingSettings
) -> VectorTable:
    """Make one of VECTOR_TABLES hold what a generation holds, pin and record it, unless that is done already.

    Raises:
        ProviderError: see `Embedder.embed_documents`; what was written before stays, and the next run goes on there.
        EmbeddingError: likewise.
        IntegrityError: see `sync_vectors`.
        StoreError: a table cannot be read or written.
    """
    record = manifest.Vectors(
        provider=settings.provider,
        model=settings.model,
        dimensions=embedder.dimensions,
        max_input_tokens=settings.max_input_tokens,
        identity=embedder.identity,
        tables={},
    )
    if generation.has(generations.VECTORS):
        record = generation.read_record(generations.VECTORS, manifest.Vectors)
    if name not in record.tables:
        with duckdb.connect() as connection:
            create_views(connection, generation)
            connection.execute("SET VARIABLE identity = $1", [embedder.identity])
            wanted = connection.sql(f"SELECT id, embedding_fingerprint FROM ({_ROWS[name]})").to_arrow_table()

            def texts_of(ids: Sequence[str]) -> list[str]:
                connection.register("block", pa.table({"id": ids}))
                texts = dict(
                    connection.execute(f"SELECT id, text FROM ({_ROWS[name]}) SEMI JOIN block USING (id)").fetchall()
                )
                return [texts[one] for one in ids]

            entry = await embed_changed(
                generation.home, name, wanted, texts_of, embedder, tag=generation.id, settings=settings
            )
        record = record.model_copy(update={"tables": record.tables | {name: entry}})
        generation.write_record(generations.VECTORS, record)
    return record.tables[name]


async def embed_changed(
    home: Home,
    name: str,
    wanted: pa.Table,
    texts_of: Callable[[Sequence[str]], list[str]],
    embedder: Embedder,
    *,
    tag: str,
    settings: EmbeddingSettings,
) -> VectorTable:
    """Make a vector table hold exactly the wanted rows, embedding only those that it lacks, and pin that version.

    Each embedder has tables of its own, so that a snapshot made with another one keeps its vectors.

    Args:
        home: the home to write to.
        name: one of VECTOR_TABLES; also the stage of progress.
        wanted: `id`, distinct, and `embedding_fingerprint`.
        texts_of: returns the texts of some of the ids, in their order.
        embedder: embeds documents; its own limit decides how many batches are in flight.
        tag: name for the version.
        settings: bounds of one call of the embedder.

    Raises:
        ProviderError: see `Embedder.embed_documents`.
        EmbeddingError: likewise.
        IntegrityError: see `sync_vectors`.
        StoreError: likewise.
    """

    async def vectors_of(ids: list[str]) -> AsyncIterator[Vectors]:
        done = 0

        async def embed(texts: Sequence[str]) -> Vectors:
            nonlocal done
            vectors = await embedder.embed_documents(texts)
            done += len(texts)
            report(name, done, len(ids))
            return vectors

        for start in range(0, len(ids), _ROWS_PER_BLOCK):
            texts = texts_of(ids[start : start + _ROWS_PER_BLOCK])
            yield np.concatenate(await gather_or_cancel(embed(batch) for batch in batches(texts, settings)))

    table = f"{name}-{digest(embedder.identity)[:8]}"
    return await sync_vectors(home, table, wanted, vectors_of, tag, embedder.dimensions)


def missing_texts(connection: duckdb.DuckDBPyConnection, embedder: str, known: Iterable[str]) -> list[list[str]]:
    """Return for each of VECTOR_TABLES the distinct texts that are embedded for it, but those whose keys are known.

    Args:
        connection: has views or tables `chunks`, `entities` and `relations`.
        embedder: identity of the embedder of the chunks; that of the others is in their fingerprints.
        known: keys in the vector store.
    """
    connection.execute("SET VARIABLE identity = $1", [embedder])
    connection.register("known", pa.table({"embedding_fingerprint": pa.array(known, pa.string())}))
    statement = """
        SELECT any_value(text) FROM ({}) ANTI JOIN known USING (embedding_fingerprint)
        GROUP BY embedding_fingerprint ORDER BY embedding_fingerprint"""
    return [[text for (text,) in connection.execute(statement.format(rows)).fetchall()] for rows in _ROWS.values()]


def embedded_fingerprints(generation: Generation, embedder: str) -> set[str]:
    """Return under which keys the vector store keeps what a generation embeds, as far as its tables are made.

    `embedder` is the identity of the one of a generation that does not say; raises StoreError.
    """
    if not all(generation.has(table) for table in MERGED_TABLES):
        return set()
    if recipe := generation.inputs().recipe:
        embedder = recipe.embedder.identity
    elif generation.has(generations.VECTORS):
        embedder = generation.read_record(generations.VECTORS, manifest.Vectors).identity
    with duckdb.connect() as connection:
        create_views(connection, generation)
        connection.execute("SET VARIABLE identity = $1", [embedder])
        rows = " UNION ALL ".join(f"SELECT embedding_fingerprint FROM ({one})" for one in _ROWS.values())
        return {key for (key,) in connection.execute(rows).fetchall()}


def save_corpus_state(generation: Generation, embedder: Embedder) -> None:
    """Store what the embedder must know of the corpus to embed a question, when it needs to know anything.

    Raises:
        StoreError: a table cannot be read, or the disk refuses.
    """
    if generation.has(generations.CORPUS_STATE):
        return
    with duckdb.connect() as connection:
        create_views(connection, generation)
        rows = connection.execute("SELECT any_value(content) FROM chunks GROUP BY chunk_id")
        state = embedder.corpus_state(text for batch in iter(lambda: rows.fetchmany(1000), []) for (text,) in batch)
    if state is not None:
        with files.replacing(generation.path(generations.CORPUS_STATE)) as temporary, temporary.open("wb") as file:
            np.save(file, state)

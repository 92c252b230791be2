"""The vector tables of a generation: embed what changed, keep the rest."""

from collections.abc import AsyncIterator, Callable, Sequence

import numpy as np
import pyarrow as pa

from lightrag_dagster.core.identity import digest
from lightrag_dagster.core.progress import report
from lightrag_dagster.core.protocols import Embedder, Vectors
from lightrag_dagster.indexes.embedding_batches import Embedding
from lightrag_dagster.indexes.lance import sync_vectors
from lightrag_dagster.indexes.views import create_views
from lightrag_dagster.stages.merging.database import run
from lightrag_dagster.storage import files, generations, manifest
from lightrag_dagster.storage.generations import Generation
from lightrag_dagster.storage.home import Home
from lightrag_dagster.storage.manifest import VectorTable
from lightrag_dagster.storage.memory import in_memory
from lightrag_dagster.storage.vectors import VectorStore

# Vector table → table whose rows it holds.
_EMBEDDED = {"chunk_vectors": "chunks", "entity_vectors": "entities", "relation_vectors": "relations"}

# Id, embedded text, and the fingerprint of text and embedder of each row, over the views of a generation.
_ROWS = {
    "chunk_vectors": """
        SELECT id, text, left(sha256(getvariable('identity') || chr(10) || text), 32) AS embedding_fingerprint
        FROM (
            SELECT chunk_id AS id, any_value(chunk_text(context, content)) AS text FROM chunks GROUP BY chunk_id
        )""",
    "entity_vectors": """
        SELECT entity_id AS id, entity_text(name, description) AS text, embedding_fingerprint FROM entities""",
    "relation_vectors": """
        SELECT relation_id AS id, relation_text(keywords, src, tgt, description) AS text, embedding_fingerprint
        FROM relations""",
}

# Rows that are read, embedded and written together: 64 MiB of vectors at 1,024 dimensions.
_ROWS_PER_BLOCK = 16_384


async def build_vectors(generation: Generation, name: str, embedding: Embedding) -> VectorTable:
    """Make one of VECTOR_TABLES hold what a generation holds, pin and record it, unless that is done already.

    Raises:
        ProviderError: see `Embedder.embed_documents`; what was written before stays; the next run continues there.
        EmbeddingError: likewise.
        IntegrityError: see `sync_vectors`.
        StoreError: a table cannot be read or written.
    """
    embedder, settings = embedding.embedder, embedding.settings
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
        with in_memory() as connection:
            create_views(connection, generation, [_EMBEDDED[name]])
            run(connection, "embedded_text")
            connection.execute("SET VARIABLE identity = $1", [embedder.identity])
            wanted = connection.sql(f"SELECT id, embedding_fingerprint FROM ({_ROWS[name]})").to_arrow_table()

            def texts_of(ids: Sequence[str]) -> list[str]:
                connection.register("block", pa.table({"id": ids}))
                texts = dict(
                    connection.execute(f"SELECT id, text FROM ({_ROWS[name]}) SEMI JOIN block USING (id)").fetchall()
                )
                return [texts[one] for one in ids]

            entry = await embed_changed(generation.home, name, wanted, texts_of, embedding, generation.id)
        record = record.model_copy(update={"tables": record.tables | {name: entry}})
        generation.write_record(generations.VECTORS, record)
    return record.tables[name]


async def embed_changed(
    home: Home,
    name: str,
    wanted: pa.Table,
    texts_of: Callable[[Sequence[str]], list[str]],
    embedding: Embedding,
    tag: str,
) -> VectorTable:
    """Make a vector table hold exactly the wanted rows, embedding only those that it lacks, and pin that version.

    Each embedder has tables of its own, so that a snapshot made with another one keeps its vectors.

    Args:
        home: the home to write to.
        name: one of VECTOR_TABLES; also the stage of progress.
        wanted: `id`, distinct, and `embedding_fingerprint`.
        texts_of: returns the texts of some of the ids, in their order.
        embedding: embeds the texts.
        tag: name for the version.

    Raises:
        ProviderError: see `Embedder.embed_documents`.
        EmbeddingError: likewise.
        IntegrityError: see `sync_vectors`.
        StoreError: likewise.
    """

    async def vectors_of(ids: list[str]) -> AsyncIterator[Vectors]:
        done = 0

        def count(embedded: int) -> None:
            nonlocal done
            done += embedded
            report(name, done, len(ids))

        for start in range(0, len(ids), _ROWS_PER_BLOCK):
            yield await embedding.vectors_of(texts_of(ids[start : start + _ROWS_PER_BLOCK]), count)

    embedder = embedding.embedder
    table = f"{name}-{digest(embedder.identity)[:8]}"
    return await sync_vectors(home, table, wanted, vectors_of, tag, embedder.dimensions)


def texts_to_embed(generation: Generation, published: Generation | None, store: VectorStore) -> list[list[str]]:
    """Return for each of VECTOR_TABLES the texts of a generation that would have to be embedded.

    Args:
        generation: A merged generation.
        published: The generation whose vector tables are up to date, if there is one.
        store: The vector store.

    Raises:
        StoreError: a table or the store is damaged.
    """
    texts, known = _texts_by_fingerprint(generation), set[str]()
    if published is not None:
        known = set().union(*_texts_by_fingerprint(published))
    known |= store.known(set().union(*texts) - known)
    return [[text for fingerprint, text in one.items() if fingerprint not in known] for one in texts]


def _texts_by_fingerprint(generation: Generation) -> list[dict[str, str]]:
    """Return for each vector table fingerprint → text, in order of fingerprint."""
    with in_memory() as connection:
        create_views(connection, generation, _EMBEDDED.values())
        run(connection, "embedded_text")
        connection.execute("SET VARIABLE identity = $1", [generation.inputs().embedder.identity])
        return [
            dict(connection.execute(f"SELECT embedding_fingerprint, text FROM ({rows}) ORDER BY 1").fetchall())
            for rows in _ROWS.values()
        ]


def save_corpus_state(generation: Generation, embedder: Embedder) -> None:
    """Store what the embedder must know of the corpus to embed a question, when it needs to know anything.

    Raises:
        StoreError: a table cannot be read, or the disk refuses.
    """
    if generation.has(generations.CORPUS_STATE):
        return
    with in_memory() as connection:
        create_views(connection, generation, ["chunks"])
        run(connection, "embedded_text")
        rows = connection.execute("SELECT any_value(chunk_text(context, content)) FROM chunks GROUP BY chunk_id")
        state = embedder.corpus_state(text for batch in iter(lambda: rows.fetchmany(1000), []) for (text,) in batch)
    if state is not None:
        with files.replacing(generation.path(generations.CORPUS_STATE)) as temporary, temporary.open("wb") as file:
            np.save(file, state)

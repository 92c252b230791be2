"""Answers and vectors of another system for the chunks of a source whose texts are equal."""

from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from lightrag_dagster.core.identity import digest, embedding_key, extraction_key, text_digest
from lightrag_dagster.core.protocols import Vectors
from lightrag_dagster.imports.stored import TABLE, StoredBase, key_of
from lightrag_dagster.indexes.text_index import passage
from lightrag_dagster.pipeline.extractions import EXTRACTION, Reading, keep_extractions
from lightrag_dagster.pipeline.recipes import Recipes
from lightrag_dagster.pipeline.shards import IngestionStep, Reusable, ingestion
from lightrag_dagster.schemas import EXTRACTIONS
from lightrag_dagster.stages.extraction.mentions import OF_RULES
from lightrag_dagster.storage.database.vectors import VectorStore
from lightrag_dagster.storage.tables.shards import shards
from lightrag_dagster.storage.tables.source_tables import SourceTables

_VECTORS_AT_ONCE = 1024


class TakenAnswers(NamedTuple):
    """The numbers of a source's distinct chunks, of those with a row already, and of those that got an answer now.

    `unused` are answers about texts that no chunk has here: cut differently, edited, removed or left out.
    """

    chunks: int
    known: int
    answered: int
    unused: int


def take_answers(
    source: str, tables: SourceTables, recipes: Recipes, base: StoredBase, reading: Reading = EXTRACTION
) -> TakenAnswers:
    """Give the chunks of a source without a row the stored answers about their text, as rows of the base's recipe.

    They are the base's claims for the `reading` of a pass. A row that failed, or that rules made, makes room for one,
    and one of a table for what the table says now. The next run then asks about the others. Raises StoreError.
    """
    step, known, answered = IngestionStep.of(source, tables, recipes), 0, 0
    table, answers = reading.table, base.claims if reading.of_pass else base.answers
    with ingestion(tables, source):
        chunks = tables.require("chunks", source)
        keys = {chunk: key_of(content) for chunk, content, _ in _chunks(tables, source)}
        said_of = {chunk: answers[key] for chunk, key in keys.items() if key in answers}
        stored, parts = [], shards(chunks.rows)
        earlier = Reusable.of(table, source, tables, base.recipe)
        ids = pa.table({"chunk_id": sorted(keys)})
        for shard in parts:
            before = [one.select(EXTRACTIONS.names) for one in earlier.rows(step, table, shard)]
            kept, left = keep_extractions(shard.of(ids, "chunk_id"), before, retry_failed=False)
            room = _making_room(kept, base.recipe, said_of)
            kept = kept.filter(pc.invert(pc.is_in(kept["chunk_id"], value_set=room)))
            asked = [*left["chunk_id"].to_pylist(), *room.to_pylist()]
            rows = [_row(source, chunk, base, said_of[chunk]) for chunk in asked if chunk in said_of]
            made = pa.concat_tables([kept, pa.Table.from_pylist(rows, schema=EXTRACTIONS)])
            stored.append(tables.store(table, source, reading.rows(made)))
            known, answered = known + len(kept), answered + len(rows)
        if answered:
            # No version of chunks, so that the next run makes the table, which asks about the others.
            inputs = {"imported": digest(base.recipe)}
            tables.record(table, source, stored, inputs=inputs, recipe=recipes.table_recipe(table, source))
    return TakenAnswers(len(keys), known, answered, len(answers.keys() - set(keys.values())))


def _making_room(rows: pa.Table, recipe: str, answers: Mapping[str, Sequence[str]]) -> pa.Array:
    """Return `chunk_id` of the rows of EXTRACTIONS in place of which the answers about their chunks are taken."""
    found = list[str]()
    for row in rows.to_pylist():
        given = answers.get(row["chunk_id"])
        replaces = row["status"] == "failed" or row["model"].startswith(OF_RULES)
        if given and (replaces or (row["recipe"] == recipe == TABLE and row["responses"] != [*given])):
            found.append(row["chunk_id"])
    return pa.array(found, pa.string())


def take_vectors(source: str, tables: SourceTables, recipes: Recipes, base: StoredBase) -> int:
    """Store vectors of chunks under the keys of today's embedder, where its text is equal; return their number.

    None is taken if they have other dimensions than the settings say. Raises StoreError.
    """
    wanted = {text_digest(passage(content, context)) for _, content, context in _chunks(tables, source)}
    count, dimensions, found = 0, recipes.settings.embedding.dimensions, dict[str, Vectors]()
    with VectorStore(tables.home.vectors) as store:
        for text, vector in base.vectors():
            if len(vector) != dimensions:
                other = f"its vectors have {len(vector)} dimensions, where embedding.dimensions is {dimensions}"
                base.notes.append(f"{other}; none is taken")
                return 0
            length = float(np.linalg.norm(vector.astype(np.float64)))
            if text_digest(text) in wanted and np.isfinite(length) and length:
                found[embedding_key(recipes.embedder, text)] = (vector / length).astype(np.float32)
            if len(found) == _VECTORS_AT_ONCE:
                count += len(found)
                store.put_many(found)
                found = {}
        store.put_many(found)
    return count + len(found)


def _chunks(tables: SourceTables, source: str) -> Iterator[tuple[str, str, str | None]]:
    """Yield id, text and context of each chunk."""
    for path in tables.open("chunks", source, tables.require("chunks", source).version):
        rows = tables.home.files.read(path, ["chunk_id", "content", "context"])
        yield from zip(*(column.to_pylist() for column in rows.columns), strict=True)


def _row(source: str, chunk: str, base: StoredBase, responses: Sequence[str]) -> dict[str, object]:
    key, nothing = extraction_key(chunk, base.recipe), ("input_tokens", "cached_input_tokens", "output_tokens")
    row = {"source": source, "chunk_id": chunk, "extraction_key": key, "model": base.model, "recipe": base.recipe}
    said = {"responses": list(responses), "rounds": len(responses), "status": "ok", "cost_usd": 0.0}
    return row | said | dict.fromkeys(nothing, 0)

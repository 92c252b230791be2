"""Parsing of raw extractions into entity and relation mentions."""

from collections.abc import Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from lightrag_dagster.schemas import ENTITY_MENTIONS, RELATION_MENTIONS
from lightrag_dagster.stages.extraction.parsing import Entity, Relation, merge_rounds, parse_response

_KEY = ["source", "chunk_id", "extraction_key"]
# Records as Python objects take much more room than in a table, so they are kept for this many chunks at a time.
_CHUNKS_AT_ONCE = 1024


def parse_extractions(extractions: pa.Table) -> tuple[pa.Table, pa.Table]:
    """Parse every extraction that did not fail (EXTRACTIONS) into ENTITY_MENTIONS and RELATION_MENTIONS.

    `mention_index` is the position among the chunk's entities, or among its relations, after all its rounds have been
    merged; both count from 0. Rows keep the order of the extractions. Of a truncated extraction, an answer without a
    completion marker keeps only its complete lines.
    """
    usable = extractions.filter(pc.is_in(extractions["status"], pa.array(["ok", "truncated"])))
    entities, relations = [ENTITY_MENTIONS.empty_table()], [RELATION_MENTIONS.empty_table()]
    for batch in usable.to_batches(max_chunksize=_CHUNKS_AT_ONCE):
        merged = [
            merge_rounds([parse_response(answer, truncated=status == "truncated") for answer in answers])
            for answers, status in zip(batch["responses"].to_pylist(), batch["status"].to_pylist(), strict=True)
        ]
        entities.append(_mentions(batch, [records.entities for records in merged], ENTITY_MENTIONS))
        relations.append(_mentions(batch, [records.relations for records in merged], RELATION_MENTIONS))
    return pa.concat_tables(entities).combine_chunks(), pa.concat_tables(relations).combine_chunks()


def _mentions(
    extractions: pa.RecordBatch, records_by_chunk: Sequence[Sequence[Entity | Relation]], schema: pa.Schema
) -> pa.Table:
    counts = [len(records) for records in records_by_chunk]
    chunk_of_record = np.repeat(np.arange(len(counts)), counts)
    flat = [record for records in records_by_chunk for record in records]
    columns = {name: extractions[name].take(pa.array(chunk_of_record)) for name in _KEY}
    columns["mention_index"] = [index for count in counts for index in range(count)]
    for name in schema.names[len(columns) :]:
        columns[name] = [getattr(record, name) for record in flat]
    return pa.table(columns, schema=schema)

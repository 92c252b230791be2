"""Parsing of raw extractions into entity and relation mentions, with a count of rejected rows."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from lightrag_dagster.core.identity import name_key
from lightrag_dagster.schemas import ENTITY_MENTIONS, NO_ROW, PARSED, RELATION_MENTIONS
from lightrag_dagster.stages.extraction.echoes import Echoes
from lightrag_dagster.stages.extraction.parsing import Records, merge_rounds, parse_response
from lightrag_dagster.stages.extraction.rejections import SELF_LOOP

_KEY = ["source", "chunk_id", "extraction_key"]
# Chunks whose records are kept at a time: as Python objects they take much more room than in a table.
_CHUNKS_AT_ONCE = 1024
# Identities of models made of rules, whose answers have as many rows as they find.
OF_RULES = ("offline/", "mentions/")


class Mentions(NamedTuple):
    """Tables of the schemas ENTITY_MENTIONS, RELATION_MENTIONS and PARSED."""

    entities: pa.Table
    relations: pa.Table
    parsed: pa.Table


def parse_extractions(
    extractions: pa.Table, passages: pa.Table | None = None, echoes: Echoes | None = None
) -> Mentions:
    """Parse every extraction that did not fail (EXTRACTIONS); `passages` has `chunk_id` and `content` of their chunks.

    Answers of a language model are also compared with the `echoes` of its prompt.
    `mention_index` is the position among the chunk's entities, or among its relations, after all its rounds have been
    merged; both count from 0. Rows keep the order of the extractions. In a truncated extraction, an answer without a
    completion marker keeps only its complete lines.
    """
    texts = dict(zip(*passages.to_pydict().values(), strict=True)) if passages else {}
    made = [[schema.empty_table()] for schema in (ENTITY_MENTIONS, RELATION_MENTIONS, PARSED)]
    for batch in read_batches(extractions):
        merged = _merged(batch, texts, echoes)
        made[0].append(rows_of_records(batch, _KEY, [records.entities for records in merged], ENTITY_MENTIONS))
        made[1].append(rows_of_records(batch, _KEY, [records.relations for records in merged], RELATION_MENTIONS))
        made[2].append(_parsed(batch, merged))
    return Mentions(*(pa.concat_tables(tables).combine_chunks() for tables in made))


def unreadable_chunks(
    extractions: pa.Table, passages: pa.Table | None = None, echoes: Echoes | None = None
) -> pa.Array:
    """Return `chunk_id` of the extractions without a usable row, as `parse_extractions` parses them.

    The rule that asks again for these answers is newer than their rows.
    """
    return unreadable(parse_extractions(extractions, passages, echoes).parsed)


def unreadable(parsed: pa.Table) -> pa.Array:
    """Return `chunk_id` of the rows of PARSED whose extractions did not fail and yet have no usable row."""
    none = (pc.field("entities") == 0) & (pc.field("relations") == 0) & (pc.field("rejected_rows") > 0)
    return parsed.filter(none)["chunk_id"].combine_chunks()


def read_batches(answers: pa.Table) -> Iterator[pa.RecordBatch]:
    """Yield the answers that did not fail, as many at a time as have room in memory as Python objects."""
    read = answers.filter(pc.is_in(answers["status"], pa.array(["ok", "truncated"])))
    yield from read.to_batches(max_chunksize=_CHUNKS_AT_ONCE)


def _merged(extractions: pa.RecordBatch, texts: Mapping[str, str], echoes: Echoes | None = None) -> list[Records]:
    """Return the records of each extraction; `texts` are those of chunks by their ids, where they are known."""
    found = []
    columns = (extractions[name].to_pylist() for name in ("chunk_id", "model", "status", "responses"))
    for chunk, model, status, answers in zip(*columns, strict=True):
        rules = {"most_rows": None} if model.startswith(OF_RULES) else {"echoes": echoes}
        read = partial(parse_response, truncated=status == "truncated", passage=texts.get(chunk, ""), **rules)
        found.append(_without_loops(merge_rounds(list(map(read, answers)))))
    return found


def _without_loops(records: Records) -> Records:
    """Reject relations whose ends are two spellings of one entity, which the merge would leave out silently."""
    kept = tuple(one for one in records.relations if name_key(one.src) != name_key(one.tgt))
    loops = len(records.relations) - len(kept)
    return replace(records, relations=kept, rejected=(*records.rejected, *[SELF_LOOP.reason] * loops))


def _parsed(extractions: pa.RecordBatch, merged: Sequence[Records]) -> pa.Table:
    columns = {name: extractions[name] for name in _KEY}
    columns["entities"] = [len(records.entities) for records in merged]
    columns["relations"] = [len(records.relations) for records in merged]
    columns["rejected_rows"] = [len(records.rejected) for records in merged]
    columns["reason"] = [
        most_frequent(one.rejected) or (NO_ROW if one.is_empty and not model.startswith(OF_RULES) else None)
        for one, model in zip(merged, extractions["model"].to_pylist(), strict=True)
    ]
    return pa.table(columns, schema=PARSED)


def most_frequent(reasons: Sequence[str]) -> str | None:
    """Return the most frequent reason, of equally frequent ones the first; None without any."""
    return next((reason for reason, _ in Counter(reasons).most_common(1)), None)


def rows_of_records(
    answers: pa.RecordBatch, key: Sequence[str], records: Sequence[Sequence[object]], schema: pa.Schema
) -> pa.Table:
    """Return a row for each record of each answer: the columns `key` of the answer, its place there, and its fields."""
    counts = [len(of_answer) for of_answer in records]
    flat = [record for of_answer in records for record in of_answer]
    owners = pa.array(np.repeat(np.arange(len(counts)), counts))
    columns = {name: answers[name].take(owners) for name in key}
    columns[schema.names[len(key)]] = [index for count in counts for index in range(count)]
    columns |= {name: [getattr(record, name) for record in flat] for name in schema.names[len(columns) :]}
    return pa.table(columns, schema=schema)

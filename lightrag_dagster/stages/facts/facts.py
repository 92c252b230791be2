"""Parsing of the readings of a pass into facts, with a count of rejected rows."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from lightrag_dagster.core.protocols import ChatRequest
from lightrag_dagster.fact_schemas import FACTS, READ_FACTS
from lightrag_dagster.stages.extraction.conversation import Extractor
from lightrag_dagster.stages.facts.answers import FactAnswer, FactRecord, merge_answers, read_answer
from lightrag_dagster.stages.facts.passes import Pass
from lightrag_dagster.stages.facts.questions import facts_request
from lightrag_dagster.stages.prompts.requests import by_schema

_KEY = ["source", "chunk_id", "pass", "extraction_key"]
_CHUNKS_AT_ONCE = 1024


class Facts(NamedTuple):
    """Tables of the schemas FACTS and READ_FACTS."""

    facts: pa.Table
    read: pa.Table


@dataclass(frozen=True)
class FactReader(Extractor):
    """A model that is asked for the facts of chunks by the schema of a pass."""

    of_pass: Pass = field(kw_only=True)

    def first_question(
        self, content: str, heading: str | None, context: str | None, language: str | None
    ) -> ChatRequest:
        """Return the question about a chunk."""
        by_form = by_schema(self.settings.answer_format, self.settings.profile)
        return facts_request(self.prompts, self.of_pass, content, heading, context, by_schema=by_form)

    def read(self, answer: str, passage: str, *, truncated: bool) -> FactAnswer:
        """Return the facts of an answer."""
        return read_answer(answer, self.of_pass, passage, truncated=truncated)


def parse_readings(readings: pa.Table, passages: pa.Table, of_pass: Pass, today: str | None = None) -> Facts:
    """Parse every reading that did not fail (READINGS); `passages` has `chunk_id` and `content` of their chunks.

    `fact_index` is the position among the chunk's facts of all its answers, from 0. Rows that fit an earlier schema,
    as those of another recipe than `today`'s may, are not rejected: their reading counts as outdated.
    """
    texts: Mapping[str, str] = dict(zip(*passages.to_pydict().values(), strict=True))
    made = [[FACTS.empty_table()], [READ_FACTS.empty_table()]]
    parsed = readings.filter(pc.is_in(readings["status"], pa.array(["ok", "truncated"])))
    for batch in parsed.to_batches(max_chunksize=_CHUNKS_AT_ONCE):
        columns = (batch[name].to_pylist() for name in ("chunk_id", "status", "responses", "recipe"))
        answers = []
        for chunk, status, said, recipe in zip(*columns, strict=True):
            read = partial(read_answer, of_pass=of_pass, passage=texts.get(chunk, ""), truncated=status == "truncated")
            answer = merge_answers([read(text) for text in said])
            answers.append(answer if today in (None, recipe) else answer.by_earlier_schema())
        made[0].append(_facts(batch, answers))
        made[1].append(_read(batch, answers))
    return Facts(*(pa.concat_tables(tables).combine_chunks() for tables in made))


def _facts(readings: pa.RecordBatch, answers: Sequence[FactAnswer]) -> pa.Table:
    counts = [len(answer.facts) for answer in answers]
    flat = [fact for answer in answers for fact in answer.facts]
    of_fact = pa.array(np.repeat(np.arange(len(counts)), counts))
    columns = {name: readings[name].take(of_fact) for name in _KEY}
    columns["fact_index"] = [index for count in counts for index in range(count)]
    columns |= {name: [getattr(fact, name) for fact in flat] for name in FACTS.names[len(columns) :]}
    return pa.table(columns, schema=FACTS)


def _read(readings: pa.RecordBatch, answers: Sequence[FactAnswer]) -> pa.Table:
    columns = {name: readings[name] for name in _KEY}
    columns["facts"] = [len(answer.facts) for answer in answers]
    columns["rejected_rows"] = [len(answer.rejected) for answer in answers]
    columns["open_dates"] = [sum(map(_is_open, answer.facts)) for answer in answers]
    most = [Counter(answer.rejected).most_common(1) for answer in answers]
    columns["reason"] = [one[0][0] if one else None for one in most]
    return pa.table(columns, schema=READ_FACTS)


def _is_open(fact: FactRecord) -> bool:
    return bool(fact.when_words) and not (fact.valid_from or fact.valid_to)

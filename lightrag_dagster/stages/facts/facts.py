"""Parsing of the readings of a pass into facts, with a count of rejected rows."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import NamedTuple

import pyarrow as pa

from lightrag_dagster.core.protocols import ChatRequest
from lightrag_dagster.fact_schemas import FACTS, READ_FACTS
from lightrag_dagster.stages.extraction.conversation import Extractor
from lightrag_dagster.stages.extraction.mentions import most_frequent, read_batches, rows_of_records
from lightrag_dagster.stages.facts.answers import FactAnswer, FactRecord, merge_answers, read_answer
from lightrag_dagster.stages.facts.passes import Pass
from lightrag_dagster.stages.facts.questions import facts_request
from lightrag_dagster.stages.prompts.requests import by_schema

_KEY = ["source", "chunk_id", "pass", "extraction_key"]


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
    for batch in read_batches(readings):
        columns = (batch[name].to_pylist() for name in ("chunk_id", "status", "responses", "recipe"))
        answers = []
        for chunk, status, said, recipe in zip(*columns, strict=True):
            read = partial(read_answer, of_pass=of_pass, passage=texts.get(chunk, ""), truncated=status == "truncated")
            answer = merge_answers([read(text) for text in said])
            answers.append(answer if today in (None, recipe) else answer.by_earlier_schema())
        made[0].append(rows_of_records(batch, _KEY, [answer.facts for answer in answers], FACTS))
        made[1].append(_read(batch, answers))
    return Facts(*(pa.concat_tables(tables).combine_chunks() for tables in made))


def _read(readings: pa.RecordBatch, answers: Sequence[FactAnswer]) -> pa.Table:
    columns = {name: readings[name] for name in _KEY}
    columns["facts"] = [len(answer.facts) for answer in answers]
    columns["rejected_rows"] = [len(answer.rejected) for answer in answers]
    columns["open_dates"] = [sum(map(_is_open, answer.facts)) for answer in answers]
    columns["reason"] = [most_frequent(answer.rejected) for answer in answers]
    return pa.table(columns, schema=READ_FACTS)


def _is_open(fact: FactRecord) -> bool:
    is_half = "unread" in (fact.from_precision, fact.to_precision)
    return is_half or (bool(fact.when_words) and not (fact.valid_from or fact.valid_to))

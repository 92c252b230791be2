"""The tables of a pass, made from its readings."""

from datetime import date
from typing import Any

import pyarrow as pa

from lightrag_dagster.fact_schemas import READINGS
from lightrag_dagster.pipeline.mentions import PASSAGES
from lightrag_dagster.stages.facts import answers
from lightrag_dagster.stages.facts.facts import parse_readings
from tests.stages.facts.schema import OFFICES, PASSAGE, ROW, answer, row
from tests.stages.merging.tables import extraction


def reading(chunk: str, *responses: str, status: str = "ok") -> dict[str, Any]:
    return extraction("notes", chunk, f"k-{chunk}", status) | {"pass": "offices", "responses": [*responses]}


def test_rows_of_an_earlier_schema_are_not_rejected() -> None:
    said = answer(row(), row(relation="knows"), row(subject_type="river"), row(words="Nobody said it."))
    readings = pa.Table.from_pylist([reading("c1", said) | {"recipe": "earlier"}], READINGS)
    passages = pa.table({"chunk_id": ["c1"], "content": [PASSAGE]})
    (earlier,) = parse_readings(readings, passages, OFFICES, "today").read.to_pylist()
    (now,) = parse_readings(readings, passages, OFFICES, "earlier").read.to_pylist()
    assert (earlier["facts"], earlier["rejected_rows"]) == (1, 1)
    assert (now["facts"], now["rejected_rows"]) == (1, 3)


def test_facts_and_their_counts_chunk_by_chunk() -> None:
    open_date = row(words="it sold 40 units last year", subject="Acme", subject_type="Company", relation="revenue",
                    value="40 units", when="last year")  # fmt: skip
    readings = [
        reading("c1", answer(ROW, open_date, row(relation="x"))),
        reading("c2", answer(), answer(ROW, row(words="no"), row(relation="x"), row(relation="y"))),
        reading("c3", answer(ROW)[:-30], status="truncated"),
        reading("c4", status="failed"),
        reading("c5", answer(ROW)),
    ]
    passages = [{"chunk_id": f"c{at}", "content": PASSAGE} for at in (4, 3, 2, 1, 1)]
    found = parse_readings(pa.Table.from_pylist(readings, READINGS), pa.Table.from_pylist(passages, PASSAGES), OFFICES)
    facts = [
        (one["chunk_id"], one["extraction_key"], one["fact_index"], one["relation"]) for one in found.facts.to_pylist()
    ]
    assert facts == [
        ("c1", "k-c1", 0, "chief_executive"),
        ("c1", "k-c1", 1, "revenue"),
        ("c2", "k-c2", 0, "chief_executive"),
    ]
    assert found.facts["valid_from"].to_pylist() == [date(2021, 5, 1), None, date(2021, 5, 1)]
    counts = found.read.drop_columns(["source", "pass", "extraction_key"]).to_pydict()
    assert counts == {
        "chunk_id": ["c1", "c2", "c3", "c5"],
        "facts": [2, 1, 0, 0],
        "rejected_rows": [1, 3, 0, 1],
        "open_dates": [1, 0, 0, 0],
        "reason": [answers.OTHER_RELATION, answers.OTHER_RELATION, None, answers.WORDS_LACKING],
    }


def test_a_time_of_which_one_end_is_read_is_open() -> None:
    passage = "Ada Berg led Acme from May 2021 to the last ball."
    said = answer(row(words=passage, when="from May 2021 to the last ball"))
    found = parse_readings(
        pa.Table.from_pylist([reading("c1", said)], READINGS),
        pa.table({"chunk_id": ["c1"], "content": [passage]}),
        OFFICES,
    )
    (fact,), (counts,) = found.facts.to_pylist(), found.read.to_pylist()
    assert (fact["valid_from"], fact["valid_to"], fact["to_precision"]) == (date(2021, 5, 1), None, "unread")
    assert counts["open_dates"] == 1


def test_no_reading_is_no_row() -> None:
    found = parse_readings(READINGS.empty_table(), PASSAGES.empty_table(), OFFICES)
    assert (found.facts.num_rows, found.read.num_rows) == (0, 0)

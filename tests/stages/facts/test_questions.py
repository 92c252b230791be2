"""The question of a pass: its system part is the same for all chunks, and the form of an answer fits the schema."""

import json

import pytest

from lightrag_dagster.stages.facts.questions import answer_schema, facts_request, schema_text
from lightrag_dagster.stages.prompts import load_prompts
from tests.stages.facts.schema import OFFICES, PASSAGE, ROW

PROMPTS = load_prompts(None)


def test_the_schema_as_the_model_reads_it() -> None:
    assert schema_text(OFFICES).splitlines() == [
        "Types of subjects and objects:",
        "",
        "- Person",
        "- Company",
        "- place",
        "",
        "Relations:",
        "",
        "- chief_executive: subject: Person; object: Company; with the time, if it is said",
        "- located_in: subject: Company or Person; object: place; no time. Where it is.",
        "- owns: subject: Company; object: Company or place; no time",
        "- revenue: subject: Company; value: number in EUR; with the time, if it is said",
        "- founded: subject: Company; value: date; no time",
        "- slogan: subject: Company; value: text; no time Example: “We pay.”",
        "- listed: subject: Company; value: yes/no; no time",
    ]


@pytest.mark.parametrize(
    ("content", "heading", "context"),
    [(PASSAGE, None, None), ("$schema ```\n{x}", "A > B", None), ("", None, "It is of 2020"), ("東京", None, "c")],
)
def test_what_all_chunks_share_comes_first_and_is_the_same(
    content: str, heading: str | None, context: str | None
) -> None:
    first = facts_request(PROMPTS, OFFICES, PASSAGE, None, None, by_schema=False)
    one = facts_request(PROMPTS, OFFICES, content, heading, context, by_schema=False)
    assert one.messages[0] == first.messages[0]
    assert one.messages[0].begins_others
    assert schema_text(OFFICES) in one.messages[0].content
    assert "$schema" not in one.messages[0].content
    assert all(part in one.messages[1].content for part in (content, heading or "", context or ""))
    assert (one.role, one.json_answer, one.answer_schema) == ("extract", True, None)


def test_the_form_of_an_answer_holds_every_key_and_the_relations_alone() -> None:
    schema = answer_schema(OFFICES)
    assert facts_request(PROMPTS, OFFICES, PASSAGE, None, None, by_schema=True).answer_schema == schema
    item = json.loads(json.dumps(schema))["properties"]["facts"]["items"]
    assert (set(item["properties"]), set(item["required"])) == (set(ROW), set(ROW))
    assert item["properties"]["relation"]["enum"] == [*OFFICES.relations]
    assert not item["additionalProperties"]

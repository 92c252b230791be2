"""LightRAG's questions: its fields, and the forms of its answers."""

import json
from pathlib import Path
from typing import Any

import pytest

from lightrag_dagster.serving import lightrag_api
from lightrag_dagster.settings import Settings, load_settings
from tests.loopback import Loopback
from tests.serving.doors import listening, service_of

QUESTION = "Who repaired the sensor at Station 14?"

FIELDS: dict[str, dict[str, Any]] = {
    "QueryRequest": {
        "query": ...,
        "mode": "mix",
        "only_need_context": None,
        "only_need_prompt": None,
        "response_type": None,
        "top_k": None,
        "chunk_top_k": None,
        "max_entity_tokens": None,
        "max_relation_tokens": None,
        "max_total_tokens": None,
        "hl_keywords": [],
        "ll_keywords": [],
        "conversation_history": None,
        "user_prompt": None,
        "disable_user_prompt_prefix": None,
        "enable_rerank": None,
        "include_references": True,
        "include_chunk_content": False,
        "include_progress": False,
        "stream": None,
    },
    "ReferenceItem": {"reference_id": ..., "file_path": ..., "content": None},
    "QueryResponse": {"response": ..., "references": None, "response_time": None, "llm_generated": True},
    "QueryDataResponse": {"status": ..., "message": ..., "data": ..., "metadata": ...},
}
"""The fields of LightRAG 1.5.7 and their defaults; `...` where one must be given."""


@pytest.mark.parametrize("name", FIELDS)
def test_fields_and_defaults_are_lightrags(name: str) -> None:
    fields = getattr(lightrag_api, name).model_fields
    ours = {one: ... if field.is_required() else field.get_default() for one, field in fields.items()}
    assert {one: ours[one] for one in FIELDS[name]} == FIELDS[name]
    assert set(ours) - set(FIELDS[name]) == ({"filters", "as_of"} if name == "QueryRequest" else set())


def asked(home: Path | Settings, path: str, **given: Any) -> Any:
    """Return the answer of a path to the question."""
    with listening(service_of(home)) as client:
        answer = client.post(path, json={"query": QUESTION, **given})
        assert answer.status_code == 200, answer.text
        return [json.loads(line) for line in answer.text.splitlines()] if path == "/query/stream" else answer.json()


def test_what_is_found_has_lightrags_names(published_home: Path) -> None:
    found = asked(published_home, "/query/data", ll_keywords=["Priya Nair"], hl_keywords=["repairs"])
    assert (found["status"], found["metadata"]["query_mode"]) == ("success", "mix")
    assert found["metadata"]["keywords"] == {"high_level": ["repairs"], "low_level": ["Priya Nair"]}
    names = {kind: set(rows[0]) for kind, rows in found["data"].items()}
    place = {"source_id", "file_path", "created_at"}
    assert names == {
        "entities": {"entity_name", "entity_type", "description"} | place,
        "relationships": {"src_id", "tgt_id", "description", "keywords", "weight"} | place,
        "chunks": {"reference_id", "content", "file_path", "chunk_id"},
        "references": {"reference_id", "file_path"},
    }


def test_nothing_found_is_a_failure_in_lightrags_words(published_home: Path) -> None:
    found = asked(published_home, "/query/data", mode="naive", filters={"dated_since": "2999-01-01"})
    assert (found["status"], found["data"]) == ("failure", {})


@pytest.mark.parametrize(
    ("given", "begins", "generated"),
    [
        pytest.param({"mode": "naive"}, "Priya Nair repaired", True, marks=pytest.mark.long),
        ({"mode": "naive", "only_need_context": True}, "## Excerpts", False),
        ({"mode": "naive", "only_need_context": True, "only_need_prompt": True}, "system", False),
        pytest.param(
            {"mode": "naive", "filters": {"dated_since": "2999-01-01"}}, "Sorry", False, marks=pytest.mark.long
        ),
    ],
)
def test_a_text_says_whether_a_model_wrote_it(
    published_home: Path, given: dict[str, Any], begins: str, generated: bool
) -> None:
    told = asked(published_home, "/query", **given)
    assert (begins.lower() in told["response"][:400].lower(), told["llm_generated"]) == (True, generated)
    (line,) = asked(published_home, "/query/stream", stream=False, **given)
    assert line["response"] == told["response"]


def test_references_are_left_out_or_have_their_passages(published_home: Path) -> None:
    told = asked(published_home, "/query", mode="bm25", include_chunk_content=True)
    assert told["references"][0]["content"] == ["Priya Nair repaired the sensor at Station 14."]
    assert "references" not in asked(published_home, "/query", mode="bm25", include_references=False)


def test_a_stream_has_references_and_then_the_text(published_home: Path) -> None:
    first, *pieces = asked(published_home, "/query/stream", mode="bm25")
    assert first["references"][0] == {"reference_id": "1", "file_path": "archive/shared.md"}
    assert "".join(one["response"] for one in pieces) == asked(published_home, "/query", mode="bm25")["response"]


def test_the_model_gets_history_and_instructions(published_home: Path, loopback: Loopback) -> None:
    history = [{"role": "developer", "content": "Tell me of Bergen.", "name": "ann"}]
    given = {"mode": "bm25", "conversation_history": history, "user_prompt": "In verse.", "response_type": "A poem"}
    asked(load_settings(home=published_home, llm={"provider": "openai", "model": "m"}), "/query", **given)
    sent = json.dumps(loopback.requests[-1].body)
    assert all(text in sent for text in ("developer", "Tell me of Bergen.", "In verse.", "A poem"))

"""The paths of HTTP: answers, refusals, tokens, and what is written down."""

import asyncio
import json
import logging
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx2
import pytest
from starlette.types import Receive

from lightrag_dagster.pipeline.scopes import still_read
from lightrag_dagster.query.knowledge_base import KnowledgeBase
from lightrag_dagster.serving import app_of
from lightrag_dagster.serving.service import Service
from lightrag_dagster.settings import load_settings
from tests.serving.doors import KEYS, listening, service_of, tokens, until
from tests.support import FLOOD, RIVER, build, write_source

QUESTION = "Who repaired the sensor at Station 14?"


@pytest.mark.long
def test_answers_are_those_of_the_knowledge_base(published_home: Path) -> None:
    with KnowledgeBase.open(published_home) as base, listening(service_of(published_home)) as client:
        found = base.retrieve(QUESTION, mode="naive", chunk_top_k=2).to_dict()
        told = client.post("/retrieve", json={"query": QUESTION, "mode": "naive", "chunk_top_k": 2}).json()
        assert json.dumps(told["chunks"]) == json.dumps(found["chunks"])
        answer = client.post("/query", json={"query": QUESTION, "mode": "naive"}).json()
        assert answer["response"] == base.query(QUESTION, mode="naive").text
        assert answer["references"][0]["file_path"] == "archive/shared.md"
        narrowed = client.post("/retrieve", json={"query": QUESTION, "filters": {"sources": ["office"]}}).json()
        assert {chunk["source"] for chunk in narrowed["chunks"]} == {"office"}


def test_a_step_that_fails_is_in_the_log_and_told_to_none_who_asks(
    published_home: Path, caplog: pytest.LogCaptureFixture
) -> None:
    rerank = {"provider": "http", "base_url": "http://127.0.0.1:1", "model": "own-ranker"}
    with listening(service_of(load_settings(home=published_home, rerank=rerank))) as client:
        answer = client.post("/retrieve", json={"query": QUESTION, "mode": "bm25"})
    assert (answer.status_code, "own-ranker" in answer.text, bool(answer.json()["chunks"])) == (200, False, True)
    assert "rerank: reranker own-ranker cannot be reached" in caplog.messages


@pytest.fixture(scope="module")
def client(published_home: Path) -> Iterator[httpx2.Client]:
    with listening(service_of(published_home)) as listened:
        yield listened


@pytest.mark.parametrize(
    ("method", "path", "sent", "status", "said"),
    [
        ("GET", "/graphs", {}, 404, "this path is not here; there are /query"),
        ("GET", "/query", {}, 405, '{"detail":"Method Not Allowed"}'),
        ("GET", "/mcp", {}, 405, '{"detail":"Method Not Allowed"}'),
        ("POST", "/query", {"json": {"query": "Wh"}}, 422, "too short"),
        ("POST", "/query", {"json": {"query": QUESTION, "mode": "fuzzy"}}, 422, "mode: Input should be 'fusion'"),
        ("POST", "/query", {"json": {"query": QUESTION, "ids": ["a"]}}, 422, "ids does not exist"),
        ("POST", "/query", {"json": {"query": QUESTION, "top_n": 3}}, 422, "top_n does not exist; did you mean top_k?"),
        ("POST", "/query", {"json": {"query": QUESTION, "include_progress": True}}, 422, "include_progress: "),
        ("POST", "/query/stream", {"json": {"query": "Wh"}}, 422, "too short"),
        ("POST", "/query", {"content": "{", "headers": {"content-type": "application/json"}}, 422, "Invalid JSON"),
        ("POST", "/query", {"content": json.dumps({"query": QUESTION})}, 415, "application/json"),
        ("POST", "/query", {"json": {"query": "x" * 1_000_001}}, 413, "1,000,000 bytes"),
        ("POST", "/retrieve", {"json": {"query": QUESTION, "filters": {"sources": "nowhere"}}}, 422, "nowhere"),
        ("POST", "/retrieve", {"json": {"query": QUESTION, "filters": {"source": "a"}}}, 422, "mean filters.sources?"),
        ("POST", "/retrieve", {"json": {"query": QUESTION, "filters": {"tags": {"a": 0}}}}, 422, "filters.tags takes"),
        ("POST", "/retrieve", {"json": {"query": QUESTION, "filters": {"tags": [3]}}}, 422, "each of filters.tags"),
        ("POST", "/facts", {"json": {"as_of": "never"}}, 422, "never"),
        ("GET", "/health", {"headers": {"host": "evil.example"}}, 421, "localhost"),
    ],
)
def test_a_refusal_is_a_status_and_a_sentence(
    client: httpx2.Client, method: str, path: str, sent: dict[str, Any], status: int, said: str
) -> None:
    answer = client.request(method, path, **sent)
    assert (answer.status_code, said in answer.text) == (status, True), answer.text


def test_a_token_is_asked_for_wherever_something_is_told(published_home: Path) -> None:
    with listening(service_of(published_home, tokens=tokens(keeper={}))) as client:
        until(lambda: client.get("/ready").status_code == 200)
        assert client.get("/health").json()["auth_mode"] == "enabled"
        assert client.get("/openapi.json").status_code == 200
        asked = {"query": QUESTION, "mode": "bm25"}
        for key in ({}, {"X-API-Key": "wrong"}, {"Authorization": f"Basic {KEYS['keeper']}"}):
            assert client.post("/query", json=asked, headers=key).status_code == 403
            assert client.post("/retrieve", json=asked, headers=key).status_code == 401
            assert client.get("/metrics", headers=key).status_code == 401
            assert client.post("/mcp", json={}, headers=key).headers["www-authenticate"] == "Bearer"
        for key in ({"X-API-Key": KEYS["keeper"]}, {"Authorization": f"Bearer {KEYS['keeper']}"}):
            assert client.post("/query", json=asked, headers=key).status_code == 200


def test_a_scope_that_is_not_there_is_an_error(published_home: Path) -> None:
    with listening(service_of(published_home, tokens=tokens(board={"scope": "board"}))) as client:
        answer = client.post("/retrieve", json={"query": QUESTION}, headers={"X-API-Key": KEYS["board"]})
        assert (answer.status_code, "nothing to ask here now" in answer.text) == (503, True)
        assert client.get("/ready").status_code == 503


@pytest.mark.long
def test_a_service_is_ready_without_a_scope_that_was_removed_and_holds_no_replaced_snapshot(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    scopes = {"board": {"sources": ("notes",)}, "press": {"sources": ("notes",)}}
    settings = load_settings(home=tmp_path / "home", sources=tmp_path / "sources", scopes=scopes)
    write_source(settings, "notes", {"river.md": RIVER})
    build(settings)
    given = tokens(board={"scope": "board", "dollars_a_day": 1}, keeper={"scope": "press"})
    with listening(service_of(settings, tokens=given)) as client:
        key = {"X-API-Key": KEYS["board"]}
        assert client.post("/facts", json={}, headers=key).status_code == 200
        until(lambda: client.get("/ready").status_code == 200)
        write_source(settings, "notes", {"flood.md": FLOOD, "river.md": FLOOD})
        build(settings)
        until(lambda: not still_read(settings, "board"))  # although nothing is asked
        build(settings.changed(scopes={"press": scopes["press"]}))
        until(lambda: client.post("/facts", json={}, headers=key).status_code == 503)
        assert client.get("/ready").status_code == 200, "others are answered"
        build(settings)
        until(lambda: client.post("/facts", json={}, headers=key).status_code == 200)


@pytest.mark.long
def test_a_scope_that_was_never_published_keeps_no_other_from_what_is_published_now(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    scopes = {"board": {"sources": ("none",)}, "press": {"sources": ("notes",)}}
    settings = load_settings(home=tmp_path / "home", sources=tmp_path / "sources", scopes=scopes)
    write_source(settings, "notes", {"river.md": RIVER})
    build(settings)
    given = tokens(board={"scope": "board"}, keeper={"scope": "press"})
    with listening(service_of(settings, tokens=given)) as client:
        assert client.post("/facts", json={}, headers={"X-API-Key": KEYS["keeper"]}).status_code == 200
        write_source(settings, "notes", {"river.md": FLOOD})
        build(settings)
        until(lambda: not still_read(settings, "press"))  # although nothing is asked
        assert client.get("/ready").status_code == 200
    assert [one.startswith("not open: no scope board") for one in caplog.messages] == [True], "at each look"


def test_who_asks_too_often_is_told_when_to_ask_again(published_home: Path) -> None:
    with listening(service_of(published_home, tokens=tokens(keeper={"requests_a_minute": 1}))) as client:
        key = {"X-API-Key": KEYS["keeper"]}
        first, second = (client.post("/facts", json={}, headers=key) for _ in range(2))
        assert (first.status_code, second.status_code) == (200, 429)
        assert 50 < int(second.headers["retry-after"]) <= 60


def test_neither_tokens_nor_questions_are_in_the_log(published_home: Path, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    asked = {"query": "Does Marzipan help?", "mode": "naive"}
    with listening(service_of(published_home, tokens=tokens(keeper={}))) as client:
        for key in (KEYS["keeper"], "wrong-token"):
            for path in ("/query", "/query/stream", "/retrieve", "/facts?q=Marzipan", "/Marzipan"):
                client.post(path, json=asked, headers={"X-API-Key": key})
            client.post("/retrieve", json={"query": "Marzipan", "mode": "Marzipan"}, headers={"X-API-Key": key})
        numbers = client.get("/metrics", headers={"X-API-Key": KEYS["keeper"]}).text
    logged = "\n".join(record.getMessage() for record in caplog.records if record.name.startswith("lightrag"))
    assert "POST /query 200" in logged
    assert 'lightrag_question_seconds_count{door="/retrieve",outcome="422"} 1.0' in numbers
    for secret in ("Marzipan", KEYS["keeper"], "wrong-token"):
        assert secret not in logged + numbers


def test_questions_are_logged_where_that_is_asked_for(published_home: Path, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO)
    forged = '{"subject":\n"POST /query 200 0.001 s keeper", "object": "\x1b[2J"}'
    with listening(service_of(published_home, logs_questions=True)) as client:
        client.post("/facts", json={"subject": "Marzipan"})
        client.post("/facts", content=forged, headers={"content-type": "application/json"})
    lines = [one.getMessage() for one in caplog.records if one.name == "lightrag_dagster.serving"]
    assert '/facts of anyone: \'{"subject":"Marzipan"}\'' in lines
    assert not [one for one in lines if "\n" in one or "\x1b" in one]


class _Counted(bytes):
    """Bytes that count how often their length is asked for."""

    asked = 0

    def __len__(self) -> int:
        _Counted.asked += 1
        return super().__len__()


def status_of(service: Service, receive: Receive) -> int:
    """Return the status of a request whose body comes by `receive`."""
    sent = list[Any]()

    async def send(message: Any) -> None:
        sent.append(message)

    async def ask() -> None:
        await app_of(service)({"type": "http", "path": "/health", "method": "POST", "headers": []}, receive, send)

    asyncio.run(ask())
    return int(sent[0]["status"])


def test_a_body_in_many_parts_is_not_measured_again_with_each(tmp_path: Path) -> None:
    parts = iter(range(1_100))

    async def receive() -> dict[str, Any]:
        next(parts)
        return {"type": "http.request", "body": _Counted(b" "), "more_body": True}

    assert status_of(service_of(tmp_path / "home", limits={"body_bytes": 1_000}), receive) == 413
    assert _Counted.asked < 10_000


def test_a_body_that_does_not_come_is_refused(tmp_path: Path) -> None:
    async def receive() -> dict[str, Any]:
        await asyncio.sleep(60)
        raise AssertionError

    assert status_of(service_of(tmp_path / "home", limits={"seconds": 0.05}), receive) == 408


def test_a_home_without_a_snapshot_is_not_ready(tmp_path: Path) -> None:
    with listening(service_of(tmp_path / "home")) as client:
        assert client.get("/ready").status_code == 503
        assert client.get("/health").status_code == 200
        answer = client.post("/retrieve", json={"query": QUESTION})
        assert (answer.status_code, "published" in answer.text) == (503, True)

"""Money and time of models: a client that leaves ends its calls, and a token spends no more than its dollars."""

import json
import re
import socket
from datetime import UTC, datetime, timedelta

import pytest

from lightrag_dagster.core.protocols import Usage
from lightrag_dagster.serving.access import Caller
from lightrag_dagster.serving.refusals import refusal
from lightrag_dagster.settings import Settings, load_settings
from lightrag_dagster.spending.account import Account, Limit
from lightrag_dagster.spending.ledger import Ledger
from lightrag_dagster.storage.home import Home
from tests.loopback import Loopback, Reply
from tests.query.test_asked import Silent, silent
from tests.serving.doors import KEYS, listening, service_of, tokens, until
from tests.support import RIVER, build, write_source

__all__ = ["silent"]  # a fixture

ASKED = {"query": "Who maintains the gauge?", "mode": "bm25"}


@pytest.fixture
def paid(settings: Settings) -> Settings:
    """Settings of a published home whose questions cost money."""
    write_source(settings, "river", {"gauge.md": RIVER})
    assert build(settings).published
    return load_settings(home=settings.home, llm={"provider": "openai", "model": "gpt-4o-mini"})


@pytest.mark.long
@pytest.mark.parametrize("path", ["/query", "/query/stream", "/mcp"])
def test_a_client_that_leaves_ends_its_call(paid: Settings, silent: Silent, path: str) -> None:
    call = {"name": "answer", "arguments": ASKED}
    asked = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": call} if path == "/mcp" else ASKED
    body = json.dumps(asked).encode()
    head = f"POST {path} HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: {len(body)}"
    with listening(service_of(paid)) as client:
        with socket.create_connection(("127.0.0.1", client.base_url.port or 0)) as leaving:
            leaving.sendall(f"{head}\r\nAccept: application/json, text/event-stream\r\n\r\n".encode() + body)
            until(lambda: silent.taken == 1)
        until(lambda: silent.open == 0, 5)
        assert client.get("/metrics").text.count('outcome="left"') > 0


@pytest.mark.long
def test_a_token_pays_for_a_call_that_it_left(paid: Settings, silent: Silent) -> None:
    body, known = json.dumps(ASKED).encode(), tokens(board={"dollars_a_day": 0.006})
    head = f"POST /query HTTP/1.1\r\nHost: localhost\r\nX-API-Key: {KEYS['board']}\r\nContent-Length: {len(body)}"
    with listening(service_of(paid, tokens=known)) as client:
        with socket.create_connection(("127.0.0.1", client.base_url.port or 0)) as leaving:
            leaving.sendall(f"{head}\r\nContent-Type: application/json\r\n\r\n".encode() + body)
            until(lambda: silent.taken == 1)
        until(lambda: silent.open == 0, 5)
        until(lambda: client.post("/query", json=ASKED, headers={"X-API-Key": KEYS["board"]}).status_code == 429)
        assert silent.taken == 1
    (entry,) = [one for one in Ledger(Home.of(paid).ledger).entries().to_pylist() if one["purpose"] == "answer"]
    assert (entry["calls"], 0.0049 < entry["cost_usd"] < 0.006) == (1, True)


@pytest.mark.long
def test_a_question_that_takes_too_long_is_ended(paid: Settings, silent: Silent) -> None:
    with listening(service_of(paid, limits={"seconds": 1.0})) as client:
        until(lambda: client.get("/ready").status_code == 200)
        answer = client.post("/query", json=ASKED)
        assert (answer.status_code, "more than 1 s" in answer.text) == (504, True)
        assert silent.taken == 1
        until(lambda: silent.open == 0, 5)


@pytest.mark.long
def test_a_stream_that_takes_too_long_says_so_in_its_last_line(paid: Settings, silent: Silent) -> None:
    with listening(service_of(paid, limits={"seconds": 1.0})) as client:
        until(lambda: client.get("/ready").status_code == 200)
        lines = [json.loads(line) for line in client.post("/query/stream", json=ASKED).text.splitlines()]
        assert [*lines[0]] == ["references"]
        assert "too long" in lines[-1]["error"] or "more than 1 s" in lines[-1]["error"]
        until(lambda: silent.open == 0, 5)


def test_a_stream_that_fails_counts_as_its_refusal(paid: Settings, loopback: Loopback) -> None:
    loopback.fault = lambda _: Reply.error(500)
    with listening(service_of(paid.changed(llm={"max_retries": 0}))) as client:
        streamed = client.post("/query/stream", json=ASKED)
        (last,) = [json.loads(line)["error"] for line in streamed.text.splitlines()[1:]]
        metrics = client.get("/metrics").text
    assert (streamed.status_code, last) == (200, "the model gave no usable answer; ask again later")
    assert 'lightrag_question_seconds_count{door="/query/stream",outcome="502"} 1.0' in metrics
    assert 'outcome="ok"' not in metrics


def test_a_token_spends_its_dollars_and_no_more(paid: Settings, loopback: Loopback) -> None:
    known = tokens(keeper={"dollars_a_day": 0.0}, board={"dollars_a_day": 1.0})
    with listening(service_of(paid, tokens=known)) as client:
        streamed = client.post("/query/stream", json=ASKED, headers={"X-API-Key": KEYS["keeper"]})
        told = {name: client.post("/query", json=ASKED, headers={"X-API-Key": KEYS[name]}) for name in KEYS}
        again = client.post("/query", json=ASKED, headers={"X-API-Key": KEYS["board"]})
        graph = client.post("/query", json=ASKED | {"mode": "hybrid"}, headers={"X-API-Key": KEYS["keeper"]})
    for refused in (told["keeper"], streamed, graph):  # of the last a model would find keywords first
        assert (refused.status_code, "$0 a day of this token" in refused.text) == (429, True)
    assert (told["board"].status_code, again.status_code, len(loopback.requests)) == (200, 200, 1)
    entries = Ledger(Home.of(paid).ledger).entries().to_pylist()
    now = datetime.now(UTC)
    days = {f"serve board {when.date()}" for when in (now - timedelta(minutes=5), now)}  # midnight may come in between
    answers = [one for one in entries if one["purpose"] == "answer"]
    assert [(one["run"] in days, one["calls"], one["stored"]) for one in answers] == [(True, 1, 0), (True, 0, 1)]
    assert answers[0]["cost_usd"] > 0


def test_a_token_does_not_spend_what_others_have_spent_of_the_day(paid: Settings, loopback: Loopback) -> None:
    limited = paid.changed(llm={"max_cost_per_day_usd": 0.01})
    spent = Account("others").entry("answer", "m", Usage(calls=1, cost_usd=0.0099))
    Ledger(Home.of(paid).ledger).add(spent)
    with listening(service_of(limited, tokens=tokens(board={"dollars_a_day": 1.0}))) as client:
        refused = client.post("/query", json=ASKED, headers={"X-API-Key": KEYS["board"]})
    assert (refused.status_code, len(loopback.requests)) == (429, 0)
    assert "the dollars a day of all who ask are spent, or too few" in refused.text


@pytest.mark.parametrize(
    ("of", "told"),
    [
        ("run", "the $1 a day of this token are spent, .* ask after midnight UTC"),
        ("day", "the dollars a day of all who ask are spent, .* ask after midnight UTC"),
        ("month", "the dollars a month of all who ask are spent, .* ask next month UTC"),
    ],
)
def test_a_refusal_says_whose_dollars_are_spent_and_no_numbers_of_others(of: str, told: str) -> None:
    error = Limit(of, 0.5, 0.25).exceeded(0.3)
    of_all = [None, Caller(name="anyone")] if of != "run" else []
    for caller in [Caller(name="board", dollars_a_day=1.0), *of_all]:
        refused = refusal(error, caller)
        assert refused.status_code == 429
        assert re.fullmatch(told.replace("$", r"\$"), refused.detail)


def test_tokens_with_a_limit_share_the_base_of_their_scope_and_pay_at_the_end_of_a_call(
    paid: Settings, loopback: Loopback
) -> None:
    service = service_of(paid, tokens=tokens(keeper={"dollars_a_day": 1.0}, board={"dollars_a_day": 1.0}))
    with listening(service) as client:
        for name, key in KEYS.items():
            asked = ASKED | {"query": f"{ASKED['query']} {name}"}
            assert client.post("/query", json=asked, headers={"X-API-Key": key}).status_code == 200
        assert len(service._bases._opened) == 1
        entries = Ledger(Home.of(paid).ledger).entries().to_pylist()
    paying = [one["run"].split()[1] for one in entries if one["calls"] and one["run"].startswith("serve ")]
    assert paying == [*KEYS]

"""Extraction by batch against the loopback server: requests, answers, faults."""

import asyncio
import json
import sqlite3
from collections import Counter
from pathlib import Path
from shutil import rmtree
from typing import Any

import pytest
from tenacity import wait_fixed

from lightrag_dagster.errors import (
    PermanentProviderError,
    ProviderAccessError,
    ProviderError,
    StoreError,
    TransientProviderError,
)
from lightrag_dagster.models import openai_client
from lightrag_dagster.models.batch import batches as batches_module
from lightrag_dagster.models.batch import model as batch_model
from lightrag_dagster.models.batch.batches import open_batches
from lightrag_dagster.models.batch.ledger import (
    COLLECTED,
    ENDED,
    MAX_ATTEMPTS,
    OPEN,
    PREPARED,
    UNDER_WAY,
    BatchLedger,
    sources_that_wait,
)
from lightrag_dagster.models.batch.waiting import collect_batches, poll_batches
from lightrag_dagster.settings import LLMSettings
from lightrag_dagster.spending.account import Account
from lightrag_dagster.spending.ledger import Ledger
from lightrag_dagster.spending.prices import Price
from lightrag_dagster.storage.database.responses import ResponseStore
from lightrag_dagster.storage.home import Home
from tests.conftest import API_KEY
from tests.loopback import Answer, Loopback, Received, Reply
from tests.loopback_batches import Fate
from tests.models.batch.steps import CONTENTS, answer, finish, ledger_of, llm, step, text_of
from tests.stages.extraction.test_extractions import DONE, entity


def cancel(home: Home, settings: LLMSettings) -> list[bool]:
    async def all_open() -> list[bool]:
        async with open_batches(settings, home) as batches:
            return [await batches.cancel(batch) for batch in batches.ledger.batches(*OPEN)]

    return asyncio.run(all_open())


def test_the_rows_are_those_of_real_time_at_half_the_price(loopback: Loopback, tmp_path: Path, any_home: Home) -> None:
    loopback.chat = answer
    at_once, _ = finish(Home(tmp_path / "at-once"), llm().model_copy(update={"mode": "realtime"}))
    loopback.requests.clear()

    rows, steps = finish(any_home, llm())

    assert steps == 2
    assert rows.drop_columns("cost_usd") == at_once.drop_columns("cost_usd")
    assert rows["status"].to_pylist() == ["ok"] * 10
    halves = Price(0.075, 0.075, 0.3)  # of the price in real time, without its discount for what was cached
    costs = [halves.of(*row.values()) for row in rows.select(["input_tokens", "output_tokens"]).to_pylist()]
    assert rows["cost_usd"].to_pylist() == pytest.approx(costs)
    assert sum(costs) < sum(at_once["cost_usd"].to_pylist())
    assert len(loopback.batches.asked()) == 10
    assert len(loopback.batches.batches) == 1
    assert not [one for one in loopback.requests if one.path.endswith("/chat/completions")]
    spent = Ledger(any_home.ledger).by_purpose()["extract"]
    assert spent.calls == 10
    assert Ledger(any_home.ledger).limits(Account("", "s", None, 1.0, 1.0))[1].spent == pytest.approx(spent.cost_usd)
    assert spent.cost_usd == pytest.approx(sum(rows["cost_usd"].to_pylist()))


@pytest.mark.parametrize("is_here", [True, False])
def test_answers_under_ids_of_no_request_are_neither_booked_nor_stored(
    loopback: Loopback, home: Home, caplog: pytest.LogCaptureFixture, is_here: bool
) -> None:
    loopback.chat = answer
    asyncio.run(step(home, llm()))
    if not is_here:  # the run is in another pod
        rmtree(home.batch_files)
    batches = loopback.batches
    (batch,) = batches.batches.values()
    while not batch.ended:
        batches.retrieved(batch)
    assert batch.output
    line = json.loads(batches.files[batch.output].splitlines()[0])
    batches.files[batch.output] += json.dumps(line | {"custom_id": "f" * 32}).encode() + b"\n"
    rows, _ = finish(home, llm())
    assert rows["status"].to_pylist() == ["ok"] * 10
    assert Ledger(home.ledger).by_purpose()["extract"].calls == 10
    with ResponseStore(home.responses) as store:
        assert store.count() == 10
    assert "has 1 answers under ids of no request of it" in caplog.text


def test_answers_of_a_batch_that_tell_no_tokens_are_not_free(
    loopback: Loopback, home: Home, caplog: pytest.LogCaptureFixture
) -> None:
    openai_client.warn_of_estimate.cache_clear()
    loopback.chat = lambda body: Answer(entity("Oslo") + DONE, usage={})
    asyncio.run(step(home, llm()))
    asyncio.run(step(home, llm()))
    batch = next(one for one in ledger_of(home) if one.cost_usd)
    assert 0.1 * batch.worst_usd < batch.cost_usd <= batch.worst_usd
    assert "does not report the tokens of its answers; they are estimated" in caplog.text


def test_estimated_output_is_at_most_the_limit_of_its_request(loopback: Loopback, home: Home) -> None:
    loopback.chat = lambda body: Answer(entity("1" * 200) + DONE, usage={})
    rows, _ = finish(home, llm())
    assert set(rows["output_tokens"].to_pylist()) == {100}
    assert ledger_of(home)[0].cost_usd <= ledger_of(home)[0].worst_usd


def test_money_for_a_batch_that_was_not_recorded_becomes_free(loopback: Loopback, home: Home) -> None:
    """A process was killed between setting it aside and recording the batch."""
    loopback.chat = answer
    Ledger(home.ledger).reserve("lost", Account("run", "s"), 0.5)
    Ledger(home.ledger).reserve("call", Account("run", "s"), 0.25, 60.0)
    asyncio.run(step(home, llm()))
    limit = Ledger(home.ledger).limits(Account("", "s", None, 1.0))[0]
    assert limit.spent == pytest.approx(0.25 + ledger_of(home)[0].worst_usd)


def test_requests_that_wait_for_room_are_not_sent_after_the_model_was_corrected(
    loopback: Loopback, home: Home, caplog: pytest.LogCaptureFixture
) -> None:
    loopback.chat = answer
    right = llm(enqueued_tokens=6_000)  # room for one batch
    asyncio.run(step(home, right.model_copy(update={"model": "wrong"})))
    sent, *others = ledger_of(home)
    assert (sent.state, {batch.state for batch in others}) == (UNDER_WAY, {PREPARED})

    finish(home, right)

    models = Counter(line["body"]["model"] for batch in loopback.batches.batches.values() for line in batch.lines)
    assert models == {"wrong": sent.requests, "gpt-4o-mini": 10}
    assert caplog.text.count("to model wrong is given up, since no extraction waits for its answers") == len(others)
    limit = Ledger(home.ledger).limits(Account("", "s", None, 1.0))[0]
    assert limit.spent == pytest.approx(Ledger(home.ledger).by_purpose()["extract"].cost_usd)
    assert not list(home.batch_files.iterdir())


@pytest.mark.parametrize("first", ["realtime", "batch"])
def test_what_one_mode_bought_the_other_reuses(loopback: Loopback, home: Home, first: str) -> None:
    loopback.chat = answer
    modes = [llm(), llm().model_copy(update={"mode": "realtime"})]
    before, after = modes if first == "batch" else modes[::-1]
    rows, _ = finish(home, before, gleaning=1)
    count = len(loopback.requests)

    again, steps = finish(home, after, gleaning=1)

    assert (again, steps) == (rows, 1)
    assert len(loopback.requests) == count


def test_each_wave_waits_for_the_answers_of_the_one_before(loopback: Loopback, home: Home) -> None:
    """First questions; then what was cut off, with more room; then gleaning, which goes on from whole answers."""

    def reply(body: dict[str, Any]) -> str | Answer:
        if len(body["messages"]) > 2:
            return f"{entity('Gleaned')}\n{DONE}"
        cut = text_of(body) == CONTENTS[3] and body["max_tokens"] == 100
        return Answer(entity("Cut"), "length") if cut else answer(body)

    loopback.chat = reply

    rows, steps = finish(home, llm(), gleaning=1)

    waves = [len(batch.lines) for batch in loopback.batches.batches.values()]
    assert waves == [10, 10, 1]  # nine gleanings and one longer output; then the gleaning of that
    assert steps == 4
    assert rows["rounds"].to_pylist() == [2] * 10
    assert rows["status"].to_pylist() == ["ok"] * 10


def test_lines_may_come_in_any_order_twice_and_among_garbage(loopback: Loopback, home: Home) -> None:
    loopback.chat = answer
    loopback.batches.spoil = lambda batch: Fate(garbage=True)

    rows, _ = finish(home, llm())

    assert {row["responses"][0] for row in rows.to_pylist()} == {answer_to(content) for content in CONTENTS}
    assert Ledger(home.ledger).by_purpose()["extract"].calls == 10


def answer_to(content: str) -> str:
    return f"{entity(content)}\n{DONE}"


@pytest.mark.parametrize(
    "status",
    ["expired", pytest.param("completed", marks=pytest.mark.long), pytest.param("cancelled", marks=pytest.mark.long)],
)
def test_what_a_batch_left_unanswered_is_submitted_again_and_nothing_else(
    loopback: Loopback, home: Home, status: str
) -> None:
    loopback.chat = answer
    fates = [Fate(status, answered=0.6), Fate(status, answered=0.5)]
    loopback.batches.spoil = lambda batch: fates.pop(0) if fates else Fate()

    rows, _ = finish(home, llm())

    assert [len(batch.lines) for batch in loopback.batches.batches.values()] == [10, 4, 2]
    assert rows["status"].to_pylist() == ["ok"] * 10


@pytest.mark.long
def test_what_expires_too_often_fails_with_a_reason_and_is_asked_again_by_a_later_run(
    loopback: Loopback, home: Home
) -> None:
    loopback.chat = answer
    loopback.batches.spoil = lambda batch: Fate("expired", answered=0)

    rows, _ = finish(home, llm())

    assert len(loopback.batches.asked()) == 10 * MAX_ATTEMPTS
    assert set(rows["status"].to_pylist()) == {"failed"}
    assert set(rows["error_kind"].to_pylist()) == {"transient"}
    assert set(rows["error"].to_pylist()) == {
        f"a batch at {loopback.host} left the request unanswered (model gpt-4o-mini): it was still waiting when the "
        "batch expired; run again"
    }
    loopback.batches.spoil = lambda batch: Fate()
    rows, _ = finish(home, llm())
    assert rows["status"].to_pylist() == ["ok"] * 10


def test_what_a_batch_left_unanswered_is_counted_without_its_request_file(loopback: Loopback, home: Home) -> None:
    """The run that collects it may be in another pod."""
    loopback.chat = answer
    loopback.batches.spoil = lambda batch: Fate("expired", answered=0)
    asyncio.run(step(home, llm()))
    (batch,) = loopback.batches.batches.values()
    loopback.batches.retrieved(batch)
    batch.errors = None
    rmtree(home.batch_files)
    asyncio.run(step(home, llm()))
    assert ledger_of(home)[0].unanswered.keys() == set(batch.keys)


def test_failed_lines_count_as_failed_calls(loopback: Loopback, home: Home) -> None:
    loopback.chat = answer
    first = Fate(failed={0: (500, "server_error"), 1: (400, "content_filter"), 2: (400, "context_length_exceeded")})
    fates = [first]
    loopback.batches.spoil = lambda batch: fates.pop(0) if fates else Fate()

    rows, _ = finish(home, llm())

    assert [len(batch.lines) for batch in loopback.batches.batches.values()] == [10, 1]
    assert Counter(rows["error_kind"].to_pylist()) == {None: 8, "permanent": 2}
    errors = " ".join(error for error in rows["error"].to_pylist() if error)
    assert "content filter" in errors
    assert "lower LIGHTRAG_CHUNKING__SIZE" in errors


@pytest.mark.parametrize("line", [b'{"custom_id": null, "error": {"code": "server_error"}}', b"", b"<html>"])
def test_an_error_file_that_cannot_be_read_holds_nothing_up(
    loopback: Loopback, home: Home, monkeypatch: pytest.MonkeyPatch, line: bytes
) -> None:
    """Some servers name no request in it; what it leaves unanswered is submitted again."""
    monkeypatch.setattr(openai_client, "_BACKOFF", wait_fixed(0.01))
    loopback.chat = answer
    fates = [Fate(failed={0: (500, "server_error")})]
    loopback.batches.spoil = lambda batch: fates.pop(0) if fates else Fate()
    asyncio.run(step(home, llm()))
    (batch,) = loopback.batches.batches.values()
    loopback.batches.retrieved(batch)
    assert batch.errors
    loopback.batches.files[batch.errors] = line
    rows, _ = finish(home, llm())
    assert rows["status"].to_pylist() == ["ok"] * 10
    assert [len(batch.lines) for batch in loopback.batches.batches.values()] == [10, 1]


@pytest.mark.parametrize("answered", [0.0, 1.0])
def test_a_file_of_answers_without_any_holds_nothing_up(
    loopback: Loopback, home: Home, monkeypatch: pytest.MonkeyPatch, answered: float
) -> None:
    """All requests failed, and a file is named all the same; or it is spoilt for good."""
    monkeypatch.setattr(openai_client, "_BACKOFF", wait_fixed(0.01))
    loopback.chat = answer
    fates = [Fate("expired", answered=answered)]
    loopback.batches.spoil = lambda batch: fates.pop(0) if fates else Fate()
    asyncio.run(step(home, llm(max_retries=1)))
    (batch,) = loopback.batches.batches.values()
    loopback.batches.retrieved(batch)
    batch.output = "file-of-none"
    loopback.batches.files[batch.output] = b"" if not answered else b"garbage"
    rows, _ = finish(home, llm(max_retries=1))
    assert rows["status"].to_pylist() == ["ok"] * 10
    assert len([one for one in loopback.requests if one.path.endswith("file-of-none/content")]) == 1 + answered
    first, _ = sorted(ledger_of(home), key=lambda one: one.prepared_at)
    assert first.cost_usd == pytest.approx(first.worst_usd * answered)


def test_answers_that_cannot_be_read_cost_the_most_that_they_can(
    loopback: Loopback, home: Home, caplog: pytest.LogCaptureFixture
) -> None:
    loopback.chat = answer
    asyncio.run(step(home, llm()))
    (batch,) = loopback.batches.batches.values()
    loopback.batches.retrieved(batch)
    lines = dict.fromkeys(loopback.batches.files[batch.output or ""].splitlines())
    kept = {json.loads(line)["custom_id"]: line for line in lines}
    loopback.batches.files[batch.output or ""] = b"\n".join([*list(kept.values())[:7], b"garbage"])
    assert finish(home, llm())[0]["status"].to_pylist() == ["ok"] * 10
    first, second = sorted(ledger_of(home), key=lambda one: one.prepared_at)
    assert second.requests == 3
    spent = Ledger(home.ledger).by_purpose()["extract"]
    assert spent.calls == 10 + 3
    assert 0 < spent.cost_usd - second.cost_usd - first.worst_usd * 0.3 < first.worst_usd * 0.7
    assert "3 answers of batch batch_0 are gone from" in caplog.text


@pytest.mark.parametrize("status", [400, 403])
def test_a_batch_whose_answers_are_refused_holds_no_other_up(loopback: Loopback, home: Home, status: int) -> None:
    loopback.chat = answer
    for source in ("one", "two"):
        asyncio.run(step(home, llm(), source=source, contents=[source]))
    first, second = loopback.batches.batches.values()
    for batch in (first, second):
        loopback.batches.retrieved(batch)
    loopback.fault = lambda received: Reply.error(status) if f"{first.output}/content" in received.path else None
    asyncio.run(poll_batches(llm(), home))
    with pytest.raises(ProviderError, match=f"HTTP {status}"):
        asyncio.run(collect_batches(llm(), home, "two", ""))
    assert {one.source: one.state for one in ledger_of(home)} == {"one": ENDED, "two": COLLECTED}
    loopback.fault = lambda received: None
    assert asyncio.run(step(home, llm(), source="one", contents=["one"])) is not None


def test_a_page_in_place_of_answers_is_told_to_each_source_and_ends_with_its_batch(
    loopback: Loopback, home: Home
) -> None:
    loopback.chat, settings = answer, llm(max_retries=0)
    for source in ("one", "two"):
        asyncio.run(step(home, settings, source=source, contents=[source]))
    for batch in loopback.batches.batches.values():
        loopback.batches.retrieved(batch)
        loopback.batches.files[batch.output or ""] = b"<html>Bad gateway</html>"
    asyncio.run(poll_batches(settings, home))
    for one in ledger_of(home):
        said = (
            f"a page in place of batch {one.name} of {one.source}; run again; if it stays, .*batch cancel {one.name}`"
        )
        with pytest.raises(TransientProviderError, match=said):
            asyncio.run(step(home, settings, source=one.source, contents=[one.source]))
    assert cancel(home, settings) == [True, True]
    for source in ("one", "two"):
        assert asyncio.run(step(home, settings, source=source, contents=[source])) is None
    assert [one.state for one in ledger_of(home)] == [COLLECTED, COLLECTED, UNDER_WAY, UNDER_WAY]


def test_lines_of_no_use_cost_what_the_provider_tells(loopback: Loopback, home: Home) -> None:
    said = iter([Answer("Text", "content_filter")])
    loopback.chat = lambda body: next(said, None) or answer(body)
    rows, _ = finish(home, llm())
    spent = Ledger(home.ledger).by_purpose()["extract"]
    assert spent.calls == 10
    assert spent.cost_usd == pytest.approx(sum(rows["cost_usd"].to_pylist()) + Price(0.075, 0.075, 0.3).of(100, 20))


def test_a_batch_that_is_not_accepted_ends_the_run_and_may_be_tried_again(loopback: Loopback, home: Home) -> None:
    loopback.chat = answer
    loopback.batches.spoil = lambda batch: Fate("failed", refusal="invalid_json_line")
    assert asyncio.run(step(home, llm())) is None
    with pytest.raises(ProviderAccessError, match=r"did not accept batch batch_0 .* invalid_json_line; fix that"):
        asyncio.run(step(home, llm()))
    with BatchLedger(home.batches) as ledger:
        assert ledger.due() == {}  # no sensor tries it again by itself

    loopback.batches.spoil = lambda batch: Fate()

    assert finish(home, llm())[0]["status"].to_pylist() == ["ok"] * 10


def test_quota_that_runs_out_in_a_batch_ends_the_run_and_keeps_the_answers(loopback: Loopback, home: Home) -> None:
    loopback.chat = answer
    fates = [Fate(failed=dict.fromkeys(range(4, 10), (429, "insufficient_quota")))]
    loopback.batches.spoil = lambda batch: fates.pop(0) if fates else Fate()
    assert asyncio.run(step(home, llm())) is None
    with pytest.raises(ProviderAccessError, match=r"quota .* is used up"):
        asyncio.run(step(home, llm()))

    rows, _ = finish(home, llm())

    assert [len(batch.lines) for batch in loopback.batches.batches.values()] == [10, 6]
    assert rows["status"].to_pylist() == ["ok"] * 10


def test_a_batch_is_found_again_when_the_reply_to_its_creation_was_lost(
    loopback: Loopback, home: Home, monkeypatch: pytest.MonkeyPatch
) -> None:
    loopback.chat = answer
    loopback.batches.spoil = lambda batch: Fate(lost=True)
    monkeypatch.setattr(batch_model, "MAX_REQUESTS", 5)

    rows, _ = finish(home, llm())

    assert len(loopback.batches.batches) == 2
    assert len(set(loopback.batches.asked())) == len(loopback.batches.asked()) == 10
    assert rows["status"].to_pylist() == ["ok"] * 10


def test_a_process_that_died_before_it_saved_the_batch_attaches_to_it(
    loopback: Loopback, home: Home, monkeypatch: pytest.MonkeyPatch
) -> None:
    loopback.chat = answer
    monkeypatch.setattr(batch_model, "MAX_REQUESTS", 4)
    assert asyncio.run(step(home, llm())) is None
    with BatchLedger(home.batches) as ledger:
        for batch in ledger.batches():
            ledger.save(batch.model_copy(update={"state": PREPARED, "batch_id": None, "status": None}))

    rows, _ = finish(home, llm())

    assert len(loopback.batches.batches) == 3
    assert rows["status"].to_pylist() == ["ok"] * 10


def test_a_process_that_died_before_it_saved_what_it_collected_pays_once(loopback: Loopback, home: Home) -> None:
    loopback.chat = answer
    assert asyncio.run(step(home, llm())) is None
    kept = {path: path.read_bytes() for path in (home.root / "batches.sqlite", *home.batch_files.iterdir())}
    finish(home, llm())
    spent = Ledger(home.ledger).spent("run")
    for path, content in kept.items():
        path.write_bytes(content)

    finish(home, llm())

    assert Ledger(home.ledger).spent("run") == spent > 0


def test_sources_that_share_chunks_share_their_batch(loopback: Loopback, home: Home) -> None:
    loopback.chat = answer
    assert asyncio.run(step(home, llm(), source="one")) is None
    assert asyncio.run(step(home, llm(), source="two")) is None
    rows = [asyncio.run(step(home, llm(), source=source)) for source in ("one", "two")]
    assert len(loopback.batches.asked()) == 10
    assert all(table is not None and table.num_rows == 10 for table in rows)


def test_a_run_asks_about_each_open_batch_once_and_reads_its_requests_once(
    loopback: Loopback, any_home: Home, monkeypatch: pytest.MonkeyPatch
) -> None:
    loopback.chat = answer
    loopback.batches.spoil = lambda batch: Fate(looks=100)
    sources = [f"s{number}" for number in range(8)]

    def run(*sources: str) -> tuple[list[bool], int]:
        """Return of which sources all answers are there, and how often the provider was asked about a batch."""
        loopback.requests.clear()
        rows = [asyncio.run(step(any_home, llm(), source=one, contents=[one])) for one in sources]
        asked = [one for one in loopback.requests if one.path.startswith("/v1/batches/")]
        return [table is not None for table in rows], len(asked)

    assert run(*sources) == ([False] * 8, 0)
    assert run(*sources) == ([False] * 8, 8)
    for path in any_home.batch_files.iterdir():
        path.unlink()
    assert run(*sources) == ([False] * 8, 8)
    with monkeypatch.context() as patch:
        patch.setattr(batches_module, "RECENT_SECONDS", 0.0)
        assert run(sources[0]) == ([False], 8)  # also about those of sources that are gone
    for batch in loopback.batches.batches.values():
        batch.fate.looks = 0
    assert run(*sources) == ([True] * 8, 8)
    assert len(loopback.batches.asked()) == 8


def test_a_source_may_wait_for_an_ordinary_run_and_for_a_backfill(loopback: Loopback, home: Home) -> None:
    loopback.chat = answer
    loopback.batches.spoil = lambda batch: Fate(looks=1)
    assert asyncio.run(step(home, llm(), contents=CONTENTS[:2])) is None
    assert asyncio.run(step(home, llm(), backfill=True)) is None

    assert sources_that_wait(llm(), home) == {"s": {False, True}}
    assert [asyncio.run(step(home, llm(), backfill=True)) is None for _ in range(2)] == [True, False]
    assert sources_that_wait(llm(), home) == {"s": {False}}
    assert asyncio.run(step(home, llm(), contents=CONTENTS[:2])) is not None
    assert sources_that_wait(llm(), home) == {}
    assert sources_that_wait(llm().model_copy(update={"mode": "realtime"}), home) == {}
    assert len(loopback.batches.asked()) == 10


def test_a_cancelled_batch_keeps_its_answers_and_no_extraction_waits_for_it(loopback: Loopback, home: Home) -> None:
    loopback.chat = answer
    fates = [Fate(looks=100, answered=0.4)]
    loopback.batches.spoil = lambda batch: fates.pop(0) if fates else Fate()
    assert asyncio.run(step(home, llm())) is None

    assert cancel(home, llm()) == [True]

    with BatchLedger(home.batches) as ledger:
        assert (ledger.waiting(), ledger.due()) == ([], {})
    rows, _ = finish(home, llm())
    assert [len(batch.lines) for batch in loopback.batches.batches.values()] == [10, 6]
    assert rows["status"].to_pylist() == ["ok"] * 10


def test_a_batch_that_the_provider_does_not_know_can_be_given_up(loopback: Loopback, home: Home) -> None:
    loopback.chat = answer
    assert asyncio.run(step(home, llm())) is None
    loopback.batches.reset()
    (batch,) = ledger_of(home)
    with pytest.raises(PermanentProviderError, match=f"has no batch batch_0; .* batch cancel {batch.name}`"):
        asyncio.run(step(home, llm()))

    assert cancel(home, llm()) == [False]

    spent = Ledger(home.ledger).by_purpose()["extract"].cost_usd
    assert spent == pytest.approx(batch.worst_usd), "it may run on, and be billed"
    assert finish(home, llm())[0]["status"].to_pylist() == ["ok"] * 10


def test_a_batch_whose_creation_came_to_nothing_is_given_up_for_nothing(loopback: Loopback, home: Home) -> None:
    loopback.chat = answer
    assert asyncio.run(step(home, llm())) is None
    loopback.batches.reset()
    (batch,) = ledger_of(home)
    with BatchLedger(home.batches) as ledger:
        ledger.save(batch.model_copy(update={"state": PREPARED, "batch_id": None}))
    assert cancel(home, llm()) == [False]
    assert "extract" not in Ledger(home.ledger).by_purpose()


def test_a_batch_whose_end_cannot_be_recorded_keeps_its_money_set_aside(loopback: Loopback, home: Home) -> None:
    loopback.chat = answer
    assert asyncio.run(step(home, llm())) is None
    loopback.batches.reset()
    with sqlite3.connect(home.root / "batches.sqlite") as connection:
        connection.execute("CREATE TRIGGER full BEFORE UPDATE ON batches BEGIN SELECT RAISE(ABORT, 'full'); END")
    with pytest.raises(StoreError):
        cancel(home, llm())
    limit = Ledger(home.ledger).limits(Account("", "s", None, 1.0))[0]
    assert limit.spent == pytest.approx(ledger_of(home)[0].worst_usd)


def test_answers_deleted_at_the_provider_are_asked_for_again_and_cost_the_most_that_they_can(
    loopback: Loopback, home: Home, caplog: pytest.LogCaptureFixture
) -> None:
    loopback.chat = answer
    assert asyncio.run(step(home, llm())) is None
    (batch,) = loopback.batches.batches.values()
    loopback.batches.retrieved(batch)
    del loopback.batches.files[batch.output or ""]
    assert finish(home, llm())[0]["status"].to_pylist() == ["ok"] * 10
    assert len(loopback.batches.asked()) == 20
    first, second = sorted(ledger_of(home), key=lambda one: one.prepared_at)
    assert first.cost_usd == pytest.approx(first.worst_usd)
    spent = Ledger(home.ledger).by_purpose()["extract"].cost_usd
    assert spent == pytest.approx(first.worst_usd + second.cost_usd)
    assert "10 answers of batch batch_0 are gone" in caplog.text


@pytest.mark.parametrize(("answered", "gone"), [(0.4, "output"), (0.4, "errors"), (0, "errors")])
def test_requests_that_were_never_done_cost_nothing_when_a_file_is_deleted(
    loopback: Loopback, home: Home, answered: float, gone: str
) -> None:
    loopback.chat = answer
    fates = [Fate("expired", answered=answered)]
    loopback.batches.spoil = lambda batch: fates.pop(0) if fates else Fate()
    assert asyncio.run(step(home, llm())) is None
    (batch,) = loopback.batches.batches.values()
    loopback.batches.retrieved(batch)
    del loopback.batches.files[getattr(batch, gone)]
    assert finish(home, llm())[0]["status"].to_pylist() == ["ok"] * 10
    first, *_ = sorted(ledger_of(home), key=lambda one: one.prepared_at)
    assert first.cost_usd <= first.worst_usd * answered + 1e-12


def test_a_batch_at_another_provider_is_not_bought_again(
    loopback: Loopback, home: Home, monkeypatch: pytest.MonkeyPatch
) -> None:
    loopback.chat = answer
    assert asyncio.run(step(home, llm())) is None
    monkeypatch.setenv("OPENAI_BASE_URL", "http://127.0.0.1:9/v1")
    with pytest.raises(ProviderAccessError, match=f"is open at {loopback.host}; set llm.base_url or OPENAI_BASE_URL"):
        asyncio.run(step(home, llm()))


@pytest.mark.parametrize("lost", [{}, {"state": PREPARED, "batch_id": None}])
def test_a_batch_that_is_given_up_at_another_provider_counts_with_the_most_that_it_can_cost(
    loopback: Loopback, home: Home, monkeypatch: pytest.MonkeyPatch, lost: dict[str, Any]
) -> None:
    """It cannot be ended from here, and is billed there."""
    loopback.chat = answer
    assert asyncio.run(step(home, llm())) is None
    (batch,) = ledger_of(home)
    with BatchLedger(home.batches) as ledger:
        ledger.save(batch.model_copy(update=lost))
    monkeypatch.setenv("OPENAI_BASE_URL", "http://127.0.0.1:9/v1")
    assert cancel(home, llm()) == [False]
    spent = Ledger(home.ledger).by_purpose()["extract"]
    assert spent.calls == 10
    assert spent.cost_usd == pytest.approx(batch.worst_usd)
    assert Ledger(home.ledger).limits(Account("", "s", None, 1.0))[0].spent == pytest.approx(batch.worst_usd)
    assert [(one.state, one.waiting, one.cost_usd) for one in ledger_of(home)] == [(COLLECTED, [], batch.worst_usd)]


def test_a_batch_under_way_needs_no_request_file(loopback: Loopback, home: Home) -> None:
    """The next run may be in another pod, whose disk is empty."""
    loopback.chat = answer
    loopback.batches.spoil = lambda batch: Fate(looks=1)
    assert asyncio.run(step(home, llm())) is None
    (path,) = home.batch_files.iterdir()
    path.unlink()
    assert asyncio.run(step(home, llm())) is None
    assert finish(home, llm())[0]["status"].to_pylist() == ["ok"] * 10
    assert len(loopback.batches.asked()) == 10


def test_a_request_file_that_is_gone_before_it_was_sent_is_named(loopback: Loopback, home: Home) -> None:
    loopback.chat = answer
    loopback.fault = lambda received: Reply.error(401)
    with pytest.raises(ProviderAccessError):
        asyncio.run(step(home, llm()))
    loopback.fault = lambda received: None
    (path,) = home.batch_files.iterdir()
    path.unlink()
    with pytest.raises(StoreError, match=r"is gone; restore it, or run `lightrag-dagster batch cancel"):
        asyncio.run(step(home, llm()))


@pytest.mark.parametrize("offset", range(2))
def test_faults_of_the_provider_are_retried(
    loopback: Loopback, home: Home, monkeypatch: pytest.MonkeyPatch, offset: int
) -> None:
    """Every call fails once, and then succeeds; nothing is submitted twice."""
    monkeypatch.setattr(openai_client, "_BACKOFF", wait_fixed(0.01))
    faults = [Reply.error(503), Reply.html("text/html"), Reply(body=["garbage"]), Reply.error(429), Reply.broken()]
    seen: set[str] = set()

    def once(received: Received) -> Reply | None:
        call = f"{received.path} {'input_file_id' in received.body}"
        if call in seen:
            return None
        seen.add(call)
        return faults[(len(seen) + 3 * offset) % len(faults)]

    loopback.chat, loopback.fault = answer, once

    rows, _ = finish(home, llm())

    assert len(seen) == 5  # upload, create, list, retrieve, download
    assert len(loopback.batches.batches) == 1
    assert rows["status"].to_pylist() == ["ok"] * 10


def test_a_server_without_batches_is_named(loopback: Loopback, home: Home) -> None:
    loopback.fault = lambda received: Reply.error(404)
    with pytest.raises(ProviderAccessError, match=r"has no Batch API \(HTTP 404\); set llm.mode to realtime"):
        asyncio.run(step(home, llm()))


def test_a_disk_that_refuses_the_answers_loses_none(loopback: Loopback, home: Home) -> None:
    loopback.chat = answer
    assert asyncio.run(step(home, llm())) is None
    (batch,) = ledger_of(home)
    obstacle = home.batch_files / f"{batch.name}.results"
    obstacle.mkdir()
    with pytest.raises(StoreError, match=r"cannot write .* the answers stay at the provider"):
        asyncio.run(step(home, llm()))

    obstacle.rmdir()

    assert finish(home, llm())[0]["status"].to_pylist() == ["ok"] * 10
    assert len(loopback.batches.asked()) == 10


def test_the_key_stays_out_of_all_that_is_kept(loopback: Loopback, home: Home) -> None:
    loopback.chat = answer
    assert asyncio.run(step(home, llm(enqueued_tokens=4_000))) is None
    kept = [path for path in home.root.rglob("*") if path.is_file()]
    assert any(path.suffix == ".jsonl" for path in kept)
    assert not [path for path in kept if API_KEY.encode() in path.read_bytes()]

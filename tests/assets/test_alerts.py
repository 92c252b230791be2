"""Messages about failures, to a server that takes them as a chat does."""

import json
import os
import socket
import threading
from collections.abc import Iterator
from datetime import timedelta
from typing import Any

import dagster as dg
import pytest

from lightrag_dagster.assets import alerts
from lightrag_dagster.assets.alerts import Subject
from tests.chat import serving_chat
from tests.cli.test_cli import command

SUBJECT = Subject("contracts", "ingest", "notes")
DOWN = "extractions: lightrag_dagster.errors.ProviderAccessError: 127.0.0.1:8790 cannot be reached (model {}); check it"
NOW = timedelta()


@pytest.fixture
def chat(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[dict[str, Any]]]:
    monkeypatch.setattr(alerts, "SETTLED", NOW)
    with serving_chat() as chat:
        monkeypatch.setenv(alerts.WEBHOOK_VARIABLE, chat.url)
        yield chat.messages


def test_one_message_at_the_start_one_a_day_and_one_at_the_end(
    chat: list[dict[str, Any]], instance: dg.DagsterInstance, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(alerts.UI_VARIABLE, "https://dagster.example/")
    monkeypatch.setenv(alerts.ENVIRONMENT_VARIABLE, "production")
    alerts.recovered(instance, [SUBJECT], "run-0")
    for run in ("run-1", "run-2"):
        alerts.failed(instance, SUBJECT, run, "no such source")
        alerts.tell(instance, SUBJECT.place, idle=True)
    alerts.failed(instance, SUBJECT._replace(source="letters"), "run-3", "x" * 1000)
    alerts.tell(instance, SUBJECT.place, idle=True)
    with monkeypatch.context() as a_day_later:
        a_day_later.setattr(alerts, "REPEATED", NOW)
        alerts.failed(instance, SUBJECT, "run-4", "no such source")
        for _ in range(2):
            alerts.tell(instance, SUBJECT.place, idle=True)
    for run in ("run-5", "run-6"):
        alerts.recovered(instance, [SUBJECT], run)
        alerts.tell(instance, SUBJECT.place, idle=True)
    about = "contracts (production): ingest of source notes"
    assert [message["text"] for message in chat if "letters" not in message["text"]] == [
        f"{about} failed: no such source https://dagster.example/runs/run-1",
        f"{about} still fails: no such source https://dagster.example/runs/run-2",
        f"{about} works again https://dagster.example/runs/run-5",
    ]
    assert max(len(message["text"]) for message in chat) < 800
    assert chat[0] | {"text": ""} == {
        "text": "",
        "run_id": "run-1",
        "url": "https://dagster.example/runs/run-1",
        "places": ["contracts"],
        "sources": ["notes"],
        "environment": "production",
    }
    alerts.failed(instance, SUBJECT._replace(source=None), "run-7", "launched for no source")
    assert {one.source for one in failing(instance, "contracts")} == {"letters", None}


def test_one_outage_is_one_message_and_one_when_it_is_over(
    chat: list[dict[str, Any]], instance: dg.DagsterInstance, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of all sources and jobs, and of all knowledge bases of the instance; what fails for another reason is apart."""
    hit = [Subject("contracts", "ingest", f"s{number:02}") for number in range(12)]
    hit += [Subject("contracts", "publish", None), Subject("handbooks", "ingest", "wiki")]
    for number, subject in enumerate(hit):
        alerts.failed(instance, subject, f"run-{number}", DOWN.format("chat" if number % 2 else "embedding"))
    alerts.failed(instance, SUBJECT, "run-x", "source 'notes' lost 3 of 9 documents at once (2 deleted)")
    alerts.tell(instance, SUBJECT.place, idle=False)
    assert chat == [], "more may fail"
    alerts.tell(instance, SUBJECT.place, idle=True)
    assert len(chat) == 1, "more may fail in the other knowledge base"
    monkeypatch.setattr(alerts, "GATHERED", NOW)
    alerts.tell(instance, SUBJECT.place, idle=True)
    for subject in hit[1:]:
        alerts.recovered(instance, [subject], "run-y")
    alerts.failed(instance, hit[0], "run-z", DOWN.format("chat"))
    alerts.tell(instance, SUBJECT.place, idle=True)
    alerts.recovered(instance, [hit[0]], "run-last")
    alerts.tell(instance, SUBJECT.place, idle=True)
    said = DOWN.format("embedding").rpartition("Error: ")[2]
    named = "s00, s01, s02, s03, s04, s05, s06, s07, s08, s09 and 3 more and publish"
    assert [message["text"] for message in chat] == [
        "contracts: ingest of source notes failed: source 'notes' lost 3 of 9 documents at once (2 deleted)",
        f"contracts, handbooks: ingest of sources {named} failed: {said}",
        f"contracts, handbooks: ingest of sources {named} work again",
    ]


def test_a_failure_is_told_after_a_while_although_runs_are_under_way(
    chat: list[dict[str, Any]], instance: dg.DagsterInstance, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(alerts, "GATHERED", NOW)
    alerts.failed(instance, SUBJECT, "run-1", "no such source")
    alerts.tell(instance, SUBJECT.place, idle=False)
    assert len(chat) == 1


def test_what_recovers_before_it_was_told_is_not_told(chat: list[dict[str, Any]], instance: dg.DagsterInstance) -> None:
    alerts.failed(instance, SUBJECT, "run-1", "no such source")
    alerts.recovered(instance, [SUBJECT], "run-2")
    alerts.tell(instance, SUBJECT.place, idle=True)
    assert (chat, record(instance)) == ([], {})


def test_what_fails_for_another_reason_later_is_told_by_that(
    chat: list[dict[str, Any]], instance: dg.DagsterInstance
) -> None:
    other = SUBJECT._replace(source="letters")
    for subject in (SUBJECT, other):
        alerts.failed(instance, subject, "run-1", DOWN)
    alerts.tell(instance, SUBJECT.place, idle=True)
    alerts.failed(instance, SUBJECT, "run-2", "no such source")
    alerts.recovered(instance, [other], "run-3")
    alerts.tell(instance, SUBJECT.place, idle=True)
    texts = {message["text"].removeprefix("contracts: ingest of ") for message in chat[1:]}
    assert texts == {"source notes failed: no such source", "source letters works again"}


@pytest.mark.parametrize("content", ["{", "[]", '{"cause": 3}', '{"cause": {"since": "then"}}'])
def test_a_damaged_memory_costs_a_message_too_many_and_no_other(
    chat: list[dict[str, Any]], instance: dg.DagsterInstance, content: str
) -> None:
    instance.daemon_cursor_storage.set_cursor_values({"lightrag/alerts": content})
    for _ in range(2):
        alerts.failed(instance, SUBJECT, "run-1", "no such source")
        alerts.tell(instance, SUBJECT.place, idle=True)
    assert len(chat) == 1


def test_the_text_of_an_error_is_kept_until_it_is_told(
    chat: list[dict[str, Any]], instance: dg.DagsterInstance
) -> None:
    """It may quote a document, which `purge` is to remove everywhere."""
    alerts.failed(instance, SUBJECT, "run-1", "no such source")
    alerts.tell(instance, SUBJECT.place, idle=True)
    assert "no such" not in json.dumps(record(instance))


def test_a_purge_forgets_what_fails_there_and_leaves_the_others(
    chat: list[dict[str, Any]], instance: dg.DagsterInstance
) -> None:
    other = SUBJECT._replace(place="manuals")
    for subject in (SUBJECT, other):
        alerts.failed(instance, subject, "run-1", "no space left")
    alerts.failed(instance, SUBJECT._replace(source="letters"), "run-2", "quotes a letter")
    alerts.failed(instance, other._replace(source="pumps"), "run-3", "no such source")
    alerts.forget(instance, SUBJECT.place)
    assert failing(instance, SUBJECT.place) == []
    assert failing(instance, other.place) == [other._replace(source="pumps")]


def test_what_another_code_location_wrote_over_is_remembered(
    chat: list[dict[str, Any]], instance: dg.DagsterInstance, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It had read the record before, and writes it after; its process has another lock."""
    read_before = [json.dumps({})]

    def wait(seconds: float) -> None:
        if read_before:
            instance.daemon_cursor_storage.set_cursor_values({"lightrag/alerts": read_before.pop()})

    monkeypatch.setattr("time.sleep", wait)
    alerts.failed(instance, SUBJECT, "run-1", "no such source")
    assert read_before == []
    assert failing(instance, SUBJECT.place) == [SUBJECT]


def failing(instance: dg.DagsterInstance, place: str) -> list[Subject]:
    found = (Subject(*one) for trouble in record(instance).values() for one in trouble["failing"])
    return [one for one in found if one.place == place]


def record(instance: dg.DagsterInstance) -> Any:
    return json.loads(instance.daemon_cursor_storage.get_cursor_values({"lightrag/alerts"})["lightrag/alerts"])


def test_a_webhook_that_drips_holds_nothing_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(alerts, "WEBHOOK_SECONDS", 0.5)
    over = threading.Event()

    def drip(server: socket.socket) -> None:
        connection, _ = server.accept()
        with connection:
            connection.sendall(b"HTTP/1.1 200 OK\r\n")
            while not over.wait(0.05):  # well within the timeout of a read
                connection.sendall(b"X")

    with socket.create_server(("127.0.0.1", 0)) as server:
        dripping = threading.Thread(target=drip, args=[server])
        dripping.start()
        monkeypatch.setenv(alerts.WEBHOOK_VARIABLE, f"http://127.0.0.1:{server.getsockname()[1]}/hook")
        try:
            problem = alerts.post([SUBJECT], None, "failed")
        finally:
            over.set()
            dripping.join()
    assert problem == "the webhook did not answer within 0.5 s"


def test_a_tick_has_a_time_for_all_its_messages(
    chat: list[dict[str, Any]], instance: dg.DagsterInstance, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A webhook that hangs takes WEBHOOK_SECONDS for each cause, and Dagster ends a tick that takes a minute."""
    monkeypatch.setattr(alerts, "TELLING_SECONDS", 0.0)
    for reason in ("no such source", "no such model"):
        alerts.failed(instance, SUBJECT._replace(source=reason), "run-1", reason)
    for told in (1, 2, 2):
        alerts.tell(instance, SUBJECT.place, idle=True)
        assert len(chat) == told


def test_what_was_not_delivered_is_sent_next_time(
    chat: list[dict[str, Any]], instance: dg.DagsterInstance, monkeypatch: pytest.MonkeyPatch
) -> None:
    address = os.environ[alerts.WEBHOOK_VARIABLE]
    for recovers in (False, True):
        if recovers:
            alerts.recovered(instance, [SUBJECT], "run-1")
        else:
            alerts.failed(instance, SUBJECT, "run-1", "no such source")
        for webhook in (f"{address}/elsewhere", address, address):
            monkeypatch.setenv(alerts.WEBHOOK_VARIABLE, webhook)
            alerts.tell(instance, SUBJECT.place, idle=True)
    texts = [message["text"].rpartition(" notes ")[2] for message in chat]
    assert texts == ["failed: no such source"] * 2 + ["works again"] * 2
    assert record(instance) == {}


def test_a_test_message_says_whether_it_arrived(
    chat: list[dict[str, Any]], capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    code, output, _ = command(capfd, monkeypatch, "notify", "test")
    assert (code, output) == (0, "The message was delivered.\n")
    assert chat[0]["text"].endswith(": test message, nothing failed")
    monkeypatch.setenv(alerts.WEBHOOK_VARIABLE, f"http://{'a' * 70}.x/secret")
    code, _, errors = command(capfd, monkeypatch, "notify", "test")
    assert (code, "secret" in errors) == (2, False)
    monkeypatch.setenv(alerts.WEBHOOK_VARIABLE, "http://127.0.0.1:9/secret")
    code, _, errors = command(capfd, monkeypatch, "notify", "test")
    assert (code, "the message was not delivered: ConnectError" in errors, "secret" in errors) == (2, True, False)
    monkeypatch.delenv(alerts.WEBHOOK_VARIABLE)
    code, _, errors = command(capfd, monkeypatch, "notify", "test")
    assert (code, f"{alerts.WEBHOOK_VARIABLE} is not set" in errors) == (2, True)

"""Messages about failures, to a server that takes them as a chat does."""

import json
import os
import socket
import threading
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from lightrag_dagster.assets import alerts
from lightrag_dagster.assets.alerts import Subject
from lightrag_dagster.storage.home import Home
from tests.chat import serving_chat
from tests.cli.test_cli import command

SUBJECT = Subject("contracts", "ingest", "notes")


@pytest.fixture
def chat(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[dict[str, Any]]]:
    with serving_chat() as chat:
        monkeypatch.setenv(alerts.WEBHOOK_VARIABLE, chat.url)
        yield chat.messages


def test_one_message_at_the_start_one_a_day_and_one_at_the_end(
    chat: list[dict[str, Any]], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(alerts.UI_VARIABLE, "https://dagster.example/")
    monkeypatch.setenv(alerts.ENVIRONMENT_VARIABLE, "production")
    home = Home(tmp_path)
    alerts.recovered(home, SUBJECT, "run-0")
    for run in ("run-1", "run-2"):
        alerts.failed(home, SUBJECT, run, "no such source")
    alerts.failed(home, SUBJECT._replace(source="letters"), "run-3", "x" * 1000)
    state = json.loads((tmp_path / "alerts.json").read_text())
    yesterday = (datetime.now(UTC) - timedelta(days=1, minutes=1)).isoformat()
    (tmp_path / "alerts.json").write_text(json.dumps(state | {str(SUBJECT): yesterday}))
    alerts.failed(home, SUBJECT, "run-4", "no such source")
    for run in ("run-5", "run-6"):
        alerts.recovered(home, SUBJECT, run)
    about = "contracts (production): ingest of source notes"
    assert [message["text"] for message in chat if "letters" not in message["text"]] == [
        f"{about} failed: no such source https://dagster.example/runs/run-1",
        f"{about} still fails: no such source https://dagster.example/runs/run-4",
        f"{about} works again https://dagster.example/runs/run-5",
    ]
    assert max(len(message["text"]) for message in chat) < 800
    assert chat[0] | {"text": ""} == {
        "text": "",
        "run_id": "run-1",
        "url": "https://dagster.example/runs/run-1",
        "namespace": "contracts",
        "home": str(tmp_path),
        "environment": "production",
    }


@pytest.mark.parametrize(
    "content", ["{", "[]", '{"ingest of source notes": 3}', '{"ingest of source notes": "then"}', '{"x": "2026-11-23"}']
)
def test_a_damaged_memory_costs_a_message_too_many_and_no_other(
    chat: list[dict[str, Any]], tmp_path: Path, content: str
) -> None:
    (tmp_path / "alerts.json").write_text(content)
    for _ in range(2):
        alerts.failed(Home(tmp_path), SUBJECT, "run-1", "no such source")
    assert len(chat) == 1


def test_a_webhook_that_drips_holds_nothing_up(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
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
            problem = alerts.post(Home(tmp_path), SUBJECT, None, "failed")
        finally:
            over.set()
            dripping.join()
    assert problem == "the webhook did not answer within 0.5 s"


def test_what_was_not_delivered_is_sent_next_time(
    chat: list[dict[str, Any]], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    address = os.environ[alerts.WEBHOOK_VARIABLE]
    steps = (alerts.failed, "no such source"), (alerts.recovered,)
    for step, *given in steps:
        for webhook in (f"{address}/elsewhere", address):
            monkeypatch.setenv(alerts.WEBHOOK_VARIABLE, webhook)
            step(Home(tmp_path), SUBJECT, "run-1", *given)
    texts = [message["text"].rpartition(" notes ")[2] for message in chat]
    assert texts == ["failed: no such source"] * 2 + ["works again"] * 2
    assert json.loads((tmp_path / "alerts.json").read_text()) == {}


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

"""What a failed run leaves behind: a record, and a message where one is asked for."""

import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer

import dagster as dg
import pytest

from assets import INGESTION
from assets.automation.failures import WEBHOOK_VARIABLE, record_failures
from lightrag_dagster.settings import Settings
from lightrag_dagster.storage.home import Home
from resources import build_resources


@pytest.fixture
def received(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[bytes]]:
    """Bodies posted to the webhook, which this sets up."""
    bodies: list[bytes] = []

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            bodies.append(self.rfile.read(int(self.headers["Content-Length"])))
            self.send_response(204)
            self.end_headers()

        def log_message(self, *arguments: object) -> None: ...

    with HTTPServer(("127.0.0.1", 0), Handler) as server:
        monkeypatch.setenv(WEBHOOK_VARIABLE, f"http://127.0.0.1:{server.server_port}/secret")
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield bodies
        server.shutdown()
        thread.join()


def failed_run(settings: Settings, instance: dg.DagsterInstance) -> dg.RunFailureSensorContext:
    instance.add_dynamic_partitions("source", ["absent"])
    result = dg.materialize(
        INGESTION,
        partition_key="absent",
        instance=instance,
        resources=build_resources(settings),
        raise_on_error=False,
    )
    (event,) = [event for event in result.all_events if event.event_type is dg.DagsterEventType.RUN_FAILURE]
    return dg.build_run_status_sensor_context(
        "record_failures", event, instance, result.dagster_run, partition_key="absent"
    ).for_run_failure()


def records(settings: Settings) -> list[dict[str, str]]:
    lines = Home(settings.home).failures.read_text(encoding="utf-8").splitlines()
    return [json.loads(line) for line in lines]


def test_a_failed_run_is_recorded_and_posted(
    settings: Settings, instance: dg.DagsterInstance, received: list[bytes]
) -> None:
    context = failed_run(settings, instance)

    record_failures(context, settings=settings)
    record_failures(context, settings=settings)

    assert len(records(settings)) == 2
    (first, _) = records(settings)
    assert (first["source"], first["run_id"]) == ("absent", context.dagster_run.run_id)
    assert first["error"].startswith("raw_documents: ")
    assert "no such source: absent" in first["error"]
    assert [json.loads(body) for body in received] == records(settings)


def test_a_message_that_cannot_be_delivered_costs_nothing_else(
    settings: Settings,
    instance: dg.DagsterInstance,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    monkeypatch.setenv(WEBHOOK_VARIABLE, "http://127.0.0.1:9/secret")
    record_failures(failed_run(settings, instance), settings=settings)
    assert len(records(settings)) == 1
    assert "was not delivered: ConnectError" in caplog.text
    assert "secret" not in caplog.text


def test_an_empty_address_is_none(
    settings: Settings,
    instance: dg.DagsterInstance,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    monkeypatch.setenv(WEBHOOK_VARIABLE, "")
    record_failures(failed_run(settings, instance), settings=settings)
    assert len(records(settings)) == 1
    assert "was not delivered" not in caplog.text

"""Spans go to the endpoint that the environment names, and nowhere else."""

import os
import shutil
import subprocess
import sys
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from typing import Any

import pytest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

from lightrag_dagster.orchestration.instance import open_instance
from lightrag_dagster.settings import load_settings
from lightrag_dagster.spending.ledger import Ledger
from lightrag_dagster.storage.home import Home
from tests.loopback import Loopback, Reply
from tests.models.models import offline_answer
from tests.support import RIVER, write_source

QUESTION = "Who maintains the gauge?"


class Collector(HTTPServer):
    """Receives spans as a collector of OpenTelemetry does."""

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.bodies: list[bytes] = []

    @property
    def spans(self) -> dict[str, list[dict[str, Any]]]:
        """Name of a span → the attributes of those that came; `parent` and `error` are added."""
        found: dict[str, list[dict[str, Any]]] = {}
        ids: dict[bytes, str] = {}
        every = []
        for body in self.bodies:
            for resource in ExportTraceServiceRequest.FromString(body).resource_spans:
                every += [span for scope in resource.scope_spans for span in scope.spans]
        ids = {span.span_id: span.name for span in every}
        for span in every:
            values = {one.key: getattr(one.value, one.value.WhichOneof("value")) for one in span.attributes}
            values |= {
                "parent": ids.get(span.parent_span_id),
                "error": span.status.code == span.status.STATUS_CODE_ERROR,
            }
            found.setdefault(span.name, []).append(values)
        return found


class _Handler(BaseHTTPRequestHandler):
    def do_POST(self) -> None:
        assert isinstance(self.server, Collector)
        assert self.path == "/v1/traces"
        self.server.bodies.append(self.rfile.read(int(self.headers["Content-Length"])))
        self.send_response(200)
        self.end_headers()

    def log_message(self, *_: object) -> None:
        """Say nothing."""


@pytest.fixture
def collector() -> Iterator[Collector]:
    with Collector() as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.01,))
        thread.start()
        yield server
        server.shutdown()
        thread.join()


def lightrag(collector: Collector, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Run a command in a process that sends its spans to a collector."""
    script = (
        "import os, sys\n"
        f"os.environ['OTEL_EXPORTER_OTLP_ENDPOINT'] = 'http://127.0.0.1:{collector.server_port}'\n"
        "from lightrag_dagster.cli import console\n"
        f"sys.argv = ['lightrag-dagster', *{arguments!r}]\n"
        "console()\n"
    )
    return subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=180, check=False)


@pytest.fixture
def _home(published_home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Point commands to a copy of a published home, and to a model at the endpoint."""
    home = shutil.copytree(published_home, tmp_path / "home")
    for name, value in {
        "HOME": home,
        "SOURCES": tmp_path / "sources",
        "LLM__PROVIDER": "openai",
        "LLM__MODEL": "gpt-4o-mini",
    }.items():
        monkeypatch.setenv(f"LIGHTRAG_{name}", str(value))


@pytest.mark.long
@pytest.mark.usefixtures("_home")
def test_a_call_has_the_account_that_it_is_billed_to(loopback: Loopback, collector: Collector) -> None:
    script = (
        "import os\n"
        f"os.environ['OTEL_EXPORTER_OTLP_ENDPOINT'] = 'http://127.0.0.1:{collector.server_port}'\n"
        "from lightrag_dagster import KnowledgeBase\n"
        "from lightrag_dagster.query.models import billed_to\n"
        "from lightrag_dagster.spending.account import Account\n"
        "with KnowledgeBase.open(account=Account('base')) as knowledge:\n"
        "    knowledge.query('Who?', mode='bypass')\n"
        "    with billed_to(Account('token')):\n"
        "        knowledge.query('Where?', mode='bypass')\n"
    )
    subprocess.run([sys.executable, "-c", script], timeout=60, check=True)
    assert [one["lightrag.run"] for one in collector.spans["chat gpt-4o-mini"]] == ["base", "token"]


@pytest.mark.long
@pytest.mark.usefixtures("_home")
def test_a_question_is_a_trace(loopback: Loopback, collector: Collector) -> None:
    loopback.chat = lambda body: '{"high_level_keywords": ["upkeep"], "low_level_keywords": ["gauge"]}'
    answered = lightrag(collector, "query", QUESTION, "--mode", "mix")

    assert answered.returncode == 0, answered.stderr
    spans = collector.spans
    (retrieval,) = spans["retrieval mix"]
    assert retrieval["gen_ai.operation.name"] == "retrieval"
    assert retrieval["gen_ai.data_source.id"].startswith("gen-")
    assert (retrieval["parent"], retrieval["error"]) == (None, False)
    assert retrieval["lightrag.chunks"] > 0
    assert {one["parent"] for one in spans["retrieval step find"]} == {"retrieval mix"}
    keywords, answer = spans["chat gpt-4o-mini"]
    assert (keywords["parent"], keywords["lightrag.role"]) == ("retrieval step keywords", "keywords")
    assert answer["lightrag.role"] == "answer"
    assert (answer["gen_ai.usage.input_tokens"], answer["gen_ai.usage.output_tokens"]) == (100, 20)
    told = b"".join(collector.bodies)
    assert b"gauge" not in told
    assert os.environ["OPENAI_API_KEY"].encode() not in told


@pytest.mark.long
@pytest.mark.usefixtures("_home")
def test_calls_of_an_ingestion_name_their_run_and_source(
    loopback: Loopback, collector: Collector, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    loopback.chat = offline_answer
    monkeypatch.setenv("LIGHTRAG_HOME", str(tmp_path / "new"))
    write_source(load_settings(), "notes", {"river.md": RIVER})
    ended = lightrag(collector, "run")
    assert ended.returncode == 0, ended.stderr
    home = Home(tmp_path / "new")
    with open_instance(home) as instance:
        runs = {one.run_id for one in instance.get_runs()}
    (named,) = set(Ledger(home.ledger).entries()["run"].to_pylist())
    called = [one for one in collector.spans["chat gpt-4o-mini"] if one["lightrag.role"] == "extract"]
    assert called
    for one in called:
        assert one["dagster.run.id"] in runs
        assert (one["lightrag.run"], one["lightrag.source"]) == (named, "notes")


@pytest.mark.long
@pytest.mark.usefixtures("_home")
def test_a_failed_call_is_an_error_in_the_trace(loopback: Loopback, collector: Collector) -> None:
    loopback.fault = lambda received: Reply.error(401)
    answered = lightrag(collector, "query", QUESTION)
    assert answered.returncode == 2
    (failed,) = collector.spans["chat gpt-4o-mini"]
    assert (failed["error"], failed["error.type"]) == (True, "ProviderAccessError")


def test_without_an_endpoint_opentelemetry_is_not_imported() -> None:
    script = (
        "import sys\n"
        "from lightrag_dagster.core.tracing import span\n"
        "with span('a', {}) as note: note({'b': 1})\n"
        "sys.exit('opentelemetry' in sys.modules)\n"
    )
    assert subprocess.run([sys.executable, "-c", script], timeout=60, check=False).returncode == 0

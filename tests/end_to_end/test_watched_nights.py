"""Three nights with faults, as a person on call sees them: messages in a chat, and the lines of `status --check`.

The table of docs/operations.md is what this test saw.
"""

import re
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from textwrap import shorten

import dagster as dg
import pytest

from lightrag_dagster.assets import alerts
from lightrag_dagster.assets.namespace import Namespace
from lightrag_dagster.assets.schedules import nightly
from lightrag_dagster.assets.sensors import publish_accepted, record_failed_checks, record_failures
from lightrag_dagster.orchestration.definitions import build_definitions
from lightrag_dagster.orchestration.instance import open_instance
from lightrag_dagster.resources import LightRAG
from lightrag_dagster.settings import load_settings
from lightrag_dagster.storage.home import Home
from tests.assets.runs import tick
from tests.chat import Chat, serving_chat
from tests.cli.test_cli import command
from tests.loopback import Loopback, unused_port
from tests.models.models import offline_answer
from tests.support import FLOOD, OFFICE, RIVER, published, write_source

PAGE = Path(__file__).parents[2] / "docs" / "operations.md"
NAMESPACE = Namespace("contracts")
HEAD = (
    "| | what happened | messages in the chat | lines of `status --check --max-age 26h` | exit code |\n"
    "|---|---|---|---|---|\n"
)

_PLAIN = {
    r"127\.0\.0\.1:\d+": "llm.example",
    r"gen-[0-9a-f]{8}[0-9a-f]*": "gen-…",
    r"\d+ minutes? ago": "some minutes ago",
    r"may cost \$[0-9.]+": "may cost $…",
}
"""What differs from run to run, and what stands for it in the table."""


class Nights:
    """The knowledge base, its daemon, the chat and the table of what they showed."""

    def __init__(
        self, chat: Chat, server: Loopback, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
    ) -> None:
        self._chat, self._server, self._capfd, self._monkeypatch = chat, server, capfd, monkeypatch
        self._passed = 0.0
        self.table = HEAD
        real = time.time
        monkeypatch.setattr(time, "time", lambda: real() + self._passed)

    def later(self, hours: float) -> None:
        """Let time pass."""
        self._passed += hours * 3600

    def write(self, sources: Mapping[str, Mapping[str, str]]) -> None:
        """Make sources hold exactly these files."""
        for source, files in sources.items():
            write_source(load_settings(), source, files)

    def night(self) -> None:
        """Do what the daemon does in a night: the schedule, its runs, and the sensors."""
        settings = load_settings()
        lightrag, definitions = LightRAG(settings), build_definitions(settings)
        with open_instance(Home.of(settings)) as instance:
            names = sorted(path.name for path in settings.sources.iterdir())
            instance.add_dynamic_partitions(NAMESPACE.partitions, names)
            at = datetime.now(UTC) + timedelta(seconds=self._passed)
            context = dg.build_schedule_context(instance, scheduled_execution_time=at)
            asked = nightly(context, lightrag=lightrag)
            for request in asked if isinstance(asked, list) else ():
                self._run(definitions, "ingest", instance, lightrag, request.partition_key)
            for _ in range(2):
                tick(instance, NAMESPACE.named("publish_accepted"), time.time())
                if isinstance(
                    publish_accepted(dg.build_sensor_context(instance), lightrag=lightrag), dg.RunRequest
                ) and not self._run(definitions, "publish", instance, lightrag, None):
                    break
            publish_accepted(dg.build_sensor_context(instance), lightrag=lightrag)

    def _run(
        self,
        definitions: dg.Definitions,
        job: str,
        instance: dg.DagsterInstance,
        lightrag: LightRAG,
        source: str | None,
    ) -> bool:
        made = definitions.resolve_job_def(NAMESPACE.named(job)).execute_in_process(
            instance=instance, partition_key=source, raise_on_error=False
        )
        kind = dg.DagsterEventType.RUN_SUCCESS if made.success else dg.DagsterEventType.RUN_FAILURE
        (event,) = [event for event in made.all_events if event.event_type is kind]
        context = dg.build_run_status_sensor_context("sensor", event, instance, made.dagster_run, partition_key=source)
        if made.success:
            record_failed_checks(context, lightrag=lightrag)
        else:
            record_failures(context.for_run_failure(), lightrag=lightrag)
        return bool(made.success)

    def morning(self, when: str, what: str) -> None:
        """Add to the table what the chat has received, and what the check says."""
        self._capfd.readouterr()  # of Dagster
        code, output, errors = command(self._capfd, self._monkeypatch, "status", "--check", "--max-age", "26h")
        assert errors == ""
        messages = [message["text"] for message in self._chat.messages]
        self._chat.messages.clear()
        shown = (self._plain(messages), self._plain(output.splitlines()))
        self.table += f"| {when} | {what} | {' | '.join(shown)} | {code} |\n"

    def _plain(self, lines: list[str]) -> str:
        text = "<br>".join(shorten(line, 180, placeholder=" …") for line in lines) or "none"
        for pattern, plain in _PLAIN.items():
            text = re.sub(pattern, plain, text)
        return text


@contextmanager
def nights(server: Loopback, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Iterator[Nights]:
    server.chat = offline_answer
    monkeypatch.setattr(alerts, "SETTLED", timedelta())
    for name, value in {
        "NAMESPACE": "contracts",
        "LLM__PROVIDER": "openai",
        "LLM__MODEL": "gpt-6-luna",
        "LLM__MAX_RETRIES": "0",
        "EXTRACTION__GLEANING": "0",
    }.items():
        monkeypatch.setenv(f"LIGHTRAG_{name}", value)
    with serving_chat() as chat:
        monkeypatch.setenv(alerts.WEBHOOK_VARIABLE, chat.url)
        yield Nights(chat, server, capfd, monkeypatch)


@pytest.mark.long
def test_three_nights(
    loopback: Loopback, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (tmp_path / "sources").mkdir()
    mails = {"one.md": RIVER, "two.md": FLOOD, "three.md": OFFICE}
    with nights(loopback, capfd, monkeypatch) as passing:
        passing.write({"legal": {"river.md": RIVER}, "wiki": {"flood.md": FLOOD}, "mails": mails})
        passing.night()
        passing.morning("before", "three sources are published")
        first = published(load_settings()).snapshot_id

        passing.later(24)
        passing.write({"legal": {"river.md": f"{RIVER} It rained."}, "wiki": {"flood.md": f"{FLOOD} It rained."}})
        passing.write({"mails": dict.fromkeys(mails, "")})
        with monkeypatch.context() as outage:
            outage.setenv("OPENAI_BASE_URL", f"http://127.0.0.1:{unused_port()}/v1")
            passing.night()
            passing.morning("night 1", "two sources were edited; the provider cannot be reached; a third was emptied")
        passing.write({"mails": mails})
        passing.later(1)
        passing.night()
        passing.morning("an hour later", "the provider is back, the source is mended")

        passing.later(23)
        passing.write({"legal": {"river.md": f"{RIVER} It snowed."}, "wiki": {"flood.md": f"{FLOOD} It snowed."}})
        passing.write({"scans": {f"{number}.dwg": "\0\1" for number in range(9)}})
        assert command(capfd, monkeypatch, "rollback", first)[0] == 0
        with monkeypatch.context() as spent:
            spent.setenv("LIGHTRAG_LLM__MAX_COST_PER_DAY_USD", "0.001")
            passing.night()
            passing.morning(
                "night 2",
                "a rollback was made; the budget of the day is below one call; a new source has files of unknown type",
            )
        passing.later(1)
        assert command(capfd, monkeypatch, "release")[0] == 0
        passing.write({"scans": {"note.md": RIVER}})
        passing.night()
        passing.morning("an hour later", "the budget was raised, the snapshot released, the files were replaced")

        passing.later(30)
        passing.write({"legal": {"river.md": f"{RIVER} It thawed."}})
        passing.morning("night 3", "the daemon died before it; one source was edited")
        passing.night()
        passing.morning("the next night", "the daemon was started again")
    (tmp_path / "table.md").write_text(passing.table, "utf-8")
    assert passing.table in PAGE.read_text("utf-8"), f"the table is now that of {tmp_path}/table.md"

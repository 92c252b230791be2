"""Lines about a long step."""

import logging
from pathlib import Path
from uuid import uuid4

import dagster as dg
import pytest

from lightrag_dagster.assets import progress_log
from lightrag_dagster.assets.metadata import ACCOUNT_TAG, COST_TAG
from lightrag_dagster.assets.progress_log import ProgressLog
from lightrag_dagster.core import progress
from lightrag_dagster.core.aio import run_sync
from lightrag_dagster.core.protocols import Usage
from lightrag_dagster.errors import StoreError
from lightrag_dagster.orchestration.definitions import build_definitions
from lightrag_dagster.orchestration.instance import open_instance
from lightrag_dagster.settings import Settings, load_settings
from lightrag_dagster.spending.account import Account
from lightrag_dagster.spending.ledger import Ledger
from lightrag_dagster.storage.home import Home
from tests.loopback import Loopback, Reply
from tests.models.models import offline_answer
from tests.support import FLOOD, RIVER, run, write_source

_log = logging.getLogger("tests.progress")


def test_a_line_a_minute_says_how_far_and_how_long(caplog: pytest.LogCaptureFixture) -> None:
    times = iter([0, 30, 60, 61, 120, 300, 301, 400])
    log = ProgressLog("src001", lambda: 1.318, _log, lambda: next(times))
    with caplog.at_level(logging.INFO):
        for done in (0, 50, 92, 93, 184, 460):
            log.count("chunks", done, 30_000)
        log.count("summaries", 0, 10)
        log.count("summaries", 0, 10)
    assert caplog.messages == [
        "src001: 92 of 30,000 chunks, $1.32, 92/min, 5 h left",
        "src001: 184 of 30,000 chunks, $1.32, 92/min, 5 h left",
        "src001: 460 of 30,000 chunks, $1.32, 92/min, 5 h left",
        "src001: 0 of 10 summaries, $1.32, 0/min",
    ]


def test_a_wait_is_a_line_at_once_and_then_one_a_minute(caplog: pytest.LogCaptureFixture) -> None:
    times = iter([0, 10, 61])
    log = ProgressLog("src001", lambda: 0.0, _log, lambda: next(times))
    for text in ("waiting for api, attempt 2 of 9", "", "attempt 3", "attempt 4"):
        log.note(text) if text else None
    assert caplog.messages == ["src001: waiting for api, attempt 2 of 9", "src001: attempt 4"]


def test_all_listeners_hear() -> None:
    heard: list[object] = []
    with (
        progress.listening(lambda *given: heard.append(("outer", *given)), lambda text: heard.append(text)),
        progress.listening(lambda *given: heard.append(("inner", *given))),
    ):
        progress.report("chunks", 1, 2)
        progress.note("waiting")
    progress.report("chunks", 2, 2)
    assert heard == [("outer", "chunks", 1, 2), ("inner", "chunks", 1, 2), "waiting"]


@pytest.mark.long
def test_the_run_has_the_lines(
    settings: Settings, instance: dg.DagsterInstance, loopback: Loopback, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(progress_log, "LINE_SECONDS", 0.0)
    loopback.chat = offline_answer
    loopback.script.append(Reply.error(503))
    write_source(settings, "notes", {"river.md": RIVER})
    online = settings.changed(llm={"provider": "openai", "model": "gpt-4o-mini"})
    instance.add_dynamic_partitions("source", ["notes"])
    job = build_definitions(online).resolve_job_def("ingest")
    result = job.execute_in_process(instance=instance, partition_key="notes")
    said = [entry.user_message for entry in instance.all_logs(result.run_id) if entry.dagster_event is None]
    assert any(line.startswith("notes: waiting for 127.0.0.1") for line in said)
    assert any("notes: 1 of 1 extractions, " in line for line in said)
    run = instance.get_run_by_id(result.run_id)
    assert run is not None
    spent = Ledger(Home.of(online).ledger).spent(result.run_id, "notes")
    assert (spent > 0, run.tags[COST_TAG]) == (True, f"${spent:.6f}")


@pytest.mark.long
def test_the_costs_of_the_runs_of_a_command_add_up_to_its_cost(tmp_path: Path, loopback: Loopback) -> None:
    """Its publication with the calls for a scope, and its questions, are runs on one account."""
    loopback.chat = offline_answer
    (tmp_path / "questions.yaml").write_text('[{"question": "Who maintains the gauge?", "mode": "naive"}]')
    settings = load_settings(
        home=tmp_path / "home",
        sources=tmp_path / "sources",
        questions=tmp_path / "questions.yaml",
        scopes={"press": {"sources": ("notes",)}},
        llm={"provider": "openai", "model": "gpt-4o-mini"},
        embedding={"provider": "openai", "model": "text-embedding-3-small", "dimensions": 8},
        merging={"summary_min_descriptions": 2},
    )
    write_source(settings, "notes", {"river.md": RIVER, "flood.md": FLOOD})
    write_source(settings, "office", {"river.md": RIVER.replace("gauge", "station")})
    spent = run(settings).cost_usd
    with open_instance(Home.of(settings)) as instance:
        paid = {one.job_name: float(one.tags[COST_TAG][1:]) for one in instance.get_runs() if COST_TAG in one.tags}
    assert set(paid) == {"ingest", "publish", "ask"}
    assert sum(paid.values()) == pytest.approx(spent, abs=4e-6)
    sources = {row["source"]: row["cost_usd"] for row in Ledger(Home.of(settings).ledger).costs(["source"])}
    assert sources["@press"] > 0


@pytest.mark.parametrize(("inherited", "said"), [({}, None), ({COST_TAG: "$12.000000"}, "$0.000000")])
def test_a_run_that_continues_another_counts_what_it_spends_itself(
    settings: Settings, instance: dg.DagsterInstance, inherited: dict[str, str], said: str | None
) -> None:
    """As of the sensor `batches`, and as Dagster re-executes a run, under the tags of that."""
    write_source(settings, "notes", {"river.md": RIVER})
    usage = Usage(calls=1, cost_usd=12.0)
    Ledger(Home.of(settings).ledger).add(Account("one", "notes").entry("extract", "gpt-4o-mini", usage))
    instance.add_dynamic_partitions("source", ["notes"])
    job = build_definitions(settings).resolve_job_def("ingest")
    made = job.execute_in_process(instance=instance, partition_key="notes", tags={ACCOUNT_TAG: "one"} | inherited)
    ended = instance.get_run_by_id(made.run_id)
    assert ended is not None
    assert ended.tags.get(COST_TAG) == said


def test_a_run_that_is_cancelled_ends_with_a_sentence(
    settings: Settings, instance: dg.DagsterInstance, monkeypatch: pytest.MonkeyPatch
) -> None:
    run_id = str(uuid4())

    async def cancelled() -> None:
        run = instance.get_run_by_id(run_id)
        assert run is not None
        instance.report_run_canceling(run)
        raise dg.DagsterExecutionInterruptedError

    write_source(settings, "notes", {"river.md": RIVER})
    monkeypatch.setattr("lightrag_dagster.pipeline.ingest.read_source", lambda *_: run_sync(cancelled()))
    instance.add_dynamic_partitions("source", ["notes"])
    job = build_definitions(settings).resolve_job_def("ingest")
    with pytest.raises(dg.DagsterExecutionInterruptedError):
        job.execute_in_process(instance=instance, partition_key="notes", run_id=run_id)
    run = instance.get_run_by_id(run_id)
    assert run is not None
    assert (run.status, COST_TAG in run.tags) == (dg.DagsterRunStatus.CANCELED, False)
    (failed,) = instance.all_logs(run_id, of_type=dg.DagsterEventType.STEP_FAILURE)
    error = failed.get_dagster_event().step_failure_data.error
    assert error is not None
    assert error.message.endswith(f"{progress_log.CANCELLED}\n")
    assert (error.cause, error.context) == (None, None)
    assert "test_progress_log.py" not in "".join(error.stack)


def test_a_tag_that_cannot_be_written_costs_no_step(
    settings: Settings, instance: dg.DagsterInstance, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object) -> float:
        raise StoreError("ledger.sqlite is damaged")

    write_source(settings, "notes", {"river.md": RIVER})
    monkeypatch.setattr(Ledger, "spent", refuse)
    instance.add_dynamic_partitions("source", ["notes"])
    job = build_definitions(settings).resolve_job_def("ingest")
    result = job.execute_in_process(instance=instance, partition_key="notes")
    said = [entry.user_message for entry in instance.all_logs(result.run_id) if entry.dagster_event is None]
    assert "the run has no tag lightrag/cost: ledger.sqlite is damaged" in said

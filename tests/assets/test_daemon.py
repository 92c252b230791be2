"""A living `dg dev`: a file is dropped into a source, and the published answer changes by itself."""

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.error import URLError
from urllib.request import Request, urlopen

import dagster as dg
import pytest

from lightrag_dagster import KnowledgeBase
from lightrag_dagster.orchestration.daemon import silent_daemon
from lightrag_dagster.orchestration.instance import open_instance
from lightrag_dagster.pipeline.pending import pending
from lightrag_dagster.pipeline.situation import Situation
from lightrag_dagster.settings import Settings
from lightrag_dagster.storage.database.looks import DAEMON, Looks
from lightrag_dagster.storage.home import Home
from lightrag_dagster.storage.snapshots.snapshots import published_snapshot
from tests.loopback import unused_port
from tests.support import OFFICE, RIVER, build, run, snapshot_contents, write_source

ROOT = Path(__file__).parents[2]
LONGEST = 600.0
"""Seconds to wait for anything; an idle machine needs a tenth of it."""

START = """
mutation ($name: String!) { startSchedule(scheduleSelector: {scheduleName: $name, repositoryName: "__repository__",
    repositoryLocationName: "lightrag_dagster"}) { __typename } }
"""
SENSORS = """
{ sensorsOrError(repositorySelector: {repositoryName: "__repository__", repositoryLocationName: "lightrag_dagster"})
  { ... on Sensors { results { name sensorState { status ticks(limit: 20) { status error { message } } } } } } }
"""


@contextmanager
def daemon(settings: Settings, **environment: str) -> Iterator[str]:
    """Run `dg dev` on the home, and yield the address of its web server."""
    with open_instance(Home(settings.home)):
        pass
    variables = os.environ | _variables(settings) | environment
    with dg_dev(ROOT, variables, settings.home / "dg.log") as address:
        yield f"{address}/graphql"


@contextmanager
def dg_dev(project: Path, variables: Mapping[str, str], log: Path) -> Iterator[str]:
    """Run the `dg dev` of the variables' PATH in a project, and yield the address of its web server."""
    port = unused_port()
    with log.open("wb") as output:
        server = subprocess.Popen(
            ["dg", "dev", "--host", "127.0.0.1", "--port", str(port)],
            cwd=project,
            env=variables,
            stdout=output,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
        try:
            yield f"http://127.0.0.1:{port}"
        except BaseException as error:
            error.add_note(log.read_text(errors="replace")[-8000:])
            raise
        finally:
            os.killpg(server.pid, signal.SIGTERM)
            try:
                server.wait(60)
            except subprocess.TimeoutExpired:
                os.killpg(server.pid, signal.SIGKILL)
                server.wait()


def _variables(settings: Settings) -> dict[str, str]:
    return {
        "DAGSTER_HOME": str(Home(settings.home).dagster),
        "LIGHTRAG_HOME": str(settings.home),
        "LIGHTRAG_SOURCES": str(settings.sources),
        "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}",
        "PYTHONPATH": str(ROOT),
    }


def ask(address: str, query: str, **variables: str) -> dict[str, Any]:
    """Ask Dagster's GraphQL endpoint."""
    body = json.dumps({"query": query, "variables": variables}).encode()
    with urlopen(Request(address, body, {"Content-Type": "application/json"}), timeout=30) as response:
        answered: dict[str, Any] = json.load(response)
    assert "errors" not in answered, answered["errors"]
    return dict(answered["data"])


def until(ready: Callable[[], object], what: str) -> None:
    """Wait until something is so."""
    deadline = time.monotonic() + LONGEST
    while time.monotonic() < deadline:
        try:
            if ready():
                return
        except (URLError, OSError):
            pass
        time.sleep(1)
    raise AssertionError(f"after {LONGEST:.0f} s: {what}")


def answer(settings: Settings) -> str:
    with KnowledgeBase.open(settings=settings) as knowledge_base:
        return knowledge_base.query("Where did Orrin Instruments open an office?", mode="naive").text


@pytest.mark.long
def test_dg_launch_of_the_job_backfill_is_a_backfill(settings: Settings) -> None:
    write_source(settings, "notes", {"river.md": RIVER})
    run(settings)
    environment = os.environ | _variables(settings) | {"LIGHTRAG_EXTRACTION__ANSWER_FORMAT": "json_object"}
    changed = settings.changed(extraction={"answer_format": "json_object"})

    for job, outdated in (("ingest", {"extractions": 1}), ("backfill", {})):
        launch = ["dg", "launch", "--job", job, "--partition", "notes"]
        subprocess.run(launch, cwd=ROOT, env=environment, check=True, capture_output=True, timeout=LONGEST)
        assert pending(Situation.looking(changed)).sources["notes"].outdated == outdated


@pytest.mark.long
def test_each_step_may_run_in_a_process_of_its_own(settings: Settings) -> None:
    write_source(settings, "notes", {"river.md": RIVER})
    with open_instance(Home(settings.home)) as instance:
        instance.add_dynamic_partitions("source", ["notes"])
    environment = os.environ | _variables(settings) | {"LIGHTRAG_DAGSTER__EXECUTOR": "multiprocess"}

    for arguments in (["--job", "ingest", "--partition", "notes"], ["--job", "publish"]):
        launch = ["dg", "launch", *arguments]
        subprocess.run(launch, cwd=ROOT, env=environment, check=True, capture_output=True, timeout=LONGEST)

    with open_instance(Home(settings.home)) as instance:
        runs = [record.dagster_run.run_id for record in instance.get_run_records()]
        started = dg.DagsterEventType.STEP_WORKER_STARTED
        assert all(len(instance.all_logs(run, of_type=started)) >= 4 for run in runs)
    alone = settings.changed(home=settings.home.parent / "alone")
    build(alone)
    assert snapshot_contents(settings) == snapshot_contents(alone)


@pytest.mark.long
def test_a_dropped_file_changes_the_published_answer(settings: Settings) -> None:
    write_source(settings, "notes", {"river.md": RIVER})
    with daemon(settings, LIGHTRAG_NIGHTLY="* * * * *") as address:
        until(lambda: ask(address, "{ version }"), "the web server does not answer")
        assert ask(address, START, name="nightly")["startSchedule"]["__typename"] == "ScheduleStateResult"
        until(lambda: published_snapshot(Home(settings.home)), "nothing was published")
        assert "opened an office" not in answer(settings)

        write_source(settings, "notes", {"river.md": RIVER, "office.md": OFFICE})

        until(lambda: "opened an office in Bergen" in answer(settings), "the answer did not change")
        sensors = ask(address, SENSORS)["sensorsOrError"]["results"]
        failed = {
            one["name"]: tick["error"]
            for one in sensors
            for tick in one["sensorState"]["ticks"]
            if tick["status"] == "FAILURE"
        }
        assert failed == {}
        running = {one["name"] for one in sensors if one["sensorState"]["status"] == "RUNNING"}
        assert running == {"source_partitions", "publish_accepted", "record_failures", "record_failed_checks"}
        assert not Home(settings.home).failures.exists()
        seen = Looks(Home(settings.home).ledger).read()[DAEMON].good_at
        assert silent_daemon(settings, 0.0, time.time()) is None
        assert silent_daemon(settings, seen, time.time()) is None
        assert "has asked none of publish_accepted" in str(silent_daemon(settings, seen, time.time() + 3600))

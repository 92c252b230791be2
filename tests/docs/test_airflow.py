"""The page on schedulers: its commands, its CronJob, and its DAGs in Airflow."""

import json
import os
import re
import sqlite3
import subprocess
import sys
from contextlib import closing
from pathlib import Path
from time import sleep
from typing import Any

import pytest
import yaml

from lightrag_dagster.settings import load_settings
from tests.deploy.chart import IMAGE
from tests.deploy.restricted import as_kubernetes_reads, faults
from tests.docs.test_links import ROOT
from tests.loopback import Loopback, Reply
from tests.support import FLOOD, RIVER, write_source

PAGE = (ROOT / "docs" / "airflow.md").read_text(encoding="utf-8")
EXAMPLE = ROOT / "examples" / "airflow" / "knowledge_base.py"
AIRFLOW = ROOT / ".venv" / "airflow" / "bin" / "airflow"
"""Made by `make test-long`."""

ANSWER = """
import sys
from airflow.api_fastapi.app import create_app
from fastapi.testclient import TestClient
run, option = sys.argv[1:]
with TestClient(create_app()) as client:
    client.headers["authorization"] = "Bearer " + client.get("/auth/token").json()["access_token"]
    address = f"/api/v2/dags/knowledge_base/dagRuns/{run}/taskInstances/approve/-1/hitlDetails"
    client.patch(address, json={"chosen_options": [option]}).raise_for_status()
"""
"""What a person does about a required action, by Airflow's REST API."""

PROGRAM = Path(sys.executable).with_name("lightrag-dagster")


def test_the_cron_job_is_one_and_its_pod_is_as_restricted_asks() -> None:
    (manifest,) = (yaml.safe_load(block) for block in re.findall(r"```yaml\n(.*?)```", PAGE, re.DOTALL))
    assert as_kubernetes_reads(manifest) == manifest
    job = manifest["spec"]["jobTemplate"]["spec"]
    (rule,) = job["podFailurePolicy"]["rules"]
    assert rule["onExitCodes"]["values"] == [1, 2]
    pod = job["template"]["spec"]
    assert faults(pod) == []
    assert (pod["containers"][0]["image"], pod["restartPolicy"]) == (IMAGE, "Never")


class Airflow:
    """Airflow with the DAGs of the example, and a home with two sources."""

    def __init__(self, folder: Path) -> None:
        self._home = folder / "airflow"
        (folder / "dags").mkdir()
        text = EXAMPLE.read_text(encoding="utf-8")
        assert "timedelta(minutes=10)" in text  # `dag.test()` would spin so long
        (folder / "dags" / EXAMPLE.name).write_text(text.replace("timedelta(minutes=10)", "timedelta(0)"))
        sources = load_settings().sources
        self._environment = os.environ | {
            "AIRFLOW_HOME": str(self._home),
            "AIRFLOW__CORE__DAGS_FOLDER": str(folder / "dags"),
            "AIRFLOW__CORE__LOAD_EXAMPLES": "False",
            "AIRFLOW__CORE__SIMPLE_AUTH_MANAGER_ALL_ADMINS": "True",
            "KNOWLEDGE_COMMAND": str(PROGRAM),
            "LIGHTRAG_HOME": str(folder / "home"),
            "LIGHTRAG_SOURCES": str(sources.absolute()),
        }
        subprocess.run([AIRFLOW, "db", "migrate"], env=self._environment, capture_output=True, check=True)

    def night(self, answer: str | None = None, **environment: str) -> dict[str, str]:
        """Run the DAG of a night by `dag.test()`, and answer when it asks for approval; return task → state."""
        command: list[str | Path] = [AIRFLOW, "dags", "test", "knowledge_base"]
        out = subprocess.DEVNULL
        with subprocess.Popen(command, env=self._environment | environment, stdout=out, stderr=out) as night:
            try:
                while answer and night.poll() is None:
                    for (run,) in self._rows("SELECT run_id FROM task_instance WHERE state = 'awaiting_input'"):
                        python = [AIRFLOW.with_name("python"), "-c", ANSWER, run, answer]
                        subprocess.run(python, env=self._environment, check=True)
                        answer = None
                    sleep(0.5)
                night.wait()
            finally:
                night.kill()
        return dict(
            self._rows(
                "SELECT task_id, state FROM task_instance "
                "WHERE run_id = (SELECT run_id FROM dag_run ORDER BY id DESC LIMIT 1)"
            )
        )

    def events(self) -> list[dict[str, str]]:
        """Return the `extra` of the events of the asset."""
        return [json.loads(extra) for (extra,) in self._rows("SELECT extra FROM asset_event ORDER BY id")]

    def asked(self) -> list[str]:
        """Return what the people read who approve, since the first night."""
        return [body for (body,) in self._rows("SELECT body FROM hitl_detail ORDER BY created_at")]

    def followers(self) -> list[tuple[str, str]]:
        """Return the DAGs that are scheduled on an asset, and its address."""
        return self._rows("SELECT dag_id, uri FROM dag_schedule_asset_reference JOIN asset ON asset.id = asset_id")

    def tries(self, task: str) -> tuple[int, int]:
        """Return how often a task of the last night was tried, and how often it could have been again."""
        tried, most = self._rows(
            f"SELECT try_number, max_tries FROM task_instance WHERE task_id = '{task}' "
            "AND run_id = (SELECT run_id FROM dag_run ORDER BY id DESC LIMIT 1)"
        )[0]
        return int(tried), int(most)

    def command(self, *words: str) -> None:
        """Run a command of this package beside Airflow, as a person does."""
        subprocess.run([PROGRAM, *words], env=self._environment, capture_output=True, check=True)

    def _rows(self, query: str) -> list[Any]:
        with closing(sqlite3.connect(self._home / "airflow.db")) as connection:
            return connection.execute(query).fetchall()


OFFICE = "Jonas Feld leads the office in Bergen."
DONE = dict.fromkeys(("price", "build", "announce", "complete"), "success") | {"approve": "skipped"}
NOTHING_NEW = DONE | {"announce": "skipped"}
AFTER_BUILD = {"announce": "upstream_failed", "complete": "upstream_failed"}
ASKED = {"KNOWLEDGE_EXPECTED_USD": "-1"}

needs_airflow = pytest.mark.skipif(not AIRFLOW.exists(), reason="`make test-long` installs Airflow")


@pytest.mark.long
@needs_airflow
def test_nights_price_ask_build_announce_and_fail_as_the_page_says(tmp_path: Path) -> None:
    settings = load_settings()
    write_source(settings, "notes", {"river.md": RIVER})
    write_source(settings, "letters", {"flood.md": FLOOD})
    airflow = Airflow(tmp_path)
    assert airflow.night() == DONE
    assert airflow.night() == NOTHING_NEW

    write_source(settings, "letters", {})  # an emptied source is withheld, the other is published
    write_source(settings, "notes", {"river.md": RIVER, "office.md": OFFICE})
    assert airflow.night("Approve", **ASKED) == DONE | {"approve": "success", "complete": "failed"}
    assert airflow.tries("complete") == (1, 3)

    write_source(settings, "letters", {"flood.md": FLOOD, "office.md": OFFICE})
    for _ in range(2):  # with the second, nothing is built
        assert airflow.night(LIGHTRAG_PUBLISH="0.05") == NOTHING_NEW | {"complete": "failed"}
    airflow.command("release")
    assert airflow.night() == DONE
    announced = airflow.events()
    assert [set(event) for event in announced] == [{"snapshot"}] * 3
    assert len({event["snapshot"] for event in announced}) == 3

    rejected = {"price": "success", "approve": "failed", "build": "upstream_failed"} | AFTER_BUILD
    assert airflow.night("Reject", **ASKED) == rejected
    assert airflow.asked() == ["Between $0.00 and $0.00"] * 2
    assert airflow.tries("approve") == (1, 0)
    assert airflow.followers() == [("briefing", "lightrag://contracts/")]


@pytest.mark.long
@needs_airflow
def test_what_may_pass_is_tried_again_and_what_needs_a_person_is_not(tmp_path: Path, loopback: Loopback) -> None:
    write_source(load_settings(), "notes", {"river.md": RIVER})
    airflow = Airflow(tmp_path)
    failed = {"price": "success", "approve": "skipped", "build": "failed"} | AFTER_BUILD
    asking = {
        "LIGHTRAG_LLM__PROVIDER": "openai",
        "LIGHTRAG_LLM__MODEL": "gpt-4o-mini",
        "LIGHTRAG_LLM__MAX_RETRIES": "0",
    }
    assert airflow.night(**asking, OPENAI_BASE_URL="http://127.0.0.1:9/v1") == failed
    assert airflow.tries("build") == (4, 3)
    loopback.fault = lambda received: Reply.error(401)
    assert airflow.night(**asking) == failed
    assert airflow.tries("build") == (1, 3)
    loopback.fault = lambda received: Reply.error(503)  # the last try tells what is published
    assert airflow.night(**asking) == NOTHING_NEW | {"complete": "failed"}
    assert airflow.tries("build") == (4, 3)

    stopped = airflow.night(LIGHTRAG_LLM__PROVIDER="none-such")
    assert stopped == {"price": "failed", "approve": "upstream_failed", "build": "upstream_failed"} | AFTER_BUILD
    assert airflow.tries("price") == (1, 3)

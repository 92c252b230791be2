"""The page on schedulers: its commands, its CronJob, and its DAGs in Airflow."""

import json
import os
import re
import sqlite3
import subprocess
import sys
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
import yaml

from lightrag_dagster.settings import load_settings
from tests.deploy.chart import IMAGE
from tests.deploy.restricted import as_kubernetes_reads, faults
from tests.docs.test_links import ROOT
from tests.support import FLOOD, RIVER, write_source

PAGE = (ROOT / "docs" / "airflow.md").read_text(encoding="utf-8")
EXAMPLE = ROOT / "examples" / "airflow" / "knowledge_base.py"
AIRFLOW = ROOT / ".venv" / "airflow" / "bin" / "airflow"
"""Made by `make test-long`."""

PROGRAM = Path(sys.executable).with_name("lightrag-dagster")


def options_of(command: str) -> set[str]:
    """Return the options of a command, by its own help."""
    environment = os.environ | {"COLUMNS": "200", "TERM": "dumb", "NO_COLOR": "1"}
    done = subprocess.run([PROGRAM, command, "--help"], env=environment, capture_output=True, text=True, check=True)
    return set(re.findall(r"--[a-z][a-z-]+", done.stdout))


def test_the_cron_job_is_one_and_its_pod_is_as_restricted_asks() -> None:
    (manifest,) = (yaml.safe_load(block) for block in re.findall(r"```yaml\n(.*?)```", PAGE, re.DOTALL))
    assert as_kubernetes_reads(manifest) == manifest
    job = manifest["spec"]["jobTemplate"]["spec"]
    (rule,) = job["podFailurePolicy"]["rules"]
    assert rule["onExitCodes"]["values"] == [1, 2]
    pod = job["template"]["spec"]
    assert faults(pod) == []
    assert (pod["containers"][0]["image"], pod["restartPolicy"]) == (IMAGE, "Never")


@pytest.mark.parametrize("command", ["run", "status"])
def test_options_on_the_page_and_in_the_example_are_there(command: str) -> None:
    text = PAGE + EXAMPLE.read_text(encoding="utf-8").replace('", "', " ").replace('"', "")
    lines = re.findall(rf"lightrag(?:-dagster|\()[, ]*{command}\b(.*)", text)
    named = {option for line in lines for option in re.findall(r"--[a-z][a-z-]+", line)}
    assert named
    assert named <= options_of(command)


class Airflow:
    """Airflow with the DAGs of the example, and a home with two sources."""

    def __init__(self, folder: Path) -> None:
        self._home = folder / "airflow"
        sources = load_settings().sources
        self._environment = os.environ | {
            "AIRFLOW_HOME": str(self._home),
            "AIRFLOW__CORE__DAGS_FOLDER": str(EXAMPLE.parent),
            "AIRFLOW__CORE__LOAD_EXAMPLES": "False",
            "KNOWLEDGE_COMMAND": str(PROGRAM),
            "LIGHTRAG_HOME": str(folder / "home"),
            "LIGHTRAG_SOURCES": str(sources.absolute()),
        }
        self._run("db", "migrate")

    def night(self, *options: str, **environment: str) -> dict[str, str]:
        """Run the DAG of a night by `dag.test()`; return task → state."""
        self._run("dags", "test", *options, "knowledge_base", check=False, **environment)
        return dict(
            self._rows(
                "SELECT task_id, state FROM task_instance "
                "WHERE run_id = (SELECT run_id FROM dag_run ORDER BY id DESC LIMIT 1)"
            )
        )

    def events(self) -> list[dict[str, str]]:
        """Return the `extra` of the events of the asset."""
        return [json.loads(extra) for (extra,) in self._rows("SELECT extra FROM asset_event ORDER BY id")]

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

    def _run(self, *words: str, check: bool = True, **environment: str) -> None:
        done = subprocess.run(
            [AIRFLOW, *words], env=self._environment | environment, capture_output=True, text=True, check=False
        )
        assert done.returncode == 0 or not check, done.stdout[-3000:] + done.stderr[-3000:]

    def _rows(self, query: str) -> list[Any]:
        with closing(sqlite3.connect(self._home / "airflow.db")) as connection:
            return connection.execute(query).fetchall()


@pytest.mark.long
@pytest.mark.skipif(not AIRFLOW.exists(), reason="`make test-long` installs Airflow")
def test_the_night_prices_builds_announces_and_fails_as_the_page_says(tmp_path: Path) -> None:
    settings = load_settings()
    write_source(settings, "notes", {"river.md": RIVER})
    write_source(settings, "letters", {"flood.md": FLOOD})
    airflow = Airflow(tmp_path)
    done = dict.fromkeys(("price", "build", "announce", "complete"), "success") | {"approve": "skipped"}
    assert airflow.night() == done
    assert airflow.night() == done | {"announce": "skipped"}
    (first,) = airflow.events()

    write_source(settings, "letters", {})  # an emptied source is withheld, the other is published
    write_source(settings, "notes", {"river.md": RIVER, "office.md": "Jonas Feld leads the office in Bergen."})
    dear = airflow.night("--mark-success-pattern", "approve", KNOWLEDGE_EXPECTED_USD="-1")
    assert dear == done | {"approve": "success", "complete": "failed"}
    assert airflow.tries("complete") == (1, 3)
    _, second = airflow.events()
    assert set(first) == set(second) == {"snapshot"}
    assert first != second

    stopped = airflow.night(LIGHTRAG_LLM__PROVIDER="none-such")
    assert stopped == {"price": "failed"} | dict.fromkeys(
        ("approve", "build", "announce", "complete"), "upstream_failed"
    )
    assert airflow.tries("price") == (1, 3)
    assert airflow.followers() == [("briefing", "lightrag://contracts/")]

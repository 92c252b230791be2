"""The page on schedulers: its commands, its CronJob, and its DAGs in Airflow."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from tests.deploy.chart import IMAGE
from tests.deploy.restricted import as_kubernetes_reads, faults
from tests.docs.test_links import ROOT

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
    assert named - options_of(command) == set()

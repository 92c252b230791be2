"""Build a knowledge base every night, and ask it after each new snapshot; for Airflow 3.2 and later.

docs/airflow.md explains it. The package is in an environment of its own, and Airflow knows its command alone.
"""

import json
import os
import subprocess
from datetime import datetime, timedelta
from typing import Any

from airflow.providers.standard.operators.hitl import ApprovalOperator
from airflow.sdk import Asset, dag, task
from airflow.sdk.exceptions import AirflowException, AirflowFailException, AirflowSkipException

COMMAND = os.environ.get("KNOWLEDGE_COMMAND", "/opt/lightrag/bin/lightrag-dagster")
EXPECTED = float(os.environ.get("KNOWLEDGE_EXPECTED_USD", "5"))
"""A night that may cost more waits until a person agrees."""
MOST = float(os.environ.get("KNOWLEDGE_MOST_USD", "50"))
"""No night spends more, whoever agreed."""
CONTRACTS = Asset("lightrag://contracts")


def lightrag(*words: str) -> tuple[int, str]:
    """Run a command; return its exit code and output. Its messages are in the log of the task."""
    done = subprocess.run([COMMAND, *words], stdout=subprocess.PIPE, text=True, check=False)
    if done.returncode == 2:
        raise AirflowFailException(f"{words[0]} needs a person; the lines above say why")  # again would end the same
    if done.returncode not in (0, 1):
        raise AirflowException(f"{words[0]} ended with exit code {done.returncode}")  # 75, or a signal: again
    return done.returncode, done.stdout


def snapshot() -> str | None:
    """Return the id of the published snapshot, or None while there is none."""
    return json.loads(lightrag("status", "--json")[1])["snapshot_id"]


@dag(schedule="30 2 * * *", start_date=datetime(2026, 1, 1), catchup=False, max_active_runs=1)
def knowledge_base() -> None:
    """Price the night, ask a person if it is dear, build, announce the snapshot, and fail if a source is withheld."""

    @task.branch
    def price() -> str:
        plan = json.loads(lightrag("plan", "--json")[1])
        return "build" if plan["known_price"] and plan["total"]["high"] <= EXPECTED else "approve"

    approve = ApprovalOperator(
        task_id="approve",
        subject="The night may cost more than expected; the log of `price` has the plan",
        execution_timeout=timedelta(hours=12),
    )

    @task(trigger_rule="none_failed_min_one_success", retries=3, retry_delay=timedelta(minutes=10))
    def build() -> dict[str, Any]:
        before = snapshot()
        code, output = lightrag("run", "--max-cost", str(MOST), "--wait-lock", "10m")
        print(output)
        return {"before": before, "now": snapshot(), "withheld": code == 1}

    @task(outlets=[CONTRACTS])
    def announce(built: dict[str, Any], *, outlet_events: Any) -> None:
        if built["now"] == built["before"]:
            raise AirflowSkipException("nothing changed, so that nobody is told")
        outlet_events[CONTRACTS].extra = {"snapshot": built["now"]}

    @task
    def complete(built: dict[str, Any]) -> None:
        if built["withheld"]:
            raise AirflowFailException("a source is withheld, the others are published; the log of `build` says why")

    built = build()
    price() >> [approve, built]
    approve >> built
    announce(built)
    complete(built)


@dag(schedule=[CONTRACTS], start_date=datetime(2026, 1, 1), catchup=False)
def briefing() -> None:
    """Ask a question of the snapshot that was announced."""

    @task
    def ask(*, triggering_asset_events: Any) -> str:
        (*_, newest) = triggering_asset_events[CONTRACTS]
        print(answer := lightrag("query", "Who leads the office?", "--snapshot", newest.extra["snapshot"])[1])
        return answer

    ask()


knowledge_base()
briefing()

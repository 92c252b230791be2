"""Build a knowledge base every night, and ask it after each new snapshot; for Airflow 3.3 and later.

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
"""No run spends more, even after an approval."""
CONTRACTS = Asset("lightrag://contracts")


def lightrag(*words: str) -> Any:
    """Run a command; return the facts that it prints as JSON. Its messages are in the log of the task."""
    done = subprocess.run([COMMAND, *words, "--json"], stdout=subprocess.PIPE, text=True, check=False)
    print(done.stdout)
    if done.returncode == 2:
        raise AirflowFailException(f"{words[0]} needs a person; the lines above say why")  # again would end the same
    if done.returncode not in (0, 1) or not done.stdout:  # 75, a signal, an unexpected error: again
        raise AirflowException(f"{words[0]} ended with exit code {done.returncode}")
    return json.loads(done.stdout)


AGAIN = {"retries": 3, "retry_delay": timedelta(minutes=10)}


@dag(schedule="30 2 * * *", start_date=datetime(2026, 1, 1), catchup=False, max_active_runs=1, default_args=AGAIN)
def knowledge_base() -> None:
    """Price the night, ask a person if it is dear, build, announce the snapshot, and fail if a source is withheld."""

    @task.branch
    def price() -> str:
        plan = lightrag("plan")
        return "build" if plan["known_price"] and plan["total"]["high"] <= EXPECTED else "approve"

    approve = ApprovalOperator(
        task_id="approve",
        subject="The night may cost more than expected; the log of `price` has the plan",
        response_timeout=timedelta(hours=12),
        retries=0,
    )

    @task(trigger_rule="none_failed_min_one_success")
    def build() -> dict[str, Any]:
        facts: dict[str, Any] = lightrag("run", "--max-cost", str(MOST), "--wait-lock", "10m")
        return facts

    @task(outlets=[CONTRACTS])
    def announce(built: dict[str, Any], *, outlet_events: Any) -> None:
        if not built["built"] or built["built"] != built["snapshot_id"]:
            raise AirflowSkipException("nothing new was published")
        outlet_events[CONTRACTS].extra = {"snapshot": built["snapshot_id"]}

    @task
    def complete(built: dict[str, Any]) -> None:
        if built["withheld"]:
            raise AirflowFailException(f"withheld, while the other sources are published: {built['withheld']}")

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
        answer = lightrag("query", "Who leads the office?", "--snapshot", newest.extra["snapshot"])
        return str(answer["text"])

    ask()


knowledge_base()
briefing()

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
"""No try spends more, even after an approval."""
CONTRACTS = Asset("lightrag://contracts/")


def lightrag(*words: str) -> Any:
    """Run a command; return the facts that it prints as JSON. Its messages are in the log of the task."""
    done = subprocess.run([COMMAND, *words, "--json"], stdout=subprocess.PIPE, text=True, check=False)
    print(done.stdout)
    facts = json.loads(done.stdout or "{}")
    if done.returncode == 2 and not facts.get("passing"):
        raise AirflowFailException(f"{words[0]} needs a person; the lines above say why")  # again would end the same
    # Another builder (75), a signal, an endpoint that is away, an unexpected error (70): again.
    if done.returncode not in (0, 1) or not facts or facts.get("error"):
        raise AirflowException(f"{words[0]} ended with exit code {done.returncode}; the lines above say why")
    return facts


AGAIN = {"retries": 3, "retry_delay": timedelta(minutes=10)}


@dag(schedule="30 2 * * *", start_date=datetime(2026, 1, 1), catchup=False, max_active_runs=1, default_args=AGAIN)
def knowledge_base() -> None:
    """Price the night, ask a person if it is dear, build, announce what is published, and fail if some is withheld."""

    @task.branch
    def price(*, ti: Any) -> str:
        plan = lightrag("plan")
        cost = f"Between ${plan['total']['low']:.2f} and ${plan['total']['high']:.2f}"
        free = f", without the price of {', '.join(plan['unknown_prices'])}, which is not known"
        ti.xcom_push("cost", cost + ("" if plan["known_price"] else free))
        return "build" if plan["known_price"] and plan["total"]["high"] <= EXPECTED else "approve"

    approve = ApprovalOperator(
        task_id="approve",
        subject="The night may cost more than expected; the log of `price` has the plan",
        body="{{ ti.xcom_pull('price', key='cost') }}",
        fail_on_reject=True,
        response_timeout=timedelta(hours=12),
        retries=0,
    )

    @task(trigger_rule="none_failed_min_one_success")
    def build(*, ti: Any) -> dict[str, Any]:
        facts: dict[str, Any] = lightrag("run", "--max-cost", str(MOST), "--wait-lock", "10m")
        if facts["passing"] and ti.try_number <= ti.max_tries:  # the last try tells what is published all the same
            raise AirflowException(f"withheld for what may pass: {facts['withheld']}")
        return facts

    @task(inlets=[CONTRACTS], outlets=[CONTRACTS])
    def announce(built: dict[str, Any], *, inlet_events: Any, outlet_events: Any) -> None:
        last = [event.extra.get("snapshot") for event in inlet_events[CONTRACTS].ascending(False).limit(1)]
        if built["snapshot_id"] in (None, *last):
            raise AirflowSkipException("nothing new is published")
        outlet_events[CONTRACTS].extra = {"snapshot": built["snapshot_id"]}

    @task
    def complete(built: dict[str, Any]) -> None:
        reasons = [f"{source} is withheld: {reason}" for source, reason in built["withheld"].items()]
        reasons += [f"{built['waits_for_release']} is withheld: {fault}" for fault in built["stopped"]]
        if reasons:
            raise AirflowFailException("; ".join(reasons))

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

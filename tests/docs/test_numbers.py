"""Numbers that pages promise are those of the code: a constant that changes fails here until its pages say so too."""

from datetime import timedelta
from inspect import signature

import pytest

from lightrag_dagster.assets import alerts, checks, metadata, sensors
from lightrag_dagster.assets.schedules import look_seconds
from lightrag_dagster.cli import evaluate, serve
from lightrag_dagster.cli.subcommands import cache_prune
from lightrag_dagster.indexes import sql
from lightrag_dagster.models.batch import batches, model, waiting
from lightrag_dagster.pipeline import graph, pending
from lightrag_dagster.plan.sample import SAMPLE
from lightrag_dagster.serving import ServiceLimits
from lightrag_dagster.spending.budget import LEASE_SECONDS
from lightrag_dagster.stages.merging import parts
from lightrag_dagster.storage.locks.base import COMMAND_SECONDS
from tests.docs.test_links import ROOT

_TIMES = {60: "a minute", 300: "five minutes", 1800: "half hour", 3600: "an hour", 21_600: "six hours", 86_400: "a day"}
_WORDS = {0.5: "half", 2: "twice", 16: "sixteen", 2_000_000: "two million"}
_NIGHTLY = f"{_WORDS.get(pending._LOOKED_AT_ONCE)} sources at a time"
_SERVED = ServiceLimits()


def _time(spell: float | timedelta) -> str:
    seconds = spell.total_seconds() if isinstance(spell, timedelta) else spell
    return _TIMES.get(int(seconds), f"{seconds} seconds")


@pytest.mark.parametrize(
    ("page", "sentence"),
    [
        ("README.md", f"not used for {signature(cache_prune).parameters['unused_for'].default[:-1]} days"),
        ("README.md", f"did not end within {COMMAND_SECONDS:.0f} seconds"),
        ("README.md", f"Below {parts._SMALL_ROWS:,} mentions it merges all"),
        ("docs/how-it-works.md", f"From {parts._SMALL_ROWS:,} to two million mentions"),
        ("docs/batch.md", f"at most {model.MAX_REQUESTS:,} requests and {model.MAX_BYTES / 1e6:.0f} MB"),
        ("docs/batch.md", f"polls the provider every {_time(sensors.BATCH_CHECK_SECONDS)}"),
        ("docs/batch.md", f"about others every {_time(batches.RECENT_SECONDS)}"),
        ("docs/batch.md", f"told nothing of a batch for {_time(waiting.LONGEST_SILENCE)}"),
        ("docs/batch.md", f"if the provider is away for {_time(waiting.LONGEST_SILENCE)}"),
        ("docs/cost.md", f"more than {SAMPLE:,} new and changed documents. Then {SAMPLE:,} of them"),
        ("docs/cost.md", f"no sign of life for {_time(LEASE_SECONDS)}"),
        ("docs/evaluation.md", f"a copy of up to {evaluate._MOST_DOCUMENTS:,} documents"),
        ("docs/in-a-project.md", f"ended after {_time(metadata.HANGS)}"),
        ("docs/operations.md", f"ended after {_time(metadata.HANGS)}"),
        ("docs/operations.md", f"began more than {_time(metadata.HANGS)} ago"),
        ("docs/operations.md", f"one message {_time(alerts.REPEATED)}"),
        ("docs/operations.md", f"waits up to {_time(alerts.GATHERED)}"),
        ("docs/operations.md", f"always waits {_time(alerts.GATHERED)}"),
        ("docs/operations.md", f"requested again every {_time(sensors.RETRY_SECONDS)}"),
        ("docs/scopes.md", f"every {_time(sensors.RETRY_SECONDS)} the sensor `publish_accepted`, tries again"),
        ("docs/operations.md", f"at least the last {sensors._FAILURES_KEPT:,}"),
        (
            "docs/operations.md",
            f"{_NIGHTLY}, for two thirds of the time that Dagster gives it: {look_seconds():.0f} of",
        ),
        ("docs/operations.md", f"over {checks.MAX_LOST_WORDS:.0%} of the words"),
        ("docs/operations.md", f"more than {checks.MAX_CUT_SHARE:.0%} of the chunks are longer"),
        ("docs/operations.md", f"more than {_WORDS.get(1 - checks.MIN_GROUNDED_SHARE)} of the names"),
        ("docs/operations.md", f"for {_WORDS.get(graph.ROWS_BEFORE_PUBLICATION)} chunks, entities and relations"),
        ("docs/serving.md", f"within {_SERVED.seconds:.0f} seconds (`--seconds`)"),
        ("docs/serving.md", f"`--at-once` ({_SERVED.at_once}) questions"),
        ("docs/serving.md", f"{_SERVED.waiting} more wait, and a body has at most {_SERVED.body_bytes / 1e6:.0f} MB"),
        ("docs/sql-and-cypher.md", f"at most {sql._MOST_MEMORY / 1e9:.0f} GB"),
        ("docs/sql-and-cypher.md", f"at most {_WORDS.get(sql.PROCESS_LIMITS)} that memory"),
    ],
)
def test_a_page_has_the_number_of_the_code(page: str, sentence: str) -> None:
    assert sentence in " ".join((ROOT / page).read_text("utf-8").split())


def test_a_command_serves_within_the_limits_of_a_service() -> None:
    for command in (serve.serve, serve.mcp):
        defaults = {name: one.default for name, one in signature(command).parameters.items()}
        assert (defaults["seconds"], defaults.get("at_once", 16)) == (_SERVED.seconds, _SERVED.at_once)

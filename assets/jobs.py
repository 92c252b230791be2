"""The jobs: sets of assets that one run makes."""

from collections.abc import Iterable
from datetime import timedelta
from typing import Any, TypeAlias

import dagster as dg

from lightrag_dagster.assets import INGESTION, PUBLICATION
from lightrag_dagster.assets.metadata import HANGS
from lightrag_dagster.assets.namespace import Namespace
from lightrag_dagster.settings import Settings

Job: TypeAlias = Any
"""The result of `define_asset_job`, for which Dagster exports no name."""

OF_PASSES = ("readings", "facts", "merged_facts")
"""Steps that are there where passes are."""

BUILDING = ("ingest", "backfill", "publish")
"""The jobs that change accepted or published data."""

JOBS = (*BUILDING, "ask", "evaluate", "report")

MAX_RUNTIME_TAG = "dagster/max_runtime"
"""Run tag of Dagster: the seconds after which its monitoring ends a run; 0 for never."""

_ABOUT_QUESTIONS = ("answers", "retrieval_evaluation", "ask")
_EVALUATING = ("evaluate", "downstream")


def is_wanted(name: str, settings: Settings) -> bool:
    """Say whether an asset, job, sensor or schedule has something to do, and is not left out by a setting."""
    has = dict.fromkeys(_ABOUT_QUESTIONS, settings.questions is not None)
    has |= dict.fromkeys(_EVALUATING, bool(settings.questions or settings.gold.folder))
    has |= {"extraction_evaluation": settings.gold.folder is not None} | dict.fromkeys(OF_PASSES, settings.has_passes)
    has |= {"exports": bool(settings.exports), "batches": settings.llm.by_batch}
    return has.get(name, True) and name not in settings.dagster.without


def build_jobs(settings: Settings, executor: dg.ExecutorDefinition) -> dict[str, Job]:
    """Return the wanted ones of `JOBS`, by name without prefix; they keep their executor beside one of the project."""
    namespace = Namespace(settings.namespace)
    ingested = [name for declared in INGESTION if is_wanted(declared.name, settings) for name in declared.assets]
    published = [name for one in PUBLICATION if is_wanted(one.name, settings) for name in one.assets]

    def job(name: str, assets: Iterable[str], description: str) -> Job:
        selection = [namespace.key(asset) for asset in assets]
        longest = timedelta(days=1) if name == "backfill" else HANGS  # nothing would begin a backfill again
        # A step asks again about what passes; Dagster's retries of a failed run would each have the budget of a run.
        tags = {MAX_RUNTIME_TAG: f"{longest.total_seconds():.0f}", "dagster/retry_on_asset_or_op_failure": "false"}
        common: dict[str, Any] = {"description": description, "executor_def": executor, "tags": tags}
        return dg.define_asset_job(namespace.named(name), selection=selection, **common)

    evaluated = [name for name in ("retrieval_evaluation", "extraction_evaluation") if is_wanted(name, settings)]
    jobs: dict[str, tuple[Iterable[str], str]] = {
        "ingest": (ingested, "Read, chunk, extract and parse one source (one partition)."),
        "backfill": (
            ingested,
            "Make the rows of one source again that another recipe made; may cost as much as the first ingestion.",
        ),
        "publish": (published, "Merge all accepted sources, build the stores, check and publish."),
        "ask": (["answers"], "Ask the published snapshot every question."),
        "evaluate": (evaluated, "Measure what each mode finds of the filed questions, and extraction beside gold."),
        "report": (["status_report"], "Report pending, rejected and outdated data."),
    }
    return {name: job(name, *of) for name, of in jobs.items() if is_wanted(name, settings)}

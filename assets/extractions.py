"""`extractions`: what the language model answered for each distinct chunk."""

from collections.abc import Iterator
from collections.abc import Set as AbstractSet

import dagster as dg
import pyarrow as pa
import pyarrow.compute as pc

from assets.metadata import (
    LLM_POOL,
    OWNERS,
    account_of,
    counts,
    keeps_drifted,
    made_by,
    stopwatch,
    table_metadata,
)
from assets.partitions import SOURCES
from lightrag_dagster.build.staleness import recorded_fingerprint
from lightrag_dagster.build.versions import Versions
from lightrag_dagster.core.aio import run_sync
from lightrag_dagster.core.protocols import Usage
from lightrag_dagster.core.tokens import load_tokenizer
from lightrag_dagster.settings import Settings
from lightrag_dagster.stages.extraction.extractions import extract, made_otherwise
from resources import ChatModelResource, TablesResource


@dg.asset(
    partitions_def=SOURCES,
    deps=["chunks"],
    group_name="ingestion",
    pool=LLM_POOL,
    kinds={"openai", "parquet"},
    output_required=False,
    owners=OWNERS,
    description="One row a distinct chunk: the raw responses of every round, status, tokens and cost.",
    check_specs=[
        dg.AssetCheckSpec(
            "failed_chunks",
            asset="extractions",
            description="The share of chunks whose extraction failed is at or under documents.max_failed_share.",
        )
    ],
)
def extractions(
    context: dg.AssetExecutionContext,
    settings: dg.ResourceParam[Settings],
    tables: TablesResource,
    chat_model: ChatModelResource,
) -> Iterator[dg.MaterializeResult | dg.AssetCheckResult]:
    """Ask the model about every chunk that it has not answered yet.

    In batch mode, unless all answers are there, the step submits what is missing and ends without a materialisation:
    the rest of the run is skipped, the source's last accepted tables stay, and the sensor `batches` starts it again.
    """
    store, source = tables.open(), context.partition_key
    account = account_of(context, settings, source)
    versions, llm = Versions.of(settings), settings.llm.of("extract")

    previous = store.read("extractions", source) if store.current("extractions", source) else None

    keep = keeps_drifted(context, settings)

    async def ask(chunks: pa.Table) -> tuple[pa.Table, Usage, AbstractSet[str]]:
        async with chat_model.open_for_extraction(account, backfill=not keep) as model:
            rows = await extract(
                source,
                chunks,
                model,
                versions.prompts,
                settings.extraction,
                versions.extractions,
                llm.conversations,
                previous,
                longer_outputs=llm.longer_outputs,
                retry_failed=llm.retry_failed,
                keep_drifted=keep,
                count_tokens=load_tokenizer(settings.chunking.encoding).count,
            )
        return rows, model.usage, model.awaited

    with stopwatch() as watch:
        chunks = store.require("chunks", source)
        rows, usage, awaited = run_sync(ask(store.read("chunks", source, chunks.version)))
        if awaited:
            yield from _still_waiting(context, awaited)
            return
        drifted = made_otherwise(rows, versions.extractions)
        version = store.write(
            "extractions",
            source,
            rows,
            inputs={"chunks": chunks.version},
            fingerprint=recorded_fingerprint(
                versions.extractions, store.current("extractions", source), kept=drifted, made=rows.num_rows - drifted
            ),
        )
    status = counts(rows["status"])
    failed = status.get("failed", 0)
    share = failed / max(1, rows.num_rows)
    yield dg.MaterializeResult(
        data_version=dg.DataVersion(version.version),
        tags=made_by(version.fingerprint),
        metadata=table_metadata(
            rows,
            drifted=drifted,
            seconds=watch.seconds,
            calls=usage.calls,
            stored_answers=usage.stored,
            input_tokens=usage.input_tokens,
            cached_input_tokens=usage.cached_input_tokens,
            output_tokens=usage.output_tokens,
            cost_usd=usage.cost_usd,
            answers_cost_usd=pc.sum(rows["cost_usd"]).as_py() or 0.0,
            **status,
        ),
        check_results=[
            dg.AssetCheckResult(
                check_name="failed_chunks",
                passed=share <= settings.documents.max_failed_share,
                severity=dg.AssetCheckSeverity.WARN,
                metadata={"failed": failed, "share": share, "allowed": settings.documents.max_failed_share},
            )
        ],
    )


def _still_waiting(context: dg.AssetExecutionContext, awaited: AbstractSet[str]) -> Iterator[dg.AssetCheckResult]:
    """Report that the answers are still to come. Dagster insists on the check, and no chunk has failed so far."""
    why = f"waiting for {len(awaited)} batches; the last accepted version stays until they are done"
    context.log.info(why)
    context.log_event(
        dg.AssetObservation("extractions", partition=context.partition_key, metadata={"batches": sorted(awaited)})
    )
    yield dg.AssetCheckResult(check_name="failed_chunks", passed=True, description=why)

"""Metadata of every materialisation: rows, schema, a preview and seconds."""

import time
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import timedelta
from typing import Any

import dagster as dg
import pyarrow as pa
from dagster._core.definitions.asset_checks.asset_check_evaluation import AssetCheckEvaluationTargetMaterializationData
from pydantic import Field

from lightrag_dagster.assets.column_lineage import column_lineage
from lightrag_dagster.assets.namespace import CODE_VERSION, Namespace
from lightrag_dagster.core.identity import digest
from lightrag_dagster.core.text.safe_markdown import cell, escaped, markdown_table
from lightrag_dagster.fact_schemas import kind_of
from lightrag_dagster.pipeline.documents import ReadDocuments, ReadReport
from lightrag_dagster.pipeline.losses import lost_of_source
from lightrag_dagster.pipeline.recipes import Recipes
from lightrag_dagster.pipeline.shards import StageReport
from lightrag_dagster.settings import Settings
from lightrag_dagster.spending.account import COUNTED, Account
from lightrag_dagster.stages.documents.raw_documents import Slow
from lightrag_dagster.storage.tables.source_tables import FIRST_ROWS
from lightrag_dagster.storage.versions import TableVersion

COMMAND_TAG = "lightrag/command"
"""Run tag: the command, schedule or sensor that asked for the run, in a word or two."""

COST_TAG = "lightrag/cost"
"""Run tag: what its model calls cost, as `$0.123456`, so that they can be added up; without any there is none."""

ACCOUNT_TAG = ".dagster/lightrag_account"
"""Run tag that the UI hides: the account of the calls, which several runs of one command have in common."""

REASON = "reason"
"""The key of the metadata with a failed check's plain description."""

HANGS = timedelta(hours=6)
"""A run that takes longer hangs, on a dead mount say, and is ended so that others get their turn; what it was answered
is stored, so a first ingestion that really takes so long continues with the next run."""

_COUNTED_AS = {"stored": "stored_answers"}
_PREVIEW_CHARACTERS = 60
_CELL_CHARACTERS = 300

Metadata = dict[str, Any]


class Stopwatch:
    """The seconds that a block took, when it has ended."""

    seconds: float = 0.0


class IngestConfig(dg.Config):
    """Options of an ingestion."""

    backfill: bool = Field(
        default=False,
        description="Make rows again that another recipe made (prompts, model, parameters, chunker), which may cost "
        "money; they replace the accepted ones when the whole source is accepted.",
    )


class BuildConfig(dg.Config):
    """Options of building the knowledge base."""

    backfill: bool = Field(
        default=False, description="Make summaries and vectors again that another recipe made, which may cost money."
    )


def is_backfill(
    context: dg.AssetExecutionContext | dg.AssetCheckExecutionContext, config: IngestConfig, settings: Settings
) -> bool:
    """Say whether a step belongs to a backfill, by its configuration or its job.

    `dg launch` puts an empty configuration in place of the job's own.
    """
    return config.backfill or context.run.job_name == Namespace(settings.namespace).named("backfill")


def account_of(
    context: dg.AssetExecutionContext | dg.OpExecutionContext, settings: Settings, source: str = ""
) -> Account:
    """Return on whose account a step makes its calls: the command's that started the run, else the run's own."""
    run = context.run.tags.get(ACCOUNT_TAG, context.run.run_id)
    return Account.of(run, source, settings.llm, context.run.run_id)


def materialised(
    version: str, metadata: Metadata, *, recipe: str = "", asset: dg.AssetKey | None = None
) -> dg.MaterializeResult:
    """Return what Dagster is told of a step: the version of what it made, and its recipe where that is not today's."""
    tags = {CODE_VERSION: recipe} if recipe else None
    return dg.MaterializeResult(asset_key=asset, data_version=dg.DataVersion(version), tags=tags, metadata=metadata)


def warned(warnings: Iterable[str], metadata: Mapping[str, Any]) -> dg.AssetCheckResult:
    """Return the result of a check that gives warnings; without any it passes."""
    said = escaped("; ".join(warnings)) or None  # the UI takes it for Markdown
    return dg.AssetCheckResult(
        passed=said is None, severity=dg.AssetCheckSeverity.WARN, description=said, metadata=metadata
    )


def last_made(instance: dg.DagsterInstance, key: dg.AssetKey, source: str) -> dg.EventLogRecord | None:
    """Return the last event of a table of a source, or None."""
    of_source = dg.AssetRecordsFilter(key, asset_partitions=[source])
    return next(iter(instance.fetch_materializations(of_source, limit=1).records), None)


def evaluation(
    key: dg.AssetKey, name: str, source: str, result: dg.AssetCheckResult, made: dg.EventLogRecord | None
) -> dg.AssetCheckEvaluation:
    """Return the event of a check of one source, whose table was last `made` so.

    Dagster shows it at the partition only while it names the last event there, and has no public function for that.
    """
    target = made and AssetCheckEvaluationTargetMaterializationData(
        storage_id=made.storage_id, run_id=made.run_id, timestamp=made.timestamp
    )
    return dg.AssetCheckEvaluation(
        asset_key=key,
        check_name=name,
        passed=result.passed,
        metadata=result.metadata,
        severity=result.severity,
        description=result.description,
        partition=source,
        target_materialization_data=target,
    )


@contextmanager
def stopwatch() -> Iterator[Stopwatch]:
    """Time a block."""
    watch, started = Stopwatch(), time.perf_counter()
    try:
        yield watch
    finally:
        watch.seconds = round(time.perf_counter() - started, 3)


def table_metadata(table: pa.Table, rows: int | None = None, **more: Any) -> Metadata:
    """Return row count, column schema, a preview and `more`; of many `rows` the table may be only the first ones."""
    return {
        "dagster/row_count": table.num_rows if rows is None else rows,
        "dagster/column_schema": column_schema(table.schema),
        "preview": dg.MetadataValue.md(preview(table)),
        **more,
    }


def lost_rows(source: str, tables: Mapping[str, TableVersion]) -> Counter[str]:
    """Return the numbers of rows that are lost in tables of a source, by what became of them, 0 included."""
    found = Counter[str]()
    for loss in lost_of_source(source, tables):
        found.update(loss.counts)
    return found


def ingested(report: StageReport, recipes: Recipes, watch: Stopwatch, asset_key: dg.AssetKey) -> dg.MaterializeResult:
    """Return what Dagster shows of one ingested table."""
    version, usage = report.version, report.usage
    named = version.counts.get("recipe", {})
    recipe = recipes.of_source(version.source).row_recipe(version.table)
    outdated = {name: rows for name, rows in named.items() if name != recipe}
    lost = {kind: rows for kind, rows in lost_rows(version.source, {version.table: version}).items() if rows}
    metadata = table_metadata(
        report.first,
        version.rows,
        seconds=watch.seconds,
        **version.counts.get("status", {}) | lost | version.sums,
        **column_lineage(kind_of(version.table), Namespace(recipes.settings.namespace)),
    )
    # Dagster takes `row_count` for that of the whole table, and keeps the last; `knowledge_base` has the whole.
    metadata["dagster/partition_row_count"] = metadata.pop("dagster/row_count")
    if kind_of(version.table) in ("parsed", "read_facts"):
        metadata |= {"reasons": version.counts["reason"]}
    if recipe:
        metadata |= {"kept": report.kept, "outdated": sum(outdated.values())}
    if isinstance(report, ReadReport):
        metadata |= {"unchanged": report.kept, **_about_documents(report.documents)}
    is_asked = kind_of(version.table) in ("extractions", "readings")
    if is_asked or usage.calls or usage.stored:
        metadata |= {_COUNTED_AS.get(name, name): getattr(usage, name) for name in COUNTED}
    if is_asked:
        metadata |= {"answers_cost_usd": report.answers_cost_usd}
    made_by = max(outdated, key=lambda name: outdated[name], default="")
    return materialised(version.version, metadata, recipe=made_by, asset=asset_key)


def together(results: Sequence[dg.MaterializeResult]) -> list[dg.MaterializeResult]:
    """Return one result for each asset: of several passes the first one's, with numbers added up and all versions."""
    by_asset: dict[dg.AssetKey, list[dg.MaterializeResult]] = {}
    for one in results:
        assert one.asset_key
        by_asset.setdefault(one.asset_key, []).append(one)
    return [_added_up(each) if len(each) > 1 else each[0] for each in by_asset.values()]


def _added_up(results: Sequence[dg.MaterializeResult]) -> dg.MaterializeResult:
    found: list[dict[str, Any]] = [dict(one.metadata or {}) for one in results]
    numbers = {key for one in found for key, value in one.items() if isinstance(value, int | float)} - {"seconds"}
    sums: dict[str, Any] = {key: sum(one.get(key, 0) for one in found) for key in sorted(numbers)}
    if "reasons" in found[0]:
        sums["reasons"] = dict(sum((Counter(one["reasons"]) for one in found), Counter()))
    version = digest(*(one.data_version.value for one in results if one.data_version))
    return results[0]._replace(metadata=found[0] | sums, data_version=dg.DataVersion(version))


def _about_documents(reading: ReadDocuments) -> dict[str, Any]:
    """Return metadata of documents that were read."""
    return {
        **reading.losses._asdict(),
        "media_types": reading.media_types,
        "slowest": dg.MetadataValue.md(_slowest(reading.slowest) if reading.slowest else "none"),
        "largest": dg.MetadataValue.md(_shown(reading.largest)),
        "failures": dg.MetadataValue.md(_shown(reading.failures) if len(reading.failures) else "none"),
    }


def column_schema(schema: pa.Schema) -> dg.TableSchema:
    """Return an Arrow schema as Dagster shows it, with the descriptions of the fields."""
    return dg.TableSchema(
        columns=[
            dg.TableColumn(
                name=field.name,
                type=str(field.type),
                description=(field.metadata or {}).get(b"description", b"").decode(),
                constraints=dg.TableColumnConstraints(nullable=field.nullable),
            )
            for field in schema
        ]
    )


def preview(table: pa.Table) -> str:
    """Return the first rows as a Markdown table; long values are cut."""
    return _shown(table.slice(0, FIRST_ROWS), _PREVIEW_CHARACTERS)


def _shown(table: pa.Table, most: int = _CELL_CHARACTERS) -> str:
    rows = ([cell(value, most) for value in row.values()] for row in table.to_pylist())
    return markdown_table(table.column_names, rows)


def _slowest(files: Sequence[Slow]) -> str:
    return markdown_table(
        ["path", "seconds"], [[cell(one.path, _CELL_CHARACTERS), f"{one.seconds:.1f}"] for one in files]
    )

"""The checks that can be run by themselves, without reading the sources."""

import warnings
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple, TypeAlias

import dagster as dg

from lightrag_dagster.assets.knowledge_base import gates, integrity, scope_published
from lightrag_dagster.assets.metadata import REASON, IngestConfig, is_backfill, lost_rows, warned
from lightrag_dagster.assets.namespace import Compute, Namespace
from lightrag_dagster.assets.outdated import judged_outdated
from lightrag_dagster.assets.status_report import all_published
from lightrag_dagster.core.text.safe_markdown import escaped
from lightrag_dagster.curation.rules import in_force
from lightrag_dagster.errors import DecisionError, LightRAGError
from lightrag_dagster.pipeline.grounding import SAMPLED_CHUNKS, GroundedNames, grounded_names
from lightrag_dagster.pipeline.losses import (
    completeness_warnings,
    decision_warnings,
    lost_of_source,
    source_warning,
    unread_warning,
)
from lightrag_dagster.pipeline.passes import misnamed_passes
from lightrag_dagster.pipeline.situation import Situation
from lightrag_dagster.pipeline.unread import unread_lines
from lightrag_dagster.resources import LightRAG
from lightrag_dagster.storage.home_format import refresh
from lightrag_dagster.storage.tables.acceptance import Bounds, accepted, judge, judge_pass
from lightrag_dagster.storage.tables.source_tables import SourceTables

MAX_LOST_WORDS = 0.02
"""Largest share of the words of a source's files that may be missing in their texts without a warning."""

MAX_CUT_SHARE = 0.1
"""Largest share of the chunks that may be longer than the embedder reads without a warning."""

MIN_GROUNDED_SHARE = 0.5
"""Smallest share of the names that a recipe gave that is in the text without a warning."""


def build_checks(
    namespace: Namespace, passes: bool = False, scopes: Sequence[str] = ()
) -> list[dg.AssetChecksDefinition]:
    """Return the checks of each source, `source_checks`, those of the whole knowledge base, and one of each scope."""

    def check(asset: str, judged: Compute, description: str, **more: Any) -> dg.AssetChecksDefinition:
        declare = dg.asset_check(asset=namespace.key(asset), description=description, **more)
        return declare(namespace.bound(judged))

    said = "The scope {} is published from the published snapshot, and is sound."
    of_scopes = (
        check("knowledge_base", scope_published(name), said.format(name), name=f"scope_{name}") for name in scopes
    )
    whole = (check(*one, blocking=one[1] is hold_together) for one in _WHOLE_CHECKS)
    return [*source_checks(namespace, passes=passes), *of_scopes, *whole]


def source_checks(namespace: Namespace, *, passes: bool = False) -> list[dg.AssetChecksDefinition]:
    """Return the checks of an ingested source, with one result a source; those of facts where there are passes."""
    with warnings.catch_warnings():
        # Checks with partitions are a preview in Dagster 1.13; without them a healthy source would turn a failed one
        # green.
        warnings.filterwarnings("ignore", category=dg.PreviewWarning)
        return [
            dg.asset_check(
                asset=namespace.key(one.asset),
                name=one.name,
                partitions_def=namespace.sources,
                description=one.description,
            )(namespace.bound(_in_own_run(one)))
            for one in SOURCE_CHECKS
            if passes or one.asset != "facts"
        ]


def _in_own_run(check: "SourceCheck") -> Callable[..., dg.AssetCheckResult]:
    """Return the function of a check in the run of a partition."""

    def judged(
        context: dg.AssetCheckExecutionContext, config: IngestConfig, lightrag: dg.ResourceParam[LightRAG]
    ) -> dg.AssetCheckResult:
        return check.judge(lightrag, context.partition_key, is_backfill(context, config, lightrag.settings))

    return judged


def _source_accepted(lightrag: LightRAG, source: str, backfill: bool) -> dg.AssetCheckResult:
    """Judge the tables of one source again, and count what is lost of it, as the last lines of `run` do."""
    tables = _tables(lightrag, backfill)
    judged = judge(tables, source, Bounds.of(lightrag.settings))
    losses = lost_of_source(source, tables.current_versions(source))
    return dg.AssetCheckResult(
        passed=judged.accepted,
        severity=dg.AssetCheckSeverity.ERROR,
        description=escaped(judged.reason) if judged.reason else None,  # the UI takes it for Markdown
        metadata={
            "failed_documents": judged.failed_documents,
            "failed_chunks": judged.failed_chunks,
            "rejected_rows": judged.rejected_rows,
            **{f"{loss.of}: {kind}": rows for loss in losses for kind, rows in loss.counts.items()},
            **({REASON: judged.reason} if judged.reason else {}),
        },
    )


def _passes_accepted(lightrag: LightRAG, source: str, backfill: bool) -> dg.AssetCheckResult:
    """Judge the tables of each pass of a source again."""
    tables, bounds = _tables(lightrag, backfill), Bounds.of(lightrag.settings)
    passes = lightrag.recipes.pass_names(source)
    judged = {name: judge_pass(tables, source, name, bounds) for name in passes}
    counted = {f"rejected_share/{name}": one.rejected_rows for name, one in judged.items()}
    counted |= {f"failed_share/{name}": one.failed_chunks for name, one in judged.items()}
    read = {name: one for name, one in tables.current_versions(source, passes).items() if "@" in name}
    record = accepted(lightrag.home, source)
    lines = [one.reason for one in judged.values()]
    if record and record.passes.keys() - passes:
        lines += misnamed_passes(Situation.looking(lightrag.settings), source)
    return warned(filter(None, lines), counted | +lost_rows(source, read))


def _names_found(lightrag: LightRAG, source: str, backfill: bool) -> dg.AssetCheckResult:
    """Warn of a source that names little in its chunks."""
    current = _tables(lightrag, backfill).current_versions(source, lightrag.recipes.pass_names(source))
    warning = source_warning(source, current, lightrag.recipes)
    counted = (table for table in ("entity_mentions", "relation_mentions") if table in current)
    return warned(filter(None, [warning]), {table: current[table].rows for table in counted})


def _names_grounded(lightrag: LightRAG, sources: Sequence[str], backfill: bool) -> dict[str, dg.AssetCheckResult]:
    """Warn of recipes whose names are not in the text too often, with one result a source."""
    counted = grounded_names(_tables(lightrag, backfill), sources)
    return {source: _judged_names(found) for source, found in counted.items()}


def hold_together(lightrag: dg.ResourceParam[LightRAG]) -> dg.AssetCheckResult:
    """Fail if decisions cannot be read, or cannot all hold."""
    refresh(lightrag.home)
    try:
        found = in_force(lightrag.settings)
    except DecisionError as error:
        return dg.AssetCheckResult(passed=False, description=escaped(str(error)), metadata={REASON: str(error)})
    return dg.AssetCheckResult(passed=True, metadata={"decisions": len(found.decisions)})


def decisions_match(lightrag: dg.ResourceParam[LightRAG]) -> dg.AssetCheckResult:
    """Warn of decisions that had less effect on the published snapshot than meant."""
    manifest = Situation.looking(lightrag.settings).require_published()
    return warned(decision_warnings(lightrag.home, manifest), {"snapshot": manifest.snapshot_id})


def complete(lightrag: dg.ResourceParam[LightRAG]) -> dg.AssetCheckResult:
    """Warn of a published snapshot with something missing."""
    manifest = Situation.looking(lightrag.settings).require_published()
    rows = {f"rows/{table}": rows for table, rows in manifest.rows.items()}
    return warned(completeness_warnings(lightrag.recipes, manifest), rows)


def texts_read(lightrag: dg.ResourceParam[LightRAG]) -> dg.AssetCheckResult:
    """Warn of a published snapshot with many chunks that are longer than the embedder reads."""
    vectors = Situation.looking(lightrag.settings).require_published().vectors
    chunks = vectors.tables["chunk_vectors"]
    counts = {"cut_texts": chunks.cut, "texts": chunks.rows, "unread_share": chunks.unread_share}
    lines = unread_lines(lightrag.settings, vectors) if chunks.cut > MAX_CUT_SHARE * chunks.rows else {}
    return warned(lines.values(), counts | {"allowed": MAX_CUT_SHARE, "tokens_read": vectors.reads or "all"})


def _tables(lightrag: LightRAG, backfill: bool) -> SourceTables:
    """Refresh the home, in which another process may have written, and return the tables to check.

    An accepted backfill no longer has candidate tables; then these are the current ones.
    """
    refresh(lightrag.home)
    return lightrag.tables(candidate=backfill)


def _few_words_lost(lightrag: LightRAG, source: str, backfill: bool) -> dg.AssetCheckResult:
    """Warn of files of which a reader lost words."""
    sums = _tables(lightrag, backfill).require("raw_documents", source).sums
    lost, words = (sums.get(column, 0) for column in ("lost_words", "file_words"))
    counted = {"lost_words": lost, "file_words": words, "allowed": MAX_LOST_WORDS}
    few = lost <= MAX_LOST_WORDS * words
    return dg.AssetCheckResult(passed=few, severity=dg.AssetCheckSeverity.WARN, metadata=counted)


def _types_known(lightrag: LightRAG, source: str, backfill: bool) -> dg.AssetCheckResult:
    """Warn of a source most of whose files are of no known type."""
    documents = _tables(lightrag, backfill).require("raw_documents", source)
    warning = unread_warning(source, {"raw_documents": documents})
    return warned(filter(None, [warning]), {"files": documents.rows, "skipped": documents.count("status", "skipped")})


def _judged_names(counted: Mapping[str, GroundedNames]) -> dg.AssetCheckResult:
    few = (
        f"{found.names - found.grounded:,} of {found.names:,} names that recipe {recipe} gave are not in the text"
        for recipe, found in counted.items()
        if found.share < MIN_GROUNDED_SHARE
    )
    metadata = {
        "least": MIN_GROUNDED_SHARE,
        "chunks_sampled": f"at most {SAMPLED_CHUNKS} a recipe",
        **{f"names/{recipe}": found.names for recipe, found in counted.items()},
        **{f"share/{recipe}": found.share for recipe, found in counted.items()},
    }
    return warned(few, metadata)


_JudgeTogether: TypeAlias = Callable[[LightRAG, Sequence[str], bool], Mapping[str, dg.AssetCheckResult]]


class SourceCheck(NamedTuple):
    """A check of a table of one source: the table, its name, the function that judges, and a description.

    The function is given the source, and whether its tables are those of a backfill. A check that costs many sources
    hardly more than one has `judge_together`.
    """

    asset: str
    name: str
    judge: Callable[[LightRAG, str, bool], dg.AssetCheckResult]
    description: str
    judge_together: _JudgeTogether | None = None


def _alone(judge_together: _JudgeTogether) -> Callable[[LightRAG, str, bool], dg.AssetCheckResult]:
    return lambda lightrag, source, backfill: judge_together(lightrag, [source], backfill)[source]


def judged_each(
    judge_together: _JudgeTogether, lightrag: LightRAG, sources: Sequence[str], backfill: bool
) -> Mapping[str, dg.AssetCheckResult | LightRAGError]:
    """Judge some sources together; of one with a damaged table, return the error."""
    try:
        return judge_together(lightrag, sources, backfill)
    except LightRAGError as error:
        if len(sources) == 1:
            return {sources[0]: error}
    alone = [judged_each(judge_together, lightrag, [source], backfill) for source in sources]
    return {source: result for one in alone for source, result in one.items()}


SOURCE_CHECKS = [
    SourceCheck(
        "raw_documents",
        "words_read",
        _few_words_lost,
        f"Of the words that the files hold, counted apart from their readers, at most {MAX_LOST_WORDS:.0%} are missing "
        "in the texts. Counted are HTML, PDF, Office, ODT, EPUB and mail; other formats have no such check.",
    ),
    SourceCheck(
        "raw_documents",
        "types_known",
        _types_known,
        "At most half of the files are skipped because their type is not known; `types` of the source names it.",
    ),
    SourceCheck(
        "extractions",
        "outdated",
        _alone(judged_outdated),
        "No row was made with other prompts, models or settings than today's. The metadata has the partitions to "
        "choose for a backfill; each morning's report looks too.",
        judged_outdated,
    ),
    SourceCheck(
        "entity_mentions",
        "accepted",
        _source_accepted,
        "The source's tables belong together, few enough documents and chunks failed, and few enough rows of "
        "answers were rejected, so the merge reads this version; otherwise it keeps reading the last accepted one.",
    ),
    SourceCheck(
        "facts",
        "passes_accepted",
        _passes_accepted,
        "Of each pass, few enough chunks failed and few enough rows yield no fact, so the merge reads this version; "
        "otherwise it keeps reading the facts that were accepted last. The first reading does not wait for it.",
    ),
    SourceCheck("entity_mentions", "names_found", _names_found, "The source names something, unless it holds no text."),
    SourceCheck(
        "entity_mentions",
        "names_grounded",
        _alone(_names_grounded),
        f"Of the names in a sample of chunks, at least {MIN_GROUNDED_SHARE:.0%} are in its chunk, for each recipe of "
        "the extraction.",
        _names_grounded,
    ),
]
"""The checks of an ingested source."""

_WHOLE_CHECKS: list[tuple[str, Compute, str]] = [
    ("curation", hold_together, "The decisions can be read, and can all hold; otherwise nothing is merged."),
    (
        "knowledge_base",
        integrity,
        "Endpoints and cited chunks exist, rows agree across Parquet, LanceDB and, once it is built, Kùzu; vectors are "
        "finite and of the right size. A generation that breaks this is not published; run the check again to look at "
        "the snapshot, and to read all of its vectors.",
    ),
    (
        "knowledge_base",
        gates,
        "No gate stops the newest snapshot: the settings publish and checks, or a rollback. One that is stopped is "
        "built, and waits for `lightrag-dagster release`.",
    ),
    ("knowledge_base", complete, "The snapshot has entities, and each summary that is due."),
    (
        "knowledge_base",
        texts_read,
        f"At most {MAX_CUT_SHARE:.0%} of the chunks are longer than the embedder reads; what it does not read is in no "
        "vector, and found by its words alone.",
    ),
    (
        "knowledge_base",
        decisions_match,
        "The names in decisions are in some document, and each mention fits one `split` at most.",
    ),
    (
        "status_report",
        all_published,
        "Every source is published as its files are now, and none is rejected; outdated rows do not count.",
    ),
]
"""The checks over all sources: the asset, the function that judges, and a description."""

"""`retrieval_evaluation` and `extraction_evaluation`: what modes find, and what was extracted, at each snapshot."""

from collections.abc import Sequence

import dagster as dg
import pyarrow as pa

from lightrag_dagster.assets.declared import LLM_POOL, downstream
from lightrag_dagster.assets.metadata import Metadata, account_of, stopwatch, table_metadata, warned
from lightrag_dagster.assets.progress_log import logged
from lightrag_dagster.core.identity import table_version
from lightrag_dagster.core.text.safe_markdown import markdown_table
from lightrag_dagster.evaluation.gold.judged import find_passages, judge
from lightrag_dagster.evaluation.gold.rows import gold_inputs, read_gold
from lightrag_dagster.evaluation.gold.scores import MEASURES, as_table, below, score, worse_than_before
from lightrag_dagster.evaluation.questions import answer_inputs, read_question_file, with_gold
from lightrag_dagster.evaluation.report import advantage_cells, carried, cells, change_cells, language_cells, verdict
from lightrag_dagster.evaluation.summary import (
    Change,
    advantages,
    by_language,
    changes,
    count_unjudged,
    find_carriers,
    judge_default,
    summarise,
    with_history,
)
from lightrag_dagster.pipeline.situation import Situation
from lightrag_dagster.resources import LightRAG
from lightrag_dagster.storage.tables.source_tables import ALL_SOURCES

QUESTIONS, MODES, GOLD = "evaluated_questions", "retrieval_evaluation", "extraction_evaluation"


@downstream(
    pool=LLM_POOL,
    kinds={"parquet"},
    description="Recall, precision, rank, context and time of every mode on the questions of the setting `questions` "
    "that name where their answer is, with intervals, one row a mode and metric; and quality of answers where a "
    "language model is configured.",
    checks={
        "no_mode_dropped": "No mode finds less than in the previously evaluated snapshot: fails when the mean of "
        "recall or nDCG fell, over the same questions, by more than its 95% bootstrap interval.",
        "default_mode_is_best": "No mode finds more than the default one, `query.mode`: fails when the recall of "
        "another is higher, question by question, by more than its 95% bootstrap interval.",
    },
)
def retrieval_evaluation(
    context: dg.AssetExecutionContext, lightrag: dg.ResourceParam[LightRAG]
) -> dg.MaterializeResult:
    """Ask, measure, and add the rows to those of earlier snapshots."""
    from lightrag_dagster.evaluation.evaluation import evaluate
    from lightrag_dagster.evaluation.retrieving import missing_gold
    from lightrag_dagster.query.knowledge_base import KnowledgeBase

    settings = lightrag.settings
    stored, recipe = lightrag.tables(), lightrag.recipes.retrieval_evaluation
    before = {name: stored.read(name, ALL_SOURCES) for name in (QUESTIONS, MODES) if stored.current(name, ALL_SOURCES)}
    questions = with_gold(read_question_file(settings.questions))
    account = account_of(context, settings)
    with (
        stopwatch() as watch,
        logged(context, lightrag),
        KnowledgeBase.open(settings=settings, account=account) as opened,
    ):
        rows = evaluate(opened, questions)
        snapshot_id, missing = opened.snapshot_id, missing_gold(opened, questions)
    summary, history = summarise(rows), with_history(before.get(QUESTIONS), rows)
    inputs = answer_inputs(snapshot_id, questions)
    for name, table in ((QUESTIONS, history), (MODES, with_history(before.get(MODES), summary))):
        stored.write(name, ALL_SOURCES, table, inputs=inputs, recipe=recipe)
    return dg.MaterializeResult(
        # Everything measured, except times, which always differ.
        data_version=dg.DataVersion(table_version(rows.drop_columns("milliseconds"))),
        metadata=table_metadata(
            summary,
            seconds=watch.seconds,
            questions=len(questions),
            missing_gold=missing,
            unjudged=count_unjudged(rows, settings.query.mode, settings.llm),
        )
        | _shown(summary, rows),
        check_results=[_check(changes(history, rows)), default_check(rows, settings.query.mode)],
    )


def _check(changed: Sequence[Change]) -> dg.AssetCheckResult:
    dropped = [one for one in changed if one.dropped]
    metadata: Metadata = {"dropped": [f"{one.mode} {one.metric}" for one in dropped]}
    if changed:
        metadata["changes"] = dg.MetadataValue.md(_table(change_cells(changed)))
    return dg.AssetCheckResult(
        check_name="no_mode_dropped",
        passed=not dropped,
        # The published snapshot is sound, and the drop may be intended, as after a deletion.
        severity=dg.AssetCheckSeverity.WARN,
        metadata=metadata,
    )


def default_check(rows: pa.Table, mode: str) -> dg.AssetCheckResult:
    """Check that no other mode finds more than the default one; rows are EVALUATED_QUESTIONS of one snapshot."""
    judged = judge_default(rows, mode)
    return dg.AssetCheckResult(
        check_name="default_mode_is_best",
        passed=not judged.better,
        severity=dg.AssetCheckSeverity.WARN,
        description="; ".join([*map(carried, filter(None, [find_carriers(rows)])), verdict(judged)]),
        metadata={"default": judged.default, "best": judged.best or ""},
    )


def _shown(summary: pa.Table, rows: pa.Table) -> Metadata:
    if not summary.num_rows:
        return {}
    recalls = (row for row in summary.to_pylist() if row["metric"] == "recall")
    # Dagster draws numbers over time.
    tables = {"modes": cells(summary), "beside the controls": advantage_cells(advantages(rows))}
    if languages := by_language(rows):
        tables["recall by language"] = language_cells(languages)
    return {name: dg.MetadataValue.md(_table(table)) for name, table in tables.items()} | {
        f"recall/{row['mode']}": row["mean"] for row in recalls
    }


def _table(rows: Sequence[Sequence[str]]) -> str:
    return markdown_table(rows[0], rows[1:])


@downstream(
    kinds={"parquet"},
    description="Precision, recall and F1 of entities, types, relations and facts beside the gold rows of the setting "
    "`gold.folder`, with intervals, by recipe, model, source and type.",
    checks={
        "extraction_is_good": "F1 of no kind of rows is below `gold.least_f1`, nor by its whole 95% interval below "
        "that of the recipe before, and some gold passage is still a chunk."
    },
)
def extraction_evaluation(
    _context: dg.AssetExecutionContext, lightrag: dg.ResourceParam[LightRAG]
) -> dg.MaterializeResult:
    """Compare the rows of the published snapshot with the gold, and add the scores to those of earlier snapshots."""
    situation, stored = Situation.looking(lightrag.settings), lightrag.tables()
    snapshot, settings = situation.require_published(), lightrag.settings
    gold = read_gold(settings.gold.folder)
    before = stored.read(GOLD, ALL_SOURCES) if stored.current(GOLD, ALL_SOURCES) else None
    with stopwatch() as watch:
        found = find_passages(situation, gold, snapshot)
        judged = judge(gold, found.located, found.tables.values(), situation.decided.curation, settings.merging.types)
        scores = score(judged)
    rows = as_table(scores, snapshot.sequence, snapshot.snapshot_id)
    history = with_history(before, rows)
    inputs = gold_inputs(snapshot.snapshot_id, gold)
    stored.write(GOLD, ALL_SOURCES, history, inputs=inputs, recipe=lightrag.recipes.extraction_evaluation)
    low = [f"F1 of {one.kind} rows is {one.f1.mean:.3f}" for one in below(scores, settings.gold.least_f1)]
    overall = [one for one in scores if one.grouping == "all"]
    means = {(name, one.kind): getattr(one, name).mean for one in overall for name in MEASURES}
    numbers = {"/".join(of): mean for of, mean in means.items() if mean == mean}  # Dagster's pages take no NaN
    cells = [[one.kind, str(one.passages), *(f"{getattr(one, name).mean:.3f}" for name in MEASURES)] for one in overall]
    about = {"passages": found.located.num_rows, "gone": found.gone, "not_done": len(gold.open)}
    return dg.MaterializeResult(
        data_version=dg.DataVersion(table_version(rows)),
        metadata=table_metadata(rows, seconds=watch.seconds, **about)
        | numbers  # Dagster draws them over time
        | {"scores": dg.MetadataValue.md(markdown_table(["rows", "passages", *MEASURES], cells))},
        check_results=[warned([*found.unmeasured(), *low, *worse_than_before(history, snapshot.snapshot_id)], {})],
    )

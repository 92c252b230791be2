"""`retrieval_evaluation`: how well each mode finds what answers the filed questions, on the published snapshot."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

import dagster as dg
import pyarrow as pa

from assets.metadata import LLM_POOL, OWNERS, Metadata, account_of, stopwatch, table_metadata
from lightrag_dagster import KnowledgeBaseResource
from lightrag_dagster.build.versions import Versions
from lightrag_dagster.core.aio import run_sync
from lightrag_dagster.core.identity import table_version
from lightrag_dagster.core.tokens import load_tokenizer
from lightrag_dagster.evaluation.filed_questions import answer_inputs
from lightrag_dagster.evaluation.questions import GoldQuestion, read_gold
from lightrag_dagster.evaluation.report import cells, change_cells, image, markdown
from lightrag_dagster.evaluation.summary import Change, changes, summarise, with_history
from lightrag_dagster.settings import Settings
from lightrag_dagster.spending.account import Account
from lightrag_dagster.storage.tables import ALL_SOURCES
from resources import ChatModelResource, TablesResource

if TYPE_CHECKING:
    from lightrag_dagster import KnowledgeBase

QUESTIONS, MODES = "evaluated_questions", "retrieval_evaluation"


@dg.asset(
    deps=["knowledge_base"],
    group_name="downstream",
    pool=LLM_POOL,
    kinds={"parquet"},
    owners=OWNERS,
    description="Recall, precision, rank, context and time of every mode on the questions of the file that the setting "
    "`evaluation.questions` names, with intervals, one row a mode and metric; and quality of answers where a language "
    "model is configured.",
    check_specs=[
        dg.AssetCheckSpec(
            "no_mode_dropped",
            asset="retrieval_evaluation",
            description="No mode finds less than in the snapshot evaluated before: fails when the mean of recall or "
            "nDCG fell, over the same questions, by more than its 95% bootstrap interval.",
        )
    ],
)
def retrieval_evaluation(
    context: dg.AssetExecutionContext,
    settings: dg.ResourceParam[Settings],
    tables: TablesResource,
    knowledge_base: KnowledgeBaseResource,
    chat_model: ChatModelResource,
) -> dg.MaterializeResult:
    """Ask, measure, and keep it with what was measured before."""
    from lightrag_dagster.evaluation.evaluation import evaluate
    from lightrag_dagster.evaluation.retrieving import missing_gold

    stored, versions = tables.open(), Versions.of(settings)
    before = {name: stored.read(name, ALL_SOURCES) for name in (QUESTIONS, MODES) if stored.current(name, ALL_SOURCES)}
    account = account_of(context, settings)
    with stopwatch() as watch, knowledge_base.open(account) as opened:
        questions = read_gold(settings.evaluation.questions)
        judged = _judged(account, settings, versions, opened, chat_model, questions)
        count = load_tokenizer(settings.chunking.encoding).count
        rows = evaluate(opened, questions, settings, count, judged)
        summary = summarise(rows)
        history = with_history(before.get(QUESTIONS), rows)
        inputs = answer_inputs(opened.snapshot_id, questions)
        for name, table in ((QUESTIONS, history), (MODES, with_history(before.get(MODES), summary))):
            stored.write(name, ALL_SOURCES, table, inputs=inputs, fingerprint=versions.retrieval_evaluation)
        missing = missing_gold(opened, questions)
    k = settings.evaluation.k
    return dg.MaterializeResult(
        # What was measured, but for how long it took, which is never the same.
        data_version=dg.DataVersion(table_version(rows.drop_columns("milliseconds"))),
        metadata=table_metadata(summary, seconds=watch.seconds, questions=len(questions), missing_gold=missing)
        | _shown(summary, k),
        check_results=[_check(changes(history, inputs["knowledge_base"]), k)],
    )


def _check(changed: Sequence[Change], k: int) -> dg.AssetCheckResult:
    dropped = [one for one in changed if one.dropped]
    metadata: Metadata = {"dropped": [f"{one.mode} {one.metric}" for one in dropped]}
    if changed:
        metadata["changes"] = dg.MetadataValue.md(markdown(change_cells(changed, k)))
    return dg.AssetCheckResult(
        check_name="no_mode_dropped",
        passed=not dropped,
        # What is published is sound, and what fell may have been meant to, as by a deleted document.
        severity=dg.AssetCheckSeverity.WARN,
        metadata=metadata,
    )


def _judged(
    account: Account,
    settings: Settings,
    versions: Versions,
    knowledge: "KnowledgeBase",
    chat_model: ChatModelResource,
    questions: Sequence[GoldQuestion],
) -> pa.Table | None:
    """Return what a language model answers, and how good that is; None without one."""
    if settings.llm.provider == "offline" or not questions:
        return None
    from lightrag_dagster.evaluation.answering import judge_all
    from lightrag_dagster.evaluation.evaluation import prepare_answers

    prepared = prepare_answers(knowledge, questions, settings)

    async def run() -> pa.Table:
        async with chat_model.open("answer", account) as answering, chat_model.open("judge", account) as judging:
            limit = settings.llm.of("judge").max_concurrency
            return await judge_all(prepared, answering, judging, versions.prompts, limit)

    return run_sync(run())


def _shown(summary: pa.Table, k: int) -> Metadata:
    if not summary.num_rows:
        return {}
    recalls = (row for row in summary.to_pylist() if row["metric"] == "recall")
    return {
        "modes": dg.MetadataValue.md(markdown(cells(summary, k))),
        "chart": dg.MetadataValue.md(image(summary, "recall", k)),
        # Numbers, which Dagster draws over time.
        **{f"recall/{row['mode']}": row["mean"] for row in recalls},
    }

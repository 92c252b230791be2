"""`answers`: the questions of a file, asked of the published snapshot."""

import dagster as dg

from lightrag_dagster.assets.declared import LLM_POOL, downstream
from lightrag_dagster.assets.metadata import account_of, materialised, stopwatch, table_metadata
from lightrag_dagster.assets.progress_log import logged
from lightrag_dagster.evaluation.questions import answer_inputs, read_question_file
from lightrag_dagster.resources import LightRAG
from lightrag_dagster.storage.tables.source_tables import ALL_SOURCES


@downstream(
    pool=LLM_POOL,
    kinds={"parquet"},
    description="One row a question of the file that the setting `questions` names: answer, references, snapshot, "
    "or why there is no answer.",
)
def answers(context: dg.AssetExecutionContext, lightrag: dg.ResourceParam[LightRAG]) -> dg.MaterializeResult:
    """Ask the questions whose context changed."""
    from lightrag_dagster.evaluation.answers import answer_all
    from lightrag_dagster.query.knowledge_base import KnowledgeBase

    settings, stored = lightrag.settings, lightrag.tables()
    account = account_of(context, settings)
    with (
        stopwatch() as watch,
        logged(context, lightrag),
        KnowledgeBase.open(settings=settings, account=account) as opened,
    ):
        questions = read_question_file(settings.questions)
        known = stored.current("answers", ALL_SOURCES)
        previous = stored.read("answers", ALL_SOURCES) if known else None
        made = answer_all(opened, questions, previous)
        inputs = answer_inputs(opened.snapshot_id, questions)
        if made.asked_again:
            # Inputs that differ from those of the next run, so that it asks again.
            inputs["asked_again"] = str(made.asked_again)
        version = stored.write("answers", ALL_SOURCES, made.rows, inputs=inputs, recipe=lightrag.recipes.answers)
    metadata = table_metadata(made.rows, asked=made.asked, failed=made.failed, seconds=watch.seconds)
    return materialised(version.version, metadata)

"""`answers`: the questions of a YAML file, asked of the published snapshot."""

import dagster as dg
import pyarrow as pa

from assets.metadata import LLM_POOL, OWNERS, stopwatch, table_metadata
from lightrag_dagster import KnowledgeBaseResource
from lightrag_dagster.query.questions import answer_inputs, read_questions
from lightrag_dagster.schemas import ANSWERS
from lightrag_dagster.settings import Settings
from lightrag_dagster.stores.tables import ALL_SOURCES
from lightrag_dagster.versions import Versions
from resources import TablesResource


@dg.asset(
    deps=["knowledge_base"],
    group_name="downstream",
    pool=LLM_POOL,
    kinds={"parquet"},
    owners=OWNERS,
    description="One row a question of the file that the setting `questions` names: answer, references, snapshot.",
)
def answers(
    settings: dg.ResourceParam[Settings], tables: TablesResource, knowledge_base: KnowledgeBaseResource
) -> dg.MaterializeResult:
    """Ask every question."""
    with stopwatch() as watch, knowledge_base.open() as opened:
        questions = read_questions(settings.questions)
        replies = [opened.query(one.question, mode=one.mode) for one in questions]
        rows = pa.Table.from_pylist(
            [
                {
                    "question": reply.retrieval.query,
                    "mode": reply.retrieval.mode,
                    "answer": reply.text,
                    "references": [reference.file for reference in reply.references],
                    "snapshot_id": reply.snapshot_id,
                }
                for reply in replies
            ],
            ANSWERS,
        )
        version = tables.open().write(
            "answers",
            ALL_SOURCES,
            rows,
            inputs=answer_inputs(opened.snapshot_id, questions),
            fingerprint=Versions.of(settings).answers,
        )
    return dg.MaterializeResult(
        data_version=dg.DataVersion(version.version), metadata=table_metadata(rows, seconds=watch.seconds)
    )

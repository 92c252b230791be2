"""Trials of another recipe on a sample of the documents, before a backfill.

The sample is built twice, in temporary homes: from the current tables, and by the settings on trial. Models are asked
through the stores of the real home, on its budget: earlier answers are not asked for again, and the backfill reuses
the new ones.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import pyarrow as pa
import pyarrow.compute as pc

from lightrag_dagster.core.protocols import Usage
from lightrag_dagster.core.temporary import temporary_folder
from lightrag_dagster.evaluation.metrics import measure
from lightrag_dagster.evaluation.questions import FiledQuestion
from lightrag_dagster.evaluation.retrieving import gold_of, retrieve_all
from lightrag_dagster.evaluation.sample import Sample, Tables, take_sample
from lightrag_dagster.evaluation.summary import K
from lightrag_dagster.evaluation.temporary import TemporaryHome
from lightrag_dagster.fact_schemas import kind_of, of_pass
from lightrag_dagster.models.providers import settings_of
from lightrag_dagster.pipeline.extractions import cost_of
from lightrag_dagster.pipeline.situation import Situation
from lightrag_dagster.query.knowledge_base import KnowledgeBase
from lightrag_dagster.query.mode import MODES
from lightrag_dagster.settings import Settings

MODES_TRIED = tuple(name for name, mode in MODES.items() if mode.retrieves and not mode.keywords)
"""The modes that are measured: those for which no language model is asked."""


_ANSWER = ["chunk_id", "recipe"]
"""Columns that name the answers about a chunk by one recipe."""


class ReadByPass(NamedTuple):
    """The answers of a pass about a sample: facts, rejected rows by the most frequent reason in a chunk, and failures.

    `answers_cost_usd` is the cost of all its answers when they were bought.
    """

    facts: int = 0
    rejected: Mapping[str, int] = {}
    open_dates: int = 0
    failed_chunks: int = 0
    answers_cost_usd: float = 0.0


class Built(NamedTuple):
    """A sample as one recipe made it.

    `entities` are name → type. `usage` counts the calls for it now, `answers_cost_usd` is the cost of all answers about
    its chunks when they were bought, those of `passes` included. `scores` are mode → mean recall@5 and mean reciprocal
    rank over the questions.
    """

    chunks: int
    failed_chunks: int
    entities: dict[str, str]
    relations: frozenset[str]
    usage: Usage
    answers_cost_usd: float
    scores: dict[str, tuple[float, float]]
    passes: dict[str, ReadByPass]


@dataclass(frozen=True)
class Trial:
    """A sample as it is and as it would be, and the questions about it.

    `all_chunks` is the present number of chunks of the whole home. `backfill_cost_usd` is the cost of asking about all
    of them as about those of the sample, without the answers that the home's rows have. US dollars.
    """

    documents: int
    all_chunks: int
    questions: int
    before: Built
    after: Built
    backfill_cost_usd: float


def try_recipe(
    settings: Settings, tried: Settings, documents: int, questions: Sequence[FiledQuestion], run: str
) -> Trial:
    """Build a sample of documents by other settings, and compare it with the home's own rows.

    The documents of the questions are taken first; only questions whose documents are all in the sample are asked.

    Args:
        settings: The settings of the home.
        tried: The same with other prompts, models, chunking or extraction; its limits are those of the trial.
        documents: The size of the sample.
        questions: Questions that name the documents that should be found.
        run: The run whose calls they are.

    Raises:
        BudgetExceededError: a limit of spending is reached; the answers so far are stored.
        ProviderAccessError: no request can succeed until a person acts.
        StoreError: nothing was ingested yet, or a table is damaged.
    """
    situation = Situation.looking(settings)
    sample = take_sample(situation, documents, [path for one in questions for path in one.documents])
    asked = [one for one in questions if one.documents and not one.chunks and sample.documents >= set(one.documents)]
    newest = situation.newest
    with temporary_folder("lightrag-try-") as folder:
        as_it_is = settings.changed(llm=tried.llm.model_dump(include={"max_cost_usd"}))
        if newest:
            stored = newest.inputs
            embedding = settings_of(stored.embedder, settings.embedding)
            as_it_is = as_it_is.changed(embedding=embedding, merging=stored.merging, extraction={"terms": stored.terms})
        as_it_was = TemporaryHome(as_it_is, folder / "before", run)
        for source, rows in sample.tables.items():
            as_it_was.accept(source, rows)
        before = _built(as_it_was, sample, asked, Usage())
        as_tried = TemporaryHome(tried, folder / "after", run)
        reports = [as_tried.ingest_all(source, rows["raw_documents"]) for source, rows in sample.tables.items()]
        after = _built(as_tried, sample, asked, sum((one.usage for several in reports for one in several), Usage()))
        pairs = [(_answers(as_tried.rows(source)), _answers(rows)) for source, rows in sample.tables.items()]
    new = sum(_cost_usd(tried.join(stored, _ANSWER, join_type="left anti")) for tried, stored in pairs)
    cost_usd = new * sample.all_chunks / max(1, before.chunks)
    return Trial(sample.count("raw_documents"), sample.all_chunks, len(asked), before, after, cost_usd)


def _answers(tables: Tables) -> pa.Table:
    """Return the answers about the chunks of a source, those of all passes too, each with its cost."""
    readings = (rows for name, rows in tables.items() if kind_of(name) in ("extractions", "readings"))
    return pa.concat_tables([rows.select([*_ANSWER, "cost_usd"]) for rows in readings])


def _cost_usd(answers: pa.Table) -> float:
    return pc.sum(answers["cost_usd"]).as_py() or 0.0


def _built(made: TemporaryHome, sample: Sample, questions: Sequence[FiledQuestion], usage: Usage) -> Built:
    """Publish what was ingested, and ask the questions."""
    usage, passes = usage + made.publish(), _passes(made, sample)
    cost_usd = sum(_cost_usd(_answers(made.rows(source))) for source in sample.tables)
    with made.open() as knowledge:
        entities, relations = (knowledge.snapshot.graph.entities.rows, knowledge.snapshot.graph.relations.rows)
        ends = zip(relations["src"].to_pylist(), relations["tgt"].to_pylist(), strict=True)
        return Built(
            sum(made.tables.require("chunks", source).rows for source in sample.tables),
            sum(made.tables.require("extractions", source).count("status", "failed") for source in sample.tables),
            dict(zip(entities["name"].to_pylist(), entities["type"].to_pylist(), strict=True)),
            frozenset(f"{one} — {other}" for one, other in ends),
            usage,
            cost_usd,
            _scores(knowledge, questions),
            passes,
        )


def _passes(made: TemporaryHome, sample: Sample) -> dict[str, ReadByPass]:
    """Return what each pass read, over all sources."""
    found = dict[str, ReadByPass]()
    for source in sample.tables:
        for name in made.passes_read(source):
            before = found.get(name, ReadByPass())
            readings, read = (made.tables.require(of_pass(kind, name), source) for kind in ("readings", "read_facts"))
            rows = made.tables.read(read.table, source, read.version, ["rejected_rows", "reason"])
            sums = rows.filter(pc.field("rejected_rows") > 0).group_by("reason").aggregate([("rejected_rows", "sum")])
            rejected = Counter({one["reason"]: one["rejected_rows_sum"] for one in sums.to_pylist()})
            found[name] = ReadByPass(
                before.facts + read.sums["facts"],
                Counter(before.rejected) + rejected,
                before.open_dates + read.sums["open_dates"],
                before.failed_chunks + readings.count("status", "failed"),
                before.answers_cost_usd + cost_of(made.tables, readings),
            )
    return found


def _scores(knowledge: KnowledgeBase, questions: Sequence[FiledQuestion]) -> dict[str, tuple[float, float]]:
    """Return mode → mean recall@5 and mean reciprocal rank."""
    if not questions:
        return {}
    asked, hits = retrieve_all(knowledge, questions, MODES_TRIED)
    measured = measure(asked.select(["mode", "question"]), hits, gold_of(questions), K)
    means = measured.group_by("mode").aggregate([("recall", "mean"), ("mrr", "mean")]).sort_by("mode")
    return {one["mode"]: (one["recall_mean"], one["mrr_mean"]) for one in means.to_pylist()}

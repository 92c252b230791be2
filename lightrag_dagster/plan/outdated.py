"""Outdated summaries and vectors of a large snapshot: counted in SQL, and gone through for a sample."""

from lightrag_dagster.core.aio import run_sync
from lightrag_dagster.core.text.tokens import load_tokenizer
from lightrag_dagster.indexes.embedding import sample_of_texts
from lightrag_dagster.indexes.views import open_tables
from lightrag_dagster.pipeline.cross_shard import sql
from lightrag_dagster.pipeline.merge import next_publication
from lightrag_dagster.pipeline.recipes import Recipes
from lightrag_dagster.plan.dry_run import PLACEHOLDER, DryRunModel
from lightrag_dagster.plan.estimates import CallRatios, Estimate
from lightrag_dagster.plan.questions import Questions, scaled
from lightrag_dagster.plan.steps import PlannedStep, priced, summaries
from lightrag_dagster.spending.prices import price_of
from lightrag_dagster.stages.merging.summaries import Group, summarise
from lightrag_dagster.storage.database.responses import ResponseStore
from lightrag_dagster.storage.database.vectors import VectorStore
from lightrag_dagster.storage.home import Home
from lightrag_dagster.storage.manifests import VECTOR_TABLES
from lightrag_dagster.storage.snapshots.generations import Generation
from lightrag_dagster.storage.snapshots.snapshots import latest_snapshot

_TABLES = ("entities", "relations", "entity_evidence", "relation_evidence")


def outdated_steps(today: Recipes, trial: Recipes, ratios: CallRatios, sample: int) -> dict[str, PlannedStep] | None:
    """Estimate what summaries and vectors of the newest snapshot cost that a backfill makes again.

    Args:
        today: Recipes of the home.
        trial: Recipes of its overlay, with today's accepted versions.
        ratios: Ratios that tell how long a summary is.
        sample: Groups of descriptions, and texts of each table, that are gone through.

    Returns:
        None if a merge has to be tried instead: the snapshot has no more chunks than `sample`, it lacks accepted rows,
        or the store answers the whole sample, and only a merge can show that nothing is left to pay.

    Raises:
        EmbeddingError, SourceError, StoreError: see `next_inputs`.
    """
    home, newest = Home.of(today.settings), latest_snapshot(Home.of(today.settings))
    inputs = next_publication(trial, backfill=True)
    if newest is None or inputs is None or inputs.sources != newest.inputs.sources:
        return None
    generation = Generation(home, newest.snapshot_id)
    if home.files.count_rows(generation.table_files("chunks")) <= sample:
        return None
    asked, again, outdated = _summaries(generation, trial, home, sample)
    moved = newest.inputs.embedder.identity != today.embedder
    summary = ratios.summary_length.times(today.settings.merging.summary_max_tokens)
    tokens = again.times(summary)
    if moved:
        tokens = tokens.plus(_other_texts(generation, today, sample, outdated))
    if not (asked.first.expected or tokens.expected):
        return None
    embedding = priced(price_of(today.settings.embedding), None, tokens)
    return {"summaries": summaries(asked, ratios, today.settings), "embeddings": embedding}


def _summaries(generation: Generation, trial: Recipes, home: Home, sample: int) -> tuple[Questions, Estimate, set[str]]:
    """Return the questions about the descriptions of outdated rows, how many get a new summary, and the ids of all."""
    merging, counts = trial.settings.merging, load_tokenizer(trial.settings.chunking.encoding).counts
    variables = {
        "descriptions": merging.summary_min_descriptions,
        "tokens": merging.summary_min_tokens,
        "recipe": trial.summaries,
        "sample": sample,
    }
    with open_tables(generation, _TABLES) as connection:
        for name, value in variables.items():
            connection.execute(f"SET VARIABLE {name} = $1", [value])
        connection.execute(sql("to_summarise", __package__))
        outdated = {one for (one,) in connection.execute("SELECT id FROM long_row").fetchall()}
        groups = [Group(*row) for row in connection.execute("FROM long_group").fetchall()]
    with ResponseStore(home.responses) as responses:
        model = DryRunModel(trial, "summarise", responses, PLACEHOLDER + " word" * merging.summary_max_tokens)
        concurrency = trial.settings.llm.of("summarise").max_concurrency
        made = run_sync(summarise(groups, model, trial.prompts, merging, counts, concurrency))
    again = [1] * sum(text is not None and text.startswith(PLACEHOLDER) for text in made.values())
    asked = Questions.sampled(model.first, model.later, sample, len(outdated))
    return asked, scaled(again, sample, len(outdated)), outdated


def _other_texts(generation: Generation, today: Recipes, sample: int, outdated: set[str]) -> Estimate:
    """Return the tokens of the texts that today's embedder lacks, without the descriptions of outdated rows."""
    settings, found = today.settings.embedding, [Estimate.exactly(0)]
    counts = load_tokenizer(today.settings.chunking.encoding).counts
    with VectorStore(Home.of(today.settings).vectors) as store:
        for table in VECTOR_TABLES:
            rows, texts = sample_of_texts(generation, table, today.embedder, sample)
            known = store.known(texts["embedding_fingerprint"].to_pylist())
            missing = [
                one["text"]
                for one in texts.to_pylist()
                if one["embedding_fingerprint"] not in known and one["id"] not in outdated
            ]
            found.append(scaled([min(one, settings.max_input_tokens) for one in counts(missing)], sample, rows))
    return Estimate.total(found)

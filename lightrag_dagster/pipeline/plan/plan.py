"""The next run's or backfill's work and cost, found without asking a model and without changing the home.

The run itself is tried on an overlay of the home, with models that have stored answers only: questions that are not
stored are counted with the model's tokenizer. What follows from their answers (further rounds, summaries, vectors) is
estimated.
"""

from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from lightrag_dagster.core.roles import Role
from lightrag_dagster.core.text.tokens import load_tokenizer
from lightrag_dagster.errors import SettingsError, SourceError
from lightrag_dagster.indexes.embedding import texts_to_embed
from lightrag_dagster.indexes.embedding_batches import batches
from lightrag_dagster.models.providers import chat_identity
from lightrag_dagster.pipeline.chunks import chunk_source
from lightrag_dagster.pipeline.documents import read_source
from lightrag_dagster.pipeline.extractions import extract_source
from lightrag_dagster.pipeline.losses import removed_sources
from lightrag_dagster.pipeline.mentions import parse_and_accept
from lightrag_dagster.pipeline.merge import merge_sources, next_publication
from lightrag_dagster.pipeline.pending import accept_pending, why_ingest
from lightrag_dagster.pipeline.plan.dry_run import NOT_STORED, PLACEHOLDER, DryRunModel
from lightrag_dagster.pipeline.plan.estimates import CallRatios, Estimate, default_ratios, own_ratios
from lightrag_dagster.pipeline.plan.overlay import overlay
from lightrag_dagster.pipeline.recipes import Recipes
from lightrag_dagster.schemas import CHUNKS, EXTRACTIONS
from lightrag_dagster.settings import Settings
from lightrag_dagster.spending.ledger import Ledger
from lightrag_dagster.spending.prices import BATCH_SHARE, Price, price_of
from lightrag_dagster.stages.documents.sources import Source, chosen_sources, misnamed_sources
from lightrag_dagster.storage.database.responses import ResponseStore
from lightrag_dagster.storage.database.vectors import VectorStore
from lightrag_dagster.storage.home import Home
from lightrag_dagster.storage.snapshots.generations import Generation
from lightrag_dagster.storage.snapshots.snapshots import latest_snapshot
from lightrag_dagster.storage.tables.source_tables import SourceTables, TableVersion

_UNDESCRIBED = "(a description that is not made yet)" + " word" * 100
# Tokens of a description, of which at most 150 words are asked. Not measured; that of a page of text is longer.
_DESCRIPTION = Estimate(120, 20, 400)
_CHUNK = ["chunk_id", "content", "heading", "context"]
_CALLS = ["chunk_id", "status", "rounds", "input_tokens", "output_tokens"]


@dataclass(frozen=True)
class DocumentChanges:
    """How a source's documents differ from those that were ingested last."""

    added: int = 0
    changed: int = 0
    removed: int = 0
    unchanged: int = 0


@dataclass
class SourcePlan:
    """What a run would do for one source.

    `question_tokens` are of the first questions about new chunks, counted exactly. `problem` says why the source would
    fail.
    """

    source: str
    documents: DocumentChanges = field(default_factory=DocumentChanges)
    chunks_new: int = 0
    chunks_stored: int = 0
    chunks_failed: int = 0
    question_tokens: int = 0
    problem: str | None = None


@dataclass
class Step:
    """Calls, tokens and cost of one step, in real time and by the provider's Batch API. US dollars.

    Calls and tokens are None where only the cost can be estimated.
    """

    cost: Estimate
    cost_by_batch: Estimate
    calls: Estimate | None = None
    input_tokens: Estimate | None = None
    output_tokens: Estimate | None = None


@dataclass
class Plan:
    """What a run would do. `history` says whether the estimates are this home's own ratios."""

    sources: list[SourcePlan]
    history: bool
    known_price: bool
    steps: dict[str, Step]

    @property
    def total(self) -> Estimate:
        """Cost of the run in real time."""
        return _sum([step.cost for step in self.steps.values()])

    @property
    def total_by_batch(self) -> Estimate:
        """Cost of the run with extraction by the provider's Batch API."""
        return _sum([step.cost_by_batch for step in self.steps.values()])

    def to_dict(self) -> dict[str, Any]:
        """Return dictionaries and numbers that `json.dumps` takes."""

        def plain(value: Any) -> Any:
            if isinstance(value, Estimate):
                return value._asdict()
            return {name: plain(one) for name, one in value.items()} if isinstance(value, dict) else value

        return {name: plain(one) for name, one in asdict(self).items()} | {
            "total": plain(self.total),
            "total_by_batch": plain(self.total_by_batch),
        }


def make_plan(
    settings: Settings, names: Sequence[str] | None = (), *, backfill: bool = False, knowledge_base: bool = False
) -> Plan:
    """Return what a run, or a backfill, of some sources or of all would do and cost; no model is asked.

    Args:
        settings: Settings of the run.
        names: Sources; all when empty, none when None.
        backfill: Make outdated rows of these sources again.
        knowledge_base: Make outdated summaries and vectors of the knowledge base again.

    Raises:
        EmbeddingError: the embedder of the newest snapshot cannot be opened any more.
        SourceError: there is no such source.
        StoreError: the home is damaged.
    """
    home, counts = Home.of(settings), load_tokenizer(settings.chunking.encoding).counts
    sources = chosen_sources(settings, names) if names is not None else []
    with ResponseStore(home.responses) as store, overlay(home) as copy:
        recipes = Recipes.of(settings.model_copy(update={"home": copy.root, "database": None, "engine": "local"}))
        extracting = DryRunModel(chat_identity(settings.llm.of("extract")), store, counts)
        describing = DryRunModel(chat_identity(settings.llm.of("describe")), store, counts, _UNDESCRIBED)
        plans = [_plan_source(source, recipes, (extracting, describing), backfill=backfill) for source in sources]
        if names is not None and not names:
            plans += [SourcePlan(name, problem=why) for name, why in misnamed_sources(settings).items()]
        plans += _removed(recipes)
        accept_pending(recipes.settings)
        unknown = bool(extracting.first or extracting.later)
        ratios = _ratios(home, sources, recipes, extracting)
        extraction = _extraction(extracting, ratios, settings)
        after = {} if unknown and not knowledge_base else _merge(recipes, store, home, ratios, backfill=knowledge_base)
        if unknown and not after:
            after = _after_extraction(extraction, ratios, settings)
    prices = [_price(settings, "extract"), _price(settings, "summarise"), _embedding_price(settings)]
    steps = {"extraction": extraction, **after}
    if describing.first:
        prices.append(_price(settings, "describe"))
        steps = {"descriptions": _descriptions(describing, prices[-1]), **steps}
    return Plan(plans, ratios.known, all(price.known for price in prices), steps)


def compare(previous: pa.Table | None, current: pa.Table) -> DocumentChanges:
    """Compare two versions of RAW_DOCUMENTS by path and content."""
    before = (previous if previous is not None else current.slice(0, 0)).select(["path", "content_hash"])
    after = current.select(["path", "content_hash"]).rename_columns(["path", "now"])
    both = before.join(after, "path", join_type="full outer")
    return DocumentChanges(
        added=both["content_hash"].null_count,
        changed=pc.sum(pc.not_equal(both["content_hash"], both["now"])).as_py() or 0,
        removed=both["now"].null_count,
        unchanged=pc.sum(pc.equal(both["content_hash"], both["now"])).as_py() or 0,
    )


def _plan_source(
    source: Source, recipes: Recipes, models: tuple[DryRunModel, DryRunModel], *, backfill: bool
) -> SourcePlan:
    """Ingest one source of the overlay, and accept it if few enough chunks are unknown.

    The first model extracts, the second describes images.
    """
    model, describing = models
    name, plan = source.name, SourcePlan(source.name)
    tables = SourceTables(Home.of(recipes.settings), candidate=backfill)
    known, asked = tables.current("raw_documents", name), len(model.first)
    try:
        plan.documents = DocumentChanges(unchanged=known.rows if known else 0)
        if why_ingest(source, tables, recipes) is not None:
            before = _documents(tables, known) if known else None
            read = read_source(source, tables, recipes, describing.open)
            plan.documents = compare(before, _documents(tables, read.version))
            chunk_source(name, tables, recipes)
            extract_source(name, tables, recipes, model.open)
            parse_and_accept(name, tables, recipes)
    except (SettingsError, SourceError) as error:
        plan.problem = str(error)
    if (version := tables.current("extractions", name)) and not plan.problem:
        rows = tables.read("extractions", name, version.version, ["status", "error"])
        failed = rows.filter((pc.field("status") == "failed") & (pc.field("error") != NOT_STORED))
        plan.chunks_new, plan.chunks_failed = len(model.first) - asked, failed.num_rows
        # Another source may have been asked about the same chunk before.
        plan.chunks_stored = rows.num_rows - plan.chunks_failed - plan.chunks_new
        plan.question_tokens = sum(model.first[asked:])
    return plan


def _removed(recipes: Recipes) -> list[SourcePlan]:
    """Return the plans of what is published and no longer a source."""
    home = Home.of(recipes.settings)
    gone = removed_sources(home, latest_snapshot(home), next_publication(recipes))
    return [SourcePlan(source, DocumentChanges(removed=rows)) for source, rows in gone.items()]


def _documents(tables: SourceTables, version: TableVersion) -> pa.Table:
    return tables.read(version.table, version.source, version.version, ["path", "content_hash"])


def _ratios(home: Home, sources: Sequence[Source], recipes: Recipes, asked: DryRunModel) -> CallRatios:
    tables, chunks = SourceTables(home), [CHUNKS.empty_table().select(_CHUNK)]
    rows = [EXTRACTIONS.empty_table().select(_CALLS)]
    for source in sources if asked.first else ():
        versions = tables.current_versions(source.name)
        if {"chunks", "extractions"} <= versions.keys():
            for table, columns, found in (("chunks", _CHUNK, chunks), ("extractions", _CALLS, rows)):
                found.append(tables.read(table, source.name, versions[table].version, columns))
    bought, held = Ledger(home.ledger).by_purpose(), pa.concat_tables(chunks, promote_options="default")
    own = own_ratios(held, pa.concat_tables(rows, promote_options="default"), bought, recipes, len(asked.first))
    return own or default_ratios(recipes, len(asked.first), sum(asked.first))


def _descriptions(asked: DryRunModel, price: Price) -> Step:
    """Return the calls, counted, and their tokens: images at the most that they may be billed as."""
    calls, inputs = Estimate.exactly(len(asked.first)), Estimate.exactly(sum(asked.first))
    outputs = calls.times(_DESCRIPTION)
    cost = _cost(price, inputs, outputs)
    return Step(cost, cost, calls, inputs, outputs)


def _extraction(asked: DryRunModel, ratios: CallRatios, settings: Settings) -> Step:
    first, later = sum(asked.first), sum(asked.later)
    calls = ratios.calls.times(len(asked.first)).plus(Estimate.exactly(len(asked.later)))
    inputs = ratios.input.times(first).plus(Estimate.exactly(later))
    outputs = ratios.output.times(first + later)
    cost = _cost(_price(settings, "extract"), inputs, outputs)
    return Step(cost, cost.times(BATCH_SHARE), calls, inputs, outputs)


def _after_extraction(extraction: Step, ratios: CallRatios, settings: Settings) -> dict[str, Step]:
    """Estimate summaries and vectors that follow from answers that are not known."""
    assert extraction.output_tokens is not None
    summaries, tokens = extraction.cost.times(ratios.summaries), extraction.output_tokens.times(ratios.embedded)
    embeddings = _cost(_embedding_price(settings), tokens, Estimate.exactly(0))
    return {
        "summaries": Step(summaries, summaries),
        "embeddings": Step(embeddings, embeddings, None, tokens),
    }


def _merge(
    recipes: Recipes, store: ResponseStore, home: Home, ratios: CallRatios, *, backfill: bool
) -> dict[str, Step]:
    """Merge in the overlay, and count the summaries and vectors that are not stored."""
    if next_publication(recipes, backfill=backfill) is None:
        return {}
    settings, counts = recipes.settings, load_tokenizer(recipes.settings.chunking.encoding).counts
    limit = settings.merging.summary_max_tokens
    placeholder = PLACEHOLDER + " word" * limit
    model = DryRunModel(chat_identity(settings.llm.of("summarise")), store, counts, placeholder)
    generation = merge_sources(recipes, model.open, backfill=backfill).generation
    first, later = len(model.first), len(model.later)
    calls = Estimate(first + later, first, first + later)
    # How long the summaries are of which others are made is not known.
    inputs = Estimate.exactly(sum(model.first)).plus(ratios.summary_length.times(sum(model.later)))
    outputs = calls.times(ratios.summary_length.times(limit))
    cost = _cost(_price(settings, "summarise"), inputs, outputs)
    with VectorStore(home.vectors) as vectors:
        newest = latest_snapshot(home)
        published = Generation(home, newest.snapshot_id) if newest else None
        texts = texts_to_embed(generation, published, vectors)
    made = [text for one in texts for text in one if PLACEHOLDER not in text]
    names = [text.split(PLACEHOLDER)[0] for one in texts for text in one if PLACEHOLDER in text]
    most = settings.embedding.max_input_tokens
    known = Estimate.exactly(sum(min(tokens, most) for tokens in counts([*made, *names])))
    tokens = known.plus(ratios.summary_length.times(limit * len(names)))
    requests = Estimate.exactly(sum(1 for one in texts for _ in batches(one, settings.embedding)))
    embeddings = _cost(_embedding_price(settings), tokens, Estimate.exactly(0))
    return {
        "summaries": Step(cost, cost, calls, inputs, outputs),
        "embeddings": Step(embeddings, embeddings, requests, tokens),
    }


def _cost(price: Price, inputs: Estimate, outputs: Estimate) -> Estimate:
    return Estimate(*(price.of(taken, given) for taken, given in zip(inputs, outputs, strict=True)))


def _price(settings: Settings, role: Role) -> Price:
    llm = settings.llm.of(role)
    return price_of(llm.provider, llm.model, llm.prices)


def _embedding_price(settings: Settings) -> Price:
    return price_of(settings.embedding.provider, settings.embedding.model, settings.embedding.prices)


def _sum(values: Sequence[Estimate]) -> Estimate:
    total = Estimate.exactly(0)
    for value in values:
        total = total.plus(value)
    return total

"""The next run's or backfill's work and cost, found without asking a model and without changing the home.

The run itself is tried on an overlay of the home, with models that have stored answers only: questions that are not
stored are counted with the model's tokenizer. Everything that follows from their answers (further rounds,
summaries, vectors) is estimated.
"""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

import pyarrow as pa
import pyarrow.compute as pc

from lightrag_dagster.core.roles import Role
from lightrag_dagster.errors import SettingsError, SourceError
from lightrag_dagster.pipeline.chunks import chunk_source
from lightrag_dagster.pipeline.documents import read_source
from lightrag_dagster.pipeline.extractions import extract_source
from lightrag_dagster.pipeline.gone import chosen_or_gone, held_sources, removed_sources
from lightrag_dagster.pipeline.listings import PartitionChanges, partition_changes, watermark_of
from lightrag_dagster.pipeline.mentions import parse_and_accept
from lightrag_dagster.pipeline.merge import next_publication
from lightrag_dagster.pipeline.pending import accept_pending, why_ingest
from lightrag_dagster.pipeline.recipes import Recipes
from lightrag_dagster.plan import steps
from lightrag_dagster.plan.dry_run import NOT_STORED, DryRunModel
from lightrag_dagster.plan.estimates import CallRatios, Estimate, default_ratios, own_ratios
from lightrag_dagster.plan.outdated import outdated_steps
from lightrag_dagster.plan.overlay import overlay
from lightrag_dagster.plan.questions import SAMPLE, Questions
from lightrag_dagster.plan.sampling import sampled_questions
from lightrag_dagster.plan.steps import PlannedStep
from lightrag_dagster.schemas import SOURCE_TABLES
from lightrag_dagster.settings import Settings
from lightrag_dagster.spending.ledger import Ledger
from lightrag_dagster.spending.prices import price_of
from lightrag_dagster.stages.documents.connectors.origin import Incremental
from lightrag_dagster.stages.documents.sources import Source, find_sources, misnamed_sources
from lightrag_dagster.storage.database.responses import ResponseStore
from lightrag_dagster.storage.duckdb import in_memory, view_files
from lightrag_dagster.storage.home import Home
from lightrag_dagster.storage.snapshots.snapshots import latest_snapshot
from lightrag_dagster.storage.tables.source_tables import SourceTables
from lightrag_dagster.storage.versions import TableVersion

_UNDESCRIBED = "(a description that is not made yet)" + " word" * 100


@dataclass(frozen=True)
class DocumentChanges:
    """Differences of a source's documents from those that were ingested last."""

    added: int = 0
    changed: int = 0
    removed: int = 0
    unchanged: int = 0


@dataclass
class SourcePlan:
    """The work of a run on one source.

    `question_tokens` are of the first questions about new chunks. After a look at a random sample of `looked_at`
    chunks, both are about right. `partitions` are those of an upstream asset, by what became of them since they were
    read; `watermark` is the column from whose highest value on rows are read. `problem` says why the source would fail.
    """

    source: str
    documents: DocumentChanges = field(default_factory=DocumentChanges)
    chunks_new: int = 0
    chunks_stored: int = 0
    chunks_failed: int = 0
    question_tokens: int = 0
    looked_at: int | None = None
    partitions: PartitionChanges | None = None
    watermark: str | None = None
    problem: str | None = None


@dataclass
class Plan:
    """The work and cost of a run.

    `history` is True if the estimates are by this home's own ratios, `sampled` if they are from a sample of its rows.
    """

    sources: list[SourcePlan]
    history: bool
    known_price: bool
    steps: dict[str, PlannedStep]
    sampled: bool = False

    @property
    def total(self) -> Estimate:
        """Cost of the run in real time."""
        return Estimate.total(step.cost for step in self.steps.values())

    @property
    def total_by_batch(self) -> Estimate:
        """Cost of the run with extraction by the provider's Batch API."""
        return Estimate.total(step.cost_by_batch for step in self.steps.values())

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
    settings: Settings,
    names: Sequence[str] | None = (),
    *,
    backfill: bool = False,
    knowledge_base: bool = False,
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
    today = Recipes.of(settings)
    sources, gone = chosen_or_gone(settings, names) if names is not None else ([], [])
    with ResponseStore(Home.of(settings).responses) as store, overlay(today) as trial:
        extracting = DryRunModel(trial, "extract", store)
        describing = DryRunModel(trial, "describe", store, _UNDESCRIBED)
        planning = _Planning(trial, extracting, describing, backfill, defaultdict(list))
        planned = [_plan_source(source, planning) for source in sources]
        plans = [plan for plan, _ in planned]
        if names is not None:
            plans += [plan for plan in _unusable(settings) if not names or plan.source in gone]
        plans += _removed(trial)
        accept_pending(trial.settings)
        asked = Questions.total(questions for _, questions in planned)
        unknown = bool(asked.first.expected or asked.later.expected)
        ratios = _ratios(today, sources, asked)
        extraction = steps.extraction(asked, ratios, settings)
        estimated = outdated_steps(today, trial, ratios, SAMPLE) if knowledge_base else None
        if estimated is not None:
            after = estimated
        elif unknown and not knowledge_base:
            after = {}
        else:
            after = steps.merge(today, trial, ratios, backfill=knowledge_base)
    if unknown and not after:
        after = steps.after_extraction(extraction, ratios, settings)
    found = {"extraction": extraction, **after}
    if describing.first:
        found = {"descriptions": steps.descriptions(describing, settings), **found}
    sampled = estimated is not None or any(plan.looked_at for plan in plans)
    return Plan(plans, ratios.known, _knows_prices(settings, describes=bool(describing.first)), found, sampled)


def _knows_prices(settings: Settings, *, describes: bool) -> bool:
    """Say whether the prices of the embedder and of all models that a run asks are known."""
    roles: list[Role] = ["extract", "summarise", "describe"] if describes else ["extract", "summarise"]
    prices = [price_of(settings.embedding), *(price_of(settings.llm.of(role)) for role in roles)]
    return all(price.known for price in prices)


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


class _Planning(NamedTuple):
    """The overlay in which sources are planned, models that extract and describe images there, and how to plan.

    `asked` has for each recipe of extractions the files of the chunks of the sources of which a sample was asked about.
    The models remember the other questions.
    """

    trial: Recipes
    extracting: DryRunModel
    describing: DryRunModel
    backfill: bool
    asked: defaultdict[str, list[Path]]


def _plan_source(source: Source, planning: _Planning) -> tuple[SourcePlan, Questions]:
    """Ingest one source of the overlay, and accept it if few enough chunks are unknown.

    A large source is asked about a sample of its chunks instead, and its accepted tables stay.
    """
    recipes, model, describing, backfill, asked_elsewhere = planning
    name, plan = source.name, SourcePlan(source.name)
    tables = SourceTables(Home.of(recipes.settings), candidate=backfill)
    known, first, later = tables.current("raw_documents", name), len(model.first), len(model.later)
    sampled = None
    try:
        plan.documents = DocumentChanges(unchanged=known.rows if known else 0)
        plan.partitions, plan.watermark = partition_changes(source, tables), watermark_of(source)
        if why := why_ingest(source, tables, recipes):
            outdated = why.partition(",")[0]
            if outdated == "raw_documents":
                before = _documents(tables, known) if known else None
                read = read_source(source, _read_into(source, tables, known, recipes), recipes, describing.open)
                plan.documents = compare(before, _documents(tables, read.version))
            if outdated in ("raw_documents", "chunks"):
                chunk_source(name, tables, recipes)
            elsewhere = asked_elsewhere[recipes.of_source(name).extractions]
            sampled = sampled_questions(name, tables, recipes, model, SAMPLE, elsewhere)
            if sampled is None:
                extract_source(name, tables, recipes, model.open)
                parse_and_accept(name, tables, recipes)
            else:
                elsewhere += tables.open("chunks", name, tables.require("chunks", name).version)
    except (SettingsError, SourceError) as error:
        plan.problem = str(error)
    if sampled:
        asked, plan.looked_at = sampled.questions, sampled.looked_at
        plan.chunks_new, plan.question_tokens = round(asked.first.expected), round(asked.first_tokens.expected)
        plan.chunks_failed, plan.chunks_stored = sampled.failed, sampled.chunks - sampled.failed - plan.chunks_new
        return plan, asked
    if (version := tables.current("extractions", name)) and not plan.problem:
        rows = tables.read("extractions", name, version.version, ["status", "error"])
        failed = rows.filter((pc.field("status") == "failed") & (pc.field("error") != NOT_STORED))
        plan.chunks_new, plan.chunks_failed = len(model.first) - first, failed.num_rows
        # Another source may have been asked about the same chunk before.
        plan.chunks_stored = rows.num_rows - plan.chunks_failed - plan.chunks_new
        plan.question_tokens = sum(model.first[first:])
    return plan, Questions.counted(model.first[first:], model.later[later:])


def _read_into(source: Source, tables: SourceTables, known: TableVersion | None, recipes: Recipes) -> SourceTables:
    """Return the tables to read a source into: for a backfill, the accepted ones where these tell what is unchanged.

    A backfill itself reads all files, so that one is found that changed and kept its size and time; a plan reads all
    only to describe images again.
    """
    described = recipes.of_table("raw_documents")
    reads_all = isinstance(source.origin, Incremental) or (known and described and known.outdated(described))
    return tables if reads_all or tables.has_candidate(source.name) else SourceTables(tables.home)


def _unusable(settings: Settings) -> list[SourcePlan]:
    """Return the plans of sources that the run would not take: misnamed ones, and those that are gone and withheld."""
    found = misnamed_sources(settings) | held_sources(settings, find_sources(settings))
    return [SourcePlan(name, problem=why) for name, why in found.items()]


def _removed(recipes: Recipes) -> list[SourcePlan]:
    """Return the plans of what is published and no longer a source."""
    home = Home.of(recipes.settings)
    gone = removed_sources(home, latest_snapshot(home), next_publication(recipes))
    return [SourcePlan(source, DocumentChanges(removed=rows)) for source, rows in gone.items()]


def _documents(tables: SourceTables, version: TableVersion) -> pa.Table:
    return tables.read(version.table, version.source, version.version, ["path", "content_hash"])


def _ratios(today: Recipes, sources: Sequence[Source], asked: Questions) -> CallRatios:
    """Return the ratios of what some sources were answered before, or of other texts; read only where one is asked."""
    home, questions = Home.of(today.settings), round(asked.first.expected)
    tables, paths = SourceTables(home), {name: list[Path]() for name in ("chunks", "extractions")}
    for source in sources if asked.first.expected else ():
        versions = tables.current_versions(source.name)
        if paths.keys() <= versions.keys():
            for name, found in paths.items():
                found += tables.open(name, source.name, versions[name].version)
    with in_memory() as connection:
        for name, found in paths.items():
            view_files(connection, name, found, SOURCE_TABLES[name])
        own = own_ratios(connection, Ledger(home.ledger).by_purpose(), today, questions)
    return own or default_ratios(today, questions, round(asked.first_tokens.expected))

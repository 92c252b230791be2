"""The next run's or backfill's work and cost, found without asking a model and without changing the home.

The run itself is tried on an overlay of the home, with models that have stored answers only: questions that are not
stored are counted with the model's tokenizer. Everything that follows from their answers (further rounds,
summaries, vectors) is estimated.
"""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

from lightrag_dagster.core.progress import Display
from lightrag_dagster.core.roles import Role
from lightrag_dagster.core.text.tokens import load_tokenizer
from lightrag_dagster.fact_schemas import of_pass
from lightrag_dagster.models.access import access_warnings
from lightrag_dagster.models.providers import chat_identity
from lightrag_dagster.models.stored_answers import StoredAnswers
from lightrag_dagster.pipeline.absent import removed_sources
from lightrag_dagster.pipeline.extractions import EXTRACTION, Reading
from lightrag_dagster.pipeline.inputs import next_publication
from lightrag_dagster.pipeline.passes import pass_warnings
from lightrag_dagster.pipeline.pending import accept_pending, loose_warnings
from lightrag_dagster.pipeline.recipes import Recipes
from lightrag_dagster.pipeline.scopes import pending_scopes
from lightrag_dagster.pipeline.situation import Situation
from lightrag_dagster.pipeline.unread import expected_unread
from lightrag_dagster.plan import steps
from lightrag_dagster.plan.estimates import CACHED_FROM, CallRatios, Estimate, default_ratios, own_ratios, system_tokens
from lightrag_dagster.plan.overlay import overlay
from lightrag_dagster.plan.sources import Asked, DocumentChanges, Planning, SourcePlan, plan_source
from lightrag_dagster.plan.steps import PlannedStep
from lightrag_dagster.plan.unanswered import Unanswered
from lightrag_dagster.schemas import SOURCE_TABLES
from lightrag_dagster.settings import Settings
from lightrag_dagster.spending.ledger import Ledger
from lightrag_dagster.spending.prices import price_of
from lightrag_dagster.spending.withdrawals import withdrawal_warnings
from lightrag_dagster.stages.documents.sources import Source, misnamed_sources
from lightrag_dagster.storage.database.responses import ResponseStore
from lightrag_dagster.storage.duckdb import in_memory, view_files
from lightrag_dagster.storage.home import Home
from lightrag_dagster.storage.tables.source_tables import SourceTables

_UNDESCRIBED = "(a description that is not made yet)" + " word" * 100


@dataclass
class Plan:
    """The work and cost of a run.

    `history` is True if the estimates are by this home's own ratios, `sampled` if they are from a sample of its rows.
    `unknown_prices` are models whose price is not known, so that their calls count as nothing. `warnings` are about
    models, prompts and the length of chunks. `gate` says what gold passages cost before a backfill.
    """

    sources: list[SourcePlan]
    history: bool
    unknown_prices: list[str]
    steps: dict[str, PlannedStep]
    sampled: bool = False
    warnings: list[str] = field(default_factory=list)
    gate: str | None = None

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
            "known_price": not self.unknown_prices,
            "total": plain(self.total),
            "total_by_batch": plain(self.total_by_batch),
        }


def make_plan(
    settings: Settings,
    names: Sequence[str] | None = (),
    *,
    backfill: bool = False,
    knowledge_base: bool = False,
    display: Display | None = None,
) -> Plan:
    """Return what a run, or a backfill, of some sources or of all would do and cost; no model is asked.

    Args:
        settings: Settings of the run.
        names: Sources; all when empty, none when None.
        backfill: Make outdated rows of these sources again.
        knowledge_base: Make outdated summaries and vectors of the knowledge base again.
        display: The view of the progress, if there is one.

    Raises:
        EmbeddingError: the embedder of the newest snapshot cannot be opened any more.
        SourceError: there is no such source.
        StoreError: the home is damaged.
    """
    now = Situation.looking(settings)
    sources, absent = now.chosen(names) if names is not None else ([], [])
    with ResponseStore(now.home.responses, looking=True) as store, overlay(now.recipes) as trial:
        planning = _planning(trial, store, backfill=backfill)
        planned = [_plan_shown(source, planning, display) for source in sources]
        begun = planning.later[EXTRACTION.table]
        asked = Asked.total([*(one for _, one in planned), _again(begun)])
        after = Situation.looking(trial.settings)
        unusable = [] if names is None else [plan for plan in _unusable(now) if not names or plan.source in absent]
        plans = [*(plan for plan, _ in planned), *unusable, *_removed(after)]
        accept_pending(trial.settings)
        warnings = _built_again(now) + expected_unread(after, backfill=backfill, knowledge_base=knowledge_base)
        ratios = _ratios(now.recipes, sources, asked)
        found = {"extraction": steps.extraction(asked, begun, ratios, settings)}
        found |= _of_passes(now, sources, planning)
        unknown = bool(asked.first.expected or begun.first or len(found) > 1)
        # Where most chunks are asked about again, a merge of their old answers would tell little.
        if not unknown or (knowledge_base and asked.first.expected < sum(plan.chunks_stored for plan in plans)):
            found |= _merge_steps(now, trial, ratios, backfill=knowledge_base)
    if unknown and "embeddings" not in found:
        found |= steps.after_all(now, found, asked.first, ratios)
    if asked.described.expected:
        found = {"descriptions": steps.descriptions(asked, settings), **found}
    warnings += _of_settings(now, asks=unknown)
    looked_at = any(plan.looked_at for plan in plans)
    return Plan(plans, ratios.known, _unknown_prices(settings, found), found, looked_at, warnings)


def _planning(trial: Recipes, store: ResponseStore, *, backfill: bool) -> Planning:
    """Return the planning of sources, of which none is planned yet."""
    llm = trial.settings.llm
    counts = load_tokenizer(trial.settings.chunking.encoding).counts
    later = defaultdict[str, Unanswered](lambda: Unanswered(counts))
    images = Unanswered(counts, _UNDESCRIBED)
    extracting = partial(StoredAnswers, chat_identity(llm.of("extract")), store)
    describing = StoredAnswers(chat_identity(llm.of("describe")), store, images)
    return Planning(trial, extracting, later, describing, images, set(), {}, backfill)


def _again(later: Unanswered) -> Asked:
    """Return the questions with which conversations begin once more."""
    return Asked(Estimate.exactly(len(later.again)), Estimate.exactly(sum(later.again.values())))


def _merge_steps(now: Situation, trial: Recipes, ratios: CallRatios, *, backfill: bool) -> dict[str, PlannedStep]:
    """Merge in the overlay, and return the steps of the whole, and of each scope that needs something of its own."""
    found = steps.merge(now, trial, ratios, backfill=backfill)
    names = now.settings.scopes if found else pending_scopes(now, backfill=backfill).keys() & now.settings.scopes.keys()
    below = {name: steps.scope(now, trial, ratios, name, backfill=backfill) for name in sorted(names)}
    return found | {f"scope {name}": one for name, one in below.items() if one}


def _of_passes(now: Situation, sources: Sequence[Source], planning: Planning) -> dict[str, PlannedStep]:
    """Return the step of each pass that asks something, by the table of its readings."""
    found = dict[str, PlannedStep]()
    for name, first in planning.of_passes.items():
        begun = planning.later[of_pass("readings", name)]
        one = Asked.total((first, _again(begun)))
        if one.first.expected or begun.first:
            reading = Reading(now.recipes.passes[name])
            ratios = _ratios(now.recipes, sources, one, reading)
            found[reading.table] = steps.extraction(one, begun, ratios, now.settings)
    return found


def _plan_shown(source: Source, planning: Planning, display: Display | None) -> tuple[SourcePlan, Asked]:
    """Plan a source, as a step of the display if there is one."""
    if display is None:
        return plan_source(source, planning)
    display.run(source.name)
    display.start("plan")
    planned = plan_source(source, planning)
    display.finish()
    return planned


def _of_settings(now: Situation, *, asks: bool) -> list[str]:
    """Return lines on the models and passes that are set."""
    models = [*withdrawal_warnings(now.settings.llm), *access_warnings(now.settings)]
    return [*models, *_uncached(now.recipes, asks), *pass_warnings(now), *loose_warnings(now.settings)]


def _uncached(today: Recipes, asks: bool) -> list[str]:
    """Return a line on instructions that no provider caches, since the user's own are too short, if a run `asks`."""
    tokens = system_tokens(today)
    if not asks or today.settings.llm.of("extract").provider == "offline" or tokens >= CACHED_FROM:
        return []
    return [
        f"the instructions of extraction have {tokens:,} tokens, and OpenAI caches none of fewer than {CACHED_FROM:,}; "
        "add examples to your extraction_system.md, or every question pays for all of them (docs/cost.md)"
    ]


def _built_again(now: Situation) -> list[str]:
    """Return a line on what a run builds again of the newest snapshot by other rules, if it does."""
    newest, inputs = now.newest, next_publication(now)
    if newest is None or inputs is None or inputs.recipe == newest.inputs.recipe:
        return []
    what = "the merged tables and the index of words"
    if inputs.embedder.identity != newest.inputs.embedder.identity:
        what += ", and all vectors, by the offline embedder at no cost"
    return [f"rules or settings of the knowledge base have changed; the run makes again {what}"]


def _unknown_prices(settings: Settings, found: Mapping[str, PlannedStep]) -> list[str]:
    """Return the embedder, and the models that a run asks, of which no price is known."""
    roles: list[Role] = ["extract", "summarise", "describe"] if "descriptions" in found else ["extract", "summarise"]
    models = {settings.llm.of(role).model for role in roles if not price_of(settings.llm.of(role)).known}
    return sorted(models | (set() if price_of(settings.embedding).known else {settings.embedding.model}))


def _unusable(situation: Situation) -> list[SourcePlan]:
    """Return the plans of sources that the run would not take: misnamed and absent ones."""
    found = dict(situation.absent) | misnamed_sources(situation.settings)
    return [SourcePlan(name, problem=why) for name, why in found.items()]


def _removed(situation: Situation) -> list[SourcePlan]:
    """Return the plans of what is published and no longer a source."""
    removed = removed_sources(situation.home, situation.newest, next_publication(situation))
    return [SourcePlan(source, DocumentChanges(removed=rows)) for source, rows in removed.items()]


def _ratios(today: Recipes, sources: Sequence[Source], asked: Asked, reading: Reading = EXTRACTION) -> CallRatios:
    """Return the ratios of what some sources were answered before, or of other texts."""
    home, questions = Home.of(today.settings), round(asked.first.expected)
    tables = SourceTables(home)
    paths = {name: list[Path]() for name in ("chunks", reading.table)}
    for source in sources:
        versions = {name: tables.current(name, source.name) for name in paths}
        for name, one in versions.items() if all(versions.values()) else ():
            paths[name] += tables.open(name, source.name, one.version) if one else []
    with in_memory() as connection:
        for name, found in zip(("chunks", "extractions"), paths.values(), strict=True):
            view_files(connection, name, found, SOURCE_TABLES[name])
        ledger = Ledger(home.ledger)
        by = [one["model"] for one in ledger.costs(["purpose", "model"]) if one["purpose"] == "summarise"]
        own = own_ratios(connection, ledger.by_purpose(), today, questions, reading, by)
    return own or default_ratios(today, questions, round(asked.first_tokens.expected), reading)

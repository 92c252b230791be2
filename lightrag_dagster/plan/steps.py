"""The steps of a plan that cost money: their calls, tokens and price, from counted questions and ratios."""

import logging
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, fields, replace

from lightrag_dagster.core.identity import embedding_key
from lightrag_dagster.core.statements import read_sql
from lightrag_dagster.core.text.composed import composed
from lightrag_dagster.core.text.tokens import load_tokenizer
from lightrag_dagster.errors import StoreError
from lightrag_dagster.indexes.embedding import texts_to_embed
from lightrag_dagster.indexes.embedding_batches import batches
from lightrag_dagster.indexes.views import open_tables
from lightrag_dagster.models.providers import chat_identity
from lightrag_dagster.models.stored_answers import StoredAnswers
from lightrag_dagster.pipeline.inputs import next_inputs, next_publication
from lightrag_dagster.pipeline.merge import merge_sources
from lightrag_dagster.pipeline.recipes import Recipes
from lightrag_dagster.pipeline.scope_tables import fill
from lightrag_dagster.pipeline.scopes import empty_scopes, pending_scopes, scope_snapshot, summaries_again
from lightrag_dagster.pipeline.situation import Situation
from lightrag_dagster.plan.estimates import DEVIATIONS, NOTHING, CallRatios, Estimate, reasoned
from lightrag_dagster.plan.overlay import copy_home
from lightrag_dagster.plan.sources import Asked
from lightrag_dagster.plan.unanswered import Unanswered
from lightrag_dagster.settings import Settings
from lightrag_dagster.spending.ledger import Ledger
from lightrag_dagster.spending.prices import Price, price_of
from lightrag_dagster.storage.database.responses import ResponseStore
from lightrag_dagster.storage.database.vectors import VectorStore
from lightrag_dagster.storage.home import Home
from lightrag_dagster.storage.locking import building
from lightrag_dagster.storage.manifests import VECTOR_TABLES
from lightrag_dagster.storage.snapshots.generations import Generation, fetched

_log = logging.getLogger(__name__)

PLACEHOLDER = "(a summary that is not made yet)"

# Tokens of a description, of which at most 150 words are asked. Not measured; that of a page of text is longer.
_DESCRIPTION = Estimate(120, 20, 400)


@dataclass
class PlannedStep:
    """Calls, tokens and cost of one step, in real time and by the provider's Batch API. US dollars.

    Calls and tokens are None where only the cost can be estimated.
    """

    cost: Estimate
    cost_by_batch: Estimate
    calls: Estimate | None = None
    input_tokens: Estimate | None = None
    output_tokens: Estimate | None = None


def descriptions(asked: Asked, settings: Settings) -> PlannedStep:
    """Return the calls about images, and their tokens: images at the most that they may be billed as."""
    llm = settings.llm.of("describe")
    outputs = asked.described.times(_DESCRIPTION).times(reasoned(llm))
    return priced(price_of(llm), asked.described, asked.described_tokens, outputs)


def extraction(asked: Asked, later: Unanswered, ratios: CallRatios, settings: Settings) -> PlannedStep:
    """Return the questions about chunks, `later` ones after stored answers, and the estimated rounds that follow."""
    calls, tokens = (Estimate.exactly(one) for one in (len(later.first), sum(later.first.values())))
    calls = calls.plus(ratios.calls.times(asked.first))
    inputs = tokens.plus(ratios.input.times(asked.first_tokens))
    # A later round asks with all before it, and finds less. Not measured.
    outputs = ratios.output.times(asked.first_tokens.plus(tokens.times(Estimate(0.3, 0, 1)))).times(ratios.reasoned)
    llm, cache = settings.llm.of("extract"), (ratios.cached, ratios.written)
    step = priced(price_of(llm), calls, inputs, outputs, *cache)
    step.cost_by_batch = priced(price_of(llm, batch=True), calls, inputs, outputs, *cache).cost
    return step


def _summarised_again(now: Situation, asked: Estimate) -> Estimate:
    """Estimate the summaries of the newest snapshot that answers about some chunks change, by how often each is named.

    In a base where few names stand in most chunks, one new document has all of them summarised again.
    """
    if now.newest is None or not asked.expected:
        return NOTHING
    columns = {table: ["chunk_count", "summary_recipe"] for table in ("entities", "relations")}
    of = {"chunks": max(1, now.newest.rows["chunks"]), "asked": asked.expected}
    try:
        with open_tables(fetched(now.home, now.newest.snapshot_id), columns, columns) as connection:
            [(all_, some)] = connection.execute(read_sql(__package__, "sql/summarised"), of).fetchall()
    except StoreError as error:
        _log.warning("%s; summaries that are made again are not in the price", error)
        return NOTHING
    return Estimate(some, 0, min(all_, some + DEVIATIONS * some**0.5))


def merge(now: Situation, trial: Recipes, ratios: CallRatios, *, backfill: bool) -> dict[str, PlannedStep]:
    """Merge in an overlay, and count the summaries and vectors that the home has not stored.

    Args:
        now: The situation of the home.
        trial: Recipes of its overlay.
        ratios: Ratios that tell how long a summary is.
        backfill: Make outdated summaries again, and use today's embedder.

    Raises:
        EmbeddingError, SourceError, StoreError: see `next_inputs`.
    """
    if next_publication(Situation.looking(trial.settings), backfill=backfill) is None:
        return {}
    settings, home, newest = now.settings, now.home, now.newest
    limit = settings.merging.summary_max_tokens
    asked = Unanswered(load_tokenizer(settings.chunking.encoding).counts, PLACEHOLDER + " word" * limit)
    with ResponseStore(home.responses, looking=True) as responses:
        model = StoredAnswers(chat_identity(settings.llm.of("summarise")), responses, asked)
        generation = merge_sources(trial, model.open, backfill=backfill).generation
    published = Generation(home, newest.snapshot_id) if newest else None
    length = ratios.summary_length.times(limit)
    return {
        "summaries": _summaries(asked, length.times(ratios.summary_reasoned), length, settings),
        "embeddings": _embeddings(generation, published, settings, length),
    }


def scope(now: Situation, trial: Recipes, ratios: CallRatios, name: str, *, backfill: bool) -> PlannedStep | None:
    """Fill a scope in the overlay and merge it, to count what it needs of its own; None if that is nothing.

    Takes the same, and the name of the scope; raises as `merge`.
    """
    settings, above = trial.settings.within(name), Situation.looking(trial.settings)
    below = Situation.looking(now.settings.within(name))
    copy_home(below.home, Home.of(settings))  # whose summaries stay
    with building(Home.of(settings)):
        fill(settings, above.home, next_inputs(above, backfill=backfill).sources)
        again = backfill or summaries_again(above, Situation.looking(settings))
        found = merge(below, replace(trial, settings=settings), ratios, backfill=again)
    return together(found.values()) if found else None


def after_all(
    now: Situation, steps: Mapping[str, PlannedStep], asked: Estimate, ratios: CallRatios
) -> dict[str, PlannedStep]:
    """Estimate the summaries and vectors that follow from answers about `asked` chunks, in the whole and each scope."""
    outputs = Estimate.total(one.output_tokens for one in steps.values() if one.output_tokens)
    answers = Estimate(*(all_ / own for all_, own in zip(outputs, ratios.reasoned, strict=True)))
    again = _summarised_again(now, asked)
    cost = Estimate.total(one.cost for one in steps.values()).times(ratios.summaries)
    ends = zip(cost, again.times(ratios.summary), strict=True)
    cost = Estimate(*(choose(pair) for choose, pair in zip((max, min, max), ends, strict=True)))
    length = ratios.summary_length.times(now.settings.merging.summary_max_tokens)
    tokens = answers.times(ratios.embedded).plus(again.times(length))
    found = {"summaries": PlannedStep(cost, cost), "embeddings": priced(price_of(now.settings.embedding), None, tokens)}
    whole = together(found.values())
    empty = empty_scopes(now, pending_scopes(now))
    sources = {*map(composed, (*now.sources, *now.absent))}
    for name, rule in now.settings.scopes.items():
        if not sources.isdisjoint(map(composed, rule.get("sources", sources))):  # else it shows nothing
            found[f"scope {name}"] = _of_scope(now, whole, name, empty=name in empty)
    return found


def _of_scope(now: Situation, whole: PlannedStep, name: str, *, empty: bool) -> PlannedStep:
    """Estimate what a scope needs of its own, from its share of the chunks, while its names are not known.

    One that is `empty` may show what the run reads, or nothing as before; one that is new, all that was summarised.
    """
    below, above = scope_snapshot(now.settings, name), now.published
    if above and not below and not empty:
        bought = Ledger(now.home.ledger).by_purpose()
        spent = sum(bought[one].cost_usd for one in ("summarise", "embed") if one in bought)
        whole = replace(whole, cost=whole.cost.plus(Estimate.exactly(spent)))
    share = below.rows["chunks"] / max(1, above.rows["chunks"]) if below and above else 1.0
    # Names whose evidence differs. Not measured.
    cost = whole.cost.times(Estimate(0 if empty else share / 2, 0, share))
    return PlannedStep(cost, cost)


def together(steps: Iterable[PlannedStep]) -> PlannedStep:
    """Return several steps as one."""
    found = list(steps)
    columns = ([getattr(one, field.name) for one in found] for field in fields(PlannedStep))
    return PlannedStep(*(Estimate.total(one for one in column if one) for column in columns))


def _summaries(asked: Unanswered, output: Estimate, length: Estimate, settings: Settings) -> PlannedStep:
    """Return the questions about descriptions, and the estimated answers; later ones are made of answers. Tokens."""
    first, later = len(asked.first), len(asked.later)
    calls = Estimate(first + later, first, first + later)
    share = length.times(1 / settings.merging.summary_max_tokens)
    # The length of the summaries from which others are made is not known.
    inputs = Estimate.exactly(sum(asked.first.values())).plus(share.times(sum(asked.later.values())))
    return priced(price_of(settings.llm.of("summarise")), calls, inputs, calls.times(output))


def _embeddings(
    generation: Generation, published: Generation | None, settings: Settings, summary: Estimate
) -> PlannedStep:
    """Count what a merged generation lacks; `summary` is the length of a text that is a placeholder. Tokens."""
    counts = load_tokenizer(settings.chunking.encoding).counts
    identity = generation.inputs().embedder.identity
    requests, known, unknown = 0, 0, 0
    with VectorStore(Home.of(settings).vectors, looking=True) as store:
        for table in VECTOR_TABLES:
            for texts in batches(texts_to_embed(generation, table, published), settings.embedding):
                keys = {embedding_key(identity, text): text for text in texts}
                heads = [keys[key].partition(PLACEHOLDER) for key in keys.keys() - store.known(keys)]
                requests += bool(heads)
                known += sum(
                    min(tokens, settings.embedding.max_input_tokens) for tokens in counts([one[0] for one in heads])
                )
                unknown += sum(bool(one[1]) for one in heads)
    tokens = Estimate.exactly(known).plus(summary.times(unknown))
    return priced(price_of(settings.embedding), Estimate.exactly(requests), tokens)


def priced(
    price: Price,
    calls: Estimate | None,
    inputs: Estimate,
    outputs: Estimate | None = None,
    cached: Estimate = NOTHING,
    written: Estimate = NOTHING,
) -> PlannedStep:
    """Return a step with its cost, given the shares of the input that are read from a cache and written to one."""
    reads = Estimate(cached.expected, cached.high, cached.low)  # it costs least where most is found
    parts = zip(inputs, outputs or NOTHING, reads, written, strict=True)
    cost = Estimate(*(price.of(taken, given, taken * read, taken * wrote) for taken, given, read, wrote in parts))
    return PlannedStep(cost, cost, calls, inputs, outputs)

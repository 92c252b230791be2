"""The merge of accepted sources into a generation, with the summaries of the last one.

The merge follows today's code and settings at once and keeps two things until a backfill: the embedder of the newest
snapshot, and summaries whose descriptions have not changed. If nothing changed, the newest generation stays.
"""

import logging
from collections import Counter
from collections.abc import Coroutine, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from shlex import quote
from typing import TYPE_CHECKING, Any, NamedTuple

from lightrag_dagster.core.aio import run_sync
from lightrag_dagster.core.protocols import OpenModel, Usage
from lightrag_dagster.core.text.tokens import load_tokenizer
from lightrag_dagster.curation.rules import Curation, store_additions
from lightrag_dagster.engines.factory import open_engine, shares_disk
from lightrag_dagster.errors import StoreError
from lightrag_dagster.pipeline.inputs import BACKFILL, next_inputs, outdated_summaries, summaries_to_make
from lightrag_dagster.pipeline.recipes import Recipes
from lightrag_dagster.pipeline.situation import Situation
from lightrag_dagster.schemas import MERGED_TABLES
from lightrag_dagster.settings.sections import EngineName
from lightrag_dagster.stages.merging.effects import effect_of
from lightrag_dagster.stages.merging.inputs import KeptEvidence, MergeInput, Previous, Rules
from lightrag_dagster.storage.files.atomic import count_rows, hash_rows, read_parquet
from lightrag_dagster.storage.home import Home
from lightrag_dagster.storage.locking import building
from lightrag_dagster.storage.locks.base import STEP_SECONDS
from lightrag_dagster.storage.manifests import CurationRecord, GenerationInputs
from lightrag_dagster.storage.snapshots import generations
from lightrag_dagster.storage.snapshots.generations import Generation
from lightrag_dagster.storage.snapshots.scratch import Scratch, open_scratch
from lightrag_dagster.storage.tables.acceptance import accepted_sources, remove_gone_passes, remove_gone_sources
from lightrag_dagster.storage.tables.source_tables import SourceTables

if TYPE_CHECKING:
    from lightrag_dagster.stages.merging.merge import Merged
    from lightrag_dagster.stages.merging.parts import Size

_log = logging.getLogger(__name__)


@dataclass(frozen=True)
class MergeReport:
    """The merged generation, whether it was merged or was there already, and the calls for its summaries."""

    generation: Generation
    merged: bool
    usage: Usage = field(default_factory=Usage)


class Summarised(NamedTuple):
    """Merged tables, the calls for summaries, and how many of these failed."""

    merged: "Merged"
    usage: Usage
    failed: int
    curation: CurationRecord = CurationRecord()


class _Work(NamedTuple):
    """The files of a merge, its size, and the engine that works on it."""

    files: list[MergeInput]
    size: "Size"
    engine: EngineName


def merge_sources(recipes: Recipes, open_model: OpenModel, *, backfill: bool = False) -> MergeReport:
    """Merge the accepted version of every source into a generation and make it the newest one.

    Args:
        recipes: Today's settings, prompts and recipes.
        open_model: Opens the model that summarises.
        backfill: Make outdated summaries again, and use today's embedder.

    Raises:
        ProviderAccessError: no summary can succeed without a change of settings or account; the answers so far are
            stored.
        EmbeddingError, SourceError, StoreError: see `next_inputs`.
    """
    home = Home.of(recipes.settings)
    with building(home, STEP_SECONDS) as lock:
        generations.remove_leftovers(home)
        before = accepted_sources(home)  # another process may accept a new one from here on
        situation = Situation.building(recipes, lock)
        inputs, decided = next_inputs(situation, backfill=backfill), situation.decided
        remove_gone_sources(home, before.difference(inputs.sources))
        for source in inputs.sources:
            remove_gone_passes(home, source, situation.pass_names(source))
        last = _last_merged(situation)
        if last and _is_merged(last, inputs) and not (backfill and summaries_to_make(last, recipes)):
            generations.set_newest(home, last)  # the pointer to it may be lost
            return MergeReport(last, merged=False)
        _require_tables(situation, inputs)
        store_additions(home, decided.curation, inputs.encoding)
        with merge_after(last, inputs, recipes, open_model, backfill=backfill, curation=decided.curation) as made:
            tables, summaries = made.merged.tables(), count_recipes(made.merged)
            effect = made.curation.model_copy(update={"last_taken": decided.last_taken})
            generation = generations.store(home, inputs, tables, summaries, made.failed, effect)
        generations.set_newest(home, generation)
    return MergeReport(generation, merged=True, usage=made.usage)


def _require_tables(situation: Situation, inputs: GenerationInputs) -> None:
    """Raise StoreError if a table that is lost cannot be made again: its source is absent, or has a later version."""
    tables, absent = SourceTables(situation.home), situation.absent
    for name in situation.accepted:
        versions, current = inputs.sources.get(name, {}), tables.current_versions(name)
        only = [one for one in versions if name in absent or (one in current and current[one].version != versions[one])]
        lost = [table for table in only if not tables.has(table, name, versions[table])]
        if lost and name not in absent:
            raise StoreError(
                f"the table {lost[0]} of {name} has lost a file, and what was read since is not accepted; correct "
                f"{name} until `lightrag-dagster run` accepts it, or put the file back from a backup"
            )
        if lost:
            raise StoreError(
                f"the table {lost[0]} of {name} has lost a file, and its source is gone; bring it back, or remove "
                f"it by `lightrag-dagster run --source {quote(name)} --accept-deletes`"
            )


def _last_merged(situation: Situation) -> Generation | None:
    """Return the newest generation, the newest snapshot if there is none, or None."""
    try:
        generation = generations.newest_merged(situation.home)
        generation.record()
    except StoreError:
        newest = situation.newest
        return generations.fetched(situation.home, newest.snapshot_id) if newest else None
    return generation


def _is_merged(generation: Generation, inputs: GenerationInputs) -> bool:
    return generation.inputs() == inputs and all(generation.has(table) for table in generation.record().tables)


@contextmanager
def merge_after(
    last: Generation | None,
    inputs: GenerationInputs,
    recipes: Recipes,
    open_model: OpenModel,
    *,
    backfill: bool,
    curation: Curation,
) -> Iterator[Summarised]:
    """Merge, with the summaries of the last generation; the tables are there until the block ends.

    Raises:
        ProviderAccessError: no summary can succeed without a change of settings or account; the answers so far are
            stored.
        StoreError: a file is damaged, or the disk is full.
    """
    home = Home.of(recipes.settings)
    files = merge_inputs(home, inputs)
    work = _plan_work(home, files, recipes.settings.engine)
    if shares_disk(work.engine):
        home.files.open(path for one in files for path in one.paths)
    with ExitStack() as opened:

        def merge(previous: Previous | None) -> Coroutine[Any, Any, Summarised]:
            scratch = opened.enter_context(open_scratch(home, shares_disk=shares_disk(work.engine)))
            return _merge(work, scratch, inputs, recipes, open_model, previous, curation)

        try:
            previous = find_previous(last, recipes.summaries if backfill else None) if last else None
            if last and previous and not backfill and work.size.keeps_rows and shares_disk(work.engine):
                previous = previous._replace(evidence=_find_evidence(last, inputs, files))
            made = run_sync(merge(previous))
        except StoreError as error:
            if last is None:
                raise
            if not backfill and outdated_summaries(last, recipes):
                raise StoreError(
                    f"{error}; the outdated summaries in it would be lost, {BACKFILL} makes them again"
                ) from error
            _log.warning("the last merge cannot be used, all summaries are asked for again: %s", error)
            made = run_sync(merge(None))
        yield made


def _plan_work(home: Home, files: list[MergeInput], engine: EngineName) -> _Work:
    """Choose the number of parts and the engine; one part starts no workers."""
    from lightrag_dagster.stages.merging.parts import Size

    mentions = [path for one in files for path in one.entity_mentions + one.relation_mentions + one.facts]
    size = Size.of(home.files.count_rows(mentions))
    return _Work(files, size, engine if size.bits else "local")


async def _merge(
    work: _Work,
    scratch: Scratch,
    inputs: GenerationInputs,
    recipes: Recipes,
    open_model: OpenModel,
    previous: Previous | None,
    curation: Curation,
) -> Summarised:
    """Group, summarise and finish."""
    from lightrag_dagster.stages.merging.merge import open_merge
    from lightrag_dagster.stages.merging.summaries import summarise

    settings, counts = inputs.merging, load_tokenizer(inputs.encoding).counts
    paid = inputs.embedder.provider not in ("offline", "local")
    rules = Rules(settings, inputs.embedder.identity, "off" if inputs.terms == "auto" and paid else inputs.terms)
    llm = recipes.settings.llm.of("summarise")
    with (
        open_engine(work.engine) as engine,
        open_merge(scratch, work.files, rules, previous, engine, work.size, curation) as merge,
    ):
        async with open_model() as model:
            groups = merge.to_summarise(counts)
            limits = llm.max_concurrency, llm.longer_outputs
            summaries = await summarise(groups, model, recipes.prompts, settings, counts, *limits)
        merged = merge.finish(summaries, recipes.summaries)
        effect = effect_of(curation, merge.decided, merged, settings.types)
    return Summarised(merged, model.usage, sum(summary is None for summary in summaries.values()), effect)


def merge_inputs(home: Home, inputs: GenerationInputs) -> list[MergeInput]:
    """Return the files of every source, in order of source."""
    tables, kinds = SourceTables(home), MergeInput._fields[1:]
    return [
        MergeInput(source, *(tuple(tables.paths_of_kind(kind, source, versions)) for kind in kinds))
        for source, versions in sorted(inputs.sources.items())
    ]


def find_previous(generation: Generation, recipe: str | None) -> Previous:
    """Return the merged rows whose summaries are kept.

    Args:
        generation: The last merge.
        recipe: The only recipe whose summaries are kept; all are when it is None.

    Raises:
        StoreError: the generation is damaged.
    """
    generation.record()
    entities, relations = (generation.path(f"{table}.parquet") for table in ("entities", "relations"))
    for path in (entities, relations):
        count_rows(path)
    return Previous(entities, relations, recipe)


def _find_evidence(
    generation: Generation, inputs: GenerationInputs, files: Sequence[MergeInput]
) -> KeptEvidence | None:
    """Return the evidence of the last merge if only sources differ now, and no row of that merge is damaged."""
    record, home = generation.record(), generation.home
    same = inputs.model_copy(update={"sources": record.inputs.sources})
    if record.failed_summaries or same != record.inputs:
        return None
    merged = {table: generation.path(f"{table}.parquet") for table in MERGED_TABLES}
    now = {path for one in files for path in one.chunks}
    try:
        before = {path for one in merge_inputs(home, record.inputs) for path in one.chunks}
        gone = home.files.open(sorted(before - now))
        home.files.count_rows(gone)
        # A damaged row would go on from merge to merge, under hashes of its own.
        damaged = [name for name, path in merged.items() if hash_rows(path, MERGED_TABLES[name]) != record.tables[name]]
        if damaged:
            raise StoreError(f"{merged[damaged[0]]} is not as it was merged")
    except StoreError as error:
        _log.warning("all rows are merged again: %s", error)
        return None
    come = tuple(sorted(now - before))
    return KeptEvidence(merged["entity_evidence"], merged["relation_evidence"], tuple(gone), come)


def count_recipes(merged: "Merged") -> dict[str, int]:
    """Return recipe → rows with a summary made by it."""
    counts = Counter[str]()
    for path in (*merged.entities, *merged.relations):
        for one in read_parquet(path, ["summary_recipe"])["summary_recipe"].drop_null().value_counts().to_pylist():
            counts[one["values"]] += one["counts"]
    return dict(sorted(counts.items()))

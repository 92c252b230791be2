"""The merge of every source's mentions into one row per entity and one row per relation.

    with open_merge(scratch, inputs, Rules(settings, embedder)) as merge:
        summaries = await summarise(merge.to_summarise(count_tokens), model, …)
        merged = merge.finish(summaries, recipe)

Set-based SQL over the accepted Parquet files, a part at a time. It starts from mentions, never from merged text, so
the result does not depend on the order in which documents came, changed or were deleted. An earlier merge provides the
summaries of unchanged descriptions.
"""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from itertools import chain, product
from pathlib import Path
from typing import NamedTuple

import pyarrow as pa
import pyarrow.parquet as pq

from lightrag_dagster.curation.rules import NO_DECISIONS, Curation
from lightrag_dagster.engines.engine import LOCAL, Engine
from lightrag_dagster.fact_schemas import MERGED_PASS_TABLES
from lightrag_dagster.schemas import ENTITIES, MERGED_TABLES, RELATIONS
from lightrag_dagster.settings import MergingSettings
from lightrag_dagster.stages.merging import database, parts
from lightrag_dagster.stages.merging.changes import find_changed, find_relations, keep_others
from lightrag_dagster.stages.merging.facts import deal_evidence, merge_facts, read_facts
from lightrag_dagster.stages.merging.inputs import MergeInput, Paths, Previous, Rules
from lightrag_dagster.stages.merging.parts import Added, Dealt, Size, Splits, Workspace
from lightrag_dagster.stages.merging.summaries import CountTokens, Group, needs_summary
from lightrag_dagster.storage.duckdb import view_files
from lightrag_dagster.storage.snapshots.scratch import Scratch

_SUMMARIES = pa.schema([(name, pa.string()) for name in ("id", "summary", "failed", "recipe")])

ONE_PART = Size(0)


class Merged(NamedTuple):
    """Parquet files of the merged tables, with the schemas of the same names, each table's in order of their rows.

    They are in the folder of the scratch, and end with it.
    """

    entities: list[Path]
    relations: list[Path]
    entity_evidence: list[Path]
    relation_evidence: list[Path]
    merged_facts: Sequence[Path] = ()
    fact_evidence: Sequence[Path] = ()

    def tables(self) -> dict[str, Sequence[Path]]:
        """Return table → files; those of facts only where there are passes."""
        return {table: paths for table, paths in self._asdict().items() if paths}


class Decided(NamedTuple):
    """The effect of decisions on names.

    `unmatched` are names in decisions that no document has, `removed` the ids of names in documents that stand for
    removed entities, `removed_relations` those of removed relations in documents, `undecided` the number of mentions
    that fit several splits of a name, `idle` the new names of splits that take nothing.
    """

    unmatched: list[str]
    removed: list[str]
    removed_relations: frozenset[str]
    undecided: int
    idle: frozenset[str]


class Merge:
    """Grouped mentions, to be finished with summaries of the long groups."""

    def __init__(
        self, space: Workspace, settings: MergingSettings, engine: Engine, previous: Previous | None, decided: "Decided"
    ) -> None:
        self.decided = decided
        self._space = space
        self._settings = settings
        self._engine = engine
        self._previous = previous
        self._kept = _SUMMARIES.empty_table()

    def to_summarise(self, count_tokens: CountTokens) -> list[Group]:
        """Return the groups over a threshold that have no summary yet, in order of kind and id."""
        groups_of = {group: self._space.paths(group) for group in ("entity_group", "relation_group")}
        with replace(self._space, workers=1).open(groups_of) as connection:
            for table, schema in (("entities", ENTITIES), ("relations", RELATIONS)):
                before = [getattr(self._previous, table)] if self._previous else []
                view_files(connection, f"{table}_before", before, schema)
            database.run(connection, "select_long_groups")
            found = [Group(*row) for row in connection.execute("FROM long_group ORDER BY kind, id").fetchall()]
            groups = [one for one in found if needs_summary(one.descriptions, self._settings, count_tokens)]
            connection.register("long", pa.table({"id": pa.array([group.id for group in groups], pa.string())}))
            kept = "SELECT id, summary, NULL AS failed, recipe FROM kept_summary SEMI JOIN long USING (id)"
            self._kept = database.fetch(connection, kept, _SUMMARIES)
        with_summary = set(self._kept["id"].to_pylist())
        return [group for group in groups if group.id not in with_summary]

    def finish(self, summaries: Mapping[str, str | None], recipe: str) -> Merged:
        """Return the merged tables.

        Args:
            summaries: id → summary of each group of `to_summarise`; None where it failed, which leaves joined
                descriptions.
            recipe: Prompt, model and parameters of these summaries.
        """
        columns = {
            "id": list(summaries),
            "summary": list(summaries.values()),
            "failed": [None if summary else "failed" for summary in summaries.values()],
            "recipe": [recipe if summary else None for summary in summaries.values()],
        }
        space = self._space
        with space.scratch.step([]):
            pq.write_table(pa.concat_tables([self._kept, pa.table(columns, _SUMMARIES)]), space.path("summary"))
        self._engine.map(partial(parts.finish, space), product(("entities", "relations"), space.parts))
        if space.kept is not None:
            keep_others(space)
        merged = Merged(*(space.paths(table) for table in MERGED_TABLES))
        if space.facts:
            self._engine.map(partial(merge_facts, space), space.parts)
            merged = merged._replace(**{table: space.paths(table) for table in MERGED_PASS_TABLES})
        with space.scratch.step([*chain(*merged)]):
            return merged


@contextmanager
def open_merge(
    scratch: Scratch,
    inputs: Sequence[MergeInput],
    rules: Rules,
    previous: Previous | None = None,
    engine: Engine = LOCAL,
    size: Size = ONE_PART,
    curation: Curation = NO_DECISIONS,
) -> Iterator[Merge]:
    """Group the mentions of all sources; the merge can be finished inside the block.

    Args:
        scratch: For results, and for data that does not fit into memory.
        inputs: Accepted files, in any order.
        rules: Thresholds and limits, the embedder, and the phrases that become entities.
        previous: An earlier merge, whose rows are kept where nothing that they are made from changed. Apart from the
            summaries that are kept, the result is the same without it.
        engine: The engine of the work; its workers reach the scratch.
        size: The number of parts. The result is the same.
        curation: Decisions of people.

    Raises:
        StoreError: a file is missing or damaged, also one of `previous`, or the disk is full.
    """
    variables = database.rule_variables(rules.settings, rules.embedder)
    if previous is not None and previous.recipe is not None:
        variables["recipe"] = previous.recipe
    with database.readable(_files(scratch, inputs, previous)):
        space = Workspace(scratch, size, variables, curation, facts=any(one.readings for one in inputs))
        made = None
        if previous is not None and previous.evidence is not None:
            made = _group_changed(space, inputs, rules, previous)
        if made is None:
            made = _group_all(space, inputs, rules, engine)
        named = frozenset[str]().union(*(one.named for one in made.dealt))
        relations = frozenset[str]().union(*(one.removed for one in made.dealt))
        removed = sorted(one for one in named if curation.entity_of(one) is None)
        decided = Decided(curation.unmatched(named), removed, relations, *made.split)
        yield Merge(made.space, rules.settings, made.engine, previous, decided)


class _Grouped(NamedTuple):
    """The space of grouped mentions and the engine that finishes them; what was dealt, and how splits went."""

    space: Workspace
    engine: Engine
    dealt: Sequence[Dealt]
    split: Splits


def _group_all(space: Workspace, inputs: Sequence[MergeInput], rules: Rules, engine: Engine) -> _Grouped:
    """Group all mentions, in parts."""
    space, added, split = _choose(space, inputs, rules)
    space = replace(space, workers=engine.workers)
    shares = _shared_out(inputs, added, max(len(space.parts), engine.workers))
    dealt = list(engine.map(partial(parts.deal, space), shares))
    space = replace(space, dealt=space.dealt.union(one.call for one in dealt))
    engine.map(partial(parts.group_entities, space), space.parts)
    if len(space.parts) > 1:
        taken = [space.parts[worker :: engine.workers] for worker in range(engine.workers)]
        calls = engine.map(partial(parts.deal_degrees, space), filter(None, taken))
        space = replace(space, dealt=space.dealt.union(calls))
    engine.map(partial(parts.group_relations, space), space.parts)
    return _Grouped(space, engine, dealt, split)


def _group_changed(space: Workspace, inputs: Sequence[MergeInput], rules: Rules, previous: Previous) -> _Grouped | None:
    """Group the mentions of what changed since an earlier merge, in one part; None if that is too much."""
    space = replace(space, size=space.size._replace(bits=0))
    space, added, split = _choose(space, inputs, rules)
    (share,) = _shared_out(inputs, added, 1)
    dealt = parts.deal(space, share)
    found = find_changed(replace(space, dealt=frozenset([dealt.call])), previous)
    if found is None:
        return None
    parts.group_entities(found, 0)
    find_relations(found, dealt.call)
    parts.group_relations(found, 0)
    return _Grouped(found, LOCAL, [dealt], split)


def _choose(alone: Workspace, inputs: Sequence[MergeInput], rules: Rules) -> tuple[Workspace, Added, Splits]:
    """Choose what counts of each chunk; return the space, the mentions that are added, and how splits went."""
    parts.choose(alone, inputs)
    added = read_facts(alone, inputs) if alone.facts else Added()
    split = parts.split_names(alone, inputs, added)
    if alone.facts:
        alone = deal_evidence(alone)
    if rules.terms != "off":
        terms = parts.find_terms(alone, inputs, added.entities, wanted=rules.terms == "on")
        added = added._replace(entities=added.entities + terms)
    return alone, added, split


def _files(scratch: Scratch, inputs: Sequence[MergeInput], previous: Previous | None) -> Iterator[Path]:
    """Yield the input files of a merge, as files of this process."""
    for one in inputs:
        yield from scratch.inputs(one.paths)
    if previous is not None:
        yield from (previous.entities, previous.relations, *(previous.evidence or ())[:2])


def _shared_out(inputs: Sequence[MergeInput], added: Added, number: int) -> list[tuple[Paths, Paths, Added]]:
    """Return the files of entity and relation mentions in at most `number` shares; what was added is in the first.

    Files of the same chunks are in the same share, or nearly: by source, and in the order of their rows.
    """
    inputs = sorted(inputs)
    entities = tuple(path for one in inputs for path in one.entity_mentions)
    relations = tuple(path for one in inputs for path in one.relation_mentions)
    number = max(1, min(number, len(entities), len(relations)))

    def share(paths: Paths, place: int) -> Paths:
        return paths[place * len(paths) // number : (place + 1) * len(paths) // number]

    more = [added, *[Added()] * (number - 1)]
    return [(share(entities, place), share(relations, place), more[place]) for place in range(number)]

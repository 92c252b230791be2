"""Names that may be one, found in the published snapshot and stored as the table `duplicate_candidates`."""

from collections import defaultdict
from itertools import combinations
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from lightrag_dagster.core.identity import digest, entity_id
from lightrag_dagster.curation.desk.finder.finding import Compared, compare
from lightrag_dagster.curation.desk.finder.neighbours import Numbers
from lightrag_dagster.curation.rules import InForce
from lightrag_dagster.pipeline.situation import Situation
from lightrag_dagster.storage.manifests import Manifest
from lightrag_dagster.storage.snapshots.generations import Generation, fetched
from lightrag_dagster.storage.tables.source_tables import ALL_SOURCES, SourceTables

TABLE = "duplicate_candidates"
_COUNTS = ("cut", "outdone", "unlikely")


class Settled(NamedTuple):
    """Groups of entities that decisions join, keep apart or split, and entities and relations that they remove.

    Those that the merge has followed already name nothing in the snapshot.
    """

    groups: list[list[str]]
    removed: frozenset[str]

    def pairs(self, entities: pa.Table) -> list[tuple[str, str]]:
        """Return the pairs in a group that are still two in a snapshot with some entities."""
        named = pa.array({one for group in self.groups for one in group}, pa.string())
        there = set(named.filter(pc.is_in(named, value_set=entities["entity_id"])).to_pylist())
        return [pair for group in self.groups for pair in combinations([one for one in group if one in there], 2)]


def duplicate_candidates(situation: Situation) -> Compared:
    """Return the names of the published snapshot that may be one, found and stored first unless they are stored.

    Raises:
        NoSnapshotError: nothing has been published yet.
        DecisionError: decisions cannot be read, or cannot all hold.
        StoreError: the home is damaged, or the disk refuses.
    """
    snapshot, tables = situation.require_published(), SourceTables(situation.home)
    inputs, recipe = _inputs(snapshot, _settled(situation.decided)), situation.recipes.duplicate_candidates
    known = tables.current(TABLE, ALL_SOURCES)
    is_same = known and known.recipe == recipe and inputs.items() <= known.inputs.items()
    if not known or not is_same or tables.has_lost(known):
        return find_duplicates(situation)
    counts = {name: int(known.inputs[name]) for name in _COUNTS}
    return Compared(tables.read(TABLE, ALL_SOURCES, known.version), **counts, version=known.version)


def find_duplicates(situation: Situation) -> Compared:
    """Find the names of the published snapshot that may be one, and store them; raises as `duplicate_candidates`."""
    snapshot, settled = situation.require_published(), _settled(situation.decided)
    generation = fetched(situation.home, snapshot.snapshot_id)
    entities = generation.read_table("entities", ["entity_id", "name", "type", "description", "chunk_ids"])
    relations = generation.read_table("relations", ["src_id", "tgt_id"])
    entities = entities.filter(pc.invert(pc.is_in(entities["entity_id"], pa.array(settled.removed, pa.string()))))
    compared = compare(entities, relations, _vectors(generation, snapshot, entities), settled.pairs(entities))
    stored = SourceTables(situation.home).write(
        TABLE,
        ALL_SOURCES,
        compared.rows,
        inputs=_inputs(snapshot, settled) | {name: str(getattr(compared, name)) for name in _COUNTS},
        recipe=situation.recipes.duplicate_candidates,
    )
    return compared._replace(version=stored.version)


def _inputs(snapshot: Manifest, settled: Settled) -> dict[str, str]:
    """Return the snapshot, and a hash of what decisions settle of it."""
    return {"knowledge_base": snapshot.snapshot_id, "settled": digest(settled.groups, sorted(settled.removed))}


def _settled(decisions: InForce) -> Settled:
    curation, groups = decisions.curation, defaultdict[str, list[str]](list)
    for entity, group in {**curation.joined, **{group: group for group in curation.joined.values()}}.items():
        groups[group].append(entity)
    for split in curation.splits:
        groups[f"parts of {split.entity_id}"] += filter(None, map(curation.entity_of, (split.entity_id, split.into_id)))
    for decision, place in decisions.decisions:
        if decision.action == "apart":
            groups[place] = [one for name in decision.names if (one := curation.entity_of(entity_id(name)))]
    return Settled(sorted(sorted(set(members)) for members in groups.values()), curation.removed)


def _vectors(generation: Generation, snapshot: Manifest, entities: pa.Table) -> Numbers | None:
    """Return the vector of each entity in order of the rows, of half the precision; None if there are none."""
    from lightrag_dagster.indexes.lance import open_vectors

    entry = snapshot.vectors.tables.get("entity_vectors")
    if entry is None or not entry.rows:
        return None
    reader = open_vectors(generation.home, entry)
    ids = entities["entity_id"].to_numpy(zero_copy_only=False)
    order = np.argsort(ids)
    found = np.zeros((len(ids), entry.dimensions), dtype=np.float16)
    for block, vectors in reader.blocks():
        places = np.minimum(np.searchsorted(ids[order], np.array(block, dtype=object)), len(ids) - 1)
        here = ids[order][places] == np.array(block, dtype=object)
        found[order[places[here]]] = vectors[here]
    reader.close()
    return found

"""The rows of the last merge that stay as they are, where only sources differ.

A merged row follows from its evidence, from where the chunks of that stand, and from the names and degrees of its ends.
So only rows where one of these differs are grouped and finished again; the others are those of the last merge.

find_changed     evidence now and before  → the changed entities and relations, and evidence of these entities
find_relations   groups of these entities → further relations, an end of which has another name or degree, and evidence
keep_others      rows that are made again → all rows
"""

from dataclasses import replace
from uuid import uuid4

import duckdb

from lightrag_dagster.schemas import CHUNKS, MERGED_TABLES, SORT_KEYS
from lightrag_dagster.stages.merging import database
from lightrag_dagster.stages.merging.inputs import Previous
from lightrag_dagster.stages.merging.parts import ROWS_PER_PART, Workspace, deal_out
from lightrag_dagster.storage.duckdb import view_files

_IDS = {"entity_id": "changed_entity", "relation_id": "changed_relation"}
"""Key of a table → the file of its ids whose rows are made again."""


def find_changed(space: Workspace, previous: Previous) -> Workspace | None:
    """Write the ids that changed, and the evidence of the entities; return the space of the steps for them.

    Args:
        space: That of all evidence, which is dealt to one part.
        previous: The merge whose rows are kept, with its evidence.

    Returns:
        None if a part cannot hold the evidence of those that changed.
    """
    evidence = previous.evidence
    assert evidence is not None
    found = replace(space, dealt=frozenset([uuid4().hex]), kept=previous)
    dealt = {table: space.dealt_to(0, table) for table in ("entity_evidence", "relation_evidence")}
    with space.open(dealt) as connection:
        view_files(connection, "entity_before", [evidence.entity_evidence])
        view_files(connection, "relation_before", [evidence.relation_evidence])
        view_files(connection, "place", space.scratch.inputs(evidence.come), CHUNKS)
        view_files(connection, "place_before", space.scratch.inputs(evidence.gone), CHUNKS)
        for step in ("changed", "endpoint"):
            database.run(connection, step)
        for table in ("entity_evidence", "endpoint"):
            of_changed = f"FROM {table} SEMI JOIN changed_entity USING (entity_id)"
            if database.count(connection, f"SELECT count(*) FROM ({of_changed})") > ROWS_PER_PART:
                return None
            _deal(connection, found, of_changed, table)
        for ids in _IDS.values():
            found.write(connection, f"FROM {ids}", ids)
    return found


def find_relations(found: Workspace, call: str) -> None:
    """Add the relations of entities whose name or degree is another, after these are grouped; deal their evidence.

    The names and degrees of all entities are written too. `call` is that which dealt the evidence of all relations.
    """
    assert found.kept is not None
    reads = {view: [found.path(view)] for view in _IDS.values()} | {"entity_degree": [found.path("entity_degree", 0)]}
    reads["relation_evidence"] = replace(found, dealt=frozenset([call])).dealt_to(0, "relation_evidence")
    with found.open(reads) as connection:
        view_files(connection, "entities_before", [found.kept.entities])
        database.run(connection, "changed_ends")
        of_changed = "FROM relation_evidence SEMI JOIN every_changed USING (relation_id)"
        _deal(connection, found, of_changed, "relation_evidence")
        found.write(connection, "FROM every_changed", "changed_relation")
        found.write(connection, "FROM every_degree", "entity_degree", 0)


def keep_others(found: Workspace) -> None:
    """Put the rows that did not change beside those that were made again, in every merged table."""
    kept = found.kept
    assert kept is not None
    assert kept.evidence is not None
    before = kept._asdict() | kept.evidence._asdict()
    for table in MERGED_TABLES:
        again, (key, *_) = found.path(table, 0), SORT_KEYS[table]
        with found.open({"again": [again], "changed": [found.path(_IDS[key])]}) as connection:
            view_files(connection, "before", [before[table]])
            rows = f"FROM again UNION ALL BY NAME FROM before ANTI JOIN changed USING ({key})"
            rows += f" ORDER BY {', '.join(SORT_KEYS[table])}"
            found.write_rows(connection, table, 0, rows)


def _deal(connection: duckdb.DuckDBPyConnection, space: Workspace, query: str, table: str) -> None:
    (call,) = space.dealt
    deal_out(connection, space, f"SELECT *, 0 AS part FROM ({query})", table, call)

"""Facts in the merge: what they add to the mentions of the first reading, and facts of all sources as one.

choose → facts: the readings that count, and mentions of the names and pairs that the first reading lacks in their chunk
deal   → evidence: facts under the ids of their entities, by the decisions, by part
finish → evidence in order, and facts merged, under the display names of their entities
"""

from collections.abc import Sequence
from dataclasses import replace
from uuid import uuid4

import duckdb
import pyarrow as pa

from lightrag_dagster.core.text.names import folded
from lightrag_dagster.stages.merging import database
from lightrag_dagster.stages.merging.inputs import MergeInput
from lightrag_dagster.stages.merging.names import name_entities, register_removed
from lightrag_dagster.stages.merging.parts import Added, Workspace, deal_out

_SPELLINGS = pa.schema([("relation", pa.string()), ("spelling", pa.string())])
_NAMES = "SELECT name FROM mention_beside UNION SELECT src FROM relation_beside UNION SELECT tgt FROM relation_beside"


def read_facts(space: Workspace, inputs: Sequence[MergeInput]) -> Added:
    """Write the facts that count (`chosen_fact`), and the mentions and keywords that they add; return these files."""
    with space.open({"chosen": [space.path("chosen")]}) as connection:
        for view in ("chunk", "reading", "fact", "entity_mention", "relation_mention"):
            space.view_inputs(connection, view, inputs)
        connection.register("spelling", _spellings(connection))
        database.run(connection, "facts")
        name_entities(connection, f"{_NAMES} UNION SELECT name FROM fact_name", space.curation)
        split = sorted({one.entity_id for one in space.curation.splits})
        connection.register("split_base", pa.table({"base_id": pa.array(split, pa.string())}))
        database.run(connection, "fact_mentions")
        for table in ("chosen_fact", "fact_mention", "fact_relation", "fact_keyword"):
            space.write(connection, f"FROM {table}", table)
    return Added((space.path("fact_mention"),), (space.path("fact_relation"),), (space.path("chosen_fact"),))


def _spellings(connection: "duckdb.DuckDBPyConnection") -> pa.Table:
    """Return the relations of facts, each with the spelling of it that all of them get."""
    relations = [one for (one,) in connection.execute("SELECT DISTINCT relation FROM fact").fetchall()]
    chosen = {folded(one): one for one in sorted(relations, key=lambda one: (folded(one) == one, one))}
    return pa.table({"relation": relations, "spelling": [chosen[folded(one)] for one in relations]}, _SPELLINGS)


def deal_evidence(space: Workspace) -> Workspace:
    """Deal `fact_evidence` and its ends to their parts, after the entities that split names mean are known.

    A single part has the evidence in a file, and reads all names. Returns the space with the call that dealt.
    """
    call = uuid4().hex
    with space.open({"chosen_fact": [space.path("chosen_fact")]} | space.splits) as connection:
        names = "SELECT subject AS name FROM chosen_fact UNION SELECT object FROM chosen_fact WHERE object IS NOT NULL"
        name_entities(connection, names, space.curation)
        register_removed(connection, space.curation)
        database.run(connection, "fact_evidence")
        if len(space.parts) == 1:
            space.write(connection, "FROM fact_evidence", "fact_evidence")
            return space
        deal_out(connection, space, "SELECT *, part_of(fact_id) AS part FROM fact_evidence", "fact_evidence", call)
        deal_out(connection, space, "SELECT *, part_of(entity_id) AS part FROM fact_end", "fact_end", call)
    return replace(space, dealt=space.dealt | {call})


def merge_facts(space: Workspace, part: int) -> None:
    """Write the rows of MERGED_PASS_TABLES of a part, after the names of all entities are dealt."""
    dealt = {
        "fact_evidence": space.dealt_to(part, "fact_evidence", space.path("fact_evidence")),
        "end_degree": space.dealt_to(part, "end_degree", space.path("entity_degree", 0)),
    }
    with space.open(dealt) as connection:
        space.write_rows(connection, "fact_evidence", part)
        space.write_rows(connection, "merged_facts", part, database.read_statement("merge_facts"))

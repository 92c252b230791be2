"""Facts in the merge: what they add to the mentions of the first reading, and facts of all sources as one.

choose → facts: the readings that count, and mentions of the names and pairs that the first reading lacks in their chunk
deal   → evidence: facts under the ids of their entities, by the decisions
finish → facts merged, under the display names of their entities
"""

from collections.abc import Sequence

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq

from lightrag_dagster.core.text.names import folded
from lightrag_dagster.fact_schemas import FACT_EVIDENCE, MERGED_FACTS, PASS_SORT_KEYS
from lightrag_dagster.stages.merging import database
from lightrag_dagster.stages.merging.inputs import MergeInput
from lightrag_dagster.stages.merging.names import name_entities, register_removed
from lightrag_dagster.stages.merging.parts import Added, Workspace

_ORDER = PASS_SORT_KEYS["fact_evidence"]
_SPELLINGS = pa.schema([("relation", pa.string()), ("spelling", pa.string())])
_MADE = ("chosen_fact", "fact_mention", "fact_relation", "fact_keyword")
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
        for table in _MADE:
            space.write(connection, f"FROM {table}", table)
    return Added((space.path("fact_mention"),), (space.path("fact_relation"),), (space.path("chosen_fact"),))


def _spellings(connection: "duckdb.DuckDBPyConnection") -> pa.Table:
    """Return the relations of facts, each with the spelling of it that all of them get."""
    relations = [one for (one,) in connection.execute("SELECT DISTINCT relation FROM fact").fetchall()]
    chosen = {folded(one): one for one in sorted(relations, key=lambda one: (folded(one) == one, one))}
    return pa.table({"relation": relations, "spelling": [chosen[folded(one)] for one in relations]}, _SPELLINGS)


def write_evidence(space: Workspace) -> None:
    """Write `fact_evidence`, after the entities that split names mean are known."""
    with space.open({"chosen_fact": [space.path("chosen_fact")]} | space.splits) as connection:
        names = "SELECT subject AS name FROM chosen_fact UNION SELECT object FROM chosen_fact WHERE object IS NOT NULL"
        name_entities(connection, names, space.curation)
        register_removed(connection, space.curation)
        database.run(connection, "fact_evidence")
        for part in space.parts:
            of_part = f"FROM fact_evidence WHERE part_of(fact_id) = {part} ORDER BY {', '.join(_ORDER)}"
            rows = database.fetch(connection, of_part, FACT_EVIDENCE)
            pq.write_table(rows, space.path("fact_evidence", part), compression="lz4")


def merge_facts(space: Workspace, part: int) -> None:
    """Write the rows of `merged_facts` of a part, after the entities are grouped."""
    views = {"fact_evidence": [space.path("fact_evidence", part)], "entity_degree": space.paths("entity_degree")}
    with space.open(views) as connection:
        rows = database.fetch(connection, database.read_statement("merge_facts"), MERGED_FACTS)
        pq.write_table(rows, space.path("merged_facts", part), compression="lz4")

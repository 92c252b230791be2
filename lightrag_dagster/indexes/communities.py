"""Communities of a graph: groups of entities with more relations among each other than to others.

Found by the Leiden algorithm (Traag, Waltman and van Eck, "From Louvain to Leiden", 2019), by modularity and weight, in
the package `graspologic-native`; those with many entities are divided again. The relations go in sorted, with one seed,
so that the same graph has the same communities on every machine. Their ids follow from their entities alone.
"""

from collections.abc import Mapping
from typing import NamedTuple

import pyarrow as pa

from lightrag_dagster.core.identity import digest
from lightrag_dagster.core.statements import read_sql
from lightrag_dagster.core.text.terms import stop_words
from lightrag_dagster.errors import SettingsError
from lightrag_dagster.schemas import COMMUNITIES
from lightrag_dagster.storage.duckdb import in_memory

MOST_ENTITIES = 100
"""A community with more entities is divided, if it can be."""

RECIPE = f"Leiden, of at most {MOST_ENTITIES}, named without stop words"
"""A name of the method; another one finds all communities again."""

_NAME_WORDS = 4
_MEMBERS = pa.schema(
    [("community_id", pa.string()), ("level", pa.int32()), ("parent_id", pa.string()), ("entity_id", pa.string())]
)


class _Cluster(NamedTuple):
    level: int
    parent: int | None
    members: list[str]


def find_communities(entities: pa.Table, relations: pa.Table) -> pa.Table:
    """Find the communities of a graph; entities without a relation are in none.

    Args:
        entities: `entity_id`, `name`, `description`, `degree`.
        relations: `src_id`, `tgt_id`, `weight`, in any order.

    Returns:
        COMMUNITIES, sorted.

    Raises:
        SettingsError: the extra `graph` is not installed.
    """
    clusters = _clusters(relations)
    ids = {number: f"com-{digest(*sorted(one.members))}" for number, one in clusters.items()}
    rows = [
        {
            "community_id": ids[number],
            "level": one.level,
            "parent_id": None if one.parent is None else ids[one.parent],
            "entity_id": entity,
        }
        for number, one in clusters.items()
        for entity in one.members
    ]
    with in_memory() as connection:
        connection.register("member", pa.Table.from_pylist(rows, _MEMBERS))
        connection.register("entity", entities)
        connection.register("relation", relations)
        connection.register("stop_word", pa.table({"word": sorted(stop_words())}))
        connection.execute(f"SET VARIABLE words = {_NAME_WORDS}")
        found: pa.Table = connection.sql(read_sql(__package__, "communities")).to_arrow_table()
    return found.select(COMMUNITIES.names).cast(COMMUNITIES)


def _clusters(relations: pa.Table) -> Mapping[int, _Cluster]:
    """Return the clusters of all levels by number; one that was not divided is there once."""
    try:
        from graspologic_native import hierarchical_leiden
    except ImportError as error:
        raise SettingsError(
            "communities need the extra `graph`; install it with `pip install 'lightrag-dagster[graph]'`"
        ) from error
    if not relations.num_rows:
        return {}
    ordered = relations.sort_by([("src_id", "ascending"), ("tgt_id", "ascending")])
    edges = list(zip(*(ordered[name].to_pylist() for name in ("src_id", "tgt_id", "weight")), strict=True))
    found: dict[int, _Cluster] = {}
    for row in hierarchical_leiden(edges, max_cluster_size=MOST_ENTITIES, seed=1):
        found.setdefault(row.cluster, _Cluster(row.level, row.parent_cluster, [])).members.append(row.node)
    return found

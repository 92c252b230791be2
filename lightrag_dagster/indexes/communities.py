"""Communities of a graph: groups of entities with more relations among each other than to others.

Found by the Leiden algorithm (Traag, Waltman and van Eck, "From Louvain to Leiden", 2019), by modularity and weight, in
the package `graspologic-native`; those with many entities are divided again. The relations go in sorted, with one seed,
so that the same graph has the same communities on every machine. Their ids follow from their entities alone. Each
connected part of the graph is divided and named by itself, so that a change of another part leaves its communities.
"""

from collections import defaultdict
from collections.abc import Collection, Sequence

import pyarrow as pa

from lightrag_dagster.core.identity import digest
from lightrag_dagster.core.statements import read_sql
from lightrag_dagster.core.text.terms import stop_words
from lightrag_dagster.errors import SettingsError
from lightrag_dagster.schemas import COMMUNITIES
from lightrag_dagster.storage.duckdb import in_memory

MOST_ENTITIES = 100
"""A community with more entities is divided, if it can be."""

_LEAST_DIVIDED = 8
"""A connected part with fewer entities is one community."""

RECIPE = f"Leiden of each part from {_LEAST_DIVIDED} on, of at most {MOST_ENTITIES}, named in it without stop words"
"""A name of the method; another one finds all communities again."""

_NAME_WORDS = 4
_TEXTS = ("community_id", "parent_id", "entity_id")
_MEMBERS = pa.schema([*((name, pa.string()) for name in _TEXTS), ("level", pa.int32()), ("part", pa.int32())])

_Edge = tuple[str, str, float]


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
    ordered = relations.sort_by([("src_id", "ascending"), ("tgt_id", "ascending")])
    edges = list(zip(*(ordered[name].to_pylist() for name in ("src_id", "tgt_id", "weight")), strict=True))
    rows = list[dict[str, object]]()
    for part, inner in enumerate(_parts(edges)):
        members, placed = defaultdict[int | None, list[str]](list), _divided(inner)
        for name, cluster, *_ in placed:
            members[cluster].append(name)
        ids = {cluster: f"com-{digest(*sorted(names))}" for cluster, names in members.items()}
        for name, cluster, parent, level in placed:
            said = {"community_id": ids[cluster], "parent_id": ids.get(parent), "entity_id": name}
            rows.append(said | {"level": level, "part": part})
    with in_memory() as connection:
        connection.register("member", pa.Table.from_pylist(rows, _MEMBERS))
        connection.register("entity", entities)
        connection.register("relation", relations)
        connection.register("stop_word", pa.table({"word": sorted(stop_words())}))
        connection.execute(f"SET VARIABLE words = {_NAME_WORDS}")
        found: pa.Table = connection.sql(read_sql(__package__, "communities")).to_arrow_table()
    return found.select(COMMUNITIES.names).cast(COMMUNITIES)


def _parts(edges: Sequence[_Edge]) -> Collection[list[_Edge]]:
    """Return the relations of each connected part of a graph, in their order."""
    reached = dict[str, list[str]]()
    for src, tgt, _ in edges:
        small, large = sorted((reached.setdefault(src, [src]), reached.setdefault(tgt, [tgt])), key=len)
        if small is not large:
            large.extend(small)
            reached |= dict.fromkeys(small, large)
    found = defaultdict[int, list[_Edge]](list)
    for edge in edges:
        found[id(reached[edge[0]])].append(edge)
    return found.values()


def _divided(edges: Sequence[_Edge]) -> list[tuple[str, int, int | None, int]]:
    """Return the names of a connected part, each with its cluster, that one's parent and the level, for all levels."""
    try:
        from graspologic_native import hierarchical_leiden
    except ImportError as error:
        raise SettingsError(
            "communities need the extra `graph`; install it with `pip install 'lightrag-dagster[graph]'`"
        ) from error
    names = {name for edge in edges for name in edge[:2]}
    if len(names) < _LEAST_DIVIDED:
        return [(name, 0, None, 0) for name in sorted(names)]
    found = hierarchical_leiden(edges, max_cluster_size=MOST_ENTITIES, seed=1)
    return [(one.node, one.cluster, one.parent_cluster, one.level) for one in found]

"""Communities of a graph: found alike on every machine, divided where they are large, named by their words."""

import subprocess
import sys
from functools import partial
from itertools import combinations
from pathlib import Path

import networkx as nx
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lightrag_dagster.errors import SettingsError
from lightrag_dagster.indexes.communities import MOST_ENTITIES, find_communities
from lightrag_dagster.schemas import COMMUNITIES

Edge = tuple[str, str, float]


def entities_of(relations: list[Edge], **names: str) -> pa.Table:
    ids = sorted({end for one, other, _ in relations for end in (one, other)})
    degree = [sum(one in ends[:2] for ends in relations) for one in ids]
    texts = [names.get(one, one) for one in ids]
    return pa.table({"entity_id": ids, "name": texts, "description": texts, "degree": pa.array(degree, pa.int64())})


def table_of(relations: list[Edge]) -> pa.Table:
    columns = zip(("src_id", "tgt_id", "weight"), zip(*relations, strict=True), strict=True)
    return pa.table({name: list(values) for name, values in columns})


def clique(*members: str) -> list[Edge]:
    return [(one, other, 1.0) for one, other in combinations(members, 2)]


TWO = [*clique("a", "b", "c", "d"), *clique("w", "x", "y", "z"), ("a", "w", 1.0)]


def test_two_groups_that_hardly_know_each_other_are_two() -> None:
    names = {one: f"the river {one}" for one in "abcd"} | {one: f"the council {one}" for one in "wxyz"}
    found = find_communities(entities_of(TWO, **names), table_of(TWO))
    assert found.schema.equals(COMMUNITIES, check_metadata=True)
    rows = {tuple(sorted(row["entity_ids"])): row for row in found.to_pylist()}
    assert rows.keys() == {tuple("abcd"), tuple("wxyz")}
    river, council = rows[tuple("abcd")], rows[tuple("wxyz")]
    assert (river["name"], council["name"]) == ("river", "council"), "`the` says nothing"
    assert river["entity_ids"][0] == "a", "who knows most others comes first"
    assert [river[name] for name in ("level", "parent_id", "size", "relations", "weight")] == [0, None, 4, 6, 6.0]
    assert river["community_id"].startswith("com-")
    assert river["community_id"] != council["community_id"]


def test_words_that_carry_no_topic_name_no_community() -> None:
    names = {one: f"river {one} with und" for one in "abcd"} | {one: f"council {one}" for one in "wxyz"}
    found = find_communities(entities_of(TWO, **names), table_of(TWO))
    assert {row["name"] for row in found.to_pylist()} == {"river", "council"}


def test_a_large_community_is_divided_into_those_of_the_next_level() -> None:
    groups = [[f"{name}{number:02}" for number in range(15)] for name in "abcdefghij"]
    rings = [("x", members[0], 1.0) for members in groups]
    relations = [*(edge for members in groups for edge in clique(*members)), *rings]
    relations += [(one[0], other[1], 1.0) for one, other in combinations(groups, 2)]
    found = find_communities(entities_of(relations), table_of(relations)).to_pylist()
    by_id = {row["community_id"]: row for row in found}
    assert len(by_id) == len(found)
    for row in found:
        parent = by_id.get(row["parent_id"])
        assert (parent is None) == (row["level"] == 0)
        if parent:
            assert set(row["entity_ids"]) < set(parent["entity_ids"])
            assert row["level"] == parent["level"] + 1
    leaves = [row for row in found if row["community_id"] not in {one["parent_id"] for one in found}]
    assert sum(row["size"] for row in leaves) == 151, "every entity is in one undivided community"
    assert all(row["size"] <= MOST_ENTITIES for row in leaves)


def test_a_part_keeps_its_communities_and_their_names_when_others_change() -> None:
    names = {one: f"river dam {one}" for one in "abcd"} | {one: f"council town {one}" for one in "wxyz"}
    alone = find_communities(entities_of(TWO, **names), table_of(TWO)).to_pylist()
    others = [*((f"n{one:03}", f"n{one % 7:03}", 2.0) for one in range(7, 90)), ("p", "q", 1.0)]
    names |= {f"n{one:03}": "a dam of the town" for one in range(90)}
    found = find_communities(entities_of(TWO + others, **names), table_of(TWO + others)).to_pylist()
    assert [row for row in found if set(row["entity_ids"]) & {*"abcdwxyz"}] == alone
    assert {row["name"] for row in alone} == {"river dam", "town council"}


def test_a_small_part_is_one_community() -> None:
    chain = [(one, other, 1.0) for one, other in zip("abcdef", "bcdefg", strict=True)]
    [row] = find_communities(
        entities_of(chain, **{one: f"river {one}" for one in "abcdefg"}), table_of(chain)
    ).to_pylist()
    assert (row["size"], row["name"]) == (7, "river")


def test_a_graph_without_relations_has_none() -> None:
    relations = table_of(TWO).slice(0, 0)
    assert find_communities(entities_of(TWO), relations).num_rows == 0


_EDGES = st.dictionaries(
    st.tuples(st.integers(0, 30), st.integers(0, 30)).filter(lambda ends: ends[0] < ends[1]),
    st.floats(0.5, 9, allow_nan=False),
    min_size=1,
    max_size=80,
)


@pytest.mark.long
@given(edges=_EDGES, order=st.randoms(use_true_random=False))
def test_the_order_of_rows_has_no_effect(edges: dict[tuple[int, int], float], order: st.DrawFn) -> None:
    relations = [(f"e{one:02}", f"e{other:02}", weight) for (one, other), weight in edges.items()]
    entities, shuffled = entities_of(relations), list(relations)
    order.shuffle(shuffled)  # type: ignore[attr-defined]
    found = find_communities(entities, table_of(relations))
    assert find_communities(entities.sort_by([("entity_id", "descending")]), table_of(shuffled)).equals(found)
    first = found.filter(pa.compute.equal(found["level"], 0))
    assert sum(first["size"].to_pylist()) == len(entities), "each entity is in one community of a level"


@pytest.mark.long
def test_three_processes_find_the_same() -> None:
    script = """
from tests.indexes.test_communities import TWO, entities_of, find_communities, table_of
print(find_communities(entities_of(TWO), table_of(TWO)).to_pylist())
"""
    command, root = [sys.executable, "-c", script], Path(__file__).parents[2]
    assert len({subprocess.run(command, cwd=root, check=True, capture_output=True).stdout for _ in range(3)}) == 1


def test_their_modularity_is_near_that_of_louvain() -> None:
    graph = nx.relaxed_caveman_graph(30, 8, 0.3, seed=1)
    relations = [(f"e{min(ends):03}", f"e{max(ends):03}", 1.0) for ends in graph.edges]
    known = nx.Graph()
    known.add_weighted_edges_from(relations)
    found = find_communities(entities_of(relations), table_of(relations)).to_pylist()
    ours = [set(row["entity_ids"]) for row in found if row["level"] == 0]
    theirs = nx.community.louvain_communities(known, seed=1)
    modularity = partial(nx.community.modularity, known)
    assert modularity(ours) >= 0.99 * modularity(theirs) > 0.5


def test_without_the_extra_an_error_names_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "graspologic_native", None)
    with pytest.raises(SettingsError, match=r"pip install 'lightrag-dagster\[graph\]'"):
        find_communities(entities_of(TWO), table_of(TWO))

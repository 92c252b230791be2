from pathlib import Path

import numpy as np
import pytest

from lightrag_dagster.core.identity import entity_id
from lightrag_dagster.indexes.adjacency import Adjacency
from lightrag_dagster.query.search import endpoints_of, relations_around
from tests.query.tables import entities, graph_of, relations


@pytest.fixture
def graph(tmp_path: Path) -> Adjacency:
    return graph_of(
        tmp_path,
        entities([{"name": name} for name in "abcde"]),
        relations(
            [
                {"src": "a", "tgt": "b", "rank": 3, "weight": 1.0},
                {"src": "b", "tgt": "c", "rank": 4, "weight": 1.0},
                {"src": "a", "tgt": "c", "rank": 4, "weight": 2.0},
                {"src": "d", "tgt": "e", "rank": 9, "weight": 9.0},
                {"src": "b", "tgt": "d", "rank": 3, "weight": 1.0},
            ]
        ),
    )


def pairs(graph: Adjacency, rows: list[int]) -> list[str]:
    return ["".join(sorted(row["src"] + row["tgt"])) for row in graph.relations.take(np.array(rows, dtype=np.int32))]


@pytest.mark.parametrize(("found", "expected"), [("ba", "ac bc | ab bd"), ("ab", "ac bc ab bd"), ("da", "de ac bd ab")])
def test_relations_by_rank_then_weight_then_entity(graph: Adjacency, found: str, expected: str) -> None:
    around = pairs(graph, relations_around(graph, graph.entities.rows_of([entity_id(name) for name in found]).tolist()))
    certain, _, by_id = expected.partition(" | ")
    assert around[: len(certain.split())] == certain.split()
    # Both are around b, and equal: the smaller id comes first.
    assert set(around[len(certain.split()) :]) == set(by_id.split())


def test_nothing_leads_nowhere(graph: Adjacency) -> None:
    assert relations_around(graph, []) == []
    assert endpoints_of(graph, []) == []


def test_endpoints_in_order_of_appearance(graph: Adjacency) -> None:
    by_pair = {pair: row for row, pair in enumerate(pairs(graph, list(range(5))))}
    ends = endpoints_of(graph, [by_pair["de"], by_pair["bd"]])
    names = [row["name"] for row in graph.entities.take(np.array(ends, dtype=np.int32))]
    assert set(names[:2]) == {"d", "e"}
    assert names[2:] == ["b"]

"""Facts in each format; without a pass there is nothing of them."""

from datetime import date
from pathlib import Path

import duckdb
import networkx as nx
import pytest

from lightrag_dagster.exports.graphml import FACTS_FILE, FILE, write_facts, write_graphml
from lightrag_dagster.exports.neo4j import SCRIPT, write_neo4j
from lightrag_dagster.exports.tables import DATABASE, write_tables
from lightrag_dagster.exports.written import FACTS_ALONE
from lightrag_dagster.storage.snapshots.generations import Generation
from tests.exports.texts import HOSTILE, graph_of

FACTS = [
    {
        "fact_id": "fact-1", "subject_id": 0, "relation": "leads; \"ably\"", "object_id": 1, "single": True,
        "valid_from": date(2021, 3, 1), "from_precision": "month", "when_words": "March 2021", "passes": ["staff"],
    },
    {
        "fact_id": "fact-2", "subject_id": 0, "relation": "leads; \"ably\"", "object_id": 2, "single": True,
        "valid_from": date(2023, 1, 1), "from_precision": "year", "valid_to": date(2024, 5, 31), "to_precision": "day",
    },
    {
        "fact_id": "fact-3", "subject_id": 1, "relation": "revenue", "value": "3,5 Mio. €\x01", "value_kind": "number",
        "number": 3.5e6, "unit": "EUR", "sources": ["a", "b"], "mention_count": 2,
    },
]  # fmt: skip


@pytest.fixture
def generation(tmp_path: Path) -> Generation:
    return graph_of(tmp_path, ["Harbour", "Ada", "Bea", "apart"], facts=FACTS)


def test_a_fact_is_a_directed_edge_and_a_value_a_node_of_it(generation: Generation, tmp_path: Path) -> None:
    written = write_facts(generation, tmp_path)
    graph = nx.read_graphml(tmp_path / FACTS_FILE)
    assert graph.is_directed()
    names = graph.nodes(data="Label")
    edges = {data.pop("id"): (names[a], names[b], data) for a, b, data in graph.edges(data=True)}
    assert {key: (a, data["Label"], b) for key, (a, b, data) in edges.items()} == {
        "fact-1": ("Harbour", 'leads; "ably"', "Ada"),
        "fact-2": ("Harbour", 'leads; "ably"', "Bea"),
        "fact-3": ("Ada", "revenue", "3,5 Mio. €\ufffd"),
    }
    dates = ("valid_from", "from_precision", "valid_to", "to_precision", "single", "number", "unit", "sources")
    assert [[data.get(name) for name in dates] for _, _, data in edges.values()] == [
        ["2021-03-01", "month", None, None, True, None, None, ""],
        ["2023-01-01", "year", "2024-05-31", "day", True, None, None, ""],
        [None, None, None, None, False, 3.5e6, "EUR", "a; b"],
    ]
    assert graph.nodes["fact-3-value"]["type"] == "number"
    assert "apart" not in dict(names).values()
    assert written.rows == {FACTS_FILE: 7}
    assert written.notes == (FACTS_ALONE, "characters that XML cannot hold, written as U+FFFD: 1")


def test_two_facts_about_a_pair_are_two_edges(tmp_path: Path) -> None:
    twice = [FACTS[0], {**FACTS[0], "fact_id": "fact-9", "valid_from": date(2022, 1, 1)}]
    write_facts(graph_of(tmp_path, ["Harbour", "Ada"], facts=twice), tmp_path)
    assert nx.read_graphml(tmp_path / FACTS_FILE).number_of_edges() == 2


def test_neo4j_gets_relationships_of_the_type_that_the_schema_names(generation: Generation, tmp_path: Path) -> None:
    written = write_neo4j(generation, tmp_path)
    read = "FROM read_csv('{}', all_varchar = true, header = true, quote = '\"', escape = '\"')"
    facts = duckdb.execute(f'SELECT ":TYPE", ":END_ID", "valid_from:date" {read.format(tmp_path / "facts.csv")}')
    assert [(kind, end[:4], first) for kind, end, first in facts.fetchall()] == [
        ('leads; "ably"', "ent-", "2021-03-01"),
        ('leads; "ably"', "ent-", "2023-01-01"),
        ("revenue", "fact", None),
    ]
    values = duckdb.execute(read.format(tmp_path / "fact_values.csv")).fetchall()
    assert values == [("fact-3-value", "3,5 Mio. €\x01", "number", "3500000.0", "EUR", None, "Value")]
    assert {name: written.rows[name] for name in ("fact_values.csv", "facts.csv")} == {
        "fact_values.csv": 1,
        "facts.csv": 3,
    }
    assert " --nodes=fact_values.csv --relationships=facts.csv " in (tmp_path / SCRIPT).read_text()


def test_the_database_answers_by_day_anywhere(generation: Generation, tmp_path: Path) -> None:
    written = write_tables(generation, tmp_path)
    with duckdb.connect(tmp_path / DATABASE, read_only=True) as exported:
        at = exported.sql("SELECT fact_id FROM facts_at('2022-06-01') ORDER BY 1").fetchall()
        assert at == [("fact-1",), ("fact-3",)]
        assert exported.sql("SELECT fact_id FROM facts_now").fetchall() == [("fact-3",)]
    assert written.rows["fact_spans.parquet"] == 3
    assert not (tmp_path / "facts_now.parquet").exists(), "it would be another tomorrow"


def test_without_a_pass_the_other_formats_have_nothing_of_facts(tmp_path: Path) -> None:
    without, expected = graph_of(tmp_path / "0", HOSTILE), graph_of(tmp_path / "1", HOSTILE, facts=[])
    for folder, found in ((tmp_path / "0", without), (tmp_path / "1", expected)):
        write_graphml(found, folder)
        write_neo4j(found, folder)
    names = [FILE, "entities.csv", "relations.csv"]
    texts = [
        [(tmp_path / at / name).read_text("utf-8").replace(one.id, "") for name in names]
        for at, one in (("0", without), ("1", expected))
    ]
    assert texts[0] == texts[1]
    assert (tmp_path / "0" / SCRIPT).read_text() == (
        "neo4j-admin database import full neo4j --nodes=entities.csv --relationships=relations.csv"
        " --multiline-fields=true\n"
    )
    assert not list((tmp_path / "0").glob("fact*"))
    assert write_facts(without, tmp_path).rows == {FACTS_FILE: 0}

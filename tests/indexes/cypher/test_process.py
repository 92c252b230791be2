"""The second wall: what the process of Cypher can do when no guard stands before it, and what becomes of its values."""

from contextlib import closing
from pathlib import Path

import psutil
import pytest

from lightrag_dagster.errors import QueryError
from lightrag_dagster.indexes.cypher.reader import CypherReader, Rows
from tests.graphs import graph_rows
from tests.indexes.cypher.bare import run

LINUX = pytest.mark.skipif(not Path("/proc/self/statm").exists(), reason="limits of Linux")


@pytest.fixture
def secret(tmp_path: Path) -> Path:
    """A file that the process had not opened before it gave up its rights."""
    file = tmp_path / "secret.csv"
    file.write_text("secret\n1\n")
    return file


def process(reader: CypherReader) -> psutil.Process:
    [child] = reader._processes._idle
    return psutil.Process(child.process.pid)


@pytest.mark.parametrize(
    "query",
    [
        "LOAD FROM '{file}' RETURN *",
        "UNWIND [1] AS x WITH x LIMIT 1LOAD FROM '{file}' RETURN *",
        "LOAD FROM '{file}' (file_format='json') RETURN *",
        "COPY (RETURN 1) TO '{file}.csv'",
    ],
)
def test_no_other_file_can_be_read_or_written(reader: CypherReader, secret: Path, query: str) -> None:
    assert "Too many open files" in str(run(reader, query.format(file=secret)))
    assert list(secret.parent.iterdir()) == [secret]


@pytest.mark.parametrize("query", ["EXPORT DATABASE '{file}.d'", "INSTALL httpfs", "LOAD EXTENSION '{file}'"])
def test_nothing_is_exported_installed_or_loaded(reader: CypherReader, secret: Path, query: str) -> None:
    assert isinstance(run(reader, query.format(file=secret)), str)
    assert [path for path in secret.parent.rglob("*") if path.is_file()] == [secret]


def test_nothing_is_written_to_the_graph(reader: CypherReader) -> None:
    assert "read-only" in str(run(reader, "MATCH (e:Entity) SET e.name = 'x'"))


SECRET = "'{folder}/secret.csv'"


@pytest.mark.parametrize(
    "query",
    [
        f"LOAD FROM {SECRET} RETURN *",
        "COPY (RETURN 1) TO '{folder}/new.csv'",
        f"COPY Entity FROM {SECRET}",
        "EXPORT DATABASE '{folder}/new'",
        "IMPORT DATABASE '{folder}'",
        "INSTALL httpfs",
        f"LOAD EXTENSION {SECRET}",
        f"ATTACH {SECRET} AS other (dbtype kuzu)",
        "CREATE (:Chunk {{chunk_id: 'x'}})",
        "CREATE NODE TABLE Other(id STRING PRIMARY KEY)",
        "MATCH (e:Entity) SET e.name = 'x'",
        "MATCH (e:Entity) DETACH DELETE e",
        "DROP TABLE Entity",
        "CALL timeout=1",
        f"CALL read_csv_serial({SECRET}) RETURN *",
        f"CALL `json_scan`({SECRET}) RETURN *",
        f"CALL project_graph_cypher('g', \"LOAD FROM {SECRET} RETURN *\") RETURN *",
        "CALL create_vector_index('Entity', 'i', 'name') RETURN *",
        "RETURN 1 /* **/ ' */; EXPORT DATABASE '{folder}/new' //'",
        "/* **/ MATCH (n) RETURN n // */ EXPORT DATABASE '{folder}/new'",
    ],
)
def test_what_does_more_than_read_is_refused_or_does_nothing(
    own: CypherReader, graph: Path, secret: Path, query: str
) -> None:
    before = graph.read_bytes()
    with pytest.raises(QueryError):
        own.query(query.format(folder=secret.parent))
    assert graph.read_bytes() == before
    assert [path.name for path in secret.parent.iterdir()] == ["secret.csv"]
    assert own.query("RETURN 1 AS one").rows == [{"one": 1}]


@LINUX
def test_the_process_holds_its_graph_and_its_connection_alone(
    graph: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-secret")
    with closing(CypherReader(graph)) as reader, (tmp_path / "open").open("w"):
        reader.query("RETURN 1")
        child = process(reader)
        assert [Path(file.path) for file in child.open_files()] == [graph]
        assert child.rlimit(psutil.RLIMIT_NOFILE) == (1, 1)
        assert child.rlimit(psutil.RLIMIT_CORE)[0] == 0
        assert "sk-secret" not in child.environ().values()


@pytest.mark.long
@LINUX
@pytest.mark.parametrize("query", ["UNWIND range(1, 200000000) AS x RETURN x", "RETURN range(1, 300000000)"])
def test_memory_is_limited(reader: CypherReader, query: str) -> None:
    assert run(reader, query) == "m"
    assert isinstance(run(reader, "RETURN 1"), Rows)


VALUES = [
    "RETURN NULL AS a, true AS b, '日本\\n' AS c, -1 AS d, 1.5 AS e, '' AS f",
    "RETURN cast('inf' AS DOUBLE) AS a, cast(1.1 AS FLOAT) AS b",
    "RETURN map(['x'], [1]) AS c",
    "RETURN {a: 1, b: [{c: 'x'}]} AS a, [] AS b, [[1, NULL]] AS c, cast([1, 2] AS INT64[2]) AS d",
    "RETURN union_value(a := 1) AS a, to_json({a: 1}) AS b",
    "MATCH (a)-[r]->(b) RETURN a, r, b, id(a) AS i, label(r) AS l ORDER BY l, offset(i), offset(id(b)) LIMIT 20",
    "MATCH p = (a:Entity)-[:RELATED*1..2]-(b) RETURN p, nodes(p) AS n, rels(p) AS r, length(p) AS l LIMIT 5",
    "MATCH (e:Entity) RETURN e.type AS type, count(*) AS n, collect(e.name) AS names ORDER BY type",
    "RETURN regexp_extract('Station 14', '[0-9]+') AS a, levenshtein('a', 'b') AS b, md5('x') AS c",
    "CALL show_tables() RETURN name, type ORDER BY name",
    "CALL table_info('Entity') RETURN *",
]


@pytest.mark.parametrize("query", VALUES)
def test_values_are_those_of_kuzu(reader: CypherReader, graph: Path, query: str) -> None:
    found = reader.query(query).rows
    expected = graph_rows(graph, query)
    assert found == expected
    assert list(map(repr, found)) == list(map(repr, expected))
    assert found


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ("sum(cast(7 AS INT64))", 7),
        ("cast(170141183460469231731687303715884105727 AS INT128)", 2**127 - 1),
        ("cast(1.25 AS DECIMAL(10, 3))", 1.25),
        ("date('2020-01-02')", "2020-01-02"),
        ("map([7], [interval('1 day')])", {"7": "1 day, 0:00:00"}),
        ("uuid('a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11')", "a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11"),
    ],
)
def test_what_json_does_not_have_is_a_number_or_a_text(reader: CypherReader, value: str, expected: object) -> None:
    [found] = reader.query(f"RETURN {value} AS value").rows
    assert found["value"] == expected
    assert type(found["value"]) is type(expected)


def test_parameters_are_those_given(reader: CypherReader, graph: Path) -> None:
    given = {
        "text": "it's", "number": 3, "share": 0.5, "truth": True, "nothing": None, "list": ["a", "b"], "map": {"a": 1},
    }  # fmt: skip
    query = f"RETURN {', '.join(f'${name} AS {name}' for name in given)}"
    assert reader.query(query, given).rows == graph_rows(graph, query, given) == [given]
    assert reader.query("RETURN $pair AS pair", {"pair": ("a", "b")}).rows == [{"pair": ["a", "b"]}]


def test_what_kuzu_needs_is_there_before_it_loses_its_rights(reader: CypherReader) -> None:
    found = reader.query("RETURN gen_random_uuid() AS a, current_timestamp() AS b, current_date() AS c").rows
    assert [type(value).__name__ for value in found[0].values()] == ["str", "str", "str"]

"""The second wall: what the process of Cypher can do when no guard stands before it, and what becomes of its values."""

from contextlib import closing
from pathlib import Path

import psutil
import pytest

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
    "RETURN date('2020-01-02') AS a, timestamp('2020-01-02 03:04:05.123456') AS b",
    "RETURN cast('2020-01-02 03:04:05.123456789' AS TIMESTAMP_NS) AS a",
    "RETURN cast('2020-01-02 03:04:05+02:00' AS TIMESTAMP_TZ) AS a",
    "RETURN interval('1 year 2 months 3 days 4 hours 5 us') AS a",
    "RETURN cast(1.25 AS DECIMAL(10, 3)) AS a, cast(170141183460469231731687303715884105727 AS INT128) AS b",
    "RETURN uuid('a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11') AS a, blob('\\\\xAA\\\\x00b') AS b",
    "RETURN cast('inf' AS DOUBLE) AS a, cast(1.1 AS FLOAT) AS b",
    "RETURN map([1, 2], ['a', 'b']) AS a, map([date('2020-01-01')], [NULL]) AS b, map(['x'], [1]) AS c",
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


def test_parameters_are_those_given(reader: CypherReader, graph: Path) -> None:
    given = {
        "text": "it's", "number": 3, "share": 0.5, "truth": True, "nothing": None, "list": ["a", "b"], "map": {"a": 1},
    }  # fmt: skip
    query = f"RETURN {', '.join(f'${name} AS {name}' for name in given)}"
    assert reader.query(query, given).rows == graph_rows(graph, query, given) == [given]
    assert reader.query("RETURN $pair AS pair", {"pair": ("a", "b")}).rows == [{"pair": ["a", "b"]}]


def test_what_kuzu_needs_is_there_before_it_loses_its_rights(reader: CypherReader) -> None:
    found = reader.query("RETURN gen_random_uuid() AS a, current_timestamp() AS b, current_date() AS c").rows
    assert [type(value).__name__ for value in found[0].values()] == ["UUID", "datetime", "date"]

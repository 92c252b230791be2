"""The first wall: what a query may say. Kùzu itself says what it would do with what passes."""

import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lightrag_dagster.errors import QueryError
from lightrag_dagster.indexes.cypher.guard import OTHERS, READING, require_parameters, require_reading
from lightrag_dagster.indexes.cypher.reader import CypherReader
from tests.indexes.cypher.bare import run

BEFORE = [
    "",
    "EXPLAIN ",
    "UNWIND [1] AS x WITH x LIMIT 1",
    "UNWIND [1] AS x WITH x LIMIT 1.5",
    "UNWIND [1] AS x WITH x LIMIT .5",
    "UNWIND [1] AS x WITH x LIMIT 1e0",
    "UNWIND [1] AS x WITH x LIMIT 1.0E-0",
    "UNWIND [1] AS x WITH x LIMIT 1.",
    "UNWIND [1] AS x WITH x LIMIT (1)",
    "UNWIND [1] AS x WITH x WHERE x IN [1]",
    "UNWIND [1] AS x WITH x WHERE {a: 1} = {a: 1}",
    "UNWIND [1] AS x WITH x WHERE 'a' = 'it\\'s'",
    'UNWIND [1] AS x WITH x WHERE "a" = "a\\\\"',
    "UNWIND [1] AS x WITH x WHERE `x` = `x`",
    "UNWIND [1] AS x WITH x/**/",
    "UNWIND [1] AS x WITH x /***/ ' /* */",
    "UNWIND [1] AS x WITH x /* ' **/ /* ' */",
    "UNWIND [1] AS x WITH x // '\n",
    'UNWIND [1] AS x WITH x // "\r\n',
    "UNWIND [1] AS é WITH é",
    "UNWIND [1] AS é WITH é ",
    "UNWIND [1] AS 日本 WITH 日本\u00a0",
    "UNWIND [1] AS e\u0301 WITH e\u0301\u3000",
    "UNWIND [1] AS x WITH x\u2028",
    "UNWIND [1] AS x WITH x\x1c",
    "UNWIND [1] AS x$ WITH x$ ",
    "UNWIND [1] AS limit WITH limit ",
    "WITH 1 AS as ",
    "MATCH (x:Entity) ",
    "MATCH (x:Entity)-->(y)",
    "MATCH (x:Entity)\uff0d\uff0d\uff1e(y)",
    "MATCH (x:Entity) WITH x ",
    "MATCH (x:Entity) WITH x LIMIT 1",
    "RETURN 1;",
    "RETURN 1; ",
    "RETURN 1 UNION ",
    "RETURN '1';/* ; */",
]

ACTIONS = [
    "LOAD FROM '{folder}/secret.csv' RETURN *",
    "load from '{folder}/secret.csv' (file_format='csv', header=false) return *",
    "LOAD WITH HEADERS (a STRING) FROM '{folder}/secret.csv' RETURN *",
    "LOAD EXTENSION '{folder}/secret.csv'",
    "COPY (RETURN 1) TO '{folder}/new.csv'",
    "COPY Entity FROM '{folder}/secret.csv'",
    "EXPORT DATABASE '{folder}/new'",
    "IMPORT DATABASE '{folder}'",
    "INSTALL httpfs",
    "UNINSTALL httpfs",
    "UPDATE httpfs",
    "ATTACH '{folder}/secret.csv' AS other (dbtype kuzu)",
    "DETACH other",
    "DETACH DELETE x",
    "USE other",
    "CREATE (:Chunk {{chunk_id: 'x'}})",
    "CREATE NODE TABLE Other(id STRING PRIMARY KEY)",
    "CREATE MACRO other(x) AS x",
    "MERGE (:Chunk {{chunk_id: 'x'}})",
    "SET x.name = 'x'",
    "DELETE x",
    "DROP TABLE Entity",
    "ALTER TABLE Entity ADD other STRING",
    "COMMENT ON TABLE Entity IS 'x'",
    "BEGIN TRANSACTION",
    "CHECKPOINT",
    "CALL timeout=90000",
]


@pytest.mark.parametrize("action", ACTIONS)
def test_what_passes_the_guard_does_nothing(reader: CypherReader, tmp_path: Path, action: str) -> None:
    (tmp_path / "secret.csv").write_text("secret")
    refused = 0
    for before in BEFORE:
        query = before + action.format(folder=tmp_path)
        try:
            require_reading(query)
        except QueryError:
            refused += 1
        else:
            answer = run(reader, query)
            assert isinstance(answer, str), query
            assert answer.startswith("!Parser exception"), query
    assert refused > 1
    assert [path.name for path in tmp_path.iterdir()] == ["secret.csv"]


def test_all_clauses_of_kuzu_are_known(reader: CypherReader) -> None:
    answer = run(reader, "UNWIND [1] AS x WITH x LIMIT 1 nothing")
    assert isinstance(answer, str)
    [expected] = re.findall(r"expecting \{(.*?)\}", answer)
    assert set(expected.split(", ")) - {"SP"} == {*READING, *OTHERS}


@pytest.mark.parametrize(
    "query",
    [
        "MATCH (e:Entity) WHERE e.name = 'LOAD' RETURN e",
        'RETURN "it\'s; a DETACH"',
        "RETURN 'it\\'s a SET' AS `CREATE`, \"\\\"LOAD\"",
        "MATCH (n) RETURN n.load, n. SET, n./**/copy",
        "WITH 1 AS set_x, 2 AS xset, 3 AS loaded RETURN set_x, xset, loaded",
        "MATCH (e:Entity) RETURN e.type AS type, e.degree AS copy, 1 AS use",
        "RETURN {set: 1, load : 2, `detach`: 3}",
        "MATCH (e:Load)-[:SET]->(:Delete) RETURN e",
        "RETURN $load, $`set it`, $1, é$load // LOAD FROM 'x'",
        "/* DELETE ; */ RETURN 1 /***/ ; LOAD /* */",
        "RETURN 1e5, 1.5, .5, 1..5",
        "UNWIND [1] AS éload RETURN éload AS loadé, 1 AS नाम",
        "MATCH p = (a:Entity)-[:RELATED* SHORTEST 1..4]-(b:Entity) RETURN properties(nodes(p), 'name');",
        "  optional match (e:Entity) return count(*) ; // done",
        "MATCH (e:Entity) WHERE EXISTS { MATCH (e)--(o) } RETURN count { MATCH (e)--() } UNION ALL RETURN 1",
        "EXPLAIN LOGICAL MATCH (e:Entity) RETURN e",
        "PROFILE MATCH (e:Entity) RETURN e",
        "CALL show_tables() RETURN *",
        "MATCH (e:Entity) CALL Table_Info('Entity') YIELD name RETURN e.name, name",
        "MATCH (a:Entity)-[r:RELATED]->(b) HINT (a JOIN r) JOIN b RETURN a.call",
    ],
)
def test_reading_is_allowed(query: str) -> None:
    require_reading(query)


@given(st.text())
def test_any_text_may_stand_in_quotes(text: str) -> None:
    escaped = text.replace("\\", "\\\\").replace("'", "\\'")
    require_reading(f"RETURN '{escaped}'")
    require_reading(f"RETURN 1 AS `{text.replace('`', '')}`")


@pytest.mark.parametrize(
    ("query", "reason"),
    [
        ("RETURN 1; RETURN 2", "the Cypher holds several statements; give one"),
        ("CALL timeout=90000; RETURN 1", "the Cypher holds several statements; give one"),
        ("RETURN 1;;", "the Cypher holds several statements; give one"),
        ("", "the Cypher is empty"),
        (" // nothing", "the Cypher is empty"),
        ("EXPLAIN", "the Cypher is empty"),
        ("CALL timeout=90000", r"^CALL is only allowed of a table function, as in CALL show_tables\(\) RETURN \*$"),
        ("EXPLAIN CALL/**/timeout = 90000", "^CALL is only allowed of a table function"),
        ("CALL show_tables RETURN *", "^CALL is only allowed of a table function"),
        ("MATCH (n) CALL", "^CALL is only allowed of a table function"),
        ("COPY Entity FROM 'x'", "COPY is not allowed here; .* begins with MATCH, OPTIONAL, .* or CALL$"),
        ("SELECT 1", "SELECT is not allowed here; "),
        ("`MATCH` (n) RETURN n", "`MATCH` is not allowed here; "),
        ("MATCH (n) set n.x = 1", "SET is not allowed here; .* If it is a name, write `set` in backticks$"),
    ],
)
def test_a_refusal_says_why(query: str, reason: str) -> None:
    with pytest.raises(QueryError, match=reason):
        require_reading(query)


@pytest.mark.parametrize(
    ("query", "given_", "reason"),
    [
        ("RETURN $n", [], r"^the parameter \$n of the Cypher is not given$"),
        ("MATCH (e {name: $n}) RETURN e", ["name", "x"], r"^the parameter \$n .* not given; the nearest is \$name$"),
        ("RETURN $b + $a", [], r"^the parameter \$a of the Cypher"),
        ("RETURN $Name", ["name"], r"^the parameter \$Name .* the nearest is \$name$"),
        ("RETURN $name", ["name", "nam"], r"^the Cypher has no parameter \$nam; the nearest is \$name$"),
        ("RETURN '$x' // $x", ["x"], r"^the Cypher has no parameter \$x$"),
        ("RETURN $1", [], r"^the parameter \$1 of"),
        ("RETURN $नाम", [], r"^the parameter \$नाम of"),
    ],
)
def test_parameters_are_those_given(query: str, given_: list[str], reason: str) -> None:
    with pytest.raises(QueryError, match=reason):
        require_parameters(query, given_)


def test_parameters_that_are_given_are_allowed() -> None:
    require_parameters("MATCH (e {name: $name}) WHERE e.degree > $1 RETURN $`a b`, '$x' // $y", ["name", "1", "`a b`"])
    require_parameters("RETURN 1", [])

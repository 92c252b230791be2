"""Questions by Cypher, with their bounds and faults."""

import json
import os
import socket
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from datetime import date
from pathlib import Path
from typing import Any

import psutil
import pytest

from lightrag_dagster.core.child import Pool
from lightrag_dagster.errors import QueryError, StoreError
from lightrag_dagster.indexes.cypher import reader as reading
from lightrag_dagster.indexes.cypher.reader import CypherReader, Rows

NAMES = "MATCH (e:Entity) RETURN e.name AS name ORDER BY name"
ENDLESS = "UNWIND range(1, 100000) AS a UNWIND range(1, 100000) AS b WITH a + b AS c RETURN count(c)"
CRASH = "WITH 1 AS x WHERE x=1 RETURN x"


def pid(reader: CypherReader) -> int:
    [child] = reader._processes._idle
    pid: int = child.process.pid
    return pid


def test_a_query_returns_its_first_rows_and_says_whether_there_are_more(reader: CypherReader) -> None:
    every = reader.query(NAMES)
    assert every.columns == ["name"]
    assert not every.more
    number = len(every.rows)
    assert reader.query(NAMES, limit=2) == Rows(["name"], every.rows[:2], True)
    assert not reader.query(NAMES, limit=number).more
    assert reader.query(
        "MATCH (e:Nobody) RETURN e.name AS name, 1 AS b".replace("Nobody", "Entity {name: 'x'}")
    ) == Rows(["name", "b"], [], False)


def test_a_thousand_rows_come_unless_asked_for(reader: CypherReader) -> None:
    found = reader.query("UNWIND range(1, 5000) AS x RETURN x")
    assert (len(found.rows), found.rows[-1], found.more) == (1000, {"x": 1000}, True)


def test_rows_come_in_batches(reader: CypherReader) -> None:
    query = "UNWIND range(1, 3000) AS x RETURN x, repeat('é', 1000) AS text"
    found = reader.query(query, limit=10_000)
    assert [row["x"] for row in found.rows] == list(range(1, 3001))
    assert {row["text"] for row in found.rows} == {"é" * 1000}


def test_a_process_answers_many_queries_and_errors_do_not_end_it(own: CypherReader) -> None:
    own.query(NAMES)
    first = pid(own)
    with pytest.raises(QueryError):
        own.query("MATCH (e:Nowhere) RETURN e")
    own.query(NAMES)
    assert pid(own) == first


@pytest.mark.parametrize(
    ("query", "reason"),
    [
        ("MATCH (e:Nowhere) RETURN e", "the Cypher cannot be run: Binder exception: Table Nowhere does not exist"),
        ("MATCH (e", "the Cypher cannot be run: Parser exception"),
        ("MATCH (e:Entity) RETURN CAST(e.name AS INT64)", "the Cypher cannot be run: Conversion exception"),
        ("RETURN 'std::bad_alloc Interrupted' AS a, b", "the Cypher cannot be run: Binder exception: Variable b"),
        ("RETURN map([[1]], [2])", "the Cypher cannot be run: unhashable type"),
        ("RETURN map([date('2024-03-31')], [1])", "the Cypher cannot be run: keys must be str, int"),
        ("RETURN '\ud800'", "the Cypher or its parameters cannot be sent: .*surrogates"),
        ("LOAD FROM '/etc/passwd' RETURN *", "LOAD is not allowed here"),
        ("RETURN 1; RETURN 2", "several statements"),
    ],
)
def test_wrong_cypher_is_one_line(reader: CypherReader, query: str, reason: str) -> None:
    with pytest.raises(QueryError, match=reason) as refused:
        reader.query(query)
    assert "\n" not in str(refused.value)


@pytest.mark.parametrize(
    ("parameters", "reason"),
    [
        ({}, r"the parameter \$name of the Cypher is not given$"),
        ({"nmae": "x"}, r"the parameter \$name of the Cypher is not given; the nearest is \$nmae$"),
        ({"name": "x", "other": 1}, r"the Cypher has no parameter \$other; the nearest is \$name$"),
        ({"name": {1, 2}}, r"the Cypher or its parameters cannot be sent: .*type set"),
        ({"name": date(2024, 3, 31)}, r"the Cypher or its parameters cannot be sent: .*type date"),
        ({"name": "\ud800"}, r"the Cypher or its parameters cannot be sent: .*surrogates"),
        ({"name": 2**70}, r"the Cypher cannot be run: "),
        ({1: "x"}, r"the Cypher or its parameters cannot be sent: "),
        (["name"], r"the Cypher or its parameters cannot be sent: "),
    ],
)
def test_wrong_parameters_are_named(reader: CypherReader, parameters: Any, reason: str) -> None:
    with pytest.raises(QueryError, match=reason):
        reader.query("MATCH (e:Entity {name: $name}) RETURN e", parameters)


def test_a_query_is_a_text(reader: CypherReader) -> None:
    with pytest.raises(QueryError, match="the Cypher or its parameters cannot be sent: "):
        reader.query(None)  # type: ignore[arg-type]


def test_a_query_that_takes_too_long_is_ended(own: CypherReader) -> None:
    own.query(NAMES)
    first = pid(own)
    with pytest.raises(QueryError, match=r"^the Cypher took longer than 0\.1 s; narrow it and ask again$"):
        own.query(ENDLESS, seconds=0.1)
    assert pid(own) == first


def test_a_query_that_kuzu_does_not_end_is_ended_with_its_process(
    own: CypherReader, monkeypatch: pytest.MonkeyPatch
) -> None:
    question = json.dumps([ENDLESS, {}, 1000, 60]).encode()
    monkeypatch.setattr(reading, "_question", lambda *_: question)
    monkeypatch.setattr(reading, "_GRACE_SECONDS", 0)
    with pytest.raises(QueryError, match=r"took longer than 0\.2 s"):
        own.query(ENDLESS, seconds=0.2)
    assert own._processes._children == set()


def test_a_query_ends_with_the_process_that_asked(own: CypherReader) -> None:
    own.query(NAMES)
    with ThreadPoolExecutor(1) as threads:
        child = psutil.Process(pid(own))
        before = child.cpu_times().user
        answer = threads.submit(own.query, ENDLESS)
        while child.cpu_times().user < before + 0.1:
            time.sleep(0.01)
        [asked] = own._processes._children
        asked._channel._socket.shutdown(socket.SHUT_RDWR)  # as the system does for a process that was killed
        child.wait(20)
        own.close()
        with pytest.raises(QueryError):
            answer.result(20)


@pytest.mark.long
@pytest.mark.parametrize("query", [CRASH, "RETURN date('20000-12-31')"])
def test_a_crash_is_an_error_and_the_next_query_is_answered(own: CypherReader, query: str) -> None:
    with pytest.raises(QueryError, match=r"^the Cypher ended Kùzu's process \(SIGSEGV\), a fault of Kùzu"):
        own.query(query)
    assert own.query("RETURN 1 AS one").rows == [{"one": 1}]


@pytest.mark.long
def test_other_threads_go_on_after_a_crash(own: CypherReader) -> None:
    def ask(query: str) -> Any:
        try:
            return own.query(query).rows
        except QueryError as error:
            return str(error)[:30]

    with ThreadPoolExecutor(4) as threads:
        found = list(threads.map(ask, ["RETURN 1 AS n", CRASH, "RETURN 2 AS n", "RETURN 3 AS n"]))
    assert found == [[{"n": 1}], "the Cypher ended Kùzu's proces", [{"n": 2}], [{"n": 3}]]


@pytest.mark.long
@pytest.mark.skipif(not Path("/proc/self/statm").exists(), reason="a limit of Linux")
def test_too_much_memory_is_said(reader: CypherReader) -> None:
    with pytest.raises(QueryError, match=r"^the Cypher needs more than 2 GB of memory; narrow it and ask again$"):
        reader.query("UNWIND range(1, 200000000) AS x RETURN x")
    assert reader.query("RETURN 1 AS one").rows == [{"one": 1}]


@pytest.mark.long
def test_an_answer_that_is_too_large_is_said(own: CypherReader, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reading, "_ANSWER_MB", 1)
    with pytest.raises(QueryError, match=r"^the answer is larger than 1 MB; return fewer columns or rows$"):
        own.query("UNWIND range(1, 1000) AS x RETURN repeat('x', 2000)")
    assert own.query("RETURN 1 AS one").rows == [{"one": 1}]


@pytest.mark.parametrize(
    "messages",
    [
        [b"r[[1]]"],
        [b'c["a"]', b"r[[1,2]]"],
        [b'c["a"]', b"r[1]"],
        [b"c1", b"r[[1]]"],
        [b"r\x80\x04."],
        [b'c["a"]', b"r" + b"[" * 50_000],
        [b'c["a"]', b"."],
    ],
)
def test_a_process_that_was_taken_over_can_answer_nothing_else(
    graph: Path, monkeypatch: pytest.MonkeyPatch, messages: list[bytes]
) -> None:
    monkeypatch.setattr(reading, "_PROCESS", "tests.indexes.cypher.hostile")
    monkeypatch.setattr(
        reading, "Pool", lambda module, _, most: Pool(module, [one.hex() for one in messages], most=most)
    )
    with (
        closing(CypherReader(graph)) as reader,
        pytest.raises(QueryError, match=r"^Kùzu's process gave no usable answer"),
    ):
        reader.query("RETURN 1")


@pytest.mark.parametrize("content", [None, b"x" * 10_000])
def test_a_missing_or_damaged_graph(tmp_path: Path, content: bytes | None) -> None:
    path = tmp_path / "graph.kuzu"
    if content is not None:
        path.write_bytes(content)
    with (
        closing(CypherReader(path)) as reader,
        pytest.raises(
            StoreError, match=r"^the graph .*graph\.kuzu cannot be opened: .*; run `lightrag-dagster run --verify`$"
        ),
    ):
        reader.query("RETURN 1")


def test_a_closed_reader_says_so(own: CypherReader) -> None:
    own.query("RETURN 1")
    own.close()
    own.close()
    with pytest.raises(QueryError, match=r"^the knowledge base is closed; open it again$"):
        own.query("RETURN 1")


@pytest.mark.long
@pytest.mark.filterwarnings("ignore:.*fork")  # of a process with threads, from Python 3.12
def test_a_fork_asks_a_process_of_its_own(own: CypherReader) -> None:
    own.query("RETURN 1")
    before, (output, into) = pid(own), os.pipe()
    forked = os.fork()
    if not forked:
        try:
            rows = own.query("RETURN 1 AS one").rows
            os.write(into, f"{rows} {pid(own) == before}".encode())
            own.close()
        finally:
            os._exit(0)
    os.close(into)
    with os.fdopen(output) as answer:
        assert answer.read() == "[{'one': 1}] False"
    os.waitpid(forked, 0)
    own.query("RETURN 1")
    assert pid(own) == before

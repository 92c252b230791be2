"""SQL in processes of its own: what it may cost, and what ends them."""

import asyncio
import os
import resource
import signal
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pyarrow as pa
import pytest

from lightrag_dagster import KnowledgeBase
from lightrag_dagster.core.child import Child
from lightrag_dagster.errors import ClosedError, QueryError, QueryTimeoutError, StoreError

ENDLESS = "SELECT count(*) FROM range(100000000) AS a, range(100000000) AS b"
GIANT = "SELECT repeat('x', 1500000000) FROM range(1000)"  # is not interrupted


@pytest.fixture(scope="module")
def knowledge(published_home: Path) -> Iterator[KnowledgeBase]:
    with KnowledgeBase.open(published_home) as opened:
        opened.sql("SELECT 1")
        yield opened


def children(knowledge: KnowledgeBase) -> set[Child]:
    return set(knowledge._opened.sql._processes._children)


def over(child: Child) -> bool:
    """Say whether a process has ended; who started it may have taken note of that, or not."""
    try:
        return child.process.poll() is not None or "Z (" in Path(f"/proc/{child.process.pid}/status").read_text()
    except OSError:
        return True


def until(reached: Callable[[], object], seconds: float = 5) -> None:
    end = time.monotonic() + seconds
    while not reached():
        assert time.monotonic() < end
        time.sleep(0.01)


@pytest.mark.parametrize("trusted", [False, pytest.param(True, marks=pytest.mark.long)])
def test_both_ways_give_the_same(knowledge: KnowledgeBase, trusted: bool) -> None:
    statement = "CREATE TEMP TABLE t AS FROM entities; FROM t ORDER BY ALL"
    found = knowledge.sql(statement, trusted=trusted)
    assert found.num_rows == 7
    assert found == knowledge.sql("FROM entities ORDER BY ALL")
    assert knowledge.sql("SELECT count(*) AS n FROM snapshots", trusted=trusted).to_pydict() == {"n": [1]}
    with pytest.raises(QueryError, match="the SQL cannot be run: Catalog Error"):
        knowledge.sql("FROM t", trusted=trusted)


def test_memory_is_bounded_and_the_caller_lives(knowledge: KnowledgeBase) -> None:
    with pytest.raises(QueryError, match=r"the SQL (needs more memory|ended its process)"):
        knowledge.sql("SELECT list_sum(range(3000000000))")
    assert knowledge.sql("SELECT 1 AS a").to_pydict() == {"a": [1]}


def test_a_disk_without_room_for_the_rows_is_no_fault_of_the_question(published_home: Path) -> None:
    with KnowledgeBase.open(published_home) as knowledge:
        knowledge.sql("SELECT 1")
        (child,) = children(knowledge)
        resource.prlimit(child.process.pid, resource.RLIMIT_FSIZE, (0, resource.RLIM_INFINITY))
        with pytest.raises(StoreError, match="the rows cannot be written to "):
            knowledge.sql("SELECT 1 AS a")


@pytest.mark.parametrize("statement", [ENDLESS, pytest.param(GIANT, marks=pytest.mark.long)])
def test_time_is_bounded_whatever_the_statement(knowledge: KnowledgeBase, statement: str) -> None:
    knowledge.sql("SELECT 1")
    started = time.monotonic()
    with pytest.raises(QueryTimeoutError, match=r"longer than 0.2 s"):
        knowledge.sql(statement, timeout=0.2)
    assert time.monotonic() - started < 20
    assert knowledge.sql("SELECT 1 AS a", timeout=60).to_pydict() == {"a": [1]}


@pytest.mark.long
def test_a_statement_that_is_given_up_ends_its_process(knowledge: KnowledgeBase) -> None:
    async def main() -> None:
        assert (await knowledge.asql("SELECT 1 AS a")).to_pydict() == {"a": [1]}
        asked = asyncio.ensure_future(knowledge.asql(ENDLESS))
        await asyncio.sleep(0.3)
        asked.cancel()
        await asyncio.gather(asked, return_exceptions=True)

    before = children(knowledge)
    asyncio.run(main())
    until(lambda: any(map(over, before)))
    assert knowledge.sql("SELECT 1 AS a").num_rows == 1


@pytest.mark.long
def test_statements_beyond_two_wait_for_their_turn(knowledge: KnowledgeBase) -> None:
    with ThreadPoolExecutor(4) as threads:
        found = list(threads.map(lambda n: knowledge.sql(f"SELECT {n} AS n")["n"][0].as_py(), range(8)))
        assert found == list(range(8))
        assert len(children(knowledge)) <= 2
        long = [threads.submit(knowledge.sql, ENDLESS, timeout=1) for _ in range(2)]
        time.sleep(0.2)
        with pytest.raises(QueryTimeoutError, match=r"longer than 0.1 s"):
            knowledge.sql("SELECT 1", timeout=0.1)
        for one in long:
            with pytest.raises(QueryTimeoutError):
                one.result()


@pytest.mark.long
def test_a_process_that_was_killed_is_replaced(knowledge: KnowledgeBase) -> None:
    knowledge.sql("SELECT 1")
    for child in children(knowledge):
        os.kill(child.process.pid, signal.SIGKILL)
    assert knowledge.sql("SELECT 1 AS a").num_rows == 1


@pytest.mark.long
def test_the_rows_outlive_the_knowledge_base_and_leave_no_file(
    published_home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    with KnowledgeBase.open(published_home) as opened:
        rows: pa.Table = opened.sql("SELECT range AS n FROM range(100000)")
        processes = children(opened)
    assert all(map(over, processes))
    assert sum(rows["n"].to_pylist()) == 4_999_950_000
    assert list(tmp_path.iterdir()) == []


def test_closing_ends_a_running_statement(published_home: Path) -> None:
    opened = KnowledgeBase.open(published_home)
    with ThreadPoolExecutor(1) as threads:
        running = threads.submit(opened.sql, ENDLESS)
        until(lambda: children(opened), 10)
        opened.close()
        with pytest.raises(ClosedError):
            running.result(5)


@pytest.mark.long
def test_what_nothing_refers_to_any_more_leaves_no_process(published_home: Path) -> None:
    opened = KnowledgeBase.open(published_home)
    opened.sql("SELECT 1")
    processes = children(opened)
    with pytest.warns(ResourceWarning, match="left open"):
        del opened
    assert processes
    assert all(map(over, processes))


@pytest.mark.long
def test_a_fork_leaves_the_processes_of_its_parent_alone(knowledge: KnowledgeBase) -> None:
    knowledge.sql("SELECT 1")
    if (forked := os.fork()) == 0:
        try:
            knowledge.sql("SELECT 1")
        except ClosedError:
            os._exit(7)
        os._exit(1)
    assert os.waitstatus_to_exitcode(os.waitpid(forked, 0)[1]) == 7
    assert knowledge.sql("SELECT 1 AS a").num_rows == 1

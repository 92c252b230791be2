"""Questions that take too long, or whose callers leave: their calls end at once, and others do not wait for them."""

import asyncio
import shutil
import socket
import threading
import time
from collections.abc import Awaitable, Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from lightrag_dagster import KnowledgeBase
from lightrag_dagster.errors import QueryError, QueryTimeoutError, TransientProviderError
from lightrag_dagster.query.types import Keywords
from lightrag_dagster.settings import load_settings
from tests.loopback import Loopback, Reply

QUESTION = "Who closed Station 14 in the flood?"
KEYWORDS = Keywords(low_level=("Station 14",))
OPENAI = {"provider": "openai", "model": "gpt-4o-mini"}


class Silent:
    """A provider that takes connections and never answers; `open` of them were not closed by the other side."""

    def __init__(self) -> None:
        self._server = socket.create_server(("127.0.0.1", 0), backlog=500)
        self.url = f"http://127.0.0.1:{self._server.getsockname()[1]}/v1"
        self.taken = 0
        self._taken: list[socket.socket] = []
        threading.Thread(target=self._take, daemon=True).start()

    def _take(self) -> None:
        while True:
            try:
                self._taken.append(self._server.accept()[0])
                self.taken += 1
            except OSError:
                return

    @property
    def open(self) -> int:
        return sum(not _is_over(one) for one in self._taken)

    def close(self) -> None:
        for one in (self._server, *self._taken):
            one.close()


def _is_over(connection: socket.socket) -> bool:
    connection.setblocking(False)
    try:
        while connection.recv(1 << 16):
            pass
    except BlockingIOError:
        return False
    return True


def within(seconds: float, reached: Callable[[], bool]) -> None:
    end = time.monotonic() + seconds
    while not reached():
        assert time.monotonic() < end
        time.sleep(0.01)


@pytest.fixture
def home(published_home: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(published_home, tmp_path / "home"))


@pytest.fixture
def silent(monkeypatch: pytest.MonkeyPatch) -> Iterator[Silent]:
    server = Silent()
    monkeypatch.setenv("OPENAI_API_KEY", "none")
    monkeypatch.setenv("OPENAI_BASE_URL", server.url)
    yield server
    server.close()


@pytest.fixture
def hanging(home: Path, silent: Silent) -> Iterator[KnowledgeBase]:
    with KnowledgeBase.open(settings=load_settings(home=home, llm=OPENAI | {"max_concurrency": 100})) as knowledge:
        yield knowledge


def test_questions_that_hang_hinder_no_others_and_end_when_they_are_given_up(
    hanging: KnowledgeBase, silent: Silent
) -> None:
    """After 32 that hung, given up or not, no method of event loops answered for minutes."""
    threads = threading.active_count()

    async def main() -> None:
        asked = [asyncio.ensure_future(hanging.aquery(f"{QUESTION} {number}")) for number in range(40)]
        while silent.taken < len(asked):
            await asyncio.sleep(0.01)
        async with asyncio.timeout(20):
            assert (await hanging.aretrieve("Station 14", mode="bm25")).chunks
        for one in asked:
            one.cancel()
        async with asyncio.timeout(20):
            assert (await hanging.aretrieve("Station 14", mode="bm25")).chunks

    asyncio.run(main())
    assert silent.taken == 40  # no retries either
    within(20, lambda: not silent.open)
    started = time.monotonic()
    hanging.close()
    assert time.monotonic() - started < 20
    assert threading.active_count() <= threads


async def _streamed(knowledge: KnowledgeBase, **options: Any) -> list[str]:
    return [piece async for piece in knowledge.astream(QUESTION, **options)]


ASYNC: dict[str, Callable[..., Awaitable[object]]] = {
    "aquery": lambda knowledge, **options: knowledge.aquery(QUESTION, mode="naive", **options),
    "aretrieve": lambda knowledge, **options: knowledge.aretrieve(QUESTION, mode="local", **options),
    "astream": lambda knowledge, **options: _streamed(knowledge, mode="naive", **options),
}
SYNC: dict[str, Callable[..., object]] = {
    "query": lambda knowledge, **options: knowledge.query(QUESTION, mode="naive", **options),
    "query_batch": lambda knowledge, **options: knowledge.query_batch([QUESTION], mode="bypass", **options),
    "retrieve": lambda knowledge, **options: knowledge.retrieve(QUESTION, mode="local", **options),
    "keywords": lambda knowledge, **options: knowledge.keywords(QUESTION, **options),
    "stream": lambda knowledge, **options: list(knowledge.stream(QUESTION, mode="naive", **options)),
}


def test_cypher_takes_no_turn_of_others_and_ends_with_its_caller(home: Path) -> None:
    endless = "UNWIND range(1, 100000) AS a UNWIND range(1, 100000) AS b WITH a + b AS c RETURN count(c)"

    async def ask(knowledge: KnowledgeBase) -> None:
        assert await knowledge.acypher("RETURN 1 AS one", timeout=30) == [{"one": 1}]
        crowd = [asyncio.create_task(knowledge.acypher(endless)) for _ in range(40)]
        await asyncio.sleep(0.2)
        assert (await asyncio.wait_for(knowledge.afind("Halden"), 10)).matches
        for one in crowd:
            one.cancel()
        await asyncio.gather(*crowd, return_exceptions=True)
        assert await asyncio.wait_for(knowledge.acypher("RETURN 2 AS two"), 20) == [{"two": 2}]
        with pytest.raises(QueryTimeoutError, match=r"the question took longer than 0.3 s"):
            await knowledge.acypher(endless, timeout=0.3)

    with KnowledgeBase.open(home) as knowledge:
        asyncio.run(ask(knowledge))
        with pytest.raises(QueryTimeoutError, match=r"the question took longer than 0.3 s"):
            knowledge.cypher(endless, timeout=0.3)
        assert knowledge.cypher("RETURN 1 AS one", timeout=20) == [{"one": 1}]


@pytest.mark.parametrize("name", [*ASYNC, *SYNC])
def test_a_question_ends_in_time_and_its_request_with_it(hanging: KnowledgeBase, silent: Silent, name: str) -> None:
    async def awaited() -> object:
        return await ASYNC[name](hanging, timeout=0.3)

    started = time.monotonic()
    with pytest.raises(QueryTimeoutError, match=r"the question took longer than 0.3 s; give it more time"):
        asyncio.run(awaited()) if name in ASYNC else SYNC[name](hanging, timeout=0.3)
    assert time.monotonic() - started < 20
    within(20, lambda: not silent.open)
    assert silent.taken == 1


def test_a_stream_that_its_reader_leaves_is_no_longer_asked_for(home: Path, loopback: Loopback) -> None:
    head = b'data: {"id":"1","created":1,"model":"m","object":"chat.completion.chunk","choices":[{"index":0,"delta":'
    word = head + b'{"content":"Jonas "},"finish_reason":null}]}\n\n'
    loopback.script.append(Reply(200, (word,) * 1000, {"content-type": "text/event-stream"}, pause=0.01))

    async def first() -> str:
        async for piece in knowledge.astream(QUESTION, mode="naive"):
            return piece
        return ""

    with KnowledgeBase.open(settings=load_settings(home=home, llm=OPENAI)) as knowledge:
        assert asyncio.run(first()) == "Jonas "
        waiting = knowledge._opened.models._loop._loop
        within(20, lambda: not asyncio.all_tasks(waiting))


def test_a_question_that_was_streamed_can_be_answered(home: Path, loopback: Loopback) -> None:
    loopback.chat = lambda body: "Jonas Feld."

    async def stream_and_answer() -> tuple[str, str]:
        prepared = await knowledge.aprepare(QUESTION, mode="naive")
        return "".join([piece async for piece in knowledge.astream(prepared)]), knowledge.answer(prepared).text

    with KnowledgeBase.open(settings=load_settings(home=home, llm=OPENAI)) as knowledge:
        assert asyncio.run(stream_and_answer()) == ("Jonas Feld. ", "Jonas Feld.")


def test_a_question_whose_stream_was_left_can_be_asked_again(home: Path, loopback: Loopback) -> None:
    loopback.chat = lambda body: "Jonas Feld."

    async def leave_and_answer() -> tuple[str, str, str]:
        prepared = await knowledge.aprepare(QUESTION, mode="naive")
        left = knowledge.astream(prepared)
        first = await anext(left)
        await left.aclose()  # type: ignore[attr-defined]
        again = "".join([piece async for piece in knowledge.astream(prepared)])
        return first, again, knowledge.answer(prepared).text

    with KnowledgeBase.open(settings=load_settings(home=home, llm=OPENAI)) as knowledge:
        assert asyncio.run(leave_and_answer()) == ("Jonas ", "Jonas Feld. ", "Jonas Feld.")


@pytest.mark.parametrize(
    ("llm", "query", "attempts"),
    [
        pytest.param({}, {}, 3, marks=pytest.mark.long),
        ({"max_retries": 1}, {}, 2),
        ({}, {"max_retries": 0}, 1),
    ],
)
def test_a_question_is_retried_less_than_a_build(
    home: Path, loopback: Loopback, llm: dict[str, int], query: dict[str, int], attempts: int
) -> None:
    loopback.fault = lambda received: Reply.error(500, retry_after="0")
    with (
        KnowledgeBase.open(settings=load_settings(home=home, llm=OPENAI | llm, query=query)) as knowledge,
        pytest.raises(TransientProviderError),
    ):
        knowledge.query(QUESTION, mode="bypass")
    assert len(loopback.requests) == attempts


@pytest.mark.parametrize("timeout", [0, -1, float("nan"), float("inf"), "1", True, 1e12])
def test_a_time_that_is_none_is_refused(published_home: Path, timeout: Any) -> None:
    with KnowledgeBase.open(published_home) as knowledge:
        for ask in (knowledge.query, lambda *given, **options: asyncio.run(knowledge.aquery(*given, **options))):
            with pytest.raises(QueryError, match=r"timeout (takes a number|.* more than 0 s, and 9)"):
                ask(QUESTION, timeout=timeout)


LOOKUPS: dict[str, tuple[str, ...]] = {
    **dict.fromkeys(("find", "entity", "neighbours", "facts", "count"), ("Station 14",)),
    "path": ("Station 14", "Halden Weir"),
    **dict.fromkeys(("communities", "changes"), ()),
    "sql": ("FROM chunks",),
    "cypher": ("RETURN 1",),
}


@pytest.mark.parametrize("name", [*LOOKUPS, *(f"a{one}" for one in LOOKUPS)])
def test_every_question_takes_a_time(published_home: Path, name: str) -> None:
    def ask(timeout: float) -> object:
        found = getattr(knowledge, name)(*LOOKUPS[name.removeprefix("a")], timeout=timeout)
        return asyncio.run(found) if name not in LOOKUPS else found

    with KnowledgeBase.open(published_home) as knowledge:
        with pytest.raises(QueryTimeoutError, match="the question took longer than 1e-09 s"):
            ask(1e-9)
        with pytest.raises(QueryError, match="timeout"):
            ask(0)
        if name.endswith("changes"):
            with pytest.raises(QueryError, match="there is no snapshot before"):
                ask(60)
        else:
            assert ask(60) is not None


def test_work_that_takes_too_long_is_not_waited_for(published_home: Path) -> None:
    with KnowledgeBase.open(published_home) as knowledge:
        started, ended = time.monotonic(), threading.Event()
        with pytest.raises(QueryTimeoutError, match=r"took longer than 0\.1 s"):
            knowledge._opened.in_time(lambda: ended.wait(60), 0.1)
        assert time.monotonic() - started < 20
        ended.set()

"""One object that asks the newest snapshot, while others are published and collected."""

import asyncio
import copy
import gc
import inspect
import logging
import pickle
import shutil
import threading
import time
import weakref
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from lightrag_dagster import Filters, KnowledgeBase
from lightrag_dagster.errors import ClosedError, NoSnapshotError
from lightrag_dagster.settings import RetentionSettings, Settings
from lightrag_dagster.storage.home import Home
from lightrag_dagster.storage.snapshots.gc import collect_garbage
from lightrag_dagster.storage.snapshots.snapshots import require_published
from tests.query.published import publish_sources
from tests.support import RIVER, build, first_build, write_source

QUESTION = "Who maintains Halden Weir?"
NAMES = ("Marta Lindqvist", "Priya Nair", "Emil Dorn")


def publish(settings: Settings, name: str) -> str:
    return publish_sources(settings, {"notes": {"a.md": f"{name} maintains Halden Weir."}}).snapshot_id


@pytest.fixture
def following(settings: Settings) -> Iterator[KnowledgeBase]:
    write_source(settings, "notes", {"a.md": f"{NAMES[0]} maintains Halden Weir."})
    first_build(settings)
    with KnowledgeBase.follow(settings=settings) as knowledge:
        yield knowledge


def until(reached: weakref.ref[KnowledgeBase]) -> None:
    end = time.monotonic() + 5
    while reached() is not None:
        assert time.monotonic() < end
        time.sleep(0.01)


@pytest.mark.long
def test_it_asks_what_is_published_when_a_question_begins(following: KnowledgeBase, settings: Settings) -> None:
    assert NAMES[0] in following.context(QUESTION, mode="naive")
    new = publish(settings, NAMES[1])
    assert following.refresh() is following
    assert following.snapshot_id == following.manifest.snapshot_id == new
    assert NAMES[1] in following.context(QUESTION, mode="naive")
    newest = publish(settings, NAMES[2])
    deadline = time.monotonic() + 5
    while (found := following.query(QUESTION, mode="naive")).snapshot_id != newest:  # at the next look
        assert time.monotonic() < deadline
        time.sleep(0.1)
    assert NAMES[2] in found.text
    assert repr(following).startswith(f"the newest KnowledgeBase({newest}")


def test_it_has_all_that_a_knowledge_base_has(following: KnowledgeBase) -> None:
    assert isinstance(following, KnowledgeBase)
    for duplicated in (pickle.dumps, copy.copy):
        with pytest.raises(TypeError, match="cannot be pickled or copied"):
            duplicated(following)
    assert asyncio.run(following.acommunities()).equals(following.communities())
    public = {name for name, _ in inspect.getmembers(KnowledgeBase) if not name.startswith("_")}
    assert public <= set(dir(following))
    for name in public - {"open", "follow"}:
        assert callable(getattr(following, name)) == callable(getattr(KnowledgeBase, name))
    assert following.settings.home == Path(following.snapshot.generation.home.root)
    with pytest.raises(AttributeError):
        following.nothing  # type: ignore[attr-defined]  # noqa: B018


@pytest.mark.long
def test_event_loops_get_the_newest_too(following: KnowledgeBase, settings: Settings) -> None:
    async def ask() -> tuple[str, str, str]:
        text = "".join([piece async for piece in following.astream(QUESTION, mode="naive")])
        answer = await following.aquery(QUESTION, mode="naive")
        return text, answer.text, (await following.aentity("Halden Weir")).name

    publish(settings, NAMES[1])
    time.sleep(1)
    text, answer, name = asyncio.run(ask())
    assert NAMES[1] in text
    assert NAMES[1] in answer
    assert name == "Halden Weir"


@pytest.mark.long
def test_the_one_before_is_closed_when_its_questions_have_ended(following: KnowledgeBase, settings: Settings) -> None:
    """Python's warnings are errors: none says that one was left open."""
    old = weakref.ref(following._newest)  # type: ignore[attr-defined]
    pieces = following.stream(QUESTION, mode="naive")
    threads = threading.active_count()
    publish(settings, NAMES[1])
    following.refresh()
    gc.collect()
    assert old() is not None
    assert NAMES[0] in "".join(pieces)
    del pieces
    until(old)
    assert NAMES[1] in following.query(QUESTION, mode="naive").text
    assert threading.active_count() <= threads


@pytest.mark.long
def test_a_scope_that_was_removed_answers_no_more(settings: Settings) -> None:
    filtered = settings.changed(scopes={"some": {"sources": ("notes",)}})
    write_source(filtered, "notes", {"river.md": RIVER})
    build(filtered)
    with KnowledgeBase.follow(scope="some", settings=filtered) as following:
        assert following.retrieve("gauge", mode="bm25").chunks
        assert not following.ready
        following.warm()
        assert following.ready
        build(filtered.changed(scopes={}))
        time.sleep(1)
        assert not following.ready, "which looks, as questions do: without it, none might come any more"
        for _ in range(2):
            with pytest.raises(NoSnapshotError, match="no scope some is published"):
                following.refresh()
            with pytest.raises(NoSnapshotError):
                following.retrieve("gauge", mode="bm25")
        build(filtered)
        following.refresh()
        assert following.retrieve("gauge", mode="bm25").chunks
        assert following.ready


@pytest.mark.long
def test_a_scope_whose_newest_snapshot_cannot_be_opened_answers_no_more(settings: Settings) -> None:
    """It may show less than the one before."""
    wide = settings.changed(scopes={"some": {"paths": ("*",)}})
    write_source(wide, "notes", {"a.md": RIVER, "b.md": f"{NAMES[2]} sold the ferry."})
    build(wide)
    with KnowledgeBase.follow(scope="some", settings=wide) as following:
        assert following.retrieve("ferry", mode="bm25").chunks
        narrow = wide.changed(scopes={"some": {"paths": ("a.md",)}})
        build(narrow)
        below = Home.of(narrow.within("some"))
        adjacency = below.generation(require_published(below).snapshot_id) / "adjacency"
        adjacency.rename(adjacency.with_name("elsewhere"))
        with pytest.raises(NoSnapshotError, match="the newest snapshot of scope some cannot be opened: "):
            following.refresh()
        with pytest.raises(NoSnapshotError):
            following.retrieve("ferry", mode="bm25")
        adjacency.with_name("elsewhere").rename(adjacency)
        following.refresh()
        assert {one.path for one in following.retrieve("ferry", mode="bm25").chunks} <= {"a.md"}


@pytest.mark.long
def test_no_question_fails_while_snapshots_come_and_go(following: KnowledgeBase, settings: Settings) -> None:
    over = threading.Event()

    def ask(number: int) -> set[str]:
        seen = set()
        while not over.wait(0.02):
            if not number:
                following.refresh()
            filters = Filters(sources="notes") if number % 2 else Filters()
            seen.add(following.query(QUESTION, mode="naive", filters=filters).snapshot_id)
        return seen

    with ThreadPoolExecutor(4) as threads:
        asking = [threads.submit(ask, number) for number in range(4)]
        published = {following.snapshot_id}
        for name in NAMES[1:]:
            published.add(publish(settings, name))
            collect_garbage(Home(settings.home), RetentionSettings(snapshots=1, grace_days=0), dry_run=False)
        time.sleep(0.5)
        over.set()
        seen = set[str]().union(*(one.result() for one in asking))
    assert len(seen) > 1
    assert seen <= published


@pytest.mark.long
def test_each_snapshot_is_warmed_before_it_is_asked(following: KnowledgeBase, settings: Settings) -> None:
    assert not following.ready
    following.warm([Filters(sources="notes")])
    assert following.ready
    publish(settings, NAMES[1])
    following.refresh()
    assert following.ready
    assert set(following._newest._opened.retriever._views._entries) == {Filters(sources="notes")}
    following.close()
    assert not following.ready
    with pytest.raises(ClosedError):
        following.query(QUESTION)


@pytest.mark.long
def test_a_warmed_source_that_is_gone_holds_no_snapshot_back(settings: Settings) -> None:
    notes = {"notes": {"a.md": f"{NAMES[0]} maintains Halden Weir."}}
    publish_sources(settings, notes | {"old": {"b.md": f"{NAMES[1]} guards the vault."}})
    with KnowledgeBase.follow(settings=settings) as following:
        following.warm([Filters(sources="old"), Filters(sources="notes")])
        shutil.rmtree(settings.sources / "old")
        Home(settings.home).accepted("old").unlink()
        new = publish_sources(settings, notes).snapshot_id
        following.refresh()
        assert following.snapshot_id == new
        assert following.ready


@pytest.mark.long
def test_a_snapshot_that_cannot_be_opened_is_not_taken_up(
    following: KnowledgeBase, settings: Settings, caplog: pytest.LogCaptureFixture
) -> None:
    new = Path(settings.home, "generations", publish(settings, NAMES[1]))
    shutil.move(new / "adjacency", new / "elsewhere")
    with caplog.at_level(logging.WARNING):
        for _ in range(2):
            following.refresh()
    assert NAMES[0] in following.query(QUESTION, mode="naive").text
    assert [record.message for record in caplog.records if "is asked still" in record.message] != []
    assert len([record for record in caplog.records if "is asked still" in record.message]) == 1
    shutil.move(new / "elsewhere", new / "adjacency")
    following.refresh()
    assert NAMES[1] in following.query(QUESTION, mode="naive").text


@pytest.mark.long
def test_one_that_cannot_be_warmed_is_closed_at_once(following: KnowledgeBase, settings: Settings) -> None:
    """Python's warnings are errors: none says that one was left open."""
    following.warm()
    new = Path(settings.home, "generations", publish(settings, NAMES[1]))
    (new / "entity_evidence.parquet").write_bytes(b"")
    following.refresh()
    gc.collect()
    assert following.snapshot_id != new.name


@pytest.mark.long
def test_warming_asks_no_model(settings: Settings, monkeypatch: pytest.MonkeyPatch) -> None:
    publish(settings, NAMES[0])
    monkeypatch.setenv("OPENAI_API_KEY", "none")
    monkeypatch.setenv("OPENAI_BASE_URL", "http://127.0.0.1:1/v1")
    for changes in ({"mode": "mix"}, {"mode": "bypass"}, {"filter_relations": True, "hops": 2}):
        asking = settings.changed(llm={"provider": "openai", "model": "gpt-4o-mini"}, query=changes)
        with KnowledgeBase.open(settings=asking) as knowledge:
            assert not knowledge.ready
            knowledge.warm()
            assert knowledge.ready


def test_without_a_snapshot_there_is_nothing_to_follow(settings: Settings) -> None:
    with pytest.raises(NoSnapshotError):
        KnowledgeBase.follow(settings.home, settings=settings)

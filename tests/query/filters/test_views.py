import gc
import weakref
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from threading import Barrier, Event
from typing import Any, cast

import duckdb
import pytest

from lightrag_dagster import Filters, Keywords, KnowledgeBase
from lightrag_dagster.query.filters.view import View, filtered
from lightrag_dagster.query.filters.views import Views
from lightrag_dagster.query.snapshot import Snapshot, open_snapshot
from lightrag_dagster.storage.home import Home

KEYWORDS = Keywords(("places",), ("Marta",))
ONE, OTHER = Filters(sources="one"), Filters(sources="other")


class Made:
    """A view."""

    def __init__(self, filters: Filters) -> None:
        self.filters = filters


@pytest.fixture
def made() -> list[weakref.ref[Made]]:
    return []


@pytest.fixture
def making(made: list[weakref.ref[Made]]) -> Callable[[Filters], Snapshot]:
    def make(filters: Filters) -> Snapshot:
        view = Made(filters)
        made.append(weakref.ref(view))
        return cast("Snapshot", view)

    return make


def test_a_view_is_made_once_and_freed_with_the_cache(
    made: list[weakref.ref[Made]], making: Callable[[Filters], Snapshot]
) -> None:
    views = Views(making)
    for filters in (ONE, OTHER, Filters(sources=["one"])):
        assert cast("Made", views.view(filters)).filters == filters
    assert len(made) == 2
    assert all(one() for one in made)
    views.close()
    assert not any(one() for one in made)


def test_the_one_used_longest_ago_makes_room(
    made: list[weakref.ref[Made]], making: Callable[[Filters], Snapshot]
) -> None:
    views = Views(making)
    for number in [*range(8), 0, 8]:
        views.view(Filters(paths=str(number)))
    assert [number for number, one in enumerate(made) if one() is None] == [1]
    views.view(Filters(paths="1"))
    assert len(made) == 10


def test_a_view_in_use_is_freed_when_its_questions_end(
    made: list[weakref.ref[Made]], making: Callable[[Filters], Snapshot]
) -> None:
    views = Views(making)
    questions = [views.view(ONE), views.view(ONE)]
    views.close()
    assert made[0]() is cast("Made", questions[0])
    questions.clear()
    assert made[0]() is None


def test_many_threads_make_one_view_and_do_not_wait_for_another(
    made: list[weakref.ref[Made]], making: Callable[[Filters], Snapshot]
) -> None:
    going_on, at_once = Event(), Barrier(5)

    def make(filters: Filters) -> Snapshot:
        if filters == ONE:
            going_on.wait(30)
        return making(filters)

    def ask(filters: Filters) -> object:
        at_once.wait(30)
        view = views.view(filters)
        if filters == OTHER:
            going_on.set()  # the others wait until this one has its view
        return view

    views = Views(make)
    with ThreadPoolExecutor(5) as threads:
        found = list(threads.map(ask, [ONE] * 4 + [OTHER]))
    assert len(made) == 2
    assert len(set(map(id, found[:4]))) == 1
    assert going_on.is_set()


def test_one_that_cannot_be_made_is_tried_again(
    made: list[weakref.ref[Made]], making: Callable[[Filters], Snapshot]
) -> None:
    fails = [True]

    def make(filters: Filters) -> Snapshot:
        if fails.pop() if fails else False:
            raise ValueError("no such source")
        return making(filters)

    views = Views(make)
    with pytest.raises(ValueError, match="no such source"):
        views.view(ONE)
    assert views.view(ONE) is views.view(ONE)
    assert len(made) == 1


def test_filters_that_fail_take_no_place_of_a_good_one(making: Callable[[Filters], Snapshot]) -> None:
    def make(filters: Filters) -> Snapshot:
        if filters == ONE:
            return making(filters)
        raise ValueError("no such source")

    views = Views(make)
    kept = views.view(ONE)
    for number in range(20):
        with pytest.raises(ValueError, match="no such source"):
            views.view(Filters(sources=f"none {number}"))
    assert views.view(ONE) is kept


@pytest.fixture
def snapshot(published_home: Path) -> Iterator[Snapshot]:
    opened = open_snapshot(Home(published_home), None)
    yield opened
    opened.close()


def test_closing_a_view_closes_its_database_and_leaves_the_snapshot(snapshot: Snapshot) -> None:
    view = filtered(snapshot, Filters(sources="office"))
    known = view.graph.entities.ids[:1].astype(str).tolist()
    view.close()
    with pytest.raises(duckdb.ConnectionException, match="closed"):
        view.evidence.merged(
            view.graph.entities.rows_of(known), view.graph.relations.rows_of([]), view.graph.entity_relations
        )
    assert snapshot.vectors["entity_vectors"].vectors(known)


def test_a_knowledge_base_closes_the_views_of_its_filters(
    published_home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    databases: list[duckdb.DuckDBPyConnection] = []

    def remembered(*arguments: Any) -> View:
        view = filtered(*arguments)
        databases.append(view.evidence._connection)
        return view

    monkeypatch.setattr("lightrag_dagster.query.filters.view.filtered", remembered)
    monkeypatch.setattr("lightrag_dagster.query.filters.views._KEPT", 1)
    with without_collector(), KnowledgeBase.open(published_home) as knowledge:
        for source in ("archive", "office"):
            seen = Filters(sources=source)
            for mode in ("mix", "fusion"):
                knowledge.retrieve("Who is where?", mode=mode, keywords=KEYWORDS, filters=seen)
            knowledge.find("Marta", filters=seen)
        assert [_is_closed(one) for one in databases] == [True, False]
        knowledge.close()
        assert [_is_closed(one) for one in databases] == [True, True]


@contextmanager
def without_collector() -> Iterator[None]:
    """Let no collector of cycles free what something refers to still."""
    gc.disable()
    try:
        yield
    finally:
        gc.enable()


def _is_closed(database: duckdb.DuckDBPyConnection) -> bool:
    try:
        database.execute("SELECT 1")
    except duckdb.ConnectionException:
        return True
    return False

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Barrier, Event
from typing import Any, cast

import duckdb
import pytest

from lightrag_dagster import Filters, KnowledgeBase
from lightrag_dagster.query.filters.view import View, filtered
from lightrag_dagster.query.filters.views import Views
from lightrag_dagster.query.snapshot import Snapshot, open_snapshot
from lightrag_dagster.storage.home import Home

ONE, OTHER = Filters(sources="one"), Filters(sources="other")


class Made:
    """A view that knows whether it is closed."""

    def __init__(self, filters: Filters) -> None:
        self.filters = filters
        self.closed = 0

    def close(self) -> None:
        self.closed += 1


@pytest.fixture
def made() -> list[Made]:
    return []


@pytest.fixture
def making(made: list[Made]) -> Callable[[Filters], Snapshot]:
    def make(filters: Filters) -> Snapshot:
        made.append(Made(filters))
        return cast("Snapshot", made[-1])

    return make


def test_a_view_is_made_once_and_closed_with_the_cache(made: list[Made], making: Callable[[Filters], Snapshot]) -> None:
    views = Views(making)
    for filters in (ONE, OTHER, Filters(sources=["one"])):
        with views.view(filters) as view:
            assert cast("Made", view).filters == filters
    assert [one.closed for one in made] == [0, 0]
    views.close()
    assert [one.closed for one in made] == [1, 1]


def test_the_one_used_longest_ago_makes_room(made: list[Made], making: Callable[[Filters], Snapshot]) -> None:
    views = Views(making)
    for number in [*range(8), 0, 8]:
        with views.view(Filters(paths=str(number))):
            pass
    assert [one.filters.paths for one in made if one.closed] == [("1",)]
    with views.view(Filters(paths="1")):
        assert len(made) == 10


def test_a_view_in_use_is_closed_when_its_questions_end(
    made: list[Made], making: Callable[[Filters], Snapshot]
) -> None:
    views = Views(making)
    with views.view(ONE), views.view(ONE):
        views.close()
        assert made[0].closed == 0
    assert made[0].closed == 1


def test_many_threads_make_one_view_and_do_not_wait_for_another(made: list[Made]) -> None:
    going_on, at_once = Event(), Barrier(5)

    def make(filters: Filters) -> Snapshot:
        made.append(Made(filters))
        if filters == ONE:
            going_on.wait(30)
        return cast("Snapshot", made[-1])

    def ask(filters: Filters) -> object:
        at_once.wait(30)
        with views.view(filters) as view:
            if filters == OTHER:
                going_on.set()  # the others wait until this one has its view
            return view

    views = Views(make)
    with ThreadPoolExecutor(5) as threads:
        found = list(threads.map(ask, [ONE] * 4 + [OTHER]))
    assert len(made) == 2
    assert len(set(map(id, found[:4]))) == 1
    assert going_on.is_set()


def test_one_that_cannot_be_made_is_tried_again(made: list[Made], making: Callable[[Filters], Snapshot]) -> None:
    fails = [True]

    def make(filters: Filters) -> Snapshot:
        if fails.pop() if fails else False:
            raise ValueError("no such source")
        return making(filters)

    views = Views(make)
    with pytest.raises(ValueError, match="no such source"), views.view(ONE):
        pass
    with views.view(ONE), views.view(ONE):
        assert len(made) == 1


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
    views: list[View] = []

    def remembered(*arguments: Any) -> View:
        views.append(filtered(*arguments))
        return views[-1]

    monkeypatch.setattr("lightrag_dagster.query.filters.view.filtered", remembered)
    monkeypatch.setattr("lightrag_dagster.query.filters.views._KEPT", 1)
    with KnowledgeBase.open(published_home) as knowledge:
        for source in ("archive", "office"):
            knowledge.retrieve("Who is where?", mode="naive", filters=Filters(sources=source))
        assert [_is_closed(one) for one in views] == [True, False]
    assert [_is_closed(one) for one in views] == [True, True]


def _is_closed(view: View) -> bool:
    try:
        view.evidence._connection.execute("SELECT 1")
    except duckdb.ConnectionException:
        return True
    return False

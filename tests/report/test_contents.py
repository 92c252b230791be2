"""A page has what the snapshot has, and counts what it leaves out."""

import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from lightrag_dagster import Filters, KnowledgeBase
from lightrag_dagster.report.bounds import BOUNDS
from lightrag_dagster.report.fitting import size_of
from lightrag_dagster.settings import Settings, load_settings
from lightrag_dagster.storage.home import Home
from tests.query.published import SOURCES, publish_sources
from tests.report.homes import report
from tests.support import FLOOD, RIVER, build, write_source


@pytest.mark.long
def test_entities_quotes_and_citations_are_those_that_the_graph_answers(published_home: Path) -> None:
    data = report(Home(published_home)).data
    entities, quotes, documents = data["entities"], data["quotes"], data["documents"]
    assert entities["degree"] == sorted(entities["degree"], reverse=True)
    with KnowledgeBase.open(published_home) as knowledge:
        for number, name in enumerate(entities["id"]):
            profile = knowledge.entity(name, limit=5)
            assert entities["name"][number] == profile.name
            assert data["types"][entities["type"][number]] == profile.type
            assert entities["description"][number] == profile.description
            assert (entities["degree"][number], entities["passages"][number]) == (profile.degree, profile.passages)
            sources = [data["sources"][one] for one in data["source_sets"][entities["sources"][number]]]
            assert tuple(sources) == profile.sources
            places = list(zip(documents["source"], documents["path"], documents["date"], strict=True))
            shown = [
                (quotes["text"][at], data["sources"][places[one][0]], *places[one][1:])
                for at, one in enumerate(quotes["document"])
                if quotes["entity"][at] == number
            ]
            assert shown == [(one.text, one.source, one.path, one.date) for one in profile.evidence]
            ends = zip(data["relations"]["a"], data["relations"]["b"], strict=True)
            neighbours = {a + b - number for a, b in ends if number in (a, b)}
            assert {entities["name"][one] for one in neighbours} == {
                one.name for one in knowledge.neighbours(name, 1, limit=100).neighbours
            }


@pytest.mark.long
def test_relations_are_the_strongest_and_the_rest_is_counted(published_home: Path) -> None:
    whole = report(Home(published_home))
    weights = whole.data["relations"]["weight"]
    assert weights == sorted(weights, reverse=True)
    number = whole.contents.figures["entities"]
    assert not [note for note in whole.notes if "more" in note]
    cut = report(Home(published_home), bounds=replace(BOUNDS, entities=4, relations=2, quotes=1))
    assert len(cut.data["entities"]["id"]) == 4
    assert len(cut.data["relations"]["a"]) <= 2
    assert f"entities, of which those with most relations are listed: {number - 4:,} more" in cut.notes
    left = len(weights) - len(cut.data["relations"]["a"])
    assert f"relations, of which the strongest among listed entities are kept: {left:,} more" in cut.notes
    passages = sum(cut.data["entities"]["passages"]) - len(cut.data["quotes"]["text"])
    assert f"passages, of which the newest of each entity are quoted: {passages:,} more" in cut.notes


@pytest.mark.long
def test_a_graph_with_more_entities_is_drawn_by_its_communities(settings: Settings) -> None:
    mill = "Nils Holm keeps the mill in Voss."  # which no other text names
    write_source(settings, "notes", {"river.md": RIVER, "flood.md": FLOOD, "mill.md": mill})
    build(settings)
    found = report(Home.of(settings), bounds=replace(BOUNDS, entities=3))
    drawn = found.data["drawn"]
    assert drawn["kind"] == "communities"
    assert sum(drawn["size"]) == found.contents.figures["entities"], "of this graph all entities have relations"
    assert sorted(one for members in drawn["members"] for one in members) == [0, 1, 2]
    assert [drawn["members"][node] for node in drawn["node_of"]]
    assert "nodes are communities, since there are more than 3 entities" in found.notes
    few = report(Home.of(settings), bounds=replace(BOUNDS, entities=3, communities=1))
    left = sum(drawn["size"]) - few.data["drawn"]["size"][0]
    said = f"entities in communities that are too small to be drawn: {left:,}, in {len(drawn['size']) - 1}; "
    assert f"{said}`lightrag-dagster communities` lists them" in few.notes
    assert "no relation joins two of these communities, so that no line is drawn" in few.notes


@pytest.mark.long
def test_texts_that_have_no_room_are_left_out_and_counted(published_home: Path) -> None:
    whole = report(Home(published_home))
    fixed = size_of({name: one for name, one in whole.data.items() if name not in ("quotes", "documents", "about")})
    found = report(Home(published_home), bounds=replace(BOUNDS, bytes=fixed + 500))
    assert size_of(found.data) < fixed + 500 + 1_500, "names of columns, and the notes"
    assert 0 < len(found.data["quotes"]["text"]) < len(whole.data["quotes"]["text"])
    left = len(whole.data["quotes"]["text"]) - len(found.data["quotes"]["text"])
    assert f"quotes, left out since the page would be too large: {left}" in found.notes
    # The first quote of each entity goes before the second of another.
    assert len(set(found.data["quotes"]["entity"])) == min(
        len(found.data["quotes"]["text"]), len(set(whole.data["quotes"]["entity"]))
    )
    tiny = report(Home(published_home), bounds=replace(BOUNDS, bytes=900))
    assert len(tiny.data["entities"]["id"]) < len(whole.data["entities"]["id"])
    assert size_of(tiny.data) < 4_000


def test_the_code_leaves_room_for_the_data_within_15_mb(published_home: Path) -> None:
    found = report(Home(published_home))
    code = len(found.html.encode()) - size_of(found.data)
    assert BOUNDS.bytes + code < 14_500_000


def test_long_texts_are_cut_and_counted(published_home: Path) -> None:
    found = report(Home(published_home), bounds=replace(BOUNDS, description=20, name=8))
    assert max(map(len, found.data["entities"]["description"])) == 20
    cut = sum(one.endswith("…") for one in found.data["entities"]["description"])
    assert f"descriptions, cut: {cut:,}" in found.notes
    assert [note for note in found.notes if note.startswith("names, cut: ")]


PRINT = """
import hashlib, sys
from pathlib import Path
from lightrag_dagster.storage.home import Home
from tests.report.homes import report
print(hashlib.sha256(report(Home(Path(sys.argv[1]))).html.encode()).hexdigest())
"""


@pytest.mark.long
def test_each_process_writes_the_same_bytes(published_home: Path) -> None:
    root = Path(__file__).parents[2]
    command = [sys.executable, "-c", PRINT, str(published_home)]
    found = {subprocess.run(command, cwd=root, check=True, capture_output=True, text=True).stdout for _ in range(2)}
    assert len(found) == 1


def test_without_the_extra_colours_are_types_and_it_says_so(
    published_home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "graspologic_native", None)
    found = report(Home(published_home))
    assert found.data["group_kind"] == "type"
    assert set(found.data["groups"]) == set(found.data["types"])
    assert found.contents.figures["communities"] == 0
    assert [note for note in found.notes if "communities need the extra `graph`" in note]


@pytest.mark.long
@pytest.mark.parametrize("source", [pytest.param("archive", marks=pytest.mark.long), "office"])
def test_a_filter_gives_what_a_home_of_its_documents_has(published_home: Path, tmp_path: Path, source: str) -> None:
    settings = load_settings(home=tmp_path / "home", sources=tmp_path / "sources")
    publish_sources(settings, {source: SOURCES[source]})
    clean = report(Home.of(settings)).data
    filtered = report(Home(published_home), Filters(sources=source)).data
    differ = {name for name in clean if clean[name] != filtered[name]}
    assert differ <= {"about", "changes"}
    assert filtered["changes"] == {"note": "Under a filter, changes are not compared."}
    assert f"documents of a filter alone: Filters(sources=('{source}',))" in filtered["about"]


def test_a_filter_that_allows_nothing_gives_an_empty_page(published_home: Path) -> None:
    found = report(Home(published_home), Filters(tags="none"))
    assert found.data["entities"]["id"] == found.data["sources"] == found.data["quotes"]["text"] == []
    assert "no document with text passes the filters" in found.notes
    assert "Bergen" not in found.html

"""The questions to the graph of a small snapshot, whole and under filters."""

import json
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from lightrag_dagster import Filters, KnowledgeBase
from lightrag_dagster.curation.desk.taking import take
from lightrag_dagster.curation.rules.decisions import Decision
from lightrag_dagster.errors import ClosedError, QueryError
from lightrag_dagster.query.graph.finding import LIKE
from lightrag_dagster.settings import load_settings
from tests.query.published import publish_sources

SOURCES = {
    "archive": {
        "weir.md": "---\ndate: 2019-05-02\n---\nMarta Lindqvist maintains the gauge at Halden Weir.",
        "flood.md": "---\ndate: 2021-03-20\n---\nThe flood damaged Halden Weir. Marta Lindqvist repaired Halden Weir.",
        "shared.md": "Priya Nair repaired the sensor at Station 14.",
        "deputy.md": "Astrid Lindqvist met Priya Nair in Malmö.",
        "hidden.md": "The Grey Owl met Priya Nair in Bergen.",
    },
    "office": {
        "notes.md": "Jonas Feld leads the office in Bergen. Jonas Feld met Priya Nair.",
        "copy.md": "Priya Nair repaired the sensor at Station 14.",
        "far.md": "Ove Strand met Inga Holm in Oslo.",
    },
}
OFFICE = Filters(sources="office")


@pytest.fixture(scope="module")
def knowledge(tmp_path_factory: pytest.TempPathFactory) -> Iterator[KnowledgeBase]:
    folder = tmp_path_factory.mktemp("graph")
    settings = load_settings(home=folder / "home", sources=folder / "sources")
    merged = Decision(action="merge", names=("Jonas Feld", "Grey Owl"), into="Jonas Feld")
    take(settings, [merged, Decision(action="rename", names=("Inga Holm",), into="佐藤健")])
    publish_sources(settings, SOURCES)
    with KnowledgeBase.open(settings=settings) as opened:
        yield opened


@pytest.mark.parametrize(
    ("asked", "kind", "name"),
    [
        ("Halden Weir", "exact", "Halden Weir"),
        ("  halden  WEIR ", "exact", "Halden Weir"),
        ("malmo", "exact", "Malmö"),
        ("ＭＡＬＭÖ", "exact", "Malmö"),
        ("**Halden Weir**", "exact", "Halden Weir"),
        ("&quot;Halden\u200b Weir&quot;", "exact", "Halden Weir"),
        ("佐藤 健", "exact", "佐藤健"),
        ("grey owl", "alias", "Jonas Feld"),
        ("Halden W", "prefix", "Halden Weir"),
        ("weir", "word", "Halden Weir"),
        ("weir halden", "word", "Halden Weir"),
        ("Halden Wier", "similar", "Halden Weir"),
        ("Brgen", "similar", "Bergen"),
        ("Statoin 14", "similar", "Station 14"),
    ],
)
def test_a_name_finds_its_entity(knowledge: KnowledgeBase, asked: str, kind: str, name: str) -> None:
    first = knowledge.find(asked).matches[0]
    assert (first.kind, first.name) == (kind, name)
    assert LIKE <= first.likeness <= 1 or kind in ("prefix", "word")


@pytest.mark.parametrize(
    "asked", ["Station 15", "xyzzy", "🙂", "?", "'", "%", "_", "a" * 1000, "Ω" * 1000, "b c " * 250]
)
def test_a_name_that_nothing_is_like(knowledge: KnowledgeBase, asked: str) -> None:
    assert knowledge.find(asked).matches == ()
    with pytest.raises(QueryError, match="there is no entity"):
        knowledge.entity(asked)


@pytest.mark.parametrize(
    ("asked", "says"),
    [("", "empty"), (" \n", "empty"), ("a" * 10_000, "10,000 characters"), (3, "text"), ("\ud800", "half")],
)
def test_what_is_not_a_name(knowledge: KnowledgeBase, asked: str, says: str) -> None:
    with pytest.raises(QueryError, match=says):
        knowledge.find(asked)
    with pytest.raises(QueryError, match=says):
        knowledge.path("Bergen", asked)


@pytest.mark.parametrize("limit", [0, -1, True, 1.5, None])
def test_a_wrong_number(knowledge: KnowledgeBase, limit: int) -> None:
    with pytest.raises(QueryError, match="limit takes a whole number from 1"):
        knowledge.find("Bergen", limit=limit)
    with pytest.raises(QueryError, match="hops takes"):
        knowledge.neighbours("Bergen", limit)
    with pytest.raises(QueryError, match="by takes hops or weight"):
        knowledge.path("Bergen", "Bergen", by="colour")  # type: ignore[arg-type]
    with pytest.raises(QueryError, match="filters takes"):
        knowledge.find("Bergen", filters="office")  # type: ignore[arg-type]


def test_where_several_fit_there_is_a_choice(knowledge: KnowledgeBase) -> None:
    found = knowledge.find("Lindqvist")
    assert {one.name for one in found.matches} == {"Marta Lindqvist", "Astrid Lindqvist"}
    assert knowledge.find("Lindqvist", limit=1).left_out == 1
    assert knowledge.find("Lindqvist", limit=1).matches == found.matches[:1]
    with pytest.raises(QueryError, match="may mean several entities") as refused:
        knowledge.entity("Lindqvist")
    for one in found.matches:
        assert one.entity_id in str(refused.value)
        assert knowledge.entity(one.entity_id).name == one.name
        assert knowledge.find(one.entity_id).matches[0].kind == "id"


def test_of_names_that_differ_in_accents_the_one_that_is_written_so_is_meant(tmp_path: Path) -> None:
    settings = load_settings(home=tmp_path / "home", sources=tmp_path / "sources")
    texts = ("Élodie Géraud met Priya Nair in Oslo.", "Elodie Geraud leads the office in Bergen.")
    publish_sources(settings, {"notes": {f"{number}.md": text for number, text in enumerate(texts)}})
    with KnowledgeBase.open(settings=settings) as opened:
        for name in ("Élodie Géraud", "Elodie Geraud"):
            assert opened.entity(name).name == name
        with pytest.raises(QueryError, match="may mean several entities"):
            opened.entity("elodie géraud")


def test_a_part_of_a_name_is_taken_with_a_note(knowledge: KnowledgeBase) -> None:
    assert knowledge.entity("Halden Weir").notes == ()
    assert knowledge.entity("grey owl").notes == ()
    assert knowledge.entity("Marta").notes == ("no entity is called 'Marta'; meant is 'Marta Lindqvist'",)
    assert knowledge.neighbours("Jona Feld").name == "Jonas Feld"
    with pytest.raises(QueryError, match="the nearest are 'Bergen'"):
        knowledge.entity("Bargon")


def test_an_entity_with_its_evidence_by_date(knowledge: KnowledgeBase) -> None:
    found = knowledge.entity("Halden Weir")
    assert [one.date for one in found.evidence] == ["2021-03-20", "2019-05-02"]
    assert [one.path for one in found.evidence] == ["flood.md", "weir.md"]
    documents = {one["doc_id"]: one["content"] for one in knowledge.sql("FROM raw_documents").to_pylist()}
    for quote in found.evidence:
        assert documents[quote.doc_id][quote.char_start : quote.char_end] == quote.text
        assert "Halden Weir" in quote.text
    assert found.sources == ("archive",)
    assert found.neighbours[0].name == "Marta Lindqvist"
    assert [one.weight for one in found.neighbours] == sorted((one.weight for one in found.neighbours), reverse=True)
    assert json.loads(json.dumps(found.to_dict()))["name"] == "Halden Weir"


def test_lists_are_cut_and_the_rest_is_counted(knowledge: KnowledgeBase) -> None:
    whole, cut = knowledge.entity("Priya Nair"), knowledge.entity("Priya Nair", limit=1)
    assert len(whole.evidence) > 1
    assert cut.evidence == whole.evidence[:1]
    assert cut.evidence_left_out == len(whole.evidence) - 1
    assert cut.neighbours == whole.neighbours[:1]
    assert cut.neighbours_left_out == len(whole.neighbours) - 1
    assert cut.passages == whole.passages == len(whole.evidence)
    around = knowledge.neighbours("Priya Nair", 3)
    assert sum(around.counts) == len(around.neighbours)
    assert knowledge.neighbours("Priya Nair", 3, limit=2).left_out == len(around.neighbours) - 2


@pytest.mark.long
def test_a_passage_in_two_documents_is_one_with_two_places(knowledge: KnowledgeBase) -> None:
    (quote,) = [one for one in knowledge.entity("Station 14").evidence if "sensor" in one.text]
    assert (quote.path, quote.places) == ("shared.md", 2)
    (quote,) = knowledge.entity("Station 14", filters=OFFICE).evidence
    assert (quote.path, quote.places) == ("copy.md", 1)


def test_aliases_and_their_passages(knowledge: KnowledgeBase) -> None:
    assert [(one.name, one.passages) for one in knowledge.entity("Jonas Feld").aliases] == [("Grey Owl", 1)]


def test_paths_with_evidence(knowledge: KnowledgeBase) -> None:
    found = knowledge.path("Jonas Feld", "Station 14")
    shortest, strongest = found.paths
    assert shortest.names == ("Jonas Feld", "Priya Nair", "Station 14")
    assert (shortest.by, shortest.hops, strongest.by) == ("hops", 2, "weight")
    assert strongest.length is not None
    assert strongest.length <= (shortest.length or 0)
    assert strongest.length == pytest.approx(sum(1 / step.weight for step in strongest.steps))
    assert [step.tgt for step in shortest.steps] == ["Priya Nair", "Station 14"]
    assert all("Priya Nair" in step.evidence[0].text for step in shortest.steps)
    assert [one.by for one in knowledge.path("Jonas Feld", "Station 14", by="weight").paths] == ["weight"]


def test_a_path_to_itself_and_no_path(knowledge: KnowledgeBase) -> None:
    assert [(one.hops, one.names, one.steps) for one in knowledge.path("Bergen", "bergen").paths] == [
        (0, ("Bergen",), ())
    ] * 2
    found = knowledge.path("Ove Strand", "Bergen")
    assert found.paths == ()
    assert found.components is not None
    assert found.components[0] == len(knowledge.neighbours("Ove Strand", 99).neighbours) + 1
    assert knowledge.path("Bergen", "Ove Strand").components == found.components[::-1]


def test_a_filter_bounds_names_evidence_and_paths(knowledge: KnowledgeBase) -> None:
    for hidden in ("Halden Weir", "Marta Lindqvist", "Grey Owl", "grey", "Grey Owll", "Malmö"):
        assert knowledge.find(hidden, filters=OFFICE).matches == ()
        with pytest.raises(QueryError, match="there is no entity"):
            knowledge.entity(hidden, filters=OFFICE)
    weir = knowledge.find("Halden Weir").matches[0].entity_id
    for asked in (weir, "ent-" + "0" * 32):
        with pytest.raises(QueryError, match=f"there is no entity '{asked}'; none is near it"):
            knowledge.neighbours(asked, filters=OFFICE)
    found = knowledge.entity("Jonas Feld", filters=OFFICE)
    assert found.aliases == ()
    assert {one.source for one in found.evidence} == {"office"}
    office = knowledge.neighbours("Priya Nair", 9, filters=OFFICE)
    assert {one.name for one in office.neighbours} < {
        one.name for one in knowledge.neighbours("Priya Nair", 9).neighbours
    }


@pytest.mark.long
def test_a_filter_that_nothing_passes(knowledge: KnowledgeBase) -> None:
    nothing = Filters(modified_since="2999-01-01")
    assert knowledge.find("Bergen", filters=nothing).notes == ("no document with text passes the filters",)
    with pytest.raises(QueryError, match="there is no entity"):
        knowledge.path("Bergen", "Bergen", filters=nothing)


@pytest.mark.long
def test_a_name_written_by_people_is_found_where_it_is_shown(tmp_path: Path) -> None:
    settings = load_settings(home=tmp_path / "home", sources=tmp_path / "sources")
    take(settings, [Decision(action="rename", names=("Jonas Feld",), into="The Captain", sources=("archive",))])
    publish_sources(settings, SOURCES)
    with KnowledgeBase.open(settings=settings) as knowledge:
        assert [(one.name, one.kind) for one in knowledge.find("the captain").matches] == [("The Captain", "exact")]
        assert [(one.name, one.kind) for one in knowledge.find("Jonas Feld").matches] == [("The Captain", "alias")]
        assert knowledge.find("the captain", filters=OFFICE).matches == ()
        assert [one.kind for one in knowledge.find("Jonas Feld", filters=OFFICE).matches] == ["exact"]


@pytest.mark.long
def test_threads_may_ask_at_once(knowledge: KnowledgeBase) -> None:
    with KnowledgeBase.open(settings=knowledge.settings) as fresh, ThreadPoolExecutor(8) as threads:
        asked = [None, OFFICE] * 8
        found = list(threads.map(lambda filters: fresh.entity("Priya Nair", filters=filters).to_dict(), asked))
    assert found[::2] == [knowledge.entity("Priya Nair").to_dict()] * 8
    assert found[1::2] == [knowledge.entity("Priya Nair", filters=OFFICE).to_dict()] * 8
    with pytest.raises(ClosedError):
        fresh.find("Bergen")

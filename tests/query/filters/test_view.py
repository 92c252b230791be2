"""A filter makes of a snapshot what a build of the allowed documents alone would be."""

import json
import tempfile
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import replace
from datetime import date, datetime
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from lightrag_dagster import Filters, Keywords, KnowledgeBase
from lightrag_dagster.errors import QueryError
from lightrag_dagster.query.arguments import day_of
from lightrag_dagster.query.filters import view
from lightrag_dagster.query.filters.view import filtered
from lightrag_dagster.query.mode import ModeName
from lightrag_dagster.query.snapshot import Snapshot, open_snapshot
from lightrag_dagster.settings import load_settings
from lightrag_dagster.storage.home import Home
from tests.query.published import SOURCES, publish_sources

EVERYTHING = Keywords(
    ("flood", "repair", "office"), ("Station 14", "Orrin Instruments", "Jonas Feld", "Bergen", "Halden Weir")
)


def held(snapshot: Snapshot) -> dict[str, Any]:
    """Return everything that lists and searches of a snapshot lead to, by id."""
    graph = snapshot.graph
    entities = [row for row in range(len(graph.entities.ids)) if len(graph.entity_chunks.of(row))]
    relations = [row for row in range(len(graph.relations.ids)) if len(graph.relation_chunks.of(row))]

    def ids(table: Any, rows: Any) -> list[str]:
        return sorted(table.ids_at(rows))

    def found(table: str) -> set[str]:
        vector = next(iter(snapshot.vectors[table].vectors(ALL[table](graph)).values()))
        return {one for one, _ in snapshot.vectors[table].search(vector, 1000, -1.0)}

    return {
        "entities": {row["entity_id"]: row for row in graph.entities.take(_rows(entities))},
        "relations": {row["relation_id"]: row for row in graph.relations.take(_rows(relations))},
        "chunks of entities": {
            graph.entities.ids_at(_rows([row]))[0]: graph.chunks.ids_at(graph.entity_chunks.of(row)) for row in entities
        },
        "chunks of relations": {
            graph.relations.ids_at(_rows([row]))[0]: graph.chunks.ids_at(graph.relation_chunks.of(row))
            for row in relations
        },
        "relations of entities": {
            graph.entities.ids_at(_rows([row]))[0]: ids(graph.relations, graph.entity_relations.of(row))
            for row in entities
        },
        "places": {
            graph.chunks.ids_at(_rows([row]))[0]: graph.citations_of(row)
            for row in range(len(graph.chunks.ids))
            if graph.citations_of(row)
        },
        "order": [
            graph.relations.ids_at(_rows([row]))[0] for row in sorted(relations, key=lambda row: graph.priority[row])
        ],
        **{table: found(table) for table in ALL},
    }


ALL = {
    "entity_vectors": lambda graph: graph.entities.ids.astype(str).tolist(),
    "relation_vectors": lambda graph: graph.relations.ids.astype(str).tolist(),
    "chunk_vectors": lambda graph: graph.chunks.ids.astype(str).tolist(),
}


def _rows(rows: list[int]) -> Any:
    return np.array(rows, dtype=np.int32)


@pytest.mark.long
@pytest.mark.parametrize("source", ["archive", "office"])
def test_a_source_alone_is_as_if_it_had_been_built_alone(
    published_home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, source: str
) -> None:
    settings = load_settings(home=tmp_path / "home", sources=tmp_path / "sources")
    publish_sources(settings, {source: SOURCES[source]})
    alone = held(open_snapshot(Home(settings.home), None))
    for flat_rows in (20_000, 0):  # all vectors are compared, or searched by the index
        monkeypatch.setattr(view, "_FLAT_ROWS", flat_rows)
        everything = open_snapshot(Home(published_home), None)
        assert held(filtered(everything, Filters(sources=source))) == alone


VERBS = ("repaired", "measured", "painted", "visited", "closed", "opened", "sold", "bought", "inspected", "named")
HUB = {
    "archive": {"a.md": "Marta Lindqvist founded Halden Weir.", "b.md": "Marta Lindqvist left Halden Weir in 2020."},
    "office": {f"{number}.md": f"Priya Nair {verb} Halden Weir in 201{number}." for number, verb in enumerate(VERBS)},
    "yard": {"c.md": "Priya Nair weighed Halden Weir.", "d.md": "Marta Lindqvist and Priya Nair left Halden Weir."},
}
SMALL = {"max_chunks": 3}


@pytest.fixture(scope="module")
def hub_of(tmp_path_factory: pytest.TempPathFactory) -> Callable[..., Snapshot]:
    """What returns the published snapshot of some of the sources, merged by some rules; each is built once."""

    @cache
    def publish(*sources: str, **merging: int | str) -> Snapshot:
        folder, rules = tmp_path_factory.mktemp("hub"), {"summary_min_tokens": 10_000} | merging
        settings = load_settings(home=folder / "home", sources=folder / "sources", merging=rules)
        publish_sources(settings, {source: HUB[source] for source in sources})
        return open_snapshot(Home(settings.home), None)

    return publish


@pytest.mark.parametrize(
    "merging",
    [
        pytest.param({"summary_min_descriptions": 30}, id="more than seven descriptions", marks=pytest.mark.long),
        pytest.param(SMALL, id="the first chunks", marks=pytest.mark.long),  # of random rows in test_merge.py
        pytest.param(SMALL | {"chunk_limit_method": "FIFO"}, id="the last chunks", marks=pytest.mark.long),
    ],
)
def test_a_filter_merges_by_the_rules_of_the_merge(hub_of: Callable[..., Snapshot], merging: dict[str, Any]) -> None:
    together, alone = hub_of(*sorted(HUB), **merging), held(hub_of("archive", "office", **merging))
    assert held(filtered(together, Filters(sources=("archive", "office")))) == alone
    assert any("Weir" in row["name"] for row in alone["entities"].values())
    assert held(filtered(together, Filters(modified_since="1990-01-01"))) == held(together)


@pytest.mark.long
def test_a_hub_keeps_its_description_where_only_chunks_beyond_the_limit_are_hidden(
    hub_of: Callable[..., Snapshot],
) -> None:
    whole = hub_of(*sorted(HUB), **SMALL)
    seen = filtered(whole, Filters(paths=[f"{name}.md" for name in "abcd0123"]))
    weir = whole.graph.entities.rows["name"].to_pylist().index("Halden Weir")
    (before,), (after,) = (one.graph.entities.take(_rows([weir])) for one in (whole, seen))
    assert after["description"] == before["description"]
    assert (len(whole.graph.entity_chunks.of(weir)), len(seen.graph.entity_chunks.of(weir))) == (14, 8)


def test_what_a_question_spills_is_in_a_folder_that_the_next_process_would_remove(
    published_home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    spilled = []
    with closing(open_snapshot(Home(published_home), None)) as whole:
        with closing(filtered(whole, Filters(sources="archive"))) as seen:
            for one in (whole, seen):
                found = one.statements._connection.execute("SELECT current_setting('temp_directory')").fetchall()
                spilled.append(Path(found[0][0]).parent)
            assert sorted(tmp_path.iterdir()) == sorted(spilled)
            assert {path.suffix for path in spilled} == {".temporary"}
        assert list(tmp_path.iterdir()) == spilled[:1]
    assert list(tmp_path.iterdir()) == []


@pytest.fixture
def knowledge(published_home: Path) -> Iterator[KnowledgeBase]:
    with KnowledgeBase.open(published_home) as opened:
        yield opened


@pytest.mark.parametrize(
    "mode",
    [
        "naive",
        pytest.param("local", marks=pytest.mark.long),
        pytest.param("global", marks=pytest.mark.long),
        pytest.param("hybrid", marks=pytest.mark.long),
        pytest.param("mix", marks=pytest.mark.long),
    ],
)
def test_every_list_is_bounded(knowledge: KnowledgeBase, mode: ModeName) -> None:
    found = knowledge.retrieve(
        "Who is at the office?", mode=mode, keywords=EVERYTHING, filters=Filters(sources="office"), cosine_threshold=-1
    )
    assert found.chunks
    assert {place.source for chunk in found.chunks for place in chunk.citations} == {"office"}
    assert {reference.source for reference in found.references} == {"office"}
    text = json.dumps(found.to_dict())
    for hidden in ("Marta", "Lindqvist", "Halden", "gauge", "flood.md", "archive"):
        assert hidden not in text.replace(json.dumps(list(EVERYTHING.low_level)), "").replace("Halden Weir", "")


@pytest.mark.parametrize(
    ("filters", "paths"),
    [
        (Filters(paths="*.txt"), {"bergen/notes.txt"}),
        (Filters(paths=["bergen/*", "w*"]), {"bergen/notes.txt", "weir.md"}),
        (Filters(media_types="text/plain"), {"bergen/notes.txt"}),
        (
            Filters(sources=["archive"], paths=["*.md"], media_types=["text/markdown"]),
            {"weir.md", "flood.md", "shared.md"},
        ),
        (Filters(modified_since="2001-01-01"), {"bergen/notes.txt", "weir.md", "flood.md", "shared.md", "copy.md"}),
        (Filters(modified_since="2999-01-01T00:00:00+00:00"), set()),
        (Filters(documents="doc-none"), set()),
    ],
)
def test_documents_that_pass(knowledge: KnowledgeBase, filters: Filters, paths: set[str]) -> None:
    found = knowledge.retrieve("Who is where?", mode="naive", filters=filters, cosine_threshold=-1)
    assert {place.path for chunk in found.chunks for place in chunk.citations} == paths


@pytest.fixture(scope="module")
def described(tmp_path_factory: pytest.TempPathFactory) -> Iterator[KnowledgeBase]:
    """A snapshot of documents that say who wrote them and when."""
    folder = tmp_path_factory.mktemp("described")
    settings = load_settings(home=folder / "home", sources=folder / "sources")
    notes = {
        "weir.md": "author: [Edda Rasmott, Lucian Farrow]\ndate: 2024-03-01\ntags: [Flood, gauge]",
        "dam.md": "author: Emil Dornacher\ndate: 2025-06-13\ntags: dam",
        "plain.md": "title: Nothing said",
    }
    text = "Marta Lindqvist keeps the gauge at Halden Weir, and Jonas Feld keeps the one at Corley Bridge below it."
    german = "Der Pegel an der Steinhager Sperre wurde im Juni geprüft, und die Schrauben der Halterung sind fest."
    texts = {"weir.md": text, "dam.md": german, "plain.md": text + " Nobody else does."}
    publish_sources(settings, {"notes": {path: f"---\n{said}\n---\n\n{texts[path]}" for path, said in notes.items()}})
    with KnowledgeBase.open(settings.home) as opened:
        yield opened


@pytest.mark.parametrize(
    ("filters", "paths"),
    [
        (Filters(), {"weir.md", "dam.md", "plain.md"}),
        (Filters(authors="lucian farrow"), {"weir.md"}),
        (Filters(authors=["Lucian", "Emil Dornacher"]), {"dam.md"}),
        (Filters(tags=["flood", "bridge"]), {"weir.md"}),
        (Filters(languages="de"), {"dam.md"}),
        (Filters(languages=["de", "en"]), {"weir.md", "dam.md", "plain.md"}),
        (Filters(dated_since="2024-03-02"), {"dam.md"}),
        (Filters(dated_since="2024-03-01", dated_until=date(2024, 3, 1)), {"weir.md"}),
        (Filters(dated_until=datetime(2025, 6, 13, 5)), {"weir.md", "dam.md"}),
        (Filters(tags="dam", authors="Edda Rasmott"), set()),
    ],
)
def test_what_documents_say_of_themselves(described: KnowledgeBase, filters: Filters, paths: set[str]) -> None:
    found = described.retrieve("Who keeps what?", mode="naive", filters=filters, cosine_threshold=-1)
    assert {place.path for chunk in found.chunks for place in chunk.citations} == paths


def test_one_document(knowledge: KnowledgeBase) -> None:
    chunk = knowledge.retrieve("Who leads the office in Bergen?", mode="naive").chunks[0]
    found = knowledge.retrieve("Who?", filters=Filters(documents=chunk.doc_id), keywords=EVERYTHING)
    assert found.chunks == (replace(chunk, score=found.chunks[0].score),)


def test_a_source_that_is_not_there(knowledge: KnowledgeBase) -> None:
    with pytest.raises(QueryError, match="no source 'elsewhere'"):
        knowledge.retrieve("Who is where?", filters=Filters(sources="elsewhere"), mode="naive")


class NoTime(datetime):
    """As pandas has one, in an empty cell of days."""

    def __eq__(self, other: object) -> bool:
        return False

    def __ne__(self, other: object) -> bool:
        return True

    __hash__ = datetime.__hash__


def test_text_that_is_not_a_time() -> None:
    with pytest.raises(QueryError, match="is not a day"):
        Filters(dated_since=NoTime(2024, 1, 1))
    with pytest.raises(QueryError, match="as_of takes a day"):
        day_of(NoTime(2024, 1, 1))
    with pytest.raises(QueryError, match="'yesterday' is not a time"):
        Filters(modified_since="yesterday")
    with pytest.raises(QueryError, match="'2024' is not a day"):
        Filters(dated_until="2024")

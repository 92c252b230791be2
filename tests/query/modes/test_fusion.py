"""Against a real snapshot: `tests.query.published` says what is in it."""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from lightrag_dagster import Filters, KnowledgeBase
from lightrag_dagster.query.modes import fusion
from lightrag_dagster.query.modes.seeds import peaks
from lightrag_dagster.settings import load_settings
from tests.query.published import publish_sources
from tests.stages.merging.tables import nameless_chunks

STATION = "Who closed Station 14?"


@pytest.fixture(scope="module")
def knowledge(published_home: Path) -> Iterator[KnowledgeBase]:
    with KnowledgeBase.open(settings=load_settings(home=published_home)) as opened:
        yield opened


def paths(knowledge: KnowledgeBase, question: str) -> list[str]:
    return [chunk.path for chunk in knowledge.retrieve(question, mode="fusion").chunks]


@pytest.mark.parametrize(
    ("question", "first"),
    [
        (STATION, "flood.md"),
        ("who closed staton 14", "flood.md"),
        ("What was repaired by Priya Nair?", "shared.md"),
        ("Who leads the office in Bergen?", "bergen/notes.txt"),
    ],
)
def test_the_best_chunk_comes_first(knowledge: KnowledgeBase, question: str, first: str) -> None:
    assert paths(knowledge, question)[0] == first


def test_the_walk_reaches_what_shares_no_word_with_the_question(
    knowledge: KnowledgeBase, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Priya Nair repaired the sensor at Station 14, which Jonas Feld closed.
    asked = "Priya Nair"
    for steps, found in ((0, False), (8, True)):
        walked = replace(fusion.FUSION, relations=0.0, dense=0.0, lexical=0.0, steps=steps)
        monkeypatch.setattr(fusion, "FUSION", walked)
        assert ("flood.md" in paths(knowledge, asked)) == found


def test_chunks_carry_citations_and_the_mass_of_the_walk(knowledge: KnowledgeBase) -> None:
    found = knowledge.retrieve("What did Priya Nair repair?", mode="fusion")
    assert [place.source for place in found.chunks[0].citations] == ["archive", "office"]
    scores = [chunk.score for chunk in found.chunks if chunk.score]
    assert scores == sorted(scores, reverse=True)
    assert sum(scores) == pytest.approx(1)
    assert found.entities[0].name in {"Priya Nair", "Station 14"}
    assert found.relations


@pytest.mark.parametrize(
    ("question", "chunks", "relations"),
    [
        ("gauge", 1, {("Marta Lindqvist", "Orrin Instruments"), ("Marta Lindqvist", "Halden Weir")}),
        ("gauge", 0, set()),
        (STATION, 0, {("Station 14", "Halden Weir"), ("Station 14", "Jonas Feld"), ("Priya Nair", "Station 14")}),
    ],
    ids=["of the nearest chunk", "nothing was found", "of a named entity"],
)
def test_relations_are_those_beside_what_was_found(
    knowledge: KnowledgeBase,
    monkeypatch: pytest.MonkeyPatch,
    question: str,
    chunks: int,
    relations: set[tuple[str, str]],
) -> None:
    monkeypatch.setattr(fusion, "FUSION", replace(fusion.FUSION, beside_chunks=chunks))
    found = knowledge.retrieve(question, mode="fusion").relations
    assert {(one.src, one.tgt) for one in found} == relations
    scores = [one.score for one in found if one.score]
    assert scores == sorted(scores, reverse=True)
    assert len(scores) == len(relations)


def test_the_steps_tell_which_names_were_linked(knowledge: KnowledgeBase) -> None:
    (find,) = [step for step in knowledge.retrieve(STATION, mode="fusion").steps if step.name == "find"]
    assert find.notes["names"] == ("station 14 (1.00)",)
    assert 0 < find.notes["covered by names"] < 1
    assert find.notes["words in the best chunk"] == 1


def test_a_filter_bounds_everything(knowledge: KnowledgeBase) -> None:
    found = knowledge.retrieve(STATION, mode="fusion", filters=Filters(sources="office"))
    assert found.chunks
    assert {place.source for chunk in found.chunks for place in chunk.citations} == {"office"}
    assert "Halden Weir" not in {entity.name for entity in found.entities}
    by_words = knowledge.retrieve(STATION, mode="bm25", filters=Filters(sources="office"))
    assert [chunk.path for chunk in by_words.chunks] == ["copy.md"]


@pytest.mark.parametrize(
    "options",
    [
        {"names": 0.0},
        {"relations": 0.0},
        {"chunks": 0.0},
        {"dense": 0.0},
        {"lexical": 0.0},
        {"direct": 0.0},
        {"steps": 0},
    ],
    ids=str,
)
def test_each_ingredient_can_be_left_out(
    knowledge: KnowledgeBase, monkeypatch: pytest.MonkeyPatch, options: dict[str, Any]
) -> None:
    monkeypatch.setattr(fusion, "FUSION", replace(fusion.FUSION, **options))
    assert paths(knowledge, STATION)[0] in {"flood.md", "shared.md"}


def test_what_one_chunk_answers_comes_first_and_the_walk_behind_it(knowledge: KnowledgeBase) -> None:
    # Station 14 leads the walk to the flood; all words of the question are in the other chunk.
    assert paths(knowledge, "Who repaired the sensor at Station 14?")[:2] == ["shared.md", "flood.md"]


@pytest.mark.parametrize(
    ("covered", "held", "expected"),
    [
        (0.0, 0.0, [0, 0.75, 0.25]),
        (0.0, 1.0, [0, 0, 1]),
        (1.0, 0.0, [1, 0, 0]),
        (0.5, 0.0, [0.5 / 0.7, 0.15 / 0.7, 0.05 / 0.7]),
        (0.5, 0.5, [0.5 / 0.625, 0.075 / 0.625, 0.05 / 0.625]),
    ],
)
def test_the_start_is_calibrated(covered: float, held: float, expected: list[float]) -> None:
    one, none = np.ones(1, dtype=np.float32), np.zeros(1, dtype=np.float32)
    seeds = fusion.Seeds(np.concatenate([one, none]), np.concatenate([none, one]), one)
    start = fusion.start_mass(seeds, covered, held, fusion.Fusion(names=1.0, relations=0.3, chunks=0.1))
    assert start.tolist() == pytest.approx(expected)


@pytest.mark.parametrize(
    ("covered", "held", "expected"),
    [(0.0, 0.0, 0.45), (0.0, 1.0, 0.9), (0.0, 0.5, 0.9 * 0.5625), (0.5, 1.0, 0.9 / 16), (1.0, 1.0, 0.0)],
)
def test_without_names_likeness_decides_most(covered: float, held: float, expected: float) -> None:
    assert fusion.without_walk(covered, held, replace(fusion.FUSION, whole=0.0)) == pytest.approx(expected)


def test_a_chunk_with_all_words_leads_whatever_is_named() -> None:
    assert fusion.without_walk(1.0, 1.0, fusion.FUSION) == pytest.approx(0.9)
    assert fusion.without_walk(1.0, 0.5, fusion.FUSION) == pytest.approx(0.9 / 2**16)


def test_a_chunk_counts_by_the_cube_of_its_likeness(knowledge: KnowledgeBase, monkeypatch: pytest.MonkeyPatch) -> None:
    alone = replace(fusion.FUSION, names=0.0, relations=0.0, lexical=0.0, steps=0)
    monkeypatch.setattr(fusion, "FUSION", alone)
    near = knowledge.retrieve(STATION, mode="naive", cosine_threshold=-1).chunks
    cubes = peaks(np.array([chunk.score for chunk in near], dtype=np.float32)) ** 3
    expected = {chunk.chunk_id: cube / cubes.sum() for chunk, cube in zip(near, cubes, strict=True) if cube}
    assert len(expected) > 1
    found = knowledge.retrieve(STATION, mode="fusion").chunks
    assert {chunk.chunk_id: chunk.score for chunk in found} == pytest.approx(expected, rel=1e-4)


@pytest.mark.parametrize("asked", [STATION, "Who closed Station 14 in Bergen for Priya Nair?"])
def test_likeness_decides_by_names_and_by_the_words_that_one_chunk_has(
    knowledge: KnowledgeBase, monkeypatch: pytest.MonkeyPatch, asked: str
) -> None:
    # The walk stays at entities, so that likeness is all that chunks have.
    still = replace(fusion.FUSION, relations=0.0, chunks=0.0, steps=0)
    monkeypatch.setattr(fusion, "FUSION", still)
    found = knowledge.retrieve(asked, mode="fusion")
    (find,) = [step for step in found.steps if step.name == "find"]
    held, covered = find.notes["words in the best chunk"], find.notes["covered by names"]
    assert held == (1 if asked == STATION else pytest.approx(0.5, abs=0.2))
    share = fusion.without_walk(covered, held, fusion.FUSION)
    assert sum(chunk.score or 0 for chunk in found.chunks) == pytest.approx(share, rel=0.1)  # both notes are rounded


@pytest.mark.parametrize(
    ("asked", "agreeing", "least", "most"),
    [(STATION, 0.0, 0, 0), (STATION, 0.2, 0.4, 0.4), (STATION, 0.7, 1, 1), ("Wer schloss Station 14?", 0.0, 0.3, 0.5)],
)
def test_words_judge_vectors_as_far_as_one_chunk_has_them(
    knowledge: KnowledgeBase, monkeypatch: pytest.MonkeyPatch, asked: str, agreeing: float, least: float, most: float
) -> None:
    paths(knowledge, asked)  # opens the embedder
    monkeypatch.setattr(fusion, "agreement", lambda *_: agreeing)
    monkeypatch.setitem(vars(knowledge.snapshot.manifest.vectors), "provider", "openai")
    (find,) = [step for step in knowledge.retrieve(asked, mode="fusion").steps if step.name == "find"]
    assert least <= find.notes["weight of vectors"] <= most


def test_without_seeds_there_is_no_start() -> None:
    none = np.zeros(1, dtype=np.float32)
    assert fusion.start_mass(fusion.Seeds(none, none, none), 0.5, 0.5, fusion.FUSION).tolist() == [0, 0]


@pytest.mark.parametrize("query", ["Bergen", 'Bergen "', "Bergen AND (", "bergen?"])
def test_words_are_found_whatever_stands_around_them(knowledge: KnowledgeBase, query: str) -> None:
    (chunk,) = knowledge.retrieve(query, mode="bm25").chunks
    assert "Bergen" in chunk.content
    assert not knowledge.retrieve("zebra", mode="bm25").chunks


@pytest.mark.long
def test_counted_terms_are_neither_walked_over_nor_listed(tmp_path: Path) -> None:
    files = {row["path"]: row["content"] for row in nameless_chunks()} | {"halden.txt": "Jonas Feld left Halden Weir."}
    settings = load_settings(home=tmp_path / "home", sources=tmp_path / "sources")
    publish_sources(settings.changed(extraction={"terms": "on"}), {"a": files})
    question = "Who opened the carrier wave detector of Jonas Feld?"
    with KnowledgeBase.open(settings=settings) as knowledge:
        listed = {one.type for one in knowledge.retrieve(question, mode="ppr", cosine_threshold=-1.0).entities}
        found = knowledge.retrieve(question, mode="fusion", explain=True)
        assert "term" in listed
        assert "Jonas Feld" in [one.name for one in found.entities]
        assert "term" not in {one.type for one in found.entities}
        paths = [path for step in found.steps for item in step.notes.get("items", []) for path in item.get("paths", [])]
        assert paths
        assert not any("carrier wave detector" in path for path in paths)
        terms = knowledge.snapshot.graph.entities.rows["type"].to_pylist().count("term")
        assert terms
        lost = knowledge.snapshot.transitions.into.nnz - knowledge.snapshot.transitions_by_names.into.nnz
        assert lost >= 2 * 3 * terms  # there and back, of three chunks at least

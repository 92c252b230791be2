"""Against a real snapshot: `tests.query.published` says what is in it."""

import re
import xml.etree.ElementTree as ET
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from lightrag_dagster import KnowledgeBase, Retrieval
from lightrag_dagster.query.explain.picture import draw
from lightrag_dagster.query.types import Keywords
from lightrag_dagster.settings import load_settings

SVG = "{http://www.w3.org/2000/svg}"


@pytest.fixture(scope="module")
def knowledge(published_home: Path) -> Iterator[KnowledgeBase]:
    with KnowledgeBase.open(settings=load_settings(home=published_home)) as opened:
        yield opened


def parts(knowledge: KnowledgeBase, retrieval: Retrieval) -> tuple[list[str | None], int]:
    root = ET.fromstring(draw(retrieval, knowledge.snapshot.graph))
    return [one.text for one in root.iter(f"{SVG}text")], len(list(root.iter(f"{SVG}path")))


def chosen(knowledge: KnowledgeBase, names: list[str], paths: list[str]) -> Retrieval:
    found = knowledge.retrieve("Who closed Station 14 and who leads the office in Bergen?")
    entities, chunks = {one.name: one for one in found.entities}, {one.path: one for one in found.chunks}
    return replace(
        found,
        entities=tuple(entities[name] for name in names),
        relations=tuple(one for one in found.relations if {one.src, one.tgt} == {"Jonas Feld", "Bergen"}),
        chunks=tuple(chunks[path] for path in paths),
    )


@pytest.mark.parametrize(
    ("names", "lines"),
    [
        (["Jonas Feld", "Bergen"], 1 + 3),
        (["Bergen", "Station 14"], 2),
        (["Marta Lindqvist"], 0),
        ([], 0),
    ],
)
def test_lines_join_entities_with_the_passages_they_were_found_in(
    knowledge: KnowledgeBase, names: list[str], lines: int
) -> None:
    retrieval = chosen(knowledge, names, ["flood.md", "bergen/notes.txt"])
    assert parts(knowledge, retrieval) == ([*names, "archive/flood.md", "office/bergen/notes.txt"], lines)


def test_names_stand_left_and_right_of_the_lines_between_them(knowledge: KnowledgeBase) -> None:
    root = ET.fromstring(
        draw(chosen(knowledge, ["Bergen"], ["flood.md", "bergen/notes.txt"]), knowledge.snapshot.graph)
    )
    name, *places = (
        (one.get("text-anchor"), int(one.get("x", "")), int(one.get("y", ""))) for one in root.iter(f"{SVG}text")
    )
    assert (name[0], {place[0] for place in places}) == ("end", {"start"})
    for line in root.iter(f"{SVG}path"):
        x, y, to_x, to_y = map(int, re.findall(r"\d+", line.get("d", "")))
        assert name[1] < x < to_x < places[0][1]
        assert (y, to_y) in {(name[2] - 4, place[2] - 4) for place in places}


def test_words_that_contain_a_name_are_no_link(knowledge: KnowledgeBase) -> None:
    retrieval = chosen(knowledge, ["Bergen"], ["bergen/notes.txt", "flood.md"])
    short = replace(retrieval, entities=(replace(retrieval.entities[0], name="t"),))
    assert parts(knowledge, short)[1] == 1


def test_names_are_escaped_cut_and_bounded(knowledge: KnowledgeBase) -> None:
    (one,) = chosen(knowledge, ["Bergen"], []).entities
    names = ["Mara <Quill>", *(f"{number} {'long ' * 20}" for number in range(30))]
    retrieval = Retrieval(
        "Who & what?", "fusion", "gen-1", Keywords(), tuple(replace(one, name=name) for name in names)
    )
    texts, _ = parts(knowledge, retrieval)
    assert texts[0] == "Mara <Quill>"
    assert texts[12:] == ["and 19 more"]
    assert all(text and len(text) <= 36 and text.endswith("…") for text in texts[1:12])
    assert "Who &amp; what? (fusion)" in draw(retrieval, knowledge.snapshot.graph)


def test_nothing_found_is_an_empty_picture(knowledge: KnowledgeBase) -> None:
    assert parts(knowledge, Retrieval("?", "naive", "gen-1", Keywords())) == ([], 0)

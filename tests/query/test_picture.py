import xml.etree.ElementTree as ET

from lightrag_dagster.query.picture import draw
from lightrag_dagster.query.types import Chunk, Entity, Keywords, Relation, Retrieval

SVG = "{http://www.w3.org/2000/svg}"


def entity(name: str) -> Entity:
    return Entity(f"ent-{name}", name, "person", "", 1, None)


def relation(src: str, tgt: str) -> Relation:
    return Relation("rel", "", "", src, tgt, "", "", 1.0, 1, None)


def chunk(path: str, content: str) -> Chunk:
    return Chunk(f"chunk-{path}", content, 3, None, (), "doc", "notes", path)


def parts(retrieval: Retrieval) -> tuple[list[str | None], int]:
    root = ET.fromstring(draw(retrieval))
    return [one.text for one in root.iter(f"{SVG}text")], len(list(root.iter(f"{SVG}path")))


def test_names_and_passages_are_drawn_with_what_joins_them() -> None:
    retrieval = Retrieval(
        "Who & what?",
        "fusion",
        "gen-1",
        Keywords(),
        entities=(entity("Mara <Quill>"), entity("Dunsrow"), entity("Bergen")),
        relations=(relation("Mara <Quill>", "Dunsrow"), relation("Mara <Quill>", "Oslo")),
        chunks=(chunk("one.md", "MARA <QUILL> lives in Dunsrow."), chunk("two.md", "Nobody.")),
    )
    texts, lines = parts(retrieval)
    assert texts == ["Mara <Quill>", "Dunsrow", "Bergen", "notes/one.md", "notes/two.md"]
    assert lines == 3
    assert "Who &amp; what? (fusion)" in draw(retrieval)


def test_long_names_are_cut_and_the_number_is_bounded() -> None:
    names = [f"{number} {'long ' * 20}" for number in range(30)]
    texts, _ = parts(Retrieval("?", "naive", "gen-1", Keywords(), entities=tuple(map(entity, names))))
    assert len(texts) == 12
    assert all(text and len(text) <= 36 and text.endswith("…") for text in texts)


def test_nothing_found_is_an_empty_picture() -> None:
    assert parts(Retrieval("?", "naive", "gen-1", Keywords())) == ([], 0)

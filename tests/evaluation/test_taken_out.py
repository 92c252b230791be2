"""Questions without a model: sentences taken out of chunks."""

from pathlib import Path

import pyarrow as pa
import pytest

from lightrag_dagster.core.identity import chunk_id
from lightrag_dagster.core.text.tokens import load_tokenizer
from lightrag_dagster.evaluation.sample import Sample
from lightrag_dagster.evaluation.taken_out import TakenOut, measure_taken_out, take_out
from lightrag_dagster.schemas import CHUNKS
from lightrag_dagster.settings import load_settings
from tests.query.published import publish_sources

REST = "Nothing else is written here that would be long enough. " * 3
GAUGE = "The gauge at Dunsrow was repaired by Mara Quill after the flood."
CLOCK = "Nobody wound the tower clock because the key had fallen into the river."
TOKENIZER = load_tokenizer("o200k_base")


def sample(*chunks: tuple[str, str], heading: str | None = None) -> Sample:
    """Return a sample of one source of chunks, each a document and a text."""
    rows = [
        {
            "source": "notes",
            "chunk_id": chunk_id(content, heading),
            "doc_id": document,
            "path": document,
            "chunk_index": index,
            "content": content,
            "tokens": TOKENIZER.count(content),
            "char_start": 0,
            "char_end": len(content),
            "heading": heading,
            "text_hash": "",
            "recipe": "",
        }
        for index, (document, content) in enumerate(chunks)
    ]
    return Sample({"notes": {"chunks": pa.Table.from_pylist(rows, CHUNKS)}}, len(rows))


def taken(*chunks: tuple[str, str], count: int = 9) -> TakenOut:
    return take_out(sample(*chunks), count, TOKENIZER)


def test_the_chunk_loses_its_sentence_and_is_what_should_be_found() -> None:
    [question], chunks = (found := taken(("a.md", f"{GAUGE} Short. {REST}"))).questions, found.chunks["notes"]
    [row] = chunks.to_pylist()
    assert row["content"] == f" Short. {REST}"
    assert row["tokens"] == TOKENIZER.count(row["content"])
    assert question.chunks == [row["chunk_id"]] == [chunk_id(row["content"], None)]


def test_half_of_the_words_are_asked_in_their_order() -> None:
    [question] = taken(("a.md", f"{GAUGE} {REST}")).questions
    words = ["gauge", "Dunsrow", "repaired", "Mara", "Quill", "flood"]
    assert len(question.question.split()) == 3
    assert [word for word in words if word in question.question.split()] == question.question.split()


def test_a_sentence_leaves_every_chunk_that_overlaps() -> None:
    wrapped = GAUGE.replace("was repaired", "was\nrepaired")
    found = taken(("a.md", f"{REST} {GAUGE}"), ("a.md", f"{wrapped} {REST}"), ("b.md", f"{CLOCK} {REST}"))
    first, second, clock = found.chunks["notes"].to_pylist()
    assert [row["content"].strip() for row in (first, second, clock)] == [REST.strip()] * 3
    golds = sorted(sorted(one.chunks) for one in found.questions)
    assert golds == sorted([sorted([first["chunk_id"], second["chunk_id"]]), [clock["chunk_id"]]])


@pytest.mark.parametrize(
    "chunks",
    [
        pytest.param([("a.md", GAUGE)], id="nothing would be left"),
        pytest.param([("a.md", f"Too short a sentence. {'x' * 200}")], id="no long sentence"),
        pytest.param([("a.md", f"{GAUGE} {REST}"), ("b.md", f"{GAUGE} {REST}")], id="the text stands twice"),
        pytest.param([("a.md", f"{GAUGE} {REST}"), ("a.md", GAUGE)], id="an overlapping chunk would be empty"),
    ],
)
def test_no_sentence_is_taken(chunks: list[tuple[str, str]]) -> None:
    assert taken(*chunks).questions == []
    assert taken(*chunks).chunks["notes"].equals(sample(*chunks).tables["notes"]["chunks"])


def test_the_choice_does_not_depend_on_the_order_of_chunks() -> None:
    chunks = [
        (f"{name}.md", f"{GAUGE.replace('Dunsrow', name)} {CLOCK.replace('tower', name)} {REST}") for name in "ABCDE"
    ]
    first, second = taken(*chunks, count=3), taken(*reversed(chunks), count=3)
    assert {one.question for one in first.questions} == {one.question for one in second.questions}
    assert len(first.questions) == 3


@pytest.mark.long
def test_the_modes_are_measured_on_a_copy(tmp_path: Path) -> None:
    settings = load_settings(home=tmp_path / "home", sources=tmp_path / "sources")
    texts = {f"{name}.md": f"{GAUGE.replace('Dunsrow', name)} {name}: {REST}" for name in ("Alder", "Birch", "Cedar")}
    publish_sources(settings, {"notes": texts})
    before = sorted(settings.home.rglob("*.parquet"))
    found = measure_taken_out(settings, 9, 100, "questions")
    assert (found.documents, found.chunks, found.all_chunks, len(found.questions)) == (3, 3, 3, 3)
    assert {"bm25", "naive", "fusion", "mix"} < set(found.rows["mode"].to_pylist())
    assert sum(found.rows["recall"].to_pylist()) >= 2, "questions with the name of their document find it"
    assert sorted(settings.home.rglob("*.parquet")) == before

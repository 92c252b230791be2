import random
from collections.abc import Sequence
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lightrag_dagster.core.text.terms import text_terms
from lightrag_dagster.indexes.text_arrays import write_text_index
from lightrag_dagster.indexes.text_index import TextIndex, name_words, title_of

TEXTS = [
    "The weir at Halden stands in the Lerch.",
    "Halden has a mill. The mill is old.",
    "東京大学の図書館は古い。",
    "",
]
NAMES = ["Halden Weir", "halden weir", "Lerch", "東京大学", "?"]


def index(folder: Path, texts: Sequence[str] = TEXTS, names: Sequence[str] = NAMES) -> TextIndex:
    folder.mkdir(parents=True, exist_ok=True)
    write_text_index(folder, texts, names)
    return TextIndex.open(folder)


@pytest.fixture
def opened(tmp_path: Path) -> TextIndex:
    return index(tmp_path)


@pytest.mark.parametrize(
    ("query", "chunks"),
    [
        ("Halden", [0, 1]),
        ("mills", [1]),
        ("halden mill", [1]),
        ("図書館", [2]),
        ("zebra", []),
        ("mill zebra", []),
        ("the", []),
    ],
)
def test_chunks_with_all_terms(opened: TextIndex, query: str, chunks: list[int]) -> None:
    assert opened.chunks_of_all(text_terms(query)).tolist() == chunks


def test_scores_follow_rarity_frequency_and_length(opened: TextIndex) -> None:
    assert opened.rarity("zebra") > opened.rarity("mill") > opened.rarity("halden") > 0
    mill = opened.scores(text_terms("mill"))
    assert mill[1] > 0
    assert mill[[0, 2, 3]].tolist() == [0, 0, 0]
    both = opened.scores(text_terms("mill Halden"))
    assert both[1] > both[0] > 0
    assert opened.scores([]).tolist() == [0] * 4
    assert opened.scores(["mill", "mill"]).tolist() == mill.tolist()


@pytest.mark.parametrize(
    ("name", "entities"), [("halden weir", [0, 1]), ("lerch", [2]), ("東 京 大 学", [3]), ("halden", []), ("", [])]
)
def test_entities_of_a_name(opened: TextIndex, name: str, entities: list[int]) -> None:
    (found,) = opened.entities_named([name])
    assert found.tolist() == entities


@pytest.mark.parametrize(("name", "entities"), [("haldn weir", {0, 1}), ("lerche", {2}), ("zebra", set())])
def test_entities_of_a_name_like_it(opened: TextIndex, name: str, entities: set[int]) -> None:
    assert set(opened.entities_like(name, 0.5, 5)) == entities
    assert len(opened.entities_like(name, 0.5, 1)) == min(1, len(entities))


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("Prince Ferdinand's", ["prince", "ferdinand"]),
        ("O’Brien & Sons, Ltd.", ["o", "brien", "sons", "ltd"]),
        ("Final Exam (1981 film)", ["final", "exam", "1981", "film"]),
        ("ＡＢＣ大学", ["abc", "大", "学"]),
        ("!?", []),
    ],
)
def test_words_of_a_name(name: str, words: list[str]) -> None:
    assert name_words(name) == words


def test_a_title_is_a_short_first_line() -> None:
    assert title_of("\n# Weirs\n\nText") == "# Weirs"
    assert title_of("Halden") == "Halden"
    assert title_of("x" * 121 + "\ny") == ""


def test_nothing_is_an_index(tmp_path: Path) -> None:
    empty = index(tmp_path, [], [])
    assert empty.scores(["mill"]).tolist() == []
    assert empty.chunks_of_all(["mill"]).tolist() == []
    assert empty.entities_named(["mill"])[0].tolist() == []
    assert empty.entities_like("mill", 0.5, 5) == []


def test_the_files_depend_on_the_texts_alone(tmp_path: Path) -> None:
    def files(folder: str) -> dict[str, bytes]:
        index(tmp_path / folder)
        return {file.name: file.read_bytes() for file in (tmp_path / folder).iterdir()}

    index(tmp_path / "two", ["It lay here before."], ["Lerch"])
    assert files("one") == files("two")


words = st.sampled_from(["weir", "mill", "gauge", "river", "lock", "siren"])


@given(st.lists(st.lists(words, max_size=6), min_size=1, max_size=6), words, st.randoms(use_true_random=False))
@settings(max_examples=30, deadline=None)
def test_a_score_does_not_depend_on_the_place_of_a_chunk(
    tmp_path_factory: pytest.TempPathFactory, texts: list[list[str]], term: str, chance: random.Random
) -> None:
    order = list(range(len(texts)))
    chance.shuffle(order)
    spelt = [" ".join(text) for text in texts]
    folder = tmp_path_factory.mktemp("index")
    here = index(folder / "here", spelt, []).scores(text_terms(term))
    there = index(folder / "there", [spelt[at] for at in order], []).scores(text_terms(term))
    assert there.tolist() == pytest.approx([here[at] for at in order])
    assert [score > 0 for score in here] == [term in text for text in texts]

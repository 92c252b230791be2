from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest

from lightrag_dagster.indexes.text_arrays import write_text_index
from lightrag_dagster.indexes.text_index import TextIndex
from lightrag_dagster.query.linking import Names, coverage, likeness, link_names, unknown_runs

TEXTS = [
    "Marta Lindqvist keeps Station 14 at Halden Weir.",
    "The station was silent. Halden has a mill.",
    "A station at the weir, and the Weir Inn in Halden.",
    "京都大学の図書館にある時計",
]
ENTITIES = {
    "Marta Lindqvist": [0],
    "Station 14": [0],
    "Halden Weir": [0],
    "Halden": [0, 1, 2],
    "Station": [0],
    "京都大学": [3],
    "Station 15": [],
}


@pytest.fixture(scope="module")
def names(tmp_path_factory: pytest.TempPathFactory) -> Names:
    return opened(tmp_path_factory.mktemp("names"), list(ENTITIES.values()))


def opened(folder: Path, chunks: Sequence[Sequence[int]], visible: Sequence[bool] = (True,) * 4) -> Names:
    write_text_index(folder, TEXTS, list(ENTITIES))
    spread = np.array([len(own) for own in chunks], dtype=np.int64)
    return Names(TextIndex.open(folder), spread, np.array(visible), list(ENTITIES).__getitem__)


def linked(question: str, names: Names) -> dict[str, float]:
    return {one.name: round(one.probability, 2) for one in link_names(question, names)}


@pytest.mark.parametrize(
    ("question", "links"),
    [
        ("Who is Marta Lindqvist?", {"marta lindqvist": 1}),
        # The longest match: not Halden, and not the station alone.
        ("Who silenced Station 14 at Halden Weir?", {"station 14": 1, "halden weir": 0.5}),
        # Three chunks have the word, and one of them the entity: it is most often meant as a word.
        ("Which station is silent?", {"station": 0.33}),
        ("halden's mill", {"halden": 1}),
        ("京都大学の図書館はどこですか", {"京都大学": 1}),
        ("What is a zebra?", {}),
        # An entity that no chunk supports is not linked; the word is.
        ("What of Station 15?", {"station": 0.33}),
        ("", {}),
    ],
)
def test_names_are_linked_longest_first(names: Names, question: str, links: dict[str, float]) -> None:
    assert linked(question, names) == links


@pytest.mark.parametrize(
    ("question", "name"),
    [
        ("Who is Marta Lindquist?", "marta lindqvist"),
        ("Who is marta lindqist?", "marta lindqvist"),
        ("Who is Lindquist?", None),
        ("Who repaired Statoin 14?", "station 14"),
        ("Who repaired Statoin 13?", None),
        ("Who is Marvin Blomqvist?", None),
    ],
)
def test_a_misspelt_name_is_linked_with_less_probability(names: Names, question: str, name: str | None) -> None:
    found = linked(question, names)
    if name:
        assert 0.7 < found[name] < 1
    else:
        assert found == {}


@pytest.mark.parametrize(
    ("texts", "links"),
    [
        # Half of the chunks with these words are about the weir: it is meant, and no word of it is part of another.
        (["Halden Weir has a Weir Station.", "The weir of Halden was silent."], {"halden weir": 0.5}),
        # A third: the weir may as well be that of the misspelt station.
        (
            ["Halden Weir has a Weir Station.", "The weir of Halden was silent.", "Halden has a weir."],
            {"halden weir": 0.33, "weir station": 0.86},
        ),
    ],
)
def test_a_name_that_is_meant_as_often_as_not_keeps_its_words(
    tmp_path: Path, texts: list[str], links: dict[str, float]
) -> None:
    names = ["Halden Weir", "Weir Station"]
    write_text_index(tmp_path, texts, names)
    visible = np.ones(len(texts), dtype=np.bool_)
    seen = Names(TextIndex.open(tmp_path), np.array([1, 1], dtype=np.int64), visible, names.__getitem__)
    assert linked("Who keeps Halden Weir Statoin?", seen) == links


def test_a_name_is_linked_without_its_accents(tmp_path: Path) -> None:
    names = ["Zoë Müller", "Đà Nẵng"]
    write_text_index(tmp_path, ["Zoë Müller opened the bar.", "Zoë Müller went to Đà Nẵng."], names)
    spread, visible = np.array([2, 1], dtype=np.int64), np.ones(2, dtype=np.bool_)
    seen = Names(TextIndex.open(tmp_path), spread, visible, names.__getitem__)
    assert linked("Did Zoe Muller see Da Nang?", seen) == {"zoe muller": 1, "da nang": 1}


def test_names_like_few_unknown_words_are_looked_for(names: Names) -> None:
    unknown = [f"zq{number:x}" for number in range(3_000)]
    assert linked(f"Who is Marta Lindqvits? {' '.join(unknown)}", names) == {"marta lindqvist": 0.89}
    assert len(list(unknown_runs(unknown, names.texts))) < 250
    assert len(list(unknown_runs(["station", *unknown[:50]], names.texts))) > 200


def test_only_what_may_be_found_counts(tmp_path: Path) -> None:
    # Under a filter that leaves chunk 1, and of the entities Halden in it.
    seen = opened(tmp_path, [[], [], [], [1], [], [], []], (False, True, False, False))
    assert linked("Is Marta Lindqvist of Halden Weir at the station?", seen) == {"halden": 1}


@pytest.mark.parametrize(
    ("spelt", "name", "alike"),
    [
        ("marta", "marta", 1),
        ("jonh prewitt", "john prewitt", 0.75),
        ("marta", "marta lindqvist", 0),
        ("final exam 1981", "final exam 1982", 0),
        ("prince of spain", "prince of bavaria", 1 / 3),
    ],
)
def test_words_are_compared_in_their_order(spelt: str, name: str, alike: float) -> None:
    assert likeness(spelt.split(), name.split()) == pytest.approx(alike, abs=0.01)


def test_coverage_is_the_share_of_rare_words_that_are_names(names: Names) -> None:
    question = "Marta Lindqvist"
    assert coverage(question, link_names(question, names), names.texts) == pytest.approx(1)
    longer = "Does Marta Lindqvist like zebras?"
    assert 0.4 < coverage(longer, link_names(longer, names), names.texts) < 0.8
    assert coverage(longer, [], names.texts) == coverage("", [], names.texts) == 0
    (whole,) = link_names(question, names)
    assert coverage(question, [whole._replace(probability=0.5)], names.texts) == pytest.approx(0.5)

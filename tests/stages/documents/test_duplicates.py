import pytest
from hypothesis import given
from hypothesis import strategies as st

from lightrag_dagster.stages.documents.duplicates import PLACES, sketch

WORDS = [f"word{number}" for number in range(300)]
CHINESE = "".join(chr(0x4E00 + number * 7 % 4000) for number in range(300))


def similarity(one: str, other: str) -> float:
    first, second = sketch(one), sketch(other)
    assert first is not None
    assert second is not None
    return sum(a == b for a, b in zip(first, second, strict=True)) / PLACES


def jaccard(one: list[str], other: list[str]) -> float:
    sets = [{tuple(words[start : start + 5]) for start in range(len(words) - 4)} for words in (one, other)]
    return len(sets[0] & sets[1]) / len(sets[0] | sets[1])


@pytest.mark.parametrize("changed", [0, 1, 3, 10, 300])
def test_equal_places_estimate_the_share_of_common_shingles(changed: int) -> None:
    other = [f"other{number}" if number % 300 < changed else word for number, word in enumerate(WORDS)]
    assert similarity(" ".join(WORDS), " ".join(other)) == pytest.approx(jaccard(WORDS, other), abs=0.15)


def test_case_and_spacing_do_not_count_and_short_texts_have_no_sketch() -> None:
    assert similarity(" ".join(WORDS), "\n\n".join(WORDS).upper()) == 1
    assert sketch("only four words here") is None
    assert sketch("") is None


def test_a_text_without_spaces_is_compared_by_its_characters() -> None:
    assert similarity(CHINESE, CHINESE[:150] + "新" + CHINESE[150:]) > 0.8
    assert similarity(CHINESE, CHINESE[::-1]) < 0.2


@given(st.text())
def test_every_text_has_one_sketch_or_none(text: str) -> None:
    found = sketch(text)
    assert found == sketch(text)
    assert found is None or len(found) == PLACES

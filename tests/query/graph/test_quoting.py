from hypothesis import given
from hypothesis import strategies as st

from lightrag_dagster.query.graph.quoting import MOST, quoted

TEXT = "It rained. Marta Lindqvist went to Bergen. Marta\nlindqvist came back. Then Jonas Feld called Marta Lindqvist."


def quote(text: str, *groups: list[str], statement: str = "") -> str:
    return text[slice(*quoted(text, groups, statement))]


def test_a_name_is_quoted_with_its_sentence_and_the_next_ones_that_have_it() -> None:
    assert quote(TEXT, ["Marta Lindqvist"]) == TEXT.removeprefix("It rained. ")
    assert quote(TEXT, ["Bergen"]) == "Marta Lindqvist went to Bergen."
    assert quote(TEXT, ["rain"]) == TEXT, "a part of a word is no name, and the first words are quoted"


def test_two_names_are_quoted_where_they_are_nearest() -> None:
    assert quote(TEXT, ["Marta Lindqvist"], ["Jonas Feld"]) == "Then Jonas Feld called Marta Lindqvist."
    assert quote(TEXT, ["Bergen"], ["Jonas Feld"]) == TEXT.removeprefix("It rained. ")
    assert quote(TEXT, ["Bergen"], ["Priya Nair"]) == "Marta Lindqvist went to Bergen."


def test_a_statement_that_the_text_has_is_quoted() -> None:
    assert quote(TEXT, ["Bergen"], statement="It rained.") == "It rained."
    assert quote(TEXT, ["Bergen"], statement="Marta lindqvist came back.") == "Marta\nlindqvist came back."
    told = f"She told nobody. Then Jonas Feld called Marta Lindqvist. {'Word ' * 100}"
    assert quote(TEXT, ["Bergen"], statement=told) == "Then Jonas Feld called Marta Lindqvist."


def test_words_of_scripts_without_spaces_are_found() -> None:
    assert quote("雨が降った。東京に行った。", ["東京"]) == "東京に行った。"


def test_a_long_sentence_is_cut_between_words() -> None:
    text = f"{'word ' * 500}Bergen {'word ' * 500}end."
    found = quote(text, ["Bergen"])
    assert "Bergen" in found
    assert MOST - 10 <= len(found) <= MOST
    assert set(found.split()) == {"word", "Bergen"}
    assert len(quote("x" * 5000, ["y"])) == MOST


@given(st.text(max_size=900), st.lists(st.lists(st.text(min_size=1, max_size=9), max_size=3), max_size=2))
def test_any_text_yields_a_bounded_quote(text: str, groups: list[list[str]]) -> None:
    start, end = quoted(text, groups)
    assert 0 <= start <= end <= len(text)
    assert end - start <= MOST
    assert text[start:end] == text[start:end].strip()
    assert end > start or not text.strip()

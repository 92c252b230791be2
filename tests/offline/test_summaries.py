from hypothesis import given
from hypothesis import strategies as st

from lightrag_dagster.offline.summaries import summarise


def test_a_short_summary_is_every_distinct_sentence_in_order() -> None:
    texts = ["Kestrel is a service. It runs in Oslo.", "Kestrel is a service. Anna wrote it", "It runs in Oslo."]
    assert summarise(texts, 100) == "Kestrel is a service. It runs in Oslo. Anna wrote it."


def test_a_long_summary_keeps_what_is_new_and_the_order() -> None:
    texts = ["Kestrel is a small web service.", "Kestrel is a web service.", "Anna Berg wrote the parser in Oslo."]
    assert summarise(texts, 18) == "Kestrel is a small web service. Anna Berg wrote the parser in Oslo."


def test_one_sentence_that_is_too_long_is_cut() -> None:
    assert summarise(["Kestrel is a small web service in Oslo."], 4) == "Kestrel is a sma"


@given(st.lists(st.text(max_size=60), max_size=6), st.integers(1, 40))
def test_a_summary_keeps_to_its_limit(texts: list[str], tokens: int) -> None:
    summary = summarise(texts, tokens)
    assert len(summary.encode()) <= 4 * tokens
    assert summary == summarise(texts, tokens)

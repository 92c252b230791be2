"""Words that a model copied are found in the passage, and no others."""

import time
import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lightrag_dagster.stages.facts.standing import PassageText

SOFT, NARROW, DECOMPOSED = "\u00ad", "\u202f", unicodedata.normalize("NFD", "Zürich")


@pytest.mark.parametrize(
    ("passage", "words", "found"),
    [
        ("Ada leads Acme.", "Ada leads Acme.", "Ada leads Acme."),
        ("Ada  leads\nAcme.", "Ada leads Acme", "Ada  leads\nAcme"),
        ("ADA LEADS ACME.", "Ada leads Acme.", "ADA LEADS ACME"),
        ("“Ada” leads ‘Acme’.", "\"Ada\" leads 'Acme'", "Ada” leads ‘Acme"),
        ("**Ada** leads _Acme_.", "Ada leads Acme", "Ada** leads _Acme"),
        ("Ada leads Acme.", "**Ada** leads `Acme`", "Ada leads Acme"),
        ("| Ada | Acme |", "Ada Acme", "Ada | Acme"),
        ("Ada – since 2019 – leads Acme.", "Ada - since 2019 - leads Acme", "Ada – since 2019 – leads Acme"),
        ("Ada lives in Zürich.", f"in {DECOMPOSED}", "in Zürich"),
        (f"Ada lives in {DECOMPOSED}.", "in Zürich", f"in {DECOMPOSED[:-1]}h"),
        ("The ﬁrst oﬃce", "first office", "ﬁrst oﬃce"),
        (f"The chair{SOFT}man of Acme", "chairman of Acme", f"chair{SOFT}man of Acme"),
        ("The chair-\nman of Acme", "chairman of Acme", "chair-\nman of Acme"),
        ("Die Straße in Bonn", "DIE STRASSE", "Die Straße"),
        ("東京都に本社を置く。", "東京都に 本社", "東京都に本社"),
        ("東京都に本社を置く。", "本社", "本社"),
        ("ＡＣＭＥ costs １２ ￥", "ACME costs 12 ¥", "ＡＣＭＥ costs １２ ￥"),
        (f"It cost 1{NARROW}234 €.", "1 234 €", f"1{NARROW}234 €"),
        ("It cost 12 %.", "12%", "12 %"),
        ("It cost 12%, then 12 % again", "12%", "12%"),
        ("It fell to −5 °C.", "-5 °C", "−5 °C"),
        ("The COVID-19 fund", "COVID 19", "COVID-19"),
        ("from 2019–2022", "2019-2022", "2019–2022"),
        ("Bernadette met Bern in Berne and Bern.", "Bern", "Bern"),
        ("Smarta and Marta", "marta", "Marta"),
        ("123 and 12", "12", "12"),
    ],
)
def test_words_are_found_as_they_stand(passage: str, words: str, found: str) -> None:
    span = PassageText(passage).find(words)
    assert span
    assert span.words == found
    assert passage[span.start : span.end] == found


@pytest.mark.parametrize(
    ("passage", "words"),
    [
        ("Ada leads Acme.", "Ada led Acme."),
        ("Ada leads Acme.", ""),
        ("Ada leads Acme.", "…"),
        ("", "Ada"),
        # numbers are not found in others
        ("123", "12"),
        ("123", "23"),
        ("It cost 12.5 EUR", "12"),
        ("It cost 12.5 EUR", "5 EUR"),
        ("It cost 1,200 EUR", "200 EUR"),
        ("15 EUR", "1.5 EUR"),
        ("1.5 EUR", "15 EUR"),
        ("1.5 EUR", "1,5 EUR"),
        ("1/2 litre", "12 litre"),
        ("5 degrees", "-5 degrees"),
        ("-5 degrees", "5 degrees"),
        # nor with another unit
        ("12 €", "12 $"),
        ("12 €", "12 %"),
        ("12", "½"),
        # words are not found in others
        ("A party of ten", "art"),
        ("Bundeskanzler", "Kanzler"),
        ("ein Kanzleramt", "Kanzler"),
    ],
)
def test_other_words_are_not_found(passage: str, words: str) -> None:
    assert PassageText(passage).find(words) is None


@given(st.text(), st.text(), st.text())
def test_any_text_may_be_looked_for(before: str, words: str, after: str) -> None:
    text = before + words + after
    span = PassageText(text).find(words)
    assert span is None or text[span.start : span.end] == span.words
    alone = PassageText(f" {words} ").find(words)
    assert (alone is not None) == any(
        one.isalnum() or one in "%‰°⁄" or unicodedata.category(one) == "Sc"
        for one in unicodedata.normalize("NFKD", words)
    )


@pytest.mark.parametrize("words", ["a" * 20_000 + "b", "A " * 10_000 + "b", "a", "aa" * 5000])
def test_looking_takes_linear_time(words: str) -> None:
    begun = time.thread_time()
    assert PassageText("a" * 40_000).find(words) is None
    assert time.thread_time() - begun < 1

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lightrag_dagster.models.offline.summarise import answer, summarise
from lightrag_dagster.stages.prompts.fencing import fence
from tests.models.offline.passages import GERMAN, HANDBOOK, NOTES

DOCUMENTS = {"1": ("handbook/working.md", HANDBOOK), "2": ("notes/fen.txt", NOTES), "3": ("handbuch/daten.md", GERMAN)}


def lines(*descriptions: str) -> str:
    return "\n".join(json.dumps({"Description": text}, ensure_ascii=False) for text in descriptions)


def context() -> str:
    entities = fence(
        json.dumps({"entity": "Envoy", "type": "other", "description": "A proxy that costs 9 euros."}), "json"
    )
    chunks = fence(
        "\n".join(json.dumps({"reference_id": n, "content": text}) for n, (_, text) in DOCUMENTS.items()), "json"
    )
    paths = "\n".join(f"[{number}] {path}" for number, (path, _) in DOCUMENTS.items())
    return f"Rules.\n\n## Entities\n\n{entities}\n\n## Excerpts\n\n{chunks}\n\n## Documents\n\n{paths}"


def test_a_short_summary_is_every_distinct_sentence_in_order() -> None:
    texts = lines("Kestrel is a service. It runs in Oslo.", "Kestrel is a service. Anna wrote it", "It runs in Oslo.")
    assert summarise(texts, 100) == "Kestrel is a service. It runs in Oslo. Anna wrote it."


def test_a_long_summary_keeps_what_is_new_and_the_order() -> None:
    texts = lines("Kestrel is a small web service.", "Kestrel is a web service.", "Anna Berg wrote the parser in Oslo.")
    assert summarise(texts, 18) == "Kestrel is a small web service. Anna Berg wrote the parser in Oslo."


def test_one_sentence_that_is_too_long_is_cut() -> None:
    assert summarise(lines("Kestrel is a small web service in Oslo."), 4) == "Kestrel is a sma"


@given(st.lists(st.text(max_size=60), max_size=6), st.integers(1, 40))
def test_a_summary_keeps_to_its_limit(texts: list[str], tokens: int) -> None:
    summary = summarise(lines(*texts), tokens)
    assert len(summary.encode()) <= 4 * tokens
    assert summary == summarise(lines(*texts), tokens)


@pytest.mark.parametrize(
    ("question", "sentence", "reference"),
    [
        ("How many days of vacation are there?", "policy gives every employee 28 days. [1]", "[1] handbook/working.md"),
        ("Who counted grebes?", "near the reed bed on 12 June 2023. [2]", "[2] notes/fen.txt"),
        ("Wer leitete die Übung?", "Thomas Brandl leitete am 3. Mai 2024 die Übung", "[3] handbuch/daten.md"),
    ],
)  # fmt: skip
def test_an_answer_cites_the_sentence_that_holds_it(question: str, sentence: str, reference: str) -> None:
    text, _, references = answer(question, context()).partition("\n\n### References\n\n")
    assert sentence in text.split("\n\n")[0]
    assert references.splitlines()[0] == f"- {reference}"
    assert len(references.splitlines()) <= 5


@pytest.mark.parametrize(
    "question",
    ["Who founded Zebracorp?", "What is the recipe for apple pie?", "", "what is it", "¿?"],
)
def test_without_an_answer_it_says_so(question: str) -> None:
    assert answer(question, context()).endswith("[no-context]")
    assert answer("How many days of vacation are there?", "Rules.").endswith("[no-context]")


def test_a_sentence_stands_in_for_the_subject_of_the_one_before() -> None:
    passage = (
        "Jonas Feld fell into the river at Corley. He was pulled out by Marta Lind. The weather was fine that day."
    )
    other = "Jonas Feld works in Bergen. He likes the river at Corley."
    chunks = [{"reference_id": "1", "content": other}, {"reference_id": "2", "content": passage}]
    text = answer("Who pulled Jonas Feld out of the river?", "\n".join(json.dumps(chunk) for chunk in chunks))
    assert "He was pulled out by Marta Lind. [2]" in text
    assert "The weather" not in text

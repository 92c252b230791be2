"""Answers of the offline chat model: sentences of the context, cited."""

import json

import pytest

from lightrag_dagster.core.protocols import Message
from lightrag_dagster.stages.prompts.fencing import fence
from tests.models.test_rules import ask
from tests.offline.passages import GERMAN, HANDBOOK, NOTES

DOCUMENTS = {"1": ("handbook/working.md", HANDBOOK), "2": ("notes/fen.txt", NOTES), "3": ("handbuch/daten.md", GERMAN)}


def answer(question: str, context: str) -> str:
    return ask("answer", Message("system", context), Message("user", question)).text


def context() -> str:
    entities = fence(
        json.dumps({"entity": "Envoy", "type": "other", "description": "A proxy that costs 9 euros."}), "json"
    )
    chunks = fence(
        "\n".join(json.dumps({"reference_id": n, "content": text}) for n, (_, text) in DOCUMENTS.items()), "json"
    )
    paths = "\n".join(f"[{number}] {path}" for number, (path, _) in DOCUMENTS.items())
    return f"Rules.\n\n## Entities\n\n{entities}\n\n## Excerpts\n\n{chunks}\n\n## Documents\n\n{paths}"


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

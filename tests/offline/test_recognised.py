"""Names of a model beside those of the rules."""

from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lightrag_dagster.offline.extractor import find_names
from lightrag_dagster.offline.recognised import NameSpan, Recogniser


def model(*names: str, leads: bool = False) -> Recogniser:
    """Return a recogniser of phrases, each `phrase: type`."""

    def recognise(texts: Sequence[str]) -> list[list[NameSpan]]:
        phrases = dict(name.split(": ") for name in names)
        return [
            [
                NameSpan(at, at + len(name), kind, leads)
                for name, kind in phrases.items()
                if (at := text.find(name)) >= 0
            ]
            for text in texts
        ]

    return recognise


def names(text: str, recognise: Recogniser) -> dict[str, str]:
    return {one.name: one.type for one in find_names(text, recognise=recognise).entities}


@pytest.mark.parametrize(
    ("text", "recognise", "expected"),
    [
        (
            "We oiled the blue lamp in Oslo.",
            model("blue lamp: artifact"),
            {"blue lamp": "artifact", "Oslo": "location"},
        ),
        ("We oiled it at Corley Bridge.", model("at Corley: person"), {"Corley Bridge": "location"}),  # they overlap
        ("It rained on Corley Bridge.", model("Corley Bridge: person"), {"Corley Bridge": "location"}),
        ("It was Zorvex again.", model("Zorvex: organization"), {"Zorvex": "organization"}),  # unknown to the rules
        ("It was Zorvex again.", model("Zorvex: reagent"), {"Zorvex": "reagent"}),
        ("It was Zorvex Palin.", model("Zorvex Palin: organization", leads=True), {"Zorvex Palin": "organization"}),
        ("We saw Zorvex Palin and Olaf Lund.", model("Palin and Olaf: event", leads=True), {"Palin and Olaf": "event"}),
        ("It was the guild's turn.", model("the guild's: organization"), {"guild": "organization"}),
        ("It was done.", model("was done: event"), {"was done": "event"}),
        ("On 12 of them.", model("12: event"), {}),
        ("OIL AND THE BLUE LAMP\n\nIt was done.", model("BLUE LAMP: artifact"), {}),  # a heading in capitals
    ],
)
def test_names_of_the_model_are_added(text: str, recognise: Recogniser, expected: dict[str, str]) -> None:
    assert names(text, recognise) == expected


def test_names_of_the_model_are_related_as_others_are() -> None:
    found = find_names("Here in Oslo stands a blue lamp.", co_mentions=True, recognise=model("blue lamp: artifact"))
    assert [(one.src, one.tgt) for one in found.relations] == [("Oslo", "blue lamp")]


@given(
    st.text(alphabet="aB '’\"*.ßé\n中", max_size=80),
    st.lists(st.tuples(st.integers(0, 30), st.integers(1, 30)), max_size=4),
)
def test_any_spans_of_a_model_give_names_that_stand_in_the_text(text: str, places: list[tuple[int, int]]) -> None:
    seen: list[str] = []

    def recognise(texts: Sequence[str]) -> list[list[NameSpan]]:
        seen.extend(texts)
        return [
            [NameSpan(at, min(at + length, len(one)), "event", at % 2 == 0) for at, length in places] for one in texts
        ]

    for entity in find_names(text, recognise=recognise).entities:
        assert any(entity.name.casefold() in one.casefold() for one in [text, *seen])

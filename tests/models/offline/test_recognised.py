"""Names of a model beside those of the rules."""

from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lightrag_dagster.models.offline.entity_types import Vote
from lightrag_dagster.models.offline.extractor import find_names
from lightrag_dagster.models.offline.recognised import Recogniser, Span


def model(weight: float = 0.5, /, **types: str) -> Recogniser:
    """Return a recogniser of phrases, written with `_` for spaces."""

    def recognise(texts: Sequence[str]) -> list[list[Span]]:
        phrases = {name.replace("_", " "): kind for name, kind in types.items()}
        return [
            [Span(text.index(name), text.index(name) + len(name), Vote(kind, weight)) for name, kind in phrases.items()
             if name in text]
            for text in texts
        ]  # fmt: skip

    return recognise


def names(text: str, recognise: Recogniser) -> dict[str, str]:
    return {one.name: one.type for one in find_names(text, recognise=recognise).entities}


@pytest.mark.parametrize(
    ("text", "recognise", "expected"),
    [
        ("We oiled the blue lamp in Oslo.", model(blue_lamp="artifact"), {"blue lamp": "artifact", "Oslo": "location"}),
        ("We oiled it at Corley Bridge.", model(at_Corley="person"), {"Corley Bridge": "location"}),  # they overlap
        ("It rained on Corley Bridge.", model(Corley_Bridge="person"), {"Corley Bridge": "location"}),
        ("It was Zorvex again.", model(Zorvex="organization"), {"Zorvex": "organization"}),  # unknown to the rules
        ("It was Zorvex again.", model(Zorvex="reagent"), {"Zorvex": "reagent"}),
        ("It was Corley Bridge.", model(5.0, Corley_Bridge="person"), {"Corley Bridge": "person"}),
        ("It was the guild's turn.", model(**{"the_guild's": "organization"}), {"guild": "organization"}),
        ("It was done.", model(was_done="event"), {"was done": "event"}),
        ("On 12 of them.", model(**{"12": "event"}), {}),
        ("OIL AND THE BLUE LAMP\n\nIt was done.", model(BLUE_LAMP="artifact"), {}),  # a heading in capitals
    ],
)
def test_names_of_the_model_are_added(text: str, recognise: Recogniser, expected: dict[str, str]) -> None:
    assert names(text, recognise) == expected


def test_names_of_the_model_are_related_as_others_are() -> None:
    found = find_names("Here in Oslo stands a blue lamp.", co_mentions=True, recognise=model(blue_lamp="artifact"))
    assert [(one.src, one.tgt) for one in found.relations] == [("Oslo", "blue lamp")]


@given(
    st.text(alphabet="aB '’\"*.ßé\n中", max_size=80),
    st.lists(st.tuples(st.integers(0, 30), st.integers(1, 30)), max_size=4),
)
def test_any_spans_of_a_model_give_names_that_stand_in_the_text(text: str, places: list[tuple[int, int]]) -> None:
    seen: list[str] = []

    def recognise(texts: Sequence[str]) -> list[list[Span]]:
        seen.extend(texts)
        return [[Span(at, min(at + length, len(one)), Vote("event", 3.0)) for at, length in places] for one in texts]

    for entity in find_names(text, recognise=recognise).entities:
        assert any(entity.name.casefold() in one.casefold() for one in [text, *seen])

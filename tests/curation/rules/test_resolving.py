"""Decisions hold at once, whatever their order, and two that cannot both hold name both places."""

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lightrag_dagster.core.identity import entity_id, relation_id
from lightrag_dagster.curation.rules.decisions import Decision, Placed, check_decision, version_of
from lightrag_dagster.curation.rules.resolving import NO_DECISIONS, Curation, resolve
from lightrag_dagster.errors import DecisionError
from lightrag_dagster.stages.extraction.parsing import parse_response
from lightrag_dagster.stages.extraction.writing import write_answer


def decide(*decisions: dict[str, object]) -> list[Placed]:
    return [Placed(Decision.model_validate(one), f"line {number}") for number, one in enumerate(decisions, 1)]


def merge(*names: str, into: str | None = None) -> dict[str, object]:
    return {"action": "merge", "names": names, "into": into}


def rename(name: str, into: str) -> dict[str, object]:
    return {"action": "rename", "names": (name,), "into": into}


def apart(*names: str) -> dict[str, object]:
    return {"action": "apart", "names": names}


def remove(*names: str) -> dict[str, object]:
    return {"action": "remove", "names": names}


def describe(text: str, *names: str) -> dict[str, object]:
    return {"action": "describe", "names": names, "text": text}


def split(name: str, into: str, **conditions: object) -> dict[str, object]:
    return {"action": "split", "names": (name,), "into": into} | conditions


def names_of(curation: Curation) -> dict[str, str]:
    return {one.id: one.text for one in curation.written if one.column == "name"}


@pytest.mark.parametrize(
    ("decisions", "joined", "name"),
    [
        ([merge("A", "B", into="A")], "ab", "A"),
        ([merge("A", "B"), merge("b", "C", into="X")], "abcx", "X"),
        ([rename("A", "B"), rename("B", "C")], "abc", "C"),
        ([merge("A", "B", into="A"), rename("A", "Acme")], ["a", "b", "acme"], "Acme"),
        ([rename("acme", "ACME")], ["acme"], "ACME"),
        ([merge("A", "B", into="A"), merge("A", "C", into="A")], "abc", "A"),
    ],
)
def test_names_are_followed_to_the_last_one(decisions: list[dict[str, object]], joined: list[str], name: str) -> None:
    for _ in range(5):
        random.Random(len(decisions)).shuffle(decisions)
        curation = resolve(decide(*decisions))
        assert {curation.entity_of(entity_id(one)) for one in joined} == {entity_id(name)}
        assert names_of(curation) == {entity_id(name): name}
        assert curation.entity_of(entity_id("elsewhere")) == entity_id("elsewhere")


def test_names_that_are_merged_into_none_have_the_id_of_the_first() -> None:
    curation = resolve(decide(merge("Beta", "alpha", "Gamma")))
    assert {curation.entity_of(entity_id(one)) for one in ("alpha", "beta", "gamma")} == {entity_id("alpha")}
    assert not curation.written


@pytest.mark.parametrize(
    ("decisions", "message"),
    [
        ([rename("A", "B"), rename("B", "A")], "line 1 and line 2 give names in a circle; remove one of them"),
        (
            [rename("A", "B"), rename("A", "C")],
            "line 1 and line 2 give one entity two names, 'B' and 'C'; remove one of them",
        ),
        (
            [rename("A", "Acme"), rename("B", "ACME"), merge("A", "B")],
            "line 1 and line 2 give one entity two names, 'Acme' and 'ACME'; remove one of them",
        ),
        (
            [apart("A", "C"), merge("A", "B"), merge("B", "C")],
            "line 1 keeps 'A' and 'C' apart, and line 2 joins them; remove one of them",
        ),
        ([apart("A", "a")], "line 1: 'A' and 'a' are spellings of one name; `curate split` takes it apart"),
        ([apart("B", "A", "A")], "line 1: 'A' and 'A' are spellings of one name; `curate split` takes it apart"),
        (
            [describe("x", "A"), describe("y", "a")],
            "line 1 and line 2 give two descriptions, 'x' and 'y'; remove one of them",
        ),
        ([remove("A"), describe("x", "A")], "line 1 removes what line 2 gives a description; remove one of them"),
        (
            [remove("A"), describe("x", "B", "A")],
            "line 1 removes an end of what line 2 gives a description; remove one of them",
        ),
        ([remove("A"), {"action": "add", "names": ("A",)}], "line 1 removes what line 2 adds; remove one of them"),
        (
            [{"action": "add", "names": ("A",)}, {"action": "add", "names": ("a",), "type": "person"}],
            "line 1 and line 2 add the same; remove one of them",
        ),
        (
            [merge("B", "C"), remove("C"), {"action": "add", "names": ("A", "B")}],
            "line 2 removes an end of what line 3 adds; remove one of them",
        ),
        ([remove("A", "B"), merge("A", "B")], "line 1: 'A' and 'B' are one entity; line 2 makes them one"),
        ([merge("A", "B"), merge("A", "B")], "line 1 and line 2 are the same decision; remove one of them"),
        ([split("A", "a", types=["x"])], "line 1: 'a' is the name itself; give the mentions another one"),
        (
            [split("A", "B", types=["x"]), split("B", "C", types=["y"])],
            "line 2 splits 'B', which line 1 splits off; split the first name",
        ),
        ([split("A", "B", types=["x"]), merge("A", "B")], "line 2 joins what line 1 splits; remove one of them"),
        (
            [split("A", "K Town", types=["x"]), split("B", "K TOWN", types=["x"])],
            "line 1 and line 2 spell one name as 'K Town' and as 'K TOWN'; remove one of them",
        ),
    ],
)
def test_a_contradiction_names_both_places(decisions: list[dict[str, object]], message: str) -> None:
    with pytest.raises(DecisionError) as raised:
        resolve(decide(*decisions))
    assert str(raised.value) == message


def test_equal_texts_of_names_that_are_joined_hold() -> None:
    spelt = {"A": "Law Firm", "B": "law firm"}
    types: list[dict[str, object]] = [{"action": "retype", "names": (a,), "type": b} for a, b in spelt.items()]
    curation = resolve(decide(*types, merge("A", "B")))
    # As types of answers are read.
    assert {(one.id, one.column, one.text) for one in curation.written} == {(entity_id("a"), "type", "lawfirm")}


def test_places_shape_nothing() -> None:
    same_name = [rename("B", "E"), rename("B", "E") | {"sources": ("s",)}, merge("B", "C", into="E")]
    forth, back = (resolve(decide(*order)) for order in (same_name, same_name[::-1]))
    assert forth == back


def test_a_name_may_be_spelt_another_way_by_a_merge_of_its_spellings() -> None:
    curation = resolve(decide(merge("halden weir", "Halden Weir", into="HALDEN WEIR")))
    assert names_of(curation) == {entity_id("Halden Weir"): "HALDEN WEIR"}


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (remove("KR"), remove("kr")),
        (merge("A", "B"), merge("B", "A")),
        (apart("A", "B", "C"), apart("C", "A", "B")),
        (remove("A", "B"), remove("B", "A")),
        (describe("x", "A", "B"), describe("x", "B", "A")),
    ],
)
def test_names_in_another_spelling_or_order_are_the_same_decision(
    one: dict[str, object], other: dict[str, object]
) -> None:
    with pytest.raises(DecisionError, match="line 1 and line 2 are the same decision"):
        resolve(decide(one, other))
    assert version_of(decide(one)) == version_of(decide(other))


def test_a_removed_relation_is_that_of_the_entities_that_its_ends_became() -> None:
    curation = resolve(decide(merge("A", "B", into="A"), remove("B", "C"), remove("Z")))
    assert curation.removed == {relation_id(entity_id("a"), entity_id("c")), entity_id("z")}
    assert curation.entity_of(entity_id("z")) is None


def test_a_name_that_is_split_off_is_shown_as_written() -> None:
    curation = resolve(decide(split("Mercury", "Mercury (planet)", types=["Planet", "Natural Object"])))
    (rule,) = curation.splits
    assert (rule.entity_id, rule.into_id) == (entity_id("Mercury"), entity_id("Mercury (planet)"))
    assert rule.types == ("planet", "naturalobject")  # as types of answers are read
    assert names_of(curation) == {entity_id("Mercury (planet)"): "Mercury (planet)"}


def test_parts_of_two_names_that_are_merged_have_the_name_of_the_first() -> None:
    parts = [
        split("Mercy", "Mercy (Leeds)", paths=["1"]),
        split("Mercy Hospital", "Mercy Hospital (Leeds)", paths=["2"]),
    ]
    joined = merge("Mercy (Leeds)", "Mercy Hospital (Leeds)")
    curation = resolve(decide(*parts, joined))
    assert list(names_of(curation).values()) == ["Mercy (Leeds)"]
    assert resolve(decide(joined, *parts[::-1])).written == curation.written


def test_names_that_no_document_must_have_are_those_that_decisions_make() -> None:
    found = resolve(
        decide(merge("A", "B", into="X"), split("M", "N", types=["t"]), describe("text", "N"), apart("A", "C"))
    )
    assert found.unmatched(frozenset({entity_id("a")})) == ["B", "C", "M"]


def test_a_name_that_only_its_own_decision_gives_must_be_in_a_document() -> None:
    own = [merge("Acme", "Acmee", into="Acmee"), rename("bergn", "BERGN")]
    assert resolve(decide(*own)).unmatched(frozenset({entity_id("Acme")})) == ["Acmee", "bergn"]
    assert resolve(decide(*own, rename("C", "Acmee"))).unmatched(frozenset()) == ["Acme", "C", "bergn"]


names = st.sampled_from("abcdef")


@given(
    st.lists(
        st.one_of(
            st.builds(rename, names, names),
            st.builds(merge, names, names),
            st.builds(lambda one, other, into: merge(one, other, into=into), names, names, names),
            st.builds(remove, names),
            st.builds(describe, st.sampled_from(("x", "y")), names),
        ),
        max_size=6,
    ),
    st.randoms(use_true_random=False),
)
def test_order_does_not_matter(decisions: list[dict[str, object]], shuffled: random.Random) -> None:
    unique = list({str(one): one for one in decisions}.values())
    placed = decide(*unique)

    def outcome() -> Curation | str:
        try:
            return resolve(placed)
        except DecisionError as error:
            return str(error)

    first, key = outcome(), version_of(placed)
    shuffled.shuffle(placed)
    assert outcome() == first
    assert version_of(placed) == key
    if isinstance(first, Curation):
        for one in "abcdef":
            entity = first.joined.get(entity_id(one), entity_id(one))
            assert first.joined.get(entity, entity) == entity, "a fixed point"


def test_no_decisions_are_nothing() -> None:
    assert resolve([]) == NO_DECISIONS
    assert version_of([]) == ""


@pytest.mark.parametrize(
    "name",
    [
        "佐藤 健",
        "東京 大学",
        "김 철수",
        "ＡＣＭＥ　Ｉｎｃ",
        "Cafe\u0301",
        "**Corley**",
        "“Acme”",
        "A — B",
        "R&amp;D",
        "O’Brien",
        "42",
    ],
)
def test_names_are_spelt_as_they_are_read_in_answers(name: str) -> None:
    (decision, _) = check_decision("here", action="rename", names=(name,), into=name)
    answer = write_answer([["entity", name, "t", "d"]])
    read = [one.name for one in parse_response(answer).entities] or [name]
    assert [*decision.names, decision.into] == read * 2


def test_two_spellings_that_answers_share_are_not_merged() -> None:
    with pytest.raises(DecisionError, match="are spellings of one name; write it once"):
        check_decision("here", action="merge", names=("佐藤 健", "佐藤健"))

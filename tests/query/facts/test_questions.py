import asyncio
from collections.abc import Iterator
from datetime import date
from pathlib import Path
from typing import Any

import pytest

from lightrag_dagster import Filters, KnowledgeBase
from lightrag_dagster.errors import QueryError
from lightrag_dagster.query.types import Fact
from lightrag_dagster.testing.building import build_knowledge_base
from tests.query.facts.home import CANARY


@pytest.fixture(scope="module")
def knowledge(facts_home: Path) -> Iterator[KnowledgeBase]:
    with KnowledgeBase.open(facts_home) as opened:
        yield opened


def said(one: Fact) -> str:
    return f"{one.subject} {one.relation} {one.object or one.value}, {one.since}-{one.until}"


CHIEFS = [
    "Orrin Instruments chief_executive Marta Lindqvist, 2024-",
    f"Orrin Instruments chief_executive {CANARY} Vane, 2022-03-2023-12-31",
    "Orrin Instruments chief_executive Priya Nair, 2021-06-2022-02-28",
    "Orrin Instruments chief_executive Jonas Feld, 2019-01-2021-05-31",
    "Orrin Instruments chief_executive Ada Holm, -",
]


@pytest.mark.long
def test_all_facts_come_newest_first_with_the_days_on_which_they_hold(knowledge: KnowledgeBase) -> None:
    found = knowledge.facts("Orrin Instruments", relation="Chief executive")
    assert [said(one) for one in found] == CHIEFS
    assert [one.counts for one in found] == [True, True, True, True, False]
    first = knowledge.facts("Orrin Instruments", relation="Chief executive", limit=2)
    assert (list(first), first.left_out) == (list(found)[:2], 3)


@pytest.mark.parametrize(
    ("day", "chiefs"),
    [
        ("2018", []),
        ("2019", ["Jonas Feld"]),
        ("2021-05-31", ["Jonas Feld"]),
        ("2021-06", ["Priya Nair"]),
        (date(2023, 12, 31), [f"{CANARY} Vane"]),
        ("2026-01-01", ["Marta Lindqvist"]),
    ],
)
def test_a_day_leaves_what_held_then(knowledge: KnowledgeBase, day: Any, chiefs: list[str]) -> None:
    asked = knowledge.facts("Orrin Instruments", relation="chief_executive", as_of=day)
    assert [one.object for one in asked] == chiefs


def test_a_fact_has_number_unit_days_and_the_words_that_say_it(knowledge: KnowledgeBase) -> None:
    (one,) = knowledge.facts("Halden Weir", relation="revenue")
    assert (one.value, one.number, one.unit, one.subject_type) == ("20 EUR", 20.0, "EUR", "company")
    assert (one.valid_from, one.from_precision, one.valid_to) == ("2020-02-10", "day", "2020-12-31")
    (place,) = one.citations
    assert (place.source, place.path, one.citations_left_out) == ("crm", "4", 0)
    document = knowledge.sql("SELECT content FROM raw_documents WHERE path = '4'")["content"][0].as_py()
    assert document[place.char_start : place.char_end] == place.words
    (known,) = knowledge.facts("Halden Weir", relation="known_since")
    assert known.value_date == "2020-02-10"


VALUES = [
    (1500, 1),
    ("1500", 1),
    ("1500 eur", 1),
    ("1500 USD", 0),
    (1.234, 0),
    ("1,500 EUR", 1),
    ("1500.0000 EUR", 1),
    (">=1500", 3),
    ("> 1500 EUR", 2),
    ("<1200", 1),
    ("<=1200", 2),
    ("1500 EUR", 1),
    ("=20 EUR", 1),
    ("yes", 1),
    (True, 1),
    (False, 1),
    (1, 0),
    ("<2021-06", 3),
    ("2021-06-01", 1),
    ("nothing", 0),
]


@pytest.mark.parametrize(("value", "number"), VALUES)
def test_values_are_compared(knowledge: KnowledgeBase, value: Any, number: int) -> None:
    assert len(knowledge.facts(value=value)) == number


@pytest.mark.long
def test_each_number_has_evidence_and_they_add_up(knowledge: KnowledgeBase) -> None:
    total = len(knowledge.facts(limit=1_000))
    for by in (None, "relation", "subject", "object", "type", "value", "year"):
        found = knowledge.count(by=by)
        assert found.total == sum(one.count for one in found.counts) == total
        for one in found.counts:
            assert len(one.fact_ids) == len(one.citations) == one.count - one.left_out
    by_object = knowledge.count("Orrin Instruments", relation="chief_executive", by="object")
    assert [one.key for one in by_object.counts] == [
        "Ada Holm",
        "Jonas Feld",
        "Marta Lindqvist",
        "Priya Nair",
        f"{CANARY} Vane",
    ]
    assert by_object.counts[0].entity_id == knowledge.entity("Ada Holm").entity_id
    assert knowledge.count("Orrin Instruments", by="relation", limit=2).left_out == 3
    assert [(one.key, one.count) for one in knowledge.count("Halden Weir", by="year").counts] == [("2020", 3)]


def test_the_object_is_a_name_as_well(knowledge: KnowledgeBase) -> None:
    found = knowledge.facts(object="marta lindqvist")
    assert [one.subject for one in found] == ["Orrin Instruments", "Halden Weir"]
    assert knowledge.facts(object="Marta Lindqvst").notes == (
        "no entity is called 'Marta Lindqvst'; meant is 'Marta Lindqvist'",
    )
    assert {one.subject_type for one in knowledge.facts(type="Company")} == {"company"}


def test_times_that_cannot_be_read_are_told(knowledge: KnowledgeBase) -> None:
    asked = knowledge.facts("Tarn Mill", as_of="2021")
    assert [said(one) for one in asked] == ["Tarn Mill chief_executive Ines Quell, -"]
    assert asked.notes == (
        "1 fact of these names has a time that cannot be read: such a fact counts on every day, or on none where "
        "another of a `single` relation is dated; leave the day out to see them",
    )
    assert knowledge.facts("Tarn Mill").notes == knowledge.facts("Orrin Instruments", as_of="2021").notes == ()


@pytest.mark.long
def test_a_source_is_a_filter(knowledge: KnowledgeBase) -> None:
    by_source = knowledge.facts("Orrin Instruments", source="crm", relation="chief_executive")
    assert by_source == knowledge.facts("Orrin Instruments", filters=Filters("crm"), relation="chief_executive")
    assert said(by_source[1]) == "Orrin Instruments chief_executive Priya Nair, 2021-06-2023-12-31"


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"subject": "Zzyzx Qqq"}, "there is no entity 'Zzyzx Qqq'"),
        ({"relation": "chief"}, "no fact has the relation 'chief'; there are chief_executive, known_since"),
        ({"relation": "revenues"}, "no fact has the relation 'revenues'; did you mean 'revenue'?"),
        ({"type": "person"}, "no fact has the type 'person'; there are company"),
        (
            {"as_of": "last May"},
            "as_of takes a day, month or year, such as 2024-03-31, 2024-03 or 2024, not 'last May'",
        ),
        ({"value": ">=50.000 EUR"}, "value '50.000 EUR' may be 50 or 50000: write the number as one of these"),
        ({"value": "1,250 km"}, "value '1,250 km' may be 1.25 or 1250: write the number as one of these"),
        ({"value": "3.141"}, "value '3.141' may be 3.1410 or 3141: write the number as one of these"),
        ({"as_of": "2024-13"}, "as_of takes a day"),
        ({"value": " "}, "value takes a text, or a number or date after a sign"),
        (
            {"value": ">=many"},
            "value takes a text, or a number or date after a sign, such as >=100, >=100 EUR or <2024-03",
        ),
        *(({"value": one}, "value takes a text, or a number") for one in ("!=no", "≥5", "=>5", "==5", "≠5")),
        ({"value": ["1"]}, "value takes text"),
        ({"relations": "seat"}, "there is no condition 'relations'; did you mean 'relation'?"),
        ({"source": "crm", "filters": Filters("crm")}, "source and filters.sources are both given; leave one out"),
        ({"limit": 0}, "limit takes a whole number from 1, not 0"),
        ({"by": "month"}, "by takes relation, subject, object, type, value, year, not 'month'"),
    ],
)
def test_what_cannot_be_asked_is_said(knowledge: KnowledgeBase, given: dict[str, Any], message: str) -> None:
    with pytest.raises(QueryError) as raised:
        knowledge.count(**given)
    assert str(raised.value).startswith(message)


@pytest.mark.long
def test_a_snapshot_without_facts_says_so(published_home: Path) -> None:
    with KnowledgeBase.open(published_home) as knowledge:
        nothing = ("the snapshot has no facts: no pass has read any, see docs/facts.md",)
        assert (len(knowledge.facts()), knowledge.facts().notes) == (0, nothing)
        assert (knowledge.count(by="relation").total, knowledge.count().notes) == (0, nothing)


def test_an_event_loop_gets_the_same(knowledge: KnowledgeBase) -> None:
    async def ask() -> tuple[object, object]:
        return await knowledge.afacts("Halden Weir"), await knowledge.acount("Halden Weir", by="relation")

    assert asyncio.run(ask()) == (knowledge.facts("Halden Weir"), knowledge.count("Halden Weir", by="relation"))


def test_facts_that_cannot_both_be_name_each_other(knowledge: KnowledgeBase) -> None:
    assert all(not one.contradicts for one in knowledge.facts("Orrin Instruments"))
    first, last = knowledge.facts("Bergen Ferry", relation="chief_executive")
    assert (first.contradicts, last.contradicts) == ((last.fact_id,), (first.fact_id,))
    assert (first.contradicts_left_out, {first.object, last.object}) == (0, {"Ada Holm", "Jonas Feld"})
    contradicted = knowledge.facts(contradicted=True)
    assert list(contradicted) == [one for one in knowledge.facts(limit=10_000) if one.contradicts]
    assert {first, last} <= set(contradicted)
    assert knowledge.count(contradicted=True).total == len(contradicted)
    assert len(knowledge.facts("Orrin Instruments", contradicted=True)) == 0
    assert len(knowledge.facts(relation="revenue", contradicted=True)) == 0
    with pytest.raises(QueryError, match="contradicted takes True or False"):
        knowledge.facts(contradicted="yes")  # type: ignore[arg-type]


def test_contradicted_facts_of_a_day_are_those_that_hold_on_it(knowledge: KnowledgeBase) -> None:
    def found(day: str) -> list[str]:
        ids = [one.object for one in knowledge.facts(contradicted=True, as_of=day)]
        assert knowledge.count(contradicted=True, as_of=day).total == len(ids)
        return sorted(filter(None, ids))

    assert found("2020-02") == []
    assert found("2021-01-01") == ["Ada Holm", "Jonas Feld"]


@pytest.fixture(scope="module")
def spelled(tmp_path_factory: pytest.TempPathFactory) -> Iterator[KnowledgeBase]:
    """Two tables that spell a relation differently."""
    folder = tmp_path_factory.mktemp("spelled")
    (folder / "a.csv").write_text(
        "id,part,price,since,sold,code,power\n1,Clear Cap,145 €,2024-01,yes,2021-55,5 MW\n2,Lamp,1,2024,,,300 mW\n"
    )
    (folder / "b.csv").write_text("id,part,price,since\n1,Clear Cap,48000 EUR,2025-01\n2,Lamp,9 EUR,2024\n")
    price = {"subject": "part", "subject_type": "artifact", "value": "price", "single": True, "valid_from": "since"}
    others = [
        {"subject": "part", "relation": "sold", "value": "sold", "kind": "yes/no"},
        {"subject": "part", "relation": "code", "value": "code", "kind": "text"},
        {"subject": "part", "relation": "power", "value": "power", "kind": "number"},
    ]
    facts = {"a": [price | {"relation": "List_price"}, *others], "b": [price | {"relation": "list price"}]}
    named = {
        name: {"uri": str(folder / f"{name}.csv"), "rows": {"text": "{part} is sold.", "facts": of_table}}
        for name, of_table in facts.items()
    }
    with build_knowledge_base(folder, {"notes/a.md": "Clear Cap is old."}, named_sources=named).open() as opened:
        yield opened


@pytest.mark.long
def test_a_relation_has_the_facts_of_each_spelling(spelled: KnowledgeBase) -> None:
    for relation in ("list price", "List_price", "LIST-PRICE"):
        found = spelled.facts("Clear Cap", relation=relation)
        assert [one.value for one in found] == ["48000 EUR", "145 €"]
    assert [one.value for one in spelled.facts("Clear Cap", relation="list price", as_of="2025-06")] == ["48000 EUR"]
    assert [(one.key, one.count) for one in spelled.count(by="relation", relation="list price").counts] == [
        ("list price", 4)
    ]


@pytest.mark.long
@pytest.mark.parametrize(
    ("value", "number"),
    [
        (">=100 €", 2),
        ("> 100 eur", 2),
        ("48,000 EUR", 1),
        ("€48000", 1),
        ("0.048 million EUR", 1),
        ("<1.5", 1),
        ("145 USD", 0),
        ("2021-55", 1),
        ("2021-56", 0),
        (">=5 MW", 1),
        (">=5 mw", 2),
    ],
)
def test_a_value_is_read_as_facts_are(spelled: KnowledgeBase, value: str, number: int) -> None:
    assert spelled.count(value=value).total == number


@pytest.mark.long
def test_yes_is_no_number_that_is_counted(spelled: KnowledgeBase) -> None:
    counted = spelled.count(by="value").counts
    assert {(one.key, one.count) for one in counted} >= {("1", 1), ("yes", 1)}

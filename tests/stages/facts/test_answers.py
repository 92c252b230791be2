"""What of an answer is a fact, and why the rest is none."""

import json
from datetime import date
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lightrag_dagster.fact_schemas import FACTS
from lightrag_dagster.stages.extraction.rejections import BROKEN_OFF
from lightrag_dagster.stages.facts import answers
from lightrag_dagster.stages.facts.answers import FactAnswer, FactRecord, merge_answers, read_answer
from lightrag_dagster.stages.facts.passes import Pass
from tests.stages.facts.schema import OFFICES, PASSAGE, ROW, answer, row

LED = FactRecord(
    "Ada Berg", "person", "chief_executive", "Acme", "company", None, None, None, None, None,
    "since May 2021", date(2021, 5, 1), "month", None, None, True, "Ada Berg has led **Acme** since May 2021.", 0, 41,
)  # fmt: skip
FOUNDED = row(
    words="founded on 3 April 1999",
    subject="Acme",
    subject_type="Company",
    relation="founded",
    object="",
    object_type="",
    value="3 April 1999",
    when="",
)
REVENUE = FOUNDED | {"words": "Its revenue in 2023 was € 3.2 million", "relation": "revenue", "value": "€ 3.2 million"}
LISTED = FOUNDED | {"words": "It is listed", "relation": "listed", "value": "yes"}
GOOD = answer(ROW)


def read(text: str, *, truncated: bool = False) -> FactAnswer:
    return read_answer(text, OFFICES, PASSAGE, truncated=truncated)


@pytest.mark.parametrize(
    "text",
    [
        GOOD,
        json.dumps([ROW]),
        json.dumps(ROW),
        f"```json\n{GOOD}\n```",
        f"Here is the answer:\n\n{GOOD}\n\nI hope this helps [1].",
        f'<think>It says {{"facts": []}}, or not?</think>\n{GOOD}',
        json.dumps({"type": "result", "source": "passage", "data": {"facts": [ROW], "count": 1}}),
        json.dumps({"facts": [[ROW]]}),
        f"{json.dumps(ROW)}\n{json.dumps(ROW)}",
        answer({key.upper(): value for key, value in ROW.items()}),
        answer(
            {
                "head": "Ada Berg",
                "predicate": "chief_executive",
                "tail": "Acme",
                "quote": ROW["words"],
                "time": "since May 2021",
            }
        ),
        answer(
            {
                "source": "Ada Berg",
                "type": "Chief Executive",
                "target": "Acme",
                "evidence": ROW["words"],
                "date": "since May 2021",
            }
        ),
        answer(row(relation="Chief-Executive", subject_type="PERSON", object_type=" company ")),
        answer(row(subject_type="", object_type=None, subject='"Ada Berg"', object="**Acme**")),
        answer(row(words="Ada Berg has led **Acme** since May 2021.", when="Since  May 2021")).replace(
            "Since  ", "since "
        ),
        answer(ROW, ROW),
    ],
)
def test_the_same_fact_in_many_forms(text: str) -> None:
    assert read(text) == FactAnswer((LED,), complete=True)


@pytest.mark.parametrize(
    ("rows", "said"),
    [
        (FOUNDED, ("3 April 1999", "date", None, None, date(1999, 4, 3), None)),
        (REVENUE, ("€ 3.2 million", "number", 3.2e6, "EUR", None, None)),
        (REVENUE | {"value": "€3.2 million"}, ("€ 3.2 million", "number", 3.2e6, "EUR", None, None)),
        (REVENUE | {"when": "in 2023"}, ("€ 3.2 million", "number", 3.2e6, "EUR", None, "in 2023")),
        (REVENUE | {"value": "40", "unit": "USD"}, ("40", "number", 40.0, "EUR", None, None)),
        (REVENUE | {"value": 40}, ("40", "number", 40.0, "EUR", None, None)),
        (REVENUE | {"value": "40 units"}, ("40 units", "number", 40.0, "units", None, None)),
        (REVENUE | {"value": "", "object": "40"}, ("40", "number", 40.0, "EUR", None, None)),
        (LISTED, ("yes", "yes/no", 1.0, None, None, None)),
        (LISTED | {"value": False}, ("no", "yes/no", 0.0, None, None, None)),
        (
            FOUNDED | {"relation": "slogan", "value": '"We pay"', "words": "“We pay.” is its slogan"},
            ("We pay", "text", None, None, None, None),
        ),
    ],
)
def test_values(rows: dict[str, Any], said: tuple[Any, ...]) -> None:
    answered = read(answer(rows))
    assert (answered.complete, answered.rejected) == (True, ())
    (fact,) = answered.facts
    found = (fact.value, fact.value_kind, fact.number, fact.unit, fact.value_date, fact.when_words)
    assert found == said
    assert PASSAGE[fact.char_start : fact.char_end] == fact.words


REJECTED = [
    ({"subject": ""}, answers.NO_SUBJECT),
    ({"subject": None}, answers.NO_SUBJECT),
    ({"subject": {"name": "Ada"}}, answers.NO_SUBJECT),
    ({"subject": "Ada " * 80}, answers.LONG_NAME),
    ({"object": ""}, answers.NO_OBJECT),
    ({"object": None, "value": "Acme"}, answers.NO_OBJECT),
    ({"words": ""}, answers.NO_WORDS),
    ({"words": None}, answers.NO_WORDS),
    ({"words": "Ada Berg led Acme."}, answers.WORDS_LACKING),
    ({"words": "Ada Berg has led Acme since May 2022"}, answers.WORDS_LACKING),
    ({"words": "…"}, answers.WORDS_LACKING),
    ({"relation": "employs"}, answers.OTHER_RELATION),
    ({"relation": ""}, answers.OTHER_RELATION),
    ({"relation": None}, answers.OTHER_RELATION),
    ({"subject_type": "Company"}, answers.OTHER_TYPE),
    ({"object_type": "Person"}, answers.OTHER_TYPE),
    ({"relation": "owns", "subject_type": "Company", "object_type": ""}, answers.OTHER_TYPE),
    ({"object": "ADA  berg"}, answers.WITH_ITSELF),
    ({"when": "since May 2022"}, answers.TIME_LACKING),
    ({"when": "2021-05"}, answers.TIME_LACKING),
    ({**FOUNDED, "value": ""}, answers.NO_VALUE),
    ({**FOUNDED, "value": ["1999"]}, answers.NO_VALUE),
    ({**FOUNDED, "value": "Bonn"}, answers.NO_DATE),
    ({**FOUNDED, "value": "1999-04-03"}, answers.VALUE_LACKING),
    ({**REVENUE, "value": "Bonn"}, answers.NO_NUMBER),
    ({**REVENUE, "value": "3.3 million"}, answers.VALUE_LACKING),
    ({**REVENUE, "value": "32 million"}, answers.VALUE_LACKING),
    ({**REVENUE, "value": "$ 3.2 million"}, answers.VALUE_LACKING),
    ({**REVENUE, "value": "4"}, answers.VALUE_LACKING),
    ({**REVENUE, "when": "2022"}, answers.TIME_LACKING),
    ({**LISTED, "value": "perhaps"}, answers.NO_YES_NO),
]


@pytest.mark.parametrize(("changes", "reason"), REJECTED)
def test_a_row_is_rejected_with_its_reason(changes: dict[str, Any], reason: str) -> None:
    assert read(answer(row(**changes))) == FactAnswer((), complete=True, rejected=(reason,))
    assert read(answer(ROW, row(**changes))) == FactAnswer((LED,), complete=True, rejected=(reason,))


def test_every_reason_is_tried() -> None:
    reasons = {one for name, one in vars(answers).items() if name.isupper() and name[0] != "_" and isinstance(one, str)}
    assert reasons - {reason for _, reason in REJECTED} == {answers.BROKEN, answers.TOO_MANY, answers.IN_DOUBT}


@pytest.mark.parametrize(
    ("text", "truncated", "facts", "broken", "complete"),
    [
        ("", False, 0, 0, False),
        ("The passage holds no fact.", False, 0, 0, False),
        ('{"facts": []}', False, 0, 0, True),
        ("[]", False, 0, 0, True),
        ("[ ]", False, 0, 0, True),
        ('{"facts": null, "count": 0}', False, 0, 0, True),
        ('{"facts": [], "note": "Nothing is said."}', False, 0, 0, True),
        # another shape than was asked for
        ('{"facts": ["Ada Berg has led Acme"]}', False, 0, 1, True),
        ('{"facts": [["Ada Berg", "chief_executive", "Acme"], ["Acme", "owns", "Bonn"]]}', False, 0, 2, True),
        ('{"facts": [{"entity1": "Ada", "entity2": "Acme"}, {"entity1": "Acme"}]}', False, 0, 2, True),
        ('{"entity1": "Ada Berg", "link": "chief_executive", "entity2": "Acme"}', False, 0, 1, True),
        ('{"facts": [["Ada", "owns", "Acme"]], "usage": {"tokens": 5}, "checked": ["owns"]}', False, 0, 1, True),
        # remarks without a fact
        *(
            (one, False, 0, 0, True)
            for one in (
                '{"facts": [], "relations_checked": ["price"]}',
                '{"Facts": [], "reason": {"text": "nothing stated", "code": "none"}}',
                '{"facts": [], "usage": {"tokens": 5}}',
                '{"thoughts": ["…"], "facts": []}',
                '{"reasoning": {"steps": ["a"]}, "facts": []}',
                '{"facts": "None", "reason": "nothing stated", "status": "ok"}',
                '{"status": "ok", "message": "No facts found"}',
                '{"reason": {"text": "nothing stated"}}',
                '{"result": "none"}',
                '{"no_facts": true}',
            )
        ),
        ('{"message": "There are no facts."}', False, 0, 0, True),
        ('There are no facts [1].{"facts": []}', False, 0, 0, True),
        (answer(ROW, {"entity1": "Ada"}), False, 1, 1, True),
        (json.dumps({"facts": [ROW], "of": {"model": "x"}, "names": ["Ada"]}), False, 1, 0, True),
        # remarks around an answer
        (f"Here are the facts [JSON]:\n{GOOD}", False, 1, 0, True),
        (f'{GOOD}\nNote: others [such as "X"] are left out.', False, 1, 0, True),
        (f"{GOOD}\n[End of answer, {{as wished}}]", False, 1, 0, True),
        ("Nothing found [none].", False, 0, 0, False),
        (GOOD[:-1], True, 1, 0, False),
        (GOOD[:-1], False, 1, 0, False),
        # broken, and mended item by item
        (GOOD.replace("}]}", ",}]}"), False, 1, 0, False),
        (GOOD.replace('"Acme"', "'Acme'"), False, 1, 0, False),
        (GOOD.replace('"value": ""', '"value": ""'.replace(":", "")), False, 1, 0, False),
        (f'{{"facts": [{{"a" 1}}, {json.dumps(ROW)}]}}', False, 1, 1, False),
        ("[" * 100_000, False, 0, 1, False),
    ],
)
@pytest.mark.usefixtures("uncollected")
def test_answers_that_are_broken(text: str, truncated: bool, facts: int, broken: int, complete: bool) -> None:
    found = read(text, truncated=truncated)
    assert (len(found.facts), list(found.rejected), found.complete) == (facts, [answers.BROKEN] * broken, complete)
    assert found.usable == bool(facts or (complete and not broken))


@pytest.mark.parametrize(
    ("text", "facts"),
    [
        (f'{GOOD}, {{"subject": "Ada", ', 1),
        (GOOD[:-30], 0),
        (answer(ROW, ROW)[:-30], 1),
        (answer(ROW, ROW).replace("}, {", "}, ")[: len(GOOD)], 1),
        (GOOD[: GOOD.index("{", 1)], 0),
        ("{" * 100_000, 0),
        ('{"facts": ' * 2000, 0),
    ],
)
@pytest.mark.usefixtures("uncollected")
def test_answers_that_break_off(text: str, facts: int) -> None:
    found = read(text)
    assert (len(found.facts), found.rejected, found.usable) == (facts, (BROKEN_OFF.reason,), bool(facts))
    assert (len(read(text, truncated=True).facts), read(text, truncated=True).rejected) == (facts, ())


def test_no_answer_has_more_facts_than_the_most() -> None:
    rows = [row(subject=f"Ada {number}") for number in range(answers.MOST_FACTS + 3)]
    found = read(answer(*rows))
    assert len(found.facts) == answers.MOST_FACTS
    assert found.rejected == (answers.TOO_MANY,) * 3


def test_answers_about_one_chunk_are_one() -> None:
    one, other = read(answer(ROW, row(relation="x"))), read(answer(ROW, FOUNDED)[:-2], truncated=True)
    both = merge_answers([one, other])
    assert [fact.relation for fact in both.facts] == ["chief_executive", "founded"]
    assert (both.rejected, both.complete) == ((answers.OTHER_RELATION,), False)


values = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.text()
    | st.sampled_from([PASSAGE, "1" * 5000, "\ud800"]),
    lambda one: st.lists(one, max_size=3) | st.dictionaries(st.sampled_from([*ROW]) | st.text(), one, max_size=5),
    max_leaves=10,
)
rows_like = st.fixed_dictionaries({}, optional={key: st.just(value) | values for key, value in ROW.items()})


@given(st.lists(rows_like | values, max_size=4), st.integers(0, 400), st.booleans())
def test_nothing_that_a_model_answers_raises(rows: list[Any], cut: int, truncated: bool) -> None:
    text = json.dumps({"facts": rows})
    for said in (text, text[: len(text) - cut], text[cut:]):
        found = read(said, truncated=truncated)
        fields = [name for name in FACTS.names if hasattr(LED, name)]
        schema = pa.schema([FACTS.field(name) for name in fields])
        pa.Table.from_pylist([{name: getattr(fact, name) for name in fields} for fact in found.facts], schema=schema)


@given(st.text(alphabet='{}[]",:\\ \nabc1') | st.text())
def test_no_text_raises(text: str) -> None:
    assert read(text).facts == ()


@pytest.mark.parametrize("unit", ["€", "euros", "EUR"])
def test_the_unit_of_a_schema_is_that_of_amounts_with_its_sign(unit: str) -> None:
    rent = {"from": "place", "value": "number", "unit": unit}
    of_pass = Pass.model_validate({"name": "rents", "types": ["place"], "relations": {"rent": rent}})
    said = answer(*({"subject": "Quay 4", "relation": "rent", "value": one, "words": one} for one in ("€ 48", "49")))
    assert [fact.unit for fact in read_answer(said, of_pass, "The rent was € 48, then 49.").facts] == ["EUR", "EUR"]


@pytest.mark.parametrize(
    ("value", "decimal", "number"),
    [
        ("1.250", None, None), ("1.250", ",", 1250), ("1.250", ".", 1.25), ("2,500 m²", None, None),
        ("2,500 m²", ".", 2500), ("12.500 CHF", None, None), ("12.900 EUR", None, 12900), ("1.250,-", None, 1250),
    ],
)  # fmt: skip
def test_a_number_in_doubt_is_told_from_none_and_the_relation_settles_it(
    value: str, decimal: str | None, number: float | None
) -> None:
    rent = {"from": "place", "value": "number", "unit": "EUR", "decimal": decimal}
    of_pass = Pass.model_validate({"name": "rents", "types": ["place"], "relations": {"rent": rent}})
    passage = "| Objekt | Preis (EUR) |\n|---|---|\n" + f"| Kai 4 | {value} |\n"
    found = read_answer(
        answer({"subject": "Kai 4", "relation": "rent", "value": value, "words": value}), of_pass, passage
    )
    assert [fact.number for fact in found.facts] == ([] if number is None else [number])
    assert found.rejected == ((answers.IN_DOUBT,) if number is None else ())


@pytest.mark.parametrize(
    ("passage", "value", "number"),
    [
        ("The new hall at the harbour of Kiel has a floor of 2,500 m² for the storage of grain.", "2,500 m²", 2500),
        ("The pipe at the harbour of Kiel is 1.250 m long, as the engineers measured it.", "1.250 m", 1.25),
        ("Die neue Halle am Hafen von Kiel hat eine Fläche von 2.500 m² für die Lagerung von Korn.", "2.500 m²", 2500),
        ("Das Paket am Hafen von Kiel wiegt 1,250 kg, wie die Prüfer gemessen haben.", "1,250 kg", 1.25),
        ("El puerto de Kiel tiene 12.000 empleados, según dicen los ingenieros.", "12.000", 12000),
        ("The old harbour of Kiel has 5 mil visitors a year, as the engineers say of it.", "5 mil visitors", None),
        ("El puerto de Kiel tiene 5 mil visitantes al año, según dicen los ingenieros.", "5 mil visitantes", 5000),
        ("La nueva nave del puerto de Kiel tiene una superficie de 2.500 m² para el grano.", "2.500 m²", None),
    ],
)
def test_the_language_of_a_passage_settles_a_number_in_doubt_where_it_is_certain(
    passage: str, value: str, number: float | None
) -> None:
    schema = {"name": "sizes", "types": ["place"], "relations": {"size": {"from": "place", "value": "number"}}}
    said = answer({"subject": "Kiel", "relation": "size", "value": value, "words": passage})
    found = read_answer(said, Pass.model_validate(schema), passage)
    assert [fact.number for fact in found.facts] == ([] if number is None else [number])
    reason = answers.NO_NUMBER if "mil" in value else answers.IN_DOUBT
    assert found.rejected == ((reason,) if number is None else ())


@pytest.mark.parametrize(
    ("value", "number", "unit"), [("3.2", 3.2e6, "USD"), ("5", None, None), ("12", None, None), ("9", 9, "EUR")]
)
def test_a_value_that_a_model_cut_short_is_made_whole_or_rejected(
    value: str, number: float | None, unit: str | None
) -> None:
    rent = {"from": "place", "value": "number", "unit": "EUR"}
    of_pass = Pass.model_validate({"name": "rents", "types": ["place"], "relations": {"rent": rent}})
    passage = "It was 3.2 million USD, later minus 5 and 10-12 kg, for 9 of them."
    found = read_answer(
        answer({"subject": "Kai 4", "relation": "rent", "value": value, "words": passage}), of_pass, passage
    )
    assert [(fact.number, fact.unit) for fact in found.facts] == ([] if number is None else [(number, unit)])
    assert found.rejected == ((answers.VALUE_LACKING,) if number is None else ())


@pytest.mark.parametrize(
    ("passage", "words", "number"),
    [
        ("Acme earned 5 million EUR last year. It has 5 offices.", "It has 5 offices.", 5),
        ("Acme earned 5 million EUR last year. It has 5 offices.", "Acme earned 5 million EUR", 5e6),
        ("Acme earned 5 million EUR last year. It has 5 offices.", "It has", 5),
        ("It has 5 offices. Acme has 5 to 7 shops.", "Acme has 5 to 7 shops.", None),
    ],
)
def test_an_amount_is_the_one_in_the_words_of_its_fact(passage: str, words: str, number: float | None) -> None:
    schema = {"name": "sizes", "types": ["place"], "relations": {"size": {"from": "place", "value": "number"}}}
    said = answer({"subject": "Acme", "relation": "size", "value": "5", "words": words})
    found = read_answer(said, Pass.model_validate(schema), passage)
    assert [fact.number for fact in found.facts] == ([] if number is None else [number])


@pytest.mark.parametrize(
    ("passage", "value", "number", "unit"),
    [("**120** employees", "120 employees", 120, "employees"), ("**$120** million", "$120 million", 120e6, "USD")],
)
def test_the_marks_of_bold_numbers_are_no_part_of_them(passage: str, value: str, number: float, unit: str) -> None:
    schema = {"name": "sizes", "types": ["place"], "relations": {"size": {"from": "place", "value": "number"}}}
    said = answer({"subject": "Acme", "relation": "size", "value": value, "words": passage})
    found = read_answer(said, Pass.model_validate(schema), passage)
    assert [(fact.value, fact.number, fact.unit) for fact in found.facts] == [(value, number, unit)]

"""Columns that state facts become lines of a document, which are read again as they were."""

import json
from datetime import date
from typing import Literal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lightrag_dagster.settings import ChunkingSettings
from lightrag_dagster.settings.sources import FactColumns
from lightrag_dagster.stages.chunking.chunks import chunk_documents
from lightrag_dagster.stages.facts.answers import IN_DOUBT, LONG_NAME, NO_NUMBER, NO_VALUE, FactAnswer, read_answer
from lightrag_dagster.stages.facts.columns import answer_of, fact_lines, pass_of_columns, with_lines
from tests.stages.chunking.test_chunks import documents

REVENUE = FactColumns(
    subject="customer", subject_type="Customer", relation="revenue", value="amount", unit="EUR", valid_from="month"
)
CITY = FactColumns(subject="customer", relation="lives in", object="city", object_type="place")
TERM = FactColumns(
    subject="customer", relation="has rate", value="rate", single=True, valid_from="first", valid_to="last"
)


def stated(facts: list[FactColumns], **row: str) -> str:
    return fact_lines(facts, lambda template, _: row[template])


def read(facts: list[FactColumns], passage: str) -> FactAnswer:
    return read_answer(answer_of(passage), pass_of_columns(facts), passage)


def test_lines_of_a_row_are_its_facts() -> None:
    lines = stated([REVENUE, CITY], customer="Acme", amount="1234.5", month="2024-03", city="Bonn")
    assert lines == "Fact: Acme | revenue | 1234.5 EUR | 2024-03 |\nFact: Acme | lives in | Bonn |  |"
    found = read([REVENUE, CITY], f"A text.\n\n{lines}\n\nMore.")
    assert (found.complete, found.rejected) == (True, ())
    revenue, city = found.facts
    assert [one.words for one in found.facts] == [line.rstrip(" |") for line in lines.splitlines()]
    assert (revenue.subject, revenue.subject_type, revenue.number, revenue.unit) == ("Acme", "customer", 1234.5, "EUR")
    assert (revenue.valid_from, revenue.from_precision, revenue.when_words) == (date(2024, 3, 1), "month", "2024-03")
    assert (city.object, city.object_type, city.single, city.when_words) == ("Bonn", "place", False, None)


@pytest.mark.parametrize(
    ("first", "last", "when"),
    [
        ("2024-01-05", "2024-02-01", (date(2024, 1, 5), date(2024, 2, 1))),
        ("2024-01-05T10:30:00", "", (date(2024, 1, 5), None)),
        ("2023", "2024", (date(2023, 1, 1), date(2024, 12, 31))),
        ("", "2024", (None, date(2024, 12, 31))),
        ("", "", (None, None)),
        ("2024", "2023", (None, None)),
        ("unknown", "", (None, None)),
    ],
)
def test_when_it_holds(first: str, last: str, when: tuple[date | None, date | None]) -> None:
    (fact,) = read([TERM], stated([TERM], customer="Acme", rate="5", first=first, last=last)).facts
    assert (fact.valid_from, fact.valid_to) == when
    assert bool(fact.when_words) == bool(first or last)


@pytest.mark.parametrize(
    ("amount", "unit", "number", "found"),
    [
        ("1234.5", "EUR", 1234.5, "EUR"), ("-7.25", "EUR", -7.25, "EUR"), ("50.0000", "EUR", 50, "EUR"),
        ("1.2340", None, 1.234, None), ("1,234.50", "EUR", 1234.5, "EUR"), ("€ 12", "EUR", 12, "EUR"),
        ("70000 USD", "EUR", 70000, "USD"), ("$70000", "EUR", 70000, "USD"), ("90000 EUR", "EUR", 90000, "EUR"),
    ],
)  # fmt: skip
def test_the_unit_of_a_column_is_that_of_numbers_without_one(
    amount: str, unit: str | None, number: float, found: str | None
) -> None:
    column = FactColumns(subject="customer", relation="revenue", value="amount", unit=unit)
    (fact,) = read([column], stated([column], customer="Acme", amount=amount)).facts
    assert (fact.number, fact.unit) == (number, found)


@pytest.mark.parametrize(
    ("amount", "decimal", "number"),
    [
        ("9.999", ".", 9.999), ("50.000", ".", 50), ("-1.250", ".", -1.25), ("1,234.500", ".", 1234.5), ("7", ".", 7),
        ("1,234", ".", 1234), ("9,999", ",", 9.999), ("50.000", ",", 50000), ("1.234,5", ",", 1234.5),
        ("1 234,50", ",", 1234.5), ("1'234.56", ".", 1234.56), ("0.999", None, 0.999), ("72.96", None, 72.96),
        ("1.234.567", None, 1234567), ("12.5000", None, 12.5),
        ("9.999", None, None), ("50.000", None, None), ("9,999", None, None), ("-1.250", None, None),
        ("1,2,3", ",", None), ("12k", None, None), ("1.5", ",", None), ("100.00", ",", None), ("3,5", ".", None),
        ("1.234.50", ",", None), ("1.234,50-", ",", -1234.5), ("1,234.50-", ".", -1234.5), ("7-", None, -7),
    ],
)  # fmt: skip
@pytest.mark.parametrize("unit", ["EUR", "kg", None])
def test_the_column_says_which_sign_is_decimal_and_no_number_in_doubt_is_read(
    amount: str, decimal: Literal[".", ","] | None, number: float | None, unit: str | None
) -> None:
    column = FactColumns(subject="customer", relation="revenue", value="amount", unit=unit, decimal=decimal)
    found = read([column], stated([column], customer="Acme", amount=amount))
    assert [(fact.number, fact.unit) for fact in found.facts] == ([] if number is None else [(number, unit)])
    reason = IN_DOUBT if decimal is None and amount != "12k" else NO_NUMBER
    assert found.rejected == ((reason,) if number is None else ())


@pytest.mark.parametrize(
    ("amount", "decimal", "number", "unit"),
    [
        ("9.999 EUR", ".", 9.999, "EUR"), ("€9.999", ".", 9.999, "EUR"), ("50.000 EUR", ".", 50, "EUR"),
        ("50.000 EUR", ",", 50000, "EUR"), ("9,999 kg", ",", 9.999, "kg"), ("1.234,5 USD", ",", 1234.5, "USD"),
        ("1.234,50- EUR", ",", -1234.5, "EUR"), ("1.234,50 EUR-", None, -1234.5, "EUR"), ("5,00- €", None, -5, "EUR"),
        ("12,5- %", None, -12.5, "%"), ("€ 5,00-", None, -5, "EUR"), ("€ 12,-", ",", 12, "EUR"),
        *((f"1{one}", sign, 1250, "CHF") for one in (".250,-", ",250.–", ".250.--") for sign in (None, *(".", ","))),
        ("-1.250,- EUR", None, -1250, "EUR"),
        ("€ 1.250,-", ",", 1250, "EUR"), ("1250.-", ".", 1250, "CHF"), ("Fr. 5'000.-", None, 5000, "Fr"),
        ("9.999 EUR", None, None, None), ("1,234 kg", None, None, None), ("72.96 EUR", None, 72.96, "EUR"),
    ],
)  # fmt: skip
def test_the_sign_holds_beside_a_unit_in_the_cell(
    amount: str, decimal: Literal[".", ","] | None, number: float | None, unit: str | None
) -> None:
    column = FactColumns(subject="customer", relation="revenue", value="amount", unit="CHF", decimal=decimal)
    found = read([column], stated([column], customer="Acme", amount=amount))
    assert [(fact.number, fact.unit) for fact in found.facts] == ([] if number is None else [(number, unit)])


@pytest.mark.parametrize("nothing", ["NULL", r"\N", "N/A", "nan", "None", "-", ""])
def test_a_cell_for_nothing_states_nothing(nothing: str) -> None:
    column = FactColumns(subject="customer", relation="supplier", object="supplier")
    assert stated([column], customer="Acme", supplier=nothing) == ""
    assert stated([column], customer=nothing, supplier="Acme") == ""


@pytest.mark.parametrize(("cell", "number"), [("1", 1), ("0", 0), ("True", 1), ("no", 0)])
def test_yes_or_no_may_be_a_bit(cell: str, number: int) -> None:
    column = FactColumns(subject="customer", relation="paid", value="paid", kind="yes/no")
    (fact,) = read([column], stated([column], customer="Acme", paid=cell)).facts
    assert fact.number == number


@pytest.mark.parametrize(
    "open_end", ["9999-12-31", "31.12.9999", "12/31/9999", "99991231", "NaT", "None", "infinity", ""]
)
def test_an_end_that_stands_for_none_leaves_the_beginning(open_end: str) -> None:
    column = FactColumns(subject="customer", relation="rate", value="rate", valid_from="first", valid_to="last")
    (fact,) = read([column], stated([column], customer="Acme", rate="5", first="2020-01-01", last=open_end)).facts
    assert (fact.valid_from, fact.valid_to) == (date(2020, 1, 1), None)


@pytest.mark.parametrize("missing", ["customer", "city"])
def test_a_row_without_an_end_states_nothing(missing: str) -> None:
    row = {"customer": "Acme", "city": "Bonn"} | {missing: " \n "}
    assert stated([CITY], **row) == ""


@given(st.text(), st.text(), st.text())
def test_any_cell_is_read_as_it_is_but_for_spaces_and_bars(customer: str, rate: str, first: str) -> None:
    kind = TERM.model_copy(update={"kind": "text"})
    lines = stated([kind, kind], customer=customer, rate=rate, first=first, last="")
    assert lines.count("\n") == bool(lines)
    found = read([kind], lines)
    if lines:  # both are one fact, or both are rejected
        assert (len(found.facts), len(found.rejected)) in ((1, 0), (0, 2))
    assert all(fact.words in lines for fact in found.facts)


@pytest.mark.parametrize(
    ("customer", "city"),
    [
        ("A | B", "x|y"), ("A\nB", "x\r\ny"), ("A\u2028B", "x\x85y"), ("Fact: A", "Fact: B | c | d"), ("*A*", "# x"),
        ('"A"', "x, y"), ("Łódź", "東京"), ("A", "1.5"), ("A " * 60, "x"),
    ],
)  # fmt: skip
def test_a_cell_of_any_text_is_one_fact(customer: str, city: str) -> None:
    column = FactColumns(subject="customer", relation="says", value="city", kind="text")
    found = read([column], stated([column], customer=customer, city=city))
    assert found.rejected == ()
    (fact,) = found.facts
    assert fact.value == " ".join(city.replace("|", "/").split())


@pytest.mark.parametrize("number", ["7", "12", "1.5", "123"])
def test_a_name_may_be_a_number(number: str) -> None:
    (fact,) = read([CITY], stated([CITY], customer=number, city="Bonn")).facts
    assert fact.subject == number
    (fact,) = read([CITY], stated([CITY], customer="Acme", city=number)).facts
    assert fact.object == number


@pytest.mark.parametrize("cut", range(1, 80))
def test_a_line_that_a_chunk_cuts_is_no_other_fact(cut: int) -> None:
    lines = stated([REVENUE, CITY], customer="Acme", amount="1234.5", month="2024-03-15", city="Bonn | Beuel")
    whole = said(lines)
    assert len(whole) == 2
    assert said(lines[:-cut]) < whole
    assert said(lines[-cut:]) < whole


def said(passage: str) -> set[tuple[object, ...]]:
    found = read([REVENUE, CITY], passage)
    assert found.rejected == ()
    return {(one.number, one.object, one.valid_from) for one in found.facts}


@pytest.mark.parametrize("overlap", [0, 5])
@pytest.mark.parametrize("method", ["token", "adaptive", "sentence", "recursive", "structure"])
def test_every_line_is_whole_in_a_chunk(method: Literal["token"], overlap: int) -> None:
    column = FactColumns(subject="customer", relation="says", value="rate", kind="text", valid_from="first")
    rows = [
        {"customer": f"Customer {day}", "rate": "long " * 3 * day, "first": f"2024-06-{day:02}"} for day in range(1, 20)
    ]
    text = "\n".join([*(stated([column], **row) for row in rows), "The end."])
    chunking = ChunkingSettings(size=20, overlap=overlap, method=method)
    chunks = chunk_documents(documents(text), chunking).to_pylist()
    found = {
        (one.subject, one.value, one.valid_from) for chunk in chunks for one in read([column], chunk["content"]).facts
    }
    assert found == {(row["customer"], row["rate"].strip(), date.fromisoformat(row["first"])) for row in rows}
    assert all(chunk["content"] == text[chunk["char_start"] : chunk["char_end"]] for chunk in chunks)


def test_a_value_that_would_make_a_chunk_too_long_is_counted() -> None:
    column = FactColumns(subject="customer", relation="says", value="rate", kind="text")
    line = stated([column], customer="Acme", rate="long " * 400)
    assert len(line) < 100
    assert read([column], line).rejected == (NO_VALUE,)
    line = stated([column], customer="Acme " * 500, rate="long")
    assert len(line) < 400
    assert read([column], line).rejected == (LONG_NAME,)


def test_a_line_of_other_columns_states_nothing() -> None:
    remark = with_lines("rope\nFact: Lamp | price | 1 crowns | 2025 |\nA Fact: no line", "Fact: Lamp | price | 2 | |")
    assert [one["value"] for one in json.loads(answer_of(remark))["facts"]] == ["2"]
    told = "rope\nFact – Lamp | price | 1 crowns | 2025 |\nA Fact: no line\n\nFact: Lamp | price | 2 | |"
    assert remark == told


def test_a_line_of_any_text_does_not_make_a_chunk_as_long_as_itself() -> None:
    text = f"Fact: {'X ' * 4_000}| price | 9 crowns | 2024 |"
    chunks = chunk_documents(documents(text), ChunkingSettings(method="character", size=50, overlap=0))
    assert max(map(len, chunks["content"].to_pylist())) < 2_100

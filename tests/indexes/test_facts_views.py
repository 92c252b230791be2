"""When facts hold: supersession is derived by these views, and never written."""

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import date, timedelta
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from lightrag_dagster.fact_schemas import FACT_EVIDENCE, MERGED_FACTS
from lightrag_dagster.indexes.facts import fact_rows
from lightrag_dagster.indexes.views import add_derived
from lightrag_dagster.indexes.views_file import derived_sql
from lightrag_dagster.storage.duckdb import open_duckdb
from tests.indexes.test_views_file import OLDEST

VIEWS = ("fact_spans", "facts_now", "contradictions", "facts_at")
Row = dict[str, Any]


def day(text: str | None) -> tuple[date | None, str | None]:
    """Return the first day of a year, month or day, and its precision."""
    if not text:
        return None, None
    return date.fromisoformat(text + "-01" * (2 - text.count("-"))), ("year", "month", "day")[text.count("-")]


def last_day(text: str | None) -> tuple[date | None, str | None]:
    start, precision = day(text)
    if not start or precision == "day":
        return start, precision
    year, month = (start.year + 1, 1) if precision == "year" or start.month == 12 else (start.year, start.month + 1)
    return date(year, month, 1) - timedelta(days=1), precision


def fact(name: str, begins: str | None = None, ends: str | None = None, **more: Any) -> Row:
    """Return a fact about Acme's chief executive, who is named by the first part of the fact's id."""
    row: Row = dict.fromkeys(MERGED_FACTS.names) | {
        "fact_id": name,
        "subject_id": "ent-acme",
        "subject": "Acme",
        "relation": "chief executive",
        "object_id": f"ent-{name.partition('-')[0]}",
        "object": name.partition("-")[0],
        "single": True,
        "passes": ["offices"],
        "chunk_ids": [f"chunk-{name}"],
        "sources": ["notes"],
        "mention_count": 1,
        "row_hash": "",
    }
    (row["valid_from"], row["from_precision"]), (row["valid_to"], row["to_precision"]) = day(begins), last_day(ends)
    return row | more


def price(name: str, number: float | None, begins: str | None = None, ends: str | None = None, **more: Any) -> Row:
    valued = {"object_id": None, "object": None, "value": f"{number}", "value_kind": "number", "number": number}
    return fact(name, begins, ends, **({"relation": "price", "unit": "EUR"} | valued | more))


@contextmanager
def database(*facts: Row) -> Iterator[duckdb.DuckDBPyConnection]:
    with open_duckdb(threads=1) as connection:
        connection.register("merged_facts", pa.Table.from_pylist([*facts], MERGED_FACTS))
        add_derived(connection, VIEWS)
        yield connection


def spans(*facts: Row) -> dict[str, tuple[str | None, str | None]]:
    with database(*facts) as connection:
        found = connection.execute("SELECT fact_id, holds_from, holds_to FROM fact_spans ORDER BY fact_id").fetchall()
    return {name: (first and str(first), last and str(last)) for name, first, last in found}


def rows_of(subject_types: dict[str, list[str]]) -> list[Row]:
    """Return the rows of facts whose passes read the subject as being of these types."""
    empty: Row = dict.fromkeys(FACT_EVIDENCE.names)
    evidence = [
        empty | {"fact_id": name, "subject_type": one} for name, types in subject_types.items() for one in types
    ]
    with database(*map(fact, subject_types)) as connection:
        connection.register("fact_evidence", pa.Table.from_pylist(evidence, FACT_EVIDENCE))
        return [*fact_rows(connection).to_pylist()]


def test_the_type_of_a_subject_is_one_that_says_more_than_thing() -> None:
    found = rows_of({"ada": ["thing", "vendor"], "bea": ["thing"], "cyd": ["organization", "company"]})
    assert [one["subject_type"] for one in found] == ["vendor", "thing", "company"]
    assert {one["object_type"] for one in found} == {None}


@pytest.mark.parametrize(
    ("facts", "expected"),
    [
        pytest.param([fact("ada")], {"ada": (None, None)}, id="alone, without a date: always"),
        pytest.param([fact("ada", "2020-03-05")], {"ada": ("2020-03-05", None)}, id="from a day on"),
        pytest.param([fact("ada", "2020-03")], {"ada": ("2020-03-01", None)}, id="a month: its first day"),
        pytest.param([fact("ada", "2020")], {"ada": ("2020-01-01", None)}, id="a year: its first day"),
        pytest.param(
            [fact("ada", "2020", "2021")], {"ada": ("2020-01-01", "2021-12-31")}, id="until its own end, that day too"
        ),
        pytest.param([fact("ada", None, "2021-03")], {"ada": (None, "2021-03-31")}, id="an end without a beginning"),
        pytest.param(
            [fact("bea", "2022-02-01"), fact("ada", "2020"), fact("cyd", "2023")],
            {
                "ada": ("2020-01-01", "2022-01-31"),
                "bea": ("2022-02-01", "2022-12-31"),
                "cyd": ("2023-01-01", None),
            },
            id="else until the next beginning",
        ),
        pytest.param(
            [fact("ada", "2020", "2020"), fact("bea", "2022")],
            {"ada": ("2020-01-01", "2020-12-31"), "bea": ("2022-01-01", None)},
            id="an end before the next leaves nobody between",
        ),
        pytest.param(
            [fact("ada", "2020", "2023"), fact("bea", "2022")],
            {"ada": ("2020-01-01", "2023-12-31"), "bea": ("2022-01-01", None)},
            id="an end after the next beginning stays",
        ),
        pytest.param(
            [fact("ada", "2020"), fact("bea", "2020-06"), fact("cyd", "2020-06-15")],
            {
                "ada": ("2020-01-01", "2020-05-31"),
                "bea": ("2020-06-01", "2020-06-14"),
                "cyd": ("2020-06-15", None),
            },
            id="less precision in order",
        ),
        pytest.param(
            [fact("ada", "2020"), fact("bea", "2020-01-01"), fact("cyd", "2021")],
            {
                "ada": ("2020-01-01", "2020-12-31"),
                "bea": ("2020-01-01", "2020-12-31"),
                "cyd": ("2021-01-01", None),
            },
            id="two that begin on a day both hold",
        ),
        pytest.param(
            [fact("ada", "2020"), fact("ada-2", "2020-03"), fact("bea", "2021")],
            {
                "ada": ("2020-01-01", "2020-02-29"),
                "ada-2": ("2020-03-01", "2020-12-31"),
                "bea": ("2021-01-01", None),
            },
            id="the same again goes on",
        ),
        pytest.param(
            [fact("ada"), fact("bea", "2020")], {"bea": ("2020-01-01", None)}, id="undated only without a dated one"
        ),
        pytest.param([fact("ada"), fact("bea", None, "2020")], {"bea": (None, "2020-12-31")}, id="an end is a date"),
        pytest.param([fact("ada"), fact("bea")], {"ada": (None, None), "bea": (None, None)}, id="undated alone"),
        pytest.param(
            [fact("bea", None, "2019"), fact("ada", "2020")],
            {"bea": (None, "2019-12-31"), "ada": ("2020-01-01", None)},
            id="an end, then a beginning",
        ),
        pytest.param(
            [fact("bea", None, "2023"), fact("ada", None, "2019"), fact("eve", "2018", "2018"), fact("dan", "2024")],
            {
                "eve": ("2018-01-01", "2018-12-31"),
                "ada": ("2019-01-01", "2019-12-31"),
                "bea": ("2020-01-01", "2023-12-31"),
                "dan": ("2024-01-01", None),
            },
            id="an end alone: after the end before",
        ),
        pytest.param(
            [fact("pia", "2010"), fact("ada", "2019"), fact("ada-2", None, "2022-02-28"), fact("bea", "2022-03-01")],
            {
                "pia": ("2010-01-01", "2018-12-31"),
                "ada": ("2019-01-01", "2022-02-28"),
                "ada-2": ("2019-01-01", "2022-02-28"),
                "bea": ("2022-03-01", None),
            },
            id="a beginning and an end of two documents meet",
        ),
        pytest.param(
            [
                fact("ada", "2019"),
                fact("ada-2", None, "2022"),
                fact("ada-3", "2019", "2021"),
                fact("bea", None, "2018"),
            ],
            {
                "ada": ("2019-01-01", "2021-12-31"),
                "ada-2": ("2022-01-01", "2022-12-31"),
                "ada-3": ("2019-01-01", "2021-12-31"),
                "bea": (None, "2018-12-31"),
            },
            id="the first end after a beginning",
        ),
        pytest.param(
            [fact("ada", "2019-03-15"), fact("ada-2", "2019-03", "2022")],
            {"ada": ("2019-03-15", "2022-12-31"), "ada-2": ("2019-03-01", "2022-12-31")},
            id="the end of a time that began before",
        ),
        pytest.param(
            [fact("ada", "2019-03-01"), fact("ada-2", None, "2019-02-28"), fact("bea", None, "2018")],
            {
                "ada": ("2019-03-01", None),
                "ada-2": ("2019-01-01", "2019-02-28"),
                "bea": (None, "2018-12-31"),
            },
            id="an end before a beginning is that of another time",
        ),
        pytest.param(
            [fact("ada", "2005"), fact("bea", "2007"), fact("ada-2", None, "2012"), fact("cyd", "2013")],
            {
                "ada": ("2005-01-01", "2006-12-31"),
                "bea": ("2007-01-01", "2012-12-31"),
                "ada-2": ("2005-01-01", "2012-12-31"),
                "cyd": ("2013-01-01", None),
            },
            id="an end of one that another followed stays",
        ),
        pytest.param(
            [fact("ada", "2019", single=False), fact("ada-2", None, "2022", single=False)],
            {"ada": ("2019-01-01", None), "ada-2": (None, "2022-12-31")},
            id="they do not meet where it is not single",
        ),
        pytest.param(
            [price("a", 10, "2020"), price("a-2", 10, ends="2021"), price("b", 12, "2023")],
            {
                "a": ("2020-01-01", "2021-12-31"),
                "a-2": ("2020-01-01", "2021-12-31"),
                "b": ("2023-01-01", None),
            },
            id="values meet too",
        ),
        pytest.param(
            [fact("ada", "2020"), fact("bea", "2021", single=False), fact("cyd", "2022", single=False)],
            {
                "ada": ("2020-01-01", "2020-12-31"),
                "bea": ("2021-01-01", "2021-12-31"),
                "cyd": ("2022-01-01", None),
            },
            id="single if one pass says so",
        ),
        pytest.param(
            [fact("ada", None, "2019", single=False), fact("bea", None, "2023", single=False)],
            {"ada": (None, "2019-12-31"), "bea": (None, "2023-12-31")},
            id="an end alone, not single",
        ),
        pytest.param(
            [fact("ada", single=False), fact("bea", "2020", single=False), fact("cyd", "2021", "2022", single=False)],
            {"ada": (None, None), "bea": ("2020-01-01", None), "cyd": ("2021-01-01", "2022-12-31")},
            id="not single: each by itself",
        ),
        pytest.param(
            [fact("ada", "2020"), fact("bea", "2021", subject_id="ent-other"), fact("cyd", "2021", relation="owner")],
            {"ada": ("2020-01-01", None), "bea": ("2021-01-01", None), "cyd": ("2021-01-01", None)},
            id="other subjects and relations do not count",
        ),
        pytest.param(
            [price("a", 10, "2020"), price("b", 12, "2021-05")],
            {"a": ("2020-01-01", "2021-04-30"), "b": ("2021-05-01", None)},
            id="values too",
        ),
    ],
)
def test_the_days_on_which_facts_hold(facts: list[Row], expected: dict[str, tuple[str | None, str | None]]) -> None:
    assert spans(*facts) == expected
    assert spans(*facts[::-1]) == expected


STORY = [
    fact("ada", "2020", "2021-06-15"), fact("bea", "2021-06-15"), fact("cyd", "2023-03"),
    fact("tag", relation="tag", single=False), fact("mark", "2022", relation="tag", single=False),
]  # fmt: skip


@pytest.mark.parametrize(
    ("when", "expected"),
    [
        ("2019-12-31", ["tag"]),
        ("2020-01-01", ["ada", "tag"]),
        ("2021-06-14", ["ada", "tag"]),
        ("2021-06-15", ["ada", "bea", "tag"]),
        ("2021-06-16", ["bea", "tag"]),
        ("2023-02-28", ["bea", "mark", "tag"]),
        ("2023-03-01", ["cyd", "mark", "tag"]),
        ("9999-12-31", ["cyd", "mark", "tag"]),
        ("0001-01-01", ["tag"]),
    ],
)
def test_facts_at_a_day(when: str, expected: list[str]) -> None:
    with database(*STORY) as connection:
        for asked in (f"facts_at(DATE '{when}')", f"facts_at('{when}')"):
            found = connection.execute(f"SELECT fact_id FROM {asked} ORDER BY fact_id").fetchall()
            assert [name for (name,) in found] == expected


def test_facts_now_are_those_of_today() -> None:
    today = date.today()
    yesterday, tomorrow, later = (str(today + timedelta(days=days)) for days in (-1, 1, 2))
    facts = [
        fact("was", "2000", yesterday, relation="a"),
        fact("is", str(today), tomorrow, relation="b"),  # midnight may come in between
        fact("will", later, relation="c"),
        fact("open", "2000", relation="d"),
        fact("undated", relation="e"),
    ]
    with database(*facts) as connection:
        found = connection.execute("SELECT fact_id FROM facts_now ORDER BY fact_id").fetchall()
    assert [name for (name,) in found] == ["is", "open", "undated"]


@pytest.mark.parametrize(
    ("facts", "expected"),
    [
        pytest.param([fact("ada", "2020"), fact("bea", "2021")], [], id="one after the other"),
        pytest.param(
            [fact("ada", "2020"), fact("bea", "2020-01")], [("ada", "bea", "2020-01-01", None)], id="begun on a day"
        ),
        pytest.param(
            [fact("ada", "2020", "2021-06-15"), fact("bea", "2021-06-15")],
            [("ada", "bea", "2021-06-15", "2021-06-15")],
            id="one day is shared",
        ),
        pytest.param([fact("ada", "2020", "2021-06-14"), fact("bea", "2021-06-15")], [], id="no day is shared"),
        pytest.param(
            [fact("ada", "2020", "2022"), fact("bea", "2021", "2021")],
            [("ada", "bea", "2021-01-01", "2021-12-31")],
            id="one within the other",
        ),
        pytest.param([fact("ada"), fact("bea")], [("ada", "bea", None, None)], id="both always"),
        pytest.param([fact("ada"), fact("bea", "2020")], [], id="an undated one does not count beside a dated one"),
        pytest.param(
            [fact("ada", None, "2020"), fact("bea", "2019-05")],
            [("ada", "bea", "2019-05-01", "2020-12-31")],
            id="open at either end",
        ),
        pytest.param([fact("ada", "2020", "2022"), fact("ada-2", "2021", "2023")], [], id="the same object"),
        pytest.param(
            [fact("pia", "2010"), fact("ada", "2019"), fact("ada-2", None, "2022-02-28"), fact("bea", "2022-03-01")],
            [],
            id="a beginning and an end of two documents",
        ),
        pytest.param(
            [fact("ada", "2020", "2022", single=False), fact("bea", "2021")],
            [("ada", "bea", "2021-01-01", "2022-12-31")],
            id="single if one pass says so",
        ),
        pytest.param(
            [fact("ada", "2020", "2022", single=False), fact("bea", "2021", single=False)], [], id="not single"
        ),
        pytest.param(
            [fact("ada", "2020"), fact("bea", "2020", subject_id="other"), fact("cyd", "2020", relation="other")],
            [],
            id="of another subject or relation",
        ),
        pytest.param([price("a", 10, "2020"), price("b", 10.0, "2020")], [], id="the same number"),
        pytest.param(
            [price("a", 2.0**53, value=f"{2**53}"), price("b", 2.0**53, value=f"{2**53 + 1}")],
            [("9007199254740992", "9007199254740993", None, None)],
            id="numbers that a double rounds to one",
        ),
        pytest.param([price("a", 10), price("b", 11)], [("10", "11", None, None)], id="another number"),
        pytest.param([price("a", 10), price("b", 10, unit="USD")], [("10", "10", None, None)], id="another unit"),
        pytest.param([price("a", 10, unit=None), price("b", 11, unit=None)], [("10", "11", None, None)], id="no unit"),
        pytest.param(
            [
                price("a", None, value="Blue", value_kind="text", unit=None),
                price("b", None, value="blue", value_kind="text", unit=None),
                price("c", None, value="red", value_kind="text", unit=None),
            ],
            [("Blue", "red", None, None), ("blue", "red", None, None)],
            id="words without their case",
        ),
        pytest.param(
            [
                price("a", None, value="1 May", value_kind="date", unit=None, value_date=date(2020, 5, 1)),
                price("b", None, value="2 May", value_kind="date", unit=None, value_date=date(2020, 5, 2)),
                price("c", None, value="May 1st", value_kind="date", unit=None, value_date=date(2020, 5, 1)),
            ],
            [("1 May", "2 May", None, None), ("2 May", "May 1st", None, None)],
            id="dates",
        ),
        pytest.param(
            [fact(one, "2020") for one in ("ada", "bea", "cyd")],
            [(a, b, "2020-01-01", None) for a, b in (("ada", "bea"), ("ada", "cyd"), ("bea", "cyd"))],
            id="each pair once",
        ),
    ],
)
def test_contradictions(facts: list[Row], expected: list[tuple[str | None, ...]]) -> None:
    with database(*facts) as connection:
        found = connection.execute(
            "SELECT says, other_says, shared_from, shared_to, fact_id, other_id, chunk_ids, other_chunk_ids"
            " FROM contradictions ORDER BY fact_id, other_id"
        ).fetchall()
        kept = connection.execute(
            "SELECT count(*) FROM fact_spans WHERE fact_id = ANY(SELECT fact_id FROM contradictions)"
        )
        assert kept.fetchall() == [(len({row[4] for row in found}),)]
    said = [(*row[:2], *(one and str(one) for one in row[2:4])) for row in found]
    assert said == expected
    assert all(row[6:] == ([f"chunk-{row[4]}"], [f"chunk-{row[5]}"]) for row in found)


def test_a_fact_contradicts_ten_that_still_hold_however_many_began_since() -> None:
    long = [fact(f"long{at}", f"20{at:02}", "2030") for at in range(10)]
    short = [fact(f"short{at}", f"2011-{at:02}", f"2011-{at:02}") for at in range(1, 13)]
    with database(*long, *short, fact("new", "2015", "2016")) as connection:
        found = connection.execute("SELECT fact_id FROM contradictions WHERE other_id = 'new'").fetchall()
    assert sorted(name for (name,) in found) == [one["fact_id"] for one in long]


READ_ALL = """
import sys, duckdb
with duckdb.connect() as connection:
    connection.execute(f"CREATE VIEW merged_facts AS FROM read_parquet('{sys.argv[1]}')")
    for statement in sys.argv[2:]:
        connection.execute(statement)
    for query in ("fact_spans", "facts_at('2021-06-15')", "contradictions", "facts_now"):
        print(*connection.execute(f"SELECT fact_id FROM {query} ORDER BY ALL").fetchall())
"""


@pytest.mark.long
@pytest.mark.skipif(not OLDEST.exists(), reason="`make test-long` installs the oldest DuckDB")
def test_the_oldest_duckdb_gives_the_same(tmp_path: Path) -> None:
    pq.write_table(pa.Table.from_pylist(STORY, MERGED_FACTS), tmp_path / "facts.parquet")
    command = [
        sys.executable,
        "-c",
        READ_ALL,
        str(tmp_path / "facts.parquet"),
        *(derived_sql()[name] for name in VIEWS),
    ]

    def read(**environment: str) -> str:
        return subprocess.run(command, env=os.environ | environment, capture_output=True, text=True, check=True).stdout

    assert read(PYTHONPATH=str(OLDEST)) == read()

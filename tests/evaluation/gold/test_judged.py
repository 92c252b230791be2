"""What was extracted beside gold rows: names, types, relations and facts are equal as the merge takes them."""

from collections.abc import Iterable, Mapping, Sequence

import pyarrow as pa
import pytest

from lightrag_dagster.curation.rules import Curation
from lightrag_dagster.curation.rules.decisions import Decision, Placed
from lightrag_dagster.curation.rules.resolving import NO_DECISIONS, resolve
from lightrag_dagster.evaluation.gold.judged import judge
from lightrag_dagster.evaluation.gold.rows import Gold, GoldRow
from lightrag_dagster.fact_schemas import FACTS, READINGS
from lightrag_dagster.schemas import ENTITY_MENTIONS, EXTRACTIONS, RELATION_MENTIONS
from lightrag_dagster.settings.sections import TypeSettings

LOCATED = pa.table(
    {"chunk": ["t"], "source": ["notes"], "chunk_id": ["chunk-1"], "doc_id": ["doc-1"], "place": ["notes/a.md"]}
)
_IDS: dict[str, object] = {"source": "notes", "chunk_id": "chunk-1"}


def gold(*rows: tuple[str, ...], kinds: Iterable[str] = ()) -> Gold:
    """Return gold of one passage: rows are kind, name, other, type, relation and value."""
    filled = [[*row, *[""] * (6 - len(row))] for row in rows]
    found = [GoldRow("t", *cells[:6], True, "a.csv:2") for cells in filled]  # type: ignore[arg-type,call-arg]
    return Gold(found, {"t": {*kinds, *(one.kind for one in found)}}, set(), [])


def extracted(
    entities: Sequence[tuple[str, str]] = (),
    relations: Sequence[tuple[str, str]] = (),
    facts: Sequence[Mapping[str, object]] = (),
    **of: object,
) -> dict[str, pa.Table]:
    """Return the tables of a source whose one chunk was answered so: names and types, ends, and rows of facts."""

    def table(rows: Iterable[Mapping[str, object]], schema: pa.Schema) -> pa.Table:
        return pa.Table.from_pylist([{**_IDS, **row} for row in rows], schema)

    answer = {"recipe": "r1", "model": "m", "status": "ok", **of}
    return {
        "extractions": table([answer], EXTRACTIONS),
        "entity_mentions": table(({"name": name, "type": kind} for name, kind in entities), ENTITY_MENTIONS),
        "relation_mentions": table(({"src": src, "tgt": tgt} for src, tgt in relations), RELATION_MENTIONS),
        "readings@works": table([answer | {"recipe": "p1"}] if facts else [], READINGS),
        "facts@works": table(facts, FACTS),
    }


def outcomes(
    said: Gold,
    tables: dict[str, pa.Table],
    curation: Curation = NO_DECISIONS,
    types: TypeSettings | None = None,
) -> dict[tuple[str, str | None], str | None]:
    rows = judge(said, LOCATED, [tables], curation, types or TypeSettings()).to_pylist()
    return {(one["kind"], one["shown"]): one["outcome"] for one in rows}


def test_each_row_is_right_wrong_or_missed() -> None:
    said = gold(("entity", "Ada", "", "person"), ("entity", "Bo", "", "person"), ("relation", "Ada", "Bo"))
    tables = extracted([("Ada", "place"), ("Cy", "person")], [("Cy", "Ada")])
    assert outcomes(said, tables) == {
        ("entity", "Ada"): "right",
        ("entity", "Bo"): "missed",
        ("entity", "Cy"): "wrong",
        ("type", "Ada: person"): "missed",
        ("type", "Ada: place"): "wrong",  # types of names that only one has count once, as names
        ("relation", "Ada — Bo"): "missed",
        ("relation", "Cy — Ada"): "wrong",
    }
    (row,) = judge(
        gold(("entity", "Ada")), LOCATED, [extracted([("Ada", "")])], NO_DECISIONS, TypeSettings()
    ).to_pylist()
    assert (row["chunk"], row["source"], row["recipe"], row["model"]) == ("t", "notes", "r1", "m")


@pytest.mark.parametrize(
    "name", ["halden  WEIR", "Halden\u00a0Weir", "“Halden Weir”", "'Halden' \"Weir\"", "Ｈalden Weir"]
)
def test_names_are_one_in_any_spelling_that_the_merge_makes_one(name: str) -> None:
    assert set(outcomes(gold(("entity", "Halden Weir")), extracted([(name, "")])).values()) == {"right"}


def test_names_are_one_by_decisions() -> None:
    decided = resolve([Placed(Decision(action="merge", names=("Acme Robotics", "ACME Inc", "A.R.")), "names.yaml:1")])
    said = gold(("entity", "ACME Inc", "", "company"), ("relation", "Bo", "A.R."))
    tables = extracted([("Acme Robotics", "company")], [("acme robotics", "Bo")])
    assert set(outcomes(said, tables, decided).values()) == {"right"}
    assert set(outcomes(said, tables).values()) == {"missed", "wrong", None}, "and no type can be compared"
    both = extracted([("Acme Robotics", "company"), ("A.R.", "company")])
    assert outcomes(gold(("entity", "ACME Inc")), both, decided) == {("entity", "ACME Inc"): "right"}


def test_types_are_those_of_the_merge() -> None:
    types = TypeSettings(map={"Firm": "Limited Company"}, allowed=("limited company", "person"))
    said = gold(("entity", "Acme", "", "LIMITED Company"), ("entity", "Oslo", "", "town"))
    assert outcomes(said, extracted([("Acme", "firm"), ("Oslo", "village")]), types=types) == {
        ("entity", "Acme"): "right",
        ("entity", "Oslo"): "right",
        ("type", "Acme: limitedcompany"): "right",
        ("type", "Oslo: other"): "right",
    }
    assert outcomes(said, extracted([("Oslo", "village")]))["type", "Oslo: village"] == "wrong"


@pytest.mark.parametrize("types", [TypeSettings(), TypeSettings(allowed=("person",))])
def test_an_entity_to_which_people_gave_no_type_says_nothing_of_types(types: TypeSettings) -> None:
    said = gold(("entity", "Ada", "", "person"), ("entity", "Bo"))
    found = outcomes(said, extracted([("Ada", "person"), ("bo", "person"), ("Cy", "person")]), types=types)
    assert found == {
        ("entity", "Ada"): "right",
        ("entity", "Bo"): "right",
        ("entity", "Cy"): "wrong",
        ("type", "Ada: person"): "right",
    }
    assert outcomes(gold(("entity", "Bo")), extracted([("Bo", "person")])) == {("entity", "Bo"): "right"}


def test_relations_have_no_direction_and_count_once() -> None:
    said = gold(("relation", "Ada", "Bo"), ("relation", "Bo", "Ada"))
    assert list(outcomes(said, extracted(relations=[("BO", "ada"), ("Ada", "Bo")])).values()) == ["right"]


def test_facts_are_equal_by_their_numbers_and_units() -> None:
    said = gold(
        ("fact", "Weir", "", "", "height", "1,234.5 m"),
        ("fact", "Weir", "", "", "cost", "€1,000"),
        ("fact", "Weir", "", "", "length", "1234567 km"),
        ("fact", "Weir", "", "", "state", "Closed  for good"),
        ("fact", "Ada", "Weir", "", "maintains"),
    )
    facts: list[dict[str, object]] = [
        {"subject": "weir", "relation": "Height", "value": "1234.5", "unit": "m"},
        {"subject": "Weir", "relation": "cost", "value": "1000 €", "unit": "EUR"},
        {"subject": "Weir", "relation": "length", "value": "1234568 km", "unit": "km"},
        {"subject": "Weir", "relation": "state", "value": "closed for good"},
        {"subject": "Ada", "relation": "maintains", "object": "WEIR"},
        {"subject": "Weir", "relation": "maintains", "object": "Ada"},
    ]
    found = outcomes(said, extracted(facts=facts))
    assert {name: outcome for (_, name), outcome in found.items()} == {
        "Weir — height — 1,234.5 m": "right",
        "Weir — cost — €1,000": "right",
        "Weir — length — 1234567 km": "missed",
        "Weir — length — 1234568 km": "wrong",
        "Weir — state — Closed  for good": "right",
        "Ada — maintains — Weir": "right",
        "Weir — maintains — Ada": "wrong",
    }
    rows = judge(said, LOCATED, [extracted(facts=facts)], NO_DECISIONS, TypeSettings())
    assert set(rows["recipe"].to_pylist()) == {"p1"}


@pytest.mark.parametrize("saved", ["01.04.2021", "1 April 2021", "'2021-04-01", "2021-04-01 00:00:00"])
def test_facts_are_equal_by_their_dates_as_spreadsheets_save_them(saved: str) -> None:
    found = extracted(facts=[{"subject": "Weir", "relation": "opened", "value": "2021-04-01"}])
    assert set(outcomes(gold(("fact", "Weir", "", "", "opened", saved)), found).values()) == {"right"}
    other = outcomes(gold(("fact", "Weir", "", "", "opened", "2021-04-02")), found)
    assert set(other.values()) == {"missed", "wrong"}


def test_relations_of_facts_are_one_where_the_merge_makes_them_one() -> None:
    found = extracted(facts=[{"subject": "Acme", "relation": "Chief_Executive", "object": "Ada"}])
    assert set(outcomes(gold(("fact", "Acme", "Ada", "", "chief executive")), found).values()) == {"right"}


def test_a_kind_that_no_file_labels_is_not_scored() -> None:
    tables = extracted([("Ada", "person")], [("Ada", "Bo")], [{"subject": "Ada", "relation": "born", "value": "1950"}])
    assert outcomes(gold(("relation", "Ada", "Bo")), tables) == {("relation", "Ada — Bo"): "right"}
    assert outcomes(gold(kinds=["entity"]), tables) == {("entity", "Ada"): "wrong"}
    assert outcomes(gold(), tables) == {}


def test_a_passage_of_which_neither_says_anything_has_no_outcome() -> None:
    assert outcomes(gold(kinds=["entity", "relation"]), extracted()) == {
        ("entity", None): None,
        ("relation", None): None,
    }


def test_a_row_that_people_called_wrong_is_wrong_if_it_is_extracted() -> None:
    (row,) = gold(("entity", "Ada", "", "person")).rows
    said = Gold([row._replace(right=False)], {"t": {"entity"}}, set(), [])
    assert outcomes(said, extracted([("Ada", "person")])) == {("entity", "Ada"): "wrong"}
    assert outcomes(said, extracted()) == {("entity", None): None}


@pytest.mark.parametrize(("kind", "expected"), [("transient", {}), ("permanent", {("entity", "Ada"): "missed"})])
def test_a_failure_that_may_pass_is_left_out_and_a_lasting_one_missed_all(
    kind: str, expected: dict[tuple[str, str | None], str | None]
) -> None:
    failed = extracted(status="failed", error="no", error_kind=kind)
    assert outcomes(gold(("entity", "Ada")), failed) == expected


def test_names_with_quotes_and_other_signs_are_names() -> None:
    names = ["O'Brien; DROP TABLE gold", 'The "Weir"', "a\0b", "{}", "%s", "ent-1 person", "👩‍🚀"]
    said = gold(*(("entity", name, "", "person") for name in names))
    assert set(outcomes(said, extracted([(name, "person") for name in names])).values()) == {"right"}


def test_many_rows_are_judged_in_seconds() -> None:
    names = [(f"Name {number}", "person") for number in range(30_000)]
    found = outcomes(gold(*(("entity", name, "", kind) for name, kind in names)), extracted(names[10_000:]))
    assert list(found.values()).count("missed") == 10_000

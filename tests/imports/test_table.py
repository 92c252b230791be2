"""Tables of one's own: rows as decisions, and chunks with the rows that name them as documents."""

import csv
import datetime
import json
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from lightrag_dagster.curation.desk import undo
from lightrag_dagster.curation.rules import decisions_of
from lightrag_dagster.errors import DecisionError, SourceError
from lightrag_dagster.imports import import_base, new_decisions, read_table, take_new
from lightrag_dagster.imports.files import write_documents
from lightrag_dagster.query.knowledge_base import KnowledgeBase
from lightrag_dagster.settings import Settings
from lightrag_dagster.stages.documents.listing import list_files
from lightrag_dagster.stages.documents.sources import find_source
from lightrag_dagster.stages.extraction.parsing import merge_rounds, parse_response
from lightrag_dagster.stages.facts.answers import read_answer
from lightrag_dagster.stages.facts.columns import answer_of, pass_of_columns
from tests.support import FLOOD, build, write_source

SIGNED = {"author": "kim", "date": datetime.date(2026, 1, 1), "reason": "a table"}
ROWS: list[dict[str, Any]] = [
    {"name": "Priya Nair", "type": "Engineer", "aliases": ["P. Nair", "the engineer"]},
    {"name": "Dock 3", "type": "Location", "description": "Dock 3 is new."},
    {"source": "Priya Nair", "target": "Dock 3", "description": "She guards it.", "keywords": "guard"},
]
GRAPH: dict[str, Any] = {
    "chunks": [
        {"content": "Alice made the lamp in Bergen.", "source_id": "doc-1", "file_path": "lamps.txt"},
        {"content": "Nothing is said here.", "source_id": "doc-2"},
    ],
    "entities": [
        {"entity_name": "Alice", "entity_type": "PERSON", "description": "She makes lamps.", "source_id": "doc-1"},
        {"entity_name": "Lamp", "entity_type": "artifact", "description": "A lamp.", "source_id": "doc-1"},
        {"entity_name": "Nowhere", "entity_type": "place", "description": "Of no chunk.", "source_id": "UNKNOWN"},
    ],
    "relationships": [
        {"src_id": "Alice", "tgt_id": "Lamp", "description": "made", "keywords": "to make by hand, of glass",
         "weight": 2.5, "source_id": "doc-1"}
    ],
}  # fmt: skip


def written(path: Path, rows: list[dict[str, Any]]) -> Path:
    if path.suffix == ".jsonl":
        path.write_text("".join(f"{json.dumps(row)}\n" for row in rows))
    elif path.suffix == ".parquet":
        pq.write_table(pa.Table.from_pylist(rows, pa.schema([(name, _type(name)) for name in _names(rows)])), path)
    else:
        with path.open("w", newline="") as file:
            lines = csv.DictWriter(file, _names([*rows, {"aliases": ()}]))
            lines.writeheader()
            lines.writerows([row | {"aliases": ";".join(row.get("aliases", ()))} for row in rows])
    return path


def _names(rows: list[dict[str, Any]]) -> list[str]:
    return list(dict.fromkeys(name for row in rows for name in row))


def _type(name: str) -> pa.DataType:
    return pa.list_(pa.string()) if name == "aliases" else pa.string()


@pytest.mark.parametrize("name", ["a.jsonl", "a.csv", "a.parquet"])
def test_rows_of_every_format_become_the_same_decisions(tmp_path: Path, name: str) -> None:
    base, decisions, *_ = read_table(written(tmp_path / name, ROWS), SIGNED)
    assert base is None
    assert [(one.decision.action, one.decision.names) for one in decisions] == [
        ("retype", ("Priya Nair",)),
        ("merge", ("Priya Nair", "P. Nair", "the engineer")),
        ("add", ("Dock 3",)),
        ("add", ("Priya Nair", "Dock 3")),
    ]
    typed, merged, entity, relation = (one.decision for one in decisions)
    assert (typed.type, merged.into, entity.type, entity.text) == (
        "engineer",
        "Priya Nair",
        "location",
        "Dock 3 is new.",
    )
    assert (relation.text, relation.keywords, relation.author) == ("She guards it.", "guard", "kim")


def test_the_relation_of_an_edge_list_is_its_keyword_and_columns_that_are_passed_over_are_told(tmp_path: Path) -> None:
    edge = {"Source": "Acme", "Target": "Beta", "Relation": "supplies", "Weight": "3", "Type": "Directed"}
    rows = [edge, edge | {"keywords": "steel", "Weight": ""}, {"name": "Acme", "type": "company", "desciption": "A."}]
    _, decisions, _, over = read_table(written(tmp_path / "a.jsonl", rows), SIGNED)
    assert [one.decision.keywords for one in decisions] == ["supplies", "supplies, steel", None]
    assert over == ["desciption", "type", "weight"]


@pytest.mark.long
def test_they_are_in_the_graph_and_in_no_question(settings: Settings, tmp_path: Path) -> None:
    write_source(settings, "notes", {"a.txt": FLOOD})
    _, decisions, *_ = read_table(written(tmp_path / "a.jsonl", ROWS), SIGNED)
    assert len(new_decisions(settings, decisions)) == 4
    assert decisions_of(settings) == []
    assert take_new(settings, decisions) == [1, 2, 3, 4]
    build(settings)
    with KnowledgeBase.open(settings=settings) as knowledge:
        rows = knowledge.sql("SELECT name, type, sources FROM entities").to_pylist()
    found = {row["name"]: (row["type"], row["sources"]) for row in rows}
    assert found["Dock 3"] == ("location", ["curation"])
    assert found["Priya Nair"][0] == "engineer"
    assert "notes" in found["Priya Nair"][1]


def test_again_takes_what_is_new_and_nothing_that_was_undone(settings: Settings, tmp_path: Path) -> None:
    file = written(tmp_path / "a.jsonl", ROWS)
    take_new(settings, read_table(file, SIGNED)[1])
    undo(settings, [3])
    written(file, [*ROWS, ROWS[0], {"name": "Crane"}, {"name": "Crane"}])
    _, decisions, *_ = read_table(file, SIGNED)
    assert len(decisions) == 5
    assert take_new(settings, decisions) == [5]
    assert take_new(settings, decisions) == []
    assert [one.decision.names[0] for one in decisions_of(settings)].count("Crane") == 1


@pytest.mark.long
def test_a_custom_graph_is_documents_with_their_rows(settings: Settings, tmp_path: Path) -> None:
    file = tmp_path / "graph.json"
    file.write_text(json.dumps(GRAPH))
    base, decisions, *_ = read_table(file, SIGNED)
    assert base is not None
    assert [(one.decision.action, one.decision.names) for one in decisions] == [("add", ("Nowhere",))]
    made = import_base(settings, "lamps", base, same_embedder=False)
    assert made.documents.counts == {"new": 2}
    assert made.chunks._asdict() == {"chunks": 2, "known": 0, "answered": 2, "unused": 0}
    build(settings)
    with KnowledgeBase.open(settings=settings) as knowledge:
        entities = knowledge.sql("SELECT name, type, description FROM entities ORDER BY name").to_pylist()
        [relation] = knowledge.sql("SELECT description, keywords, weight FROM relations").to_pylist()
        [[paths]] = knowledge.sql("SELECT list(path ORDER BY path) FROM raw_documents").to_pydict().values()
    assert [tuple(row.values()) for row in entities] == [
        ("Alice", "person", "She makes lamps."),
        ("Lamp", "artifact", "A lamp."),
    ]
    assert (relation["description"], relation["weight"]) == ("made.", 2.5)
    assert "to make by hand" in str(relation["keywords"])
    assert paths == ["doc-2.txt", "lamps.txt"]


@pytest.mark.parametrize(
    ("weight", "found"),
    [
        (5 / 6, 0.833333333),
        (1e-05, 0.00001),
        ("2.5", 2.5),
        ("high", 1.0),
        ("80%", 0.8),
        (1, 1.0),
        (1.0, 1.0),
        (0, 0.0),
        (100, 100.0),
        (1e-9, 1e-9),
        (1.5e-8, 1.5e-8),
        (-0.0, 0.0),
        (999_999_999.9, 999_999_999.9),
    ],
)
def test_a_weight_may_be_any_number(tmp_path: Path, weight: object, found: float) -> None:
    [row] = GRAPH["relationships"]
    (tmp_path / "a.json").write_text(json.dumps(GRAPH | {"relationships": [row | {"weight": weight}]}))
    base, _, *_ = read_table(tmp_path / "a.json", SIGNED)
    assert base
    [answer] = [one for several in base.answers.values() for one in several if "Alice" in one]
    [relation] = parse_response(answer).relations
    assert (relation.weight, relation.description.rstrip(".")) == (found, "made")


@pytest.mark.long
def test_a_custom_graph_that_was_corrected_is_taken_again(settings: Settings, tmp_path: Path) -> None:
    first, *others = GRAPH["entities"]
    more = [first | {"description": "She makes glass lamps."}, *others, others[0] | {"entity_name": "Glass"}]
    for entities, known in ((GRAPH["entities"], 0), (more, 1), (more, 2)):
        (tmp_path / "a.json").write_text(json.dumps(GRAPH | {"entities": entities}))
        base, _, *_ = read_table(tmp_path / "a.json", SIGNED)
        assert base
        made = import_base(settings, "lamps", base, same_embedder=False)
        assert made.chunks._asdict() == {"chunks": 2, "known": known, "answered": 2 - known, "unused": 0}
        build(settings)
    with KnowledgeBase.open(settings=settings) as knowledge:
        rows = knowledge.sql("SELECT name, description FROM entities ORDER BY name").to_pydict()
    assert rows == {
        "name": ["Alice", "Glass", "Lamp"],
        "description": ["She makes glass lamps.", "A lamp.", "A lamp."],
    }


def test_a_chunk_that_was_corrected_keeps_its_file_beside_others_of_its_path(
    settings: Settings, tmp_path: Path
) -> None:
    """As pieces of one document; where two have the same id as well, all are kept."""
    pieces = [
        {"content": f"{one} text.", "source_id": f"doc-{at}", "file_path": "a.txt"} for at, one in enumerate("ABC")
    ]
    now = [pieces[0] | {"content": "New text."}, pieces[1] | {"content": "Newer text."}, pieces[2]]
    unlucky = [now[0], now[1] | {"source_id": "doc-0"}, now[2]]
    counts = []
    for chunks in (pieces, now, unlucky, now):
        (tmp_path / "a.json").write_text(json.dumps({"chunks": chunks}))
        base = read_table(tmp_path / "a.json", SIGNED)[0]
        assert base
        made = write_documents(tmp_path / "out", base.documents, 1000).counts
        counts.append([made[one] for one in ("new", "changed", "unchanged", "beside", "deleted there")])
        found = {one.read_text() for one in (tmp_path / "out").glob("*.txt")}
        assert {one["content"] for one in chunks} == found
    assert counts == [[3, 0, 0, 0, 0], [0, 2, 1, 0, 0], [2, 0, 1, 2, 2], [0, 0, 3, 0, 2]]


def test_an_empty_chunk_is_a_document_without_text_alone(settings: Settings, tmp_path: Path) -> None:
    row = {"entity_name": "Lost", "source_id": "doc-4"}
    for chunk, rows, unused in (("doc-3", [], 0), ("doc-4", [row], 1)):
        chunks = [*GRAPH["chunks"], {"content": " ", "source_id": chunk}]
        (tmp_path / "a.json").write_text(json.dumps(GRAPH | {"chunks": chunks, "entities": rows}))
        base, _, *_ = read_table(tmp_path / "a.json", SIGNED)
        assert base
        made = import_base(settings, chunk, base, same_embedder=False)
        assert (made.chunks.chunks, made.chunks.unused) == (2, unused)
        assert made.documents.counts == {"new": 2, "empty": 1}


def test_a_chunk_of_many_rows_loses_none(tmp_path: Path) -> None:
    rows = [{"entity_name": f"Name {at}", "source_id": "doc-1"} for at in range(900)]
    (tmp_path / "a.json").write_text(json.dumps({"chunks": GRAPH["chunks"], "entities": rows}))
    base, _, *_ = read_table(tmp_path / "a.json", SIGNED)
    assert base is not None
    found = {text: merge_rounds(list(map(parse_response, answers))) for text, answers in base.answers.items()}
    assert sorted(len(one.entities) for one in found.values()) == [0, 900]


@pytest.mark.parametrize(
    ("name", "text", "error"),
    [
        ("a.json", "[" * 100_000, SourceError),
        ("a.json", "[1, 2]", SourceError),
        ("a.json", '{"entities": 7}', SourceError),
        ("a.json", '{"entities": [7]}', SourceError),
        ("a.jsonl", '{"name": "A"}\n{"na', SourceError),
        ("a.parquet", "PAR1", SourceError),
        ("a.xlsx", "PK", SourceError),
        ("a.jsonl", '{"title": "no name"}\n', DecisionError),
        ("a.jsonl", '{"source": "A", "description": "to what?"}\n', DecisionError),
        ("a.csv", f"name,description\n{'x' * 300},d\n", DecisionError),
        ("a.csv", "name,type\nA,b,c\n", SourceError),
    ],
)
@pytest.mark.usefixtures("uncollected")
def test_a_file_that_cannot_be_taken_is_refused_by_its_name(
    tmp_path: Path, name: str, text: str, error: type[Exception]
) -> None:
    (tmp_path / name).write_text(text)
    with pytest.raises(error, match=name) as raised:
        read_table(tmp_path / name, SIGNED)
    assert "Errno" not in str(raised.value)
    with pytest.raises(SourceError, match="missing"):
        read_table(tmp_path / f"missing-{name}", SIGNED)


def test_a_row_without_a_name_is_told_what_it_needs(tmp_path: Path) -> None:
    with pytest.raises(DecisionError, match=r"a\.jsonl: row 2 has no name; give each a `name`, or a `source` and a"):
        read_table(written(tmp_path / "a.jsonl", [{"name": "A"}, {"title": "B"}]), SIGNED)


def test_blank_rows_are_passed_over_as_spreadsheets_write_them(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("name;type;aliases\n;;\nAcme;organization;AIP\n;;\n")
    _, decisions, *_ = read_table(tmp_path / "a.csv", SIGNED)
    assert [(one.decision.action, one.place) for one in decisions] == [
        ("retype", "a.csv: row 2"),
        ("merge", "a.csv: row 2"),
    ]


def test_what_is_no_text_in_utf_8_is_left_out(tmp_path: Path) -> None:
    file = tmp_path / "graph.json"
    rows = [{"entity_name": "Anna\ud800", "description": "\ud800", "source_id": "1"}]
    file.write_text(json.dumps({"chunks": [{"content": "Anna met x\ud800", "source_id": "1"}], "entities": rows}))
    base, _, *_ = read_table(file, SIGNED)
    assert base
    [[answer]] = base.answers.values()
    assert "Anna" in answer.encode().decode()


def test_a_number_without_bounds_is_no_value(tmp_path: Path) -> None:
    file = tmp_path / "facts.jsonl"
    file.write_text('{"subject": "Anna", "relation": "height", "value": Infinity}\n')
    with pytest.raises(DecisionError, match="row 1 has a subject"):
        read_table(file, SIGNED)


def test_rows_that_contradict_each_other_take_nothing(settings: Settings, tmp_path: Path) -> None:
    rows = [{"name": "A", "type": "person"}, {"name": "A", "type": "place"}]
    _, decisions, *_ = read_table(written(tmp_path / "a.jsonl", rows), SIGNED)
    with pytest.raises(DecisionError, match=r"a\.jsonl: row"):
        take_new(settings, decisions)
    assert decisions_of(settings) == []


FACTS: list[dict[str, Any]] = [
    {"subject": "Quay 4", "relation": "landlord", "object": "Sollen Harbour Estates", "object_type": "company"},
    {"subject": "Quay 4", "relation": "rent", "value": "48000", "unit": "EUR", "valid_from": "2021-04-01",
     "valid_to": "2023-06-30"},
    {"subject": "Quay 4", "relation": "rent", "value": "51000", "unit": "USD", "valid_from": "July 2023"},
    {"subject": "Quay 4", "relation": "sublet | let", "value": "no"},
    {"subject": "Ostrel Ferries", "relation": "founded", "value": "1 May 1999"},
    {"subject": "Ostrel Ferries", "relation": "motto", "value": "Over, and back"},
]  # fmt: skip


def stated(settings: Settings, file: Path, folder: Path) -> Settings:
    """Return settings with the facts of a table as a source, as the command prints them."""
    _, _, (lines, facts), _ = read_table(file, SIGNED)
    (folder / "own.jsonl").write_text("\n".join(lines))
    named = {"own": {"uri": str(folder / "own.jsonl"), "rows": {"text": "{subject}", "facts": facts}}}
    return settings.model_validate(settings.model_dump() | {"named_sources": named})


@pytest.mark.parametrize("name", ["a.jsonl", "a.csv", "a.parquet"])
def test_facts_of_every_format_are_the_same_rows(tmp_path: Path, name: str) -> None:
    _, decisions, facts, _ = read_table(written(tmp_path / name, [*FACTS, FACTS[0], ROWS[0]]), SIGNED)
    assert [one.decision.action for one in decisions] == ["retype", "merge"]
    rows, columns = facts
    assert len(rows) == len(FACTS)
    assert [(one["relation"], one.get("kind"), one.get("object_type")) for one in columns] == [
        ("landlord", None, "company"),
        ("rent", "number", None),
        ("sublet / let", "yes/no", None),
        ("founded", "date", None),
        ("motto", "text", None),
    ]
    assert facts == read_table(written(tmp_path / "again.csv", FACTS), SIGNED)[2]


def test_a_value_that_has_a_unit_gets_no_other(tmp_path: Path) -> None:
    values = ("70 USD", "€ 5", "1.250 kg", "3.2 million", "1.250")
    rows = [{"subject": "A", "relation": "cost", "value": one, "unit": "EUR"} for one in values]
    _, _, (lines, _), _ = read_table(written(tmp_path / "a.csv", rows), SIGNED)
    assert [json.loads(one)["fact cost"] for one in lines] == [*values[:3], "3.2 million EUR", "1.250 EUR"]


@pytest.mark.long
def test_facts_are_a_source_that_is_read_without_a_model(settings: Settings, tmp_path: Path) -> None:
    settings.sources.mkdir(exist_ok=True)
    now = stated(settings, written(tmp_path / "a.csv", FACTS), tmp_path)
    build(now)
    query = "SELECT subject, relation, object, value, number, unit, valid_from, valid_to FROM merged_facts ORDER BY ALL"
    with KnowledgeBase.open(settings=now) as knowledge:
        rows = [tuple(map(str, row.values())) for row in knowledge.sql(query).to_pylist()]
        rejected = knowledge.sql("SELECT sum(rejected_rows)::INT AS rejected FROM read_facts").to_pylist()
    assert rejected == [{"rejected": 0}]
    assert rows == [
        ("Ostrel Ferries", "founded", "None", "1 May 1999", "None", "None", "None", "None"),
        ("Ostrel Ferries", "motto", "None", "Over, and back", "None", "None", "None", "None"),
        ("Quay 4", "landlord", "Sollen Harbour Estates", "None", "None", "None", "None", "None"),
        ("Quay 4", "rent", "None", "48000 EUR", "48000.0", "EUR", "2021-04-01", "2023-06-30"),
        ("Quay 4", "rent", "None", "51000 USD", "51000.0", "USD", "2023-07-01", "None"),
        ("Quay 4", "sublet / let", "None", "no", "0.0", "None", "None", "None"),
    ]


@pytest.mark.parametrize("name", ["a.jsonl", "a.parquet", "exact.parquet"])
@pytest.mark.parametrize("unit", ["kg", None])
def test_exact_numbers_are_what_they_are_beside_a_unit_too(
    settings: Settings, tmp_path: Path, name: str, unit: str | None
) -> None:
    numbers = [1.234, 50.125, 7.0, 0.1]
    rows = [{"subject": f"Crate {one}", "relation": "mass", "value": one, "unit": unit} for one in numbers]
    if name == "a.jsonl":
        written(tmp_path / name, rows)
    else:
        exact = [row | {"value": Decimal(str(row["value"]))} for row in rows]
        pq.write_table(pa.Table.from_pylist(rows if name == "a.parquet" else exact), tmp_path / name)
    settings.sources.mkdir(exist_ok=True)
    now = stated(settings, tmp_path / name, tmp_path)
    columns = now.named_sources["own"].rows
    assert columns
    texts = [(one.content or b"").decode() for one in list_files(find_source(now, "own"))]
    read = [read_answer(answer_of(text), pass_of_columns(columns.facts), text) for text in texts]
    assert [one.rejected for one in read] == [()] * len(numbers)
    assert sorted((fact.number, fact.unit) for one in read for fact in one.facts) == sorted((n, unit) for n in numbers)


def test_a_relation_with_objects_and_values_is_named(tmp_path: Path) -> None:
    rows = [{"subject": "Quay 4", "relation": "landlord", "object": "Sollen"}]
    rows.append({"subject": "Quay 4", "relation": "Landlord", "value": "7"})
    with pytest.raises(DecisionError, match=r"row 2 has a subject; .* as its other rows have"):
        read_table(written(tmp_path / "a.jsonl", rows), SIGNED)


@pytest.mark.parametrize(
    "row",
    [
        {"subject": "Quay 4", "object": "Sollen"},
        {"subject": "Quay 4", "relation": "|", "object": "Sollen"},
        {"subject": "Quay 4", "relation": "landlord"},
        {"subject": "Quay 4", "relation": "landlord", "object": "Sollen", "value": "7"},
    ],
)
def test_a_row_that_is_no_fact_is_named(tmp_path: Path, row: dict[str, Any]) -> None:
    with pytest.raises(DecisionError, match=r"a\.jsonl: row 2 has a subject"):
        read_table(written(tmp_path / "a.jsonl", [FACTS[0], row]), SIGNED)


def test_two_types_at_one_end_of_a_relation_are_refused_with_both_places(tmp_path: Path) -> None:
    ada, acme, mill = (
        {"subject": name, "relation": relation, "object": "the mill", "subject_type": kind}
        for name, relation, kind in (("Ada", "owns", "Person"), ("Acme", "Owns", "company"), ("Bo", "owns", "person"))
    )
    with pytest.raises(DecisionError, match=r"^a\.jsonl: row 3 has the subject_type 'company', and a\.jsonl: row 1 '"):
        read_table(written(tmp_path / "a.jsonl", [ada, mill, acme]), SIGNED)
    others = [ada, mill, acme | {"relation": "leases"}]
    for rows in (others, others[::-1]):
        found = read_table(written(tmp_path / "a.jsonl", rows), SIGNED)[2][1]
        assert {one["relation"]: one["subject_type"] for one in found} == {"owns": "Person", "leases": "company"}


@pytest.mark.parametrize("name", ["{x}", "id", "subject", "fact 1", "a: b", "=1+1", "Überschuß", "x" * 300])
def test_a_relation_of_any_name_can_be_set(settings: Settings, tmp_path: Path, name: str) -> None:
    file = written(tmp_path / "a.jsonl", [{"subject": "A", "relation": name, "object": "B"}])
    rows = stated(settings, file, tmp_path).named_sources["own"].rows
    assert rows is not None
    (fact,) = rows.facts
    assert fact.relation == name


@pytest.mark.parametrize(
    ("row", "found"),
    [
        ({"name": "A", "description": float("nan"), "type": None, "aliases": [], "text": {}}, (("A",), None, None)),
        ({"name": 7, "description": True}, (("7",), "true", None)),
        ({"source": "A", "target": "B", "keywords": ["to make", "by hand"]}, (("A", "B"), None, "to make, by hand")),
        ({"source": "A", "target": "B", "keywords": [], "weight": [1]}, (("A", "B"), None, None)),
    ],
)
def test_values_of_any_kind_are_texts(tmp_path: Path, row: dict[str, Any], found: tuple[Any, ...]) -> None:
    [one] = [one.decision for one in read_table(written(tmp_path / "a.jsonl", [row]), SIGNED)[1]]
    assert (one.names, one.text, one.keywords) == found


@pytest.mark.parametrize("value", [["a", "b"], [1, None], [[]], {"x": 1}])
@pytest.mark.parametrize(
    "column",
    ["name", "type", "description", "source", "target", "subject", "relation", "object", "value",
     "unit", "valid_from", "valid_to", "subject_type", "object_type", "entity_name", "Entity_Type", "src_id"],
)  # fmt: skip
def test_structures_are_refused_by_row_and_column(tmp_path: Path, column: str, value: Any) -> None:
    file = written(tmp_path / "a.jsonl", [{"name": "Y"}, {"name": "Z", column: value}])
    with pytest.raises(
        DecisionError, match=rf"a\.jsonl: row 2 has a list, an object or bytes as `{column}`; give it a text"
    ):
        read_table(file, SIGNED)


@pytest.mark.parametrize("value", [[1, None], ["a", ["b"]], {"x": 1}])
@pytest.mark.parametrize("column", ["aliases", "keywords"])
def test_lists_of_texts_alone_are_taken(tmp_path: Path, column: str, value: Any) -> None:
    with pytest.raises(DecisionError, match=f"row 1 has a list, an object or bytes as `{column}`"):
        read_table(written(tmp_path / "a.jsonl", [{"name": "Z", column: value}]), SIGNED)


def test_numbers_and_answers_are_aliases_too(tmp_path: Path) -> None:
    rows = [{"name": "A", "aliases": 7}, {"name": "B", "aliases": 7.5}, {"name": "C", "aliases": True}]
    decisions = read_table(written(tmp_path / "a.jsonl", rows), SIGNED)[1]
    assert [one.decision.names for one in decisions] == [("A", "7"), ("B", "7.5"), ("C", "true")]


def test_aliases_that_are_spellings_of_the_name_say_nothing(tmp_path: Path) -> None:
    rows = [{"name": "Acme", "aliases": ["ACME", "Acme Inc", "acme  inc"]}, {"name": "佐藤健", "aliases": ["佐藤 健"]}]
    decisions = read_table(written(tmp_path / "a.jsonl", rows), SIGNED)[1]
    assert [(one.decision.action, one.decision.names) for one in decisions] == [("merge", ("Acme", "Acme Inc"))]


@pytest.mark.parametrize(
    ("kind", "changes"),
    [
        ("chunks", {"content": ["a"]}),
        ("chunks", {"source_id": {"a": 1}}),
        ("chunks", {"file_path": [1]}),
        ("entities", {"entity_name": ["Alice"]}),
        ("entities", {"entity_name": None}),
        ("entities", {"description": {"a": 1}}),
        ("relationships", {"keywords": [1]}),
        ("relationships", {"weight": [2]}),
        ("relationships", {"weight": "much of it"}),
        ("relationships", {"weight": -1}),
        ("relationships", {"weight": "inf"}),
        ("relationships", {"weight": "nan"}),
        ("relationships", {"weight": 1e9}),
        ("relationships", {"weight": 9e-10}),
        ("relationships", {"src_id": " "}),
    ],
)
def test_rows_of_chunks_are_refused_by_their_place(tmp_path: Path, kind: str, changes: dict[str, Any]) -> None:
    first, *others = GRAPH[kind]
    (tmp_path / "a.json").write_text(json.dumps(GRAPH | {kind: [first | changes, *others]}))
    with pytest.raises(DecisionError, match=rf"a\.json: {kind} 1 "):
        read_table(tmp_path / "a.json", SIGNED)


def test_the_order_of_rows_of_chunks_changes_nothing(tmp_path: Path) -> None:
    several = [{"content": text, "source_id": "doc-1", "file_path": "lamps.txt"} for text in ("One.", "Two.", "Two.")]
    graph = GRAPH | {"chunks": [*GRAPH["chunks"], *several]}
    found = []
    for order in (1, -1):
        (tmp_path / "a.json").write_text(json.dumps({kind: rows[::order] for kind, rows in graph.items()}))
        base = read_table(tmp_path / "a.json", SIGNED)[0]
        assert base is not None
        write_documents(tmp_path / "out", base.documents, 1000)
        files = {one.name: one.read_text() for one in (tmp_path / "out").iterdir()}
        found.append((base.answers, set(base.documents()), files))
    assert found[0] == found[1]
    assert len(found[0][2]) == 5


def test_a_relation_keeps_its_column_in_any_table(tmp_path: Path) -> None:
    """Settings that were printed for an earlier table read a later one."""
    rows, facts = read_table(written(tmp_path / "a.csv", FACTS), SIGNED)[2]
    more = [{"subject": "A", "relation": "new", "object": "B"}, *FACTS[::-1]]
    more_rows, more_facts = read_table(written(tmp_path / "b.csv", more), SIGNED)[2]
    assert {json.loads(row)["id"] for row in rows} < {json.loads(row)["id"] for row in more_rows}
    assert [one for one in facts if one not in more_facts] == []


def test_a_corrected_fact_is_an_edit_of_its_row_in_any_order(tmp_path: Path) -> None:
    """Not a deletion, for which a source is withheld."""

    def ids(rows: list[dict[str, Any]]) -> dict[str, str]:
        lines, _ = read_table(written(tmp_path / "a.csv", rows), SIGNED)[2]
        return {one.pop("id"): json.dumps(one, sort_keys=True) for one in map(json.loads, lines)}

    tests = [{"subject": "Quay 4", "relation": "tests", "object": one} for one in ("Anna", "Ben")]
    before = ids([*FACTS, *tests])
    corrected = [FACTS[0] | {"object": "Sollen Harbour"}, FACTS[1] | {"value": "48500", "valid_to": "2023-07-31"}]
    after = ids([*tests, *FACTS[:1:-1], *corrected])
    assert before.keys() == after.keys()
    assert len(after.items() - before.items()) == 2

"""Facts in the merge: what they add to entities and relations, decisions on them, and equal ones as one."""

from collections.abc import Sequence
from datetime import date
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from lightrag_dagster.core.identity import entity_id
from lightrag_dagster.engines.processes import ProcessEngine
from lightrag_dagster.fact_schemas import FACTS, READINGS
from lightrag_dagster.stages.merging.inputs import MergeInput
from tests.stages.merging.tables import (
    Row,
    Summariser,
    Tables,
    chunk,
    entity,
    extraction,
    merged_from,
    nameless_chunks,
    relation,
    write,
)
from tests.stages.merging.test_names import decided

ADA, ACME, BONN = entity_id("Ada"), entity_id("Acme"), entity_id("Bonn")
CHUNKS = [chunk("a", "x.txt", 0, "c1"), chunk("a", "x.txt", 1, "c2"), chunk("b", "sky/y.txt", 0, "c3")]


def reading(source: str, chunk_id: str, of: str = "offices", key: str = "r", status: str = "ok") -> Row:
    return extraction(source, chunk_id, key, status) | {"pass": of}


def fact(source: str, chunk_id: str, index: int, subject: str, name: str, end: str | float, **more: Any) -> Row:
    """Return a fact with an object, or with a number as its value."""
    row: Row = dict.fromkeys(FACTS.names)
    row |= {"source": source, "chunk_id": chunk_id, "pass": "offices", "extraction_key": "r", "fact_index": index}
    row |= {"subject": subject, "subject_type": "person", "relation": name, "single": False}
    row |= {"words": f"{subject} {name} {end}.", "char_start": 0, "char_end": 9}
    if isinstance(end, str):
        return row | {"object": end, "object_type": "company"} | more
    return row | {"value": f"{end:g}", "value_kind": "number", "number": end} | more


def inputs(
    folder: Path,
    facts: Sequence[Row],
    entities: Sequence[Row] = (),
    relations: Sequence[Row] = (),
    readings: Sequence[Row] | None = None,
    **more: Any,
) -> list[MergeInput]:
    keys = ("source", "chunk_id", "pass", "extraction_key")
    made = [reading(*key) for key in sorted({tuple(one[name] for name in keys) for one in facts})]
    said = made if readings is None else readings
    return write(
        folder, **{"chunks": CHUNKS} | more, entities=entities, relations=relations, facts=facts, readings=said
    )


def merged(folder: Path, *tables: Sequence[Row], how: dict[str, Any] | None = None, **more: Any) -> Tables:
    return merged_from(inputs(folder, *tables, **more), folder, Summariser(), **(how or {}))


def rows(table: pa.Table, *columns: str) -> list[tuple[Any, ...]]:
    return sorted(tuple(row[name] for name in columns) for row in table.to_pylist())


LEADS = fact("a", "c1", 0, "Ada", "chief_executive", "Acme")
LIVES = fact("a", "c1", 1, "Ada", "lives_in", "Bonn", object_type="place")
BOTH = [entity("a", "c1", 0, "Ada", "person", "An engineer."), entity("a", "c1", 1, "Acme", "company", "A firm.")]


def test_names_by_facts_alone_are_entities_and_relations_of_the_types_of_the_schema(tmp_path: Path) -> None:
    tables = merged(tmp_path, [LEADS, LIVES])
    assert rows(tables.entities, "name", "type", "description", "mention_count", "degree") == [
        ("Acme", "company", "Ada chief_executive Acme.", 1, 1),
        ("Ada", "person", "Ada chief_executive Acme.", 1, 2),
        ("Bonn", "place", "Ada lives_in Bonn.", 1, 1),
    ]
    assert rows(tables.relations, "src", "tgt", "keywords", "description", "weight", "mention_count") == [
        ("Acme", "Ada", "chief executive", "Ada chief_executive Acme.", 1.0, 1)
        if ACME < ADA
        else ("Ada", "Acme", "chief executive", "Ada chief_executive Acme.", 1.0, 1),
        ("Ada", "Bonn", "lives in", "Ada lives_in Bonn.", 1.0, 1)
        if ADA < BONN
        else ("Bonn", "Ada", "lives in", "Ada lives_in Bonn.", 1.0, 1),
    ]


def test_a_relation_has_one_spelling(tmp_path: Path) -> None:
    facts = [
        fact("a", "c1", 0, "Ada", "Chief Executive", "Acme"),
        fact("a", "c2", 0, "Ada", "chief_executive", "Acme") | {"pass": "others"},
        fact("b", "c3", 0, "Ada", "ｃｈｉｅｆ-executive ", "Acme"),
        fact("b", "c3", 1, "Ada", "chief executive", "Acme", valid_from=date(2021, 5, 1), from_precision="day"),
    ]
    tables = merged(tmp_path, facts)
    assert tables.merged_facts is not None
    assert rows(tables.merged_facts, "relation", "mention_count") == [("chief executive", 1), ("chief executive", 3)]
    assert set(tables.relation_evidence["keywords"].to_pylist()) == {"chief executive"}


@pytest.mark.long
def test_a_pair_and_chunk_have_one_mention_with_all_relations_and_words(tmp_path: Path) -> None:
    facts = [
        LEADS,
        fact("a", "c1", 1, "Acme", "employs", "Ada"),
        fact("a", "c1", 2, "Ada", "founded", "ACME"),
        fact("a", "c2", 0, "Ada", "founded", "Acme"),
        fact("a", "c1", 0, "Ada", "owns", "Acme") | {"pass": "others"},
    ]
    tables = merged(tmp_path, facts)
    found = rows(tables.relation_evidence, "chunk_id", "mention_index", "src", "tgt", "keywords", "weight")
    assert found == [
        ("c1", 0, "Ada", "Acme", "chief executive,employs,founded,owns", 1.0),
        ("c2", 0, "Ada", "Acme", "founded", 1.0),
    ]
    (description,) = {one for one in tables.relation_evidence["description"].to_pylist() if "employs" in one}
    assert description == "Acme employs Ada. Ada chief_executive Acme. Ada founded ACME. Ada owns Acme."
    assert rows(tables.entities, "name", "mention_count") == [("Acme", 2), ("Ada", 2)]
    assert tables.relations["weight"].to_pylist() == [2.0]


@pytest.mark.long
def test_where_the_first_reading_names_the_pair_facts_are_keywords_and_the_rest_stays(tmp_path: Path) -> None:
    relations = [
        relation("a", "c1", 0, "ACME", "Ada", "work", "They work."),
        relation("a", "c1", 1, "Ada", "Acme", "chief executive", "Again."),
        relation("a", "c2", 0, "Ada", "Acme", "", "Without words."),
    ]
    facts = [LEADS, LIVES, fact("a", "c2", 0, "Ada", "founded", "Acme")]
    plain = merged_from(write(tmp_path, CHUNKS, BOTH, relations), tmp_path, Summariser())
    tables = merged(tmp_path, facts, BOTH, relations)
    assert rows(tables.relation_evidence, "chunk_id", "mention_index", "keywords", "description") == [
        ("c1", 0, "work,chief executive", "They work."),
        ("c1", 1, "chief executive", "Again."),
        ("c1", 2, "lives in", "Ada lives_in Bonn."),
        ("c2", 0, "founded", "Without words."),
    ]
    of_pair = ("description", "weight", "mention_count")
    assert rows(plain.relations, *of_pair)[0] in rows(tables.relations, *of_pair)
    of_name = ("chunk_id", "mention_index", "name", "description")
    assert rows(tables.entity_evidence, *of_name) == [
        ("c1", 0, "Ada", "An engineer."),
        ("c1", 1, "Acme", "A firm."),
        ("c1", 2, "Bonn", "Ada lives_in Bonn."),
        ("c2", 0, "Acme", "Ada founded Acme."),
        ("c2", 1, "Ada", "Ada founded Acme."),
    ]


@pytest.mark.long
def test_without_a_pass_no_row_differs(tmp_path: Path) -> None:
    relations = [relation("a", "c1", 0, "Acme", "Ada", "work", "They work.")]
    before = merged_from(write(tmp_path, CHUNKS, BOTH, relations), tmp_path, Summariser())
    after = merged(tmp_path, [], BOTH, relations, readings=[reading("a", "c1")])
    assert after[:4] == before[:4]
    assert (after.merged_facts.num_rows, after.fact_evidence.num_rows) == (0, 0)


@pytest.mark.long
def test_equal_facts_are_one_with_all_evidence(tmp_path: Path) -> None:
    since = {"valid_from": date(2020, 1, 1), "from_precision": "year"}
    facts = [
        LEADS | since | {"when_words": "since 2020"},
        fact("a", "c2", 0, "ADA", "chief_executive", "acme", when_words="as of 2020", single=True, **since),
        fact("b", "c3", 0, "Ada", "chief_executive", "Acme") | since | {"pass": "others"},
        fact("a", "c2", 1, "Ada", "chief_executive", "Acme"),
        fact("a", "c2", 2, "Ada", "chief_executive", "Acme", **since | {"from_precision": "day"}),
        fact("a", "c2", 3, "Acme", "chief_executive", "Ada", **since),
        fact("a", "c2", 4, "Ada", "age", 40.0, value="forty"),
        fact("b", "c3", 1, "Ada", "age", 40.0),
        fact("b", "c3", 2, "Ada", "age", 40.0, unit="months"),
        fact("b", "c3", 3, "Ada", "says", 1.0, value="Yes Ü", value_kind="text", number=None),
        fact("b", "c3", 4, "Ada", "says", 1.0, value="yes ü", value_kind="text", number=None),
        fact("b", "c3", 5, "Ada", "account", 2.0**53, value=f"{2**53}"),
        fact("b", "c3", 6, "Ada", "account", 2.0**53, value=f"{2**53 + 1}"),
    ]
    tables = merged(tmp_path, facts)
    names = (
        "subject",
        "relation",
        "object",
        "value",
        "unit",
        "from_precision",
        "mention_count",
        "single",
        "passes",
        "sources",
    )
    found = [tuple(row[name] for name in names) for row in tables.merged_facts.to_pylist()]
    assert sorted(found, key=str) == sorted(
        [
            ("Ada", "chief_executive", "Acme", None, None, "year", 3, True, ["offices", "others"], ["a", "b"]),
            ("Ada", "chief_executive", "Acme", None, None, None, 1, False, ["offices"], ["a"]),
            ("Ada", "chief_executive", "Acme", None, None, "day", 1, False, ["offices"], ["a"]),
            ("Acme", "chief_executive", "Ada", None, None, "year", 1, False, ["offices"], ["a"]),
            ("Ada", "age", None, "40", None, None, 2, False, ["offices"], ["a", "b"]),
            ("Ada", "age", None, "40", "months", None, 1, False, ["offices"], ["b"]),
            ("Ada", "says", None, "Yes Ü", None, None, 2, False, ["offices"], ["b"]),
            ("Ada", "account", None, "9007199254740992", None, None, 1, False, ["offices"], ["b"]),
            ("Ada", "account", None, "9007199254740993", None, None, 1, False, ["offices"], ["b"]),
        ],
        key=str,
    )
    assert tables.fact_evidence.num_rows == len(facts)
    assert tables.merged_facts["fact_id"].to_pylist() == sorted(set(tables.fact_evidence["fact_id"].to_pylist()))
    first = tables.merged_facts.filter(pa.compute.equal(tables.merged_facts["mention_count"], 3)).to_pylist()[0]
    assert (first["chunk_ids"], first["when_words"], first["subject_id"]) == (["c1", "c2", "c3"], "as of 2020", ADA)


@pytest.mark.parametrize(
    ("decision", "expected"),
    [
        (None, [("Ada", "chief_executive", "Acme"), ("Ada", "lives_in", "Bonn"), ("Ada L", "lives_in", "Bonn")]),
        pytest.param(
            {"action": "merge", "names": ("Ada L", "Ada"), "into": "Ada"},
            [("Ada", "chief_executive", "Acme"), ("Ada", "lives_in", "Bonn")],
            marks=pytest.mark.long,
        ),
        pytest.param(
            {"action": "rename", "names": ("Ada",), "into": "Ada Berg"},
            [("Ada Berg", "chief_executive", "Acme"), ("Ada Berg", "lives_in", "Bonn"), ("Ada L", "lives_in", "Bonn")],
            marks=pytest.mark.long,
        ),
        pytest.param({"action": "remove", "names": ("Ada",)}, [("Ada L", "lives_in", "Bonn")], marks=pytest.mark.long),
        pytest.param(
            {"action": "remove", "names": ("Bonn",)}, [("Ada", "chief_executive", "Acme")], marks=pytest.mark.long
        ),
        pytest.param(
            {"action": "remove", "names": ("Ada", "Acme")},
            [("Ada", "lives_in", "Bonn"), ("Ada L", "lives_in", "Bonn")],
            marks=pytest.mark.long,
        ),
        pytest.param(
            {"action": "merge", "names": ("Ada", "Ada L", "Bonn")},
            [("Ada", "chief_executive", "Acme")],
            marks=pytest.mark.long,
        ),
        pytest.param(
            {"action": "split", "names": ("Ada",), "into": "Ada of x", "sources": ("a",)},
            [("Ada L", "lives_in", "Bonn"), ("Ada of x", "chief_executive", "Acme"), ("Ada of x", "lives_in", "Bonn")],
            marks=pytest.mark.long,
        ),
        pytest.param(
            {"action": "split", "names": ("Bonn",), "into": "Bonn (b)", "paths": ("sky/*",)},
            [("Ada", "chief_executive", "Acme"), ("Ada", "lives_in", "Bonn"), ("Ada L", "lives_in", "Bonn (b)")],
            marks=pytest.mark.long,
        ),
        pytest.param(
            {"action": "split", "names": ("Acme",), "into": "Acme Inc", "types": ("company",)},
            [("Ada", "chief_executive", "Acme Inc"), ("Ada", "lives_in", "Bonn"), ("Ada L", "lives_in", "Bonn")],
            marks=pytest.mark.long,
        ),
    ],
)
def test_decisions_on_facts(tmp_path: Path, decision: dict[str, Any] | None, expected: list[tuple[str, ...]]) -> None:
    facts = [LEADS, LIVES, fact("b", "c3", 0, "Ada L", "lives_in", "Bonn", object_type="place")]
    curation = decided(*[decision] if decision else [])
    before = [BOTH[0], entity("b", "c3", 0, "Bonn", "place", "A town.")]
    tables = merged(tmp_path, facts, before, how={"curation": curation})
    assert rows(tables.merged_facts, "subject", "relation", "object") == expected
    names = {name for row in expected for name in (row[0], row[2])}
    assert names <= {name for (name,) in rows(tables.entities, "name")}
    pairs = {frozenset((row[0], row[2])) for row in expected}
    assert {frozenset(row) for row in rows(tables.relations, "src", "tgt")} == pairs


@pytest.mark.long
def test_two_that_are_apart_stay_two(tmp_path: Path) -> None:
    curation = decided({"action": "apart", "names": ("Ada", "Ada L")})
    facts = [LEADS, fact("b", "c3", 0, "Ada L", "chief_executive", "Acme")]
    assert rows(merged(tmp_path, facts, how={"curation": curation}).merged_facts, "subject") == [("Ada",), ("Ada L",)]


@pytest.mark.long
def test_a_name_that_the_first_reading_has_under_another_is_not_added(tmp_path: Path) -> None:
    curation = decided({"action": "merge", "names": ("Ada", "Ada Berg"), "into": "Ada"})
    before = [entity("a", "c1", 0, "Ada Berg", "person", "An engineer.")]
    tables = merged(tmp_path, [LEADS], before, how={"curation": curation})
    assert rows(tables.entity_evidence, "name", "mention_index") == [("Acme", 1), ("Ada Berg", 0)]


MANY = [
    fact(source, chunk_id, at, f"Ada {(at * 7 + int(chunk_id[1])) % 5}", f"knows_{at % 3}", f"Firm {at % 4}")
    for source, chunk_id in (("a", "c1"), ("a", "c2"), ("b", "c3"))
    for at in range(12)
] + [fact("a", "c1", 12, "Alone", "age", 40)]
NAMED = [entity("a", "c1", 0, "Ada 1", "person", "One."), entity("b", "c3", 0, "Firm 2", "company", "Two.")]
PAIRED = [
    relation("a", "c1", 0, "Ada 1", "Firm 0", "k", "They."),
    relation("b", "c3", 0, "Firm 2", "Ada 3", "", "These."),
]
CURATION = decided(
    {"action": "merge", "names": ("Ada 0", "Ada 1"), "into": "Ada 0"},
    {"action": "remove", "names": ("Firm 3",)},
    {"action": "remove", "names": ("Ada 2", "Firm 1")},
    {"action": "split", "names": ("Ada 4",), "into": "Ada of b", "sources": ("b",)},
)


@pytest.mark.parametrize(
    ("bits", "workers"), [(1, 1), *(pytest.param(*how, marks=pytest.mark.long) for how in ((3, 1), (1, 2), (3, 2)))]
)
def test_any_number_of_parts_and_workers_gives_the_same(tmp_path: Path, bits: int, workers: int) -> None:
    whole = merged(tmp_path, MANY, NAMED, PAIRED, how={"curation": CURATION})
    assert whole.merged_facts.num_rows > 20
    assert whole.fact_evidence.num_rows < len(MANY)
    how: dict[str, Any] = {"curation": CURATION, "bits": bits}
    if workers > 1:
        with ProcessEngine(workers) as engine:
            assert merged(tmp_path, MANY, NAMED, PAIRED, how=how | {"engine": engine}) == whole
    else:
        assert merged(tmp_path, MANY, NAMED, PAIRED, how=how) == whole


@pytest.mark.long
def test_the_order_of_rows_and_sources_has_no_effect(tmp_path: Path) -> None:
    one = merged(tmp_path, MANY, NAMED, PAIRED)
    assert merged(tmp_path, MANY, NAMED, PAIRED, backwards=True) == one


SHARED: list[tuple[list[tuple[str, str, str]], list[str]]] = [
    ([("a", "offices", "ok"), ("b", "offices", "ok")], ["of a"]),
    ([("a", "offices", "failed"), ("b", "offices", "ok")], ["of b"]),
    ([("a", "offices", "truncated"), ("b", "offices", "ok")], ["of a"]),
    ([("b", "offices", "ok")], ["of b"]),
    ([("a", "offices", "failed"), ("b", "offices", "failed")], []),
    ([("a", "offices", "failed"), ("b", "others", "ok")], ["of others"]),
    ([("a", "offices", "ok"), ("b", "offices", "ok"), ("b", "others", "ok")], ["of a", "of others"]),
]
"""The readings of a chunk, as source, pass and status, and the facts that count."""


@pytest.mark.long
@pytest.mark.parametrize("extracted", ["ok", "failed"])
def test_each_pass_of_a_shared_chunk_counts_once_where_it_did_not_fail_first(tmp_path: Path, extracted: str) -> None:
    keys = {"a": "r", "b": "s"}
    chunks, facts, first, named, readings = [list[Row]() for _ in range(5)]
    for number, (said, _) in enumerate(SHARED):
        one, who = f"c{number}", f"Ada {number}"
        for source, path, place in (("a", "x.txt", 0), ("a", "w.txt", 9), ("b", "y.txt", 0)):
            chunks.append(chunk(source, path, place + number, one))
        facts += [
            fact("a", one, 0, who, "leads", f"of a {number}"),
            fact("b", one, 0, who, "leads", f"of b {number}", extraction_key="s"),
            fact("b", one, 0, who, "leads", f"of others {number}", extraction_key="s") | {"pass": "others"},
            fact("a", one, 0, who, "leads", f"of an older key {number}", extraction_key="q"),
        ]
        first += [extraction(source, one, status=extracted) for source in keys]
        named += [entity("a", one, 0, who, "person", "Named.")] if extracted == "ok" else []
        readings += [reading(source, one, of, keys[source], status) for source, of, status in said]
    tables = merged(tmp_path, facts, named, readings=readings, chunks=chunks, extractions=first)
    found, places = rows(tables.merged_facts, "subject", "object"), tables.fact_evidence.to_pylist()
    names = {name for (name,) in rows(tables.entities, "name")}
    for number, (_, expected) in enumerate(SHARED):
        ends, who = [f"{one} {number}" for one in expected], f"Ada {number}"
        assert [end for subject, end in found if subject == who] == ends
        stated = {(row["source"], row["path"]) for row in places if row["chunk_id"] == f"c{number}"}
        assert stated == ({("a", "w.txt")} if expected else set())
        assert {name for name in names if name.endswith(str(number))} == {
            *[who][: (extracted == "ok") + len(expected)],
            *ends,
        }
    assert {tuple(row) for row in tables.entities["file_paths"].to_pylist()} <= {("a/w.txt", "a/x.txt", "b/y.txt")}


def test_types_are_compared_as_those_of_answers_and_one_that_says_nothing_comes_last(tmp_path: Path) -> None:
    named = [
        entity("a", "c1", 0, "Stent", "medicaldevice", "It holds."),
        entity("a", "c1", 1, "Lamp", "artifact", "A."),
    ]
    of_chunks = [("a", "c2"), ("b", "c3")]
    facts = [fact(*at, 0, "Stent", "weight", 9, subject_type="medical device") for at in of_chunks]
    facts += [fact(*at, 1, "Lamp", "price", 9, subject_type="thing") for at in of_chunks]
    tables = merged(tmp_path, facts, named)
    assert rows(tables.entities, "name", "type") == [("Lamp", "artifact"), ("Stent", "medicaldevice")]
    assert {"medicaldevice", "artifact", "thing"} == {*tables.entity_evidence["type"].to_pylist()}


@pytest.mark.long
def test_terms_are_found_beside_facts(tmp_path: Path) -> None:
    facts = [fact("ab"[at % 2], f"c{at:03}", 0, "Ada", "leads", f"Firm {at}") for at in range(3)]
    more: dict[str, Any] = {"chunks": nameless_chunks()}
    tables = merged(tmp_path, facts, how={"terms": "auto"}, **more)
    kinds = tables.entities.group_by("type").aggregate([([], "count_all")]).to_pydict()
    counts = dict(zip(kinds["type"], kinds["count_all"], strict=True))
    assert (counts["company"], counts["person"]) == (3, 1)
    assert counts["term"] > 0
    places = rows(tables.entity_evidence, "chunk_id", "mention_index")
    assert len(set(places)) == len(places)


def test_the_readings_table_has_the_columns_of_extractions() -> None:
    assert set(READINGS.names) == {*extraction("a", "c"), "pass"}


PLANET = {"action": "split", "names": ("Mercury",), "into": "Mercury (planet)", "sources": ("a",)}
BY_TYPE = [
    {"action": "split", "names": ("Kessing",), "into": f"Kessing ({one})", "types": (one,)}
    for one in ("person", "place")
]
HERE = [entity("a", "c1", 0, "Kessing", "person", "A man."), entity("a", "c1", 1, "Kessing", "place", "A town.")]


@pytest.mark.parametrize(
    ("decisions", "facts", "before", "expected"),
    [
        # the pass writes the name in another case
        ([PLANET], [fact("a", "c1", 0, "MERCURY", "radius", 2440)], "Mercury", ["Mercury (planet)"]),
        pytest.param(
            [PLANET, {"action": "merge", "names": ("Mercury", "Merkur"), "into": "Merkur"}],
            [fact("a", "c1", 0, "Mercury", "radius", 2440), fact("a", "c1", 1, "Merkur", "radius", 5)],
            "Merkur",
            ["Mercury (planet)", "Merkur"],
            marks=pytest.mark.long,
        ),
        # mentions of a chunk mean several entities
        (BY_TYPE, [fact("a", "c1", 0, "Kessing", "age", 40)], None, ["Kessing (person)"]),
        pytest.param(
            BY_TYPE,
            [fact("a", "c1", 0, "Kessing", "age", 40, subject_type="human")],
            None,
            ["Kessing"],
            marks=pytest.mark.long,
        ),
        pytest.param(
            BY_TYPE,
            [fact("a", "c1", 0, "Kessing", "age", 40, subject_type="human")],
            "Kessing",
            ["Kessing (person)"],
            marks=pytest.mark.long,
        ),
        pytest.param(
            BY_TYPE,
            [fact("a", "c1", 0, "Kessing", "age", 40), fact("a", "c1", 1, "Kessing", "area", 9, subject_type="place")],
            "",
            ["Kessing (person)", "Kessing (place)"],
            marks=pytest.mark.long,
        ),
        # a schema may write a type in two words, and people and settings too
        (
            [{"action": "split", "names": ("Kessing",), "into": "Kessing (device)", "types": ("Medical Device",)}],
            [
                fact("a", "c1", 0, "Kessing", "age", 40),
                fact("a", "c1", 1, "Kessing", "weight", 9, subject_type="medical device"),
            ],
            "",
            ["Kessing", "Kessing (device)"],
        ),
    ],
)
def test_no_fact_of_a_split_name_is_lost(
    tmp_path: Path, decisions: Sequence[Any], facts: Sequence[Row], before: str | None, expected: Sequence[str]
) -> None:
    named = HERE if before is None else [entity("a", "c1", 0, before, "person", "Named.")] if before else []
    tables = merged(tmp_path, facts, named, how={"curation": decided(*decisions)})
    assert [name for (name,) in rows(tables.merged_facts, "subject")] == expected
    assert tables.fact_evidence.num_rows == len(facts)
    counted = dict(rows(tables.entities, "name", "mention_count"))
    assert all(counted[name] for name in expected)

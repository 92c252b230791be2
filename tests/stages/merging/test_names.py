"""Decisions in the merge: one mapping of names before mentions are grouped, and what people wrote after it."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, reject
from hypothesis import settings as bounds
from hypothesis import strategies as st

from lightrag_dagster import schemas
from lightrag_dagster.core.identity import entity_id
from lightrag_dagster.curation.rules.decisions import Decision, Placed
from lightrag_dagster.curation.rules.resolving import NO_DECISIONS, Curation, resolve
from lightrag_dagster.errors import DecisionError
from lightrag_dagster.settings import MergingSettings
from lightrag_dagster.settings.sections import TypeSettings
from lightrag_dagster.stages.merging.effects import effect_of
from lightrag_dagster.stages.merging.evidence import merge_evidence
from lightrag_dagster.stages.merging.inputs import Rules
from lightrag_dagster.stages.merging.merge import Decided, Merged, open_merge
from lightrag_dagster.storage.files import atomic
from lightrag_dagster.storage.snapshots.scratch import SharedFolder
from tests.stages.merging.tables import Summariser, Tables, chunk, entity, merged_from, relation, write

_CHUNKS = [chunk("a", "x.txt", 0, "c1"), chunk("a", "x.txt", 1, "c2"), chunk("b", "sky/y.txt", 0, "c3")]


def decided(*decisions: dict[str, Any]) -> Curation:
    return resolve([Placed(Decision.model_validate(one), f"line {number}") for number, one in enumerate(decisions)])


def merged(
    folder: Path, entities: Sequence[Any], relations: Sequence[Any], curation: Curation = NO_DECISIONS, **settings: Any
) -> Tables:
    inputs = write(folder, _CHUNKS, entities, relations)
    return merged_from(inputs, folder, Summariser(), curation=curation, **settings)


def by_name(table: pa.Table, *columns: str) -> dict[str, tuple[Any, ...]]:
    return {row["name"]: tuple(row[column] for column in columns) for row in table.to_pylist()}


def ends(tables: Tables) -> set[tuple[str, str]]:
    return {tuple(sorted((row["src"], row["tgt"]))) for row in tables.relations.to_pylist()}


def test_merged_names_are_one_entity_with_all_mentions_under_the_name_given(tmp_path: Path) -> None:
    entities = [
        entity("a", "c1", 0, "Acme Robotics", "organization", "builds"),
        entity("a", "c2", 0, "ACME Robotics Inc", "person", "sells"),
        entity("b", "c3", 0, "ACME Robotics Inc", "person", "buys"),
    ]
    relations = [
        relation("a", "c1", 1, "Acme Robotics", "Oslo", "k", "in"),
        relation("a", "c2", 1, "ACME Robotics Inc", "Oslo", "k", "at"),
        relation("a", "c2", 2, "ACME Robotics Inc", "Acme Robotics", "k", "itself"),
    ]
    curation = decided(
        {"action": "merge", "names": ("ACME Robotics Inc", "Acme Robotics"), "into": "Acme Robotics"},
        {"action": "retype", "names": ("Acme Robotics",), "type": "Organization"},
    )
    tables = merged(tmp_path, entities, relations, curation)
    assert by_name(tables.entities, "entity_id", "type", "mention_count", "degree") == {
        "Acme Robotics": (entity_id("acme robotics"), "organization", 3, 1),
        "Oslo": (entity_id("oslo"), "unknown", 0, 1),
    }
    assert [(row["src"], row["tgt"], row["mention_count"]) for row in tables.relations.to_pylist()] in (
        [("Acme Robotics", "Oslo", 2)],
        [("Oslo", "Acme Robotics", 2)],
    )
    assert set(tables.entity_evidence["name"].to_pylist()) == {"Acme Robotics", "ACME Robotics Inc"}, "as extracted"


def test_what_is_removed_takes_its_relations_along(tmp_path: Path) -> None:
    entities = [entity("a", "c1", n, name, "t", name) for n, name in enumerate(("Contents", "Marta", "Oslo"))]
    relations = [
        relation("a", "c1", n, src, tgt, "k", "text")
        for n, (src, tgt) in enumerate((("contents", "Marta"), ("Marta", "Oslo"), ("Oslo", "Bergen")))
    ]
    curation = decided({"action": "remove", "names": ("Contents",)}, {"action": "remove", "names": ("OSLO", "Marta")})
    tables = merged(tmp_path, entities, relations, curation)
    assert by_name(tables.entities, "degree") == {"Marta": (0,), "Oslo": (1,), "Bergen": (1,)}
    assert ends(tables) == {("Bergen", "Oslo")}
    assert "Contents" not in tables.entity_evidence["name"].to_pylist()


def test_written_texts_take_the_place_of_all_others_and_are_not_summarised(tmp_path: Path) -> None:
    entities = [entity("a", "c1", n, "Marta", "person", f"fact {n}") for n in range(4)]
    relations = [relation("a", "c1", n, "Marta", "Oslo", "k", f"way {n}") for n in range(4)]
    curation = decided(
        {"action": "rename", "names": ("Marta",), "into": "Marta Lind"},
        {"action": "describe", "names": ("Marta",), "text": "An engineer."},
        {"action": "describe", "names": ("Oslo", "Marta"), "text": "Lives there."},
    )
    tables = merged(tmp_path, entities, relations, curation, summary_min_descriptions=2)
    found = by_name(tables.entities, "entity_id", "description", "summary_recipe")
    assert found["Marta Lind"] == (entity_id("marta lind"), "An engineer.", None)
    (row,) = tables.relations.to_pylist()
    assert (row["description"], row["summary_recipe"]) == ("Lives there.", None)
    assert {row["src"], row["tgt"]} == {"Marta Lind", "Oslo"}


@pytest.mark.parametrize(
    ("conditions", "planet"),
    [
        ({"types": ["planet"]}, {"c1"}),
        pytest.param({"sources": ["b"]}, {"c3"}, marks=pytest.mark.long),
        pytest.param({"paths": ["sky/*"]}, {"c3"}, marks=pytest.mark.long),
        pytest.param({"paths": ["sk?/*", "[s]ky/*"]}, set(), marks=pytest.mark.long),
        pytest.param({"sources": ["a"], "types": ["planet"]}, {"c1"}, marks=pytest.mark.long),
        pytest.param({"sources": ["b"], "types": ["planet"]}, set(), marks=pytest.mark.long),
    ],
)
def test_a_name_is_split_by_source_path_and_type_and_relations_follow_their_chunk(
    tmp_path: Path, conditions: dict[str, Any], planet: set[str]
) -> None:
    entities = [
        entity("a", "c1", 0, "Mercury", "Planet", "orbits"),
        entity("a", "c2", 0, "mercury", "element", "flows"),
        entity("b", "c3", 0, "Mercury", "god", "flies"),
    ]
    relations = [
        relation("a", "c1", 1, "Mercury", "Sun", "k", "near"),
        relation("a", "c2", 1, "Gold", "Mercury", "k", "with"),
        relation("b", "c3", 1, "Mercury", "Zeus", "k", "of"),
    ]
    split = {"action": "split", "names": ("MERCURY",), "into": "Mercury (planet)"} | conditions
    tables = merged(tmp_path, entities, relations, decided(split))
    moved = tables.entity_evidence.filter(
        pa.compute.equal(tables.entity_evidence["entity_id"], entity_id(split["into"]))
    )
    assert set(moved["chunk_id"].to_pylist()) == planet
    other = {"c1": "Sun", "c2": "Gold", "c3": "Zeus"}
    assert {pair for pair in ends(tables) if "Mercury (planet)" in pair} == {
        tuple(sorted((other[one], "Mercury (planet)"))) for one in planet
    }
    assert sum(pair[0].lower() == "mercury" or pair[1].lower() == "mercury" for pair in ends(tables)) == 3 - len(planet)


@pytest.mark.long
def test_a_relation_in_a_chunk_without_the_name_follows_the_place(tmp_path: Path) -> None:
    relations = [relation("b", "c3", 0, "Mercury", "Sun", "k", ""), relation("a", "c1", 0, "Mercury", "Gold", "k", "")]
    split = {"action": "split", "names": ("Mercury",), "into": "Hermes", "sources": ["b"]}
    assert ends(merged(tmp_path, [], relations, decided(split))) == {("Hermes", "Sun"), ("Gold", "Mercury")}


@pytest.mark.long
def test_mentions_that_fit_several_splits_stay(tmp_path: Path) -> None:
    entities = [entity("b", "c3", 0, "Mercury", "planet", "orbits")]
    splits = [
        {"action": "split", "names": ("Mercury",), "into": "Planet", "types": ["planet"]},
        {"action": "split", "names": ("Mercury",), "into": "God", "sources": ["b"]},
    ]
    assert by_name(merged(tmp_path, entities, [], decided(*splits)).entities, "mention_count") == {"Mercury": (1,)}


@pytest.mark.long
def test_splits_that_take_nothing_are_named_though_their_new_names_exist_otherwise(tmp_path: Path) -> None:
    entities = [entity("a", "c1", 0, "Mercury", "planet", "x"), entity("b", "c3", 0, "Hermes", "god", "y")]
    relations = [relation("b", "c3", 1, "Venus", "Hermes", "k", "a name without mentions")]
    split = {"action": "split", "names": ("Mercury",), "into": "Hermes"}
    curation = decided(
        split | {"sources": ["nosuch"]},
        split | {"into": "Planet", "types": ["planet"]},
        split | {"into": "Planet", "paths": ["wrong/*"]},
        split | {"into": "Metal", "types": ["metal"]},
        split | {"names": ("Venus",), "into": "Goddess", "sources": ["b"]},
        {"action": "remove", "names": ("Metal",)},
    )
    inputs, rules = write(tmp_path, _CHUNKS, entities, relations), Rules(MergingSettings(), "embedder", "off")
    with open_merge(SharedFolder(tmp_path), inputs, rules, curation=curation) as merge:
        assert merge.decided.idle == {"Hermes", "Planet", "Metal"}


def test_a_name_may_be_removed_except_where_it_is_split_off(tmp_path: Path) -> None:
    entities = [entity("a", "c1", 0, "May", "person", "a woman"), entity("a", "c2", 0, "May", "month", "spring")]
    decisions = (
        {"action": "split", "names": ("May",), "into": "May Lind", "types": ["person"]},
        {"action": "remove", "names": ("May",)},
    )
    assert set(by_name(merged(tmp_path, entities, [], decided(*decisions)).entities)) == {"May Lind"}


def test_types_are_mapped_and_those_not_allowed_are_other(tmp_path: Path) -> None:
    entities = [
        entity("a", "c1", 0, "Acme", "Company", "x"),
        entity("a", "c2", 0, "Acme", "organization", "y"),
        entity("a", "c2", 1, "Marta", "person", "z"),
        entity("a", "c1", 1, "Spoon", "utensil", "z"),
        entity("a", "c1", 2, "Stent", "medicaldevice", "as answers are read"),
    ]
    allowed, mapped = ["Organization", "person", "Device Class"], {"company": "organization"}
    types = {"allowed": allowed, "map": mapped | {"Medical Device": "device class"}}
    tables = merged(tmp_path, entities, [], types=types)
    expected = {"Acme": "organization", "Marta": "person", "Spoon": "other", "Stent": "deviceclass"}
    assert by_name(tables.entities, "type") == {name: (kind,) for name, kind in expected.items()}
    assert "Company" in tables.entity_evidence["type"].to_pylist(), "as extracted"


def test_mentions_that_their_answers_call_other_are_not_counted_as_not_allowed(tmp_path: Path) -> None:
    evidence = tmp_path / "evidence.parquet"
    atomic.write_parquet(evidence, pa.table({"type": ["Other", "other", "utensil", "person"]}))
    merged, decided = Merged([], [], [evidence], []), Decided([], [], frozenset(), 0, frozenset())
    assert effect_of(NO_DECISIONS, decided, merged, TypeSettings(allowed=("person",))).disallowed == 1


mention = st.tuples(
    st.sampled_from(["a", "b"]),
    st.sampled_from(["c1", "c2", "c3"]),
    st.sampled_from(["Marta", "MARTA", "Bergen", "Öre"]),
    st.sampled_from(["Marta", "bergen", "Öre"]),
    st.sampled_from(["person", "place"]),
    st.sampled_from(["short", "rather longer", ""]),
    st.sampled_from(["flow, gauge", ""]),
)
decision = st.one_of(
    st.builds(
        lambda names, into: {"action": "merge", "names": tuple(sorted(names)), "into": into},
        st.sets(st.sampled_from(("Marta", "Bergen", "Öre")), min_size=2),
        st.sampled_from((None, "Marta", "New")),
    ),
    st.builds(lambda name: {"action": "rename", "names": (name,), "into": "Other"}, st.just("Bergen")),
    st.builds(lambda name: {"action": "remove", "names": (name,)}, st.sampled_from(("Öre", "Bergen"))),
    st.builds(
        lambda kind: {"action": "split", "names": ("Marta",), "into": "Marta B", "types": [kind]},
        st.sampled_from(("person", "place")),
    ),
    st.just({"action": "describe", "names": ("Marta",), "text": "written"}),
)


@pytest.mark.long
@bounds(max_examples=20, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    rows=st.lists(mention, max_size=12), decisions=st.lists(decision, max_size=3, unique_by=lambda one: one["action"])
)
def test_parts_and_filters_have_the_same_rows(
    tmp_path_factory: pytest.TempPathFactory, rows: list[Any], decisions: list[dict[str, Any]]
) -> None:
    chunks = [chunk(source, f"{name}.txt", 0, name) for source in "ab" for name in ("c1", "c2", "c3")]
    entities = [entity(s, c, i, name, kind, text) for i, (s, c, name, _, kind, text, _) in enumerate(rows)]
    relations = [relation(s, c, i, src, tgt, words, text) for i, (s, c, src, tgt, _, text, words) in enumerate(rows)]
    try:
        curation = decided(*decisions)
    except DecisionError:
        reject()
    folder = tmp_path_factory.mktemp("merge")
    inputs = write(folder, chunks, entities, relations)
    one = merged_from(inputs, folder, Summariser(), curation=curation)
    assert one == merged_from(inputs, folder, Summariser(), curation=curation, bits=2)
    found = merge_evidence(
        one.entity_evidence,
        one.relation_evidence,
        pa.Table.from_pylist(chunks, schemas.CHUNKS),
        MergingSettings(),
        curation.written,
    )
    for table, seen in zip((one.entities, one.relations), found, strict=True):
        in_order = seen.sort_by(seen.column_names[0])
        assert in_order.to_pylist() == table.select(in_order.column_names).to_pylist()


def test_the_type_of_an_addition_is_that_of_no_name_that_documents_have(tmp_path: Path) -> None:
    chunks = [*_CHUNKS, chunk("curation", "Marta", 0, "c4"), chunk("curation", "Orm", 0, "c5")]
    entities = [
        entity("a", "c1", 0, "Marta", "person", "An engineer."),
        entity("curation", "c4", 0, "Marta", "company", "A person wrote this."),
        entity("curation", "c5", 0, "Orm", "company", "No document has it."),
    ]
    tables = merged_from(write(tmp_path, chunks, entities, []), tmp_path, Summariser())
    assert by_name(tables.entities, "type", "mention_count") == {"Marta": ("person", 2), "Orm": ("company", 1)}

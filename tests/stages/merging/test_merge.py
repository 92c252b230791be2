"""The merge in SQL against the same rules in plain Python, and each rule by itself."""

from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st

from lightrag_dagster import schemas
from lightrag_dagster.core import identity
from lightrag_dagster.settings import MergingSettings
from lightrag_dagster.stages.merging.database import WHITESPACE
from lightrag_dagster.stages.merging.evidence import merge_evidence
from tests.stages.merging.tables import (
    NAMES,
    RECIPE,
    Row,
    Summariser,
    Tables,
    chunk,
    entity,
    extraction,
    merged_from,
    relation,
    write,
)


def run(
    folder: Path,
    chunks: Sequence[Row],
    entities: Sequence[Row],
    relations: Sequence[Row],
    model: Summariser | None = None,
    extractions: Sequence[Row] | None = None,
    backwards: bool = False,
) -> Tables:
    inputs = write(folder, chunks, entities, relations, extractions, backwards)
    return merged_from(inputs, folder, model or Summariser())


mention = st.tuples(
    st.sampled_from(["a", "b"]),
    st.sampled_from(["c1", "c2", "c3"]),
    st.sampled_from(NAMES),
    st.sampled_from(NAMES),
    st.sampled_from(["person", "place"]),
    st.sampled_from(["short", "rather longer", "other text ", ""]),
    st.sampled_from(["flow, gauge", "gauge", "", "repair"]),
)


@pytest.mark.long
@hypothesis_settings(max_examples=20, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(mention, max_size=12))
def test_sql_follows_the_rules_in_any_order(tmp_path_factory: pytest.TempPathFactory, rows: list[Any]) -> None:
    chunks = [chunk(source, f"{name}.txt", 0, name) for source in "ab" for name in ("c1", "c2", "c3")]
    entities = [entity(s, c, i, name, kind, text) for i, (s, c, name, _, kind, text, _) in enumerate(rows)]
    relations = [relation(s, c, i, src, tgt, words, text) for i, (s, c, src, tgt, _, text, words) in enumerate(rows)]

    merged = run(tmp_path_factory.mktemp("merge"), chunks, entities, relations)

    assert merged == run(tmp_path_factory.mktemp("merge"), chunks, entities, relations, backwards=True)
    assert merged.entities.schema.equals(schemas.ENTITIES)
    assert merged.relations.schema.equals(schemas.RELATIONS)
    # A chunk in both sources counts once: as source a extracted it, even where that yielded nothing.
    entities = [row for row in entities if row["source"] == "a"]
    relations = [row for row in relations if row["source"] == "a"]
    expected_relations = expected_relation_rows(relations)
    got = {row["relation_id"]: row for row in merged.relations.to_pylist()}
    assert {key: {name: got[key][name] for name in want} for key, want in expected_relations.items()} == (
        expected_relations
    )
    assert set(got) == set(expected_relations)
    expected_entities = expected_entity_rows(entities, list(expected_relations.values()))
    found = {row["entity_id"]: row for row in merged.entities.to_pylist()}
    assert {key: {name: found[key][name] for name in want} for key, want in expected_entities.items()} == (
        expected_entities
    )


def expected_relation_rows(relations: list[Row]) -> dict[str, Row]:
    groups: dict[str, list[Row]] = {}
    for row in relations:
        first, second = identity.entity_id(row["src"]), identity.entity_id(row["tgt"])
        if first != second:
            groups.setdefault(identity.relation_id(first, second), []).append(row)
    expected = {}
    for key, rows in groups.items():
        texts = {row["description"].strip() for row in rows} - {""}
        words = {word.strip() for row in rows for word in row["keywords"].split(",")} - {""}
        ends = sorted({identity.entity_id(name) for name in (rows[0]["src"], rows[0]["tgt"])})
        expected[key] = {
            "src_id": ends[0],
            "tgt_id": ends[1],
            "keywords": ",".join(sorted(words)),
            "weight": sum(row["weight"] for row in rows),
            "mention_count": len(rows),
            "chunk_ids": sorted({row["chunk_id"] for row in rows}),
            "sources": ["a", "b"],
        }
        if texts:
            expected[key]["description"] = "<SEP>".join(sorted(texts, key=lambda text: (-len(text), text)))
    return expected


def expected_entity_rows(entities: list[Row], relations: list[Row]) -> dict[str, Row]:
    groups: dict[str, list[Row]] = {}
    for row in entities:
        groups.setdefault(identity.entity_id(row["name"]), []).append(row)
    degree = Counter(end for row in relations for end in (row["src_id"], row["tgt_id"]))
    expected = {}
    for key, rows in groups.items():
        names, kinds = Counter(row["name"] for row in rows), Counter(row["type"] for row in rows)
        texts = {row["description"].strip() for row in rows} - {""}
        name = min(names, key=lambda one: (-names[one], one.encode()))
        joined = "<SEP>".join(sorted(texts, key=lambda text: (-len(text), text)))
        expected[key] = {
            "name": name,
            "type": min(kinds, key=lambda one: (-kinds[one], one)),
            "description": joined or f"Entity {name}",
            "mention_count": len(rows),
            "degree": degree[key],
            "chunk_ids": sorted({row["chunk_id"] for row in rows}),
            "file_paths": sorted({f"{source}/{row['chunk_id']}.txt" for source in "ab" for row in rows}),
        }
    return expected


@pytest.mark.long
def test_an_endpoint_that_only_relations_name_becomes_an_entity(tmp_path: Path) -> None:
    merged = run(tmp_path, [chunk("a", "p", 0, "c1")], [], [relation("a", "c1", 0, "Marta", "Bergen", "", "lives in")])
    rows = merged.entities.select(["name", "type", "description", "mention_count", "degree", "chunk_ids"]).to_pylist()
    assert sorted(rows, key=lambda row: row["name"]) == [
        {
            "name": name,
            "type": "unknown",
            "description": "lives in",
            "mention_count": 0,
            "degree": 1,
            "chunk_ids": ["c1"],
        }
        for name in ("Bergen", "Marta")
    ]


def test_every_relation_votes_for_the_spelling_of_an_end_that_only_relations_name(tmp_path: Path) -> None:
    said = [("Marta", "Bergen"), ("Marta", "Bergen"), ("MARTA", "Oslo")]
    relations = [relation("a", "c1", at, src, tgt, "", "lives in") for at, (src, tgt) in enumerate(said)]
    merged = run(tmp_path, [chunk("a", "p", 0, "c1")], [], relations)
    degrees = dict(zip(*(merged.entities[name].to_pylist() for name in ("name", "degree")), strict=True))
    assert degrees == {"Marta": 2, "Bergen": 1, "Oslo": 1}


@pytest.mark.parametrize(
    ("first", "second", "name"),
    [
        pytest.param(("1.txt", "ok"), ("1.txt", "ok"), ["Of a"], marks=pytest.mark.long),
        pytest.param(("1.txt", "truncated"), ("1.txt", "ok"), ["Of a"], marks=pytest.mark.long),
        pytest.param(("1.txt", "failed"), ("1.txt", "ok"), ["Of b"], marks=pytest.mark.long),
        pytest.param(("2.txt", "ok"), ("1.txt", "ok"), ["Of a"], marks=pytest.mark.long),
        (("1.txt", "failed"), ("1.txt", "failed"), []),
    ],
)
def test_a_chunk_counts_as_its_first_position_was_extracted(
    tmp_path: Path, first: tuple[str, str], second: tuple[str, str], name: list[str]
) -> None:
    both = {"a": first, "b": second}
    merged = run(
        tmp_path,
        [chunk(source, path, 0, "c1") for source, (path, _) in both.items()],
        [entity(source, "c1", 0, f"Of {source}", "person", "text", key=source) for source in both],
        [],
        extractions=[extraction(source, "c1", source, status) for source, (_, status) in both.items()],
    )
    assert merged.entities["name"].to_pylist() == name
    assert merged.entity_evidence.select(["source", "extraction_key"]).to_pylist() == [
        {"source": "a", "extraction_key": one[-1]} for one in name
    ]


def test_a_chunk_that_yielded_nothing_counts_as_extracted(tmp_path: Path) -> None:
    chunks = [chunk("a", "p", 0, "c1"), chunk("b", "p", 0, "c1")]
    assert run(tmp_path, chunks, [entity("b", "c1", 0, "Marta", "person", "")], []).entities.num_rows == 0


def test_mentions_of_another_extraction_than_the_row_names_do_not_count(tmp_path: Path) -> None:
    entities = [entity("a", "c1", 0, name, "person", "", key=name) for name in ("Old", "New")]
    merged = run(tmp_path, [chunk("a", "p", 0, "c1")], entities, [], extractions=[extraction("a", "c1", "New")])
    assert merged.entities["name"].to_pylist() == ["New"]


@pytest.mark.parametrize(("count", "asked"), [(7, 0), pytest.param(8, 1, marks=pytest.mark.long)])
def test_many_descriptions_are_summarised_in_one_call(tmp_path: Path, count: int, asked: int) -> None:
    model = Summariser()
    entities = [entity("a", "c1", index, "Marta", "person", f"fact {index}") for index in range(count)]
    merged = run(tmp_path, [chunk("a", "p", 0, "c1")], entities, [], model)
    assert len(model.requests) == asked
    assert (merged.entities["description"][0].as_py() == "summary of Entity: Marta") == bool(asked)
    assert merged.entities["summary_recipe"].to_pylist() == [RECIPE if asked else None]


@pytest.mark.long
def test_long_descriptions_are_summarised_and_one_alone_never(tmp_path: Path) -> None:
    model = Summariser()
    long = "word " * 1300
    chunks = [chunk("a", "p", 0, "c1")]
    run(tmp_path / "one", chunks, [entity("a", "c1", 0, "Marta", "person", long)], [], model)
    assert model.requests == []
    both = [entity("a", "c1", 0, "Marta", "person", long), entity("a", "c1", 1, "Marta", "person", "short")]
    run(tmp_path / "two", chunks, both, [], model)
    assert len(model.requests) == 1


def test_a_summary_that_fails_leaves_the_descriptions(tmp_path: Path) -> None:
    entities = [entity("a", "c1", index, "Marta", "person", f"fact {index}") for index in range(8)]
    merged = run(tmp_path, [chunk("a", "p", 0, "c1")], entities, [], Summariser(fails=True))
    assert merged.entities["description"][0].as_py() == "<SEP>".join(f"fact {index}" for index in range(8))
    assert merged.entities["summary_recipe"].to_pylist() == [None]


def test_the_white_space_is_that_of_python() -> None:
    assert "".join(filter(str.isspace, map(chr, range(0x110000)))) == WHITESPACE


@pytest.mark.long
@hypothesis_settings(max_examples=20, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    rows=st.lists(mention, max_size=12),
    limits=st.fixed_dictionaries(
        {
            "max_chunks": st.sampled_from((1, 2, 200)),
            "chunk_limit_method": st.sampled_from(("KEEP", "FIFO")),
        }
    ),
)
def test_evidence_is_merged_by_the_same_rules(
    tmp_path_factory: pytest.TempPathFactory, rows: list[Any], limits: dict[str, Any]
) -> None:
    chunks = [chunk(source, f"{name}.txt", 0, name) for source in "ab" for name in ("c1", "c2", "c3")]
    entities = [entity(s, c, i, name, kind, text) for i, (s, c, name, _, kind, text, _) in enumerate(rows)]
    relations = [relation(s, c, i, src, tgt, words, text) for i, (s, c, src, tgt, _, text, words) in enumerate(rows)]
    folder = tmp_path_factory.mktemp("merge")
    merged = merged_from(write(folder, chunks, entities, relations), folder, Summariser(), **limits)

    found = merge_evidence(
        merged.entity_evidence,
        merged.relation_evidence,
        pa.Table.from_pylist(chunks, schemas.CHUNKS),
        MergingSettings.model_validate(limits),
    )

    for table, seen in zip((merged.entities, merged.relations), found, strict=True):
        in_order = seen.sort_by(seen.column_names[0])
        assert in_order.to_pylist() == table.select(in_order.column_names).to_pylist()


def test_the_weight_of_a_relation_is_the_sum_over_its_mentions(tmp_path: Path) -> None:
    ends = [("Marta", "Bergen"), ("Bergen", "Marta")]
    weights = [("c1", 2.5), ("c1", 0.5), ("c2", 4.0), ("c2", 0.5)]
    relations = [
        relation("a", chunk_id, n, src, tgt, "", "knows") | {"weight": weight}
        for n, ((chunk_id, weight), (src, tgt)) in enumerate(zip(weights, ends * 2, strict=True))
    ]
    merged = run(tmp_path, [chunk("a", "p", 0, "c1"), chunk("a", "p", 1, "c2")], [], relations)
    assert merged.relations.select(["weight", "mention_count"]).to_pylist() == [{"weight": 7.5, "mention_count": 4}]


def test_evidence_that_the_merge_would_summarise_joins_the_longest(tmp_path: Path) -> None:
    entities = [entity("a", "c1", index, "Marta", "person", "fact " + "x" * index) for index in range(5)]
    chunks = [chunk("a", "p", 0, "c1")]
    merged = run(tmp_path, chunks, entities, [])
    found, _ = merge_evidence(
        merged.entity_evidence,
        merged.relation_evidence,
        pa.Table.from_pylist(chunks, schemas.CHUNKS),
        MergingSettings(summary_min_descriptions=3),
    )
    assert found["description"].to_pylist() == ["fact xxxx<SEP>fact xxx"]


def test_evidence_of_chunks_that_may_not_be_seen_is_left_out(tmp_path: Path) -> None:
    chunks = [chunk("a", "p", 0, "c1"), chunk("b", "p", 0, "c2")]
    entities = [entity("a", "c1", 0, "Marta", "person", "seen"), entity("b", "c2", 0, "MARTA", "person", "hidden")]
    merged = run(tmp_path, chunks, entities, [])
    found, _ = merge_evidence(
        merged.entity_evidence,
        merged.relation_evidence,
        pa.Table.from_pylist(chunks[:1], schemas.CHUNKS),
        MergingSettings(),
    )
    assert found.select(["name", "description"]).to_pylist() == [{"name": "Marta", "description": "seen"}]


def test_keys_are_those_of_identity(tmp_path: Path) -> None:
    entities = [entity("a", "c1", 0, "Marta", "person", "walks")]
    merged = run(tmp_path, [chunk("a", "p", 0, "c1")], entities, [relation("a", "c1", 0, "Marta", "Öre", "k", "to")])
    keys = dict(zip(merged.entities["name"].to_pylist(), merged.entities["embedding_key"].to_pylist(), strict=True))
    assert keys["Marta"] == identity.embedding_key("embedder", "Marta\nwalks")
    row = merged.relations.to_pylist()[0]
    text = f"k\t{row['src']}\n{row['tgt']}\nto"
    assert row["embedding_key"] == identity.embedding_key("embedder", text)


def test_nothing_merges_into_empty_tables(tmp_path: Path) -> None:
    merged = run(tmp_path, [], [], [])
    assert [getattr(merged, table).num_rows for table in schemas.MERGED_TABLES] == [0, 0, 0, 0]


@pytest.mark.long
def test_all_white_space_is_stripped_and_types_vote_in_any_case(tmp_path: Path) -> None:
    kinds = ["person", "Place", "place", "PLACE"]
    entities = [entity("a", "c1", n, "Marta", kind, f"\u3000\n walks\t {n // 4}\u00a0") for n, kind in enumerate(kinds)]
    merged = run(
        tmp_path, [chunk("a", "p", 0, "c1")], entities, [relation("a", "c1", 0, "Marta", "Öre", "a,\ta", "\n")]
    )
    found = {row["name"]: (row["type"], row["description"]) for row in merged.entities.to_pylist()}
    assert found == {"Marta": ("place", "walks\t 0"), "Öre": ("unknown", "Entity Öre")}
    assert merged.relations["keywords"].to_pylist() == ["a"]

"""Merging in parts yields the same rows, whatever their number and wherever the work is done."""

import itertools
import pickle
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any, NamedTuple

import pyarrow as pa
import pytest
from hypothesis import HealthCheck, Phase, given
from hypothesis import settings as bounds
from hypothesis import strategies as st
from pydantic import SecretStr

from lightrag_dagster import schemas
from lightrag_dagster.engines.engine import Item, LocalEngine, Result
from lightrag_dagster.engines.processes import ProcessEngine
from lightrag_dagster.settings import load_settings
from lightrag_dagster.stages.merging import database, parts
from lightrag_dagster.stages.merging.inputs import MergeInput
from lightrag_dagster.storage.home import Home
from lightrag_dagster.storage.snapshots.scratch import open_scratch
from tests.buckets import S3Server
from tests.stages.merging.tables import (
    NAMES,
    Exact,
    Summariser,
    chunk,
    entity,
    extraction,
    merged_from,
    merged_in,
    relation,
    write,
)

SOURCES, PATHS, CHUNKS = ("a", "b"), ("1.txt", "2.txt"), ("c1", "c2", "c3", "c4")


class Mention(NamedTuple):
    """An entity and a relation that a source's extraction of a chunk names."""

    source: str
    chunk: str
    name: str
    other: str
    kind: str
    text: str
    words: str
    weight: float


class State(NamedTuple):
    """The contents of all sources: positions of chunks, mentions, extractions that failed or have another key."""

    positions: frozenset[tuple[str, str, str]]
    entities: frozenset[Mention]
    relations: frozenset[Mention]
    failed: frozenset[tuple[str, str]]
    edited: frozenset[tuple[str, str]]


mentions = st.frozensets(
    st.builds(
        Mention,
        *map(st.sampled_from, (SOURCES, CHUNKS, NAMES, NAMES, ("person", "Person", "place"))),
        st.sampled_from(("short", "rather longer", "other text\t", "", "odd <SEP> text", "fourth")),
        st.sampled_from(("flow, gauge", "gauge", "", "repair\u3000")),
        st.sampled_from((0.1, 0.2, 0.7)),
    ),
    max_size=10,
)
positions = st.frozensets(st.tuples(*map(st.sampled_from, (SOURCES, PATHS, CHUNKS))), max_size=8)
pairs = st.frozensets(st.tuples(*map(st.sampled_from, (SOURCES, CHUNKS))), max_size=3)
states = st.builds(State, positions, mentions, mentions, pairs, pairs)


def inputs_of(folder: Path, state: State) -> list[MergeInput]:
    places = sorted(state.positions)
    chunks = [chunk(source, path, index, name) for index, (source, path, name) in enumerate(places)]
    keys = {pair: "edited" if pair in state.edited else "k" for pair in itertools.product(SOURCES, CHUNKS)}
    extractions = [
        extraction(*pair, key=keys[pair], status="failed" if pair in state.failed else "ok")
        for pair in sorted({(source, name) for source, _, name in places})
    ]
    entities = [
        entity(one.source, one.chunk, index, one.name, one.kind, one.text, keys[one.source, one.chunk])
        for index, one in enumerate(sorted(state.entities))
    ]
    relations = [
        relation(one.source, one.chunk, index, one.name, one.other, one.words, one.text)
        | {"weight": one.weight, "extraction_key": keys[one.source, one.chunk]}
        for index, one in enumerate(sorted(state.relations))
    ]
    return write(folder, chunks, entities, relations, extractions)


limits = st.fixed_dictionaries(
    {
        "max_chunks": st.sampled_from((1, 2, 200)),
        "chunk_limit_method": st.sampled_from(("KEEP", "FIFO")),
    }
)


@pytest.mark.long
@given(states, limits, st.booleans())
@bounds(
    max_examples=4,
    deadline=None,
    derandomize=True,
    phases=(Phase.generate,),
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
def test_the_number_of_parts_shows_in_no_row(
    tmp_path_factory: pytest.TempPathFactory, state: State, limits: dict[str, Any], fails: bool
) -> None:
    folder = tmp_path_factory.mktemp("merge")
    inputs = inputs_of(folder, state)
    one, four = (
        merged_from(inputs, folder, Exact(fails), bits=bits, summary_min_descriptions=2, **limits) for bits in (0, 2)
    )
    assert one == four


@pytest.mark.long
def test_a_corpus_that_is_hard_to_cut(tmp_path: Path) -> None:
    """A hub in a fifth of all mentions, a chunk in 100 documents and two sources, and caps that bite."""
    places = [("a", f"{number:03}.txt", 0, "boilerplate") for number in range(100)]
    places += [("b", "1.txt", 0, "boilerplate")]
    places += [("a", "long.txt", number, f"chunk{number}") for number in range(60)]
    entities = [entity("a", "boilerplate", 0, "Footer", "thing", "a footer")]
    entities += [entity("b", "boilerplate", 0, "Other footer", "thing", "of another extraction")]
    relations = []
    for number in range(60):
        where = f"chunk{number}"
        entities += [entity("a", where, 0, "Hub", "place", f"hub {number % 7}")]
        entities += [
            entity("a", where, other, f"Name {number % 9} {other}", "person", f"is {other}") for other in (1, 2)
        ]
        relations += [relation("a", where, 0, "Hub", f"Only related {number % 5}", "near", f"fact {number}")]
        relations += [relation("a", where, 1, f"Name {number % 9} 1", "Hub", "in", "lives")]
        relations += [relation("a", where, 2, "Hub", "hub", "self", "a loop")]
    inputs = write(tmp_path, [chunk(*place) for place in places], entities, relations)
    rules: dict[str, Any] = {"max_chunks": 20}
    model = Summariser()
    whole = merged_from(inputs, tmp_path, model, bits=0, **rules)
    assert whole == merged_from(inputs, tmp_path, model, bits=3, **rules)
    rows = {row["name"]: row for row in whole.entities.to_pylist()}
    assert len(rows["Hub"]["chunk_ids"]) == 20
    assert rows["Hub"]["degree"] == 5 + 9
    assert rows["Hub"]["chunk_count"] == rows["Hub"]["mention_count"] == 60
    assert (rows["Footer"]["document_count"], len(rows["Footer"]["doc_ids"])) == (101, 20)
    assert "Other footer" not in rows
    assert rows["Only related 0"]["type"] == "unknown"


def several(folder: Path) -> list[MergeInput]:
    """Write two sources with eight chunks each."""
    names = [(source, f"c{source}{number}", number) for source in ("a", "b") for number in range(8)]
    chunks = [chunk(source, f"{number}.txt", 0, name) for source, name, number in names]
    entities = [entity(source, name, 0, f"Name {number % 3}", "thing", name) for source, name, number in names]
    relations = [relation(source, name, 0, "Name 0", f"Name {number % 3}", "k", "x") for source, name, number in names]
    return write(folder, chunks, entities, relations)


@pytest.mark.long
def test_other_processes_merge_the_same(tmp_path: Path) -> None:
    inputs = several(tmp_path)
    with ProcessEngine(2) as engine:
        assert merged_from(inputs, tmp_path, Summariser(), bits=1, engine=engine) == (
            merged_from(inputs, tmp_path, Summariser())
        )


@pytest.mark.long
def test_processes_that_share_a_bucket_alone_merge_the_same(
    buckets: S3Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings = load_settings(home=buckets.new_bucket(), cache={"folder": tmp_path / "here"})
    home = Home.of(settings.changed(database=SecretStr("postgresql://nobody:secret-word@nowhere/none")))
    with home.files.session():
        inputs = several(home.root / "tables")
    monkeypatch.setenv("LIGHTRAG_CACHE__FOLDER", str(tmp_path / "there"))
    with open_scratch(home, shares_disk=False) as scratch, ProcessEngine(2) as engine:
        assert b"secret-word" not in pickle.dumps(scratch)
        merged = merged_in(scratch, inputs, Summariser(), bits=1, engine=OffTheDisk(engine, home.root))
    assert merged == merged_from(inputs, tmp_path, Summariser())
    assert list((tmp_path / "there").rglob("tables/*/entity_mentions/*.parquet"))
    assert not [key for key in buckets.keys(str(home.bucket)) if "scratch" in key]


class OffTheDisk(LocalEngine):
    """An engine during whose work a folder is not to be found."""

    def __init__(self, engine: ProcessEngine, folder: Path) -> None:
        self._engine, self._folder, self.workers = engine, folder, engine.workers

    def map(self, function: Callable[[Item], Result], items: Iterable[Item]) -> list[Result]:
        away = self._folder.rename(self._folder.with_name("away"))
        try:
            return self._engine.map(function, items)
        finally:
            away.rename(self._folder)


class Repeating(LocalEngine):
    """An engine whose workers are killed at the end of the first call."""

    def map(self, function: Callable[[Item], Result], items: Iterable[Item]) -> list[Result]:
        return [(function(item), function(item))[1] for item in items]


@pytest.mark.long
def test_what_killed_workers_had_written_does_not_count(tmp_path: Path) -> None:
    inputs = several(tmp_path)
    assert merged_from(inputs, tmp_path, Summariser(), bits=1, engine=Repeating()) == (
        merged_from(inputs, tmp_path, Summariser())
    )


@pytest.mark.parametrize(("workers", "limit"), [(1, "1.8 GiB"), (2, "953.6 MiB"), (64, "476.8 MiB")])
def test_of_many_workers_each_has_memory_for_a_part(tmp_path: Path, workers: int, limit: str) -> None:
    with database.open_database(tmp_path, {}, workers) as connection:
        assert connection.execute("SELECT current_setting('memory_limit')").fetchone() == (limit,)


@pytest.mark.long
def test_parts_in_order_are_the_sorted_table(tmp_path: Path) -> None:
    entities = [entity("a", "c", number, f"Name {number}", "thing", "x") for number in range(50)]
    merged = merged_from(write(tmp_path, [chunk("a", "p", 0, "c")], entities, []), tmp_path, Summariser(), bits=3)
    ids = merged.entities["entity_id"].to_pylist()
    assert ids == sorted(ids)
    for table in schemas.MERGED_TABLES:
        assert getattr(merged, table).schema.equals(schemas.MERGED_TABLES[table])


def test_names_are_joined_by_equality_alone() -> None:
    """DuckDB may join any two tables with a condition first; all names with all others were 37 GB of 22,000 names."""
    with database.open_small_database(database.rule_variables(load_settings().merging, "")) as connection:
        for view, schema in (
            ("entity_mention", schemas.ENTITY_MENTIONS),
            ("relation_mention", schemas.RELATION_MENTIONS),
        ):
            connection.register(view, schema.empty_table())
        for view, schema in (parts.SPLIT | {"fact_keyword": parts.FACT_KEYWORD}).items():
            connection.register(view, schema.empty_table())
        chosen = ("chunk_id", "source", "path", "chunk_index", "doc_id", "extraction_source", "extraction_key")
        connection.register("chosen", pa.table({name: pa.array([], pa.string()) for name in chosen}))
        statements = connection.extract_statements(database.read_statement("deal"))
        made = [one.query for one in statements if "FROM entity_mention" in one.query or "FROM relation_m" in one.query]
        plans = [connection.execute(f"EXPLAIN {one[one.index('SELECT') :]}").fetchall()[0][1] for one in made]
    assert len(plans) == 2
    assert all("Conditions" in plan and "!=" not in plan for plan in plans)

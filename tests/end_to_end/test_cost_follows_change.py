"""I2, cost follows change, in numbers: one document of many is edited, then moved, then nothing happens."""

import itertools
import sqlite3
from collections import Counter
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any, NamedTuple

import dagster as dg
import duckdb
import pytest

from benchmarks.passages import generate, write_sources
from lightrag_dagster.orchestration.instance import open_instance
from lightrag_dagster.schemas import SOURCE_TABLES
from lightrag_dagster.settings import Settings, load_settings
from lightrag_dagster.spending.ledger import Ledger
from lightrag_dagster.storage.home import Home
from lightrag_dagster.storage.snapshots.generations import Generation
from tests.conftest import pointing_to
from tests.loopback import Loopback
from tests.support import build, published, run

NUMBER_OF_SOURCES = 5
SUMMARISED = 3  # distinct descriptions


class Texts(NamedTuple):
    """What a snapshot pays for, each thing by what makes it another one."""

    chunks: dict[str, int]  # id → questions about it
    summaries: set[Any]  # id, name and descriptions of what is summarised
    vectors: dict[str, dict[str, str]]  # vector table → id → embedding key


@pytest.fixture(scope="module", params=[10, pytest.param(1000, marks=pytest.mark.long)])
def built(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory, _server: Loopback
) -> Iterator[Settings]:
    """So many documents, published, with vectors that are bought. The tests change them one after the other."""
    folder = tmp_path_factory.mktemp("cost")
    write_sources(folder / "sources", request.param, 1, NUMBER_OF_SOURCES)
    with pointing_to(_server) as monkeypatch:
        monkeypatch.chdir(folder)
        settings = load_settings(
            home=folder / "home",
            sources=folder / "sources",
            merging={"summary_min_descriptions": SUMMARISED},
            embedding={"provider": "openai", "dimensions": 8},
        )
        build(settings, graph=True)  # else the first run has the graph left to build
        yield settings


@pytest.fixture(autouse=True)
def _embedder(loopback: Loopback) -> None:
    """Serve the embedder."""


def test_one_edited_document_costs_what_it_changes(built: Settings) -> None:
    texts, spent, made = texts_of(built), spent_in(built), materialisations(built)
    *_, other = generate(published(built).rows["raw_documents"] + 1, 1)
    _some_document(built).write_text(other)

    outcome = run(built)

    now = texts_of(built)
    changed = {name: rows.items() - texts.vectors[name].items() for name, rows in now.vectors.items()}
    gone = {name: texts.vectors[name].keys() - rows.keys() for name, rows in now.vectors.items()}
    known = {key for rows in texts.vectors.values() for key in rows.values()}
    expected = {
        "questions about chunks": sum(now.chunks[one] for one in now.chunks.keys() - texts.chunks.keys()),
        "summaries": len(now.summaries - texts.summaries),
        "texts embedded": len({key for rows in changed.values() for _, key in rows} - known),
    }
    assert spent_in(built) - spent == Counter(expected)
    assert expected["questions about chunks"] == 2  # one chunk, asked about and then gleaned
    assert 0 < expected["summaries"] < 30
    assert 10 < expected["texts embedded"] < 100
    tables = published(built).vectors.tables
    assert {name: entry.upserted for name, entry in tables.items()} == {
        name: len(rows) for name, rows in changed.items()
    }
    assert {name: entry.deleted for name, entry in tables.items()} == {name: len(ids) for name, ids in gone.items()}
    assert outcome.ingested == ["passages-3"]
    assert materialisations(built) - made == Counter(dict.fromkeys(itertools.product(SOURCE_TABLES, ["passages-3"]), 1))


@pytest.mark.long
def test_a_moved_document_costs_nothing(built: Settings) -> None:
    texts, spent, before = texts_of(built), spent_in(built), published(built)
    document = _some_document(built)
    document.rename(document.with_name("moved.txt"))

    build(built, graph=True)

    assert spent_in(built) == spent
    assert texts_of(built) == texts
    assert published(built).sequence == before.sequence + 1
    assert {entry.upserted + entry.deleted for entry in published(built).vectors.tables.values()} == {0}


def test_without_a_change_nothing_runs_and_nothing_is_published(built: Settings) -> None:
    spent, before = spent_in(built), published(built)
    with open_instance(Home(built.home)) as instance:
        runs = instance.get_runs_count()

    outcome = run(built)

    assert (outcome.ingested, outcome.published) == ([], None)
    assert published(built) == before
    assert spent_in(built) == spent
    with open_instance(Home(built.home)) as instance:
        assert instance.get_runs_count() == runs


def _some_document(settings: Settings) -> Path:
    return sorted((settings.sources / "passages-3").rglob("*.txt"))[-1]


def texts_of(settings: Settings) -> Texts:
    """Return what the published snapshot was paid for."""
    generation = Generation(Home(settings.home), published(settings).snapshot_id)
    summaries = set()
    for table, evidence, key, name in (
        ("entities", "entity_evidence", "entity_id", "merged.name"),
        ("relations", "relation_evidence", "relation_id", "merged.src || ' — ' || merged.tgt"),
    ):
        found = duckdb.execute(
            f"SELECT {key}, {name}, list(DISTINCT said.description ORDER BY said.description) AS texts "
            f"FROM read_parquet($merged) AS merged JOIN read_parquet($said) AS said USING ({key}) "
            f"GROUP BY ALL HAVING len(texts) >= {SUMMARISED}",
            {"merged": str(generation.path(f"{table}.parquet")), "said": str(generation.path(f"{evidence}.parquet"))},
        ).fetchall()
        summaries |= {(one, shown, tuple(texts)) for one, shown, texts in found}
    ids = {"entity_vectors": ("entities", "entity_id"), "relation_vectors": ("relations", "relation_id")}
    keys = {name: _pairs(generation, table, key, "embedding_key") for name, (table, key) in ids.items()}
    chunks = {one: one for one in generation.read_table("chunks")["chunk_id"].to_pylist()}
    return Texts(
        chunks=_pairs(generation, "extractions", "chunk_id", "rounds"),
        summaries=summaries,
        vectors=keys | {"chunk_vectors": chunks},
    )


def _pairs(generation: Generation, table: str, key: str, value: str) -> dict[str, Any]:
    rows = generation.read_table(table, [key, value])
    return dict(zip(rows[key].to_pylist(), rows[value].to_pylist(), strict=True))


def spent_in(settings: Settings) -> Counter[str]:
    """Return what was bought in a home so far."""
    home = Home(settings.home)
    bought = Ledger(home.ledger).by_purpose()
    with closing(sqlite3.connect(home.root / "vectors.sqlite")) as connection:
        vectors = connection.execute("SELECT count(*) FROM vectors").fetchone()[0]
    return Counter(
        {
            "questions about chunks": bought["extract"].calls,
            "summaries": bought["summarise"].calls + bought["summarise"].stored,
            "texts embedded": vectors,
        }
    )


def materialisations(settings: Settings) -> Counter[tuple[str, str]]:
    """Return how often each partition of each table was materialised."""
    counts: Counter[tuple[str, str]] = Counter()
    with open_instance(Home(settings.home)) as instance:
        for table in SOURCE_TABLES:
            for record in instance.fetch_materializations(dg.AssetKey(table), limit=1000).records:
                counts[table, str(record.partition_key)] += 1
    return counts

"""A home of an older version: chunks have no context or last page, merged rows no counts of all evidence.

An upgrade costs nothing and loses nothing.
"""

from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
import pytest

from lightrag_dagster import Filters, KnowledgeBase
from lightrag_dagster.indexes.sql import open_tables, published_tables
from lightrag_dagster.pipeline import recipes as recipe_module
from lightrag_dagster.pipeline.pending import pending
from lightrag_dagster.pipeline.plan.plan import make_plan
from lightrag_dagster.pipeline.publish import check_published
from lightrag_dagster.pipeline.recipes import Recipes
from lightrag_dagster.schemas import SOURCE_TABLES
from lightrag_dagster.settings import RoleSettings, Settings, load_settings
from lightrag_dagster.stages.documents.sources import chosen_sources
from lightrag_dagster.storage.home import Home
from lightrag_dagster.storage.snapshots.generations import Generation
from lightrag_dagster.storage.snapshots.snapshots import require_current
from lightrag_dagster.storage.tables.source_tables import SourceTables
from tests.loopback import Loopback
from tests.models.models import offline_answer, role_of
from tests.query.published import ingest, publish_accepted
from tests.support import FLOOD, OFFICE, RIVER, write_source


def build(settings: Settings) -> None:
    for source in chosen_sources(settings, []):
        assert ingest(source, SourceTables(Home(settings.home)), Recipes.of(settings)).accepted


def versions(settings: Settings) -> dict[str, str]:
    tables = SourceTables(Home(settings.home))
    return {table: tables.require(table, "notes").version for table in SOURCE_TABLES}


@pytest.fixture
def of_before(tmp_path: Path, loopback: Loopback, monkeypatch: pytest.MonkeyPatch) -> Settings:
    """A published home with older files of chunks."""
    loopback.chat = offline_answer
    before = load_settings(
        home=tmp_path / "home",
        sources=tmp_path / "sources",
        extraction={"gleaning": 0},
        llm={"provider": "openai", "model": "gpt-4o-mini", "max_retries": 0},
        merging={"summary_min_descriptions": 2},
    )
    write_source(before, "notes", {"river.md": RIVER, "flood.txt": FLOOD})
    write_source(before, "office", {"office.txt": OFFICE})
    with monkeypatch.context() as patched:
        for step in ("layout", "merge"):
            patched.setitem(recipe_module._REVISIONS, step, recipe_module._REVISIONS[step] - 1)
        build(before)
        publish_accepted(before)
    for path in before.home.glob("tables/chunks/*/*.parquet"):
        pq.write_table(pq.read_table(path, partitioning=None).drop_columns(["context", "page_end"]), path)
    for table in ("entities", "relations"):
        for path in before.home.glob(f"generations/*/{table}.parquet"):
            pq.write_table(pq.read_table(path).drop_columns(["chunk_count", "document_count", "capped"]), path)
    (arrays,) = before.home.glob("generations/*/adjacency")
    offsets, values = (np.load(arrays / f"entity_chunks_{part}.npy") for part in ("offsets", "values"))
    np.save(arrays / "entity_chunks_offsets.npy", np.append(offsets[:-1], offsets[-1] - 1))  # a hub was cut
    np.save(arrays / "entity_chunks_values.npy", values[:-1])
    loopback.requests.clear()
    return before


def test_an_older_home_costs_nothing(of_before: Settings, loopback: Loopback) -> None:
    states = pending(of_before).sources
    assert {name: (state.ingest, state.outdated) for name, state in states.items()} == {
        name: ("chunks, code or settings changed", {}) for name in ("notes", "office")
    }
    plan = make_plan(of_before)
    assert [(one.chunks_new, one.problem) for one in plan.sources] == [(0, None), (0, None)]
    assert plan.total.high == 0
    with KnowledgeBase.open(settings=of_before) as knowledge:
        assert knowledge.retrieve("Halden Weir", mode="naive").chunks[0].context is None
    build(of_before)
    publish_accepted(of_before)
    assert not any(role_of(one.body) == "extract" for one in loopback.requests)
    clean = of_before.changed(home=of_before.home.with_name("clean"))
    build(clean)
    assert versions(clean) == versions(of_before)


def test_an_older_snapshot_answers(of_before: Settings) -> None:
    home = Home(of_before.home)
    snapshot = require_current(home)
    with KnowledgeBase.open(settings=of_before) as knowledge:
        for filters in (Filters(), Filters(sources="notes"), Filters(modified_since="1990-01-01")):
            found = knowledge.retrieve("Who maintains the gauge at Halden Weir?", filters=filters)
            assert {one.name for one in found.entities} >= {"Halden Weir", "Marta Lindqvist"}
    with open_tables(published_tables(Generation(home, snapshot.snapshot_id))) as connection:
        rows = connection.execute("SELECT chunk_count, capped FROM entities WHERE mention_count > 0").fetchall()
    assert set(rows) == {(None, None)}
    assert check_published(home) == []


def test_summaries_of_an_older_home_are_kept(of_before: Settings, loopback: Loopback) -> None:
    before = require_current(Home(of_before.home))
    made = Generation(Home(of_before.home), before.snapshot_id).record().summaries
    assert made
    # Another temperature: an answer that is stored would not do.
    now = of_before.changed(llm={"roles": {"summarise": RoleSettings(temperature=0.7)}})
    build(now)
    after = publish_accepted(now)
    assert after.snapshot_id != before.snapshot_id
    assert Generation(Home(now.home), after.snapshot_id).record().summaries == made
    assert not any("messages" in one.body for one in loopback.requests)


def test_a_source_that_cannot_be_listed_is_merged_from_its_older_files(of_before: Settings) -> None:
    snapshot = require_current(Home(of_before.home))
    (of_before.sources / "notes").rename(of_before.sources.parent / "away")
    (office,) = [one for one in chosen_sources(of_before, []) if one.name == "office"]
    write_source(of_before, "office", {"office.txt": f"{OFFICE} Halden Weir was there."})
    ingest(office, SourceTables(Home(of_before.home)), Recipes.of(of_before))
    (of_before.sources.parent / "away").rename(of_before.sources / "notes")
    published = publish_accepted(of_before)
    assert published.snapshot_id != snapshot.snapshot_id
    with KnowledgeBase.open(settings=of_before) as knowledge:
        assert {one.source for one in knowledge.retrieve("Halden Weir", mode="naive").chunks} == {"notes", "office"}

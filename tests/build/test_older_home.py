"""A home whose chunks were written before they had a context or a last page: an upgrade costs and loses nothing."""

from pathlib import Path

import pyarrow.parquet as pq
import pytest

from lightrag_dagster import KnowledgeBase
from lightrag_dagster.build import recipe as recipe_module
from lightrag_dagster.build.pending import pending
from lightrag_dagster.build.plan import make_plan
from lightrag_dagster.build.recipe import Recipes
from lightrag_dagster.schemas import SOURCE_TABLES
from lightrag_dagster.settings import Settings, load_settings
from lightrag_dagster.stages.documents.sources import chosen_sources
from lightrag_dagster.storage.home import Home
from lightrag_dagster.storage.snapshots import current_snapshot
from lightrag_dagster.storage.tables import SourceTables
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
    )
    write_source(before, "notes", {"river.md": RIVER, "flood.txt": FLOOD})
    write_source(before, "office", {"office.txt": OFFICE})
    with monkeypatch.context() as patched:
        patched.setitem(recipe_module._REVISIONS, "layout", recipe_module._REVISIONS["layout"] - 1)
        build(before)
        publish_accepted(before)
    for path in before.home.glob("tables/chunks/*/*.parquet"):
        pq.write_table(pq.read_table(path, partitioning=None).drop_columns(["context", "page_end"]), path)
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


def test_a_source_that_cannot_be_listed_is_merged_from_its_older_files(of_before: Settings) -> None:
    snapshot = current_snapshot(Home(of_before.home))
    assert snapshot is not None
    (of_before.sources / "notes").rename(of_before.sources.parent / "away")
    (office,) = [one for one in chosen_sources(of_before, []) if one.name == "office"]
    write_source(of_before, "office", {"office.txt": f"{OFFICE} Halden Weir was there."})
    ingest(office, SourceTables(Home(of_before.home)), Recipes.of(of_before))
    (of_before.sources.parent / "away").rename(of_before.sources / "notes")
    published = publish_accepted(of_before)
    assert published.snapshot_id != snapshot.snapshot_id
    with KnowledgeBase.open(settings=of_before) as knowledge:
        assert {one.source for one in knowledge.retrieve("Halden Weir", mode="naive").chunks} == {"notes", "office"}

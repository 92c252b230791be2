"""A merge after an edit takes the rows that did not change from the last one, and only while nothing else differs."""

import shutil
from functools import partial
from pathlib import Path

import pyarrow.compute as pc
import pytest

from lightrag_dagster.curation.desk.taking import take
from lightrag_dagster.curation.rules.decisions import Decision
from lightrag_dagster.models.providers import open_chat_model
from lightrag_dagster.pipeline.merge import merge_sources
from lightrag_dagster.pipeline.recipes import Recipes
from lightrag_dagster.schemas import MERGED_TABLES
from lightrag_dagster.settings import Settings, load_settings
from lightrag_dagster.stages.documents.sources import find_sources
from lightrag_dagster.stages.merging import parts
from lightrag_dagster.storage.files import atomic
from lightrag_dagster.storage.home import Home
from lightrag_dagster.storage.manifests import Manifest
from lightrag_dagster.storage.snapshots.generations import MANIFEST, RECORD, Generation, newest_generation
from lightrag_dagster.storage.snapshots.verify import record_files
from lightrag_dagster.storage.tables.source_tables import SourceTables
from lightrag_dagster.testing.building import ingest
from tests.query.published import publish_sources
from tests.support import FLOOD, OFFICE, write_source

MARK = "marked by hand"
SOURCES = {"notes": {"flood.txt": FLOOD}, "office": {"office.txt": OFFICE}}
MORE = SOURCES["notes"] | {"more.txt": "Jonas Feld met Ulla Berg."}


@pytest.fixture(autouse=True)
def _no_merge_is_small(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(parts, "_SMALL_ROWS", -1)


@pytest.fixture(scope="module")
def marked(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a home whose two sources are published; the merged row of *Bergen* is marked."""
    folder = tmp_path_factory.mktemp("marked")
    generation = Generation(Home.of(settings_in(folder)), publish_sources(settings_in(folder), SOURCES).snapshot_id)
    mark(generation)
    record = generation.record()
    made = atomic.hash_rows(generation.path("entities.parquet"), MERGED_TABLES["entities"])
    generation.write_record(RECORD, record.model_copy(update={"tables": record.tables | {"entities": made}}))
    return folder


@pytest.fixture
def settings(marked: Path, tmp_path: Path) -> Settings:
    shutil.copytree(marked, tmp_path, dirs_exist_ok=True)
    return settings_in(tmp_path)


def settings_in(folder: Path) -> Settings:
    return load_settings(home=folder / "home", sources=folder / "sources", llm={"provider": "offline"})


def mark(generation: Generation) -> None:
    """Give *Bergen* another description."""
    path = generation.path("entities.parquet")
    rows = atomic.read_parquet(path)
    changed = [row | {"description": MARK} if row["name"] == "Bergen" else row for row in rows.to_pylist()]
    atomic.write_parquet(path, rows.from_pylist(changed, rows.schema))


def merge(settings: Settings) -> Generation:
    """Ingest what changed, and merge."""
    recipes = Recipes.of(settings)
    for source in find_sources(settings).values():
        assert ingest(source, SourceTables(Home.of(settings)), recipes).accepted
    report = merge_sources(recipes, partial(open_chat_model, settings.llm, Home.of(settings), "summarise"))
    assert report.merged
    return report.generation


def descriptions(generation: Generation) -> dict[str, str]:
    """Return the descriptions of the entities by name."""
    rows = generation.read_table("entities", ["name", "description"]).to_pylist()
    return {row["name"]: row["description"] for row in rows}


def test_a_row_whose_evidence_stays_is_that_of_the_last_merge(settings: Settings) -> None:
    write_source(settings, "notes", MORE)
    found = descriptions(merge(settings))
    assert found.pop("Bergen") == MARK
    assert "Ulla Berg" in found
    assert MARK not in found.values()


@pytest.mark.long
def test_other_rules_make_every_row_again(settings: Settings) -> None:
    other = settings.changed(merging=settings.merging.model_copy(update={"max_chunks": 7}))
    assert MARK not in descriptions(merge(other)).values()


@pytest.mark.long
def test_a_decision_makes_every_row_again(settings: Settings) -> None:
    take(settings, [Decision(action="merge", names=("Priya Nair", "Jonas Feld"))])
    assert MARK not in descriptions(merge(settings)).values()


@pytest.mark.long
def test_without_a_file_of_the_last_merge_every_row_is_made_again(
    settings: Settings, caplog: pytest.LogCaptureFixture
) -> None:
    before = newest_generation(Home.of(settings)).table_files("chunks")[0]
    write_source(settings, "notes", MORE)
    before.unlink()
    with caplog.at_level("INFO"):
        found = descriptions(merge(settings))
    assert "Ulla Berg" in found
    assert MARK not in found.values()
    assert "all rows are merged again" in caplog.text


@pytest.mark.long
def test_a_damaged_row_of_the_last_merge_is_not_kept(settings: Settings, caplog: pytest.LogCaptureFixture) -> None:
    """Its hashes in `files.json` may be those of the damaged file: a purge writes them again."""
    home = Home.of(settings)
    last = newest_generation(home)
    path = last.path("relations.parquet")
    rows = atomic.read_parquet(path)
    at = rows.column_names.index("weight")
    atomic.write_parquet(path, rows.set_column(at, rows.schema.field(at), pc.add(rows["weight"], 1.0)))
    record_files(home, last.read_record(MANIFEST, Manifest), None)
    write_source(settings, "notes", MORE)
    merged = merge(settings)
    assert MARK not in descriptions(merged).values()
    assert "relations.parquet is not as it was merged" in caplog.text
    clean = settings.changed(home=settings.home.parent / "clean")
    assert merged.read_table("relations") == merge(clean).read_table("relations")

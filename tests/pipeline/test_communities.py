"""Communities of the published graph: found once for a snapshot, for the command, SQL and the asset alike."""

import json
import shutil
from pathlib import Path

import dagster as dg
import pytest
from typer.testing import CliRunner

from lightrag_dagster import KnowledgeBase
from lightrag_dagster.assets.downstream import communities as asset
from lightrag_dagster.assets.namespace import Namespace
from lightrag_dagster.cli.app import app
from lightrag_dagster.pipeline.communities import communities
from lightrag_dagster.resources import LightRAG
from lightrag_dagster.settings import Settings, load_settings
from lightrag_dagster.storage.home import Home
from lightrag_dagster.storage.tables.source_tables import ALL_SOURCES, SourceTables
from tests.support import FLOOD, OFFICE, RIVER, build, published, write_source

TEXTS = {"river.md": RIVER, "flood.md": FLOOD, "office.md": OFFICE, "mill.md": "Nils Holm keeps the mill in Voss."}
"""Two parts: no other text has the names of the last one."""


@pytest.fixture(scope="module")
def _built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("built")
    made = load_settings(home=folder / "home", sources=folder / "sources")
    write_source(made, "notes", TEXTS)
    build(made)
    return folder


@pytest.fixture
def settings(_built: Path, tmp_path: Path) -> Settings:
    shutil.copytree(_built, tmp_path, dirs_exist_ok=True)
    return load_settings(home=tmp_path / "home", sources=tmp_path / "sources")


def test_they_are_found_where_nothing_may_be_written_and_again_if_their_file_is_lost(settings: Settings) -> None:
    home = Home.of(settings)
    shutil.rmtree(home.root / "ingesting")
    (home.root / "ingesting").touch()  # so that no lock can be taken
    found, tables = communities(home), SourceTables(home)
    assert found.num_rows
    assert tables.current("communities", ALL_SOURCES) is None
    (home.root / "ingesting").unlink()
    assert communities(home).equals(found)
    (path,) = tables.paths("communities", ALL_SOURCES, tables.require("communities", ALL_SOURCES).version)
    path.unlink()
    assert communities(home).equals(found)
    assert path.exists()


@pytest.mark.long
def test_they_are_found_once_for_a_snapshot(settings: Settings) -> None:
    home = Home.of(settings)
    found, tables = communities(home), SourceTables(home)
    first = tables.require("communities", ALL_SOURCES)
    assert first.inputs == {"knowledge_base": published(settings).snapshot_id}
    assert communities(home).equals(found)
    with KnowledgeBase.open(settings=settings) as knowledge:
        assert knowledge.communities().equals(found)
    more = "Ulla Berg met Ida Wren in Oslo."
    write_source(settings, "notes", TEXTS | {"more.md": more})
    build(settings)
    assert communities(home).num_rows == found.num_rows + 1
    before = ("sql", "select count(*) as n from communities", "--format", "json", "--snapshot")
    told = CliRunner().invoke(app, [*before, first.inputs["knowledge_base"]], env={"LIGHTRAG_HOME": str(settings.home)})
    assert json.loads(told.output) == [{"n": found.num_rows}]
    assert tables.require("communities", ALL_SOURCES).inputs != first.inputs


def test_the_asset_counts_them_by_level(settings: Settings) -> None:
    with dg.DagsterInstance.ephemeral() as instance:
        result = dg.materialize(
            [asset.within(Namespace())], instance=instance, resources={"lightrag": LightRAG(settings)}
        )
    (event,) = result.asset_materializations_for_node("communities")
    stored = SourceTables(Home(settings.home)).require("communities", ALL_SOURCES)
    assert event.metadata["communities/level 0"].value == stored.rows > 0


@pytest.mark.long
def test_command_and_sql_show_them(settings: Settings, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LIGHTRAG_HOME", str(settings.home))
    monkeypatch.setenv("COLUMNS", "120")

    def ask(*arguments: str) -> str:
        result = CliRunner().invoke(app, arguments)
        assert result.exit_code == 0, result.output
        return result.output

    found = communities(Home.of(settings))
    assert f"{found.num_rows} communities; 0 entities without a relation are in none." in ask("communities")
    shown = json.loads(ask("communities", "--json"))
    assert shown["communities"] == found.to_pylist()
    assert "more; --limit prints more" in " ".join(ask("communities", "--limit", "1").split())
    counted = json.loads(ask("sql", "SELECT sum(size)::INT AS n FROM communities WHERE level = 0", "--format", "json"))
    entities = json.loads(ask("sql", "SELECT count(*) AS n FROM entities WHERE degree > 0", "--format", "json"))
    assert counted == entities
    near = json.loads(ask("sql", "SELECT count(*) AS n FROM entity_neighbours", "--format", "json"))
    assert near == json.loads(ask("sql", "SELECT 2 * count(*) AS n FROM relations", "--format", "json"))

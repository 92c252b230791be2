"""Another Dagster asset makes what a source reads."""

from pathlib import Path

import dagster as dg
import duckdb

from lightrag_dagster.assets import INGESTION
from lightrag_dagster.orchestration.definitions import build_definitions
from lightrag_dagster.settings import Settings, load_settings
from lightrag_dagster.storage.home import Home
from lightrag_dagster.storage.tables.source_tables import SourceTables
from tests.support import FLOOD, RIVER


@dg.asset(key=["crawl", "pages"])
def pages(context: dg.AssetExecutionContext, database: dg.ResourceParam[str]) -> None:
    """Two pages in a DuckDB table."""
    with duckdb.connect(database) as connection:
        connection.execute("CREATE OR REPLACE TABLE pages (url TEXT, body TEXT)")
        connection.executemany("INSERT INTO pages VALUES (?, ?)", [["a", RIVER], ["b", FLOOD]])


def crawled(folder: Path, namespace: str = "") -> Settings:
    """Return settings whose source is the table of `pages`."""
    (folder / "sources").mkdir(exist_ok=True)
    rows = {"id": "url", "text": "body", "query": "SELECT * FROM pages"}
    source = {"uri": str(folder / "crawl.duckdb"), "asset": "crawl/pages", "rows": rows}
    return load_settings(
        home=folder / "home", sources=folder / "sources", named_sources={"crawl": source}, namespace=namespace
    )


def test_an_asset_and_what_is_made_of_it_run_together(tmp_path: Path, instance: dg.DagsterInstance) -> None:
    settings = crawled(tmp_path)
    definitions = build_definitions(settings)
    instance.add_dynamic_partitions("source", ["crawl"])
    ours = [asset for asset in definitions.assets or () if isinstance(asset, dg.AssetsDefinition)]
    names = {dg.AssetKey(name) for declared in INGESTION for name in declared.assets}
    result = dg.materialize(
        [pages, *(asset for asset in ours if asset.keys <= names)],
        partition_key="crawl",
        instance=instance,
        resources={**(definitions.resources or {}), "database": str(tmp_path / "crawl.duckdb")},
    )
    assert result.success
    steps = [event.step_key for event in result.all_events if event.is_step_success]
    assert steps.index("crawl__pages") < steps.index("raw_documents")
    rows = SourceTables(Home(settings.home)).read("raw_documents", "crawl").to_pylist()
    assert {row["path"]: row["content"] for row in rows} == {"a": RIVER, "b": FLOOD}


def test_lineage_reaches_the_asset_in_a_namespace_too(tmp_path: Path) -> None:
    for namespace, key in (("", ["raw_documents"]), ("contracts", ["contracts", "raw_documents"])):
        graph = build_definitions(crawled(tmp_path, namespace)).resolve_asset_graph()
        assert graph.get(dg.AssetKey(key)).parent_keys == {dg.AssetKey(["crawl", "pages"])}
    plain = load_settings(home=tmp_path / "home", sources=tmp_path / "sources")
    assert not build_definitions(plain).resolve_asset_graph().get(dg.AssetKey("raw_documents")).parent_keys

"""Another Dagster asset makes what a source reads."""

import json
import threading
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from typing import Any

import dagster as dg
import duckdb
import pytest

from lightrag_dagster.assets import INGESTION
from lightrag_dagster.assets.schedules import nightly
from lightrag_dagster.assets.upstream import look_upstream
from lightrag_dagster.errors import SourceError
from lightrag_dagster.orchestration.definitions import build_definitions
from lightrag_dagster.orchestration.instance import open_instance
from lightrag_dagster.resources import LightRAG
from lightrag_dagster.settings import Settings, load_settings
from lightrag_dagster.stages.documents.connectors.partitions import Partitioned, partitions_of
from lightrag_dagster.stages.documents.listing import list_files
from lightrag_dagster.stages.documents.sources import find_source
from lightrag_dagster.storage.home import Home
from lightrag_dagster.storage.locking import ingesting
from lightrag_dagster.storage.tables.source_tables import SourceTables
from lightrag_dagster.storage.tables.upstream import known_partitions
from tests.support import FLOOD, OFFICE, RIVER


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


DAYS = dg.DailyPartitionsDefinition("2026-01-01", end_date="2026-01-04")
LANGUAGES = dg.StaticPartitionsDefinition(["de", "en"])
KEY = dg.AssetKey(["crawl", "tickets"])


def tickets_of(partitions: dg.PartitionsDefinition[Any], lake: Path) -> dg.AssetsDefinition:
    """Return an asset that writes the tickets of a partition; its code version gives the same data version always."""

    @dg.asset(key=KEY, partitions_def=partitions, code_version="1")
    def tickets(context: dg.AssetExecutionContext, texts: dg.ResourceParam[dict[str, str]]) -> None:
        rows = ({"id": id, "text": text} for id, text in texts.items())
        lake.mkdir(exist_ok=True)
        (lake / f"{context.partition_key.replace('|', '-')}.jsonl").write_text("\n".join(map(json.dumps, rows)))

    return tickets


def reading(folder: Path, place: str) -> Settings:
    """Return settings whose source is the lake of `tickets_of`."""
    (folder / "sources").mkdir()
    source = {"uri": f"{folder}/lake/{place}.jsonl", "asset": "crawl/tickets", "rows": {}}
    return load_settings(home=folder / "home", sources=folder / "sources", named_sources={"tickets": source})


class Project:
    """A project with a partitioned asset and a knowledge base that reads it."""

    def __init__(
        self, settings: Settings, partitions: dg.PartitionsDefinition[Any], instance: dg.DagsterInstance
    ) -> None:
        self.settings, self.lake, self.instance = settings, settings.sources.parent / "lake", instance
        self.upstream = tickets_of(partitions, self.lake)
        self.definitions = build_definitions(settings)
        loadable = dg.Definitions.merge(
            self.definitions, dg.Definitions([self.upstream], resources={"texts": dict[str, str]()})
        )
        dg.Definitions.validate_loadable(loadable)
        instance.add_dynamic_partitions("source", ["tickets"])

    def make(self, partition: str, **texts: str) -> None:
        assert dg.materialize(
            [self.upstream], partition_key=partition, instance=self.instance, resources={"texts": texts}
        ).success

    def read(self) -> dict[str, str]:
        """Materialise `raw_documents` of the source, and return path → text."""
        assets = [one for one in self.definitions.assets or () if isinstance(one, dg.AssetsDefinition)]
        raw = next(one for one in assets if dg.AssetKey("raw_documents") in one.keys)
        resources = self.definitions.resources or {}
        result = dg.materialize(
            [raw, self.upstream],
            selection=[raw],
            partition_key="tickets",
            instance=self.instance,
            resources={**resources, "texts": {}},
        )
        assert result.success
        rows = SourceTables(Home(self.settings.home)).read("raw_documents", "tickets").to_pylist()
        return {row["path"]: row["content"] for row in rows}

    def to_read(self) -> list[str]:
        """Return the partitions that are new, or were made again since they were read."""
        look_upstream(self.instance, self.settings)
        listed = SourceTables(Home(self.settings.home)).current("listed", "tickets")
        before = partitions_of(listed.inputs if listed else {})
        origin = find_source(self.settings, "tickets").origin
        assert isinstance(origin, Partitioned)
        return [key for key, version in partitions_of(origin.state).items() if version != before.get(key)]


@pytest.mark.parametrize(
    ("partitions", "place", "keys"),
    [
        (DAYS, "{partition}", ["2026-01-01", "2026-01-02"]),
        (
            dg.MultiPartitionsDefinition({"language": LANGUAGES, "day": DAYS}),
            "{partition.day}-{partition.language}",
            ["2026-01-01|de", "2026-01-01|en"],
        ),
    ],
)
def test_only_the_partitions_that_were_made_again_are_read(
    tmp_path: Path,
    instance: dg.DagsterInstance,
    partitions: dg.PartitionsDefinition[Any],
    place: str,
    keys: list[str],
) -> None:
    project = Project(reading(tmp_path, place), partitions, instance)
    first, second = keys
    project.make(first, a=RIVER, b=FLOOD)
    project.make(second, a=OFFICE)
    assert project.read() == {f"{first}/a": RIVER, f"{first}/b": FLOOD, f"{second}/a": OFFICE}
    assert project.to_read() == []
    project.make(first, a=FLOOD, b=RIVER)  # the same data version, since the code is the same
    (project.lake / f"{second.replace('|', '-')}.jsonl").unlink()
    assert project.to_read() == [first]
    assert project.read() == {f"{first}/a": FLOOD, f"{first}/b": RIVER, f"{second}/a": OFFICE}


@pytest.mark.parametrize("place", ["{partition.language}-{partition.on}", "{partition.day}-{partition.lang}"])
def test_dimensions_of_other_names_withhold_the_source(
    tmp_path: Path, instance: dg.DagsterInstance, place: str
) -> None:
    both = dg.MultiPartitionsDefinition({"language": LANGUAGES, "day": DAYS})
    project = Project(reading(tmp_path, place), both, instance)
    project.make("2026-01-01|de", a=RIVER)
    look_upstream(instance, project.settings)
    reason = r"names the dimensions .*, and crawl/tickets has day, language; correct them in uri or rows.query"
    with pytest.raises(SourceError, match=reason):
        list(list_files(find_source(project.settings, "tickets")))


def test_a_partition_that_dagster_forgot_is_gone_and_an_asset_that_it_does_not_know_stays(
    tmp_path: Path, instance: dg.DagsterInstance, caplog: pytest.LogCaptureFixture
) -> None:
    settings = reading(tmp_path, "{partition}")
    for day in ("2026-01-01", "2026-01-02"):
        instance.report_runless_asset_event(dg.AssetMaterialization(KEY, partition=day))
    look_upstream(instance, settings)
    home = Home(settings.home)
    assert list(known_partitions(home, "tickets", "crawl/tickets") or ()) == ["2026-01-01", "2026-01-02"]
    assert known_partitions(home, "tickets", "crawl/others") is None
    instance.wipe_assets([KEY])
    instance.report_runless_asset_event(dg.AssetMaterialization(KEY, partition="2026-01-02"))
    look_upstream(instance, settings)
    assert list(known_partitions(home, "tickets", "crawl/tickets") or ()) == ["2026-01-02"]
    assert not caplog.messages
    instance.wipe_assets([KEY])
    look_upstream(instance, settings)
    assert list(known_partitions(home, "tickets", "crawl/tickets") or ()) == ["2026-01-02"]
    (line,) = caplog.messages
    assert line.startswith("source tickets: Dagster knows no materialised partition of crawl/tickets here; those known")


def test_who_ingests_is_not_waited_for(tmp_path: Path, instance: dg.DagsterInstance) -> None:
    settings = reading(tmp_path, "{partition}")
    instance.report_runless_asset_event(dg.AssetMaterialization(KEY, partition="2026-01-01"))
    held = threading.Event(), threading.Event()

    def hold() -> None:
        with ingesting(Home(settings.home), "tickets", 0):
            held[0].set()
            held[1].wait()

    thread = threading.Thread(target=hold)
    thread.start()
    held[0].wait()
    look_upstream(instance, settings)
    assert known_partitions(Home(settings.home), "tickets", "crawl/tickets") is None
    held[1].set()
    thread.join()
    look_upstream(instance, settings, ["another"])
    assert known_partitions(Home(settings.home), "tickets", "crawl/tickets") is None
    look_upstream(instance, settings, ["tickets"])
    assert list(known_partitions(Home(settings.home), "tickets", "crawl/tickets") or ()) == ["2026-01-01"]


def test_the_night_finds_partitions_that_were_made(tmp_path: Path) -> None:
    settings = reading(tmp_path, "{partition}")
    home, night = Home(settings.home), datetime(2026, 1, 2, tzinfo=UTC)
    with open_instance(home) as instance:
        instance.add_dynamic_partitions("source", ["tickets"])
        instance.report_runless_asset_event(dg.AssetMaterialization(KEY, partition="2026-01-01"))
        with dg.build_schedule_context(instance=instance, scheduled_execution_time=night) as context:
            requests = nightly(context, LightRAG(settings))
        assert [one.partition_key for one in requests if isinstance(one, dg.RunRequest)] == ["tickets"]
    assert list(known_partitions(home, "tickets", "crawl/tickets") or ()) == ["2026-01-01"]


@pytest.mark.long
def test_three_years_of_days_by_dagsters_events(tmp_path: Path, instance: dg.DagsterInstance) -> None:
    days = [str(date(2023, 1, 1) + timedelta(day)) for day in range(1095)]
    project = Project(reading(tmp_path, "{partition}"), dg.DailyPartitionsDefinition("2023-01-01"), instance)
    project.lake.mkdir()
    for day in days:
        (project.lake / f"{day}.jsonl").write_text(json.dumps({"id": "a", "text": f"Report of {day}."}))
        instance.report_runless_asset_event(dg.AssetMaterialization(KEY, partition=day))
    before = project.read()
    assert before == {f"{day}/a": f"Report of {day}." for day in days}
    for day in days:
        (project.lake / f"{day}.jsonl").unlink()
    project.make(days[700], a=RIVER)
    project.make("2026-01-01", a=FLOOD)
    assert project.to_read() == [days[700], "2026-01-01"]
    assert project.read() == before | {f"{days[700]}/a": RIVER, "2026-01-01/a": FLOOD}

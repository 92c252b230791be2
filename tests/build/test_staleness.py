"""Prompts, models and settings that change: nothing is made anew by itself, and everything on demand, counted."""

from collections.abc import Callable
from pathlib import Path

import dagster as dg
import pytest
from lightrag_dagster.build.staleness import drifted, first_stale

from assets import INGESTION
from assets.metadata import KEEP_DRIFTED
from lightrag_dagster.build import versions
from lightrag_dagster.build.planning import make_plan
from lightrag_dagster.build.versions import Versions
from lightrag_dagster.errors import ProviderAccessError
from lightrag_dagster.schemas import SOURCE_TABLES
from lightrag_dagster.settings import Settings, load_settings
from lightrag_dagster.stages.documents.listing import list_files, listing_signature
from lightrag_dagster.stages.documents.sources import chosen_sources
from lightrag_dagster.storage.home import Home
from lightrag_dagster.storage.tables import SourceTables
from resources import build_resources
from tests.loopback import Loopback, Reply
from tests.models.models import offline_answer, role_of
from tests.support import FLOOD, OFFICE, RIVER, published, run, write_source

Make = Callable[..., Settings]


@pytest.fixture
def make(tmp_path: Path, loopback: Loopback) -> Make:
    """Return settings of one home, asking the loopback server once a chunk, with what a test changes."""
    loopback.chat = offline_answer
    (tmp_path / "sources").mkdir()
    (tmp_path / "edited").mkdir()
    (tmp_path / "edited" / "entity_types.md").write_text("Types: person, organization, place, thing.")

    def settings(home: str = "home", *, edited: bool = False, size: int = 1200, **changes: object) -> Settings:
        llm = {"provider": "openai", "model": "gpt-4o-mini", "max_concurrency": 1}
        return load_settings(
            home=tmp_path / home,
            sources=tmp_path / "sources",
            prompts=tmp_path / "edited" if edited else None,
            chunking={"size": size, "overlap": 4},
            documents={"accept_deletes": True},
            extraction={"gleaning": 0},
            **({"llm": llm} | changes),
        )

    write_source(settings(), "notes", {"river.md": RIVER, "flood.txt": FLOOD})
    write_source(settings(), "office", {"office.txt": OFFICE})
    return settings


def ingest(settings: Settings, *names: str, backfill: bool = False) -> list[str]:
    """Do for each source what a run, or a backfill, does before it publishes; return the sources that needed it."""
    done = []
    with dg.DagsterInstance.ephemeral() as instance:
        for source in chosen_sources(settings, names):
            tables, signature = SourceTables(Home(settings.home)), listing_signature(list_files(source))
            if first_stale(tables, source.name, signature, Versions.of(settings), backfill=backfill):
                materialise(settings, instance, source.name, {} if backfill else KEEP_DRIFTED)
                done.append(source.name)
    return done


def materialise(settings: Settings, instance: dg.DagsterInstance, source: str, tags: dict[str, str]) -> None:
    instance.add_dynamic_partitions("source", [source])
    resources = build_resources(settings)
    assert dg.materialize(INGESTION, partition_key=source, instance=instance, resources=resources, tags=tags).success


def asked(server: Loopback) -> int:
    """Return how many chunks were asked about since the last time."""
    count = sum(role_of(one.body) == "extract" for one in server.requests if "messages" in one.body)
    server.requests.clear()
    return count


def planned(settings: Settings, *, backfill: bool = False) -> int:
    """Return how many chunks would be asked about."""
    return sum(source.chunks_new for source in make_plan(settings, backfill=backfill).sources)


def drift(settings: Settings) -> dict[str, list[str]]:
    tables = SourceTables(Home(settings.home))
    return {one.name: drifted(tables, one.name, Versions.of(settings)) for one in chosen_sources(settings, [])}


def contents(settings: Settings) -> dict[str, str]:
    """Return a hash of the rows of every table of every source."""
    tables = SourceTables(Home(settings.home))
    sources = [source.name for source in chosen_sources(settings, [])]
    return {f"{source}/{table}": tables.require(table, source).version for source in sources for table in SOURCE_TABLES}


def test_an_edited_prompt_waits_for_a_backfill(make: Make, loopback: Loopback) -> None:
    ingest(make())
    assert asked(loopback) == 3
    first, edited = contents(make()), make(edited=True)
    assert drift(edited) == {"notes": ["extractions"], "office": ["extractions"]}

    assert ingest(edited) == []
    assert asked(loopback) == 0

    # New text alone is asked about; what was renamed, or did not change, keeps the answers that it has.
    write_source(edited, "notes", {"river.md": RIVER, "renamed.txt": FLOOD, "new.txt": "Ulla Berg visited Kessing."})
    assert [planned(edited), planned(edited, backfill=True)] == [1, 4]
    assert ingest(edited) == ["notes"]
    assert asked(loopback) == 1
    assert drift(edited)["notes"] == ["extractions"]

    assert ingest(edited, "notes", backfill=True) == ["notes"]
    assert asked(loopback) == 2
    assert drift(edited) == {"notes": [], "office": ["extractions"]}
    assert ingest(edited, backfill=True) == ["office"]
    assert asked(loopback) == 1
    assert drift(edited) == {"notes": [], "office": []}
    clean = make("clean", edited=True)
    ingest(clean)
    assert contents(edited) == contents(clean)

    # The old prompt with the old files costs nothing, and yields what there was.
    write_source(edited, "notes", {"river.md": RIVER, "flood.txt": FLOOD})
    loopback.requests.clear()
    ingest(make(), backfill=True)
    assert asked(loopback) == 0
    changed = {name for name, version in contents(make()).items() if version != first[name]}
    assert changed <= {"notes/raw_documents"}  # it holds when files were modified


def test_another_chunk_size_leaves_unchanged_text_alone(make: Make, loopback: Loopback) -> None:
    ingest(make())
    small = make(size=24)
    assert drift(small)["notes"] == ["chunks"]
    assert ingest(small) == []
    asked(loopback)

    write_source(small, "notes", {"river.md": f"{RIVER} Ulla Berg was there.", "flood.txt": FLOOD})
    ingest(small)

    rows = SourceTables(Home(small.home)).read("chunks", "notes", columns=["path"])["path"].to_pylist()
    assert rows.count("flood.txt") == 1
    assert asked(loopback) == rows.count("river.md") > 1
    ingest(small, backfill=True)
    assert asked(loopback) > 1
    clean = make("clean", size=24)
    ingest(clean)
    assert contents(small) == contents(clean)


def test_parsing_again_costs_no_call(make: Make, loopback: Loopback, monkeypatch: pytest.MonkeyPatch) -> None:
    ingest(make())
    before = contents(make())
    loopback.requests.clear()
    monkeypatch.setitem(versions._REVISIONS, "mentions", 1000)

    assert ingest(make()) == ["notes", "office"]

    assert loopback.requests == []
    assert contents(make()) == before


def test_backfills_are_automatic_when_a_setting_says_so(make: Make, loopback: Loopback) -> None:
    ingest(make())
    loopback.requests.clear()
    assert ingest(make(edited=True, backfill="automatic")) == ["notes", "office"]
    assert asked(loopback) == 3


def test_an_interrupted_backfill_goes_on_where_it_stopped(make: Make, loopback: Loopback) -> None:
    run(make())
    before = published(make())
    loopback.requests.clear()
    loopback.fault = lambda received: Reply.error(401) if len(loopback.requests) > 1 else None
    with pytest.raises(ProviderAccessError):
        run(make(edited=True), backfill=True)
    assert published(make()) == before
    refused = str(loopback.requests.pop().body)
    loopback.fault = lambda received: None

    ingest(make(edited=True), backfill=True)

    bodies = [str(one.body) for one in loopback.requests]
    assert refused in bodies
    assert len(set(bodies)) == len(bodies) == 3
    assert drift(make(edited=True)) == {"notes": [], "office": []}


def test_dagster_learns_how_a_partition_was_made(make: Make, instance: dg.DagsterInstance) -> None:
    materialise(make(), instance, "notes", {})
    edited = make(edited=True)
    old, new = Versions.of(make()).extractions, Versions.of(edited).extractions
    for files, tags, expected in (
        ({"river.md": RIVER}, KEEP_DRIFTED, old),
        ({"river.md": RIVER, "new.txt": OFFICE}, KEEP_DRIFTED, "mixed"),
        ({"river.md": RIVER, "new.txt": OFFICE}, {}, new),
    ):
        write_source(edited, "notes", dict(files))
        materialise(edited, instance, "notes", tags)
        (record,) = instance.fetch_materializations(dg.AssetKey("extractions"), limit=1).records
        assert record.asset_materialization is not None
        assert (record.asset_materialization.tags or {})["dagster/code_version"] == expected

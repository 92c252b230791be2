"""A source in many shards has the rows, ids and versions that it has in one."""

import os
from collections.abc import Iterator
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from lightrag_dagster.core import progress
from lightrag_dagster.engines.engine import LocalEngine
from lightrag_dagster.errors import SourceError
from lightrag_dagster.pipeline.cross_shard import open_sql
from lightrag_dagster.pipeline.documents import partition_listing, read_source
from lightrag_dagster.pipeline.recipes import Recipes
from lightrag_dagster.pipeline.shards import each_shard
from lightrag_dagster.schemas import SOURCE_TABLES
from lightrag_dagster.settings import Settings, load_settings
from lightrag_dagster.stages.documents.connectors.folder import LocalFolder
from lightrag_dagster.stages.documents.listing import Listing, files_of, list_files, listing_signature
from lightrag_dagster.stages.documents.sources import Source, find_source
from lightrag_dagster.storage.home import Home
from lightrag_dagster.storage.tables import shards
from lightrag_dagster.storage.tables.shards import MOST, Shard
from lightrag_dagster.storage.tables.source_tables import SourceTables
from lightrag_dagster.testing.building import ingest
from tests.loopback import Loopback, Reply
from tests.models.models import offline_answer, role_of
from tests.support import FLOOD, OFFICE, RIVER, write_source

ROWS = shards.ROWS
NOTICE = "All readings belong to the Halden Archive. Nobody may copy them without the consent of Jonas Feld. "
FILES: dict[str, str | bytes] = {
    **{f"station-{number}.txt": f"{NOTICE}Station {number} reports to Marta Lindqvist." for number in range(12)},
    **{f"copies/{number}.txt": (RIVER, FLOOD)[number % 2] for number in range(6)},
    "river.md": RIVER,
    "office.txt": OFFICE,
    "empty.txt": "",
    "broken.txt": b"\x7fELF\x02\x01\x01\x00\x00\x03",
    "picture.png": b"png",
}


@pytest.fixture(autouse=True)
def _rows_a_shard() -> Iterator[None]:
    yield
    shards.ROWS = ROWS


@pytest.fixture
def settings(tmp_path: Path, loopback: Loopback) -> Settings:
    loopback.chat = offline_answer
    return load_settings(
        home=tmp_path / "home",
        sources=tmp_path / "sources",
        chunking={"size": 16, "overlap": 0},
        extraction={"gleaning": 0},
        documents={"accept_deletes": True, "max_failed_share": 1.0},
        llm={"provider": "openai", "model": "gpt-4o-mini", "max_retries": 0},
    )


def build(settings: Settings) -> None:
    """Make the tables of the source; the knowledge base is not merged."""
    ingest(find_source(settings, "notes"), SourceTables(Home(settings.home)), Recipes.of(settings))


def read(settings: Settings) -> None:
    """Make the first table of the source."""
    read_source(find_source(settings, "notes"), SourceTables(Home(settings.home)), Recipes.of(settings))


def versions(settings: Settings) -> dict[str, str]:
    tables = SourceTables(Home(settings.home))
    return {table: tables.require(table, "notes").version for table in SOURCE_TABLES}


def counts(settings: Settings) -> dict[str, int]:
    tables = SourceTables(Home(settings.home))
    return {table: tables.require(table, "notes").shards for table in SOURCE_TABLES}


def rejected(settings: Settings) -> tuple[dict[str, int], ...]:
    parsed = SourceTables(Home(settings.home)).require("parsed", "notes")
    return parsed.sums, parsed.new_sums, parsed.counts["reason"]


def asked(server: Loopback) -> int:
    found = sum(role_of(one.body) == "extract" for one in server.requests if "messages" in one.body)
    server.requests.clear()
    return found


@pytest.mark.parametrize("rows", [3, *(pytest.param(rows, marks=pytest.mark.long) for rows in (1, 8))])
def test_the_number_of_shards_shows_nowhere(settings: Settings, loopback: Loopback, rows: int) -> None:
    write_source(settings, "notes", FILES)
    loopback.chat = lambda body: f"relation<|#|>A<|#|>\n{offline_answer(body)}"
    build(settings)
    whole, bought, lost = versions(settings), asked(loopback), rejected(settings)
    assert set(counts(settings).values()) == {1}
    assert lost[0]["rejected_rows"] == lost[1]["rejected_rows"] == bought

    shards.ROWS = rows
    sharded = settings.changed(home=settings.home.with_name("sharded"))
    build(sharded)
    assert versions(sharded) == whole
    assert asked(loopback) == bought
    assert rejected(sharded) == lost
    assert min(counts(sharded).values()) > 1


@pytest.mark.long
@pytest.mark.parametrize(
    ("before", "after"),
    [(ROWS, 4), *(pytest.param(*rows, marks=pytest.mark.long) for rows in ((8, 4), (4, 1), (1, ROWS)))],
)
def test_an_edit_costs_the_same_when_the_number_of_shards_changes(
    settings: Settings, loopback: Loopback, before: int, after: int
) -> None:
    shards.ROWS = before
    write_source(settings, "notes", FILES)
    build(settings)
    asked(loopback)

    shards.ROWS = after
    edited = {name: text for name, text in FILES.items() if name not in ("river.md", "station-3.txt", "office.txt")}
    edited |= {"renamed.txt": OFFICE, "station-5.txt": "Priya Nair closed Station 5.", "copies/new.txt": FLOOD}
    write_source(settings, "notes", edited)
    build(settings)
    assert asked(loopback) == 1  # a rename, a copy and a deletion cost nothing

    shards.ROWS = ROWS
    clean = settings.changed(home=settings.home.with_name("clean"))
    build(clean)
    assert versions(settings) == versions(clean)


@pytest.mark.long
def test_what_failed_is_told_in_whichever_shard_it_is(settings: Settings, loopback: Loopback) -> None:
    shards.ROWS = 2
    loopback.fault = lambda received: Reply.error(400) if "Station 7 reports" in str(received.body) else None
    write_source(settings, "notes", FILES)
    build(settings)
    tables = SourceTables(Home(settings.home))
    documents, extractions = (tables.require(table, "notes") for table in ("raw_documents", "extractions"))
    assert documents.counts["status"]["failed"] == 1
    assert [reason.split(":")[0] for reason in documents.reasons] == ["broken.txt"]
    assert [reason.split(":")[0] for reason in extractions.reasons] == ["station-7.txt"]


@pytest.mark.parametrize("rows", [ROWS, pytest.param(2, marks=pytest.mark.long)])
def test_documents_are_described_over_all_shards(settings: Settings, rows: int) -> None:
    shards.ROWS = rows
    write_source(settings, "notes", FILES | {"big.md": "A heading. " * 99})
    report = read_source(find_source(settings, "notes"), SourceTables(Home(settings.home)), Recipes.of(settings))
    sizes = {path.name: path.stat().st_size for path in (settings.sources / "notes").rglob("*") if path.is_file()}
    largest = report.documents.largest.to_pylist()
    assert largest[0] == {"path": "big.md", "bytes": sizes["big.md"]}
    assert [one["bytes"] for one in largest] == sorted((one["bytes"] for one in largest), reverse=True)
    assert len(largest) == min(20, len(FILES) + 1)
    assert [one["path"] for one in report.documents.failures.to_pylist()] == ["broken.txt"]
    assert sum(report.documents.media_types.values()) == len(FILES) + 1
    assert list(report.documents.media_types) == sorted(report.documents.media_types)
    assert report.first["path"].to_pylist()


@pytest.mark.long
def test_an_original_may_stand_in_another_shard(settings: Settings) -> None:
    shards.ROWS = 1
    write_source(settings, "notes", FILES)
    read(settings)
    rows = SourceTables(Home(settings.home)).read("raw_documents", "notes").to_pylist()
    by_path, by_id = {row["path"]: row for row in rows}, {row["doc_id"]: row["path"] for row in rows}
    originals = {path: by_id[row["duplicate_of"]] for path, row in by_path.items() if row["duplicate_of"]}
    assert originals == {
        **{f"copies/{number}.txt": f"copies/{number % 2}.txt" for number in range(2, 6)},
        "river.md": "copies/0.txt",
    }
    assert {by_path[path]["status"] for path in originals} == {"duplicate"}


@pytest.mark.long
def test_losses_are_counted_over_all_shards(settings: Settings) -> None:
    shards.ROWS = 1
    careful = settings.changed(documents={"accept_deletes": False, "max_failed_share": 1.0})
    write_source(careful, "notes", FILES)
    read(careful)
    write_source(careful, "notes", {name: text for name, text in FILES.items() if not name.startswith("station")})
    with pytest.raises(SourceError, match="lost 12 of 20 documents"):
        read(careful)


def test_a_listing_gives_each_shard_its_files(settings: Settings, tmp_path: Path) -> None:
    write_source(settings, "notes", FILES)
    source = find_source(settings, "notes")
    listing = Listing(source, tmp_path / "files.parquet")
    assert listing.size == sum(len(text) for text in FILES.values())
    assert listing.signature == listing_signature(list_files(source))
    assert listing.count == len(FILES)
    with open_sql(tmp_path, MOST) as connection:
        rows_of = partition_listing(connection, listing, tmp_path / "dealt")
        dealt = [files_of(rows_of(Shard(number, MOST))) for number in range(MOST)]
    assert sum(map(len, dealt)) == len(FILES)
    assert sorted(file.path for files in dealt for file in files) == sorted(FILES)
    assert {file for files in dealt for file in files} == set(list_files(source))


def test_a_name_that_is_not_utf_8_is_listed(tmp_path: Path) -> None:
    (tmp_path / "notes").mkdir()
    (tmp_path / "notes" / os.fsdecode(b"caf\xe9.txt")).write_text("")
    listing = Listing(Source("notes", LocalFolder(tmp_path / "notes")), tmp_path / "files.parquet")
    assert pq.read_table(listing.path)["path"].to_pylist() == ["caf\\udce9.txt (57eaa2c0)"]


def test_an_empty_source_has_an_empty_listing(tmp_path: Path) -> None:
    (tmp_path / "notes").mkdir()
    listing = Listing(Source("notes", LocalFolder(tmp_path / "notes")), tmp_path / "files.parquet")
    assert (listing.size, listing.count, listing.signature) == (0, 0, "0" * 32)


@pytest.mark.long
def test_nothing_of_an_ingestion_stays_but_its_tables(settings: Settings) -> None:
    shards.ROWS = 2
    write_source(settings, "notes", FILES)
    leftover = Home(settings.home).ingestion_folder("notes")
    leftover.mkdir(parents=True)
    (leftover / "files.arrow").write_bytes(b"of a killed ingestion")
    build(settings)
    assert not leftover.exists()


def test_a_single_worker_is_given_one_shard_after_the_other_and_tells_of_each() -> None:
    told: list[tuple[object, ...]] = []

    def tasks() -> Iterator[int]:
        for number in range(4):
            told.append(("begun", number))
            yield number

    with progress.listening(lambda *report: told.append(report)):
        parts = [Shard(number, 4) for number in range(4)]
        assert each_shard(LocalEngine(), lambda task: task * 10, tasks(), ("chunks", parts, 100)) == [0, 10, 20, 30]
    expected = [[("begun", number), ("chunks", 25 * (number + 1), 100)] for number in range(4)]
    assert told == [one for shard in expected for one in shard]

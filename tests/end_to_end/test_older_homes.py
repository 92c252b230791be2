"""Homes that an older version left: today's asks for nothing that it bought, and publishes the same content."""

import json
import os
import shutil
import sqlite3
import tarfile
from collections.abc import Callable, Mapping
from contextlib import closing
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import lancedb
import numpy as np
import obstore
import pytest
from pydantic import SecretStr

from lightrag_dagster import Filters, KnowledgeBase
from tests.buckets import S3Server
from tests.cli.test_cli import command
from tests.homes import pack
from tests.homes.contents import read_contents
from tests.homes.older import SCHEMA
from tests.homes.provider import asked, serve_homes
from tests.loopback import Loopback
from tests.loopback_batches import Fate, SubmittedBatch
from tests.postgres import PostgresServer

HOMES = Path(pack.__file__).parent

# Columns that 72cdf20 did not have; the table `parsed`, which it did not have either, is not among those compared.
ADDED = {
    "chunks": {"page_end"},
    "entities": {"chunk_count", "document_count", "capped"},
    "relations": {"chunk_count", "document_count", "capped"},
    "relation_evidence": {"src_id", "tgt_id"},
}
# A hash of all columns of a row, which are more now.
CHANGED = {"entities": {"row_fingerprint"}, "relations": {"row_fingerprint"}}
# Numbers of half precision now; a home is as it was until it is built again.
ROUNDED = {f"{name}_vectors": {"vector"} for name in ("chunk", "entity", "relation")}

Vectors = dict[tuple[str, str], list[float]]

NOTHING: dict[str, int] = {}


class OlderHome:
    """An unpacked home, to which the environment points, and what the older version recorded of it."""

    def __init__(self, folder: Path, loopback: Loopback, ask: Callable[..., str]) -> None:
        self.folder = folder
        self.ask = ask
        self.record = json.loads((folder / "record.json").read_text())
        self.steps = list(self.record["steps"])
        self._loopback = loopback
        self._vectors: Vectors = {}
        for path in (path for path in folder.rglob("*_vectors-*.lance") if path.is_dir()):
            table = lancedb.connect(path.parent).open_table(path.stem)
            for tag in table.tags.list():
                self._vectors |= vectors_of(table, tag)

    def follow(self) -> dict[str, int]:
        """Do the next step, check that it asks and publishes what the older version did, and count what it asked."""
        step = self.steps.pop(0)
        self._loopback.requests.clear()
        self.ask(*step["command"])
        assert asked(self._loopback.requests) == step["asked"]
        check_same(read_contents(), step["contents"], rounded=True)
        self._check_vectors()
        return self.counts()

    def _check_vectors(self) -> None:
        """Check that vectors are those that the older version stored, rounded or not."""
        compared = 0
        with KnowledgeBase.open() as knowledge:
            database = lancedb.connect(f"{os.environ['LIGHTRAG_HOME']}/lance")
            for entry in knowledge.manifest.vectors.tables.values():
                now = vectors_of(database.open_table(entry.table), entry.tag)
                both = now.keys() & self._vectors.keys()
                compared += len(both)
                assert {row: now[row] for row in both} == {row: self._vectors[row] for row in both}
        assert compared

    def counts(self) -> dict[str, int]:
        """Count what the provider was asked for since the last step began, by kind."""
        found = asked(self._loopback.requests)
        return {kind: sum(times.values()) for kind, times in found.items() if times}

    def rows(self, sql: str) -> list[tuple[Any, ...]]:
        """Return the rows that SQL finds in the published snapshot."""
        with KnowledgeBase.open() as knowledge:
            return [tuple(row.values()) for row in knowledge.sql(sql).to_pylist()]

    def status(self) -> dict[str, Any]:
        """Return what `status` says."""
        status: dict[str, Any] = json.loads(self.ask("status", "--json"))
        return status


Opening = Callable[[str], OlderHome]
"""A way to unpack a home by its name."""


def vectors_of(table: Any, tag: str) -> Vectors:
    """Return id and fingerprint → vector, rounded, of the rows of a version of a table in LanceDB."""
    table.checkout(tag)
    rows = table.search().to_arrow().to_pylist()
    return {
        (row["id"], row["embedding_fingerprint"]): np.asarray(row["vector"], dtype=np.float16).tolist() for row in rows
    }


def check_same(now: dict[str, Any], then: dict[str, Any], *, rounded: bool = False) -> None:
    """Compare two contents, except for the columns that were added since; vectors unless they are rounded now."""
    new = {name: set(table["columns"]) - set(then["tables"][name]["columns"]) for name, table in now["tables"].items()}
    assert {name: columns for name, columns in new.items() if columns} == ADDED
    changed = CHANGED | (ROUNDED if rounded else {})
    assert _compared(now, changed) == _compared(then, changed)


def _compared(contents: dict[str, Any], changed: Mapping[str, set[str]]) -> dict[str, Any]:
    """Return each fact under a name of its own, so that a failure names those that differ."""
    facts = dict(contents["graph"])
    for name, table in (contents["tables"] | contents["vectors"]).items():
        left_out = ADDED.get(name, set()) | changed.get(name, set())
        facts[f"{name} rows"] = table["rows"]
        facts |= {f"{name}.{column}": value for column, value in table["columns"].items() if column not in left_out}
    return facts


@pytest.fixture
def opening(
    tmp_path: Path, loopback: Loopback, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> Opening:
    """Unpack a home, and let the provider know its batches and answer as before."""

    def ask(*arguments: str) -> str:
        code, output, errors = command(capfd, monkeypatch, *arguments)
        assert (code, errors) == (0, ""), output
        return output

    def opened(name: str) -> OlderHome:
        with tarfile.open(HOMES / f"{name}.tar.xz") as archive:
            archive.extractall(tmp_path, filter="data")
        for variable, place in (("CONFIG", "lightrag.yaml"), ("HOME", "home"), ("SOURCES", "sources")):
            monkeypatch.setenv(f"LIGHTRAG_{variable}", str(tmp_path / place))
        serve_homes(loopback)
        home = OlderHome(tmp_path, loopback, ask)
        for batch in home.record["batches"]:
            loopback.batches.batches[batch["batch_id"]] = SubmittedBatch(**batch | {"fate": Fate(**batch["fate"])})
        return home

    return opened


def test_a_home_on_a_disk(opening: Opening) -> None:
    home = opening("disk")
    check_same(read_contents(), home.record["contents"])
    plan = json.loads(home.ask("plan", "--json"))
    assert {name: plan["total"][name] for name in ("low", "high")} == {"low": 0, "high": 0}
    counts = "SELECT DISTINCT chunk_count IS NULL, document_count IS NULL, capped IS NULL FROM entities"
    assert home.rows(counts) == [(True, True, True)]
    with KnowledgeBase.open() as knowledge:
        for filters in (Filters(), Filters(sources="notes"), Filters(modified_since="1990-01-01")):
            found = knowledge.retrieve("Who maintains the gauge at Halden Weir?", mode="naive", filters=filters)
            assert ("notes", "river.md") in {(one.source, one.path) for one in found.chunks}

    assert home.follow() == NOTHING

    sources = home.status()["sources"]
    assert {name: (one["state"], one["outdated"]) for name, one in sources.items()} == {
        name: ("published", {}) for name in ("notes", "office")
    }
    assert sources["notes"]["documents"] == {"duplicate": 1, "failed": 1, "processed": 2}
    assert home.rows(counts) == [(False, False, False)]
    assert home.rows("SELECT DISTINCT page_end FROM chunks WHERE path = 'reportlab.pdf'") == [(2,)]


@pytest.mark.long
def test_sources_brought_forward_one_by_one_are_as_if_built_today(
    opening: Opening, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    home = opening("disk")
    for source in ("office", "notes"):
        home.ask("run", "--source", source)
        assert home.counts() == NOTHING
        check_same(read_contents(), home.record["contents"], rounded=True)
    brought = read_contents()
    # A home that has nothing but what was paid for.
    (clean := tmp_path / "clean").mkdir()
    for name in ("responses.sqlite", "vectors.sqlite"):
        shutil.copy(tmp_path / "home" / name, clean)
    monkeypatch.setenv("LIGHTRAG_HOME", str(clean))
    home.ask("run")
    assert home.counts() == NOTHING
    assert read_contents() == brought


@pytest.mark.long
def test_a_home_in_a_bucket_with_postgres(
    opening: Opening,
    buckets: S3Server,
    postgres: SecretStr,
    postgres_server: PostgresServer,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    home, uri = opening("bucket"), buckets.new_bucket()
    for path in (home.folder / "bucket").rglob("*"):
        if path.is_file():
            obstore.put(buckets.store(uri), str(path.relative_to(home.folder / "bucket")), path)
    schema = urlsplit(postgres.get_secret_value()).query.rpartition("%3D")[2]
    postgres_server.run(f"DROP SCHEMA {schema}")
    postgres_server.run((home.folder / "postgres.sql").read_text().replace(SCHEMA, schema))
    monkeypatch.setenv("LIGHTRAG_HOME", uri)
    monkeypatch.setenv("LIGHTRAG_DATABASE", postgres.get_secret_value())
    monkeypatch.setenv("LIGHTRAG_CACHE__FOLDER", str(home.folder / "cache"))
    check_same(read_contents(), home.record["contents"])

    assert home.follow() == NOTHING

    assert {one["state"] for one in home.status()["sources"].values()} == {"published"}


@pytest.mark.long
def test_an_open_batch_is_collected(opening: Opening, loopback: Loopback) -> None:
    home = opening("open_batch")
    # The provider was at another port.
    with closing(sqlite3.connect(home.folder / "home" / "batches.sqlite")) as database, database:
        changed = database.execute(
            "UPDATE batches SET document = replace(document, ?, ?)", (home.record["host"], loopback.host)
        )
        assert changed.rowcount == 1
    assert "Batches: 1 open, 0 of 2 requests done" in home.ask("status")
    assert home.status()["sources"]["office"]["state"] == "waits for batches"

    # Not the extractions, which the batch has, and nothing but what they lead to.
    assert home.follow() == {"summaries": 6, "vectors": 13}

    assert [batch.status for batch in loopback.batches.batches.values()] == ["completed"]
    assert home.ask("batch", "list") == "No batches are open.\n"
    assert home.status()["sources"]["office"]["state"] == "published"


@pytest.mark.long
def test_an_unfinished_backfill_is_resumed(opening: Opening) -> None:
    home = opening("unfinished_backfill")
    assert home.status()["sources"]["notes"]["backfill"] == "it was interrupted"

    assert home.follow() == NOTHING

    assert home.status()["sources"]["notes"]["backfill"] == "it was interrupted"
    assert home.status()["outdated"] == ["summaries"]

    # Three of its six questions were answered before it was killed.
    assert home.follow() == {"extractions": 3, "summaries": 2, "vectors": 17}

    notes = home.status()["sources"]["notes"]
    assert (notes["state"], notes["backfill"], notes["outdated"]) == ("published", None, {})


@pytest.mark.long
def test_a_held_rollback_stays_until_it_is_released(opening: Opening) -> None:
    home = opening("held_rollback")
    held = home.status()["snapshot_id"]

    assert home.follow() == NOTHING

    assert (home.status()["snapshot_id"], home.status()["held"]) == (held, True)
    with KnowledgeBase.open() as knowledge:
        assert "Oslo" in knowledge.retrieve("Halden Weir", mode="naive").chunks[0].content

    assert home.follow() == NOTHING

    assert home.status()["held"] is False
    with KnowledgeBase.open() as knowledge:
        assert knowledge.snapshot_id != held
        assert "Paris" in knowledge.retrieve("Halden Weir", mode="naive").chunks[0].content


def test_the_archives_are_those_of_the_packer_and_small() -> None:
    archives = {path.name.removesuffix(".tar.xz"): path.stat().st_size for path in HOMES.glob("*.tar.xz")}
    assert set(archives) == set(pack.HOMES)
    assert sum(archives.values()) < 2_000_000

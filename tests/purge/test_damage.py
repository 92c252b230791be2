"""Purges beside damaged files and without room."""

from io import StringIO
from pathlib import Path

import pytest
from rich.console import Console

from lightrag_dagster.cli.purge import run_purge
from lightrag_dagster.errors import StoreError
from lightrag_dagster.settings import load_settings
from lightrag_dagster.storage.home import Home
from lightrag_dagster.storage.snapshots.verify import find_damage
from tests.support import FLOOD, OFFICE, build, published, write_source


def test_a_purge_without_room_says_so_and_removes_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    settings = load_settings(home=tmp_path / "home", sources=tmp_path / "sources", llm={"provider": "offline"})
    write_source(settings, "notes", {"flood.txt": FLOOD, "office.txt": OFFICE})
    build(settings)
    monkeypatch.setenv("LIGHTRAG_HOME", str(settings.home))
    monkeypatch.setenv("LIGHTRAG_SOURCES", str(settings.sources))
    monkeypatch.setattr("lightrag_dagster.storage.duckdb.SPILLING_GIGABYTES", 0.000_001)
    with pytest.raises(StoreError, match="make room, purge again"):
        run_purge(Console(file=StringIO()), [], yes=True)
    monkeypatch.undo()
    monkeypatch.setenv("LIGHTRAG_HOME", str(settings.home))
    monkeypatch.setenv("LIGHTRAG_SOURCES", str(settings.sources))
    run_purge(Console(file=(said := StringIO()), width=1000), [], yes=True)
    assert f"not reached: runs in Dagster; {settings.home / 'dagster'} has none" in said.getvalue()


@pytest.mark.long
def test_a_file_that_was_damaged_before_is_damaged_after(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    settings = load_settings(
        home=tmp_path / "home",
        sources=tmp_path / "sources",
        llm={"provider": "offline"},
        documents={"accept_deletes": True, "max_deleted_share": 1.0},
    )
    write_source(settings, "notes", {"flood.txt": FLOOD, "office.txt": OFFICE})
    build(settings)
    write_source(settings, "notes", {"office.txt": OFFICE})
    build(settings)
    home, snapshot = Home.of(settings), published(settings).snapshot_id
    file = home.generation(snapshot) / "entities.parquet"
    content = bytearray(file.read_bytes())
    content[len(content) // 2] ^= 1
    file.write_bytes(content)
    monkeypatch.setenv("LIGHTRAG_HOME", str(settings.home))
    monkeypatch.setenv("LIGHTRAG_SOURCES", str(settings.sources))
    run_purge(Console(file=StringIO()), ["notes/flood.txt"], yes=True)
    assert [one.path for one in find_damage(home, snapshot, verify=True)] == [file]

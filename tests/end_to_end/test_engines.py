"""Wherever the work is done, the same sources give the same knowledge base."""

from pathlib import Path
from typing import Any

import pytest

from lightrag_dagster.engines.processes import ProcessEngine
from lightrag_dagster.indexes import embedding_batches
from lightrag_dagster.settings import load_settings
from lightrag_dagster.stages.merging import buckets
from lightrag_dagster.storage import shards
from tests.support import FLOOD, OFFICE, RIVER, build, published, snapshot_contents, write_source


def test_processes_build_what_one_process_builds(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    local = load_settings(home=tmp_path / "local", sources=tmp_path / "sources")
    write_source(local, "notes", {"river.md": RIVER, "flood.md": FLOOD, "office.md": OFFICE})
    write_source(local, "office", {"copy.md": FLOOD})
    build(local)

    # So that there is work for several.
    monkeypatch.setattr(shards, "ROWS", 1)
    monkeypatch.setattr(embedding_batches, "_TEXTS_A_WORKER", 4)
    monkeypatch.setattr(buckets, "ROWS_PER_BUCKET", 5)
    sizes, apply = dict[str, int](), ProcessEngine.map

    def counted(engine: ProcessEngine, function: Any, items: Any) -> Any:
        results = apply(engine, function, items)
        name = getattr(function, "func", function).__name__
        sizes[name] = max(sizes.get(name, 0), len(results))
        return results

    monkeypatch.setattr(ProcessEngine, "map", counted)
    processes = local.changed(home=tmp_path / "processes", engine="processes")
    build(processes)

    assert {name for name, size in sizes.items() if size > 1} >= {
        *("read_shard", "chunk_shard", "extract_in_worker", "parse_shard"),
        *("_embed_rows", "deal", "finish", "group_entities"),
    }
    assert published(processes).snapshot_id == published(local).snapshot_id
    assert snapshot_contents(processes) == snapshot_contents(local)

import os
from pathlib import Path

import duckdb
import pytest

from lightrag_dagster.errors import StoreError
from lightrag_dagster.stages.merging.database import open_database, readable


@pytest.mark.parametrize(
    ("processors", "workers", "threads", "memory"),
    [(8, 1, 8, "1.8 GiB"), (8, 3, 2, "638.9 MiB"), (2, 8, 1, "476.8 MiB"), (None, 1, 1, "1.8 GiB")],
    ids=["alone", "three workers", "more workers than processors", "processors that are not known"],
)
def test_workers_share_processors_and_memory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, processors: int | None, workers: int, threads: int, memory: str
) -> None:
    monkeypatch.setattr(os, "cpu_count", lambda: processors)
    with open_database(tmp_path, {}, workers) as connection:
        found = connection.execute("SELECT current_setting('threads'), current_setting('memory_limit')").fetchone()
    assert found == (threads, memory)


def test_the_next_step_is_named() -> None:
    with pytest.raises(StoreError, match="failed: no 3 MiB; run again, with more disk or memory"), readable([]):
        raise duckdb.OutOfMemoryException("no 3 MiB")

"""A snapshot of a version before those in tests/homes: chunks have no context, and arrays leave out a part of a hub."""

import numpy as np
import pyarrow.parquet as pq
import pytest

from lightrag_dagster import Filters, KnowledgeBase
from lightrag_dagster.pipeline.publish import check_published
from lightrag_dagster.settings import Settings
from lightrag_dagster.storage.home import Home
from tests.support import FLOOD, OFFICE, RIVER, build, write_source


@pytest.mark.long
def test_an_older_snapshot_answers(settings: Settings) -> None:
    write_source(settings, "notes", {"river.md": RIVER, "flood.txt": FLOOD})
    write_source(settings, "office", {"office.txt": OFFICE})
    build(settings)
    for path in settings.home.glob("tables/chunks/*/*.parquet"):
        pq.write_table(pq.read_table(path, partitioning=None).drop_columns(["context", "page_end"]), path)
    for table in ("entities", "relations"):
        for path in settings.home.glob(f"generations/*/{table}.parquet"):
            pq.write_table(pq.read_table(path).drop_columns(["chunk_count", "document_count", "capped"]), path)
    (arrays,) = settings.home.glob("generations/*/adjacency")
    offsets, values = (np.load(arrays / f"entity_chunks_{part}.npy") for part in ("offsets", "values"))
    np.save(arrays / "entity_chunks_offsets.npy", np.append(offsets[:-1], offsets[-1] - 1))
    np.save(arrays / "entity_chunks_values.npy", values[:-1])

    with KnowledgeBase.open(settings=settings) as knowledge:
        for filters in (Filters(), Filters(sources="notes"), Filters(modified_since="1990-01-01")):
            found = knowledge.retrieve("Who maintains the gauge at Halden Weir?", filters=filters)
            assert {one.name for one in found.entities} >= {"Halden Weir", "Marta Lindqvist"}
        assert knowledge.retrieve("Halden Weir", mode="naive").chunks[0].context is None
    assert check_published(Home(settings.home)) == []

"""What one shard of a source needs of another."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq

from lightrag_dagster.core.statements import read_sql
from lightrag_dagster.pipeline.cross_shard import open_sql, partition
from lightrag_dagster.pipeline.extractions import PlaceFiles, answering, partition_places
from lightrag_dagster.pipeline.mentions import PASSAGES
from lightrag_dagster.schemas import CHUNKS, EXTRACTIONS
from lightrag_dagster.storage.duckdb import view_files
from lightrag_dagster.storage.tables.shards import Shard
from tests.storage.corpus import rows

FIRST, SECOND = Shard(0, 2), Shard(1, 2)
SCHEMAS = {"chunks": CHUNKS, "extractions": EXTRACTIONS}


def stored(folder: Path, table: str, *records: Mapping[str, Any]) -> list[Path]:
    path = folder / f"{table}.parquet"
    pq.write_table(rows(SCHEMAS[table], [{"source": "s", **record} for record in records]), path)
    return [path]


def places(chunk: str, *paths: str) -> Sequence[Mapping[str, Any]]:
    return [{"chunk_id": chunk, "path": path, "chunk_index": 2, "content": "text"} for path in paths]


def test_every_place_of_a_new_chunk_goes_to_its_shard_and_the_first_of_a_known_one_without_text(tmp_path: Path) -> None:
    positions = [*places("chunk-0000", "b.md", "a.md", "c.md"), *places("chunk-ffff", "b.md", "a.md")]
    found = stored(tmp_path, "chunks", *positions)
    known = stored(tmp_path, "extractions", {"chunk_id": "chunk-0000", "status": "ok"})
    with open_sql(tmp_path, 2) as connection:
        partitioned = partition_places(
            connection, PlaceFiles(found, [], known), answering(["transient"], None), tmp_path / "places"
        )
    columns = ["path", "chunk_index", "content"]
    assert partitioned(FIRST).select(columns).to_pylist() == [{"path": "a.md", "chunk_index": 0, "content": ""}]
    new = partitioned(SECOND).select(columns).sort_by("path").to_pylist()
    assert new == [{"path": path, "chunk_index": 2, "content": "text"} for path in ("a.md", "b.md")]


def test_the_texts_of_chunks_go_to_the_shards_that_parse_their_answers(tmp_path: Path) -> None:
    """Of those alone whose answers were not parsed before."""
    chunks = [*places("chunk-0000", "a.md"), *places("chunk-ffff", "b.md", "a.md"), *places("chunk-fffe", "c.md")]
    answer = {"extraction_key": "k", "status": "ok"}
    answers = {
        "answer": [("chunk-0000", ["one", "two"]), ("chunk-ffff", ["new"]), ("chunk-fffe", ["first"])],
        "earlier": [("chunk-0000", ["one", "two"]), ("chunk-ffff", ["old"])],
    }
    with open_sql(tmp_path, 2) as connection:
        view_files(connection, "chunk", stored(tmp_path, "chunks", *chunks))
        for view, rows in answers.items():
            (tmp_path / view).mkdir()
            made = [answer | {"chunk_id": chunk, "responses": responses} for chunk, responses in rows]
            view_files(connection, view, stored(tmp_path / view, "extractions", *made))
        partitioned = partition(
            connection, read_sql("lightrag_dagster.pipeline", "sql/passages"), tmp_path / "passages", PASSAGES
        )
    assert partitioned(FIRST).num_rows == 0
    assert sorted(partitioned(SECOND)["chunk_id"].to_pylist()) == ["chunk-fffe", "chunk-ffff", "chunk-ffff"]
    assert set(partitioned(SECOND)["content"].to_pylist()) == {"text"}

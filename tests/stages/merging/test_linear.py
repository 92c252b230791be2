"""The work of a merge grows with its mentions, not with the number of its parts."""

import json
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from lightrag_dagster import schemas
from lightrag_dagster.stages.merging import database
from lightrag_dagster.stages.merging.inputs import MergeInput
from lightrag_dagster.storage.duckdb import view_files
from lightrag_dagster.storage.snapshots.scratch import SharedFolder
from tests.stages.merging.tables import Row, Summariser, chunk, entity, extraction, merged_in, relation, write
from tests.stages.merging.test_facts import fact


@dataclass(frozen=True)
class Counting(SharedFolder):
    """A shared folder that keeps the rows of the files which each step reads in it."""

    read: list[int] = field(default_factory=list)

    @contextmanager
    def step(self, reads: Sequence[Path]) -> Iterator[None]:
        self.read.append(sum(pq.read_metadata(path).num_rows for path in reads))
        yield


def many(folder: Path) -> list[MergeInput]:
    """Write 400 chunks, each with its own names and facts, some of all, and a chunk of two documents in ten."""
    chunks, entities, relations, facts = list[Row](), list[Row](), list[Row](), list[Row]()
    for number in range(400):
        source, where = "ab"[number % 2], f"c{number}"
        chunks += [chunk(source, f"{number // 5}.txt", number % 5, where)]
        chunks += [chunk("b", f"copy {number}.txt", 0, where)] if number % 10 == 0 else []
        names = [f"Name {number} {other}" for other in range(3)] + [f"Name {number % 7}"]
        entities += [entity(source, where, other, name, "thing", where) for other, name in enumerate(names)]
        pairs = [(names[0], names[1]), (names[1], f"Only related {number}"), (names[2], names[3])]
        relations += [relation(source, where, index, *pair, "k", where) for index, pair in enumerate(pairs)]
        facts += [fact(source, where, index, names[index], "knows", names[index - 1]) for index in range(3)]
    readings = [extraction(row["source"], row["chunk_id"], "r") | {"pass": "offices"} for row in facts[::3]]
    return write(folder, chunks, entities, relations, readings=readings, facts=facts)


@pytest.mark.long
def test_more_parts_read_hardly_more_rows(tmp_path: Path) -> None:
    inputs, rows, tables = many(tmp_path), [], []
    for bits in (1, 4, 7):
        scratch = Counting(tmp_path / str(bits))
        scratch.folder.mkdir()
        tables.append(merged_in(scratch, inputs, Summariser(), bits=bits))
        rows.append(sum(scratch.read))
    assert tables[0] == tables[1] == tables[2]
    assert tables[0].entities.num_rows == 7 + 400 * 4
    assert rows[2] < 1.5 * rows[0], rows


def test_of_chunks_in_order_only_those_near_the_mentions_are_read(tmp_path: Path) -> None:
    """DuckDB skips the groups of rows that hold no chunk of the span."""
    ids = [f"chunk-{number:04}" for number in range(1000)]
    rows = {"extraction_source": ["a"] * 1000 + ["b"] * 1000, "chunk_id": ids * 2}
    file = tmp_path / "chosen.parquet"
    pq.write_table(pa.table(rows), file, row_group_size=100)
    with database.open_database(tmp_path, {}) as connection:
        for view in ("all_chosen", "all_citations"):
            view_files(connection, view, [file])
        connection.register("relation_mention", schemas.RELATION_MENTIONS.empty_table())
        connection.register("entity_mention", pa.table({"source": ["b", "b"], "chunk_id": [ids[120], ids[250]]}))
        database.run(connection, "span")
        for view in ("chosen", "citation"):
            assert database.count(connection, f"SELECT count(*) FROM {view}") == 131
            told = json.loads(connection.execute(f"EXPLAIN (ANALYZE, FORMAT json) FROM {view}").fetchall()[0][1])[
                "query"
            ]
            assert (told["total_row_groups_scanned"], told["total_row_groups_to_scan"]) == (2, 20)

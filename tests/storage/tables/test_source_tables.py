import pickle
from pathlib import Path

import pyarrow as pa
import pytest
from pydantic import SecretStr

from lightrag_dagster.errors import StoreError
from lightrag_dagster.schemas import CHUNKS
from lightrag_dagster.storage.home import Home
from lightrag_dagster.storage.tables.source_tables import SourceTables
from lightrag_dagster.storage.versions import TableVersion
from tests.storage.corpus import rows


@pytest.fixture
def tables(tmp_path: Path) -> SourceTables:
    return SourceTables(Home(tmp_path))


def chunks(*places: tuple[str, int], text: str = "x") -> pa.Table:
    return rows(
        CHUNKS,
        [
            {"source": "s", "doc_id": f"doc-{path}", "path": path, "chunk_index": index, "content": text}
            for path, index in places
        ],
    )


def write(tables: SourceTables, table: pa.Table, recipe: str = "code", **inputs: str) -> TableVersion:
    return tables.write("chunks", "s", table, inputs=inputs, recipe=recipe)


def test_rows_come_back_sorted(tables: SourceTables) -> None:
    version = write(tables, chunks(("b", 0), ("a", 1), ("a", 0)), raw_documents="v1")
    assert version.rows == 3
    assert version.inputs == {"raw_documents": "v1"}
    found = tables.read("chunks", "s")
    assert list(zip(found["path"].to_pylist(), found["chunk_index"].to_pylist(), strict=True)) == [
        ("a", 0),
        ("a", 1),
        ("b", 0),
    ]
    assert found.schema.equals(CHUNKS)
    assert tables.current("chunks", "s") == tables.require("chunks", "s") == version


def test_a_record_that_is_damaged_or_cannot_be_read_is_named(tables: SourceTables) -> None:
    write(tables, chunks(("a", 0)))
    record = tables.home.source_table("chunks", "s") / "current.json"
    record.write_text("{")
    with pytest.raises(StoreError, match=r"current\.json is damaged; delete it"):
        tables.current("chunks", "s")
    record.unlink()
    record.mkdir()
    with pytest.raises(StoreError, match=r"current\.json cannot be read: Is a directory; let this user"):
        tables.current("chunks", "s")


def test_equal_rows_are_one_version_and_one_file(tables: SourceTables) -> None:
    first = write(tables, chunks(("a", 0), ("b", 0)))
    path = tables.paths("chunks", "s", first.version)[0]
    before = path.stat()
    second = write(tables, chunks(("b", 0), ("a", 0)), recipe="other", raw_documents="v2")
    assert second.version == first.version
    assert path.stat() == before
    current = tables.current("chunks", "s")
    assert current is not None
    assert (current.recipe, current.inputs) == ("other", {"raw_documents": "v2"})


def test_an_old_version_stays(tables: SourceTables) -> None:
    first = write(tables, chunks(("a", 0)))
    second = write(tables, chunks(("a", 0), text="y"))
    assert second.version != first.version
    assert tables.read("chunks", "s", first.version)["content"].to_pylist() == ["x"]
    assert tables.read("chunks", "s")["content"].to_pylist() == ["y"]
    assert tables.read("chunks", "s", columns=["path"]).column_names == ["path"]


def test_sources_are_apart(tables: SourceTables) -> None:
    write(tables, chunks(("a", 0)))
    assert tables.current("chunks", "t") is None
    tables.write("chunks", "t/u", chunks(("z", 0)), inputs={}, recipe="code")
    assert tables.read("chunks", "s")["path"].to_pylist() == ["a"]
    assert tables.read("chunks", "t/u")["path"].to_pylist() == ["z"]


def test_another_schema_is_refused(tables: SourceTables) -> None:
    with pytest.raises(StoreError, match="rows for chunks have another schema"):
        write(tables, chunks(("a", 0)).drop_columns(["page"]))
    assert tables.current("chunks", "s") is None


def test_a_table_that_was_never_written(tables: SourceTables) -> None:
    with pytest.raises(StoreError, match="source 's' has no chunks yet; materialise chunks for it first"):
        tables.read("chunks", "s")
    with pytest.raises(StoreError, match=r"nothing\.parquet is missing"):
        tables.read("chunks", "s", "nothing")


@pytest.mark.parametrize("content", ["", "{", "[]", '{"table": "chunks"}'])
def test_a_damaged_pointer_is_named(tables: SourceTables, tmp_path: Path, content: str) -> None:
    write(tables, chunks(("a", 0)))
    (tmp_path / "tables" / "chunks" / "s" / "current.json").write_text(content)
    with pytest.raises(StoreError, match=r"current\.json is damaged; delete it and run again"):
        tables.current("chunks", "s")


def test_rows_of_other_recipes_are_counted() -> None:
    version = TableVersion(
        table="chunks",
        source="s",
        version="v",
        rows=6,
        inputs={},
        recipe="code",
        counts={"recipe": {"today": 1, "older": 2, "oldest": 3}, "status": {"older": 9}},
    )
    assert [version.outdated(one) for one in ("today", "older", "none")] == [5, 4, 6]
    assert version.model_copy(update={"counts": {}}).outdated("today") == 0


def test_a_worker_gets_tables_without_the_database(tmp_path: Path) -> None:
    home = Home(tmp_path, database=SecretStr("postgresql://user:secret@localhost/a"))
    sent = pickle.dumps(SourceTables(home, candidate=True))
    assert b"secret" not in sent
    received = pickle.loads(sent)
    assert (received.home, received.candidate) == (Home(tmp_path), True)

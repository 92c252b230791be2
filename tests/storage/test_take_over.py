"""Tables of sources that had a made-up column, on a disk and in a bucket."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pyarrow as pa
import pytest

from lightrag_dagster import schemas
from lightrag_dagster.errors import StoreError
from lightrag_dagster.schemas import CHUNKS
from lightrag_dagster.storage.files import atomic
from lightrag_dagster.storage.home import Home
from lightrag_dagster.storage.home_format import refresh
from lightrag_dagster.storage.layout import layout
from lightrag_dagster.storage.locking import ingesting
from lightrag_dagster.storage.tables import source_tables
from lightrag_dagster.storage.tables.acceptance import accepted
from lightrag_dagster.storage.tables.source_tables import SourceTables
from lightrag_dagster.storage.take_over import take_over
from lightrag_dagster.storage.versions import Accepted

MOODY = CHUNKS.remove(CHUNKS.get_field_index("page_end")).append(pa.field("mood", pa.string()))


@pytest.fixture(params=["disk", "bucket"])
def machines(request: pytest.FixtureRequest, tmp_path: Path) -> tuple[Home, Home]:
    """An empty home, as two machines see it."""
    if request.param == "disk":
        return Home(tmp_path / "home"), Home(tmp_path / "home")
    uri, database = request.getfixturevalue("buckets").new_bucket(), request.getfixturevalue("postgres")
    return Home(tmp_path / "one" / "0", database, uri, 1e9), Home(tmp_path / "other" / "0", database, uri, 1e9)


@contextmanager
def another_layout(monkeypatch: pytest.MonkeyPatch, columns: pa.Schema = MOODY) -> Iterator[None]:
    """Let chunks have other columns: a mood, and no last page."""
    with monkeypatch.context() as patched:
        for tables in (schemas.SOURCE_TABLES, source_tables._SCHEMAS):
            patched.setitem(tables, "chunks", columns)
        layout.cache_clear()
        yield
    layout.cache_clear()


def chunks(*ids: str) -> pa.Table:
    rows = [
        {field.name: one if pa.types.is_string(field.type) else 1 for field in MOODY} | {"chunk_id": f"chunk-{one}"}
        for one in ids
    ]
    return pa.Table.from_pylist(rows, MOODY)


def test_rows_and_what_was_accepted_stay(machines: tuple[Home, Home], monkeypatch: pytest.MonkeyPatch) -> None:
    home, other = machines
    tables = SourceTables(home)
    with another_layout(monkeypatch):
        for ids in (["a"], ["a", "b"]):
            version = tables.write("chunks", "notes", chunks(*ids), inputs={}, recipe="code")
            if len(ids) == 1:
                record = Accepted(source="notes", tables={"chunks": version.version})
                with ingesting(home, "notes", 0):
                    atomic.write_text(home.accepted("notes"), record.model_dump_json())
    with pytest.raises(StoreError, match="has the layout of another version of this package"):
        refresh(home)

    assert take_over(other, 0) == [], "there were no snapshots"

    refresh(home)
    current, kept = tables.require("chunks", "notes"), accepted(home, "notes")
    assert kept is not None
    assert current.version != version.version
    assert (current.rows, current.recipe) == (2, "code")
    assert kept.tables.keys() == schemas.SOURCE_TABLES.keys()
    for name, ids in ((current.version, ["chunk-a", "chunk-b"]), (kept.tables["chunks"], ["chunk-a"])):
        rows = tables.read("chunks", "notes", name)
        assert rows.schema.equals(CHUNKS)
        assert rows["chunk_id"].to_pylist() == ids
        assert rows["page_end"].null_count == len(ids)
        assert rows["content"].to_pylist() == [one.removeprefix("chunk-") for one in ids]
    assert tables.read("parsed", "notes", kept.tables["parsed"]).num_rows == 0


def test_a_table_of_another_type_is_removed_to_be_made_again(
    machines: tuple[Home, Home], monkeypatch: pytest.MonkeyPatch
) -> None:
    home, other = machines
    tables, place = SourceTables(home), MOODY.get_field_index("tokens")
    rows = chunks("a").set_column(place, "tokens", pa.array(["some"]))
    with another_layout(monkeypatch, rows.schema):
        version = tables.write("chunks", "notes", rows, inputs={}, recipe="code").version
    take_over(other, 0)
    refresh(home)
    assert tables.current("chunks", "notes") is None
    assert not SourceTables(other).has("chunks", "notes", version)

import errno
import os
import re
import stat
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from lightrag_dagster.errors import StoreError
from lightrag_dagster.storage.files import atomic
from tests.support import without_rights

ROWS = pa.table({"a": [1, 2], "b": ["x", "y\n"]})


def test_a_file_is_replaced_whole(tmp_path: Path) -> None:
    path = tmp_path / "new" / "file.txt"
    atomic.write_text(path, "one é")
    atomic.write_text(path, "two")
    assert path.read_text(encoding="utf-8") == "two"
    assert [entry.name for entry in path.parent.iterdir()] == ["file.txt"]


def test_a_file_has_the_mode_that_the_umask_says(tmp_path: Path) -> None:
    before = os.umask(0o027)
    try:
        atomic.write_text(tmp_path / "new" / "file.txt", "text")
    finally:
        os.umask(before)
    modes = [stat.S_IMODE((tmp_path / name).stat().st_mode) for name in ("new", "new/file.txt")]
    assert modes == [0o750, 0o640]


def test_a_file_is_flushed_before_it_is_named_and_then_its_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path, flushed = tmp_path / "file.txt", []

    def note(descriptor: int) -> None:
        flushed.append((os.fstat(descriptor).st_ino, path.exists()))

    monkeypatch.setattr(os, "fsync", note)
    atomic.write_text(path, "text")
    assert flushed == [(path.stat().st_ino, False), (tmp_path.stat().st_ino, True)]


def test_a_block_that_fails_leaves_the_old_file(tmp_path: Path) -> None:
    path = tmp_path / "file.txt"
    atomic.write_text(path, "old")

    def fail(temporary: Path) -> None:
        temporary.write_text("half")
        raise KeyError("x")

    with pytest.raises(KeyError), atomic.replacing(path) as temporary:
        fail(temporary)
    assert path.read_text() == "old"
    assert [entry.name for entry in tmp_path.iterdir()] == ["file.txt"]


def test_a_reader_keeps_the_file_it_opened(tmp_path: Path) -> None:
    path = tmp_path / "file.txt"
    atomic.write_text(path, "old")
    with path.open() as reader:
        atomic.write_text(path, "new")
        assert reader.read() == "old"


def test_a_folder_that_is_a_file(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(StoreError, match=r"cannot write .*file/x: .*; nothing was changed") as refused:
        atomic.write_text(tmp_path / "file" / "x", "text")
    assert "\n" not in str(refused.value)


def test_equal_rows_are_equal_bytes(tmp_path: Path) -> None:
    atomic.write_parquet(tmp_path / "a.parquet", ROWS)
    atomic.write_parquet(tmp_path / "b.parquet", pa.concat_tables([ROWS.slice(0, 1), ROWS.slice(1)]))
    assert (tmp_path / "a.parquet").read_bytes() == (tmp_path / "b.parquet").read_bytes()
    assert atomic.read_parquet(tmp_path / "a.parquet") == ROWS
    assert atomic.read_parquet(tmp_path / "a.parquet", ["b"]).column_names == ["b"]
    assert atomic.count_rows(tmp_path / "a.parquet") == 2


def test_a_folder_name_adds_no_column(tmp_path: Path) -> None:
    atomic.write_parquet(tmp_path / "year=2026" / "a.parquet", ROWS)
    assert atomic.read_parquet(tmp_path / "year=2026" / "a.parquet").column_names == ["a", "b"]


@pytest.mark.parametrize("content", [b"", b"PAR1", b"PAR1" + b"x" * 100 + b"PAR1"])
def test_a_damaged_file_is_named(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "a.parquet").write_bytes(content)
    with pytest.raises(StoreError, match=r"a\.parquet is damaged; .*; delete it and run again"):
        atomic.read_parquet(tmp_path / "a.parquet")


def test_a_file_that_the_system_does_not_read_may_be_whole(tmp_path: Path) -> None:
    (tmp_path / "a.parquet").symlink_to("a.parquet")
    with pytest.raises(StoreError, match=r"a\.parquet cannot be read: [^;]*; let this user read it[^;]*$"):
        atomic.read_parquet(tmp_path / "a.parquet")


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(StoreError, match=r"a\.parquet is missing; run"):
        atomic.read_parquet(tmp_path / "a.parquet")


def test_a_folder_is_flushed_with_all_below_it(tmp_path: Path) -> None:
    atomic.write_text(tmp_path / "a" / "b" / "c.txt", "x")
    atomic.sync_tree(tmp_path)
    with pytest.raises(StoreError, match=r"cannot write .*gone"):
        atomic.sync_tree(tmp_path / "gone")


def test_a_folder_that_may_not_be_written(tmp_path: Path) -> None:
    tmp_path.chmod(0o500)
    program = "import sys; from pathlib import Path; from lightrag_dagster.storage.files import atomic\n"
    program += "atomic.write_text(Path(sys.argv[1], 'x'), 'text')"
    assert re.search("StoreError: cannot write .*Permission denied", without_rights("-c", program, tmp_path).stderr)


def test_rows_of_another_layout_get_the_columns_of_a_schema(tmp_path: Path) -> None:
    schema = pa.schema(
        [
            pa.field("id", pa.string()),
            pa.field("note", pa.string()),
            pa.field("kind", pa.string(), False),
            pa.field("rows", pa.int64(), False),
        ]
    )
    pq.write_table(pa.table({"id": ["a"], "gone": [1]}), tmp_path / "rows.parquet")
    found = atomic.read_conforming(tmp_path / "rows.parquet", schema)
    assert found.to_pylist() == [{"id": "a", "note": None, "kind": "", "rows": 0}]
    assert found.schema.equals(schema)
    with pytest.raises(StoreError, match="is damaged"):
        atomic.read_conforming(tmp_path / "rows.parquet", pa.schema([pa.field("id", pa.int64())]))
    with pytest.raises(StoreError, match="is missing"):
        atomic.read_conforming(tmp_path / "other.parquet", schema)


def test_a_long_name_has_room_for_that_of_its_temporary_file(tmp_path: Path) -> None:
    path = tmp_path / ("x" * 240)
    atomic.write_text(path, "weir")
    assert (path.read_text(), [*tmp_path.iterdir()]) == ("weir", [path])


def test_a_folder_that_cannot_be_listed_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    atomic.write_text(tmp_path / "a" / "b" / "c.txt", "x")
    scandir = os.scandir

    def refusing(place: str) -> object:
        if place == str(tmp_path / "a" / "b"):
            raise PermissionError(errno.EACCES, "Permission denied", place)
        return scandir(place)

    monkeypatch.setattr(os, "scandir", refusing)
    with pytest.raises(StoreError, match=r"/a/b cannot be read: Permission denied; let this user read it"):
        atomic.files_below(tmp_path)
    assert atomic.files_below(tmp_path / "nowhere") == {}

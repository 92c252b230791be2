"""The files of a version of a LanceDB table, compared with what LanceDB counts."""

from pathlib import Path
from typing import Any

import lancedb
import numpy as np
import pyarrow as pa
import pytest
from lancedb.index import IvfFlat

from lightrag_dagster.storage.home import Home
from lightrag_dagster.storage.manifests import VectorTable
from lightrag_dagster.storage.snapshots.lance_files import _varint, files_of_version, find_unused


def rows(first: int, last: int) -> pa.Table:
    vectors = pa.FixedSizeListArray.from_arrays(np.random.default_rng(first).random(8 * (last - first), np.float32), 8)
    return pa.table({"id": [str(number) for number in range(first, last)], "vector": vectors})


def files_at(home: Home, handle: Any, tag: str) -> list[Path]:
    """Tag the newest version, and return its files, whose number and size LanceDB confirms."""
    handle.tags.create(tag, handle.version)
    entry = VectorTable(table="names", tag=tag, rows=handle.count_rows(), dimensions=8, upserted=0, deleted=0)
    found = files_of_version(home, entry)
    counted = handle.list_versions()[-1]["metadata"]
    data = [path for path in found if path.parent.name == "data"]
    assert len(data) == int(counted["total_data_files"])
    assert len([path for path in found if path.parent.name == "_deletions"]) == int(counted["total_deletion_files"])
    assert sum(found[path] for path in data) == int(counted["total_files_size"])
    assert all(path.stat().st_size == size for path, size in found.items())
    return list(found)


def test_the_files_of_each_version_are_those_that_lancedb_counts(tmp_path: Path) -> None:
    home = Home(tmp_path)
    handle = lancedb.connect(home.lance_uri).create_table("names", rows(0, 300))
    first = files_at(home, handle, "first")
    handle.add(rows(300, 320))
    handle.delete("id IN ('5', '301')")
    second = files_at(home, handle, "second")
    handle.delete("id = '6'")
    third = files_at(home, handle, "third")
    handle.create_index("vector", config=IvfFlat(num_partitions=1))
    indexed = files_at(home, handle, "indexed")
    handle.optimize()
    compacted = files_at(home, handle, "compacted")

    def named(files: list[Path], folder: str) -> set[str]:
        return {path.name for path in files if path.relative_to(home.lance / "names.lance").parts[0] == folder}

    assert named(first, "data") < named(second, "data") == named(third, "data")
    assert not named(first, "_deletions")
    assert named(second, "_deletions") != named(third, "_deletions")
    assert named(compacted, "data").isdisjoint(named(third, "data"))
    assert not named(compacted, "_deletions")
    assert not named(third, "_indices")
    assert named(indexed, "_indices")
    assert {path.name for one in (first, second, third) for path in one if path.suffix == ".json"} == {
        "first.json",
        "second.json",
        "third.json",
    }


def test_what_is_unused_can_go_and_the_versions_that_are_kept_are_whole(tmp_path: Path) -> None:
    home = Home(tmp_path)
    handle = lancedb.connect(home.lance_uri).create_table("names", rows(0, 300))
    handle.create_index("vector", config=IvfFlat(num_partitions=1))
    for tag in ("first", "second", "third"):
        start = handle.count_rows()
        handle.add(rows(start, start + 20))
        handle.delete(f"id = '{start - 1}'")
        handle.tags.create(tag, handle.version)
    handle.drop_index("vector_idx")
    handle.create_index("vector", config=IvfFlat(num_partitions=1))
    handle.optimize()

    found = find_unused(home, "names", {"first"}, home.files.list_folder(home.lance))
    home.files.remove(found.unused)

    folders = {path.relative_to(home.lance / "names.lance").parts[0] for path in found.unused}
    assert folders == {"_refs", "_versions", "_transactions", "_deletions", "data"}
    assert [path.parent.name for path in found.unused[:3]] == ["tags", "tags", "_versions"]
    assert find_unused(home, "names", {"first"}, home.files.list_folder(home.lance)).unused == []
    again: Any = lancedb.connect(home.lance_uri).open_table("names")
    assert set(again.tags.list()) == {"first"}
    assert {one["version"] for one in again.list_versions()} == {again.tags.get_version("first"), again.version}
    assert again.count_rows() == len(again.search([0.5] * 8).nprobes(9).limit(400).to_arrow()) == 357
    again.add(rows(900, 905))
    again.checkout("first")
    assert again.count_rows() == len(again.search([0.5] * 8).nprobes(9).limit(400).to_arrow()) == 319


@pytest.mark.parametrize(
    ("number", "encoded"),
    [(0, "00"), (127, "7f"), (128, "8001"), (300, "ac02"), (2**64 - 1, "ffffffffffffffffff01")],
)
def test_numbers_are_encoded_as_protocol_buffers_do(number: int, encoded: str) -> None:
    assert _varint(number).hex() == encoded

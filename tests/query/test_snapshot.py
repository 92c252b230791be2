import shutil
from pathlib import Path

import pytest

from lightrag_dagster.errors import NoSnapshotError, StoreError
from lightrag_dagster.query.snapshot import open_snapshot
from lightrag_dagster.storage.home import Home
from lightrag_dagster.storage.manifest import VECTOR_TABLES


def test_a_snapshot_is_whole(published_home: Path) -> None:
    snapshot = open_snapshot(Home(published_home), None)
    assert set(snapshot.vectors) == set(VECTOR_TABLES)
    assert snapshot.corpus_state is not None
    assert snapshot.graph.entities.rows.num_rows == snapshot.manifest.rows["entities"]
    again = open_snapshot(Home(published_home), snapshot.manifest.snapshot_id)
    assert again.manifest == snapshot.manifest


def test_nothing_published(tmp_path: Path) -> None:
    with pytest.raises(NoSnapshotError, match=r"home yet; run `lightrag-dagster run`"):
        open_snapshot(Home(tmp_path / "home"), None)
    assert not (tmp_path / "home").exists()


def test_an_unknown_snapshot_is_named(published_home: Path) -> None:
    with pytest.raises(StoreError, match="gen-none"):
        open_snapshot(Home(published_home), "gen-none")


def test_a_damaged_part_is_named(published_home: Path, tmp_path: Path) -> None:
    home = Path(shutil.copytree(published_home, tmp_path / "home"))
    (state,) = home.glob("generations/*/corpus_state.npy")
    state.write_bytes(b"not an array")
    with pytest.raises(StoreError, match=str(state)):
        open_snapshot(Home(home), None)

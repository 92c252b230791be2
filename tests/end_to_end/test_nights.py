"""Many nights of small changes: the stores follow what is published, not what has been."""

from datetime import timedelta
from pathlib import Path

import pytest

from benchmarks.passages import generate
from lightrag_dagster.settings import Settings, load_settings
from lightrag_dagster.storage.home import Home
from lightrag_dagster.storage.snapshots import gc
from lightrag_dagster.storage.snapshots.snapshots import list_snapshots
from tests.support import build, snapshot_contents

LEAST_CHANGED = 0.01


def size(settings: Settings) -> int:
    """Return what the live stores take, responses and vectors that were bought aside. Bytes."""
    home = Home(settings.home)
    folders = (home.root / "tables", home.generations, home.lance)
    return sum(path.stat().st_size for folder in folders for path in folder.rglob("*") if path.is_file())


def pass_nights(folder: Path, nights: int, documents: int) -> None:
    settings = load_settings(
        home=folder / "home", sources=folder / "sources", retention={"snapshots": 2, "grace_days": 0, "automatic": True}
    )
    notes = settings.sources / "notes"
    notes.mkdir(parents=True)
    changed = max(1, round(LEAST_CHANGED * documents))
    texts = iter(generate(documents + nights * changed, 1))
    for number in range(documents):
        (notes / f"{number}.txt").write_text(next(texts))
    build(settings)
    for night in range(nights):
        for number in range(changed):
            (notes / f"{(night * changed + number) % documents}.txt").write_text(next(texts))
        build(settings)

    clean = settings.model_copy(update={"home": folder / "clean"})
    build(clean)

    assert len(list_snapshots(Home(settings.home))) == 2
    assert size(settings) <= 3 * size(clean)
    assert snapshot_contents(settings) == snapshot_contents(clean)


@pytest.fixture(autouse=True)
def settled(monkeypatch: pytest.MonkeyPatch) -> None:
    """A night is over in seconds here, so what waits for seconds would wait for nights."""
    monkeypatch.setattr(gc, "CLEANUP_MARGIN", timedelta(seconds=1))


@pytest.mark.long
def test_the_stores_stay_small_over_some_nights(tmp_path: Path) -> None:
    pass_nights(tmp_path, 2, 8)


@pytest.mark.long
def test_the_stores_stay_small_over_thirty_nights(tmp_path: Path) -> None:
    pass_nights(tmp_path, 30, 300)

"""Many nights of small changes: the stores follow what is published, not what has been."""

from pathlib import Path

import dagster as dg
import pytest

from benchmarks.nights import disk, nights
from benchmarks.passages import generate
from lightrag_dagster.orchestration.instance import open_instance
from lightrag_dagster.settings import RetentionSettings, Settings, load_settings
from lightrag_dagster.storage.home import Home
from lightrag_dagster.storage.snapshots.snapshots import list_snapshots
from tests.support import build, snapshot_contents

LEAST_CHANGED = 0.01

MAX_GROWTH = 4.5
"""What a home has more after sixty nights than in the first, beside its first snapshot without vectors, all in bytes on
the disk; three more snapshots are kept as published lately."""

MAX_PEAK = 5.5
"""The same in each night before: vectors that are written again take twice their place for some days."""

CHECK = dg.AssetCheckKey(dg.AssetKey("entity_mentions"), "accepted")


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


@pytest.mark.long
def test_the_stores_stay_small_over_some_nights(tmp_path: Path) -> None:
    pass_nights(tmp_path, 2, 8)


@pytest.mark.long
def test_the_stores_stay_small_over_thirty_nights(tmp_path: Path) -> None:
    pass_nights(tmp_path, 30, 300)


def history(home: Home) -> tuple[int, set[str], bool, dg.AssetCheckKey | None]:
    """Return the number of runs, the materialised partitions, if all is published, and the check that has a result."""
    with open_instance(home) as instance:
        checks = instance.event_log_storage.get_latest_asset_check_execution_by_key([CHECK])
        return (
            len(instance.get_runs()),
            set(instance.get_materialized_partitions(dg.AssetKey("extractions"))),
            instance.get_latest_materialization_event(dg.AssetKey("knowledge_base")) is not None,
            next((key for key, one in checks.items() if one.evaluation and one.evaluation.passed), None),
        )


@pytest.fixture(autouse=True)
def _short_history(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    if "by_default" not in request.node.name:
        monkeypatch.setattr(RetentionSettings, "runs_days", 1.5)


def short(settings: Settings) -> Settings:
    return settings.changed(retention={"snapshots": 1, "grace_days": 1.5})


@pytest.mark.long
def test_snapshots_and_runs_of_older_nights_go_by_themselves(settings: Settings) -> None:
    home = Home(settings.home)
    for _ in nights(short(settings), 3, 3, 1):
        pass
    # The last night's own snapshot, and those that it and the night before replaced; two runs a night.
    assert [one.sequence for one in list_snapshots(home)] == [2, 3, 4]
    assert history(home) == (4, {"notes"}, True, CHECK)


@pytest.mark.long
def test_the_runs_in_another_dagster_home_are_left_alone(
    settings: Settings, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DAGSTER_HOME", str(tmp_path / "company"))
    for _ in nights(short(settings), 3, 3, 1):
        pass
    assert len(list_snapshots(Home(settings.home))) == 3
    assert history(Home(settings.home))[0] == 8


@pytest.mark.long
def test_a_home_grows_little_over_sixty_nights_by_default(settings: Settings) -> None:
    sizes = [disk(settings.home) for _ in nights(settings, 400, 60, 3)]
    first, *later = (of_night["total"][0] for of_night in sizes)
    snapshot = sizes[0]["generations"][0]
    assert later[-1] - first <= MAX_GROWTH * snapshot
    assert max(later) - first <= MAX_PEAK * snapshot
    assert history(Home(settings.home))[1:] == ({"notes"}, True, CHECK)

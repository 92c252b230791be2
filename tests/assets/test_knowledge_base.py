"""The published snapshot as an asset: what breaks invariant I5 is reported, and not published."""

from collections.abc import Sequence

import dagster as dg

from assets import INGESTION, PUBLICATION
from assets.knowledge_base import knowledge_base
from lightrag_dagster.settings import Settings
from lightrag_dagster.storage import files
from lightrag_dagster.storage.generations import newest
from lightrag_dagster.storage.home import Home
from lightrag_dagster.storage.snapshots import current_snapshot
from resources import build_resources
from tests.support import RIVER, write_source


def materialise(
    settings: Settings,
    instance: dg.DagsterInstance,
    chosen: Sequence[dg.AssetsDefinition],
    source: str | None = None,
) -> dg.ExecuteInProcessResult:
    return dg.materialize(
        [*INGESTION, *PUBLICATION],
        selection=list(chosen),
        partition_key=source,
        instance=instance,
        resources=build_resources(settings),
        raise_on_error=False,
    )


def test_a_broken_generation_fails_the_check_and_is_not_published(
    settings: Settings, instance: dg.DagsterInstance
) -> None:
    write_source(settings, "notes", {"river.md": RIVER})
    instance.add_dynamic_partitions("source", ["notes"])
    assert materialise(settings, instance, INGESTION, "notes").success
    assert materialise(settings, instance, [one for one in PUBLICATION if one is not knowledge_base]).success
    home = Home(settings.home)
    whole, path = newest(home).read_table("entities"), newest(home).path("entities.parquet")

    files.write_parquet(path, whole.slice(1))
    broken = materialise(settings, instance, [knowledge_base])
    nothing = current_snapshot(home)
    files.write_parquet(path, whole)
    mended = materialise(settings, instance, [knowledge_base])

    (failed,), (passed,) = broken.get_asset_check_evaluations(), mended.get_asset_check_evaluations()
    assert not broken.success
    assert nothing is None
    assert not failed.passed
    assert "a relation ends at an entity that does not exist" in str(failed.metadata["findings"].value)
    assert passed.passed
    assert current_snapshot(home) is not None

"""Partitions of upstream assets: Dagster's records of them, handed to the engine, which knows nothing of Dagster."""

import logging
from collections.abc import Sequence
from contextlib import suppress

import dagster as dg

from lightrag_dagster.assets.namespace import DATA_VERSION
from lightrag_dagster.errors import BuilderLockedError
from lightrag_dagster.settings import Settings
from lightrag_dagster.storage.home import Home
from lightrag_dagster.storage.tables.upstream import record_partitions

_log = logging.getLogger(__name__)
_MATERIALIZATION = dg.DagsterEventType.ASSET_MATERIALIZATION
_DIMENSION = "dagster/partition/"


def look_upstream(
    instance: dg.DagsterInstance, settings: Settings, names: Sequence[str] = (), seconds: float = 0.0
) -> None:
    """Record the partitions of the upstream assets that sources read, as they are materialised now.

    An asset that the instance does not know keeps what was recorded, and a line says so: the instance may be another
    than that which makes it. A source that another process ingests for more than some `seconds` keeps it too.

    Args:
        instance: The instance to ask.
        settings: Settings with the sources.
        names: Sources; all when empty.
        seconds: Time to wait for another ingestion of a source.

    Raises:
        StoreError: the disk refuses.
    """
    for name, source in settings.named_sources.items():
        if not source.asset or not source.dimensions or (names and name not in names):
            continue
        home, key = Home.of(settings), dg.AssetKey.from_user_string(source.asset)
        if found := _partitions(instance, key):
            with suppress(BuilderLockedError):  # that ingestion has asked, and the next asks again
                record_partitions(home, name, source.asset, found, seconds, _dimensions(instance, key))
        else:
            _log.warning(
                "source %s: Dagster knows no materialised partition of %s here; those known before, if any, stay. Set "
                "DAGSTER_HOME to the instance that makes it; if all was wiped, remove the source",
                name,
                source.asset,
            )


def _partitions(instance: dg.DagsterInstance, key: dg.AssetKey) -> dict[str, str]:
    """Return partition → version of its last materialisation, without partitions that were wiped.

    A data version alone would not do: with a code version, Dagster gives that of an earlier one again. Nor would the
    number of the event, which begins again in a new instance.
    """
    events = instance.get_latest_storage_id_by_partition(key, _MATERIALIZATION)
    if not events:
        return {}
    tags = instance.event_log_storage.get_latest_tags_by_partition(key, _MATERIALIZATION, [DATA_VERSION])
    versions = {partition: one.get(DATA_VERSION, "") for partition, one in tags.items()}
    return {key: f"{event} {versions.get(key, '')}".rstrip() for key, event in sorted(events.items())}


def _dimensions(instance: dg.DagsterInstance, key: dg.AssetKey) -> set[str]:
    """Return the names of the dimensions of an asset's partitions, as its last materialisation tells; else none."""
    event = instance.get_latest_materialization_event(key)
    tags = (event and event.asset_materialization and event.asset_materialization.tags) or {}
    return {name.removeprefix(_DIMENSION) for name in tags if name.startswith(_DIMENSION)}

"""Dagster's daemon, as the ticks of our sensors show that it lives."""

import logging

from lightrag_dagster.core.text.counted import lasting
from lightrag_dagster.errors import StoreError
from lightrag_dagster.settings import Settings
from lightrag_dagster.storage.home import Home

_SENSORS = ("publish_accepted", "source_partitions", "batches")

_SILENT_SECONDS = 900.0
"""Time without a tick of sensors that have one every few minutes, after which the daemon is dead or cannot load us."""

_log = logging.getLogger(__name__)


def silent_daemon(settings: Settings, seen: float | None, now: float) -> str | None:
    """Return a line if a daemon has asked our sensors before, none of which was stopped, and has fallen silent.

    The home noted when it was `seen` last. Only if that is long ago, its ticks are read from the Dagster instance,
    since that takes longer than all else. Seconds since 1970.
    """
    home = Home.of(settings)
    if seen is None or now - seen < _SILENT_SECONDS:
        return None
    ticks = _last_ticks(settings, home, seen) if home.dagster.exists() else [seen]
    silent = now - max(ticks, default=now)
    if silent < _SILENT_SECONDS:
        return None
    return (
        f"Dagster's daemon has asked none of {', '.join(_SENSORS)} with success for {lasting(silent)}, which it does "
        "every few minutes: start it, see whether it can load the code, or stop these sensors where none is meant to "
        "run; if its instance is elsewhere, name that by DAGSTER_HOME"
    )


def _last_ticks(settings: Settings, home: Home, seen: float) -> list[float]:
    """Return the last tick of each of our sensors that runs; none if that cannot be told.

    One that failed counts as when the daemon was `seen`; if the instance knows none of them, that has another one.
    """
    from lightrag_dagster.assets.namespace import Namespace
    from lightrag_dagster.orchestration.instance import open_instance

    ours = set(map(Namespace(settings.namespace).named, _SENSORS))
    try:
        with open_instance(home) as instance:
            states = [one for one in instance.all_instigator_state() if one.name in ours]
            asked = ((one.instigator_origin_id, one.selector_id) for one in states if one.is_running)
            found = [tick for ids in asked for tick in instance.get_ticks(*ids, limit=1)]
            return [seen if tick.status.name == "FAILURE" else tick.timestamp for tick in found] if states else [seen]
    except StoreError as error:
        _log.warning("whether the daemon lives is not known: %s", error)
        return []

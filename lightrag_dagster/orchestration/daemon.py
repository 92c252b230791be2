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


def silent_daemon(settings: Settings, now: float) -> str | None:
    """Return a line if a daemon has asked our sensors before, none of which was stopped, and has fallen silent.

    `now` is in seconds since 1970. Dagster is imported only where it has an instance.
    """
    home = Home.of(settings)
    if not home.dagster.exists():
        return None
    from lightrag_dagster.assets.namespace import Namespace
    from lightrag_dagster.orchestration.instance import open_instance

    ours = {Namespace(settings.namespace).named(sensor) for sensor in _SENSORS}
    try:
        with open_instance(home) as instance:
            states = [one for one in instance.all_instigator_state() if one.name in ours and one.is_running]
            ticks = [
                tick.timestamp
                for one in states
                for tick in instance.get_ticks(one.instigator_origin_id, one.selector_id, limit=1)
            ]
    except StoreError as error:
        _log.warning("whether the daemon lives is not known: %s", error)
        return None
    silent = now - max(ticks, default=now)
    if silent < _SILENT_SECONDS:
        return None
    return (
        f"Dagster's daemon has asked none of {', '.join(sorted(ours))} for {lasting(silent)}, which it does every few "
        "minutes: start it, see whether it can load the code, or stop these sensors where none is meant to run"
    )

"""A command's look at the upstream assets of sources, in the Dagster instance of the home."""

import logging

from lightrag_dagster.errors import StoreError
from lightrag_dagster.settings import Settings
from lightrag_dagster.storage.home import Home

_log = logging.getLogger(__name__)


def refresh_upstream(settings: Settings) -> None:
    """Record the partitions of upstream assets as the home's Dagster instance has them now; see `look_upstream`.

    Dagster is imported only where a source reads partitions, and an instance that was never used is not created. If it
    cannot be asked, or the home not written, as by who may only look, a line says so and what was recorded stays.
    """
    home = Home.of(settings)
    if not (home.dagster.exists() and any(source.dimensions for source in settings.named_sources.values())):
        return
    from lightrag_dagster.assets.upstream import look_upstream
    from lightrag_dagster.orchestration.instance import open_instance

    try:
        with open_instance(home) as instance:
            look_upstream(instance, settings)
    except StoreError as error:
        _log.warning("the partitions of upstream assets are those known before: %s", error)

"""Work on a Ray cluster: the one that RAY_ADDRESS names, or one that is started on this machine.

The workers of a cluster read and write the home, which is a bucket or a folder that all machines share.
"""

import logging
import os
from collections.abc import Callable, Iterable
from typing import Any

from lightrag_dagster.engines.engine import Item, Result
from lightrag_dagster.errors import EngineError, one_line

_ATTEMPTS = 3


class RayEngine:
    """Applies functions in tasks of Ray, one processor each; Ray is started or connected to when it is first needed."""

    def __init__(self) -> None:
        self._started = False

    def __enter__(self) -> "RayEngine":
        return self

    def __exit__(self, *_: object) -> None:
        if self._started:
            self._ray.shutdown()

    @property
    def workers(self) -> int:
        """The processors of the cluster."""
        return max(1, int(self._ray.cluster_resources().get("CPU", 1)))

    def map(self, function: Callable[[Item], Result], items: Iterable[Item]) -> list[Result]:
        """See `Engine.map`. One item alone is worked on in this process; what a killed worker held is done again.

        Raises:
            EngineError: a worker was killed time and again, or Ray cannot be reached.
        """
        todo = list(items)
        if len(todo) < 2:
            return [function(item) for item in todo]
        ray = self._ray
        task = ray.remote(_apply).options(max_retries=_ATTEMPTS - 1)
        try:
            return list(ray.get([task.remote(function, item) for item in todo]))
        except ray.exceptions.RayTaskError as error:
            raise error.cause from None  # the task's own error, as the other engines raise it
        except ray.exceptions.RayError as error:
            raise EngineError(f"a part was lost {_ATTEMPTS} times on Ray: {one_line(error)}; run again") from error

    @property
    def _ray(self) -> Any:
        """The module, connected to a cluster."""
        os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
        try:
            import ray
        except ImportError as error:
            raise EngineError(
                "the engine ray needs the package's extra `ray`; install lightrag-dagster[ray]"
            ) from error
        if not ray.is_initialized():
            try:
                ray.init(include_dashboard=False, log_to_driver=False, logging_level=logging.ERROR)
            except (ConnectionError, RuntimeError, ValueError) as error:
                raise EngineError(f"Ray cannot be started or reached: {one_line(error)}; see RAY_ADDRESS") from error
            self._started = True
        return ray


def _apply(function: Callable[[Item], Result], item: Item) -> Result:
    return function(item)

"""Work on a Ray cluster: the one that RAY_ADDRESS names, or one that is started on this machine.

The workers of a cluster read and write the home, which is a bucket or a folder that all machines share.
"""

import asyncio
import logging
import os
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from functools import cached_property
from typing import Any, Generic

from lightrag_dagster.engines.engine import Item, Kept, Result, State
from lightrag_dagster.errors import EngineError, one_line

_ATTEMPTS = 3


class RayEngine:
    """An engine of Ray tasks, one processor each; Ray is started or connected to when it is first needed."""

    def __init__(self) -> None:
        self._started = False

    def __enter__(self) -> "RayEngine":
        return self

    def __exit__(self, *_: object) -> None:
        if self._started:
            self.connected.shutdown()

    @property
    def workers(self) -> int:
        """The processors of the cluster."""
        return max(1, int(self.connected.cluster_resources().get("CPU", 1)))

    def map(self, function: Callable[[Item], Result], items: Iterable[Item]) -> list[Result]:
        """See `Engine.map`. A single item is worked on in this process; the items of a killed worker are repeated.

        Raises:
            EngineError: a worker was killed repeatedly, or Ray cannot be reached.
        """
        todo = list(items)
        if len(todo) < 2:
            return [function(item) for item in todo]
        ray = self.connected
        task = ray.remote(_apply).options(max_retries=_ATTEMPTS - 1)
        with _own_errors(ray):
            return list(ray.get([task.remote(function, item) for item in todo]))

    @contextmanager
    def keep(self, make: Callable[[], State]) -> Iterator[Kept[State]]:
        """See `Engine.keep`: in an actor for each GPU of the cluster or, if it has none, for each machine.

        A killed actor is started again, and its call repeated.
        """
        kept = _KeptInActors(self, make)
        try:
            yield kept
        finally:
            kept.end()

    @property
    def connected(self) -> Any:
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
                # Without an address Ray would join any cluster that it finds on this machine.
                address = os.environ.get("RAY_ADDRESS") or "local"
                ray.init(address, include_dashboard=False, log_to_driver=False, logging_level=logging.ERROR)
            except (ConnectionError, RuntimeError, ValueError) as error:
                raise EngineError(f"Ray cannot be started or reached: {one_line(error)}; see RAY_ADDRESS") from error
            self._started = True
        return ray


class _KeptInActors(Generic[State]):
    """A kept object in actors; an actor has one call at a time, and the next call goes to the first free one."""

    def __init__(self, engine: RayEngine, make: Callable[[], State]) -> None:
        self._engine = engine
        self._make = make
        self._started: list[Any] = []

    async def call(self, function: Callable[[State, Item], Result], item: Item) -> Result:
        free = self._free
        actor = await free.get()
        try:
            with _own_errors(self._engine.connected):
                result: Result = await actor.call.remote(function, item)
                return result
        finally:
            free.put_nowait(actor)

    def end(self) -> None:
        """End the actors."""
        for actor in self._started:
            self._engine.connected.kill(actor)

    @cached_property
    def _free(self) -> "asyncio.Queue[Any]":
        """The idle actors; they are started here."""
        ray = self._engine.connected
        gpus = int(ray.cluster_resources().get("GPU", 0))
        machines = [node["Resources"]["CPU"] for node in ray.nodes() if node["Alive"] and "CPU" in node["Resources"]]
        # All processors of a machine: Ray limits the threads of a library to the processors of the actor.
        place = {"num_gpus": 1} if gpus else {"num_cpus": min(machines)}
        actor = ray.remote(_Actor).options(max_restarts=-1, max_task_retries=_ATTEMPTS - 1, **place)
        free: asyncio.Queue[Any] = asyncio.Queue()
        for _ in range(gpus or len(machines)):
            self._started.append(actor.remote(self._make))
            free.put_nowait(self._started[-1])
        return free


class _Actor:
    """The kept object, in a process of its own."""

    def __init__(self, make: Callable[[], Any]) -> None:
        self._make = make

    @cached_property
    def _state(self) -> Any:
        # Made by the first call, so that its error reaches the caller as it is.
        return self._make()

    def call(self, function: Callable[[Any, Item], Result], item: Item) -> Result:
        return function(self._state, item)


@contextmanager
def _own_errors(ray: Any) -> Iterator[None]:
    """Raise a function's own error as the other engines do, and Ray's as EngineError."""
    try:
        yield
    except ray.exceptions.RayTaskError as error:
        raise error.cause from None
    except ray.exceptions.RayError as error:
        raise EngineError(f"a part was lost {_ATTEMPTS} times on Ray: {one_line(error)}; run again") from error


def _apply(function: Callable[[Item], Result], item: Item) -> Result:
    return function(item)

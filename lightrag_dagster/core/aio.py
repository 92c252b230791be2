"""Async helpers: run several coroutines at once, and run one from synchronous code."""

import asyncio
import contextvars
from collections.abc import Coroutine, Iterable
from concurrent.futures import ThreadPoolExecutor
from typing import Any, TypeVar

Result = TypeVar("Result")


async def gather_or_cancel(work: Iterable[Coroutine[Any, Any, Result]]) -> list[Result]:
    """Await all at once and return their results in order; the first failure cancels the others and is raised."""
    try:
        async with asyncio.TaskGroup() as group:
            tasks = [group.create_task(one) for one in work]
    except BaseExceptionGroup as failures:
        failure = failures.exceptions[0]
    else:
        return [task.result() for task in tasks]
    # Outside the handler, so that the failure does not carry the group as its context.
    raise failure


def run_sync(coroutine: Coroutine[Any, Any, Result]) -> Result:
    """Run `coroutine` to its end and return its result; in a thread of its own inside a running loop (Jupyter)."""
    try:
        asyncio.get_running_loop()
        in_loop = True
    except RuntimeError:
        in_loop = False
    if not in_loop:  # outside the handler, so that a failure does not carry the missing loop as its context
        return asyncio.run(coroutine)
    context = contextvars.copy_context()
    with ThreadPoolExecutor(max_workers=1) as executor:
        return executor.submit(context.run, asyncio.run, coroutine).result()

import asyncio
from contextvars import ContextVar

import pytest

from lightrag_dagster.core.aio import gather_or_cancel, run_sync


async def after(turns: int, result: str) -> str:
    for _ in range(turns):
        await asyncio.sleep(0)
    return result


def test_results_come_in_the_order_of_the_work() -> None:
    assert asyncio.run(gather_or_cancel([after(3, "a"), after(1, "b")])) == ["a", "b"]


def test_the_first_failure_is_raised_as_it_is_and_ends_the_others() -> None:
    cancelled = []

    async def wait() -> str:
        try:
            return await after(1_000_000, "never")
        except asyncio.CancelledError:
            cancelled.append(True)
            raise

    async def fail() -> str:
        await asyncio.sleep(0)
        raise KeyError("first")

    with pytest.raises(KeyError, match="first") as raised:
        asyncio.run(gather_or_cancel([wait(), fail(), wait()]))
    assert cancelled == [True, True]
    assert raised.value.__context__ is None


HEARD: ContextVar[str] = ContextVar("heard")


async def _heard() -> str:
    return HEARD.get()


@pytest.mark.parametrize("loop_is_running", [False, True])
def test_synchronous_code_gets_a_result_with_its_own_context(loop_is_running: bool) -> None:
    HEARD.set("from outside")

    async def notebook() -> str:
        return run_sync(_heard())

    assert (asyncio.run(notebook()) if loop_is_running else run_sync(_heard())) == "from outside"

import asyncio

import pytest

from lightrag_dagster.models.pace import Pace


async def _peak(pace: Pace, calls: int) -> int:
    """Return how many of so many calls were in flight at once."""
    now = most = 0

    async def call() -> None:
        nonlocal now, most
        async with pace.places:
            now += 1
            most = max(most, now)
            await asyncio.sleep(0.01)
            now -= 1

    await asyncio.gather(*(call() for _ in range(calls)))
    return most


def test_no_more_are_let_through_than_allowed() -> None:
    assert asyncio.run(_peak(Pace(4), 20)) == 4


@pytest.mark.parametrize(
    ("limits", "tokens", "least", "most"),
    [
        ({"requests_per_minute": 3}, 1, 1, 1),
        ({"requests_per_minute": 1220}, 1, 22, 30),
        ({"tokens_per_minute": 12_200}, 10, 22, 30),
        ({"tokens_per_minute": 12_200}, 220, 1, 1),
        ({"tokens_per_minute": 12_200}, 500, 0, 0),
    ],
)
def test_no_more_goes_out_than_a_minute_allows(limits: dict[str, int], tokens: int, least: int, most: int) -> None:
    """A second's share at once, 20 requests or 200 tokens, and 20 a second after that."""

    async def measure() -> int:
        """Return how many calls are through after a quarter of a second."""
        through, pace = 0, Pace(99, **limits)

        async def call() -> None:
            nonlocal through
            await pace.wait(tokens)
            through += 1

        calls = [asyncio.create_task(call()) for _ in range(40)]
        await asyncio.sleep(0.25)
        for one in calls:
            one.cancel()
        return through

    assert least <= asyncio.run(measure()) <= most

import asyncio

import pytest

from lightrag_dagster.models.pace import Pace


async def _peak(pace: Pace, calls: int) -> int:
    """Return how many of so many calls were in flight at once."""
    now = most = 0

    async def call() -> None:
        nonlocal now, most
        async with pace.turn(1):
            now += 1
            most = max(most, now)
            await asyncio.sleep(0.01)
            now -= 1

    await asyncio.gather(*(call() for _ in range(calls)))
    return most


def test_no_more_are_let_through_than_allowed() -> None:
    assert asyncio.run(_peak(Pace(4), 20)) == 4


def test_overload_halves_the_pace_once_and_answers_bring_it_back() -> None:
    async def measure() -> list[int]:
        pace = Pace(8)
        seen = [pace.allowed]
        for _ in range(8):
            pace.slow_down(0.0, None)  # eight requests that were in flight together
        seen.append(pace.allowed)
        seen.append(await _peak(pace, 12))
        for _ in range(60):
            pace.speed_up()
        return [*seen, pace.allowed, await _peak(pace, 12)]

    assert asyncio.run(measure()) == [8, 4, 4, 8, 8]


def test_the_pace_never_falls_below_one() -> None:
    async def measure() -> int:
        pace = Pace(2)
        for _ in range(5):
            async with pace.turn(1) as sent:
                pace.slow_down(sent, None)
        return pace.allowed

    assert asyncio.run(measure()) == 1


def test_a_place_that_is_not_taken_goes_to_the_next() -> None:
    """The second is cancelled just as the first's place is given to it."""

    async def measure() -> None:
        pace = Pace(1)

        async def call() -> None:
            async with pace.turn(1):
                pass

        async with pace.turn(1):
            second, third = (asyncio.create_task(call()) for _ in range(2))
            await asyncio.sleep(0.01)
        second.cancel()
        await asyncio.wait_for(third, 5)
        assert second.cancelled()

    asyncio.run(measure())


def test_a_wait_holds_up_everybody() -> None:
    async def measure() -> float:
        pace, loop = Pace(4), asyncio.get_running_loop()
        pace.slow_down(0.0, 0.2)
        started = loop.time()
        async with pace.turn(1):
            return loop.time() - started

    assert asyncio.run(measure()) >= 0.19


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
            async with pace.turn(tokens):
                through += 1

        calls = [asyncio.create_task(call()) for _ in range(40)]
        await asyncio.sleep(0.25)
        for one in calls:
            one.cancel()
        return through

    assert least <= asyncio.run(measure()) <= most

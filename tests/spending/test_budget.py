import asyncio
import random

import pytest

from lightrag_dagster.errors import BudgetExceededError
from lightrag_dagster.spending.budget import Budget


async def _spend(budget: Budget, calls: int, worst: float, chance: random.Random) -> tuple[float, int]:
    """Return what so many calls at once really cost, and how many of them were let through."""
    total, through = 0.0, 0

    async def call() -> None:
        nonlocal total, through
        try:
            async with budget.reserve(worst) as reservation:
                await asyncio.sleep(chance.random() / 100)
                reservation.cost = worst * chance.random()
                total += reservation.cost
                through += 1
        except BudgetExceededError:
            pass

    await asyncio.gather(*(call() for _ in range(calls)))
    return total, through


@pytest.mark.parametrize("seed", range(5))
def test_the_limit_holds_with_many_calls_in_flight(seed: int) -> None:
    total, through = asyncio.run(_spend(Budget(1.0), 60, 0.09, random.Random(seed)))
    assert 1.0 - 0.09 < total <= 1.0
    assert 11 < through < 60


def test_what_was_spent_before_counts() -> None:
    _, through = asyncio.run(_spend(Budget(1.0, spent=0.95), 3, 0.09, random.Random(1)))
    assert through == 0


def test_without_a_limit_everything_is_let_through() -> None:
    assert asyncio.run(_spend(Budget(None), 30, 100.0, random.Random(1)))[1] == 30


def test_the_error_says_how_to_go_on() -> None:
    with pytest.raises(BudgetExceededError, match=r"\$0.5 is used up.*--max-cost"):
        asyncio.run(_refused())


async def _refused() -> None:
    async with Budget(0.5).reserve(0.6):
        pass

import asyncio
import random
import time
from pathlib import Path

import pytest

from lightrag_dagster.errors import BudgetExceededError
from lightrag_dagster.spending import budget as budget_module
from lightrag_dagster.spending.account import Account
from lightrag_dagster.spending.budget import Budget
from lightrag_dagster.spending.ledger import Ledger
from lightrag_dagster.storage.database.address import Address


def budget_of(address: Address, limit: float, run: str = "run") -> Budget:
    """Return the budget of a model that is opened as another process would."""
    return Budget((Ledger(address), Account(run, max_cost_usd=limit)))


async def call(budget: Budget, worst: float, cost: float, seconds: float = 0.0) -> float:
    """Make a call that may cost `worst`, and return what it costs: nothing when it is refused."""
    try:
        with budget.reservation(worst) as reservation:
            await reservation.renew()
            await asyncio.sleep(seconds)
            reservation.cost = cost
            return cost
    except BudgetExceededError:
        return 0.0


@pytest.mark.parametrize("seed", [0, *(pytest.param(seed, marks=pytest.mark.long) for seed in (1, 2))])
def test_the_limit_holds_with_many_calls_of_several_models_in_flight(address: Address, seed: int) -> None:
    chance = random.Random(seed)
    budgets = [budget_of(address, 1.0) for _ in range(3)]

    async def calls() -> list[float]:
        costs = [0.09 * chance.random() for _ in range(60)]
        return await asyncio.gather(
            *(call(chance.choice(budgets), 0.09, cost, chance.random() / 100) for cost in costs)
        )

    made = asyncio.run(calls())
    assert 1.0 - 0.09 < sum(made) <= 1.0
    assert 11 < sum(cost > 0 for cost in made) < 60


def test_another_attempt_waits_for_calls_in_flight_and_is_refused_if_it_does_not_fit(address: Address) -> None:
    budget = budget_of(address, 1.0)

    async def calls() -> float:
        other = asyncio.create_task(call(budget, 0.7, 0.1, 0.1))
        await asyncio.sleep(0.02)
        with budget.reservation(0.3) as reservation:
            await reservation.renew()
            reservation.settle(0.2)
            await reservation.renew()
            assert other.done()
            reservation.settle(0.2)
            reservation.settle(0.1)  # which nothing is set aside for
            await reservation.renew()
            reservation.settle(0.3)
            with pytest.raises(BudgetExceededError):
                await reservation.renew()
        return await other

    assert asyncio.run(calls()) == 0.1
    assert Ledger(address).limits(Account("run", max_cost_usd=1.0))[0].spent == pytest.approx(0.1 + 0.2 + 0.3 + 0.3)


def test_a_call_waits_for_those_of_another_process_but_not_of_another_run(tmp_path: Path) -> None:
    one, other, elsewhere = (budget_of(tmp_path / "ledger", 1.0, run) for run in ("run", "run", "another run"))

    async def calls() -> list[float]:
        with elsewhere.reservation(0.9) as reservation:
            await reservation.renew()
            first = asyncio.create_task(call(one, 0.8, 0.1, 0.2))
            await asyncio.sleep(0.05)
            refused = await call(other, 1.1, 1.1)
            return [await first, refused, await call(other, 0.8, 0.8)]

    assert asyncio.run(calls()) == [0.1, 0.0, 0.8]


def test_nobody_waits_for_a_process_that_gives_no_sign_of_life(address: Address) -> None:
    assert Ledger(address).reserve("killed", Account("run"), 0.8, 0.5) is None
    started = time.monotonic()
    assert asyncio.run(call(budget_of(address, 1.0), 0.8, 0.8)) == 0.0
    assert 0.3 < time.monotonic() - started < 20
    assert asyncio.run(call(budget_of(address, 1.0), 0.2, 0.2)) == 0.2


def test_a_long_call_is_waited_for_as_long_as_it_gives_signs_of_life(
    address: Address, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(budget_module, "LEASE_SECONDS", 1.5)  # a busy machine stands still for half a second
    monkeypatch.setattr(budget_module, "_RENEW_SECONDS", 0.05)

    async def calls() -> list[float]:
        long = asyncio.create_task(call(budget_of(address, 1.0), 0.8, 0.1, 2.0))
        await asyncio.sleep(0.05)
        return [await call(budget_of(address, 1.0), 0.8, 0.8), await long]

    assert asyncio.run(calls()) == [0.8, 0.1]


def test_without_limits_or_prices_nothing_is_written(tmp_path: Path) -> None:
    assert asyncio.run(call(Budget(), 100.0, 100.0)) == 100.0
    assert asyncio.run(call(budget_of(tmp_path / "ledger", 1.0), 0.0, 0.0)) == 0.0
    assert list(tmp_path.iterdir()) == []

import asyncio
from pathlib import Path

import pytest

from lightrag_dagster.core.protocols import Usage
from lightrag_dagster.errors import BudgetExceededError
from lightrag_dagster.spending.account import Account, Entry
from lightrag_dagster.spending.ledger import Ledger


async def _spend(account: Account, ledger: Ledger, cost: float) -> None:
    async with account.budget(ledger).reserve(cost) as reservation:
        reservation.cost = cost


def test_a_run_has_one_budget_and_continues_from_what_the_ledger_says(tmp_path: Path) -> None:
    ledger = Ledger(tmp_path / "ledger.sqlite")
    ledger.add(Account("run").entry("extract", "m", Usage(calls=1, cost_usd=0.5)))
    account = Account("run", max_cost_usd=1.0)
    asyncio.run(_spend(account, ledger, 0.375))
    with pytest.raises(BudgetExceededError, match=r"\$0.875 was spent"):
        asyncio.run(_spend(account, ledger, 0.25))
    asyncio.run(_spend(Account("another run", max_cost_usd=1.0), ledger, 0.25))
    asyncio.run(_spend(Account("run"), ledger, 100.0))


def test_an_entry_holds_the_usage_of_a_step() -> None:
    usage = Usage(1, 2, 3, 4, 5, 6.0, {"OutputLimitError": 7}, 8)
    assert Account("run", "notes").entry("embed", "m", usage) == Entry("run", "embed", "notes", "m", 1, 2, 3, 4, 5, 6.0)

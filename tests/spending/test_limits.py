"""Limits of a run, a day and a source, which all processes share."""

import asyncio
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, date, datetime
from pathlib import Path

import pytest
from pydantic import SecretStr

from lightrag_dagster.core.protocols import ChatResponse, Usage
from lightrag_dagster.errors import BudgetExceededError
from lightrag_dagster.spending.account import Account, Limit
from lightrag_dagster.spending.budget import Budget
from lightrag_dagster.spending.ledger import Ledger
from lightrag_dagster.storage.database.address import Address

DAY = 86_400


def account(run: str, source: str = "river") -> Account:
    return Account(run, source, max_cost_per_day_usd=2.0, max_cost_per_source_month_usd=1.0)


async def _spend(budget: Budget, worst: float, cost: float) -> str:
    with budget.reservation(worst) as reservation:
        await reservation.renew()
        reservation.cost = cost
        return reservation.name


def spend(account: Account, ledger: Ledger, worst: float, cost: float | None = None) -> str:
    """Make a call that may cost `worst` and costs that, or `cost`; return what it has set aside money as."""
    return asyncio.run(_spend(Budget((ledger, account)), worst, worst if cost is None else cost))


def enter(account: Account, ledger: Ledger, cost: float, *names: str) -> None:
    """End a step whose calls cost so much, and have set money aside under one of the names each."""
    for name in names:
        ledger.add(account.entry("extract", "m", Usage(calls=1, cost_usd=cost / len(names))), reserved=name)


def test_the_limit_of_a_source_holds_over_runs_whether_or_not_their_calls_are_entered(address: Address) -> None:
    ledger, first, second = Ledger(address), account("1"), account("2")
    names = [spend(first, ledger, 0.5, 0.25), spend(first, ledger, 0.75, 0.5)]
    with pytest.raises(
        BudgetExceededError,
        match=r"\$1 a source and month is used up: \$0.75 was spent .*max_cost_per_source_month_usd",
    ):
        spend(second, ledger, 0.5)
    enter(first, ledger, 0.75, *names)
    spend(second, ledger, 0.25)
    with pytest.raises(BudgetExceededError, match=r"a source and month is used up: \$1 was spent"):
        spend(account("3"), Ledger(address), 0.01)
    spend(account("3", "office"), ledger, 0.5)


@pytest.mark.parametrize("of", ["run", "day", "month"])
def test_a_limit_below_one_call_is_not_called_used_up(of: str) -> None:
    said = str(Limit(of, 0.01, 0.0).exceeded(0.03))
    assert "is below one call: it may cost $0.03; all that was answered is kept, raise llm.max_cost_" in said
    assert ("llm.max_output_tokens" in said, "used up" in said, "or run again" in said) == (True, False, False)
    assert "is used up: $0 was spent" in str(Limit(of, 0.0, 0.0).exceeded(0.03)), "a limit of nothing"


def test_the_limit_of_a_day_holds_over_sources_and_ends_with_the_day(
    address: Address, monkeypatch: pytest.MonkeyPatch
) -> None:
    now = [1000.0 * DAY]
    monkeypatch.setattr(time, "time", lambda: now[0])
    ledger = Ledger(address)
    for source in ("a", "b"):
        one = account("1", source)
        enter(one, ledger, 0.9, spend(one, ledger, 0.9))
    with pytest.raises(BudgetExceededError, match=r"\$2 a day is used up: \$1.8 was spent .*after midnight UTC"):
        spend(account("2", ""), ledger, 0.5)
    now[0] += DAY
    spend(account("2", ""), ledger, 0.5)


def test_the_limit_of_a_month_is_of_one_source_and_ends_with_the_month(
    address: Address, monkeypatch: pytest.MonkeyPatch
) -> None:
    now = [datetime(2026, 1, 31, 23, tzinfo=UTC).timestamp()]
    monkeypatch.setattr(time, "time", lambda: now[0])
    ledger = Ledger(address)

    def one(run: str, source: str = "river") -> Account:
        return Account(run, source, max_cost_per_source_month_usd=1.0)

    enter(one("1"), ledger, 0.75, spend(one("1"), ledger, 0.75))
    with pytest.raises(
        BudgetExceededError,
        match=r"\$1 a source and month is used up: \$0.75 was spent .*raise llm.max_cost_per_source_month_usd, or",
    ):
        spend(one("2"), ledger, 0.5)
    spend(one("2", "office"), ledger, 1.0)
    now[0] += 2 * 3600
    spend(one("2"), ledger, 0.5)
    now[0] += 27 * DAY
    with pytest.raises(BudgetExceededError, match=r"\$0.5 was spent"):
        spend(one("3"), ledger, 0.75)


def test_a_call_counts_on_its_day_however_late_it_is_entered(address: Address, monkeypatch: pytest.MonkeyPatch) -> None:
    """A service keeps a model open until someone asks on a later day, whose limit that must not use up."""
    now = [1000.0 * DAY]
    monkeypatch.setattr(time, "time", lambda: now[0])
    ledger, caller = Ledger(address), account("serve token", "@partners")
    name = spend(caller, ledger, 0.9)
    now[0] += 31 * DAY
    enter(caller, ledger, 0.9, name)
    assert [limit.spent for limit in ledger.limits(caller)] == [0.0, 0.0]
    assert ledger.entries()["date"].to_pylist() == [date(1972, 9, 27)]


def test_what_a_step_spent_before_midnight_uses_up_nothing_of_the_day_after(
    address: Address, monkeypatch: pytest.MonkeyPatch
) -> None:
    now = [1000.0 * DAY - 3600]
    monkeypatch.setattr(time, "time", lambda: now[0])
    ledger, one, usage = Ledger(address), account("1"), Usage()
    budget = Budget((ledger, one), usage)

    def ask(cost: float, *, ends: float = 0.0) -> None:
        async def call() -> None:
            with budget.reservation(cost) as reservation:
                await reservation.renew()
                now[0] += ends
                usage.add(ChatResponse("", input_tokens=1, cost_usd=cost), stored=False)
                reservation.cost = cost

        asyncio.run(call())

    def spent() -> list[float]:
        return [limit.spent for limit in ledger.limits(one)]

    ask(0.5)
    ask(0.4, ends=3601)  # over midnight
    assert spent() == [0.0, pytest.approx(0.9)]  # of the day, and of the month
    ask(0.1)
    usage.stored += 1
    with pytest.raises(BudgetExceededError, match=r"a source and month is used up: \$1 was spent"):
        ask(0.05)
    assert spent() == [pytest.approx(0.1), pytest.approx(1.0)]
    for name, used in budget.used().items():
        ledger.add(one.entry("extract", "m", used), reserved=name)
    assert spent() == [pytest.approx(0.1), pytest.approx(1.0)]
    rows = ledger.entries().select(["date", "calls", "stored", "input_tokens", "cost_usd"]).to_pylist()
    assert [tuple(row.values()) for row in rows] == [
        (date(1972, 9, 26), 2, 0, 2, pytest.approx(0.9)),
        (date(1972, 9, 27), 1, 1, 1, pytest.approx(0.1)),
    ]


def test_a_refused_call_sets_nothing_aside_and_a_failed_one_costs_nothing(address: Address) -> None:
    ledger, one = Ledger(address), account("1")
    with pytest.raises(BudgetExceededError):
        spend(one, ledger, 1.5)
    spend(one, ledger, 0.9, 0.0)
    assert [limit.spent for limit in ledger.limits(one)] == [0.0, 0.0]
    enter(one, ledger, 1.0, spend(one, ledger, 1.0))
    assert [limit.spent for limit in ledger.limits(one)] == [1.0, 1.0]


def test_no_limit_is_exceeded_by_many_at_once(address: Address) -> None:
    def call(number: int) -> float:
        try:
            spend(account(str(number)), Ledger(address), 0.3)
        except BudgetExceededError:
            return 0.0
        return 0.3

    with ThreadPoolExecutor(8) as threads:
        assert sum(threads.map(call, range(8))) == pytest.approx(0.9)


def test_the_limit_of_a_run_counts_what_it_has_spent_before(address: Address) -> None:
    ledger = Ledger(address)
    ledger.add(Account("run").entry("extract", "m", Usage(calls=1, cost_usd=0.5)))
    ledger.add(Account("another run").entry("extract", "m", Usage(calls=1, cost_usd=5)))
    one = Account("run", max_cost_usd=1.0)
    spend(one, ledger, 0.375)
    with pytest.raises(BudgetExceededError, match=r"of \$1 is used up: \$0.875 was spent .*raise llm.max_cost_usd"):
        spend(one, Ledger(address), 0.25)
    spend(Account("run"), ledger, 100.0)
    with pytest.raises(BudgetExceededError, match=r"\$100.9 was spent"):
        spend(one, ledger, 0.01)


KILLED = """
import os, sys
from pathlib import Path
from pydantic import SecretStr
from lightrag_dagster.spending.account import Account, Limit
from lightrag_dagster.spending.ledger import Ledger
from tests.spending.test_limits import account, spend
address = SecretStr(sys.argv[1]) if sys.argv[1].startswith("postgresql") else Path(sys.argv[1])
ledger = Ledger(address)
one = account("1")
spend(one, ledger, 0.5, 0.25)
assert ledger.reserve("killed", one, 0.5, 60.0) is None
os.kill(os.getpid(), 9)
"""


def test_what_a_killed_process_may_have_spent_counts(address: Address) -> None:
    text = address.get_secret_value() if isinstance(address, SecretStr) else str(address)
    root = str(Path(__file__).parents[2])
    ended = subprocess.run([sys.executable, "-c", KILLED, text], env={"PYTHONPATH": root}, check=False, timeout=60)
    assert ended.returncode == -9
    assert [limit.spent for limit in Ledger(address).limits(account("2"))] == [0.75, 0.75]
    assert Ledger(address).limits(Account("1", max_cost_usd=1.0)) == [Limit("run", 1.0, 0.75)]


def test_calls_without_an_entry_yet_are_a_row_of_their_own_and_batches_are_not(address: Address) -> None:
    ledger, one = Ledger(address), Account("1", "river")
    ledger.add(one.entry("extract", "m", Usage(calls=1, cost_usd=0.1)))
    ledger.reserve("batch", one, 0.4)
    ledger.reserve("killed", Account("2", "river"), 0.25, 60.0)
    ledger.settle("killed", 0.05)
    rows = ledger.costs(["source", "purpose"])
    assert [(row["purpose"], row["calls"], row["cost_usd"]) for row in rows] == [
        ("extract", 1, 0.1),
        ("set aside", 0, pytest.approx(0.2)),
    ]
    assert ledger.spent("1") == 0.1
    assert ledger.spent("2") == pytest.approx(0.2)
    assert ledger.entries()["purpose"].to_pylist() == ["extract", "set aside"]
    ledger.add(one.entry("extract", "m", Usage(calls=2, cost_usd=0.2)), reserved="killed")
    assert [row["calls"] for row in ledger.costs(["purpose"])] == [3]


def test_money_for_a_batch_is_set_aside_until_its_answers_are_entered(address: Address) -> None:
    ledger, one = Ledger(address), account("1")
    for batch in ("first", "second"):
        ledger.reserve(batch, Account("1", "river"), 0.4)
    ledger.add(one.entry("extract", "m", Usage(calls=1, cost_usd=0.1)), receipt="first", reserved="first")
    assert ledger.limits(one)[1].spent == pytest.approx(0.5)
    ledger.release_other_batches({"first"})
    assert ledger.limits(one)[1].spent == pytest.approx(0.1)


def test_a_batch_counts_for_the_day_and_the_month_in_which_it_was_prepared(
    address: Address, monkeypatch: pytest.MonkeyPatch
) -> None:
    now = [datetime(2026, 1, 31, 23, tzinfo=UTC).timestamp()]
    monkeypatch.setattr(time, "time", lambda: now[0])
    ledger, one = Ledger(address), account("1")
    ledger.reserve("batch", one, 0.75)
    assert [limit.spent for limit in ledger.limits(account("2", "office"))] == [0.75, 0.0]
    now[0] += 2 * 3600
    assert [limit.spent for limit in ledger.limits(account("2"))] == [0.0, 0.0]
    enter(one, ledger, 0.5, "batch")
    assert [limit.spent for limit in ledger.limits(account("2"))] == [0.0, 0.0]
    assert [(row["month"], row["cost_usd"]) for row in ledger.costs(["month"])] == [("2026-01", 0.5)]


def test_a_batch_is_no_call_whose_end_is_waited_for(address: Address) -> None:
    ledger, one = Ledger(address), account("1")
    assert ledger.reserve("batch", one, 0.25) is None
    assert ledger.reserve("model", one, 1.0, 60.0) == Limit("month", 1.0, 0.25, under_way=False)
    assert ledger.reserve("model", one, 0.5, 60.0) is None
    assert ledger.reserve("other", one, 0.5, 60.0) == Limit("month", 1.0, 0.75, under_way=True)

import pickle

from lightrag_dagster.core.protocols import Usage
from lightrag_dagster.settings import LLMSettings
from lightrag_dagster.spending.account import Account, Entry


def test_an_account_takes_the_limits_of_the_settings_and_goes_to_workers() -> None:
    settings = LLMSettings(max_cost_usd=1, max_cost_per_day_usd=2, max_cost_per_source_month_usd=3)
    account = Account.of("run", "river", settings)
    assert account == Account("run", "river", 1, 2, 3)
    assert account.limits == {"run": 1, "day": 2, "month": 3}
    assert pickle.loads(pickle.dumps(account)) == account


def test_what_belongs_to_no_source_has_no_limit_of_one() -> None:
    assert Account("run", max_cost_per_source_month_usd=3).limits == {}


def test_an_entry_holds_the_usage_of_a_step() -> None:
    usage = Usage(1, 2, 3, 4, 5, 6.0, 7, 8)
    assert Account("run", "notes").entry("embed", "m", usage) == Entry("run", "embed", "notes", "m", 1, 2, 3, 4, 5, 6.0)

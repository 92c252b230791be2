"""The account that model calls are billed to, and its limits."""

import time
from dataclasses import dataclass, fields, replace
from typing import NamedTuple

from lightrag_dagster.core.protocols import Usage
from lightrag_dagster.errors import BudgetExceededError
from lightrag_dagster.settings import LLMSettings

_PERIOD = {"run": "", "day": " a day", "month": " a source and month"}
_NEXT_STEPS = {
    "run": ("raise llm.max_cost_usd, or --max-cost where the command has it", ", and run again"),
    "day": ("raise llm.max_cost_per_day_usd", ", or run again after midnight UTC"),
    "month": ("raise llm.max_cost_per_source_month_usd", ", or run again next month, UTC"),
}


def today() -> int:
    """Return the day, UTC. Days since 1970."""
    return int(time.time() // 86_400)


def of_scope(scope: str) -> str:
    """Return what entries of a scope have as their source."""
    return f"@{scope}"


@dataclass(frozen=True)
class Entry:
    """One step's calls for a purpose: a role of the model, embed, or the table of a pass.

    `source` is empty for the knowledge base, and `@` with its name for a scope.
    """

    run: str
    purpose: str
    source: str
    model: str
    calls: int
    stored: int
    input_tokens: int
    cached_input_tokens: int
    output_tokens: int
    cost_usd: float
    cache_write_tokens: int = 0


COUNTED = tuple(field.name for field in fields(Entry)[4:])
"""The numbers of an entry, which are those of the usage of a model."""


@dataclass(frozen=True)
class Account:
    """The account of calls: a run, the source being ingested, and the limits that apply. US dollars.

    Any number of processes may have the same account. `dagster_run` is the id of the run of Dagster, if there is
    one: the command that started it may have started others. `purpose` is that of its entries, in place of the role of
    the model: the table of a pass.
    """

    run: str
    source: str = ""
    max_cost_usd: float | None = None
    max_cost_per_day_usd: float | None = None
    max_cost_per_source_month_usd: float | None = None
    dagster_run: str = ""
    purpose: str = ""

    @classmethod
    def of(cls, run: str, source: str, settings: LLMSettings, dagster_run: str = "") -> "Account":
        """Return an account with the limits of the settings."""
        names = ("max_cost_usd", "max_cost_per_day_usd", "max_cost_per_source_month_usd")
        return cls(run, source, **{name: getattr(settings, name) for name in names}, dagster_run=dagster_run)

    def within(self, scope: str) -> "Account":
        """Return the account of a scope's calls, whose entries have it as their source; this one without a scope."""
        return replace(self, source=of_scope(scope)) if scope else self

    @property
    def attributes(self) -> dict[str, str]:
        """Attributes of the spans of its calls."""
        named = {"dagster.run.id": self.dagster_run, "lightrag.run": self.run, "lightrag.source": self.source}
        return {name: value for name, value in named.items() if value}

    @property
    def limits(self) -> dict[str, float]:
        """The limits that apply, by what they bound: `run`, `day`, `month` of the source. US dollars."""
        limits = {"run": self.max_cost_usd, "day": self.max_cost_per_day_usd}
        if self.source:
            limits["month"] = self.max_cost_per_source_month_usd
        return {of: limit for of, limit in limits.items() if limit is not None}

    def entry(self, purpose: str, model: str, usage: Usage) -> Entry:
        """Return the ledger's entry for `usage`."""
        return Entry(
            self.run, self.purpose or purpose, self.source, model, **{name: getattr(usage, name) for name in COUNTED}
        )


class Limit(NamedTuple):
    """A limit of a `run`, a `day` or a source in a `month`, and the amount spent or set aside. US dollars.

    `under_way` is set if calls are running whose money may become free.
    """

    of: str
    usd: float
    spent: float
    under_way: bool = False

    def exceeded(self, worst: float) -> BudgetExceededError:
        """Return the error of a call that may cost `worst`."""
        why, (step, later) = f"is used up: ${self.spent:.4g} was spent and the next call", _NEXT_STEPS[self.of]
        if 0 < self.usd < worst and not self.spent:
            why = "is below one call: it"  # a message a cause: amounts are behind it
            later = "; a lower llm.max_output_tokens, part of the recipe, makes calls of the language model cheaper"
        error = BudgetExceededError(
            f"the budget of ${self.usd:.4g}{_PERIOD[self.of]} {why} may cost ${worst:.4g}; "
            f"all that was answered is kept, {step}{later}"
        )
        error.of = self.of
        return error

"""The account that model calls are billed to."""

from dataclasses import dataclass, field

from lightrag_dagster.core.protocols import Usage
from lightrag_dagster.spending.budget import Budget
from lightrag_dagster.spending.ledger import Entry, Ledger


@dataclass
class Account:
    """Who a call is billed to: a run, its budget in US dollars, and the source being ingested."""

    run: str
    source: str = ""
    max_cost_usd: float | None = None
    _budget: Budget | None = field(default=None, init=False, repr=False, compare=False)

    def budget(self, ledger: Ledger) -> Budget:
        """Return the budget of the run, one for all models that are opened on this account."""
        if self._budget is None:
            limit = self.max_cost_usd
            self._budget = Budget(limit, ledger.spent(self.run) if limit is not None else 0.0)
        return self._budget

    def entry(self, purpose: str, model: str, usage: Usage) -> Entry:
        """Return the ledger's entry for `usage`."""
        return Entry(
            run=self.run,
            purpose=purpose,
            source=self.source,
            model=model,
            calls=usage.calls,
            stored=usage.stored,
            input_tokens=usage.input_tokens,
            cached_input_tokens=usage.cached_input_tokens,
            output_tokens=usage.output_tokens,
            cost_usd=usage.cost_usd,
        )

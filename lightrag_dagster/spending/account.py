"""The account that model calls are billed to."""

from dataclasses import dataclass, field
from typing import TYPE_CHECKING
from uuid import uuid4

from lightrag_dagster.core.protocols import Usage
from lightrag_dagster.settings import LLMSettings
from lightrag_dagster.spending.budget import Budget

if TYPE_CHECKING:  # SQLAlchemy takes longer to import than a question may.
    from lightrag_dagster.spending.ledger import Ledger


@dataclass(frozen=True)
class Entry:
    """One step's calls for one purpose: extract, summarise, keywords, answer or embed. `source` may be empty."""

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


@dataclass
class Account:
    """Who a call is billed to: a run, the source being ingested, and the limits that hold. US dollars.

    `name` is that of the money which the ledger sets aside for calls of this account until they are entered.
    """

    run: str
    source: str = ""
    max_cost_usd: float | None = None
    max_cost_per_day_usd: float | None = None
    max_cost_per_source_usd: float | None = None
    name: str = field(default_factory=lambda: uuid4().hex, repr=False, compare=False)
    _budget: Budget | None = field(default=None, init=False, repr=False, compare=False)

    @classmethod
    def of(cls, run: str, source: str, settings: LLMSettings) -> "Account":
        """Return an account with the limits of the settings."""
        limits = (settings.max_cost_usd, settings.max_cost_per_day_usd, settings.max_cost_per_source_usd)
        return cls(run, source, *limits)

    def budget(self, ledger: "Ledger") -> Budget:
        """Return the budget of the run, one for all models that are opened on this account."""
        if self._budget is None:
            limit = self.max_cost_usd
            spent = ledger.spent(self.run) if limit is not None else 0.0
            self._budget = Budget(limit, spent, ledger.reservations(self) if self.reserved else None)
        return self._budget

    @property
    def reserved(self) -> str:
        """Name under which the ledger sets money aside; empty when no limit is shared with other runs."""
        shared = (self.max_cost_per_day_usd, self.max_cost_per_source_usd)
        return "" if shared == (None, None) else f"{self.name} {self.source}"

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

"""The gate before a backfill: gold passages by the new recipe first, beside the rows that are stored of them."""

from functools import partial
from typing import Any, NamedTuple

import pyarrow as pa

from lightrag_dagster.core.protocols import Usage
from lightrag_dagster.core.temporary import temporary_folder
from lightrag_dagster.errors import WorseRecipeError
from lightrag_dagster.evaluation.bootstrap import Interval
from lightrag_dagster.evaluation.gold.judged import Passages, find_passages, judge
from lightrag_dagster.evaluation.gold.rows import Gold, read_gold
from lightrag_dagster.evaluation.gold.scores import compare, score
from lightrag_dagster.evaluation.temporary import TemporaryHome
from lightrag_dagster.pipeline.situation import Situation
from lightrag_dagster.settings import Settings

LEAST_ROWS = 20
"""With fewer right gold rows nothing is compared."""


def too_few(gold: Gold) -> str:
    """Return a sentence that says there are too few gold rows."""
    return f"gold.folder has {gold.right:,} right rows in passages that are done, and a comparison takes {LEAST_ROWS}"


class Comparison(NamedTuple):
    """Gold passages as they are stored and by another recipe: rows of `judge`, and the difference of F1 over both."""

    before: pa.Table
    after: pa.Table
    difference: Interval
    usage: Usage

    @property
    def is_worse(self) -> bool:
        """True if the other recipe is worse by more than chance among the passages explains."""
        return self.difference.high < 0

    def facts(self) -> dict[str, Any]:
        """Return it for JSON, with the scores of both."""
        sides = {name: [one.facts() for one in score(getattr(self, name))] for name in ("before", "after")}
        return {**sides, "difference": self.difference._asdict(), "cost_usd": self.usage.cost_usd}

    def require_better(self) -> None:
        """Raise WorseRecipeError if the other recipe is worse."""
        if self.is_worse:
            mean, low, high, passages = self.difference
            raise WorseRecipeError(
                f"the new recipe is worse: over {passages:,} gold passages its F1 is {-mean:.3f} lower, by the 95% "
                f"interval {-high:.3f} to {-low:.3f}; nothing was changed, and its answers are stored; "
                "`lightrag-dagster try` shows both, and `backfill --no-better-than-stored` makes the rows all the same"
            )


def require_better(settings: Settings) -> None:
    """Make the gold passages by today's recipe, and raise WorseRecipeError if they are worse than the stored rows.

    With fewer than LEAST_ROWS gold rows nothing is asked. Raises as `try_gold`, too.
    """
    gold = read_gold(settings.gold.folder)
    if gold.right >= LEAST_ROWS:
        try_gold(Situation.looking(settings), settings, gold).require_better()


def to_ask(situation: Situation, gold: Gold) -> int:
    """Return how many gold passages have rows of another recipe than today's, so that the gate asks about them."""
    found = 0
    for source, rows in find_passages(situation, gold).tables.items():
        todays = situation.recipes.of_source(source).of_rows("extractions")
        found += sum(one != todays for one in rows["extractions"]["recipe"].to_pylist())
    return found


def try_gold(situation: Situation, tried: Settings, gold: Gold, passages: Passages | None = None) -> Comparison:
    """Make the gold passages by other settings, in a temporary home, and compare them with the stored rows.

    Models are asked through the stores of the real home, on its budget, so that a backfill reuses their answers.

    Raises:
        BudgetExceededError: a limit of spending is reached; the answers so far are stored.
        ProviderAccessError: no request can succeed until a person acts.
        StoreError: a table is damaged.
    """
    found = passages or find_passages(situation, gold)
    judged = partial(
        judge, gold, found.located, curation=situation.decided.curation, types=situation.settings.merging.types
    )
    with temporary_folder("lightrag-gold-") as folder:
        made = TemporaryHome(tried, folder)
        reports = [
            report
            for source, rows in found.tables.items()
            for report in made.ingest_all(source, rows["raw_documents"], rows["chunks"])
        ]
        usage = sum((one.usage for one in reports), Usage())
        before, after = judged(found.tables.values()), judged(made.rows(source) for source in found.tables)
    return Comparison(before, after, compare(before, after), usage)

"""The gate before a backfill: gold passages by the new recipe first, beside the rows that are stored of them."""

from collections import Counter
from collections.abc import Iterator, Mapping
from functools import partial
from typing import Any, NamedTuple

import pyarrow as pa
import pyarrow.compute as pc

from lightrag_dagster.core.identity import digest
from lightrag_dagster.core.protocols import Usage
from lightrag_dagster.core.temporary import temporary_folder
from lightrag_dagster.errors import TransientProviderError, WorseRecipeError
from lightrag_dagster.evaluation.bootstrap import Interval
from lightrag_dagster.evaluation.gold.judged import Passages, find_passages, judge
from lightrag_dagster.evaluation.gold.rows import Gold, gold_inputs, read_gold, require_passages
from lightrag_dagster.evaluation.gold.scores import LEAST_PASSAGES, compare, score
from lightrag_dagster.evaluation.sample import Tables
from lightrag_dagster.evaluation.temporary import TemporaryHome
from lightrag_dagster.pipeline.extractions import readings_of
from lightrag_dagster.pipeline.situation import Situation
from lightrag_dagster.settings import Settings
from lightrag_dagster.storage.database.looks import Looks
from lightrag_dagster.storage.home import Home

_LEAST_ROWS = 20

_TOO_FEW = (
    f"gold.folder has fewer than {_LEAST_ROWS} right rows in passages that are done and still are chunks, or has them "
    f"in fewer than {LEAST_PASSAGES}, so that nothing is compared; `lightrag-dagster gold draft FILE` draws more"
)

_LET_THROUGH = "gold.folder has let this recipe through before, so that nothing is compared again"


class Comparison(NamedTuple):
    """Gold passages as they are stored and by another recipe: rows of `judge`, and the difference of F1 over both.

    `verdicts` are the names by which the home notes that a backfill was let through.
    """

    before: pa.Table
    after: pa.Table
    difference: Interval
    usage: Usage
    verdicts: set[str]

    @property
    def is_worse(self) -> bool:
        """True if the other recipe is worse by more than chance among the passages explains."""
        return self.difference.high < 0

    def facts(self) -> dict[str, Any]:
        """Return it for JSON, with the scores of both."""
        sides = {name: [one.facts() for one in score(getattr(self, name))] for name in ("before", "after")}
        about = {"difference": self.difference.facts(), "unanswered": self.unanswered, "cost_usd": self.usage.cost_usd}
        return sides | about

    @property
    def unanswered(self) -> int:
        """The number of passages that are left out, since one of both had no answer for a reason that may pass."""
        return len(pc.unique(pa.concat_tables([self.before, self.after])["chunk"])) - self.difference.questions

    def require_better(self) -> None:
        """Let a backfill pass, unless the other recipe is worse.

        Raises:
            WorseRecipeError: it is.
            TransientProviderError: too few passages were answered, so that nothing can be said.
        """
        mean, low, high, passages = self.difference
        if passages < LEAST_PASSAGES:
            raise TransientProviderError(
                f"{passages:,} of {passages + self.unanswered:,} gold passages got an answer, and {LEAST_PASSAGES} "
                "are needed to say anything of the new recipe; run it again when the model answers"
            )
        if self.is_worse:
            raise WorseRecipeError(
                f"the new recipe is worse: over {passages:,} gold passages its F1 is {-mean:.3f} lower, by the 95% "
                f"interval {-high:.3f} to {-low:.3f}; its answers are stored, and nothing more was changed; "
                "`lightrag-dagster try` shows both, and the same backfill with --no-better-than-stored makes the rows"
            )


def let_through(settings: Settings, compared: Comparison) -> None:
    """Let a backfill pass and note that, for its other parts and those that resume it; raises as `require_better`."""
    compared.require_better()
    Looks(Home.of(settings).ledger).good(compared.verdicts)


def measured(settings: Settings, gold: Gold) -> Settings:
    """Return settings without the schemas of passes if no gold passage labels facts: no score would count theirs."""
    labels_facts = any("fact" in kinds for kinds in gold.passages.values())
    return settings if labels_facts else settings.changed(readings=None)


def to_compare(situation: Situation, gold: Gold, *, again: bool = False) -> Passages | str:
    """Return the gold passages, or why nothing is compared.

    There may be too little in them, or today's recipe was let through before, unless it is to be compared `again`.

    Raises:
        SettingsError: gold.gate is set, and no passage is done.
        StoreError: a table is damaged.
    """
    if situation.settings.gold.gate and not again:
        require_passages(gold, situation.settings.gold.folder)
    if not gold.passages:
        return _TOO_FEW
    found = find_passages(situation, gold)
    if lost := found.unmeasured():
        return lost[0]
    rows = found.right(gold)
    if len(rows) < _LEAST_ROWS or len({one.chunk for one in rows}) < LEAST_PASSAGES:
        return _TOO_FEW
    verdicts = set[str]() if again else _verdicts(situation, gold, found)
    return _LET_THROUGH if verdicts and verdicts <= Looks(situation.home.ledger).read().keys() else found


def to_ask(situation: Situation, gold: Mapping[str, Tables]) -> Counter[str]:
    """Return the number of gold passages with no rows of today's recipe, by the table of the answers to ask for.

    `gold` are the rows of their chunks by source, as `Passages` has them.
    """
    return Counter(table for table, stored, todays in _recipes(situation, gold) if stored != todays)


def _verdicts(situation: Situation, gold: Gold, found: Passages) -> set[str]:
    """Return the names of the verdict on today's recipe beside some gold: one for each recipe that it replaces there.

    They stand among the attempts at sources, of which none may have such a name.
    """
    same = gold_inputs("", gold)
    return {f"...gate {digest(same, *one)}" for one in _recipes(situation, found.tables) if one[1] != one[2]}


def _recipes(situation: Situation, gold: Mapping[str, Tables]) -> Iterator[tuple[str, str | None, str | None]]:
    """Yield each row of answers by its table, its recipe, None where there is no row yet, and that of today."""
    for source, rows in gold.items():
        recipes = situation.recipes.of_source(source)
        for table in (one.table for one in readings_of(recipes, source)):
            stored = rows[table]["recipe"].to_pylist() if table in rows else [None] * rows["chunks"].num_rows
            yield from ((table, one, recipes.row_recipe(table)) for one in stored)


def try_gold(settings: Settings, tried: Settings | None = None, run: str | None = None) -> Comparison | str:
    """Make the gold passages by other settings, in a temporary home, and compare them with the stored rows.

    Models are asked through the stores of the real home, on its budget, so that a backfill reuses their answers.

    Args:
        settings: The settings of the home, with its gold.
        tried: The other settings; None before a backfill by `settings`, which need not be compared twice.
        run: The run whose calls they are; else one of their own.

    Returns:
        The comparison, or why there is none.

    Raises:
        BudgetExceededError: a limit of spending is reached; the answers so far are stored.
        ProviderAccessError: no request can succeed until a person acts.
        SettingsError: a gold file cannot be read, or a backfill needs gold, and no passage is done.
        StoreError: a table is damaged.
    """
    gold = read_gold(settings.gold.folder)
    situation = Situation.looking(measured(settings, gold))
    found = to_compare(situation, gold, again=tried is not None)
    if isinstance(found, str):
        return found
    judged = partial(judge, gold, found.located, curation=situation.decided.curation, types=settings.merging.types)
    with temporary_folder("lightrag-gold-") as folder:
        made = TemporaryHome(measured(tried or settings, gold), folder, run)
        reports = [made.ingest_all(one, rows["raw_documents"], rows["chunks"]) for one, rows in found.tables.items()]
        usage = sum((one.usage for several in reports for one in several), Usage())
        before = judged(made.readable(source, rows) for source, rows in found.tables.items())
        after = judged(made.rows(source) for source in found.tables)
    return Comparison(before, after, compare(before, after), usage, _verdicts(situation, gold, found))

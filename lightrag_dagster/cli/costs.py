"""`costs`: the calls, tokens and dollars of a home, by month, source, purpose and model."""

from collections.abc import Sequence

from rich.console import Console

from lightrag_dagster.cli.tables import print_table
from lightrag_dagster.cli.terminal import print_json
from lightrag_dagster.settings import Settings, load_settings
from lightrag_dagster.spending.ledger import Ledger
from lightrag_dagster.spending.prices import price_of
from lightrag_dagster.storage.home import Home

_COUNTED = {
    "calls": "calls",
    "stored": "stored answers",
    "input_tokens": "input tokens",
    "cached_input_tokens": "of cache",
    "cache_write_tokens": "to cache",
    "output_tokens": "output tokens",
}
_FREE = "offline/", "local/"
"""Beginnings of the names of models that nothing is paid for."""


def show_costs(console: Console, by: Sequence[str], *, as_json: bool) -> None:
    """Print the costs, summed by some columns, and their total; raises StoreError, also if there is no home."""
    settings = load_settings()
    home = Home.existing(settings)
    ledger = Ledger(home.ledger)
    costs = ledger.costs(by)
    total = sum(row["cost_usd"] for row in costs)
    bought = [row for row in ledger.costs(["model"]) if row["calls"] and not row["model"].startswith(_FREE)]
    unpriced = [row["model"] for row in bought if not row["cost_usd"] and not _is_priced(settings, row["model"])]
    if as_json:
        print_json({"cost_usd": total, "unpriced": unpriced, "costs": costs})
        return
    if not costs:
        console.print(f"Nothing is booked in {home.name} yet; `batch` lists the answers that are still awaited.")
        return
    counted = [name for name in _COUNTED if "cache" not in name or any(row[name] for row in costs)]
    rows = [
        [*(row[name] or "(all)" for name in by), *(f"{row[name]:,}" for name in counted), f"${row['cost_usd']:,.4f}"]
        for row in costs
    ]
    sums = (f"{sum(row[name] for row in costs):,}" for name in counted)
    rows.append(["total", *([""] * (len(by) - 1)), *sums, f"${total:,.4f}"])
    headings = [*by, *map(_COUNTED.__getitem__, counted), "cost"]
    print_table(console, headings, rows, wrap={"source", "model"}, bold_last=True, keys=len(by))
    if unpriced:
        named = ", ".join(unpriced)
        console.print(f"No price is known of {named}, so it counts as $0; set llm.prices or embedding.prices")


def _is_priced(settings: Settings, model: str) -> bool:
    """Return True if the price of a model that was asked is known, which may be 0, also if another is asked today."""
    asked = {"model": model.partition("?")[0].removeprefix("openai/"), "provider": "openai"}  # of its identity
    return any(price_of(one.model_copy(update=asked)).known for one in (settings.llm, settings.embedding))

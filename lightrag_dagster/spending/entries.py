"""The schemas of the entries of a ledger and of their sums, for SQL."""

import pyarrow as pa

from lightrag_dagster.schemas import column, table

ENTRIES = table(
    column("date", pa.date32(), "Day of the calls, UTC; of a batch that on which it was prepared."),
    column("run", pa.string(), "The command, or the run of Dagster, that pays."),
    column("source", pa.string(), "Source of the calls; empty for those of the knowledge base."),
    column(
        "purpose",
        pa.string(),
        "extract, readings@PASS, summarise, embed and others; set aside: calls without an entry yet.",
    ),
    column("model", pa.string(), "Name of the model, with its parameters."),
    column("calls", pa.int64(), "Calls of the provider."),
    column("stored", pa.int64(), "Answers that were taken from the store instead."),
    column("input_tokens", pa.int64(), "What the calls took in. Tokens."),
    column("cached_input_tokens", pa.int64(), "What of it the provider had in its cache. Tokens."),
    column("output_tokens", pa.int64(), "What they put out. Tokens."),
    column("cost_usd", pa.float64(), "What they cost. US dollars."),
    column("cache_write_tokens", pa.int64(), "What of the input the provider wrote to its cache. Tokens."),
)
"""One row a step's calls for a purpose on a day, in the order in which they were added."""

COSTS = table(column("month", pa.string(), "Month of the entries, UTC, such as 2026-11."), *list(ENTRIES)[2:])
"""One row a month, source, purpose and model."""

"""What every materialisation reports: rows, schema, a preview and seconds."""

import html
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import dagster as dg
import pyarrow as pa

from lightrag_dagster.settings import Settings
from lightrag_dagster.spending.account import Account

COMMAND_TAG = "lightrag/command"
"""Run tag: what several runs that one command started have in common."""

KEEP_DRIFTED = {"lightrag/drift": "keep"}
"""Run tags of what follows changed files by itself: rows that today's prompts or settings would make otherwise stay.

A run without them, as a person starts it in the UI or by `dg launch`, brings what it makes up to date."""

OWNERS = ["team:data-platform"]
# One run at a time asks a language model, so that the limits of a run are those of the home.
LLM_POOL = "llm"
# One run at a time writes the stores; the builder's lock would make the others wait too, but in a running process.
WRITER_POOL = "writer"
_PREVIEW_ROWS = 5
_PREVIEW_CHARACTERS = 60

Metadata = dict[str, Any]


@dataclass
class Stopwatch:
    """Seconds since it was started, fixed when its block ends."""

    started: float
    seconds: float = 0.0


def account_of(context: dg.AssetExecutionContext, settings: Settings, source: str = "") -> Account:
    """Return on whose account a step makes its calls: the command's that started the run, else the run's own."""
    run = context.run.tags.get(COMMAND_TAG, context.run.run_id)
    return Account(run, source, settings.llm.max_cost_usd)


def keeps_drifted(context: dg.AssetExecutionContext, settings: Settings) -> bool:
    """Say whether this run leaves rows that have drifted as they are."""
    return settings.backfill == "manual" and KEEP_DRIFTED.items() <= context.run.tags.items()


def made_by(fingerprint: str) -> dict[str, str]:
    """Return the event tags that tell Dagster how a table was made, which after keeping rows is not the newest way."""
    return {"dagster/code_version": fingerprint}


@contextmanager
def stopwatch() -> Iterator[Stopwatch]:
    """Time a block."""
    watch = Stopwatch(time.perf_counter())
    try:
        yield watch
    finally:
        watch.seconds = round(time.perf_counter() - watch.started, 3)


def table_metadata(table: pa.Table, **more: Any) -> Metadata:
    """Return row count, column schema, a preview of the first rows, and whatever else is given."""
    return {
        "dagster/row_count": table.num_rows,
        "dagster/column_schema": column_schema(table.schema),
        "preview": dg.MetadataValue.md(preview(table)),
        **more,
    }


def column_schema(schema: pa.Schema) -> dg.TableSchema:
    """Return an Arrow schema as Dagster shows it, with the descriptions of the fields."""
    return dg.TableSchema(
        columns=[
            dg.TableColumn(
                name=field.name,
                type=str(field.type),
                description=(field.metadata or {}).get(b"description", b"").decode(),
                constraints=dg.TableColumnConstraints(nullable=field.nullable),
            )
            for field in schema
        ]
    )


def preview(table: pa.Table) -> str:
    """Return the first rows as a Markdown table; long values are cut."""
    lines = ["| " + " | ".join(table.column_names) + " |", "|" + " --- |" * table.num_columns]
    rows = table.slice(0, _PREVIEW_ROWS).to_pylist()
    lines += ["| " + " | ".join(_cell(value) for value in row.values()) + " |" for row in rows]
    return "\n".join(lines)


def counts(values: pa.ChunkedArray) -> Mapping[str, int]:
    """Return how often each value of a text column occurs."""
    return {str(item["values"]): int(item["counts"]) for item in values.value_counts().to_pylist()}


def _cell(value: object) -> str:
    text = " ".join(str("" if value is None else value).split())
    short = text if len(text) <= _PREVIEW_CHARACTERS else text[: _PREVIEW_CHARACTERS - 1] + "…"
    return html.escape(short, quote=False).replace("|", "\\|")  # else the UI takes <SEP> for a tag, and hides it

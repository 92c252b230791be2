"""The report on a benchmark, as Markdown: `python -m benchmarks.bench.report RESULTS.json`."""

import json
import sys
from collections.abc import Mapping
from pathlib import Path
from string import Template
from typing import Any

from benchmarks.bench.cells import (
    BYTES,
    COUNTS,
    Rows,
    beyond,
    by_operation,
    cell,
    cents,
    client,
    cpu,
    p50,
    p95,
    ratio,
    recall,
    seconds,
    table,
    where,
)
from benchmarks.bench.prices import EMBEDDED, TABLES
from benchmarks.bench.summary import growth, slow, summary

_TEMPLATE = Path(__file__).parent / "report.md"


def report(stored: Mapping[str, Any]) -> str:
    """Return the report on what a benchmark stored."""
    head = Template(_TEMPLATE.read_text("utf-8")).substitute(
        stored["machine"],
        others=stored["processors_busy_with_others"],
        lightrag=stored["versions"]["LightRAG"],
        ours=stored["versions"]["ours"],
        rounds=max(row["round"] for row in stored["operations"]),
        prices="; ".join(map(str, TABLES)),
        embedded=f"${EMBEDDED:g}",
        summary=summary(stored),
        plots=_plots(stored),
        **{name.lower() + "_settings": _settings(given) for name, given in stored["settings"].items()},
    )
    counts = dict.fromkeys(row["count"] for row in stored["operations"] if not row["latency"])
    return "\n".join([head, growth(stored), slow(stored), *(_section(count, stored) for count in counts)])


def _plots(stored: Mapping[str, Any]) -> str:
    return "\n".join(f"![{title}]({name})" for name, title in stored.get("plots", {}).items())


def _settings(given: Mapping[str, Any]) -> str:
    return ", ".join(f"`{name}` {value}" for name, value in given.items())


def _section(count: int, stored: Mapping[str, Any]) -> str:
    operations, questions, graphs = (
        [row for row in stored[name] if row["count"] == count and not row.get("latency")]
        for name in ("operations", "questions", "graphs")
    )
    made = dict.fromkeys(f"{row['system']} {row['entities']} and {row['relations']}" for row in graphs)
    parts = {
        f"## {count} passages": f"Entities and relations after all changes: {', '.join(made)}.",
        f"### Processor at {count}, seconds": _processor(operations),
        f"### Wall at {count}, seconds": _wall(operations),
        f"### Files and memory at {count}, megabytes": _bytes(operations),
        f"### Calls at {count}": _calls(operations),
        f"### US cents at {count}": _dollars(operations),
        f"### Questions at {count}, milliseconds": _questions(questions),
    }
    return "\n".join(f"{title}\n\n{text}\n" for title, text in parts.items())


def _processor(rows: Rows) -> str:
    return table(
        "operation | LightRAG: command | beyond imports | warm | its clients | ours: command | beyond imports"
        " | ratio: commands | beyond imports | warm to our command",
        (
            [
                operation,
                cell(theirs, cpu),
                cell(theirs, beyond),
                cell(warm, cpu),
                cell(warm or theirs, lambda row: row["clients"]),
                cell(ours, cpu),
                cell(ours, beyond),
                ratio(theirs, ours, cpu),
                ratio(theirs, ours, beyond),
                ratio(warm, ours, cpu),
            ]
            for operation, theirs, warm, ours in by_operation(rows)
        ),
    )


def _wall(rows: Rows) -> str:
    return table(
        "operation | LightRAG: command | warm | ours: command | ratio: commands | warm to our command",
        (
            [
                operation,
                *(cell(side, seconds) for side in (theirs, warm, ours)),
                ratio(theirs, ours, seconds),
                ratio(warm, ours, seconds),
            ]
            for operation, theirs, warm, ours in by_operation(rows)
        ),
    )


def _bytes(rows: Rows) -> str:
    return table(
        "operation | LightRAG: written | kept | memory | ours: written | kept | memory"
        " | ratio: written | kept | memory",
        (
            [
                operation,
                *(cell(side, value) for side in (theirs, ours) for value in BYTES),
                *(ratio(theirs, ours, value) for value in BYTES),
            ]
            for operation, theirs, _, ours in by_operation(rows)
        ),
    )


def _calls(rows: Rows) -> str:
    return table(
        "operation | LightRAG: calls | tokens in | cached | written | out | to embed: calls | texts | tokens"
        " | ours: calls | tokens in | cached | written | out | to embed: calls | texts | tokens",
        (
            [operation, *(cell(side, value) for side in (theirs, ours) for value in COUNTS)]
            for operation, theirs, _, ours in by_operation(rows)
        ),
    )


def _dollars(rows: Rows) -> str:
    return table(
        "operation, prices and rule | LightRAG | ours | ratio",
        (
            [
                f"{operation}, {prices.name}",
                *(cell(side, cents(prices)) for side in (warm or theirs, ours)),
                ratio(warm or theirs, ours, cents(prices)),
            ]
            for operation, theirs, warm, ours in by_operation(rows)
            for prices in TABLES
        ),
    )


def _questions(rows: Rows) -> str:
    lines = []
    for mode in dict.fromkeys(row["mode"] for row in rows):
        theirs, ours = (where(rows, mode=mode, system=system) for system in ("LightRAG", "ours"))
        lines.append(
            [
                f"`{mode}`",
                *(cell(theirs, value) for value in (p50, p95, client)),
                *(cell(ours, value) for value in (p50, p95)),
                ratio(theirs, ours, p50),
                ratio(theirs, ours, lambda row: p50(row) - client(row)),
                cell([row for row in theirs if row["recall"]], recall),
                cell([row for row in ours if row["recall"]], recall),
            ]
        )
    return table(
        "mode | LightRAG: p50 | p95 | its client | ours: p50 | p95 | ratio of p50 | without the client"
        " | recall: LightRAG | ours",
        lines,
    )


if __name__ == "__main__":
    print(report(json.loads(Path(sys.argv[1]).read_text("utf-8"))), end="")

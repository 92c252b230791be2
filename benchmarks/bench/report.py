"""The report on a benchmark, as Markdown: `python -m benchmarks.bench.report RESULTS.json`."""

import json
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from string import Template
from typing import Any

import numpy as np

from benchmarks.bench.results import CHAT_CALLS

Row = Mapping[str, Any]
Rows = Sequence[Row]
Value = Callable[[Row], float]

_TEMPLATE = Path(__file__).parent / "report.md"
_NONE = "–"
_MEGABYTE = 1e6


def report(stored: Mapping[str, Any]) -> str:
    """Return the report on what a benchmark stored."""
    head = Template(_TEMPLATE.read_text("utf-8")).substitute(
        stored["machine"],
        others=stored["processors_busy_with_others"],
        lightrag=stored["versions"]["LightRAG"],
        rounds=max(row["round"] for row in stored["operations"]),
        latency=f"{stored['latency'] * 1000:.0f} ms",
        **{name.lower() + "_settings": _settings(given) for name, given in stored["settings"].items()},
    )
    counts = dict.fromkeys(row["count"] for row in stored["operations"])
    return "\n".join([head, *(_section(count, stored) for count in counts)])


def spread(values: Sequence[float]) -> str:
    """Return the least, the median and the most of some numbers; once, if they look alike."""
    shown = [_number(one) for one in (min(values), float(np.median(values)), max(values))]
    return " – ".join(shown) if len(set(shown)) > 1 else shown[0]


def _settings(given: Mapping[str, Any]) -> str:
    return ", ".join(f"`{name}` {value}" for name, value in given.items())


def _section(count: int, stored: Mapping[str, Any]) -> str:
    operations, questions, graphs = (
        [row for row in stored[table] if row["count"] == count] for table in ("operations", "questions", "graphs")
    )
    made = dict.fromkeys(f"{row['system']} {row['entities']} and {row['relations']}" for row in graphs)
    parts = {
        f"## {count} passages": f"Entities and relations after all changes: {', '.join(made)}.",
        f"### Processor at {count}, seconds": _processor(operations),
        f"### Wall at {count}, seconds": _wall(operations),
        f"### Files and memory at {count}, megabytes": _bytes(operations),
        f"### Calls at {count}": _calls(operations),
        f"### Questions at {count}, milliseconds": _questions(questions),
    }
    return "\n".join(f"{title}\n\n{text}\n" for title, text in parts.items())


def _processor(rows: Rows) -> str:
    return _table(
        "operation | LightRAG: command | beyond imports | warm | its clients | ours: command | beyond imports"
        " | ratio: commands | beyond imports | warm to our command",
        (
            [
                operation,
                _cell(theirs, _cpu),
                _cell(theirs, _beyond),
                _cell(warm, _cpu),
                _cell(warm or theirs, lambda row: row["clients"]),
                _cell(ours, _cpu),
                _cell(ours, _beyond),
                _ratio(theirs, ours, _cpu),
                _ratio(theirs, ours, _beyond),
                _ratio(warm, ours, _cpu),
            ]
            for operation, theirs, warm, ours in _by_operation(rows)
        ),
    )


def _wall(rows: Rows) -> str:
    return _table(
        "operation | LightRAG: command | warm | ours: command | ratio: commands | warm to our command",
        (
            [
                operation,
                *(_cell(side, _seconds) for side in (theirs, warm, ours)),
                _ratio(theirs, ours, _seconds),
                _ratio(warm, ours, _seconds),
            ]
            for operation, theirs, warm, ours in _by_operation(rows)
        ),
    )


def _bytes(rows: Rows) -> str:
    return _table(
        "operation | LightRAG: written | kept | memory | ours: written | kept | memory"
        " | ratio: written | kept | memory",
        (
            [
                operation,
                *(_cell(side, value) for side in (theirs, ours) for value in _BYTES),
                *(_ratio(theirs, ours, value) for value in _BYTES),
            ]
            for operation, theirs, _, ours in _by_operation(rows)
        ),
    )


def _calls(rows: Rows) -> str:
    return _table(
        "operation | LightRAG: calls | tokens in | out | to embed: calls | texts | tokens"
        " | ours: calls | tokens in | out | to embed: calls | texts | tokens",
        (
            [operation, *(_cell(side, value) for side in (theirs, ours) for value in _COUNTS)]
            for operation, theirs, _, ours in _by_operation(rows)
        ),
    )


def _questions(rows: Rows) -> str:
    lines = []
    for mode in dict.fromkeys(row["mode"] for row in rows):
        theirs, ours = (_where(rows, mode=mode, system=system) for system in ("LightRAG", "ours"))
        lines.append(
            [
                f"`{mode}`",
                *(_cell(theirs, value) for value in (_p50, _p95, _client)),
                *(_cell(ours, value) for value in (_p50, _p95)),
                _ratio(theirs, ours, _p50),
                _ratio(theirs, ours, lambda row: _p50(row) - _client(row)),
            ]
        )
    return _table(
        "mode | LightRAG: p50 | p95 | its client | ours: p50 | p95 | ratio of p50 | without the client", lines
    )


def _by_operation(rows: Rows) -> Iterator[tuple[str, Rows, Rows, Rows]]:
    """Yield each operation, with LightRAG's commands, its warm process, and our commands."""
    for operation in dict.fromkeys(row["operation"] for row in rows):
        yield (
            operation,
            _where(rows, operation=operation, system="LightRAG", way="command"),
            _where(rows, operation=operation, system="LightRAG", way="warm"),
            _where(rows, operation=operation, system="ours", way="command"),
        )


def _where(rows: Rows, **values: str) -> Rows:
    return [row for row in rows if all(row[name] == value for name, value in values.items())]


def _cell(rows: Rows, value: Value) -> str:
    return spread([value(row) for row in rows]) if rows else _NONE


def _ratio(theirs: Rows, ours: Rows, value: Value) -> str:
    """Return LightRAG's number divided by ours, of each round in which both were measured."""
    of_round = {row["round"]: value(row) for row in ours}
    ratios = [value(row) / of_round[row["round"]] for row in theirs if of_round.get(row["round"])]
    return spread(ratios) if ratios else _NONE


def _table(head: str, lines: Iterator[list[str]] | list[list[str]]) -> str:
    columns = head.split(" | ")
    rule = ["---", *["---:"] * (len(columns) - 1)]
    return "\n".join(f"| {' | '.join(line)} |" for line in (columns, rule, *lines))


def _number(value: float) -> str:
    if value == int(value):
        return f"{int(value):,}"
    return f"{value:.2f}" if abs(value) < 10 else f"{value:.1f}" if abs(value) < 100 else f"{value:,.0f}"


def _seconds(row: Row) -> float:
    return float(row["cost"]["wall"])


def _cpu(row: Row) -> float:
    return float(row["cost"]["cpu"])


def _beyond(row: Row) -> float:
    return float(row["cost"]["cpu"] - (row["cost"]["imports"] or 0.0))


def _p50(row: Row) -> float:
    return float(np.median(row["milliseconds"]))


def _p95(row: Row) -> float:
    return float(np.percentile(row["milliseconds"], 95))


def _client(row: Row) -> float:
    """Return what making clients takes of a question, on average; ours makes none."""
    return float((row["clients"] or 0.0) / len(row["milliseconds"]))


_BYTES: tuple[Value, ...] = (
    lambda row: row["cost"]["written"] / _MEGABYTE,
    lambda row: row["kept"] / _MEGABYTE,
    lambda row: row["cost"]["peak"] / _MEGABYTE,
)

_COUNTS: tuple[Value, ...] = (
    lambda row: sum(row["counts"][kind] for kind in CHAT_CALLS),
    lambda row: row["counts"]["input_tokens"],
    lambda row: row["counts"]["output_tokens"],
    lambda row: row["counts"]["embed"],
    lambda row: row["counts"]["texts"],
    lambda row: row["counts"]["embedded_tokens"],
)


if __name__ == "__main__":
    print(report(json.loads(Path(sys.argv[1]).read_text("utf-8"))), end="")

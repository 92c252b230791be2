"""The cells of the report's tables: numbers of rows, and ratios of both systems."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from benchmarks.bench.prices import TABLES, PriceTable
from benchmarks.bench.results import CHAT_CALLS

Row = Mapping[str, Any]
Rows = Sequence[Row]
Value = Callable[[Row], float]

NONE = "–"
MEGABYTE = 1e6


def spread(values: Sequence[float]) -> str:
    """Return the least, the median and the most of some numbers; once, if they look alike."""
    shown = [number(one) for one in (min(values), float(np.median(values)), max(values))]
    return " – ".join(shown) if len(set(shown)) > 1 else shown[0]


def by_operation(rows: Rows) -> Iterator[tuple[str, Rows, Rows, Rows]]:
    """Yield each operation, with LightRAG's commands, its warm process, and our commands."""
    for operation in dict.fromkeys(row["operation"] for row in rows):
        yield (
            operation,
            where(rows, operation=operation, system="LightRAG", way="command"),
            where(rows, operation=operation, system="LightRAG", way="warm"),
            where(rows, operation=operation, system="ours", way="command"),
        )


def where(rows: Rows, **values: object) -> Rows:
    return [row for row in rows if all(row[name] == value for name, value in values.items())]


def cell(rows: Rows, value: Value) -> str:
    return spread([value(row) for row in rows]) if rows else NONE


def ratio(theirs: Rows, ours: Rows, value: Value) -> str:
    """Return LightRAG's number divided by ours, of each round in which both were measured."""
    of_round = {row["round"]: value(row) for row in ours}
    ratios = [value(row) / of_round[row["round"]] for row in theirs if of_round.get(row["round"])]
    return spread(ratios) if ratios else NONE


def table(head: str, lines: Iterable[list[str]]) -> str:
    columns = head.split(" | ")
    rule = ["---", *["---:"] * (len(columns) - 1)]
    return "\n".join(f"| {' | '.join(line)} |" for line in (columns, rule, *lines))


def number(value: float) -> str:
    if value == int(value):
        return f"{int(value):,}"
    return f"{value:.2f}" if abs(value) < 10 else f"{value:.1f}" if abs(value) < 100 else f"{value:,.0f}"


def seconds(row: Row) -> float:
    return float(row["cost"]["wall"])


def cpu(row: Row) -> float:
    return float(row["cost"]["cpu"])


def beyond(row: Row) -> float:
    return float(row["cost"]["cpu"] - (row["cost"]["imports"] or 0.0))


def written(row: Row) -> float:
    return float(row["cost"]["written"])


def price(row: Row) -> float:
    """Return the dollars by the newest rule."""
    return TABLES[-1].dollars(row["counts"])


def cents(prices: PriceTable) -> Value:
    return lambda row: prices.dollars(row["counts"]) * 100


def recall(row: Row) -> float:
    return float(np.mean(row["recall"]))


def p50(row: Row) -> float:
    return float(np.median(row["milliseconds"]))


def p95(row: Row) -> float:
    return float(np.percentile(row["milliseconds"], 95))


def client(row: Row) -> float:
    """Return what making clients takes of a question, on average; ours makes none."""
    return float((row["clients"] or 0.0) / len(row["milliseconds"]))


BYTES: tuple[Value, ...] = (
    lambda row: row["cost"]["written"] / MEGABYTE,
    lambda row: row["kept"] / MEGABYTE,
    lambda row: row["cost"]["peak"] / MEGABYTE,
)

COUNTS: tuple[Value, ...] = (
    lambda row: sum(row["counts"][kind] for kind in CHAT_CALLS),
    lambda row: row["counts"]["input_tokens"],
    lambda row: row["counts"]["cached_explicit"],
    lambda row: row["counts"]["written_explicit"],
    lambda row: row["counts"]["output_tokens"],
    lambda row: row["counts"]["embed"],
    lambda row: row["counts"]["texts"],
    lambda row: row["counts"]["embedded_tokens"],
)

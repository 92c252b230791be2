"""The parts of the report that compare counts and trials: ratios at the most passages, growth, and a slow server."""

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from benchmarks.bench.cells import (
    NONE,
    Rows,
    Value,
    cell,
    cpu,
    number,
    p50,
    price,
    ratio,
    seconds,
    table,
    where,
    written,
)
from benchmarks.bench.changes import INDEX
from benchmarks.bench.results import CHAT_CALLS

_VALUES: Mapping[str, Value] = {"processor": cpu, "wall": seconds, "written": written}


def summary(stored: Mapping[str, Any]) -> str:
    """Return the ratios at the most passages: LightRAG's number divided by ours."""
    rows = where(stored["operations"], latency=0.0)
    most = max(row["count"] for row in rows)
    at, asked = where(rows, count=most), where(stored["questions"], count=most)
    lines = [
        [
            f"{operation}{', LightRAG warm' if way == 'warm' else ''}",
            *(ratio(theirs, ours, value) for value in (*_VALUES.values(), price)),
        ]
        for operation in dict.fromkeys(row["operation"] for row in at)
        for way in ("command", "warm")
        if (theirs := where(at, operation=operation, system="LightRAG", way=way))
        and (ours := where(at, operation=operation, system="ours"))
    ]
    operations = table(f"at {most} passages | processor | wall | written | dollars", lines)
    return f"{operations}\n\n{table('questions | ratio of p50', _modes(asked))}"


def growth(stored: Mapping[str, Any]) -> str:
    """Return the exponents of growth: the slope of the logarithm of a number over that of the passages."""
    rows = where(stored["operations"], latency=0.0)
    if len({row["count"] for row in rows}) < 2:
        return ""
    lines = [
        [operation, *(_exponent(of_it, value) for of_it in sides for value in _VALUES.values())]
        for operation in dict.fromkeys(row["operation"] for row in rows)
        for sides in [_both(where(rows, operation=operation, way="command"))]
    ]
    head = "exponent | LightRAG: processor | wall | written | ours: processor | wall | written"
    return f"## Growth\n\n{table(head, lines)}\n"


def slow(stored: Mapping[str, Any]) -> str:
    """Return what an index takes from a server with latency, beside the same from one without."""
    every = where(stored["operations"], operation=INDEX, way="command")
    late = [row for row in every if row["latency"]]
    if not late:
        return ""
    count = late[0]["count"]
    lines = [
        [
            f"{latency * 1000:g} ms",
            *(cell(side, value) for side in sides for value in (seconds, cpu)),
            *(ratio(*sides, value) for value in (seconds, cpu)),
            cell(sides[1], lambda row: _floor(row, stored)),
        ]
        for latency in (0.0, late[0]["latency"])
        for sides in [_both(where(every, count=count, latency=latency))]
    ]
    head = "latency | LightRAG: wall | processor | ours: wall | processor | ratio: wall | processor | our floor"
    return f"## Index of {count} passages with latency, seconds\n\n{table(head, lines)}\n"


def _modes(asked: Rows) -> Iterator[list[str]]:
    """Yield each mode that both have; `fusion`, which LightRAG has not, beside its `mix`."""
    for theirs, ours in [*((mode, mode) for mode in dict.fromkeys(row["mode"] for row in asked)), ("mix", "fusion")]:
        sides = where(asked, mode=theirs, system="LightRAG"), where(asked, mode=ours, system="ours")
        if all(sides):
            title = f"`{ours}`" if theirs == ours else f"our `{ours}`, its `{theirs}`"
            yield [title, ratio(*sides, p50)]


def _both(rows: Rows) -> tuple[Rows, Rows]:
    return where(rows, system="LightRAG"), where(rows, system="ours")


def _exponent(rows: Rows, value: Value) -> str:
    counts = sorted({row["count"] for row in rows})
    medians = [float(np.median([value(row) for row in where(rows, count=count)])) for count in counts]
    if len(counts) < 2 or min(medians) <= 0:
        return NONE
    slope = np.polyfit(np.log(counts), np.log(medians), 1)[0]
    return number(round(float(slope), 2) + 0.0)


def _floor(row: Mapping[str, Any], stored: Mapping[str, Any]) -> float:
    """Return the seconds that calls take when as many as may be are always under way."""
    calls = sum(row["counts"][kind] for kind in CHAT_CALLS)
    return float(calls * row["latency"] / stored["concurrency"])

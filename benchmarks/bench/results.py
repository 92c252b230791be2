"""The results of a benchmark, as they are stored: a row for each operation, and one for the questions of each mode."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, Literal

from benchmarks.bench.measuring import Cost
from benchmarks.bench.prefixes import RULES

SystemName = Literal["LightRAG", "ours"]
CHAT_CALLS = ("extract", "glean", "summarise")
CACHED = tuple(f"{what}_{rule}" for rule in RULES for what in ("cached", "written"))
COUNTS = (*CHAT_CALLS, "embed", "texts", "input_tokens", *CACHED, "output_tokens", "embedded_tokens")
"""What the server counts: calls by kind, texts embedded, and tokens by o200k_base; the input has the cached ones.

Which of them are cached, and written to the cache, is counted by each rule.
"""
Way = Literal["command", "warm"]
"""A command starts a process and ends it; warm is a process that has the knowledge base open already."""


@dataclass(frozen=True)
class Trial:
    """A sequence of operations on `count` passages; `round` counts from 1 how often it is run.

    The server responds after `latency` seconds.
    """

    count: int
    round: int
    operations: Sequence[str]
    modes: Sequence[str]
    latency: float = 0.0


@dataclass(frozen=True)
class Operation:
    """The cost of an operation; `kept` is the bytes of all files after it, `counts` what the server counted.

    `clients` is the part of the processor's time in which LightRAG made clients of the server, a new one for each call.
    """

    system: SystemName
    count: int
    round: int
    operation: str
    way: Way
    cost: Cost
    kept: int
    counts: Mapping[str, int]
    clients: float | None = None
    latency: float = 0.0


@dataclass(frozen=True)
class Asked:
    """The milliseconds of questions in one mode, in a process that has asked before.

    `chunks` is how many each of them found, `clients` the milliseconds of all in which LightRAG made clients. `recall`
    has a number for each question with a supporting document in the index: the part of these in its first five chunks.
    """

    system: SystemName
    count: int
    round: int
    mode: str
    milliseconds: Sequence[float]
    chunks: Sequence[int]
    recall: Sequence[float]
    counts: Mapping[str, int]
    clients: float | None = None


@dataclass(frozen=True)
class Made:
    """The graph after all changes."""

    system: SystemName
    count: int
    round: int
    entities: int
    relations: int


Result = Operation | Asked | Made


def as_rows(results: Sequence[Result]) -> dict[str, list[dict[str, Any]]]:
    """Return results as tables."""
    tables: dict[str, list[dict[str, Any]]] = {"operations": [], "questions": [], "graphs": []}
    names = {Operation: "operations", Asked: "questions", Made: "graphs"}
    for result in results:
        tables[names[type(result)]].append(asdict(result))
    return tables


def as_json(stored: Mapping[str, Any]) -> str:
    """Return what is stored as JSON: a line for each row of a table, and numbers with four decimals."""
    short = json.loads(json.dumps(stored), parse_float=lambda number: round(float(number), 4))
    parts = (f'"{name}": {_lines(value)}' for name, value in short.items())
    return "{\n" + ",\n".join(parts) + "\n}\n"


def _lines(value: object) -> str:
    return "[\n" + ",\n".join(map(json.dumps, value)) + "\n]" if isinstance(value, list) else json.dumps(value)

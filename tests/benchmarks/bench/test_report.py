"""The report on stored results."""

import json
from typing import Any

import pytest

from benchmarks.bench.cells import spread
from benchmarks.bench.prices import TABLES
from benchmarks.bench.report import report
from benchmarks.bench.results import as_json
from benchmarks.bench.summary import growth, slow

COUNTS = {
    "extract": 3,
    "glean": 3,
    "summarise": 1,
    "embed": 2,
    "texts": 10,
    "input_tokens": 1234,
    "cached_prefix": 1024,
    "written_prefix": 0,
    "cached_implicit": 0,
    "written_implicit": 1234,
    "cached_explicit": 1000,
    "written_explicit": 100,
    "output_tokens": 50,
    "embedded_tokens": 60,
}


def operation(system: str, number: int, way: str, cpu: float, imports: float | None) -> dict[str, Any]:
    cost = {
        "wall": cpu + 1,
        "cpu": cpu,
        "imports": imports,
        "written": 8_000_000 if system == "LightRAG" else 2_000_000,
        "peak": 300_000_000,
    }
    return {
        "system": system,
        "count": 100,
        "round": number,
        "operation": "edit one",
        "way": way,
        "cost": cost,
        "kept": 4_000_000,
        "counts": COUNTS,
        "clients": 0.5 if system == "LightRAG" else None,
        "latency": 0.0,
    }


def stored(*systems: str) -> dict[str, Any]:
    operations = [operation("ours", number, "command", 2.0, 1.0) for number in (1, 2, 3)]
    if "LightRAG" in systems:
        operations += [operation("LightRAG", number, "command", number * 4.0, 2.0) for number in (1, 2, 3)]
        operations += [operation("LightRAG", number, "warm", 1.0, None) for number in (1, 2, 3)]
    asked = {"count": 100, "round": 1, "mode": "mix", "chunks": [5, 5], "recall": [1.0, 0.5], "counts": COUNTS}
    times = {"LightRAG": ([40.0, 50.0], 20.0), "ours": ([9.0, 9.0], None)}
    return {
        "machine": {
            "processors": 2,
            "model": "a processor",
            "memory_gb": 8,
            "system": "Linux",
            "python": "3.11.7",
            "file_system": "tmpfs",
        },
        "processors_busy_with_others": 0.25,
        "versions": {"LightRAG": "1.5.7", "ours": "0.1.0"},
        "settings": {
            "LightRAG": {"max_parallel_insert": 10},
            "ours": {"LIGHTRAG_LLM__PROVIDER": "openai", "LIGHTRAG_LLM__MODEL": "gpt-4o-mini"},
        },
        "concurrency": 4,
        "operations": operations,
        "questions": [
            asked | {"system": system, "milliseconds": times[system][0], "clients": times[system][1]}
            for system in systems
        ],
        "graphs": [{"system": system, "count": 100, "round": 1, "entities": 7, "relations": 6} for system in systems],
    }


def line(text: str, begin: str, number: int = 0) -> list[str]:
    """Return the cells of a line of a table that begins so."""
    lines = [line for line in text.splitlines() if line.startswith(f"| {begin} |")]
    return [cell.strip() for cell in lines[number].strip("|").split("|")][1:]


def test_each_cell_has_the_least_the_median_and_the_most() -> None:
    text = report(stored("LightRAG", "ours"))
    assert line(text, "edit one", 1) == [
        *("4 – 8 – 12", "2 – 6 – 10", "1", "0.50", "2", "1"),  # the processor: both systems
        *("2 – 4 – 6", "2 – 6 – 10", "0.50"),  # and LightRAG's numbers divided by ours
    ]
    assert line(text, "edit one", 2) == ["5 – 9 – 13", "2", "3", "1.67 – 3 – 4.33", "0.67"]
    assert line(text, "edit one", 3) == ["8", "4", "300", "2", "4", "300", "4", "1", "1"]
    assert line(text, "edit one", 4) == ["7", "1,234", "1,000", "100", "50", "2", "10", "60"] * 2
    assert line(text, "edit one, gpt-6-luna, implicit breakpoint")[2] == "1"
    assert line(text, "`mix`", 1) == ["45", "49.5", "10", "9", "9", "5", "3.89", "0.75", "0.75"]


def test_conditions_are_stated() -> None:
    text = report(stored("LightRAG", "ours"))
    assert "LightRAG 1.5.7 and this package (0.1.0) get" in text
    assert "2 processors (a processor), 8 GB, Linux, Python 3.11.7; homes on tmpfs" in text
    assert "`max_parallel_insert` 10" in text
    assert "`LIGHTRAG_LLM__PROVIDER` openai" in text
    assert "LightRAG 7 and 6, ours 7 and 6" in text


def test_a_system_that_was_not_measured_is_left_empty() -> None:
    assert line(report(stored("ours")), "edit one") == ["–"] * 4 + ["2", "1"] + ["–"] * 3


def test_numbers_have_three_digits() -> None:
    assert spread([0.123456, 12.3456, 12345.6]) == "0.12 – 12.3 – 12,346"
    assert spread([5.0, 5.0, 5.0]) == "5"
    assert spread([1.001, 1.002]) == "1.00"


def test_results_are_stored_with_a_row_a_line() -> None:
    results = stored("LightRAG", "ours")
    text = as_json(results | {"concurrency": 0.123456})
    assert json.loads(text) == results | {"concurrency": 0.1235}
    assert len(text.splitlines()) == 2 + len(results) + sum(
        len(value) + 1 for value in results.values() if isinstance(value, list)
    )


def test_the_summary_has_the_ratios_at_the_most_passages() -> None:
    text = report(stored("LightRAG", "ours"))
    assert line(text, "edit one, LightRAG warm") == ["0.50", "0.67", "4", "1"]


def test_growth_is_the_slope_on_logarithmic_axes() -> None:
    results = stored("LightRAG", "ours")
    twice = [
        one | {"count": 200, "cost": one["cost"] | {"cpu": one["cost"]["cpu"] * 4}} for one in results["operations"]
    ]
    text = growth(results | {"operations": results["operations"] + twice})
    assert line(text, "edit one") == ["2", "0", "0", "2", "0", "0"]


def test_a_slow_server_stands_beside_a_fast_one_with_the_time_that_calls_take() -> None:
    results = stored("LightRAG", "ours")
    fast = [one | {"operation": "index"} for one in results["operations"]]
    late = [one | {"latency": 0.2, "cost": one["cost"] | {"wall": 6.0}} for one in fast]
    text = slow(results | {"operations": fast + late})
    assert line(text, "0 ms")[2:5] == ["3", "2", "1.67 – 3 – 4.33"]
    assert line(text, "200 ms") == ["6", "4 – 8 – 12", "6", "2", "1", "2 – 4 – 6", "0.35"]


def test_cached_input_is_cheaper_and_written_input_dearer() -> None:
    paid = [table.dollars(COUNTS) * 1e6 - 60 * 0.02 for table in TABLES]
    assert paid == pytest.approx(
        [
            210 * 0.15 + 1024 * 0.075 + 50 * 0.6,
            210 * 0.1 + 1024 * 0.01 + 50 * 0.5,
            1234 * 0.125 + 50 * 0.5,
            134 * 0.1 + 1000 * 0.01 + 100 * 0.125 + 50 * 0.5,
        ]
    )

"""The report on stored results."""

import json
from typing import Any

from benchmarks.bench.report import report, spread
from benchmarks.bench.results import as_json

COUNTS = {
    "extract": 3,
    "glean": 3,
    "summarise": 1,
    "embed": 2,
    "texts": 10,
    "input_tokens": 1234,
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
    }


def stored(*systems: str) -> dict[str, Any]:
    operations = [operation("ours", number, "command", 2.0, 1.0) for number in (1, 2, 3)]
    if "LightRAG" in systems:
        operations += [operation("LightRAG", number, "command", number * 4.0, 2.0) for number in (1, 2, 3)]
        operations += [operation("LightRAG", number, "warm", 1.0, None) for number in (1, 2, 3)]
    asked = {"count": 100, "round": 1, "mode": "mix", "chunks": [5, 5], "counts": COUNTS}
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
        "settings": {"LightRAG": {"max_parallel_insert": 10}, "ours": {"LIGHTRAG_LLM__PROVIDER": "openai"}},
        "latency": 0.2,
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
    assert line(text, "edit one") == [
        *("4 – 8 – 12", "2 – 6 – 10", "1", "0.50", "2", "1"),  # the processor: both systems
        *("2 – 4 – 6", "2 – 6 – 10", "0.50"),  # and LightRAG's numbers divided by ours
    ]
    assert line(text, "edit one", 1) == ["5 – 9 – 13", "2", "3", "1.67 – 3 – 4.33", "0.67"]
    assert line(text, "edit one", 2) == ["8", "4", "300", "2", "4", "300", "4", "1", "1"]
    assert line(text, "edit one", 3) == ["7", "1,234", "50", "2", "10", "60"] * 2
    assert line(text, "`mix`") == ["45", "49.5", "10", "9", "9", "5", "3.89"]


def test_conditions_are_stated() -> None:
    text = report(stored("LightRAG", "ours"))
    assert "2 processors (a processor), 8 GB, Linux, Python 3.11.7; homes on tmpfs" in text
    assert "`max_parallel_insert` 10" in text
    assert "`LIGHTRAG_LLM__PROVIDER` openai" in text
    assert "responds after 200 ms" in text
    assert "LightRAG 7 and 6, ours 7 and 6" in text


def test_a_system_that_was_not_measured_is_left_empty() -> None:
    assert line(report(stored("ours")), "edit one") == ["–"] * 4 + ["2", "1"] + ["–"] * 3


def test_numbers_have_three_digits() -> None:
    assert spread([0.123456, 12.3456, 12345.6]) == "0.12 – 12.3 – 12,346"
    assert spread([5.0, 5.0, 5.0]) == "5"
    assert spread([1.001, 1.002]) == "1.00"


def test_results_are_stored_with_a_row_a_line() -> None:
    results = stored("LightRAG", "ours")
    text = as_json(results | {"latency": 0.123456})
    assert json.loads(text) == results | {"latency": 0.1235}
    assert len(text.splitlines()) == 2 + len(results) + sum(
        len(value) + 1 for value in results.values() if isinstance(value, list)
    )

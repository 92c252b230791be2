"""The benchmark beside LightRAG itself, with a few passages."""

import json
from pathlib import Path
from typing import Any

import pytest

from benchmarks.bench.__main__ import main
from benchmarks.bench.changes import CHANGES, NOTHING
from benchmarks.bench.ours import GC, MODES, QUERY, Ours, settings_of
from benchmarks.bench.questions import FIRST
from benchmarks.bench.results import CHAT_CALLS, Made, Operation, Trial
from benchmarks.bench.server import serving


@pytest.mark.long
def test_ours_is_measured(tmp_path: Path) -> None:
    with serving(3, dimensions=256) as server:
        side = Ours(server, settings_of(dimensions=256, concurrency=4))
        results = list(side.measure(Trial(2, 1, [], []), tmp_path))
    (first,) = (one for one in results if isinstance(one, Operation))
    assert first.operation == "index"
    assert [first.counts[name] for name in CHAT_CALLS] == [2, 2, 0]
    assert first.counts["texts"] > first.counts["embed"] > 0
    assert first.cost.cpu > (first.cost.imports or 0) > 0
    assert first.cost.written > first.kept > 0
    (made,) = (one for one in results if isinstance(one, Made))
    assert made.entities > made.relations > 0


@pytest.mark.long
def test_both_make_the_same_graph_of_the_same_responses(tmp_path: Path) -> None:
    main(["--count", "10", "--rounds", "1", "--slow-count", "10", "--dimensions", "256", "--output", str(tmp_path)])
    stored = json.loads((tmp_path / "lightrag.json").read_text())
    rows = {(row["system"], row["way"], row["operation"]): row for row in stored["operations"] if not row["latency"]}
    assert set(rows) == {
        ("LightRAG", "command", "index"),
        ("ours", "command", "index"),
        ("ours", "command", GC),
        ("ours", "command", FIRST),
        ("ours", "command", QUERY),
        ("LightRAG", "command", FIRST),
        *(("LightRAG", way, operation) for way in ("command", "warm") for operation in CHANGES),
        *(("ours", "command", operation) for operation in CHANGES),
    }
    assert all(calls(row) == 0 for key, row in rows.items() if key[2] in (NOTHING, GC))
    assert all(rows[side, "command", FIRST]["counts"]["embed"] for side in ("LightRAG", "ours"))
    for operation in ("index", *CHANGES):
        theirs, ours = rows["LightRAG", "command", operation], rows["ours", "command", operation]
        assert theirs["counts"]["extract"] == ours["counts"]["extract"], operation
        assert theirs["counts"]["output_tokens"] == ours["counts"]["output_tokens"], operation
        assert theirs["cost"]["written"] > 0
    made = {(row["system"], row["count"]): (row["entities"], row["relations"]) for row in stored["graphs"]}
    assert made["LightRAG", 10] == made["ours", 10]
    asked = {(row["system"], row["mode"]): row for row in stored["questions"]}
    assert len(asked["ours", "naive"]["milliseconds"]) == asked["ours", "naive"]["counts"]["embed"] == 30
    assert asked["LightRAG", "naive"]["recall"] == asked["ours", "naive"]["recall"] != []
    chunks = {(row["system"], row["mode"]): row["chunks"] for row in stored["questions"]}
    assert set(chunks) == {
        *(("ours", mode) for mode in MODES),
        *(("LightRAG", mode) for mode in ("naive", "local", "global", "hybrid", "mix")),
    }
    assert chunks["LightRAG", "naive"] == chunks["ours", "naive"]
    assert "| edit one |" in (tmp_path / "lightrag.md").read_text()


def calls(row: dict[str, Any]) -> int:
    return sum(row["counts"][name] for name in (*CHAT_CALLS, "embed"))

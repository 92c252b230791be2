"""The benchmark beside LightRAG itself, with a few passages."""

import json
from pathlib import Path
from typing import Any

import pytest

from benchmarks.bench.__main__ import main
from benchmarks.bench.changes import CHANGES, NOTHING
from benchmarks.bench.environment import InstallError, lightrag_python
from benchmarks.bench.ours import GC, MODES, Ours, settings_of
from benchmarks.bench.results import CHAT_CALLS, Asked, Made, Operation, Trial
from benchmarks.bench.server import serving


def test_ours_is_measured(tmp_path: Path) -> None:
    with serving(4, dimensions=256) as server:
        side = Ours(server, settings_of(dimensions=256, concurrency=4))
        results = list(side.measure(Trial(3, 1, [], ["naive"]), tmp_path))
    first, removed = (one for one in results if isinstance(one, Operation))
    assert [one.operation for one in (first, removed)] == ["index", GC]
    assert [first.counts[name] for name in CHAT_CALLS] == [3, 3, 0]
    assert first.counts["texts"] > first.counts["embed"] > 0
    assert not any(removed.counts.values())
    assert first.cost.cpu > (first.cost.imports or 0) > 0
    assert first.cost.written > removed.cost.written
    assert first.kept > 0
    (asked,) = (one for one in results if isinstance(one, Asked))
    assert len(asked.milliseconds) == asked.counts["embed"] == 30
    assert set(asked.chunks) == {3}
    (made,) = (one for one in results if isinstance(one, Made))
    assert made.entities > made.relations > 10


@pytest.mark.long
def test_both_make_the_same_graph_of_the_same_responses(tmp_path: Path) -> None:
    try:
        lightrag_python()
    except InstallError as error:
        pytest.skip(str(error))
    main(["--count", "10", "--rounds", "1", "--dimensions", "256", "--output", str(tmp_path)])
    stored = json.loads((tmp_path / "lightrag.json").read_text())
    rows = {(row["system"], row["way"], row["operation"]): row for row in stored["operations"]}
    assert set(rows) == {
        ("LightRAG", "command", "index"),
        ("ours", "command", "index"),
        ("ours", "command", GC),
        *(("LightRAG", way, operation) for way in ("command", "warm") for operation in CHANGES),
        *(("ours", "command", operation) for operation in CHANGES),
    }
    assert all(calls(row) == 0 for key, row in rows.items() if key[2] in (NOTHING, GC))
    for operation in ("index", *CHANGES):
        theirs, ours = rows["LightRAG", "command", operation], rows["ours", "command", operation]
        assert theirs["counts"]["extract"] == ours["counts"]["extract"], operation
        assert theirs["counts"]["output_tokens"] == ours["counts"]["output_tokens"], operation
        assert theirs["cost"]["written"] > 0
    theirs, ours = stored["graphs"]
    assert (theirs["entities"], theirs["relations"]) == (ours["entities"], ours["relations"])
    chunks = {(row["system"], row["mode"]): row["chunks"] for row in stored["questions"]}
    assert set(chunks) == {
        *(("ours", mode) for mode in MODES),
        *(("LightRAG", mode) for mode in ("naive", "local", "global", "hybrid", "mix")),
    }
    assert chunks["LightRAG", "naive"] == chunks["ours", "naive"]
    assert "| edit one |" in (tmp_path / "lightrag.md").read_text()


def calls(row: dict[str, Any]) -> int:
    return sum(row["counts"][name] for name in (*CHAT_CALLS, "embed"))

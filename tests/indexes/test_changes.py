"""What differs between two snapshots, and what changed in each row."""

import json
from pathlib import Path
from typing import Any

import pytest

from lightrag_dagster import KnowledgeBase
from lightrag_dagster.errors import QueryError
from lightrag_dagster.indexes.changes import changes_between, compared, count_changes
from lightrag_dagster.schemas import MERGED_TABLES
from lightrag_dagster.settings import Settings
from lightrag_dagster.storage.home import Home
from lightrag_dagster.storage.snapshots import generations
from lightrag_dagster.storage.snapshots.generations import Generation
from lightrag_dagster.view_schemas import CHANGES
from tests.loopback import Loopback
from tests.passes import WORKS, model_settings, with_passes
from tests.query.published import publish_sources
from tests.storage.years import Years, build_year
from tests.support import OFFICE, RIVER, build, write_source


def rows_by_name(home: Home, *ends: str) -> dict[tuple[str, str], dict[str, Any]]:
    first, last = (Generation(home, one) for one in ends)
    changes = changes_between(first, last)
    assert changes.schema.equals(CHANGES, check_metadata=False)
    return {(row["kind"], row["name"]): row for row in changes.to_pylist()}


@pytest.mark.long
def test_added_changed_and_removed_rows_and_their_columns(years: Years) -> None:
    settings, (first,) = years(1)
    home = Home(settings.home)
    second = build_year(settings, 2002, **{"new.txt": "Ulla Berg met Jonas Feld."})

    found = rows_by_name(home, first, second)

    assert {name: row["change"] for (kind, name), row in found.items() if kind == "document"} == {
        "notes/new.txt": "added",
        "notes/river.md": "changed",
    }
    changed = found["document", "notes/river.md"]
    assert changed["columns"] == ["content_hash"]
    assert json.loads(changed["before"]).keys() == json.loads(changed["after"]).keys() == {"content_hash"}
    added = found["entity", "Ulla Berg"]
    assert [added[name] for name in ("change", "columns", "before", "after")] == ["added", [], None, None]
    assert found["entity", "Station 1"]["change"] == "removed"
    met = found["entity", "Jonas Feld"]
    assert {"mention_count", "document_count"} <= set(met["columns"])
    assert json.loads(met["before"])["mention_count"] < json.loads(met["after"])["mention_count"]
    back = rows_by_name(home, second, first)
    assert {key for key, row in back.items() if row["change"] == "added"} == {
        key for key, row in found.items() if row["change"] == "removed"
    }
    assert rows_by_name(home, first, first) == {}


def test_a_knowledge_base_without_sources_is_compared_like_any_other(years: Years) -> None:
    settings, (first,) = years(1)
    full = Generation(Home(settings.home), first)
    inputs = full.inputs().model_copy(update={"sources": {}})
    emptied = generations.store(full.home, inputs, dict.fromkeys(MERGED_TABLES, ()), {}, 0)
    found = changes_between(full, emptied)
    assert set(found["change"].to_pylist()) == {"removed"}
    assert set(found["kind"].to_pylist()) == {"document", "entity", "relation"}
    counts = count_changes(emptied, full, ["document", "entity"])
    rows = [len(full.read_table(name)) for name in ("raw_documents", "entities")]
    assert [one.added for one in counts.values()] == rows


def test_a_document_that_others_may_read_is_changed(settings: Settings) -> None:
    folder, ends = settings.home.parent / "notes", []
    folder.mkdir()
    (folder / "river.txt").write_text(RIVER)
    for reader in ("staff", "press"):
        source = {"uri": str(folder), "access": {"*": reader}}
        ends.append(publish_sources(settings.changed(named_sources={"notes": source}), {}).snapshot_id)
    (found,) = rows_by_name(Home.of(settings), *ends).values()
    assert (found["name"], found["columns"]) == ("notes/river.txt", ["access"])
    assert (json.loads(found["before"]), json.loads(found["after"])) == ({"access": ["staff"]}, {"access": ["press"]})
    before, after = (Generation(Home.of(settings), one) for one in ends)
    assert count_changes(before, after, ["document"])["document"].changed == 1


@pytest.mark.long
def test_facts_are_compared_and_counted(tmp_path: Path, loopback: Loopback) -> None:
    settings = with_passes(model_settings(tmp_path, loopback), tmp_path / "readings", works=WORKS)
    write_source(settings, "notes", {"river.txt": RIVER})
    build(settings.changed(readings=None))
    write_source(settings, "notes", {"river.txt": RIVER, "office.txt": OFFICE})
    build(settings)
    with KnowledgeBase.open(settings=settings) as knowledge:
        changed = [one for one in knowledge.changes().to_pylist() if one["kind"] == "fact"]
        counted = knowledge.sql("SELECT facts FROM snapshots ORDER BY sequence")["facts"].to_pylist()
    assert [(one["name"], one["change"]) for one in changed] == [
        ("Jonas Feld — leads — office", "added"),
        ("Marta Lindqvist — maintains — Halden Weir", "added"),
    ]
    assert counted == [0, 2]


def test_the_published_snapshot_is_compared_with_the_one_before_it(years: Years) -> None:
    settings, (first, second) = years(2)
    home = Home(settings.home)
    assert [one.id for one in compared(home)] == [first, second]
    assert [one.id for one in compared(home, first)] == [first, second]
    with pytest.raises(QueryError, match=f"there is no snapshot before {first}"):
        compared(home, after=first)
    for ends in (("", second), (first, "")):
        with pytest.raises(QueryError, match="there is no snapshot"):
            compared(home, *ends)
    with KnowledgeBase.open(settings=settings) as knowledge:
        expected = changes_between(Generation(home, first), Generation(home, second))
        assert knowledge.changes().equals(expected)
        assert knowledge.changes(first).equals(expected)
        with pytest.raises(QueryError, match="before takes"):
            knowledge.changes(3)  # type: ignore[arg-type]
        with pytest.raises(QueryError, match="gen-none"):
            knowledge.changes("gen-none")

"""Names of the published snapshot that may be one: found, stored, and found again when it or decisions changed."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from lightrag_dagster.curation.desk.duplicates import duplicate_candidates
from lightrag_dagster.curation.desk.finder.finding import Compared
from lightrag_dagster.curation.desk.taking import take
from lightrag_dagster.curation.rules.decisions import Decision
from lightrag_dagster.errors import NoSnapshotError
from lightrag_dagster.pipeline.situation import Situation
from lightrag_dagster.settings import Settings, load_settings
from lightrag_dagster.storage.home import Home
from lightrag_dagster.storage.tables.source_tables import ALL_SOURCES, SourceTables
from tests.support import FLOOD, RIVER, build, published, write_source

Make = Callable[..., Settings]
MORE = "Marta Lindquist maintains the gauge at Halden Weir and reports to Jonas Feld in Bergen."


@pytest.fixture
def make(tmp_path: Path) -> Make:
    def make(**changes: Any) -> Settings:
        return load_settings(**{"home": tmp_path / "home", "sources": tmp_path / "sources"} | changes)

    write_source(make(), "notes", {"river.md": RIVER, "flood.md": FLOOD, "more.md": MORE})
    return make


def pairs(found: Compared) -> dict[tuple[str, str], dict[str, Any]]:
    return {
        (row["name"], row["other"]) if row["name"] < row["other"] else (row["other"], row["name"]): row
        for row in found.rows.to_pylist()
    }


@pytest.mark.long
def test_misspelt_names_are_found_and_stored_once(make: Make) -> None:
    settings = make()
    build(settings)
    found = duplicate_candidates(Situation.looking(settings))
    row = pairs(found)["Marta Lindquist", "Marta Lindqvist"]
    assert row["verdict"] in ("likely", "unclear")
    assert row["likeness"] > 0.9
    assert row["cosine"] > 0.5
    assert "vectors" in row["found_by"]
    stored = SourceTables(Home.of(settings)).require("duplicate_candidates", ALL_SOURCES)
    assert stored.inputs["knowledge_base"] == published(settings).snapshot_id
    assert duplicate_candidates(Situation.looking(settings)).rows.equals(found.rows)


@pytest.mark.long
@pytest.mark.parametrize("action", ["apart", "merge"])
def test_what_decisions_settle_is_left_out_at_once(make: Make, action: Any) -> None:
    settings = make()
    build(settings)
    assert ("Marta Lindquist", "Marta Lindqvist") in pairs(duplicate_candidates(Situation.looking(settings)))
    take(settings, [Decision(action=action, names=("Marta Lindqvist", "Marta Lindquist"))])
    assert ("Marta Lindquist", "Marta Lindqvist") not in pairs(duplicate_candidates(Situation.looking(settings)))


@pytest.mark.long
def test_the_parts_of_a_split_are_no_candidates(make: Make) -> None:
    settings = make()
    parts = [f"Halden Weir ({one})" for one in ("flood", "more")]
    for part, path in zip(parts, ("flood.md", "more.md"), strict=True):
        take(settings, [Decision(action="split", names=("Halden Weir",), into=part, paths=(path,))])
    build(settings)
    found = pairs(duplicate_candidates(Situation.looking(settings)))
    assert not [pair for pair in found if {*pair} <= {"Halden Weir", *parts}]


@pytest.mark.long
def test_removed_names_are_left_out_at_once(make: Make) -> None:
    settings = make()
    build(settings)
    assert ("Marta Lindquist", "Marta Lindqvist") in pairs(duplicate_candidates(Situation.looking(settings)))
    take(settings, [Decision(action="remove", names=("Marta Lindquist",))])
    assert not [pair for pair in pairs(duplicate_candidates(Situation.looking(settings))) if "Marta Lindquist" in pair]


def test_before_the_first_publication_there_is_nothing_to_compare(make: Make) -> None:
    with pytest.raises(NoSnapshotError, match="nothing has been published"):
        duplicate_candidates(Situation.looking(make()))

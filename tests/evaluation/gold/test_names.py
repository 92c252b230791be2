"""Gold pairs of names: joins through a third name, names that are gone, and one name of two things."""

import pyarrow as pa
import pytest

from lightrag_dagster.curation.desk import duplicate_candidates, take
from lightrag_dagster.curation.rules import Decision
from lightrag_dagster.evaluation.gold.names import score_names
from lightrag_dagster.evaluation.gold.rows import GoldRow
from lightrag_dagster.pipeline.situation import Situation
from lightrag_dagster.schemas import DUPLICATE_CANDIDATES
from lightrag_dagster.settings import Settings
from lightrag_dagster.storage.snapshots.generations import fetched
from lightrag_dagster.storage.tables.source_tables import ALL_SOURCES, SourceTables
from tests.support import FLOOD, RIVER, first_build, write_source

CHAIN = [("Jonas Feld", "Priya Nair", "likely"), ("Marta Lindqvist", "Priya Nair", "likely")]
SHOWN = [("Halden Weir", "Jonas Feld", "unclear"), ("Halden Weir", "Station 14", "unlikely")]


def pair(name: str, other: str, *, right: bool) -> GoldRow:
    return GoldRow("", "names", name, other, "", "", "", right, "people.csv:2")


@pytest.fixture
def built(settings: Settings) -> Settings:
    write_source(settings, "notes", {"river.md": RIVER, "flood.md": FLOOD})
    first_build(settings)
    return settings


def propose(settings: Settings, rows: list[tuple[str, str, str]]) -> None:
    """Store candidates in place of those that were found."""
    situation = Situation.looking(settings)
    duplicate_candidates(situation)
    tables = SourceTables(situation.home)
    known, ids = tables.require("duplicate_candidates", ALL_SOURCES), ids_of(situation)
    said = [
        dict.fromkeys(DUPLICATE_CANDIDATES.names)
        | {"name": name, "other": other, "type": "", "other_type": "", "found_by": ["words"], "verdict": verdict}
        | dict(zip(("entity_id", "other_id"), sorted((ids[name], ids[other])), strict=True))
        | {"likeness": 0.9, "score": 0.9}
        for name, other, verdict in rows
    ]
    table = pa.Table.from_pylist(said, DUPLICATE_CANDIDATES)
    tables.write("duplicate_candidates", ALL_SOURCES, table, inputs=known.inputs, recipe=known.recipe)


def ids_of(situation: Situation) -> dict[str, str]:
    rows = fetched(situation.home, situation.require_published().snapshot_id).read_table("entities").to_pylist()
    return {row["name"]: row["entity_id"] for row in rows}


def test_likely_pairs_join_names_through_a_third_one_and_unclear_ones_do_not(built: Settings) -> None:
    propose(built, CHAIN + SHOWN)
    pairs = [
        pair("jonas  FELD", "Jonas Feld", right=True),
        pair("Jonas Feld", "Marta Lindqvist", right=True),
        pair("Halden Weir", "Jonas Feld", right=False),
        pair("Halden Weir", "Marta Lindqvist", right=True),
        pair("Halden Weir", "Station 14", right=True),
    ]
    joined, likely, shown = score_names(Situation.looking(built), pairs)
    assert (joined.right, joined.wrong, joined.missed) == (1, [], [pairs[1], *pairs[3:]])
    assert (likely.right, likely.wrong, likely.missed) == (2, [], pairs[3:])
    assert (shown.right, shown.wrong, shown.missed) == (2, [pairs[2]], pairs[3:])
    take(built, [Decision(action="merge", names=("Halden Weir", "Station 14"))])
    assert score_names(Situation.looking(built), pairs)[0].right == 2


def test_pairs_with_a_name_that_is_not_published_count_for_nothing(built: Settings) -> None:
    pairs = [pair("Jonas Feld", "Jonas Field", right=True), pair("Ada Unheard", "ada unheard", right=True)]
    for one in score_names(Situation.looking(built), pairs):
        assert (one.right, one.wrong, one.missed, one.unknown) == (0, [], [], pairs)


def test_one_name_of_two_things_is_wrong_until_it_is_split(built: Settings) -> None:
    pairs = [pair("Jonas Feld", "Jonas Feld", right=False), pair("Jonas Feld", "jonas feld", right=True)]
    assert score_names(Situation.looking(built), pairs)[0].wrong == pairs[:1]
    take(built, [Decision(action="split", names=("Jonas Feld",), into="Jonas Feld (2021)", paths=("flood.md",))])
    joined = score_names(Situation.looking(built), pairs)[0]
    assert (joined.right, joined.wrong, joined.unknown) == (1, [], [])

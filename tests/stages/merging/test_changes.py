"""Rows of the last merge that are kept are those that a merge of everything makes."""

import tempfile
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given
from hypothesis import settings as bounds
from hypothesis import strategies as st

from lightrag_dagster.schemas import MERGED_TABLES
from lightrag_dagster.stages.merging import changes
from lightrag_dagster.stages.merging.inputs import KeptEvidence, MergeInput, Previous
from lightrag_dagster.storage.files import atomic
from tests.stages.merging.tables import Exact, Row, Tables, chunk, entity, merged_from, relation, write
from tests.stages.merging.test_parts import State, inputs_of, mentions, pairs, positions

Rows = tuple[list[Row], list[Row], list[Row]]
"""Chunks, mentions of entities and of relations."""

BEFORE: Rows = (
    [chunk("a", "1.txt", 0, "c1"), chunk("a", "1.txt", 1, "c2"), chunk("b", "2.txt", 0, "c3")],
    [
        entity("a", "c1", 0, "Marta", "person", "keeps the gauge"),
        entity("a", "c2", 1, "Marta", "person", "lives in Bergen"),
        entity("a", "c1", 2, "Bergen", "place", "a town"),
        entity("b", "c3", 3, "Öre", "place", "a sound"),
    ],
    [relation("a", "c1", 0, "Marta", "Bergen", "home", "lives there")],
)
AFTER: dict[str, Rows] = {
    "nothing": ([], [], []),
    "a copy of a document": ([chunk("b", "copy.txt", at, f"c{at}") for at in (1, 3)], [], []),
    "a relation of an end": ([], [], [relation("b", "c3", 1, "Öre", "Marta", "near", "swims there")]),
    "a name that only a relation has": ([], [], [relation("b", "c3", 1, "Öre", "Halden Weir", "near", "flows there")]),
    "another spelling": ([], [entity("b", "c3", at, "MARTA", "person", "swims") for at in (4, 5, 6)], []),
    "another type": ([], [entity("b", "c3", at, "Bergen", "ship", "sails") for at in (4, 5)], []),
}
"""What is added."""


def kept(folder: Path, merged: Tables, before: Sequence[MergeInput], now: Sequence[MergeInput]) -> Previous:
    """Store merged tables as those of the last merge."""
    files = {table: folder / f"{table}.parquet" for table in MERGED_TABLES}
    for table, path in files.items():
        atomic.write_parquet(path, getattr(merged, table))
    old, new = ({path for one in inputs for path in one.chunks} for inputs in (before, now))
    gone, come = tuple(sorted(old - new)), tuple(sorted(new - old))
    evidence = KeptEvidence(files["entity_evidence"], files["relation_evidence"], gone, come)
    return Previous(files["entities"], files["relations"], evidence=evidence)


class Merging:
    """Merges of BEFORE, and of it with one of AFTER, each made once."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self.inputs = {added: written(folder, added) for added in AFTER}
        self.whole = cache(lambda added: merged_from(self.inputs[added], folder, Exact()))

    def after(self, last: str, now: str) -> Tables:
        """Merge with the rows of another merge."""
        inputs, folder = self.inputs, self._folder / last / now
        return merged_from(
            inputs[now], folder.parent, Exact(), kept(folder, self.whole(last), inputs[last], inputs[now])
        )


def written(folder: Path, added: str) -> list[MergeInput]:
    chunks, entities, relations = (old + new for old, new in zip(BEFORE, AFTER[added], strict=True))
    return write(folder, chunks, entities, relations)


@pytest.fixture(scope="module")
def merging(tmp_path_factory: pytest.TempPathFactory) -> Merging:
    return Merging(tmp_path_factory.mktemp("merging"))


@pytest.mark.parametrize("added", AFTER)
def test_what_comes_and_goes_changes_the_rows_that_it_shows_in(merging: Merging, added: str) -> None:
    assert merging.after("nothing", added) == merging.whole(added)
    assert merging.after(added, "nothing") == merging.whole("nothing")
    assert (merging.whole(added) == merging.whole("nothing")) is (added == "nothing")


def test_chunks_of_a_document_that_change_places_are_listed_as_they_stand(tmp_path: Path) -> None:
    swapped = [chunk("a", "1.txt", 1, "c1"), chunk("a", "1.txt", 0, "c2"), *BEFORE[0][2:]]
    before, now = written(tmp_path, "nothing"), write(tmp_path, swapped, BEFORE[1], BEFORE[2])
    last = merged_from(before, tmp_path, Exact())
    merged = merged_from(now, tmp_path, Exact(), kept(tmp_path / "kept", last, before, now))
    assert merged == merged_from(now, tmp_path, Exact())
    assert [row["chunk_ids"] for row in merged.entities.to_pylist() if row["name"] == "Marta"] == [["c2", "c1"]]


def test_more_than_a_part_holds_is_merged_whole(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(changes, "ROWS_PER_PART", 1)
    before, now = written(tmp_path, "nothing"), written(tmp_path, "another spelling")
    last = merged_from(before, tmp_path, Exact())
    marked = last._replace(entities=last.entities.set_column(3, "description", [["marked"] * len(last.entities)]))
    merged = merged_from(now, tmp_path, Exact(), kept(tmp_path / "kept", marked, before, now), bits=1)
    assert merged == merged_from(now, tmp_path, Exact())


@st.composite
def histories(draw: st.DrawFn) -> list[State]:
    """Draw contents of all sources that differ in few places from one to the next."""
    kinds: dict[str, st.SearchStrategy[frozenset[Any]]] = {
        "positions": positions,
        "entities": mentions,
        "relations": mentions,
        "failed": pairs,
        "edited": pairs,
    }
    found = [
        State(**{kind: draw(rows) | draw(rows) for kind, rows in kinds.items() if kind != "failed"}, failed=frozenset())
    ]
    for _ in range(draw(st.integers(1, 4))):
        kind = draw(st.sampled_from(sorted(kinds)))
        toggled = frozenset(sorted(draw(kinds[kind]))[:1])
        found.append(found[-1]._replace(**{kind: getattr(found[-1], kind) ^ toggled}))
    return found


@pytest.mark.long
@given(histories(), *map(st.sampled_from, ((1, 2, 300), (2, 6), (0, 2))))
@bounds(deadline=None, max_examples=40, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_a_merge_after_any_other_is_that_of_everything(
    history: list[State], most: int, summarised: int, bits: int
) -> None:
    rules: dict[str, Any] = {
        "max_chunks": most,
        "summary_min_descriptions": summarised,
        "chunk_limit_method": "KEEP" if bits else "FIFO",
        "bits": bits,
    }
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch)
        last = inputs_of(folder / "0", history[0])
        merged = merged_from(last, folder, Exact(), **rules)
        for night, state in enumerate(history[1:], start=1):
            now = inputs_of(folder / str(night), state)
            merged = merged_from(now, folder, Exact(), kept(folder / f"kept{night}", merged, last, now), **rules)
            assert merged == merged_from(now, folder, Exact(), **rules)
            last = now

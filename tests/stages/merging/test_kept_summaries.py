"""Summaries of an earlier merge are kept where the descriptions are the same; and what a merge does with damage."""

from collections.abc import Sequence
from pathlib import Path

import pytest

from lightrag_dagster.core.protocols import ChatRequest
from lightrag_dagster.errors import StoreError
from lightrag_dagster.stages.merging.inputs import MergeInput, Previous
from lightrag_dagster.storage.files import atomic
from tests.stages.merging.tables import NAMES, RECIPE, Exact, Tables, chunk, entity, merged_from, relation, write

BEFORE = [("c1", "Marta"), ("c1", "Bergen"), ("c2", "Marta"), ("c2", "Bergen"), ("c3", "Öre")]


def stored(folder: Path, merged: Tables) -> Previous:
    previous = Previous(folder / "entities.parquet", folder / "relations.parquet")
    atomic.write_parquet(previous.entities, merged.entities)
    atomic.write_parquet(previous.relations, merged.relations)
    return previous


def simple(folder: Path, rows: Sequence[tuple[str, str]]) -> list[MergeInput]:
    """Write one source, in which every entity of a chunk is described by the chunk's name, and is related to Bergen."""
    chunks = [chunk("a", f"{name}.txt", 0, name) for name in sorted({name for name, _ in rows})]
    entities = [entity("a", where, NAMES.index(name), name, "thing", f"in {where}") for where, name in rows]
    relations = [relation("a", where, NAMES.index(name), name, "Bergen", "", f"of {where}") for where, name in rows]
    return write(folder, chunks, entities, relations)


@pytest.mark.long
@pytest.mark.parametrize(
    ("required", "asked"), [(None, ["Bergen — Marta", "Marta"]), ("edited", ["Bergen", "Bergen — Marta", "Marta"])]
)
def test_summaries_of_the_same_descriptions_are_kept(tmp_path: Path, required: str | None, asked: list[str]) -> None:
    inputs = simple(tmp_path, BEFORE)
    first = Exact()
    previous = stored(tmp_path, merged_from(inputs, tmp_path, first, summary_min_descriptions=2))
    second = Exact()
    now = simple(tmp_path, [*BEFORE, ("c4", "Marta")])
    previous = previous._replace(recipe=required)
    merged = merged_from(now, tmp_path, second, previous, "edited", summary_min_descriptions=2)
    assert sorted(map(subject_of, first.requests)) == ["Bergen", "Bergen — Marta", "Marta"]
    assert sorted(map(subject_of, second.requests)) == asked
    recipes = {row["name"]: row["summary_recipe"] for row in merged.entities.to_pylist()}
    assert recipes == {"Bergen": required or RECIPE, "Marta": "edited", "Öre": None}


@pytest.mark.long
def test_a_summary_is_kept_only_while_the_thresholds_ask_for_one(tmp_path: Path) -> None:
    inputs = simple(tmp_path, BEFORE)
    previous = stored(tmp_path, merged_from(inputs, tmp_path, Exact(), summary_min_descriptions=2))
    model = Exact()
    merged = merged_from(inputs, tmp_path, model, previous, summary_min_descriptions=3)
    assert model.requests == []
    assert merged == merged_from(inputs, tmp_path, model, summary_min_descriptions=3)
    assert set(merged.entities["summary_recipe"].to_pylist()) == {None}


def subject_of(request: ChatRequest) -> str:
    return request.messages[-1].content.splitlines()[0].split(": ")[1]


@pytest.mark.long
def test_a_summary_that_failed_is_tried_again(tmp_path: Path) -> None:
    inputs = simple(tmp_path, BEFORE)
    previous = stored(tmp_path, merged_from(inputs, tmp_path, Exact(fails=True), summary_min_descriptions=2))
    model = Exact()
    merged_from(simple(tmp_path, [*BEFORE, ("c4", "Öre")]), tmp_path, model, previous, summary_min_descriptions=2)
    assert "Marta" in map(subject_of, model.requests)


@pytest.mark.long
def test_a_damaged_last_merge_is_named(tmp_path: Path) -> None:
    inputs = simple(tmp_path, BEFORE)
    previous = stored(tmp_path, merged_from(inputs, tmp_path, Exact()))
    previous.entities.write_bytes(b"PAR1 no more")
    with pytest.raises(StoreError, match=r"entities.parquet is damaged"):
        merged_from(simple(tmp_path, [*BEFORE, ("c4", "Marta")]), tmp_path, Exact(), previous)


@pytest.mark.parametrize("damage", [b"", b"PAR1", None])
def test_a_damaged_input_is_named(tmp_path: Path, damage: bytes | None) -> None:
    inputs = simple(tmp_path, BEFORE)
    (path,) = inputs[0].entity_mentions
    path.unlink()
    if damage is not None:
        path.write_bytes(damage)
    with pytest.raises(StoreError, match=rf"{path.name} (is missing|is damaged).*run"):
        merged_from(inputs, tmp_path, Exact())


def test_nothing_is_left_in_the_scratch_folder(tmp_path: Path) -> None:
    scratch = tmp_path / "scratch"
    scratch.mkdir()
    merged_from(simple(tmp_path / "inputs", BEFORE), scratch, Exact())
    assert list(scratch.iterdir()) == []

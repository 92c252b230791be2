"""The merge after a change yields the same as a merge of everything."""

import itertools
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from hypothesis import HealthCheck, Phase, given
from hypothesis import settings as bounds
from hypothesis import strategies as st

from lightrag_dagster import schemas
from lightrag_dagster.core import identity
from lightrag_dagster.core.protocols import ChatRequest, ChatResponse
from lightrag_dagster.errors import StoreError
from lightrag_dagster.stages.merging import incremental
from lightrag_dagster.stages.merging.inputs import MergeInput, Previous
from lightrag_dagster.stages.merging.merge import Merged
from lightrag_dagster.storage import files
from tests.stages.merging.tables import (
    NAMES,
    RECIPE,
    Summariser,
    chunk,
    entity,
    extraction,
    merged_from,
    relation,
    write,
)

SOURCES, PATHS, CHUNKS = ("a", "b"), ("1.txt", "2.txt"), ("c1", "c2", "c3", "c4")


class Exact(Summariser):
    """Answers with a hash of all that it was asked, so that two summaries are equal only of the same request."""

    async def complete(self, request: ChatRequest) -> ChatResponse:
        await super().complete(request)
        return ChatResponse(identity.digest([message.content for message in request.messages]))


class Mention(NamedTuple):
    """An entity and a relation that a source's extraction of a chunk names."""

    source: str
    chunk: str
    name: str
    other: str
    kind: str
    text: str
    words: str
    weight: float


class State(NamedTuple):
    """The contents of all sources: positions of chunks, mentions, extractions that failed or have another key."""

    positions: frozenset[tuple[str, str, str]]
    entities: frozenset[Mention]
    relations: frozenset[Mention]
    failed: frozenset[tuple[str, str]]
    edited: frozenset[tuple[str, str]]


mentions = st.frozensets(
    st.builds(
        Mention,
        *map(st.sampled_from, (SOURCES, CHUNKS, NAMES, NAMES, ("person", "Person", "place"))),
        st.sampled_from(("short", "rather longer", "other text\t", "", "odd <SEP> text", "fourth")),
        st.sampled_from(("flow, gauge", "gauge", "", "repair\u3000")),
        st.sampled_from((0.1, 0.2, 0.7)),
    ),
    max_size=10,
)
positions = st.frozensets(st.tuples(*map(st.sampled_from, (SOURCES, PATHS, CHUNKS))), max_size=8)
pairs = st.frozensets(st.tuples(*map(st.sampled_from, (SOURCES, CHUNKS))), max_size=3)
states = st.builds(State, positions, mentions, mentions, pairs, pairs)
changes = st.tuples(states, st.integers(0, 2**30))


# No shrinking: a merge takes a fifth of a second.
BOUNDS: Any = {"deadline": None, "phases": (Phase.generate,), "suppress_health_check": list(HealthCheck)}


def changed(state: State, change: tuple[State, int]) -> State:
    """Toggle what a change holds, and drop some of the rest."""
    other, seed = change

    def mixed(part: frozenset[Any], new: frozenset[Any]) -> frozenset[Any]:
        return new ^ {one for place, one in enumerate(sorted(part)) if seed >> place & 3}

    return State(*map(mixed, state, other))


def inputs_of(folder: Path, state: State) -> list[MergeInput]:
    places = sorted(state.positions)
    chunks = [chunk(source, path, index, name) for index, (source, path, name) in enumerate(places)]
    keys = {pair: "edited" if pair in state.edited else "k" for pair in itertools.product(SOURCES, CHUNKS)}
    extractions = [
        extraction(*pair, key=keys[pair], status="failed" if pair in state.failed else "ok")
        for pair in sorted({(source, name) for source, _, name in places})
    ]
    entities = [
        entity(one.source, one.chunk, index, one.name, one.kind, one.text, keys[one.source, one.chunk])
        for index, one in enumerate(sorted(state.entities))
    ]
    relations = [
        relation(one.source, one.chunk, index, one.name, one.other, one.words, one.text)
        | {"weight": one.weight, "extraction_key": keys[one.source, one.chunk]}
        for index, one in enumerate(sorted(state.relations))
    ]
    return write(folder, chunks, entities, relations, extractions)


def stored(folder: Path, inputs: Sequence[MergeInput], merged: Merged) -> Previous:
    tables = {name: folder / f"{name}.parquet" for name in schemas.MERGED_TABLES}
    for name, path in tables.items():
        files.write_parquet(path, getattr(merged, name))
    return Previous(inputs, tables)


def check(
    folder: Path,
    first: State,
    history: Sequence[tuple[State, int]],
    fails: Sequence[bool],
    limits: dict[str, Any],
) -> None:
    inputs, state = inputs_of(folder, first), first
    limits = limits | {"summary_min_descriptions": 2}
    merged = merged_from(inputs, folder, Exact(fails[0]), **limits)
    for change, failing in zip(history, fails[1:], strict=True):
        previous = stored(folder, inputs, merged)
        state = changed(state, change)
        inputs = inputs_of(folder, state)
        merged = merged_from(inputs, folder, Exact(failing), previous, **limits)
        assert merged.changed_chunks is not None or not inputs
    everything = merged_from(inputs, folder, Exact(), **limits)
    for name in schemas.MERGED_TABLES:
        assert getattr(merged, name).to_pylist() == getattr(everything, name).to_pylist()
        assert getattr(merged, name).equals(getattr(everything, name), check_metadata=True)


histories = given(
    first=states,
    history=st.lists(changes, min_size=1, max_size=2),
    fails=st.tuples(st.booleans(), st.booleans()),
    limits=st.fixed_dictionaries(
        {
            "max_chunks_per_entity": st.sampled_from((1, 2, 200)),
            "max_chunks_per_relation": st.sampled_from((1, 200)),
            "chunk_limit_method": st.sampled_from(("KEEP", "FIFO")),
        }
    ),
)


@histories
@bounds(max_examples=12, derandomize=True, **BOUNDS)
def test_it_equals_a_merge_of_everything(
    tmp_path_factory: pytest.TempPathFactory,
    monkeypatch: pytest.MonkeyPatch,
    first: State,
    history: Any,
    fails: Any,
    limits: Any,
) -> None:
    monkeypatch.setattr(incremental, "MOST_CHANGED", 9.0)
    check(tmp_path_factory.mktemp("merge"), first, history, [*fails[: len(history)], False], limits)


@pytest.mark.long
@histories
@bounds(max_examples=200, **BOUNDS)
def test_it_always_equals_a_merge_of_everything(
    tmp_path_factory: pytest.TempPathFactory,
    monkeypatch: pytest.MonkeyPatch,
    first: State,
    history: Any,
    fails: Any,
    limits: Any,
) -> None:
    monkeypatch.setattr(incremental, "MOST_CHANGED", 9.0)
    check(tmp_path_factory.mktemp("merge"), first, history, [*fails[: len(history)], False], limits)


@pytest.mark.parametrize("required", [None, "edited"])
@histories
@bounds(max_examples=8, derandomize=True, **BOUNDS)
def test_the_same_summaries_are_kept_however_much_is_merged(
    tmp_path_factory: pytest.TempPathFactory,
    monkeypatch: pytest.MonkeyPatch,
    required: str | None,
    first: State,
    history: Any,
    fails: Any,
    limits: Any,
) -> None:
    monkeypatch.setattr(incremental, "MOST_CHANGED", 9.0)
    folder = tmp_path_factory.mktemp("merge")
    limits = limits | {"summary_min_descriptions": 2}
    inputs = inputs_of(folder, first)
    previous = stored(folder, inputs, merged_from(inputs, folder, Exact(fails[0]), **limits))
    # One mention comes or goes, so that most summaries are kept.
    now = inputs_of(folder, first._replace(entities=first.entities ^ set(sorted(history[0][0].entities)[:1])))
    previous = previous._replace(recipe=required)
    changed = merged_from(now, folder, Exact(), previous, "edited", **limits)
    everything = merged_from(now, folder, Exact(), previous._replace(comparable=False), "edited", **limits)
    for name in schemas.MERGED_TABLES:
        assert getattr(changed, name).to_pylist() == getattr(everything, name).to_pylist()
    if required:
        assert everything.tables == merged_from(now, folder, Exact(), None, "edited", **limits).tables


BEFORE = [("c1", "Marta"), ("c1", "Bergen"), ("c2", "Marta"), ("c2", "Bergen"), ("c3", "Öre")]


def simple(folder: Path, rows: Sequence[tuple[str, str]]) -> list[MergeInput]:
    """Write one source, in which every entity of a chunk is described by the chunk's name, and is related to Bergen."""
    chunks = [chunk("a", f"{name}.txt", 0, name) for name in sorted({name for name, _ in rows})]
    entities = [entity("a", where, NAMES.index(name), name, "thing", f"in {where}") for where, name in rows]
    relations = [relation("a", where, NAMES.index(name), name, "Bergen", "", f"of {where}") for where, name in rows]
    return write(folder, chunks, entities, relations)


@pytest.fixture
def merge_changes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(incremental, "MOST_CHANGED", 9.0)


@pytest.mark.parametrize("comparable", [True, False])
@pytest.mark.parametrize(
    ("required", "asked"), [(None, ["Bergen — Marta", "Marta"]), ("edited", ["Bergen", "Bergen — Marta", "Marta"])]
)
def test_summaries_of_the_same_descriptions_are_kept(
    tmp_path: Path, merge_changes: None, comparable: bool, required: str | None, asked: list[str]
) -> None:
    inputs = simple(tmp_path, BEFORE)
    first = Exact()
    previous = stored(tmp_path, inputs, merged_from(inputs, tmp_path, first, summary_min_descriptions=2))
    # The new chunk affects Bergen too, since it is an end of a relation in it, but describes it no further.
    second = Exact()
    now = simple(tmp_path, [*BEFORE, ("c4", "Marta")])
    previous = previous._replace(comparable=comparable, recipe=required)
    merged = merged_from(now, tmp_path, second, previous, "edited", summary_min_descriptions=2)
    assert merged.changed_chunks == (1 if comparable else None)
    assert sorted(map(subject_of, first.requests)) == ["Bergen", "Bergen — Marta", "Marta"]
    assert sorted(map(subject_of, second.requests)) == asked
    recipes = {row["name"]: row["summary_recipe"] for row in merged.entities.to_pylist()}
    assert recipes == {"Bergen": required or RECIPE, "Marta": "edited", "Öre": None}


def test_a_summary_is_kept_only_while_the_thresholds_ask_for_one(tmp_path: Path) -> None:
    inputs = simple(tmp_path, BEFORE)
    previous = stored(tmp_path, inputs, merged_from(inputs, tmp_path, Exact(), summary_min_descriptions=2))
    model = Exact()
    merged = merged_from(inputs, tmp_path, model, previous._replace(comparable=False), summary_min_descriptions=3)
    assert model.requests == []
    assert merged.tables == merged_from(inputs, tmp_path, model, summary_min_descriptions=3).tables
    assert set(merged.entities["summary_recipe"].to_pylist()) == {None}


def subject_of(request: ChatRequest) -> str:
    return request.messages[-1].content.splitlines()[0].split(": ")[1]


def test_a_summary_that_failed_is_tried_again(tmp_path: Path, merge_changes: None) -> None:
    inputs = simple(tmp_path, BEFORE)
    previous = stored(tmp_path, inputs, merged_from(inputs, tmp_path, Exact(fails=True), summary_min_descriptions=2))
    model = Exact()
    merged_from(simple(tmp_path, [*BEFORE, ("c4", "Öre")]), tmp_path, model, previous, summary_min_descriptions=2)
    assert "Marta" in map(subject_of, model.requests)


@pytest.mark.parametrize(("new", "follows"), [(1, True), (3, False)])
def test_when_much_changed_everything_is_merged(tmp_path: Path, new: int, follows: bool) -> None:
    inputs = simple(tmp_path, BEFORE)
    previous = stored(tmp_path, inputs, merged_from(inputs, tmp_path, Exact()))
    more = [(f"c{number}", "Marta") for number in range(4, 4 + new)]
    merged = merged_from(simple(tmp_path, [*BEFORE, *more]), tmp_path, Exact(), previous)
    assert merged.changed_chunks == (new if follows else None)


def test_a_damaged_last_merge_is_named(tmp_path: Path, merge_changes: None) -> None:
    inputs = simple(tmp_path, BEFORE)
    previous = stored(tmp_path, inputs, merged_from(inputs, tmp_path, Exact()))
    previous.tables["entities"].write_bytes(b"PAR1 no more")
    with pytest.raises(StoreError, match=r"entities.parquet cannot be read"):
        merged_from(simple(tmp_path, [*BEFORE, ("c4", "Marta")]), tmp_path, Exact(), previous)


@pytest.mark.parametrize("damage", [b"", b"PAR1", None])
def test_a_damaged_input_is_named(tmp_path: Path, damage: bytes | None) -> None:
    inputs = simple(tmp_path, BEFORE)
    path = inputs[0].entity_mentions
    path.unlink()
    if damage is not None:
        path.write_bytes(damage)
    with pytest.raises(StoreError, match=rf"{path.name} (is missing|cannot be read).*run"):
        merged_from(inputs, tmp_path, Exact())


def test_nothing_is_left_in_the_scratch_folder(tmp_path: Path) -> None:
    scratch = tmp_path / "scratch"
    scratch.mkdir()
    merged_from(simple(tmp_path / "inputs", BEFORE), scratch, Exact())
    assert list(scratch.iterdir()) == []

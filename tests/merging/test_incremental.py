"""The merge that follows a change yields what a merge of everything yields."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from hypothesis import HealthCheck, Phase, given
from hypothesis import settings as bounds
from hypothesis import strategies as st

from lightrag_dagster import identity, schemas
from lightrag_dagster.errors import StoreError
from lightrag_dagster.llm.protocol import ChatRequest, ChatResponse
from lightrag_dagster.merging import incremental
from lightrag_dagster.merging.inputs import MergeInput, Previous
from lightrag_dagster.merging.merge import Merged
from lightrag_dagster.stores import files
from tests.merging.tables import CURRENT, NAMES, Summariser, chunk, entity, merged_from, relation, write

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
    current: bool
    name: str
    other: str
    kind: str
    text: str
    words: str
    weight: float


class State(NamedTuple):
    """What all sources hold: positions of chunks, and what was extracted from them."""

    positions: frozenset[tuple[str, str, str]]
    entities: frozenset[Mention]
    relations: frozenset[Mention]


mentions = st.frozensets(
    st.builds(
        Mention,
        *map(st.sampled_from, (SOURCES, CHUNKS, (False, True), NAMES, NAMES, ("person", "Person", "place"))),
        st.sampled_from(("short", "rather longer", "other text\t", "", "odd <SEP> text", "fourth")),
        st.sampled_from(("flow, gauge", "gauge", "", "repair\u3000")),
        st.sampled_from((0.1, 0.2, 0.7)),
    ),
    max_size=10,
)
positions = st.frozensets(st.tuples(*map(st.sampled_from, (SOURCES, PATHS, CHUNKS))), max_size=8)
changes = st.tuples(st.builds(State, positions, mentions, mentions), st.integers(0, 2**30))


def changed(state: State, change: tuple[State, int]) -> State:
    """Toggle what a change holds, and drop some of the rest."""
    other, seed = change
    kept = [frozenset(one for n, one in enumerate(sorted(part)) if seed >> (n % 30) & 3) for part in state]
    return State(*(part ^ new for part, new in zip(kept, other, strict=True)))


def inputs_of(folder: Path, state: State) -> list[MergeInput]:
    places = sorted(state.positions)
    chunks = [chunk(source, path, index, name) for index, (source, path, name) in enumerate(places)]
    entities = [
        entity(one.source, one.chunk, index, one.name, one.kind, one.text, key_of(one))
        for index, one in enumerate(sorted(state.entities))
    ]
    relations = [
        relation(one.source, one.chunk, index, one.name, one.other, one.words, one.text)
        | {"weight": one.weight, "extraction_key": key_of(one)}
        for index, one in enumerate(sorted(state.relations))
    ]
    return write(folder, chunks, entities, relations)


def key_of(one: Mention) -> str:
    return identity.extraction_key(one.chunk, CURRENT) if one.current else "k"


def stored(folder: Path, inputs: Sequence[MergeInput], merged: Merged) -> Previous:
    tables = {name: folder / f"{name}.parquet" for name in schemas.MERGED_TABLES}
    for name, path in tables.items():
        files.write_parquet(path, getattr(merged, name))
    return Previous(inputs, tables)


def check(folder: Path, first: State, history: Sequence[tuple[State, int]], fails: Sequence[bool]) -> None:
    inputs, state = inputs_of(folder, first), first
    merged = merged_from(inputs, folder, Exact(fails[0]), at_least=2)
    for change, failing in zip(history, fails[1:], strict=True):
        previous = stored(folder, inputs, merged)
        state = changed(state, change)
        inputs = inputs_of(folder, state)
        merged = merged_from(inputs, folder, Exact(failing), previous, at_least=2)
        assert merged.changed_chunks is not None or not inputs
    everything = merged_from(inputs, folder, Exact(), at_least=2)
    for name in schemas.MERGED_TABLES:
        assert getattr(merged, name).to_pylist() == getattr(everything, name).to_pylist()
        assert getattr(merged, name).equals(getattr(everything, name), check_metadata=True)


histories = given(
    first=st.builds(State, positions, mentions, mentions),
    history=st.lists(changes, min_size=1, max_size=2),
    fails=st.tuples(st.booleans(), st.booleans()),
)


@histories
@bounds(
    max_examples=12, deadline=None, derandomize=True, phases=(Phase.generate,), suppress_health_check=list(HealthCheck)
)
def test_it_equals_a_merge_of_everything(
    tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch, first: State, history: Any, fails: Any
) -> None:
    monkeypatch.setattr(incremental, "MOST_CHANGED", 9.0)
    check(tmp_path_factory.mktemp("merge"), first, history, [*fails[: len(history)], False])


@pytest.mark.long
@histories
@bounds(max_examples=400, deadline=None, phases=(Phase.generate,), suppress_health_check=list(HealthCheck))
def test_it_always_equals_a_merge_of_everything(
    tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch, first: State, history: Any, fails: Any
) -> None:
    monkeypatch.setattr(incremental, "MOST_CHANGED", 9.0)
    check(tmp_path_factory.mktemp("merge"), first, history, [*fails[: len(history)], False])

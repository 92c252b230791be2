"""The whole way through a snapshot made by hand: graph arrays and vector tables are real, vectors are chosen."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lightrag_dagster.core.identity import entity_id, relation_id
from lightrag_dagster.core.protocols import Vectors
from lightrag_dagster.indexes.lance import VectorReader, open_vectors
from lightrag_dagster.query.question import Question
from lightrag_dagster.query.search import Search
from lightrag_dagster.query.snapshot import Snapshot
from lightrag_dagster.query.steps.retrieve import Trace, fitting, retrieve
from lightrag_dagster.query.types import Keywords, Retrieval
from lightrag_dagster.settings import QuerySettings
from lightrag_dagster.storage.home import Home
from lightrag_dagster.storage.manifests import Manifest
from lightrag_dagster.storage.manifests import Vectors as VectorsRecord
from lightrag_dagster.storage.snapshots.generations import Generation
from tests.indexes.vectors import bring_to
from tests.query.tables import chunk_file, entities, graph_of, relations
from tests.storage.corpus import inputs_of

KEYWORDS = Keywords(("theme",), ("thing",))


def towards(similarity: float) -> list[float]:
    """Return a unit vector with this cosine similarity to every question."""
    return [similarity, float(np.sqrt(1 - similarity**2))]


def embed(texts: Sequence[str]) -> Vectors:
    return np.array([[1.0, 0.0]] * len(texts), dtype=np.float32)


def reader(home: Home, table: str, similarities: dict[str, float]) -> VectorReader:
    ids = sorted(similarities)

    def vectors_of(changed: list[str]) -> Vectors:
        return np.array([towards(similarities[one]) for one in changed], dtype=np.float32)

    wanted = pa.table({"id": ids, "embedding_key": ids})
    return open_vectors(home, bring_to(home, table, wanted, vectors_of, "gen-test", 2))


@pytest.fixture
def snapshot(tmp_path: Path) -> Snapshot:
    """Entities a to d, joined a-b, b-c, c-d; chunks 0 to 5, the closer to the question the higher the number."""
    graph = graph_of(
        tmp_path,
        entities(
            [
                {"name": "a", "chunk_ids": ["chunk-0", "chunk-1"], "degree": 1},
                {"name": "b", "chunk_ids": ["chunk-1", "chunk-2"], "degree": 2},
                {"name": "c", "chunk_ids": ["chunk-3"], "degree": 2},
                {"name": "d", "chunk_ids": ["chunk-4"], "degree": 1},
            ]
        ),
        relations(
            [
                {"src": "a", "tgt": "b", "rank": 3, "weight": 1.0, "chunk_ids": ["chunk-1"]},
                {"src": "b", "tgt": "c", "rank": 4, "weight": 1.0, "chunk_ids": ["chunk-3"]},
                {"src": "c", "tgt": "d", "rank": 3, "weight": 2.0, "chunk_ids": ["chunk-4"]},
            ]
        ),
        [chunk_file(tmp_path, "s", [{"chunk_id": f"chunk-{n}", "path": f"{n % 2}.md"} for n in range(6)])],
    )
    home = Home(tmp_path / "home")
    near = {entity_id("a"): 0.9, entity_id("b"): 0.5, entity_id("c"): 0.1, entity_id("d"): 0.19}
    linked = {relation_id(entity_id("c"), entity_id("d")): 0.8, relation_id(entity_id("a"), entity_id("b")): 0.1}
    return Snapshot(
        manifest=Manifest(
            snapshot_id="gen-test",
            sequence=1,
            published_at="2026-01-01T00:00:00+00:00",
            inputs=inputs_of(Home(Path("none"))),
            rows={},
            vectors=VectorsRecord(provider="offline", model="", dimensions=2, identity="", tables={}),
        ),
        generation=Generation(home, "gen-test"),
        graph=graph,
        vectors={
            "chunk_vectors": reader(home, "chunks", {f"chunk-{n}": 0.15 + n / 10 for n in range(6)}),
            "entity_vectors": reader(home, "entities", near),
            "relation_vectors": reader(home, "relations", linked),
        },
        corpus_state=None,
    )


def ask(
    snapshot: Snapshot, mode: str, reserved: int = 0, keywords: Keywords = KEYWORDS, **options: object
) -> Retrieval:
    settings = QuerySettings.model_validate({"mode": mode, **options})
    search = Search(snapshot, Question("question", settings, keywords), embed)
    return retrieve(search, len, reserved, None, Trace(explain=False))


def paths(snapshot: Snapshot, mode: str, **options: object) -> list[list[list[str]] | None]:
    """Return how each chunk was reached, in the order of the mode; None for those that are cut."""
    settings = QuerySettings.model_validate({"mode": mode, **options})
    trace = Trace(explain=True)
    retrieve(Search(snapshot, Question("question", settings, KEYWORDS), embed), len, 0, None, trace)
    (items,) = [step.notes["items"] for step in trace.steps if step.name == "chunks"]
    return [item.get("paths") for item in items]


def names(found: Retrieval) -> list[str]:
    return [entity.name for entity in found.entities]


def pairs(found: Retrieval) -> list[str]:
    return ["".join(sorted(relation.src + relation.tgt)) for relation in found.relations]


def chunks(found: Retrieval) -> list[str]:
    return [chunk.chunk_id.removeprefix("chunk-") for chunk in found.chunks]


def test_naive(snapshot: Snapshot) -> None:
    found = ask(snapshot, "naive")
    assert chunks(found) == ["5", "4", "3", "2", "1"]
    assert [chunk.score for chunk in found.chunks] == pytest.approx([0.65, 0.55, 0.45, 0.35, 0.25], abs=1e-3)
    assert (found.entities, found.relations) == ((), ())
    assert chunks(ask(snapshot, "naive", chunk_top_k=2)) == ["5", "4"]


def test_local(snapshot: Snapshot) -> None:
    found = ask(snapshot, "local")
    assert names(found) == ["a", "b"]
    assert pairs(found) == ["bc", "ab"]
    # Behind a and b: 2, 1, 0 by similarity, all within 5 × 2 / 2; behind the relations 3 is left.
    assert chunks(found) == ["2", "3", "1", "0"]


def test_global(snapshot: Snapshot) -> None:
    found = ask(snapshot, "global")
    assert pairs(found) == ["cd"]
    assert sorted(names(found)) == ["c", "d"]
    assert chunks(found) == ["4", "3"]


@pytest.mark.parametrize(
    ("mode", "keywords", "same_as"),
    [("local", Keywords(("theme",)), "global"), ("global", Keywords((), ("thing",)), "local")],
)
def test_a_mode_without_its_keywords_uses_the_others(
    snapshot: Snapshot, mode: str, keywords: Keywords, same_as: str
) -> None:
    found, expected = ask(snapshot, mode, keywords=keywords), ask(snapshot, same_as)
    assert (found.entities, found.relations, found.chunks) == (expected.entities, expected.relations, expected.chunks)


@pytest.mark.parametrize(("keywords", "level"), [(Keywords(("theme",)), "global"), (Keywords((), ("thing",)), "local")])
def test_both_ways_with_keywords_of_one_kind_are_one_way(snapshot: Snapshot, keywords: Keywords, level: str) -> None:
    assert names(ask(snapshot, "hybrid", keywords=keywords)) == names(ask(snapshot, level))
    assert pairs(ask(snapshot, "mix", keywords=keywords)) == pairs(ask(snapshot, level))


def test_hybrid_takes_turns(snapshot: Snapshot) -> None:
    found = ask(snapshot, "hybrid")
    assert pairs(found) == ["bc", "cd", "ab"]
    assert names(found)[0] == "a"
    assert set(names(found)) == {"a", "b", "c", "d"}


def test_mix_takes_turns_with_chunks(snapshot: Snapshot) -> None:
    found = ask(snapshot, "mix")
    # Found: 5 4 3 2 1. Behind entities: 4 3 2 1 0. Nothing is left for the relations.
    assert chunks(found) == ["5", "4", "3", "2", "1", "0"]


EVEN, ODD = "s/0.md", "s/1.md"


@pytest.mark.parametrize(
    ("mode", "expected"),
    [
        ("naive", [[[ODD]], [[EVEN]], [[ODD]], [[EVEN]], [[ODD]]]),
        # a and b are near the specifics; from b the graph led to the relation behind which chunk 3 is.
        ("local", [[["b", EVEN]], [["b", "c — b", ODD]], [["a", ODD]], [["a", EVEN]]]),
        # c and d are the ends of the relation near the themes.
        ("global", [[["d — c", "d", EVEN]], [["d — c", "c", ODD]]]),
        # 5 4 3 2 1 are like the question; behind entities 4 3 2 1 0 stand higher.
        (
            "mix",
            [
                [[ODD]],
                [["d — c", "d", EVEN], [EVEN]],
                [["d — c", "c", ODD], [ODD]],
                [["b", EVEN], [EVEN]],
                [["a", ODD], [ODD]],
                [["a", EVEN]],
            ],
        ),
    ],
)
def test_how_each_chunk_was_reached(snapshot: Snapshot, mode: str, expected: list[list[list[str]]]) -> None:
    assert paths(snapshot, mode) == expected


def test_only_chunks_that_are_kept_have_paths(snapshot: Snapshot) -> None:
    assert paths(snapshot, "naive", chunk_top_k=5, max_total_tokens=90) == [[[ODD]], [[EVEN]], None, None, None]


def test_a_missing_vector_leaves_the_choice_to_the_owners(snapshot: Snapshot, tmp_path: Path) -> None:
    without = reader(Home(tmp_path / "home"), "fewer", {f"chunk-{n}": 0.15 + n / 10 for n in (1, 2, 3, 4, 5)})
    found = ask(
        replace(snapshot, vectors={**snapshot.vectors, "chunk_vectors": without}), "local", related_chunk_number=1
    )
    # One for each owner: a gives 1, which two cite, and b gives 2.
    assert chunks(found) == ["1", "3", "2"]
    assert found.chunks[0].score == pytest.approx(0.25, abs=1e-3)


def test_chunks_by_the_rank_of_their_owners(snapshot: Snapshot) -> None:
    found = ask(snapshot, "local", related_chunk_number=1, related_chunk_method="WEIGHT")
    assert chunks(found) == ["1", "3", "2"]
    assert [chunk.score for chunk in found.chunks] == [None, None, None]


@pytest.mark.parametrize(("minimum", "kept"), [(0.0, ["1", "5", "4"]), (0.5, ["1", "5"]), (0.51, ["1"]), (1.0, [])])
def test_a_chunk_is_kept_whose_score_is_the_minimum(snapshot: Snapshot, minimum: float, kept: list[str]) -> None:
    def rerank(question: str, texts: Sequence[str], limit: int, notes: dict[str, Any]) -> list[tuple[int, float]]:
        return [(4, 0.9), (0, 0.5), (1, 0.0)]  # of chunks 5 4 3 2 1

    settings = QuerySettings.model_validate({"mode": "naive", "min_rerank_score": minimum})
    trace = Trace(explain=False)
    found = retrieve(Search(snapshot, Question("question", settings, KEYWORDS), embed), len, 0, rerank, trace)
    assert chunks(found) == kept
    (step,) = [step for step in trace.steps if step.name == "rerank"]
    assert step.notes == {"kept": len(kept), "cut": 5 - len(kept), "below the minimum": 3 - len(kept)}


def test_budgets_cut_whole_items(snapshot: Snapshot) -> None:
    line = len('{"entity": "a", "type": "", "description": ""}') + 1
    assert names(ask(snapshot, "local", max_entity_tokens=line)) == ["a"]
    assert names(ask(snapshot, "local", max_entity_tokens=2 * line - 1)) == ["a"]
    assert names(ask(snapshot, "local", max_entity_tokens=2 * line)) == ["a", "b"]


def test_what_is_reserved_is_missing_for_chunks(snapshot: Snapshot) -> None:
    line = len('{"reference_id": "", "content": "chunk-5"}') + 1
    assert chunks(ask(snapshot, "naive", max_total_tokens=2 * line)) == ["5", "4"]
    assert chunks(ask(snapshot, "naive", reserved=1, max_total_tokens=2 * line)) == ["5"]


def test_references(snapshot: Snapshot) -> None:
    found = ask(snapshot, "naive")
    assert [(one.reference_id, one.file) for one in found.references] == [("1", "s/1.md"), ("2", "s/0.md")]
    assert [chunk.reference_id for chunk in found.chunks] == ["1", "2", "1", "2", "1"]


@given(st.lists(st.text(max_size=12)), st.integers(-5, 60), st.integers(1, 9))
def test_the_longest_prefix_of_whole_items_that_fits(items: list[str], budget: int, at_once: int) -> None:
    kept, used = fitting(items, str, len, budget, at_once)
    assert kept == items[: len(kept)]
    lengths = [len(item) + 1 for item in items]
    assert used == sum(lengths[: len(kept)]) <= max(budget, 0)
    if len(kept) < len(items):
        assert sum(lengths[: len(kept) + 1]) > budget


def test_nothing_is_read_after_the_first_that_does_not_fit() -> None:
    read = []

    def items() -> Iterator[str]:
        for item in ("aa", "bbbbbb", "c"):
            read.append(item)
            yield item

    assert fitting(items(), str, len, 5) == (["aa"], 3)
    assert read == ["aa", "bbbbbb"]

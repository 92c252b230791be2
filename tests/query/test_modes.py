from collections.abc import Iterator
from itertools import zip_longest
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lightrag_dagster import Filters, Keywords, KnowledgeBase
from lightrag_dagster.query.hits import round_robin
from lightrag_dagster.query.mode import MODES
from lightrag_dagster.query.question import QueryOptions
from lightrag_dagster.query.types import Retrieval

QUESTION = "Who closed Station 14 in the flood?"
KEYWORDS = Keywords(("repair",), ("Station 14",))
TELLING: dict[str, Any] = {
    "keywords": Keywords(("office",), ("Bergen",)),
    "filters": Filters(sources="office"),
    "top_k": 1,
    "chunk_top_k": 1,
    "cosine_threshold": 0.99,
    "max_entity_tokens": 1,
    "max_relation_tokens": 1,
    "max_total_tokens": 1,
    "response_type": "A haiku",
    "user_prompt": "Be terse.",
    "system_prompt": "You are terse.",
}
"""Options with values that show in a prepared question, if the mode uses the option."""
QUIET: dict[str, Any] = {
    "related_chunk_number": 1,
    "related_chunk_method": "WEIGHT",
    "min_rerank_score": 0.5,
    "prefer": "newest",
    "as_of": "2021",
}
NEED_A_MODEL = {"filter_relations", "hops", "rerank"}


@pytest.fixture(scope="module")
def knowledge(published_home: Path) -> Iterator[KnowledgeBase]:
    with KnowledgeBase.open(published_home) as opened:
        yield opened


def prepared(knowledge: KnowledgeBase, mode: str, **options: Any) -> tuple[Retrieval, object]:
    asked: dict[str, Any] = {"mode": mode, "keywords": KEYWORDS, "cosine_threshold": 0.0} | options
    found = knowledge.prepare(QUESTION, **asked)
    return found.retrieval, found.request


@pytest.mark.parametrize("mode", MODES)
def test_what_a_mode_ignores_changes_nothing_and_the_rest_does(knowledge: KnowledgeBase, mode: str) -> None:
    ignored, asked = MODES[mode].ignores, prepared(knowledge, mode)
    unused = {name: value for name, value in (TELLING | QUIET).items() if name in ignored}
    assert prepared(knowledge, mode, **unused) == asked
    for name in TELLING.keys() - ignored:
        assert prepared(knowledge, mode, **{name: TELLING[name]}) != asked, name


def test_modes_ignore_options_that_there_are() -> None:
    ignored = set().union(*(mode.ignores for mode in MODES.values()))
    assert ignored == TELLING.keys() | QUIET.keys() | NEED_A_MODEL
    assert ignored == QueryOptions.__annotations__.keys() - {"mode", "history", "explain", "timeout"}


def test_turns_are_taken_and_what_was_seen_is_skipped() -> None:
    assert round_robin([1, 2, 3], [9, 1, 8, 7]) == [1, 9, 2, 3, 8, 7]
    assert round_robin([], [5], []) == [5]
    assert round_robin() == []


@given(st.lists(st.lists(st.integers(0, 20)), max_size=4))
def test_everything_once_and_each_list_in_its_order(ranked: list[list[int]]) -> None:
    merged = round_robin(*ranked)
    assert sorted(merged) == sorted({item for items in ranked for item in items})
    for turn, items in enumerate(zip_longest(*ranked)):
        for item in items:
            # Nothing stands later than everything its turn and the turns before could put in front of it.
            assert item is None or merged.index(item) < (turn + 1) * len(ranked)


@given(st.lists(st.integers(), unique=True), st.lists(st.integers(), unique=True))
def test_without_shared_items_order_is_kept(left: list[int], right: list[int]) -> None:
    right = [item for item in right if item not in left]
    merged = round_robin(left, right)
    assert [item for item in merged if item in left] == left
    assert [item for item in merged if item in right] == right
    assert merged[:2] == [items[0] for items in (left, right) if items] + merged[:2][bool(left) + bool(right) :]

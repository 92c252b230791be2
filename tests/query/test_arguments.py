"""Whatever callers give: it is answered, or refused by an error that names the argument and what it takes."""

from collections.abc import Callable, Iterator
from dataclasses import fields
from datetime import UTC, date, datetime, timedelta, timezone
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from lightrag_dagster import Filters, Keywords, KnowledgeBase, Message
from lightrag_dagster.core.protocols import Picture
from lightrag_dagster.errors import LightRAGError, QueryError
from lightrag_dagster.query.arguments import shown
from lightrag_dagster.query.mode import MODES
from lightrag_dagster.query.question import QueryOptions, question_of
from lightrag_dagster.settings import QuerySettings

QUESTION = "Who closed Station 14 in the flood?"
OPTIONS = sorted(QueryOptions.__annotations__)
FIELDS = sorted(one.name for one in fields(Filters))

TEXTS = st.text() | st.sampled_from(
    ["\ud800", "half \udfff", "\0", "", " ", "x" * 10_000, "VECTOR", "mix", "office", "de"]
)
SCALARS = (
    st.none()
    | st.booleans()
    | st.integers()
    | st.sampled_from([0, 1, -1, 2**31, 2**63, 10**30, 10**400])
    | st.floats()
    | TEXTS
    | st.dates()
    | st.datetimes(timezones=st.sampled_from([None, UTC, timezone(timedelta(hours=14))]))
    | st.binary(max_size=3)
)
VALUES = st.recursive(
    SCALARS, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXTS, inner, max_size=2), max_leaves=4
)


@pytest.fixture(scope="module")
def knowledge(published_home: Path) -> Iterator[KnowledgeBase]:
    with KnowledgeBase.open(published_home) as opened:
        yield opened


def tried(ask: Callable[[], object]) -> None:
    """Ask, and let any error pass that is ours and fits on one line."""
    try:
        ask()
    except LightRAGError as error:
        said = str(error)
    else:
        return
    assert said.encode()
    assert "\n" not in said


FEW = settings(max_examples=15, suppress_health_check=[HealthCheck.too_slow], deadline=None)


@FEW
@given(st.dictionaries(st.sampled_from(OPTIONS), VALUES, min_size=1, max_size=3), st.sampled_from(sorted(MODES)))
@example({"min_rerank_score": float("nan")}, "mix")
@example({"top_k": 2**63}, "mix")
@example({"chunk_top_k": 10**30}, "fusion")
@example({"max_total_tokens": 10**30}, "local")
def test_options(knowledge: KnowledgeBase, options: dict[str, Any], mode: str) -> None:
    tried(lambda: knowledge.query(QUESTION, **{"mode": mode} | options))


@FEW
@given(st.dictionaries(st.sampled_from(FIELDS), VALUES, min_size=1, max_size=2))
@example({"modified_since": datetime.max})
@example({"modified_since": datetime.min.replace(tzinfo=timezone(timedelta(hours=14)))})
@example({"dated_since": date.min, "dated_until": date.max})
@example({"paths": "["})
@example({"tags": "\0"})
def test_filters(knowledge: KnowledgeBase, values: dict[str, Any]) -> None:
    tried(lambda: knowledge.retrieve(QUESTION, mode="naive", filters=Filters(**values)))


@FEW
@given(VALUES, VALUES, VALUES)
def test_keywords_and_history(knowledge: KnowledgeBase, one: Any, other: Any, third: Any) -> None:
    tried(lambda: knowledge.retrieve(QUESTION, mode="mix", keywords=Keywords(one, other)))
    tried(lambda: knowledge.query(QUESTION, mode="bypass", history=[Message(one, other, third)]))


@FEW
@given(VALUES)
def test_questions_and_what_else_is_asked(knowledge: KnowledgeBase, value: Any) -> None:
    tried(lambda: knowledge.retrieve(value, mode="bm25"))
    tried(lambda: knowledge.query_batch(value, mode="bm25"))
    tried(lambda: next(knowledge.stream(value, mode="bypass")))
    tried(lambda: knowledge.answer(value))
    tried(lambda: next(knowledge.pieces(value)))
    tried(lambda: knowledge.complete(value))
    tried(lambda: knowledge.map(value, [1]))
    tried(lambda: knowledge.map(str, value))
    tried(lambda: knowledge.retrieve(QUESTION, **{str(value): value}))


def loose(kind: Any, *values: object, **named: object) -> Any:
    """Make an object of values that type checkers refuse."""
    return kind(*values, **named)


PICTURE = Message("user", "What is it?", (Picture("digest", "data:,", 1),))


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({"filters": {"sources": ["office"]}}, r"filters takes Filters, .*, not \{'sources': \['office'\]\}"),
        ({"keywords": {"low_level": ["x"]}}, "keywords takes Keywords, such as"),
        ({"keywords": loose(Keywords, low_level=5)}, "keywords.low_level takes a text or a list of texts, not 5"),
        ({"keywords": loose(Keywords, high_level=("a", 1))}, "each of keywords.high_level takes text, not 1"),
        (
            {"keywords": Keywords(low_level=("half \ud800",))},
            "keywords.low_level holds half a character, .* position 5",
        ),
        ({"history": [{"role": "user", "content": "Who?"}]}, r"each of history takes a list of Messages.*, not \{'"),
        ({"history": "Who?"}, "history takes a list of Messages, such as .*, not 'Who\\?'"),
        ({"history": Message("user", "Who?")}, "history takes a list of Messages"),
        (
            {"history": [loose(Message, 5, "Who?")]},
            "the role of a message in history takes text",
        ),
        ({"history": [loose(Message, "user", None)]}, "the content of a message in history takes text, not None"),
        ({"history": [PICTURE]}, "history takes messages without pictures"),
        ({"explain": "yes"}, "explain takes True or False, not 'yes'"),
        ({"top_k": True}, "top_k: .* integer, not True"),
        ({"top_k": "5"}, "top_k: .* integer, not '5'"),
        ({"top_k": 2.5}, "top_k: .* integer, not 2.5"),
        ({"top_k": 0}, "top_k: .* greater than 0, not 0"),
        ({"cosine_threshold": float("nan")}, "cosine_threshold: .* finite number, not nan"),
        ({"min_rerank_score": float("inf")}, "min_rerank_score: .* finite number, not inf"),
        ({"rerank": 1}, "rerank: .* boolean, not 1"),
        ({"related_chunk_method": "vector"}, "related_chunk_method: .*'VECTOR' or 'WEIGHT', not 'vector'"),
        ({"user_prompt": "half \udfff"}, "user_prompt holds half a character"),
        ({"response_type": 5}, "response_type: .* string, not 5"),
        ({"mode": 5}, "mode: .* string, not 5"),
        ({"mode": "fuson"}, "there is no mode 'fuson'; choose one of fusion, naive, .*, bypass; did you mean 'fusion'"),
        ({"topk": 5}, "there is no option 'topk'; did you mean 'top_k'"),
        ({"topk": None}, "there is no option 'topk'"),
        ({"text": "Who?"}, "there is no option 'text'"),
        ({"settings": QuerySettings()}, "there is no option 'settings'"),
    ],
    ids=str,
)
def test_what_is_wrong_of_an_option_is_named(options: Any, says: str) -> None:
    with pytest.raises(QueryError, match=says):
        question_of("Who wrote it?", options, QuerySettings())


@pytest.mark.parametrize(
    ("values", "says"),
    [
        ({"sources": 5}, "filters.sources takes a text or a list of texts, not 5"),
        ({"sources": {"office": 1}}, "filters.sources takes a text or a list of texts"),
        ({"sources": b"office"}, "filters.sources takes a text or a list of texts"),
        ({"paths": ["*"] * 1001}, "filters.paths has 1,001 values, to compare with every document; give 1,000 at most"),
        ({"sources": []}, "filters.sources is empty, so that no document passes; leave it out to see all"),
        ({"paths": [Path("a.md")]}, "each of filters.paths takes text"),
        ({"tags": ["half \ud800"]}, "filters.tags holds half a character"),
        ({"modified_since": "yesterday"}, "filters.modified_since 'yesterday' is not a time; write it like"),
        ({"modified_since": 20_260_131}, "filters.modified_since 20260131 is not a time"),
        ({"dated_until": True}, "filters.dated_until True is not a day"),
        (
            {"dated_since": "2025-01-01", "dated_until": date(2024, 1, 1)},
            "filters.dated_since, 2025-01-01, is after filters.dated_until, 2024-01-01, .*; exchange them",
        ),
    ],
    ids=str,
)
def test_what_is_wrong_of_a_filter_is_named(values: Any, says: str) -> None:
    with pytest.raises(QueryError, match=says):
        Filters(**values)


@pytest.mark.parametrize(
    ("ask", "says"),
    [
        (lambda knowledge: knowledge.query(None), "the question takes text, not None"),
        (lambda knowledge: knowledge.query("Who \ud800?"), "the question holds half a character, .* position 4"),
        (lambda knowledge: knowledge.query_batch("Who?"), "query_batch takes a list of questions, not 'Who\\?'"),
        (lambda knowledge: knowledge.query_batch(["Who?", None]), "the question takes text, not None"),
        (lambda knowledge: knowledge.answer("Who?"), "answer takes what `prepare` returns, not 'Who\\?'"),
        (lambda knowledge: knowledge.complete("Who?"), "complete takes a ChatRequest, not 'Who\\?'"),
        (lambda knowledge: knowledge.map(None, []), "map takes a function and a list of questions, not None"),
        (lambda knowledge: type(knowledge).open(5), "home takes text, not 5"),
        (lambda knowledge: type(knowledge).open("a\ud800b"), "home holds half a character, .* position 1"),
        (lambda knowledge: type(knowledge).open(knowledge.settings.home, 5), "snapshot_id takes text, not 5"),
        (lambda knowledge: type(knowledge).open(settings={"home": "x"}), "settings takes Settings, not"),
    ],
)
def test_what_is_wrong_of_another_argument_is_named(
    knowledge: KnowledgeBase, ask: Callable[[Any], object], says: str
) -> None:
    with pytest.raises(QueryError, match=says):
        ask(knowledge)


def test_values_are_shown_shortly() -> None:
    assert len(shown("x" * 10_000)) < 100
    assert len(shown(list(range(10_000)))) < 100
    assert shown("\ud800") == "'\\ud800'"

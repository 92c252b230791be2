import ast
import inspect
import re
import textwrap
from collections.abc import Callable
from typing import Any, get_args

import numpy as np
import pytest

from lightrag_dagster import Filters, KnowledgeBase
from lightrag_dagster.core.protocols import Message
from lightrag_dagster.errors import QueryError
from lightrag_dagster.query.mode import MODES, ModeName
from lightrag_dagster.query.question import QueryOptions, question_of
from lightrag_dagster.query.types import Keywords
from lightrag_dagster.settings import QuerySettings

DEFAULTS = QuerySettings()
KEYWORDS = Keywords(low_level=("Station 14",))


def test_what_is_left_out_or_none_is_as_in_the_settings() -> None:
    question = question_of("  Who wrote it? ", {"top_k": 7, "mode": None}, DEFAULTS)
    assert question.text == "Who wrote it?"
    assert question.settings == DEFAULTS.model_copy(update={"top_k": 7})
    assert question.keywords is None
    assert tuple(question.history) == ()


def test_the_options_are_the_settings_but_one_and_eight_more() -> None:
    own = {"keywords", "history", "filters", "as_of", "explain", "timeout", "user_prompt", "system_prompt"}
    assert QueryOptions.__annotations__.keys() == QuerySettings.model_fields.keys() - {"max_retries"} | own


def test_a_number_of_numpy_is_one() -> None:
    options: Any = {"top_k": np.int64(7), "cosine_threshold": np.float32(0.5)}
    question = question_of("Who wrote it?", options, DEFAULTS)
    assert (question.settings.top_k, question.settings.cosine_threshold) == (7, 0.5)


@pytest.mark.parametrize(
    ("options", "notes"),
    [
        ({}, ()),
        ({"mode": "mix", "keywords": KEYWORDS, "top_k": 5, "hops": None}, ()),
        ({"keywords": KEYWORDS}, ("mode fusion does not use keywords",)),
        ({"keywords": Keywords(), "filters": Filters(), "filter_relations": False}, ()),
        ({"mode": "naive", "top_k": 5, "keywords": KEYWORDS}, ("mode naive does not use keywords, top_k",)),
        ({"mode": "local", "filter_relations": True}, ("mode local does not use filter_relations",)),
        ({"mode": "ppr", "filter_relations": True, "chunk_top_k": 5, "cosine_threshold": 0.0}, ()),
        ({"mode": "bm25", "cosine_threshold": 0.0}, ("mode bm25 does not use cosine_threshold",)),
        ({"mode": "bypass", "filters": Filters(sources="a")}, ("mode bypass does not use filters",)),
        ({"mode": "bypass", "user_prompt": "Be terse."}, ("mode bypass does not use user_prompt",)),
        ({"mode": "mix", "hops": 2}, ()),
        ({"system_prompt": "Be terse.", "response_type": "A table"}, ("response_type does nothing beside system",)),
        ({"system_prompt": "", "response_type": "A table"}, ()),
        ({"system_prompt": "Use {context_data} as JSON: {}"}, ("system_prompt is sent as it is, with {context_data}",)),
        ({"rerank": True, "min_rerank_score": 0.5}, ("no reranker is configured .* min_rerank_score and rerank",)),
        ({"rerank": False}, ()),
    ],
    ids=str,
)
def test_options_that_change_nothing_are_noted(options: QueryOptions, notes: tuple[str, ...]) -> None:
    found = question_of("Who wrote it?", options, DEFAULTS, reranker="none").notes
    assert len(found) == len(notes)
    assert all(re.match(expected, note) for expected, note in zip(notes, found, strict=True))


BYPASSED = ("the offline model (llm.provider) answers from a context, and mode bypass has none",)


@pytest.mark.parametrize(
    ("options", "notes"),
    [
        ({}, ()),
        ({"history": (), "user_prompt": None}, ()),
        (
            {"user_prompt": "Be terse.", "response_type": "Bullet Points"},
            ("the offline model (llm.provider) answers by rules, which do not read response_type and user_prompt",),
        ),
        (
            {"mode": "local", "history": [Message("user", "Who?")]},
            ("the offline model (llm.provider) answers by rules, which do not read history",),
        ),
        ({"mode": "bypass"}, BYPASSED),
        ({"mode": "bypass", "history": [Message("user", "Who?")]}, BYPASSED),
    ],
    ids=str,
)
def test_what_the_offline_model_does_not_read_is_noted(options: QueryOptions, notes: tuple[str, ...]) -> None:
    assert question_of("Who wrote it?", options, DEFAULTS, by_rules=True).notes == notes
    assert question_of("Who wrote it?", options, DEFAULTS).notes == ()


def test_a_bound_of_reranking_needs_reranking() -> None:
    options: QueryOptions = {"rerank": False, "min_rerank_score": 0.5}
    assert question_of("Who?", options, DEFAULTS).notes == ("min_rerank_score does nothing where rerank is false",)
    assert question_of("Who?", {"min_rerank_score": 0.5}, DEFAULTS).notes == ()


@pytest.mark.parametrize(
    "method",
    [getattr(KnowledgeBase, name) for name in dir(KnowledgeBase) if not name.startswith("_")],
    ids=lambda method: getattr(method, "__name__", "property"),
)
def test_each_parameter_is_described_where_the_method_is(method: Callable[..., object]) -> None:
    described = (method.__doc__ or "").replace("takes and raises as `retrieve`", "query")
    own = list(inspect.signature(method).parameters) if inspect.isroutine(method) else []
    assert [name for name in own if name not in {"self", "cls", "options", *re.findall(r"\w+", described)}] == []


def test_each_option_is_described() -> None:
    options = ast.parse(textwrap.dedent(inspect.getsource(QueryOptions))).body[0]
    assert isinstance(options, ast.ClassDef)
    fields = [at for at, one in enumerate(options.body) if isinstance(one, ast.AnnAssign)]
    assert len(fields) == len(QueryOptions.__annotations__)
    assert all(isinstance(options.body[at + 1], ast.Expr) for at in fields)


def test_type_checkers_know_each_mode() -> None:
    assert get_args(ModeName) == tuple(MODES)
    assert QueryOptions.__annotations__["mode"] == ModeName | None


def test_accents_are_composed() -> None:
    assert question_of("Who is Mu\u0308ller?", {}, QuerySettings()).text == "Who is Müller?"


def test_keywords_go_with_the_question() -> None:
    keywords = Keywords(high_level=("time",))
    assert question_of("Who?", {"keywords": keywords}, DEFAULTS).keywords == keywords


@pytest.mark.parametrize("query", ["abc", "a b", "C++", "กี่", "क्या", "机器", "機a", "日本", "한글", "x" * 20_000])
def test_long_enough(query: str) -> None:
    assert question_of(query, {}, DEFAULTS).text == query


def test_too_long_to_retrieve_by() -> None:
    with pytest.raises(QueryError, match=r"the question has 20,001 characters, and 20,000 is the most"):
        question_of("x" * 20_001, {}, DEFAULTS)
    assert question_of("x" * 20_001, {"mode": "bypass"}, DEFAULTS).text == "x" * 20_001


@pytest.mark.parametrize("query", ["a", "ab", " ab ", "é!", "機", "???", "。。", "— … —"])
def test_too_short_to_retrieve_by(query: str) -> None:
    with pytest.raises(QueryError, match="too short"):
        question_of(query, {}, DEFAULTS)
    assert question_of(query, {"mode": "bypass"}, DEFAULTS).text == query.strip()


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("query", ["", " \n\t "])
def test_empty(query: str, mode: ModeName) -> None:
    with pytest.raises(QueryError, match="empty"):
        question_of(query, {"mode": mode}, DEFAULTS)


def test_an_unknown_mode_names_them_all() -> None:
    with pytest.raises(QueryError, match=f"'clever'; choose one of {', '.join(MODES)}"):
        question_of("Who?", {"mode": "clever"}, DEFAULTS)  # type: ignore[typeddict-item]


@pytest.mark.parametrize(
    ("options", "name"), [({"top_k": 0}, "top_k"), ({"cosine_threshold": 2.0}, "cosine_threshold")]
)
def test_a_value_out_of_bounds_is_named(options: QueryOptions, name: str) -> None:
    with pytest.raises(QueryError, match=name):
        question_of("Who?", options, DEFAULTS)

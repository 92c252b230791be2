import pytest

from lightrag_dagster.errors import QueryError
from lightrag_dagster.query.modes import MODES
from lightrag_dagster.query.question import QueryOptions, question_of
from lightrag_dagster.query.types import Keywords
from lightrag_dagster.settings import QuerySettings

DEFAULTS = QuerySettings()


def test_what_is_left_out_or_none_is_as_in_the_settings() -> None:
    question = question_of("  Who wrote it? ", {"top_k": 7, "mode": None}, DEFAULTS)
    assert question.text == "Who wrote it?"
    assert question.settings == DEFAULTS.model_copy(update={"top_k": 7})
    assert question.keywords is None
    assert tuple(question.history) == ()


def test_the_options_are_the_settings_and_four_more() -> None:
    own = {"keywords", "history", "filters", "explain"}
    assert QueryOptions.__annotations__.keys() == QuerySettings.model_fields.keys() - {"ppr"} | own


def test_keywords_go_with_the_question() -> None:
    keywords = Keywords(high_level=("time",))
    assert question_of("Who?", {"keywords": keywords}, DEFAULTS).keywords == keywords


@pytest.mark.parametrize("query", ["abc", "a b", "机器", "機a", "日本", "한글", "x" * 10_000])
def test_long_enough(query: str) -> None:
    assert question_of(query, {}, DEFAULTS).text == query


@pytest.mark.parametrize("query", ["a", "ab", " ab ", "é!", "機"])
def test_too_short_to_retrieve_by(query: str) -> None:
    with pytest.raises(QueryError, match="too short"):
        question_of(query, {}, DEFAULTS)
    assert question_of(query, {"mode": "bypass"}, DEFAULTS).text == query.strip()


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("query", ["", " \n\t "])
def test_empty(query: str, mode: str) -> None:
    with pytest.raises(QueryError, match="empty"):
        question_of(query, {"mode": mode}, DEFAULTS)


def test_an_unknown_mode_names_them_all() -> None:
    with pytest.raises(QueryError, match=f"'clever'; choose one of {', '.join(MODES)}"):
        question_of("Who?", {"mode": "clever"}, DEFAULTS)


@pytest.mark.parametrize(
    ("options", "name"), [({"top_k": 0}, "top_k"), ({"cosine_threshold": 2.0}, "cosine_threshold")]
)
def test_a_value_out_of_bounds_is_named(options: QueryOptions, name: str) -> None:
    with pytest.raises(QueryError, match=name):
        question_of("Who?", options, DEFAULTS)

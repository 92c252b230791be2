from typing import Any

from lightrag_dagster.pipeline.recipes import Recipes
from lightrag_dagster.settings import load_settings


def test_the_model_that_ranks_is_in_the_recipe_of_answers_only_where_it_is_asked() -> None:
    def answers(provider: str, model: str) -> str:
        llm: dict[str, Any] = {"provider": "openai", "model": "usual", "roles": {"rerank": {"model": model}}}
        return Recipes.of(load_settings(llm=llm, rerank={"provider": provider})).answers

    assert answers("none", "a") == answers("none", "b")
    assert len({answers("none", "a"), answers("chat", "a"), answers("chat", "b")}) == 3

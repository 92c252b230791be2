import re
from pathlib import Path
from typing import Any

from lightrag_dagster.pipeline.recipes import Recipes
from lightrag_dagster.schemas import PARSED_TABLES
from lightrag_dagster.settings import load_settings
from lightrag_dagster.stages.prompts import export_prompts


def test_the_model_that_ranks_is_in_the_recipe_of_answers_only_where_it_is_asked() -> None:
    def answers(provider: str, model: str) -> str:
        llm: dict[str, Any] = {"provider": "openai", "model": "usual", "roles": {"rerank": {"model": model}}}
        return Recipes.of(load_settings(llm=llm, rerank={"provider": provider})).answers

    assert answers("none", "a") == answers("none", "b")
    assert len({answers("none", "a"), answers("chat", "a"), answers("chat", "b")}) == 3


def test_own_echoes_are_part_of_the_recipe_of_what_is_parsed_alone(tmp_path: Path) -> None:
    usual = Recipes.of(load_settings(home=tmp_path))
    own = load_settings(home=tmp_path, prompts=tmp_path / "prompts")
    export_prompts(tmp_path / "prompts")
    assert Recipes.of(own).of_tables == usual.of_tables
    file = tmp_path / "prompts" / "extraction_system.md"
    file.write_text(re.sub("^echoes: ", "echoes: Zorbelwick, ", file.read_text(), flags=re.MULTILINE))
    changed = Recipes.of(own)
    assert changed.extractions == usual.extractions
    assert {name for name, one in changed.of_tables.items() if one != usual.of_tables[name]} == set(PARSED_TABLES)

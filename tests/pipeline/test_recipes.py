import re
from pathlib import Path
from typing import Any

from lightrag_dagster.pipeline.recipes import Recipes
from lightrag_dagster.schemas import PARSED_TABLES
from lightrag_dagster.settings import load_settings
from lightrag_dagster.settings.sources import FactColumns
from lightrag_dagster.stages.facts.columns import pass_of_columns
from lightrag_dagster.stages.facts.passes import load_passes
from lightrag_dagster.stages.prompts import export_prompts
from tests.passes import WORKS, write_schemas


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
    assert Recipes.of(own).table_recipes == usual.table_recipes
    file = tmp_path / "prompts" / "extraction_system.md"
    file.write_text(re.sub("^echoes: ", "echoes: Zorbelwick, ", file.read_text(), flags=re.MULTILINE))
    changed = Recipes.of(own)
    assert changed.extractions == usual.extractions
    assert {name for name, one in changed.table_recipes.items() if one != usual.table_recipes[name]} == set(
        PARSED_TABLES
    )


def test_what_a_pass_read_by_another_model_is_parsed_again(tmp_path: Path) -> None:
    """Since rows of answers to earlier questions are rejected by other rules than those to today's."""
    works = load_passes(write_schemas(tmp_path / "readings", works=WORKS))["works"]
    columns = pass_of_columns([FactColumns(subject="name", relation="lives in", object="city")])
    models = [{"provider": "openai", "model": name} for name in ("a", "b", "b")]
    recipes = [Recipes.of(load_settings(home=tmp_path, llm=one)) for one in models]
    assert len({one.facts(works) for one in recipes}) == 2
    assert len({one.facts(columns) for one in recipes}) == 1


def test_columns_that_state_facts_are_part_of_the_code_version_of_facts(tmp_path: Path) -> None:
    def recipes(**more: Any) -> dict[str, str]:
        facts = [{"subject": "name", "relation": "lives in", "object": "city"} | more]
        named = {"people": {"uri": str(tmp_path / "a.csv"), "rows": {"text": "{name}", "facts": facts}}}
        return Recipes.of(load_settings(home=tmp_path, named_sources=named)).code_versions()

    before, single = recipes(), recipes(single=True)
    assert {name for name in before if before[name] != single[name]} == {"facts", "read_facts"}

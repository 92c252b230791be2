import re
from pathlib import Path

from lightrag_dagster.settings import Settings
from tools.settings_page import COMMON, leaves, page

PAGE = Path(__file__).parents[2] / "docs" / "settings.md"


def test_the_page_is_made_from_the_class() -> None:
    assert PAGE.read_text(encoding="utf-8") == page(), "run `make docs`"


def test_every_setting_says_what_it_means() -> None:
    assert [leaf.name for leaf in leaves(Settings) if not leaf.meaning.endswith((".", ".)"))] == []


def test_names_and_variables() -> None:
    variables = {leaf.name: leaf.variable for leaf in leaves(Settings)}
    assert variables["home"] == "LIGHTRAG_HOME"
    assert variables["documents.max_bytes"] == "LIGHTRAG_DOCUMENTS__MAX_BYTES"
    assert variables["named_sources.<name>.uri"] == ""
    assert "llm" not in variables


def test_the_url_of_a_database_is_the_one_secret_among_the_settings() -> None:
    assert not [leaf.name for leaf in leaves(Settings) if re.search("key$|secret|password|token$", leaf.name)]
    schema = Settings.model_json_schema()
    assert str(schema["properties"].pop("database")).count("'format': 'password'") == 1
    assert "'format': 'password'" not in str(schema)


def test_the_ten_that_people_change_are_settings_and_marked() -> None:
    names = {leaf.name for leaf in leaves(Settings)}
    assert len(COMMON) == 10
    assert COMMON.keys() <= names
    shown = page()
    marked = {name for name in names if f"| **`{name}`** |" in shown}
    assert marked == COMMON.keys()

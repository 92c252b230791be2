import re
from pathlib import Path

from lightrag_dagster.schemas import ENTITIES, UNPARTITIONED_TABLES
from lightrag_dagster.view_schemas import VIEWS
from tools.tables_page import page

PAGE = Path(__file__).parents[2] / "docs" / "tables.md"


def test_the_page_is_made_from_the_schemas() -> None:
    assert PAGE.read_text(encoding="utf-8") == page(), "run `make docs`"


def test_every_table_is_on_it() -> None:
    assert set(re.findall("^### `(.+)`$", page(), re.MULTILINE)) == {
        *(*VIEWS, *UNPARTITIONED_TABLES, "snapshots", "costs", "ledger", "changes")
    }


def test_every_column_has_its_type_and_says_whether_it_may_be_null() -> None:
    (entities,) = re.findall("^### `entities`$(.*?)^### ", page(), re.MULTILINE | re.DOTALL)
    rows = re.findall(r"^\| `(.+?)` \| `(.+?)` \| (.+) \|$", entities, re.MULTILINE)
    assert [name for name, _, _ in rows] == ENTITIES.names
    assert [name for name, _, meaning in rows if meaning.endswith("*May be null.*")] == ["summary_recipe"]
    assert {name: kind for name, kind, _ in rows if name in ("name", "chunk_ids", "degree")} == {
        "name": "VARCHAR",
        "chunk_ids": "VARCHAR[]",
        "degree": "BIGINT",
    }

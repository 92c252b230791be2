"""The page on dbt and dlt, run as it is written."""

import os
import re
import subprocess
from pathlib import Path

import duckdb
import pytest
import yaml

from lightrag_dagster.assets import ASSETS
from lightrag_dagster.settings import load_settings
from lightrag_dagster.view_schemas import DERIVED_VIEWS, VIEWS
from tests.cli.test_cli import command
from tests.support import run

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "dbt-and-dlt.md").read_text(encoding="utf-8")
BIN = ROOT / ".venv" / "dbt" / "bin"
"""Made by `make test-long`."""


def code(language: str) -> list[str]:
    """Return the code in a language on the page."""
    return re.findall(rf"```{language}\n(.*?)```", PAGE, re.DOTALL)


def test_the_sources_of_dbt_are_the_tables_and_their_assets(
    capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    status, printed, _ = command(capfd, monkeypatch, "dbt-sources")
    (source,) = yaml.safe_load(printed)["sources"]
    assert (status, source["name"], source["database"], source["schema"]) == (0, "knowledge", "knowledge", "main")
    tables = {table["name"]: table for table in source["tables"]}
    assert {name: [column["name"] for column in table["columns"]] for name, table in tables.items()} == {
        name: schema.names for name, schema in VIEWS.items()
    }
    assert all(column["description"] for table in tables.values() for column in table["columns"])
    keys = {
        name: table["config"]["meta"]["dagster"]["asset_key"] for name, table in tables.items() if "config" in table
    }
    assets = {name for declared in ASSETS for name in declared.assets}
    assert (keys, VIEWS.keys() - keys.keys()) == (
        {name: [name] for name in VIEWS.keys() & assets},
        {*DERIVED_VIEWS},
    )

    monkeypatch.setenv("LIGHTRAG_NAMESPACE", "contracts")
    (source,) = yaml.safe_load(command(capfd, monkeypatch, "dbt-sources")[1])["sources"]
    assert (source["name"], source["database"]) == ("contracts", "contracts")
    assert source["tables"][1]["config"]["meta"]["dagster"]["asset_key"] == ["contracts", "chunks"]
    (source,) = yaml.safe_load(command(capfd, monkeypatch, "dbt-sources", "--name", "kb")[1])["sources"]
    assert (source["name"], source["database"]) == ("kb", "kb")


@pytest.mark.long
def test_dlt_loads_a_source_and_dbt_makes_a_model(
    capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    here = Path.cwd()
    for folder in ("sources", "models"):
        (here / folder).mkdir()
    (here / "load.py").write_text(code("python")[0])
    settings, profile = code("yaml")
    (here / "lightrag.yaml").write_text(settings)
    (here / "profiles.yml").write_text(profile)
    (here / "models" / "people.sql").write_text(code("sql")[0])
    (here / "dbt_project.yml").write_text("name: company\nprofile: company\nmodel-paths: [models]\n")
    monkeypatch.setenv("LIGHTRAG_HOME", str(here / "home"))
    quiet = {"DLT_DATA_DIR": str(here / "dlt"), "RUNTIME__DLTHUB_TELEMETRY": "false", "DO_NOT_TRACK": "1"}

    def in_its_own(*arguments: str) -> None:
        done = subprocess.run(arguments, env=os.environ | quiet, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stdout + done.stderr

    in_its_own(str(BIN / "python"), "load.py")
    assert run(load_settings(), "tickets").failed == {}
    (here / "models" / "sources.yml").write_text(command(capfd, monkeypatch, "dbt-sources")[1])
    in_its_own(str(BIN / "dbt"), "run", "--profiles-dir", ".")
    with duckdb.connect("company.duckdb", read_only=True) as company:
        people = [name for (name,) in company.sql("SELECT name FROM people").fetchall()]
    assert sorted(people) == ["Marta Lindqvist", "Priya Nair"]

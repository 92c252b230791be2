"""What a command imports before it has anything to do: each of these costs a tenth of a second or more."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from lightrag_dagster.settings import Settings
from tests.support import FLOOD, RIVER, write_source

ROOT = Path(__file__).parents[2]
HEAVY = {
    "dagster", "duckdb", "kuzu", "lancedb", "matplotlib", "numpy", "openai", "pandas", "pyarrow", "scipy",
    "sqlalchemy", "trafilatura",
}  # fmt: skip
_PROGRAM = """
import sys
from lightrag_dagster.cli import main
try: main()
except SystemExit: pass
print(*sys.modules, file=sys.stderr)
"""


@pytest.mark.parametrize(
    ("arguments", "needed"),
    [
        (["--help"], set()),
        (["run", "--help"], set()),
        (["query", "--help"], set()),
        (["status"], {"numpy", "pyarrow", "sqlalchemy"}),
        pytest.param(["sql", "select 1"], {"duckdb", "numpy", "pyarrow"}, marks=pytest.mark.long),
        pytest.param(["cypher", "return 1"], {"numpy", "pyarrow"}, marks=pytest.mark.long),
    ],
    ids=["help", "run help", "query help", "status", "sql", "cypher"],
)
def test_heavy_modules_are_imported_where_they_are_needed(
    published_home: Path, arguments: list[str], needed: set[str]
) -> None:
    environment = os.environ | {"LIGHTRAG_HOME": str(published_home), "PYTHONPATH": str(ROOT)}
    (published_home.parent / "sources").mkdir(exist_ok=True)
    ended = subprocess.run(
        [sys.executable, "-c", _PROGRAM, "--sources", str(published_home.parent / "sources"), *arguments],
        env=environment, capture_output=True, text=True, timeout=60, check=True,
    )  # fmt: skip
    assert ended.stdout
    assert HEAVY & set(ended.stderr.split()) <= needed


@pytest.mark.long
def test_an_edit_asks_no_endpoint_and_imports_no_client(settings: Settings) -> None:
    environment = os.environ | {"LIGHTRAG_HOME": str(settings.home), "PYTHONPATH": str(ROOT)}
    for text in (RIVER, f"{RIVER} {FLOOD}"):
        write_source(settings, "notes", {"a.txt": text})
        ended = subprocess.run(
            [sys.executable, "-c", _PROGRAM, "--sources", str(settings.sources), "run"],
            env=environment, capture_output=True, text=True, timeout=200, check=True,
        )  # fmt: skip
        assert "Published" in ended.stdout
    unused = {"httpx2", "matplotlib", "openai", "scipy", "trafilatura", "uvicorn"}
    assert unused & set(ended.stderr.split()) == set()


@pytest.mark.parametrize("arguments", [["--help"], ["run", "--help"]], ids=" ".join)
def test_help_reads_few_modules_of_this_project(arguments: list[str]) -> None:
    ended = subprocess.run(
        [sys.executable, "-c", _PROGRAM, *arguments],
        env=os.environ | {"PYTHONPATH": str(ROOT)}, capture_output=True, text=True, timeout=60, check=True,
    )  # fmt: skip
    ours = {name for name in ended.stderr.split() if name.startswith("lightrag_dagster")}
    assert ours == {
        "lightrag_dagster",
        "lightrag_dagster.cli",
        "lightrag_dagster.cli.app",
        "lightrag_dagster.cli.exits",
        "lightrag_dagster.cli.analysts",
        "lightrag_dagster.cli.graph",
        "lightrag_dagster.cli.options",
        "lightrag_dagster.cli.serve",
        "lightrag_dagster.cli.subcommands",
        "lightrag_dagster.cli.terminal",
        "lightrag_dagster.cli.upkeep",
        "lightrag_dagster.core",
        "lightrag_dagster.core.export_formats",
        "lightrag_dagster.errors",
        "lightrag_dagster.query",
        "lightrag_dagster.query.mode",
    }

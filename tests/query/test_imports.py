"""A question starts quickly: only what it needs is imported, in a process of its own."""

import subprocess
import sys
from pathlib import Path

import pytest

NEEDED = {
    "Stemmer", "anyio", "filelock", "lancedb", "lightrag_dagster", "numpy", "pyarrow", "pydantic", "pydantic_core",
    "pydantic_settings", "regex", "snowballstemmer", "sniffio", "tenacity", "tiktoken", "tiktoken_ext", "yaml",
}  # fmt: skip
"""Packages that a question needs, offline."""

BROUGHT_ALONG = {
    "annotated_types", "cython_runtime", "dateutil", "deprecation", "dotenv", "idna", "lance_namespace",
    "lance_namespace_urllib3_client", "markdown_it", "mdurl", "overrides", "packaging", "six", "tqdm",
    "typing_extensions", "typing_inspection", "urllib3",
}  # fmt: skip
"""Packages that those import by themselves: most of them LanceDB, markdown_it the offline language model."""

WALKING = {"scipy", "charset_normalizer"}
"""Packages of the modes that walk over the graph."""

TERMINAL = {"annotated_doc", "attr", "pygments", "rich", "shellingham", "typer"}
"""Packages of the command line."""

LISTED = """
import atexit, sys
atexit.register(lambda: print(*sys.modules, file=sys.stderr))
{statement}
"""

COMMAND = """
from lightrag_dagster.cli import console
sys.argv[1:] = {arguments!r}
console()
"""


def imported(statement: str, home: Path) -> set[str]:
    """Return the modules that a statement imports."""
    done = subprocess.run(
        [sys.executable, "-c", LISTED.format(statement=statement)],
        env={"LIGHTRAG_HOME": str(home), "PYTHONPATH": str(Path(__file__).parents[2])},
        cwd=home,
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )
    assert done.returncode == 0, done.stderr
    return set(done.stderr.split())


def packages(modules: set[str]) -> set[str]:
    """Return the top-level packages of modules, without those of Python and without private ones."""
    names = {name.split(".")[0] for name in modules} - sys.stdlib_module_names
    return {name for name in names if not name.startswith("_")}


@pytest.mark.long
def test_a_retrieval_imports_what_it_needs_and_scipy_in_the_mode_that_uses_it(published_home: Path) -> None:
    statement = (
        "from lightrag_dagster import KnowledgeBase\n"
        "with KnowledgeBase.open() as opened:\n"
        "    for mode in ('naive', 'mix'):\n"
        "        assert opened.retrieve('Who closed Station 14?', mode=mode).chunks\n"
        "    assert not sys.modules.keys() & {'scipy', 'charset_normalizer'}\n"
        "    opened.retrieve('Who closed Station 14?', mode='ppr')"
    )
    found = imported(statement, published_home)
    assert "scipy" in found
    assert packages(found) <= NEEDED | BROUGHT_ALONG | WALKING


@pytest.mark.long
def test_the_command_leaves_out_the_client_of_remote_databases(published_home: Path) -> None:
    statement = COMMAND.format(arguments=["query", "Who closed Station 14?"])
    found = imported(statement, published_home)
    assert "lancedb.table" in found
    assert "lance_namespace_urllib3_client.api.table_api" not in found
    assert packages(found) <= NEEDED | BROUGHT_ALONG | TERMINAL | WALKING


def test_the_help_names_the_modes_and_imports_no_store(published_home: Path) -> None:
    statement = COMMAND.format(arguments=["query", "--help"])
    found = imported(statement, published_home)
    assert not found & {"numpy", "pyarrow", "lancedb", "duckdb", "pydantic_settings"}

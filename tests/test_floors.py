"""The floors of the engine: a file imports only from floors below its own, or from its own package."""

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent

FLOORS = (
    "core",
    "storage",
    "engines",
    "spending",
    "stages",
    "models",
    "indexes",
    "build",
    "query",
    "evaluation",
    "knowledge_base_resource",
    "resources",
    "assets",
    "definitions",
    "component",
    "runner",
    "cli",
)
"""From the ground up. Beside `core` lie `settings`, `schemas` and `errors`, beside `runner` what else is Dagster's."""

ROOMS = {
    "settings": "core",
    "schemas": "core",
    "errors": "core",
    "connections": "runner",
    "instance": "runner",
    "jobs": "runner",
    "run_launcher": "runner",
    "__main__": "cli",
}
MAY_IMPORT_DAGSTER = ("knowledge_base_resource", "resources", "assets", "definitions", "component", "runner", "cli")
PRODUCT = sorted(
    path for folder in ("lightrag_dagster", "assets", "resources") for path in (ROOT / folder).rglob("*.py")
)
# What still points up; each line here is one to be mended.
KNOWN: set[tuple[str, str]] = set()


def floor(module: str) -> str:
    """Return the floor of a dotted module."""
    parts = module.split(".")
    name = parts[0] if parts[0] in ("assets", "resources") or len(parts) == 1 else parts[1]
    return ROOMS.get(name, name)


def imports(path: Path) -> Iterator[str]:
    """Yield what a file of the product imports, inside functions too; what is for type checkers alone counts."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


def breaches(path: Path) -> Iterator[str]:
    """Yield a line for each import of a file that its floor forbids."""
    where = path.relative_to(ROOT)
    here = floor(".".join(where.with_suffix("").parts))
    if here not in FLOORS:
        yield f"{where} is on no floor"
        return
    for name in imports(path):
        top = name.split(".")[0]
        if top == "dagster" and here not in MAY_IMPORT_DAGSTER:
            yield f"{where}: {here} must not import Dagster"
        elif top in ("lightrag_dagster", "assets", "resources"):
            there = "core" if name == "lightrag_dagster" else floor(name)
            if there not in FLOORS:
                if not name.startswith("lightrag_dagster."):  # not a public name of the package itself
                    yield f"{where} imports {name}, which is on no floor"
            elif FLOORS.index(there) > FLOORS.index(here) and (here, there) not in KNOWN:
                yield f"{where}: {here} must not import {name}"


def test_imports_point_down() -> None:
    assert len(PRODUCT) > 300
    public = ROOT / "lightrag_dagster/__init__.py"  # the public names, imported at first use
    assert [line for path in PRODUCT if path != public for line in breaches(path)] == []


@pytest.mark.parametrize(
    ("path", "line", "breach"),
    [
        ("lightrag_dagster/core/aio.py", "import dagster as dg", "core must not import Dagster"),
        ("lightrag_dagster/core/aio.py", "from dagster import asset", "core must not import Dagster"),
        (
            "lightrag_dagster/storage/gc.py",
            "from lightrag_dagster.query.scope import Scope",
            "storage must not import lightrag_dagster.query.scope.Scope",
        ),
        ("lightrag_dagster/query/scope.py", "import assets.ingestion", "query must not import assets.ingestion"),
        (
            "lightrag_dagster/storage/gc.py",
            "def later():\n    from lightrag_dagster.runner import run",
            "storage must not import lightrag_dagster.runner.run",
        ),
    ],
)
def test_a_breach_is_seen(path: str, line: str, breach: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tests.test_floors.ROOT", tmp_path)
    file = tmp_path / path
    file.parent.mkdir(parents=True)
    file.write_text(line)
    assert list(breaches(file)) == [f"{path}: {breach}"]

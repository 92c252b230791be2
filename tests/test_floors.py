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


@pytest.mark.parametrize("path", PRODUCT, ids=lambda path: str(path.relative_to(ROOT)))
def test_imports_point_down(path: Path) -> None:
    here = floor(".".join(path.relative_to(ROOT).with_suffix("").parts))
    if path == ROOT / "lightrag_dagster/__init__.py":
        return  # the public names, imported at first use
    assert here in FLOORS, f"{path} is on no floor"
    for name in imports(path):
        top = name.split(".")[0]
        if top == "dagster":
            assert here in MAY_IMPORT_DAGSTER
        elif top in ("lightrag_dagster", "assets", "resources"):
            there = "core" if name == "lightrag_dagster" else floor(name)
            if there not in FLOORS:
                assert name.startswith("lightrag_dagster."), name  # a public name of the package itself
                continue
            up = FLOORS.index(there) > FLOORS.index(here)
            assert not up or (here, there) in KNOWN, f"{here} must not import {name}"

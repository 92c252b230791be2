"""The floors of the engine: a file imports only from floors below its own or from its package, and in no circle.

Of a room with a door, others import the names of its `__init__` alone.
"""

import ast
from collections.abc import Collection, Iterator
from functools import cache
from graphlib import CycleError, TopologicalSorter
from importlib import import_module
from pathlib import Path

import pytest

from tests.syntax import nodes_of

ROOT = Path(__file__).parent.parent

FLOORS = (
    "core",
    "readers",
    "offline",
    "storage",
    "engines",
    "spending",
    "curation.rules",
    "stages",
    "models",
    "indexes",
    "pipeline",
    "curation.desk",
    "plan",
    "purge",
    "exports",
    "imports",
    "query",
    "evaluation",
    "report",
    "serving",
    "resources",
    "testing",
    "assets",
    "orchestration",
    "cli",
)
"""From the ground up."""

ROOMS = {
    "curation": "curation.rules",
    "settings": "core",
    "schemas": "core",
    "view_schemas": "core",
    "listing_schemas": "core",
    "fact_schemas": "core",
    "errors": "core",
    "definitions": "orchestration",
    "__main__": "cli",
}
CLOSED = {"core": ("core",), "readers": ("core", "readers"), "offline": ("core", "offline")}
"""What lies in a closed room imports libraries, errors and these packages, nothing else."""

WITH_A_DOOR = (
    "readers",
    "offline",
    "curation.rules",
    "curation.desk",
    "report",
    "serving",
    "imports",
    "models.local",
    "indexes.cypher",
)
"""Rooms of which others import the names alone that their `__init__` imports from inside."""

DOORS = ("atomic", "files")
"""Modules of `storage.files` for all floors; in the others alone it is known whether a home is a disk or a bucket."""

MAY_IMPORT_DAGSTER = ("resources", "testing", "assets", "orchestration", "cli")
KNOWS_KUZU = "lightrag_dagster.indexes.cypher"
PUBLIC = "lightrag_dagster"
"""The package itself: its public names are imported at first use, from any floor."""


def module_of(path: Path) -> str:
    """Return the dotted module of a file; the folders `assets` and `resources` are packages of the engine."""
    parts = path.relative_to(ROOT).with_suffix("").parts
    parts = parts if parts[0] == "lightrag_dagster" else ("lightrag_dagster", *parts)
    return ".".join(parts).removesuffix(".__init__")


@cache
def product() -> dict[str, str]:
    """Return module → text of each file of the product."""
    found = (path for folder in ("lightrag_dagster", "assets", "resources") for path in (ROOT / folder).rglob("*.py"))
    links = [ROOT / "lightrag_dagster" / name for name in ("assets", "resources")]
    own = (path for path in found if not any(path.is_relative_to(link) for link in links))
    return {module_of(path): path.read_text(encoding="utf-8") for path in own}


def room(module: str) -> str:
    """Return the room of a module: the first name inside the package, of `curation` the first two."""
    return next(
        (name for name in FLOORS if f"{module}.".startswith(f"{PUBLIC}.{name}.")),
        module.split(".")[1] if "." in module else "",
    )


def floor(module: str) -> str:
    return ROOMS.get(room(module), room(module))


@cache
def imports(text: str) -> list[str]:
    """Return what a file imports, inside functions and for type checkers too."""
    found = []
    for node in nodes_of(text)[1]:
        if isinstance(node, ast.Import):
            found += [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and node.module:
            found += [f"{node.module}.{alias.name}" for alias in node.names]
    return found


def breaches(files: dict[str, str]) -> Iterator[str]:
    """Yield a line for each import that a floor or a closed room forbids, and for each circle of imports."""
    for module, text in files.items():
        if module == PUBLIC:
            continue
        here = floor(module)
        if here not in FLOORS:
            yield f"{module} is on no floor"
            continue
        for name in imports(text):
            top = name.split(".")[0]
            if top == "dagster" and here not in MAY_IMPORT_DAGSTER:
                yield f"{module}: {here} must not import Dagster"
            elif top == "kuzu" and not module.startswith(KNOWS_KUZU):
                yield f"{module}: kuzu is known in {KNOWS_KUZU} alone"
            elif top in ("assets", "resources"):
                yield f"{module}: {name} is lightrag_dagster.{name}, and would be made twice"
            elif top == PUBLIC:
                yield from breach(module, name)
    circle = circle_of(files)
    if circle:
        yield f"a circle: {' → '.join(circle)}"


def breach(module: str, name: str) -> Iterator[str]:
    """Yield a line if a module of the package must not import another."""
    here, there = floor(module), floor(name)
    if there not in FLOORS:
        return  # a public name of the package itself
    if FLOORS.index(there) > FLOORS.index(here):
        yield f"{module}: {here} must not import {name}"
    elif here != "storage" and is_inside_files(name):
        yield f"{module}: {name} lies behind `Home.files`"
    elif room(module) in CLOSED and room(name) not in (*CLOSED[room(module)], "errors"):
        yield f"{module}: {room(module)} is a closed room, and must not import {name}"
    elif behind := next((one for one in WITH_A_DOOR if is_behind(one, module, name)), None):
        yield f"{module}: {name} lies behind the door of {behind}"


def is_behind(room: str, module: str, name: str) -> bool:
    """Say whether an imported name lies in a room to which the module does not belong, and is not in its door."""
    inside = f"{PUBLIC}.{room}."
    return (
        not f"{module}.".startswith(inside)
        and name.startswith(inside)
        and name.removeprefix(inside) not in names_of_door(room)
    )


@cache
def names_of_door(room: str) -> Collection[str]:
    """Return the names that the door of a room imports from inside."""
    return frozenset(
        alias.asname or alias.name
        for node in nodes_of(product()[f"{PUBLIC}.{room}"])[1]
        if isinstance(node, ast.ImportFrom) and f"{node.module}.".startswith(f"{PUBLIC}.{room}.")
        for alias in node.names
    )


def is_inside_files(name: str) -> bool:
    """Say whether an imported name lies behind the doors of `storage.files`."""
    parts = name.split(".")
    return parts[1:3] == ["storage", "files"] and parts[3] not in DOORS


def circle_of(files: dict[str, str]) -> list[str]:
    """Return modules that import each other, or nothing."""
    graph = {
        module: {taken for name in imports(text) if (taken := owner(name, files)) and taken != module}
        for module, text in files.items()
        if module != PUBLIC
    }
    try:
        TopologicalSorter(graph).prepare()
    except CycleError as error:
        return list(error.args[1])
    return []


def circle_of_folders(files: dict[str, str], package: str) -> list[str]:
    """Return folders and files of a package that import each other, a folder taken as one, or nothing."""

    def inside(module: str) -> str:
        return ".".join(module.split(".")[:3])

    graph: dict[str, set[str]] = {}
    for module, text in files.items():
        if module.startswith(f"{PUBLIC}.{package}."):
            taken = {inside(found) for name in imports(text) if (found := owner(name, files))}
            own = {name for name in taken if name.startswith(f"{PUBLIC}.{package}.")}
            graph.setdefault(inside(module), set()).update(own - {inside(module)})
    try:
        TopologicalSorter(graph).prepare()
    except CycleError as error:
        return list(error.args[1])
    return []


def owner(name: str, files: dict[str, str]) -> str | None:
    """Return the module that a dotted name is, or is taken from."""
    return name if name in files else name.rpartition(".")[0] if name.rpartition(".")[0] in files else None


def test_imports_point_down_and_in_no_circle() -> None:
    files = product()
    assert len(files) > 300
    assert list(breaches(files)) == []


@pytest.mark.parametrize("package", ["storage", "query"])
def test_folders_of_a_package_are_floors_as_well(package: str) -> None:
    assert circle_of_folders(product(), package) == []


@pytest.mark.parametrize(
    ("module", "line", "breach"),
    [
        ("core.aio", "import dagster as dg", "core must not import Dagster"),
        ("core.aio", "from dagster import asset", "core must not import Dagster"),
        (
            "storage.gc",
            "from lightrag_dagster.query.filters.view import View",
            "storage must not import lightrag_dagster.query.filters.view.View",
        ),
        ("query.scope", "import assets.jobs", "assets.jobs is lightrag_dagster.assets.jobs, and would be made twice"),
        (
            "storage.gc",
            "def later():\n    from lightrag_dagster.orchestration.runner import run",
            "storage must not import lightrag_dagster.orchestration.runner.run",
        ),
        (
            "query.snapshot",
            "from lightrag_dagster.storage.files import mirror",
            "lightrag_dagster.storage.files.mirror lies behind `Home.files`",
        ),
        (
            "cli.purge",
            "def later():\n    from lightrag_dagster.storage.files.session import records_of",
            "lightrag_dagster.storage.files.session.records_of lies behind `Home.files`",
        ),
        (
            "readers.pdf",
            "from lightrag_dagster.settings import DocumentSettings",
            "readers is a closed room, and must not import lightrag_dagster.settings.DocumentSettings",
        ),
        (
            "offline.embedder",
            "from lightrag_dagster.readers.language import detect_language",
            "offline is a closed room, and must not import lightrag_dagster.readers.language.detect_language",
        ),
        (
            "stages.documents.captions",
            "from lightrag_dagster.readers.content import Figure",
            "lightrag_dagster.readers.content.Figure lies behind the door of readers",
        ),
        (
            "models.rules",
            "from lightrag_dagster.offline import extractor",
            "lightrag_dagster.offline.extractor lies behind the door of offline",
        ),
        (
            "models.rules",
            "def later():\n    import lightrag_dagster.models.local.pipelines",
            "lightrag_dagster.models.local.pipelines lies behind the door of models.local",
        ),
        (
            "indexes.integrity",
            "from lightrag_dagster.indexes.cypher.graph import write_graph",
            "lightrag_dagster.indexes.cypher.graph.write_graph lies behind the door of indexes.cypher",
        ),
        (
            "assets.downstream",
            "from lightrag_dagster.report import *",
            "lightrag_dagster.report.* lies behind the door of report",
        ),
        ("indexes.integrity", "import kuzu", "kuzu is known in lightrag_dagster.indexes.cypher alone"),
    ],
)  # fmt: skip
def test_a_breach_is_seen(module: str, line: str, breach: str) -> None:
    module = f"lightrag_dagster.{module}"
    assert list(breaches({module: line})) == [f"{module}: {breach}"]


@pytest.mark.parametrize("room", WITH_A_DOOR)
def test_no_name_of_a_door_is_a_module_behind_it(room: str) -> None:
    """Python sets a module that was imported as a name of its package."""
    inside = {module.removeprefix(f"{PUBLIC}.{room}.") for module in product()}
    assert sorted(inside & {*names_of_door(room)}) == []
    assert all(hasattr(import_module(f"{PUBLIC}.{room}"), name) for name in names_of_door(room))


def test_duckdb_is_opened_in_one_place() -> None:
    assert [module for module, text in product().items() if "duckdb.connect(" in text] == [
        "lightrag_dagster.storage.duckdb"
    ]


def functions() -> Iterator[tuple[str, int, int]]:
    """Yield each function of the product with its arguments, without `self`, and its lines."""
    for module, text in product().items():
        for node in nodes_of(text)[1]:
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                given = node.args.posonlyargs + node.args.args + node.args.kwonlyargs
                arguments = [one for one in given if one.arg not in ("self", "cls")]
                yield f"{module}.{node.name}", len(arguments), (node.end_lineno or 0) - node.lineno + 1


def test_functions_are_small() -> None:
    """A function has at most 7 arguments, except commands, whose arguments are options; and at most 50 lines."""
    commands = (f"{PUBLIC}.cli.app.", f"{PUBLIC}.cli.subcommands.")
    found = list(functions())
    assert len(found) > 3_000
    assert [name for name, arguments, _ in found if arguments > 7 and not name.startswith(commands)] == []
    assert [name for name, _, lines in found if lines > 50] == []


def packed(text: str) -> Iterator[str]:
    """Yield each statement that gives several names what is worked out, with a choice, a loop or over 80 characters."""
    for node in nodes_of(text)[1]:
        if (
            isinstance(node, ast.Assign)
            and isinstance(node.value, ast.Tuple)
            and isinstance(node.targets[0], ast.Tuple)
        ):
            said = ast.unparse(node)
            parts = [[*ast.walk(one)] for one in node.value.elts]
            worked_out = [any(isinstance(one, (*_WORK, *_CHOICES)) for one in part) for part in parts]
            chosen = any(isinstance(one, _CHOICES) for part in parts for one in part)
            if sum(worked_out) > 1 and (chosen or len(said) > 82):
                yield said


_WORK = (ast.Call, ast.BoolOp, ast.Compare)
_CHOICES = (ast.IfExp, ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)


def test_a_line_works_one_thing_out() -> None:
    """Lines of code are a budget, which is not to be kept by two statements in one."""
    assert [*packed("a, b = len(c), 0"), *packed("low, high = min(a), max(a)"), *packed("a, b = b, a")] == []
    assert len([*packed("a, b = [c for c in d], len(d)")]) == 1
    assert [line for text in product().values() for line in packed(text)] == []


def test_a_circle_is_seen() -> None:
    first, second = "lightrag_dagster.storage.first", "lightrag_dagster.storage.second"
    files = {first: "from lightrag_dagster.storage import second", second: f"from {first} import name"}
    [line] = breaches(files)
    assert line.startswith("a circle: ")


def test_a_circle_of_folders_is_seen() -> None:
    files = {
        "lightrag_dagster.storage.home": "from lightrag_dagster.storage.files import disk",
        "lightrag_dagster.storage.files.disk": "",
        "lightrag_dagster.storage.files.backup": "from lightrag_dagster.storage import home",
    }
    assert circle_of(files) == []
    assert len(circle_of_folders(files, "storage")) == 3

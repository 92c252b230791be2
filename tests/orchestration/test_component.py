"""The component, as `dg` finds, scaffolds and checks it in a project of its own."""

import os
import subprocess
import sys
from pathlib import Path

import dagster as dg
import pytest
import yaml

import lightrag_dagster
from lightrag_dagster import KnowledgeBaseComponent
from lightrag_dagster.errors import SettingsError

ROOT = Path(__file__).parents[2]
TYPE = "lightrag_dagster.KnowledgeBaseComponent"
_PROJECT = """
[tool.dg]
directory_type = "project"

[tool.dg.project]
root_module = "scratch"
registry_modules = ["lightrag_dagster"]
"""


def build(component: KnowledgeBaseComponent) -> dg.Definitions:
    return component.build_defs(dg.ComponentTree.for_test().load_context)


def test_attributes_become_settings(tmp_path: Path) -> None:
    component = KnowledgeBaseComponent(
        namespace="contracts", settings={"home": str(tmp_path), "dagster": {"owners": ["team:legal"]}}
    )
    specs = build(component).resolve_all_asset_specs()
    assert {spec.key.path[0] for spec in specs} == {"contracts"}
    assert {tuple(spec.owners) for spec in specs} == {("team:legal",)}


def test_a_mistake_names_the_setting() -> None:
    with pytest.raises(SettingsError, match=r"setting chunking\.size"):
        build(KnowledgeBaseComponent(settings={"chunking": {"size": "many"}}))


def test_the_package_lists_it() -> None:
    assert "KnowledgeBaseComponent" in dir(lightrag_dagster)
    assert dg.DagsterInstance.__name__ not in dir(lightrag_dagster)


@pytest.fixture
def project(tmp_path: Path) -> Path:
    folder = tmp_path / "project"
    (folder / "src" / "scratch" / "defs").mkdir(parents=True)
    (folder / "pyproject.toml").write_text('[project]\nname = "scratch"\nversion = "0"\n' + _PROJECT)
    for package in (folder / "src" / "scratch", folder / "src" / "scratch" / "defs"):
        (package / "__init__.py").write_text("")
    (folder / "src" / "scratch" / "definitions.py").write_text(
        "from pathlib import Path\nimport dagster as dg\n\n"
        "@dg.definitions\ndef defs() -> dg.Definitions:\n"
        "    return dg.load_from_defs_folder(path_within_project=Path(__file__).parent)\n"
    )
    return folder


def dg_cli(project: Path, *arguments: str) -> str:
    program = Path(sys.executable).parent / "dg"
    paths = os.pathsep.join([str(ROOT), str(project / "src")])
    ended = subprocess.run(
        [str(program), *arguments], cwd=project, env=os.environ | {"PYTHONPATH": paths, "COLUMNS": "200"},
        capture_output=True, text=True, timeout=120,
    )  # fmt: skip
    assert ended.returncode == 0, ended.stdout + ended.stderr
    return ended.stdout


@pytest.mark.long
def test_dg_lists_scaffolds_and_checks_it(project: Path) -> None:
    assert TYPE in dg_cli(project, "list", "components")
    dg_cli(project, "scaffold", "defs", TYPE, "contracts")
    written = project / "src" / "scratch" / "defs" / "contracts" / "defs.yaml"
    scaffolded = yaml.safe_load(written.read_text())
    assert scaffolded["type"] == TYPE
    scaffolded["attributes"] = {"namespace": "contracts", "settings": {"home": "home", "sources": "documents"}}
    written.write_text(yaml.safe_dump(scaffolded))
    dg_cli(project, "check", "defs")
    assert "contracts/knowledge_base" in dg_cli(project, "list", "defs")

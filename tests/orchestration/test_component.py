"""The component, as `dg` finds, scaffolds and checks it in a project of its own."""

import os
import re
import subprocess
import sys
from pathlib import Path

import dagster as dg
import pytest
import yaml
from jsonschema import Draft202012Validator  # type: ignore[import-untyped]

import lightrag_dagster
from lightrag_dagster import KnowledgeBaseComponent
from lightrag_dagster.errors import SettingsError
from lightrag_dagster.orchestration.component import KnowledgeBaseScaffolder, ScaffoldedKnowledgeBase
from lightrag_dagster.orchestration.defs_file import chosen_by
from lightrag_dagster.settings import Settings, choosing, load_settings
from tests.support import RIVER

# Dagster's own loader of components.
pytestmark = pytest.mark.filterwarnings("ignore:`parse_obj_as` is deprecated")

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
        namespace="contracts", settings={"home": str(tmp_path), "dagster": {"without": ["communities"]}}
    )
    specs = build(component).resolve_all_asset_specs()
    assert {spec.key.path[0] for spec in specs} == {"contracts"}
    assert "communities" not in {spec.key.path[-1] for spec in specs}


def test_two_knowledge_bases_have_no_home_in_common(tmp_path: Path) -> None:
    """As where the `defs.yaml` of one was copied: each would take the sources of the other for gone."""
    (tmp_path / "link").symlink_to(tmp_path)
    for namespace in ("contracts", "contracts"):  # loaded twice, as after an edit
        build(KnowledgeBaseComponent(namespace=namespace, settings={"home": str(tmp_path / "home")}))
    build(KnowledgeBaseComponent(namespace="letters", settings={"home": str(tmp_path / "letters")}))
    with pytest.raises(SettingsError, match=r"'contracts' and 'manuals' have one home, .*give each its own by"):
        build(KnowledgeBaseComponent(namespace="manuals", settings={"home": str(tmp_path / "link" / "home")}))


@pytest.mark.parametrize(
    ("attributes", "mistakes"),
    [
        ({"namespace": "contracts", "settings": Settings().model_dump(mode="json")}, []),
        ({"settings": {"chunking": {"size": "{{ env.SIZE }}"}, "llm": {"max_cost_usd": "{{ env.COST }}"}}}, []),
        ({"config": "lightrag.yaml", "settings": "{{ shared }}"}, []),
        ({"settings": {"llm": "{{ shared_llm }}", "named_sources": "{{ sources }}"}}, []),
        ({"settings": {"llm": "offline"}}, ["settings.llm"]),
        ({"settings": {"chunking": {"size": "many"}}}, ["settings.chunking.size"]),
        ({"settings": {"llm": {"max_cost_usd": -1}}}, ["settings.llm.max_cost_usd"]),
        ({"settings": {"llm": {"modle": "gpt-6-luna"}}}, ["settings.llm"]),
        ({"settings": {"exports": ["graphmll"]}}, ["settings.exports"]),
        ({"settings": {"named_sources": {"crm": {"typs": {}}}}}, ["settings.named_sources.crm"]),
        ({"config": 3, "setings": {}}, ["config", ""]),
    ],
)
def test_dg_check_yaml_finds_a_mistake_at_its_setting(attributes: dict[str, object], mistakes: list[str]) -> None:
    model = KnowledgeBaseComponent.get_model_cls()
    assert model
    found = Draft202012Validator(model.model_json_schema()).iter_errors(attributes)
    assert sorted(".".join(map(str, one.absolute_path)) for one in found) == sorted(mistakes)


def test_editors_and_agents_are_told_what_each_setting_means() -> None:
    model = KnowledgeBaseComponent.get_model_cls()
    assert model
    attributes = model.model_json_schema()["properties"]
    assert [name for name, one in attributes.items() if one.get("description")] == ["namespace", "config", "settings"]
    told = attributes["settings"]["properties"]
    assert set(told) == set(Settings.model_fields)
    assert told["chunking"]["properties"]["size"]["description"] == "Longest chunk, for every method. Tokens."
    assert not [name for name, one in told.items() if not one.get("description")]


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


def environment(project: Path) -> dict[str, str]:
    paths = os.pathsep.join([str(ROOT), str(project / "src")])
    return os.environ | {"PYTHONPATH": paths, "COLUMNS": "200"}


def dg_cli(project: Path, *arguments: str) -> str:
    program = Path(sys.executable).parent / "dg"
    ended = subprocess.run(
        [str(program), *arguments], cwd=project, env=environment(project), capture_output=True, text=True, timeout=120
    )
    assert ended.returncode == 0, ended.stdout + ended.stderr
    return ended.stdout


def scaffold(project: Path, name: str, *, append: bool = False, **given: str) -> Path:
    """Scaffold a component as `dg` does, and return the folder of its file."""
    folder = project / "src" / "scratch" / "defs" / name
    folder.mkdir(parents=True, exist_ok=True)
    params = ScaffoldedKnowledgeBase.model_validate(given)
    request = dg.ScaffoldRequest(TYPE, folder, "yaml", project, params, append=append)
    KnowledgeBaseScaffolder().scaffold(request)
    return folder


@pytest.mark.parametrize(
    ("folder", "namespace"),
    [
        ("contracts", "contracts"),
        ("Legal-2024", "legal_2024"),
        ("2024", "kb_2024"),
        ("on", "on"),
        ("Verträge", "vertrage"),
        ("契約", "kb"),
    ],
)
def test_a_file_is_scaffolded_with_comments(project: Path, folder: str, namespace: str) -> None:
    written = (scaffold(project, folder, sources="documents") / "defs.yaml").read_text()
    assert f"lightrag-dagster --defs src/scratch/defs/{folder}/defs.yaml run\n" in written
    assert yaml.safe_load(written) == {
        "type": TYPE,
        "attributes": {"namespace": namespace, "settings": {"home": f"data/{namespace}", "sources": "documents"}},
    }
    assert load_settings(namespace=namespace).namespace == namespace


@pytest.fixture
def importable(project: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A project with modules that are forgotten after the test."""
    monkeypatch.setattr(sys, "path", [*sys.path])
    monkeypatch.setattr(sys, "modules", dict(sys.modules))
    return project


def test_the_command_line_takes_the_settings_of_the_file(importable: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = scaffold(importable, "contracts", home="{{ env.WHERE }}")
    (folder / "lightrag.yaml").write_text("language: German\nllm: {max_output_tokens: 700, model: cheap}\n")
    written = (folder / "defs.yaml").read_text().replace("  # config:", "    llm: {model: dear}\n  config:")
    (folder / "defs.yaml").write_text(written)
    monkeypatch.setenv("WHERE", "/srv/here")
    monkeypatch.setenv("LIGHTRAG_NAMESPACE", "other")
    monkeypatch.setenv("LIGHTRAG_LANGUAGE", "Dutch")
    with choosing(chosen_by(folder / "defs.yaml")):
        settings = load_settings(llm={"max_cost_usd": 2})
    assert (settings.home, settings.namespace, settings.language) == (Path("/srv/here"), "contracts", "Dutch")
    assert (settings.llm.model, settings.llm.max_output_tokens) == ("dear", 700)
    assert settings.llm.max_cost_usd == 2
    assert load_settings().namespace == "other"


def test_one_of_several_knowledge_bases_in_a_file_is_named(importable: Path) -> None:
    folder = scaffold(importable, "contracts")
    scaffold(importable, "contracts", append=True, namespace="letters")
    file = folder / "defs.yaml"
    with pytest.raises(SettingsError, match=f"name one of .*: {file}#contracts, {file}#letters"):
        chosen_by(file)
    assert chosen_by(Path(f"{file}#letters")).settings["namespace"] == "letters"


def test_another_file_of_the_project_may_be_broken(importable: Path) -> None:
    file = scaffold(importable, "contracts") / "defs.yaml"
    for name, text in (
        ("broken/defs.yaml", "type: [a\n"),
        ("unknown/defs.yaml", "type: nowhere.Part\n"),
        ("x.py", "("),
    ):
        other = importable / "src" / "scratch" / "defs" / name
        other.parent.mkdir(exist_ok=True)
        other.write_text(text)
    assert chosen_by(file).settings["namespace"] == "contracts"


def test_variables_of_a_folder_above_count(importable: Path) -> None:
    file = scaffold(importable, "legal/contracts", home="{{ place }}") / "defs.yaml"
    above = file.parent.parent
    (above / "places.py").write_text(
        "import dagster as dg\n\n@dg.template_var\ndef place():\n    return '/srv/legal'\n\n"
        "@dg.template_var\ndef shared():\n    return {'model': 'dear'}\n"
    )
    file.write_text(f"{file.read_text()}    llm: '{{{{ shared }}}}'\n")
    (above / "defs.yaml").write_text("type: dagster.DefsFolderComponent\ntemplate_vars_module: .places\n")
    assert chosen_by(file).settings["home"] == "/srv/legal"
    assert chosen_by(file).settings["llm"] == {"model": "dear"}


@pytest.mark.long
@pytest.mark.filterwarnings("ignore::dagster.PreviewWarning", "ignore::dagster.BetaWarning")  # of its own loader
def test_post_processing_of_the_page_wins_over_our_attributes(importable: Path) -> None:
    page = (ROOT / "docs" / "in-a-project.md").read_text(encoding="utf-8")
    (shown,) = re.findall(r"^```yaml\n(post_processing:\n.*?)^```$", page, re.DOTALL | re.MULTILINE)
    file = scaffold(importable, "contracts", home=str(importable / "home")) / "defs.yaml"
    own = "    dagster: {fresh_hours: 30}\n"
    scaffold(importable, "letters", home=str(importable / "letters"))
    file.write_text(file.read_text() + own + shown)
    sys.path.insert(0, str(importable / "src"))
    definitions = dg.ComponentTree.for_project(importable).build_defs()
    specs = {spec.key.to_user_string(): spec for spec in definitions.resolve_all_asset_specs()}
    ours = {name: spec for name, spec in specs.items() if name.startswith("contracts/")}
    assert {tuple(spec.owners) for spec in ours.values()} == {("team:legal",)}
    assert {spec.tags.get("domain") for spec in ours.values()} == {"legal"}
    assert [name for name, spec in specs.items() if spec.automation_condition] == ["contracts/graph_report"]
    assert ours["contracts/chunks"].kinds == specs["letters/chunks"].kinds != set()
    assert not specs["letters/chunks"].owners
    (sensor,) = (one for one in definitions.get_repository_def().sensor_defs if one.name.startswith("default"))
    assert sensor.default_status is dg.DefaultSensorStatus.STOPPED


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (None, "there is no .*defs.yaml; `dg scaffold defs` writes one"),
        (f"type: {TYPE}\nattributes: {{name: x}}\n", "cannot be loaded: .*"),
        ("type: nowhere.Component\n", "cannot be loaded: .*"),
        ("type: scratch.script.Component\n", "cannot be loaded: SystemExit"),
        (f"type: {TYPE}\n---\ntype: {TYPE}\n", "name one of the knowledge bases of .*, each with a namespace"),
        ("type: [a\nsettings: {database: 'postgresql://u:hunter2@h'\n", "cannot be loaded: line 2, .*"),
        (f"type: {TYPE}\nattributes: {{config: 3}}\n", "cannot be loaded: .*config"),
        (
            f"type: {TYPE}\nattributes: {{settings: {{home: '{{{{ env.NOT_SET_HERE }}}}'}}}}\n",
            "setting home: it has no value, as where a template names a variable that is not set; see the `defs.yaml`",
        ),
        (f"type: {TYPE}\nattributes: {{config: no.yaml}}\n", "LIGHTRAG_CONFIG: .*no.yaml is not a file"),
    ],
)
def test_a_file_that_cannot_be_used_says_why(importable: Path, text: str | None, message: str) -> None:
    folder = importable / "src" / "scratch" / "defs" / "contracts"
    folder.mkdir()
    (importable / "src" / "scratch" / "script.py").write_text("raise SystemExit")
    if text is not None:
        (folder / "defs.yaml").write_text(text)
    with pytest.raises(SettingsError, match=message) as raised, choosing(chosen_by(folder / "defs.yaml")):
        load_settings()
    assert "hunter2" not in str(raised.value)


def test_a_file_outside_of_a_project_says_so(tmp_path: Path) -> None:
    (tmp_path / "defs.yaml").write_text(f"type: {TYPE}\n")
    with pytest.raises(SettingsError, match="is in no project of `dg`"):
        chosen_by(tmp_path / "defs.yaml")


@pytest.mark.long
def test_dg_lists_scaffolds_and_checks_two_beside_the_projects_own(project: Path) -> None:
    assert TYPE in dg_cli(project, "list", "components")
    for name in ("contracts", "letters"):
        dg_cli(project, "scaffold", "defs", TYPE, name, "--home", f"homes/{name}", "--sources", f"documents/{name}")
        (project / "documents" / name / "notes").mkdir(parents=True)
        (project / "documents" / name / "notes" / "river.md").write_text(RIVER)
    (project / "src" / "scratch" / "defs" / "own.py").write_text(
        "import dagster as dg\n\n@dg.asset\ndef own() -> None: ...\n\n"
        "@dg.definitions\ndef defs() -> dg.Definitions:\n"
        "    return dg.Definitions(executor=dg.multiprocess_executor, resources={'lightrag': 'own'})\n"
    )
    dg_cli(project, "check", "yaml")
    dg_cli(project, "check", "defs")
    listed = dg_cli(project, "list", "defs")
    assert "contracts/knowledge_base" in listed
    assert "letters/knowledge_base" in listed
    file = "src/scratch/defs/letters/defs.yaml"
    program = [sys.executable, "-m", "lightrag_dagster", "--defs", file, "run"]
    ended = subprocess.run(program, cwd=project, capture_output=True, text=True, timeout=120, env=environment(project))
    assert ended.returncode == 0, ended.stderr
    assert (project / "homes" / "letters" / "PUBLISHED").is_file()
    assert not (project / "homes" / "contracts").exists()

"""The demo, with one of its documents and questions: the whole of it is run by `make demo`."""

import re
import shlex
import shutil
import sys
from pathlib import Path

import pytest
import yaml

from lightrag_dagster.cli import demo
from lightrag_dagster.curation.desk import take
from lightrag_dagster.curation.rules import check_decision
from lightrag_dagster.orchestration.definitions import build_definitions
from lightrag_dagster.orchestration.instance import open_instance
from lightrag_dagster.settings import load_settings
from lightrag_dagster.storage.home import Home
from lightrag_dagster.storage.snapshots.snapshots import published_snapshot
from tests.cli.test_cli import command
from tests.docs.test_analysts import examples as commands_in
from tests.docs.test_analysts import prints
from tests.support import build, published


@pytest.fixture
def examples(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    folder = tmp_path / "examples"
    handbook = folder / "sources" / "handbook"
    handbook.mkdir(parents=True)
    shutil.copy(demo._EXAMPLES / "sources" / "handbook" / "instruments.md", handbook)
    first, *_ = yaml.safe_load((demo._EXAMPLES / "questions.yaml").read_text())
    (folder / "questions.yaml").write_text(yaml.safe_dump([first]))
    (tmp_path / "Makefile").touch()
    monkeypatch.setattr(demo, "_EXAMPLES", folder)
    return folder


@pytest.mark.long  # CI runs `make demo`
def test_the_demo_leaves_no_asset_missing_that_a_job_makes(
    capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, examples: Path, tmp_path: Path
) -> None:
    damaged = examples / "sources" / "damaged"
    damaged.mkdir()
    (damaged / "board.pdf").write_bytes(b"%PDF-1.7 and no more")
    monkeypatch.setenv("LIGHTRAG_HOME", str(tmp_path / "home"))
    monkeypatch.setenv("COLUMNS", "80")
    code, output, errors = command(capfd, monkeypatch, "demo")
    assert (code, errors) == (0, "")
    assert "Built and published gen-" in output
    assert "damaged is withheld: 1 of 1 documents of source 'damaged' failed" in output
    clone, home = demo._EXAMPLES.parent, tmp_path / "home"
    program = Path(sys.executable).with_name("lightrag-dagster")
    assert f'\n  {program} --home {home} query "What happened' in output, "the folder is another than the clone's"
    assert f"\n  make -C {clone} ui LIGHTRAG_HOME={home} " in output
    settings = demo.demo_settings(load_settings(), demo._EXAMPLES)
    keys = build_definitions(settings).resolve_all_asset_keys()
    with open_instance(Home(settings.home)) as instance:
        missing = {key.to_user_string() for key in keys if instance.get_latest_materialization_event(key) is None}
    asked_for = {"communities", "duplicate_candidates", "graph_report"}
    assert missing == {"curation"} | asked_for  # decisions are observed, others made when somebody wants them


@pytest.mark.long
def test_the_readme_shows_what_the_demo_prints(
    capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LIGHTRAG_HOME", "demo")
    monkeypatch.setenv("COLUMNS", "120")
    printed = command(capfd, monkeypatch, "demo")[1]
    page = (demo._EXAMPLES.parent / "README.md").read_text()
    shown = page.partition("The demo ends like this:\n\n```\n")[2].partition("\n```")[0]
    # The id is of the files' times too, which are those of the clone.
    other = re.compile(r" +[\d.]+ │$|gen-[0-9a-f]+", re.MULTILINE)
    assert shown.startswith("Built and published gen-")
    assert other.sub("", shown) in other.sub("", printed)

    questions = commands_in(page.partition("\n## Query the tables\n")[2].partition("\n## ")[0])
    assert len(questions) == 4
    for line, shown in questions:
        assert prints(shown, command(capfd, monkeypatch, *shlex.split(line)[1:])[1]), line


def test_in_the_clone_the_commands_are_short(monkeypatch: pytest.MonkeyPatch) -> None:
    clone = demo._EXAMPLES.parent
    monkeypatch.chdir(clone)
    monkeypatch.setattr(sys, "executable", str(clone / ".venv" / "bin" / "python3"))
    printed = demo._next_commands(demo.demo_settings(load_settings(), demo._EXAMPLES).home)
    assert '\n  .venv/bin/lightrag-dagster --home demo query "What' in printed
    assert "\n  make ui  " in printed


def test_without_a_clone_there_is_no_command_of_make(examples: Path) -> None:
    (examples.parent / "Makefile").unlink()
    printed = demo._next_commands(Path("demo"))
    assert "evaluate --questions" in printed
    assert "in the Dagster UI" not in printed


@pytest.mark.usefixtures("examples")
def test_the_home_of_other_sources_is_left_alone(
    capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, published_home: Path
) -> None:
    monkeypatch.setenv("LIGHTRAG_HOME", str(published_home))
    before = published_snapshot(Home(published_home))
    code, _, errors = command(capfd, monkeypatch, "demo")
    assert code == 2
    assert "publishes archive, office, which the demo would replace" in errors
    assert published_snapshot(Home(published_home)) == before


@pytest.mark.long
def test_what_people_added_to_the_home_of_the_demo_is_not_of_others(examples: Path) -> None:
    settings = demo.demo_settings(load_settings(), examples)
    take(settings, [check_decision("here", action="add", names=("Ada Lindt",), text="She leads.").decision])
    build(settings)
    assert "curation" in published(settings).inputs.sources
    demo._require_own_home(settings)


def test_settings_for_sources_of_ones_own_are_not_of_the_demo(examples: Path, tmp_path: Path) -> None:
    Path("lightrag.yaml").write_text(
        "home: elsewhere\ncache: {folder: bought}\ndagster: {without: [published_graph]}\nnamespace: ours\n"
        "extraction: {methods: {contracts: mentions}}\nchecks: ours\nreadings: ours\nprompts: ours\n"
        "scopes: {board: {sources: [contracts]}}\ncuration: ours.yaml\n"
    )
    settings = demo.demo_settings(load_settings(), examples)
    defaults = demo.demo_settings(type(settings).model_construct(), examples)
    kept = {"home", "cache", "dagster"}
    assert {name for name, value in settings if value != getattr(defaults, name)} == kept

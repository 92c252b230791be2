import json
import re
from pathlib import Path

import pytest
from typer.testing import CliRunner

from lightrag_dagster.cli.app import app
from lightrag_dagster.cli.trial import Tried
from lightrag_dagster.errors import SettingsError
from lightrag_dagster.settings import Settings, load_settings
from tests.support import FLOOD, RIVER, build, write_source


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Settings:
    """Settings of a home that a trial leaves as it is."""
    folder = tmp_path_factory.mktemp("trial")
    settings = load_settings(home=folder / "home", sources=folder / "sources")
    write_source(settings, "notes", {"river.md": RIVER, "flood.md": FLOOD})
    build(settings)
    return settings


@pytest.fixture
def home(built: Settings, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("LIGHTRAG_HOME", str(built.home))
    monkeypatch.setenv("LIGHTRAG_SOURCES", str(built.sources))
    return tmp_path


@pytest.mark.long
def test_a_comparison_is_printed(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    questions = home / "questions.yaml"
    questions.write_text("- question: Who maintains the gauge?\n  documents: [notes/river.md]\n")
    monkeypatch.setenv("LIGHTRAG_CHUNKING__SIZE", "20")
    monkeypatch.setenv("LIGHTRAG_CHUNKING__OVERLAP", "0")
    result = CliRunner().invoke(app, ["try", "--documents", "2", "--questions", str(questions)])
    assert result.exit_code == 0, result.output
    chunks = next(line for line in result.output.splitlines() if "chunks  " in line)
    stored, tried = (int(cell) for cell in chunks.split("│")[2:4])
    assert stored == 2 < tried
    assert "naive, recall@5" in result.output
    assert "2 documents; 2 of 2 chunks" in result.output
    assert "Questions that name documents of the sample alone, and are asked: 1 of 1." in result.output


@pytest.mark.long
def test_a_comparison_as_json(home: Path) -> None:
    result = CliRunner().invoke(app, ["try", "--json"])
    assert result.exit_code == 0, result.output
    found = json.loads(result.output)
    assert found["before"]["entities"] == found["after"]["entities"] != []
    assert (found["documents"], found["questions"], found["after"]["usage"]["calls"]) == (2, 0, 0)


@pytest.mark.long
def test_entities_of_another_type_are_listed(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LIGHTRAG_MERGING__TYPES", '{"map": {"location": "thing", "person": "thing", "other": "thing"}}')
    monkeypatch.setenv("COLUMNS", "200")
    result = CliRunner().invoke(app, ["try"])
    assert result.exit_code == 0, result.output
    assert re.search(r"^\d+ entities of another type: .*\((\w+) → thing\)", result.output, re.MULTILINE), result.output
    assert "gained" not in result.output


def test_a_model_and_prompts_take_the_place_of_the_settings(tmp_path: Path) -> None:
    settings = load_settings(
        home=tmp_path, llm={"provider": "openai", "model": "gpt-4o-mini", "roles": {"extract": {"temperature": 0.5}}}
    )
    tried = Tried(prompts=tmp_path, model="gpt-4o", max_cost_usd=2.0).applied(settings)
    extracting = tried.llm.of("extract")
    assert (extracting.model, extracting.temperature, extracting.max_cost_usd) == ("gpt-4o", 0.5, 2.0)
    assert (tried.llm.of("answer").model, tried.prompts) == (settings.llm.model, tmp_path)
    with pytest.raises(SettingsError, match="offline asks no model such as gpt-4o"):
        Tried(model="gpt-4o").applied(load_settings(home=tmp_path))

"""`prompts export`."""

from pathlib import Path

import pytest

from lightrag_dagster.stages.prompts import load_prompts
from tests.cli.test_cli import command


def test_the_exported_prompts_are_those_in_force(
    capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    folder = tmp_path / "my" / "prompts"
    code, output, errors = command(capfd, monkeypatch, "prompts", "export", str(folder))
    assert (code, errors) == (0, "")
    assert " ".join(output.split()).startswith(f"{len(load_prompts(None).texts)} prompts are in {folder}. Edit some,")
    assert load_prompts(folder) == load_prompts(None)


def test_a_file_that_is_there_stays_and_nothing_is_written(
    capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (tmp_path / "judge_system.md").write_text("Be fair")
    code, _, errors = command(capfd, monkeypatch, "prompts", "export", str(tmp_path))
    assert (code, f"error: {tmp_path / 'judge_system.md'} is there already" in errors) == (2, True)
    assert [path.name for path in tmp_path.iterdir()] == ["judge_system.md"]
    assert (tmp_path / "judge_system.md").read_text() == "Be fair"


def test_a_place_that_refuses_is_named(
    capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (tmp_path / "file").touch()
    code, _, errors = command(capfd, monkeypatch, "prompts", "export", str(tmp_path / "file" / "prompts"))
    assert (code, f"prompts cannot be written to {tmp_path}" in errors) == (2, True)

"""Extraction by batch from the command line: submit, list, cancel, wait."""

import json
from pathlib import Path

import pytest
import yaml

from lightrag_dagster.models.batch import waiting
from tests.cli.test_cli import command
from tests.loopback import Loopback
from tests.loopback_batches import Fate
from tests.models.models import offline_answer

SETTINGS = {
    "llm": {"provider": "openai", "model": "gpt-4o-mini", "mode": "batch"},
    "extraction": {"gleaning": 0},
}


@pytest.mark.usefixtures("notes")
@pytest.mark.parametrize("names", [("",), ("nosuch", "")])
def test_an_empty_name_as_of_an_unset_variable_cancels_no_batch(
    capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, names: tuple[str, ...]
) -> None:
    code, _, errors = command(capfd, monkeypatch, "batch", "cancel", *names)

    assert (code, "name the batches to cancel, or give --all" in errors) == (2, True)


@pytest.mark.long
@pytest.mark.usefixtures("notes")
def test_batches_from_the_command_line(
    capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path, loopback: Loopback
) -> None:
    fates = [Fate(looks=1000, answered=0)]
    loopback.chat, loopback.batches.spoil = offline_answer, lambda batch: fates.pop(0) if fates else Fate(looks=2)
    monkeypatch.setattr(waiting, "FIRST_PAUSE", 0.01)
    (tmp_path / "lightrag.yaml").write_text(yaml.safe_dump(SETTINGS))
    assert command(capfd, monkeypatch, "batch")[1] == "No batches are open.\n"

    code, output, errors = command(capfd, monkeypatch, "run")
    assert (code, errors) == (0, "")
    assert "Waiting for batches: notes." in output
    assert "Published" not in output

    assert "Batches: 1 open, 0 of 1 requests done" in command(capfd, monkeypatch, "status")[1]
    said = json.loads(command(capfd, monkeypatch, "status", "--json")[1])["batches"]
    assert said.startswith("1 open, 0 of 1 requests done")
    assert "in_progress" in command(capfd, monkeypatch, "batch")[1]

    code, _, errors = command(capfd, monkeypatch, "batch", "cancel", "nosuch")
    assert (code, "no open batch is named nosuch" in errors) == (2, True)
    code, _, errors = command(capfd, monkeypatch, "batch", "cancel")
    assert (code, "give --all" in errors) == (2, True)
    assert "is being cancelled" in command(capfd, monkeypatch, "batch", "cancel", "--all")[1]

    code, output, errors = command(capfd, monkeypatch, "run", "--wait")
    assert (code, errors) == (0, "")
    assert "Published" in output
    assert "It cost $0.0000." in output
    assert [batch.status for batch in loopback.batches.batches.values()] == ["cancelled", "completed"]
    assert command(capfd, monkeypatch, "batch")[1] == "No batches are open.\n"
    everything = command(capfd, monkeypatch, "batch", "--all")[1]
    assert "cancelled" in everything
    assert "completed" in everything


@pytest.mark.long
@pytest.mark.usefixtures("notes")
def test_waiting_for_one_source_does_not_hide_that_another_is_withheld(
    capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path, loopback: Loopback
) -> None:
    scans = tmp_path / "sources" / "scans"
    scans.mkdir()
    (scans / "broken.txt").write_bytes(b"\xc3\x28")
    loopback.chat = offline_answer
    monkeypatch.setattr(waiting, "FIRST_PAUSE", 0.01)
    (tmp_path / "lightrag.yaml").write_text(yaml.safe_dump(SETTINGS))

    code, output, errors = command(capfd, monkeypatch, "run", "--wait")

    assert (code, errors) == (1, "")
    assert "scans is withheld" in output
    assert "Published" in output

"""`snapshots`, `rollback`, `release`, `gc` and `cache` as a person uses them."""

import json
from pathlib import Path

import pytest

from lightrag_dagster.settings import load_settings
from tests.cli.test_cli import command
from tests.support import RIVER, published, run, write_source


def test_back_and_forth_from_the_command_line(
    capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("COLUMNS", "200")
    settings = load_settings(home=tmp_path / "data", sources=tmp_path / "sources")
    snapshots = []
    for year in (2001, 2002):
        write_source(settings, "notes", {"river.md": RIVER.replace("2019", str(year))})
        run(settings)
        snapshots.append(published(settings).snapshot_id)
    first, second = snapshots

    def ask(*arguments: str) -> str:
        code, output, errors = command(capfd, monkeypatch, *arguments)
        assert (code, errors) == (0, "")
        return output

    assert "named audit" in ask("snapshots", "pin", "audit", first)
    assert "audit" in ask("snapshots")
    found = json.loads(ask("snapshots", "diff", "audit", "--json"))
    assert found["documents"]["changed"] == ["notes/river.md"]
    assert "2001" in found["entities"]["removed"]
    assert first in ask("rollback", "audit")
    assert "release" in ask("status")
    assert second in ask("release")
    assert f"kept: {first}" in ask("gc", "--dry-run")
    assert "removed: 0 snapshots" in ask("gc")
    assert "responses" in ask("cache", "stats")
    assert "would be removed: " in ask("cache", "prune", "--dry-run")
    assert "removed: " in ask("cache", "prune")
    assert "removed: 0 of " in ask("cache", "prune")
    ask("snapshots", "unpin", "audit")
    (source,) = json.loads(ask("plan", "--json"))["sources"]
    assert (source["chunks_new"], source["chunks_stored"]) == (0, 1)


@pytest.mark.parametrize("arguments", [("rollback", "gen-none"), ("release",), ("snapshots", "diff", "gen-none")])
def test_what_is_not_there_is_one_line_and_exit_code_2(
    capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path, arguments: tuple[str, ...]
) -> None:
    code, _, errors = command(capfd, monkeypatch, *arguments)
    assert code == 2
    assert errors.startswith("error: ")
    assert errors.count("\n") == 1

"""`report` as a person uses it."""

import json
from pathlib import Path

import pytest

from lightrag_dagster.report.writing import UNFILTERED
from tests.cli.test_cli import command
from tests.storage.years import Years, build_year


def test_into_the_home_where_status_names_it(
    years: Years, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    settings, (first,) = years(1)
    monkeypatch.setenv("LIGHTRAG_HOME", str(settings.home))
    monkeypatch.setenv("LIGHTRAG_SOURCES", str(settings.sources))
    assert "Report:" not in command(capfd, monkeypatch, "status")[1]
    assert json.loads(command(capfd, monkeypatch, "status", "--json")[1])["report"] is None
    code, said, errors = command(capfd, monkeypatch, "report")
    place = settings.home / "exports" / "latest" / "report" / "report.html"
    lines = said.splitlines()
    assert (code, errors) == (0, "")
    assert lines[0].startswith(f"{first} is in {place}, 0.")
    assert lines[2] == f"note: {UNFILTERED}"
    assert place.read_text().startswith("<!doctype html>")
    assert f"Report: {place}\n" in command(capfd, monkeypatch, "status")[1]
    build_year(settings, 2002)
    status = command(capfd, monkeypatch, "status")[1]
    assert f"Report: {place}, of {first}; `lightrag-dagster report` writes the published one's\n" in status


def test_a_filter_needs_a_file_which_is_new(
    published_home: Path, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LIGHTRAG_HOME", str(published_home))
    code, said, errors = command(capfd, monkeypatch, "report", str(published_home / "exports" / "page.html"))
    assert (code, said, "is in the home" in errors) == (2, "", True)
    for arguments in (("--source", "office"), ("--snapshot", "gen-1")):
        code, said, errors = command(capfd, monkeypatch, "report", *arguments)
        assert (code, said) == (2, "")
        assert "name a file" in errors
    code, said, errors = command(capfd, monkeypatch, "report", "office.html", "--source", "office")
    assert (code, errors) == (0, "")
    assert UNFILTERED not in said
    assert "note: documents of a filter alone: Filters(sources=('office',))\n" in said
    page = Path("office.html").read_text()
    assert "Bergen" in page
    assert "Halden Weir" not in page
    code, said, errors = command(capfd, monkeypatch, "report", "office.html", "--source", "office")
    assert (code, said) == (2, "")
    assert "office.html is there already; name a file that is not there yet" in errors
    code, said, errors = command(capfd, monkeypatch, "report", "other.html", "--source", "offic")
    assert (code, said) == (2, "")
    assert "did you mean 'office'?" in errors
    assert not Path("other.html").exists()


def test_as_json(published_home: Path, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LIGHTRAG_HOME", str(published_home))
    code, said, errors = command(capfd, monkeypatch, "report", "all.html", "--json")
    assert (code, errors) == (0, "")
    found = json.loads(said)
    assert set(found) == {"version", "snapshot_id", "place", "bytes", "figures", "notes"}
    assert found["bytes"] == Path(found["place"]).stat().st_size
    assert found["notes"][0] == UNFILTERED
    assert found["figures"]["entities"] > 3

"""`export` and `report` as a person uses them."""

import json
import re
from collections.abc import Callable
from pathlib import Path

import duckdb
import networkx as nx
import pytest

from lightrag_dagster.cli.export import _refuse_place_in_home
from lightrag_dagster.errors import StoreError
from lightrag_dagster.exports.written import GRAPH_ALONE
from lightrag_dagster.report.writing import UNFILTERED
from lightrag_dagster.settings import load_settings
from lightrag_dagster.storage.home import Home
from tests.cli.test_cli import command
from tests.storage.years import Years, build_year

Export = Callable[..., tuple[int, str, str]]


@pytest.fixture
def export(published_home: Path, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Export:
    monkeypatch.setenv("LIGHTRAG_HOME", str(published_home))
    return lambda *arguments: command(capfd, monkeypatch, "export", *arguments)


def test_a_file_of_ones_own_and_what_it_does_not_hold(export: Export, published_home: Path, tmp_path: Path) -> None:
    file = tmp_path / "it's [new]" / "g.graphml"
    code, said, errors = export("graphml", str(file))
    assert (code, errors) == (0, "")
    (snapshot,) = (path.name for path in published_home.glob("generations/gen-*"))
    first, rows, note = said.splitlines()
    assert first == f"{snapshot} is in {file}, {file.stat().st_size / 1000:.1f} kB."
    graph = nx.read_graphml(file)
    assert rows == f"  g.graphml: {len(graph.nodes) + len(graph.edges)} rows"
    assert note == f"note: {GRAPH_ALONE}"
    assert not (published_home / "exports").exists()

    code, said, errors = export("graphml", str(file))
    assert (code, said) == (2, "")
    assert errors == f"error: {file} is there already; name a file or folder that is not there yet\n"


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        ((), "FORMAT"),
        (("xlsx",), "graphml"),
        (("graphml", "--snapshot", "gen-1"), "name a place"),
        (("graphml", "out", "--snapshot", "nowhere"), "nowhere"),
        (("graphml", "out", "--snapshot", ""), "there is no snapshot"),
        (("graphml", ""), "give a file or folder that is not there yet"),
    ],
)
def test_wrong_arguments_write_nothing(export: Export, arguments: tuple[str, ...], says: str) -> None:
    code, said, errors = export(*arguments)
    assert (code, said) == (2, "")
    assert says in errors
    assert not Path("out").exists()


@pytest.mark.parametrize("inside", ["exports/mine", "mine", "exports/latest"])
def test_a_place_of_ones_own_is_not_in_the_home(export: Export, published_home: Path, inside: str) -> None:
    code, said, errors = export("graphml", str(published_home / inside))
    assert (code, said) == (2, "")
    assert f"{inside} is in the home, which keeps exports in a folder of its own; name no place" in errors
    assert not (published_home / inside).exists()


@pytest.mark.long
def test_into_the_home_and_of_an_older_snapshot(
    years: Years, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    settings, (first,) = years(1)
    second = build_year(settings, 2002)
    monkeypatch.setenv("LIGHTRAG_HOME", str(settings.home))
    code, said, errors = command(capfd, monkeypatch, "export", "tables")
    assert (code, errors) == (0, "")
    latest = settings.home / "exports" / "latest" / "tables"
    assert said.startswith(f"{second} is in {latest}, ")
    with duckdb.connect(latest / "knowledge_base.duckdb", read_only=True) as connection:
        assert connection.execute("SELECT count(*) FROM raw_documents").fetchall() == [(2,)]
    assert command(capfd, monkeypatch, "export", "tables")[1] == said
    code, said, _ = command(capfd, monkeypatch, "export", "neo4j", "old", "--snapshot", first)
    assert code == 0
    assert said.startswith(f"{first} is in old, ")
    assert "2001" in Path("old/entities.csv").read_text()


def test_without_a_home_none_is_made(
    capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("LIGHTRAG_HOME", str(tmp_path / "none"))
    code, said, errors = command(capfd, monkeypatch, "export", "tables")
    assert (code, said) == (2, "")
    assert "nothing has been published" in errors
    assert not (tmp_path / "none").exists()


@pytest.mark.long
def test_a_report_into_the_home_is_told_where_it_is(
    years: Years, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    settings, (first,) = years(1)
    monkeypatch.setenv("LIGHTRAG_HOME", str(settings.home))
    monkeypatch.setenv("LIGHTRAG_SOURCES", str(settings.sources))
    code, said, errors = command(capfd, monkeypatch, "report")
    place = settings.home / "exports" / "latest" / "report" / "report.html"
    lines = said.splitlines()
    assert (code, errors) == (0, "")
    assert re.fullmatch(rf"{first} is in {place}, \d+\.\d kB\.", lines[0])
    assert lines[2] == f"note: {UNFILTERED}"
    assert place.read_text().startswith("<!doctype html>")


def test_a_filter_of_a_report_needs_a_file_which_is_new(
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


def test_a_report_as_json(
    published_home: Path, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LIGHTRAG_HOME", str(published_home))
    code, said, errors = command(capfd, monkeypatch, "report", "all.html", "--json")
    assert (code, errors) == (0, "")
    found = json.loads(said)
    assert set(found) == {"version", "snapshot_id", "place", "bytes", "figures", "notes"}
    assert found["bytes"] == Path(found["place"]).stat().st_size
    assert found["notes"][0] == UNFILTERED
    assert found["figures"]["entities"] > 3


def test_nor_in_a_bucket(export: Export) -> None:
    code, said, errors = export("graphml", "s3://company/kb.graphml")
    assert (code, said) == (2, "")
    assert errors.startswith("error: s3://company/kb.graphml is in a bucket, where only a home writes; name a place on")
    assert not Path("s3:").exists()


def test_nor_in_the_home_around_that_of_a_scope(tmp_path: Path) -> None:
    settings = load_settings(home=tmp_path / "home", scopes={"press": {"sources": ("notes",)}}).within("press")
    with pytest.raises(StoreError, match="is in the home, which keeps exports in a folder of its own"):
        _refuse_place_in_home(Home.of(settings), tmp_path / "home" / "generations" / "x")

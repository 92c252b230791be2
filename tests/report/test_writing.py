"""The report of a home is an export: swapped whole, kept once, beside the others, and gone with what it shows."""

import os
import shutil
import time
from dataclasses import replace
from pathlib import Path

import pytest
from pydantic import SecretStr

from lightrag_dagster.errors import StoreError
from lightrag_dagster.exports.exports import export_published
from lightrag_dagster.pipeline.recipes import Recipes
from lightrag_dagster.pipeline.situation import Situation
from lightrag_dagster.purge.documents import find_gone
from lightrag_dagster.purge.purge import purge, purging
from lightrag_dagster.query.filters.filters import Filters
from lightrag_dagster.report.bounds import BOUNDS
from lightrag_dagster.report.writing import published_picture, published_report, write_report_to
from lightrag_dagster.settings import load_settings
from lightrag_dagster.storage.home import Home
from lightrag_dagster.storage.snapshots import checks
from lightrag_dagster.storage.snapshots.exported import read_exports
from tests.buckets import S3Server
from tests.report.homes import report
from tests.storage.years import Years, build_year
from tests.support import FLOOD, RIVER, build, write_source


def formats(home: Home) -> set[str]:
    found = read_exports(home)
    return set(found.formats) if found else set()


@pytest.mark.long
def test_it_is_kept_beside_other_formats_and_written_once(years: Years) -> None:
    settings, (first,) = years(1)
    home = Home.of(settings)
    export_published(home, ["graphml"])
    made = published_report(home)
    assert (made.snapshot_id, made.place) == (first, str(home.exports / "latest" / "report" / "report.html"))
    assert Path(made.place).stat().st_size < made.bytes, "with the picture"
    assert formats(home) == {"graphml", "report"}
    written = Path(made.place).stat().st_mtime_ns
    assert published_report(home) == made
    assert Path(made.place).stat().st_mtime_ns == written
    assert published_picture(home, made).startswith("![The graph](data:image/svg+xml;base64,PHN2Zy")
    second = build_year(settings, 2002)
    assert published_report(home).snapshot_id == second
    assert not (home.exports / first).exists()


@pytest.mark.long
def test_it_names_what_changed_until_a_purge(tmp_path: Path) -> None:
    settings = load_settings(home=tmp_path / "home", sources=tmp_path / "sources", documents={"accept_deletes": True})
    write_source(settings, "notes", {"river.md": RIVER, "flood.txt": FLOOD})
    build(settings)
    home = Home.of(settings)
    before = published_report(home).snapshot_id
    assert "There is no earlier snapshot" in (home.exports / "latest/report/report.html").read_text()
    write_source(settings, "notes", {"river.md": RIVER})
    build(settings)
    made = published_report(home)
    page = Path(made.place).read_text()
    assert f'"changes":{{"before":"{before}"' in page
    assert "notes/flood.txt" in page
    assert "Priya Nair" in page
    export_published(home, ["graphml"])
    gone = find_gone(Situation.looking(settings), ["notes/flood.txt"])
    with purging(Recipes.of(settings), gone) as situation:
        purge(situation, gone)
    assert formats(home) == {"graphml"}
    assert not (home.exports / made.snapshot_id / "report").exists()
    page = Path(published_report(home).place).read_text()
    assert "notes/flood.txt" not in page
    assert "Priya Nair" not in page
    with purging(Recipes.of(settings), {}) as situation:
        purge(situation, {})
    assert formats(home) == {"graphml", "report"}, "it shows nothing of another snapshot"


def test_no_page_is_written_of_a_large_file_that_is_damaged(
    published_home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(checks, "AT_ONCE", 0)
    home = Home(Path(shutil.copytree(published_home, tmp_path / "home")))
    (rows,) = home.root.glob("generations/*/adjacency/relations.arrow")
    content = rows.read_bytes()
    rows.write_bytes(content.replace(b"Halden", b"Holden", 1))
    read = os.read

    def slowly(descriptor: int, most: int) -> bytes:
        """Read the damaged file as slowly as a large one."""
        time.sleep(0.3 * (most == len(content) + 1))
        return read(descriptor, most)

    monkeypatch.setattr(os, "read", slowly)
    with pytest.raises(StoreError, match=f"{rows} has other content"):
        write_report_to(home, tmp_path / "page.html", Filters(), None)
    with pytest.raises(StoreError, match=f"{rows} has other content"):
        published_report(home)
    assert not (tmp_path / "page.html").exists()
    assert not list(home.exports.rglob("*.html"))


@pytest.mark.long
def test_changes_beyond_the_bound_are_counted(years: Years) -> None:
    settings, _ = years(2)
    whole = report(Home.of(settings))
    rows = whole.data["changes"]["rows"]
    cut = report(Home.of(settings), bounds=replace(BOUNDS, changes=1, path=5))
    left = cut.data["changes"]["rows"]
    assert [row["kind"] for row in left] == sorted({row["kind"] for row in rows})
    assert max(len(row["name"]) for row in left) == 5
    assert f"changes, of which the first of each kind are listed: {len(rows) - len(left)} more" in cut.notes
    assert cut.data["changes"]["counts"] == whole.data["changes"]["counts"]
    assert [note for note in cut.notes if note.startswith("names of changes, cut: ")]


@pytest.mark.long
def test_a_file_of_ones_own_is_new_and_of_any_snapshot(years: Years, tmp_path: Path) -> None:
    settings, (first, second) = years(2)
    home = Home.of(settings)
    file = tmp_path / "out" / "old.html"
    made = write_report_to(home, file, Filters(), first)
    assert (made.snapshot_id, made.place, made.bytes) == (first, str(file), file.stat().st_size)
    assert f'"before":"{first}"' not in file.read_text()
    with pytest.raises(StoreError, match="is there already; name a file that is not there yet"):
        write_report_to(home, file, Filters(), second)
    assert not home.exports.exists()


@pytest.mark.long
def test_in_a_bucket_it_is_there_before_the_index_and_its_picture_is_read_from_there(
    buckets: S3Server, postgres: SecretStr, tmp_path: Path
) -> None:
    settings = load_settings(
        home=Path(buckets.new_bucket()),
        database=postgres,
        sources=tmp_path / "sources",
        cache={"folder": tmp_path / "1"},
    )
    write_source(settings, "notes", {"river.md": RIVER})
    build(settings)
    home = Home.of(settings)
    uri, index = str(home.bucket), "records/exports.json"
    buckets.failing = lambda environ: environ["REQUEST_METHOD"] == "PUT" and "report.html" in environ["PATH_INFO"]
    with pytest.MonkeyPatch.context() as monkeypatch:
        monkeypatch.setattr("lightrag_dagster.core.objects._RETRIES", 1)
        with pytest.raises(StoreError):
            published_report(home)
    assert index not in buckets.keys(uri)
    buckets.reset()
    made = published_report(Home.of(settings))
    assert made.place == f"{uri}/exports/{made.snapshot_id}/report/report.html"
    assert {f"exports/{made.snapshot_id}/report/report.html", index} <= set(buckets.keys(uri))
    assert published_picture(Home.of(settings), made).startswith("![The graph](data:image/svg+xml;base64,PHN2Zy")

"""Exports are swapped whole, kept once, and removed with their snapshot, on a disk and in a bucket."""

import os
import resource
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import get_args

import obstore
import pytest
from pydantic import SecretStr

from lightrag_dagster.core.export_formats import ExportFormat
from lightrag_dagster.errors import BuilderLockedError, NoSnapshotError, StoreError
from lightrag_dagster.exports import exports as exports_module
from lightrag_dagster.exports.exports import WRITERS, export_published, export_to
from lightrag_dagster.pipeline.backup import back_up, restore
from lightrag_dagster.pipeline.recipes import Recipes
from lightrag_dagster.pipeline.situation import Situation
from lightrag_dagster.purge.documents import find_gone
from lightrag_dagster.purge.purge import purge, purging
from lightrag_dagster.settings import RetentionSettings, Settings, load_settings
from lightrag_dagster.storage.files import atomic
from lightrag_dagster.storage.home import Home
from lightrag_dagster.storage.locking import building
from lightrag_dagster.storage.manifests import Exports
from lightrag_dagster.storage.records import write_record
from lightrag_dagster.storage.snapshots.exported import place_of, read_exports
from lightrag_dagster.storage.snapshots.gc import collect_garbage
from lightrag_dagster.storage.snapshots.generations import Generation
from lightrag_dagster.storage.snapshots.snapshots import list_snapshots, rollback
from tests.buckets import S3Server
from tests.exports.texts import graph_of
from tests.storage.test_locking import hold
from tests.storage.years import Years, build_year
from tests.support import FLOOD, RIVER, build, published, write_source

FORMATS: tuple[ExportFormat, ...] = get_args(ExportFormat)
ROOT = Path(__file__).parents[3]


def files(home: Home) -> dict[str, int]:
    """Return the files below `exports`, hidden ones too, with the times at which they were written."""
    found = (path for path in home.exports.rglob("*") if path.is_file())
    return {path.relative_to(home.exports).as_posix(): path.stat().st_mtime_ns for path in found}


def latest(home: Home) -> str:
    return (home.exports / "latest").resolve().name


def test_nothing_is_exported_before_a_publication(settings: Settings) -> None:
    with pytest.raises(NoSnapshotError):
        export_published(Home.of(settings), FORMATS)
    assert not Home.of(settings).exports.exists()


def test_the_published_snapshot_is_written_once_and_its_predecessor_goes(years: Years) -> None:
    settings, (first,) = years(1)
    home = Home.of(settings)
    assert set(export_published(home, ["graphml"]).formats) == {"graphml"}
    assert set(export_published(home, FORMATS).formats) == set(FORMATS)
    before = files(home)
    assert latest(home) == first
    assert export_published(home, FORMATS) == read_exports(home)
    assert files(home) == before, "what is there is not written again"
    assert (home.exports / "latest/graphml/graph.graphml").read_text().count("<node") > 3

    second = build_year(settings, 2002)
    assert files(home) == before, "a publication exports nothing"
    found = export_published(home, ["neo4j"])
    assert (found.snapshot_id, set(found.formats), latest(home)) == (second, {"neo4j"}, second)
    assert {name.split("/")[0] for name in files(home)} == {second}
    assert not (home.exports / first).exists()
    assert place_of(home, second, "neo4j") == str(home.exports / "latest" / "neo4j")
    assert "2002" in (home.exports / "latest/neo4j/entities.csv").read_text()


@pytest.mark.long
def test_a_changed_or_missing_file_and_another_recipe_are_written_again(years: Years) -> None:
    settings, (first,) = years(1)
    home = Home.of(settings)
    before = export_published(home, FORMATS)
    graph = home.exports / first / "graphml" / "graph.graphml"
    whole = graph.read_bytes()
    graph.write_bytes(whole + b"edited")
    shutil.rmtree(home.exports / first / "neo4j")
    kept = files(home)[f"{first}/tables/knowledge_base.duckdb"]
    assert export_published(home, FORMATS) == before
    assert graph.read_bytes() == whole
    assert files(home)[f"{first}/tables/knowledge_base.duckdb"] == kept
    others = {form: writer._replace(recipe="other") for form, writer in WRITERS.items()}
    assert {one.recipe for one in export_published(home, FORMATS, others).formats.values()} == {"other"}
    assert files(home)[f"{first}/tables/knowledge_base.duckdb"] != kept


@pytest.mark.long
def test_after_a_rollback_they_are_of_the_snapshot_that_readers_see(years: Years) -> None:
    settings, (first, second) = years(2)
    home = Home.of(settings)
    export_published(home, ["graphml"])
    assert latest(home) == second
    with building(home, 0) as lock:
        rollback(home, first, lock)
    assert export_published(home, ["graphml"]).snapshot_id == latest(home) == first


KILLED = """
import resource, signal, sys
from pathlib import Path
from lightrag_dagster.exports.exports import export_published
from lightrag_dagster.storage.home import Home

home = Home(Path(sys.argv[1]))
signal.signal(signal.SIGXFSZ, signal.SIG_DFL)
resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
resource.setrlimit(resource.RLIMIT_FSIZE, (4096, 4096))
export_published(home, ["graphml"])
"""


@pytest.mark.long
def test_a_kill_in_the_middle_leaves_the_old_ones_and_the_next_export_cleans(years: Years) -> None:
    settings, (first,) = years(1)
    home = Home.of(settings)
    export_published(home, FORMATS)
    before, index = files(home), read_exports(home)
    second = build_year(settings, 2002)
    killed = subprocess.run(
        [sys.executable, "-c", KILLED, home.root], cwd=ROOT, env=os.environ | {"PYTHONPATH": str(ROOT)}, check=False
    )
    assert killed.returncode == -signal.SIGXFSZ, "it wrote beyond a bound of the system, in the middle of the file"
    assert [name for name in files(home) if name not in before] != []
    assert {name: when for name, when in files(home).items() if name in before} == before
    assert (latest(home), read_exports(home)) == (first, index)
    assert export_published(home, ["graphml"]).snapshot_id == latest(home) == second
    assert set(files(home)) == {f"{second}/graphml/graph.graphml"}
    assert not list(home.exports.rglob(".*"))


@contextmanager
def no_file_larger(size: int) -> Iterator[None]:
    """Refuse to write files beyond a size, as a full disk does."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)


_OKF_LONG = [pytest.param(one, marks=pytest.mark.long) if one == "okf" else one for one in FORMATS]


@pytest.mark.parametrize("form", _OKF_LONG)
def test_a_full_disk_is_one_line_and_leaves_nothing(tmp_path: Path, form: ExportFormat) -> None:
    facts = [{"fact_id": f"fact-{number}", "subject_id": number, "value": "text " * 1000} for number in range(100)]
    generation = graph_of(tmp_path, ["text " * 1000] * 100, facts=facts)
    folder = tmp_path / "out" / form
    with no_file_larger(100_000), pytest.raises(StoreError, match=f"{folder} cannot be written: ") as refused:
        export_to(generation, form, folder)
    assert "\n" not in str(refused.value)
    assert list(folder.parent.iterdir()) == []
    assert export_to(generation, form, folder).bytes > 100_000


@pytest.mark.parametrize("kind", ["a folder", "an empty folder", "a file", "a pipe", "a dangling link"])
def test_what_is_there_already_is_refused_and_left_alone(tmp_path: Path, kind: str) -> None:
    place = tmp_path / "out"
    if kind.endswith("folder"):
        place.mkdir()
        (place / "mine.txt").write_text("mine") if kind == "a folder" else None
    elif kind == "a file":
        place.write_text("mine")
    elif kind == "a pipe":
        os.mkfifo(place)
    else:
        place.symlink_to("nowhere")
    before = place.lstat()
    with pytest.raises(StoreError, match=f"{place} is there already; name a file or folder that is not there yet"):
        export_to(graph_of(tmp_path, ["one"]), "graphml", place)
    assert place.lstat() == before


def test_a_file_on_the_way_is_refused(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("mine")
    with pytest.raises(StoreError, match="cannot be written"):
        export_to(graph_of(tmp_path, ["one"]), "graphml", tmp_path / "file" / "out")


@pytest.mark.parametrize("names", [["one"], []])
@pytest.mark.parametrize("form", FORMATS)
def test_one_file_is_a_file_and_the_folders_above_are_made(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, form: ExportFormat, names: list[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    place = Path("a/it's b/ c ")
    found = export_to(graph_of(tmp_path, names), form, place)
    assert place.is_file() == (form in ("graphml", "facts"))
    written = [place] if place.is_file() else [one for one in place.rglob("*") if one.is_file()]
    assert sum(one.stat().st_size for one in written) == found.bytes
    assert list(place.parent.iterdir()) == [place]


def test_a_builder_is_waited_for(years: Years, monkeypatch: pytest.MonkeyPatch) -> None:
    settings, _ = years(1)
    home = Home.of(settings)
    monkeypatch.setattr(exports_module, "STEP_SECONDS", 0.1)
    with hold(home), pytest.raises(BuilderLockedError):
        export_published(home, ["graphml"])
    assert files(home) == {}


def test_a_damaged_index_names_the_next_step(years: Years) -> None:
    settings, _ = years(1)
    home = Home.of(settings)
    home.exported.write_text("{")
    with pytest.raises(StoreError, match=r"exports\.json is damaged; delete it and run `lightrag-dagster export`"):
        export_published(home, ["graphml"])


@pytest.mark.long
def test_gc_removes_exports_with_their_snapshot_and_keeps_those_of_others(years: Years) -> None:
    settings, (first,) = years(1)
    home = Home.of(settings)
    export_published(home, ["graphml"])
    size = (home.exports / first / "graphml/graph.graphml").stat().st_size
    one = RetentionSettings(snapshots=1, grace_days=0)
    with building(home, 0):
        kept = collect_garbage(home, one, dry_run=False)
    assert kept.exports == []
    assert (latest(home), set(files(home))) == (first, {f"{first}/graphml/graph.graphml"})
    build_year(settings, 2002)
    with building(home, 0):
        dry = collect_garbage(home, one, dry_run=True)
        assert set(files(home)) == {f"{first}/graphml/graph.graphml"}
        assert home.exports / first / "graphml/graph.graphml" in dry.sizes
        assert dry.bytes_removed >= size
        assert collect_garbage(home, one, dry_run=False).exports == dry.exports == [first]
    assert files(home) == {}
    assert not os.path.lexists(home.exports / "latest")
    assert read_exports(home) is None
    assert not home.exported.exists()


@pytest.mark.long
def test_purge_removes_exports_that_may_have_the_document(tmp_path: Path) -> None:
    settings = load_settings(home=tmp_path / "home", sources=tmp_path / "sources", documents={"accept_deletes": True})
    write_source(settings, "notes", {"river.md": RIVER, "flood.txt": FLOOD})
    build(settings)
    home = Home.of(settings)
    export_published(home, FORMATS)
    write_source(settings, "notes", {"river.md": RIVER})
    build(settings)
    gone = find_gone(Situation.looking(settings), ["notes/flood.txt"])
    with purging(Recipes.of(settings), gone) as situation:
        purge(situation, gone)
    assert files(home) == {}
    export_published(home, FORMATS)
    assert len(list_snapshots(home)) == 1
    left = [path for path in home.exports.rglob("*") if path.is_file() and b"Priya Nair" in path.read_bytes()]
    assert left == []
    made = files(home)
    for killed in ("okf/log.md", ".export.1/made/log.md"):  # before the index named it
        atomic.write_text(home.exports / latest(home) / killed, "entity Priya Nair")
    exports = read_exports(home)
    assert exports
    write_record(home.exported, exports.model_copy(update={"formats": {"tables": exports.formats["tables"]}}))
    with purging(Recipes.of(settings), {}) as situation:
        purge(situation, {})
    assert set(files(home)) == {name for name in made if "/tables/" in name}
    assert latest(home) == situation.require_published().snapshot_id, "those of the published snapshot stay"


def test_a_backup_has_no_exports_and_a_restored_home_makes_its_own(years: Years, tmp_path: Path) -> None:
    settings, (first,) = years(1)
    home = Home.of(settings)
    export_published(home, ["graphml"])
    back_up(home, str(tmp_path / "backup"), 0)
    assert not [path for path in (tmp_path / "backup").rglob("*") if "export" in path.name or path.suffix == ".graphml"]
    restored = Home(tmp_path / "restored")
    restore(str(tmp_path / "backup"), restored, 0)
    assert read_exports(restored) is None
    assert export_published(restored, ["graphml"]) == read_exports(home)
    assert latest(restored) == first


@pytest.mark.long
def test_in_a_bucket_the_index_is_last_and_another_machine_sees_it(
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
    home, first = Home.of(settings), published(settings).snapshot_id
    uri = str(home.bucket)
    index = "records/exports.json"
    export_published(home, ["graphml"])
    assert [key for key in buckets.keys(uri) if "export" in key] == [f"exports/{first}/graphml/graph.graphml", index]
    assert not home.exports.exists() or files(home) == {}, "the cache keeps none"
    assert place_of(home, first, "graphml") == f"{uri}/exports/{first}/graphml"

    other = Home.of(settings.changed(cache={"folder": tmp_path / "2"}))
    buckets.failing = lambda environ: environ["REQUEST_METHOD"] == "PUT" and "entities.csv" in environ["PATH_INFO"]
    with pytest.MonkeyPatch.context() as monkeypatch:
        monkeypatch.setattr("lightrag_dagster.core.objects._RETRIES", 1)
        with pytest.raises(StoreError):
            export_published(other, ["graphml", "neo4j"])
    buckets.reset()
    stored = Exports.model_validate_json(bytes(obstore.get(buckets.store(uri), index).bytes()))
    assert set(stored.formats) == {"graphml"}, "what is not there whole is not in the index"
    found = export_published(other, ["graphml", "neo4j"])
    assert set(found.formats) == {"graphml", "neo4j"}
    stored = Exports.model_validate_json(bytes(obstore.get(buckets.store(uri), index).bytes()))
    assert stored == found

    write_source(settings, "notes", {"river.md": RIVER, "flood.txt": FLOOD})
    build(settings)
    assert export_published(Home.of(settings), ["neo4j"]).snapshot_id == published(settings).snapshot_id
    assert not [key for key in buckets.keys(uri) if key.startswith("exports/") and first in key]
    back_up(Home.of(settings), str(tmp_path / "backup"), 0)
    assert not [path for path in (tmp_path / "backup").rglob("*") if "export" in path.name]


@pytest.mark.long
def test_a_snapshot_can_be_written_elsewhere(years: Years, tmp_path: Path) -> None:
    settings, (first, _) = years(2)
    home = Home.of(settings)
    export_to(Generation(home, first), "neo4j", tmp_path / "first")
    assert "2001" in (tmp_path / "first/entities.csv").read_text()
    assert files(home) == {}

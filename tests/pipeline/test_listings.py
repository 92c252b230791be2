"""Sources that can tell what changed since they were read: only that is read again."""

import json
import shutil
from datetime import date, timedelta
from pathlib import Path
from typing import Any

import pytest

from lightrag_dagster.errors import SourceError
from lightrag_dagster.pipeline.documents import read_source
from lightrag_dagster.pipeline.listings import signature_now
from lightrag_dagster.pipeline.pending import pending, why_ingest
from lightrag_dagster.pipeline.recipes import Recipes
from lightrag_dagster.pipeline.situation import Situation
from lightrag_dagster.plan.plan import make_plan
from lightrag_dagster.purge.documents import find_gone
from lightrag_dagster.settings import Settings, load_settings
from lightrag_dagster.stages.documents.connectors import folder
from lightrag_dagster.stages.documents.sources import find_source
from lightrag_dagster.storage.home import Home
from lightrag_dagster.storage.snapshots.gc import collect_garbage
from lightrag_dagster.storage.tables import shards
from lightrag_dagster.storage.tables.source_tables import SourceTables
from lightrag_dagster.storage.tables.upstream import record_partitions
from lightrag_dagster.testing.building import ingest
from tests.support import FLOOD, OFFICE, RIVER

ASSET = "crawl/pages"
THREE_YEARS = [str(date(2023, 1, 1) + timedelta(days)) for days in range(1095)]


@pytest.fixture(autouse=True)
def _stable_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(folder, "STABLE_AFTER", 0.0)


def settings_of(tmp_path: Path, named: dict[str, Any], home: str = "home", **documents: Any) -> Settings:
    (tmp_path / "sources").mkdir(exist_ok=True)
    return load_settings(
        home=tmp_path / home,
        sources=tmp_path / "sources",
        named_sources={"pages": named},
        documents={"accept_deletes": True, **documents},
    )


def materialised(settings: Settings, versions: dict[str, str]) -> None:
    record_partitions(Home.of(settings), "pages", ASSET, versions, 0)


def read(settings: Settings, *, backfill: bool = False) -> dict[str, str]:
    """Read the source, and return path → text of its documents; failed ones have their error."""
    tables = SourceTables(Home.of(settings), candidate=backfill)
    read_source(find_source(settings, "pages"), tables, Recipes.of(settings))
    return {row["path"]: row["content"] or row["error"] for row in tables.read("raw_documents", "pages").to_pylist()}


def reason(settings: Settings, *, backfill: bool = False) -> str:
    tables = SourceTables(Home.of(settings), candidate=backfill)
    return why_ingest(find_source(settings, "pages"), tables, Recipes.of(settings)) or ""


def version(settings: Settings) -> tuple[str, str]:
    """Return the version of the documents, and the signature of their listing."""
    tables = SourceTables(Home.of(settings))
    signature = signature_now(find_source(settings, "pages"), tables, Recipes.of(settings))
    documents = tables.require("raw_documents", "pages")
    assert documents.inputs == {"files": signature}
    return documents.version, signature


@pytest.mark.long
def test_of_three_years_of_days_only_those_that_changed_are_opened(tmp_path: Path) -> None:
    settings = settings_of(tmp_path, {"uri": f"{tmp_path}/lake/{{partition}}.md", "asset": ASSET})
    (tmp_path / "lake").mkdir()
    for day in THREE_YEARS:
        (tmp_path / "lake" / f"{day}.md").write_text(f"Report of {day}.")
    versions = dict.fromkeys(THREE_YEARS, "1")
    materialised(settings, versions)
    before = read(settings)
    assert len(before) == len(THREE_YEARS)

    shutil.rmtree(tmp_path / "lake")  # what is opened now would fail
    (tmp_path / "lake").mkdir()
    again, new, gone = THREE_YEARS[500], "2026-01-01", THREE_YEARS[0]
    for day in (again, new):
        (tmp_path / "lake" / f"{day}.md").write_text(f"Another report of {day}.")
    versions |= {again: "2", new: "1"}
    del versions[gone]
    materialised(settings, versions)
    after = {f"{day}/{day}.md": f"Another report of {day}." for day in (again, new)}
    assert read(settings) == {path: text for path, text in before.items() if gone not in path} | after
    assert "raw_documents" not in reason(settings)


class Lake:
    """Rows by day, each day in a file, and the version of each day."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.versions = folder / "lake", dict[str, str]()
        self.folder.mkdir()

    def named(self, **rows: str) -> dict[str, Any]:
        return {"uri": f"{self.folder}/{{partition}}.jsonl", "asset": ASSET, "rows": rows}

    def write(self, day: str, **texts: str) -> None:
        """Change the rows of a day, without a materialisation."""
        rows = ({"day": day, "id": id, "text": text} for id, text in texts.items())
        (self.folder / f"{day}.jsonl").write_text("\n".join(map(json.dumps, rows)))

    def make(self, day: str, **texts: str) -> None:
        self.write(day, **texts)
        self.versions[day] = str(int(self.versions.get(day, 0)) + 1)


@pytest.mark.long
def test_any_history_equals_a_clean_reading(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shards, "ROWS", 2)
    lake = Lake(tmp_path)
    settings, nights = settings_of(tmp_path, lake.named()), []
    lake.make("1", a=RIVER, b=FLOOD)
    lake.make("2", a=RIVER)  # the same id, and the same text, of another partition
    nights += [dict(lake.versions)]
    lake.make("2", a=OFFICE, c=RIVER)
    lake.make("3")  # without rows
    materialised(settings, nights[0])
    read(settings)
    for step in range(4):
        materialised(settings, lake.versions)
        found = read(settings)
        clean = settings_of(tmp_path, lake.named(), f"clean{step}")
        materialised(clean, lake.versions)
        assert found == read(clean)
        assert version(settings) == version(clean)
        if step == 0:
            assert found == {"1/a": RIVER, "1/b": FLOOD, "2/a": OFFICE, "2/c": RIVER}
            lake.make("3", a="x" * 20)
            del lake.versions["1"]
        elif step == 1:
            assert set(found) == {"2/a", "2/c", "3/a"}
            lake.make("1", b=FLOOD)
        elif step == 2:
            lake.make("2", a=OFFICE, c=RIVER)  # made again, and the same


def test_a_change_without_a_materialisation_is_not_seen_until_a_backfill(tmp_path: Path) -> None:
    lake = Lake(tmp_path)
    settings = settings_of(tmp_path, lake.named())
    for day in ("1", "2"):
        lake.make(day, a=RIVER)
    materialised(settings, lake.versions)
    read(settings)
    lake.write("1", a=FLOOD)
    lake.make("2", a=OFFICE)
    materialised(settings, lake.versions)
    assert read(settings) == {"1/a": RIVER, "2/a": OFFICE}
    assert read(settings, backfill=True) == {"1/a": FLOOD, "2/a": OFFICE}


def test_other_settings_and_other_code_read_all(tmp_path: Path) -> None:
    lake = Lake(tmp_path)
    settings = settings_of(tmp_path, lake.named())
    lake.make("1", a=RIVER)
    materialised(settings, lake.versions)
    read(settings)
    lake.write("1", a=FLOOD)
    assert "raw_documents" not in reason(settings)
    titled = settings_of(tmp_path, lake.named(title="id"))
    assert reason(titled) == "raw_documents, input changed"
    assert read(titled) == {"1/a": FLOOD}
    lake.write("1", a=OFFICE)
    stricter = settings_of(tmp_path, lake.named(title="id"), max_bytes=1000)
    assert reason(stricter) == "raw_documents, code or settings changed"
    assert read(stricter) == {"1/a": OFFICE}


@pytest.mark.long
def test_a_row_that_failed_is_tried_again_without_its_partition(tmp_path: Path) -> None:
    lake = Lake(tmp_path)
    settings = settings_of(tmp_path, lake.named(format="html"), max_bytes=200)
    lake.make("1", a=f"<p>{RIVER}</p>", b="<p>long</p>" * 100)
    materialised(settings, lake.versions)
    first = read(settings)
    assert first == {"1/a": RIVER, "1/b": "larger than documents.max_bytes = 200"}
    lake.write("1")
    lake.make("2", a="<p>new</p>")
    materialised(settings, lake.versions)
    assert read(settings) == first | {"2/a": "new"}


def test_a_file_that_failed_is_opened_again_alone(tmp_path: Path) -> None:
    settings = settings_of(tmp_path, {"uri": f"{tmp_path}/lake/{{partition}}", "asset": ASSET})
    for name, data in {"1/a.md": RIVER.encode(), "1/b.txt": b"\xc3\x28", "2/a.md": FLOOD.encode()}.items():
        (tmp_path / "lake" / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "lake" / name).write_bytes(data)
    materialised(settings, {"1": "1", "2": "1"})
    first = read(settings)
    assert "UTF-8" in first["1/b.txt"]
    for name in ("1/a.md", "2/a.md"):
        (tmp_path / "lake" / name).unlink()
    (tmp_path / "lake" / "1" / "b.txt").write_text(OFFICE)
    materialised(settings, {"1": "1"})
    assert read(settings) == {"1/a.md": RIVER, "1/b.txt": OFFICE}


def test_files_that_were_written_just_before_are_opened_once_more(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(folder, "STABLE_AFTER", 3600.0)
    settings = settings_of(tmp_path, {"uri": f"{tmp_path}/{{partition}}.md", "asset": ASSET})
    tables = SourceTables(Home.of(settings))
    (tmp_path / "1.md").write_text(RIVER)
    for event, kept in (("1", 0), ("1", 0), ("1", 1)):
        materialised(settings, {"1": event})
        assert read_source(find_source(settings, "pages"), tables, Recipes.of(settings)).kept == kept


def test_the_deletion_guard_holds_for_partitions_that_were_wiped(tmp_path: Path) -> None:
    lake = Lake(tmp_path)
    settings = settings_of(tmp_path, lake.named(), accept_deletes=False)
    for day in ("1", "2", "3"):
        lake.make(day, a=f"{RIVER} {day}")
    materialised(settings, lake.versions)
    assert ingest(find_source(settings, "pages"), SourceTables(Home.of(settings)), Recipes.of(settings)).accepted
    materialised(settings, {"1": "1"})
    for _ in range(2):
        with pytest.raises(SourceError, match="source 'pages' lost 2 of 3 documents at once"):
            read(settings)
    assert "lost 2 of 3" in (pending(Situation.looking(settings)).sources["pages"].rejected or "")
    materialised(settings, lake.versions)
    assert pending(Situation.looking(settings)).sources["pages"].rejected is None
    assert set(read(settings)) == {"1/a", "2/a", "3/a"}


def test_nothing_is_taken_for_deleted_before_dagster_was_asked(tmp_path: Path) -> None:
    lake = Lake(tmp_path)
    settings = settings_of(tmp_path, lake.named())
    state = pending(Situation.looking(settings)).sources["pages"]
    assert "none is known yet; set DAGSTER_HOME" in (state.problem or "")
    assert make_plan(settings).sources[0].problem == state.problem


@pytest.mark.long
def test_a_plan_reads_the_partitions_that_changed_and_leaves_the_home_alone(tmp_path: Path) -> None:
    lake = Lake(tmp_path)
    settings = settings_of(tmp_path, lake.named())
    lake.make("1", a=RIVER)
    lake.make("2", a=FLOOD)
    materialised(settings, lake.versions)
    read(settings)
    lake.make("2", a=OFFICE)
    lake.make("3", a=FLOOD)
    del lake.versions["1"]
    materialised(settings, lake.versions)
    for _ in range(2):
        plan = make_plan(settings)
        documents = plan.sources[0].documents
        assert (documents.added, documents.changed, documents.removed, documents.unchanged) == (1, 1, 1, 0)


def test_older_listings_are_removed_with_their_documents(tmp_path: Path) -> None:
    lake = Lake(tmp_path)
    settings, home = settings_of(tmp_path, lake.named()), Home(tmp_path / "home")
    for text in (RIVER, FLOOD):
        lake.make("1", a=text)
        lake.make("2", a=OFFICE)
        materialised(settings, lake.versions)
        read(settings)
    assert len(list(home.source_table("listed", "pages").glob("*.parquet"))) == 2
    collect_garbage(home, settings.retention, dry_run=False)
    assert len(list(home.source_table("listed", "pages").glob("*.parquet"))) == 1
    lake.write("2")
    lake.make("1", a=RIVER)
    materialised(settings, lake.versions)
    assert read(settings) == {"1/a": RIVER, "2/a": OFFICE}


def test_a_watermark_reads_what_is_new_and_deletes_nothing(tmp_path: Path) -> None:
    lake = Lake(tmp_path)
    settings = settings_of(tmp_path, {"uri": str(lake.folder), "rows": {"watermark": "day"}})
    lake.write("2026-01-01", a=RIVER, b=FLOOD)
    lake.write("2026-01-02", c=OFFICE)
    assert read(settings) == {"a": RIVER, "b": FLOOD, "c": OFFICE}
    assert "raw_documents" not in reason(settings)

    lake.write("2026-01-01", a="An edit that does not show in the watermark.")  # and b is gone
    lake.write("2026-01-02")
    lake.write("2026-01-03", c="A later edit.", d="New.")
    assert reason(settings) == "raw_documents, input changed"
    plan = make_plan(settings).sources[0]
    assert (plan.watermark, plan.documents.removed) == ("day", 0)
    assert read(settings) == {"a": RIVER, "b": FLOOD, "c": "A later edit.", "d": "New."}
    assert "raw_documents" not in reason(settings)

    assert reason(settings, backfill=True) == "raw_documents, a backfill reads all of it"
    assert set(read(settings, backfill=True)) == {"a", "c", "d"}
    assert "raw_documents" not in reason(settings, backfill=True)
    assert set(read(settings)) == {"a", "c", "d"}  # as long as the backfill is not accepted, all is read again


@pytest.mark.parametrize("backfill", [pytest.param(False, marks=pytest.mark.long), True])
def test_documents_of_a_partition_that_cannot_be_read_stay_until_it_can(tmp_path: Path, backfill: bool) -> None:
    lake = Lake(tmp_path)
    settings = settings_of(tmp_path, lake.named())
    lake.make("1", a=RIVER)
    lake.make("2", a=FLOOD, **{"b.png": OFFICE})
    materialised(settings, lake.versions)
    read(settings)
    lake.make("1", a=OFFICE)
    lake.make("2", a="A text that cannot be read.")
    (lake.folder / "2.jsonl").write_text("no JSON")
    lake.versions["3"] = "1"  # whose file is missing
    materialised(settings, lake.versions)
    for _ in range(2):
        found = read(settings, backfill=backfill)
        assert found.pop("2").startswith("partition '2': ")
        assert found.pop("3").startswith("partition '3': No such file")
        assert found == {"1/a": OFFICE, "2/a": FLOOD, "2/b.png": OFFICE}
        tables = SourceTables(Home.of(settings), candidate=backfill)
        counts = tables.require("raw_documents", "pages").counts["status"]
        assert counts == {"processed": 1, "stale": 2, "skipped": 2}
        state = pending(Situation.looking(settings)).sources["pages"]
        assert (state.withheld, state.ingest) == (None, "raw_documents, input changed")
        with pytest.raises(SourceError, match="pages/2/a is in a partition that cannot be read now"):
            find_gone(Situation.looking(settings), ["pages/2/a"])
    lake.make("2", a="A text that can be read.")
    lake.make("3")
    materialised(settings, lake.versions)
    assert read(settings) == {"1/a": OFFICE, "2/a": "A text that can be read."}
    assert "raw_documents" not in reason(settings)


def test_files_of_a_partition_that_cannot_be_read_are_told_by_their_types(tmp_path: Path) -> None:
    named = {"uri": f"{tmp_path}/lake/{{partition}}", "asset": ASSET, "types": {"*.log.1": "text"}}
    settings = settings_of(tmp_path, named)
    (tmp_path / "lake/1").mkdir(parents=True)
    for name in ("a.log.1", "b.png", "c.bin"):
        (tmp_path / "lake/1" / name).write_text(name)
    materialised(settings, {"1": "1", "2": "1"})
    (tmp_path / "lake/2").mkdir()
    before = read(settings)
    assert before["1/a.log.1"] == "a.log.1"
    (tmp_path / "lake/1").rename(tmp_path / "gone")
    materialised(settings, {"1": "2", "2": "1"})
    found = read(settings)
    assert found.pop("1").startswith("partition '1': No such file")
    assert found == before
    counts = SourceTables(Home.of(settings)).require("raw_documents", "pages").counts["status"]
    assert counts == {"stale": 1, "skipped": 3}


def test_partitions_that_are_gone_from_their_place_stay_under_other_code(tmp_path: Path) -> None:
    lake = Lake(tmp_path)
    settings = settings_of(tmp_path, lake.named())
    for day in ("1", "2"):
        lake.make(day, a=f"{RIVER} {day}")
    materialised(settings, lake.versions)
    before = read(settings)
    (lake.folder / "1.jsonl").unlink()
    found = read(settings_of(tmp_path, lake.named(), max_bytes=1000))
    assert found.pop("1").startswith("partition '1': No such file")
    assert found == before


def test_a_place_without_any_partition_is_tried_until_it_has_one(tmp_path: Path) -> None:
    """The versions of partitions, at which a look at the source stops, do not show it."""
    settings = settings_of(tmp_path, {"uri": f"{tmp_path}/lake/{{partition}}.jsonl", "asset": ASSET, "rows": {}})
    (tmp_path / "lake").mkdir()
    row = json.dumps({"id": "1", "text": RIVER})
    materialised(settings, {"a": "1", "b": "1"})
    for _ in range(2):
        with pytest.raises(SourceError, match="partition 'a'"):
            read(settings)
        assert pending(Situation.looking(settings)).sources["pages"].ingest is not None

    for name in ("a", "b"):
        (tmp_path / "lake" / f"{name}.jsonl").write_text(row)
    assert read(settings) == {"a/1": RIVER, "b/1": RIVER}
    assert "raw_documents" not in reason(settings)

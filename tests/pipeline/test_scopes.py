"""A scope is a knowledge base of its documents alone: nothing of the others has a part in it."""

import json
import os
import re
import shutil
from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from filelock import FileLock, Timeout
from pydantic import SecretStr

from lightrag_dagster import KnowledgeBase
from lightrag_dagster.curation.desk.taking import take
from lightrag_dagster.curation.rules.decisions import Decision
from lightrag_dagster.curation.rules.reading import copy_decisions
from lightrag_dagster.errors import NoSnapshotError, QueryError, SettingsError
from lightrag_dagster.pipeline.pending import pending
from lightrag_dagster.pipeline.scope_tables import UNLABELLED
from lightrag_dagster.pipeline.scopes import (
    empty,
    pending_scopes,
    publish_scopes,
    remove_damaged,
    still_read,
    tidy_scopes,
)
from lightrag_dagster.pipeline.situation import Situation
from lightrag_dagster.plan.plan import make_plan
from lightrag_dagster.settings import Settings, SourceSettings
from lightrag_dagster.storage.home import Home
from lightrag_dagster.storage.locking import building
from lightrag_dagster.storage.snapshots.snapshots import (
    list_snapshots,
    previous_snapshot,
    published_snapshot,
    release,
    rollback,
    without_graph,
)
from lightrag_dagster.storage.tables.source_tables import SourceTables
from tests.buckets import S3Server
from tests.layouts import as_another_layout
from tests.passes import WORKS, write_schemas
from tests.support import (
    FLOOD,
    OFFICE,
    RIVER,
    build,
    first_build,
    published,
    run,
    snapshot_contents,
    write_source,
)

BOARD = {"sources": ("board", "handbook")}
SHOWN = {
    "board": {"river.md": RIVER, "office.md": OFFICE, "copy.md": f"{RIVER} "},
    "handbook": {"flood.md": FLOOD},
}
HIDDEN = {"secret": {"a.md": f"{RIVER} Marta Lindqvist leads Project Nightjar in Oslo.", "same.md": FLOOD}}


def with_scopes(settings: Settings, **scopes: Mapping[str, tuple[str, ...]]) -> Settings:
    return settings.changed(scopes=scopes)


def write_all(settings: Settings, sources: Mapping[str, Mapping[str, str]]) -> None:
    for source, files in sources.items():
        folder = write_source(settings, source, files)
        for path in folder.rglob("*.*"):
            os.utime(path, (1_700_000_000, 1_700_000_000))


def home_of(settings: Settings, scope: str) -> Home:
    return Home.of(settings.within(scope))


def in_home_of_scope(home: Home) -> dict[str, object]:
    """Return every file of a scope's home, without times and what it was filled from."""
    found: dict[str, object] = {}
    for path in sorted(home.root.rglob("*")):
        name = str(path.relative_to(home.root))
        if path.is_file() and not name.startswith(("lance/", "builder.", "ingesting/")) and path.suffix != ".duckdb":
            found[name] = _plain(path)
    return found


def _plain(path: Path) -> object:
    if path.suffix != ".json" or path.name in ("views.json", "graph.json"):  # with places, or a hash of the database
        return None if path.name == "FORMAT" or ".kuzu" in path.name or path.suffix == ".json" else path.read_bytes()
    record = json.loads(path.read_bytes())
    if path.name == "files.json":
        return sorted(one for one in record["files"] if not any(part in one for part in ("kuzu", "manifest", "lance/")))
    for name in ("published_at", "crc32", "inputs" if path.parent.parent.parent.name == "tables" else "at"):
        record.pop(name, None)
    return record


def test_a_scope_is_published_although_the_pointer_of_the_merge_was_lost(settings: Settings) -> None:
    write_all(settings, SHOWN)
    first_build(settings)
    Home(settings.home).newest.unlink()
    scoped = with_scopes(settings, board=BOARD)
    assert run(scoped).rejected == {}
    assert published(scoped.within("board")).rows["raw_documents"] == 4


@pytest.mark.parametrize("rule", [pytest.param(BOARD, marks=pytest.mark.long), {"paths": ("open/*",)}])
def test_two_homes_that_differ_in_hidden_documents_alone_have_equal_scopes(
    tmp_path: Path, settings: Settings, rule: Mapping[str, tuple[str, ...]]
) -> None:
    homes = []
    for name, hidden in (("some", HIDDEN), ("none", {})):
        one = with_scopes(
            settings.changed(home=tmp_path / name / "home", sources=tmp_path / name / "sources"), board=rule
        )
        shown = {source: {f"open/{path}": text for path, text in files.items()} for source, files in SHOWN.items()}
        if "paths" in rule:  # hidden are documents of the same sources
            shown["board"] |= {path: text for files in hidden.values() for path, text in files.items()}
            write_all(one, shown)
        else:
            write_all(one, shown | hidden)
        build(one)
        homes.append(one)
    whole = {published(one).snapshot_id for one in homes}
    assert len(whole) == 2
    of_scopes = [published(one.within("board")) for one in homes]
    assert {one.snapshot_id for one in of_scopes} == {of_scopes[0].snapshot_id}
    first, other = [in_home_of_scope(home_of(one, "board")) for one in homes]
    assert other == first
    assert any(name.startswith("generations/") for name in first)
    contents = [snapshot_contents(one.within("board")) for one in homes]
    assert contents[0] == contents[1]


@pytest.mark.long
def test_hidden_changes_make_no_snapshot_of_a_scope(settings: Settings) -> None:
    scoped = with_scopes(settings, board=BOARD)
    write_all(scoped, {**SHOWN, **HIDDEN})
    first_build(scoped)
    before = published(scoped.within("board"))
    write_source(scoped, "secret", {"a.md": "Priya Nair buys Halden Weir.", "same.md": FLOOD})
    assert build(scoped).published is not None
    assert published(scoped.within("board")) == before
    write_source(scoped, "handbook", {"flood.md": f"{FLOOD} Priya Nair lives in Oslo."})
    build(scoped)
    after = published(scoped.within("board"))
    assert (before.sequence, after.sequence) == (1, 2)
    assert list_snapshots(home_of(scoped, "board")) == [after]  # the one before might show what is hidden by now
    assert pending_scopes(Situation.looking(scoped)) == {}


@pytest.mark.long
@pytest.mark.parametrize(
    ("rule", "paths"),
    [
        pytest.param({"paths": ("open/*",)}, ["board/open/river.md", "handbook/open/b.md"], marks=pytest.mark.long),
        ({"paths": ("open/*",), "sources": ("handbook",)}, ["handbook/open/b.md"]),
        pytest.param({"tags": ("Public",)}, ["board/tagged.md"], marks=pytest.mark.long),
        ({"sources": ("none",)}, []),
        pytest.param({"paths": ("open/?.md", "[a].md", "?.md")}, [], marks=pytest.mark.long),
    ],
)
def test_all_conditions_of_a_rule_hold(settings: Settings, rule: dict[str, tuple[str, ...]], paths: list[str]) -> None:
    scoped = with_scopes(settings, some=rule)
    tagged = f"---\ntags: [public, other]\n---\n\n{OFFICE}"
    write_source(scoped, "board", {"a.md": RIVER, "open/river.md": RIVER, "tagged.md": tagged})
    write_source(scoped, "handbook", {"open/b.md": FLOOD, "c.md": OFFICE})
    build(scoped)
    if not paths:
        with pytest.raises(NoSnapshotError):
            KnowledgeBase.open(scoped.home, scope="some", settings=scoped)
        return
    with KnowledgeBase.open(scoped.home, scope="some", settings=scoped) as knowledge:
        rows = knowledge.sql(
            "SELECT source || '/' || path AS path, status, duplicate_of FROM raw_documents"
        ).to_pylist()
    assert [one["path"] for one in rows] == paths
    # What it repeats is hidden, so that it repeats nothing.
    assert {(one["status"], one["duplicate_of"]) for one in rows} == {("processed", None)}


@pytest.mark.long
def test_a_decision_acts_where_its_names_are_and_texts_where_it_says(settings: Settings) -> None:
    scoped = with_scopes(settings, board=BOARD, handbook={"sources": ("handbook",)})
    scoped = scoped.changed(merging={"types": {"map": {"location": "qqplace"}}})
    write_all(scoped, {**SHOWN, **HIDDEN})
    decisions = [
        Decision(action="retype", names=("Halden Weir",), type="qqtype", scopes=("board",)),
        Decision(action="retype", names=("Bergen",), type="Person"),
        Decision(action="merge", names=("Orrin Instruments", "Project Nightjar")),
        Decision(action="describe", names=("Bergen",), text="A town qqhidden."),
        Decision(action="describe", names=("Jonas Feld",), text="A person qqshown.", scopes=("board",)),
        Decision(action="add", names=("Helena Vik",), type="person", text="qqadded", scopes=("handbook",)),
        Decision(action="rename", names=("Priya Nair",), into="Codename qqnew"),
        Decision(action="retype", names=("Marta Lindqvist",), type="qqplace"),
        Decision(action="retype", names=("Helena Vik",), type="chair", scopes=("handbook",)),
    ]
    for one in decisions:
        take(scoped, [one])
    build(scoped)
    found = {}
    for scope in ("board", "handbook"):
        with KnowledgeBase.open(scoped.home, scope=scope, settings=scoped) as knowledge:
            rows = knowledge.sql("SELECT name, type, description FROM entities").to_pylist()
            found[scope] = {row["name"]: row for row in rows}
    board, handbook = found["board"], found["handbook"]
    assert board["Halden Weir"]["type"] == "qqtype"
    assert board["Bergen"]["type"] == "person"
    assert "Orrin Instruments" in board
    assert board["Jonas Feld"]["description"] == "A person qqshown."
    assert board["Marta Lindqvist"]["type"] == "qqplace"
    assert handbook["Helena Vik"]["type"] == "chair"
    said = json.dumps(found)
    for word in ("qqhidden", "qqnew", "Nightjar"):
        assert word not in said
    assert not {"qqshown", "qqtype"} & set(re.findall("qq[a-z]+", json.dumps(handbook)))
    assert "Helena Vik" not in board
    with KnowledgeBase.open(scoped.home, settings=scoped) as knowledge:
        assert "qqhidden" in json.dumps(knowledge.sql("FROM entities").to_pylist(), default=str)


@pytest.mark.long
def test_a_scope_of_no_setting_is_removed(settings: Settings) -> None:
    scoped = with_scopes(settings, board=BOARD)
    write_all(scoped, {**SHOWN, **HIDDEN})
    first_build(scoped)
    assert home_of(scoped, "board").published.exists()
    assert list(pending(Situation.looking(settings)).scopes) == ["board"]
    build(settings)
    assert not home_of(scoped, "board").root.exists()
    assert pending(Situation.looking(settings)).scopes == {}


@pytest.mark.long
def test_a_scope_follows_the_snapshot_that_readers_open(settings: Settings) -> None:
    scoped = with_scopes(settings, board=BOARD)
    write_all(scoped, SHOWN)
    build(scoped)
    first, of_scope = published(scoped), published(scoped.within("board"))
    write_source(scoped, "handbook", {"flood.md": OFFICE})
    build(scoped)
    assert published(scoped.within("board")).snapshot_id != of_scope.snapshot_id
    with building(Home.of(scoped)) as lock:
        rollback(Home.of(scoped), first.snapshot_id, lock)
    assert list(pending(Situation.looking(scoped)).scopes) == ["board"]
    build(scoped)
    now = published_snapshot(home_of(scoped, "board"))
    assert now is not None
    assert now.inputs.sources == of_scope.inputs.sources


@pytest.mark.long
def test_documents_without_a_value_of_access_are_hidden_and_counted(settings: Settings) -> None:
    rules = {"a.md": "board, staff", "d/*": "staff", "e.md": "board"}
    scoped = with_scopes(settings, board={"access": ("board",)}).model_copy(
        update={"named_sources": {"papers": SourceSettings(uri=str(settings.home.parent / "papers"), access=rules)}}
    )
    hostile = f"---\naccess: board\ntags: [board]\n---\n\n{OFFICE}"
    papers = {"a.md": RIVER, "b.md": hostile, "c.md": FLOOD, "d/x.md": OFFICE, "e.md": RIVER}
    write_source(scoped.changed(sources=settings.home.parent), "papers", papers)
    scoped.sources.mkdir(exist_ok=True)
    warnings = build(scoped).states.warnings
    with KnowledgeBase.open(scoped.home, scope="board", settings=scoped) as knowledge:
        assert knowledge.sql("SELECT path, status, access FROM raw_documents").to_pylist() == [
            {"path": "a.md", "status": "processed", "access": None},
            {"path": "e.md", "status": "duplicate", "access": None},
        ]
    tables = SourceTables(home_of(scoped, "board"))
    assert tables.require("raw_documents", "papers").new_sums == {UNLABELLED: 2}
    parsed = tables.require("parsed", "papers")
    assert parsed.new_sums == parsed.sums, "which count rows of answers"
    said = (
        "scope board does not show 2 documents without a value of `access`; give them one by named_sources.NAME.access"
    )
    assert any(line.startswith(said) for line in warnings)


@pytest.mark.long
def test_what_is_wrong_with_a_scope_stops_no_other(settings: Settings) -> None:
    scoped = with_scopes(settings, board=BOARD | {"access": ("board",)}, other={"sources": ("handbook",)})
    write_all(scoped, SHOWN)
    build(scoped)
    home_of(scoped, "board").format.write_text("{")
    write_source(scoped, "handbook", {"flood.md": OFFICE})
    assert "is damaged" in pending(Situation.looking(scoped)).scopes["board"]
    build(scoped)
    assert list(pending_scopes(Situation.looking(scoped))) == ["board"]
    assert published(scoped.within("other")).sequence == 2


def test_the_home_of_a_scope_goes_while_its_lock_is_held(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    home, remove = Home(tmp_path / "board"), shutil.rmtree

    def remove_held(folder: Path, **options: Any) -> None:
        with pytest.raises(Timeout):
            FileLock(home.lock).acquire(timeout=0)
        remove(folder, **options)

    monkeypatch.setattr(shutil, "rmtree", remove_held)
    empty(home)
    assert not home.root.exists()


@pytest.mark.long
def test_copies_of_a_scope_that_ended_processes_left_go_with_it(
    tmp_path: Path, buckets: S3Server, postgres: SecretStr
) -> None:
    home = Home(tmp_path / "cache" / "0", postgres, buckets.new_bucket(), 1e9)
    ended = tmp_path / "cache" / "1" / "tables"
    ended.mkdir(parents=True)
    empty(home)
    assert not ended.exists()


@pytest.mark.long
def test_what_is_damaged_in_a_scope_is_made_again(settings: Settings) -> None:
    scoped = with_scopes(settings, board=BOARD)
    write_all(scoped, SHOWN)
    build(scoped)
    root, before = home_of(scoped, "board").root, published(scoped.within("board"))
    for pattern in (
        "tables/raw_documents/board/current.json",
        "tables/chunks/board/current.json",
        "accepted/handbook.json",
        "generations/*/generation.json",
        "FORMAT",
    ):
        (record,) = root.glob(pattern)
        for content in ("{", record.read_text().replace("e", "f")):  # of the same size
            record.write_text(content)
            remove_damaged(scoped, verify=False)
            assert publish_scopes(Situation.looking(scoped), None)[0].problem is None, pattern
            assert published(scoped.within("board")).inputs == before.inputs
            assert pending_scopes(Situation.looking(scoped)) == {}
            assert not remove_damaged(scoped, verify=True)


@pytest.mark.long
def test_scopes_are_the_same_in_postgres(tmp_path: Path, settings: Settings, postgres: SecretStr) -> None:
    scoped = with_scopes(settings, board=BOARD)
    write_all(scoped, {**SHOWN, **HIDDEN})
    take(scoped, [Decision(action="merge", names=("Marta Lindqvist", "Jonas Feld"))])
    build(scoped)
    elsewhere = scoped.changed(home=tmp_path / "elsewhere", database=postgres)
    copy_decisions(Home.of(scoped), Home.of(elsewhere))
    build(elsewhere)
    assert published(elsewhere.within("board")).snapshot_id == published(scoped.within("board")).snapshot_id
    assert snapshot_contents(elsewhere.within("board")) == snapshot_contents(scoped.within("board"))
    build(elsewhere.changed(scopes={}))
    assert not home_of(elsewhere, "board").root.exists()


def test_of_a_scope_of_another_layout_nothing_is_said(settings: Settings) -> None:
    scoped = with_scopes(settings, board=BOARD)
    write_all(scoped, SHOWN)
    build(scoped)
    as_another_layout(home_of(scoped, "board"))
    assert tidy_scopes(scoped) == []
    assert remove_damaged(scoped, verify=True) == []


@pytest.mark.long
def test_a_scope_of_another_layout_is_taken_over_with_the_home(settings: Settings) -> None:
    scoped = with_scopes(settings, board=BOARD)
    write_all(scoped, SHOWN)
    build(scoped)
    before = published(scoped.within("board"))
    for home in (Home.of(scoped), home_of(scoped, "board")):
        as_another_layout(home)
    run(scoped)
    after = published(scoped.within("board"))
    assert (after.sequence, after.inputs.sources) == (2, before.inputs.sources)


@pytest.mark.long
def test_a_plan_names_what_a_scope_costs(settings: Settings) -> None:
    scoped = with_scopes(settings, board=BOARD)
    write_all(scoped, {**SHOWN, **HIDDEN})
    assert "scope board" in make_plan(scoped).steps
    build(scoped)
    assert "scope board" not in make_plan(scoped).steps


def test_a_source_that_a_rule_alone_knows_is_told(settings: Settings) -> None:
    write_all(settings, {"board": {"a.md": RIVER}})
    scoped = with_scopes(settings, press={"sources": ("board", "bord")})
    line = "scope press names bord in `sources`, and there is no such source (did you mean board?)"
    assert line in pending(Situation.looking(scoped)).warnings
    assert line not in pending(Situation.looking(scoped.within("press"))).warnings


def test_names_that_are_none(settings: Settings) -> None:
    for name in ("", "../secret", "A", "a-b", "a" * 65):
        with pytest.raises(SettingsError, match="cannot be the name of a scope"):
            KnowledgeBase.open(settings.home, scope=name, settings=settings)
    with pytest.raises(NoSnapshotError):
        KnowledgeBase.open(settings.home, scope="unknown", settings=settings)


@pytest.mark.long
def test_the_graph_of_a_scope_is_built_by_the_next_run(settings: Settings) -> None:
    scoped = with_scopes(settings, board=BOARD)
    write_all(scoped, SHOWN)
    build(scoped.changed(dagster={"without": ("published_graph",)}))
    home, snapshot = home_of(scoped, "board"), published(scoped.within("board"))
    assert without_graph(home)
    assert list(pending_scopes(Situation.looking(scoped))) == ["board"]
    (state,) = publish_scopes(Situation.looking(scoped), None)
    assert (state.problem, without_graph(home)) == (None, None)
    assert published(scoped.within("board")) == snapshot
    assert pending_scopes(Situation.looking(scoped)) == {}


def with_access(settings: Settings, board: str, flood: str = "public") -> Settings:
    """Return settings in which the board's paper, and that about the flood, have these values of `access`."""
    papers = settings.sources.parent / "papers"
    source = SourceSettings(uri=str(papers), access={"board.md": board, "flood.md": flood, "*": "public"})
    settings.sources.mkdir(parents=True, exist_ok=True)
    write_source(settings.changed(sources=papers.parent), "papers", {"board.md": OFFICE, "flood.md": FLOOD})
    named = settings.model_copy(update={"named_sources": {"papers": source}})
    return with_scopes(named, press={"access": ("public",)})


def shown(settings: Settings) -> list[str]:
    """Return the paths of the documents that the scope `press` shows."""
    with KnowledgeBase.open(settings.home, scope="press", settings=settings) as knowledge:
        found: list[str] = knowledge.sql("SELECT path FROM raw_documents ORDER BY path")["path"].to_pylist()
        return found


@pytest.mark.long
def test_what_a_scope_replaced_is_refused_and_goes_with_its_reader(settings: Settings) -> None:
    scoped = with_access(settings, board="public")
    build(scoped)
    old = published(scoped.within("press")).snapshot_id
    opened = partial(KnowledgeBase.open, scoped.home, scope="press", settings=scoped)
    with opened(old) as reader:
        build(with_access(settings, board="board"))
        now = published(scoped.within("press"))
        assert home_of(scoped, "press").generation(old).exists()
        assert (still_read(scoped, "press"), tidy_scopes(scoped)) == (True, [])
        for refused in (partial(opened, old), reader.refresh):
            with pytest.raises(QueryError, match=f"no snapshot {old} in scope press; a scope keeps the published"):
                refused()
        with opened() as knowledge:
            assert knowledge.sql("SELECT snapshot_id FROM snapshots")["snapshot_id"].to_pylist() == [now.snapshot_id]
            with pytest.raises(QueryError, match=r"no snapshot before .*; a scope keeps the published"):
                knowledge.changes()
        assert previous_snapshot(home_of(scoped, "press"), now.snapshot_id) is None
    assert not still_read(scoped, "press")
    assert tidy_scopes(scoped, dry_run=True) == ["would be removed: what scope press had replaced"]
    again = with_access(settings, board="board")
    assert run(again).tidied == ["removed: what scope press had replaced"]
    assert list_snapshots(home_of(scoped, "press")) == [now]
    assert not home_of(scoped, "press").generation(old).exists()
    assert run(again).tidied == []


@pytest.mark.long
def test_a_scope_that_the_settings_lack_is_refused_and_removed(settings: Settings) -> None:
    scoped = with_access(settings, board="public")
    build(scoped)
    renamed = with_scopes(scoped, media={"access": ("public",)})
    with pytest.raises(NoSnapshotError, match="the settings have no scope press") as refused:
        shown(renamed)
    assert "media" not in str(refused.value)  # which a door would tell
    gone = "removed: scope press, which the settings lack"
    assert tidy_scopes(renamed, dry_run=True) == [f"would be {gone}"]
    assert home_of(scoped, "press").root.exists()
    assert tidy_scopes(renamed) == [gone]
    assert not home_of(scoped, "press").root.exists()
    assert tidy_scopes(renamed) == []


@pytest.mark.long
def test_a_rollback_shows_nothing_again_that_lost_its_access(settings: Settings) -> None:
    build(with_access(settings, board="public", flood="board"))
    first = published(settings).snapshot_id
    now = with_access(settings, board="board", flood="public")
    build(now)
    assert shown(now) == ["flood.md"]
    with building(Home.of(now)) as lock:
        rollback(Home.of(now), first, lock)
    build(now)
    assert shown(now) == []  # neither had the value then and has it today
    assert pending_scopes(Situation.looking(now)) == {}
    with building(Home.of(now)) as lock:
        release(Home.of(now), lock)
    build(now)
    assert shown(now) == ["flood.md"]


@pytest.mark.long
def test_a_document_that_is_gone_has_no_access_after_a_rollback(settings: Settings) -> None:
    scoped = with_access(settings, board="public").changed(documents={"accept_deletes": True})
    both = with_scopes(scoped, press={"access": ("public",)}, papers={"sources": ("papers",)})
    build(both)
    first = published(both).snapshot_id
    (settings.sources.parent / "papers" / "board.md").unlink()
    build(both)
    with building(Home.of(both)) as lock:
        rollback(Home.of(both), first, lock)
    build(both)
    assert shown(both) == ["flood.md"]
    assert published(both.within("papers")).rows["raw_documents"] == 2
    without = both.model_copy(update={"named_sources": {}})
    write_source(without, "notes", {"river.md": RIVER})
    build(without)
    assert shown(without) == []


@pytest.mark.long
def test_a_pass_over_hidden_sources_is_no_warning_within_a_scope(settings: Settings, tmp_path: Path) -> None:
    write_all(settings, {"board": {"a.md": RIVER}, "finance": {"b.md": FLOOD}})
    folder = write_schemas(tmp_path / "readings", works=f"{WORKS}sources: [board, finance]\n")
    scoped = with_scopes(settings, board={"sources": ("board",)}).changed(readings=folder)
    build(scoped)
    within = pending(Situation.looking(scoped.within("board")))
    assert within.sources.keys() == {"board"}
    assert "finance" not in repr(within)

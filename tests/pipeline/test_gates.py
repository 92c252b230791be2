"""The gates before publication: they stop a snapshot, which then waits for release, and nothing else."""

from pathlib import Path

import pytest

from lightrag_dagster.errors import IntegrityError, SettingsError
from lightrag_dagster.pipeline.gates import look
from lightrag_dagster.pipeline.pending import pending
from lightrag_dagster.pipeline.situation import Situation
from lightrag_dagster.settings import Settings, load_settings
from lightrag_dagster.storage.home import Home
from lightrag_dagster.storage.manifests import Gates, Manifest
from lightrag_dagster.storage.snapshots import snapshots
from lightrag_dagster.storage.snapshots.generations import Generation
from tests.support import FLOOD, OFFICE, RIVER, build, published, write_source

TEN = {f"{number}.md": f"Report {number} names the gauge at Station {number}." for number in range(10)}
NO_ROW = "SELECT 1 WHERE false"


@pytest.fixture
def settings(settings: Settings) -> Settings:
    return settings.changed(documents={"accept_deletes": True})


def built(settings: Settings, files: dict[str, str]) -> Manifest:
    """Build the source `notes` of these files, and return the newest snapshot."""
    write_source(settings, "notes", files)
    build(settings)
    newest = snapshots.newest_snapshot(Home(settings.home))
    assert newest is not None
    return newest


def reads(settings: Settings) -> str:
    """Return the id of the snapshot that readers open."""
    return published(settings).snapshot_id


def with_checks(settings: Settings, folder: Path, **checks: str) -> Settings:
    """Return settings with a folder of checks, by name without suffix."""
    folder.mkdir(exist_ok=True)
    (folder / "notes.txt").write_text("no check")
    (folder / "._notes.sql").write_bytes(b"\xff")  # as macOS writes beside a file of another disk
    for name, text in checks.items():
        (folder / f"{name}.sql").write_text(text)
    return settings.changed(checks=folder)


def looked_at(home: Path, settings: Settings) -> Gates:
    """Return the results of the gates for the published snapshot of a home."""
    return look(Generation(Home(home), published(settings.changed(home=home)).snapshot_id), settings)


@pytest.mark.long
def test_by_hand_each_snapshot_after_the_first_waits(settings: Settings) -> None:
    manual, home = settings.changed(publish="manual"), Home(settings.home)
    first = built(manual, {"river.md": RIVER, "office.md": OFFICE})
    assert (reads(manual), first.gates) == (first.snapshot_id, Gates())
    for files in ({"river.md": RIVER, "flood.md": FLOOD}, {"river.md": RIVER}):
        before = reads(manual)
        newest = built(manual, files)
        assert (reads(manual), snapshots.held_snapshot(home)) == (before, before)
        states = pending(Situation.looking(manual))
        assert (states.unreleased, states.stopped) == (newest.snapshot_id, [])
        assert snapshots.release(home) == newest
        assert (reads(manual), snapshots.held_snapshot(home)) == (newest.snapshot_id, None)
    assert str(newest.gates).startswith("documents: 0 added, 1 removed, 0 changed of 2; entities: 0 added, ")


@pytest.mark.long  # the next one has the share quickly
def test_a_snapshot_that_differs_too_much_waits_until_one_differs_less(settings: Settings) -> None:
    limited, home = settings.changed(publish=0.3), Home(settings.home)
    first = built(limited, TEN)
    small = built(limited, TEN | {"0.md": "Report 0 names the weir at Station 0.", "1.md": ""})
    assert reads(limited) == small.snapshot_id != first.snapshot_id

    large = built(limited, TEN | {f"new {number}.md": f"Station {number} was sold." for number in range(3)})
    assert (reads(limited), large.gates.faults) == (
        small.snapshot_id,
        ["documents: 3 added, 0 removed, 2 changed of 10, more than the share of 0.3 that publish allows"],
    )
    assert pending(Situation.looking(limited)).stopped == large.gates.faults
    again = built(limited, TEN)
    assert (reads(limited), snapshots.held_snapshot(home)) == (again.snapshot_id, None)
    assert pending(Situation.looking(limited)).stopped == []


@pytest.mark.long
def test_names_that_come_or_go_count_as_documents_do(settings: Settings) -> None:
    files = {f"{number}.md": "Nothing is named here at all." for number in range(20)}
    limited = settings.changed(publish=0.2)
    first = built(limited, files | {"named.md": "Marta Lindqvist visits Bergen."})
    second = built(limited, files | {"named.md": "Jonas Feld visits Oslo."})
    assert reads(limited) == first.snapshot_id
    (fault,) = second.gates.faults
    assert fault.startswith("entities: 2 added, 2 removed, 0 changed of ")


@pytest.mark.long
def test_rows_of_a_check_are_faults_or_told(settings: Settings, published_home: Path, tmp_path: Path) -> None:
    checked = with_checks(
        settings,
        tmp_path / "own",
        a_good=f"CREATE TEMP TABLE more AS SELECT 1; {NO_ROW}",
        b_bad="-- severity: error\nFROM (VALUES (7), (8), (9), (10)) AS t(n); SELECT 'x' AS word, 1 AS n;",
        c_told="--Severity: WARN\nSELECT name FROM entities ORDER BY name LIMIT 1",
        d_long="SELECT repeat('long ', 99) AS text",
    )
    found = looked_at(published_home, checked)
    assert found.faults[0] == "check b_bad.sql: 5 rows, as n 7; n 8; n 9"
    assert found.faults[1].startswith("check d_long.sql: 1 row, as text long long ")
    assert found.faults[1].endswith(" …")
    assert (len(found.faults), len(found.faults[1]) < 250) == (2, True)
    (warning,) = found.warnings
    assert warning.startswith("check c_told.sql: 1 row, as name ")


@pytest.mark.parametrize(
    ("check", "reason"),
    [
        ("SELEKT 1", "the SQL cannot be run: "),
        ("", "the SQL is empty"),
        ("COPY entities TO 'stolen.csv'", "it may only read the tables of the home"),
        ("FROM read_text('/etc/hostname')", "it may only read the tables of the home"),
        (f"-- severity: fatal\n{NO_ROW}", "its severity 'fatal' is neither error nor warn"),
        (f"-- severity:\n{NO_ROW}", "its severity '' is neither error nor warn"),
    ],
)
def test_a_check_that_cannot_be_run_is_a_fault(
    settings: Settings, published_home: Path, tmp_path: Path, check: str, reason: str
) -> None:
    (fault,) = looked_at(published_home, with_checks(settings, tmp_path / "own", bad=check)).faults
    assert fault.startswith("check bad.sql: ")
    assert reason in fault


@pytest.mark.long  # the next one is its beginning
def test_a_fault_stops_a_snapshot_until_one_has_none(settings: Settings, tmp_path: Path) -> None:
    first = built(settings, {"river.md": RIVER})
    checked = with_checks(
        settings,
        tmp_path / "own",
        bad="SELECT path FROM raw_documents WHERE path = 'b.md'",
        told="-- severity: warn\nSELECT name FROM entities WHERE name = 'Bergen'",
    )
    second = built(checked, {"river.md": RIVER, "b.md": FLOOD})
    assert reads(checked) == first.snapshot_id
    assert pending(Situation.looking(checked)).stopped == second.gates.faults == ["check bad.sql: 1 row, as path b.md"]
    third = built(checked, {"river.md": f"{RIVER} It rained."})
    assert reads(checked) == third.snapshot_id
    states = pending(Situation.looking(checked))
    assert (states.stopped, states.warnings) == ([], ["check told.sql: 1 row, as name Bergen"])


@pytest.mark.long
def test_a_fault_of_the_first_snapshot_publishes_none(settings: Settings, tmp_path: Path) -> None:
    checked = with_checks(settings, tmp_path / "own", bad="SELECT path FROM raw_documents")
    write_source(settings, "notes", {"river.md": RIVER})
    for _ in range(2):
        said = r"as the first snapshot: check bad\.sql: 1 row, as path river\.md; correct the documents"
        with pytest.raises(IntegrityError, match=said):
            build(checked)
    assert build(settings).published is not None


@pytest.mark.parametrize("files", [[], ["notes.txt"]])
def test_a_folder_without_checks_is_an_error(
    settings: Settings, published_home: Path, tmp_path: Path, files: list[str]
) -> None:
    for name in files:
        (tmp_path / "own").mkdir()
        (tmp_path / "own" / name).write_text("x")
    with pytest.raises(SettingsError, match=r"setting checks: .*own (cannot be listed: .*|has no file)"):
        looked_at(published_home, settings.changed(checks=tmp_path / "own"))


@pytest.mark.long
def test_what_a_person_holds_stays_when_no_gate_stops_the_next(settings: Settings, tmp_path: Path) -> None:
    home, ids = Home(settings.home), []
    for text in (RIVER, OFFICE):
        ids.append(built(settings, {"a.md": text}).snapshot_id)
    snapshots.rollback(home, ids[0])
    checked = with_checks(settings, tmp_path / "own", bad="SELECT path FROM raw_documents WHERE path = 'b.md'")
    for files, faults in (({"a.md": FLOOD, "b.md": RIVER}, 1), ({"a.md": FLOOD}, 0)):
        assert len(built(checked, files).gates.faults) == faults
        assert (reads(checked), snapshots.held_snapshot(home)) == (ids[0], ids[0])


@pytest.mark.parametrize("value", ["manuel", 1.5, -0.1, True])
def test_publish_is_a_word_or_a_share(settings: Settings, value: object) -> None:
    with pytest.raises(SettingsError, match="setting publish: it is automatic, manual or a share"):
        load_settings(publish=value)

"""`status --check`, as monitoring calls it; what withholds a source is in test_status.py."""

import json
import shutil
import time
from pathlib import Path

import dagster as dg
import pytest

from lightrag_dagster.assets.sensors import publish_accepted
from lightrag_dagster.resources import LightRAG
from lightrag_dagster.settings import load_settings
from lightrag_dagster.storage.database.looks import Looks
from lightrag_dagster.storage.home import Home
from lightrag_dagster.storage.snapshots.verify import published_bytes
from tests.assets.test_sensors import ingest
from tests.cli.test_cli import command
from tests.support import FLOOD, OFFICE, RIVER, build, first_build, published, run, write_source


def check(capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, *arguments: str) -> tuple[int, list[str]]:
    """Return the exit code and the lines of the check."""
    code, output, errors = command(capfd, monkeypatch, "status", "--check", *arguments)
    assert errors == ""
    return code, output.splitlines()


DOWN = "127.0.0.1:8790 cannot be reached (model {}); check OPENAI_BASE_URL"


def test_a_purge_that_was_killed_is_a_line_of_every_report(
    capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, asking: Home
) -> None:
    asking.purging.write_text('{"gone": {}}')  # of what edits removed
    said = [
        "a purge has not ended, so that removed texts may still be here; `lightrag-dagster purge … --yes` finishes it, "
        f"with the sources and paths that {asking.purging} has"
    ]
    assert check(capfd, monkeypatch) == (1, said)
    assert said[0] in json.loads(command(capfd, monkeypatch, "status", "--json")[1])["warnings"]


@pytest.mark.long
def test_an_outage_is_one_line_with_its_sources_while_they_wait(
    capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, notes: Path
) -> None:
    """As a run notes it; tests/end_to_end/test_watched_nights.py has such a run."""
    write_source(load_settings(), "wiki", {"flood.md": FLOOD})
    write_source(load_settings(), "legal", {"office.md": OFFICE})
    build(load_settings())
    looks = Looks(Home.of(load_settings()).ledger)
    for source in ("legal", "notes", "wiki"):
        looks.failed(source, DOWN.format(source))
    assert check(capfd, monkeypatch) == (0, []), "what is there is published"
    for source in ("notes", "wiki"):
        write_source(load_settings(), source, {"river.md": RIVER, "flood.md": FLOOD, "new.md": OFFICE})
    line = f"notes, wiki wait, since the last run failed 1 minute ago: {DOWN}"
    code, lines = check(capfd, monkeypatch)
    assert (code, lines) == (1, [line.format("wiki")])
    looks.good(["notes", "wiki"])
    assert check(capfd, monkeypatch) == (0, [])


@pytest.mark.long
def test_a_snapshot_that_waits_for_release_is_a_line(
    capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, notes: Path
) -> None:
    first_build(load_settings())
    first = published(load_settings()).snapshot_id
    assert command(capfd, monkeypatch, "rollback", first)[0] == 0
    assert check(capfd, monkeypatch) == (0, []), "nothing newer is there"
    (notes / "new.md").write_text(FLOOD)
    newest = build(load_settings()).published
    assert newest is not None
    line = f"{newest.snapshot_id} waits for `lightrag-dagster release`; {first} is held"
    assert check(capfd, monkeypatch) == (1, [line])


@pytest.mark.long
def test_what_failed_for_the_whole_is_said_while_there_is_work(
    capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, notes: Path
) -> None:
    build(load_settings())
    (notes / "new.md").write_text(FLOOD)
    with monkeypatch.context() as without_model:
        without_model.setenv("LIGHTRAG_LLM__PROVIDER", "openai")
        assert command(capfd, monkeypatch, "run")[0] == 2
    line = (
        "the knowledge base waits, since the last run failed 1 minute ago: LIGHTRAG_LLM__MODEL (llm.model) is not set; "
    )
    code, (said,) = check(capfd, monkeypatch)
    assert (code, said[: len(line)]) == (1, line)
    (notes / "new.md").unlink()
    assert check(capfd, monkeypatch) == (0, []), "nothing waits"


@pytest.mark.long
def test_with_an_age_what_nobody_looked_at_is_a_line(
    capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, notes: Path
) -> None:
    write_source(load_settings(), "wiki", {"office.md": OFFICE})
    build(load_settings(), graph=True)  # so that the command `run` only looks
    unseen = ["no run has looked at notes yet", "no run has looked at wiki yet"]
    assert check(capfd, monkeypatch, "--max-age", "26h") == (1, unseen)
    assert command(capfd, monkeypatch, "run")[0] == 0
    assert check(capfd, monkeypatch, "--max-age", "26h") == (0, [])
    write_source(load_settings(), "new", {"river.md": RIVER})
    assert check(capfd, monkeypatch, "--max-age", "26h") == (0, []), "the next run may find it"
    (notes / "river.md").write_text(FLOOD)
    code, lines = check(capfd, monkeypatch, "--max-age", "0s")
    assert (code, lines) == (
        1,
        [
            "notes was last what it should be 1 minute ago; it is pending: raw_documents, input changed",
            "the last good look of a run at wiki was 1 minute ago",
            "the knowledge base was last what it should be 1 minute ago; it is pending: merge",
        ],
    )
    assert check(capfd, monkeypatch) == (0, [])


@pytest.mark.long
def test_with_an_age_what_is_accepted_and_stays_unpublished_is_a_line(
    capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, notes: Path, instance: dg.DagsterInstance
) -> None:
    """As where each merge is killed, or its sensor was stopped, while each night ingests."""
    settings = load_settings()
    build(settings, graph=True)
    now = time.time()
    monkeypatch.setattr(time, "time", lambda: now - 30 * 3600)
    publish_accepted(dg.build_sensor_context(instance), lightrag=LightRAG(settings))
    (notes / "new.md").write_text(FLOOD)
    monkeypatch.setattr(time, "time", lambda: now)
    assert ingest(settings, instance, "notes").success
    assert isinstance(
        publish_accepted(dg.build_sensor_context(instance), lightrag=LightRAG(settings)), dg.RunRequest
    ), "to which nothing comes"
    capfd.readouterr()  # of Dagster
    line = "the knowledge base was last what it should be 30 hours ago; it is pending: merge"
    assert check(capfd, monkeypatch, "--max-age", "26h") == (1, [line])
    assert check(capfd, monkeypatch, "--max-age", "40h") == (0, [])
    build(settings)
    assert check(capfd, monkeypatch, "--max-age", "26h") == (0, []), "it is published"


def test_a_machine_that_only_asks_is_watched_too(
    capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, published_home: Path, tmp_path: Path
) -> None:
    monkeypatch.setenv("LIGHTRAG_HOME", str(shutil.copytree(published_home, tmp_path / "home")))
    assert check(capfd, monkeypatch) == (0, [])
    sources = published(load_settings()).inputs.sources
    assert check(capfd, monkeypatch, "--max-age", "26h") == (1, [f"no run has looked at {one} yet" for one in sources])
    Looks(Home.of(load_settings()).ledger).good(sources)
    assert check(capfd, monkeypatch, "--max-age", "26h") == (0, [])


@pytest.mark.long
def test_what_people_added_is_no_source_that_a_run_should_look_at(
    capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, notes: Path
) -> None:
    command(capfd, monkeypatch, "curate", "add", "Ada Lindt", "--text", "She leads the office.")
    run(load_settings())
    shutil.rmtree(notes.parent)  # this machine only asks
    assert "curation" in published(load_settings()).inputs.sources
    assert check(capfd, monkeypatch, "--max-age", "26h") == (0, [])


@pytest.fixture
def asking(published_home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Home:
    """A home of a machine that only asks."""
    monkeypatch.setenv("LIGHTRAG_HOME", str(shutil.copytree(published_home, tmp_path / "home")))
    return Home.of(load_settings())


def test_a_disk_with_less_room_than_the_snapshot_takes_is_a_line(
    capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, asking: Home
) -> None:
    size = published_bytes(asking, published(load_settings()).snapshot_id) + 16 * 1024**2
    for free in (size, size - 1, 3000):
        monkeypatch.setattr(
            shutil, "disk_usage", lambda _, free=free: shutil._ntuple_diskusage(size, size - free, free)
        )
        code, lines = check(capfd, monkeypatch)
        assert (code, len(lines)) == ((0, 0) if free == size else (1, 1))
    assert lines[0].startswith(f"{asking.name} has 3.0 kB left on its disk, and the next snapshot takes about ")
    assert lines[0].endswith("B; make room, as `lightrag-dagster gc` does")


@pytest.mark.long
def test_a_store_that_is_gone_is_a_line_also_of_a_backup_and_of_the_run_that_makes_it_again(
    capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, asking: Home, tmp_path: Path
) -> None:
    assert check(capfd, monkeypatch) == (0, [])
    (asking.root / "responses.sqlite").unlink()
    said = f"{asking.root}/responses.sqlite is missing, which kept the answers of models; put it back from a backup, or"
    code, (line,) = check(capfd, monkeypatch)
    assert (code, line[: len(said)]) == (1, said)
    code, output, errors = command(capfd, monkeypatch, "backup", str(tmp_path / "backup"))
    assert (code, errors, output.splitlines()[-1]) == (0, "", line)
    write_source(load_settings(), "letters", {"river.md": RIVER})
    assert line in run(load_settings()).tidied
    assert line not in check(capfd, monkeypatch)[1], "the run made an empty one"


def test_an_age_is_for_the_check(capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    code, _, errors = command(capfd, monkeypatch, "status", "--max-age", "26h")
    assert (code, "--max-age" in errors) == (2, True)


@pytest.mark.parametrize(
    ("arguments", "says"), [(("--check", "--json"), "has no --json"), (("--max-age", "1h"), "is for --check")]
)
def test_options_that_do_not_go_together_are_refused(
    capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, arguments: tuple[str, ...], says: str
) -> None:
    code, _, errors = command(capfd, monkeypatch, "status", *arguments)
    assert code == 2
    assert says in errors

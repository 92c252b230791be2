"""Of a purged document nothing is left anywhere, and everything else is as it was."""

import io
import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import dagster as dg
import lancedb.db
import lancedb.table
import obstore
import pyarrow as pa
import pytest
from pydantic import SecretStr
from rich.console import Console

from lightrag_dagster import KnowledgeBase
from lightrag_dagster.assets.namespace import Namespace
from lightrag_dagster.cli.purge import run_purge
from lightrag_dagster.core.identity import document_id, embedding_key, entity_id
from lightrag_dagster.curation.desk.taking import take, undo
from lightrag_dagster.curation.rules.decisions import Decision
from lightrag_dagster.errors import LightRAGError, SourceError, StoreError
from lightrag_dagster.indexes import vector_index
from lightrag_dagster.indexes.lance import open_database
from lightrag_dagster.models.batch.ledger import COLLECTED, Batch, BatchLedger
from lightrag_dagster.orchestration.instance import open_instance
from lightrag_dagster.purge import purge as purging
from lightrag_dagster.schemas import ANSWERS, DUPLICATE_CANDIDATES, EVALUATED_QUESTIONS
from lightrag_dagster.settings import Settings, load_settings
from lightrag_dagster.spending.ledger import Ledger
from lightrag_dagster.storage.database.engine import Database
from lightrag_dagster.storage.database.keyed_store import KeyedTable
from lightrag_dagster.storage.home import Home
from lightrag_dagster.storage.locking import building
from lightrag_dagster.storage.snapshots.repair import find_published_damage
from lightrag_dagster.storage.snapshots.snapshots import list_snapshots, pin, release, rollback
from lightrag_dagster.storage.tables.source_tables import ALL_SOURCES, SourceTables
from tests.assets.runs import pretend
from tests.buckets import S3Server
from tests.conftest import pointing_to
from tests.loopback import Loopback
from tests.postgres import PostgresServer
from tests.support import FLOOD, OFFICE, RIVER, build, published, run, snapshot_contents, write_source
from tests.traces import places

HIDDEN = "Ottoline Farquhane keeps the quipu of Bergen at Station 14."
SECRET = "Zephyrine Quollmark leads the xylomancy bureau in Bergen. Zephyrine Quollmark repaired Station 14."
WORDS = ("xylomancy", "quollmark", "secret.md", document_id("notes", "secret.md"), entity_id("Zephyrine Quollmark"))
WORDS_OF_SOURCE = ("quipu", "farquhane", entity_id("Ottoline Farquhane"))
GONE = ("notes/secret.md", "hidden")
KEPT = {"river.md": RIVER, "flood.txt": FLOOD}
RULES: dict[str, dict[str, object]] = {
    "documents": {"accept_deletes": True},
    "merging": {"summary_min_descriptions": 2},
    "embedding": {"provider": "openai", "dimensions": 8},  # whose vectors are stored
}
ROOT = Path(__file__).parents[2]
WRITES = (
    (os, "replace"),
    (os, "unlink"),
    (shutil, "rmtree"),
    (KeyedTable, "erase"),
    (Database, "rewrite"),
    (lancedb.table.LanceTable, "optimize"),
    (lancedb.table.LanceTable, "create_index"),
    (lancedb.db.LanceDBConnection, "create_table"),
    (lancedb.db.LanceDBConnection, "drop_table"),
)
QUESTION = "Who maintains the gauge at Halden Weir?"


def purge(settings: Settings, monkeypatch: pytest.MonkeyPatch, *names: str, yes: bool = True) -> str:
    """Run the command and return what it prints."""
    monkeypatch.setattr("lightrag_dagster.cli.purge.load_settings", lambda: settings)
    printed = io.StringIO()
    run_purge(Console(file=printed, width=200), names, yes=yes)
    return printed.getvalue()


def built_with_and_without(settings: Settings, first: Path | None = None) -> list[str]:
    """Publish snapshots with and without what is GONE, ask questions, and return the words to search for.

    A copy of the home with the first snapshot alone goes to `first`.
    """
    home = Home.of(settings)
    write_source(settings, "notes", KEPT | {"secret.md": SECRET})
    write_source(settings, "hidden", {"all.txt": HIDDEN})
    build(settings, graph=True)
    chunks = SourceTables(home).read("chunks", "notes").to_pylist()
    (chunk,) = (row for row in chunks if row["path"] == "secret.md")
    vector = embedding_key(published(settings).vectors.identity, chunk["content"])
    with building(home, 0):
        pin(home, "with the secret", published(settings).snapshot_id)
    with KnowledgeBase.open(settings=settings) as knowledge:
        knowledge.query("Who leads the xylomancy bureau?")
    if first:
        shutil.copytree(home.root, first)
    take(settings, [Decision(action="retype", names=("Zephyrine Quollmark",), type="xylomancy leader")])
    undo(settings)
    write_source(settings, "notes", KEPT)
    shutil.rmtree(settings.sources / "hidden")
    build(settings, graph=True)
    return [*WORDS, *WORDS_OF_SOURCE, chunk["chunk_id"], vector]


@pytest.fixture(autouse=True)
def _embedder(loopback: Loopback) -> None:
    """Serve the embedder."""


@pytest.fixture
def lenient(settings: Settings) -> Settings:
    return settings.changed(**RULES)


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory, _server: Loopback) -> tuple[Settings, list[str]]:
    folder = tmp_path_factory.mktemp("built")
    with pointing_to(_server):
        settings = load_settings(home=folder / "home", sources=folder / "sources", **RULES)
        return settings, built_with_and_without(settings, folder / "first")


@pytest.fixture
def copied(built: tuple[Settings, list[str]], tmp_path: Path) -> tuple[Settings, list[str]]:
    """A home with such snapshots, and the words."""
    settings, words = built
    return settings.changed(home=Path(shutil.copytree(settings.home, tmp_path / "home"))), words


def bought(settings: Settings) -> dict[str, int]:
    """Return how often models were asked, by purpose."""
    return {name: entry.calls for name, entry in Ledger(Home.of(settings).ledger).by_purpose().items()}


def check_nothing_else_changed(settings: Settings, before: dict[str, object], answer: str) -> None:
    home = Home.of(settings)
    calls = bought(settings)
    assert find_published_damage(home, verify=True) == []
    assert snapshot_contents(settings) == before
    with KnowledgeBase.open(settings=settings) as knowledge:
        assert knowledge.query(QUESTION).text == answer
    assert build(settings, graph=True).published is None
    assert bought(settings) == calls


def check_all_can_be_made_again(settings: Settings) -> None:
    """Lose all but the stores of responses and vectors, and build again without a question."""
    home, calls = Home.of(settings), bought(settings)
    assert calls["summarise"] > 1
    published_before = published(settings).snapshot_id
    for folder in ("tables", "accepted", "generations", "lance"):
        shutil.rmtree(home.root / folder)
    home.published.unlink()
    home.newest.unlink()
    assert build(settings, graph=True).states.manifest == published(settings)
    assert published(settings).snapshot_id == published_before
    assert bought(settings) == calls


def test_nothing_is_left_on_a_disk(copied: tuple[Settings, list[str]], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(vector_index, "INDEX_ROWS", 3)
    (settings, words), home = copied, Home.of(copied[0])
    before = places(home, words)
    assert before.keys() == set(words)
    for kind in (
        ".parquet",
        ".npy",
        "entity_vectors-",
        "responses.sqlite",
        "vectors.sqlite",
        "decisions.sqlite",
    ):
        assert any(kind in place for found in before.values() for place in found), kind
    contents = snapshot_contents(settings)
    with KnowledgeBase.open(settings=settings) as knowledge:
        answer = knowledge.query(QUESTION).text

    said = purge(settings, monkeypatch, *GONE, yes=False)
    assert "notes/secret.md is in gen-" in said
    assert "(named with the secret)" in said
    assert "Nothing was removed" in said
    assert places(home, words).keys() == set(words)
    said = purge(settings, monkeypatch, *GONE)
    assert "Removed 1 snapshot, " in said
    assert "1 undone decision and" in said

    assert places(home, words) == {}
    # The name of a source is left in the ledger of costs and as that of a lock, as the documentation says.
    named = {Path(place).name.split(" ")[0] for place in places(home, ["hidden"])["hidden"]}
    assert named == {"hidden.lock", "ledger.sqlite"}
    assert [one.snapshot_id for one in list_snapshots(home)] == [published(settings).snapshot_id]
    for name in GONE:
        with pytest.raises(SourceError, match="purged already"):
            purge(settings, monkeypatch, name)
    check_nothing_else_changed(settings, contents, answer)
    entry = published(settings).vectors.tables["entity_vectors"]
    assert open_database(home).open_table(entry.table).list_indices()  # as a table of so many rows has


@pytest.mark.long
def test_after_a_purge_all_can_be_made_again(
    copied: tuple[Settings, list[str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(vector_index, "INDEX_ROWS", 3)
    settings, _ = copied
    purge(settings, monkeypatch, *GONE)
    check_all_can_be_made_again(settings)


@pytest.mark.long  # as on a disk
def test_nothing_is_left_in_postgres(
    lenient: Settings, postgres: SecretStr, postgres_server: PostgresServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings = lenient.changed(database=postgres)
    words, home = built_with_and_without(settings), Home.of(settings)
    postgres_server.run("ANALYZE")
    before = places(home, words)
    assert {"responses", "decisions", "pg_stats"} <= before["quollmark"]
    assert postgres_server.finds("quollmark")
    contents = snapshot_contents(settings)
    purge(settings, monkeypatch, *GONE)
    assert places(home, words) == {}
    assert [word for word in words if postgres_server.finds(word)] == []
    assert snapshot_contents(settings) == contents
    assert build(settings, graph=True).published is None


@pytest.mark.long
def test_a_text_that_was_edited_out_goes_by_a_purge_without_a_name(
    lenient: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    home, words = Home.of(lenient), ("xylomancy", "quollmark")
    write_source(lenient, "notes", {"river.md": f"{RIVER}\n\n{SECRET}"})
    build(lenient, graph=True)
    write_source(lenient, "notes", {"river.md": RIVER})
    build(lenient, graph=True)
    assert places(home, words).keys() == set(words)
    contents = snapshot_contents(lenient)
    assert "Nothing was removed" in purge(lenient, monkeypatch, yes=False)
    assert "Removed 1 snapshot, " in purge(lenient, monkeypatch)
    assert places(home, words) == {}
    assert not home.purging.exists()
    assert snapshot_contents(lenient) == contents
    assert build(lenient, graph=True).published is None


@pytest.mark.long
def test_what_is_still_used_is_refused(
    built: tuple[Settings, list[str]], lenient: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    shutil.copytree(built[0].home.with_name("first"), lenient.home)
    home, first = Home.of(lenient), published(lenient).snapshot_id
    write_source(lenient, "notes", KEPT | {"secret.md": SECRET})
    write_source(lenient, "hidden", {"all.txt": HIDDEN})

    def refused(because: str, name: str = "notes/secret.md") -> None:
        with pytest.raises(LightRAGError, match=because):
            purge(lenient, monkeypatch, name)

    refused("still in its source; for .* purge without a name; else delete .*/notes/secret.md and run `lightrag-")
    write_source(lenient, "notes", KEPT)
    refused("the tables of notes still hold secret.md; run `lightrag-dagster run`")
    refused("hidden is still a source; remove .*/sources/hidden", "hidden")
    refused("never was a source 'nowhere'", "nowhere/a.md")
    shutil.rmtree(lenient.sources / "hidden")
    refused("no source 'hidden'; if it was removed as a whole, purge hidden", "hidden/all.txt")
    refused("not up to date; run `lightrag-dagster run` first")
    failing: dict[str, str | bytes] = {f"{number}.md": b"\xff" for number in range(5)}
    write_source(lenient, "notes", failing | KEPT)
    build(lenient, graph=True)  # which is not accepted: too many documents cannot be read
    refused("the tables of notes still hold secret.md; run `lightrag-dagster run` until it accepts notes")
    write_source(lenient, "notes", KEPT | {"renamed.md": SECRET})
    build(lenient, graph=True)
    with building(home, 0) as lock:
        rollback(home, first, lock)
    refused(f"{first} is held; run `lightrag-dagster release` first")
    with building(home, 0) as lock:
        release(home, lock)
    with BatchLedger(home.batches) as ledger:
        ledger.save(Batch(name="one", run="a", source="notes", host="host", model="m"))
        refused("batches are under way")
        ledger.save(Batch(name="one", run="a", source="notes", host="host", model="m", state=COLLECTED))
    assert places(home, WORDS).keys() == set(WORDS)
    said = purge(lenient, monkeypatch, "notes/secret.md")
    assert "The text of notes/secret.md stays, as that of notes/renamed.md." in said
    assert places(home, ["secret.md", document_id("notes", "secret.md")]) == {}
    with KnowledgeBase.open(settings=lenient) as knowledge:
        assert "Quollmark" in knowledge.context("Who leads the xylomancy bureau?")


@pytest.mark.long
def test_a_backfill_that_holds_it_goes_and_keeps_the_other_answers(
    lenient: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    home = Home.of(lenient)
    write_source(lenient, "notes", KEPT | {"secret.md": SECRET})
    build(lenient, graph=True)
    other = lenient.changed(extraction={"gleaning": 2}, documents={"max_failed_share": 0.0})
    write_source(lenient, "notes", {**KEPT, "secret.md": SECRET, "bad.md": b"\xff"})
    build(other, "notes", backfill=True, graph=True)  # which is not accepted, so that its tables wait
    assert SourceTables(home).has_candidate("notes")
    write_source(lenient, "notes", KEPT)
    build(other, graph=True)
    calls = Ledger(home.ledger).by_purpose()["extract"].calls
    purge(other, monkeypatch, "notes/secret.md")
    assert places(home, WORDS) == {}
    assert not SourceTables(home).has_candidate("notes")
    build(other, "notes", backfill=True, graph=True)
    assert Ledger(home.ledger).by_purpose()["extract"].calls == calls


@pytest.mark.long
def test_a_backfill_and_a_killed_reading_go_by_a_purge_without_a_name(
    lenient: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    home, secret = Home.of(lenient), {"river.md": f"{RIVER}\n\n{SECRET}"}
    write_source(lenient, "notes", secret)
    build(lenient)
    other = lenient.changed(chunking={"size": 24, "overlap": 0}, documents={"max_failed_share": 0.0})
    write_source(lenient, "notes", secret | {"bad.md": b"\xff"})
    build(other, "notes", backfill=True)  # which is not accepted, so that its tables wait
    assert SourceTables(home).has_candidate("notes")
    write_source(lenient, "notes", {"river.md": RIVER})
    build(lenient)
    home.ingestion_folder("notes").mkdir()
    (home.ingestion_folder("notes") / "part").write_text(SECRET)  # as a kill leaves it
    contents = snapshot_contents(lenient)
    assert "would be removed: the unfinished backfill of notes, with its answers" in purge(
        lenient, monkeypatch, yes=False
    )
    assert SourceTables(home).has_candidate("notes")
    purge(lenient, monkeypatch)
    assert places(home, WORDS) == {}
    assert snapshot_contents(lenient) == contents
    assert build(lenient).published is None


@pytest.mark.long
def test_a_source_whose_edits_are_not_accepted_is_named_by_a_purge_without_a_name(
    lenient: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_source(lenient, "notes", KEPT | {"secret.md": SECRET})
    build(lenient)
    named = "not reached: texts that later edits removed from notes; its last version is not accepted"
    assert named not in purge(lenient, monkeypatch)
    write_source(lenient, "notes", {**KEPT, **{f"{number}.md": b"\xff" for number in range(5)}})
    build(lenient)
    assert named in purge(lenient, monkeypatch)


STEPS = ("_forget_records", "record_files", "remove_other_versions")  # after the last one no table tells of it


@pytest.mark.long
def test_a_purge_that_was_interrupted_is_completed_by_the_next(
    copied: tuple[Settings, list[str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    (settings, words), home = copied, Home.of(copied[0])
    contents = snapshot_contents(settings)
    for step in STEPS:

        def stop(*arguments: object, **named: object) -> None:
            raise KeyboardInterrupt

        with monkeypatch.context() as interrupted:
            interrupted.setattr(purging, step, stop)
            with pytest.raises(KeyboardInterrupt):
                purge(settings, monkeypatch, *GONE)
        assert find_published_damage(home) == []
    assert build(settings, graph=True).published is None
    assert places(home, ["secret.md"])["secret.md"] >= {str(home.purging)}
    assert not any(".parquet" in place for place in places(home, ["secret.md"])["secret.md"])
    purge(settings, monkeypatch, *GONE)
    assert places(home, words) == {}
    assert snapshot_contents(settings) == contents


@pytest.mark.long
@pytest.mark.parametrize("namespace", ["", "finance"])
def test_dagster_forgets_its_runs(lenient: Settings, monkeypatch: pytest.MonkeyPatch, namespace: str) -> None:
    home = Home.of(lenient)
    write_source(lenient, "notes", KEPT | {"secret.md": SECRET})
    run(lenient)
    home.failures.write_text('{"error": "secret.md: quollmark"}\n')
    home.batch_files.mkdir()
    (home.batch_files / "one.jsonl").write_text("quollmark")
    write_source(lenient, "notes", KEPT)
    build(lenient, graph=True)
    assert any("dagster/history/runs/index.db event_logs" in place for place in places(home, WORDS)["quollmark"])
    renamed = lenient.changed(namespace=namespace)
    with open_instance(home) as instance:
        run_id = pretend(instance, dg.DagsterRunStatus.STARTED, job="__ASSET_JOB", assets={"chunks"})
        with pytest.raises(StoreError, match="Dagster has an unfinished run"):
            purge(renamed, monkeypatch, "notes/secret.md")
        instance.delete_run(run_id)
    assert "history of 2 runs" in purge(renamed, monkeypatch, "notes/secret.md")
    assert places(home, WORDS) == {}
    with open_instance(home) as instance:
        assert [one.job_name for one in instance.get_runs()] == [Namespace(namespace).named("report")]


@pytest.mark.long
def test_answers_and_evaluations_forget_it_and_runs_go_on(
    lenient: Settings, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    questions = tmp_path / "questions.yaml"
    questions.write_text("- question: Who leads the bureau in Bergen?\n  documents: [notes/river.md]\n")
    settings, home = lenient.changed(questions=questions), Home.of(lenient)
    write_source(settings, "notes", KEPT | {"secret.md": SECRET})
    run(settings)
    write_source(settings, "notes", KEPT)
    run(settings)
    assert any("/tables/answers/" in place for place in places(home, WORDS)["quollmark"])
    asked = bought(settings)
    assert "history of 8 runs" in purge(settings, monkeypatch, "notes/secret.md")
    assert places(home, WORDS) == {}
    assert run(settings).published is None
    assert bought(settings) == asked
    write_source(settings, "notes", KEPT | {"office.txt": OFFICE})
    assert run(settings).published is not None
    with pytest.raises(SourceError, match="purged already"):
        purge(settings, monkeypatch, "notes/secret.md")
    assert places(home, WORDS) == {}


def test_evaluations_keep_their_numbers_and_no_answer_of_an_earlier_snapshot(
    copied: tuple[Settings, list[str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    settings, _ = copied
    tables, now = SourceTables(Home.of(settings)), published(settings).snapshot_id
    row = {field.name: 1 if pa.types.is_floating(field.type) else "" for field in EVALUATED_QUESTIONS}
    row |= {"sequence": 1, "context_tokens": 1, "answer": "Quollmark"}
    rows = pa.Table.from_pylist([row | {"snapshot_id": one} for one in ("gen-before", now)], EVALUATED_QUESTIONS)
    tables.write("evaluated_questions", ALL_SOURCES, rows, inputs={"knowledge_base": now}, recipe="a")
    answers = {field.name: [] if pa.types.is_list(field.type) else "Quollmark" for field in ANSWERS}
    old = pa.Table.from_pylist([answers], ANSWERS)
    tables.write("answers", ALL_SOURCES, old, inputs={"knowledge_base": "gen-before"}, recipe="a")
    no_pairs = DUPLICATE_CANDIDATES.empty_table()
    tables.write("duplicate_candidates", ALL_SOURCES, no_pairs, inputs={"knowledge_base": "gen-before"}, recipe="a")
    purge(settings, monkeypatch, "notes/secret.md")
    left = tables.read("evaluated_questions", ALL_SOURCES)
    assert dict(zip(left["snapshot_id"].to_pylist(), left["answer"].to_pylist(), strict=True)) == {
        "gen-before": None,
        now: "Quollmark",
    }
    assert left["recall"].to_pylist() == [1.0, 1.0]
    assert tables.current("answers", ALL_SOURCES) is None
    assert tables.current("duplicate_candidates", ALL_SOURCES) is None


@pytest.mark.long
def test_nothing_is_left_in_a_bucket(
    lenient: Settings, buckets: S3Server, postgres: SecretStr, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    settings = lenient.changed(home=Path(buckets.new_bucket()), database=postgres, cache={"folder": tmp_path / "cache"})
    words, home = built_with_and_without(settings), Home.of(settings)
    shutil.copytree(home.root, home.root.with_name("7"))  # what a process had that has ended
    late = settings.changed(cache={"folder": tmp_path / "late"})
    shutil.copytree(home.root, Home.of(late).root, dirs_exist_ok=True)

    def everywhere(number: int) -> dict[str, set[str]]:
        folder = tmp_path / f"copy {number}"
        for key in buckets.keys(str(home.bucket)):
            path = folder / key
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(bytes(obstore.get(buckets.store(str(home.bucket)), key).bytes()))
        return places(home, words, folder)

    before = everywhere(1)
    assert before.keys() == set(words)
    for kind in ("/tables/", "/generations/"):
        assert any("copy 1" in place and kind in place for place in before["quollmark"]), kind
    contents = snapshot_contents(settings)
    with KnowledgeBase.open(settings=settings) as knowledge:
        answer = knowledge.query(QUESTION).text
    purge(settings, monkeypatch, *GONE)
    assert everywhere(2) == {}
    check_nothing_else_changed(settings, contents, answer)
    elsewhere = settings.changed(cache={"folder": tmp_path / "elsewhere"})
    assert build(elsewhere, graph=True).published is None
    with pytest.raises(SourceError, match="purged already"):
        purge(elsewhere, monkeypatch, *GONE)
    purge(late, monkeypatch)
    assert places(Home.of(late), words) == {}
    check_nothing_else_changed(settings, contents, answer)


_VICTIM = """
import os, signal, sys
from pathlib import Path
from lightrag_dagster.pipeline.situation import Situation
from lightrag_dagster.purge import purge as purging
from lightrag_dagster.purge.documents import find_gone, noted
from lightrag_dagster.settings import load_settings
from tests.end_to_end.victim import Executioner
from tests.end_to_end.test_purge import RULES, WRITES

executioner = Executioner(sys.argv[3], sys.argv[4])
for owner, name in WRITES:
    executioner.watch(name, owner, name)
settings = load_settings(home=Path(sys.argv[1]), sources=Path(sys.argv[2]), **RULES)
looked = Situation.looking(settings)
gone = find_gone(looked, ["notes/secret.md", "hidden"])
with purging.purging(looked.recipes, gone) as situation, noted(looked.home, gone):
    purging.purge(situation, gone)
print(len(executioner.seen))
"""


@pytest.mark.long
def test_a_purge_that_was_killed_is_completed_by_the_next(
    copied: tuple[Settings, list[str]], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    lenient, words = copied
    contents = snapshot_contents(lenient)

    def killed_at(step: int, moment: str) -> str | None:
        """Purge a copy of the home up to a step; return what a whole purge prints."""
        folder = tmp_path / f"{step} {moment}"
        shutil.copytree(lenient.home, folder)
        arguments = [str(one) for one in (folder, lenient.sources, step, moment)]
        victim = subprocess.run(
            [sys.executable, "-c", _VICTIM, *arguments], cwd=ROOT, capture_output=True, text=True, check=False
        )
        assert victim.returncode in (0, -signal.SIGKILL), victim.stderr
        settings = lenient.changed(home=folder)
        if victim.returncode:
            assert build(settings, graph=True).published is None, "what is published is whole"
            home = Home.of(settings)
            if home.purging.exists() or places(home, words):  # else it was killed after its last removal
                purge(settings, monkeypatch, *GONE)
        assert places(Home.of(settings), words) == {}
        assert snapshot_contents(settings) == contents
        return None if victim.returncode else victim.stdout

    steps = int(killed_at(0, "before") or 0)
    assert steps > 20
    for step in range(1, steps + 1, 3):
        killed_at(step, ("before", "during", "after")[step % 3])

"""An import, and the source after it: edited, deleted, purged, made again."""

import gc
import hashlib
from pathlib import Path
from typing import Any

import pytest
from pydantic import SecretStr

from lightrag_dagster.core.text.tokens import load_tokenizer
from lightrag_dagster.errors import SettingsError, SourceError
from lightrag_dagster.imports import Imported, import_base, read_lightrag
from lightrag_dagster.pipeline.recipes import Recipes
from lightrag_dagster.pipeline.situation import Situation
from lightrag_dagster.plan.plan import make_plan
from lightrag_dagster.purge.documents import find_gone
from lightrag_dagster.purge.purge import purge, purging
from lightrag_dagster.query.knowledge_base import KnowledgeBase
from lightrag_dagster.settings import Settings, load_settings
from lightrag_dagster.storage.home import Home
from lightrag_dagster.storage.tables.source_tables import SourceTables
from tests.buckets import S3Server
from tests.imports.stores import ANSWERS, TEXTS, rows_of, write_graph, write_json, write_vectors
from tests.loopback import END_MARK, Loopback
from tests.support import FLOOD, OFFICE, build, write_source
from tests.traces import places

SAMPLES = Path(__file__).parents[1] / "readers/samples"
NEW = "Ulla Berg keeps the archive in Bergen."


def answer(body: dict[str, Any]) -> str:
    """Answer as LightRAG's model did, and about a new text with one name."""
    asked = str(body["messages"])
    for text, answers in ANSWERS.items():
        if text in asked and len(body["messages"]) == 2:
            return answers[0]
        if text in asked:
            return answers[-1] if len(answers) > 1 else END_MARK
    return f"entity<|#|>Ulla Berg<|#|>person<|#|>Ulla Berg keeps the archive.\n{END_MARK}" if NEW in asked else END_MARK


@pytest.fixture
def paid(tmp_path: Path, loopback: Loopback) -> Settings:
    """Settings of an empty home, whose model and embedder are asked at a server."""
    loopback.chat = answer
    (tmp_path / "sources").mkdir()
    return load_settings(
        home=tmp_path / "home",
        sources=tmp_path / "sources",
        llm={"provider": "openai", "model": "a", "max_retries": 0},
        embedding={"provider": "openai", "model": "b", "dimensions": 8},
    )


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return write_json(tmp_path / "rag", rows_of(TEXTS))


def imported(settings: Settings, folder: Path, *, same_embedder: bool = False, dry_run: bool = False) -> Imported:
    base = read_lightrag(folder, settings.documents.max_bytes)
    return import_base(settings, "notes", base, same_embedder=same_embedder, dry_run=dry_run)


def chats(server: Loopback) -> int:
    return sum("messages" in one.body for one in server.requests)


def names(settings: Settings) -> set[str]:
    with KnowledgeBase.open(settings=settings) as knowledge:
        return set(knowledge.sql("SELECT name FROM entities")["name"].to_pylist())


def hashes(place: Path) -> dict[str, str]:
    return {str(one): hashlib.sha256(one.read_bytes()).hexdigest() for one in place.rglob("*") if one.is_file()}


def test_what_was_paid_for_comes_in_without_a_call(paid: Settings, folder: Path, loopback: Loopback) -> None:
    made = imported(paid, folder)
    assert made.documents.counts == {"new": 2}
    assert made.chunks._asdict() == {"chunks": 2, "known": 0, "answered": 2, "unused": 0}
    assert loopback.requests == []
    assert build(paid).failed == {}
    assert chats(loopback) == 0
    assert names(paid) == {"Priya Nair", "Station 14", "Sensor", "Jonas Feld", "Bergen"}
    rows = SourceTables(Home(paid.home)).read("extractions", "notes").to_pylist()
    assert {tuple(row["responses"]) for row in rows} == set(map(tuple, ANSWERS.values()))
    assert {(row["recipe"], row["model"], row["cost_usd"], row["status"]) for row in rows} == {
        ("lightrag-1.5.7", "lightrag", 0.0, "ok")
    }
    assert "sk-a-secret" not in str(rows)


@pytest.mark.long
def test_a_trial_changes_nothing_and_says_the_same(paid: Settings, folder: Path, loopback: Loopback) -> None:
    write_source(paid, "other", {"a.txt": NEW})
    build(paid)
    loopback.requests.clear()
    gc.collect()  # a database that is closed later is written once more
    before = hashes(paid.home) | hashes(paid.sources) | hashes(folder)
    trial = imported(paid, folder, dry_run=True)
    assert hashes(paid.home) | hashes(paid.sources) | hashes(folder) == before
    made = imported(paid, folder)
    assert loopback.requests == []
    assert trial == made
    assert trial.plan.steps["extraction"].calls is not None
    assert trial.plan.steps["extraction"].calls.expected == 0


@pytest.mark.long
def test_a_chunk_that_is_cut_otherwise_is_asked_about_at_a_price(
    paid: Settings, folder: Path, loopback: Loopback
) -> None:
    stores = rows_of(TEXTS)
    next(iter(stores["full_docs"].values()))["content"] += " And more."
    made = imported(paid, write_json(folder, stores))
    assert made.chunks._asdict() == {"chunks": 2, "known": 0, "answered": 1, "unused": 1}
    [planned] = made.plan.sources
    assert (planned.chunks_new, planned.chunks_stored) == (1, 1)
    build(paid)
    assert chats(loopback) == 2  # and its gleaning
    assert "Jonas Feld" in names(paid)


@pytest.mark.long
def test_from_then_on_it_is_a_plain_source(paid: Settings, folder: Path, loopback: Loopback) -> None:
    imported(paid, folder)
    build(paid)
    (paid.sources / "notes" / "office.pdf.txt").write_text(NEW)
    plan = make_plan(paid, ["notes"])
    assert [(one.chunks_new, one.outdated) for one in plan.sources] == [(1, 2)]
    build(paid)
    assert chats(loopback) == 2
    assert names(paid) == {"Priya Nair", "Station 14", "Sensor", "Ulla Berg"}
    (paid.sources / "notes" / "notes.txt").unlink()
    build(paid.changed(documents={"accept_deletes": True}))
    assert chats(loopback) == 2
    assert names(paid) == {"Ulla Berg"}


@pytest.mark.long
def test_a_purge_leaves_no_trace_of_a_document_that_was_imported(paid: Settings, folder: Path) -> None:
    imported(paid, folder)
    build(paid)
    assert places(Home(paid.home), ["repaired the sensor"])
    (paid.sources / "notes" / "notes.txt").unlink()
    build(paid.changed(documents={"accept_deletes": True}))
    situation = Situation.looking(paid)
    gone = find_gone(situation, ["notes/notes.txt"])
    with purging(situation.recipes, gone) as now:
        purge(now, gone)
    assert not places(Home(paid.home), ["repaired the sensor"])


@pytest.mark.long
def test_a_backfill_asks_today_s_model_about_all(paid: Settings, folder: Path, loopback: Loopback) -> None:
    imported(paid, folder)
    build(paid)
    before = names(paid)
    plan = make_plan(paid, ["notes"], backfill=True)
    assert [one.chunks_new for one in plan.sources] == [2]
    build(paid, backfill=True)
    assert chats(loopback) == 4
    rows = SourceTables(Home(paid.home)).read("extractions", "notes", columns=["recipe"])
    assert set(rows["recipe"].to_pylist()) == {Recipes.of(paid).extractions}
    assert names(paid) == before


@pytest.mark.long
def test_again_takes_what_is_new(paid: Settings, folder: Path, loopback: Loopback) -> None:
    imported(paid, folder)
    build(paid)
    more = "Ulla Berg keeps the archive."
    said = [f"entity<|#|>Ulla Berg<|#|>person<|#|>Ulla Berg keeps it.\n{END_MARK}"]
    write_json(folder, rows_of(TEXTS | {"more.txt": more}, ANSWERS | {more: said}))
    made = imported(paid, folder)
    assert made.documents.counts == {"unchanged": 2, "new": 1}
    assert made.chunks._asdict() == {"chunks": 3, "known": 2, "answered": 1, "unused": 0}
    build(paid)
    assert chats(loopback) == 0
    assert "Ulla Berg" in names(paid)
    again = imported(paid, folder)
    assert again.chunks.answered == 0
    assert make_plan(paid, ["notes"]).total.high == 0


def test_another_source_is_cut_by_the_chunking_of_now(paid: Settings, tmp_path: Path, loopback: Loopback) -> None:
    """As where an import was tried before `chunking.size` was that of LightRAG."""
    long = " ".join(f"Sentence {at} of a long note." for at in range(40))
    small = paid.changed(chunking={"size": 100, "overlap": 0})
    made = {span: long[span.char_start : span.char_end] for span in load_tokenizer("o200k_base").windows(long, 100, 0)}
    said = [f"entity<|#|>Ulla Berg<|#|>person<|#|>Ulla Berg keeps it.\n{END_MARK}"]
    stores = rows_of({"office.txt": OFFICE, "long.txt": long})
    for at, text in enumerate(made.values()):
        of_chunk = rows_of({f"part {at}": text}, {text: said})
        for name in ("text_chunks", "llm_response_cache"):
            stores[name] |= of_chunk[name]
        chunk = next(reversed(stores["text_chunks"].values()))
        chunk["full_doc_id"] = list(stores["full_docs"])[-1]
    folder = write_json(tmp_path / "rag", stores)
    assert imported(paid, folder).chunks._asdict() == {"chunks": 2, "known": 0, "answered": 1, "unused": len(made)}
    assert imported(small, folder).chunks.unused == len(made)
    other = import_base(small, "other", read_lightrag(folder, 1000), same_embedder=False)
    assert other.chunks._asdict() == {"chunks": 1 + len(made), "known": 0, "answered": 1 + len(made), "unused": 0}
    assert loopback.requests == []


@pytest.mark.long
def test_answers_of_the_rules_and_failures_make_room(paid: Settings, folder: Path, loopback: Loopback) -> None:
    write_source(paid, "notes", {"notes.txt": FLOOD, "office.pdf.txt": OFFICE})
    build(paid.changed(llm={"provider": "offline"}))
    assert imported(paid, folder).chunks._asdict() == {"chunks": 2, "known": 0, "answered": 2, "unused": 0}
    assert imported(paid, folder).chunks.known == 2


def test_what_an_import_asks_is_told_and_a_trial_asks_nothing(paid: Settings, folder: Path, loopback: Loopback) -> None:
    write_source(paid, "notes", {"a.docx": (SAMPLES / "figures.docx").read_bytes()})
    asking = paid.changed(
        chunking={"method": "semantic"},
        documents={"describe_figures": True},
        llm={"model": "gpt-4o-mini"},
        embedding={"model": "text-embedding-3-small"},
    )
    trial, base = read_lightrag(folder, 1000), read_lightrag(folder, 1000)
    assert import_base(asking, "notes", trial, same_embedder=False, dry_run=True).cost_usd is None
    assert loopback.requests == []
    assert sorted(set(trial.notes) - set(base.notes)) == [
        "this trial describes no image and cuts by recursive in place of semantic; the import asks models for both"
    ]
    made = import_base(asking, "notes", base, same_embedder=False)
    assert {"messages" in one.body for one in loopback.requests} == {True, False}
    assert made.cost_usd


@pytest.mark.long
def test_answers_of_our_own_stay(paid: Settings, folder: Path, loopback: Loopback) -> None:
    write_source(paid, "notes", {"notes.txt": FLOOD})
    build(paid)
    asked = chats(loopback)
    made = imported(paid, folder)
    assert made.chunks._asdict() == {"chunks": 2, "known": 1, "answered": 1, "unused": 0}
    build(paid)
    assert chats(loopback) == asked


@pytest.mark.long
@pytest.mark.parametrize("dry_run", [True, False])
def test_vectors_of_equal_texts_are_taken_if_a_person_says_so(
    paid: Settings, folder: Path, loopback: Loopback, dry_run: bool
) -> None:
    write_vectors(folder, {FLOOD: [3, 4, 0, 0, 0, 0, 0, 0], OFFICE: [float("nan")] * 8, "Another text.": [1] * 8})
    assert imported(paid, folder, same_embedder=True, dry_run=dry_run).vectors == 1
    if not dry_run:
        build(paid)
        embedded = [text for one in loopback.requests for text in one.body.get("input", [])]
        assert FLOOD not in embedded
        assert OFFICE in embedded


def test_vectors_of_other_dimensions_are_not_taken(paid: Settings, folder: Path) -> None:
    write_vectors(folder, {FLOOD: [1, 2, 3]})
    base = read_lightrag(folder, 1000)
    assert import_base(paid, "notes", base, same_embedder=True).vectors == 0
    assert "its vectors have 3 dimensions, where embedding.dimensions is 8; none is taken" in base.notes


def test_vectors_are_never_those_of_the_offline_rules(settings: Settings, folder: Path) -> None:
    with pytest.raises(SettingsError, match="offline"):
        imported(settings, folder, same_embedder=True)
    assert not (settings.sources / "notes").exists()


@pytest.mark.parametrize("name", ["", "..", "a/b", ".hidden", "named", "linked"])
def test_a_source_that_cannot_be_a_folder_is_refused(paid: Settings, folder: Path, name: str, tmp_path: Path) -> None:
    (paid.sources / "linked").symlink_to(tmp_path)
    named = paid.model_validate(paid.model_dump() | {"named_sources": {"named": {"uri": str(tmp_path)}}})
    before = sorted(tmp_path.rglob("*"))
    with pytest.raises(SourceError):
        import_base(named, name, read_lightrag(folder, 1000), same_embedder=False)
    assert sorted(tmp_path.rglob("*")) == before


def test_a_graph_with_edits_is_told_and_imported(paid: Settings, folder: Path) -> None:
    write_graph(folder, {"Merged": "By hand."})
    base = read_lightrag(folder, 1000)
    assert ("Merged", "graph", "By hand.") in base.edited
    assert import_base(paid, "notes", base, same_embedder=False).chunks.answered == 2


@pytest.mark.long
def test_another_machine_goes_on_with_an_import_in_a_bucket(
    paid: Settings, folder: Path, buckets: S3Server, postgres: SecretStr, tmp_path: Path, loopback: Loopback
) -> None:
    first = paid.changed(home=Path(buckets.new_bucket()), database=postgres, cache={"folder": tmp_path / "first"})
    assert imported(first, folder, dry_run=True).chunks.answered == 2
    assert imported(first, folder).chunks.answered == 2
    other = first.changed(cache={"folder": tmp_path / "other"})
    assert build(other).failed == {}
    assert chats(loopback) == 0
    assert names(other) == {"Priya Nair", "Station 14", "Sensor", "Jonas Feld", "Bergen"}

"""Rows of answers that cannot be used: in a home of before they were counted, in new answers, in a backfill."""

import asyncio
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from lightrag_dagster.errors import ProviderAccessError
from lightrag_dagster.models.batch.batches import open_batches
from lightrag_dagster.models.batch.ledger import sources_that_wait
from lightrag_dagster.pipeline import recipes as recipe_module
from lightrag_dagster.pipeline.pending import SourceState, accept_pending, pending, why_ingest
from lightrag_dagster.pipeline.recipes import Recipes
from lightrag_dagster.pipeline.situation import Situation
from lightrag_dagster.plan.estimates import NOTHING, Estimate
from lightrag_dagster.plan.plan import make_plan
from lightrag_dagster.settings import Settings, load_settings
from lightrag_dagster.spending.account import Account
from lightrag_dagster.spending.ledger import Ledger
from lightrag_dagster.stages.documents.sources import chosen_sources
from lightrag_dagster.stages.extraction import records
from lightrag_dagster.stages.extraction.echoes import Echoes
from lightrag_dagster.stages.extraction.records import Records
from lightrag_dagster.stages.extraction.rejections import NO_END
from lightrag_dagster.storage.home import Home
from lightrag_dagster.storage.tables import shards
from lightrag_dagster.storage.tables.acceptance import Acceptance, accepted
from lightrag_dagster.storage.tables.source_tables import SourceTables
from tests.loopback import Answer, Loopback, Reply
from tests.loopback_batches import Fate
from tests.models.models import offline_answer
from tests.pipeline.test_ingest import asked, ingest, ingest_all
from tests.pipeline.test_passes_by_batch import ingest as by_steps
from tests.support import FLOOD, OFFICE, RIVER, write_source

GARBAGE = "entity<|#|>\n" * 40 + "<|COMPLETE"
ROWS = shards.ROWS
NOTES = {"river.md": RIVER, "flood.txt": FLOOD}


@pytest.fixture(autouse=True)
def _rows_a_shard() -> Iterator[None]:
    yield
    shards.ROWS = ROWS


@pytest.fixture
def settings(tmp_path: Path, loopback: Loopback) -> Settings:
    """Settings of an empty home, asking the loopback server once a chunk."""
    loopback.chat = offline_answer
    return load_settings(
        home=tmp_path / "home",
        sources=tmp_path / "sources",
        extraction={"gleaning": 0},
        documents={"max_failed_share": 0.5},
        llm={"provider": "openai", "model": "gpt-4o-mini", "max_concurrency": 1, "max_retries": 0},
    )


def answering(about: str, answer: Callable[[str], str]) -> Callable[[dict[str, Any]], str]:
    """Return what the server answers where the answer about one text is changed."""

    def chat(body: dict[str, Any]) -> str:
        usual = offline_answer(body)
        return answer(usual) if about in body["messages"][1]["content"] else usual

    return chat


@pytest.fixture
def older(settings: Settings, loopback: Loopback, monkeypatch: pytest.MonkeyPatch) -> Settings:
    """A home that was accepted under another parser and bound: of the answer about FLOOD no row can be used."""
    write_source(settings, "notes", NOTES)
    loopback.chat = answering(FLOOD, lambda usual: GARBAGE)
    with monkeypatch.context() as patched:
        patched.setattr(Records, "usable", property(lambda answer: bool(answer.entities or answer.complete)))
        patched.setitem(recipe_module._REVISIONS, "mentions", 1)
        assert not ingest_all(settings, "notes").accepted
        accept_pending(settings.changed(extraction={"max_rejected_share": 1.0}))
    loopback.chat = offline_answer
    assert asked(loopback) == 2
    return settings


def rejected(state: SourceState) -> int:
    """Return the number of rejected rows of a source."""
    return sum(loss.counts.get("rejected", 0) for loss in state.losses)


def upgrade(settings: Settings) -> Acceptance:
    """Do what the first run does after the upgrade."""
    assert pending(Situation.looking(settings)).sources["notes"].busy
    return ingest_all(settings, "notes")


@pytest.mark.long
def test_an_upgrade_asks_nothing_keeps_the_source_and_warns(older: Settings, loopback: Loopback) -> None:
    state = pending(Situation.looking(older)).sources["notes"]
    assert (state.rejected, rejected(state)) == (None, 40)
    assert make_plan(older).total.high == 0
    outcome = upgrade(older)
    assert (outcome.accepted, asked(loopback)) == (True, 0)
    assert outcome.rejected_rows > older.extraction.max_rejected_share
    state = pending(Situation.looking(older)).sources["notes"]
    assert (state.rejected, state.busy) == (None, False)
    assert rejected(state) == 40
    tables = SourceTables(Home(older.home))
    assert sorted(tables.read("extractions", "notes")["status"].to_pylist()) == ["ok", "ok"]
    assert sorted(tables.read("parsed", "notes")["rejected_rows"].to_pylist()) == [0, 40]


@pytest.mark.parametrize(("damaged", "kept"), [(0, True), (8, False)])
def test_after_an_upgrade_new_answers_alone_are_judged(
    older: Settings, loopback: Loopback, damaged: int, kept: bool
) -> None:
    """Whether the first night after the upgrade brings them or a later one."""
    good = accepted(Home(older.home), "notes")
    write_source(older, "notes", NOTES | {"office.txt": OFFICE})
    loopback.chat = answering(OFFICE, lambda usual: "relation<|#|>A<|#|>\n" * damaged + usual)
    assert upgrade(older).accepted is kept
    assert asked(loopback) == 1
    assert (accepted(Home(older.home), "notes") == good) is not kept
    state = pending(Situation.looking(older)).sources["notes"]
    assert bool(state.rejected) is not kept
    if not kept:
        assert "8 of 15 since it was last accepted" in str(state.rejected)
        more = older.changed(extraction={"max_rejected_share": 0.6})
        assert pending(Situation.looking(more)).sources["notes"].accept
        accept_pending(more)
        assert accepted(Home(older.home), "notes") != good
        # What was accepted stays so when the bound is lowered again.
        assert pending(Situation.looking(older)).sources["notes"].rejected is None
    assert asked(loopback) == 0


@pytest.mark.long
def test_another_parser_changes_what_is_counted_and_not_what_is_accepted(
    older: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert upgrade(older).accepted
    with monkeypatch.context() as patched:
        patched.setitem(recipe_module._REVISIONS, "mentions", 100)
        patched.setattr(records, "_relation", lambda fields, weight: NO_END)
        assert upgrade(older).accepted
        assert rejected(pending(Situation.looking(older)).sources["notes"]) > 40
    assert upgrade(older).accepted
    assert rejected(pending(Situation.looking(older)).sources["notes"]) == 40


@pytest.mark.parametrize("rows", [ROWS, pytest.param(1, marks=pytest.mark.long)])
def test_retrying_asks_again_about_chunks_of_which_no_row_can_be_used(
    older: Settings, loopback: Loopback, rows: int
) -> None:
    shards.ROWS = rows
    assert upgrade(older).accepted
    assert ingest(older) == []
    retrying = older.retrying_failed()
    assert (
        pending(Situation.looking(retrying)).sources["notes"].ingest
        == "extractions, 1 chunks failed that may succeed now"
    )
    assert ingest(retrying) == ["notes"]
    assert asked(loopback) == 1  # the second attempt, since the first answer is stored
    assert rejected(pending(Situation.looking(older)).sources["notes"]) == 0
    assert ingest(retrying) == []
    shards.ROWS = ROWS
    clean = older.changed(home=older.home.with_name("clean"))
    ingest(clean)
    mentions = [SourceTables(Home(one.home)).require("entity_mentions", "notes").version for one in (older, clean)]
    assert mentions[0] == mentions[1]


def test_retrying_buys_one_more_answer_where_no_stored_one_is_of_use(settings: Settings, loopback: Loopback) -> None:
    write_source(settings, "notes", NOTES)
    loopback.chat = answering(FLOOD, lambda usual: "Service temporarily unavailable. Please retry your request.")
    assert ingest_all(settings, "notes").accepted
    assert asked(loopback) == 3
    retrying = settings.retrying_failed()
    assert [make_plan(one).steps["extraction"].calls for one in (settings, retrying)] == [NOTHING, Estimate.exactly(1)]
    assert (ingest(retrying), asked(loopback)) == (["notes"], 1)
    loopback.chat = offline_answer
    assert ingest(settings) == []
    assert (ingest(retrying), asked(loopback)) == (["notes"], 1)
    assert (ingest(retrying), asked(loopback)) == ([], 0)
    # Made again, the rows are the same, and nothing is bought.
    good = SourceTables(Home(settings.home)).require("extractions", "notes").version
    clean = settings.changed(home=settings.home.with_name("clean"))
    clean.home.mkdir()
    shutil.copy(settings.home / "responses.sqlite", clean.home)
    assert (ingest(clean), asked(loopback)) == (["notes"], 0)
    assert SourceTables(Home(clean.home)).require("extractions", "notes").version == good


@pytest.mark.long
def test_a_model_of_which_no_answer_is_of_use_is_asked_about_the_first_chunks_and_no_more(
    settings: Settings, loopback: Loopback
) -> None:
    """What was paid is not bought again; a source is asked about whole where the recipe is known to work elsewhere."""
    many = {f"{number:02}.txt": f"Station {number} is closed." for number in range(24)}
    write_source(settings, "notes", many)
    loopback.chat = lambda body: "Your request cannot be answered."
    for questions in (40, 0):
        with pytest.raises(ProviderAccessError, match="none of the first 20 chunks of source 'notes' has a usable"):
            ingest(settings)
        assert asked(loopback) == questions
    assert not ingest_all(settings.changed(documents={"max_failed_share": 1.0}), "notes").failed_documents
    assert asked(loopback) == 8
    loopback.chat = offline_answer
    assert (ingest(settings.retrying_failed()), asked(loopback)) == (["notes"], 24)
    loopback.chat = lambda body: "Your request cannot be answered."
    write_source(settings, "others", {name: f"Again: {text}" for name, text in many.items()})
    assert (ingest(settings), asked(loopback)) == (["others"], 48)


def test_by_batch_no_stored_answer_is_passed_over(settings: Settings, loopback: Loopback) -> None:
    """What one wave bought is stored when the next begins, which would buy another, and so on without end."""
    write_source(settings, "notes", NOTES)
    loopback.chat = answering(FLOOD, lambda usual: "Service temporarily unavailable.")
    assert ingest_all(settings, "notes").accepted
    assert by_steps(settings.changed(llm={"mode": "batch"}).retrying_failed()) is None
    assert loopback.batches.batches == {}


def test_an_answer_to_what_a_run_retried_by_batch_is_collected_by_any_later_run(
    settings: Settings, loopback: Loopback
) -> None:
    write_source(settings, "notes", NOTES)
    loopback.fault = lambda received: Reply.error(400) if FLOOD in str(received.body) else None
    ingest_all(settings, "notes")
    loopback.fault = lambda received: None
    by_batch, tables = settings.changed(llm={"mode": "batch"}), SourceTables(Home(settings.home))
    assert by_steps(by_batch) is None
    loopback.batches.spoil = lambda batch: Fate(looks=1)
    assert by_steps(by_batch.retrying_failed()) == "extractions"
    (source,) = chosen_sources(settings, [])
    assert why_ingest(source, tables, Recipes.of(by_batch)) == "extractions, answers are awaited"
    assert [by_steps(by_batch) for _ in range(2)] == ["extractions", None]
    assert tables.read("extractions", "notes")["status"].to_pylist() == ["ok", "ok"]
    assert len(loopback.batches.asked()) == 1
    assert why_ingest(source, tables, Recipes.of(by_batch)) is None
    assert sources_that_wait(by_batch.llm, Home(settings.home)) == {}


def test_a_source_that_is_read_by_rules_now_waits_for_no_batch(settings: Settings, loopback: Loopback) -> None:
    """Else each run would say that it waits, and `run --wait` never end."""
    write_source(settings, "notes", NOTES)
    by_batch, home = settings.changed(llm={"mode": "batch"}), Home(settings.home)
    assert by_steps(by_batch) == "extractions"
    by_rules = by_batch.changed(extraction={"method": "mentions"})
    assert sources_that_wait(by_rules.llm, home) == {"notes": {False}}
    assert by_steps(by_rules) is None
    assert sources_that_wait(by_rules.llm, home) == {}


def test_answers_of_a_batch_that_was_cancelled_for_real_time_are_not_bought_again(
    settings: Settings, loopback: Loopback
) -> None:
    write_source(settings, "notes", NOTES)
    by_batch, home = settings.changed(llm={"mode": "batch"}), Home(settings.home)
    loopback.batches.spoil = lambda batch: Fate(looks=100, answered=0.5)
    assert by_steps(by_batch) == "extractions"

    async def cancel() -> None:
        async with open_batches(by_batch.llm, home) as batches:
            assert [await batches.cancel(batch) for batch in batches.ledger.batches()] == [True]

    asyncio.run(cancel())
    loopback.requests.clear()
    assert by_steps(settings) is None
    assert asked(loopback) == 1
    assert Ledger(home.ledger).by_purpose()["extract"].calls == 2
    assert Ledger(home.ledger).limits(Account("", "notes", None, 1.0))[0].spent == pytest.approx(
        Ledger(home.ledger).by_purpose()["extract"].cost_usd
    )


def test_retrying_buys_another_answer_with_more_room(settings: Settings, loopback: Loopback) -> None:
    write_source(settings, "notes", {"flood.txt": FLOOD})
    settings = settings.changed(llm={"max_output_tokens": 100}, documents={"max_failed_share": 1.0})
    texts = iter(["Not now.", "Not yet.", "Soon.", "Later."])

    def thinking(body: dict[str, Any]) -> Answer:
        return Answer("", finish_reason="length") if body["max_tokens"] == 100 else Answer(next(texts))

    loopback.chat = thinking
    ingest_all(settings, "notes")
    ingest(settings.retrying_failed())
    ingest(settings.retrying_failed())
    assert list(texts) == []


def test_a_new_source_is_judged_whole(settings: Settings, loopback: Loopback) -> None:
    write_source(settings, "notes", NOTES)
    loopback.chat = answering("", lambda usual: "relation<|#|>A<|#|>\n" * 2 + usual)
    assert not ingest_all(settings, "notes").accepted
    assert accepted(Home(settings.home), "notes") is None
    state = pending(Situation.looking(settings)).sources["notes"]
    assert "most often: relation with 3 of 5 fields; " in str(state.rejected)
    assert str(state).startswith(
        "not accepted: 4 of 27 rows of the answers about source 'notes' could not be used (14.8%)"
    )


def test_a_new_answer_without_a_row_that_can_be_used_fails_for_good(settings: Settings, loopback: Loopback) -> None:
    write_source(settings, "notes", NOTES)
    loopback.chat = answering(FLOOD, lambda usual: "entity<|#|>\nrelation<|#|>A<|#|>\n<|COMPLETE")
    assert ingest_all(settings, "notes").failed_chunks == 0.5
    assert asked(loopback) == 3
    extractions, parsed = (
        SourceTables(Home(settings.home)).require(name, "notes") for name in ("extractions", "parsed")
    )
    assert extractions.counts["error_kind"] == {"permanent": 1}
    assert (parsed.rows, parsed.sums["rejected_rows"]) == (1, 0)
    assert "holds no row that can be used (entity with 2 of 4 fields), twice" in extractions.reasons[0]
    assert ingest(settings) == []


def test_a_backfill_whose_answers_are_bad_replaces_nothing(settings: Settings, loopback: Loopback) -> None:
    write_source(settings, "notes", NOTES)
    assert ingest_all(settings, "notes").accepted
    good = accepted(Home(settings.home), "notes")
    other = settings.changed(llm={"model": "gpt-4o"})
    loopback.chat = answering(FLOOD, lambda usual: "relation<|#|>A<|#|>\n" * 9 + usual)
    assert not ingest_all(other, "notes", backfill=True).accepted
    assert accepted(Home(settings.home), "notes") == good
    state = pending(Situation.looking(other)).sources["notes"]
    assert "could not be used (28.1%)" in str(state.backfill)
    assert (state.rejected, rejected(state)) == (None, 0)
    lenient = other.changed(extraction={"max_rejected_share": 0.4})
    assert ingest_all(lenient, "notes", backfill=True).accepted
    assert accepted(Home(settings.home), "notes") != good
    recipe = Recipes.of(other).extractions
    assert SourceTables(Home(settings.home)).require("extractions", "notes").outdated(recipe) == 0


@pytest.mark.parametrize("upgraded", [True, False])
def test_retrying_asks_again_about_chunks_whose_rows_all_repeat_the_prompt(
    settings: Settings, loopback: Loopback, monkeypatch: pytest.MonkeyPatch, upgraded: bool
) -> None:
    """Also before the rows are parsed by the rules that tell so."""
    echo = "entity<|#|>Ida Vashbrake<|#|>Person<|#|>She mends gauges.\n<|COMPLETE|>"
    write_source(settings, "notes", NOTES)
    loopback.chat = answering(FLOOD, lambda usual: echo)
    with monkeypatch.context() as patched:  # as before echoes were told from others
        patched.setattr(Echoes, "_echo", lambda *_: None)
        patched.setitem(recipe_module._REVISIONS, "mentions", 1)
        assert ingest_all(settings, "notes").accepted
    loopback.chat = offline_answer
    retrying = settings.retrying_failed()
    if upgraded:
        upgrade(settings)
        assert ingest(settings) == []
    assert asked(loopback) == 2
    assert (ingest(retrying), asked(loopback)) == (["notes"], 1)
    assert (ingest(retrying), asked(loopback)) == ([], 0)
    assert rejected(pending(Situation.looking(settings)).sources["notes"]) == 0

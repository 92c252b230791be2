"""Passes come and go beside the extraction: what is asked again, kept, outdated and removed."""

import json
import shutil
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from lightrag_dagster.assets.checks import SOURCE_CHECKS
from lightrag_dagster.errors import ProviderAccessError
from lightrag_dagster.pipeline.pending import pending, why_ingest
from lightrag_dagster.pipeline.recipes import Recipes
from lightrag_dagster.pipeline.situation import Situation
from lightrag_dagster.resources import LightRAG
from lightrag_dagster.settings import Settings
from lightrag_dagster.stages.documents.sources import find_source
from lightrag_dagster.storage.home import Home
from lightrag_dagster.storage.snapshots.gc import collect_garbage
from lightrag_dagster.storage.snapshots.generations import Generation
from lightrag_dagster.storage.tables.acceptance import accepted
from lightrag_dagster.storage.tables.source_tables import SourceTables
from tests.loopback import Answer, Loopback, Reply
from tests.passes import (
    EVENTS,
    WORKS,
    answer,
    asked_of,
    facts_of,
    is_of_pass,
    model_settings,
    with_passes,
    write_schemas,
)
from tests.support import FLOOD, OFFICE, RIVER, build, published, write_source

CHANGED = WORKS.replace("  leads:", "  directs: {from: person, to: place}\n  leads:")


@pytest.fixture
def reading(tmp_path: Path, loopback: Loopback) -> Settings:
    """Settings with the passes `works` and `events`, of a home that is built."""
    settings = model_settings(tmp_path, loopback, retention={"snapshots": 1, "grace_days": 0})
    write_source(settings, "notes", {"river.txt": RIVER, "flood.txt": FLOOD, "office.txt": OFFICE})
    made = with_passes(settings, tmp_path / "readings", works=WORKS, events=EVENTS)
    build(made)
    loopback.requests.clear()
    return made


def asked(server: Loopback) -> Counter[str]:
    """Return how many questions came since the last time, by what they are for, without summaries."""
    found = Counter(asked_of(one.body) for one in server.requests if "messages" in one.body)
    server.requests.clear()
    return found - Counter(summarise=99)


def facts(settings: Settings) -> Counter[str]:
    """Return how many facts the published snapshot has of each pass and relation."""
    generation = Generation(Home.of(settings), published(settings).snapshot_id)
    rows = generation.read_table("fact_evidence", ["pass", "relation"]).to_pylist()
    return Counter(f"{row['pass']} {row['relation']}" for row in rows)


def why(settings: Settings, *, backfill: bool = False) -> str | None:
    tables = SourceTables(Home.of(settings), candidate=backfill)
    return why_ingest(find_source(settings, "notes"), tables, Recipes.of(settings))


@pytest.mark.long
def test_a_changed_schema_outdates_its_rows_alone_and_a_backfill_asks_for_these_alone(
    reading: Settings, tmp_path: Path, loopback: Loopback
) -> None:
    write_schemas(tmp_path / "readings", works=CHANGED, events=EVENTS)
    assert (why(reading), why(reading, backfill=True)) == (
        "facts@works, code or settings changed",
        "readings@works, 3 rows are outdated",
    )
    build(reading)  # what is stored is parsed by the schema of today
    assert (asked(loopback), why(reading)) == (Counter(), None)
    state = pending(Situation.looking(reading)).sources["notes"]
    assert (state.outdated, state.ingest, state.up_to_date) == ({"readings@works": 3}, None, True)

    build(reading, "notes", backfill=True)

    assert asked(loopback) == {"maintains": 3}
    assert pending(Situation.looking(reading)).sources["notes"].outdated == {}
    assert (why(reading), why(reading, backfill=True)) == (None, None)
    assert not SourceTables(Home.of(reading)).has_candidate("notes")
    assert facts(reading) == {"works maintains": 1, "works leads": 1, "events closed": 1, "events opened": 1}


@pytest.mark.long
@pytest.mark.parametrize(
    "changed",
    [
        pytest.param(WORKS.replace(", single: true", ""), id="single"),
        pytest.param(WORKS + "sources: [notes]\n", id="sources"),
    ],
)
def test_what_no_question_says_is_parsed_again_and_nothing_is_asked(
    reading: Settings, tmp_path: Path, loopback: Loopback, changed: str
) -> None:
    before = facts(reading)
    write_schemas(tmp_path / "readings", works=changed, events=EVENTS)
    build(reading)
    assert (asked(loopback), facts(reading)) == (Counter(), before)
    assert pending(Situation.looking(reading)).sources["notes"].outdated == {}


@pytest.mark.long
def test_a_removed_pass_leaves_the_next_snapshot_and_its_files_go_by_gc(
    reading: Settings, tmp_path: Path, loopback: Loopback
) -> None:
    home, folder = Home.of(reading), tmp_path / "home" / "tables" / "readings@works" / "notes"
    assert [*folder.glob("*.parquet")]
    write_schemas(tmp_path / "readings", events=EVENTS)

    build(reading)

    assert facts(reading) == {"events closed": 1, "events opened": 1}
    assert "facts@works" not in published(reading).inputs.sources["notes"]
    record = accepted(home, "notes")
    assert record is not None
    assert [*record.passes] == ["events"]
    assert not [*folder.glob("*.json")]
    collect_garbage(home, reading.retention, dry_run=False)
    assert not [*folder.glob("*.parquet")]

    write_schemas(tmp_path / "readings", works=WORKS, events=EVENTS)
    build(reading)  # its answers are stored
    assert asked(loopback) == {}
    assert facts(reading)["works maintains"] == 1


@pytest.mark.long
def test_a_pass_that_leaves_a_source_out_is_removed_from_it_alone(
    reading: Settings, tmp_path: Path, loopback: Loopback
) -> None:
    write_source(reading, "others", {"office.txt": OFFICE})
    build(reading)
    before = facts(reading)
    write_schemas(tmp_path / "readings", works=WORKS + "sources: [othres]\n", events=EVENTS)
    misspelt = build(reading)
    gone = "pass works names othres in `sources`, and there is no such source (did you mean others?)"
    said = {source: [f"{gone}; of {source}, its last accepted facts stay"] for source in ("notes", "others")}
    states = pending(Situation.looking(reading)).sources
    assert {source: state.passes.rejected for source, state in states.items()} == said
    assert (misspelt.published, facts(reading)) == (None, before)
    judged = next(one for one in SOURCE_CHECKS if one.name == "passes_accepted").judge(
        LightRAG(reading), "notes", False
    )
    assert "of notes, its last accepted facts stay" in str(judged.description)
    write_source(reading, "others", {"office.txt": FLOOD})
    build(reading)
    [line] = pending(Situation.looking(reading)).sources["others"].passes.rejected
    assert line.endswith("stay, without 1 fact of chunks that were edited or removed")
    write_source(reading, "others", {"office.txt": OFFICE})

    write_schemas(tmp_path / "readings", works=WORKS + "sources: [others]\n", events=EVENTS)
    loopback.requests.clear()
    build(reading)
    inputs = published(reading).inputs.sources
    assert ["facts@works" in inputs[source] for source in ("notes", "others")] == [False, True]
    assert (asked(loopback), facts(reading)["works leads"]) == (Counter(), 1)


@pytest.mark.long
def test_without_a_pass_again_all_is_as_it_was_before_one(reading: Settings) -> None:
    bare = reading.changed(readings=None)
    build(bare)
    inputs = published(bare).inputs.sources["notes"]
    record = accepted(Home.of(bare), "notes")
    assert not [table for table in inputs if "@" in table]
    assert record is not None
    assert (record.passes, inputs) == ({}, record.tables)


def spoilt(body: dict[str, Any]) -> Answer:
    """Answer the pass `works` about the river with forged words, more than may be rejected."""
    if is_of_pass(body):
        return Answer(facts_of(body, forged=["never said"] * 9))
    return answer(body)


@pytest.mark.long
def test_a_backfill_whose_answers_are_rejected_keeps_the_accepted_facts_and_goes_on_when_the_bound_is_raised(
    reading: Settings, tmp_path: Path, loopback: Loopback
) -> None:
    before = facts(reading)
    write_schemas(tmp_path / "readings", works=CHANGED, events=EVENTS)
    build(reading)
    loopback.requests.clear()
    loopback.chat = spoilt
    build(reading, "notes", backfill=True)
    assert (asked(loopback), facts(reading)) == (Counter(maintains=3), before)
    assert SourceTables(Home.of(reading)).has_candidate("notes")

    raised = reading.changed(extraction={"max_rejected_share": 0.95})
    build(raised, "notes", backfill=True)

    assert (asked(loopback), facts(raised)) == (Counter(), before)
    assert not SourceTables(Home.of(raised)).has_candidate("notes")
    assert pending(Situation.looking(raised)).sources["notes"].outdated == {}


@pytest.mark.long
def test_a_backfill_that_ended_early_goes_on_where_it_was(
    reading: Settings, tmp_path: Path, loopback: Loopback
) -> None:
    before = facts(reading)
    write_schemas(tmp_path / "readings", works=CHANGED, events=EVENTS)
    build(reading)
    loopback.requests.clear()
    loopback.fault = lambda one: Reply.error(401) if "Marta" in json.dumps(one.body) and is_of_pass(one.body) else None
    one_by_one = reading.changed(llm={"max_concurrency": 1})
    with pytest.raises(ProviderAccessError):
        build(one_by_one, "notes", backfill=True)
    answered = asked(loopback)["maintains"] - 1
    assert facts(reading) == before
    loopback.fault = lambda one: None

    build(one_by_one, "notes", backfill=True)

    assert (asked(loopback), facts(reading)) == (Counter(maintains=3 - answered), before)
    assert not SourceTables(Home.of(reading)).has_candidate("notes")


@pytest.mark.long
def test_a_pass_that_was_rejected_is_accepted_when_the_bound_is_raised(
    reading: Settings, tmp_path: Path, loopback: Loopback
) -> None:
    loopback.chat = spoilt
    write_schemas(tmp_path / "readings", works=WORKS, events=EVENTS, more=CHANGED)
    build(reading)
    assert "more maintains" not in facts(reading)
    loopback.requests.clear()
    build(reading.changed(extraction={"max_rejected_share": 0.95}))
    assert (asked(loopback), facts(reading)["more maintains"]) == (Counter(), 1)


@pytest.mark.long
def test_chunks_that_failed_for_good_stay_until_they_are_asked_about_again(
    reading: Settings, tmp_path: Path, loopback: Loopback
) -> None:
    loopback.chat = lambda body: Answer("", refusal="no") if "flood" in json.dumps(body) else answer(body)
    write_schemas(tmp_path / "readings", works=WORKS, events=EVENTS, more=CHANGED)
    lenient = reading.changed(documents={"max_failed_share": 0.5})
    build(lenient)
    loopback.requests.clear()
    loopback.chat = answer
    build(lenient)
    assert asked(loopback) == {}
    again = lenient.retrying_failed()
    assert why(again) == "readings@more, 1 chunks failed that may succeed now"
    build(again)
    assert (asked(loopback), why(again)) == (Counter(maintains=1), None)


@pytest.mark.long
def test_a_lost_file_of_a_pass_is_made_again_from_stored_answers(
    reading: Settings, tmp_path: Path, loopback: Loopback
) -> None:
    before = facts(reading)
    (lost,) = (tmp_path / "home" / "tables" / "readings@works" / "notes").glob("*.parquet")
    lost.unlink()
    assert why(reading) == "readings@works, a file of it is missing"
    build(reading)
    assert (asked(loopback), facts(reading), lost.exists()) == (Counter(), before, True)


@pytest.mark.long
def test_without_a_model_what_passes_have_read_stays_and_a_line_says_so(reading: Settings) -> None:
    before = facts(reading)
    offline = reading.changed(llm={"provider": "offline"})
    (reading.sources / "notes" / "more.txt").write_text("Jonas Feld closed Station 14 again.")

    outcome = build(offline)

    assert facts(offline) == before != Counter()
    (said,) = [line for line in outcome.states.warnings if line.startswith("pass ")]
    assert said == "pass events, works reads nothing: `llm.provider` is offline, and a pass needs a model"


@pytest.mark.long
def test_a_source_that_a_schema_alone_knows_is_told(reading: Settings, tmp_path: Path) -> None:
    with_passes(reading, tmp_path / "readings", works=f"{WORKS}sources: [notse]\n", events=EVENTS)
    warnings = pending(Situation.looking(reading)).warnings
    assert "pass works names notse in `sources`, and there is no such source (did you mean notes?)" in warnings


@pytest.mark.long
def test_which_rows_are_rejected_follows_from_readings_and_recipe_and_not_from_what_was_run_between(
    reading: Settings, tmp_path: Path, loopback: Loopback
) -> None:
    other = WORKS.replace("  leads:", "  guides:")
    write_schemas(tmp_path / "readings", works=other, events=EVENTS)
    build(reading)
    write_schemas(tmp_path / "readings", works=WORKS, events=EVENTS)
    homes = [reading, reading.changed(home=tmp_path / "same")]
    shutil.copytree(homes[0].home, homes[1].home)
    asked(loopback)
    changed = [one.changed(llm={"model": "gpt-4o"}, documents={"accept_deletes": True}) for one in homes]
    for one in changed:
        build(one)
    write_source(reading, "notes", {"river.txt": RIVER, "flood.txt": FLOOD, "office.txt": OFFICE, "new.txt": "Rain."})
    build(changed[1])
    write_source(reading, "notes", {"river.txt": RIVER, "flood.txt": FLOOD, "office.txt": OFFICE})
    build(changed[1])
    build(changed[0])
    versions = [SourceTables(Home.of(one)).require("read_facts@works", "notes") for one in homes]
    assert (versions[0].version, versions[0].recipe) == (versions[1].version, versions[1].recipe)
    assert asked(loopback)["maintains"] == 1  # about the new one


@pytest.mark.long
def test_another_model_has_readings_parsed_again_and_asks_nothing(reading: Settings, loopback: Loopback) -> None:
    other = reading.changed(llm={"model": "gpt-4o"})
    assert why(other) == "facts@events, code or settings changed"
    build(other)
    assert (why(other), asked(loopback)) == (None, Counter())
    assert why(other.changed(llm={"provider": "offline"})) is None

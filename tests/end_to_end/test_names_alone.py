"""`extraction.method: mentions`: a knowledge base from names, which asks no model and moves to one by backfill."""

from pathlib import Path

import pytest

from lightrag_dagster import Keywords, KnowledgeBase
from lightrag_dagster.pipeline.pending import pending
from lightrag_dagster.pipeline.recipes import Recipes
from lightrag_dagster.pipeline.situation import Situation
from lightrag_dagster.plan.plan import make_plan
from lightrag_dagster.settings import Settings, load_settings
from lightrag_dagster.spending.ledger import Ledger
from lightrag_dagster.stages.documents.sources import chosen_sources
from lightrag_dagster.storage.home import Home
from lightrag_dagster.storage.tables.source_tables import SourceTables
from lightrag_dagster.testing.building import ingest
from tests.loopback import Loopback
from tests.models.local.pipelines import make_pipeline
from tests.models.models import offline_answer, role_of
from tests.support import FLOOD, OFFICE, RIVER, build, published, snapshot_contents, write_source

KEYWORDS = Keywords(("closing",), ("Station 14",))
# The same name in many texts, whose sentences a model would be asked to summarise.
FILES: dict[str, str | bytes] = {
    "river.md": RIVER,
    "flood.txt": FLOOD,
    **{f"{number}.txt": f"Marta Lindqvist visited Kessing on day {number}." for number in range(4)},
}


@pytest.fixture(autouse=True)
def server(loopback: Loopback) -> Loopback:
    loopback.chat = offline_answer
    return loopback


def settings(tmp_path: Path, home: str = "home", *, method: str = "mentions") -> Settings:
    (tmp_path / "sources").mkdir(exist_ok=True)
    return load_settings(
        home=tmp_path / home,
        sources=tmp_path / "sources",
        llm={"provider": "openai", "model": "gpt-4o-mini"},
        extraction={"method": method, "gleaning": 0},
        merging={"summary_min_descriptions": 2},
        documents={"accept_deletes": True},
    )


def asked(server: Loopback) -> list[str]:
    """Return the roles of the requests since the last time."""
    roles: list[str] = [role_of(one.body) for one in server.requests]
    server.requests.clear()
    return roles


def test_no_model_is_asked_and_nothing_is_entered(tmp_path: Path, server: Loopback) -> None:
    names = settings(tmp_path)
    write_source(names, "notes", FILES)
    plan = make_plan(names)
    assert plan.sources[0].chunks_new == 0
    assert plan.sources[0].problem is None
    assert plan.total.high == 0.0
    assert plan.steps["extraction"].calls is not None
    assert plan.steps["extraction"].calls.high == 0

    outcome = build(names)

    assert (outcome.failed, outcome.rejected, outcome.cost_usd) == ({}, {}, 0.0)
    assert asked(server) == []
    assert {"extract", "summarise"}.isdisjoint(Ledger(Home(names.home).ledger).by_purpose())
    rows = published(names).rows
    assert (rows["extractions"], rows["relations"]) == (6, 0)
    with KnowledgeBase.open(settings=names) as knowledge:
        for mode in ("naive", "local", "ppr"):
            found = knowledge.retrieve("Who closed Station 14?", mode=mode, keywords=KEYWORDS)
            assert any("Jonas Feld closed" in chunk.content for chunk in found.chunks)
        closed = knowledge.retrieve("Who closed Station 14?", mode="local", keywords=KEYWORDS).entities
    assert "Station 14" in {entity.name for entity in closed}


@pytest.mark.long
def test_a_source_moves_to_the_model_by_backfill_and_equals_a_clean_build(tmp_path: Path, server: Loopback) -> None:
    names, model = settings(tmp_path), settings(tmp_path, method="llm")
    write_source(names, "notes", FILES)
    build(names)
    write_source(names, "notes", {name: text for name, text in FILES.items() if name != "0.txt"} | {"new.txt": OFFICE})
    build(names)
    assert versions(names) == versions(settings(tmp_path, "clean"))
    assert asked(server) == []

    assert pending(Situation.looking(model)).sources["notes"].outdated == {"extractions": 6}
    assert make_plan(model, ["notes"], backfill=True).sources[0].chunks_new == 6
    build(model, backfill=True)
    assert asked(server).count("extract") == 6
    assert pending(Situation.looking(model)).sources["notes"].outdated == {}
    clean = settings(tmp_path, "clean of the model", method="llm")
    build(clean)
    assert snapshot_contents(model) == snapshot_contents(clean)


@pytest.mark.long
def test_one_source_is_moved_alone_and_the_others_stay_without_a_model(tmp_path: Path, server: Loopback) -> None:
    names = settings(tmp_path)
    write_source(names, "archive", {"flood.txt": FLOOD})
    write_source(names, "notes", {"river.md": RIVER})
    build(names)
    mixed = names.changed(extraction={"methods": {"notes": "llm"}})
    assert {name: state.outdated for name, state in pending(Situation.looking(mixed)).sources.items()} == {
        "archive": {},
        "notes": {"extractions": 1},
    }
    write_source(mixed, "archive", {"flood.txt": FLOOD, "office.md": OFFICE})
    assert [one.chunks_new for one in make_plan(mixed, backfill=True).sources] == [0, 1]
    build(mixed, backfill=True)
    assert asked(server).count("extract") == 1
    assert all(not state.busy and not state.outdated for state in pending(Situation.looking(mixed)).sources.values())

    the_other_way = settings(tmp_path, "clean", method="llm").changed(extraction={"methods": {"archive": "mentions"}})
    build(the_other_way)
    assert snapshot_contents(the_other_way) == snapshot_contents(mixed)


def versions(settings: Settings) -> dict[str, str]:
    """Return a hash of the rows of every table of the source, ingested if it is not."""
    tables = SourceTables(Home(settings.home))
    if tables.current("raw_documents", "notes") is None:
        ingest(chosen_sources(settings, ["notes"])[0], tables, Recipes.of(settings))
    return {table: tables.require(table, "notes").version for table in ("chunks", "extractions", "entity_mentions")}


@pytest.mark.long
def test_a_pipeline_adds_its_names_and_is_part_of_the_recipe(tmp_path: Path, server: Loopback) -> None:
    names = settings(tmp_path)
    write_source(names, "notes", {"note.md": "We oiled the blue lamp of Station 14."})
    model = make_pipeline(tmp_path / "lab", {"blue lamp": "PRODUCT"})
    named = settings(tmp_path, "named").changed(extraction={"names_model": str(model)})
    assert Recipes.of(named).extractions != Recipes.of(names).extractions
    assert Recipes.of(named).extractions == Recipes.of(named.changed(llm={"model": "gpt-4o"})).extractions
    assert found_types(names) == {"Station 14": "location"}
    assert found_types(named) == {"Station 14": "location", "blue lamp": "artifact"}

    before = Recipes.of(named).extractions
    make_pipeline(model, {"blue lamp": "PRODUCT", "oil": "PRODUCT"})
    assert Recipes.of(named).extractions != before
    assert pending(Situation.looking(named)).sources["notes"].outdated == {"extractions": 1}
    assert asked(server) == []


def found_types(settings: Settings) -> dict[str, str]:
    """Return name → type of what is found in the source."""
    version = versions(settings)["entity_mentions"]
    rows = SourceTables(Home(settings.home)).read("entity_mentions", "notes", version, ["name", "type"])
    return {row["name"]: row["type"] for row in rows.to_pylist()}


def test_prompts_and_models_are_no_part_of_the_recipe_of_names(tmp_path: Path) -> None:
    names = settings(tmp_path)
    (tmp_path / "prompts").mkdir()
    (tmp_path / "prompts" / "entity_types.md").write_text("Types: person.")
    others = (
        names.changed(llm={"model": "gpt-4o"}),
        names.changed(extraction={"gleaning": 2, "answer_format": "json_schema"}),
        names.changed(prompts=tmp_path / "prompts"),
    )
    assert {Recipes.of(one).extractions for one in (names, *others)} == {Recipes.of(names).extractions}
    assert Recipes.of(settings(tmp_path, method="co_mentions")).extractions != Recipes.of(names).extractions

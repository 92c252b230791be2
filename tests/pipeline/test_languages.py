"""`extraction.document_language`: a model writes about each chunk in the language of its document."""

import re
from collections.abc import Callable
from pathlib import Path

import pytest

from lightrag_dagster.pipeline.chunks import chunk_source
from lightrag_dagster.pipeline.documents import read_source
from lightrag_dagster.pipeline.pending import pending, why_ingest
from lightrag_dagster.pipeline.recipes import Recipes
from lightrag_dagster.pipeline.situation import Situation
from lightrag_dagster.plan.plan import make_plan
from lightrag_dagster.purge.cache_usage import used_responses
from lightrag_dagster.schemas import SOURCE_TABLES
from lightrag_dagster.settings import Settings, load_settings
from lightrag_dagster.stages.documents.sources import chosen_sources
from lightrag_dagster.stages.prompts.fencing import last_fenced
from lightrag_dagster.storage.database.responses import ResponseStore
from lightrag_dagster.storage.home import Home
from lightrag_dagster.storage.tables import shards
from lightrag_dagster.storage.tables.source_tables import SourceTables
from lightrag_dagster.testing.building import ingest
from tests.loopback import Loopback
from tests.models.models import offline_answer, role_of
from tests.support import RIVER, build, write_source

Make = Callable[..., Settings]

GERMAN = "Der Pegel fiel über Nacht um zwölf Zentimeter. Marta Lindqvist hat das Gehäuse im Frühjahr gereinigt."
SHORT = "Pegel 12"  # too short for its language to be detected


def said(language: str | None, text: str = SHORT) -> str:
    """Return a document that says in which language it is."""
    return f"---\nlang: {language}\n---\n{text}\n" if language else text


FILES: dict[str, str | bytes] = {
    "river.md": RIVER,
    "pegel.md": GERMAN,
    "short-a.md": said("de"),
    "short-b.md": said("fr"),
    "unknown.txt": "x1 = 7",
}


@pytest.fixture
def make(tmp_path: Path, loopback: Loopback) -> Make:
    """Return settings of a home; the language of all that is in no document's is Latin."""
    loopback.chat = offline_answer

    def settings(home: str = "home", *, document_language: bool = True) -> Settings:
        return load_settings(
            home=tmp_path / home,
            sources=tmp_path / "sources",
            language="Latin",
            extraction={"document_language": document_language, "gleaning": 1},
            documents={"accept_deletes": True},
            llm={"provider": "openai", "model": "gpt-4o-mini", "max_retries": 0},
        )

    return settings


def asked(server: Loopback) -> dict[str, str]:
    """Return the language that was asked for, by the text of each chunk; each round asks for the same one."""
    found: dict[str, str] = {}
    for body in (one.body for one in server.requests):
        if role_of(body) == "extract":
            texts = [one["content"] for one in body["messages"] if one["role"] != "assistant"]
            languages = set(re.findall(r"Write descriptions and keywords in (\w+)\.", "\n".join(texts)))
            assert len(languages) == 1
            text = last_fenced(texts[1])
            assert text is not None
            assert found.setdefault(text, *languages) in languages
    server.requests.clear()
    return found


def ingest_all(settings: Settings, *, backfill: bool = False) -> None:
    """Ingest the source, if anything of it is pending."""
    (source,) = chosen_sources(settings, [])
    tables, recipes = SourceTables(Home(settings.home), candidate=backfill), Recipes.of(settings)
    if why_ingest(source, tables, recipes):
        assert ingest(source, tables, recipes).accepted


def contents(settings: Settings) -> dict[str, str]:
    """Return a hash of the rows of each table."""
    tables = SourceTables(Home(settings.home))
    return {table: tables.require(table, "notes").version for table in SOURCE_TABLES if table != "raw_documents"}


def test_each_request_names_the_language_of_its_document(make: Make, loopback: Loopback) -> None:
    write_source(make(), "notes", FILES)
    ingest_all(make())

    assert asked(loopback) == {RIVER: "English", GERMAN: "German", SHORT: "German", "x1 = 7": "Latin"}

    ingest_all(make())
    assert asked(loopback) == {}


@pytest.mark.parametrize(
    "rows",
    [pytest.param(shards.ROWS, id="one shard"), pytest.param(2, id="several", marks=pytest.mark.long)],
)
def test_what_becomes_of_another_language_is_asked_again_and_nothing_else(
    rows: int, make: Make, loopback: Loopback, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(shards, "ROWS", rows)
    settings = make()
    write_source(settings, "notes", FILES)
    ingest_all(settings)
    asked(loopback)

    # The text of the chunk, and so its id, stay; another document comes first, or says another language.
    edits: list[tuple[dict[str, str | bytes], dict[str, str]]] = [
        (FILES | {"short-a.md": said("es")}, {SHORT: "Spanish"}),
        ({name: text for name, text in FILES.items() if name != "short-a.md"}, {SHORT: "French"}),
        (FILES | {"short-a.md": said(None), "x.txt": "x1 = 7"}, {SHORT: "Latin"}),
        (FILES, {}),  # the first answer is still stored
    ]
    for number, (files, expected) in enumerate(edits):
        write_source(settings, "notes", files)
        ingest_all(settings)
        assert asked(loopback) == expected
        clean = make(f"clean-{number}")
        ingest_all(clean)
        assert contents(settings) == contents(clean)
        loopback.requests.clear()


@pytest.mark.long
def test_the_setting_asks_nothing_again_by_itself(make: Make, loopback: Loopback) -> None:
    plain, following = make(document_language=False), make()
    write_source(plain, "notes", FILES)
    ingest_all(plain)
    assert set(asked(loopback).values()) == {"Latin"}
    assert pending(Situation.looking(following)).sources["notes"].ingest is None

    new = "Le débit de la rivière a été relevé à l'aube, et l'échelle était cassée."
    write_source(plain, "notes", FILES | {"new.txt": new, "short-a.md": said("es")})
    ingest_all(following)
    assert asked(loopback) == {new: "French"}
    assert pending(Situation.looking(following)).sources["notes"].outdated == {"extractions": 4}

    ingest_all(following, backfill=True)
    # What is in no known language is asked for in Latin, as before, and stored.
    assert asked(loopback) == {RIVER: "English", GERMAN: "German", SHORT: "Spanish"}
    ingest_all(make("clean"))
    assert contents(following) == contents(make("clean"))


@pytest.mark.long
def test_a_run_that_was_interrupted_before_it_asked_is_made_good(make: Make, loopback: Loopback) -> None:
    settings = make()
    write_source(settings, "notes", FILES)
    ingest_all(settings)
    asked(loopback)

    write_source(settings, "notes", FILES | {"short-a.md": said("es")})
    (source,) = chosen_sources(settings, [])
    tables, recipes = SourceTables(Home(settings.home)), Recipes.of(settings)
    read_source(source, tables, recipes)
    chunk_source("notes", tables, recipes)
    assert pending(Situation.looking(settings)).sources["notes"].ingest == "extractions, input changed"
    assert make_plan(settings).sources[0].chunks_new == 1

    ingest_all(settings)
    assert asked(loopback) == {SHORT: "Spanish"}


@pytest.mark.long  # whole runs
def test_a_purge_keeps_what_a_run_takes_from_the_store(make: Make) -> None:
    settings = make()
    write_source(settings, "notes", FILES)
    build(settings)
    with ResponseStore(Home(settings.home).responses) as store:
        used = set(used_responses(Situation.looking(settings), {"notes": {"pegel.md"}}, store))
        gone = set(store.keys()) - used
    assert len(gone) == 2  # both rounds about what is gone


@pytest.mark.parametrize(
    "changes",
    [{"extraction": {"method": "mentions"}}, pytest.param({"llm": {"provider": "offline"}}, marks=pytest.mark.long)],
)
def test_rules_know_that_a_short_document_is_german(make: Make, changes: dict[str, dict[str, object]]) -> None:
    following = make().changed(**changes)
    plain = following.changed(extraction={"document_language": False})
    write_source(following, "notes", {"a.md": said("de", "Zwei Dichtungen waren gerissen."), "b.md": RIVER})
    found = []
    for settings in (plain, following):
        ingest_all(settings, backfill=settings is following)
        found.append(set(SourceTables(Home(settings.home)).read("entity_mentions", "notes")["name"].to_pylist()))
    assert found[0] - found[1] == {"Dichtungen"}
    assert "Jonas Feld" in found[1]


def test_the_recipe_names_the_setting_only_where_it_is_used(make: Make) -> None:
    for method in ("llm", "mentions"):
        plain, following = (
            Recipes.of(make(document_language=one).changed(extraction={"method": method})) for one in (False, True)
        )
        assert plain.extractions != following.extractions
    assert plain.chunks == following.chunks
    assert plain.summaries == following.summaries

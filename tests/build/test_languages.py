"""`extraction.document_language`: a model writes about each chunk in the language of its document."""

import re
from collections.abc import Callable
from pathlib import Path

import pytest

from lightrag_dagster.build.ingest import chunk_source, read_source
from lightrag_dagster.build.pending import pending
from lightrag_dagster.build.plan import make_plan
from lightrag_dagster.build.reachable import used_responses
from lightrag_dagster.build.recipe import Recipes
from lightrag_dagster.settings import Settings, load_settings
from lightrag_dagster.stages.documents.sources import chosen_sources
from lightrag_dagster.stages.prompts.fencing import last_fenced
from lightrag_dagster.storage import shards
from lightrag_dagster.storage.home import Home
from lightrag_dagster.storage.responses import ResponseStore
from lightrag_dagster.storage.tables import SourceTables
from tests.loopback import Loopback
from tests.models.models import offline_answer, role_of
from tests.support import RIVER, build, published, snapshot_contents, write_source

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


@pytest.fixture(params=[shards.ROWS, 2], ids=["one shard", "several"])
def make(request: pytest.FixtureRequest, tmp_path: Path, loopback: Loopback, monkeypatch: pytest.MonkeyPatch) -> Make:
    """Return settings of a home; the language of all that is in no document's is Latin."""
    monkeypatch.setattr(shards, "ROWS", request.param)
    loopback.chat = offline_answer

    def settings(home: str = "home", *, document_language: bool = True, method: str = "llm") -> Settings:
        return load_settings(
            home=tmp_path / home,
            sources=tmp_path / "sources",
            language="Latin",
            extraction={"document_language": document_language, "gleaning": 1, "method": method},
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


def equals_clean_build(settings: Settings, clean: Settings) -> bool:
    build(clean)
    return snapshot_contents(settings) == snapshot_contents(clean)


def test_each_request_names_the_language_of_its_document(make: Make, loopback: Loopback) -> None:
    write_source(make(), "notes", FILES)
    build(make())

    assert asked(loopback) == {RIVER: "English", GERMAN: "German", SHORT: "German", "x1 = 7": "Latin"}

    build(make())
    assert asked(loopback) == {}


def test_what_becomes_of_another_language_is_asked_again_and_nothing_else(make: Make, loopback: Loopback) -> None:
    settings = make()
    write_source(settings, "notes", FILES)
    build(settings)
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
        assert make_plan(settings).sources[0].chunks_new == len(expected)
        build(settings)
        assert asked(loopback) == expected
        assert equals_clean_build(settings, make(f"clean-{number}"))
        asked(loopback)


def test_the_setting_asks_nothing_again_by_itself(make: Make, loopback: Loopback) -> None:
    plain, following = make(document_language=False), make()
    write_source(plain, "notes", FILES)
    build(plain)
    assert set(asked(loopback).values()) == {"Latin"}
    assert pending(following).sources["notes"].ingest is None

    new = "Le débit de la rivière a été relevé à l'aube, et l'échelle était cassée."
    write_source(plain, "notes", FILES | {"new.txt": new, "short-a.md": said("es")})
    build(following)
    assert asked(loopback) == {new: "French"}
    assert pending(following).sources["notes"].outdated == {"extractions": 4}

    build(following, "notes", backfill=True)
    # What is in no known language is asked for in Latin, as before, and stored.
    assert asked(loopback) == {RIVER: "English", GERMAN: "German", SHORT: "Spanish"}
    build(following)
    assert equals_clean_build(following, make("clean"))


def test_a_run_that_was_interrupted_before_it_asked_is_made_good(make: Make, loopback: Loopback) -> None:
    settings = make()
    write_source(settings, "notes", FILES)
    build(settings)
    asked(loopback)

    write_source(settings, "notes", FILES | {"short-a.md": said("es")})
    (source,) = chosen_sources(settings, [])
    tables, recipes = SourceTables(Home(settings.home)), Recipes.of(settings)
    read_source(source, tables, recipes)
    chunk_source("notes", tables, recipes)
    assert pending(settings).sources["notes"].ingest == "extractions, input changed"

    build(settings)
    assert asked(loopback) == {SHORT: "Spanish"}


def test_a_purge_keeps_what_a_run_takes_from_the_store(make: Make) -> None:
    settings = make()
    write_source(settings, "notes", FILES)
    build(settings)
    with ResponseStore(Home(settings.home).responses) as store:
        used = used_responses(Recipes.of(settings), published(settings), {"notes": {"pegel.md"}}, store)
        gone = set(store.keys()) - used
    assert len(gone) == 2  # both rounds about what is gone


def test_names_have_no_language(make: Make) -> None:
    recipes = [Recipes.of(make(document_language=one, method="mentions")).extractions for one in (False, True)]
    assert recipes[0] == recipes[1]

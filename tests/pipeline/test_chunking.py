"""Methods of chunking in whole builds: rules, context, an embedder, and homes of before they came."""

from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from lightrag_dagster import KnowledgeBase
from lightrag_dagster.core.identity import chunk_id, embedding_key
from lightrag_dagster.errors import SettingsError
from lightrag_dagster.indexes.lance import open_vectors
from lightrag_dagster.indexes.text_index import passage
from lightrag_dagster.models.providers import open_embedder
from lightrag_dagster.pipeline.chunks import chunk_source
from lightrag_dagster.pipeline.documents import read_source
from lightrag_dagster.pipeline.recipes import Recipes
from lightrag_dagster.plan.plan import make_plan
from lightrag_dagster.schemas import SOURCE_TABLES
from lightrag_dagster.settings import Settings, load_settings
from lightrag_dagster.spending.account import Account
from lightrag_dagster.spending.ledger import Ledger
from lightrag_dagster.stages.documents.sources import chosen_sources
from lightrag_dagster.storage.home import Home
from lightrag_dagster.storage.tables import shards
from lightrag_dagster.storage.tables.source_tables import SourceTables
from lightrag_dagster.testing.building import ingest
from tests.loopback import Loopback
from tests.models.models import offline_answer, role_of
from tests.query.published import publish_accepted
from tests.support import FLOOD, OFFICE, RIVER, write_source

STATIONS = "\n".join(f"| Station {number} | Jonas Feld closed Station {number}. |" for number in range(12))
TABLE = f"# Levels\n\n## Stations\n\n| name | what happened |\n| --- | --- |\n{STATIONS}\n"
HEADER = "| name | what happened |\n| --- | --- |"
RULES: list[dict[str, Any]] = [
    {"path": "notes/tables/**", "method": "structure"},
    {"path": "*/lines/*.txt", "method": "character", "separators": ["\n"]},
]


@pytest.fixture
def settings(tmp_path: Path, loopback: Loopback) -> Settings:
    loopback.chat = offline_answer
    return load_settings(
        home=tmp_path / "home",
        sources=tmp_path / "sources",
        chunking={"size": 60, "overlap": 0, "rules": RULES},
        extraction={"gleaning": 0},
        documents={"accept_deletes": True},
        llm={"provider": "openai", "model": "gpt-4o-mini", "max_retries": 0},
    )


def build(settings: Settings) -> None:
    for source in chosen_sources(settings, []):
        assert ingest(source, SourceTables(Home(settings.home)), Recipes.of(settings)).accepted


def rows(settings: Settings, *columns: str) -> list[Any]:
    table = SourceTables(Home(settings.home)).read("chunks", "notes", columns=[*columns])
    return sorted(zip(*(table[name].to_pylist() for name in columns), strict=True))


def versions(settings: Settings) -> dict[str, str]:
    tables = SourceTables(Home(settings.home))
    return {table: tables.require(table, "notes").version for table in SOURCE_TABLES}


def prompts(server: Loopback) -> list[str]:
    """Return the questions about chunks since the last time."""
    asked = [one.body["messages"][-1]["content"] for one in server.requests if role_of(one.body) == "extract"]
    server.requests.clear()
    return asked


@pytest.mark.long
def test_the_first_rule_that_matches_counts_wherever_a_document_goes(
    settings: Settings, loopback: Loopback, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(shards, "ROWS", 2)
    files: dict[str, str | bytes] = {"a.txt": f"{RIVER}\n{FLOOD}", "office.txt": OFFICE, "flood.txt": FLOOD}
    write_source(settings, "notes", files)
    build(settings)
    assert [content for path, content in rows(settings, "path", "content") if path == "a.txt"] != [RIVER, FLOOD]
    prompts(loopback)
    # A copy and a renamed document come under a rule, another copy does not.
    moved = {"a.txt": files["a.txt"], "lines/a.txt": files["a.txt"], "lines/office.txt": OFFICE, "b.txt": FLOOD}
    write_source(settings, "notes", moved)
    build(settings)
    assert [one for path, one in rows(settings, "path", "content") if path == "lines/a.txt"] == [RIVER, FLOOD]
    assert [one for path, one in rows(settings, "path", "content") if path == "b.txt"] == [FLOOD]
    assert len(prompts(loopback)) == 1  # about RIVER, which was in no chunk by itself
    clean = settings.changed(home=settings.home.with_name("clean"))
    build(clean)
    assert versions(clean) == versions(settings)


@pytest.mark.long
def test_the_context_reaches_prompt_id_vector_and_answer(settings: Settings, loopback: Loopback) -> None:
    write_source(settings, "notes", {"tables/levels.md": TABLE, "flood.txt": FLOOD})
    build(settings)
    published = publish_accepted(settings)
    table = SourceTables(Home(settings.home)).read("chunks", "notes")
    carried = [row for row in table.to_pylist() if row["context"]]
    assert len(carried) > 1
    assert {row["context"] for row in carried} == {f"Levels > Stations\n\n{HEADER}"}
    assert all(HEADER not in row["content"] for row in carried)
    vectors = open_vectors(Home(settings.home), published.vectors.tables["chunk_vectors"]).rows()
    embedded = dict(zip(vectors["id"].to_pylist(), vectors["embedding_key"].to_pylist(), strict=True))
    for row in table.to_pylist():
        text = passage(row["content"], row["context"])
        assert embedded[row["chunk_id"]] == embedding_key(published.vectors.identity, text)
        assert row["chunk_id"] == chunk_id(row["content"], row["heading"], row["context"])
    asked, quoted = prompts(loopback), HEADER.replace("\n", "\n> ")
    assert sum(f"> Levels > Stations\n> \n> {quoted}\n\n```text\n| Station" in one for one in asked) == len(carried)
    with KnowledgeBase.open(settings=settings) as knowledge:
        found = knowledge.retrieve("what happened at Station 11?", mode="naive", top_k=20)
        shown = [one for one in found.chunks if one.context]
        assert shown
        assert shown[0].content in TABLE
        assert '"context": "Levels > Stations' in knowledge.context("what happened at Station 11?", mode="naive")


def test_a_function_and_an_embedder_are_part_of_the_recipe(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(tmp_path)
    module = tmp_path / "chunking_by_recipe.py"
    module.write_text("")

    def recipe(**chunking: Any) -> str:
        return Recipes.of(load_settings(chunking=chunking)).chunks

    def with_embedder(dimensions: int, method: str) -> str:
        chunking = {"rules": [{"path": "**", "method": method}]}
        return Recipes.of(load_settings(chunking=chunking, embedding={"dimensions": dimensions})).chunks

    custom = {"method": "custom", "function": "chunking_by_recipe.cut"}
    before = recipe(**custom)
    assert recipe(**custom) == before
    module.write_text("edited = True")
    assert recipe(**custom) != before
    with pytest.raises(SettingsError, match=r"chunking\.function missing\.cut"):
        recipe(method="custom", function="missing.cut")
    assert with_embedder(64, "semantic") != with_embedder(128, "semantic")
    assert with_embedder(64, "sentence") == with_embedder(128, "sentence")


@pytest.mark.parametrize(
    ("chunking", "recipe"),
    [
        ({}, "de37299346347bf76128511595f99a5e"),
        ({"size": 800, "overlap": 10}, "d73ee56d144f5437472b0829c579f147"),
    ],
)
def test_a_new_setting_makes_no_row_outdated(chunking: dict[str, Any], recipe: str) -> None:
    """What the first homes name as their recipe; another one would make all of their chunks outdated."""
    assert Recipes.of(load_settings(chunking=chunking)).chunks == recipe


def test_every_setting_and_rule_is_part_of_the_recipe() -> None:
    variants: Sequence[dict[str, Any]] = [
        {},
        {"method": "structure"},
        {"separators": ("\n",)},
        {"rules": [{"path": "a/*"}]},
        {"rules": [{"path": "b/*"}]},
        {"rules": [{"path": "a/*", "size": 1200}]},
        {"rules": [{"path": "a/*", "method": "token"}]},
    ]
    recipes = {Recipes.of(load_settings(chunking=chunking)).chunks for chunking in variants}
    assert len(recipes) == len(variants)


def test_sentences_are_embedded_once_and_on_the_runs_account(settings: Settings, loopback: Loopback) -> None:
    semantic = settings.changed(
        chunking={"method": "semantic", "rules": ()},
        embedding={"provider": "openai", "model": "text-embedding-3-small", "dimensions": 8, "batch_size": 2},
    )
    write_source(semantic, "notes", {"river.txt": RIVER, "flood.txt": FLOOD})
    tables, recipes, home = SourceTables(Home(semantic.home)), Recipes.of(semantic), Home(semantic.home)
    (source,) = chosen_sources(semantic, [])
    account = Account.of("run-1", "notes", semantic.llm)

    def chunk() -> tuple[str, int]:
        read_source(source, tables, recipes)
        report = chunk_source("notes", tables, recipes, partial(open_embedder, semantic.embedding, home, account))
        calls = sum("input" in one.body for one in loopback.requests)
        loopback.requests.clear()
        return report.version.version, calls

    (planned,) = make_plan(semantic).sources
    assert (planned.chunks_new, planned.problem, loopback.requests) == (2, None, [])
    first, calls = chunk()
    assert calls >= 3
    assert Ledger(home.ledger).by_purpose()["embed"].calls == calls
    write_source(semantic, "notes", {"river.txt": RIVER})
    chunk()
    write_source(semantic, "notes", {"river.txt": RIVER, "flood.txt": FLOOD})
    assert chunk() == (first, 0)

"""Prompts and models of summaries and vectors that change: a run leaves what stands, a backfill makes it anew."""

import json
import shutil
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console

from lightrag_dagster import KnowledgeBase
from lightrag_dagster.build.inheritance import drifted_parts, next_inputs
from lightrag_dagster.build.plan import Remaking
from lightrag_dagster.build.planning import make_plan
from lightrag_dagster.build.versions import Versions
from lightrag_dagster.cli.progress import display
from lightrag_dagster.errors import EmbeddingError, ProviderAccessError, StoreError
from lightrag_dagster.runner import bring_up_to_date
from lightrag_dagster.settings import RoleSettings, Settings, SourceSettings, load_settings
from lightrag_dagster.storage.generations import Generation, generation_id
from lightrag_dagster.storage.home import Home
from tests.loopback import Loopback, Received, Reply
from tests.models.models import offline_answer, role_of
from tests.support import FLOOD, OFFICE, RIVER, published, run, snapshot_contents, write_source

Make = Callable[..., Settings]
BRIEF = "Condense these"
FILES: dict[str, str | bytes] = {"river.md": RIVER, "flood.txt": FLOOD, "office.txt": OFFICE}
MORE = FILES | {"more.txt": "Jonas Feld visited Halden Weir.", "other.txt": "Ulla Berg wrote a book."}


def answer(body: dict[str, Any]) -> str:
    return ("In brief: " if BRIEF in body["messages"][0]["content"] else "") + offline_answer(body)


@pytest.fixture
def make(tmp_path: Path, loopback: Loopback) -> Make:
    """Return settings of one home, everything asked of the loopback server, with what a test changes."""
    loopback.chat = answer
    (tmp_path / "brief").mkdir()
    (tmp_path / "brief" / "summary_system.md").write_text(f"{BRIEF} in $language, at most $max_tokens tokens.")

    def settings(
        home: str = "home", *, brief: bool = False, embedder: str = "first", summarised: int = 3, **changes: Any
    ) -> Settings:
        return load_settings(
            home=tmp_path / home,
            sources=tmp_path / "sources",
            prompts=tmp_path / "brief" if brief else None,
            extraction={"gleaning": 0},
            documents={"accept_deletes": True},
            merging={"summary_min_descriptions": summarised},
            **({"llm": {"provider": "openai", "model": "gpt-4o-mini", "max_retries": 0}} | changes),
            embedding={"provider": "openai", "model": embedder, "dimensions": 8, "max_retries": 0},
        )

    write_source(settings(), "notes", FILES)
    return settings


def asked(server: Loopback) -> Counter[str]:
    """Return how many requests of each kind came since the last time; embeddings go by the model's name."""
    kinds = [role_of(one.body) if "messages" in one.body else one.body["model"] for one in server.requests]
    server.requests.clear()
    return Counter(kinds)


def descriptions(settings: Settings) -> dict[str, str]:
    rows = Generation(Home(settings.home), published(settings).snapshot_id).read_table("entities").to_pylist()
    return {row["name"]: row["description"] for row in rows}


def remaking(settings: Settings) -> Remaking:
    planned = make_plan(settings, None, knowledge_base=True).remaking
    assert planned is not None
    return planned


def test_an_edited_summary_prompt_waits_for_a_backfill(make: Make, loopback: Loopback) -> None:
    run(make())
    before, first = descriptions(make()), published(make())
    edited = make(brief=True)
    asked(loopback)

    outcome = run(edited)
    assert (outcome.published, outcome.outdated_parts, asked(loopback)) == (None, ["summaries"], Counter())

    write_source(edited, "notes", MORE)
    run(edited)
    after = descriptions(edited)
    changed = {name for name in before if after[name] != before[name]}
    assert changed
    assert changed == {name for name, text in after.items() if text.startswith("In brief: ")}
    mixed = published(edited).inputs.recipe
    assert mixed is not None
    assert mixed.follows == first.snapshot_id
    assert asked(loopback)["extract"] == 2

    calls = remaking(edited).summary_calls
    assert asked(loopback) == Counter()
    run(edited, backfill=True)
    assert calls == (made := asked(loopback)["summarise"], made)
    assert made > 0
    assert drifted_parts(Versions.of(edited)) == []
    clean = make("clean", brief=True)
    run(clean)
    assert snapshot_contents(edited) == snapshot_contents(clean)
    assert published(edited).snapshot_id == published(clean).snapshot_id

    write_source(edited, "notes", FILES)
    asked(loopback)
    run(make(), backfill=True)
    assert asked(loopback) == Counter()
    assert descriptions(make()) == before


def test_another_embedder_waits_for_a_backfill(make: Make, loopback: Loopback) -> None:
    run(make())
    first, other = published(make()), make(embedder="second")
    asked(loopback)

    outcome = run(other)
    assert (outcome.published, outcome.outdated_parts, asked(loopback)) == (None, ["vectors"], Counter())

    write_source(other, "notes", MORE)
    run(other)
    assert asked(loopback)["second"] == 0
    assert published(other).vectors.model == "first"
    with KnowledgeBase.open(settings=other) as knowledge:
        knowledge.retrieve("Halden Weir", mode="naive")
    assert asked(loopback) == {"first": 1}
    second = published(other)
    assert second.inputs.recipe == first.inputs.recipe

    planned = remaking(other)
    assert (planned.summary_calls, planned.embedding_calls) == ((0, 0), (3, 3))
    asked(loopback)
    run(other, backfill=True)
    assert asked(loopback) == {"second": 3}
    assert drifted_parts(Versions.of(other)) == []
    tables = {name: entry.table for name, entry in published(other).vectors.tables.items()}
    assert set(tables.values()).isdisjoint(entry.table for entry in first.vectors.tables.values())
    with KnowledgeBase.open(settings=other, snapshot_id=first.snapshot_id) as knowledge:
        knowledge.retrieve("a gauge", mode="naive")
    assert asked(loopback) == {"first": 1}

    run(make(), backfill=True)
    assert asked(loopback) == Counter()
    assert published(make()).snapshot_id == second.snapshot_id


def test_an_embedder_that_is_gone_names_the_way_out(make: Make, loopback: Loopback) -> None:
    def fault(received: Received) -> Reply | None:
        return Reply.error(404, "model_not_found") if received.body.get("model") == "first" else None

    run(make())
    first, other = published(make()), make(embedder="second")
    loopback.fault = fault
    write_source(other, "notes", MORE)
    with pytest.raises(ProviderAccessError, match=r"first.*--knowledge-base` embeds all anew by openai/second"):
        run(other)
    assert published(other) == first
    run(other, backfill=True)
    assert published(other).vectors.model == "second"


def test_an_embedder_of_another_version_names_the_way_out(make: Make) -> None:
    run(make())
    first = published(make())
    manifest = Home(make().home).generation(first.snapshot_id) / "manifest.json"
    manifest.write_text(manifest.read_text().replace(first.vectors.identity, "of another version"))
    assert run(make()).published is None
    write_source(make(), "notes", MORE)
    with pytest.raises(EmbeddingError, match=r"embedded by of another version, .*--knowledge-base"):
        run(make())


def test_a_backfill_may_be_of_the_knowledge_base_alone(make: Make, loopback: Loopback) -> None:
    run(make())
    write_source(make(), "notes", MORE)
    with display(Console(quiet=True)) as shown:
        outcome = bring_up_to_date(make(), None, shown, knowledge_base=True)
    assert (outcome.ingested, outcome.outdated_parts) == ([], [])
    assert published(make()).rows["raw_documents"] == len(FILES)


def test_a_damaged_generation_that_is_followed_is_not_paid_for_again(make: Make, loopback: Loopback) -> None:
    run(make())
    edited = make(brief=True)
    home = Home(edited.home)
    Generation(home, published(edited).snapshot_id).path("entities.parquet").write_bytes(b"PAR1 no more")
    write_source(edited, "notes", MORE)
    asked(loopback)
    with pytest.raises(StoreError, match=r"entities.parquet .*--knowledge-base"):
        run(edited)
    assert asked(loopback)["summarise"] == 0
    run(edited, backfill=True)
    assert drifted_parts(Versions.of(edited)) == []


@pytest.fixture(scope="module")
def offline(tmp_path_factory: pytest.TempPathFactory) -> Settings:
    """Settings of a home that is published, to be read only."""
    folder = tmp_path_factory.mktemp("offline")
    settings = load_settings(home=folder / "home", sources=folder / "sources")
    write_source(settings, "notes", {"river.md": RIVER})
    run(settings)
    return settings


def changed(settings: Settings, **sections: dict[str, Any]) -> Settings:
    """Return settings with some values of some sections changed."""
    copies = {name: getattr(settings, name).model_copy(update=values) for name, values in sections.items()}
    return settings.model_copy(update=copies)


@pytest.mark.parametrize(
    ("change", "parts", "follows"),
    [
        ({}, [], False),
        ({"llm": {"roles": {"summarise": RoleSettings(temperature=0.7)}, "provider": "openai"}}, ["summaries"], True),
        ({"merging": {"summary_min_descriptions": 2}}, ["summaries"], False),
        ({"merging": {"max_chunks_per_entity": 5}}, ["summaries"], False),
        ({"chunking": {"encoding": "cl100k_base"}}, ["summaries"], False),
        ({"embedding": {"dimensions": 512}}, ["vectors"], False),
        ({"embedding": {"provider": "openai"}, "merging": {"language": "German"}}, ["summaries", "vectors"], False),
        ({"embedding": {"model": "ignored", "batch_size": 3, "max_input_tokens": 99}}, [], False),
        ({"extraction": {"language": "German"}}, [], False),
        ({"query": {"top_k": 3}}, [], False),
    ],
)
def test_what_is_inherited(offline: Settings, change: dict[str, Any], parts: list[str], follows: bool) -> None:
    now, before = Versions.of(changed(offline, **change)), published(offline)
    assert drifted_parts(now) == parts
    assert next_inputs(now) == before.inputs
    everything = next_inputs(now, backfill=True)
    assert everything.recipe is not None
    assert everything.recipe.differences(now.recipe) == set()
    assert (generation_id(everything) == before.snapshot_id) == (not parts and "extraction" not in change)

    # Where something is to be merged, it is merged as the newest snapshot was.
    more = now.settings.model_copy(update={"named_sources": {"more": SourceSettings(uri=str(offline.sources))}})
    recipe, inherited = next_inputs(Versions.of(more)).recipe, before.inputs.recipe
    assert recipe is not None
    assert inherited is not None
    assert (recipe.merging, recipe.encoding, recipe.embedder) == (
        inherited.merging,
        inherited.encoding,
        inherited.embedder,
    )
    assert recipe.follows == (before.snapshot_id if follows else None)
    assert (recipe.summaries, recipe.extractions) == (now.recipe.summaries, now.recipe.extractions)


def test_a_generation_of_an_older_version_has_nothing_to_inherit(offline: Settings, tmp_path: Path) -> None:
    shutil.copytree(offline.home, tmp_path / "home")
    old = offline.model_copy(update={"home": tmp_path / "home"})
    manifest = Home(old.home).generation(published(old).snapshot_id) / "manifest.json"
    record = json.loads(manifest.read_text())
    del record["inputs"]["recipe"], record["vectors"]["max_input_tokens"]
    manifest.write_text(json.dumps(record))
    now = Versions.of(changed(old, embedding={"dimensions": 512}))
    assert drifted_parts(now) == []
    assert next_inputs(now).recipe == now.recipe

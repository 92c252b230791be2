"""Summaries and vectors of older recipes: a run keeps them, a backfill makes them again; everything else follows."""

import shutil
from collections import Counter
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from lightrag_dagster import KnowledgeBase
from lightrag_dagster.core.protocols import CountingEmbedder
from lightrag_dagster.errors import (
    BudgetExceededError,
    EmbeddingError,
    LightRAGError,
    NoSnapshotError,
    ProviderAccessError,
    StoreError,
)
from lightrag_dagster.models.providers import open_chat_model
from lightrag_dagster.offline import embedder
from lightrag_dagster.pipeline.inputs import Outdated, next_inputs, next_publication, outdated
from lightrag_dagster.pipeline.merge import merge_sources
from lightrag_dagster.pipeline.pending import pending
from lightrag_dagster.pipeline.publish import check_published
from lightrag_dagster.pipeline.recipes import Recipes
from lightrag_dagster.pipeline.situation import Situation
from lightrag_dagster.pipeline.vectors import embed
from lightrag_dagster.plan.plan import make_plan
from lightrag_dagster.settings import Settings, SourceSettings, load_settings
from lightrag_dagster.settings.models import RoleSettings
from lightrag_dagster.storage.home import Home
from lightrag_dagster.storage.manifests import Manifest
from lightrag_dagster.storage.snapshots.generations import Generation, newest_generation, remove_graph, set_newest
from tests.conftest import pointing_to
from tests.loopback import Loopback, Received, Reply
from tests.models.models import offline_answer, role_of
from tests.query.published import publish_accepted, publish_sources
from tests.storage.corpus import home_of, merge
from tests.support import FLOOD, OFFICE, RIVER, published, snapshot_contents

Make = Callable[..., Settings]
BRIEF = "Condense these"
FILES = {"notes": {"river.md": RIVER, "flood.txt": FLOOD, "office.txt": OFFICE}}
MORE = {"notes": FILES["notes"] | {"more.txt": "Jonas Feld visited Halden Weir.", "other.txt": "Ulla Berg wrote."}}


def answer(body: dict[str, Any]) -> str:
    return ("In brief: " if BRIEF in body["messages"][0]["content"] else "") + offline_answer(body)


def settings_in(
    folder: Path,
    home: str = "home",
    *,
    brief: bool = False,
    embedder: str = "first",
    summarised: int = 3,
    **changes: Any,
) -> Settings:
    """Return settings of a home in a folder, everything asked of the loopback server, with what a test changes."""
    return load_settings(
        home=folder / home,
        sources=folder / "sources",
        prompts=folder / "brief" if brief else None,
        extraction={"gleaning": 0} | changes.pop("extraction", {}),
        documents={"accept_deletes": True},
        merging={"summary_min_descriptions": summarised} | changes.pop("merging", {}),
        **({"llm": {"provider": "openai", "model": "gpt-4o-mini", "max_retries": 0}} | changes),
        embedding={"provider": "openai", "model": embedder, "dimensions": 8},
    )


@pytest.fixture
def make(tmp_path: Path, loopback: Loopback) -> Make:
    """Return settings of one home, as `settings_in` does."""
    loopback.chat = answer
    (tmp_path / "brief").mkdir()
    (tmp_path / "brief" / "summary_system.md").write_text(f"{BRIEF} in $language, at most $max_tokens tokens.")
    return partial(settings_in, tmp_path)


@pytest.fixture(scope="module")
def of_files(tmp_path_factory: pytest.TempPathFactory, _server: Loopback) -> Path:
    """The folder of a home with FILES, to be copied."""
    folder = tmp_path_factory.mktemp("files")
    with pointing_to(_server):
        _server.chat = answer
        publish_sources(settings_in(folder), FILES)
    return folder


@pytest.fixture(scope="module")
def clean(of_files: Path, tmp_path_factory: pytest.TempPathFactory, _server: Loopback) -> dict[str, Any]:
    """What a home holds that never had anything but FILES and MORE."""
    folder = tmp_path_factory.mktemp("clean")
    with pointing_to(_server):
        _server.chat = answer
        publish_sources(settings_in(folder), MORE)
    return snapshot_contents(settings_in(folder))


@pytest.fixture
def first(of_files: Path, make: Make) -> Manifest:
    """The snapshot of FILES, published in the home."""
    shutil.copytree(of_files, make().home.parent, dirs_exist_ok=True)
    return published(make())


def asked(server: Loopback) -> Counter[str]:
    """Return how many requests of each kind came since the last time; embeddings go by the model's name."""
    kinds = [role_of(one.body) if "messages" in one.body else one.body["model"] for one in server.requests]
    server.requests.clear()
    return Counter(kinds)


def entities(settings: Settings) -> dict[str, dict[str, Any]]:
    rows = Generation(Home(settings.home), published(settings).snapshot_id).read_table("entities").to_pylist()
    return {row["name"]: row for row in rows}


def summaries(settings: Settings, recipe: Settings) -> int:
    """Return how many rows of the snapshot have a summary made by the recipe of other settings."""
    made_by = Generation(Home(settings.home), published(settings).snapshot_id).record().summaries
    return made_by.get(Recipes.of(recipe).summaries, 0)


@pytest.mark.long  # several builds
@pytest.mark.usefixtures("first")
def test_an_edited_summary_prompt_waits_for_a_backfill(make: Make, loopback: Loopback) -> None:
    before, old = entities(make()), summaries(make(), make())
    edited = make(brief=True)
    assert next_publication(Situation.looking(edited)) is None
    assert outdated(Situation.looking(edited)) == Outdated(summaries=old)
    assert old > 0

    publish_sources(edited, MORE)
    after = entities(edited)
    changed = {name for name in before if after[name]["descriptions_hash"] != before[name]["descriptions_hash"]}
    brief = {name for name, row in after.items() if row["description"].startswith("In brief: ")}
    assert brief == {name for name in changed if after[name]["summary_recipe"]} != set()
    assert {after[name]["summary_recipe"] for name in brief} == {Recipes.of(edited).summaries}
    unchanged = {name: before[name]["description"] for name in before.keys() - changed}
    assert {name: after[name]["description"] for name in unchanged} == unchanged
    left = outdated(Situation.looking(edited)).summaries
    assert 0 < left < old
    asked(loopback)

    publish_accepted(edited, backfill=True)
    made = asked(loopback)
    assert made["summarise"] == left
    assert made["extract"] == 0
    assert outdated(Situation.looking(edited)) == Outdated()
    publish_sources(make("clean", brief=True), MORE)
    assert snapshot_contents(edited) == snapshot_contents(make("clean"))


@pytest.mark.long  # several builds
def test_kept_and_backfilled_summaries_are_different_generations(
    make: Make, first: Manifest, loopback: Loopback
) -> None:
    edited = make(brief=True)
    assert (
        next_inputs(Situation.looking(edited)) == first.inputs == next_inputs(Situation.looking(edited), backfill=True)
    )
    assert next_publication(Situation.looking(edited), backfill=True) == first.inputs
    second = publish_accepted(edited, backfill=True)
    assert second.inputs == first.inputs
    assert second.snapshot_id != first.snapshot_id
    asked(loopback)
    # The prompt as it was: every answer is stored, and the result is the first snapshot.
    assert publish_accepted(make(), backfill=True).snapshot_id == first.snapshot_id
    assert asked(loopback) == Counter()


@pytest.mark.long
@pytest.mark.usefixtures("first")
def test_a_merge_that_is_finished_is_not_repeated(make: Make, loopback: Loopback) -> None:
    recipes, home = Recipes.of(make()), Home(make().home)

    def merge(*, backfill: bool) -> bool:
        return merge_sources(recipes, lambda: open_chat_model(make().llm, home), backfill=backfill).merged

    assert not merge(backfill=False)
    assert not merge(backfill=True)
    lost = newest_generation(home).path("relations.parquet")
    content = lost.read_bytes()
    lost.unlink()
    assert merge(backfill=False)
    assert lost.read_bytes() == content


@pytest.mark.long  # several builds
def test_a_killed_merge_is_repeated_for_free(make: Make, loopback: Loopback, monkeypatch: pytest.MonkeyPatch) -> None:
    from lightrag_dagster.storage.snapshots import generations

    def killed(*_: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr(generations, "_put_in_place", killed)
        with pytest.raises(KeyboardInterrupt):
            publish_sources(make(), FILES)
    assert asked(loopback)["summarise"] > 0
    publish_accepted(make())
    assert asked(loopback)["summarise"] == 0
    publish_sources(make("clean"), FILES)
    assert snapshot_contents(make()) == snapshot_contents(make("clean"))


@pytest.mark.long
def test_a_summary_that_failed_is_asked_again_by_the_next_merge(
    make: Make, clean: dict[str, Any], loopback: Loopback
) -> None:
    def fault(received: Received) -> Reply | None:
        failing = "messages" in received.body and role_of(received.body) == "summarise"
        return Reply.error(400, "refused") if failing else None

    loopback.fault = fault
    publish_sources(make(), FILES)
    record = newest_generation(Home(make().home)).record()
    assert record.failed_summaries > 0
    assert record.summaries == {}
    (warning,) = pending(Situation.looking(make())).warnings
    assert warning.startswith(f"{record.failed_summaries} summaries failed")
    loopback.fault = lambda received: None
    assert next_publication(Situation.looking(make())) is None
    publish_sources(make(), MORE)
    assert newest_generation(Home(make().home)).record().failed_summaries == 0
    assert snapshot_contents(make()) == clean


@pytest.mark.long
def test_another_embedder_waits_for_a_backfill(make: Make, first: Manifest, loopback: Loopback) -> None:
    other = make(embedder="second")
    assert next_publication(Situation.looking(other)) is None
    assert outdated(Situation.looking(other)).names == ["vectors"]

    asked(loopback)
    second = publish_sources(other, MORE)
    assert asked(loopback)["second"] == 0
    assert second.vectors.model == "first"
    with KnowledgeBase.open(settings=other) as knowledge:
        knowledge.retrieve("Halden Weir", mode="naive")
    assert asked(loopback) == {"first": 1}

    third = publish_accepted(other, backfill=True)
    assert asked(loopback) == {"second": 3}
    assert outdated(Situation.looking(other)) == Outdated()
    tables = {name: entry.table for name, entry in third.vectors.tables.items()}
    assert set(tables.values()).isdisjoint(entry.table for entry in first.vectors.tables.values())
    with KnowledgeBase.open(settings=other, snapshot_id=first.snapshot_id) as knowledge:
        knowledge.retrieve("a gauge", mode="naive")
    assert asked(loopback) == {"first": 1}

    assert publish_accepted(make(), backfill=True).snapshot_id == second.snapshot_id
    assert asked(loopback) == Counter()


@pytest.mark.long
def test_an_embedder_that_is_gone_names_the_way_out(make: Make, first: Manifest, loopback: Loopback) -> None:
    def fault(received: Received) -> Reply | None:
        return Reply.error(404, "model_not_found") if received.body.get("model") == "first" else None

    other = make(embedder="second")
    loopback.fault = fault
    with pytest.raises(ProviderAccessError, match=r"first.*--knowledge-base` embeds with openai/second"):
        publish_sources(other, MORE)
    assert published(other) == first
    assert publish_accepted(other, backfill=True).vectors.model == "second"


@pytest.mark.long
def test_vectors_of_an_older_offline_embedder_are_made_again_by_a_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings, clean = (load_settings(home=tmp_path / name, sources=tmp_path / "sources") for name in ("home", "clean"))
    with monkeypatch.context() as older:
        older.setattr(embedder, "_VERSION", 1)
        assert publish_sources(settings, MORE).vectors.identity == "offline/lexical-1/1024"
    assert publish_sources(clean, MORE).vectors.identity == Recipes.of(settings).embedder
    with (
        KnowledgeBase.open(settings=settings) as knowledge,
        pytest.raises(EmbeddingError, match=r"lexical-1/1024, and this version has .*; run `lightrag-dagster run` to"),
    ):
        knowledge.retrieve("Halden Weir", mode="naive")
    (said,) = [one for one in make_plan(settings).warnings if "makes again" in one]
    assert said.endswith("and all vectors, by the offline embedder at no cost")
    assert not outdated(Situation.looking(settings)).vectors
    assert pending(Situation.looking(settings)).publish is not None

    publish_accepted(settings)
    assert snapshot_contents(settings) == snapshot_contents(clean)
    assert next_publication(Situation.looking(settings)) is None
    assert not [one for one in make_plan(settings).warnings if "makes again" in one]


@pytest.mark.parametrize(
    ("kept", "error", "message"),
    [
        (None, ProviderAccessError("the model is gone"), "^the model is gone$"),
        ("older", ProviderAccessError("the model is gone"), "^the model is gone; older embedded the newest snapshot, "),
        ("older", BudgetExceededError("the budget is used up"), "^the budget is used up$"),
        (
            "older",
            EmbeddingError("3 dimensions; set them"),
            "^3 dimensions; older embedded the newest snapshot, .*-base",
        ),
    ],
    ids=["today's embedder", "an older one", "the budget", "settings are not at fault"],
)
def test_only_where_another_embedder_may_help_an_error_names_it(
    tmp_path: Path, kept: str | None, error: LightRAGError, message: str
) -> None:
    recipes, home = Recipes.of(load_settings(home=tmp_path / "home")), home_of(tmp_path, river={"weir.md": [["Weir"]]})
    set_newest(home, merge(home, "river", embedder_identity=kept or recipes.embedder))

    @asynccontextmanager
    async def opened(*_: object, **__: object) -> AsyncIterator[CountingEmbedder]:
        raise error
        yield

    with pytest.raises(type(error), match=message):
        embed(recipes, "chunk_vectors", opened)


def test_an_embedder_of_another_version_names_the_way_out(make: Make, first: Manifest) -> None:
    manifest = Home(make().home).generation(first.snapshot_id) / "manifest.json"
    text = first.model_dump_json(exclude={"crc32"})
    manifest.write_text(text.replace(first.vectors.identity, "of another version"))
    assert next_publication(Situation.looking(make())) is None
    with pytest.raises(EmbeddingError, match=r"embedded by of another version, .*--knowledge-base"):
        publish_sources(make(), MORE)


@pytest.mark.long
@pytest.mark.usefixtures("first")
def test_a_damaged_last_merge_is_done_without_where_nothing_is_lost(
    make: Make, clean: dict[str, Any], loopback: Loopback
) -> None:
    newest_generation(Home(make().home)).path("entities.parquet").write_bytes(b"PAR1 no more")
    asked(loopback)
    publish_sources(make(), MORE)
    assert asked(loopback)["summarise"] > 0
    assert snapshot_contents(make()) == clean


@pytest.mark.long
@pytest.mark.usefixtures("first")
def test_outdated_summaries_in_a_damaged_merge_are_not_paid_for_unasked(make: Make, loopback: Loopback) -> None:
    edited = make(brief=True)
    newest_generation(Home(edited.home)).path("entities.parquet").write_bytes(b"PAR1 no more")
    asked(loopback)
    with pytest.raises(StoreError, match=r"entities.parquet .*--knowledge-base"):
        publish_sources(edited, MORE)
    assert asked(loopback)["summarise"] == 0
    publish_accepted(edited, backfill=True)
    assert outdated(Situation.looking(edited)) == Outdated()


@pytest.mark.long
def test_editing_the_extraction_prompt_changes_no_merge(make: Make, first: Manifest) -> None:
    assert next_publication(Situation.looking(make(extraction={"answer_format": "json_object"}))) is None
    assert publish_accepted(make(extraction={"answer_format": "json_object"})) == first


@pytest.fixture(scope="module")
def offline(tmp_path_factory: pytest.TempPathFactory) -> Settings:
    """Settings of a home that is published, to be read only."""
    folder = tmp_path_factory.mktemp("offline")
    settings = load_settings(home=folder / "home", sources=folder / "sources", merging={"summary_min_descriptions": 2})
    publish_sources(settings, FILES)
    return settings


@pytest.mark.parametrize(
    ("change", "merges", "names"),
    [
        ({}, False, []),
        (
            {"llm": {"roles": {"summarise": RoleSettings(temperature=0.7)}, "provider": "openai", "model": "m"}},
            False,
            ["summaries"],
        ),
        ({"merging": {"summary_max_tokens": 99}}, True, ["summaries"]),
        ({"merging": {"max_chunks": 5}}, True, []),
        ({"chunking": {"encoding": "cl100k_base"}}, True, ["summaries"]),
        ({"embedding": {"dimensions": 512}}, False, ["vectors"]),
        ({"embedding": {"provider": "openai"}, "language": "German"}, False, ["summaries", "vectors"]),
        ({"embedding": {"model": "ignored", "batch_size": 3, "max_input_tokens": 99}}, False, []),
        ({"extraction": {"answer_format": "json_object"}}, False, []),
        ({"query": {"top_k": 3}}, False, []),
    ],
)
def test_the_merge_follows_settings_at_once_but_keeps_embedder_and_summaries(
    offline: Settings, change: dict[str, Any], merges: bool, names: list[str]
) -> None:
    before = published(offline)
    now = Situation.looking(offline.changed(**change))
    assert outdated(now).names == names
    assert (next_publication(now) is not None) == merges
    assert next_inputs(now).embedder == before.inputs.embedder
    everything = next_publication(now, backfill=True)
    assert (everything is not None) == (merges or bool(names))
    if everything is not None:
        assert everything.embedder.identity == now.recipes.embedder
        assert everything.recipe == now.recipes.generation

    more = now.settings.model_copy(update={"named_sources": {"more": SourceSettings(uri=str(offline.sources))}})
    wanted = next_inputs(Situation.looking(more))
    assert (wanted.merging, wanted.encoding) == (now.settings.merging, now.settings.chunking.encoding)
    assert wanted.embedder == before.inputs.embedder


@pytest.mark.long
def test_the_published_snapshot_can_be_checked_again(make: Make, request: pytest.FixtureRequest) -> None:
    with pytest.raises(NoSnapshotError):
        check_published(Home(make().home))
    request.getfixturevalue("first")
    assert check_published(Home(make().home)) == []
    generation = Generation(Home(make().home), published(make()).snapshot_id)
    lost = generation.path("relations.parquet")
    lost.rename(lost.with_name("moved"))
    assert check_published(Home(make().home)) == ["not finished: relations"]
    lost.with_name("moved").rename(lost)
    remove_graph(generation)
    assert check_published(Home(make().home)) == []

"""Descriptions of images, by a loopback server in the place of the provider."""

import hashlib
import re
from functools import partial
from pathlib import Path
from typing import Any

import dagster as dg
import pytest

from lightrag_dagster.assets.ingestion import raw_documents
from lightrag_dagster.assets.namespace import Namespace
from lightrag_dagster.models.providers import open_chat_model
from lightrag_dagster.pipeline.captions import picture_tokens
from lightrag_dagster.pipeline.documents import read_source
from lightrag_dagster.pipeline.pending import source_state, why_ingest
from lightrag_dagster.pipeline.recipes import Recipes
from lightrag_dagster.pipeline.shards import StageReport
from lightrag_dagster.pipeline.situation import Situation
from lightrag_dagster.plan.plan import make_plan
from lightrag_dagster.purge import cache_usage
from lightrag_dagster.resources import LightRAG
from lightrag_dagster.settings import Settings, load_settings
from lightrag_dagster.spending.account import Account
from lightrag_dagster.spending.ledger import Ledger
from lightrag_dagster.stages.documents.sources import find_source
from lightrag_dagster.storage.database.responses import ResponseStore
from lightrag_dagster.storage.home import Home
from lightrag_dagster.storage.tables import shards
from lightrag_dagster.storage.tables.source_tables import SourceTables
from tests.loopback import Answer, Loopback, Reply
from tests.support import write_source

SAMPLES = Path(__file__).parents[1] / "readers/samples"
FILES: dict[str, str | bytes] = {
    name: (SAMPLES / name).read_bytes() for name in ("figures.docx", "figures.pptx", "scan.jpg")
} | {"notes.md": "Marta Lindqvist read the gauge."}


def answer(body: dict[str, Any]) -> str:
    """Describe an image by a hash of all that was asked."""
    return f"Seen {hashlib.sha256(str(body['messages']).encode()).hexdigest()[:8]}."


@pytest.fixture
def settings(tmp_path: Path, loopback: Loopback) -> Settings:
    loopback.chat = answer
    made = load_settings(
        home=tmp_path / "home",
        sources=tmp_path / "sources",
        documents={"describe_figures": True, "accept_deletes": True},
        llm={"provider": "openai", "model": "gpt-4o-mini", "max_retries": 0},
    )
    write_source(made, "notes", FILES)
    return made


def read(settings: Settings, *, backfill: bool = False) -> StageReport:
    home, recipes = Home(settings.home), Recipes.of(settings)
    account = Account.of("run", "notes", settings.llm)
    opening = partial(open_chat_model, settings.llm, home, "describe", account)
    tables = SourceTables(home, candidate=backfill)
    return read_source(find_source(settings, "notes"), tables, recipes, opening)


def rows(settings: Settings) -> dict[str, dict[str, Any]]:
    found = SourceTables(Home(settings.home)).read("raw_documents", "notes").to_pylist()
    return {row["path"]: row for row in found}


def outdated(settings: Settings) -> int:
    state = source_state(find_source(settings, "notes"), Situation.looking(settings), set())
    return state.outdated.get("raw_documents", 0)


def is_pending(settings: Settings) -> bool:
    tables, recipes = SourceTables(Home(settings.home)), Recipes.of(settings)
    reason = why_ingest(find_source(settings, "notes"), tables, recipes)
    return reason is not None and reason.startswith("raw_documents")


@pytest.mark.long
def test_images_are_described_once_and_are_elements(settings: Settings, loopback: Loopback) -> None:
    report = read(settings)
    found = rows(settings)
    assert (report.usage.calls, len(loopback.requests)) == (3, 3)
    assert {path: (row["status"], row["error"]) for path, row in found.items()} == dict.fromkeys(
        FILES, ("processed", None)
    )
    for path in ("figures.docx", "figures.pptx", "scan.jpg"):
        (element,) = found[path]["elements"]
        assert element["kind"] == "figure"
        assert "Seen " in element["caption"]
        assert element["caption"] in found[path]["content"][element["start"] : element["end"]]
    assert found["figures.docx"]["elements"][0]["caption"].startswith("Levels of three (stations): Seen ")

    question = loopback.requests[0].body["messages"][1]["content"]
    assert [part["type"] for part in question] == ["text", "image_url"]
    assert question[1]["image_url"]["url"].startswith("data:image/")
    (entry,) = Ledger(Home(settings.home).ledger).by_purpose().items()
    assert (entry[0], entry[1].calls) == ("describe", 3)
    assert entry[1].cost_usd > 0

    # Neither an unchanged nor a copied image is asked about again, nor those of a home that reads all again.
    assert not is_pending(settings)
    write_source(settings, "notes", FILES | {"copy.docx": FILES["figures.docx"]})
    assert (read(settings).usage.calls, read(settings, backfill=True).usage.stored) == (0, 4)
    assert len(loopback.requests) == 3


@pytest.mark.long
def test_what_failed_for_now_is_asked_about_by_the_next_run(settings: Settings, loopback: Loopback) -> None:
    loopback.fault = lambda received: Reply.error(500) if "image/jpeg" in str(received.body) else None
    assert read(settings).usage.calls == 2
    scan = rows(settings)["scan.jpg"]
    assert (scan["status"], scan["content"]) == ("empty", "")
    assert scan["error"].startswith("1 of 1 images are not described yet: ")
    assert is_pending(settings)

    loopback.fault = lambda received: None
    report = read(settings)
    assert report.usage.calls == 1
    assert not is_pending(settings)
    clean = settings.changed(home=settings.home.with_name("clean"))
    read(clean)
    assert SourceTables(Home(clean.home)).require("raw_documents", "notes").version == report.version.version


def test_what_failed_for_good_is_a_reason_and_is_not_asked_about_every_night(
    settings: Settings, loopback: Loopback
) -> None:
    loopback.fault = lambda received: Reply.error(400, message="bad image") if "Levels" in str(received.body) else None
    read(settings)
    document = rows(settings)["figures.docx"]
    assert document["status"] == "processed"
    assert "![Levels of three (stations)](figure-" in document["content"]
    assert document["error"].startswith("1 of 1 images are not described: ")
    assert not is_pending(settings)
    asked = len(loopback.requests)
    write_source(settings, "notes", FILES | {"new.md": "Priya Nair left."})
    read(settings)
    assert len(loopback.requests) == asked
    loopback.fault = lambda received: None
    assert read(settings, backfill=True).usage.calls == 1


def test_a_description_that_is_cut_off_is_none(settings: Settings, loopback: Loopback) -> None:
    loopback.chat = lambda body: Answer("The picture shows a", "length")
    read(settings)
    scan = rows(settings)["scan.jpg"]
    assert "The picture shows" not in scan["content"]
    assert re.match("1 of 1 images are not described: .* is cut off; raise LIGHTRAG_LLM__MAX_OUT", scan["error"])


def test_a_spent_budget_stops_descriptions_and_fails_no_document(settings: Settings, loopback: Loopback) -> None:
    read(settings.changed(llm={"max_cost_usd": 0.000001}))
    found = rows(settings)
    assert not loopback.requests
    assert {row["status"] for row in found.values()} == {"processed", "empty"}
    for path in ("figures.docx", "figures.pptx", "scan.jpg"):
        assert "not described yet: the budget of $1e-06 is below one call" in found[path]["error"]
    assert is_pending(settings)
    assert read(settings).usage.calls == 3


@pytest.mark.long
def test_a_plan_counts_images_and_the_most_they_may_cost(settings: Settings, loopback: Loopback) -> None:
    plan = make_plan(settings)
    step = plan.steps["descriptions"]
    assert not loopback.requests
    assert step.calls is not None
    assert step.input_tokens is not None
    assert step.calls.expected == 3
    assert step.input_tokens.expected > sum(picture_tokens("gpt-4o-mini", *size) for size in ((320, 200), (320, 200)))
    assert 0 < step.cost.low < step.cost.high < 0.1
    read(settings)
    assert "descriptions" not in make_plan(settings).steps
    assert "descriptions" not in make_plan(settings.changed(documents={"describe_figures": False})).steps


def test_without_a_model_images_are_left_out(settings: Settings) -> None:
    offline = settings.changed(llm={"provider": "offline"})
    read(offline)
    found = rows(offline)
    assert "figure-" not in found["figures.docx"]["content"]
    assert found["scan.jpg"]["status"] == "empty"


@pytest.mark.long
def test_switching_it_on_reads_all_and_another_model_waits_for_a_backfill(settings: Settings) -> None:
    read(settings.changed(documents={"describe_figures": False}))
    assert rows(settings)["scan.jpg"]["status"] == "skipped"
    assert is_pending(settings)
    assert read(settings).usage.calls == 3
    before = rows(settings)
    assert {path for path, row in before.items() if row["recipe"]} == {*FILES} - {"notes.md"}
    assert outdated(settings) == 0

    another = settings.changed(llm={"roles": {"describe": {"model": "gpt-4.1-mini"}}})
    assert (is_pending(another), outdated(another)) == (False, 3)
    assert "descriptions" not in make_plan(another).steps
    assert read(another).usage.calls == 0
    # All is read again, and images that were described stay so; a new one is described by the model of today.
    larger = another.changed(documents={"max_bytes": 30_000_000})
    write_source(settings, "notes", FILES | {"new.png": (SAMPLES / "columns.png").read_bytes()})
    assert read(larger).usage.calls == 1
    after = rows(larger)
    assert {path: after[path] for path in FILES} == before
    assert outdated(larger) == 3

    step = make_plan(larger, backfill=True).steps["descriptions"]
    assert step.calls is not None
    assert step.calls.expected == 3
    assert read(larger, backfill=True).usage.calls == 3
    candidate = SourceTables(Home(larger.home), candidate=True).read("raw_documents", "notes")
    clean = larger.changed(home=larger.home.with_name("clean"))
    read(clean)
    assert candidate.equals(SourceTables(Home(clean.home)).read("raw_documents", "notes"))


@pytest.mark.long
def test_workers_describe_the_images_of_their_shards(settings: Settings, monkeypatch: pytest.MonkeyPatch) -> None:
    alone = read(settings)
    monkeypatch.setattr(shards, "ROWS", 1)
    parallel = settings.changed(home=settings.home.with_name("parallel"), engine="processes")
    report = read(parallel)
    assert (report.usage.calls, report.version.shards > 1) == (3, True)
    found = SourceTables(Home(parallel.home)).read("raw_documents", "notes")
    one = SourceTables(Home(settings.home)).read("raw_documents", "notes")
    assert found.sort_by("path").equals(one.sort_by("path"))
    assert alone.usage.calls == 3


def test_a_purge_keeps_the_descriptions_that_documents_name(settings: Settings) -> None:
    read(settings)
    home = Home(settings.home)
    with ResponseStore(home.responses) as store:
        assert cache_usage._descriptions(home, {}, store) == set(store.keys())
        assert len(cache_usage._descriptions(home, {"notes": {"scan.jpg"}}, store)) == 2
        assert cache_usage._descriptions(home, {"notes": set()}, store) == set()


@pytest.mark.long
def test_the_asset_describes_on_the_account_of_its_run(settings: Settings) -> None:
    with dg.DagsterInstance.ephemeral() as instance:
        instance.add_dynamic_partitions("source", ["notes"])
        result = dg.materialize(
            [raw_documents.within(Namespace())],
            partition_key="notes",
            instance=instance,
            resources={"lightrag": LightRAG(settings)},
        )
    (made,) = result.asset_materializations_for_node("raw_documents")
    assert made.metadata["calls"].value == 3
    (entry,) = Ledger(Home(settings.home).ledger).by_purpose().values()
    assert (entry.calls, entry.cost_usd) == (3, made.metadata["cost_usd"].value)


@pytest.mark.parametrize(
    ("model", "size", "tokens"),
    [
        ("gpt-4o-mini", (512, 512), 2833 + 5667),
        ("gpt-4o-mini", (1024, 1024), 2833 + 4 * 5667),
        ("gpt-4o-mini", (2048, 4096), 2833 + 6 * 5667),
        ("gpt-4o", (1024, 1024), 2520),
        ("gpt-4.1-nano", (4000, 4000), 3779),
        ("gpt-4o", (64, 64), 85 + 170),
    ],
)
def test_tokens_of_a_picture(model: str, size: tuple[int, int], tokens: int) -> None:
    assert picture_tokens(model, *size) == tokens

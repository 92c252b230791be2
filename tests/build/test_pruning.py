"""What `cache prune` removes, and that a clean build misses none of it."""

import shutil
from typing import Any

import pytest

from lightrag_dagster.build.pruning import prune
from lightrag_dagster.errors import BudgetExceededError
from lightrag_dagster.settings import RetentionSettings, Settings, load_settings
from lightrag_dagster.storage.home import Home
from lightrag_dagster.storage.responses import ResponseStore
from lightrag_dagster.storage.gc import collect_garbage
from lightrag_dagster.storage.tables import SourceTables
from tests.models.models import offline_answer, role_of
from tests.loopback import Answer, Loopback, Received, Reply
from tests.support import FLOOD, OFFICE, RIVER, run, snapshot_contents, write_source


@pytest.fixture
def settings(settings: Settings, loopback: Loopback) -> Settings:
    loopback.chat = offline_answer
    return load_settings(
        home=settings.home,
        sources=settings.sources,
        llm={"provider": "openai"},
        embedding={"provider": "openai", "dimensions": loopback.dimensions},
        merging={"summary_min_descriptions": 2},
    )


def test_a_clean_build_after_pruning_asks_for_nothing(settings: Settings, loopback: Loopback) -> None:
    home, clean = Home(settings.home), settings.model_copy(update={"home": settings.home.parent / "clean"})
    write_source(settings, "notes", {"river.md": RIVER, "flood.txt": FLOOD})
    write_source(settings, "office", {"office.txt": OFFICE})
    run(settings)
    write_source(settings, "notes", {"river.md": RIVER.replace("2019", "2020"), "flood.txt": FLOOD})
    run(settings)

    planned = prune(settings, dry_run=True)
    collect_garbage(home, RetentionSettings(snapshots=1, grace_days=0), dry_run=False)
    done = prune(settings, dry_run=False)

    # The text before the edit with its gleaning, and the summaries it made.
    assert done.responses == planned.responses >= 3
    assert done.vectors > planned.vectors == 0  # a snapshot that gc removed no longer kept its own
    again = prune(settings, dry_run=False)
    assert (again.responses, again.vectors) == (0, 0)
    clean.home.mkdir()
    for path in (home.responses, home.vectors):
        shutil.copy(path, clean.home)
    loopback.requests.clear()
    run(clean)
    assert loopback.requests == []
    assert snapshot_contents(clean) == snapshot_contents(settings)


def test_answers_of_a_run_that_was_stopped_stay(settings: Settings, loopback: Loopback) -> None:
    write_source(settings, "notes", {"river.md": RIVER, "flood.txt": FLOOD})
    hurried = settings.model_copy(update={"llm": settings.llm.model_copy(update={"max_cost_usd": 0.0})})
    run(settings.model_copy(update={"home": settings.home.parent / "other"}))
    home = Home(settings.home)
    settings.home.mkdir(exist_ok=True)
    shutil.copy(Home(settings.home.parent / "other").responses, home.responses)
    write_source(settings, "notes", {"river.md": RIVER, "flood.txt": FLOOD, "new.txt": OFFICE})
    with pytest.raises(BudgetExceededError):
        run(hurried)
    with ResponseStore(home.responses) as store:
        before = store.totals().rows

    pruned = prune(settings, dry_run=False)

    # Chunks were cut but never extracted: what is stored for them is kept, but not the summaries of no merge.
    assert 0 < pruned.responses < before
    loopback.requests.clear()
    run(settings)
    extracted = [one for one in loopback.requests if "Halden Weir. Orrin" in str(one.body)]
    assert [one for one in extracted if "Description" not in str(one.body) and "input" not in one.body] == []


def test_what_followed_an_answer_that_was_cut_off_stays(settings: Settings, loopback: Loopback) -> None:
    """The model refuses more room, as most do, and the second round goes on from what came."""
    usual = settings.llm.max_output_tokens

    def cut_off(body: dict[str, Any]) -> Answer:
        first = len(body["messages"]) == 2 and role_of(body) == "extract"
        return Answer(offline_answer(body), "length" if first else "stop")

    def refuse_more(received: Received) -> Reply | None:
        return Reply.error(400, "invalid_value") if received.body.get("max_tokens", 0) > usual else None

    loopback.chat, loopback.fault = cut_off, refuse_more
    write_source(settings, "notes", {"flood.txt": FLOOD})
    run(settings)
    rounds = SourceTables(Home(settings.home)).read("extractions", "notes")["rounds"].to_pylist()
    assert rounds == [2]
    assert prune(settings, dry_run=True).responses == 0

"""`answers` on a run's account: what is asked is booked, and the budget of the run holds for it."""

from pathlib import Path
from typing import Any

import pytest
import yaml

from lightrag_dagster.errors import BudgetExceededError
from lightrag_dagster.settings import Settings, load_settings
from lightrag_dagster.spending.ledger import Ledger
from lightrag_dagster.storage.home import Home
from lightrag_dagster.storage.tables.source_tables import ALL_SOURCES, SourceTables
from tests.loopback import Loopback, Reply
from tests.models.models import offline_answer
from tests.support import FLOOD, RIVER, build, published, run, write_source


def answer(body: dict[str, Any]) -> str:
    """Extract by the offline rules, and answer a question by how much context there is."""
    text = body["messages"][0]["content"]
    return f"{len(text)} characters say so." if "# Context" in text else offline_answer(body)


def settings_of(folder: Path, server: Loopback, **limits: float) -> Settings:
    server.chat = answer
    questions = folder / "questions.yaml"
    questions.write_text(yaml.safe_dump([{"question": "Who maintains the gauge at Halden Weir?", "mode": "naive"}]))
    return load_settings(
        home=folder / "home",
        sources=folder / "sources",
        questions=questions,
        llm={"provider": "openai", "model": "gpt-4o-mini", "max_retries": 0, **limits},
        embedding={"dimensions": 256},
    )


@pytest.mark.long
def test_answers_are_booked(tmp_path: Path, loopback: Loopback) -> None:
    settings = settings_of(tmp_path, loopback)
    write_source(settings, "notes", {"river.md": RIVER, "flood.txt": FLOOD})
    built, asked = build(settings), run(settings)
    home = Home(settings.home)
    booked = Ledger(home.ledger).by_purpose()
    assert booked["answer"].calls == 1
    assert booked["answer"].cost_usd > 0
    assert asked.cost_usd == pytest.approx(booked["answer"].cost_usd)
    assert built.cost_usd + asked.cost_usd == pytest.approx(sum(entry.cost_usd for entry in booked.values()))


@pytest.mark.long
def test_answers_are_bounded_and_follow_the_snapshot(tmp_path: Path, loopback: Loopback) -> None:
    settings = settings_of(tmp_path, loopback)
    write_source(settings, "notes", {"river.md": RIVER, "flood.txt": FLOOD})
    build(settings)
    run(settings)
    home = Home(settings.home)
    booked = Ledger(home.ledger).by_purpose()
    first = SourceTables(home).read("answers", ALL_SOURCES).to_pylist()

    write_source(settings, "notes", {"river.md": RIVER.replace("2019", "2020"), "flood.txt": FLOOD})
    before = published(settings)
    tight = settings_of(tmp_path, loopback, max_cost_usd=1.5 * booked["extract"].cost_usd)
    with pytest.raises(BudgetExceededError, match="the budget of"):
        run(tight)

    assert Ledger(home.ledger).spent(Ledger(home.ledger).entries()["run"].to_pylist()[-1]) <= (
        tight.llm.max_cost_usd or 0.0
    )
    build(settings)
    run(settings)
    assert published(settings) != before
    assert SourceTables(home).read("answers", ALL_SOURCES).to_pylist() != first


@pytest.mark.long
def test_a_question_that_failed_for_now_is_asked_by_the_next_run(tmp_path: Path, loopback: Loopback) -> None:
    settings = settings_of(tmp_path, loopback)
    write_source(settings, "notes", {"river.md": RIVER})
    build(settings)
    loopback.fault = lambda received: Reply.error(503) if "# Context" in str(received.body) else None
    assert not run(settings).failed
    assert [
        bool(row["error"]) for row in SourceTables(Home(settings.home)).read("answers", ALL_SOURCES).to_pylist()
    ] == [True]

    loopback.fault = lambda received: None
    assert run(settings).published is None
    assert [row["error"] for row in SourceTables(Home(settings.home)).read("answers", ALL_SOURCES).to_pylist()] == [
        None
    ]
    asked = len(loopback.requests)
    run(settings)
    assert len(loopback.requests) == asked

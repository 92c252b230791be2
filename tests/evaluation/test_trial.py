"""Another recipe is tried on a sample, by the stores of the home and without changing the home."""

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from lightrag_dagster.curation.desk import take
from lightrag_dagster.curation.rules import Decision, decisions_of
from lightrag_dagster.errors import BudgetExceededError, StoreError
from lightrag_dagster.evaluation.questions import FiledQuestion
from lightrag_dagster.evaluation.temporary import TemporaryHome
from lightrag_dagster.evaluation.trial import MODES_TRIED, try_recipe
from lightrag_dagster.settings import Settings, load_settings
from lightrag_dagster.spending.ledger import Ledger
from lightrag_dagster.storage.home import Home
from tests.conftest import pointing_to
from tests.loopback import Answer, Loopback
from tests.models.models import offline_answer, role_of
from tests.support import FLOOD, OFFICE, RIVER, build, published, write_source

OTHERS = {f"{number}.md": f"# Note {number}\n\nMara Quill read gauge {number} at Dunsrow." for number in range(4)}
QUESTIONS = [
    FiledQuestion(question="Who maintains the gauge?", documents=["notes/river.md"]),
    FiledQuestion(question="What did the flood damage?", documents=["notes/flood.md", "notes/gone.md"]),
]


def answer_with(model: str, entity: str) -> Callable[[dict[str, Any]], Answer]:
    """Answer by the offline rules; one model adds an entity to every chunk, and more damaged rows than allowed."""

    def chat(body: dict[str, Any]) -> Answer:
        text = offline_answer(body)
        if body["model"] == model and role_of(body) == "extract":
            damaged = "relation<|#|>A<|#|>\n" * 9
            text = f"{damaged}entity<|#|>{entity}<|#|>concept<|#|>It is everywhere.\n{text}"
        return Answer(text, usage={"prompt_tokens": 1000, "completion_tokens": 100, "total_tokens": 1100})

    return chat


def settings_in(folder: Path) -> Settings:
    return load_settings(
        home=folder / "home",
        sources=folder / "sources",
        llm={"provider": "openai", "model": "gpt-4o-mini"},
        extraction={"gleaning": 0},
    )


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory, _server: Loopback) -> Path:
    """The folder of a published home and its sources, to be copied."""
    folder = tmp_path_factory.mktemp("paid")
    settings = settings_in(folder)
    with pointing_to(_server):
        _server.chat = answer_with("gpt-4o", "Everywhere")
        write_source(settings, "notes", {"river.md": RIVER, "flood.md": FLOOD})
        write_source(settings, "others", {"office.md": OFFICE, **OTHERS})
        build(settings)
    return folder


@pytest.fixture
def paid(built: Path, tmp_path: Path, loopback: Loopback) -> Settings:
    loopback.chat = answer_with("gpt-4o", "Everywhere")
    shutil.copytree(built, tmp_path, dirs_exist_ok=True)
    return settings_in(tmp_path)


def spent(settings: Settings) -> float:
    return sum(entry.cost_usd for entry in Ledger(Home(settings.home).ledger).by_purpose().values())


def contents(folder: Path) -> dict[Path, bytes]:
    return {path: path.read_bytes() for path in folder.rglob("*") if path.is_file() and ".sqlite" not in path.name}


@pytest.mark.long
def test_a_trial_shows_what_a_backfill_would_change_and_cost(paid: Settings, loopback: Loopback) -> None:
    before, files, asked = spent(paid), contents(paid.home), len(loopback.requests)
    tried = paid.changed(llm={"model": "gpt-4o"})

    trial = try_recipe(paid, tried, 3, QUESTIONS, "try")

    assert (trial.documents, trial.all_chunks, trial.questions) == (3, 7, 1)
    assert (trial.before.chunks, trial.after.chunks) == (3, 3)
    assert trial.after.entities.keys() - trial.before.entities == {"Everywhere"}
    assert not trial.before.entities.keys() - trial.after.entities
    assert trial.before.usage.calls == 0
    assert trial.after.usage.calls == len(loopback.requests) - asked == 3
    assert spent(paid) - before == pytest.approx(trial.after.usage.cost_usd)
    assert trial.after.answers_cost_usd == pytest.approx(trial.after.usage.cost_usd)
    assert trial.backfill_cost_usd == pytest.approx(trial.after.usage.cost_usd * 7 / 3)
    assert trial.before.scores.keys() == trial.after.scores.keys() == set(MODES_TRIED)
    assert contents(paid.home) == files

    again = try_recipe(paid, tried, 3, QUESTIONS, "try")

    assert (again.after.usage.calls, again.after.answers_cost_usd) == (0, trial.after.answers_cost_usd)
    assert (again.after.entities, again.after.relations) == (trial.after.entities, trial.after.relations)
    build(tried, backfill=True)
    assert len(loopback.requests) - asked == 7, "the backfill asks about the other chunks alone"


@pytest.mark.long
def test_the_whole_sample_is_what_the_home_has(paid: Settings) -> None:
    trial = try_recipe(paid, paid, 100, [], "try")
    rows = published(paid).rows
    for one in (trial.before, trial.after):
        assert (len(one.entities), len(one.relations)) == (rows["entities"], rows["relations"])
        assert (one.chunks, one.failed_chunks, one.usage.calls, one.scores) == (7, 0, 0, {})
    assert trial.before.answers_cost_usd == pytest.approx(spent(paid))
    assert trial.backfill_cost_usd == 0, "the home has all of it"


def test_decisions_of_commands_hold_in_the_sample(settings: Settings, tmp_path: Path) -> None:
    take(settings, [Decision(action="merge", names=("Mara Quill", "M. Quill"))])
    made = TemporaryHome(settings, tmp_path / "copy")
    assert decisions_of(made.settings) == decisions_of(settings) != []


@pytest.mark.long  # a whole trial; the counts are tested by the one above
def test_chunks_that_fail_are_counted(paid: Settings, loopback: Loopback) -> None:
    loopback.chat = lambda body: "no rows at all"
    trial = try_recipe(paid, paid.changed(llm={"model": "gpt-4o"}), 2, [], "try")
    assert (trial.before.failed_chunks, trial.after.failed_chunks) == (0, 2)
    assert trial.after.entities == {}


@pytest.mark.long
def test_a_trial_keeps_to_the_budget(paid: Settings, loopback: Loopback) -> None:
    asked = len(loopback.requests)
    with pytest.raises(BudgetExceededError):
        try_recipe(paid, paid.changed(llm={"model": "gpt-4o", "max_cost_usd": 0.0}), 3, [], "try")
    summing = paid.changed(merging={"summary_min_descriptions": 2})  # the home's own side asks too
    with pytest.raises(BudgetExceededError):
        try_recipe(summing, summing.changed(llm={"max_cost_usd": 0.0}), 3, [], "try")
    assert len(loopback.requests) == asked


@pytest.mark.long
def test_the_questions_of_a_trial_are_on_its_budget(paid: Settings) -> None:
    """They were in no ledger, so that no limit held for the steps that ask a model."""
    hopping = paid.changed(query={"hops": 1})
    try_recipe(hopping, hopping, 3, QUESTIONS, "try")
    assert Ledger(Home(paid.home).ledger).by_purpose()["hops"].calls > 0
    assert Ledger(Home(paid.home).ledger).spent("try") > 0


def test_without_documents_there_is_nothing_to_try(tmp_path: Path) -> None:
    settings = load_settings(home=tmp_path / "home", sources=tmp_path / "sources")
    write_source(settings, "notes", {"river.md": RIVER})
    with pytest.raises(StoreError, match=r"no document was accepted in .*; run `lightrag-dagster run` first"):
        try_recipe(settings, settings, 3, [], "try")

"""The gate before a backfill: a worse recipe is stopped after the gold passages, others go on."""

import shutil
from pathlib import Path

import pytest

from lightrag_dagster.errors import BudgetExceededError, WorseRecipeError
from lightrag_dagster.evaluation.gold.gate import Compared, to_ask, to_compare, try_gold
from lightrag_dagster.evaluation.gold.judged import find_passages
from lightrag_dagster.evaluation.gold.rows import read_gold
from lightrag_dagster.pipeline.situation import Situation
from lightrag_dagster.settings import Settings, load_settings
from lightrag_dagster.spending.ledger import Ledger
from lightrag_dagster.storage.home import Home
from tests.conftest import pointing_to
from tests.gold import chunk_name, names_in, passages, reads_with, write_gold
from tests.loopback import Loopback, Reply
from tests.support import build, snapshot_contents, write_source

RATES = {"good": (0.1, 0.05), "bad": (0.3, 0.05), "same": (0.1, 0.05)}
TEXTS = passages(24)
PRICE = (900 + 2 * 90) / 1e6  # of an answer


def settings_in(folder: Path, model: str = "good") -> Settings:
    return load_settings(
        home=folder / "home",
        sources=folder / "sources",
        llm={"provider": "openai", "model": model, "prices": {one: {"input": 1.0, "output": 2.0} for one in RATES}},
        extraction={"gleaning": 0},
        gold={"folder": folder / "gold"},
    )


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory, _server: Loopback) -> Path:
    folder = tmp_path_factory.mktemp("gold")
    with pointing_to(_server):
        _server.chat = reads_with(RATES)
        write_source(settings_in(folder), "notes", TEXTS)
        build(settings_in(folder))
    write_gold(folder / "gold" / "people.csv", list(TEXTS.values())[:20])
    return folder


@pytest.fixture
def folder(built: Path, tmp_path: Path, loopback: Loopback) -> Path:
    loopback.chat = reads_with(RATES)
    shutil.copytree(built, tmp_path, dirs_exist_ok=True)
    return tmp_path


def compared(settings: Settings, run: str | None = None) -> Compared:
    found = try_gold(Situation.looking(settings), settings, run)
    assert found
    return found


def asked(settings: Settings) -> dict[str, int]:
    situation = Situation.looking(settings)
    return dict(to_ask(situation, find_passages(situation, read_gold(settings.gold.folder))))


def test_a_worse_recipe_is_stopped_after_the_gold_passages_and_nothing_changes(
    folder: Path, loopback: Loopback
) -> None:
    before = snapshot_contents(settings_in(folder))
    worse = settings_in(folder, "bad")
    assert asked(worse) == {"extractions": 20}
    found = compared(worse)
    with pytest.raises(WorseRecipeError, match=r"over 20 gold passages its F1 is 0\.\d+ lower, .*nothing was changed"):
        found.require_better()
    assert found.usage.calls == len(loopback.requests) == 20
    assert found.facts()["cost_usd"] == pytest.approx(20 * PRICE)
    assert snapshot_contents(settings_in(folder)) == before
    assert compared(worse).is_worse
    assert len(loopback.requests) == 20  # the answers are stored
    build(worse, backfill=True)
    assert len(loopback.requests) == 24


@pytest.mark.parametrize(("model", "questions"), [("good", 0), ("same", 20)])
def test_a_recipe_that_is_as_good_goes_on(folder: Path, loopback: Loopback, model: str, questions: int) -> None:
    compared(settings_in(folder, model)).require_better()
    assert len(loopback.requests) == questions
    assert asked(settings_in(folder, model)) == {"extractions": questions}


def test_a_better_recipe_goes_on_and_is_measured(folder: Path) -> None:
    build(settings_in(folder, "bad"), backfill=True)
    found = compared(settings_in(folder))
    assert found.difference.low > 0
    assert not found.is_worse


def test_too_few_rows_are_not_compared(folder: Path, loopback: Loopback) -> None:
    tried = settings_in(folder, "bad")
    for texts in (list(TEXTS.values())[:2], [*list(TEXTS.values())[:2], *passages(30, names=9).values()]):
        write_gold(folder / "gold" / "people.csv", texts)  # of the second ones most are no chunks
        assert to_compare(Situation.looking(tried), read_gold(tried.gold.folder)) is None
        assert try_gold(Situation.looking(tried), tried) is None
    assert try_gold(Situation.looking(tried), tried.changed(gold={"folder": None})) is None
    assert loopback.requests == []


def test_a_home_before_its_first_run_has_nothing_to_compare(tmp_path: Path) -> None:
    write_gold(tmp_path / "gold" / "people.csv", TEXTS.values())
    settings = settings_in(tmp_path)
    settings.sources.mkdir()
    found = find_passages(Situation.looking(settings), read_gold(settings.gold.folder))
    assert (found.located.num_rows, len(found.gone)) == (0, 24)
    assert try_gold(Situation.looking(settings), settings) is None


def test_passages_that_get_no_answer_for_now_are_left_out(folder: Path, loopback: Loopback) -> None:
    unlucky = names_in(TEXTS["3.md"])[0]
    loopback.fault = lambda received: Reply.error(500) if unlucky in str(received.body) else None
    tried = settings_in(folder, "same").changed(llm={"max_retries": 0})
    assert compared(tried).difference.questions == 19


def test_a_limit_of_the_run_holds_for_the_gate_and_what_follows(folder: Path, loopback: Loopback) -> None:
    tried = settings_in(folder, "same").changed(llm={"max_cost_usd": 0.02, "max_output_tokens": 2000})
    with pytest.raises(BudgetExceededError, match="all that was answered is kept"):
        compared(tried, "run-1")
    spent = Ledger(Home.of(tried).ledger).spent("run-1")
    assert 0 < spent <= 0.02
    assert spent == pytest.approx(PRICE * len(loopback.requests))


def test_an_edit_elsewhere_leaves_a_passage_valid_and_one_of_its_text_says_that_it_is_gone(folder: Path) -> None:
    settings = settings_in(folder)
    gold = read_gold(settings.gold.folder)
    (settings.sources / "notes" / "1.md").write_text(TEXTS["1.md"] + " And more.")
    (settings.sources / "notes" / "2.md").rename(settings.sources / "notes" / "moved.md")
    write_source(settings, "copies", {"same.md": TEXTS["3.md"]})
    build(settings.changed(documents={"accept_deletes": True}))
    found = find_passages(Situation.looking(settings), gold)
    assert found.gone == [chunk_name(TEXTS["1.md"])]
    located = {one["chunk"]: one["source"] for one in found.located.to_pylist()}
    assert (len(located), located[chunk_name(TEXTS["3.md"])]) == (19, "copies"), "once, of the first source"
    assert {name: tables["chunks"].num_rows for name, tables in found.tables.items()} == {"copies": 1, "notes": 18}

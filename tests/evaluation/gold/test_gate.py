"""The gate before a backfill: a worse recipe is stopped after the gold passages, others go on."""

import shutil
from pathlib import Path

import pytest

from lightrag_dagster.errors import WorseRecipeError
from lightrag_dagster.evaluation.gold.gate import LEAST_ROWS, require_better, to_ask, try_gold
from lightrag_dagster.evaluation.gold.rows import read_gold
from lightrag_dagster.pipeline.situation import Situation
from lightrag_dagster.settings import Settings, load_settings
from tests.conftest import pointing_to
from tests.gold import passages, reads_with, write_gold
from tests.loopback import Loopback
from tests.support import build, snapshot_contents, write_source

RATES = {"good": (0.1, 0.05), "bad": (0.3, 0.05), "same": (0.1, 0.05)}
TEXTS = passages(24)


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


def test_a_worse_recipe_is_stopped_after_the_gold_passages_and_nothing_changes(
    folder: Path, loopback: Loopback
) -> None:
    before = snapshot_contents(settings_in(folder))
    worse = settings_in(folder, "bad")
    assert to_ask(Situation.looking(worse), read_gold(worse.gold.folder)) == 20
    with pytest.raises(WorseRecipeError, match=r"over 20 gold passages its F1 is 0\.\d+ lower, .*nothing was changed"):
        require_better(worse)
    assert len(loopback.requests) == 20
    assert snapshot_contents(settings_in(folder)) == before
    with pytest.raises(WorseRecipeError):
        require_better(worse)
    assert len(loopback.requests) == 20  # the answers are stored
    build(worse, backfill=True)
    assert len(loopback.requests) == 24


@pytest.mark.parametrize("model", ["good", "same"])
def test_a_recipe_that_is_as_good_goes_on(folder: Path, loopback: Loopback, model: str) -> None:
    require_better(settings_in(folder, model))
    assert len(loopback.requests) == (20 if model == "same" else 0)


def test_a_better_recipe_goes_on_and_is_measured(folder: Path) -> None:
    build(settings_in(folder, "bad"), backfill=True)
    tried = settings_in(folder)
    gold = read_gold(tried.gold.folder)
    compared = try_gold(Situation.looking(tried), tried, gold)
    assert compared.difference.low > 0
    assert not compared.is_worse


def test_too_few_rows_are_not_compared(folder: Path, loopback: Loopback) -> None:
    write_gold(folder / "gold" / "people.csv", list(TEXTS.values())[:2])
    assert read_gold(folder / "gold").right < LEAST_ROWS
    require_better(settings_in(folder, "bad"))
    assert loopback.requests == []


def test_passages_that_get_no_answer_for_now_are_left_out(folder: Path, loopback: Loopback) -> None:
    tried = settings_in(folder, "same")
    answers = loopback.chat
    loopback.chat = lambda body: "" if "nor" in str(body) and "vik3 " in str(body) else answers(body)
    compared = try_gold(Situation.looking(tried), tried, read_gold(tried.gold.folder))
    assert 19 <= compared.difference.questions <= 20

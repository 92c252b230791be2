"""Scores and the gate beside models that lose and forge rows at known rates."""

from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

from lightrag_dagster.evaluation.gold.gate import Comparison, try_gold
from lightrag_dagster.evaluation.gold.judged import find_passages, judge
from lightrag_dagster.evaluation.gold.rows import read_gold
from lightrag_dagster.evaluation.gold.scores import Score, score
from lightrag_dagster.pipeline.recipes import Recipes
from lightrag_dagster.pipeline.situation import Situation
from lightrag_dagster.settings import Settings, load_settings
from lightrag_dagster.spending.account import Account
from lightrag_dagster.stages.documents.sources import find_sources
from lightrag_dagster.storage.home import Home
from lightrag_dagster.storage.tables.source_tables import SourceTables
from lightrag_dagster.testing.building import ingest
from tests.conftest import pointing_to
from tests.gold import passages, reads_with, write_gold
from tests.loopback import Loopback
from tests.support import write_source

pytestmark = pytest.mark.long

RATES = {"good": (0.10, 0.05), "same": (0.10, 0.05), "bad": (0.30, 0.05), "forging": (0.10, 0.50)}
SEEDS, CHUNKS = 20, 40
TEXTS = passages(SEEDS * CHUNKS)


def settings_in(folder: Path, stored: str, model: str, gold: str = "all.csv") -> Settings:
    """Return settings of the home whose rows one model made, for another model and some gold rows."""
    return load_settings(
        home=folder / stored,
        sources=folder / "sources",
        llm={"provider": "openai", "model": model, "prices": {model: {"input": 1.0, "output": 2.0}}},
        extraction={"gleaning": 0},
        gold={"folder": folder / "gold" / gold},
    )


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory, _server: Loopback) -> Iterator[Path]:
    """The folder of the homes `good` and `bad`, and of gold of all passages, and of those of each seed."""
    folder = tmp_path_factory.mktemp("rates")
    texts = list(TEXTS.values())
    write_gold(folder / "gold" / "all.csv", texts, relations=True)
    for seed in range(SEEDS):
        write_gold(folder / "gold" / f"{seed}.csv", texts[seed * CHUNKS : (seed + 1) * CHUNKS], relations=True)
    with pointing_to(_server):
        _server.chat = reads_with(RATES, relations=True)
        for model in ("good", "bad"):
            settings = settings_in(folder, model, model)
            write_source(settings, "notes", TEXTS)
            tables, recipes = SourceTables(Home.of(settings)), Recipes.of(settings)
            ingest(find_sources(settings)["notes"], tables, recipes, Account("test", "notes"))
        yield folder


@pytest.fixture
def reading(loopback: Loopback) -> None:
    loopback.chat = reads_with(RATES, relations=True)


def scores(settings: Settings) -> dict[str, Score]:
    situation, gold = Situation.looking(settings), read_gold(settings.gold.folder)
    found = find_passages(situation, gold)
    rows = judge(gold, found.located, found.tables.values(), situation.decided.curation, settings.merging.types)
    return {one.kind: one for one in score(rows) if one.grouping == "all"}


@pytest.mark.parametrize("model", ["good", "bad"])
def test_scores_are_the_rates_within_their_intervals(world: Path, model: str) -> None:
    lost, forged = RATES[model]
    recall, precision = 1 - lost, (1 - lost) / (1 - lost + forged)
    rates = {"recall": recall, "precision": precision, "f1": 2 * recall * precision / (recall + precision)}
    inside = Counter[bool]()
    for gold in ("all.csv", *(f"{seed}.csv" for seed in range(SEEDS))):
        found = scores(settings_in(world, model, model, gold))
        for kind in ("entity", "relation"):
            for name, rate in rates.items():
                mean, low, high, chunks = getattr(found[kind], name)
                assert chunks == (SEEDS * CHUNKS if gold == "all.csv" else CHUNKS)
                inside[low <= rate <= high] += 1
                assert gold != "all.csv" or mean == pytest.approx(rate, abs=0.02)
    assert inside[True] >= 0.85 * inside.total(), "of 95% intervals over 40 passages"


@pytest.mark.usefixtures("reading")
@pytest.mark.parametrize(
    ("stored", "model", "least_stopped", "most_stopped"),
    [("good", "bad", 19, 20), ("bad", "good", 0, 1), ("good", "same", 0, 3), ("good", "forging", 19, 20)],
)
def test_the_gate_stops_what_is_worse(
    world: Path, stored: str, model: str, least_stopped: int, most_stopped: int
) -> None:
    stopped = 0
    for seed in range(SEEDS):
        settings = settings_in(world, stored, f"{model}-{seed}", f"{seed}.csv")
        found = try_gold(settings)
        assert isinstance(found, Comparison)
        assert found.difference.questions == CHUNKS
        stopped += found.is_worse
    assert least_stopped <= stopped <= most_stopped

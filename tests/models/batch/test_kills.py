"""Killed at any moment of an extraction by batch and run again, it submits nothing twice and ends the same."""

import random
from collections import Counter
from pathlib import Path
from typing import NamedTuple

import pyarrow as pa
import pytest

from lightrag_dagster.spending.ledger import Ledger
from lightrag_dagster.storage.home import Home
from tests.conftest import pointing_to
from tests.kills import run_and_kill
from tests.loopback import Loopback
from tests.loopback_batches import Fate
from tests.models.batch.steps import go_through_all
from tests.models.models import offline_answer


class Undisturbed(NamedTuple):
    """Rows, number of calls and requests, and cost of an extraction that is not killed."""

    rows: pa.Table
    calls: int
    requests: int
    paid: tuple[int, int, float]


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory: pytest.TempPathFactory, _server: Loopback) -> Undisturbed:
    with pointing_to(_server):
        _behave(_server)
        home = Home(tmp_path_factory.mktemp("undisturbed"))
        rows = go_through_all(home)
    assert _paid(home)[2] > 0
    return Undisturbed(rows, len(_server.requests), len(_server.batches.asked()), _paid(home))


@pytest.mark.long  # test_bought_once.py kills one in real time
@pytest.mark.parametrize("seed", range(22))
def test_a_killed_extraction_submits_nothing_twice(
    undisturbed: Undisturbed, loopback: Loopback, tmp_path: Path, seed: int
) -> None:
    _behave(loopback)
    home, chance = Home(tmp_path / "home"), random.Random(seed)
    number, later = chance.randint(1, undisturbed.calls), chance.choice([0.0, 0.002, 0.005, 0.02])

    run_and_kill(loopback, ["tests.models.batch.steps", str(home.root)], number, later)

    assert go_through_all(home) == undisturbed.rows
    assert max(Counter(loopback.batches.asked()).values()) == 1
    assert len(loopback.batches.asked()) == undisturbed.requests
    assert _paid(home) == pytest.approx(undisturbed.paid)


def _paid(home: Home) -> tuple[int, int, float]:
    entry = Ledger(home.ledger).by_purpose()["extract"]
    return entry.calls, entry.output_tokens, entry.cost_usd


def _behave(server: Loopback) -> None:
    server.reset()
    server.chat, server.batches.spoil = offline_answer, lambda batch: Fate(looks=1)

"""Killed at any moment of an extraction by batch and run again, it submits nothing twice and ends the same."""

import os
import random
import signal
import subprocess
import sys
import threading
from collections import Counter
from pathlib import Path

import pytest

from lightrag_dagster.stores.home import Home
from tests.llm.batch.steps import finish, llm
from tests.llm.models import offline_answer
from tests.loopback import Loopback, Received
from tests.loopback_batches import Fate

ROOT = Path(__file__).parents[3]
SETTINGS = llm(max_requests=3, enqueued_tokens=5_000)


@pytest.mark.parametrize("seed", [*range(4), *(pytest.param(seed, marks=pytest.mark.long) for seed in range(4, 24))])
def test_a_killed_extraction_submits_nothing_twice(loopback: Loopback, tmp_path: Path, seed: int) -> None:
    loopback.chat, loopback.batches.spoil = offline_answer, lambda batch: Fate(looks=1)
    undisturbed, _ = finish(Home(tmp_path / "undisturbed"), SETTINGS, gleaning=1, most_steps=100)
    calls, requests = len(loopback.requests), len(loopback.batches.asked())
    loopback.requests.clear()
    loopback.batches.reset()
    loopback.batches.spoil = lambda batch: Fate(looks=1)
    home, chance = Home(tmp_path / "home"), random.Random(seed)

    _kill(home, loopback, chance.randint(1, calls), chance.choice([0.0, 0.002, 0.005, 0.02]))
    rows, _ = finish(home, SETTINGS, gleaning=1, most_steps=100)

    assert rows == undisturbed
    assert max(Counter(loopback.batches.asked()).values()) == 1
    assert len(loopback.batches.asked()) == requests


def _kill(home: Home, server: Loopback, number: int, later: float) -> None:
    """Start the extraction, and kill it some seconds after a call of its."""
    victim = subprocess.Popen(
        [sys.executable, "-m", "tests.llm.batch.steps", str(home.root)],
        cwd=ROOT,
        stderr=subprocess.PIPE,
        env=os.environ | {"PYTHONPATH": str(ROOT)},
    )

    def strike(received: Received) -> None:
        if len(server.requests) == number:
            threading.Timer(later, victim.kill).start()

    server.fault = strike
    _, errors = victim.communicate(timeout=60)
    server.fault = lambda received: None
    assert victim.returncode == -signal.SIGKILL, errors.decode()

import asyncio
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from lightrag_dagster.models.rate_limit import RateLimits
from tests.loopback import Loopback


async def _peak(pace: RateLimits, calls: int) -> int:
    """Return how many of so many calls were in flight at once."""
    now = most = 0

    async def call() -> None:
        nonlocal now, most
        async with pace.places:
            now += 1
            most = max(most, now)
            await asyncio.sleep(0.01)
            now -= 1

    await asyncio.gather(*(call() for _ in range(calls)))
    return most


def test_no_more_are_let_through_than_allowed() -> None:
    assert asyncio.run(_peak(RateLimits(4), 20)) == 4


@pytest.mark.parametrize(
    ("limits", "tokens", "least", "most"),
    [
        ({"requests_per_minute": 3}, 1, 1, 1),
        ({"requests_per_minute": 1220}, 1, 22, 30),
        ({"tokens_per_minute": 12_200}, 10, 22, 30),
        ({"tokens_per_minute": 12_200}, 220, 1, 1),
        ({"tokens_per_minute": 12_200}, 500, 0, 0),
    ],
)
def test_no_more_goes_out_than_a_minute_allows(limits: dict[str, int], tokens: int, least: int, most: int) -> None:
    """A second's share at once, 20 requests or 200 tokens, and 20 a second after that."""

    async def measure() -> int:
        """Return how many calls are through after a quarter of a second."""
        through, pace = 0, RateLimits(99, limits.get("requests_per_minute"), limits.get("tokens_per_minute"))

        async def call() -> None:
            nonlocal through
            await pace.wait(tokens)
            through += 1

        calls = [asyncio.create_task(call()) for _ in range(40)]
        await asyncio.sleep(0.25)
        for one in calls:
            one.cancel()
        return through

    assert least <= asyncio.run(measure()) <= most


ASK = """
import asyncio, sys
from pathlib import Path
from lightrag_dagster.core.protocols import ChatRequest, Message
from lightrag_dagster.models.providers import open_chat_model
from lightrag_dagster.settings import LLMSettings
from lightrag_dagster.storage.home import Home

async def ask():
    limits = LLMSettings(provider="openai", model="gpt-4o-mini", requests_per_minute=1200, max_concurrency=4)
    async with open_chat_model(limits, Home(Path(sys.argv[1])), "extract") as model:
        questions = [ChatRequest("extract", (Message("user", f"{sys.argv[2]} {number}"),)) for number in range(24)]
        await asyncio.gather(*(model.complete(question) for question in questions))

asyncio.run(ask())
"""


@pytest.mark.long  # test_ledger.py shares a rate limit
def test_processes_share_the_limit_and_a_killed_one_holds_up_nobody(loopback: Loopback, tmp_path: Path) -> None:
    """1200 a minute are 20 a second, after a second's share of them."""
    workers = [subprocess.Popen([sys.executable, "-c", ASK, str(tmp_path), name]) for name in ("a", "b", "killed")]
    while not any("killed" in str(one.body) for one in loopback.requests) and workers[-1].poll() is None:
        time.sleep(0.01)
    workers[-1].kill()
    assert [worker.wait(60) for worker in workers] == [0, 0, -signal.SIGKILL]

    arrived = sorted(one.arrived for one in loopback.requests)
    assert len(arrived) >= 48
    # A second's share, and a second and a quarter, of which a busy machine may deliver the first ones late.
    for earlier, later in zip(arrived, arrived[45:], strict=False):
        assert later - earlier >= 0.8
    assert arrived[-1] - arrived[0] < 20

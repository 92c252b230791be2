"""Workers of an engine ask the model under the limits of one process, and a killed one buys nothing twice."""

import os
import signal
import threading
from collections import Counter
from contextlib import suppress
from functools import partial
from pathlib import Path

import psutil
import pytest

from lightrag_dagster.models.providers import open_chat_model
from lightrag_dagster.pipeline.chunks import chunk_source
from lightrag_dagster.pipeline.documents import read_source
from lightrag_dagster.pipeline.extractions import extract_source
from lightrag_dagster.pipeline.recipes import Recipes
from lightrag_dagster.settings import load_settings
from lightrag_dagster.stages.documents.sources import find_source
from lightrag_dagster.storage.home import Home
from lightrag_dagster.storage.tables import shards
from lightrag_dagster.storage.tables.source_tables import SourceTables
from tests.loopback import Loopback, Received, Reply
from tests.models.models import offline_answer
from tests.support import write_source

CHUNKS, KILLED_AT = 40, 25


@pytest.fixture
def tables(tmp_path: Path, loopback: Loopback, monkeypatch: pytest.MonkeyPatch) -> SourceTables:
    """Tables of a home whose source has two shards of chunks."""
    monkeypatch.setattr(shards, "ROWS", CHUNKS // 2)
    loopback.chat, loopback.delay = offline_answer, 0.03
    return SourceTables(Home(tmp_path / "home"))


def extract(tables: SourceTables, in_flight: int) -> None:
    home = tables.home.root
    settings = load_settings(
        home=home,
        sources=home.with_name("sources"),
        engine="processes",
        extraction={"gleaning": 0},
        llm={"provider": "openai", "model": "gpt-4o-mini", "max_retries": 0, "max_concurrency": in_flight},
    )
    write_source(settings, "notes", {f"{number}.txt": f"Ulla Berg saw gauge {number}." for number in range(CHUNKS)})
    here = Recipes.of(settings.changed(engine="local"))  # workers take seconds to start, for each step anew
    read_source(find_source(settings, "notes"), tables, here)
    chunk_source("notes", tables, here)
    extract_source(
        "notes", tables, Recipes.of(settings), partial(open_chat_model, settings.llm, tables.home, "extract", None)
    )
    assert tables.read("extractions", "notes")["error"].drop_null().to_pylist() == []
    assert tables.require("extractions", "notes").counts["status"] == {"ok": CHUNKS}


def newest_worker() -> int:
    """Return the process of an engine that was started last; other tests may have left some, which end meanwhile."""
    started: dict[int, float] = {}
    for one in psutil.Process().children(recursive=True):
        with suppress(psutil.NoSuchProcess):
            if "spawn_main" in " ".join(one.cmdline()):
                started[one.pid] = one.create_time()
    return max(started, key=started.__getitem__)


@pytest.mark.long
def test_all_workers_together_have_the_requests_in_flight_of_one_process(
    tables: SourceTables, loopback: Loopback
) -> None:
    extract(tables, in_flight=8)
    assert len(loopback.requests) == CHUNKS
    assert 1 < loopback.peak <= 8


@pytest.mark.long
def test_workers_keep_to_the_requests_in_flight_of_one_process_and_a_killed_one_buys_nothing_twice(
    tables: SourceTables, loopback: Loopback
) -> None:
    lock, killed, in_flight = threading.Lock(), list[int](), list[int]()

    def kill(_: Received) -> Reply | None:
        with lock:
            if len(loopback.requests) == KILLED_AT and not killed:
                in_flight.append(loopback.peak)
                killed.append(newest_worker())
                os.kill(killed[0], signal.SIGKILL)
        return None

    loopback.fault = kill
    extract(tables, in_flight=2)
    assert len(killed) == 1
    assert in_flight == [2]
    asked = Counter(str(one.body["messages"]) for one in loopback.requests)
    assert len(asked) == CHUNKS
    # The pool of a killed worker ends whole: what was not answered yet, one question a worker, is asked again.
    assert asked.total() - CHUNKS <= 2

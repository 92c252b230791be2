"""A process that leaves a knowledge base open ends at once, by itself and with its own exit code."""

import os
import signal
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from lightrag_dagster import KnowledgeBase
from tests.query.published import SOURCES

ROOT = Path(__file__).parents[2]
QUESTION = "Who closed Station 14 in the flood?"
SECONDS = 60
"""Long after this a process that does not end is taken for one that never will."""

# One process imports everything, uses none of it, and is forked for each case. To free all that it imported would take
# most of the time of each; what a case opens is freed.
CASES = f"""
import asyncio, gc, os, signal, socket, sys, threading, time
import anyio._backends._asyncio, genai_prices.data, httpcore2, lancedb.table, truststore
from lightrag_dagster import Filters, KnowledgeBase
from lightrag_dagster.core.tokens import load_tokenizer
from lightrag_dagster.models import offline, openai_chat
from lightrag_dagster.query import knowledge_base, ppr, scope
from lightrag_dagster.settings import load_settings
from lightrag_dagster.spending import ledger
from lightrag_dagster.storage import responses

QUESTION = {QUESTION!r}

def wait_for(started):
    for name, pid in started.items():
        end = time.monotonic() + {SECONDS}
        while not (found := os.waitpid(pid, os.WNOHANG))[0] and time.monotonic() < end:
            time.sleep(0.01)
        if not found[0]:
            os.kill(pid, signal.SIGKILL)
            found = os.waitpid(pid, 0)
        print(name, os.waitstatus_to_exitcode(found[1]), flush=True)

def hanging(host="127.0.0.1"):
    # Connections are taken and never answered.
    server = socket.create_server(("127.0.0.1", 0))
    os.environ |= {{"OPENAI_API_KEY": "none", "OPENAI_BASE_URL": f"http://{{host}}:{{server.getsockname()[1]}}/v1"}}
    settings = load_settings(home=sys.argv[1], llm={{"provider": "openai", "timeout": 1000}})
    return server, KnowledgeBase.open(settings=settings)

def interrupt_after(wait):
    threading.Thread(target=lambda: (wait(), os.kill(os.getpid(), signal.SIGINT)), daemon=True).start()

def raised():
    knowledge = KnowledgeBase.open(sys.argv[1])
    knowledge.retrieve(QUESTION, filters=Filters(sources="office"))
    raise ValueError(knowledge.retrieve(QUESTION, mode="local"))

def exited():
    global kept
    kept = KnowledgeBase.open(sys.argv[1])
    kept.query(QUESTION)
    sys.exit(3)

def interrupted():
    knowledge = KnowledgeBase.open(sys.argv[1])
    knowledge.query_batch([QUESTION] * 3)
    signal.raise_signal(signal.SIGINT)

def half_read():
    global pieces
    pieces = KnowledgeBase.open(sys.argv[1]).stream(QUESTION)
    next(pieces)

def half_read_by_a_task():
    async def main():
        async for piece in KnowledgeBase.open(sys.argv[1]).astream(QUESTION):
            sys.exit(4)
    asyncio.run(main())

def hanging_task():
    async def main():
        task = asyncio.create_task(knowledge.aquery(QUESTION, mode="naive"))
        await asyncio.to_thread(server.accept)
        sys.exit(5)
    server, knowledge = hanging()
    asyncio.run(main())

def hanging_batch():
    server, knowledge = hanging()
    interrupt_after(server.accept)
    knowledge.query_batch([f"{{QUESTION}} {{number}}" for number in range(9)], mode="naive")

def hanging_stream():
    server, knowledge = hanging()
    interrupt_after(server.accept)
    next(knowledge.stream(QUESTION, mode="naive"))

def hanging_lookup():
    looked_up = threading.Event()
    socket.getaddrinfo = lambda *arguments, **options: (looked_up.set(), threading.Event().wait())
    server, knowledge = hanging("models.invalid")
    interrupt_after(looked_up.wait)
    knowledge.query(QUESTION, mode="naive")

load_tokenizer(load_settings().chunking.encoding).count("a")
gc.freeze()
started = {{}}
for run in (raised, exited, interrupted, half_read, half_read_by_a_task, hanging_task, hanging_batch, hanging_stream,
            hanging_lookup):
    if pid := os.fork():
        started[run.__name__] = pid
    else:
        run()
        break
else:
    wait_for(started)
    gc.unfreeze()
    knowledge = KnowledgeBase.open(sys.argv[1])
    print(knowledge.retrieve(QUESTION).chunks[0].path)
"""


def test_every_way_to_end(published_home: Path) -> None:
    ended = subprocess.run(
        [sys.executable, "-W", "always::ResourceWarning", "-c", CASES, str(published_home)],
        capture_output=True,
        text=True,
        check=False,
        cwd=published_home.parent,
        env=os.environ | {"PYTHONPATH": str(ROOT)},
        timeout=10 * SECONDS,
    )
    *cases, last = ended.stdout.splitlines()
    assert dict(line.split() for line in cases) == {
        "raised": "1",
        "exited": "3",
        "interrupted": str(-signal.SIGINT),
        "half_read": "0",
        "half_read_by_a_task": "4",
        "hanging_task": "5",
        "hanging_batch": str(-signal.SIGINT),
        "hanging_stream": str(-signal.SIGINT),
        "hanging_lookup": str(-signal.SIGINT),
    }, ended.stderr
    assert (last, ended.returncode) == ("flood.md", 0), ended.stderr
    assert "was left open" in ended.stderr
    assert "Fatal Python error" not in ended.stderr


def test_what_nothing_refers_to_any_more_is_closed_with_a_warning(published_home: Path) -> None:
    before = threading.active_count()
    knowledge = KnowledgeBase.open(published_home)
    knowledge.query_batch([QUESTION] * 2, mode="mix")
    with pytest.warns(ResourceWarning, match=r"KnowledgeBase\(gen-.* was left open; use a `with` block"):
        del knowledge
    assert threading.active_count() == before


def test_a_stream_keeps_what_it_reads_from_open(published_home: Path) -> None:
    pieces = KnowledgeBase.open(published_home).stream(QUESTION, mode="naive")
    with pytest.warns(ResourceWarning, match="left open"):
        text = "".join(pieces)
    assert text.startswith(SOURCES["archive"]["flood.md"].partition(". ")[2].strip())

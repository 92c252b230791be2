"""A program for `test_processes`: opens knowledge bases, ends without closing them, and forks while one is open.

Its argument is the home. It prints a line for each case: its name, and the exit code of a process of its own, or what
it found.
"""

# ruff: noqa: T201

import asyncio
import gc
import os
import signal
import socket
import sys
import threading
import time
import warnings
from collections.abc import Callable, Iterator
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import Any, get_args

from lightrag_dagster import Filters, KnowledgeBase
from lightrag_dagster.core.protocols import ChatRequest, Message
from lightrag_dagster.core.text.tokens import load_tokenizer
from lightrag_dagster.errors import ClosedError
from lightrag_dagster.models import openai_chat  # noqa: F401
from lightrag_dagster.query.filters import view  # noqa: F401
from lightrag_dagster.query.mode import ModeName
from lightrag_dagster.settings import load_settings
from lightrag_dagster.spending import ledger  # noqa: F401
from lightrag_dagster.storage.database import responses  # noqa: F401

# What a case needs is imported once, and none of it is used before the first forks.
for name in ("anyio._backends._asyncio", "genai_prices.data", "httpcore2", "lancedb.table", "truststore"):
    import_module(name)

HOME = Path(sys.argv[1])
QUESTION = "Who closed Station 14 in the flood?"
OFFICE = Filters(sources="office")
SECONDS = 60
"""Long after this, a process that has not ended is taken for one that never will."""

kept: list[Any] = []
"""What is still referred to when a process ends."""


def opened() -> KnowledgeBase:
    knowledge = KnowledgeBase.open(HOME)
    kept.append(knowledge)
    return knowledge


def hanging(host: str = "127.0.0.1") -> tuple[socket.socket, KnowledgeBase]:
    """Open it with a provider that takes connections and never answers."""
    server = socket.create_server(("127.0.0.1", 0))
    os.environ |= {"OPENAI_API_KEY": "none", "OPENAI_BASE_URL": f"http://{host}:{server.getsockname()[1]}/v1"}
    settings = load_settings(home=HOME, llm={"provider": "openai", "model": "gpt-4o-mini", "timeout": 1000})
    return server, KnowledgeBase.open(settings=settings)


def interrupt_after(wait: Callable[[], object]) -> None:
    def interrupt() -> None:
        wait()
        os.kill(os.getpid(), signal.SIGINT)

    threading.Thread(target=interrupt, daemon=True).start()


def raises() -> None:
    knowledge = KnowledgeBase.open(HOME)
    knowledge.retrieve(QUESTION, filters=OFFICE)
    raise ValueError(knowledge.retrieve(QUESTION, mode="local"))


def exits() -> None:
    opened().query(QUESTION)
    sys.exit(3)


def is_interrupted() -> None:
    opened().query_batch([QUESTION] * 3)
    signal.raise_signal(signal.SIGINT)


def reads_half() -> None:
    pieces = KnowledgeBase.open(HOME).stream(QUESTION)
    next(pieces)
    kept.append(pieces)


def reads_half_in_a_task() -> None:
    async def main() -> None:
        async for _ in KnowledgeBase.open(HOME).astream(QUESTION):
            sys.exit(4)

    asyncio.run(main())


def exits_while_a_task_hangs() -> None:
    async def main() -> None:
        kept.append(asyncio.create_task(knowledge.aquery(QUESTION, mode="naive")))
        await asyncio.to_thread(server.accept)
        sys.exit(5)

    server, knowledge = hanging()
    asyncio.run(main())


def is_interrupted_while_a_batch_hangs() -> None:
    server, knowledge = hanging()
    interrupt_after(server.accept)
    knowledge.query_batch([f"{QUESTION} {number}" for number in range(9)], mode="naive")


def is_interrupted_while_a_stream_hangs() -> None:
    server, knowledge = hanging()
    interrupt_after(server.accept)
    next(knowledge.stream(QUESTION, mode="naive"))


def is_interrupted_while_an_address_is_looked_up() -> None:
    looked_up = threading.Event()

    def look_up(*arguments: object, **options: object) -> None:
        looked_up.set()
        threading.Event().wait()

    socket.getaddrinfo = look_up  # type: ignore[assignment]
    _, knowledge = hanging("models.invalid")
    interrupt_after(looked_up.wait)
    knowledge.query(QUESTION, mode="naive")


def is_forked() -> None:
    """Ask a knowledge base that the parent opened, in every way; each must refuse."""
    answered = [name for name, ask in _ways() if not _is_refused(ask)]
    print("answered in a forked process:", *answered or ["none"], flush=True)
    knowledge.close()
    kept.clear()
    gc.collect()
    sys.exit(6)


def is_forked_and_ends() -> None:
    sys.exit(7)


def _ways() -> Iterator[tuple[str, Callable[[], object]]]:
    prepared = kept[1]
    for mode in get_args(ModeName):
        yield mode, partial(knowledge.retrieve, QUESTION, mode=mode)
        yield f"{mode} of a source", partial(knowledge.query, QUESTION, mode=mode, filters=OFFICE)
    request = ChatRequest("answer", (Message("user", QUESTION),))
    yield "open", lambda: KnowledgeBase.open(HOME)
    yield "keywords", lambda: knowledge.keywords(QUESTION, mode="mix")
    yield "context", lambda: knowledge.context(QUESTION)
    yield "prompt", lambda: knowledge.prompt(QUESTION)
    yield "query_batch", lambda: knowledge.query_batch([QUESTION])
    yield "stream", lambda: next(knowledge.stream(QUESTION))
    yield "pieces", lambda: next(knowledge.pieces(prepared))
    yield "half a stream", lambda: next(kept[2])
    yield "answer", lambda: knowledge.answer(prepared)
    yield "complete", lambda: knowledge.complete(request)
    yield "map", lambda: knowledge.map(str, [1])
    yield "cypher", lambda: knowledge.cypher("MATCH (e:Entity) RETURN e.name")
    yield "aquery", lambda: asyncio.run(knowledge.aquery(QUESTION))
    yield "aretrieve", lambda: asyncio.run(knowledge.aretrieve(QUESTION, filters=OFFICE))
    yield "astream", lambda: asyncio.run(anext(knowledge.astream(QUESTION)))  # type: ignore[arg-type]


def _is_refused(ask: Callable[[], object]) -> bool:
    try:
        ask()
    except ClosedError:
        return True
    return False


def forked(cases: list[Callable[[], None]]) -> None:
    """Run each case in a forked process, and print how it ends."""
    started = {}
    for case in cases:
        if pid := os.fork():
            started[case.__name__] = pid
        else:
            case()
            sys.exit()
    for name, pid in started.items():
        end = time.monotonic() + SECONDS
        while not (found := os.waitpid(pid, os.WNOHANG))[0] and time.monotonic() < end:
            time.sleep(0.01)
        if not found[0]:
            os.kill(pid, signal.SIGKILL)
            found = os.waitpid(pid, 0)
        print(name, os.waitstatus_to_exitcode(found[1]), flush=True)


warnings.filterwarnings("ignore", category=DeprecationWarning)
warnings.filterwarnings("ignore", message="lancedb fork support")
load_tokenizer(load_settings().chunking.encoding).count("a")
gc.freeze()  # to free all that is imported would take each process longer than its case
ENDS = [
    is_interrupted_while_a_batch_hangs,
    exits,
    raises,
    is_interrupted,
    reads_half,
    reads_half_in_a_task,
    exits_while_a_task_hangs,
    is_interrupted_while_a_stream_hangs,
    is_interrupted_while_an_address_is_looked_up,
]
forked(ENDS)
gc.unfreeze()  # what ends below frees all of it
knowledge = opened()
before = [knowledge.retrieve(QUESTION, mode=mode, filters=OFFICE) for mode in get_args(ModeName)]
kept += [knowledge.prepare(QUESTION), knowledge.stream(QUESTION)]
next(kept[2])
forked([is_forked, is_forked_and_ends])
after = [knowledge.retrieve(QUESTION, mode=mode, filters=OFFICE) for mode in get_args(ModeName)]
print("the parent", "goes on" if before == after and "".join(kept[2]) else "was harmed")
# And here it is left open.

"""Processes that answer questions: what ends one costs one question, and none outlives what started it."""

import gc
import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import psutil
import pytest

from lightrag_dagster.core.child import Child, ChildEndedError, ChildStartError, Pool, PoolClosedError

ROOT = Path(__file__).parents[2]
MODULE = "tests.core.answering"


@pytest.fixture
def pool() -> Iterator[Pool]:
    opened = Pool(MODULE)
    yield opened
    opened.close()


def saying(what: str, value: object = None, seconds: float = 20) -> Callable[[Child], Any]:
    """Return an exchange of one question and its answer."""

    def exchange(child: Child) -> Any:
        child.send(json.dumps([what, value]).encode())
        return json.loads(child.receive(seconds))

    return exchange


def is_gone(pid: int) -> bool:
    """Return whether a process has ended, or does so within seconds."""
    for _ in range(200):
        try:
            if psutil.Process(pid).status() == psutil.STATUS_ZOMBIE:
                return True
        except psutil.NoSuchProcess:
            return True
        time.sleep(0.05)
    return False


def test_a_process_answers_one_question_after_the_other(pool: Pool) -> None:
    first = pool.ask(saying("pid"))
    assert first != os.getpid()
    long = "x" * 3_000_000
    assert [pool.ask(saying("echo", value)) for value in ("", "é", long)] == ["", "é", long]
    assert pool.ask(saying("pid")) == first


def test_it_finds_modules_where_this_process_does_and_gets_no_keys(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-secret")
    monkeypatch.setenv("MODELS_FOLDER", "/models")
    Path("types.py").write_text("raise SystemExit")  # in the working folder
    pool = Pool(MODULE, prefixes=("MODELS_",))
    assert pool.ask(saying("path")) == sys.path
    environment = pool.ask(saying("environment"))
    assert "sk-secret" not in environment.values()
    assert environment["MODELS_FOLDER"] == "/models"
    pool.close()


@pytest.mark.parametrize("end", ["SIGSEGV", "SIGKILL", "SIGABRT"])
def test_a_crash_is_named_and_costs_one_question(pool: Pool, end: str) -> None:
    before = pool.ask(saying("pid"))
    with pytest.raises(ChildEndedError) as ended:
        pool.ask(saying("end", end))
    assert str(ended.value) == f" ({end})"
    assert is_gone(before)
    assert pool.ask(saying("pid")) != before


def test_an_error_inside_ends_the_process(pool: Pool) -> None:
    with pytest.raises(ChildEndedError, match=r"^$"):
        pool.ask(saying("fail", "reason"))


def test_a_process_that_cannot_begin_says_why() -> None:
    with pytest.raises(ChildStartError, match=r"^: cannot begin$"):
        Pool(MODULE, ["broken"]).ask(saying("pid"))
    with pytest.raises(ChildStartError, match=r"^: No module named 'tests\.core\.nowhere'$"):
        Pool("tests.core.nowhere").ask(saying("pid"))


def test_a_process_that_cannot_be_started_says_why(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "executable", "/nowhere/python")
    with pytest.raises(ChildStartError, match="No such file or directory"):
        Pool(MODULE).ask(saying("pid"))


@pytest.mark.parametrize("what", ["sleep", "begin"], ids=["no answer", "half an answer"])
def test_a_question_that_takes_too_long_ends_its_process(pool: Pool, what: str) -> None:
    before = pool.ask(saying("pid"))
    with pytest.raises(TimeoutError):
        pool.ask(saying(what, 60, seconds=0.05))
    assert is_gone(before)
    assert pool.ask(saying("echo", 1)) == 1


def test_an_answer_that_is_too_long_ends_its_process(pool: Pool) -> None:
    def exchange(child: Child) -> bytes:
        child.send(json.dumps(["echo", "x" * 100]).encode())
        return child.receive(20, most=10)

    before = pool.ask(saying("pid"))
    with pytest.raises(OverflowError):
        pool.ask(exchange)
    assert is_gone(before)


def test_after_an_interrupt_no_answer_is_taken_for_another(pool: Pool) -> None:
    def interrupted(child: Child) -> None:
        child.send(json.dumps(["echo", "old"]).encode())
        raise KeyboardInterrupt

    pool.ask(saying("pid"))
    with pytest.raises(KeyboardInterrupt):
        pool.ask(interrupted)
    assert pool.ask(saying("echo", "new")) == "new"


def test_a_process_ignores_the_interrupt_of_a_terminal(pool: Pool) -> None:
    before = pool.ask(saying("pid"))
    os.kill(before, signal.SIGINT)
    assert pool.ask(saying("pid")) == before


def test_a_process_that_waited_too_long_is_replaced() -> None:
    pool = Pool(MODULE, ["impatient"])
    before = pool.ask(saying("pid"))
    assert is_gone(before)
    assert pool.ask(saying("pid")) != before
    pool.close()


def test_threads_have_a_process_each(pool: Pool) -> None:
    meeting = threading.Barrier(2)

    def exchange(child: Child) -> Any:
        meeting.wait(20)
        return saying("pid")(child)

    with ThreadPoolExecutor(2) as threads:
        assert len(set(threads.map(pool.ask, [exchange, exchange]))) == 2


def test_or_they_take_turns() -> None:
    pool = Pool(MODULE, most=1)
    with ThreadPoolExecutor(4) as threads:
        asked = threads.map(pool.ask, [saying("pid"), saying("end", "SIGSEGV"), saying("pid"), saying("pid")])
        first = next(asked)
        with pytest.raises(ChildEndedError):
            next(asked)
    assert first != pool.ask(saying("pid"))
    assert len(pool._children) == 1
    pool.close()


def test_closing_ends_what_waits_for_an_answer(pool: Pool) -> None:
    asked = threading.Event()

    def exchange(child: Child) -> Any:
        child.send(json.dumps(["sleep", 60]).encode())
        asked.set()
        return child.receive(60)

    idle = Pool.ask(pool, saying("pid"))
    with ThreadPoolExecutor(1) as threads:
        answer = threads.submit(pool.ask, exchange)
        assert asked.wait(20)
        pool.close()
        with pytest.raises(PoolClosedError):
            answer.result(20)
    assert is_gone(idle)
    with pytest.raises(PoolClosedError):
        pool.ask(saying("pid"))


def test_processes_end_with_a_pool_that_nobody_closed() -> None:
    pool = Pool(MODULE)
    pid = pool.ask(saying("pid"))
    del pool
    gc.collect()
    assert is_gone(pid)


def test_python_ends_with_processes_that_nobody_closed() -> None:
    program = """
import sys
from tests.core.test_child import MODULE, Pool, saying
pool = Pool(MODULE)
print(pool.ask(saying("pid")))
"""
    ended = subprocess.run(
        [sys.executable, "-W", "error", "-c", program], cwd=ROOT, capture_output=True, text=True, timeout=60
    )
    assert (ended.returncode, ended.stderr) == (0, "")
    assert is_gone(int(ended.stdout))


@pytest.mark.parametrize("what", ["pid", "sleep"], ids=["idle", "busy"])
def test_processes_end_when_python_is_killed(what: str) -> None:
    program = f"""
import os
from threading import Timer
from tests.core.test_child import MODULE, Pool, saying
pool = Pool(MODULE)
print(pool.ask(saying("pid")), flush=True)
Timer(0.1, os.kill, (os.getpid(), 9)).start()
pool.ask(saying({what!r}, 60, 60))
"""
    ended = subprocess.run([sys.executable, "-c", program], cwd=ROOT, capture_output=True, text=True, timeout=60)
    assert ended.returncode == -signal.SIGKILL
    assert is_gone(int(ended.stdout))


@pytest.mark.filterwarnings("ignore:.*fork")  # of a process with threads, from Python 3.12
@pytest.mark.parametrize("is_locked", [False, True], ids=["", "while another thread has a lock"])
def test_a_fork_has_processes_of_its_own(pool: Pool, is_locked: bool) -> None:
    before = pool.ask(saying("pid"))
    reading, writing = os.pipe()
    if is_locked:
        pool._lock.acquire()
    forked = os.fork()
    if not forked:
        try:
            own = pool.ask(saying("pid"))
            pool.close()
            os.write(writing, str(own).encode())
        finally:
            os._exit(0)
    if is_locked:
        pool._lock.release()
    os.close(writing)
    with os.fdopen(reading) as answer:
        own = int(answer.read())
    os.waitpid(forked, 0)
    assert own != before
    assert is_gone(own)
    assert pool.ask(saying("pid")) == before

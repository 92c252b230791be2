"""A process that leaves a knowledge base open ends at once, with its own exit code; one that is forked refuses it."""

import os
import signal
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from lightrag_dagster import KnowledgeBase
from tests.query.published import SOURCES

PROGRAM = Path(__file__).with_name("processes.py")
QUESTION = "Who closed Station 14 in the flood?"
INTERRUPTED = str(-signal.SIGINT)


ENDS = {
    "is_interrupted_while_a_batch_hangs": INTERRUPTED,
    "exits": "3",
    "raises": "1",
    "is_interrupted": INTERRUPTED,
    "reads_half": "0",
    "reads_half_in_a_task": "4",
    "exits_while_a_task_hangs": "5",
    "is_interrupted_while_a_stream_hangs": INTERRUPTED,
    "is_interrupted_while_an_address_is_looked_up": INTERRUPTED,
}


@pytest.mark.long
def test_every_way_to_end_and_to_fork(published_home: Path) -> None:
    ended = subprocess.run(
        [sys.executable, "-W", "always::ResourceWarning", str(PROGRAM), str(published_home)],
        capture_output=True,
        text=True,
        check=False,
        cwd=published_home.parent,
        env=os.environ | {"PYTHONPATH": str(PROGRAM.parents[2])},
        timeout=900,
    )
    assert dict(line.rsplit(" ", 1) for line in ended.stdout.splitlines()) == {
        **ENDS,
        "answered in a forked process:": "none",
        "is_forked": "6",
        "is_forked_and_ends": "7",
        "the parent goes": "on",
    }, ended.stderr
    assert ended.returncode == 0, ended.stderr
    assert "was left open; use a `with` block" in ended.stderr
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

"""Memory of a service over many snapshots: it follows what is published, and is asked all the while.

    python -m benchmarks.service --passages 300 --snapshots 20 --questions 50

Made-up passages are ingested offline, by the command line, which publishes a snapshot after each edit. Printed is what
this process, which asks questions in each mode in turn, has in memory after each snapshot: resident megabytes.
"""

import argparse
import os
import subprocess
import sys
import tempfile
from itertools import count, cycle
from pathlib import Path
from typing import get_args

from benchmarks.passages import generate
from lightrag_dagster import KnowledgeBase
from lightrag_dagster.query.mode import MODES, ModeName
from lightrag_dagster.settings import load_settings


def resident() -> float:
    """Return what this process has in memory. Megabytes."""
    return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE") / 1e6


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--passages", type=int, default=300)
    parser.add_argument("--snapshots", type=int, default=20)
    parser.add_argument("--questions", type=int, default=50, help="for each snapshot")
    given = parser.parse_args()
    texts = list(generate(given.passages + given.snapshots, 1))
    with tempfile.TemporaryDirectory() as scratch:
        settings = load_settings(home=Path(scratch, "home"), sources=Path(scratch, "sources"))
        notes = settings.sources / "notes"
        notes.mkdir(parents=True)
        for number, text in enumerate(texts[: given.passages]):
            (notes / f"{number:05}.txt").write_text(text, encoding="utf-8")
        variables = os.environ | {"LIGHTRAG_HOME": str(settings.home), "LIGHTRAG_SOURCES": str(settings.sources)}

        def publish() -> None:
            command = [str(Path(sys.executable).with_name("lightrag-dagster")), "run"]
            subprocess.run(command, env=variables, check=True, stdout=subprocess.DEVNULL)

        publish()
        knowledge, asked, modes = (
            KnowledgeBase.open(settings=settings),
            count(),
            cycle([name for name in get_args(ModeName) if MODES[name].retrieves]),
        )
        for snapshot in range(1, given.snapshots + 1):
            for _ in range(given.questions):
                number = next(asked)  # a dozen words of a passage, others each time
                words = texts[number % given.passages].split()
                knowledge.retrieve(" ".join(words[number % 7 : number % 7 + 12]), mode=next(modes))
            print(f"snapshot {snapshot:3}: {number:6} questions, {resident():7.1f} MB", flush=True)
            (notes / f"{snapshot % given.passages:05}.txt").write_text(texts[given.passages + snapshot - 1], "utf-8")
            publish()
            before, knowledge = knowledge, knowledge.refresh()
            assert before is not knowledge
            before.close()
        knowledge.close()
        print(f"closed: {resident():7.1f} MB")


if __name__ == "__main__":
    main()

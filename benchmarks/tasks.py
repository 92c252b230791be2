"""What an engine costs before anything is done: its start, and a task that does nothing.

    python -m benchmarks.tasks

A first call of as many items as there are processors starts the workers; then each of some tasks returns its number.
"""

import argparse
import time
from typing import get_args

from lightrag_dagster.engines.factory import open_engine
from lightrag_dagster.settings.sections import EngineName


def same(number: int) -> int:
    return number


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tasks", type=int, default=2000)
    tasks = parser.parse_args().tasks
    for name in get_args(EngineName):
        started = time.perf_counter()
        with open_engine(name) as engine:
            engine.map(same, range(max(2, engine.workers)))
            begun = time.perf_counter()
            assert engine.map(same, range(tasks)) == list(range(tasks))
            ended = time.perf_counter()
        print(f"{name:10} start {begun - started:6.2f} s, a task {(ended - begun) / tasks * 1000:6.3f} ms", flush=True)


if __name__ == "__main__":
    main()

"""Bytes that a home keeps, by part, and bytes that an edit writes: vectors of a provider's length.

    python -m benchmarks.kept --passages 1000 --dimensions 1536

Passages of MuSiQue, one a document, are indexed through the loopback provider of `make bench`, then edited one by one,
each by a `run` of its own; `gc` comes last. Vectors are those of the newest snapshot, at four bytes a number.
"""

import argparse
import sys
import tempfile
from pathlib import Path

from benchmarks.bench.corpus import edited, passage
from benchmarks.bench.measuring import cost_of
from benchmarks.bench.ours import settings_of
from benchmarks.bench.server import serving
from benchmarks.nights import disk
from lightrag_dagster.storage.home import Home
from lightrag_dagster.storage.snapshots.snapshots import require_published


def measure(home: Path, passages: int, dimensions: int, edits: int, variables: dict[str, str]) -> None:
    """Run the commands, and print what each writes and leaves."""
    sources = home.parent / "sources" / "musique"
    sources.mkdir(parents=True, exist_ok=True)
    variables |= {"LIGHTRAG_HOME": str(home), "LIGHTRAG_SOURCES": str(sources.parent)}

    def command(name: str, *arguments: str) -> None:
        cost = cost_of([str(Path(sys.executable).with_name("lightrag-dagster")), *arguments], home.parent, variables)
        tables = require_published(Home(home)).vectors.tables.values()
        vectors = sum(one.rows for one in tables) * dimensions * 4 / 1e6
        parts = {part: size / 1e6 for part, (size, _) in disk(home).items()}
        print(f"{name:12} {cost.written / 1e6:7.1f} MB written, {cost.wall:6.1f} s, {cost.cpu:6.1f} s of the processor")
        for part, size in parts.items():
            if size >= 0.1:
                print(f"    {part:20} {size:8.1f} MB  {size / vectors:5.2f} x the vectors' {vectors:.1f} MB")
        print(flush=True)

    for one in map(passage, range(passages)):
        (sources / f"{one.name}.txt").write_text(one.text, encoding="utf-8")
    command("index", "run")
    for number in range(edits):
        one = edited(number * passages // edits)
        (sources / f"{one.name}.txt").write_text(one.text, encoding="utf-8")
        command(f"edit {number + 1}", "run")
    command("gc", "gc")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--passages", type=int, default=1000)
    parser.add_argument("--dimensions", type=int, default=1536)
    parser.add_argument("--edits", type=int, default=5)
    parser.add_argument("--keep", type=Path, help="a folder for the home, which is not removed")
    given = parser.parse_args()
    with serving(given.passages, given.dimensions) as server, tempfile.TemporaryDirectory() as scratch:
        provider = {"OPENAI_BASE_URL": server.url, "OPENAI_API_KEY": "none"} | settings_of(given.dimensions, 32)
        measure((given.keep or Path(scratch)) / "home", given.passages, given.dimensions, given.edits, provider)


if __name__ == "__main__":
    main()

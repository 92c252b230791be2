"""Disk of a home over many nights of small changes, by folder.

    python -m benchmarks.nights --documents 400 --nights 60

Documents of three made-up passages are ingested offline and published as `run` does, through Dagster. Each night a
passage of some documents is another one. The clock of the machine stays: before each night every record of a time in
the home, of snapshots and of Dagster's runs alike, is set back by a day. LanceDB's versions keep their times, since
none of them is kept for its age.
"""

import argparse
import json
import resource
import sqlite3
import tempfile
from collections import Counter
from collections.abc import Iterator
from contextlib import closing
from datetime import datetime, timedelta
from pathlib import Path

from rich.console import Console

from benchmarks.passages import generate
from lightrag_dagster.cli.progress import display
from lightrag_dagster.orchestration.runner import bring_up_to_date
from lightrag_dagster.settings import Settings, load_settings
from lightrag_dagster.storage.home import Home

PASSAGES = 3


def age(home: Home, days: float) -> None:
    """Set the times of snapshots and of Dagster's runs back by some days."""
    earlier = timedelta(days=days)
    for path in home.generations.glob("gen-*/manifest.json"):
        manifest = json.loads(path.read_text())
        manifest |= {"published_at": _before(manifest["published_at"], earlier)}
        manifest.pop("crc32", None)
        path.write_text(json.dumps(manifest, indent=2).ljust(path.stat().st_size))  # whose size is checked
    pointer = json.loads(home.published.read_text())
    pointer["replaced"] = {one: _before(when, earlier) for one, when in pointer["replaced"].items()}
    home.published.write_text(json.dumps(pointer))
    age_runs(home, days)


def age_runs(home: Home, days: float) -> None:
    """Set the times of Dagster's runs back by some days, and that of their last pruning."""
    seconds = timedelta(days=days).total_seconds()
    with closing(sqlite3.connect(home.dagster / "history" / "runs.db")) as connection, connection:
        connection.execute(
            "UPDATE runs SET create_timestamp = datetime(create_timestamp, ?), start_time = start_time - ?,"
            " end_time = end_time - ?",
            (f"-{seconds} seconds", seconds, seconds),
        )
    (home.dagster / "pruned_on").unlink(missing_ok=True)


def _before(when: str, earlier: timedelta) -> str:
    return (datetime.fromisoformat(when) - earlier).isoformat(timespec="seconds")


class Corpus:
    """Documents of one source, of which a passage changes now and then."""

    def __init__(self, folder: Path, documents: int, changes: int) -> None:
        self._folder = folder
        self._texts = iter(generate(documents * PASSAGES + changes, 1))
        self._documents = [[next(self._texts) for _ in range(PASSAGES)] for _ in range(documents)]
        self._turn = 0
        folder.mkdir(parents=True)
        for number in range(documents):
            self._write(number)

    def edit(self, documents: int) -> None:
        """Replace a passage of some documents, others each time."""
        for _ in range(documents):
            number = self._turn % len(self._documents)
            self._documents[number][self._turn % PASSAGES] = next(self._texts)
            self._write(number)
            self._turn += 1

    def _write(self, number: int) -> None:
        (self._folder / f"{number:05}.txt").write_text("\n\n".join(self._documents[number]), encoding="utf-8")


def disk(folder: Path) -> dict[str, tuple[int, int]]:
    """Return the bytes and files of each thing in a folder, and of all of it as `total`; links are left out."""
    size, files = Counter[str](), Counter[str]()
    for path in folder.rglob("*"):
        if path.is_file() and not path.is_symlink():
            name = path.relative_to(folder).parts[0]
            for each in (name.partition("-")[0], "total"):
                size[each] += path.stat().st_size
                files[each] += 1
    return {name: (size[name], files[name]) for name in sorted(size)}


def nights(settings: Settings, documents: int, number: int, edits: int) -> Iterator[int]:
    """Build a home, and pass nights; yield the number of each, 0 for the first."""
    corpus = Corpus(settings.sources / "notes", documents, number * edits)
    with display(Console(quiet=True)) as shown:
        bring_up_to_date(settings, [], shown)
        yield 0
        for night in range(1, number + 1):
            age(Home.of(settings), 1)
            corpus.edit(edits)
            bring_up_to_date(settings, [], shown)
            yield night


def main() -> None:
    """Print megabytes and files by folder, and the processor's seconds since the line before."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--documents", type=int, default=400)
    parser.add_argument("--nights", type=int, default=60)
    parser.add_argument("--edits", type=int, default=3)
    parser.add_argument("--every", type=int, default=10)
    chosen = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        settings = load_settings(home=Path(folder, "home"), sources=Path(folder, "sources"))
        worked = 0.0
        for night in nights(settings, chosen.documents, chosen.nights, chosen.edits):
            if night % chosen.every == 0:
                now = sum(resource.getrusage(resource.RUSAGE_SELF)[:2])
                print(f"night {night}: {now - worked:.1f} s of the processor")
                worked = now
                for name, (size, files) in disk(settings.home).items():
                    print(f"  {name:20} {size / 1e6:8.1f} MB {files:6} files")


if __name__ == "__main__":
    main()

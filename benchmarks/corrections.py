"""One correction in a large knowledge base, beside one edited document: calls, texts, seconds of the processor.

    python -m benchmarks.corrections --passages 10000

Made-up passages are ingested by rules and embedded by a server on 127.0.0.1, by the command line with its defaults.
Then a document is edited, two entities are merged, and that is undone, each followed by `run`, and the same once more.
Printed is for each `run` how often a model was asked, how many texts were embedded, and its cost; and of the rows that
were embedded, how many are of the entities that the decision names, or of relations that end there.
"""

import argparse
import json
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from benchmarks.bench.measuring import cost_of
from benchmarks.bench.ours import settings_of
from benchmarks.bench.server import Server, serving
from benchmarks.passages import write_sources
from lightrag_dagster.core.identity import entity_id
from lightrag_dagster.spending.ledger import Ledger
from lightrag_dagster.storage.home import Home
from lightrag_dagster.storage.snapshots.generations import newest_generation

COMMAND = Path(sys.executable).with_name("lightrag-dagster")
TABLES = ("entities", "relations")
DIMENSIONS = 64
_FREQUENT = "select name from entities order by abs(mention_count - 40), name limit 2"


class Corpus:
    """A home with passages, and what the last look at it found."""

    def __init__(self, folder: Path, passages: int, server: Server) -> None:
        self.folder, self._server, self.home = folder, server, Home(folder / "home")
        self._environment = settings_of(DIMENSIONS, 8) | {
            "LIGHTRAG_LLM__PROVIDER": "offline",
            "LIGHTRAG_HOME": str(folder / "home"),
            "LIGHTRAG_SOURCES": str(folder / "sources"),
            "OPENAI_BASE_URL": server.url,
            "OPENAI_API_KEY": "none",
        }
        write_sources(folder / "sources", passages, 1, 2)
        self._rows: dict[str, str] = {}
        self._calls: Mapping[str, int] = {}

    def ask(self, *arguments: str) -> str:
        """Run a command, and return what it prints."""
        command = [str(COMMAND), *arguments]
        environment = {"PATH": "/usr/bin:/bin", **self._environment}
        return subprocess.run(command, env=environment, check=True, capture_output=True, text=True).stdout

    def run(self, step: str, named: set[str] | None = None) -> None:
        """Run, and print what it cost; `named` are the entities that a decision names."""
        cost = cost_of([str(COMMAND), "run"], self.folder, self._environment)
        calls = {name: entry.calls for name, entry in Ledger(self.home.ledger).by_purpose().items()}
        asked = {name: calls[name] - self._calls.get(name, 0) for name in calls}
        rows = {row["embedding_key"]: row for table in TABLES for row in self._table(table)}
        new, self._rows, self._calls = rows.keys() - self._rows.keys(), dict.fromkeys(rows, ""), calls
        of_named = sum(
            bool({rows[one].get(end) for end in ("entity_id", "src_id", "tgt_id")} & (named or set())) for one in new
        )
        texts = self._server.counts()["texts"]
        print(
            f"{step:20} {asked.get('extract', 0):8,} {asked.get('summarise', 0):9,} {texts:8,} {len(new):9,} "
            f"{of_named if named else '':>8} {cost.wall:8.1f} {cost.cpu:8.1f}",
            flush=True,
        )

    def _table(self, name: str) -> list[dict[str, Any]]:
        ends = ["entity_id"] if name == "entities" else ["src_id", "tgt_id"]
        rows: list[dict[str, Any]] = newest_generation(self.home).read_table(name, ["embedding_key", *ends]).to_pylist()
        return rows


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--passages", type=int, default=10_000)
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as scratch, serving(0, DIMENSIONS) as server:
        corpus = Corpus(Path(scratch), arguments.passages, server)
        print(f"{'':20} extracted summaries    texts  new rows of named     wall      CPU")
        corpus.run("index")
        one, other = (row["name"] for row in json.loads(corpus.ask("sql", _FREQUENT, "--format", "json")))
        named = {entity_id(one), entity_id(other)}
        [*documents] = sorted((corpus.folder / "sources").rglob("*.*"))
        for turn in range(2):
            file = documents[len(documents) // (2 + turn)]
            file.write_text(file.read_text() + f" {one} was there in the year {2000 + turn}.")
            corpus.run("edit a document")
            corpus.ask("curate", "merge", one, other, "--into", one)
            corpus.run("merge two entities", named)
            corpus.ask("curate", "undo")
            corpus.run("undo it", named)


if __name__ == "__main__":
    main()
